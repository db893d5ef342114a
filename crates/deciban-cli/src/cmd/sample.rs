//! `deciban sample`: new labelled rows from a model.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use deciban::data::{Column, Value};
use deciban::learn::{Classifier, Model};
use deciban::numerics::Random;
use deciban::{Error, Result};

use deciban_tasks::table::exact;
use deciban_tasks::{PriorChoice, find_class, quoted};

/// Draw new labelled rows from a generative model, as CSV
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
        // A calibration changes what rows say, not how they come about.
        let Model::Generative(generative) = model.plain() else {
            let message = "this model knows classes given rows, not rows given classes: fit a generative one";
            return Err(Error::parameter("sample", message));
        };
        let schema = model.schema();
        let prior = self.prior.clone().unwrap_or_default().resolve(schema, model.prior(), model.empirical())?;
        let class = self.class.as_ref().map(|name| find_class(schema, name, "class")).transpose()?;
        let mut random = Random::new(self.seed);
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        let failed = |e| Error::io("standard output", e);
        let mut names: Vec<String> = schema.names().iter().map(|name| quoted(name)).collect();
        names.push(quoted(schema.target()));
        writeln!(out, "{}", names.join(",")).map_err(failed)?;
        for _ in 0..self.number {
            let class = class.unwrap_or_else(|| random.pick(prior.probabilities()));
            let row = generative.sample(class, &mut random)?;
            let mut cells: Vec<String> =
                row.iter().zip(schema.columns()).map(|(value, column)| cell(value, column)).collect();
            cells.push(quoted(&schema.classes()[class]));
            writeln!(out, "{}", cells.join(",")).map_err(failed)?;
        }
        out.flush().map_err(failed)
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
