//! Special functions of the densities.
//!
//! ```text
//! log_sum_exp(x) = m + ln Σ exp(xᵢ − m),  m = max xᵢ
//! log_shares(x)ᵢ = (xᵢ − m) − ln Σ exp(xⱼ − m)
//! Φ(x)  = ½ erfc(−x/√2)
//! ln Φ(x) = −½x² − ln(−x√2π) + ln(1 − 1/x² + 3/x⁴ − 15/x⁶ + …)      as x → −∞
//! Φ⁻¹(p): three rational functions (Wichura 1988, Algorithm AS 241)
//! ```

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// ln Σ exp(xᵢ), without overflow; −∞ for no terms.
pub fn log_sum_exp(x: &[f64]) -> f64 {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max.is_infinite() {
        // ∞ − ∞ below would be NaN. `max` skips NaN, which must not be lost.
        return if x.iter().any(|x| x.is_nan()) { f64::NAN } else { max };
    }
    max + x.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
}

/// Turns the logarithms of weights into those of their shares, which add up to 1 however large the numbers are.
///
/// The maximum is subtracted first: xᵢ − [`log_sum_exp`] loses the logarithm of the sum where the maximum is large, and
/// three weights of e^1e17 would have the share 1 each. Weights of which all are 0, or one is ∞, have no shares: NaN.
///
/// ```
/// let mut x = [1e17, 1e17];
/// deciban::numerics::log_shares(&mut x);
/// assert_eq!(x, [-std::f64::consts::LN_2; 2]);
/// ```
pub fn log_shares(x: &mut [f64]) {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    x.iter_mut().for_each(|x| *x -= max);
    let total = x.iter().map(|x| x.exp()).sum::<f64>().ln();
    x.iter_mut().for_each(|x| *x -= total);
}

/// ln(1 + eᶻ), without overflow.
pub fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}

/// ln |Γ(x)|.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// Φ(x), the probability that a standard normal variable is at most `x`.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// ln Φ(x), also where Φ(x) itself is 0 to double precision.
pub fn ln_normal_cdf(x: f64) -> f64 {
    if x > -1.0 {
        // Near 1 the digits are in 1 − Φ(x) = Φ(−x).
        (-normal_cdf(-x)).ln_1p()
    } else if x > -30.0 {
        normal_cdf(x).ln()
    } else if x == f64::NEG_INFINITY {
        x
    } else {
        // The series is asymptotic; at x = −30 the first term left out is 1e5/30¹⁴ < 1e-15.
        let t = (x * x).recip();
        let series = -t * (1.0 - t * (3.0 - t * (15.0 - t * (105.0 - t * (945.0 - t * 10395.0)))));
        -0.5 * x * x - (-x).ln() - 0.5 * (2.0 * PI).ln() + series.ln_1p()
    }
}

/// Φ⁻¹(p), the `p`-quantile of the standard normal distribution; −∞ for 0, ∞ for 1, NaN outside.
///
/// Wichura, *Algorithm AS 241: The Percentage Points of the Normal Distribution*,
/// Applied Statistics 37 (1988), routine PPND16.
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * polynomial(&CENTRE.0, r) / polynomial(&CENTRE.1, r);
    }
    let tail = p.min(1.0 - p);
    if tail == 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-tail.ln()).sqrt();
    let (t, (numerator, denominator)) = if r <= 5.0 { (r - 1.6, TAIL) } else { (r - 5.0, FAR_TAIL) };
    (polynomial(&numerator, t) / polynomial(&denominator, t)).copysign(q)
}

/// Σ cᵢ xⁱ by Horner's rule.
fn polynomial(c: &[f64; 8], x: f64) -> f64 {
    c.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Numerator and denominator of a rational function, lowest power first.
type Rational = ([f64; 8], [f64; 8]);

/// For |p − ½| ≤ 0.425, in 0.180625 − (p − ½)².
const CENTRE: Rational = (
    [
        3.3871328727963665,
        133.14166789178438,
        1971.5909503065513,
        13731.69376550946,
        45921.95393154987,
        67265.7709270087,
        33430.57558358813,
        2509.0809287301227,
    ],
    [
        1.0,
        42.31333070160091,
        687.1870074920579,
        5394.196021424751,
        21213.794301586597,
        39307.89580009271,
        28729.085735721943,
        5226.495278852854,
    ],
);

/// For 0.425 < |p − ½|, √−ln p ≤ 5, in √−ln p − 1.6.
const TAIL: Rational = (
    [
        1.4234371107496835,
        4.630337846156546,
        5.769497221460691,
        3.6478483247632045,
        1.2704582524523684,
        0.2417807251774506,
        0.022723844989269184,
        0.0007745450142783414,
    ],
    [
        1.0,
        2.053191626637759,
        1.6763848301838038,
        0.6897673349851,
        0.14810397642748008,
        0.015198666563616457,
        0.0005475938084995345,
        1.0507500716444169e-09,
    ],
);

/// For √−ln p > 5, in √−ln p − 5.
const FAR_TAIL: Rational = (
    [
        6.657904643501103,
        5.463784911164114,
        1.7848265399172913,
        0.29656057182850487,
        0.026532189526576124,
        0.0012426609473880784,
        2.7115555687434876e-05,
        2.0103343992922881e-07,
    ],
    [
        1.0,
        0.599832206555888,
        0.1369298809227358,
        0.014875361290850615,
        0.0007868691311456133,
        1.8463183175100548e-05,
        1.421511758316446e-07,
        2.0442631033899397e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal up to a relative error.
    fn close(found: f64, expected: f64, tolerance: f64) {
        let error = (found - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
        assert!(error <= tolerance, "found {found:e}, expected {expected:e}, relative error {error:e}");
    }

    // Reference values in this file: mpmath 1.4.1 at 60 digits.

    #[test]
    fn log_sum_exp_neither_overflows_nor_loses_small_terms() {
        close(log_sum_exp(&[0.0, 0.0, 0.0]), 3f64.ln(), 1e-15);
        close(log_sum_exp(&[1000.0, 1000.0]), 1000.0 + 2f64.ln(), 1e-15);
        close(log_sum_exp(&[-1000.0, -1001.0]), -1000.0 + (-1f64).exp().ln_1p(), 1e-15);
        assert_eq!(log_sum_exp(&[f64::NEG_INFINITY, 2.5]), 2.5);
    }

    #[test]
    fn log_sum_exp_of_the_extremes() {
        let infinity = f64::INFINITY;
        assert_eq!(log_sum_exp(&[]), -infinity);
        assert_eq!(log_sum_exp(&[-infinity, -infinity]), -infinity);
        assert_eq!(log_sum_exp(&[-infinity, infinity, 0.0]), infinity);
        assert!(log_sum_exp(&[0.0, f64::NAN]).is_nan());
        assert!(log_sum_exp(&[infinity, f64::NAN]).is_nan());
    }

    #[test]
    fn log_shares_of_the_extremes() {
        let infinity = f64::INFINITY;
        let shares = |mut x: [f64; 3]| {
            log_shares(&mut x);
            x
        };
        let third = -(3f64.ln());
        assert_eq!(shares([-1e300; 3]), [third; 3]);
        assert_eq!(shares([f64::MAX, f64::MIN, f64::MIN]), [0.0, -infinity, -infinity]);
        assert_eq!(shares([-infinity, 2.5, -infinity]), [-infinity, 0.0, -infinity]);
        for x in [[-infinity; 3], [0.0, infinity, 0.0], [0.0, f64::NAN, 1.0]] {
            assert!(shares(x).iter().all(|x| x.is_nan()), "{x:?}");
        }
    }

    #[test]
    fn ln_gamma_of_factorials_and_halves() {
        close(ln_gamma(11.0), 3_628_800f64.ln(), 1e-15);
        close(ln_gamma(0.5), 0.5 * PI.ln(), 1e-15);
        close(ln_gamma(100.25), 360.28455963776423, 1e-15);
        close(ln_gamma(1e-10), 23.025850929882733, 1e-15);
    }

    #[test]
    fn normal_cdf_against_reference() {
        // In the tail the rounding of x/√2 alone costs x²·1e-16.
        for (x, p) in CDF {
            close(normal_cdf(x), p, 4e-16 * f64::max(1.0, x * x));
        }
        assert_eq!((normal_cdf(f64::NEG_INFINITY), normal_cdf(0.0), normal_cdf(f64::INFINITY)), (0.0, 0.5, 1.0));
    }

    #[test]
    fn ln_normal_cdf_against_reference() {
        for (x, ln_p) in LN_CDF {
            // For x > 0 it is −Φ(−x), which the rounding of x/√2 moves as above.
            close(ln_normal_cdf(x), ln_p, 1e-15f64.max(4e-16 * x.max(0.0).powi(2)));
        }
        assert_eq!((ln_normal_cdf(f64::NEG_INFINITY), ln_normal_cdf(f64::INFINITY)), (f64::NEG_INFINITY, 0.0));
        assert!(ln_normal_cdf(f64::NAN).is_nan());
    }

    #[test]
    fn normal_quantile_against_reference() {
        for (p, x) in QUANTILE {
            close(normal_quantile(p), x, 1e-15);
        }
    }

    #[test]
    fn normal_quantile_of_the_extremes() {
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert_eq!(normal_quantile(0.5), 0.0);
        for p in [-1e-300, 1.0 + 1e-15, f64::NAN, f64::INFINITY] {
            assert!(normal_quantile(p).is_nan());
        }
    }

    #[test]
    fn quantile_inverts_cdf() {
        for i in 1..2048 {
            let p = i as f64 / 2048.0;
            close(normal_cdf(normal_quantile(p)), p, 4e-15);
            assert_eq!(normal_quantile(p), -normal_quantile(1.0 - p), "at {p}");
        }
    }

    const CDF: [(f64, f64); 9] = [
        (-37.0, 5.725571222524577e-300),
        (-20.0, 2.7536241186062337e-89),
        (-8.0, 6.220960574271784e-16),
        (-3.0, 0.0013498980316300946),
        (-1.0, 0.15865525393145705),
        (-0.1, 0.460172162722971),
        (0.1, 0.539827837277029),
        (1.0, 0.8413447460685429),
        (3.0, 0.9986501019683699),
    ];

    const LN_CDF: [(f64, f64); 20] = [
        (-10000000000.0, -5e+19),
        (-1000.0, -500007.82669481216),
        (-100.0, -5005.524208694205),
        (-40.0, -804.6084420137538),
        (-37.6, -711.4266486707762),
        (-30.000001, -454.3212739896034),
        (-30.0, -454.3212439563432),
        (-29.999999, -454.321213923084),
        (-20.0, -203.91715537109727),
        (-10.0, -53.23128515051247),
        (-5.0, -15.064998393988725),
        (-2.0, -3.783184333682032),
        (-1.0, -1.8410216450092636),
        (-0.5, -1.1759117615936185),
        (0.0, -std::f64::consts::LN_2),
        (0.5, -0.3689464152886564),
        (1.0, -0.17275377902344988),
        (3.0, -0.0013508099647481938),
        (8.0, -6.220960574271786e-16),
        (20.0, -2.7536241186062337e-89),
    ];

    const QUANTILE: [(f64, f64); 18] = [
        (1e-315, -37.96730035106736),
        (2.2250738585072014e-308, -37.5193793471445),
        (1e-100, -21.273453560965326),
        (1e-15, -7.941345326170997),
        (1e-11, -6.706023155495136),
        (1e-05, -4.264890793922825),
        (0.02, -2.053748910631823),
        (0.075, -1.439531470938456),
        (0.0750001, -1.4395307645017297),
        (0.1, -1.2815515655446004),
        (0.3, -0.5244005127080408),
        (0.4999999, -2.5066282747031063e-07),
        (0.5000001, 2.506628273311648e-07),
        (0.7, 0.5244005127080407),
        (0.95, 1.6448536269514722),
        (0.975, 1.9599639845400538),
        (0.9999, 3.7190164854557084),
        (0.9999999999999999, 8.209536151601387),
    ];
}
