//! Learners and the models they leave. A [`Learner`] is a loop over passes: closed-form models need
//! one, others send their current parameters inside the next pass.
//!
//! To add a learner: write its file, and add one line to [`Model`].

pub mod blocks;
mod generative;
mod least_squares;
mod log_linear;
mod logistic;
mod noisy_or;
mod statistics;
mod summary;

pub use blocks::NaiveBayes;
pub use generative::{FittedBlock, Generative, GenerativeModel};
pub use least_squares::{LeastSquares, LeastSquaresModel};
pub use log_linear::LogLinear;
pub(crate) use logistic::features::Term;
pub(crate) use logistic::solve;
pub use logistic::{Bend, Coefficient, Descent, Differentiate, Fit, Link, Logistic, LogisticModel, Solver};
pub use noisy_or::{Cause, Causes, Method, NoisyOr, NoisyOrFit, NoisyOrModel};
pub use statistics::Statistics;
pub use summary::{Block, Summarise, Summary};

use std::path::Path;

use rayon::prelude::*;

use crate::calibrate::CalibratedModel;
use crate::data::{Batch, Schema};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::file::{Archive, Stored};
use crate::posterior::Prior;

/// Learns a model from rows, wherever they are.
pub trait Learner {
    /// What it learns.
    type Model: Classifier;
    /// Runs its passes on `engine`.
    fn learn(&self, engine: &impl Engine) -> Result<Self::Model>;
}

/// A model that scores rows into evidence.
pub trait Classifier {
    /// The columns it takes and the classes it knows.
    fn schema(&self) -> &Schema;
    /// The prior it uses unless told otherwise.
    fn prior(&self) -> &Prior;
    /// The prior of the training data.
    fn empirical(&self) -> &Prior;
    /// The evidence that rows carry for each class; the batch has the columns of the schema.
    fn evidence(&self, x: &Batch<'_>) -> Result<Evidence>;
}

/// The evidence of all rows, scored in tiles and in parallel: `score` fills the values of some rows,
/// one row after the other.
fn score_in_tiles(
    x: &Batch<'_>,
    schema: &Schema,
    tile: usize,
    score: impl Fn(std::ops::Range<usize>, &mut [f64]) -> Result<()> + Sync,
) -> Result<Evidence> {
    Error::check_shape("columns of a batch", schema.columns().len(), x.width())?;
    let classes = schema.classes().len();
    let mut values = vec![0.0; x.rows() * classes];
    values.par_chunks_mut(tile * classes).enumerate().try_for_each(|(t, out)| {
        let start = t * tile;
        score(start..start + out.len() / classes, out)
    })?;
    Evidence::new(classes, values)
}

/// A model of any kind, as files hold it.
#[derive(Clone, Debug)]
pub enum Model {
    /// Class-conditional densities.
    Generative(GenerativeModel),
    /// Posteriors linear in the features.
    Logistic(LogisticModel),
    /// Causes of an effect.
    NoisyOr(NoisyOrModel),
    /// Scores by least squares.
    LeastSquares(LeastSquaresModel),
    /// Any of them with its calibration.
    Calibrated(CalibratedModel),
}

impl Model {
    /// Writes a model file, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut archive = Archive::new("model");
        self.put(&mut archive, "kind", "model")?;
        archive.write(path)
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Model::get(&Archive::read(path, "model")?, "kind", "model")
    }

    /// The model without its calibration, if it has one.
    pub fn plain(&self) -> &Model {
        match self {
            Model::Calibrated(calibrated) => calibrated.model(),
            model => model,
        }
    }

    /// Puts the model under `name`, and what it is under `kind`.
    pub(crate) fn put(&self, archive: &mut Archive, kind: &str, name: &str) -> Result<()> {
        match self {
            Model::Generative(model) => {
                archive.put_json(kind, &"generative")?;
                model.store(archive, name)
            }
            Model::Logistic(model) => {
                archive.put_json(kind, &"logistic")?;
                model.store(archive, name)
            }
            Model::NoisyOr(model) => {
                archive.put_json(kind, &"noisy-or")?;
                model.store(archive, name)
            }
            Model::LeastSquares(model) => {
                archive.put_json(kind, &"least-squares")?;
                model.store(archive, name)
            }
            Model::Calibrated(model) => {
                archive.put_json(kind, &"calibrated")?;
                model.store(archive, name)
            }
        }
    }

    pub(crate) fn get(archive: &Archive, kind: &str, name: &str) -> Result<Self> {
        match archive.json::<String>(kind)?.as_str() {
            "generative" => Ok(Model::Generative(GenerativeModel::load(archive, name)?)),
            "logistic" => Ok(Model::Logistic(LogisticModel::load(archive, name)?)),
            "noisy-or" => Ok(Model::NoisyOr(NoisyOrModel::load(archive, name)?)),
            "least-squares" => Ok(Model::LeastSquares(LeastSquaresModel::load(archive, name)?)),
            "calibrated" => Ok(Model::Calibrated(CalibratedModel::load(archive, name)?)),
            other => Err(archive.damaged(&format!("there is no kind of model named `{other}`"))),
        }
    }
}

impl Classifier for Model {
    fn schema(&self) -> &Schema {
        match self {
            Model::Generative(model) => model.schema(),
            Model::Logistic(model) => model.schema(),
            Model::NoisyOr(model) => model.schema(),
            Model::LeastSquares(model) => model.schema(),
            Model::Calibrated(model) => model.schema(),
        }
    }

    fn prior(&self) -> &Prior {
        match self {
            Model::Generative(model) => model.prior(),
            Model::Logistic(model) => model.prior(),
            Model::NoisyOr(model) => model.prior(),
            Model::LeastSquares(model) => model.prior(),
            Model::Calibrated(model) => model.prior(),
        }
    }

    fn empirical(&self) -> &Prior {
        match self {
            Model::Generative(model) => model.empirical(),
            Model::Logistic(model) => model.empirical(),
            Model::NoisyOr(model) => model.empirical(),
            Model::LeastSquares(model) => model.empirical(),
            Model::Calibrated(model) => model.empirical(),
        }
    }

    fn evidence(&self, x: &Batch<'_>) -> Result<Evidence> {
        match self {
            Model::Generative(model) => model.evidence(x),
            Model::Logistic(model) => model.evidence(x),
            Model::NoisyOr(model) => model.evidence(x),
            Model::LeastSquares(model) => model.evidence(x),
            Model::Calibrated(model) => model.evidence(x),
        }
    }
}
