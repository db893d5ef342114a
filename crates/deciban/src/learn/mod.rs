//! Learners and the models they leave. A [`Learner`] is a loop over passes: closed-form models need
//! one, others send their current parameters inside the next pass.
//!
//! To add a learner: write its file, with [`Learner`] and [`Named`] for it and [`Classifier`] for its model (or
//! `Discriminative`, for a model of p(class | row)), and add it to the list of learners
//! ([`with_learners`](crate::with_learners)).

mod about;
mod additive;
mod block;
pub mod blocks;
mod components;
mod discriminative;
mod em;
mod expect;
mod explain;
mod generative;
mod k_dependence;
mod least_squares;
mod llr;
mod log_linear;
mod logistic;
mod noisy_or;
mod models;
pub mod options;
mod project;
mod start;
mod statistics;
mod summary;

pub use about::About;
pub use additive::{Additive, AdditiveFit, AdditiveModel, Encode, HeldOut, Slopes, Tally, TermTable, Tried};
pub use block::Block;
pub use blocks::NaiveBayes;
pub use components::{Components, Count};
pub use em::Convergence;
pub use expect::Expect;
pub use generative::{FittedBlock, Generative, GenerativeModel};
pub use k_dependence::{ChainTable, KDependence, KDependenceFit, KDependenceModel};
pub use least_squares::{LeastSquares, LeastSquaresModel};
pub use llr::{Llr, LlrModel};
pub use log_linear::LogLinear;
pub use logistic::{
    Coefficient, Descent, Differentiate, Fit, Gather, HessianProduct, Link, Logistic, LogisticModel, Scale, Solver,
};
pub use models::model_of;
pub use noisy_or::{Cause, Causes, Method, NoisyOr, NoisyOrFit, NoisyOrModel};
pub use options::{Effort, Group, Named, Options, Seen};
pub use project::Project;
pub use start::{Cluster, Sample};
pub use statistics::Statistics;
pub use summary::{Summarise, Summary};

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use crate::data::{Batch, Schema};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::explain::{Explanation, Order};
use crate::family::Domain;
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
    /// Writes the evidence that rows carry for each class into `out`, row after row; the batch has the columns of
    /// the schema. For few rows all of it happens on the caller's thread.
    fn evidence_into(&self, x: &Batch<'_>, out: &mut [f64]) -> Result<()>;

    /// The evidence that rows carry for each class; the batch has the columns of the schema.
    fn evidence(&self, x: &Batch<'_>) -> Result<Evidence> {
        evidence_of(x, self.schema(), |out| self.evidence_into(x, out))
    }

    /// How many rows it has learned from, by their weights where it knows these alone.
    fn learned_from(&self) -> f64;

    /// The columns whose cells it describes only where they lie in a domain, each with it.
    fn domains(&self) -> Vec<(usize, Domain)> {
        Vec::new()
    }

    /// What each feature says in rows that have the columns of the schema; see
    /// [`explain_until`](Classifier::explain_until).
    fn ledgers(&self, x: &Batch<'_>, order: Order, stop: &AtomicBool) -> Result<Vec<Explanation>>;

    /// Explains rows, one after the other.
    ///
    /// ```
    /// use deciban::data::{Batch, Schema};
    /// use deciban::engine::Memory;
    /// use deciban::explain::Order;
    /// use deciban::family::gaussian::Gaussian;
    /// use deciban::learn::{Classifier, Generative, Learner};
    ///
    /// let schema = Schema::numbers(&["height", "weight"], "sex", &["F", "M"])?;
    /// // Six made-up people.
    /// let people = [155.0, 52.0, 160.0, 61.0, 168.0, 58.0, 168.0, 70.0, 175.0, 69.0, 183.0, 84.0];
    /// let rows = Batch::new(6).row_major(&people[..], 2)?.classes(&[0, 0, 0, 1, 1, 1])?;
    /// let learner = Generative::gaussian(schema.columns(), Gaussian::default())?;
    /// let model = learner.learn(&Memory::new(schema, rows)?)?;
    ///
    /// let somebody = Batch::new(1).row_major(&[170.0, 75.0][..], 2)?;
    /// let ledger = model.explain(&somebody, Order::Average)?[0].ledger(1, 0, model.prior());
    /// let log_posterior = model.evidence(&somebody)?.posterior(model.prior());
    /// let log_odds = log_posterior.log_row(0)[1] - log_posterior.log_row(0)[0];
    /// assert!((ledger.total() - log_odds).abs() < 1e-12);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    fn explain(&self, x: &Batch<'_>, order: Order) -> Result<Vec<Explanation>> {
        self.explain_until(x, order, &AtomicBool::new(false))
    }

    /// The same, but soon after `stop` turns true it ends, with [`Error::Interrupted`]: many columns that are modelled
    /// jointly take seconds even for a few rows.
    fn explain_until(&self, x: &Batch<'_>, order: Order, stop: &AtomicBool) -> Result<Vec<Explanation>> {
        Error::check_shape("columns of a batch", self.schema().columns().len(), x.width())?;
        self.ledgers(x, order, stop)
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
