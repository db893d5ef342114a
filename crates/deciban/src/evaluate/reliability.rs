//! Reliability: whether what is said to happen with probability p happens in that share of cases.
//!
//! Probabilities are sorted into bins of equal width, (0, 1/B], (1/B, 2/B], …, with 0 in the first.
//! Calibrated probabilities have the same mean as the share of events in each bin. The expected
//! calibration error is the mean distance,
//!
//! ```text
//! ECE = Σ_b w_b/w |mean probability in b − share of events in b|
//! ```
//!
//! It depends on the bins and is above 0 by chance alone; Cllr − min Cllr needs no bins.

/// Bins, additive over rows.
///
/// ```
/// use deciban::evaluate::Reliability;
/// let mut curve = Reliability::new(5);
/// for (p, happened) in [(0.9, true), (0.9, true), (0.9, false), (0.1, false)] {
///     curve.add(p, happened, 1.0);
/// }
/// // Three times 0.9 is said and two happen, once 0.1 is said and does not.
/// assert!((curve.error() - (0.75 * (0.9 - 2.0 / 3.0) + 0.25 * 0.1)).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reliability {
    /// Weight, weighted sum of probabilities, weight of events.
    bins: Vec<[f64; 3]>,
}

/// A bin that has rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliabilityBin {
    /// Probabilities above this.
    pub low: f64,
    /// Probabilities up to this.
    pub high: f64,
    /// The weight of its rows.
    pub weight: f64,
    /// The mean probability.
    pub mean: f64,
    /// The share of events.
    pub share: f64,
}

impl Reliability {
    /// No rows yet; at least one bin is made.
    pub fn new(bins: usize) -> Self {
        Reliability { bins: vec![[0.0; 3]; bins.max(1)] }
    }

    /// Adds a probability, and whether the event happened. NaN is left out.
    pub fn add(&mut self, p: f64, happened: bool, weight: f64) {
        if p.is_nan() || weight == 0.0 {
            return;
        }
        let count = self.bins.len();
        // By the edges themselves: p·B may round across one.
        let mut bin = ((p * count as f64) as usize).min(count - 1);
        if bin + 1 < count && p > (bin + 1) as f64 / count as f64 {
            bin += 1;
        } else if bin > 0 && p <= bin as f64 / count as f64 {
            bin -= 1;
        }
        let sums = &mut self.bins[bin];
        sums[0] += weight;
        sums[1] += weight * p;
        sums[2] += if happened { weight } else { 0.0 };
    }

    /// All sums, one after the other.
    pub(super) fn sums(&self) -> &[f64] {
        self.bins.as_flattened()
    }

    pub(super) fn sums_mut(&mut self) -> &mut [f64] {
        self.bins.as_flattened_mut()
    }

    /// Adds the rows of another with as many bins.
    pub fn merge(&mut self, other: &Reliability) {
        self.bins.iter_mut().flatten().zip(other.bins.iter().flatten()).for_each(|(a, b)| *a += b);
    }

    /// The bins that have rows: the reliability curve.
    pub fn curve(&self) -> Vec<ReliabilityBin> {
        let count = self.bins.len() as f64;
        let bin = |(b, [weight, sum, events]): (usize, &[f64; 3])| ReliabilityBin {
            low: b as f64 / count,
            high: (b + 1) as f64 / count,
            weight: *weight,
            mean: sum / weight,
            share: events / weight,
        };
        self.bins.iter().enumerate().map(bin).filter(|b| b.weight > 0.0).collect()
    }

    /// The expected calibration error; NaN without rows.
    pub fn error(&self) -> f64 {
        let curve = self.curve();
        let distance: f64 = curve.iter().map(|b| b.weight * (b.mean - b.share).abs()).sum();
        distance / curve.iter().map(|b| b.weight).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_the_bin_below() {
        let mut curve = Reliability::new(10);
        for i in 0..=10 {
            curve.add(f64::from(i) / 10.0, true, 1.0);
        }
        curve.add(f64::NAN, true, 1.0);
        curve.add(0.5, true, 0.0);
        let weights: Vec<f64> = curve.curve().iter().map(|b| b.weight).collect();
        assert_eq!(weights, [2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert!(Reliability::new(0).error().is_nan());
    }

    #[test]
    fn parts_add_up() {
        let p = |i: u32| f64::from(i * 37 % 101) / 101.0;
        let part = |rows: std::ops::Range<u32>| {
            let mut curve = Reliability::new(7);
            rows.for_each(|i| curve.add(p(i), i % 3 == 0, f64::from(i % 4)));
            curve
        };
        let mut sum = part(0..50);
        sum.merge(&part(50..200));
        let whole = part(0..200);
        assert_eq!(sum.curve().len(), 7);
        assert!((sum.error() - whole.error()).abs() < 1e-14 && whole.error() > 0.1);
    }
}
