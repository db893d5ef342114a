//! Maps of two classes for many: each class against the rest (Zadrozny & Elkan 2002).
//!
//! LLRₖ says how much more probable a row is under class k than under the others, these taken in equal
//! shares. A map gₖ of two classes calibrates it, and at a flat prior over K classes
//!
//! ```text
//! pₖ = σ(gₖ(LLRₖ) − ln(K − 1)),     evidence eₖ = ln pₖ
//! ```
//!
//! To divide by Σ pₖ, as a posterior must be, would add the same to all classes, which evidence does not
//! feel. The flat prior is the same for all classes, so none is left in the evidence; it only says at
//! which prior the pₖ are calibrated one by one. For two classes g₀(−x) = −g₁(x), and it is the map itself.
//!
//! Of the rows that teach gₖ, those of the other classes count as if these were equally frequent, as in
//! LLRₖ. Where the K maps contradict each other, the sum Σ pₖ is not 1: unlike one map for all classes,
//! this one is only as good as they agree.

use super::{Beta, Share, Steps};
use crate::error::Result;
use crate::evidence::{Against, Evidence};
use crate::numerics::softplus;

/// The map of one class's LLR against the rest.
#[derive(Clone, Debug, PartialEq)]
pub enum LlrMap {
    /// Pool adjacent violators.
    Steps(Steps),
    /// Beta calibration.
    Beta(Beta),
}

impl LlrMap {
    /// The calibrated LLR.
    pub fn apply(&self, llr: f64) -> f64 {
        match self {
            LlrMap::Steps(steps) => steps.apply(llr),
            LlrMap::Beta(beta) => beta.apply(llr),
        }
    }

    pub(super) fn rises(&self) -> bool {
        match self {
            LlrMap::Steps(steps) => steps.rises(),
            LlrMap::Beta(beta) => beta.rises(),
        }
    }
}

/// A map for each class against the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct OneVersusRest {
    /// One per class, three at least.
    pub maps: Vec<LlrMap>,
}

impl OneVersusRest {
    /// The maps of these rows: `fit` gets the LLRs of a class, whether a row is of it, and weights under
    /// which the other classes are equally frequent and weigh as much as their rows do.
    pub(super) fn fit(
        evidence: &Evidence,
        truth: &[u32],
        weights: Option<&[f64]>,
        fit: impl Fn(usize, &[f64], &[bool], &[f64]) -> Result<LlrMap>,
    ) -> Result<Self> {
        let classes = evidence.classes();
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let mut totals = vec![0.0; classes];
        truth.iter().enumerate().for_each(|(i, &k)| totals[k as usize] += weight(i));
        let all: f64 = totals.iter().sum();
        let rows: Vec<Against> = (0..truth.len()).map(|i| Against::new(evidence.row(i))).collect();
        let one = |k: usize| {
            let llr: Vec<f64> = rows.iter().enumerate().map(|(i, row)| row.llr(evidence.row(i)[k], k)).collect();
            let target: Vec<bool> = truth.iter().map(|&t| t as usize == k).collect();
            let mean = (all - totals[k]) / (classes - 1) as f64;
            let balanced = |(i, &t): (usize, &u32)| match t as usize {
                own if own == k => weight(i),
                other => weight(i) * mean / totals[other],
            };
            fit(k, &llr, &target, &truth.iter().enumerate().map(balanced).collect::<Vec<f64>>())
        };
        Ok(OneVersusRest { maps: (0..classes).map(one).collect::<Result<_>>()? })
    }

    /// The calibrated evidence of a row.
    pub(super) fn apply(&self, row: &mut [f64], share: Share) {
        let (others, against) = (((self.maps.len() - 1) as f64).ln(), Against::new(row));
        for (k, (e, map)) in row.iter_mut().zip(&self.maps).enumerate() {
            let llr = against.llr(*e, k);
            *e = -softplus(others - share.of_llr(llr, map.apply(llr), map.apply(0.0)));
        }
    }
}
