//! Exponentials and logarithms without branches, so that loops of them run in the lanes of a vector unit
//! (see `vectorised`); off by at most one unit in the last place.
//!
//! ```text
//! eˣ = 2ⁿ eʳ                n = ⌊x/ln 2⌉, r = x − n ln 2, eʳ = Σ rᵏ/k!
//! ln x = n ln 2 + ln(1 + f) where √½ ≤ 1 + f < √2
//! ln(1 + f) = 2 artanh s    s = f/(2 + f)
//! ```

use std::f64::consts::{LOG2_E, SQRT_2};

/// ln 2 in two parts: the first has zeros at its end, so that its product with a small integer is exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// x + 1½·2⁵² has the integer next to x in its last bits.
const SHIFT: f64 = 1.5 * (1u64 << 52) as f64;

/// 1/13!, …, 1/3!, 1/2!
const EXP: [f64; 12] = {
    let mut terms = [0.0; 12];
    let (mut factorial, mut k) = (1.0, 2);
    while k <= 13 {
        factorial *= k as f64;
        terms[13 - k] = 1.0 / factorial;
        k += 1;
    }
    terms
};

/// 2/21, …, 2/5, 2/3
const ARTANH: [f64; 10] = {
    let mut terms = [0.0; 10];
    let mut k = 0;
    while k < 10 {
        terms[k] = 2.0 / (21 - 2 * k) as f64;
        k += 1;
    }
    terms
};

/// Σ termsₖ xᵏ, the highest power first, of an even number of terms: even and odd powers by Horner's rule in x², two
/// sums that do not wait for each other.
#[inline(always)]
fn polynomial<const TERMS: usize>(terms: &[f64; TERMS], x: f64) -> f64 {
    const { assert!(TERMS.is_multiple_of(2)) };
    let square = x * x;
    let [odd, even] =
        terms.as_chunks().0.iter().fold([0.0; 2], |[odd, even], [a, b]| [odd * square + a, even * square + b]);
    odd * x + even
}

/// eˣ; 0 below −708, where it is less than any normal number, and ∞ above 709.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let shifted = x * LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let y = power * (1.0 + (r + r * r * polynomial(&EXP, r)));
    let y = if x < -708.0 { 0.0 } else { y };
    if x > 709.0 { f64::INFINITY } else { y }
}

/// ln x of a positive normal number.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    const HALF: u64 = (SQRT_2 / 2.0).to_bits();
    const TWO_52: f64 = (1u64 << 52) as f64;
    // The exponent counts from √½: a mantissa above √2 goes with the next one.
    let above = x.to_bits().wrapping_add((1023 << 52) - HALF);
    let mantissa = f64::from_bits((above & ((1 << 52) - 1)) + HALF);
    // n + 1023 in the last bits of 2⁵² + n + 1023.
    let n = f64::from_bits(TWO_52.to_bits() | (above >> 52)) - (TWO_52 + 1023.0);
    ln_1p_about(mantissa - 1.0, n)
}

/// ln(1 + x) for x from 0 to 1.
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    let large = x > SQRT_2 - 1.0;
    // (1 + x)/2 − 1 is exact.
    ln_1p_about(if large { 0.5 * (x - 1.0) } else { x }, if large { 1.0 } else { 0.0 })
}

/// n ln 2 + ln(1 + f) for |ln(1 + f)| ≤ ½ ln 2.
#[inline(always)]
fn ln_1p_about(f: f64, n: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let half = 0.5 * f * f;
    // f − (½f² − s(½f² + …)): small terms first, so that the rounding is that of the last addition.
    n * LN_2[0] - ((half - (s * (half + z * polynomial(&ARTANH, z)) + n * LN_2[1])) - f)
}

/// eˣ in single precision, of x from −87 to 0, and e⁻⁸⁷ below; off by at most 2·10⁻⁷ of it. (The polynomial is that of
/// Moshier's Cephes library.)
#[inline(always)]
pub fn exp_single(x: f32) -> f32 {
    const SHIFT: f32 = 1.5 * (1u32 << 23) as f32;
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const TERMS: [f32; 6] = [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
    let x = if x > -87.0 { x } else { -87.0 };
    let shifted = x * std::f32::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    power * (1.0 + (r + r * r * TERMS.iter().fold(0.0, |sum, term| sum * r + term)))
}

/// Σ aᵢbᵢ, in sums that do not wait for each other.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, last_a), (b, last_b)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut sums = [0.0; 16];
    for (a, b) in a.iter().zip(b) {
        for k in 0..16 {
            sums[k] += a[k] * b[k];
        }
    }
    sums.iter().sum::<f64>() + last_a.iter().zip(last_b).map(|(a, b)| a * b).sum::<f64>()
}

/// Σ aᵢ.
#[inline(always)]
pub fn sum(a: &[f64]) -> f64 {
    let (a, last) = a.as_chunks::<16>();
    let mut sums = [0.0; 16];
    for a in a {
        for k in 0..16 {
            sums[k] += a[k];
        }
    }
    sums.iter().sum::<f64>() + last.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Random;

    fn off(found: f64, exact: f64) -> f64 {
        (found - exact).abs() / (exact.next_up() - exact).abs()
    }

    #[test]
    fn last_digits_are_right() {
        let mut random = Random::new(1);
        let mut worst = [0.0f64; 3];
        for _ in 0..200_000 {
            let u = random.uniform();
            for x in [-708.0 * u, 709.0 * u, u - 0.5] {
                worst[0] = worst[0].max(off(exp(x), x.exp()));
            }
            for x in [u + 0.5, (1400.0 * (u - 0.5)).exp(), 1.0 + 40.0 * u] {
                worst[1] = worst[1].max(off(ln(x), x.ln()));
            }
            for x in [u, (-700.0 * u).exp(), 1e-8 * u] {
                worst[2] = worst[2].max(off(ln_1p(x), x.ln_1p()));
            }
        }
        assert!(worst.iter().all(|worst| *worst <= 1.0), "{worst:?}");
    }

    #[test]
    fn single_precision_has_six_digits() {
        for i in 0..87_000 {
            let x = -0.001 * i as f32;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp_single(x)) / exact - 1.0).abs() < 2e-7, "{x}");
        }
        assert!(exp_single(f32::NEG_INFINITY) < 2e-38);
        assert_eq!(exp_single(0.0), 1.0);
    }

    #[test]
    fn sums_by_hand() {
        let a: Vec<f64> = (0..37).map(f64::from).collect();
        assert_eq!([sum(&a), dot(&a, &a)], [666.0, 16206.0]);
    }

    #[test]
    fn ends_and_odd_values() {
        assert_eq!([exp(0.0), exp(-0.0)], [1.0; 2]);
        assert_eq!([exp(f64::NEG_INFINITY), exp(-709.0)], [0.0; 2]);
        assert_eq!([exp(f64::INFINITY), exp(1e300)], [f64::INFINITY; 2]);
        assert!(exp(f64::NAN).is_nan());
        assert_eq!([ln(1.0), ln_1p(0.0), ln_1p(1.0)], [0.0, 0.0, std::f64::consts::LN_2]);
        assert_eq!([ln(f64::MIN_POSITIVE), ln(f64::MAX)], [f64::MIN_POSITIVE.ln(), f64::MAX.ln()]);
    }
}
