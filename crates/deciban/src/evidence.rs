//! [`Evidence`]: log p(x | class) for each row and class, before any prior.
//!
//! Evidence is defined up to a constant per row: only differences between classes matter. The
//! difference of two classes is their log-likelihood ratio (LLR), in nats, or in decibans
//! (10·log₁₀ of the ratio) where people read it.

use crate::error::{Error, Result};
use crate::numerics::log_sum_exp;
use crate::posterior::{Posterior, Prior};

/// Decibans per nat: 10/ln 10.
pub const DECIBANS_PER_NAT: f64 = 10.0 / std::f64::consts::LN_10;

/// A log-likelihood ratio in nats as decibans.
///
/// ```
/// // Odds of ten to one are ten decibans.
/// assert!((deciban::evidence::decibans(10f64.ln()) - 10.0).abs() < 1e-12);
/// ```
pub fn decibans(nats: f64) -> f64 {
    nats * DECIBANS_PER_NAT
}

/// A row × class matrix of log p(x | class).
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    classes: usize,
    values: Vec<f64>,
}

impl Evidence {
    /// Evidence from its values, row after row. −∞ is legitimate, NaN is an error.
    pub fn new(classes: usize, values: Vec<f64>) -> Result<Self> {
        if classes == 0 || !values.len().is_multiple_of(classes) {
            return Err(Error::Shape { what: "evidence per row".into(), expected: classes, found: values.len() });
        }
        Evidence::check(classes, &values)?;
        Ok(Evidence { classes, values })
    }

    /// Refuses values that are no evidence.
    pub(crate) fn check(classes: usize, values: &[f64]) -> Result<()> {
        match values.iter().position(|x| x.is_nan() || *x == f64::INFINITY) {
            None => Ok(()),
            Some(i) => Err(Error::Schema(format!("row {}: the evidence is {}", i / classes + 1, values[i]))),
        }
    }

    /// Adds rows of evidence about the same classes.
    pub fn append(&mut self, rows: &Evidence) -> Result<()> {
        Error::check_shape("classes of the evidence", self.classes, rows.classes)?;
        // By an eighth at a time: to double what takes half the memory would be too much.
        if self.values.capacity() < self.values.len() + rows.values.len() {
            self.values.reserve_exact(rows.values.len().max(self.values.len() / 8));
        }
        self.values.extend_from_slice(&rows.values);
        Ok(())
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.classes
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// log p(x | class) of a row, for each class.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.classes..(row + 1) * self.classes]
    }

    /// All rows, one after the other.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The log-likelihood ratio of a class against the others, each of them counting alike:
    /// log p(x|k) − log mean_{j≠k} p(x|j). With two classes, the plain ratio.
    pub fn llr(&self, row: usize, class: usize) -> f64 {
        llr(self.row(row), class)
    }

    /// log p(x) under a prior: how usual the row is; low values are outliers.
    pub fn log_density(&self, prior: &Prior) -> Vec<f64> {
        self.values.chunks_exact(self.classes).map(|row| log_sum_exp(&prior.joint(row))).collect()
    }

    /// The posterior probabilities under a prior.
    ///
    /// # Panics
    /// If the prior has another number of classes.
    pub fn posterior(&self, prior: &Prior) -> Posterior {
        assert_eq!(prior.classes(), self.classes, "a prior over the same classes");
        Posterior::new(&self.values, prior)
    }
}

/// The log-likelihood ratio of a class against the others, from the evidence of a row.
pub(crate) fn llr(evidence: &[f64], class: usize) -> f64 {
    Against::new(evidence).llr(evidence[class], class)
}

/// What the LLRs of all classes of a row against the others have in common, so that K of them take K steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Against {
    /// The first class with the most evidence, and its evidence.
    best: usize,
    top: f64,
    /// Σ exp(e − top) over all classes.
    total: f64,
    /// The same over all but the best, less the evidence of the second best.
    others: [f64; 2],
    ln_others: f64,
}

impl Against {
    pub fn new(evidence: &[f64]) -> Self {
        let best = (0..evidence.len()).reduce(|a, b| if evidence[b] > evidence[a] { b } else { a }).unwrap_or(0);
        let others = || evidence.iter().enumerate().filter(|(k, _)| *k != best).map(|(_, e)| *e);
        let (top, second) = (evidence[best], others().fold(f64::NEG_INFINITY, f64::max));
        let sum = |top: f64| others().map(|e| if e == f64::NEG_INFINITY { 0.0 } else { (e - top).exp() }).sum::<f64>();
        let ln_others = (evidence.len() as f64 - 1.0).ln();
        Against { best, top, total: 1.0 + sum(top), others: [second, sum(second)], ln_others }
    }

    /// log p(x|k) − log mean_{j≠k} p(x|j), from log p(x|k).
    pub fn llr(&self, own: f64, class: usize) -> f64 {
        // The most of the others, and the logarithm of their sum relative to it.
        let (most, ln_sum) = match class == self.best {
            true => (self.others[0], self.others[1].ln()),
            // The best class is among the others, so nothing cancels.
            false => (self.top, (self.total - (own - self.top).exp()).ln()),
        };
        match (own == f64::NEG_INFINITY, most == f64::NEG_INFINITY) {
            // Where both are impossible, the row has no evidence about this class.
            (true, true) => 0.0,
            (false, true) => f64::INFINITY,
            // The difference first: beside a large number the logarithms would be lost.
            (_, false) => (own - most) - (ln_sum - self.ln_others),
        }
    }
}

// Lines of ledgers that belong to no column. They stand in parentheses, which few names of columns have.

/// What stands for the row before any feature is known.
pub(crate) const AVERAGE: &str = "(start: an average row)";
/// The constants of a model.
pub(crate) const CONSTANT: &str = "(same for every row)";
/// What is left where lines are averages over the components of a mixture.
pub(crate) const COMPONENTS: &str = "(components of the mixture)";
/// What the number of training rows nearby says.
pub(crate) const NEARBY: &str = "(number of rows nearby)";

/// What one feature of a row says.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The column, the word, or what else it is (in parentheses).
    pub name: String,
    /// What the cell holds, for people to read.
    pub value: String,
    /// Its part of the evidence for each class, in nats, up to what all classes share.
    pub evidence: Vec<f64>,
    /// Whether the cell is missing.
    pub missing: bool,
}

impl Entry {
    /// A feature that is there.
    pub fn new(name: impl Into<String>, value: impl Into<String>, evidence: Vec<f64>) -> Self {
        Entry { name: name.into(), value: value.into(), evidence, missing: false }
    }

    /// A cell that is missing and says nothing.
    pub fn missing(name: impl Into<String>, classes: usize) -> Self {
        Entry { name: name.into(), value: "missing".into(), evidence: vec![0.0; classes], missing: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Random;

    /// By the definition, class by class.
    #[test]
    fn llrs_against_the_others() {
        let never = f64::NEG_INFINITY;
        let mut random = Random::new(4);
        let mut rows: Vec<Vec<f64>> = (2..9).map(|k| (0..k).map(|_| 30.0 * random.normal()).collect()).collect();
        rows.extend([vec![never; 3], vec![0.0, never, never], vec![0.0, 0.0, -800.0], vec![never, -2000.0, -2001.0]]);
        rows.extend([vec![-5.0; 4], vec![1e6, 0.0, -1e6]]);
        for row in rows {
            for k in 0..row.len() {
                let others: Vec<f64> = (0..row.len()).filter(|j| *j != k).map(|j| row[j]).collect();
                let rest = log_sum_exp(&others) - (others.len() as f64).ln();
                let expected = if row[k] == never && rest == never { 0.0 } else { row[k] - rest };
                let found = llr(&row, k);
                assert!(found == expected || (found - expected).abs() < 1e-13 * expected.abs().max(1.0), "{row:?} {k}");
            }
        }
    }
}
