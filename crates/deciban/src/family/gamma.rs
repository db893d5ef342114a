//! Gamma family: sums of waiting times, p(x | c) = x^(k−1) e^(−x/θ) / (θᵏ Γ(k)), x > 0.
//!
//! Sufficient statistics: w, Σx and Σ ln x; in place of the last one D = Σ (x/m − 1 − ln(x/m)) =
//! w ln m − Σ ln x with m = Σx/w, by the divergence d(a, b) = a/b − 1 − ln(a/b). Maximum likelihood:
//!
//! ```text
//! ln k − ψ(k) = ln m − Σ ln x / w = D/w =: s,   θ = m/k
//! start k = (3 − s + √((3−s)² + 24s)) / 12s,    1/k ← 1/k + (ln k − ψ(k) − s) / (k² (1/k − ψ′(k)))
//! ```
//!
//! (Minka, *Estimating a Gamma distribution*, 2002: Newton's method for a function of 1/k, which
//! gains four digits in the first step.) With r the rest of Stirling's formula
//!
//! log p = −k d(x, m) − ln x + ln k − r(k),
//!
//! which does not cancel for large k, as (k−1) ln x − x/θ − k ln θ − ln Γ(k) does.

use serde::{Deserialize, Serialize};

use super::exponential_family::{ExponentialFamily, Member};
use crate::numerics::{Random, itakura_saito, ln_less_digamma, stirling_rest, trigamma_less_reciprocal};

/// The gamma family.
///
/// ```
/// use deciban::family::exponential_family::{ExponentialFamily, Member};
/// use deciban::family::gamma::Gamma;
/// // Shape 1 is the exponential density: there ln k − ψ(k) is Euler's constant.
/// let density = Gamma {}.member(10.0, 2.0, 0.577_215_664_901_532_9).unwrap();
/// assert!((density.parameters()[0] - 1.0).abs() < 1e-14);
/// assert!((density.log_density(4.0) - (-2.0 - 2f64.ln())).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gamma {}

/// A gamma distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GammaDensity {
    shape: f64,
    scale: f64,
    /// kθ, and not the mean of the rows: they differ in the last digit, and a file keeps the parameters alone.
    mean: f64,
    /// ln k − r(k)
    constant: f64,
}

impl GammaDensity {
    fn of(shape: f64, mean: f64) -> Option<Self> {
        GammaDensity::new(&[shape, mean / shape])
    }
}

impl Member for GammaDensity {
    const PARAMETERS: &'static [&'static str] = &["shape", "scale"];
    const DOMAIN: &'static str = "numbers above 0";

    fn contains(x: f64) -> bool {
        x > 0.0
    }

    fn new(parameters: &[f64]) -> Option<Self> {
        let [shape, scale] = *parameters else { return None };
        let (mean, constant) = (shape * scale, shape.ln() - stirling_rest(shape));
        let valid = shape > 0.0 && mean > 0.0 && mean.is_finite() && constant.is_finite();
        valid.then_some(GammaDensity { shape, scale, mean, constant })
    }

    fn parameters(&self) -> Vec<f64> {
        vec![self.shape, self.scale]
    }

    fn log_density(&self, x: f64) -> f64 {
        -self.shape * itakura_saito(x, self.mean, x - self.mean) - x.ln() + self.constant
    }

    fn mean(&self) -> f64 {
        self.mean
    }

    fn sample(&self, random: &mut Random) -> f64 {
        // Where a small shape makes x smaller than any double, the least one stands for it.
        (random.gamma(self.shape) * self.scale).max(f64::from_bits(1))
    }
}

impl ExponentialFamily for Gamma {
    type Member = GammaDensity;

    fn divergence(a: f64, b: f64, delta: f64) -> f64 {
        itakura_saito(a, b, delta)
    }

    fn member(&self, _: f64, mean: f64, s: f64) -> Result<GammaDensity, &'static str> {
        // D of numbers that differ by rounding alone is about ε²/2.
        let varies = s > 8.0 * f64::EPSILON * f64::EPSILON;
        varies.then(|| shape(s)).and_then(|shape| GammaDensity::of(shape, mean)).ok_or("does not vary")
    }
}

/// The k with ln k − ψ(k) = s.
fn shape(s: f64) -> f64 {
    let mut k = (3.0 - s + ((3.0 - s).powi(2) + 24.0 * s).sqrt()) / (12.0 * s);
    for _ in 0..50 {
        // 1/k − ψ′(k) is −g(k).
        let change = k * (ln_less_digamma(k) - s) / (k * k * trigamma_less_reciprocal(k));
        let next = k / (1.0 - change).max(0.1);
        let done = (next - k).abs() <= 2.0 * f64::EPSILON * k;
        k = next;
        if done {
            break;
        }
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_solves_its_equation() {
        for exponent in -30..=12 {
            let s = 10f64.powf(exponent as f64 / 2.0);
            let error = ln_less_digamma(shape(s)) / s - 1.0;
            assert!(error.abs() < 1e-14, "{s}: {error:e}");
        }
    }

    #[test]
    fn the_density_integrates_to_one() {
        // The trapezoidal rule in ln x, where dx = x d ln x.
        for (shape, h) in [(0.3, 0.01), (1.0, 0.01), (7.5, 0.01), (1e6, 1e-5)] {
            let density = GammaDensity::of(shape, 2.0).unwrap();
            let y = |i: i32| 2f64.ln() + i as f64 * h;
            let sum: f64 = (-12_000..=1000).map(y).map(|y| (density.log_density(y.exp()) + y).exp()).sum();
            assert!((sum * h - 1.0).abs() < 1e-10, "{shape}: {}", sum * h);
        }
    }

    #[test]
    fn large_shapes_are_normal() {
        // k = 10¹², mean 1, sd 10⁻⁶: log p(m) = −½ ln 2π/k − 1/12k.
        let density = GammaDensity::of(1e12, 1.0).unwrap();
        let peak = -0.5 * std::f64::consts::TAU.ln() + 1e6f64.ln();
        assert!((density.log_density(1.0) - peak).abs() < 1e-12);
        assert!((density.log_density(1.0 + 2e-6) - (peak - 2.0 - 2e-6 + 8e-6 / 3.0)).abs() < 1e-9);
        assert_eq!(Gamma {}.member(4.0, 3.0, 1e-32), Err("does not vary"));
    }
}
