//! Poisson family: how often something happens, p(x | c) = λˣ e^(−λ) / x!, x = 0, 1, 2, …
//!
//! Sufficient statistics: w and Σx. λ = (Σx + α)/w: the posterior mean under a Gamma(α, 0) prior on
//! λ, as if the class had seen α more events in no more rows. α = ½ is Jeffreys' prior; α = 0 is
//! maximum likelihood, by which a class without any event is impossible (−∞) at the first one.
//!
//! With d(a, b) = a/b − 1 − ln(a/b) and r the rest of Stirling's formula,
//! log p = −x d(λ, x) − r(x): x ln λ − λ − ln x! cancels where both are large (Loader 2000).

use serde::{Deserialize, Serialize};

use super::exponential_family::{ExponentialFamily, Member};
use crate::error::{Error, Result};
use crate::numerics::{Random, itakura_saito, ln_gamma, stirling_rest};

/// The Poisson family.
///
/// ```
/// use deciban::family::exponential_family::{ExponentialFamily, Member};
/// use deciban::family::poisson::Poisson;
/// // Three rows with 4 events together and half an event of the prior: λ = 4.5/3.
/// let density = Poisson { pseudo_count: 0.5 }.member(3.0, 4.0 / 3.0, 0.0).unwrap();
/// assert_eq!(density.parameters(), [1.5]);
/// assert!((density.log_density(2.0) - (1.5f64.powi(2) / 2.0 * (-1.5f64).exp()).ln()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Poisson {
    /// α: events that the prior adds to each class; half of the pseudo-count that categories have, so
    /// that their default of 1 is Jeffreys' ½ here, and 0 is maximum likelihood for both.
    pub pseudo_count: f64,
}

impl Default for Poisson {
    fn default() -> Self {
        Poisson { pseudo_count: 0.5 }
    }
}

/// A Poisson distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    rate: f64,
}

impl Member for Rate {
    const PARAMETERS: &'static [&'static str] = &["rate"];
    const DOMAIN: &'static str = "counts 0, 1, 2, ...";

    fn contains(x: f64) -> bool {
        x >= 0.0 && x.fract() == 0.0
    }

    fn new(parameters: &[f64]) -> Option<Self> {
        match *parameters {
            [rate] => (rate >= 0.0 && rate.is_finite()).then_some(Rate { rate }),
            _ => None,
        }
    }

    fn parameters(&self) -> Vec<f64> {
        vec![self.rate]
    }

    fn log_density(&self, x: f64) -> f64 {
        match x > 0.0 {
            true => -x * itakura_saito(self.rate, x, self.rate - x) - stirling_rest(x),
            false => -self.rate,
        }
    }

    fn mean(&self) -> f64 {
        self.rate
    }

    fn sample(&self, random: &mut Random) -> f64 {
        if self.rate < 10.0 { multiply(self.rate, random) } else { reject(self.rate, random) }
    }
}

impl ExponentialFamily for Poisson {
    type Member = Rate;

    fn with_events(self, events: f64) -> Self {
        Poisson { pseudo_count: events }
    }

    fn check(&self) -> Result<()> {
        match self.pseudo_count >= 0.0 && self.pseudo_count.is_finite() {
            true => Ok(()),
            false => Err(Error::parameter("pseudo_count", "give a number of 0 or more")),
        }
    }

    fn member(&self, weight: f64, mean: f64, _: f64) -> Result<Rate, &'static str> {
        Rate::new(&[mean + self.pseudo_count / weight]).ok_or("has no rate")
    }
}

/// Events until as many uniform numbers multiply to less than e^(−λ) (Knuth).
fn multiply(rate: f64, random: &mut Random) -> f64 {
    let limit = (-rate).exp();
    let (mut events, mut product) = (0.0, random.uniform());
    while product > limit {
        product *= random.uniform();
        events += 1.0;
    }
    events
}

/// Hörmann, *The transformed rejection method for generating Poisson random variables* (1993),
/// algorithm PTRS, for λ ≥ 10.
fn reject(rate: f64, random: &mut Random) -> f64 {
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (random.uniform() - 0.5, random.uniform());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + rate + 0.43).floor();
        if us >= 0.07 && v <= v_r {
            return k;
        }
        let squeezed = k < 0.0 || (us < 0.013 && v > us);
        let log_ratio = (v * inverse_alpha / (a / (us * us) + b)).ln();
        if !squeezed && log_ratio <= k * rate.ln() - rate - ln_gamma(k + 1.0) {
            return k;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_zero_knows_only_zero() {
        let never = Poisson { pseudo_count: 0.0 }.member(5.0, 0.0, 0.0).unwrap();
        assert_eq!((never.log_density(0.0), never.log_density(1.0)), (0.0, f64::NEG_INFINITY));
        assert_eq!(never.sample(&mut Random::new(1)), 0.0);
        let rare = Poisson::default().member(5.0, 0.0, 0.0).unwrap();
        assert!((rare.log_density(1.0) - (0.1f64.ln() - 0.1)).abs() < 1e-14);
        // Rare beside many events: −x ln x/λ is not lost.
        let expected = 3.0 * 1e-30f64.ln() - 6f64.ln();
        assert!((Rate { rate: 1e-30 }.log_density(3.0) - expected).abs() < 1e-12);
        assert!(Poisson { pseudo_count: -1.0 }.check().is_err());
    }

    #[test]
    fn probabilities_sum_to_one() {
        for rate in [0.0, 1e-3, 0.7, 12.0, 3000.0] {
            let density = Rate { rate };
            let sum: f64 = (0..6000).map(|x| density.log_density(x as f64).exp()).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{rate}: {sum}");
        }
    }

    #[test]
    fn draws_have_mean_and_variance_of_the_rate() {
        // 4.5 standard errors; the rates lie on both sides of the change of method at 10.
        for rate in [0.2, 4.0, 9.99, 10.0, 77.0, 1e6] {
            let (n, mut random) = (200_000, Random::new(7));
            let x: Vec<f64> = (0..n).map(|_| Rate { rate }.sample(&mut random)).collect();
            let mean = x.iter().sum::<f64>() / n as f64;
            let variance = x.iter().map(|x| (x - rate).powi(2)).sum::<f64>() / n as f64;
            assert!((mean - rate).abs() < 4.5 * (rate / n as f64).sqrt(), "{rate}: {mean}");
            let error = 4.5 * ((rate + 2.0 * rate * rate) / n as f64).sqrt();
            assert!((variance - rate).abs() < error, "{rate}: {variance}");
            // P(x = ⌊λ⌋), which a wrong squeeze would change.
            let p = Rate { rate }.log_density(rate.floor()).exp();
            let share = x.iter().filter(|x| **x == rate.floor()).count() as f64 / n as f64;
            assert!((share - p).abs() < 4.5 * (p * (1.0 - p) / n as f64).sqrt(), "{rate}: {share}, not {p}");
        }
    }
}
