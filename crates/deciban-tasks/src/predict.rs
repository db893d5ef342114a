//! [`Predictor`]: a model that is asked about rows, one or many, under any application.

use std::path::Path;

use deciban::Result;
use deciban::data::Batch;
use deciban::evidence::decibans;
use deciban::explain::Order;
use deciban::learn::{Classifier, Model};
use deciban_data::{Options, RowReader, Rows};
use serde::Serialize;

use crate::application::{Application, Terms};
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
    /// log p(x), low for unusual rows, where the model has densities.
    #[serde(serialize_with = "numbers::optional", skip_serializing_if = "Option::is_none")]
    pub log_density: Option<f64>,
    /// The expected cost of the decision.
    #[serde(serialize_with = "numbers::one")]
    pub risk: f64,
}

impl Predictor {
    /// Prepares a model.
    pub fn new(model: Model) -> Result<Self> {
        let reader = RowReader::new(model.schema(), Options::default())?;
        Ok(Predictor { model, reader })
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
        predictions(&self.model, &rows.batch()?, &to.to_model(&self.model)?)
    }

    /// Explains rows.
    pub fn explain(&self, rows: &Rows, to: &Application, between: Between) -> Result<Vec<Ledger>> {
        let prior = to.to_model(&self.model)?.prior;
        let task = Explaining { model: &self.model, prior, between, order: Order::Average, rows: Vec::new() };
        task.explain(&rows.batch()?)
    }
}

/// What a model says of the rows of a batch.
pub fn predictions(model: &Model, batch: &Batch<'_>, terms: &Terms) -> Result<Vec<Prediction>> {
    let evidence = model.evidence(batch)?;
    let posterior = evidence.posterior(&terms.prior);
    let density = matches!(model, Model::Generative(_)).then(|| evidence.log_density(&terms.prior));
    let row = |(row, action): (usize, deciban::decision::Action)| Prediction {
        decision: action.action.map(|a| terms.costs.actions()[a].clone()),
        posterior: posterior.row(row),
        evidence: (0..evidence.classes()).map(|k| decibans(evidence.llr(row, k))).collect(),
        log_density: density.as_ref().map(|density| density[row]),
        risk: action.risk,
    };
    Ok(posterior.decide(&terms.costs).into_iter().enumerate().map(row).collect())
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
