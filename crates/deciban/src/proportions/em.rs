//! The shares of greatest likelihood.
//!
//! f(x) = Σₖ xₖ − Σᵢ wᵢ ln Σₖ xₖ p(xᵢ | k) over x ≥ 0, with weights that sum to 1, has its minimum at the best shares:
//! scaling x to the sum 1 never raises f. So only bounds are left of the constraints. Each step goes towards the
//! minimum over x ≥ 0 of the quadratic with the gradient 1 − h̄ and the Hessian Σᵢ wᵢ hᵢhᵢᵀ (as in mix-SQP, Kim et al.
//! 2020). A step counts only if the likelihood rises; EM, which never lowers it, is the way out.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::evaluate::check_weights;
use crate::evidence::Evidence;
use crate::numerics::{Matrix, add_row_gram, cholesky, solve_lower};

/// Rows whose sums are computed at once, and added in order.
const CHUNK: usize = 4096;

/// More steps than these are never needed but for shares that nothing tells apart.
const MOST_STEPS: usize = 500;

/// The shares that make rows most probable.
#[derive(Clone, Debug, PartialEq)]
pub struct MaximumLikelihood {
    /// The share of each class.
    pub shares: Vec<f64>,
    /// The mean of ln Σₖ πₖ p(x | k) over rows, at the start and after each step: it never falls.
    pub log_likelihoods: Vec<f64>,
    /// Rows that are impossible under every class: they are left out.
    pub impossible: usize,
}

/// Rows of likelihoods, each row divided by its largest, with weights that sum to 1.
pub(super) struct Likelihoods {
    classes: usize,
    values: Vec<f64>,
    weights: Vec<f64>,
    /// Σ wᵢ ln of what the rows were divided by.
    offset: f64,
    /// How many rows are impossible under every class.
    pub impossible: usize,
}

/// Sums over rows at some shares.
struct LikelihoodSums {
    /// Σ wᵢ ln Σₖ πₖ lᵢₖ.
    value: f64,
    /// h̄.
    mean: Vec<f64>,
    /// Σ wᵢ hᵢhᵢᵀ, lower triangle.
    gram: Matrix,
}

impl LikelihoodSums {
    /// How far the shares are from the best: 0 where h̄ ≤ 1, and h̄ = 1 for all classes with a share. The likelihood
    /// could still gain no more than this.
    fn off(&self, shares: &[f64]) -> f64 {
        let of = |(h, p): (&f64, &f64)| if *h > 1.0 { h - 1.0 } else { p * (1.0 - h) };
        self.mean.iter().zip(shares).map(of).fold(0.0, f64::max)
    }
}

impl Likelihoods {
    pub fn new(evidence: &Evidence, weights: Option<&[f64]>) -> Result<Self> {
        if let Some(weights) = weights {
            check_weights(weights, evidence.rows())?;
        }
        let classes = evidence.classes();
        let mut rows = Likelihoods { classes, values: Vec::new(), weights: Vec::new(), offset: 0.0, impossible: 0 };
        for (i, row) in evidence.values().chunks_exact(classes).enumerate() {
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weight = weights.map_or(1.0, |w| w[i]);
            if most == f64::NEG_INFINITY {
                rows.impossible += 1;
            } else if weight > 0.0 {
                rows.values.extend(row.iter().map(|e| (e - most).exp()));
                rows.weights.push(weight);
                rows.offset += weight * most;
            }
        }
        let total: f64 = rows.weights.iter().sum();
        if total <= 0.0 {
            return Err(Error::Classes("there are no rows to estimate shares from".into()));
        }
        rows.weights.iter_mut().for_each(|w| *w /= total);
        rows.offset /= total;
        Ok(rows)
    }

    /// The number of rows that count, less where their weights differ: (Σw)²/Σw².
    pub fn effective_rows(&self) -> f64 {
        1.0 / self.weights.iter().map(|w| w * w).sum::<f64>()
    }

    /// h̄ and the covariance of hᵢ over rows, at some shares.
    pub fn moments(&self, shares: &[f64]) -> (Vec<f64>, Matrix) {
        let LikelihoodSums { mean, .. } = self.sums(shares, false);
        let covariance = self.gram(shares, |weight, h| {
            let root = weight.sqrt();
            h.iter_mut().zip(&mean).for_each(|(h, m)| *h = root * (*h - m));
        });
        (mean, covariance)
    }

    /// Σ wᵢ hᵢhᵢᵀ.
    pub fn information(&self, shares: &[f64]) -> Matrix {
        let mut gram = self.sums(shares, true).gram;
        gram.mirror_lower();
        gram
    }

    fn sums(&self, shares: &[f64], with_gram: bool) -> LikelihoodSums {
        let k = self.classes;
        let chunk = |(values, weights): (&[f64], &[f64])| {
            let (mut value, mut mean) = (0.0, vec![0.0; k]);
            for (row, &weight) in values.chunks_exact(k).zip(weights) {
                let p: f64 = row.iter().zip(shares).map(|(l, s)| l * s).sum();
                value += weight * p.ln();
                mean.iter_mut().zip(row).for_each(|(m, l)| *m += weight * (l / p));
            }
            (value, mean)
        };
        let parts: Vec<(f64, Vec<f64>)> =
            self.values.par_chunks(CHUNK * k).zip(self.weights.par_chunks(CHUNK)).map(chunk).collect();
        let (mut value, mut mean) = (0.0, vec![0.0; k]);
        for (part, means) in &parts {
            value += part;
            mean.iter_mut().zip(means).for_each(|(a, b)| *a += b);
        }
        let gram = match with_gram {
            true => self.gram(shares, |weight, h| {
                let root = weight.sqrt();
                h.iter_mut().for_each(|h| *h *= root);
            }),
            false => Matrix::zeros(0, 0),
        };
        LikelihoodSums { value, mean, gram }
    }

    /// Σ vᵢvᵢᵀ, both triangles, where `scale` makes vᵢ of wᵢ and hᵢ.
    fn gram(&self, shares: &[f64], scale: impl Fn(f64, &mut [f64]) + Sync) -> Matrix {
        let k = self.classes;
        let chunk = |(values, weights): (&[f64], &[f64])| {
            let mut rows = values.to_vec();
            for (row, &weight) in rows.chunks_exact_mut(k).zip(weights) {
                let p: f64 = row.iter().zip(shares).map(|(l, s)| l * s).sum();
                row.iter_mut().for_each(|l| *l /= p);
                scale(weight, row);
            }
            let mut gram = Matrix::zeros(k, k);
            add_row_gram(&mut gram, &rows);
            gram
        };
        let parts: Vec<Matrix> =
            self.values.par_chunks(CHUNK * k).zip(self.weights.par_chunks(CHUNK)).map(chunk).collect();
        let mut gram = Matrix::zeros(k, k);
        for part in &parts {
            gram.data_mut().iter_mut().zip(part.data()).for_each(|(a, b)| *a += b);
        }
        gram.mirror_lower();
        gram
    }

    /// The shares of greatest likelihood.
    pub fn maximise(&self) -> MaximumLikelihood {
        let mut shares = vec![1.0 / self.classes as f64; self.classes];
        let mut sums = self.sums(&shares, true);
        let mut values = vec![sums.value + self.offset];
        for _ in 0..MOST_STEPS {
            let off = sums.off(&shares);
            if off < 1e-14 {
                break;
            }
            let expected: Vec<f64> = shares.iter().zip(&sums.mean).map(|(p, h)| p * h).collect();
            let steps =
                newton(&shares, &sums).into_iter().flat_map(|d| [1.0, 0.5, 0.25].map(|t| moved(&shares, &d, t)));
            // Next to the top the likelihood is flat to its last digit, and the gradient says more.
            let is_better = |at: &LikelihoodSums, x: &[f64]| {
                at.value > sums.value
                    || at.value >= sums.value - 1e-14 * (1.0 + sums.value.abs()) && at.off(x) < 0.5 * off
            };
            let better = steps.chain([expected]).map(|x| (self.sums(&x, true), x)).find(|(at, x)| is_better(at, x));
            // No step is better: these are the shares.
            let Some((at, next)) = better else { break };
            (shares, sums) = (next, at);
            values.push(values[values.len() - 1].max(sums.value + self.offset));
        }
        MaximumLikelihood { shares, log_likelihoods: values, impossible: self.impossible }
    }
}

/// The direction to the minimum of f's quadratic approximation over x ≥ 0: ½ yᵀHy − cᵀy with c = Hx + h̄ − 1, by the
/// method of active sets (Lawson & Hanson 1974), from the current shares on.
fn newton(shares: &[f64], sums: &LikelihoodSums) -> Option<Vec<f64>> {
    let classes = shares.len();
    let trace: f64 = (0..classes).map(|k| sums.gram[(k, k)]).sum();
    // Classes that nothing tells apart make the matrix singular.
    let ridge = |i: usize, j: usize| if i == j { 1e-14 * trace } else { 0.0 };
    let h = Matrix::from_fn(classes, classes, |i, j| sums.gram[(i, j)] + ridge(i, j));
    let c: Vec<f64> = h.times(shares).iter().zip(&sums.mean).map(|(a, mean)| a + mean - 1.0).collect();
    let mut y = shares.to_vec();
    let mut free: Vec<usize> = (0..classes).filter(|&k| y[k] > 0.0).collect();
    for _ in 0..10 * classes {
        let factor = cholesky(&Matrix::from_fn(free.len(), free.len(), |i, j| h[(free[i], free[j])]))?;
        let mut z = Matrix::from_columns(free.len(), 1, free.iter().map(|&k| c[k]).collect());
        solve_lower(&factor, false, &mut z);
        solve_lower(&factor, true, &mut z);
        // As far as no share falls below 0.
        let falling = free.iter().zip(z.data()).filter(|(_, z)| **z <= 0.0);
        let length = falling.map(|(&k, z)| y[k] / (y[k] - z)).fold(1.0, f64::min);
        free.iter().zip(z.data()).for_each(|(&k, z)| y[k] += length * (z - y[k]));
        if length < 1.0 {
            let gone = |k: &usize| y[*k] <= 1e-15;
            let held: Vec<usize> = free.iter().copied().filter(gone).collect();
            held.iter().for_each(|&k| y[k] = 0.0);
            free.retain(|k| !held.contains(k));
            continue;
        }
        // Free the class that gains most, if one does.
        let slope: Vec<f64> = h.times(&y).iter().zip(&c).map(|(a, c)| c - a).collect();
        let best = (0..classes).filter(|k| !free.contains(k)).max_by(|&a, &b| slope[a].total_cmp(&slope[b]));
        match best.filter(|&k| slope[k] > 1e-14 * trace) {
            Some(k) => free.push(k),
            None => break,
        }
    }
    Some(y.iter().zip(shares).map(|(y, x)| y - x).collect())
}

/// Shares after a step, none below 0, that sum to 1.
fn moved(shares: &[f64], direction: &[f64], length: f64) -> Vec<f64> {
    let next: Vec<f64> = shares.iter().zip(direction).map(|(p, d)| (p + length * d).max(0.0)).collect();
    let sum: f64 = next.iter().sum();
    match sum > 0.0 {
        true => next.iter().map(|p| p / sum).collect(),
        false => shares.to_vec(),
    }
}

/// The shares of the classes that make these rows most probable; rows count by their weights if they have some.
///
/// ```
/// use deciban::evidence::Evidence;
/// use deciban::proportions::maximum_likelihood;
/// // Four rows with evidence of ln 3 for the second class, two with as much against it. At a share π, rows have
/// // probabilities in proportion to 1 + 2π and 3 − 2π: 4·2/(1 + 2π) = 2·2/(3 − 2π) at π = 5/6.
/// let llr = 3f64.ln();
/// let rows = [llr, llr, llr, llr, -llr, -llr].iter().flat_map(|x| [0.0, *x]).collect();
/// let found = maximum_likelihood(&Evidence::new(2, rows)?, None)?;
/// assert!((found.shares[1] - 5.0 / 6.0).abs() < 1e-12);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn maximum_likelihood(evidence: &Evidence, weights: Option<&[f64]>) -> Result<MaximumLikelihood> {
    Ok(Likelihoods::new(evidence, weights)?.maximise())
}
