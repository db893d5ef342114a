//! [`Source`]: what a model was fitted from, kept beside it, so that it can learn more rows and forget others.
//!
//! Statistics add and subtract, and a fit is a function of them alone. So an updated model is the one that all rows
//! together would have given, and a model that has forgotten rows is the one that never had them, to rounding. What
//! shaped the statistics stays as it was recorded: bins, Gaussianising maps and folds are those of the first fit, and
//! new rows are summarised by them. What a fit settles from folds (`auto`) is settled anew.

use std::path::Path;

use deciban::engine::Engine;
use deciban::file::{Archive, Stored};
use deciban::learn::{Classifier, Options, Seen, Statistics};
use deciban::model::{Model, statistics_of};
use deciban::{Error, Result, output};
use serde::{Deserialize, Serialize};

use crate::application::PriorChoice;
use crate::learn::{Learned, Learning, of_statistics, summariser};
use crate::receipt::Receipt;

/// How a model was learned, and the statistics of its rows.
#[derive(Clone, Debug)]
pub struct Source {
    recipe: Recipe,
    statistics: Statistics,
}

/// How a model is fitted from statistics.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Recipe {
    kind: String,
    options: Options,
    prior: PriorChoice,
    prior_pseudo_count: f64,
}

/// A model with what it was fitted from, if that was kept: what a model file holds.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The model.
    pub model: Model,
    /// What it was fitted from.
    pub source: Option<Source>,
}

/// What happens to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// They are learned.
    Update,
    /// They are forgotten.
    Forget,
}

impl Change {
    /// Adds rows to statistics, or takes them away.
    pub fn apply(self, statistics: &mut Statistics, rows: &Statistics) -> Result<()> {
        match self {
            Change::Update => statistics.merge(rows),
            Change::Forget => statistics.remove(rows),
        }
    }
}

/// An error, before the work, if the model that is asked for will not have statistics to keep.
pub fn check_keeps(request: &Learning) -> Result<()> {
    let refuse = |message: &str| Err(Error::parameter("keep_statistics", message));
    if request.calibrate.is_some() {
        return refuse("a calibration is learned from rows and cannot follow when rows come and go: fit without it");
    }
    let kind = match request.model.as_str() {
        "auto" => request.options.names_model()?.unwrap_or("auto"),
        name => name,
    };
    match kind {
        "auto" => refuse("name the §model that is to be updated: auto would have to compare them anew"),
        kind if statistics_of(kind).is_some() => Ok(()),
        kind => refuse(&format!("{kind} is learned from rows, not from statistics: a generative model has them")),
    }
}

impl Source {
    /// Of a model that was learned; `None` if it was not fitted from statistics.
    pub fn new(request: &Learning, learned: &Learned) -> Option<Self> {
        let statistics = learned.statistics.clone()?;
        let mut options = request.options.clone();
        if matches!(learned.kind.as_str(), "table" | "tree" | "a1de") {
            // They are in the statistics.
            options.bins.clear();
        }
        let (prior, prior_pseudo_count) = (request.prior.clone(), request.prior_pseudo_count);
        let recipe = Recipe { kind: learned.kind.clone(), options, prior, prior_pseudo_count };
        request.calibrate.is_none().then_some(Source { recipe, statistics })
    }

    /// The kind of model.
    pub fn kind(&self) -> &str {
        &self.recipe.kind
    }

    /// The statistics of its rows.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The statistics of other rows, to be learned or forgotten.
    pub fn summarise(&self, rows: &dyn Engine) -> Result<Statistics> {
        self.statistics.of_more(rows)
    }

    /// The model that the statistics give.
    fn fit(&self) -> Result<Model> {
        let Recipe { kind, options, prior, prior_pseudo_count } = &self.recipe;
        let statistics = &self.statistics;
        let seen = Seen::Blocks(statistics.blocks());
        let learner = summariser(options, kind, statistics.schema().columns(), seen)?;
        let model = of_statistics(options, kind, &learner, statistics)?;
        let weight = statistics.summary().weights().iter().sum();
        let empirical = model.empirical().with_pseudo_count(weight, *prior_pseudo_count)?;
        let prior = prior.resolve(model.schema(), &empirical, &empirical)?;
        model.with_prior(prior)
    }
}

impl Kept {
    /// What a model file holds.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Kept::of_archive(&Archive::read(path, "model")?)
    }

    /// The same from its bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Kept::of_archive(&Archive::from_bytes(bytes, "model")?)
    }

    fn of_archive(archive: &Archive) -> Result<Self> {
        let model = Model::of_archive(archive)?;
        let source = match archive.json_if_any("source.recipe")? {
            Some(recipe) => Some(Source { recipe, statistics: <Statistics as Stored>::load(archive, "source")? }),
            None => None,
        };
        let same = |source: &Source| source.statistics.schema().names() == model.schema().names();
        match source.as_ref().is_none_or(same) {
            true => Ok(Kept { model, source }),
            false => Err(archive.damaged("its statistics are of other columns")),
        }
    }

    /// The bytes of a model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut archive = self.model.archive()?;
        if let Some(source) = &self.source {
            archive.put_json("source.recipe", &source.recipe)?;
            source.statistics.store(&mut archive, "source")?;
        }
        archive.to_bytes()
    }

    /// Writes a model file, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        output::write(path, &self.to_bytes()?)
    }

    /// What the model was fitted from, or an error that says how to keep it.
    pub fn source(&self) -> Result<&Source> {
        const FUSED: &str = "it is fused from several models, and their weights are learned from rows: fit it anew with \
                             all rows, or fit one generative model with";
        let why = match &self.model {
            Model::Fused(_) => FUSED,
            Model::Calibrated(model) if matches!(model.model(), Model::Fused(_)) => FUSED,
            Model::Calibrated(_) => "its calibration is learned from rows: fit without §calibrate, and with",
            Model::Generative(_) | Model::LeastSquares(_) => "fit it with",
            _ => "it is learned from rows, not from statistics: fit a generative model with",
        };
        let missing = || Error::Schema(format!("the model has not kept statistics to change: {why} §keep_statistics"));
        self.source.as_ref().ok_or_else(missing)
    }

    /// Learns or forgets the rows behind statistics, and says what has changed. If it fails, nothing has.
    pub fn change(&mut self, change: Change, rows: &[Statistics]) -> Result<Receipt> {
        let mut source = self.source()?.clone();
        let before = source.statistics.clone();
        rows.iter().try_for_each(|rows| change.apply(&mut source.statistics, rows))?;
        let mut model = source.fit()?;
        let mut receipt = Receipt::between(&before, &source.statistics, change);
        if source.recipe.options.leaves_open() {
            receipt.remarks.push("shrinkage and pooling were settled anew, from the folds of the statistics".into());
        }
        let profiles = self.model.about().profiles();
        match change {
            Change::Update => model.about_mut().set_profiles(profiles.to_vec())?,
            Change::Forget if profiles.is_empty() => {}
            // Quantiles and frequent levels may be those of rows that are to be forgotten.
            Change::Forget => receipt.remarks.push("what the columns looked like at fit was dropped".into()),
        }
        *self = Kept { model, source: Some(source) };
        Ok(receipt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::learn;
    use deciban::data::{Batch, Schema};
    use deciban::engine::Memory;

    #[test]
    fn models_without_statistics_say_how_to_keep_them() {
        let schema = Schema::numbers(&["x"], "t", &["a", "b"]).unwrap();
        let (x, classes) = ([1.0, 2.0, 3.0, 4.0, 2.5, 3.5], [0, 0, 1, 1, 1, 0]);
        let rows = Batch::new(6).column(&x[..]).unwrap().classes(&classes).unwrap();
        for (name, message) in [
            ("gaussian", "the model has not kept statistics to change: fit it with keep_statistics"),
            ("logistic", "the model has not kept statistics to change: it is learned from rows, not from statistics"),
        ] {
            let request = Learning { model: name.into(), ..Learning::default() };
            let model = learn(&request, &mut Memory::new(schema.clone(), rows.clone()).unwrap()).unwrap().model;
            let error = Kept { model, source: None }.source().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
            assert_eq!(check_keeps(&request).is_ok(), name == "gaussian");
        }
        assert!(check_keeps(&Learning::default()).is_err());
    }
}
