//! `deciban demo`: worked examples. Those without `--data` run on data inside the program.

mod areas;
mod cancer;
mod cats;
mod height;
mod languages;
mod learning_curve;
mod masking;
mod mnist;
mod punctuation;
mod spam;
mod wine;

use std::path::PathBuf;

use clap::Args;
use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::evidence::{Evidence, decibans};
use deciban::family::AnyFamily;
use deciban::learn::{Block, Generative, GenerativeModel, Learner};
use deciban::{Error, Result};

use crate::output::say;

/// Worked examples, on data inside the program
#[derive(Args)]
#[command(after_help = "Examples:
  deciban demo
  deciban demo height
  deciban demo languages --data sources/
  deciban demo mnist --data mnist/")]
pub struct Demo {
    /// Which one; without a name, the list
    name: Option<String>,
    /// Other data: wine27.csv for wine, a folder per language for languages, label<TAB>text lines for
    /// spam, the folder of the images for mnist
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
}

/// A worked example.
struct Example {
    name: &'static str,
    about: &'static str,
    run: fn(Option<PathBuf>) -> Result<()>,
}

/// Every example, one line each.
const EXAMPLES: [Example; 11] = [
    Example { name: "height", about: "one number, two classes: how a prior flips a decision", run: height::run },
    Example { name: "cats", about: "a category: what a colour says, with and without pseudo-counts", run: cats::run },
    Example { name: "areas", about: "a number in bins: flat or house by the living area", run: areas::run },
    Example { name: "punctuation", about: "C or Python, from the counts of seven symbols", run: punctuation::run },
    Example {
        name: "languages",
        about: "source files by their punctuation; --data FOLDER takes yours",
        run: languages::run,
    },
    Example { name: "spam", about: "a filter with 50,000 words, in both event models", run: spam::run },
    Example { name: "wine", about: "three Italian wines from thirteen measurements", run: wine::run },
    Example { name: "cancer", about: "when a miss costs 1000 times a false alarm", run: cancer::run },
    Example { name: "learning-curve", about: "LDA and logistic on Gaussian and on odd rows", run: learning_curve::run },
    Example { name: "masking", about: "where least squares never sees the class in the middle", run: masking::run },
    Example { name: "mnist", about: "sixteen digit classifiers from one pass (needs --data)", run: mnist::run },
];

/// Those that `--data` is for.
const TAKE_DATA: [&str; 4] = ["languages", "spam", "wine", "mnist"];

impl Demo {
    pub fn run(self) -> Result<()> {
        let Some(name) = self.name else {
            say!("Worked examples; run one with `deciban demo NAME`:\n");
            for example in &EXAMPLES {
                say!("  {:<14}  {}", example.name, example.about);
            }
            return Ok(());
        };
        let names: Vec<&str> = EXAMPLES.iter().map(|e| e.name).collect();
        let example = EXAMPLES
            .iter()
            .find(|e| e.name == name)
            .ok_or_else(|| Error::Usage(format!("there is no example `{name}`: there are {}", names.join(", "))))?;
        if self.data.is_some() && !TAKE_DATA.contains(&example.name) {
            let message = format!("`{name}` has its data inside: only {} take others", TAKE_DATA.join(", "));
            return Err(Error::parameter("data", message));
        }
        (example.run)(self.data)
    }
}

/// A model of all columns together, by one family.
fn learn(schema: &Schema, rows: Batch<'_>, family: AnyFamily) -> Result<GenerativeModel> {
    let block = Block::new((0..schema.columns().len()).collect(), schema.columns(), family);
    Generative::of_blocks(vec![block]).learn(&Memory::new(schema.clone(), rows)?)
}

/// The evidence for one of two classes, in decibans.
fn in_decibans(evidence: &Evidence, row: usize, class: usize) -> String {
    match evidence.llr(row, class) {
        _ if evidence.row(row).iter().all(|e| *e == f64::NEG_INFINITY) => "0/0".into(),
        f64::INFINITY => "+∞".into(),
        f64::NEG_INFINITY => "-∞".into(),
        llr => format!("{:+.1}", decibans(llr)),
    }
}

/// A posterior probability; NaN is where every class is impossible.
fn probability(p: f64) -> String {
    if p.is_nan() { "0/0".into() } else { format!("{p:.4}") }
}

/// A small table inside the program: numbers, and a class in one column.
struct Table {
    schema: Schema,
    values: Vec<f64>,
    classes: Vec<u32>,
}

impl Table {
    /// Parses plain CSV without quotes, as the embedded files are; `columns` are kept, all if empty.
    fn parse(csv: &str, target: &str, columns: &[&str]) -> Result<Table> {
        let wrong = |message: String| Error::Schema(format!("embedded data: {message}"));
        let mut lines = csv.lines();
        let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let place = |name: &str| header.iter().position(|h| *h == name).ok_or_else(|| wrong(format!("no `{name}`")));
        let class_at = place(target)?;
        let kept: Vec<usize> = match columns {
            [] => (0..header.len()).filter(|&j| j != class_at).collect(),
            names => names.iter().map(|n| place(n)).collect::<Result<_>>()?,
        };
        let (mut values, mut classes, mut names) = (Vec::new(), Vec::new(), Vec::<String>::new());
        for line in lines.filter(|line| !line.is_empty()) {
            let fields: Vec<&str> = line.split(',').collect();
            for &j in &kept {
                let field = fields.get(j).copied().unwrap_or_default();
                values.push(field.parse().map_err(|_| wrong(format!("`{field}` is not a number")))?);
            }
            let class = fields.get(class_at).copied().unwrap_or_default();
            let code = names.iter().position(|n| n == class).unwrap_or_else(|| {
                names.push(class.into());
                names.len() - 1
            });
            classes.push(code as u32);
        }
        let columns: Vec<String> = kept.iter().map(|&j| header[j].to_string()).collect();
        Ok(Table { schema: Schema::numbers(&columns, target, &names)?, values, classes })
    }

    fn width(&self) -> usize {
        self.schema.columns().len()
    }

    fn batch(&self) -> Result<Batch<'_>> {
        Batch::new(self.classes.len()).row_major(&self.values[..], self.width())?.classes(&self.classes)
    }

    /// Every other row, from the first or the second on: to learn from and to test on.
    fn half(&self, from: usize) -> Table {
        let rows = (from..self.classes.len()).step_by(2);
        let row = |i: usize| self.values[i * self.width()..(i + 1) * self.width()].iter().copied();
        Table {
            schema: self.schema.clone(),
            values: rows.clone().flat_map(row).collect(),
            classes: rows.map(|i| self.classes[i]).collect(),
        }
    }
}
