//! Pool adjacent violators: the best non-decreasing map from LLRs to LLRs.
//!
//! ```text
//! min Σ wᵢ(gᵢ − yᵢ)²   subject to   g₁ ≤ g₂ ≤ …        (isotonic regression)
//! ```
//!
//! Neighbours whose means are out of order are pooled until none are left (Ayer et al. 1955). The g of
//! a pool is its share of targets, which also minimises every other proper loss (Brümmer & du Preez
//! 2013), at every prior. As LLR, with T and N the total weights of targets and others and t, n those
//! of the pool,
//!
//! ```text
//! LLR = ln (t/T) − ln (n/N)
//! ```
//!
//! it is the slope of the ROC's convex hull, whose corners are the ends of the pools.

use super::trials::Trials;

/// Neighbouring LLRs with one calibrated LLR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// The least LLR of its rows.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// The weight of its targets.
    pub target: f64,
    /// The weight of its other rows.
    pub other: f64,
    /// The calibrated LLR: −∞ where there are no targets, ∞ where there are no others.
    pub llr: f64,
}

/// Isotonic regression: the non-decreasing values nearest to `y` in weighted squares. Those without
/// weight take the value of a neighbour; NaN if none has weight.
///
/// # Panics
/// If there are not as many weights as values.
///
/// ```
/// use deciban::evaluate::isotonic;
/// assert_eq!(isotonic(&[1.0, 3.0, 2.0, 4.0], &[1.0, 1.0, 3.0, 1.0]), [1.0, 2.25, 2.25, 4.0]);
/// ```
pub fn isotonic(y: &[f64], weights: &[f64]) -> Vec<f64> {
    assert_eq!(y.len(), weights.len(), "a weight per value");
    let pools = pool(y.iter().zip(weights).map(|(y, w)| (w * y, *w)));
    pools.iter().flat_map(|p| std::iter::repeat_n(p.a / p.b, p.count)).collect()
}

/// A pool of `count` neighbours with mean a/b.
struct Neighbours {
    a: f64,
    b: f64,
    count: usize,
}

/// Pools neighbours until a/b rises strictly; what has no weight joins a neighbour.
fn pool(items: impl Iterator<Item = (f64, f64)>) -> Vec<Neighbours> {
    let mut pools: Vec<Neighbours> = Vec::new();
    for (a, b) in items {
        let mut last = Neighbours { a, b, count: 1 };
        // a₁/b₁ ≥ a₂/b₂, without a division: equal means are one pool.
        while let Some(before) = pools.last() {
            if before.a * last.b < last.a * before.b {
                break;
            }
            last = Neighbours { a: last.a + before.a, b: last.b + before.b, count: last.count + before.count };
            pools.pop();
        }
        pools.push(last);
    }
    pools
}

impl Trials {
    /// The pools, from the least LLR to the largest; their LLRs rise strictly.
    ///
    /// ```
    /// use deciban::evaluate::Trials;
    /// let trials = Trials::new(&[-1.0, 0.0, 1.0, 2.0], &[false, true, false, true], None)?;
    /// let llrs: Vec<f64> = trials.pools().iter().map(|pool| pool.llr).collect();
    /// assert_eq!(llrs, [f64::NEG_INFINITY, 0.0, f64::INFINITY]);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn pools(&self) -> Vec<Pool> {
        let (t, n) = self.totals();
        let mut start = 0;
        let weights = self.target.iter().zip(&self.other);
        pool(weights.map(|(t, n)| (*t, t + n)))
            .into_iter()
            .map(|sums| {
                let rows = start..start + sums.count;
                start = rows.end;
                // Summed afresh: t + n − t would not be n.
                let other: f64 = self.other[rows.clone()].iter().sum();
                let llr = match (sums.a > 0.0, other > 0.0) {
                    (true, true) => (sums.a / other).ln() - (t / n).ln(),
                    (false, _) => f64::NEG_INFINITY,
                    (true, false) => f64::INFINITY,
                };
                Pool { low: self.llr[rows.start], high: self.llr[rows.end - 1], target: sums.a, other, llr }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Random;

    /// max over lower sets of min over upper sets of the mean between them: the closed form.
    fn min_max(y: &[f64], w: &[f64]) -> Vec<f64> {
        let mean = |i: usize, j: usize| {
            let sum: f64 = (i..=j).map(|k| w[k] * y[k]).sum();
            sum / (i..=j).map(|k| w[k]).sum::<f64>()
        };
        let upper = |i: usize, k: usize| (k..y.len()).map(|j| mean(i, j)).fold(f64::INFINITY, f64::min);
        (0..y.len()).map(|k| (0..=k).map(|i| upper(i, k)).fold(f64::NEG_INFINITY, f64::max)).collect()
    }

    #[test]
    fn the_closed_form() {
        let mut random = Random::new(3);
        for n in 1..40 {
            let y: Vec<f64> = (0..n).map(|i| random.normal() + i as f64 / 20.0).collect();
            let w: Vec<f64> = (0..n).map(|_| random.uniform() + 0.1).collect();
            let (found, expected) = (isotonic(&y, &w), min_max(&y, &w));
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-13, "{found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn values_without_weight_change_nothing() {
        assert_eq!(isotonic(&[9.0, 1.0, -7.0, 2.0, 0.0], &[0.0, 1.0, 0.0, 1.0, 0.0]), [1.0, 1.0, 1.0, 2.0, 2.0]);
        assert!(isotonic(&[], &[]).is_empty() && isotonic(&[1.0], &[0.0])[0].is_nan());
    }

    #[test]
    fn pools_are_the_corners_of_the_hull() {
        let mut random = Random::new(4);
        let y: Vec<bool> = (0..500).map(|_| random.uniform() < 0.3).collect();
        let llr: Vec<f64> = y.iter().map(|&y| (4.0 * (random.normal() + f64::from(u8::from(y)))).round()).collect();
        let trials = Trials::new(&llr, &y, None).unwrap();
        let pools = trials.pools();
        assert!(pools.len() > 3 && pools.windows(2).all(|p| p[0].llr < p[1].llr && p[0].high < p[1].low));
        let (t, n) = trials.totals();
        assert_eq!((pools.iter().map(|p| p.target).sum::<f64>(), pools.iter().map(|p| p.other).sum::<f64>()), (t, n));
        // The isotonic share of targets at each LLR gives the same LLR.
        let shares: Vec<f64> = trials.target.iter().zip(&trials.other).map(|(t, n)| t / (t + n)).collect();
        let weights: Vec<f64> = trials.target.iter().zip(&trials.other).map(|(t, n)| t + n).collect();
        for (x, g) in trials.llr.iter().zip(isotonic(&shares, &weights)) {
            let pool = pools.iter().find(|p| p.low <= *x && *x <= p.high).unwrap();
            let llr = (g / (1.0 - g)).ln() - (t / n).ln();
            assert!(llr == pool.llr || (llr - pool.llr).abs() < 1e-12, "{llr} {}", pool.llr);
        }
    }

    #[test]
    fn one_class_is_one_pool() {
        let trials = Trials::new(&[1.0, 2.0, 3.0], &[true; 3], None).unwrap();
        assert_eq!(trials.pools().iter().map(|p| p.llr).collect::<Vec<_>>(), [f64::INFINITY]);
        let trials = Trials::new(&[1.0, 2.0, 3.0], &[false; 3], None).unwrap();
        assert_eq!(trials.pools().iter().map(|p| p.llr).collect::<Vec<_>>(), [f64::NEG_INFINITY]);
        assert!(Trials::new(&[], &[], None).unwrap().pools().is_empty());
    }
}
