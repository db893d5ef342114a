//! Log-normal family: numbers whose logarithm is normal,
//! log p(x | c) = −½ ((ln x − μ)/σ)² − ln x − ln σ − ½ ln 2π, x > 0.
//!
//! Sufficient statistics: w, Σ ln x and, in place of Σ ln² x, the scatter D = Σ (ln x − μ)² about the
//! mean, with the divergence d(a, b) = (a−b)². Maximum likelihood: μ = Σ ln x / w, σ² = D/w.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::exponential_family::{ExponentialFamily, Member};
use crate::numerics::Random;

/// The log-normal family.
///
/// ```
/// use deciban::family::exponential_family::{ExponentialFamily, Member};
/// use deciban::family::log_normal::LogNormal;
/// // ln x is 0 and 2: mean 1, scatter 1 + 1.
/// let density = LogNormal {}.member(2.0, 1.0, 2.0 / 2.0).unwrap();
/// assert_eq!(density.parameters(), [1.0, 1.0]);
/// assert!((density.log_density(1f64.exp()) - (-1.0 - 0.918_938_533_204_672_7)).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogNormal {}

/// A log-normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormalDensity {
    mean: f64,
    sd: f64,
    /// ln σ + ½ ln 2π
    constant: f64,
}

impl Member for LogNormalDensity {
    const PARAMETERS: &'static [&'static str] = &["mean of the logarithm", "standard deviation of the logarithm"];
    const DOMAIN: &'static str = "numbers above 0";

    fn contains(x: f64) -> bool {
        x > 0.0
    }

    fn new(parameters: &[f64]) -> Option<Self> {
        match *parameters {
            [mean, sd] if mean.is_finite() && sd > 0.0 && sd.is_finite() => {
                Some(LogNormalDensity { mean, sd, constant: sd.ln() + 0.5 * TAU.ln() })
            }
            _ => None,
        }
    }

    fn parameters(&self) -> Vec<f64> {
        vec![self.mean, self.sd]
    }

    fn log_density(&self, x: f64) -> f64 {
        let ln_x = x.ln();
        let z = (ln_x - self.mean) / self.sd;
        -0.5 * z * z - ln_x - self.constant
    }

    fn mean(&self) -> f64 {
        (self.mean + 0.5 * self.sd * self.sd).exp()
    }

    fn sample(&self, random: &mut Random) -> f64 {
        (self.mean + self.sd * random.normal()).exp()
    }
}

impl ExponentialFamily for LogNormal {
    type Member = LogNormalDensity;
    const LEAST: f64 = f64::MIN;

    fn sufficient(x: f64) -> f64 {
        x.ln()
    }

    fn divergence(_: f64, _: f64, delta: f64) -> f64 {
        delta * delta
    }

    fn member(&self, _: f64, mean: f64, variance: f64) -> Result<LogNormalDensity, &'static str> {
        // A number is known to ε of itself, its logarithm to ε or, rounded, to ε of itself.
        let known = 4.0 * f64::EPSILON * mean.abs().max(1.0);
        let density = LogNormalDensity::new(&[mean, variance.sqrt()]);
        density.filter(|density| density.sd > known).ok_or("does not vary")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_density_integrates_to_one() {
        // The trapezoidal rule in ln x, where dx = x d ln x.
        let density = LogNormalDensity::new(&[1.3, 0.7]).unwrap();
        let h = 0.01;
        let sum: f64 =
            (-1000..=1000).map(|i| 1.3 + i as f64 * h).map(|y| (density.log_density(y.exp()) + y).exp()).sum();
        assert!((sum * h - 1.0).abs() < 1e-12, "{}", sum * h);
    }

    #[test]
    fn a_constant_has_no_density() {
        assert_eq!(LogNormal {}.member(4.0, 3.0, 1e-32), Err("does not vary"));
        assert!(LogNormal {}.member(4.0, 3.0, 1e-20).is_ok());
    }
}
