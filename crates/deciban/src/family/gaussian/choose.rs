//! Shrinkage and pooling chosen by held-out likelihood, from statistics alone.
//!
//! The log-likelihood of a fold under N(μ, Σ) needs only the fold's w, m and S:
//!
//! Σᵢ log N(xᵢ | μ, Σ) = −½ [ w d ln 2π + w ln|Σ| + tr(Σ⁻¹S) + w (m−μ)ᵀΣ⁻¹(m−μ) ].
//!
//! Every fold is scored by the fit of the other folds, linear maps included.

use rayon::prelude::*;

use super::covariances::{Covariances, no_folds};
use super::factor::Factor;
use super::low_rank::{LowRank, ranks};
use super::prepared::Prepared;
use super::statistic::mixed;
use super::{Gaussian, GaussianStatistic, Rank, Strength};
use crate::error::{Error, Result};
use crate::family::Names;
use crate::numerics::covariance::{Scaled, is_constant};
use crate::statistic::Statistic;

const SHRINKAGE: [f64; 19] =
    [0.0, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
const POOLING: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

pub(super) fn choose(family: &Gaussian, folds: &[Vec<GaussianStatistic>], names: Names<'_>) -> Result<Gaussian> {
    if folds.len() < 2 {
        return Err(no_folds(if family.open_rank() { "rank" } else { "shrinkage" }));
    }
    let grid = |strength: Strength, grid: &'static [f64]| match strength {
        Strength::Auto => grid.to_vec(),
        Strength::Fixed(x) => vec![x],
    };
    let parts: Vec<(Prepared, Prepared)> =
        (0..folds.len()).into_par_iter().map(|f| split(family, folds, f, names)).collect::<Result<_>>()?;
    let total = family.prepare(&total(folds)?)?;
    let total = family.steps.iter().try_fold((total, names.columns.to_vec()), |(moments, columns), step| {
        let linear = moments.fit_step(step, &columns)?;
        Ok::<_, Error>((moments.map(&linear), step.names(&columns)))
    })?;
    let open_ranks = match family.open_rank() {
        true => ranks(total.0.width()).into_iter().map(Rank::Fixed).collect(),
        false => vec![family.rank],
    };
    let with_rank = |rank: Rank| Gaussian { rank, ..family.clone() };
    let families: Vec<Gaussian> = open_ranks.into_iter().map(with_rank).collect();
    let mut candidates: Vec<(&Gaussian, f64, f64)> = Vec::new();
    for family in &families {
        for lambda in grid(family.pooling, &POOLING) {
            candidates.extend(grid(family.shrinkage, &SHRINKAGE).into_iter().map(|gamma| (family, gamma, lambda)));
        }
    }
    let likelihood = |&(family, gamma, lambda): &(&Gaussian, f64, f64)| -> Result<f64> {
        // A candidate must do for all rows, too.
        let whole = held_out(family, &total.0, &total.0, gamma, lambda)?;
        if whole == f64::NEG_INFINITY {
            return Ok(whole);
        }
        parts.iter().map(|(train, held)| held_out(family, train, held, gamma, lambda)).sum()
    };
    let scores: Vec<f64> = candidates.par_iter().map(likelihood).collect::<Result<_>>()?;
    // From the most regularised down, so that where the folds cannot tell, the safer one stays.
    let mut best = candidates.len() - 1;
    for i in (0..candidates.len()).rev() {
        if scores[i] > scores[best] {
            best = i;
        }
    }
    let (chosen, gamma, lambda) = candidates[best];
    Ok(Gaussian { shrinkage: Strength::Fixed(gamma), pooling: Strength::Fixed(lambda), ..chosen.clone() })
}

/// The statistics of each class, all folds together.
fn total(folds: &[Vec<GaussianStatistic>]) -> Result<Vec<GaussianStatistic>> {
    let mut sums = folds[0].clone();
    for fold in &folds[1..] {
        sums.iter_mut().zip(fold).try_for_each(|(sum, part)| sum.merge(part))?;
    }
    Ok(sums)
}

/// The moments of all folds but one, and of that one, both after the maps fitted without it.
///
/// The other folds are merged rather than this one removed: that never cancels.
fn split(
    family: &Gaussian,
    folds: &[Vec<GaussianStatistic>],
    held: usize,
    names: Names<'_>,
) -> Result<(Prepared, Prepared)> {
    let mut train: Vec<GaussianStatistic> = Vec::new();
    for class in 0..names.classes.len() {
        let mut others: Option<GaussianStatistic> = None;
        for (_, fold) in folds.iter().enumerate().filter(|(f, _)| *f != held) {
            match &mut others {
                None => others = Some(fold[class].clone()),
                Some(sum) => sum.merge(&fold[class])?,
            }
        }
        train.push(others.expect("at least two folds"));
    }
    let mut train = family.prepare(&train)?;
    let mut test = family.prepare(&folds[held])?;
    let mut columns = names.columns.to_vec();
    for step in &family.steps {
        let linear = train.fit_step(step, &columns)?;
        (train, test) = (train.map(&linear), test.map(&linear));
        columns = step.names(&columns);
    }
    Ok((train, test))
}

/// The log-likelihood of the held-out moments, without the factors 2π; −∞ where a covariance is singular.
pub(super) fn held_out(family: &Gaussian, train: &Prepared, held: &Prepared, gamma: f64, lambda: f64) -> Result<f64> {
    let covariances = family.covariances_with(train, gamma, lambda)?;
    let means = train.means();
    let factor = |c: usize| match &covariances {
        Covariances::Full(matrices) => {
            let c = if matrices.len() == 1 { 0 } else { c };
            Scaled::factor(&matrices[c], &means[c]).map(Factor::Lower)
        }
        Covariances::Diagonal(variances) => {
            let variances = &variances[if variances.len() == 1 { 0 } else { c }];
            let sound = variances.iter().zip(&means[c]).all(|(&v, &m)| !is_constant(v, m));
            sound.then(|| Factor::Diagonal(variances.iter().map(|v| v.sqrt()).collect()))
        }
        Covariances::LowRank(matrices, rank) => {
            LowRank::of_covariance(&matrices[if matrices.len() == 1 { 0 } else { c }], *rank).map(Factor::LowRank)
        }
    };
    let seen: Vec<bool> = match train {
        Prepared::Full(classes) => classes.iter().map(|m| m.weight() > 0.0).collect(),
        Prepared::Columns(classes) => classes.iter().map(|m| m.rows() > 0.0).collect(),
    };
    // Where no column varies within a class, no covariance can be told from another.
    if train.columns().iter().all(|class| class.scatter().iter().all(|s| *s == 0.0)) {
        return Ok(0.0);
    }
    let mut total = 0.0;
    let held_columns = held.columns();
    // A class that only the held-out fold has seen says nothing about the candidates.
    for c in (0..means.len()).filter(|&c| seen[c] && held_columns[c].rows() > 0.0) {
        let Some(factor) = factor(c) else { return Ok(f64::NEG_INFINITY) };
        total -= 0.5
            * match (&factor, held) {
                (Factor::Lower(scaled), Prepared::Full(classes)) => {
                    let m = &classes[c];
                    let delta: Vec<f64> = m.mean().iter().zip(&means[c]).map(|(a, b)| a - b).collect();
                    let distance: f64 = scaled.whiten(&delta).iter().map(|z| z * z).sum();
                    m.weight() * (2.0 * scaled.half_log_determinant() + distance) + scaled.trace_ratio(m.scatter())
                }
                (Factor::Diagonal(sd), _) => {
                    let m = &held_columns[c];
                    let column = |j: usize| {
                        let t = (m.mean()[j] - means[c][j]) / sd[j];
                        m.weight()[j] * (2.0 * sd[j].ln() + t * t) + m.scatter()[j] / (sd[j] * sd[j])
                    };
                    (0..sd.len()).map(column).sum::<f64>()
                }
                (Factor::LowRank(low), Prepared::Full(classes)) => {
                    let m = &classes[c];
                    let delta: Vec<f64> = m.mean().iter().zip(&means[c]).map(|(a, b)| a - b).collect();
                    let distance: f64 = low.whiten(&delta).iter().map(|z| z * z).sum();
                    m.weight() * (2.0 * low.half_log_determinant() + distance) + low.trace_ratio(m.scatter())
                }
                (Factor::Lower(_) | Factor::LowRank(_), Prepared::Columns(_)) => return Err(mixed()),
            };
    }
    Ok(total)
}
