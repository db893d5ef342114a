//! Beta calibration (Kull, Silva Filho & Flach 2017), for two classes.
//!
//! ```text
//! logit p′ = a ln p − b ln(1 − p) + c,   a, b ≥ 0,   p = σ(LLR + logit π),   LLR′ = logit p′ − logit π
//! ```
//!
//! The ends of the scale are bent apart: a acts on small LLRs, b on large ones; a = b is the line of
//! logistic calibration. A weight that would be negative is 0, and the others are fitted without it, as
//! the authors do.

use serde::{Deserialize, Serialize};

use super::softmax::{Softmax, balance};
use crate::error::{Error, Result};
use crate::numerics::softplus;

/// The map of an LLR.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beta {
    /// a
    pub a: f64,
    /// b
    pub b: f64,
    /// c
    pub c: f64,
    /// logit π
    pub log_odds: f64,
}

impl Beta {
    /// The best map at a prior for the second class.
    pub fn fit(llr: &[f64], truth: &[u32], weights: Option<&[f64]>, prior: &[f64], pseudo_count: f64) -> Result<Self> {
        let (weights, share) = balance(truth, weights, prior, pseudo_count)?;
        if let Some(i) = (0..llr.len()).find(|&i| weights[i] > 0.0 && llr[i].is_infinite()) {
            let message = format!("row {}: infinite evidence cannot be calibrated so: use §method=pav", i + 1);
            return Err(Error::Classes(message));
        }
        let log_odds = (prior[1] / prior[0]).ln();
        let log_prior = [0.0, 0.0];
        let features = |used: [bool; 2]| {
            move |i: usize, phi: &mut [f64]| {
                phi.fill(0.0);
                let second = &mut phi[used.iter().filter(|u| **u).count() + 1..];
                second[0] = 1.0;
                let [u, v] = halves(llr[i] + log_odds);
                let kept = [u, v].into_iter().zip(used).filter(|(_, used)| *used);
                kept.enumerate().for_each(|(j, (x, _))| second[j + 1] = x);
            }
        };
        let fit = |used: [bool; 2]| -> Result<[f64; 3]> {
            let width = used.iter().filter(|u| **u).count() + 1;
            let problem = Softmax {
                truth,
                weights: &weights,
                log_prior: &log_prior,
                share: &share,
                width,
                features: features(used),
            };
            let theta = problem.fit()?.theta;
            let mut rest = theta[1..].iter();
            let mut next = |used: bool| if used { rest.next().copied().unwrap_or(0.0) } else { 0.0 };
            let (a, b) = (next(used[0]), next(used[1]));
            Ok([a, b, theta[0]])
        };
        let [mut a, mut b, mut c] = fit([true, true])?;
        if a < 0.0 {
            [a, b, c] = fit([false, true])?;
        } else if b < 0.0 {
            [a, b, c] = fit([true, false])?;
        }
        match a >= 0.0 && b >= 0.0 && a + b > 0.0 {
            true => Ok(Beta { a, b, c, log_odds }),
            false => Err(Error::Classes(
                "the evidence does not point towards the classes of these rows: no calibration can correct that".into(),
            )),
        }
    }

    /// Whether more evidence stays more evidence.
    pub(super) fn rises(&self) -> bool {
        let finite = [self.a, self.b, self.c, self.log_odds].iter().all(|x| x.is_finite());
        finite && self.a >= 0.0 && self.b >= 0.0
    }

    /// The calibrated LLR.
    pub fn apply(&self, llr: f64) -> f64 {
        let [u, v] = halves(llr + self.log_odds);
        // 0 · ∞ is 0 here.
        let times = |w: f64, x: f64| if w > 0.0 { w * x } else { 0.0 };
        times(self.a, u) + times(self.b, v) + self.c - self.log_odds
    }
}

/// ln p and −ln(1 − p) at the log-odds s.
fn halves(s: f64) -> [f64; 2] {
    [-softplus(-s), softplus(s)]
}
