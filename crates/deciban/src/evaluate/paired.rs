//! Whether two models differ on the same rows.
//!
//! McNemar: of the n rows that exactly one of the models gets right, a are A's and b are B's. Were
//! they equally good, a ~ Binomial(n, ½):
//!
//! ```text
//! exact p = min(1, 2 P(X ≤ min(a, b))),   mid-p = 2 P(X ≤ min(a, b)) − P(X = min(a, b))
//! ```
//!
//! The exact p is conservative; mid-p is close to what it says on average (Fagerland et al. 2013).
//!
//! Paired bootstrap: rows are resampled with both models' losses, see [`Bootstrap`].

use super::resample::{Bootstrap, Interval};
use super::trials::check_weights;
use crate::error::{Error, Result};
use crate::numerics::ln_gamma;

/// McNemar's test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct McNemar {
    /// Rows that only A gets right.
    pub only_a: u64,
    /// Rows that only B gets right.
    pub only_b: u64,
    /// The exact two-sided p-value.
    pub exact: f64,
    /// The mid-p value.
    pub mid_p: f64,
}

/// Tests whether two models are right equally often, from which rows each of them gets right.
///
/// ```
/// use deciban::evaluate::mcnemar;
/// // Five rows that only A gets right, none that only B does: 2/2⁵.
/// let test = mcnemar(&[true, true, true, true, true, false], &[false; 6])?;
/// assert!((test.exact - 0.0625).abs() < 1e-15 && (test.mid_p - 0.03125).abs() < 1e-15);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn mcnemar(right_a: &[bool], right_b: &[bool]) -> Result<McNemar> {
    Error::check_shape("rows", right_a.len(), right_b.len())?;
    let only = |a: &[bool], b: &[bool]| a.iter().zip(b).filter(|(a, b)| **a && !**b).count() as u64;
    Ok(McNemar::of_counts(only(right_a, right_b), only(right_b, right_a)))
}

impl McNemar {
    /// The test, from the numbers of rows that only one model gets right.
    pub fn of_counts(only_a: u64, only_b: u64) -> Self {
        let (n, k) = (only_a + only_b, only_a.min(only_b));
        let (tail, at) = binomial_tail(n, k);
        McNemar { only_a, only_b, exact: (2.0 * tail).min(1.0), mid_p: 2.0 * tail - at }
    }
}

/// P(X ≤ k) and P(X = k) for X ~ Binomial(n, ½) and k ≤ n/2.
fn binomial_tail(n: u64, k: u64) -> (f64, f64) {
    let (n, mut i) = (n as f64, k as f64);
    let at = (ln_gamma(n + 1.0) - ln_gamma(i + 1.0) - ln_gamma(n - i + 1.0) - n * std::f64::consts::LN_2).exp();
    let (mut term, mut tail) = (at, at);
    // P(i − 1) = P(i) · i/(n − i + 1), falling faster and faster.
    while i > 0.0 && term > 1e-18 * tail {
        term *= i / (n - i + 1.0);
        tail += term;
        i -= 1.0;
    }
    (tail, at)
}

/// How much larger A's mean loss is than B's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean loss of A minus mean loss of B.
    pub difference: f64,
    /// Its bootstrap interval.
    pub interval: Interval,
    /// Twice the share of resamples on the other side of 0 (ties count half; never below 1/(B+1)): about
    /// the probability of a difference as far from 0, were there none.
    pub p_value: f64,
}

/// The difference of mean losses on the same rows, with its paired bootstrap interval. Losses are any
/// numbers per row: 0 or 1 for errors, −ln p for log loss, costs.
///
/// ```
/// use deciban::evaluate::{Bootstrap, paired_difference};
/// let (a, b) = ([0.3, 0.5, 0.2, 0.9, 0.4], [0.2, 0.4, 0.1, 0.8, 0.3]);
/// let d = paired_difference(&a, &b, None, &Bootstrap::default())?;
/// assert!((d.difference - 0.1).abs() < 1e-15 && (d.interval.low - 0.1).abs() < 1e-12);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn paired_difference(a: &[f64], b: &[f64], weights: Option<&[f64]>, bootstrap: &Bootstrap) -> Result<Difference> {
    Error::check_shape("rows", a.len(), b.len())?;
    let ones = vec![1.0; a.len()];
    let weights = weights.unwrap_or(&ones);
    check_weights(weights, a.len())?;
    let losses: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let [difference] = differences(weights, bootstrap, |weights| [weighted_mean(&losses, weights)])?;
    Ok(difference)
}

/// Σwx/Σw over rows with a weight above 0, so that 0 · ∞ is 0; rows without a number (NaN) are left out.
pub(super) fn weighted_mean(x: &[f64], weights: &[f64]) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (x, w) in x.iter().zip(weights).filter(|(x, w)| **w > 0.0 && !x.is_nan()) {
        sum += w * x;
        total += w;
    }
    sum / total
}

/// Differences of figures between two models: `figures` gets the weights of the rows, the same for both.
pub(super) fn differences<const N: usize>(
    weights: &[f64],
    bootstrap: &Bootstrap,
    figures: impl Fn(&[f64]) -> [f64; N] + Sync,
) -> Result<[Difference; N]> {
    let differences = figures(weights);
    let replicates = bootstrap.replicates_of(weights, |weights| figures(weights).to_vec())?;
    let nothing =
        Difference { difference: f64::NAN, interval: Interval { low: f64::NAN, high: f64::NAN }, p_value: 1.0 };
    let mut all = [nothing; N];
    for ((all, difference), values) in all.iter_mut().zip(differences).zip(replicates) {
        let side = |x: &f64| match x.partial_cmp(&0.0) {
            Some(std::cmp::Ordering::Equal) => 0.5,
            Some(order) => f64::from(u8::from((order == std::cmp::Ordering::Greater) != (difference > 0.0))),
            None => 0.0,
        };
        let (count, wrong) = (values.len() as f64, values.iter().map(side).sum::<f64>());
        let p_value = (2.0 * wrong / count).clamp(1.0 / (count + 1.0), 1.0);
        *all = Difference { difference, interval: bootstrap.interval(values), p_value };
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::{Random, normal_cdf};

    #[test]
    fn binomial_by_hand_and_by_scipy() {
        // scipy.stats.binomtest(min, a + b).pvalue and that less binom.pmf(min, a + b, ½).
        let cases = [
            (0, 0, 1.0, 1.0),
            (3, 3, 1.0, 1.0),
            (1, 0, 1.0, 0.5),
            (10, 2, 0.03857421875, 0.0224609375),
            (121, 59, 4.4344492637551645e-06, 3.2666467957745733e-06),
            (50_000, 49_000, 0.0014980826229750034, 0.001481838369810995),
        ];
        for (a, b, exact, mid_p) in cases {
            for test in [McNemar::of_counts(a, b), McNemar::of_counts(b, a)] {
                assert!((test.exact / exact - 1.0).abs() < 1e-9, "{test:?}, not {exact}");
                assert!((test.mid_p / mid_p - 1.0).abs() < 1e-9, "{test:?}, not {mid_p}");
            }
        }
        assert!(mcnemar(&[true], &[]).is_err());
    }

    #[test]
    fn the_paired_bootstrap_sees_what_the_z_test_sees() {
        let mut random = Random::new(8);
        let common: Vec<f64> = (0..400).map(|_| 3.0 * random.normal()).collect();
        let b: Vec<f64> = common.iter().map(|x| x + random.normal()).collect();
        let a: Vec<f64> = common.iter().map(|x| x + random.normal() + 0.15).collect();
        let d = paired_difference(&a, &b, None, &Bootstrap { resamples: 20_000, ..Bootstrap::default() }).unwrap();
        let x: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        let mean = x.iter().sum::<f64>() / 400.0;
        let sd = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 400.0 / 400.0).sqrt();
        assert!((d.difference - mean).abs() < 1e-13);
        assert!((d.interval.low - (mean - 1.96 * sd)).abs() < 0.1 * sd, "{d:?} {mean} {sd}");
        assert!((d.interval.high - (mean + 1.96 * sd)).abs() < 0.1 * sd, "{d:?} {mean} {sd}");
        let p = 2.0 * normal_cdf(-mean.abs() / sd);
        assert!(p > 1e-3 && p < 0.2 && (d.p_value / p - 1.0).abs() < 0.3, "{} {p}", d.p_value);
        // The other way round, and weight 2 for a row twice.
        let other = paired_difference(&b, &a, None, &Bootstrap::default()).unwrap();
        assert!((other.difference + mean).abs() < 1e-13 && other.interval.low < 0.0);
        let equal = paired_difference(&a, &a, None, &Bootstrap::default()).unwrap();
        assert_eq!((equal.difference, equal.p_value, equal.interval), (0.0, 1.0, Interval { low: 0.0, high: 0.0 }));
    }
}
