//! [`Trials`]: rows of two classes, sorted by their log-likelihood ratio.
//!
//! All two-class figures are functions of how much weight of either class lies at each LLR. LLRs are
//! in nats, of the *target* class (`true`) over the other one. ±∞ are LLRs like others, −0 is 0, and
//! NaN is an error. Equal LLRs are one point, since no threshold parts them. Rows of weight 0 are as
//! good as not there. What needs rows of both classes is NaN where one has none.

use rayon::prelude::*;

use crate::error::{Error, Result};

/// How much weight of each class lies at each distinct LLR.
///
/// ```
/// use deciban::evaluate::Trials;
/// // Of nine pairs of a target and another row, the target has the larger LLR in eight.
/// let trials = Trials::new(&[-2.0, -1.0, 0.5, 0.0, 1.5, 3.0], &[false, false, false, true, true, true], None)?;
/// assert!((trials.auc() - 8.0 / 9.0).abs() < 1e-15);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trials {
    /// Distinct, ascending.
    pub(super) llr: Vec<f64>,
    /// The weight of target rows at each.
    pub(super) target: Vec<f64>,
    /// The weight of other rows at each.
    pub(super) other: Vec<f64>,
}

impl Trials {
    /// Trials from each row's LLR, whether it is a target, and its weight (1 by default).
    pub fn new(llr: &[f64], y: &[bool], weights: Option<&[f64]>) -> Result<Self> {
        let ranked = Ranked::new(llr, y)?;
        match weights {
            None => Ok(ranked.trials(&vec![1.0; y.len()])),
            Some(weights) => {
                check_weights(weights, y.len())?;
                Ok(ranked.trials(weights))
            }
        }
    }

    /// The distinct LLRs, ascending.
    pub fn llr(&self) -> &[f64] {
        &self.llr
    }

    /// The weight of target rows at each LLR.
    pub fn target(&self) -> &[f64] {
        &self.target
    }

    /// The weight of other rows at each LLR.
    pub fn other(&self) -> &[f64] {
        &self.other
    }

    /// The total weight of targets and of others.
    pub fn totals(&self) -> (f64, f64) {
        (self.target.iter().sum(), self.other.iter().sum())
    }
}

/// NaN is not an LLR.
pub(super) fn check_llrs(llr: &[f64]) -> Result<()> {
    match llr.iter().position(|x| x.is_nan()) {
        Some(row) => Err(Error::Schema(format!("row {}: the LLR is NaN", row + 1))),
        None => Ok(()),
    }
}

/// Weights must be finite, at least 0, and one per row.
pub(crate) fn check_weights(weights: &[f64], rows: usize) -> Result<()> {
    Error::check_shape("weights", rows, weights.len())?;
    match weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        Some(i) => Err(Error::Weight { row: i as u64 + 1, weight: weights[i] }),
        None => Ok(()),
    }
}

/// Rows sorted once, to be weighted again and again.
#[derive(Clone, Debug)]
pub struct Ranked {
    llr: Vec<f64>,
    /// Twice the place of each row's LLR, plus 1 for a target.
    place: Vec<u32>,
}

impl Ranked {
    /// Sorts the rows; fewer than 2³¹ of them.
    pub fn new(llr: &[f64], y: &[bool]) -> Result<Self> {
        Error::check_shape("labels", llr.len(), y.len())?;
        if llr.len() > u32::MAX as usize / 2 {
            return Err(Error::Shape {
                what: "rows at most".into(),
                expected: u32::MAX as usize / 2,
                found: llr.len(),
            });
        }
        check_llrs(llr)?;
        let mut order: Vec<u32> = (0..llr.len() as u32).collect();
        // Equal LLRs may come in any order: they are one place.
        order.par_sort_unstable_by(|&a, &b| llr[a as usize].total_cmp(&llr[b as usize]));
        let (mut distinct, mut place) = (Vec::<f64>::new(), vec![0; llr.len()]);
        for i in order {
            let x = llr[i as usize];
            // −0 sorts before 0 and is equal to it.
            if distinct.last().is_none_or(|last| *last != x) {
                distinct.push(x + 0.0);
            }
            place[i as usize] = 2 * (distinct.len() as u32 - 1) + u32::from(y[i as usize]);
        }
        Ok(Ranked { llr: distinct, place })
    }

    /// The trials under other weights, one per row.
    ///
    /// # Panics
    /// If there are not as many weights as rows.
    pub fn trials(&self, weights: &[f64]) -> Trials {
        assert_eq!(weights.len(), self.place.len(), "a weight per row");
        let mut sums = vec![0.0; 2 * self.llr.len()];
        for (&place, w) in self.place.iter().zip(weights) {
            sums[place as usize] += w;
        }
        let rows = || self.llr.iter().zip(sums.chunks_exact(2)).filter(|(_, w)| w[0] > 0.0 || w[1] > 0.0);
        Trials {
            llr: rows().map(|(x, _)| *x).collect(),
            target: rows().map(|(_, w)| w[1]).collect(),
            other: rows().map(|(_, w)| w[0]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_one_point_and_rows_without_weight_none() {
        let y = [true, false, true, false, true, true];
        let llr = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1.0, f64::INFINITY];
        let t = Trials::new(&llr, &y, Some(&[1.0, 2.0, 3.0, 4.0, 0.0, 0.5])).unwrap();
        assert_eq!(t.llr(), [f64::NEG_INFINITY, 0.0, f64::INFINITY]);
        assert_eq!((t.target(), t.other()), (&[0.0, 1.0, 3.5][..], &[4.0, 2.0, 0.0][..]));
        assert_eq!(t.totals(), (4.5, 6.0));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |e: Result<Trials>| e.unwrap_err().to_string();
        assert_eq!(said(Trials::new(&[0.0, f64::NAN], &[true, false], None)), "row 2: the LLR is NaN");
        assert_eq!(said(Trials::new(&[0.0], &[true, false], None)), "labels: expected 1, found 2");
        assert_eq!(said(Trials::new(&[0.0], &[true], Some(&[]))), "weights: expected 1, found 0");
        let message = "row 1: the weight -1 is not a finite number of at least 0";
        assert_eq!(said(Trials::new(&[0.0], &[true], Some(&[-1.0]))), message);
    }
}
