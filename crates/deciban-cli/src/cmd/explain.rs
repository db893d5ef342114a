//! `deciban explain`: why a row is decided as it is, as a ledger in decibans.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use deciban::explain::Order;
use deciban::learn::{Classifier, Model};
use deciban::{Error, Result};
use serde_json::{Value, json};

use crate::args::{ReadArgs, one_of, open_for_model};
use crate::output::say;
use crate::progress::Progress;
use deciban_tasks::PriorChoice;
use deciban_tasks::ledger::{Between, Explaining, Ledger};
use deciban_tasks::table::Table;

/// Explain decisions: what each feature of a row says, in decibans, adding up to the posterior odds
#[derive(Args)]
#[command(after_help = "Examples:
  deciban explain wine.deciban new.csv
  deciban explain wine.deciban wine.csv --row 84 --classes Barolo,Grignolino
  deciban explain wine.deciban wine.csv --row 84 --classes Barolo
  deciban explain spam.deciban messages.tsv --no-header --no-quotes --row 3
  deciban explain wine.deciban wine.csv --summary

Ten decibans are odds of 10 to 1. The ledger of a row begins with the prior odds of two classes, the
most probable and the next unless --classes names them, or one for it against all others; the total
is the posterior log-odds. Columns
that a model takes jointly are averaged over all orders in which they could become known.")]
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
    /// The prior: empirical, uniform, or CLASS=P,...; by default the model's
    #[arg(long)]
    prior: Option<PriorChoice>,
    /// How jointly modelled columns share what they say: averaged over orders, or as in the file
    #[arg(long, value_parser = one_of(&Order::ALL), default_value = "average")]
    order: Order,
    /// Features that are shown of each row; the others are folded into one line
    #[arg(long, value_name = "N", default_value_t = 12)]
    most: usize,
    /// Instead of rows, the features that say most over all rows
    #[arg(long)]
    summary: bool,
    /// Print one JSON object per row, or one of the summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

impl Explain {
    pub fn run(self) -> Result<()> {
        let model = Model::load(&self.model)?;
        let mut files = open_for_model(&self.data, &self.read, model.schema(), false)?;
        let schema = model.schema();
        let between = Between::named(self.classes.as_deref(), schema, "classes")?;
        let prior = self.prior.clone().unwrap_or_default().resolve(schema, model.prior(), model.empirical())?;
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
        let (mut found, mut all) = (0, 0);
        files.map_in_order(
            |batch| Ok((task.explain(batch)?, batch.rows() as u64)),
            |(rows, read)| {
                all += read;
                for row in rows {
                    match (self.json, found) {
                        (true, _) => say!("{}", json!(row)),
                        (false, 0) => say!("{}", row.text(self.most).trim_end()),
                        (false, _) => say!("\n{}", row.text(self.most).trim_end()),
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
