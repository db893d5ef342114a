//! Bootstrap intervals, from rows drawn anew with replacement.
//!
//! Each resample gives every row a number of copies from Poisson(1), independently, which multiplies
//! its weight (the Poisson bootstrap; Chamandy et al. 2012). For figures that are means or rates it
//! differs from drawing exactly n rows only in terms of order 1/n, and needs no random access. A
//! resample depends on the seed and its own number alone, so results do not depend on threads.
//!
//! Intervals are percentiles of the figure over resamples. Where a resample leaves a figure undefined
//! (a class without rows), it is left out.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::numerics::{Random, hash};

/// How resamples are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// How many resamples; at least 1.
    pub resamples: usize,
    /// The probability that an interval should hold; above 0, below 1.
    pub confidence: f64,
    /// The seed.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Bootstrap { resamples: 1000, confidence: 0.95, seed: 0 }
    }
}

/// Where a figure lies with some confidence; NaN where it is undefined in every resample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Bootstrap {
    /// Values of figures over resamples: `figures` gets the weights of the rows in a resample and gives
    /// as many figures each time. The result has a list of values for each figure, in the order of the
    /// resamples.
    pub fn replicates_of(&self, weights: &[f64], figures: impl Fn(&[f64]) -> Vec<f64> + Sync) -> Result<Vec<Vec<f64>>> {
        if self.resamples == 0 {
            return Err(Error::parameter("bootstrap", "give at least 1 resample"));
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::parameter("confidence", "give a probability above 0 and below 1"));
        }
        let one = |number: u64| {
            let mut copies = vec![0.0; weights.len()];
            draw(self.seed, number, weights, &mut copies);
            figures(&copies)
        };
        let rows: Vec<Vec<f64>> = (0..self.resamples as u64).into_par_iter().map(one).collect();
        let count = rows.first().map_or(0, Vec::len);
        Ok((0..count).map(|j| rows.iter().map(|row| row[j]).collect()).collect())
    }

    /// The interval of each figure.
    ///
    /// ```
    /// use deciban::evaluate::Bootstrap;
    /// // The mean of 0, 1, ..., 99: 49.5 ± 1.96 · 28.9/√100.
    /// let mean = |w: &[f64]| {
    ///     let sum: f64 = w.iter().enumerate().map(|(i, w)| i as f64 * w).sum();
    ///     vec![sum / w.iter().sum::<f64>()]
    /// };
    /// let interval = Bootstrap::default().intervals(&[1.0; 100], mean)?[0];
    /// assert!((interval.low - 43.8).abs() < 1.0 && (interval.high - 55.2).abs() < 1.0);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn intervals(&self, weights: &[f64], figures: impl Fn(&[f64]) -> Vec<f64> + Sync) -> Result<Vec<Interval>> {
        let values = self.replicates_of(weights, figures)?;
        Ok(values.into_iter().map(|values| self.interval(values)).collect())
    }

    /// The percentiles of a figure's values over resamples.
    pub fn interval(&self, mut values: Vec<f64>) -> Interval {
        values.retain(|x| !x.is_nan());
        values.sort_unstable_by(f64::total_cmp);
        let tail = 0.5 * (1.0 - self.confidence);
        Interval { low: quantile(&values, tail), high: quantile(&values, 1.0 - tail) }
    }
}

/// The quantile of sorted values, straight between neighbours; NaN for none.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = p * last as f64;
    let below = place.floor();
    let (a, b, rest) = (sorted[below as usize], sorted[(below as usize + 1).min(last)], place - below);
    // ∞ − ∞ would be NaN.
    if a == b || rest == 0.0 || a.is_infinite() { a } else { a + rest * (b - a) }
}

/// Writes each row's weight times its copies in a resample.
fn draw(seed: u64, number: u64, weights: &[f64], out: &mut [f64]) {
    // P(X ≤ k) for X ~ Poisson(1), of 2⁶⁴; beyond 20 copies nothing is left of a double.
    let mut limits = [0u64; 20];
    let (mut term, mut sum) = ((-1f64).exp(), 0.0);
    for (k, limit) in limits.iter_mut().enumerate() {
        sum += term;
        term /= (k + 1) as f64;
        *limit = (sum * (1u128 << 64) as f64) as u64;
    }
    let mut random = Random::new(hash(seed, number));
    for (out, w) in out.iter_mut().zip(weights) {
        let bits = random.bits();
        let copies = limits.iter().position(|limit| bits < *limit).unwrap_or(limits.len());
        *out = w * copies as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_poisson() {
        let n = 400_000;
        let mut copies = vec![0.0; n];
        draw(1, 7, &vec![1.0; n], &mut copies);
        let mut expected = (-1f64).exp();
        for k in 0..8 {
            let share = copies.iter().filter(|c| **c == f64::from(k)).count() as f64 / n as f64;
            let sd = (expected * (1.0 - expected) / n as f64).sqrt();
            assert!((share - expected).abs() < 4.0 * sd, "{k}: {share}, not {expected}");
            expected /= f64::from(k + 1);
        }
        let mut again = vec![0.0; n];
        draw(1, 8, &vec![0.5; n], &mut again);
        let product: f64 = copies.iter().zip(&again).map(|(a, b)| (a - 1.0) * (2.0 * b - 1.0)).sum();
        assert!((product / n as f64).abs() < 4.0 / (n as f64).sqrt());
    }

    #[test]
    fn the_same_for_any_number_of_threads() {
        let weights: Vec<f64> = (0..1000).map(|i| f64::from(i % 7)).collect();
        let figures = |w: &[f64]| vec![w.iter().sum::<f64>(), w[..10].iter().sum::<f64>()];
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Bootstrap::default().replicates_of(&weights, figures).unwrap())
        };
        assert_eq!(run(1), run(3));
        let other = Bootstrap { seed: 1, ..Bootstrap::default() }.replicates_of(&weights, figures).unwrap();
        assert_ne!(run(1), other);
    }

    #[test]
    fn quantiles_and_what_is_undefined() {
        let bootstrap = Bootstrap { confidence: 0.5, ..Bootstrap::default() };
        let found = bootstrap.interval(vec![4.0, f64::NAN, 0.0, 1.0, 3.0, 2.0]);
        assert_eq!(found, Interval { low: 1.0, high: 3.0 });
        assert_eq!(bootstrap.interval(vec![f64::INFINITY; 3]), Interval { low: f64::INFINITY, high: f64::INFINITY });
        assert!(bootstrap.interval(vec![f64::NAN]).low.is_nan());
        let infinite = bootstrap.interval(vec![f64::NEG_INFINITY, 0.0, f64::INFINITY, 1.0]);
        assert_eq!(infinite, Interval { low: f64::NEG_INFINITY, high: f64::INFINITY });
        for (resamples, confidence) in [(0, 0.5), (1, 0.0), (1, 1.0), (1, f64::NAN)] {
            assert!(Bootstrap { resamples, confidence, seed: 0 }.intervals(&[1.0], |w| w.to_vec()).is_err());
        }
    }

    /// Of 400 samples of 40 numbers, nine in ten intervals of 90 % hold the true mean.
    #[test]
    fn intervals_cover() {
        let mut random = Random::new(6);
        let held = (0..400).filter(|_| {
            let x: Vec<f64> = (0..40).map(|_| random.normal()).collect();
            let mean = |w: &[f64]| vec![crate::numerics::dot(&x, w) / w.iter().sum::<f64>()];
            let bootstrap = Bootstrap { resamples: 300, confidence: 0.9, seed: 3 };
            let interval = bootstrap.intervals(&[1.0; 40], mean).unwrap()[0];
            interval.low <= 0.0 && 0.0 <= interval.high
        });
        let held = held.count();
        assert!((335..=380).contains(&held), "{held} of 400");
    }
}
