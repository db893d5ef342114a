//! `deciban fit`: rows or statistics to a model.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use deciban::data::Column;
use deciban::file::Archive;
use deciban::learn::{Classifier, Generative, GenerativeModel, Model, Statistics};
use deciban::{Error, Result};
use serde_json::json;

use crate::args::{ColumnArgs, GaussianArgs, PriorArg, ReadArgs};
use crate::describe;
use crate::progress::Progress;

/// Learn a model from labelled rows, or from statistics files
#[derive(Args)]
#[command(after_help = "Examples:
  deciban fit wine.csv --target Type -o wine.deciban
  deciban fit wine.csv --target Type --covariance tied --shrinkage auto -o wine.deciban
  deciban fit train-images-idx3-ubyte.gz --labels train-labels-idx1-ubyte.gz --pca 50 -o mnist.deciban
  deciban fit hospital-a.stats hospital-b.stats --covariance tied -o both.deciban")]
pub struct Fit {
    /// Tables (files, globs, or - for standard input), or statistics files
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// The kind of model
    #[arg(long, value_parser = ["gaussian"], default_value = "gaussian")]
    model: String,
    /// Write the model to this file
    #[arg(long, short, value_name = "MODEL")]
    output: Option<PathBuf>,
    /// The model's default prior: empirical (of the training data), uniform, or CLASS=P,...
    #[arg(long, default_value = "empirical")]
    prior: PriorArg,
    /// Print what was learned as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    gaussian: GaussianArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl Fit {
    pub fn run(self) -> Result<()> {
        let started = Instant::now();
        let (learner, statistics) = match self.statistics_files() {
            Some(statistics) => {
                let statistics = statistics?;
                (learner(statistics.schema().columns(), &self.gaussian)?, statistics)
            }
            None => collect(&self.data, &self.columns, &self.gaussian, &self.read)?,
        };
        let model = learner.fit(&statistics)?;
        let prior = self.prior.resolve(model.schema(), model.empirical())?;
        let model = model.with_prior(prior)?;
        let seconds = started.elapsed().as_secs_f64();
        if let Some(path) = &self.output {
            Model::Generative(model.clone()).save(path)?;
        }
        match self.json {
            true => println!("{:#}", report(&self.model, &model, seconds)),
            false => self.tell(&model, seconds),
        }
        Ok(())
    }

    fn tell(&self, model: &GenerativeModel, seconds: f64) {
        match &self.output {
            Some(path) => {
                let rows: f64 = model.rows().iter().sum();
                let classes = model.schema().classes().len();
                let columns = model.schema().columns().len();
                eprintln!("{}: {rows} rows, {columns} columns, {classes} classes, {seconds:.2} s", path.display());
                eprintln!("{}", describe::options(model));
            }
            None => {
                print!("{}", describe::model(model));
                eprintln!("The model was not saved: give -o FILE.");
            }
        }
    }

    /// The merged statistics, if the data are statistics files.
    fn statistics_files(&self) -> Option<Result<Statistics>> {
        let is_statistics = |path: &String| Archive::kind_of(path).as_deref() == Some("statistics");
        if !self.data.iter().any(is_statistics) {
            return None;
        }
        if let Some(table) = self.data.iter().find(|path| !is_statistics(path)) {
            let message = format!("`{table}` is no statistics file, others are: make one of it with `deciban stats`");
            return Some(Err(Error::Schema(message)));
        }
        Some(load_statistics(&self.data))
    }
}

/// The sum of several statistics files.
pub fn load_statistics<P: AsRef<std::path::Path>>(paths: &[P]) -> Result<Statistics> {
    let mut all = paths.iter().map(Statistics::load);
    // The argument parser asks for at least one.
    let mut whole = all.next().expect("at least one file")?;
    for part in all {
        whole.merge(&part?)?;
    }
    Ok(whole)
}

fn learner(columns: &[Column], args: &GaussianArgs) -> Result<Generative> {
    let learner = Generative::gaussian(columns, args.family())?;
    Ok(learner.gaussianise(args.gaussianise()).folds(args.folds(), args.seed()))
}

/// Reads tables into statistics.
pub fn collect(
    data: &[String],
    columns: &ColumnArgs,
    gaussian: &GaussianArgs,
    read: &ReadArgs,
) -> Result<(Generative, Statistics)> {
    gaussian.family().check()?;
    let mut files = columns.open(data, read)?;
    let learner = learner(files.columns(), gaussian)?;
    if learner.needs_two_passes() {
        files.make_rereadable()?;
    }
    let _progress = Progress::watch(&mut files, "reading");
    let mut statistics = learner.statistics(&files)?;
    if columns.sorts_classes(read) {
        statistics.sort_classes()?;
    }
    Ok((learner, statistics))
}

fn report(name: &str, model: &GenerativeModel, seconds: f64) -> serde_json::Value {
    json!({
        "model": name,
        "options": describe::options_json(model),
        "classes": model.schema().classes(),
        "columns": model.schema().names(),
        "rows": model.rows().iter().sum::<f64>(),
        "class_rows": model.rows(),
        "prior": model.prior().probabilities(),
        "seconds": seconds,
    })
}
