//! `deciban evaluate`: how good a model's decisions and probabilities are.

use std::path::PathBuf;

use clap::Args;
use deciban::evaluate::Evaluation;
use deciban::learn::{Classifier, Model};
use deciban::posterior::Prior;
use deciban::{Error, Result};
use serde_json::json;

use crate::args::{DecisionArgs, ReadArgs, open_for_model};
use crate::figures::{Use, report};
use crate::output::say;
use crate::progress::Progress;
use crate::table::{Table, count, number, percent};

/// Evaluate a model on rows whose class is known
#[derive(Args)]
#[command(after_help = "Examples:
  deciban evaluate wine.deciban test.csv
  deciban evaluate mnist.deciban t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz \\
      --prior uniform
  deciban evaluate cancer.deciban test.csv --costs 'malignant>benign=1000' --json
  deciban evaluate wine.deciban test.csv --report wine.html")]
pub struct Evaluate {
    /// A model file
    model: PathBuf,
    /// Tables: files, globs, or - for standard input
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Draw everything into one page that opens offline
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    decision: DecisionArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl Evaluate {
    pub fn run(self) -> Result<()> {
        let model = Model::load(&self.model)?;
        let schema = model.schema();
        let mut files = open_for_model(&self.data, &self.read, schema, true)?;
        let prior = self.decision.prior(schema, model.prior(), model.empirical())?;
        let costs = self.decision.costs(schema)?;
        if self.report.is_some() {
            files.make_rereadable()?;
        }
        let _progress = Progress::watch(&mut files, "evaluating");
        let mut total = Evaluation::new(schema.classes(), &costs);
        files.map_in_order(
            |batch| {
                let posterior = model.evidence(batch)?.posterior(&prior);
                let labels = batch.labels().ok_or_else(|| Error::Classes("the rows have no labels".into()))?;
                let mut part = Evaluation::new(schema.classes(), &costs);
                part.observe(&posterior, labels, batch.row_weights(), &costs)?;
                Ok(part)
            },
            |part| {
                total.merge(&part);
                Ok(())
            },
        )?;
        match self.json {
            true => say!("{:#}", to_json(&total, &prior)),
            false => say!("{}", to_text(&total, &prior, self.decision.has_costs()).trim_end()),
        }
        match &self.report {
            Some(path) => {
                let used = Use { model: &model, prior: &prior, costs: &costs };
                report(path, &self.model, &self.data, &files, &used)
            }
            None => Ok(()),
        }
    }
}

/// The figures for programs.
pub fn to_json(e: &Evaluation, prior: &Prior) -> serde_json::Value {
    json!({
        "rows": e.rows(),
        "errors": e.errors(),
        "error_rate": e.error_rate(),
        "rejected": e.rejected(),
        "undefined": e.undefined(),
        "log_loss": e.log_loss(),
        "brier": e.brier(),
        "expected_cost": e.expected_cost(),
        "classes": e.classes(),
        "actions": e.actions(),
        "confusion": e.confusion(),
        "prior": prior.probabilities(),
    })
}

/// The figures for people.
pub fn to_text(e: &Evaluation, prior: &Prior, costs: bool) -> String {
    let mut figures = Table::new(["rows", &e.rows().to_string()]);
    figures.row(["errors", &count(e.errors())]);
    figures.row(["error rate", &percent(e.error_rate())]);
    if e.rejected() > 0.0 {
        figures.row(["rejected", &count(e.rejected())]);
    }
    if e.undefined() > 0 {
        figures.row(["undefined (0/0)", &e.undefined().to_string()]);
    }
    figures.row(["log loss", &format!("{} nats", number(e.log_loss(), 4))]);
    figures.row(["Brier score", &number(e.brier(), 4)]);
    if costs {
        figures.row(["expected cost", &number(e.expected_cost(), 4)]);
    }
    let undecided = e.undefined() > 0;
    let header = ["true \\ decided"].into_iter().chain(e.actions().iter().map(String::as_str));
    let mut confusion = Table::new(header.chain(undecided.then_some("none")).chain(["prior"]));
    let left = e.undecided();
    for (c, row) in e.confusion().into_iter().enumerate() {
        let row = row.iter().chain(undecided.then_some(&left[c]));
        let cells = row.map(|&w| if w == 0.0 { "·".to_string() } else { count(w) });
        let prior = number(prior.probabilities()[c], 3);
        confusion.row([e.classes()[c].clone()].into_iter().chain(cells).chain([prior]));
    }
    format!("{figures}\n{confusion}")
}
