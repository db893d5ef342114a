//! From rows to answers, the same for every route. Rows are asked about some at a time: what is known of a row takes
//! many times its cells, and between two parts the work can end.

use deciban::evidence::Evidence;
use deciban::explain::Order;
use deciban::learn::Classifier;
use deciban::{Error, Result};
use deciban_data::Rows;
use deciban_tasks::ledger::{Explaining, Ledger};
use deciban_tasks::{Prediction, predictions};

use crate::ask::Ask;
use crate::models::Served;
use crate::problem::{Problem, Rows as Place};
use crate::work::Work;
use crate::write::{self, Text, Told};

/// What a model says of some rows.
pub struct Part<'a> {
    /// Of each row.
    pub predictions: &'a [Prediction],
    /// The ledger of each row, if these are wanted.
    pub ledgers: Option<&'a [Ledger]>,
    /// log p(x | class), if it is wanted.
    densities: Option<Evidence>,
    told: Told,
    keys: &'a write::Keys,
}

/// Asks a model about rows, which stand at this place of the request. `write` adds a part to the answer, and says how
/// long the answer is by then. Returns what is odd about the rows.
pub fn answer(
    served: &Served,
    rows: &Rows,
    ask: &Ask,
    place: Place,
    work: &Work,
    mut write: impl FnMut(Part<'_>) -> usize,
) -> std::result::Result<Vec<String>, Problem> {
    let problem = |e: Error| Problem::of(&e, place);
    let predictor = &served.predictor;
    let model = predictor.model();
    let application = ask.application();
    let asked = match ask.is_plain() {
        true => None,
        false => Some(application.to_model(model).map_err(problem)?),
    };
    let terms = asked.as_ref().unwrap_or(&served.terms);
    let usual = |option, wanted: bool| wanted.then(|| predictor.usual(option, terms)).transpose();
    let unusual = usual("none_of_these", terms.none_of_these.is_some()).map_err(problem)?;
    let usual_rows = usual("density", ask.density).map_err(problem)?;
    let between = ask.explain.between(model.schema()).map_err(problem)?;
    let explaining = between.map(|between| Explaining {
        model,
        prior: terms.prior.clone(),
        between,
        order: Order::Average,
        rows: Vec::new(),
    });
    let density = ask.density || ask.none_of_these.is_some();
    let told = Told { evidence: ask.evidence, density, risk: application.has_costs() };
    work.in_parts(rows, bytes_of_row(served, explaining.is_some()), place, |batch| -> Result<usize> {
        let mut predictions = predictions(model, batch, terms, unusual.as_deref())?;
        // Where *none of these* is an answer, the predictions have both.
        if let Some(usual) = usual_rows.as_ref().filter(|_| unusual.is_none()) {
            for (prediction, how) in predictions.iter_mut().zip(usual.look(model, batch)?) {
                prediction.log_density = Some(how.log_density);
                prediction.rank = Some(how.rank);
            }
        }
        let densities = ask.density.then(|| predictor.log_densities(batch)).transpose()?;
        let ledgers = explaining.as_ref().map(|task| task.explain_until(batch, work.stop())).transpose()?;
        let ledgers = ledgers.as_deref();
        Ok(write(Part { predictions: &predictions, ledgers, densities, told, keys: &served.keys }))
    })?;
    let unseen = rows.unseen().iter().map(|unseen| {
        let cells = if unseen.cells == 1 { "1 cell has".to_string() } else { format!("{} cells have", unseen.cells) };
        format!("column `{}`: {cells} a level that the model has not seen, as `{}`", unseen.column, unseen.example)
    });
    Ok(unseen.chain(rows.warnings().iter().cloned()).collect())
}

/// About how much memory the answer to a row takes while it is worked out. A ledger takes much more than its text: the
/// evidence of columns that are modelled jointly is an average over many orders of them.
fn bytes_of_row(served: &Served, explains: bool) -> usize {
    let (columns, classes) = (served.columns(), served.terms.costs.classes());
    256 + 96 * classes + 16 * columns + if explains { LEDGER } else { 0 }
}

/// So the ledgers of 16 rows are worked out at once.
const LEDGER: usize = 128 << 10;

impl Part<'_> {
    /// Adds the predictions to a list, with commas between them.
    pub fn list(&self, out: &mut Text) {
        for (row, prediction) in self.predictions.iter().enumerate() {
            comma(&mut out.last);
            let ledger = self.ledgers.and_then(|ledgers| ledgers.get(row));
            let densities = self.densities.as_ref().map(|densities| densities.row(row));
            write::prediction(&mut out.last, self.keys, prediction, self.told, densities, ledger);
            out.turn();
        }
    }
}

/// Adds the comma between two elements of a list.
pub fn comma(out: &mut Vec<u8>) {
    if out.last() != Some(&b'[') {
        out.push(b',');
    }
}

/// An answer of our own: `{"model": ..., "predictions": [...]}`.
pub fn json(served: &Served, rows: &Rows, ask: &Ask, place: Place, work: &Work) -> std::result::Result<Text, Problem> {
    let mut out = Text::new(served.head.clone());
    let warnings = list(served, rows, ask, place, work, &mut out)?;
    if let Some(by) = served.card["described_by"].as_str().filter(|_| ask.density) {
        out.last.extend_from_slice(b",\"described_by\":");
        out.last.extend_from_slice(&write::string(by));
    }
    if !warnings.is_empty() {
        out.last.extend_from_slice(b",\"warnings\":");
        drop(serde_json::to_writer(&mut out.last, &warnings));
    }
    out.last.push(b'}');
    Ok(out)
}

/// Adds the predictions and the end of their list to a text that has its beginning. Returns what is odd about the rows.
pub fn list(
    served: &Served,
    rows: &Rows,
    ask: &Ask,
    place: Place,
    work: &Work,
    out: &mut Text,
) -> std::result::Result<Vec<String>, Problem> {
    let warnings = answer(served, rows, ask, place, work, |part| {
        part.list(out);
        out.len()
    })?;
    out.last.push(b']');
    Ok(warnings)
}

/// How lines are written.
#[derive(Clone, Copy, PartialEq)]
pub enum Lines {
    /// As CSV with a header.
    Table,
    /// As CSV without one.
    Csv,
    /// As JSON.
    Json,
}

/// Writes what a model says of rows as lines.
pub fn lines(
    served: &Served,
    rows: &Rows,
    ask: &Ask,
    form: Lines,
    place: Place,
    work: &Work,
) -> std::result::Result<Text, Problem> {
    let problem = |e: Error| Problem::of(&e, place);
    let written = served.predictor.form(&ask.application(), &ask.shown()).map_err(problem)?;
    let model = served.predictor.model();
    let mut out = Text::new(if form == Lines::Table { written.header() } else { String::new() });
    work.in_parts(rows, bytes_of_row(served, false), place, |batch| {
        let (text, _) = match form {
            Lines::Table | Lines::Csv => written.csv(model, batch, |_| Vec::new())?,
            Lines::Json => written.json(model, batch, |_| Vec::new())?,
        };
        out.append(Text::new(text));
        Ok(out.len())
    })?;
    Ok(out)
}
