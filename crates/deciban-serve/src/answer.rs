//! From rows to answers, the same for every route.

use deciban::Result;
use deciban::evidence::Evidence;
use deciban::learn::Classifier;
use deciban_data::Rows;
use deciban_tasks::Prediction;
use deciban_tasks::ledger::Ledger;

use crate::ask::Ask;
use crate::models::Served;
use crate::write::{self, Told};

/// What a model says of some rows.
pub struct Answer {
    /// Of each row.
    pub predictions: Vec<Prediction>,
    /// The ledger of each row, if these are wanted.
    pub ledgers: Option<Vec<Ledger>>,
    /// log p(x | class), if it is wanted.
    densities: Option<Evidence>,
    told: Told,
    warnings: Vec<String>,
}

/// Asks a model about rows.
pub fn answer(served: &Served, rows: &Rows, ask: &Ask) -> Result<Answer> {
    let predictor = &served.predictor;
    let mut predictions = match ask.is_plain() {
        true => predictor.predict_under(rows, &served.terms)?,
        false => predictor.predict(rows, &ask.application())?,
    };
    // Where *none of these* is an answer, the predictions have both.
    if ask.density && ask.none_of_these.is_none() {
        for (prediction, how) in predictions.iter_mut().zip(predictor.ranks(rows, &ask.application())?) {
            prediction.log_density = Some(how.log_density);
            prediction.rank = Some(how.rank);
        }
    }
    let densities = ask.density.then(|| predictor.log_densities(rows)).transpose()?;
    let between = ask.explain.between(predictor.model().schema())?;
    let ledgers = between.map(|between| predictor.explain(rows, &ask.application(), between)).transpose()?;
    let unseen = rows.unseen().iter().map(|unseen| {
        let cells = if unseen.cells == 1 { "1 cell has".to_string() } else { format!("{} cells have", unseen.cells) };
        format!("column `{}`: {cells} a level that the model has not seen, as `{}`", unseen.column, unseen.example)
    });
    let warnings = unseen.chain(rows.warnings().iter().cloned()).collect();
    let density = ask.density || ask.none_of_these.is_some();
    let told = Told { evidence: ask.evidence, density, risk: ask.application().has_costs() };
    Ok(Answer { predictions, ledgers, densities, told, warnings })
}

impl Answer {
    /// The predictions, with commas between them.
    pub fn list(&self, served: &Served, out: &mut Vec<u8>) {
        for (row, prediction) in self.predictions.iter().enumerate() {
            if row > 0 {
                out.push(b',');
            }
            let ledger = self.ledgers.as_ref().and_then(|ledgers| ledgers.get(row));
            let densities = self.densities.as_ref().map(|densities| densities.row(row));
            write::prediction(out, &served.keys, prediction, self.told, densities, ledger);
        }
    }

    /// An answer of our own: `{"model": ..., "predictions": [...]}`.
    pub fn json(&self, served: &Served) -> Vec<u8> {
        let row = 64 + 48 * served.terms.costs.classes();
        let mut out = Vec::with_capacity(served.head.len() + row * self.predictions.len());
        out.extend_from_slice(&served.head);
        self.list(served, &mut out);
        out.push(b']');
        if !self.warnings.is_empty() {
            out.extend_from_slice(b",\"warnings\":");
            drop(serde_json::to_writer(&mut out, &self.warnings));
        }
        out.push(b'}');
        out
    }

    /// The answer of the platforms: `{"predictions": [...]}`.
    pub fn predictions(&self, served: &Served) -> Vec<u8> {
        let mut out = b"{\"predictions\":[".to_vec();
        self.list(served, &mut out);
        out.extend_from_slice(b"]}");
        out
    }
}
