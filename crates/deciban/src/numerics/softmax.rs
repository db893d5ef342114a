//! Posteriors from joint log-probabilities, p_c = exp((s_c − m) − ln Σ_k exp(s_k − m)), m = max s, of many rows at a
//! time. The maximum is subtracted first: m + ln Σ would lose the logarithm of the sum where |m| is large.
//!
//! The rows of a tile run side by side in the lanes of the vector unit, with one exponential a class, or one a row
//! where there are two classes. Where all classes are impossible the posterior is 0/0, and NaN.

use super::{Tile, lanes, vectorised};

/// What becomes of joint log-probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalise {
    /// p(class | x).
    Posterior,
    /// ln p(class | x).
    LogPosterior,
}

/// Replaces the scores of a tile, a column for each class, by (log-)posteriors.
///
/// ```
/// use deciban::data::Tile;
/// use deciban::numerics::{Normalise, normalise};
/// let mut tile = Tile::default();
/// tile.resize(1, 2);
/// tile.data_mut().copy_from_slice(&[-1000.0, -1000.0 + 3f64.ln()]);
/// normalise(&mut tile, Normalise::Posterior);
/// assert!((tile.column(1)[0] - 0.75).abs() < 1e-12);
/// ```
pub fn normalise(scores: &mut Tile, to: Normalise) {
    let rows = scores.rows();
    if scores.width() == 2 {
        let (first, second) = scores.data_mut().split_at_mut(rows);
        return match to {
            Normalise::Posterior => vectorised!(two_posteriors(first, second)),
            Normalise::LogPosterior => vectorised!(two_log_posteriors(first, second)),
        };
    }
    let (mut most, mut sum) = ([0.0; ROWS], [0.0; ROWS]);
    vectorised!(for start in (0..rows).step_by(ROWS) {
        let length = ROWS.min(rows - start);
        strip(scores.data_mut(), rows, start, &mut most[..length], &mut sum[..length], to);
    });
}

/// Writes for each row of a tile, which has a column for each class, the label of the class with the largest score. As
/// NumPy's `argmax` has it, this is the first of equal ones, and NaN is larger than all. `most` is a place for the
/// largest scores, which may be kept from call to call.
///
/// ```
/// use deciban::data::Tile;
/// use deciban::numerics::label_of_largest;
/// let (mut tile, mut labels) = (Tile::default(), [0; 2]);
/// tile.resize(2, 3);
/// tile.data_mut().copy_from_slice(&[1.0, 5.0, 2.0, 5.0, 2.0, 4.0]);
/// label_of_largest(&tile, &[10, 20, 30], &mut Vec::new(), &mut labels);
/// assert_eq!(labels, [20, 10]);
/// ```
pub fn label_of_largest<L: Copy>(scores: &Tile, labels: &[L], most: &mut Vec<f64>, out: &mut [L]) {
    let Some((&first, others)) = labels.split_first() else { return };
    out.fill(first);
    most.clear();
    most.extend_from_slice(scores.column(0));
    vectorised!(for (class, &label) in others.iter().enumerate() {
        for ((o, most), &s) in out.iter_mut().zip(&mut *most).zip(scores.column(class + 1)) {
            let is_larger = (s > *most) | (s.is_nan() & !most.is_nan());
            *o = if is_larger { label } else { *o };
            *most = if is_larger { s } else { *most };
        }
    });
}

/// So many rows at a time: their maxima and sums stay in the first-level cache.
const ROWS: usize = 256;

#[inline(always)]
fn strip(scores: &mut [f64], rows: usize, start: usize, most: &mut [f64], sum: &mut [f64], to: Normalise) {
    let length = most.len();
    most.fill(f64::NEG_INFINITY);
    sum.fill(0.0);
    for column in scores.chunks_exact(rows) {
        for (most, &s) in most.iter_mut().zip(&column[start..start + length]) {
            *most = if *most >= s { *most } else { s };
        }
    }
    for column in scores.chunks_exact_mut(rows) {
        let column = &mut column[start..start + length];
        for ((s, most), sum) in column.iter_mut().zip(&*most).zip(&mut *sum) {
            let p = lanes::exp(*s - most);
            *sum += p;
            *s = if to == Normalise::Posterior { p } else { *s };
        }
    }
    match to {
        Normalise::Posterior => sum.iter_mut().for_each(|sum| *sum = sum.recip()),
        // A sum is at least 1, or NaN.
        Normalise::LogPosterior => {
            for sum in sum.iter_mut() {
                *sum = if *sum >= 1.0 { lanes::ln(*sum) } else { f64::NAN };
            }
        }
    }
    for column in scores.chunks_exact_mut(rows) {
        let column = &mut column[start..start + length];
        match to {
            Normalise::Posterior => column.iter_mut().zip(&*sum).for_each(|(p, share)| *p *= share),
            Normalise::LogPosterior => {
                let totals = most.iter().zip(&*sum);
                column.iter_mut().zip(totals).for_each(|(s, (most, total))| *s = (*s - most) - total);
            }
        }
    }
}

#[inline(always)]
fn two_posteriors(first: &mut [f64], second: &mut [f64]) {
    for (a, b) in first.iter_mut().zip(second) {
        let d = *b - *a;
        // The less probable of the two, relative to the other.
        let e = lanes::exp(-d.abs());
        let more = (1.0 + e).recip();
        let less = e * more;
        (*a, *b) = if d > 0.0 { (less, more) } else { (more, less) };
    }
}

#[inline(always)]
fn two_log_posteriors(first: &mut [f64], second: &mut [f64]) {
    for (a, b) in first.iter_mut().zip(second) {
        let d = *b - *a;
        let more = -lanes::ln_1p(lanes::exp(-d.abs()));
        let less = more - d.abs();
        (*a, *b) = if d > 0.0 { (less, more) } else { (more, less) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::{Random, log_sum_exp};

    #[test]
    fn posteriors_are_those_of_each_row() {
        let mut random = Random::new(2);
        let odd = [f64::NEG_INFINITY, 0.0, -800.0, 800.0];
        for classes in 1..7 {
            for rows in [1, 5, ROWS + 3] {
                let mut tile = Tile::default();
                tile.resize(rows, classes);
                for s in tile.data_mut() {
                    let u = random.uniform();
                    *s = if u < 0.2 { odd[(20.0 * u) as usize] } else { 50.0 * random.normal() };
                }
                let (mut posterior, mut log) = (tile.clone(), tile.clone());
                normalise(&mut posterior, Normalise::Posterior);
                normalise(&mut log, Normalise::LogPosterior);
                for i in 0..rows {
                    let row: Vec<f64> = (0..classes).map(|k| tile.column(k)[i]).collect();
                    // Relative to the largest, so that the reference itself loses no digits.
                    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let row: Vec<f64> = row.iter().map(|s| s - most).collect();
                    let total = log_sum_exp(&row);
                    for (k, s) in row.iter().enumerate() {
                        let expected = s - total;
                        let (found, p) = (log.column(k)[i], posterior.column(k)[i]);
                        if expected.is_nan() {
                            assert!(found.is_nan() && p.is_nan(), "{row:?}");
                            continue;
                        }
                        let close = found == expected || (found - expected).abs() < 1e-12 * expected.abs().max(1.0);
                        assert!(close, "{row:?}: {found} {expected}");
                        assert!((p - expected.exp()).abs() < 1e-14, "{row:?}: {p} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_score_has_the_label_that_argmax_finds() {
        let odd = [f64::NEG_INFINITY, 0.0, -0.0, 1.0, f64::INFINITY, f64::NAN];
        let (rows, mut random) = (67, Random::new(3));
        for classes in 1..6 {
            let mut tile = Tile::default();
            tile.resize(rows, classes);
            tile.data_mut().iter_mut().for_each(|s| *s = odd[random.below(odd.len() as u64) as usize]);
            let (labels, mut found) = (Vec::from_iter(0..classes), vec![classes; rows]);
            label_of_largest(&tile, &labels, &mut Vec::new(), &mut found);
            for (i, &found) in found.iter().enumerate() {
                let row: Vec<f64> = (0..classes).map(|k| tile.column(k)[i]).collect();
                let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let expected = row.iter().position(|s| s.is_nan()).or(row.iter().position(|s| *s == largest));
                assert_eq!(Some(found), expected, "{row:?}");
            }
        }
    }

    #[test]
    fn a_score_that_is_no_number_leaves_no_posterior() {
        for classes in 2..5 {
            let mut tile = Tile::default();
            tile.resize(1, classes);
            tile.data_mut()[0] = f64::NAN;
            for to in [Normalise::Posterior, Normalise::LogPosterior] {
                let mut found = tile.clone();
                normalise(&mut found, to);
                assert!(found.data().iter().all(|p| p.is_nan()), "{to:?}");
            }
        }
    }
}
