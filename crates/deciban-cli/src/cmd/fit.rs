//! `deciban fit`: rows or statistics to a model.

use std::path::Path;
use std::time::Instant;

use clap::Args;
use clap::builder::PossibleValuesParser;
use deciban::calibrate::Method;
use deciban::file::Archive;
use deciban::learn::{Classifier, Effort, Options, Statistics};
use deciban::model::Model;
use deciban::{Error, Result};
use deciban_tasks::{
    Input, Keep, Kept, Learned, Learning, PriorChoice, Source, comparison, describe, learn, learn_from_statistics,
};
use serde_json::json;

use crate::args::{
    AdditiveArgs, ColumnArgs, GenerativeArgs, KDependenceArgs, LinearArgs, NoisyOrArgs, ReadArgs, one_of,
};
use crate::output::{Destination, flags, note, say, tell};
use crate::progress::Progress;

/// Learn a model from labelled rows, or from statistics files
#[derive(Args)]
#[command(after_help = "Examples:
  deciban fit wine.csv --target Type -o wine.deciban
  deciban fit wine.csv --target Type --effort quick -o wine.deciban
  deciban fit wine.csv --target Type --covariance tied --shrinkage auto -o wine.deciban
  deciban fit wine.csv --target Type --model logistic --weight-decay 0.1 -o wine.deciban
  deciban fit adult.csv --target income --model additive -o adult.deciban
  deciban fit adult.csv --target income --model k-dependence --parents 3 -o adult.deciban
  deciban fit symptoms.csv --target fever --model noisy-or --effect yes -o fever.deciban
  deciban fit adult.csv --target income --model naive-bayes --family age=histogram -o adult.deciban
  deciban fit messages.tsv --no-header --no-quotes --target c0 --model multinomial -o spam.deciban
  deciban fit train-images-idx3-ubyte.gz --labels train-labels-idx1-ubyte.gz \\
      --pca 50 -o mnist.deciban
  deciban fit few.csv --target diagnosis --model gaussian --unlabelled many.csv -o cancer.deciban
  deciban fit visits.csv --target outcome --group patient -o outcome.deciban
  deciban fit cancer.csv --target diagnosis --model naive-bayes --calibrate pav -o cancer.deciban
  deciban fit hospital-a.stats hospital-b.stats --covariance tied -o both.deciban
  deciban fit january.csv --target diagnosis --keep-statistics -o m.deciban")]
pub struct Fit {
    /// Tables (files, globs, or - for standard input), or statistics files
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// The kind of model; auto compares all that fit the columns by cross-validation, and takes the best or
    /// several fused, unless options of one are given; fused takes several fused in any case
    #[arg(long, value_parser = models(), default_value = "auto")]
    model: String,
    /// How much work the search among models may take: quick, normal or thorough
    #[arg(long, value_parser = one_of(&Effort::ALL), default_value = "normal")]
    effort: Effort,
    /// The search tries only these kinds of models, such as gaussian,logistic
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    models: Vec<String>,
    /// Keep no companion beside a model that a search has found: a small naive Bayes model that describes rows for
    /// predict --density, sample, impute and explain --next where the model itself does not
    #[arg(long)]
    no_companion: bool,
    /// Write the model to this file
    #[arg(long, short, value_name = "MODEL")]
    output: Option<Destination>,
    /// The model's default prior: empirical (of the training data), uniform, or CLASS=P,...
    #[arg(long, default_value = "empirical")]
    prior: PriorChoice,
    /// Rows that are added to every class for the empirical prior; 0 is maximum likelihood
    #[arg(long, value_name = "A", default_value_t = 0.0)]
    prior_pseudo_count: f64,
    /// Calibrate the evidence, by scores of every row from models that have not seen its fold
    #[arg(long, value_name = "METHOD", value_parser = one_of(&Method::ALL))]
    calibrate: Option<Method>,
    /// Keep the evidence of rows for --calibrate up to so much memory, in MiB; where it takes more,
    /// rows are scored several times [default: 512]
    #[arg(long, value_name = "MIB", requires = "calibrate")]
    memory: Option<usize>,
    /// Keep the statistics of the rows in the model file, so that `update` and `forget` can change the model
    #[arg(long)]
    keep_statistics: bool,
    /// Rows with the same value of this column belong together: all folds within the fit keep them in one. The model
    /// does not use the column
    #[arg(long, value_name = "COLUMN", conflicts_with = "equal_together")]
    group: Option<String>,
    /// Learn from the rows of this table too, which have no label; --unlabelled-weight is 1 by default then
    #[arg(long, value_name = "FILE")]
    unlabelled: Vec<String>,
    /// Print what was learned as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    generative: GenerativeArgs,
    #[command(flatten)]
    linear: LinearArgs,
    #[command(flatten)]
    additive: AdditiveArgs,
    #[command(flatten)]
    k_dependence: KDependenceArgs,
    #[command(flatten)]
    noisy_or: NoisyOrArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl Fit {
    pub fn run(self) -> Result<()> {
        let started = Instant::now();
        let inputs = || self.data.iter().chain(&self.unlabelled).map(Path::new).chain(self.read.labels());
        self.output.iter().try_for_each(|output| output.check(inputs()))?;
        let mut request = Learning {
            model: self.model.clone(),
            options: Options {
                effort: self.effort,
                models: self.models.clone(),
                group: self.group.clone(),
                no_companion: self.no_companion,
                ..self
                    .k_dependence
                    .put(self.noisy_or.put(self.additive.put(self.linear.put(self.generative.options()?))))
            },
            prior: self.prior.clone(),
            prior_pseudo_count: self.prior_pseudo_count,
            calibrate: self.calibrate,
            memory: self.memory.unwrap_or(512) << 20,
            sort_classes: self.columns.sorts_classes(&self.read),
            keep: if self.keep_statistics { Keep::Required } else { Keep::Nothing },
        };
        if !self.unlabelled.is_empty() && request.options.unlabelled_weight == 0.0 {
            request.options.unlabelled_weight = 1.0;
        }
        let learned = match statistics_files(&self.data)? {
            Some(statistics) => learn_from_statistics(&request, statistics)?,
            None => {
                let group = self.group.as_deref();
                let mut files = match request.options.unlabelled_weight > 0.0 {
                    true => self.columns.open_unlabelled(&self.data, &self.read, &self.unlabelled, group)?,
                    false => self.columns.open_folded(&self.data, &self.read, group)?,
                };
                let _progress = Progress::watch(&mut files, "learning");
                if self.output.is_some() {
                    (&files as &dyn Input).check_fits_a_file()?;
                }
                learn(&request, &mut files)?
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        if let Some(path) = &self.output {
            let source = self.keep_statistics.then(|| Source::new(&request, &learned)).flatten();
            path.write(&Kept { model: learned.model.clone(), source }.to_bytes()?)?;
        }
        tell(&learned.remarks);
        if let Some(comparison) = &learned.comparison {
            tell(&comparison::remarks(comparison));
            note!("{}", flags(&comparison::to_text(comparison, SHOWN, "§json lists all", false)));
        }
        match self.json {
            true => say!("{:#}", report(&learned, seconds)?),
            false => {
                self.tell(&learned.model, seconds)?;
                learned.comparison.iter().for_each(|found| note!("{}", flags(&comparison::why(found))));
                learned.crossed.iter().for_each(|crossed| note!("{}", crossed.text()));
            }
        }
        Ok(())
    }

    fn tell(&self, model: &Model, seconds: f64) -> Result<()> {
        let Some(path) = &self.output else {
            say!("{}", describe::Description::new(model).text().trim_end());
            note!("The model was not saved: give -o FILE.");
            return Ok(());
        };
        let schema = model.schema();
        let (classes, columns) = (schema.classes().len(), schema.columns().len());
        let rows = model.learned_from();
        note!("{}: {rows} rows, {columns} columns, {classes} classes, {seconds:.2} s", path);
        note!("{}", describe::in_short(model));
        Ok(())
    }
}

/// Candidates of a search that are shown.
const SHOWN: usize = 10;

/// What was learned, for programs.
fn report(learned: &Learned, seconds: f64) -> Result<serde_json::Value> {
    let model = &learned.model;
    let mut report = json!({
        "model": learned.kind,
        "classes": model.schema().classes(),
        "columns": model.schema().names(),
        "rows": model.learned_from(),
        "prior": model.prior().probabilities(),
        "seconds": seconds,
    });
    describe::report(model).into_iter().for_each(|(name, value)| report[name] = value);
    report["calibration"] = match (&learned.crossed, model) {
        (Some(crossed), _) => crossed.json(),
        (None, Model::Calibrated(model)) => {
            json!({ "calibration": describe::calibration_json(model.calibration()) })
        }
        _ => serde_json::Value::Null,
    };
    if let Some(comparison) = &learned.comparison {
        report["chosen"] = json!(comparison.ranked()[0].name);
        report["why"] = json!(comparison::why(comparison));
        report["compared"] = comparison::to_json(comparison)?;
    }
    Ok(report)
}

/// The names that `--model` takes.
fn models() -> PossibleValuesParser {
    PossibleValuesParser::new(deciban::model::models().into_iter().map(|(name, _)| name))
}

/// Whether a path is a statistics file. What is called one is opened as one, so that its own fault is told.
pub fn is_statistics(path: &str) -> bool {
    let named = Path::new(path).extension().is_some_and(|e| e == "stats");
    named || Archive::kind_of(path).as_deref() == Some("statistics")
}

/// The merged statistics, if the data are statistics files.
fn statistics_files(data: &[String]) -> Result<Option<Statistics>> {
    if !data.iter().any(|path| is_statistics(path)) {
        return Ok(None);
    }
    match data.iter().find(|path| !is_statistics(path)) {
        Some(table) => Err(Error::Schema(format!(
            "`{table}` is no statistics file, others are: make one of it with `deciban stats`"
        ))),
        None => load_statistics(data).map(Some),
    }
}

/// The sum of several statistics files.
pub fn load_statistics<P: AsRef<Path>>(paths: &[P]) -> Result<Statistics> {
    let mut all = paths.iter().map(Statistics::load);
    // The argument parser asks for at least one.
    let mut whole = all.next().expect("at least one file")?;
    for part in all {
        whole.merge(&part?)?;
    }
    Ok(whole)
}
