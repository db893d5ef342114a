//! `deciban evaluate`: how good a model's decisions, probabilities and evidence are.

use std::path::{Path, PathBuf};

use clap::Args;
use deciban::evaluate::Bootstrap;
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::output;
use deciban::{Error, Result};
use deciban_data::Files;
use deciban_tasks::figures::{Use, report};
use deciban_tasks::{Evaluating, Terms, evaluate};

use crate::args::{DecisionArgs, LlrArgs, ReadArgs, UnusualArgs, open_to_judge};
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
    #[arg(long, value_name = "FILE.html")]
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
    llr: LlrArgs,
    /// With --llr: the column of the classes, two of them
    #[arg(long, short, value_name = "COLUMN", requires = "llr", help_heading = "Without a model")]
    target: Option<String>,
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

impl Evaluate {
    pub fn run(self) -> Result<()> {
        if let Some(path) = &self.report {
            if !path.extension().is_some_and(|e| e == "html" || e == "htm") {
                return Err(Error::parameter("report", "give a file that ends in .html"));
            }
            let inputs = self.data.iter().map(Path::new).chain([self.model.as_path()]).chain(self.read.labels());
            Destination::from(path.clone().into_os_string()).check(inputs)?;
        }
        let (name, tables, model, mut files) = self.open()?;
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
            let title = format!("{name} on {}", tables.join(", "));
            let page = report(&title, &files, &Use { model: &model, prior: &prior, costs: &costs })?;
            output::write(path, page.as_bytes())?;
        }
        tell(&evaluated.remarks);
        match self.json {
            true => say!("{:#}", evaluated.json()),
            false => say!("{}", evaluated.text().trim_end()),
        }
        Ok(())
    }

    /// The model with its name, and the tables with their rows.
    fn open(&self) -> Result<(String, Vec<String>, Model, Files)> {
        let first = self.model.display().to_string();
        if self.llr.is_given() {
            let tables = [&[first], &self.data[..]].concat();
            let (target, positive) = (self.target.as_deref(), self.positive.as_deref());
            let (name, model, files) = self.llr.open_one(&tables, &self.read, target, positive)?;
            return Ok((name, tables, model, files));
        }
        let model = Model::load(&self.model)?;
        let files = open_to_judge(&self.data, &self.read, model.schema())?;
        Ok((first, self.data.clone(), model, files))
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
}
