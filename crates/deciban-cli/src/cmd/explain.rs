//! `deciban explain`: why a row is decided as it is, as a ledger in decibans.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use deciban::data::Batch;
use deciban::explain::Order;
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::{Error, Result};
use deciban_data::Files;
use serde_json::{Value, json};

use crate::args::{DecisionArgs, ReadArgs, one_of, open_for_model};
use crate::output::say;
use crate::progress::Progress;
use deciban_tasks::ledger::{Between, Explaining, Ledger};
use deciban_tasks::table::Table;
use deciban_tasks::{MeasureCosts, Measured, Measuring};

/// Explain decisions: what each feature of a row says, in decibans, adding up to the posterior odds
#[derive(Args)]
#[command(after_help = "Examples:
  deciban explain wine.deciban new.csv
  deciban explain wine.deciban wine.csv --row 84 --classes Barolo,Grignolino
  deciban explain wine.deciban wine.csv --row 84 --classes Barolo
  deciban explain spam.deciban messages.tsv --no-header --no-quotes --row 3
  deciban explain wine.deciban wine.csv --summary
  deciban explain heart.deciban patient.csv --next
  deciban explain heart.deciban patient.csv --next --measure-costs prices.csv --costs 'sick>well=50'

Ten decibans are odds of 10 to 1. The ledger of a row begins with the prior odds of two classes, the
most probable and the next unless --classes names them, or one for it against all others; the total
is the posterior log-odds. Columns
that a model takes jointly are averaged over all orders in which they could become known.

With --next, for each row the columns whose cell is missing, ranked by how much measuring them is
expected to lower the Bayes risk (the expected cost of the best decision) under the prior and the
costs, per unit of what measuring costs. The file of --measure-costs has lines COLUMN,COST.")]
pub struct Explain {
    /// A model file
    model: PathBuf,
    /// Tables: files, globs, or - for standard input
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// Only these rows, counted from 1
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "summary")]
    row: Vec<u64>,
    /// For the first class over the second, in every row; for one class alone, over all others
    #[arg(long, value_name = "A[,B]", value_delimiter = ',', num_args = 1)]
    classes: Option<Vec<String>>,
    /// How jointly modelled columns share what they say: averaged over orders, or as in the file
    #[arg(long, value_parser = one_of(&Order::ALL), default_value = "average")]
    order: Order,
    /// Features that are shown of each row; the others are folded into one line
    #[arg(long, value_name = "N", default_value_t = 12)]
    most: usize,
    /// Instead of rows, the features that say most over all rows
    #[arg(long)]
    summary: bool,
    /// Instead of ledgers, what to measure next: missing cells, those that lower the risk most first
    #[arg(long, conflicts_with_all = ["summary", "classes", "order", "most"])]
    next: bool,
    /// What measuring columns costs, a line COLUMN,COST each; 1 for a column that is not there
    #[arg(long, value_name = "FILE", requires = "next")]
    measure_costs: Option<PathBuf>,
    /// The seed of draws of numbers for --next
    #[arg(long, default_value_t = 0, requires = "next")]
    seed: u64,
    /// Print one JSON object per row, or one of the summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    decision: DecisionArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl Explain {
    pub fn run(self) -> Result<()> {
        let model = Model::load(&self.model)?;
        let mut files = open_for_model(&self.data, &self.read, model.schema(), false)?;
        let schema = model.schema();
        if self.next {
            return self.measure(&model, &mut files);
        }
        if self.decision.has_costs() {
            let option = if self.decision.has_reject() { "reject" } else { "costs" };
            return Err(Error::parameter(option, "ledgers do not depend on it: it is for §next"));
        }
        let between = Between::named(self.classes.as_deref(), schema, "classes")?;
        let prior = self.decision.application()?.to_model(&model)?.prior;
        let task = Explaining { model: &model, prior, between, order: self.order, rows: self.row.clone() };
        let _progress = Progress::watch(&mut files, "explaining");
        if self.summary {
            let mut summary = Summary::default();
            files.map_in_order(
                |batch| task.explain(batch),
                |rows| {
                    rows.iter().for_each(|row| summary.add(row));
                    Ok(())
                },
            )?;
            return summary.print(self.json, self.most);
        }
        self.print(&files, |batch| task.explain(batch), |row| json!(row), |row| row.text(self.most))
    }

    /// What to measure next in each row.
    fn measure(&self, model: &Model, files: &mut Files) -> Result<()> {
        let terms = self.decision.application()?.to_model(model)?;
        let costs = self.measure_costs.as_ref().map(MeasureCosts::read).transpose()?.unwrap_or_default();
        let task = Measuring::new(model, terms, &costs, self.row.clone(), self.seed)?;
        let _progress = Progress::watch(files, "measuring");
        self.print(files, |batch| task.measure(batch), |row| json!(row), Measured::text)
    }

    /// Prints what is said about each row.
    fn print<T: Send + 'static>(
        &self,
        files: &Files,
        say: impl Fn(&Batch<'_>) -> Result<Vec<T>> + Sync,
        json: impl Fn(&T) -> Value,
        text: impl Fn(&T) -> String,
    ) -> Result<()> {
        let (mut found, mut all) = (0, 0);
        files.map_in_order(
            |batch| Ok((say(batch)?, batch.rows() as u64)),
            |(rows, read)| {
                all += read;
                for row in rows {
                    match (self.json, found) {
                        (true, _) => say!("{}", json(&row)),
                        (false, 0) => say!("{}", text(&row).trim_end()),
                        (false, _) => say!("\n{}", text(&row).trim_end()),
                    }
                    found += 1;
                }
                Ok(())
            },
        )?;
        match self.row.iter().find(|row| **row == 0 || **row > all) {
            Some(row) => {
                let rows = if all == 1 { "row" } else { "rows" };
                Err(Error::parameter("row", format!("row {row} does not exist: the input has {all} {rows}")))
            }
            None => Ok(()),
        }
    }
}

/// Sums over rows of what features say.
#[derive(Default)]
struct Summary {
    rows: f64,
    features: HashMap<String, [f64; 3]>,
}

impl Summary {
    fn add(&mut self, row: &Ledger) {
        self.rows += 1.0;
        for line in &row.features {
            let sums = self.features.entry(line.name.clone()).or_default();
            sums[0] += line.decibans.abs();
            sums[1] += line.decibans;
            sums[2] += 1.0;
        }
    }

    fn print(self, json: bool, most: usize) -> Result<()> {
        let mut ranked: Vec<(String, [f64; 3])> = self.features.into_iter().collect();
        ranked.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]).then_with(|| a.0.cmp(&b.0)));
        let rows = self.rows.max(1.0);
        if json {
            let feature = |(name, sums): &(String, [f64; 3])| json!({ "name": name, "mean_abs_decibans": sums[0] / rows, "mean_decibans": sums[1] / rows, "rows": sums[2] });
            let features: Vec<Value> = ranked.iter().map(feature).collect();
            say!("{:#}", json!({ "rows": self.rows, "features": features }));
            return Ok(());
        }
        let mut table = Table::new(["feature", "mean |decibans|", "mean decibans", "rows"]);
        for (name, sums) in ranked.iter().take(most) {
            let [size, mean] = [sums[0] / rows, sums[1] / rows].map(|x| format!("{x:.2}"));
            table.row([name.clone(), size, mean, format!("{}", sums[2])]);
        }
        say!("{}", table.to_string().trim_end());
        if ranked.len() > most {
            say!("... and {} more", ranked.len() - most);
        }
        Ok(())
    }
}
