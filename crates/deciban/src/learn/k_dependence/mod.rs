//! k-dependence tables: for each column, counts of the classes by its cell, by its cell and that of another column, and
//! so on up to k others, each backed off to the one before, and all of them weighted by what they are worth.
//!
//! ```text
//! ln p(class k | x) = bₖ + Σⱼ Σₘ wⱼₘ (ln pⱼₘ(k) − ln pⱼ,ₘ₋₁(k)) − ln Σ_l exp(…)
//! pⱼₘ(k) = (n(cell, k) + cⱼₘ pⱼ,ₘ₋₁(k)) / (n(cell) + cⱼₘ)
//! ```
//!
//! The cell of pⱼₘ has the codes of column j and of its first m parents. A column has up to two chains. In one, which
//! columns are parents is as in Sahami's k-dependence Bayesian classifiers (1996; `structure.rs`); in the other they are
//! those that tell most of the class together (`telling.rs`). Sahami's tables hold p(xⱼ | parents, class); here they
//! hold p(class | xⱼ, parents), for it is these that back off well: with the same columns the log loss of rows to come
//! is clearly less. The concentrations c (`chain.rs`) and the weights w (`stack.rs`) are learned from counts without
//! the row that is asked about, which counts give for free.
//!
//! Every column is a line of a row's ledger, Σₘ over its chains. A cell without training rows says nothing, so a missing cell is a level
//! of its own where the training data have some, and is left out elsewhere.

mod bytes;
mod chain;
mod explain;
mod model;
mod stack;
mod structure;
mod table;
mod telling;
#[cfg(test)]
mod tests;

pub use model::{ChainTable, KDependenceFit, KDependenceModel};

use rayon::prelude::*;

use self::chain::{Chain, Root};
use self::stack::Stack;
use self::table::CodedTable;
use super::additive::coding::{Coding, survey};
use super::additive::rows::Encode;
use super::options::{DECAY, FOLDS, Group, Named, Options, PARENTS, Seen};
use super::{About, Learner, Statistics};
use crate::data::Column;
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::numerics::minimise::Limits;
use crate::posterior::Prior;

/// The most cells of rows, which are kept in memory as bytes.
const MOST_KEPT: f64 = (1u64 << 30) as f64;

/// Learns a k-dependence model.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::engine::Memory;
/// use deciban::learn::{Classifier, KDependence, Learner};
///
/// // The class is 1 where a and b have the same sign: one by one they tell nothing of it but for a few rows.
/// let a: Vec<f64> = (0..400).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
/// let b: Vec<f64> = (0..400).map(|i| if i % 4 < 2 { 1.0 } else { -1.0 }).collect();
/// let class: Vec<u32> = a.iter().zip(&b).enumerate().map(|(i, (a, b))| u32::from(a * b > 0.0 || i < 40)).collect();
/// let schema = Schema::numbers(&["a", "b"], "class", &["unlike", "alike"])?;
/// let engine = Memory::new(schema, Batch::new(400).column(&a[..])?.column(&b[..])?.classes(&class)?)?;
/// let model = KDependence::default().learn(&engine)?;
/// let rows = Batch::new(2).column(&[1.0, 1.0][..])?.column(&[1.0, -1.0][..])?;
/// let evidence = model.evidence(&rows)?;
/// let llr = |row: usize| evidence.row(row)[1] - evidence.row(row)[0];
/// assert!(llr(0) > 2.0 && llr(1) < -1.0);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KDependence {
    /// k, the most parents of a column.
    pub parents: usize,
    /// E: what a squared difference of a weight from 0.1 costs, in units of rows (half of it).
    pub weight_decay: f64,
    /// The largest component of the gradient that counts as zero; it costs up to its square, by the weight decay and
    /// for each table, of the log-likelihood of all rows, in nats.
    pub tolerance: f64,
    /// The most iterations.
    pub iterations: usize,
}

impl Default for KDependence {
    fn default() -> Self {
        KDependence { parents: 7, weight_decay: 10.0, tolerance: 0.05, iterations: 300 }
    }
}

impl Named for KDependence {
    const MODELS: &'static [(&'static str, &'static [Group])] = &[("k-dependence", &[DECAY, PARENTS, FOLDS])];

    fn of_options(_: &str, options: &Options, _: &[Column], _: Seen<'_>) -> Result<Self> {
        let default = KDependence::default();
        let parents = options.parents.unwrap_or(default.parents);
        let weight_decay = options.weight_decay.unwrap_or(default.weight_decay);
        Ok(KDependence { parents, weight_decay, ..default })
    }

    fn model(&self) -> &'static str {
        "k-dependence"
    }

    fn of_model(model: &KDependenceModel) -> Self {
        let KDependenceFit { parents, weight_decay, .. } = *model.fit();
        KDependence { parents, weight_decay, ..KDependence::default() }
    }
}

impl Learner for KDependence {
    type Model = KDependenceModel;

    fn learn(&self, engine: &dyn Engine) -> Result<KDependenceModel> {
        if !(self.weight_decay > 0.0 && self.weight_decay.is_finite()) {
            return Err(Error::parameter("weight_decay", "give a number above 0: tables that agree need it"));
        }
        let statistics = Statistics::collect(survey(engine.schema()?.columns(), "k-dependence")?, engine)?;
        let schema = statistics.schema().clone();
        let (rows, classes) = (statistics.summary().rows(), statistics.summary().weights());
        super::generative::check_classes(&schema, &rows, &classes)?;
        let coding = Coding::new(&statistics)?;
        let cells = rows.iter().sum::<f64>() * coding.columns().len() as f64;
        if cells > MOST_KEPT {
            let message = "the rows have more than 2^30 cells, which k-dependence would keep in memory: \
                           learn from fewer rows, or give §model=additive";
            return Err(Error::parameter("model", message));
        }
        let table = CodedTable::new(engine.run(&Encode { coding: coding.clone() })?, &coding, classes.len());
        let root = Root { weights: classes.clone() };
        let mut columns = structure::chains(&table, self.parents);
        let firsts: Vec<usize> = columns.iter().map(|chain| chain[0]).collect();
        columns.extend(telling::chains(&table, &root, self.parents, &firsts));
        engine.check_stop()?;
        let chains: Vec<Chain> = columns.into_par_iter().map(|columns| Chain::grow(&table, &root, columns)).collect();
        engine.check_stop()?;
        let stack = Stack::new(&table, &root, &chains, self.weight_decay);
        let limits = Limits { gradient: self.tolerance, iterations: self.iterations };
        let solution = stack.solve(&classes, limits, &|| engine.check_stop())?;
        let total: f64 = classes.iter().sum();
        let shares = classes.iter().map(|w| w / total);
        let fit = KDependenceFit {
            weight: total,
            parents: self.parents,
            weight_decay: self.weight_decay,
            log_loss: (solution.value - stack.penalty(&solution.theta)) / stack.weight(),
            null_log_loss: -shares.map(|p| p * p.ln()).sum::<f64>(),
            objective: solution.value,
            gradient: solution.gradient_norm,
            iterations: solution.iterations,
            converged: solution.converged,
        };
        let (weights, offsets) = solution.theta.split_at(solution.theta.len() + 1 - classes.len());
        let offsets = std::iter::once(0.0).chain(offsets.iter().copied()).collect();
        let about = About::new(schema, Prior::from_weights(&classes)?);
        Ok(KDependenceModel::new(about, coding, root, chains, [weights.to_vec(), offsets], fit))
    }
}
