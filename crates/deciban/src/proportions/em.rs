//! The shares of greatest likelihood.
//!
//! f(x) = Σₖ xₖ − Σᵢ wᵢ ln Σₖ xₖ p(xᵢ | k) over x ≥ 0, with weights that sum to 1, has its minimum at the best shares:
//! scaling x to the sum 1 never raises f. So only bounds are left of the constraints, and projected Newton steps
//! take the gradient 1 − h̄ and the Hessian Σᵢ wᵢ hᵢhᵢᵀ of the classes that are free (as in mix-SQP, Kim et al. 2020).
//! A class whose share is next to 0 and falling is held at 0; it is freed where h̄ₖ > 1. A step counts only if the
//! likelihood rises; EM, which never lowers it, is the way out.

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
struct Sums {
    /// Σ wᵢ ln Σₖ πₖ lᵢₖ.
    value: f64,
    /// h̄.
    mean: Vec<f64>,
    /// Σ wᵢ hᵢhᵢᵀ, lower triangle.
    gram: Matrix,
}

impl Sums {
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
        let Sums { mean, .. } = self.sums(shares, false);
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

    fn sums(&self, shares: &[f64], with_gram: bool) -> Sums {
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
        Sums { value, mean, gram }
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
            let is_better = |at: &Sums, x: &[f64]| {
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

/// The direction of Newton's step; classes that are held at 0 go there.
fn newton(shares: &[f64], sums: &Sums) -> Option<Vec<f64>> {
    const NEXT_TO_NOTHING: f64 = 1e-9;
    let is_free = |k: &usize| shares[*k] > NEXT_TO_NOTHING || sums.mean[*k] > 1.0;
    let free: Vec<usize> = (0..shares.len()).filter(is_free).collect();
    let trace: f64 = free.iter().map(|&k| sums.gram[(k, k)]).sum();
    // Classes that nothing tells apart make the matrix singular.
    let ridge = |i: usize, j: usize| if i == j { 1e-14 * trace } else { 0.0 };
    let hessian = Matrix::from_fn(free.len(), free.len(), |i, j| sums.gram[(free[i], free[j])] + ridge(i, j));
    let factor = cholesky(&hessian)?;
    let mut step = Matrix::from_columns(free.len(), 1, free.iter().map(|&k| sums.mean[k] - 1.0).collect());
    solve_lower(&factor, false, &mut step);
    solve_lower(&factor, true, &mut step);
    let mut direction: Vec<f64> = shares.iter().map(|p| -p).collect();
    free.iter().zip(step.data()).for_each(|(&k, d)| direction[k] = *d);
    Some(direction)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Random;

    /// Rows of Gaussians of variance 1 at 0, 1, 2, ...; the true shares fall.
    fn rows(count: usize, classes: usize, apart: f64, seed: u64) -> Evidence {
        let mut random = Random::new(seed);
        let shares: Vec<f64> = (0..classes).map(|k| 1.0 / (1.0 + k as f64)).collect();
        let mut row = |_| {
            let x = apart * random.pick(&shares) as f64 + random.normal();
            (0..classes).map(|k| -0.5 * (x - apart * k as f64).powi(2)).collect::<Vec<_>>()
        };
        Evidence::new(classes, (0..count).flat_map(&mut row).collect()).unwrap()
    }

    #[test]
    fn the_best_shares_are_found_quickly_and_the_likelihood_never_falls() {
        for (classes, apart) in [(2, 0.3), (2, 4.0), (3, 1.0), (5, 2.0), (8, 0.5)] {
            for seed in 0..4 {
                let evidence = rows(5000, classes, apart, seed);
                let found = maximum_likelihood(&evidence, None).unwrap();
                assert!(found.log_likelihoods.is_sorted(), "{:?}", found.log_likelihoods);
                assert!(found.log_likelihoods.len() < 40, "{classes} {apart}: {}", found.log_likelihoods.len());
                let mean = Likelihoods::new(&evidence, None).unwrap().sums(&found.shares, false).mean;
                for (p, h) in found.shares.iter().zip(&mean) {
                    assert!(*h <= 1.0 + 1e-10 && (*p == 0.0 || (h - 1.0).abs() < 1e-10), "{classes} {apart}: {p} {h}");
                }
            }
        }
    }

    #[test]
    fn plain_em_comes_to_the_same_shares() {
        let rows = Likelihoods::new(&rows(2000, 3, 2.0, 7), None).unwrap();
        let mut shares = vec![1.0 / 3.0; 3];
        for _ in 0..5000 {
            let mean = rows.sums(&shares, false).mean;
            shares.iter_mut().zip(&mean).for_each(|(p, h)| *p *= h);
        }
        let found = rows.maximise().shares;
        assert!(shares.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-10), "{shares:?} {found:?}");
    }

    #[test]
    fn a_class_without_rows_has_exactly_nothing() {
        let sure = Evidence::new(3, [[0.0, -9.0, -30.0], [-8.0, 0.0, -40.0]].concat()).unwrap();
        assert_eq!(maximum_likelihood(&sure, None).unwrap().shares[2], 0.0);
        // Rows that are possible under one class alone keep it, whatever the others say.
        let never = f64::NEG_INFINITY;
        let only = Evidence::new(2, vec![0.0, never, 0.0, never, 0.0, never, never, 0.0]).unwrap();
        let shares = maximum_likelihood(&only, None).unwrap().shares;
        assert!((shares[1] - 0.25).abs() < 1e-14, "{shares:?}");
    }

    #[test]
    fn weights_are_copies_and_impossible_rows_are_left_out() {
        let never = f64::NEG_INFINITY;
        let once = Evidence::new(2, vec![0.0, 1.0, 0.5, -1.0, never, never]).unwrap();
        let twice = Evidence::new(2, vec![0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.5, -1.0]).unwrap();
        let a = maximum_likelihood(&once, Some(&[3.0, 1.0, 9.0])).unwrap();
        let b = maximum_likelihood(&twice, None).unwrap();
        assert!((a.shares[1] - b.shares[1]).abs() < 1e-12 && a.impossible == 1);
        assert!(maximum_likelihood(&Evidence::new(2, vec![never, never]).unwrap(), None).is_err());
    }

    #[test]
    fn classes_that_nothing_tells_apart_do_no_harm() {
        let evidence = Evidence::new(3, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.0, 0.0, -1.0]].concat()).unwrap();
        let found = maximum_likelihood(&evidence, None).unwrap();
        assert!((found.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && found.log_likelihoods.is_sorted());
    }
}
