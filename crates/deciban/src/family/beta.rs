//! Beta family: shares of a whole, p(x | c) = x^(a−1) (1−x)^(b−1) / B(a, b), 0 < x < 1.
//!
//! Sufficient statistics: w, Σ ln x and Σ ln(1−x). They are kept as sums of t = ln(x/(1−x)) and
//! of the divergence that belongs to the convex function ln(1 + eᵗ) = −ln(1−x):
//!
//! ```text
//! d(t, m) = ln(1 + eᵗ) − ln(1 + eᵐ) − σ(m)(t − m),   σ(m) = 1/(1 + e^(−m)),   s = D/w
//! maximum likelihood, n = a + b, h(k) = ln k − ψ(k), δ = h(b) − h(a):
//!   ψ(a) − ψ(b) = ln(a/b) + δ = Σt/w =: m
//!   h(b) − h(n) − ln(1 + a (e^δ − 1)/n) = s
//! ```
//!
//! The second equation is ψ(n) − ψ(b) − ln(1 + eᵐ) = s, in terms that do not cancel when n is large. Newton's method
//! solves both for ln a and ln b, where the derivatives are g(k) = ψ′(k) − 1/k and rational terms. With d_IS(a, b) =
//! a/b − 1 − ln(a/b), μ = a/n and r the rest of Stirling's formula,
//!
//! log p = −a d_IS(x, μ) − b d_IS(1−x, 1−μ) − ln x − ln(1−x) + ln(ab/n) − r(a) − r(b) + r(n).

use serde::{Deserialize, Serialize};

use super::exponential_family::{ExponentialFamily, Member};
use crate::numerics::{
    Random, itakura_saito, less_ln_1p, ln_less_digamma, softplus, stirling_rest, trigamma_less_reciprocal,
};

/// The beta family.
///
/// ```
/// use deciban::family::beta::Beta;
/// use deciban::family::exponential_family::{ExponentialFamily, Member};
/// // E ln x and E ln(1−x) of the uniform density are −1: the mean of t is 0, and s is 1 − ln 2.
/// let density = Beta {}.member(10.0, 0.0, 1.0 - 2f64.ln()).unwrap();
/// assert!(density.parameters().iter().all(|shape| (shape - 1.0).abs() < 1e-14));
/// assert!(density.log_density(0.3).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beta {}

/// A beta distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetaDensity {
    a: f64,
    b: f64,
    /// a/n
    mean: f64,
    /// b/n, which 1 − a/n would round.
    rest: f64,
    /// ln(ab/n) − r(a) − r(b) + r(n)
    constant: f64,
}

impl Member for BetaDensity {
    const PARAMETERS: &'static [&'static str] = &["alpha", "beta"];
    const DOMAIN: &'static str = "numbers between 0 and 1";

    fn contains(x: f64) -> bool {
        x > 0.0 && x < 1.0
    }

    fn new(parameters: &[f64]) -> Option<Self> {
        let [a, b] = *parameters else { return None };
        let n = a + b;
        let (mean, rest) = (a / n, b / n);
        let constant = a.ln() + rest.ln() - stirling_rest(a) - stirling_rest(b) + stirling_rest(n);
        let valid = a > 0.0 && b > 0.0 && mean > 0.0 && rest > 0.0 && n.is_finite() && constant.is_finite();
        valid.then_some(BetaDensity { a, b, mean, rest, constant })
    }

    fn parameters(&self) -> Vec<f64> {
        vec![self.a, self.b]
    }

    fn log_density(&self, x: f64) -> f64 {
        let from_mean = x - self.mean;
        self.constant
            - self.a * itakura_saito(x, self.mean, from_mean)
            - self.b * itakura_saito(1.0 - x, self.rest, -from_mean)
            - x.ln()
            - (-x).ln_1p()
    }

    fn mean(&self) -> f64 {
        self.mean
    }

    fn sample(&self, random: &mut Random) -> f64 {
        let (x, y) = (random.gamma(self.a), random.gamma(self.b));
        // Where both are smaller than any double, one of them is much larger than the other.
        let share = if x + y > 0.0 { x / (x + y) } else { f64::from(u8::from(random.uniform() < self.mean)) };
        share.clamp(f64::from_bits(1), 1.0 - 0.5 * f64::EPSILON)
    }
}

impl ExponentialFamily for Beta {
    type Member = BetaDensity;
    const LEAST: f64 = f64::MIN;

    fn sufficient(x: f64) -> f64 {
        x.ln() - (-x).ln_1p()
    }

    fn divergence(t: f64, m: f64, delta: f64) -> f64 {
        // The divergence is the same for −t and −m, and with σ ≤ ½ its terms cancel least.
        if m > 0.0 {
            return Self::divergence(-t, -m, -delta);
        }
        let share = sigmoid(m);
        if delta.abs() > 0.3 {
            return softplus(t) - softplus(m) - share * delta;
        }
        // ln(1 + σ(e^δ − 1)) − σδ = σ(e^δ − 1 − δ) − φ(σ(e^δ − 1))
        share * exp_less_linear(delta) - less_ln_1p(share * delta.exp_m1())
    }

    fn member(&self, _: f64, mean: f64, s: f64) -> Result<BetaDensity, &'static str> {
        // t is known to ε of itself, or of 1; D of numbers that differ by that alone is σ(1−σ)/2 of its square.
        let known = 8.0 * f64::EPSILON * mean.abs().max(1.0);
        let varies = s > 0.5 * sigmoid(mean) * sigmoid(-mean) * known * known;
        varies.then(|| shapes(mean, s)).flatten().and_then(|shapes| BetaDensity::new(&shapes)).ok_or("does not vary")
    }
}

/// 1/(1 + e⁻ᵐ)
fn sigmoid(m: f64) -> f64 {
    if m > 0.0 { 1.0 / (1.0 + (-m).exp()) } else { m.exp() / (1.0 + m.exp()) }
}

/// e^δ − 1 − δ for small δ.
fn exp_less_linear(delta: f64) -> f64 {
    // At |δ| = 0.3 the first term left out is δ¹⁴/14! < 1e-18.
    let series = (3..14).rev().fold(1.0, |sum, k| 1.0 + sum * delta / k as f64);
    0.5 * delta * delta * series
}

/// Finds the a and b with these means; `None` if they are not finite.
fn shapes(m: f64, s: f64) -> Option<[f64; 2]> {
    if m > 0.0 {
        return shapes(-m, s).map(|[a, b]| [b, a]);
    }
    let n = 0.5 / s;
    let (mut a, mut b) = (n * sigmoid(m), n * sigmoid(-m));
    for _ in 0..200 {
        let (h, g) = ([a, b, a + b].map(ln_less_digamma), [a, b, a + b].map(trigamma_less_reciprocal));
        let n = a + b;
        let delta = h[1] - h[0];
        let (e, e_less_1) = (delta.exp(), delta.exp_m1());
        let whole = b + a * e;
        // The residuals, the second of ln s: it is nearly linear in ln n.
        let found = h[1] - h[2] - (a / n * e_less_1).ln_1p();
        let residuals = [(a / b).ln() + delta - m, (found / s).ln()];
        // Their derivatives by ln a and ln b.
        let ratio = e_less_1 / (n * whole);
        let by_a = [1.0 + a * g[0], a / found * (g[2] - b * ratio - a * e / whole * g[0])];
        let by_b = [-1.0 - b * g[1], b / found * (g[2] + a * ratio - b / whole * g[1])];
        let determinant = by_a[0] * by_b[1] - by_b[0] * by_a[1];
        let steps = [
            (by_b[0] * residuals[1] - by_b[1] * residuals[0]) / determinant,
            (by_a[1] * residuals[0] - by_a[0] * residuals[1]) / determinant,
        ];
        let [to_a, to_b] = steps.map(|step| step.clamp(-2.0, 2.0));
        (a, b) = (a * to_a.exp(), b * to_b.exp());
        if !(a.is_finite() && b.is_finite()) {
            return None;
        }
        if to_a.abs().max(to_b.abs()) < 1e-13 {
            break;
        }
    }
    (a > 0.0 && b > 0.0).then_some([a, b])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::digamma;

    /// Σt/w and s of a density, which its members have exactly.
    fn means(a: f64, b: f64) -> (f64, f64) {
        let [ha, hb, hn] = [a, b, a + b].map(ln_less_digamma);
        let delta = hb - ha;
        ((a / b).ln() + delta, hb - hn - (a / (a + b) * delta.exp_m1()).ln_1p())
    }

    #[test]
    fn shapes_solve_their_equations() {
        for a in (-8..=40).map(|i| 10f64.powf(0.25 * i as f64)) {
            for b in (-8..=40).map(|i| 10f64.powf(0.25 * i as f64)) {
                // The smaller one first: δ is not too large.
                let (m, s) = if a <= b { means(a, b) } else { means(b, a) };
                let m = if a <= b { m } else { -m };
                let [found_a, found_b] = shapes(m, s).unwrap();
                let error = (found_a / a - 1.0).abs().max((found_b / b - 1.0).abs());
                assert!(error < 1e-9, "a = {a}, b = {b}: {found_a}, {found_b}, {error:e}");
            }
        }
    }

    /// Where nothing cancels, the means are those of the definition.
    #[test]
    fn the_means_are_those_of_logarithms() {
        let (a, b) = (1.7, 4.2);
        let (m, s) = means(a, b);
        assert!((m - (digamma(a) - digamma(b))).abs() < 1e-14);
        assert!((s - (digamma(a + b) - digamma(b) - softplus(m))).abs() < 1e-14);
    }

    #[test]
    fn the_divergence_is_that_of_its_definition() {
        for (t, m) in [(0.1, 0.2), (-3.0, -2.9), (40.0, 41.0), (-700.0, 5.0), (2.0, -2.0), (0.3, 0.0)] {
            let (t, m): (f64, f64) = (t, m);
            let sign = if m > 0.0 { -1.0 } else { 1.0 };
            let direct = softplus(sign * t) - softplus(sign * m) - sigmoid(sign * m) * sign * (t - m);
            let found = Beta::divergence(t, m, t - m);
            assert!((found - direct).abs() <= 1e-12 * softplus(sign * m).max(direct), "{t}, {m}: {found}, {direct}");
        }
        // Small differences: σ(1−σ)δ²/2.
        let found = Beta::divergence(1.0 + 1e-9, 1.0, 1e-9);
        let expected = 0.5 * sigmoid(1.0) * sigmoid(-1.0) * 1e-18;
        assert!((found / expected - 1.0).abs() < 1e-8, "{found} {expected}");
    }

    #[test]
    fn the_density_integrates_to_one() {
        // The trapezoidal rule in t = ln(x/(1−x)), where dx = x (1−x) dt.
        for (a, b, h) in [(0.3, 0.7, 0.01), (1.0, 1.0, 0.01), (2.5, 40.0, 0.01), (1e6, 3e6, 1e-5)] {
            let density = BetaDensity::new(&[a, b]).unwrap();
            let x = |i: i32| sigmoid((a / b).ln() + f64::from(i) * h);
            let point = |x: f64| (density.log_density(x) + x.ln() + (-x).ln_1p()).exp();
            let sum: f64 = (-12_000..=3300).map(x).filter(|x| BetaDensity::contains(*x)).map(point).sum();
            assert!((sum * h - 1.0).abs() < 1e-9, "{a}, {b}: {}", sum * h);
        }
    }

    #[test]
    fn large_shapes_are_normal() {
        // a = b = n/2: mean ½, variance 1/(4(n+1)); log p(½) = ½ ln(2n/π) + O(1/n).
        let density = BetaDensity::new(&[5e11, 5e11]).unwrap();
        let peak = 0.5 * (2e12 / std::f64::consts::PI).ln();
        assert!((density.log_density(0.5) - peak).abs() < 1e-11);
        assert!((density.log_density(0.5 + 1e-6) - (peak - 2.0)).abs() < 1e-5);
        assert_eq!(Beta {}.member(4.0, 0.3, 1e-33), Err("does not vary"));
    }
}
