//! The reliability diagram: how often something happens against the probability that was said.
//! A calibrated model lies on the diagonal. Bars at the foot tell how many rows say so.

use crate::{Axis, Figure, Paint};

/// Bins of said probabilities.
#[derive(Clone, Debug)]
pub struct Reliability<'a> {
    /// Whose they are.
    pub name: &'a str,
    /// Mean of what was said in each bin.
    pub said: &'a [f64],
    /// How often it happened.
    pub happened: &'a [f64],
    /// The weight of rows.
    pub weights: &'a [f64],
}

/// The interval of Wilson (1927) for a share of `weight` rows at `z` standard errors: all p for which
/// |share − p| ≤ z √(p(1 − p)/weight). It lies within 0 and 1 and has a width also at both ends.
///
/// ```
/// use deciban_plot::chart::wilson;
/// // Nothing in ten: from 0 to z²/(n + z²) = 4/14.
/// let (low, high) = wilson(0.0, 10.0, 2.0);
/// assert!(low == 0.0 && (high - 4.0 / 14.0).abs() < 1e-15);
/// ```
pub fn wilson(share: f64, weight: f64, z: f64) -> (f64, f64) {
    let pseudo = z * z / weight;
    let middle = (share + pseudo / 2.0) / (1.0 + pseudo);
    let half = (pseudo * (share * (1.0 - share) + pseudo / 4.0)).sqrt() / (1.0 + pseudo);
    // Rounding must not lead beyond the ends, nor away from the share.
    ((middle - half).max(0.0).min(share), (middle + half).min(1.0).max(share))
}

/// The chart. Whiskers are [`wilson`] intervals of two standard errors.
pub fn reliability(curves: &[Reliability<'_>]) -> Figure {
    let mut figure = Figure::new("Reliability")
        .size(460.0, 470.0)
        .x(Axis::linear("probability said").percent().from(-0.03).to(1.03))
        .y(Axis::linear("how often it was so").percent().from(-0.03).to(1.03))
        .line("", &[0.0, 1.0], &[0.0, 1.0])
        .paint(Paint::Muted)
        .width(1.0);
    let most = curves.iter().flat_map(|c| c.weights).copied().fold(0.0, f64::max);
    let mut farthest: f64 = 0.0;
    for curve in curves {
        let foot = curve.said.iter().zip(curve.weights).filter(|_| curves.len() == 1);
        let bars: Vec<[f64; 4]> = foot.map(|(p, w)| [p - 0.012, p + 0.012, 0.0, 0.15 * w / most]).collect();
        if !bars.is_empty() {
            figure = figure.boxes("", &bars).paint(Paint::Muted).opacity(0.3);
        }
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        for ((p, h), w) in curve.said.iter().zip(curve.happened).zip(curve.weights).filter(|(_, w)| **w > 0.0) {
            if !(0.0..=1.0).contains(h) {
                continue;
            }
            let (low, high) = wilson(*h, *w, 2.0);
            xs.extend([*p, *p, f64::NAN]);
            ys.extend([low, high, f64::NAN]);
            farthest = farthest.max(low - p).max(p - high);
        }
        figure = figure
            .line(curve.name, curve.said, curve.happened)
            .points(curve.name, curve.said, curve.happened)
            .opacity(1.0)
            .line(curve.name, &xs, &ys)
            .dash(crate::Dash::Solid)
            .width(1.0)
            .opacity(0.6);
    }
    let judged = if farthest > 0.0 {
        "some bins lie off the diagonal by more than chance"
    } else {
        "all bins lie on the diagonal but for chance"
    };
    figure.alt(&format!("How often something was so against the probability said; {judged}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue: whiskers of p ± 2 standard errors went below 0 % and above 100 %.
    #[test]
    fn whiskers_stay_within_0_and_100_percent() {
        for weight in [1.0, 2.5, 10.0, 1e6] {
            for share in [0.0, 0.01, 0.5, 0.9, 1.0] {
                let (low, high) = wilson(share, weight, 2.0);
                assert!((0.0..=share).contains(&low) && (share..=1.0).contains(&high) && low < high);
                // At its ends the share is two standard errors off.
                for p in [low, high].into_iter().filter(|p| *p > 1e-9 && *p < 1.0 - 1e-9) {
                    let off = (share - p).abs() / (p * (1.0 - p) / weight).sqrt();
                    assert!((off - 2.0).abs() < 1e-6, "{share} {weight}: {off}");
                }
            }
        }
        // Three of twenty at 95 %.
        let (low, high) = wilson(0.15, 20.0, 1.959963984540054);
        assert!((low - 0.0523687459).abs() < 1e-9 && (high - 0.3604188647).abs() < 1e-9, "{low} {high}");
        let whisker = |y: f64| {
            let figure = reliability(&[Reliability {
                name: "a",
                said: &[0.03, 0.98],
                happened: &[0.0, 1.0],
                weights: &[3.0; 2],
            }]);
            figure.marks.iter().any(|m| match &m.shape {
                crate::figure::Shape::Line(points) => points.iter().any(|p| p[1] < -y || p[1] > 1.0 + y),
                _ => false,
            })
        };
        assert!(!whisker(0.0));
    }
}
