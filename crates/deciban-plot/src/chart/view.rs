//! The part of some values that an axis shows. A few far values would press all others together: they
//! are left out of sight, and the figure says how many they are.

/// The ends of an axis and how many values lie beyond them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The least value that is shown.
    pub low: f64,
    /// The largest value that is shown.
    pub high: f64,
    /// How many values are not shown.
    pub outside: usize,
}

/// The range of the finite values (`None` if there are none). On each side, values beyond Tukey's outer
/// fence (three interquartile ranges from the quartiles) are left out if they are at most a `share` of
/// all, or a single one, and only if what is left is less than two fifths of the whole range.
///
/// ```
/// use deciban_plot::chart::view;
/// let losses = [0.31, 0.28, 0.27, 0.26, 0.25, 0.25, 0.24, 15.0];
/// let shown = view(&losses, 0.05).unwrap();
/// assert_eq!((shown.low, shown.high, shown.outside), (0.24, 0.31, 1));
/// ```
pub fn view(values: &[f64], share: f64) -> Option<View> {
    /// With fewer values, one of them is not a few.
    const FEW: usize = 8;
    let mut sorted: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let whole = View { low: *sorted.first()?, high: *sorted.last()?, outside: 0 };
    if n < FEW {
        return Some(whole);
    }
    let left_out = ((n as f64 * share) as usize).clamp(1, n / 4);
    let (q1, q3) = (sorted[n / 4], sorted[n - 1 - n / 4]);
    let low = sorted[left_out].min(q1 - 3.0 * (q3 - q1));
    let high = sorted[n - 1 - left_out].max(q3 + 3.0 * (q3 - q1));
    let inside = &sorted[sorted.partition_point(|x| *x < low)..sorted.partition_point(|x| *x <= high)];
    // The quartiles lie between the fences.
    let shown = View { low: inside[0], high: inside[inside.len() - 1], outside: n - inside.len() };
    // Halves, lest a difference overflows.
    let half = |v: View| v.high / 2.0 - v.low / 2.0;
    Some(if shown.high > shown.low && half(shown) < 0.4 * half(whole) { shown } else { whole })
}

impl View {
    /// Says how many values are not shown, or nothing if all are.
    pub fn note(&self, of: &str) -> String {
        match self.outside {
            0 => String::new(),
            1 => format!("1 {of} lies outside the axis"),
            n => format!("{n} {of}s lie outside the axis"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_value_is_left_out_and_counted() {
        let mut values: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.37).sin()).collect();
        let whole = view(&values, 0.01).unwrap();
        assert_eq!(whole.outside, 0);
        values.extend([500.0, -800.0, 900.0]);
        let shown = view(&values, 0.01).unwrap();
        assert_eq!(shown, View { outside: 3, ..whole });
        assert_eq!(shown.note("value"), "3 values lie outside the axis");
    }

    #[test]
    fn what_many_rows_have_is_shown() {
        // Nine of ten are zero: the others are no outliers, though every fence is zero.
        let spiked: Vec<f64> = (0..1000).map(|i| if i % 10 == 0 { f64::from(i) } else { 0.0 }).collect();
        assert_eq!(view(&spiked, 0.01).unwrap(), View { low: 0.0, high: 990.0, outside: 0 });
        // A curve that falls by halves has no outlier.
        let falling: Vec<f64> = (0..10).map(|i| 0.5f64.powi(i)).collect();
        assert_eq!(view(&falling, 0.05).unwrap().outside, 0);
        for hostile in [&[f64::MAX, f64::MIN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0][..], &[f64::NAN, 3.0]] {
            let shown = view(hostile, 0.05).unwrap();
            assert!(shown.low <= shown.high);
        }
        assert_eq!(view(&[f64::INFINITY], 0.05), None);
    }
}
