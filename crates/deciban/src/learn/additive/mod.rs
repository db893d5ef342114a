//! Additive models: steps of numbers, levels of categories and tables of pairs in one softmax regression.
//!
//! ```text
//! ln p(class k | x) = βₖ + Σⱼ fₖⱼ(xⱼ) + Σ_(i,j) fₖᵢⱼ(xᵢ, xⱼ) − ln Σ_l exp(…)
//! ```
//!
//! Each f is a table over codes (`coding.rs`): bins of a number, levels of a category, missing cells as a level of
//! their own. Hastie & Tibshirani (1986) call this a generalised additive model, Lou, Caruana et al. (2013) one with
//! pairs GA²M; it is to naive Bayes and its trees what logistic regression is to a Gaussian. The weights minimise
//!
//! ```text
//! −Σ wᵢ ln p(labelᵢ | xᵢ) + ½ E Σ θ² over columns + ½ F Σ θ² over pairs
//! ```
//!
//! where a number's weights are its steps from bin to bin (`design.rs`). Pairs are those with the most interaction
//! information (`tally.rs`). E, whether pairs have terms, and F are chosen by cross-validation (`choose.rs`).
//!
//! Every term is a line of a row's ledger. The evidence is the log-posterior less the log-prior of the training
//! data, as for all models of the posterior.

mod joint_hessian;
mod choose;
pub(super) mod coding;
mod design;
mod explain;
mod fit;
mod held_out;
mod model;
pub(super) mod reader;
pub(super) mod rows;
mod slopes;
mod tally;
mod terms;

pub use held_out::HeldOut;
pub use model::{AdditiveFit, AdditiveModel, TermTable, Tried};
pub use rows::Encode;
pub use slopes::Slopes;
pub use tally::Tally;

use self::choose::Choice;
use self::fit::{Aim, Prepared};
use super::Learner;
use super::options::{DECAY, FOLDS, Group, Named, Options, PAIRS, Seen};
use crate::data::Column;
use crate::engine::Engine;
use crate::error::{Error, Result};

/// Learns an additive model.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::engine::Memory;
/// use deciban::learn::{Additive, Classifier, Learner};
///
/// // The class is 1 between 3 and 7, which no straight line tells.
/// let x: Vec<f64> = (0..200).map(|i| f64::from(i) / 20.0).collect();
/// let class: Vec<u32> = x.iter().map(|x| u32::from((3.0..7.0).contains(x))).collect();
/// let schema = Schema::numbers(&["x"], "class", &["out", "in"])?;
/// let engine = Memory::new(schema, Batch::new(200).column(&x[..])?.classes(&class)?)?;
/// let model = Additive { weight_decay: Some(1.0), ..Additive::default() }.learn(&engine)?;
/// let rows = Batch::new(3).column(&[1.0, 5.0, 9.0][..])?;
/// let evidence = model.evidence(&rows)?;
/// let llr = |row: usize| evidence.row(row)[1] - evidence.row(row)[0];
/// assert!(llr(0) < -1.0 && llr(1) > 1.0 && llr(2) < -1.0);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Additive {
    /// E, in units of rows: what a unit of a squared step or level costs; by cross-validation if there is none.
    pub weight_decay: Option<f64>,
    /// The most pairs; 0 is none. Without it there are up to 60, or 100 where all columns are categories, if they
    /// do better than none in cross-validation.
    pub pairs: Option<usize>,
    /// F: what a unit of a squared cell of a pair costs; by cross-validation if there is none, or 6 E where E and
    /// the number of pairs are given.
    pub pair_decay: Option<f64>,
    /// The folds by which the above are chosen; 5 up to 2000 rows and 3 beyond, unless given.
    pub folds: Option<usize>,
    /// The seed of the folds.
    pub seed: u64,
    /// The largest slope by a whitened weight that counts as zero; half its square is about what the weight could
    /// still gain, in nats over all rows.
    pub tolerance: f64,
    /// The most iterations.
    pub iterations: usize,
}

impl Default for Additive {
    fn default() -> Self {
        Additive {
            weight_decay: None,
            pairs: None,
            pair_decay: None,
            folds: None,
            seed: 0,
            tolerance: 1e-3,
            iterations: 1000,
        }
    }
}

impl Additive {
    fn check(&self) -> Result<()> {
        for (name, decay) in [("weight_decay", self.weight_decay), ("pair_decay", self.pair_decay)] {
            if decay.is_some_and(|decay| !(decay > 0.0 && decay.is_finite())) {
                return Err(Error::parameter(name, "give a number above 0: cells without rows need it"));
            }
        }
        Ok(())
    }
}

impl Additive {
    /// The same learner with the decays and the pairs that cross-validation chooses, so that nothing is left open.
    pub fn settled(&self, engine: &dyn Engine) -> Result<Additive> {
        self.check()?;
        let Choice { decay, pair_decay, .. } = self.choose(engine)?;
        let most = || self.pairs.map_or_else(|| Ok(default_pairs(engine.schema()?.columns())), Ok);
        let pairs = Some(if pair_decay.is_some() { most()? } else { 0 });
        Ok(Additive { weight_decay: Some(decay), pairs, pair_decay, ..self.clone() })
    }
}

/// The most pairs by default.
fn default_pairs(columns: &[Column]) -> usize {
    if columns.iter().all(|column| !column.is_numeric()) { 100 } else { 60 }
}

impl Named for Additive {
    const MODELS: &'static [(&'static str, &'static [Group])] = &[("additive", &[DECAY, PAIRS, FOLDS])];
    const SETTLES: bool = true;

    fn of_options(_: &str, options: &Options, _: &[Column], _: Seen<'_>) -> Result<Self> {
        let Options { weight_decay, pairs, pair_decay, folds, seed, .. } = *options;
        Ok(Additive { weight_decay, pairs, pair_decay, folds, seed, ..Additive::default() })
    }

    fn model(&self) -> &'static str {
        "additive"
    }

    fn of_model(model: &AdditiveModel) -> Self {
        let (fit, pairs) = (model.fit(), Some(model.pairs()));
        let (weight_decay, pair_decay) = (Some(fit.weight_decay), fit.pair_decay);
        Additive { weight_decay, pairs, pair_decay, ..Additive::default() }
    }
}

impl Learner for Additive {
    type Model = AdditiveModel;

    fn learn(&self, engine: &dyn Engine) -> Result<AdditiveModel> {
        self.check()?;
        let choice = self.choose(engine)?;
        let Choice { decay, pair_decay, tried } = choice;
        let rows = Prepared::new(engine, if pair_decay.is_some() { self.pairs } else { Some(0) })?;
        let fitted = rows.fit(engine, self, Aim { decay, pair_decay, start: None, tolerance: self.tolerance })?;
        Ok(rows.model(fitted)?.with_tried(tried))
    }
}
