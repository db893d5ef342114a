//! The fit behind beta calibration: a softmax linear in features of each row and class.
//!
//! ```text
//! p(k | x) ∝ exp(θᵀφₖ(x)) πₖ
//! minimise Σₖ πₖ/Wₖ Σ_{i of class k} wᵢ · −ln p(k | xᵢ)
//! ```
//!
//! where Wₖ is the weight of class k: the rows count as if classes had the shares π. So θᵀφ is evidence,
//! in which no prior is left, and π only says at which prior the fit should be best. The problem is
//! convex, and small: Newton's method.
//!
//! With a pseudo-count α a row of class k counts a little for the other classes as well, as if α rows of
//! every class had been seen at random (Platt 1999): its target is (Wₖ + α)/(Wₖ + Kα) for k and the
//! rest shared by the others.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::numerics::minimise::{Curvature, Limits, Objective, Point, Solution, newton};
use crate::numerics::{Matrix, log_shares};

/// Rows observed at once; their sums are added in order.
const CHUNK: usize = 2048;

/// A problem to fit.
pub(super) struct Softmax<'a, F> {
    /// Of the rows.
    pub truth: &'a [u32],
    /// One per row, already balanced.
    pub weights: &'a [f64],
    /// ln π.
    pub log_prior: &'a [f64],
    /// The share of a row of each class that counts for its own class; 1 without pseudo-counts.
    pub share: &'a [f64],
    /// The number of features.
    pub width: usize,
    /// Fills φₖ(x) of a row, class after class; −∞ stands for a class that is impossible.
    pub features: F,
}

/// Value, gradient and lower triangle of the Hessian of some rows.
struct LossDerivatives {
    value: f64,
    gradient: Vec<f64>,
    hessian: Matrix,
    /// Whether every row is on the right side.
    separated: bool,
}

impl LossDerivatives {
    fn new(width: usize) -> Self {
        LossDerivatives {
            value: 0.0,
            gradient: vec![0.0; width],
            hessian: Matrix::zeros(width, width),
            separated: true,
        }
    }

    fn add(&mut self, other: &LossDerivatives) {
        self.value += other.value;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a += b);
        self.hessian.data_mut().iter_mut().zip(other.hessian.data()).for_each(|(a, b)| *a += b);
        self.separated &= other.separated;
    }
}

impl<F: Fn(usize, &mut [f64]) + Sync> Softmax<'_, F> {
    /// The minimum.
    pub fn fit(&self) -> Result<Solution> {
        let limits = Limits { gradient: 1e-10, iterations: 200 };
        let solution = newton(self, vec![0.0; self.width], limits)?;
        let unbounded = self.share.iter().all(|s| *s == 1.0) && self.at_all(&solution.theta).separated;
        if unbounded {
            return Err(separable());
        }
        Ok(solution)
    }

    fn at_all(&self, theta: &[f64]) -> LossDerivatives {
        let starts: Vec<usize> = (0..self.truth.len()).step_by(CHUNK).collect();
        let part = |&start: &usize| self.at_rows(theta, start..self.truth.len().min(start + CHUNK));
        let parts: Vec<LossDerivatives> = starts.par_iter().map(part).collect();
        let mut sums = LossDerivatives::new(self.width);
        parts.iter().for_each(|part| sums.add(part));
        sums
    }

    fn at_rows(&self, theta: &[f64], rows: std::ops::Range<usize>) -> LossDerivatives {
        let (classes, width) = (self.log_prior.len(), self.width);
        let mut sums = LossDerivatives::new(width);
        let (mut phi, mut z, mut mean) = (vec![0.0; classes * width], vec![0.0; classes], vec![0.0; width]);
        for i in rows {
            let (w, truth) = (self.weights[i], self.truth[i] as usize);
            if w == 0.0 {
                continue;
            }
            (self.features)(i, &mut phi);
            // A class that is impossible has no part in anything.
            let possible = |k: usize| phi[k * width] > f64::NEG_INFINITY && self.log_prior[k] > f64::NEG_INFINITY;
            let score = |k: usize| phi[k * width..][..width].iter().zip(theta).map(|(f, t)| f * t).sum::<f64>();
            (0..classes).for_each(|k| z[k] = if possible(k) { score(k) } else { f64::NEG_INFINITY });
            sums.separated &= (0..classes).all(|k| k == truth || z[truth] > z[k]);
            (0..classes).for_each(|k| z[k] += self.log_prior[k]);
            log_shares(&mut z);
            let rest = (1.0 - self.share[truth]) / (classes - 1).max(1) as f64;
            mean.fill(0.0);
            for k in (0..classes).filter(|&k| possible(k)) {
                let f = &phi[k * width..][..width];
                let (p, q) = (z[k].exp(), if k == truth { self.share[truth] } else { rest });
                sums.value -= w * q * z[k];
                for j in 0..width {
                    mean[j] += p * f[j];
                    sums.gradient[j] += w * (p - q) * f[j];
                    let wp = w * p * f[j];
                    for l in 0..=j {
                        sums.hessian[(j, l)] += wp * f[l];
                    }
                }
            }
            for j in 0..width {
                for l in 0..=j {
                    sums.hessian[(j, l)] -= w * mean[j] * mean[l];
                }
            }
        }
        sums
    }
}

impl<F: Fn(usize, &mut [f64]) + Sync> Objective for Softmax<'_, F> {
    fn at(&self, theta: &[f64], _: Curvature) -> Result<Point> {
        let sums = self.at_all(theta);
        Ok(Point { value: sums.value, gradient: sums.gradient, curvature: sums.hessian })
    }
}

/// Of rows without an error to learn from.
pub(super) fn separable() -> Error {
    let message = "the rows are perfectly separable: there is no error to learn from, and the evidence would \
                   grow without end; calibrate on more rows, or give a pseudo-count of 1";
    Error::parameter("pseudo_count", message)
}

/// Weights under which classes have the shares `prior`, and the share of a row that counts for its own
/// class. Every class with a prior above 0 must have rows.
pub(super) fn balance(
    truth: &[u32],
    weights: Option<&[f64]>,
    prior: &[f64],
    pseudo_count: f64,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut totals = vec![0.0; prior.len()];
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    truth.iter().enumerate().for_each(|(i, &k)| totals[k as usize] += weight(i));
    check_totals(&totals, prior)?;
    let balanced = |(i, &k): (usize, &u32)| weight(i) * prior[k as usize] / totals[k as usize];
    let weights = truth.iter().enumerate().map(balanced).map(|w| if w.is_nan() { 0.0 } else { w }).collect();
    Ok((weights, own_shares(&totals, pseudo_count)))
}

/// Refuses rows that lack a class with a prior above 0.
pub(super) fn check_totals(totals: &[f64], prior: &[f64]) -> Result<()> {
    match (0..totals.len()).find(|&k| totals[k] == 0.0 && prior[k] > 0.0) {
        Some(k) => Err(Error::Classes(format!("class number {} has no rows to calibrate with", k + 1))),
        None => Ok(()),
    }
}

/// The share of a row of each class that counts for its own class, by the weights of the classes.
pub(super) fn own_shares(totals: &[f64], pseudo_count: f64) -> Vec<f64> {
    let share = |total: &f64| (total + pseudo_count) / (total + totals.len() as f64 * pseudo_count);
    totals.iter().map(|total| if pseudo_count > 0.0 { share(total) } else { 1.0 }).collect()
}
