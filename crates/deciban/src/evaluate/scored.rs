//! Evidence, classes and weights of rows that were scored.

use super::errors::Evaluation;
use super::trials::{Trials, check_weights};
use crate::decision::Costs;
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::posterior::Prior;

/// Rows with their evidence, true class and weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    evidence: Evidence,
    truth: Vec<u32>,
    weights: Vec<f64>,
    /// Whether each row is unlike all classes; empty where nobody has looked.
    unusual: Vec<bool>,
}

impl Scored {
    /// No rows yet.
    pub fn new(classes: usize) -> Result<Self> {
        let evidence = Evidence::new(classes, Vec::new())?;
        Ok(Scored { evidence, truth: Vec::new(), weights: Vec::new(), unusual: Vec::new() })
    }

    /// Adds rows; weights are 1 by default.
    pub fn append(&mut self, evidence: &Evidence, truth: &[u32], weights: Option<&[f64]>) -> Result<()> {
        Error::check_shape("labels", evidence.rows(), truth.len())?;
        if let Some(row) = truth.iter().position(|&class| class as usize >= evidence.classes()) {
            return Err(Error::Classes(format!("row {}: the class is not one the model knows", row + 1)));
        }
        if let Some(weights) = weights {
            check_weights(weights, truth.len())?;
        }
        self.evidence.append(evidence)?;
        self.truth.extend_from_slice(truth);
        match weights {
            Some(weights) => self.weights.extend_from_slice(weights),
            None => self.weights.resize(self.truth.len(), 1.0),
        }
        Ok(())
    }

    /// Says, if somebody has looked, which rows are unlike all classes: they get the action
    /// [none of these](Costs::none_of_these).
    pub fn with_unusual(mut self, unusual: Option<Vec<bool>>) -> Result<Self> {
        if let Some(unusual) = unusual {
            Error::check_shape("rows that are unusual or not", self.rows(), unusual.len())?;
            self.unusual = unusual;
        }
        Ok(self)
    }

    /// Adds the rows of another; if one of them knows which are unusual, so must the other, unless it has no rows.
    pub fn merge(&mut self, other: &Scored) -> Result<()> {
        let known = |side: &Scored| side.unusual.len() == side.rows();
        let agree = self.unusual.is_empty() && other.unusual.is_empty() || known(self) && known(other);
        if !agree {
            return Err(Error::Shape {
                what: "rows that are unusual or not".into(),
                expected: other.rows(),
                found: other.unusual.len(),
            });
        }
        self.append(&other.evidence, &other.truth, Some(&other.weights))?;
        self.unusual.extend_from_slice(&other.unusual);
        Ok(())
    }

    /// Whether each row is unlike all classes; empty where nobody has looked.
    pub fn unusual(&self) -> &[bool] {
        &self.unusual
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.truth.len()
    }

    /// The bytes that a row of evidence for so many classes takes here.
    pub fn bytes_per_row(classes: usize) -> usize {
        8 * classes + 4 + 8
    }

    /// The evidence.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The true classes.
    pub fn truth(&self) -> &[u32] {
        &self.truth
    }

    /// The weights.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The LLR of each row for a class against the others, and whether the row is of that class.
    pub fn llr(&self, target: usize) -> (Vec<f64>, Vec<bool>) {
        let llr = (0..self.rows()).map(|row| self.evidence.llr(row, target)).collect();
        (llr, self.truth.iter().map(|class| *class as usize == target).collect())
    }

    /// The rows as trials for a class against the others.
    pub fn trials(&self, target: usize) -> Result<Trials> {
        let (llr, y) = self.llr(target);
        Trials::new(&llr, &y, Some(&self.weights))
    }

    /// Decisions and probabilities under a prior and costs.
    pub fn evaluation(&self, classes: &[String], prior: &Prior, costs: &Costs) -> Result<Evaluation> {
        let mut evaluation = Evaluation::new(classes, costs);
        let weights = Some(&self.weights[..]);
        evaluation.observe_evidence(&self.evidence, prior, &self.truth, weights, costs, &self.unusual)?;
        Ok(evaluation)
    }
}
