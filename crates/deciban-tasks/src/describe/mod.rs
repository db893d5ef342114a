//! Models and statistics in words and tables, whatever their families.

pub mod additive;
pub mod calibration;
pub mod equivalent;
pub mod forms;
pub mod fused;
pub mod generative;
pub mod k_dependence;
pub mod least_squares;
pub mod llr;
pub mod logistic;
pub mod noisy_or;

pub use calibration::{calibration, calibration_json};
pub use generative::{gaussian, model, parameters};

use deciban::expected::{By, Expected};
use deciban::learn::{Classifier, GenerativeModel, Statistics};
use deciban::model::Model;
use deciban::{Error, Result, shown};
use serde_json::{Value, json};

use self::calibration::map_in_words;
use crate::application::find_class;
use crate::page::refused;
use crate::table::{Table, number, percent};

/// What there is to say of a model of one kind.
pub trait Describe: Classifier {
    /// What such models are called.
    const PLURAL: &'static str;

    /// The hyper-parameters, in a few lines.
    fn in_short(&self) -> String;

    /// All that `inspect` shows, for people; intervals have this confidence.
    fn text(&self, confidence: f64) -> String;

    /// The same for programs.
    fn json(&self, confidence: f64) -> Result<Value>;

    /// What `fit` reports of such a model, for programs: the name of each thing and what it is.
    fn report(&self) -> Vec<(&'static str, Value)>;

    /// What a person must know about a fit that did not end well.
    fn warning(&self) -> Option<String> {
        None
    }

    /// The numbers by which the page scores rows without a server.
    fn scorer(&self) -> Result<Value> {
        Err(refused(Self::PLURAL))
    }
}

macro_rules! descriptions {
    ($($(#[$doc:meta])* $name:literal $learner:ident: $model:ident),* $(,)?) => {
        /// The same for a model of any kind, which has no calibration.
        macro_rules! of_plain {
            ($any:expr, $one:ident => $does:expr) => {
                match $any.plain() {
                    $(Model::$learner($one) => $does,)*
                    Model::Fused($one) => $does,
                    Model::Calibrated(_) => unreachable!("what is plain has no calibration"),
                }
            };
        }
    };
}

deciban::with_learners!(descriptions);

/// A model's hyper-parameters, and its calibration, in a few lines.
pub fn in_short(model: &Model) -> String {
    let text = of_plain!(model, plain => plain.in_short());
    match model {
        Model::Calibrated(model) => format!("{text}\n{}", map_in_words(model)),
        _ => text,
    }
}

/// What `fit` reports of a model, for programs.
pub fn report(model: &Model) -> Vec<(&'static str, Value)> {
    of_plain!(model, plain => plain.report())
}

/// What a person must know about a fit that did not end well.
pub fn warning(model: &Model) -> Option<String> {
    of_plain!(model, plain => plain.warning())
}

/// The numbers by which the page scores rows without a server, before any calibration.
pub fn scorer(model: &Model) -> Result<Value> {
    of_plain!(model, plain => plain.scorer())
}

/// The confidence of intervals by default.
pub const CONFIDENCE: f64 = 0.95;

/// What a statistics file holds.
pub fn statistics(name: &str, statistics: &Statistics) -> String {
    let summary = statistics.summary();
    let rows = summary.rows();
    let mut table = Table::new([statistics.schema().target(), "rows"]);
    for (class, rows) in statistics.schema().classes().iter().zip(&rows) {
        table.row([class.clone(), number(*rows, 12)]);
    }
    let folds = if summary.folds() > 1 { format!(", {} folds", summary.folds()) } else { String::new() };
    let columns = statistics.schema().columns().len();
    format!("{}: {} rows, {columns} columns{folds}\n{table}", shown(name), rows.iter().sum::<f64>())
}

/// All that `inspect` shows of a model, as data and as text.
pub struct Description<'a> {
    /// The model.
    pub model: &'a Model,
    /// The confidence of the intervals of a linear model's weights.
    pub confidence: f64,
}

impl<'a> Description<'a> {
    /// A model with intervals of the usual confidence.
    pub fn new(model: &'a Model) -> Self {
        Description { model, confidence: CONFIDENCE }
    }

    /// For programs.
    pub fn json(&self) -> Result<Value> {
        let mut all = of_plain!(self.model, plain => plain.json(self.confidence))?;
        if let Model::Calibrated(model) = self.model {
            all["calibration"] = calibration_json(model.calibration());
        }
        if let Some(companion) = self.model.about().companion() {
            let bytes = self.model.about().companion_bytes()?;
            all["companion"] = json!({ "model": in_short(&Model::Generative(companion.clone())), "bytes": bytes });
        }
        Ok(all)
    }

    /// For people: the calibration, if there is one, and the model.
    pub fn text(&self) -> String {
        self.calibrated(of_plain!(self.model, plain => plain.text(self.confidence)))
    }

    /// For people: the same, and the model as linear or quadratic forms.
    pub fn forms(&self) -> Result<String> {
        Ok(format!("{}\n{}", self.text(), forms::forms(self.generative("forms")?)?))
    }

    /// For people: the log-likelihood ratio of two classes, written out.
    pub fn versus(&self, a: &str, b: &str) -> Result<String> {
        let model = self.generative("versus")?;
        let class = |name: &str| find_class(model.schema(), name.trim(), "versus");
        Ok(self.calibrated(forms::versus(forms::plain_density(model)?, model.schema(), class(a)?, class(b)?)?))
    }

    fn generative(&self, option: &'static str) -> Result<&GenerativeModel> {
        match self.model.plain() {
            Model::Generative(model) => Ok(model),
            _ => Err(Error::parameter(option, "only a generative model has other forms; this one is what it is")),
        }
    }

    /// A text behind the calibration of the model.
    fn calibrated(&self, text: String) -> String {
        match self.model {
            Model::Calibrated(model) => format!("{}\n\n{text}", map_in_words(model)),
            _ => text,
        }
    }
}

/// What a model expects of its own decisions.
pub fn expectation(found: &Expected) -> String {
    let mut table = Table::new(["error rate".to_string(), percent(found.error_rate)]);
    table.row(["expected cost".to_string(), number(found.expected_cost, 4)]);
    if found.rejected > 0.0 {
        table.row(["rejected".to_string(), percent(found.rejected)]);
    }
    let how = match found.by {
        By::Sum => "exact: the sum over all combinations of levels".to_string(),
        By::Quadrature => "exact: an integral over the column".to_string(),
        By::Sampling { rows, error_rate_error, expected_cost_error } => format!(
            "from {rows} rows drawn from the model; standard errors {} and {}",
            percent(error_rate_error),
            number(expected_cost_error, 2)
        ),
    };
    format!("{table}{how}\n")
}
