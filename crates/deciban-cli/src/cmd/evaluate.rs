//! `deciban evaluate`: how good a model's decisions, probabilities and evidence are.

use std::path::{Path, PathBuf};

use clap::Args;
use deciban::data::{Batch, Cells, Kind, Rows, Tile};
use deciban::evaluate::Bootstrap;
use deciban::evidence::{DECIBANS_PER_NAT, Evidence};
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::output;
use deciban::posterior::Prior;
use deciban::{Error, Result};
use deciban_data::{Files, Options};
use deciban_tasks::figures::{Use, report};
use deciban_tasks::{Evaluated, Evaluating, Terms, evaluate, evaluate_scores, find_class};

use crate::args::{DecisionArgs, ReadArgs, UnusualArgs, one_of, open_to_judge};
use crate::output::{Destination, say, tell};
use crate::progress::Progress;

/// Evaluate a model on rows whose class is known
#[derive(Args)]
#[command(after_help = "Examples:
  deciban evaluate wine.deciban test.csv
  deciban evaluate wine.deciban test.csv --intervals
  deciban evaluate mnist.deciban t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz \\
      --prior uniform
  deciban evaluate cancer.deciban test.csv --costs 'malignant>benign=1000' --json
  deciban evaluate wine.deciban test.csv --report wine.html
  deciban evaluate --llr score --target same_speaker --positive yes scores.csv

With --llr no model is needed: a column holds the log-likelihood ratio of the positive class over
the other one, from wherever it comes.")]
pub struct Evaluate {
    /// A model file; with --llr the first table
    model: PathBuf,
    /// Tables: files, globs, or - for standard input
    #[arg(required_unless_present = "llr", value_name = "DATA")]
    data: Vec<String>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Draw everything into one page that opens offline
    #[arg(long, value_name = "FILE.html", conflicts_with = "llr")]
    report: Option<PathBuf>,
    /// Of two classes, the one whose evidence is judged; by default the second
    #[arg(long, value_name = "CLASS")]
    positive: Option<String>,
    /// Take up to so much memory, in MiB, for figures that need all rows at once
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    memory: usize,
    #[command(flatten)]
    unusual: UnusualArgs,
    #[command(flatten)]
    intervals: IntervalArgs,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    decision: DecisionArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// How sure the figures are.
#[derive(Args)]
#[command(next_help_heading = "Intervals")]
struct IntervalArgs {
    /// Add bootstrap intervals to all figures
    #[arg(long)]
    intervals: bool,
    /// The number of resamples: 1000 by default; implies --intervals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    bootstrap: Option<u64>,
    /// The share of intervals that should hold the true figure
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    confidence: f64,
    /// The seed of the resamples
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// LLRs from elsewhere.
#[derive(Args)]
#[command(next_help_heading = "Without a model")]
struct GivenArgs {
    /// A column of log-likelihood ratios, for the positive class
    #[arg(long, value_name = "COLUMN", requires = "target")]
    llr: Option<String>,
    /// Their unit
    #[arg(long, value_parser = one_of(&UNITS), default_value = "nats")]
    unit: f64,
    /// The column of the classes, two of them
    #[arg(long, short, value_name = "COLUMN", requires = "llr")]
    target: Option<String>,
}

/// Units of LLRs, in nats.
const UNITS: [(&str, f64); 4] = [
    ("nats", 1.0),
    ("decibans", 1.0 / DECIBANS_PER_NAT),
    ("log10", std::f64::consts::LN_10),
    ("bits", std::f64::consts::LN_2),
];

impl Evaluate {
    pub fn run(self) -> Result<()> {
        match (&self.given.llr, &self.given.target) {
            (Some(column), Some(target)) => self.given_llrs(column, target),
            _ => self.model(),
        }
    }

    fn model(&self) -> Result<()> {
        if let Some(path) = &self.report {
            if !path.extension().is_some_and(|e| e == "html" || e == "htm") {
                return Err(Error::parameter("report", "give a file that ends in .html"));
            }
            let inputs = self.data.iter().map(Path::new).chain([self.model.as_path()]).chain(self.read.labels());
            Destination::from(path.clone().into_os_string()).check(inputs)?;
        }
        let model = Model::load(&self.model)?;
        let mut files = open_to_judge(&self.data, &self.read, model.schema())?;
        if self.report.is_some() {
            files.make_rereadable()?;
        }
        let request = self.request()?;
        let progress = Progress::watch(&mut files, "evaluating");
        let evaluated = evaluate(&model, &files, &request)?;
        drop(progress);
        // The report first: who reads only the start of the table has it all the same.
        if let Some(path) = &self.report {
            let Terms { prior, costs, .. } = request.application.to_model(&model)?;
            let title = format!("{} on {}", self.model.display(), self.data.join(", "));
            let page = report(&title, &files, &Use { model: &model, prior: &prior, costs: &costs })?;
            output::write(path, page.as_bytes())?;
        }
        self.show(&evaluated)
    }

    fn request(&self) -> Result<Evaluating> {
        let IntervalArgs { intervals, bootstrap, confidence, seed } = self.intervals;
        let resamples = bootstrap.unwrap_or(1000) as usize;
        Ok(Evaluating {
            application: self.unusual.put(self.decision.application()?),
            positive: self.positive.clone(),
            bootstrap: (intervals || bootstrap.is_some()).then_some(Bootstrap { resamples, confidence, seed }),
            memory: self.memory << 20,
        })
    }

    fn show(&self, evaluated: &Evaluated) -> Result<()> {
        tell(&evaluated.remarks);
        match self.json {
            true => say!("{:#}", evaluated.json()),
            false => say!("{}", evaluated.text().trim_end()),
        }
        Ok(())
    }

    /// One column of LLRs, judged like the evidence of a model.
    fn given_llrs(&self, column: &str, target: &str) -> Result<()> {
        let paths: Vec<String> =
            std::iter::once(self.model.display().to_string()).chain(self.data.iter().cloned()).collect();
        let options = || Options {
            columns: Some(vec![column.to_string()]),
            kinds: vec![(column.to_string(), Kind::Number)],
            ..self.read.options(Some(target))
        };
        // Which classes there are, and how often, is known after a first run.
        let mut files = Files::open(&paths, options())?;
        files.make_rereadable()?;
        let mut weights: Vec<f64> = Vec::new();
        files.map_in_order(
            |batch| Ok(class_weights(batch)),
            |part| {
                weights.resize(weights.len().max(part.len()), 0.0);
                weights.iter_mut().zip(&part).for_each(|(a, b)| *a += b);
                Ok(())
            },
        )?;
        let schema = files.schema()?;
        let [a, b] = schema.classes() else {
            let message = format!("LLRs are of two classes, and `{target}` has {}", schema.classes().len());
            return Err(Error::parameter("target", message));
        };
        // The second by name, unless one is named.
        let positive = match &self.positive {
            Some(name) => find_class(&schema, name, "positive")?,
            None => usize::from(b > a),
        };
        let classes = vec![schema.classes()[1 - positive].clone(), schema.classes()[positive].clone()];
        let empirical = Prior::from_weights(&[weights[1 - positive], weights[positive]])?;
        let schema = schema.with_classes(classes)?;
        let request = self.request()?;
        let terms = request.application.to(&schema, &empirical, &empirical)?;
        let mut files = Files::open_as(&paths, options(), &schema)?;
        let progress = Progress::watch(&mut files, "evaluating");
        let evaluated = evaluate_scores(&files, &schema, &terms, &request, |x| llrs(x, column, self.given.unit), None)?;
        drop(progress);
        self.show(&evaluated)
    }
}

/// The weight of each class in a batch.
fn class_weights(batch: &Batch<'_>) -> Vec<f64> {
    let labels = batch.labels().unwrap_or(&[]);
    let mut weights = vec![0.0; labels.iter().max().map_or(0, |most| *most as usize + 1)];
    for (i, &class) in labels.iter().enumerate() {
        weights[class as usize] += batch.row_weights().map_or(1.0, |w| w[i]);
    }
    weights
}

/// LLRs of the second class as evidence.
fn llrs(batch: &Batch<'_>, column: &str, unit: f64) -> Result<Evidence> {
    let mut tile = Tile::default();
    Cells::new(batch, &[0], Rows::Range(0..batch.rows())).read_numbers(&mut tile)?;
    let llr = tile.column(0);
    if let Some(i) = llr.iter().position(|x| x.is_nan()) {
        let remedy = "give every row its LLR, or leave the row out".to_string();
        return Err(Error::Missing { column: column.into(), row: batch.row_number(i) + 1, remedy });
    }
    // Never above 0, so that an infinite LLR is an impossible class.
    Evidence::new(2, llr.iter().flat_map(|x| [f64::min(0.0, -x * unit), f64::min(0.0, x * unit)]).collect())
}
