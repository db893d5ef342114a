//! The incomplete gamma function, and the tail of χ².
//!
//! ```text
//! Q(a, x) = Γ(a, x)/Γ(a) = 1 − P(a, x)
//! x < a + 1:  P = xᵃe⁻ˣ/Γ(a) · Σₙ xⁿ / (a (a+1) … (a+n))
//! x ≥ a + 1:  Q = xᵃe⁻ˣ/Γ(a) · 1/(x+1−a − 1(1−a)/(x+3−a − 2(2−a)/(x+5−a − …)))   (Lentz 1976)
//! P(χ²_k > x) = Q(k/2, x/2)
//! ```

use super::special::ln_gamma;

/// The probability that a χ² variable with `degrees` degrees of freedom exceeds `x`.
///
/// ```
/// // Two degrees of freedom: e^(−x/2).
/// let p = deciban::numerics::chi_squared_tail(6.0, 2.0);
/// assert!((p - (-3f64).exp()).abs() < 1e-16);
/// ```
pub fn chi_squared_tail(x: f64, degrees: f64) -> f64 {
    gamma_upper(0.5 * degrees, 0.5 * x)
}

/// Q(a, x); 1 for x ≤ 0, NaN unless a is positive.
pub fn gamma_upper(a: f64, x: f64) -> f64 {
    if a.is_nan() || a <= 0.0 || x.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 1.0;
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    match x < a + 1.0 {
        true => 1.0 - front * series(a, x),
        false => front * fraction(a, x),
    }
}

fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / a, 1.0 / a);
    let mut n = a;
    while term > sum * f64::EPSILON {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    sum
}

fn fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let mut h = d;
    for i in 1..100_000 {
        let i = f64::from(i);
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / away_from_zero(an * d + b, TINY);
        c = away_from_zero(b + an / c, TINY);
        h *= c * d;
        if (c * d - 1.0).abs() < 2.0 * f64::EPSILON {
            break;
        }
    }
    h
}

fn away_from_zero(x: f64, tiny: f64) -> f64 {
    if x.abs() < tiny { tiny } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::normal_cdf;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() < tolerance, "{found:e} for {expected:e}");
    }

    #[test]
    fn closed_forms() {
        for x in [1e-3, 0.4, 1.0, 2.5, 9.0, 60.0, 700.0] {
            // One degree of freedom is a squared normal, two an exponential, four e^(−x/2)(1 + x/2).
            close(chi_squared_tail(x, 1.0), 2.0 * normal_cdf(-x.sqrt()), 1e-12);
            close(chi_squared_tail(x, 2.0), (-0.5 * x).exp(), 1e-12);
            close(chi_squared_tail(x, 4.0), (-0.5 * x).exp() * (1.0 + 0.5 * x), 1e-12);
        }
    }

    #[test]
    fn reference_values() {
        // scipy.stats.chi2.sf
        for (x, k, p) in CHI2 {
            close(chi_squared_tail(x, k), p, 1e-11);
        }
    }

    #[test]
    fn extremes() {
        assert_eq!((chi_squared_tail(0.0, 3.0), chi_squared_tail(f64::INFINITY, 3.0)), (1.0, 0.0));
        assert_eq!(chi_squared_tail(-1.0, 3.0), 1.0);
        assert!(chi_squared_tail(1.0, 0.0).is_nan() && chi_squared_tail(f64::NAN, 1.0).is_nan());
    }

    const CHI2: [(f64, f64, f64); 8] = [
        (0.1, 3.0, 0.9918374237318764),
        (3.84, 1.0, 0.05004352124870519),
        (134.35678, 2.0, 6.680299285886732e-30),
        (30.0, 30.0, 0.4656537089440098),
        (45.0, 30.0, 0.03860175826631727),
        (1000.0, 900.0, 0.010994608942135844),
        (1500.0, 1000.0, 1.0454640385980825e-22),
        (500.0, 7.0, 8.0167910013494e-104),
    ];
}
