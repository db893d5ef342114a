//! [`Prior`] and [`Posterior`]: Bayes' rule, log p(k|x) = log p(x|k) + log πₖ − log Σⱼ p(x|j)πⱼ.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::numerics::log_shares;

/// A distribution over the classes, plugged in after scoring.
///
/// ```
/// use deciban::posterior::Prior;
/// let prior = Prior::new(&[0.9, 0.1])?;
/// assert_eq!(prior.probabilities(), [0.9, 0.1]);
/// assert!(Prior::new(&[0.9, 0.2]).is_err());
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Prior {
    probabilities: Vec<f64>,
}

impl Prior {
    /// Probabilities, at least 0, that sum to 1 (to 1e-6; they are normalised).
    pub fn new(probabilities: &[f64]) -> Result<Self> {
        let sum: f64 = probabilities.iter().sum();
        if (sum - 1.0).abs() > 1e-6 {
            return Err(Error::Prior(format!("the probabilities sum to {sum}, not to 1")));
        }
        Prior::from_weights(probabilities)
    }

    /// Probabilities in proportion to weights: the prior of the training data.
    pub fn from_weights(weights: &[f64]) -> Result<Self> {
        if let Some(w) = weights.iter().find(|w| !w.is_finite() || **w < 0.0) {
            return Err(Error::Prior(format!("{w} is not a number of at least 0")));
        }
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 || !sum.is_finite() {
            return Err(Error::Prior("no class has a probability above 0".into()));
        }
        Ok(Prior { probabilities: weights.iter().map(|w| w / sum).collect() })
    }

    /// The same after `pseudo_count` more rows of each class, if `weight` of them are behind it: the posterior
    /// mean under a symmetric Dirichlet distribution, (w πₖ + α)/(w + Kα).
    ///
    /// ```
    /// use deciban::posterior::Prior;
    /// // Three rows of one class and none of the other, and one more of each.
    /// let prior = Prior::from_weights(&[3.0, 0.0])?.with_pseudo_count(3.0, 1.0)?;
    /// assert_eq!(prior.probabilities(), [0.8, 0.2]);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn with_pseudo_count(&self, weight: f64, pseudo_count: f64) -> Result<Self> {
        if !(pseudo_count >= 0.0 && pseudo_count.is_finite()) {
            return Err(Error::parameter("prior_pseudo_count", "give a number of 0 or more"));
        }
        Prior::from_weights(&self.probabilities.iter().map(|p| weight * p + pseudo_count).collect::<Vec<_>>())
    }

    /// Every class alike: the posterior then follows the likelihood (the ML rule).
    pub fn uniform(classes: usize) -> Self {
        Prior { probabilities: vec![1.0 / classes as f64; classes] }
    }

    /// Two classes, by the log-odds of the second.
    pub fn from_log_odds(log_odds: f64) -> Self {
        let second = 1.0 / (1.0 + (-log_odds).exp());
        let first = 1.0 / (1.0 + log_odds.exp());
        Prior { probabilities: vec![first, second] }
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.probabilities.len()
    }

    /// The probabilities.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// log p(x|k) + log πₖ; an impossible class stays impossible.
    pub fn joint(&self, evidence: &[f64]) -> Vec<f64> {
        evidence
            .iter()
            .zip(&self.probabilities)
            .map(|(e, p)| if *p > 0.0 { e + p.ln() } else { f64::NEG_INFINITY })
            .collect()
    }
}

impl TryFrom<Vec<f64>> for Prior {
    type Error = Error;
    fn try_from(probabilities: Vec<f64>) -> Result<Self> {
        Prior::new(&probabilities)
    }
}

impl From<Prior> for Vec<f64> {
    fn from(prior: Prior) -> Self {
        prior.probabilities
    }
}

/// The probability of each class given each row.
///
/// Where every class with a prior above 0 is impossible, the posterior is 0/0: its values are
/// NaN, and [`undefined`](Posterior::undefined) counts such rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    classes: usize,
    log_values: Vec<f64>,
}

impl Posterior {
    /// Of rows of evidence, one after the other.
    pub(crate) fn new(evidence: &[f64], prior: &Prior) -> Self {
        const CHUNK: usize = 1024;
        let classes = prior.classes();
        let log_prior: Vec<f64> = prior.probabilities.iter().map(|p| p.ln()).collect();
        let mut log_values = evidence.to_vec();
        log_values.par_chunks_mut(CHUNK * classes).for_each(|rows| {
            for row in rows.chunks_exact_mut(classes) {
                let possible = row.iter().zip(&log_prior).filter(|(_, p)| **p > f64::NEG_INFINITY);
                // What all classes share is taken away first: beside a large number the prior would be lost.
                let most = possible.map(|(e, _)| *e).fold(f64::NEG_INFINITY, f64::max);
                for (value, p) in row.iter_mut().zip(&log_prior) {
                    *value = if *p == f64::NEG_INFINITY { *p } else { (*value - most) + p };
                }
                // Where every class is impossible, so that `most` is −∞, they are NaN already, and stay so.
                log_shares(row);
            }
        });
        Posterior { classes, log_values }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.log_values.len() / self.classes
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// log p(class | row) for each class.
    pub fn log_row(&self, row: usize) -> &[f64] {
        &self.log_values[row * self.classes..(row + 1) * self.classes]
    }

    /// p(class | row) for each class.
    pub fn row(&self, row: usize) -> Vec<f64> {
        let mut p = self.log_row(row).to_vec();
        to_probabilities(&mut p);
        p
    }

    /// p(class | row) of all rows, one after the other.
    pub fn probabilities(&self) -> Vec<f64> {
        let mut p = self.log_values.clone();
        p.par_chunks_mut(self.classes).with_min_len(1024).for_each(to_probabilities);
        p
    }

    /// The probability that deciding for the most probable class is wrong: Σ of the others.
    pub fn probability_of_error(&self, row: usize) -> f64 {
        let p = self.log_row(row);
        let Some(best) = most_probable(p) else { return f64::NAN };
        p.iter().enumerate().filter(|(k, _)| *k != best).map(|(_, x)| x.exp()).sum()
    }

    /// The most probable class (the MAP rule; under a uniform prior the ML rule).
    pub fn most_probable(&self, row: usize) -> Option<usize> {
        most_probable(self.log_row(row))
    }

    /// How many rows no class with a prior above 0 can explain.
    pub fn undefined(&self) -> usize {
        (0..self.rows()).filter(|&row| self.log_row(row)[0].is_nan()).count()
    }
}

/// ln p to p, divided by their sum: with many classes the rounding of the logarithms alone would add up to more than four
/// units in the last place.
pub(crate) fn to_probabilities(row: &mut [f64]) {
    row.iter_mut().for_each(|x| *x = x.exp());
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|p| *p /= sum);
}

/// The first largest, `None` where there is a NaN.
fn most_probable(p: &[f64]) -> Option<usize> {
    if p.iter().any(|x| x.is_nan()) {
        return None;
    }
    (0..p.len()).reduce(|best, k| if p[k] > p[best] { k } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;

    #[test]
    fn the_threshold_moves_with_the_prior() {
        // Two unit Gaussians at 0 and 2 cross at 1; prior log-odds ℓ move that to 1 − ℓ/2.
        let log_odds = 0.7;
        let x: f64 = 1.0 - log_odds / 2.0;
        let evidence = Evidence::new(2, vec![-0.5 * x * x, -0.5 * (x - 2.0) * (x - 2.0)]).unwrap();
        let p = evidence.posterior(&Prior::from_log_odds(log_odds)).row(0);
        assert!((p[0] - 0.5).abs() < 1e-15 && (p[1] - 0.5).abs() < 1e-15);
    }

    #[test]
    fn a_constant_per_row_changes_nothing() {
        let prior = Prior::new(&[0.2, 0.5, 0.3]).unwrap();
        let a = Evidence::new(3, vec![-1.0, -2.0, -3.5]).unwrap().posterior(&prior);
        let b = Evidence::new(3, vec![-1001.0, -1002.0, -1003.5]).unwrap().posterior(&prior);
        assert!(a.log_row(0).iter().zip(b.log_row(0)).all(|(x, y)| (x - y).abs() < 1e-12));
    }

    #[test]
    fn however_large_a_constant_the_prior_is_left() {
        let prior = Prior::new(&[0.7, 0.1, 0.2, 0.0]).unwrap();
        for constant in [-5e15, 1e17, -1e300, f64::MIN] {
            let posterior = Evidence::new(4, vec![constant; 4]).unwrap().posterior(&prior);
            let apart = |(p, q): (&f64, &f64)| (p - q).abs() < 4.0 * f64::EPSILON;
            assert!(posterior.row(0).iter().zip(prior.probabilities()).all(apart), "{:?}", posterior.row(0));
        }
        // A class without a prior has no part, whatever its evidence.
        let evidence = Evidence::new(4, vec![-2.0, -2.0, -2.0, 1e300]).unwrap();
        assert!((evidence.posterior(&prior).row(0)[0] - 0.7).abs() < 1e-15);
    }

    #[test]
    fn zero_over_zero_is_said() {
        let evidence = Evidence::new(2, vec![f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY]).unwrap();
        let posterior = evidence.posterior(&Prior::uniform(2));
        assert_eq!((posterior.undefined(), posterior.most_probable(0), posterior.most_probable(1)), (1, None, Some(0)));
        assert_eq!(posterior.row(1), [1.0, 0.0]);
        // A prior of 0 for the only possible class leaves nothing either.
        assert_eq!(evidence.posterior(&Prior::new(&[0.0, 1.0]).unwrap()).undefined(), 2);
    }
}
