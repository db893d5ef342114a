//! [`Predictor`]: a model that is asked about rows, one or many, under any application.

use std::path::Path;
use std::sync::{Arc, Mutex};

use deciban::Result;
use deciban::data::Batch;
use deciban::evidence::{Evidence, decibans};
use deciban::explain::Order;
use deciban::learn::Classifier;
use deciban::model::{Asks, Model};
use deciban::unusual::{DRAWN, HowUsual, Usual};
use deciban_data::{Options, RowReader, Rows};
use serde::Serialize;

use crate::application::{Application, Terms};
use crate::form::{Form, Shown, check_densities};
use crate::ledger::{Between, Explaining, Ledger};
use crate::numbers;

/// A model with what reading its rows takes, prepared once. It is shared between threads.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::engine::Memory;
/// use deciban_tasks::{Application, Learning, Predictor, learn};
/// let schema = Schema::numbers(&["height"], "sex", &["F", "M"])?;
/// let heights = [155.0, 160.0, 162.0, 165.0, 168.0, 168.0, 173.0, 175.0, 178.0, 183.0];
/// let rows = Batch::new(10).column(&heights[..])?.classes(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1])?;
/// let request = Learning { model: "gaussian".into(), ..Learning::default() };
/// let predictor = Predictor::new(learn(&request, &mut Memory::new(schema, rows)?)?.model)?;
///
/// let somebody = predictor.reader().json(r#"{"height": 170}"#)?;
/// let answer = &predictor.predict(&somebody, &Application::default())?[0];
/// assert_eq!(answer.decision.as_deref(), Some("M"));
/// // Where nine of ten are women, the evidence is the same and the decision is not.
/// let women = Application { prior: "F=0.9".parse()?, ..Application::default() };
/// let there = &predictor.predict(&somebody, &women)?[0];
/// assert_eq!((there.decision.as_deref(), &there.evidence), (Some("F"), &answer.evidence));
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Debug)]
pub struct Predictor {
    model: Model,
    reader: RowReader,
    /// Rows of the model under the prior that was asked for last.
    usual: Mutex<Option<Arc<Usual>>>,
}

/// What a model says of a row under an application.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The action with the lowest expected cost; `None` where the row is impossible under every class.
    pub decision: Option<String>,
    /// The probability of each class.
    #[serde(serialize_with = "numbers::many")]
    pub posterior: Vec<f64>,
    /// The evidence for each class against the others, in decibans, which does not depend on the prior.
    #[serde(serialize_with = "numbers::many")]
    pub evidence: Vec<f64>,
    /// log p(x), low for unusual rows, where *none of these* is an answer.
    #[serde(serialize_with = "numbers::optional", skip_serializing_if = "Option::is_none")]
    pub log_density: Option<f64>,
    /// The share of the model's own rows that are no more usual, where *none of these* is an answer.
    #[serde(serialize_with = "numbers::optional", skip_serializing_if = "Option::is_none")]
    pub rank: Option<f64>,
    /// The expected cost of the decision.
    #[serde(serialize_with = "numbers::one")]
    pub risk: f64,
}

impl Predictor {
    /// Prepares a model.
    pub fn new(model: Model) -> Result<Self> {
        Predictor::with_options(model, Options::default())
    }

    /// Prepares a model whose rows are read with these options.
    pub fn with_options(model: Model, options: Options) -> Result<Self> {
        let reader = RowReader::new(model.schema(), options)?;
        Ok(Predictor { model, reader, usual: Mutex::default() })
    }

    /// Reads and prepares a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Predictor::new(Model::load(path)?)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What makes rows of JSON, CSV, Arrow or files.
    pub fn reader(&self) -> &RowReader {
        &self.reader
    }

    /// Decides about rows.
    pub fn predict(&self, rows: &Rows, to: &Application) -> Result<Vec<Prediction>> {
        self.predict_under(rows, &to.to_model(&self.model)?)
    }

    /// The same for who has settled the terms of an application before.
    pub fn predict_under(&self, rows: &Rows, terms: &Terms) -> Result<Vec<Prediction>> {
        let usual = terms.none_of_these.map(|_| self.usual("none_of_these", terms)).transpose()?;
        predictions(&self.model, &rows.batch()?, terms, usual.as_deref())
    }

    /// How predictions about many rows are written as lines.
    pub fn form(&self, to: &Application, shown: &Shown) -> Result<Form> {
        Form::with_usual(&self.model, to, shown, |terms| self.drawn(terms))
    }

    /// How usual rows are, compared with rows of the model under the prior of an application.
    pub fn ranks(&self, rows: &Rows, to: &Application) -> Result<Vec<HowUsual>> {
        self.usual("density", &to.to_model(&self.model)?)?.look(&self.model, &rows.batch()?)
    }

    /// Rows of the model with which others are compared, for an option that needs a model with densities.
    pub fn usual(&self, option: &'static str, terms: &Terms) -> Result<Arc<Usual>> {
        check_densities(&self.model, option)?;
        self.drawn(terms)
    }

    /// log p(x | class) of rows, by the model that describes them.
    pub fn log_densities(&self, batch: &Batch<'_>) -> Result<Evidence> {
        self.model.described(Asks::Rows)?.model.evidence(batch)
    }

    /// Rows of the model under a prior, drawn once for each prior in a row.
    fn drawn(&self, terms: &Terms) -> Result<Arc<Usual>> {
        // A panic elsewhere leaves what was there before. The lock is not held while rows are drawn: a thread that
        // waits for others may be given a task that wants it.
        let lock = || self.usual.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(usual) = lock().as_ref().filter(|usual| *usual.prior() == terms.prior) {
            return Ok(usual.clone());
        }
        let usual = Arc::new(usual_rows(&self.model, terms)?);
        *lock() = Some(usual.clone());
        Ok(usual)
    }

    /// Explains rows.
    pub fn explain(&self, rows: &Rows, to: &Application, between: Between) -> Result<Vec<Ledger>> {
        let prior = to.to_model(&self.model)?.prior;
        let task = Explaining { model: &self.model, prior, between, order: Order::Average, rows: Vec::new() };
        task.explain(&rows.batch()?)
    }
}

/// Rows of a model under the prior of an application, with which others are compared.
pub fn usual_rows(model: &Model, terms: &Terms) -> Result<Usual> {
    Usual::new(model, &terms.prior, DRAWN, 0)
}

impl Terms {
    /// Which rows are none of the classes.
    pub fn unusual(&self, ranks: &[HowUsual]) -> Vec<bool> {
        ranks.iter().map(|how| self.none_of_these.is_some_and(|share| how.rank < share)).collect()
    }
}

/// What a model says of the rows of a batch; where *none of these* is an answer, `usual` are rows to compare with.
pub fn predictions(model: &Model, batch: &Batch<'_>, terms: &Terms, usual: Option<&Usual>) -> Result<Vec<Prediction>> {
    let evidence = model.evidence(batch)?;
    let posterior = evidence.posterior(&terms.prior);
    let ranks = usual.map(|usual| usual.look(model, batch)).transpose()?.unwrap_or_default();
    let row = |(row, action): (usize, deciban::decision::Action)| Prediction {
        decision: action.action.map(|a| terms.costs.actions()[a].clone()),
        posterior: posterior.row(row),
        evidence: (0..evidence.classes()).map(|k| decibans(evidence.llr(row, k))).collect(),
        log_density: ranks.get(row).map(|how| how.log_density),
        rank: ranks.get(row).map(|how| how.rank),
        risk: action.risk,
    };
    Ok(posterior.decide_unless(&terms.costs, &terms.unusual(&ranks)).into_iter().enumerate().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_predictor_is_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Predictor>();
    }
}
