//! A row's evidence as a ledger: how much each feature says, in nats per class, adding up to the
//! evidence. Differences between two classes, with the prior odds, add up to the posterior log-odds.
//!
//! - Columns that are independent given the class: each says log p(xⱼ | class).
//! - Columns modelled jointly (`columns.rs`): what one says depends on which others are known. With
//!   v(S) = log p(x_S | class), the cells outside S integrated out, a column says v(S ∪ j) − v(S):
//!   with S the columns before it in the file (the chain rule), or averaged over all orders
//!   (Shapley 1953).
//! - Words, each on its own; Gaussians after PCA or LDA by a straight path from the training mean
//!   (`family/gaussian/explain.rs`); a density says so by [`Density::parts`].
//! - Linear models (`linear.rs`): each feature's share of the score, times the mean slope of the log
//!   posterior on the way from the average row (Aumann & Shapley 1974).
//!
//! - Additive models (`additive.rs`): what each column and each pair says is a cell of its table.
//!
//! - Fused models (`fused.rs`): the sum of the members' ledgers, each times its weight.
//!
//! A missing cell says nothing: it is listed, with 0. In additive models, where it is a level of its own, it may say
//! something, and in logistic models it says what is expected of it.
//!
//! For a class a against all others, whose evidence is that of a mixture, each entry is the mean of what
//! it says for a over each other class j, weighted by wⱼ (Sato 1976, Vartia 1976):
//!
//! ```text
//! Σⱼ wⱼ (eₐ − eⱼ),   wⱼ ∝ L(sⱼ, tⱼ),   L(s, t) = (s − t)/(ln s − ln t)
//! ```
//!
//! with sⱼ and tⱼ the shares of class j among the others before and after the row is seen. It adds up:
//! with Eⱼ the evidence of the row for j and Y its sum over the others, ln(tⱼ/sⱼ) = Eⱼ − ln(Y₁/Y₀), so that
//! Σ L (Eⱼ − ln(Y₁/Y₀)) = Σ (tⱼ − sⱼ) = 0.

mod additive;
mod columns;
mod fused;
mod linear;

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use crate::calibrate::CalibratedModel;
use crate::data::{Batch, Cells, Rows, Tile};
use crate::error::Result;
pub use crate::evidence::Entry;
use crate::family::Density;
use crate::learn::{Block, Classifier, FittedBlock, GenerativeModel, Model};
use crate::numerics::log_sum_exp;
use crate::posterior::Prior;

/// In which order columns that are modelled jointly become known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The average over all orders: exact up to [`MOST_EXACT`] columns, beyond that over
    /// [`SAMPLED`] orders drawn with a fixed seed, each with its reverse.
    #[default]
    Average,
    /// As they stand in the file.
    File,
}

impl Order {
    /// Both, by the names of the command line.
    pub const ALL: [(&'static str, Order); 2] = [("average", Order::Average), ("file", Order::File)];
}

/// Up to so many columns all orders are averaged.
pub const MOST_EXACT: usize = 13;
/// With more, so many orders and their reverses.
pub const SAMPLED: usize = 16;

/// What all features of a row say, in the order of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The features.
    pub entries: Vec<Entry>,
}

/// A row's evidence for one class over another, or over all others, in nats: it adds up to the posterior log-odds.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    /// ln of the prior odds.
    pub prior: f64,
    /// What each entry of the explanation says.
    pub entries: Vec<f64>,
}

impl Ledger {
    /// The log-odds of the posterior.
    pub fn total(&self) -> f64 {
        self.prior + self.entries.iter().sum::<f64>()
    }
}

impl Explanation {
    /// For class `a` over class `b`.
    pub fn ledger(&self, a: usize, b: usize, prior: &Prior) -> Ledger {
        let p = prior.probabilities();
        Ledger {
            prior: p[a].ln() - p[b].ln(),
            entries: self.entries.iter().map(|entry| entry.evidence[a] - entry.evidence[b]).collect(),
        }
    }

    /// For class `a` over all others together, which have the shares of the prior among themselves.
    ///
    /// ```
    /// use deciban::explain::{Entry, Explanation};
    /// use deciban::posterior::Prior;
    /// // One feature: likelihoods 0.5, 0.2 and 0.1 of three classes.
    /// let entry = Entry::new("colour", "red", [0.5f64, 0.2, 0.1].map(f64::ln).to_vec());
    /// let ledger = Explanation { entries: vec![entry] }.over_rest(0, &Prior::uniform(3));
    /// assert!((ledger.prior - 0.5f64.ln()).abs() < 1e-15);
    /// // 0.5 against the mean of 0.2 and 0.1.
    /// assert!((ledger.entries[0] - (0.5f64 / 0.15).ln()).abs() < 1e-14);
    /// ```
    pub fn over_rest(&self, a: usize, prior: &Prior) -> Ledger {
        let p = prior.probabilities();
        let others: Vec<usize> = (0..p.len()).filter(|&j| j != a).collect();
        let before: Vec<f64> = others.iter().map(|&j| p[j].ln()).collect();
        let said = |j: usize| self.entries.iter().map(|entry| entry.evidence[j]).sum::<f64>();
        let after: Vec<f64> = others.iter().zip(&before).map(|(&j, p)| p + said(j)).collect();
        let weights = mixture_weights(&before, &after);
        let entry = |entry: &Entry| {
            // A class that the row or the prior rules out has no part: 0 · ∞ is 0 here.
            let parts = others.iter().zip(&weights).filter(|(_, w)| **w > 0.0);
            parts.map(|(&j, w)| w * (entry.evidence[a] - entry.evidence[j])).sum()
        };
        Ledger { prior: p[a].ln() - log_sum_exp(&before), entries: self.entries.iter().map(entry).collect() }
    }
}

/// wⱼ, from the log-weights of classes before and after; where the row rules all of them out, the shares
/// from before.
fn mixture_weights(before: &[f64], after: &[f64]) -> Vec<f64> {
    let (all_before, all_after) = (log_sum_exp(before), log_sum_exp(after));
    if !all_after.is_finite() {
        return before.iter().map(|s| (s - all_before).exp()).collect();
    }
    let pairs = before.iter().zip(after);
    let means: Vec<f64> = pairs.map(|(s, t)| logarithmic_mean(s - all_before, t - all_after)).collect();
    let total: f64 = means.iter().sum();
    means.iter().map(|mean| mean / total).collect()
}

/// (s − t)/(ln s − ln t) from ln s and ln t; 0 where one is −∞. A share that has become tiny still counts:
/// the mean falls as slowly as 1/ln t.
fn logarithmic_mean(ln_s: f64, ln_t: f64) -> f64 {
    let (larger, d) = (ln_s.max(ln_t), (ln_s - ln_t).abs());
    match d {
        0.0 => larger.exp(),
        _ if larger == f64::NEG_INFINITY => 0.0,
        // With the smaller one e^−d times the larger.
        d => larger.exp() * -(-d).exp_m1() / d,
    }
}

/// Explains rows, one after the other.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::engine::Memory;
/// use deciban::explain::{Order, explain};
/// use deciban::family::gaussian::Gaussian;
/// use deciban::learn::{Classifier, Generative, Learner, Model};
///
/// let schema = Schema::numbers(&["height", "weight"], "sex", &["F", "M"])?;
/// // Six made-up people.
/// let people = [155.0, 52.0, 160.0, 61.0, 168.0, 58.0, 168.0, 70.0, 175.0, 69.0, 183.0, 84.0];
/// let rows = Batch::new(6).row_major(&people[..], 2)?.classes(&[0, 0, 0, 1, 1, 1])?;
/// let learner = Generative::gaussian(schema.columns(), Gaussian::default())?;
/// let model = Model::Generative(learner.learn(&Memory::new(schema, rows)?)?);
///
/// let somebody = Batch::new(1).row_major(&[170.0, 75.0][..], 2)?;
/// let ledger = explain(&model, &somebody, Order::Average)?[0].ledger(1, 0, model.prior());
/// let log_posterior = model.evidence(&somebody)?.posterior(model.prior());
/// let log_odds = log_posterior.log_row(0)[1] - log_posterior.log_row(0)[0];
/// assert!((ledger.total() - log_odds).abs() < 1e-12);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn explain(model: &Model, x: &Batch<'_>, order: Order) -> Result<Vec<Explanation>> {
    explain_until(model, x, order, &AtomicBool::new(false))
}

/// The same, but soon after `stop` turns true it ends, with [`Error::Interrupted`](crate::Error::Interrupted): many
/// columns that are modelled jointly take seconds even for a few rows.
pub fn explain_until(model: &Model, x: &Batch<'_>, order: Order, stop: &AtomicBool) -> Result<Vec<Explanation>> {
    crate::Error::check_shape("columns of a batch", model.schema().columns().len(), x.width())?;
    match model {
        Model::Generative(model) => generative(model, x, order, stop),
        Model::Logistic(model) => (0..x.rows()).map(|row| linear::logistic(model, x, row)).collect(),
        Model::Additive(model) => (0..x.rows()).map(|row| additive::explain(model, x, row)).collect(),
        Model::NoisyOr(model) => (0..x.rows()).map(|row| linear::noisy_or(model, x, row)).collect(),
        Model::Calibrated(model) => calibrated(model, x, order, stop),
        Model::Fused(model) => fused::explain(model, x, order, stop),
        Model::LeastSquares(model) => (0..x.rows()).map(|row| linear::least_squares(model, x, row)).collect(),
    }
}

/// The ledger of the model inside, with every line multiplied by the slope of the calibration, what the bound takes
/// away as one line more, and the offset as another. A map that is not a line has the mean slope from no evidence to the row's.
fn calibrated(model: &CalibratedModel, x: &Batch<'_>, order: Order, stop: &AtomicBool) -> Result<Vec<Explanation>> {
    let mut all = explain_until(model.model(), x, order, stop)?;
    let before = model.model().evidence(x)?;
    let shares = model.shares(x)?;
    let after = model.calibration().apply_shares(&before, &shares)?;
    for (row, explanation) in all.iter_mut().enumerate() {
        let slope = model.calibration().slope(before.row(row), after.row(row), shares(row));
        let mut rest = after.row(row).to_vec();
        // Without a cell there is no evidence to bound.
        let bounded = model.calibration().bounded(before.row(row)).filter(|_| shares(row).offset > 0.0);
        let mut by_bound = vec![0.0; rest.len()];
        for (k, rest) in rest.iter_mut().enumerate() {
            let impossible = *rest == f64::NEG_INFINITY;
            let mut sum = 0.0;
            for entry in &mut explanation.entries {
                let says = &mut entry.evidence[k];
                // What steps make possible again is not impossible because of one line.
                match says.is_finite() {
                    true => *says *= slope,
                    false if !impossible => *says = 0.0,
                    false => {}
                }
                sum += *says;
            }
            if let Some(bounded) = &bounded {
                by_bound[k] = slope * bounded[k] - sum;
                sum += by_bound[k];
            }
            *rest = if impossible { 0.0 } else { *rest - sum };
        }
        if bounded.is_some() {
            explanation.entries.push(Entry::new("(bound)", "", by_bound));
        }
        // The members of a fusion have calibrations of their own.
        let name = if matches!(model.model(), Model::Fused(_)) { "(offsets)" } else { "(calibration)" };
        explanation.entries.push(Entry::new(name, "", rest));
    }
    Ok(all)
}

fn generative(model: &GenerativeModel, x: &Batch<'_>, order: Order, stop: &AtomicBool) -> Result<Vec<Explanation>> {
    // The values of all subsets of columns are kept for a tile of rows.
    const TILE: usize = 64;
    let mut all = vec![Explanation { entries: Vec::new() }; x.rows()];
    for (tile, explanations) in all.chunks_mut(TILE).enumerate() {
        let rows = tile * TILE..tile * TILE + explanations.len();
        for FittedBlock { block, density } in model.blocks() {
            let columns = block.seen_columns(model.schema().columns());
            block.with_cells(x, Rows::Range(rows.clone()), |cells, _| {
                let parts = match density.parts(cells, &columns)? {
                    Some(parts) => parts,
                    None => columns::explain(density, cells, &columns, order, stop)?,
                };
                explanations.iter_mut().zip(parts).for_each(|(e, parts)| e.entries.extend(parts));
                Ok(())
            })?;
            if block.gaussianise.is_some() {
                show_as_given(x, block, rows.clone(), explanations)?;
            }
        }
        if !model.components().is_single() {
            average_over_components(model, x, rows, explanations)?;
        }
    }
    Ok(all)
}

/// Turns what features say of components into what they say of classes. With r = p(component | x, class),
///
/// log p(x | class) = Σ_k r_k log p_k(x) + Σ_k r_k ln (π_k / r_k),
///
/// for π_k p_k(x) / r_k = p(x | class) whatever the component. So each line is the average of the components'
/// lines, and one more line holds the second sum.
fn average_over_components(
    model: &GenerativeModel,
    x: &Batch<'_>,
    rows: Range<usize>,
    explanations: &mut [Explanation],
) -> Result<()> {
    let components = model.components();
    let scores = model.group_scores(|_| true, x, Rows::Range(rows))?;
    let mut shares = Tile::default();
    for class in 0..components.classes() {
        let groups = components.of_class(class);
        shares.resize(scores.rows(), groups.len());
        groups.clone().enumerate().for_each(|(k, group)| shares.column_mut(k).copy_from_slice(scores.column(group)));
        components.share(class, &mut shares);
        for (i, explanation) in explanations.iter_mut().enumerate() {
            let r = |k: usize| shares.column(k)[i];
            let known = || (0..groups.len()).filter(|&k| r(k) > 0.0);
            for entry in &mut explanation.entries {
                // The places of classes are filled from the front: those of later groups are still to be read.
                entry.evidence[class] = known().map(|k| r(k) * entry.evidence[groups.start + k]).sum();
            }
            let rest = known().map(|k| r(k) * (components.log_weights(class)[k] - r(k).ln())).sum::<f64>();
            match explanation.entries.last_mut().filter(|_| class > 0) {
                Some(line) => line.evidence[class] = rest,
                None => {
                    let mut evidence = vec![0.0; scores.width()];
                    evidence[0] = rest;
                    explanation.entries.push(Entry::new("(components)", "", evidence));
                }
            }
        }
    }
    for explanation in explanations {
        explanation.entries.iter_mut().for_each(|entry| entry.evidence.truncate(components.classes()));
    }
    Ok(())
}

/// Shows the numbers of the table, not those that a map made of them.
fn show_as_given(x: &Batch<'_>, block: &Block, rows: Range<usize>, explanations: &mut [Explanation]) -> Result<()> {
    let mut tile = Tile::default();
    Cells::new(x, &block.columns, Rows::Range(rows)).read_numbers(&mut tile)?;
    for (i, explanation) in explanations.iter_mut().enumerate() {
        for entry in explanation.entries.iter_mut().filter(|entry| !entry.missing) {
            if let Some(j) = block.names.iter().position(|name| *name == entry.name) {
                entry.value = format!("{}", tile.column(j)[i]);
            }
        }
    }
    Ok(())
}
