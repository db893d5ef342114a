//! Digamma, trigamma and what is left of logarithms when their leading terms cancel.
//!
//! ```text
//! ψ(x)  = d/dx ln Γ(x) = ln x − h(x),   h(x) = 1/(2x) + 1/(12x²) − 1/(120x⁴) + …      as x → ∞
//! ψ′(x) = 1/x + g(x),                   g(x) = 1/(2x²) + 1/(6x³) − 1/(30x⁵) + …
//! h(x) = h(x+1) + φ(1/x),   g(x) = g(x+1) + 1/(x²(x+1)),   φ(u) = u − ln(1+u)
//! ln Γ(x+1) = x ln x − x + r(x),        r(x) = ½ ln 2πx + 1/(12x) − 1/(360x³) + …
//! ```
//!
//! h, g, φ and r are what fits and densities need, and each is summed from terms of one sign: the
//! difference of ln x and ψ(x) would have no digit left at x = 10¹⁵.

use std::f64::consts::TAU;

use super::special::ln_gamma;

/// From here on the series below are exact to double precision.
const LARGE: f64 = 12.0;

/// ψ(x), the derivative of ln Γ(x); NaN unless x > 0.
///
/// ```
/// # use deciban::numerics::digamma;
/// assert!((digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-15); // −γ
/// ```
pub fn digamma(x: f64) -> f64 {
    x.ln() - ln_less_digamma(x)
}

/// ψ′(x), the second derivative of ln Γ(x); NaN unless x > 0.
///
/// ```
/// # use deciban::numerics::trigamma;
/// assert!((trigamma(1.0) - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-15);
/// ```
pub fn trigamma(x: f64) -> f64 {
    x.recip() + trigamma_less_reciprocal(x)
}

/// h(x) = ln x − ψ(x) > 0; NaN unless x > 0.
pub fn ln_less_digamma(x: f64) -> f64 {
    ascend(
        x,
        |x| less_ln_1p(x.recip()),
        |x| {
            let t = (x * x).recip();
            0.5 / x
                + horner(
                    t,
                    &[
                        0.0,
                        1.0 / 12.0,
                        -1.0 / 120.0,
                        1.0 / 252.0,
                        -1.0 / 240.0,
                        1.0 / 132.0,
                        -691.0 / 32760.0,
                        1.0 / 12.0,
                    ],
                )
        },
    )
}

/// g(x) = ψ′(x) − 1/x > 0; NaN unless x > 0.
pub fn trigamma_less_reciprocal(x: f64) -> f64 {
    ascend(
        x,
        |x| (x * x * (x + 1.0)).recip(),
        |x| {
            let t = (x * x).recip();
            let bernoulli = [
                1.0 / 6.0,
                -1.0 / 30.0,
                1.0 / 42.0,
                -1.0 / 30.0,
                5.0 / 66.0,
                -691.0 / 2730.0,
                7.0 / 6.0,
                -3617.0 / 510.0,
            ];
            t * (0.5 + horner(t, &bernoulli) / x)
        },
    )
}

/// φ(u) = u − ln(1 + u) ≥ 0, with all its digits also where u is small.
pub fn less_ln_1p(u: f64) -> f64 {
    if u.abs() > 0.3 {
        return u - u.ln_1p();
    }
    // ln(1+u) = 2 artanh r with r = u/(2+u), and u − 2r = r·u.
    let r = u / (2.0 + u);
    let y = r * r;
    // 1/3 + y/5 + y²/7 + …: at |u| = 0.3 the first term left out is y¹²/27 < 1e-19.
    let series = (0..12).rev().fold(0.0, |sum, i| sum * y + 1.0 / (2 * i + 3) as f64);
    r * u - 2.0 * r * y * series
}

/// a/b − 1 − ln(a/b) ≥ 0 for positive a and b (Itakura & Saito's divergence), where `delta` is a − b,
/// which the caller may know better than their rounded difference says.
pub fn itakura_saito(a: f64, b: f64, delta: f64) -> f64 {
    let u = delta / b;
    if u.abs() <= 0.3 {
        return less_ln_1p(u);
    }
    // Not φ(u): where a is much smaller than b, u is −1 and a is lost.
    let ratio = a / b;
    let ln_ratio = if ratio.is_normal() { ratio.ln() } else { a.ln() - b.ln() };
    (ratio - 1.0) - ln_ratio
}

/// r(x) = ln Γ(x + 1) − x ln x + x, what Stirling's formula leaves; NaN unless x ≥ 0.
pub fn stirling_rest(x: f64) -> f64 {
    if x < LARGE {
        return if x > 0.0 {
            ln_gamma(x + 1.0) - x * x.ln() + x
        } else if x == 0.0 {
            0.0
        } else {
            f64::NAN
        };
    }
    let t = (x * x).recip();
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360360.0, 1.0 / 156.0];
    0.5 * (TAU * x).ln() + horner(t, &series) / x
}

/// f(x) from f(x) = f(x+1) + step(x) and its series for large x.
fn ascend(mut x: f64, step: impl Fn(f64) -> f64, series: impl Fn(f64) -> f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let mut steps = [0.0; LARGE as usize];
    let mut n = 0;
    while x < LARGE {
        steps[n] = step(x);
        (x, n) = (x + 1.0, n + 1);
    }
    // The smallest first.
    steps[..n].iter().rev().fold(series(x), |sum, step| sum + step)
}

/// Σ cᵢ xⁱ.
fn horner(x: f64, c: &[f64]) -> f64 {
    c.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Reference values: mpmath 1.4.1 at 60 digits.

    const X: [f64; 15] =
        [1e-10, 0.001, 0.1, 0.5, 1.0, 1.4616321449683622, 2.5, 7.25, 11.999, 12.0, 12.5, 100.0, 12345.678, 1e10, 1e15];

    fn agree(f: impl Fn(f64) -> f64, expected: [f64; 15], least: f64) {
        for (x, expected) in X.iter().zip(expected) {
            let error = (f(*x) - expected).abs() / expected.abs().max(least);
            assert!(error <= 1e-14, "at {x}: {}, not {expected}, error {error:e}", f(*x));
        }
        assert!([-1.0, f64::NAN].iter().all(|&x| f(x).is_nan()));
    }

    #[test]
    fn digamma_against_reference() {
        // ψ has a root at 1.46, where only the absolute error is small.
        let expected = [
            -10000000000.577215,
            -1000.5755719318103,
            -10.423754940411076,
            -1.9635100260214235,
            -0.577_215_664_901_532_9,
            -9.241265521729427e-17,
            0.7031566406452432,
            1.910453526883736,
            2.442574774329119,
            2.442661679975812,
            2.485195651274912,
            4.600161852738087,
            9.421020820741761,
            23.025850929890456,
            34.538776394910684,
        ];
        agree(digamma, expected, 1.0);
        assert!(digamma(0.0).is_nan());
    }

    #[test]
    fn trigamma_against_reference() {
        let expected = [
            1e+20,
            1000001.6425331958,
            101.43329915079275,
            4.934802200544679,
            1.6449340668482264,
            0.9676722454476212,
            0.49035775610023485,
            0.14787923315893217,
            0.08690942073224082,
            0.08690187287176838,
            0.08328522460157838,
            0.010050166663333571,
            8.100328723111207e-05,
            1.00000000005e-10,
            1.0000000000000005e-15,
        ];
        agree(trigamma, expected, 0.0);
    }

    #[test]
    fn differences_keep_their_digits() {
        let expected = [
            9999999977.551365,
            993.6678166528282,
            8.12116984741703,
            1.2703628454614782,
            0.577_215_664_901_532_9,
            0.379553718839518,
            0.2131340912289119,
            0.07054794198284738,
            0.04224853865313264,
            0.042244969812188296,
            0.040532993033343394,
            0.005008333250003967,
            4.0500550071089584e-05,
            5.0000000000833335e-11,
            5e-16,
        ];
        agree(ln_less_digamma, expected, 0.0);
        let expected = [
            9.999999999e+19,
            999001.6425331958,
            91.43329915079275,
            2.9348022005446794,
            0.6449340668482264,
            0.2835055736605517,
            0.09035775610023486,
            0.00994819867617355,
            0.003569142375711117,
            0.0035685395384350573,
            0.0032852246015783702,
            5.0166663333571394e-05,
            3.280589111523739e-09,
            5.0000000001666664e-21,
            5.000000000000001e-31,
        ];
        agree(trigamma_less_reciprocal, expected, 0.0);
        let expected = [
            2.344863526512117e-09,
            0.007331361680698768,
            0.28038606803956484,
            0.7257913526447274,
            1.0,
            1.1649316570739072,
            1.4102467726616865,
            1.920926270322393,
            2.1682936081543165,
            2.168334698205882,
            2.188468102391508,
            3.2223569567543535,
            5.629475943851141,
            12.431863998183234,
            18.188326730660016,
        ];
        agree(stirling_rest, expected, 1e-2);
        assert_eq!(stirling_rest(0.0), 0.0);
    }

    #[test]
    fn less_ln_1p_against_reference() {
        let expected = [
            (-0.999999, 12.815511557935517),
            (-0.9, 1.402585092994046),
            (-0.31, 0.061063681390831986),
            (-0.3, 0.056674943938732375),
            (-0.29, 0.05249030894677594),
            (-0.1, 0.005360515657826302),
            (-1e-9, 5.000000003333334e-19),
            (1e-9, 4.999999996666667e-19),
            (0.001, 4.996669164668332e-07),
            (0.29, 0.03535778162641925),
            (0.3, 0.03763573553250894),
            (0.31, 0.039972862786939824),
            (1.0, 0.3068528194400547),
            (1e10, 9999999976.97415),
        ];
        for (u, expected) in expected {
            let error = (less_ln_1p(u) / expected - 1.0f64).abs();
            assert!(error <= 3e-15, "at {u}: {}, not {expected}, error {error:e}", less_ln_1p(u));
        }
        assert_eq!((less_ln_1p(0.0), less_ln_1p(-1.0)), (0.0, f64::INFINITY));
    }

    #[test]
    fn small_ratios_are_not_lost() {
        for (a, b) in [(1e-30, 1.0), (1e-300, 1e300), (0.5, 3.0), (7.0, 0.1)] {
            let (a, b): (f64, f64) = (a, b);
            let expected = a / b - 1.0 - a.ln() + b.ln();
            assert!((itakura_saito(a, b, a - b) / expected - 1.0).abs() < 1e-14);
        }
        assert_eq!(itakura_saito(0.0, 2.0, -2.0), f64::INFINITY);
    }
}
