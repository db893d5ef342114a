//! `deciban sample`: new labelled rows from a model.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use deciban::data::{Column, Value};
use deciban::learn::Classifier;
use deciban::model::{Asks, Model};
use deciban::{Error, Result};

use deciban_tasks::table::exact;
use deciban_tasks::{PriorChoice, Sampling, companion_note, quoted, sample};

use crate::output::tell;

/// Draw new labelled rows from a model that describes rows, as CSV
#[derive(Args)]
#[command(after_help = "Examples:
  deciban sample wine.deciban -n 100 > new-wines.csv
  deciban sample wine.deciban -n 100 --class Barolo --seed 7")]
pub struct Sample {
    /// A model file
    model: PathBuf,
    /// How many rows
    #[arg(short, long, default_value_t = 10)]
    number: u64,
    /// Rows of this class only
    #[arg(long)]
    class: Option<String>,
    /// The prior of the classes; by default the model's
    #[arg(long)]
    prior: Option<PriorChoice>,
    /// The seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Sample {
    pub fn run(self) -> Result<()> {
        let model = Model::load(&self.model)?;
        let schema = model.schema();
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        let failed = |e| Error::io("standard output", e);
        let mut names: Vec<String> = schema.names().iter().map(|name| quoted(name)).collect();
        names.push(quoted(schema.target()));
        // With the first row: a request that cannot be met prints nothing.
        let mut header = names.join(",") + "\n";
        let request =
            Sampling { number: self.number, class: self.class, prior: self.prior.unwrap_or_default(), seed: self.seed };
        sample(&model, &request, |class, row| {
            let mut cells: Vec<String> =
                row.iter().zip(schema.columns()).map(|(value, column)| cell(value, column)).collect();
            cells.push(quoted(&schema.classes()[class]));
            writeln!(out, "{}{}", std::mem::take(&mut header), cells.join(",")).map_err(failed)
        })?;
        out.write_all(header.as_bytes()).map_err(failed)?;
        out.flush().map_err(failed)?;
        tell(&Vec::from_iter(companion_note(&model, Asks::Rows)));
        Ok(())
    }
}

/// A value as a CSV field; a text is its words, each as often as it was drawn.
fn cell(value: &Value, column: &Column) -> String {
    let level = |code: u32| column.levels.get(code as usize).map_or("", String::as_str);
    match value {
        Value::Number(x) => exact(*x),
        Value::Level(code) => quoted(level(*code)),
        Value::Counts(counts) => {
            let words = counts.iter().flat_map(|&(code, count)| std::iter::repeat_n(level(code), count as usize));
            quoted(&words.collect::<Vec<_>>().join(" "))
        }
    }
}
