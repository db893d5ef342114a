//! Calibration by pool adjacent violators, for two classes: the best rising map on the rows it was
//! fitted on.
//!
//! Each pool has one LLR, ln (t/T) − ln (n/N), see [`Trials::pools`](crate::evaluate::Trials::pools);
//! between pools the map is straight. Pools without rows of one class, at the ends, would have infinite
//! LLRs: a claim that no finite number of rows supports. So a pseudo-count of α targets at −∞ and α others at
//! +∞ goes into the pools, α = 1 by default; with α = 0 the ends are ±∞.

use crate::error::Result;
use crate::evaluate::Trials;

/// A rising map with flat pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// The first LLR of each piece, the last one, and the calibrated LLR.
    pub pieces: Vec<[f64; 3]>,
}

impl Steps {
    /// The pools of these rows.
    pub fn fit(llr: &[f64], target: &[bool], weights: Option<&[f64]>, pseudo_count: f64) -> Result<Self> {
        let llr = [llr, &[f64::NEG_INFINITY, f64::INFINITY]].concat();
        let target = [target, &[true, false]].concat();
        let rows = target.len() - 2;
        let weights = [weights.map_or_else(|| vec![1.0; rows], <[f64]>::to_vec), vec![pseudo_count; 2]].concat();
        let pools = Trials::new(&llr, &target, Some(&weights))?.pools();
        Ok(Steps { pieces: pools.iter().map(|p| [p.low, p.high, p.llr]).collect() })
    }

    /// Whether more evidence stays more evidence; comparisons with NaN are false. Infinite LLRs are for the ends alone.
    pub(super) fn rises(&self) -> bool {
        let rises = |p: &[[f64; 3]]| p[0][1] < p[1][0] && p[0][2] < p[1][2];
        let first = self.pieces.first().is_some_and(|p| !p[2].is_nan() && (self.pieces.len() > 1 || p[2].is_finite()));
        first && self.pieces.iter().all(|p| p[0] <= p[1]) && self.pieces.windows(2).all(rises)
    }

    /// The calibrated LLR.
    pub fn apply(&self, llr: f64) -> f64 {
        let after = self.pieces.partition_point(|piece| piece[0] <= llr);
        let Some(before) = after.checked_sub(1) else { return self.pieces.first().map_or(llr, |piece| piece[2]) };
        let [_, high, value] = self.pieces[before];
        let Some([low, _, next]) = self.pieces.get(after).filter(|_| llr > high) else { return value };
        // Nothing lies between a finite LLR and an infinite one: the finite one goes on.
        match (value.is_finite(), next.is_finite()) {
            (true, true) if high.is_finite() && low.is_finite() => value + (next - value) * (llr - high) / (low - high),
            (false, true) => *next,
            _ => value,
        }
    }
}
