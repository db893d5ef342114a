//! Exponential family: how long until something happens, p(x | c) = e^(−x/μ)/μ, x ≥ 0.
//!
//! Sufficient statistics: w and Σx. Maximum likelihood: μ = Σx/w.

use serde::{Deserialize, Serialize};

use super::exponential_family::{ExponentialFamily, Member};
use crate::numerics::Random;

/// The exponential family.
///
/// ```
/// use deciban::family::exponential::Exponential;
/// use deciban::family::exponential_family::{ExponentialFamily, Member};
/// let density = Exponential {}.member(3.0, 2.0, 0.0).unwrap();
/// assert!((density.log_density(4.0) - (-2.0 - 2f64.ln())).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exponential {}

/// An exponential distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    mean: f64,
    ln_mean: f64,
}

impl Member for Waiting {
    const PARAMETERS: &'static [&'static str] = &["mean"];
    const DOMAIN: &'static str = "numbers of at least 0";

    fn contains(x: f64) -> bool {
        x >= 0.0
    }

    fn new(parameters: &[f64]) -> Option<Self> {
        match *parameters {
            [mean] => (mean > 0.0 && mean.is_finite()).then(|| Waiting { mean, ln_mean: mean.ln() }),
            _ => None,
        }
    }

    fn parameters(&self) -> Vec<f64> {
        vec![self.mean]
    }

    fn log_density(&self, x: f64) -> f64 {
        -x / self.mean - self.ln_mean
    }

    fn mean(&self) -> f64 {
        self.mean
    }

    fn sample(&self, random: &mut Random) -> f64 {
        -self.mean * random.uniform().ln()
    }
}

impl ExponentialFamily for Exponential {
    type Member = Waiting;

    fn member(&self, _: f64, mean: f64, _: f64) -> Result<Waiting, &'static str> {
        Waiting::new(&[mean]).ok_or("is 0 throughout")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_density_integrates_to_one() {
        // Simpson's rule on [0, 40μ]; the rest is e⁻⁴⁰.
        let (density, n) = (Waiting::new(&[0.25]).unwrap(), 20_000);
        let h = 10.0 / n as f64;
        let weight = |i: usize| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
        let sum: f64 = (0..=n).map(|i| weight(i) * density.log_density(i as f64 * h).exp()).sum();
        assert!((sum * h / 3.0 - 1.0).abs() < 1e-11, "{}", sum * h / 3.0);
    }

    #[test]
    fn zeros_alone_have_no_density() {
        assert_eq!(Exponential {}.member(4.0, 0.0, 0.0), Err("is 0 throughout"));
    }
}
