//! `deciban fit`: rows or statistics to a model.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use clap::builder::PossibleValuesParser;
use deciban::calibrate::{CalibratedModel, Method};
use deciban::engine::Engine;
use deciban::file::Archive;
use deciban::learn::options::{GENERATIVE, LEAST_SQUARES, LINEAR, MODELS, NOISY_OR};
use deciban::learn::{Classifier, Generative, Learner, LeastSquares, Model, Options, Seen, Statistics};
use deciban::posterior::Prior;
use deciban::select::{Candidate, CrossValidation, Folds, grid};
use deciban::{Error, Result};
use serde_json::json;

use crate::args::{ColumnArgs, GenerativeArgs, Known, LinearArgs, NoisyOrArgs, ReadArgs, one_of};
use crate::cmd::compare;
use crate::output::say;
use crate::progress::Progress;
use deciban_tasks::PriorChoice;
use deciban_tasks::crossed::Crossed;
use deciban_tasks::describe;
use deciban_tasks::describe::scores as describe_scores;
use deciban_tasks::remarks::Look;

/// Learn a model from labelled rows, or from statistics files
#[derive(Args)]
#[command(after_help = "Examples:
  deciban fit wine.csv --target Type -o wine.deciban
  deciban fit wine.csv --target Type --covariance tied --shrinkage auto -o wine.deciban
  deciban fit wine.csv --target Type --model logistic --weight-decay 0.1 -o wine.deciban
  deciban fit symptoms.csv --target fever --model noisy-or --effect yes -o fever.deciban
  deciban fit adult.csv --target income --model naive-bayes --family age=histogram -o adult.deciban
  deciban fit messages.tsv --no-header --no-quotes --target c0 --model multinomial -o spam.deciban
  deciban fit train-images-idx3-ubyte.gz --labels train-labels-idx1-ubyte.gz \\
      --pca 50 -o mnist.deciban
  deciban fit cancer.csv --target diagnosis --model naive-bayes --calibrate pav -o cancer.deciban
  deciban fit hospital-a.stats hospital-b.stats --covariance tied -o both.deciban")]
pub struct Fit {
    /// Tables (files, globs, or - for standard input), or statistics files
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// The kind of model; auto compares a few by cross-validation, unless options of one are given
    #[arg(long, value_parser = models(), default_value = "auto")]
    model: String,
    /// Write the model to this file
    #[arg(long, short, value_name = "MODEL")]
    output: Option<PathBuf>,
    /// The model's default prior: empirical (of the training data), uniform, or CLASS=P,...
    #[arg(long, default_value = "empirical")]
    prior: PriorChoice,
    /// Rows that are added to every class for the empirical prior; 0 is maximum likelihood
    #[arg(long, value_name = "A", default_value_t = 0.0)]
    prior_pseudo_count: f64,
    /// Calibrate the evidence, by scores of every row from models that have not seen its fold
    #[arg(long, value_name = "METHOD", value_parser = one_of(&Method::ALL))]
    calibrate: Option<Method>,
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
    noisy_or: NoisyOrArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl Fit {
    pub fn run(self) -> Result<()> {
        let started = Instant::now();
        let options = &self.options()?;
        let statistics = statistics_files(&self.data)?;
        let kind = match (self.model.as_str(), &statistics) {
            ("auto", Some(statistics)) => Some(model_of(statistics)),
            ("auto", None) => options.names_model()?,
            (name, _) => Some(name),
        };
        let linear = LINEAR.iter().find(|(name, _)| Some(*name) == kind);
        let mut choice = None;
        let (model, weight) = match (kind, linear, statistics) {
            (None, ..) => self.auto(options, &mut choice)?,
            (Some(name), Some(_), Some(_)) | (Some(name @ NOISY_OR), _, Some(_)) => {
                return Err(Error::parameter("model", format!("{name} learns from rows, not from statistics")));
            }
            (_, Some((_, link)), None) => self.learn_from_rows(&options.logistic(*link))?,
            (Some(NOISY_OR), ..) => self.learn_from_rows(&options.noisy_or())?,
            (Some(LEAST_SQUARES), _, statistics) => {
                let fit = |_: &Generative, statistics: &Statistics| LeastSquares.fit(statistics);
                self.learn_from_statistics(options, "gaussian", statistics, fit)?
            }
            (Some(name), _, statistics) => self.learn_from_statistics(options, name, statistics, Generative::fit)?,
        };
        let prior = self.prior_of(&model, weight)?;
        let mut model = model.with_prior(prior)?;
        let crossed = self.calibrate.map(|method| self.crossed(options, method, kind, choice.as_ref())).transpose()?;
        if let Some(crossed) = &crossed {
            model = Model::Calibrated(CalibratedModel::new(model, crossed.map.clone())?);
        }
        let seconds = started.elapsed().as_secs_f64();
        if let Some(path) = &self.output {
            model.save(path)?;
        }
        let warning = match model.plain() {
            Model::Logistic(model) => describe::logistic_warning(model.fit()),
            Model::NoisyOr(model) => describe_scores::noisy_or_warning(model.fit()),
            _ => None,
        };
        warning.iter().for_each(|warning| eprintln!("warning: {warning}"));
        match self.json {
            true => say!("{:#}", self.report(&model, kind, choice, crossed.as_ref(), seconds)),
            false => {
                self.tell(&model, seconds)?;
                crossed.iter().for_each(|crossed| eprintln!("{}", crossed.text()));
            }
        }
        Ok(())
    }

    /// The calibration of the model that was learned, by cross-validation of its recipe.
    fn crossed(
        &self,
        options: &Options,
        method: Method,
        kind: Option<&str>,
        choice: Option<&Choice>,
    ) -> Result<Crossed> {
        let refuse = |message: &str| Err(Error::parameter("calibrate", message));
        if self.data.iter().any(|path| is_statistics(path)) {
            return refuse("scores come from rows, not from statistics");
        }
        if self.data.iter().any(|path| path == "-") {
            return refuse("the rows are read again, standard input cannot be: give a file");
        }
        let Known { files, .. } = self.columns.open_known(&self.data, &self.read, None)?;
        let candidate = match (choice, kind) {
            (Some(choice), _) => choice.candidate.clone(),
            (None, kind) => {
                let kind = kind.unwrap_or_default();
                let recipe = options.recipe(kind, files.columns(), Seen::Rows(&files.profiles()?))?;
                Candidate { name: kind.into(), recipe }
            }
        };
        let folds = Folds::stratified(&files, options.auto_folds()?, options.seed)?;
        Crossed::new(&files, candidate, method, folds)
    }

    /// All hyper-parameters.
    fn options(&self) -> Result<Options> {
        Ok(self.noisy_or.put(self.linear.put(self.generative.options()?)))
    }

    /// Compares a few models, tells how they did, and learns the best; with the weight of the rows.
    fn auto(&self, options: &Options, choice: &mut Option<Choice>) -> Result<(Model, f64)> {
        let Known { files, remarks, rows, weight } = self.columns.open_known(&self.data, &self.read, None)?;
        let schema = files.schema()?;
        let mut candidates = grid::quick(&files)?;
        if rows > MOST_ITERATED {
            candidates.retain(|candidate| candidate.closed_form(schema.columns()).is_some());
            eprintln!("The rows are many: models that need more than two passes were not tried.");
        }
        let folds = Folds::stratified(&files, options.auto_folds()?, options.seed)?;
        // A calibration that is asked for is put on what wins without one.
        let calibrated = if self.calibrate.is_some() { 0 } else { 2 };
        let comparison = CrossValidation::new(folds).calibrated(calibrated).run(&files, &candidates)?;
        remarks.iter().for_each(|remark| eprintln!("{remark}"));
        compare::warn(&comparison);
        eprintln!("{}", compare::to_text(&comparison, None, false));
        let best = &comparison.ranked()[0];
        let candidate = candidates[best.candidate].clone();
        *choice = Some(Choice { name: best.name.clone(), table: compare::to_json(&comparison)?, candidate });
        Ok((comparison.refit(best, &candidates, &files)?, weight))
    }

    /// A model in closed form, of statistics or of rows; with the weight behind it.
    fn learn_from_statistics<M: Into<Model>>(
        &self,
        options: &Options,
        name: &str,
        statistics: Option<Statistics>,
        fit: impl Fn(&Generative, &Statistics) -> Result<M>,
    ) -> Result<(Model, f64)> {
        let (learner, statistics, remarks) = match statistics {
            Some(statistics) => {
                let (columns, seen) = (statistics.schema().columns(), Seen::Blocks(statistics.blocks()));
                (options.generative(name, columns, seen)?, statistics, Vec::new())
            }
            None => collect(&self.data, name, &self.columns, options, &self.read)?,
        };
        let model = fit(&learner, &statistics)?;
        remarks.iter().for_each(|remark| eprintln!("{remark}"));
        Ok((model.into(), statistics.summary().weights().iter().sum()))
    }

    /// A model that needs several passes; with the weight of the rows.
    fn learn_from_rows<L: Learner<Model: Into<Model>>>(&self, learner: &L) -> Result<(Model, f64)> {
        let Known { mut files, remarks, weight, .. } = self.columns.open_known(&self.data, &self.read, None)?;
        let _progress = Progress::watch(&mut files, "learning");
        let model = learner.learn(&files)?;
        remarks.iter().for_each(|remark| eprintln!("{remark}"));
        Ok((model.into(), weight))
    }

    /// The model's default prior, if `weight` rows are behind it.
    fn prior_of(&self, model: &impl Classifier, weight: f64) -> Result<Prior> {
        if self.prior_pseudo_count != 0.0 && matches!(self.prior, PriorChoice::Uniform) {
            return Err(Error::parameter("prior_pseudo_count", "a uniform prior has no rows to add to"));
        }
        let empirical = model.empirical().with_pseudo_count(weight, self.prior_pseudo_count)?;
        self.prior.resolve(model.schema(), &empirical, &empirical)
    }

    fn tell(&self, model: &Model, seconds: f64) -> Result<()> {
        let Some(path) = &self.output else {
            say!("{}", describe::any(model).trim_end());
            eprintln!("The model was not saved: give -o FILE.");
            return Ok(());
        };
        let schema = model.schema();
        let (classes, columns) = (schema.classes().len(), schema.columns().len());
        let rows = describe::rows(model);
        eprintln!("{}: {rows} rows, {columns} columns, {classes} classes, {seconds:.2} s", path.display());
        eprintln!("{}", describe::in_short(model));
        Ok(())
    }

    fn report(
        &self,
        model: &Model,
        kind: Option<&str>,
        choice: Option<Choice>,
        crossed: Option<&Crossed>,
        seconds: f64,
    ) -> serde_json::Value {
        let chosen = choice.as_ref().map(|choice| choice.name.as_str());
        // Names of candidates begin with the kind of model.
        let kind = kind.or(chosen.and_then(|name| name.split([' ', ',']).next()));
        let mut report = json!({
            "model": kind,
            "classes": model.schema().classes(),
            "columns": model.schema().names(),
            "rows": describe::rows(model),
            "prior": model.prior().probabilities(),
            "seconds": seconds,
        });
        match model.plain() {
            Model::Generative(model) => {
                report["options"] = describe::options_json(model);
                report["class_rows"] = json!(model.rows());
            }
            Model::Logistic(model) => report["fit"] = json!(model.fit()),
            Model::Calibrated(_) => {}
            Model::NoisyOr(model) => report["fit"] = json!(model.fit()),
            Model::LeastSquares(model) => report["r2"] = json!(model.explained()),
        }
        report["calibration"] = match (crossed, model) {
            (Some(crossed), _) => crossed.json(),
            (None, Model::Calibrated(model)) => {
                json!({ "calibration": describe::calibration_json(model.calibration()) })
            }
            _ => serde_json::Value::Null,
        };
        if let Some(Choice { name, table, .. }) = choice {
            report["chosen"] = json!(name);
            report["compared"] = table;
        }
        report
    }
}

/// What `auto` chose, and from what.
struct Choice {
    name: String,
    table: serde_json::Value,
    candidate: Candidate,
}

/// More rows than this are too many for `auto` to try models that need many passes.
const MOST_ITERATED: f64 = 2e5;

/// The kind of model that statistics were made for.
fn model_of(statistics: &Statistics) -> &'static str {
    let families: Vec<&str> = statistics.blocks().iter().map(|block| block.family.name()).collect();
    let only = GENERATIVE.into_iter().find(|name| families.iter().all(|family| family == name));
    only.unwrap_or("naive-bayes")
}

/// The names that `--model` takes.
fn models() -> PossibleValuesParser {
    PossibleValuesParser::new(MODELS.iter().map(|(name, _)| *name))
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

/// Reads tables into statistics; the last are remarks about the columns.
pub fn collect(
    data: &[String],
    model: &str,
    columns: &ColumnArgs,
    options: &Options,
    read: &ReadArgs,
) -> Result<(Generative, Statistics, Vec<String>)> {
    let mut files = columns.open(data, read)?;
    let look = Look::new(&files)?;
    let learner = options.generative(model, files.columns(), Seen::Rows(&look.profiles))?;
    let mut remarks = look.remarks(&options.spiked(model, files.columns(), &look.profiles)?);
    if learner.needs_two_passes() {
        files.make_rereadable()?;
    }
    let _progress = Progress::watch(&mut files, "reading");
    let mut statistics = learner.statistics(&files)?;
    remarks.extend(files.warnings().iter().map(|warning| format!("warning: {warning}")));
    if columns.sorts_classes(read) {
        statistics.sort_classes()?;
    }
    Ok((learner, statistics, remarks))
}
