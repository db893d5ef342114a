//! Learners and the models they leave. A [`Learner`] is a loop over passes: closed-form models need
//! one, others send their current parameters inside the next pass.
//!
//! To add a learner: write its file, and add one line to the list of models at the end of this one.

mod about;
mod additive;
mod block;
pub mod blocks;
mod components;
mod em;
mod expect;
mod generative;
mod least_squares;
mod log_linear;
mod logistic;
mod noisy_or;
pub mod options;
mod project;
mod start;
mod statistics;
mod summary;

pub use about::About;
pub use additive::{Additive, AdditiveFit, AdditiveModel, Encode, Slopes, Tally, TermTable, Tried};
pub use block::Block;
pub use blocks::NaiveBayes;
pub use components::{Components, Count};
pub use em::Convergence;
pub use expect::Expect;
pub use generative::{FittedBlock, Generative, GenerativeModel};
pub use least_squares::{LeastSquares, LeastSquaresModel};
pub use log_linear::LogLinear;
pub(crate) use logistic::features::Term;
pub use logistic::{
    Bend, Coefficient, Descent, Differentiate, Fit, Gather, Link, Logistic, LogisticModel, Scale, Solver,
};
pub use noisy_or::{Cause, Causes, Method, NoisyOr, NoisyOrFit, NoisyOrModel};
pub use options::{Options, Seen};
pub use project::Project;
pub use start::{Cluster, Sample};
pub use statistics::Statistics;
pub use summary::{Summarise, Summary};

use std::path::Path;

use rayon::prelude::*;

use crate::calibrate::CalibratedModel;
use crate::data::{Batch, Schema};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::family::{Density, Domain};
use crate::file::{Archive, Stored};
use crate::fuse::FusedModel;
use crate::posterior::Prior;

/// Learns a model from rows, wherever they are.
pub trait Learner {
    /// What it learns.
    type Model: Classifier;
    /// Runs its passes on `engine`.
    fn learn(&self, engine: &dyn Engine) -> Result<Self::Model>;
}

/// A model that scores rows into evidence.
pub trait Classifier {
    /// What it knows beside its parameters.
    fn about(&self) -> &About;
    /// The same, to change the prior.
    fn about_mut(&mut self) -> &mut About;
    /// The evidence that rows carry for each class; the batch has the columns of the schema.
    fn evidence(&self, x: &Batch<'_>) -> Result<Evidence>;

    /// Writes the evidence of each row into `out`, row after row. For few rows this is quicker than
    /// [`evidence`](Classifier::evidence), and all of it happens on the caller's thread.
    fn evidence_into(&self, x: &Batch<'_>, out: &mut [f64]) -> Result<()> {
        let evidence = self.evidence(x)?;
        Error::check_shape("cells for the evidence", evidence.values().len(), out.len())?;
        out.copy_from_slice(evidence.values());
        Ok(())
    }

    /// The columns it takes and the classes it knows.
    fn schema(&self) -> &Schema {
        self.about().schema()
    }

    /// The prior that it uses by default.
    fn prior(&self) -> &Prior {
        self.about().prior()
    }

    /// The prior of the training data.
    fn empirical(&self) -> &Prior {
        self.about().empirical()
    }

    /// The same model with another default prior.
    fn with_prior(mut self, prior: Prior) -> Result<Self>
    where
        Self: Sized,
    {
        self.about_mut().set_prior(prior)?;
        Ok(self)
    }
}

/// The evidence of all rows by a function that writes it.
fn evidence_of(x: &Batch<'_>, schema: &Schema, write: impl FnOnce(&mut [f64]) -> Result<()>) -> Result<Evidence> {
    let classes = schema.classes().len();
    let mut values = vec![0.0; x.rows() * classes];
    write(&mut values)?;
    Evidence::new(classes, values)
}

/// Scores all rows in tiles and in parallel; the rows of a single tile on the caller's thread, before another
/// would have woken. `score` fills the values of some rows, one row after the other.
fn score_in_tiles(
    x: &Batch<'_>,
    schema: &Schema,
    tile: usize,
    out: &mut [f64],
    score: impl Fn(std::ops::Range<usize>, &mut [f64]) -> Result<()> + Sync,
) -> Result<()> {
    Error::check_shape("columns of a batch", schema.columns().len(), x.width())?;
    let classes = schema.classes().len();
    Error::check_shape("cells for the evidence", x.rows() * classes, out.len())?;
    match x.rows() <= tile {
        true => score(0..x.rows(), out)?,
        false => out.par_chunks_mut(tile * classes).enumerate().try_for_each(|(t, out)| {
            let start = t * tile;
            score(start..start + out.len() / classes, out)
        })?,
    }
    Evidence::check(classes, out)
}

impl Model {
    /// Writes a model file, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.archive()?.write(path)
    }

    /// What a model file holds.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.archive()?.to_bytes()
    }

    /// The archive of a model file, which may hold more.
    pub fn archive(&self) -> Result<Archive> {
        let mut archive = Archive::new("model");
        self.put(&mut archive, "kind", "model")?;
        Ok(archive)
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Model::of_archive(&Archive::read(path, "model")?)
    }

    /// Reads what a model file holds.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Model::of_archive(&Archive::from_bytes(bytes, "model")?)
    }

    /// The model in the archive of a model file.
    pub fn of_archive(archive: &Archive) -> Result<Self> {
        Model::get(archive, "kind", "model")
    }

    /// The model with the profiles of its columns, as `engine` sees them: what it learned from.
    pub fn with_profiles(mut self, engine: &dyn Engine) -> Result<Self> {
        self.about_mut().set_profiles(engine.profiles()?)?;
        Ok(self)
    }

    /// The model without its calibration, if it has one.
    pub fn plain(&self) -> &Model {
        match self {
            Model::Calibrated(calibrated) => calibrated.model(),
            model => model,
        }
    }

    /// The columns whose cells are described only where they lie in a domain, each with it.
    pub fn domains(&self) -> Vec<(usize, Domain)> {
        match self {
            Model::Generative(model) => {
                let of_block = |fitted: &FittedBlock| {
                    let domain = fitted.density.domain().filter(|_| fitted.block.gaussianise.is_none());
                    let columns = domain.map(|domain| fitted.block.columns.iter().map(move |&column| (column, domain)));
                    columns.into_iter().flatten().collect::<Vec<_>>()
                };
                model.blocks().iter().flat_map(of_block).collect()
            }
            Model::Calibrated(model) => model.model().domains(),
            Model::Fused(model) => model.members().iter().flat_map(|member| member.model.domains()).collect(),
            _ => Vec::new(),
        }
    }
}

/// The kinds of models: a name in files, a variant of [`Model`] and its type.
macro_rules! models {
    ($($(#[$doc:meta])* $name:literal $variant:ident: $model:ty),* $(,)?) => {
        /// A model of any kind, as files hold it.
        #[derive(Clone, Debug)]
        pub enum Model { $($(#[$doc])* $variant($model)),* }

        impl Model {
            /// Puts the model under `name`, and what it is under `kind`.
            pub(crate) fn put(&self, archive: &mut Archive, kind: &str, name: &str) -> Result<()> {
                match self {
                    $(Model::$variant(model) => {
                        archive.put_json(kind, &$name)?;
                        model.store(archive, name)
                    })*
                }
            }

            pub(crate) fn get(archive: &Archive, kind: &str, name: &str) -> Result<Self> {
                match archive.json::<String>(kind)?.as_str() {
                    $($name => Ok(Model::$variant(<$model>::load(archive, name)?)),)*
                    other => Err(archive.damaged(&format!("there is no kind of model named `{other}`"))),
                }
            }
        }

        $(impl From<$model> for Model {
            fn from(model: $model) -> Self {
                Model::$variant(model)
            }
        })*

        impl Classifier for Model {
            fn about(&self) -> &About {
                match self { $(Model::$variant(model) => model.about()),* }
            }

            fn about_mut(&mut self) -> &mut About {
                match self { $(Model::$variant(model) => model.about_mut()),* }
            }

            fn evidence(&self, x: &Batch<'_>) -> Result<Evidence> {
                match self { $(Model::$variant(model) => model.evidence(x)),* }
            }

            fn evidence_into(&self, x: &Batch<'_>, out: &mut [f64]) -> Result<()> {
                match self { $(Model::$variant(model) => model.evidence_into(x, out)),* }
            }
        }
    };
}

models! {
    /// Class-conditional densities.
    "generative" Generative: GenerativeModel,
    /// Posteriors linear in the features.
    "logistic" Logistic: LogisticModel,
    /// Tables of columns and pairs.
    "additive" Additive: AdditiveModel,
    /// Causes of an effect.
    "noisy-or" NoisyOr: NoisyOrModel,
    /// Scores by least squares.
    "least-squares" LeastSquares: LeastSquaresModel,
    /// Several of them, by a weight for each.
    "fused" Fused: FusedModel,
    /// Any of them with its calibration.
    "calibrated" Calibrated: CalibratedModel,
}
