//! Bins of a histogram. They are as wide as Freedman and Diaconis (1981) say, 2 · IQR / n^⅓ over all
//! classes. Where all values are multiples of a step, as measurements of one decimal are, bins are a
//! whole number of steps wide: otherwise some would hold one step more than their neighbours, and the
//! histogram would look like a comb. Whole numbers of a small range have a bin each.

/// Edges of bins over finite values in ascending order.
pub fn edges(sorted: &[f64]) -> Vec<f64> {
    /// Whole numbers have a bin each up to this range.
    const EACH: f64 = 40.0;
    let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let n = sorted.len() as f64;
    let quantile = |p: f64| sorted[((n - 1.0) * p) as usize];
    // Halves, lest the difference overflows.
    let range = high / 2.0 - low / 2.0;
    let whole = sorted.iter().all(|x| x.fract() == 0.0);
    if range <= 0.0 {
        let half = if whole && high.abs() < 1e15 { 0.5 } else { (0.05 * high.abs()).clamp(1e-300, 0.5) };
        return vec![low - half, high + half];
    }
    let width = 2.0 * (quantile(0.75) / 2.0 - quantile(0.25) / 2.0) / n.cbrt();
    let bins = if width > 0.0 { (range / width).ceil().clamp(8.0, 60.0) } else { 24.0 };
    let Some(step) = resolution(sorted) else {
        let inner = (0..bins as usize).map(|i| low + 2.0 * (range * (i as f64 / bins)));
        return inner.chain([high]).collect();
    };
    let steps = (2.0 * range / step).round() + 1.0;
    let each = if whole && steps <= EACH + 1.0 { 1.0 } else { (steps / bins).round().max(1.0) };
    let bins = (steps / each).ceil();
    (0..=bins as usize).map(|i| low + step * (each * i as f64 - 0.5)).collect()
}

/// The largest step of which all differences between values are multiples, if there are at most a
/// thousand such steps: with more, nobody sees whether a bin has one step more.
fn resolution(sorted: &[f64]) -> Option<f64> {
    let range = sorted.last()? - sorted.first()?;
    if !(range > 0.0 && range.is_finite()) {
        return None;
    }
    // Differences below this are rounding.
    let close = 1e-5 * range;
    let mut step = 0.0;
    for pair in sorted.windows(2).filter(|pair| pair[1] - pair[0] > close) {
        step = divisor(step, pair[1] - pair[0], close);
        if step < 1e-3 * range {
            return None;
        }
    }
    (step > 0.0).then(|| range / (range / step).round())
}

/// The greatest common divisor, where remainders below `close` are none (Euclid).
fn divisor(mut a: f64, mut b: f64, close: f64) -> f64 {
    while b > close {
        let rest = a % b;
        (a, b) = (b, if b - rest <= close { 0.0 } else { rest });
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_bins_of_their_own() {
        assert_eq!(edges(&[1.0, 2.0, 2.0, 3.0]), [0.5, 1.5, 2.5, 3.5]);
        assert_eq!(edges(&[0.0, 1.0, 1.0]), [-0.5, 0.5, 1.5]);
        assert_eq!(edges(&[7.0, 7.0]), [6.5, 7.5]);
        assert_eq!(edges(&[]), [0.0; 0]);
    }

    /// Issue: bins of 1.37 steps hold one value or two in turn.
    #[test]
    fn histograms_of_rounded_values_are_not_combs() {
        for (step, count) in [(0.1, 60), (1.0, 137), (0.25, 90), (5.0, 200), (1e-3, 700)] {
            // The same number of rows at each step: every bar but the last must be of the same height.
            let values: Vec<f64> = (0..count * 20).map(|i| 3.0 + step * f64::from(i / 20)).collect();
            let edges = edges(&values);
            let inside = |w: &[f64]| values.iter().filter(|x| **x >= w[0] && **x < w[1]).count();
            let counts: Vec<usize> = edges.windows(2).map(inside).collect();
            assert!(counts.len() >= 8 && counts.len() <= 70, "{step}: {}", counts.len());
            assert_eq!(counts.iter().sum::<usize>(), values.len());
            assert!(counts[..counts.len() - 1].iter().all(|c| *c == counts[0]), "{step}: {counts:?}");
        }
    }

    #[test]
    fn steps_are_found_among_rounding() {
        let near = |a: Option<f64>, b: f64| assert!((a.unwrap() / b - 1.0).abs() < 1e-6, "{a:?} {b}");
        near(resolution(&[0.0, 2.0, 5.0]), 1.0);
        near(resolution(&[0.1, 0.3, 0.7, 0.9]), 0.2);
        // Single precision, as some files have it.
        near(resolution(&[9.58, 9.890001, 10.2, 10.82]), 0.31);
        let continuous: Vec<f64> = (0..100).map(|i| f64::from(i).sqrt()).collect();
        assert_eq!(resolution(&continuous), None);
        assert_eq!(resolution(&[f64::MIN, f64::MAX]), None);
    }
}
