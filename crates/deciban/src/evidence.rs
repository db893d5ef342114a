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
        if let Some(i) = values.iter().position(|x| x.is_nan() || *x == f64::INFINITY) {
            return Err(Error::Schema(format!("row {}: the evidence is {}", i / classes + 1, values[i])));
        }
        Ok(Evidence { classes, values })
    }

    /// Adds rows of evidence about the same classes.
    pub fn append(&mut self, rows: &Evidence) -> Result<()> {
        Error::check_shape("classes of the evidence", self.classes, rows.classes)?;
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
        Posterior::new(self, prior)
    }
}

/// The log-likelihood ratio of a class against the others, from the evidence of a row.
pub(crate) fn llr(evidence: &[f64], class: usize) -> f64 {
    let others: Vec<f64> = evidence.iter().enumerate().filter(|(j, _)| *j != class).map(|(_, e)| *e).collect();
    let rest = log_sum_exp(&others) - (others.len() as f64).ln();
    // Both impossible: the row says nothing about this class.
    if evidence[class] == f64::NEG_INFINITY && rest == f64::NEG_INFINITY { 0.0 } else { evidence[class] - rest }
}
