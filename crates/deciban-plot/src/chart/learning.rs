//! Learning curves: how a figure of merit falls as rows or passes grow, with bands for its spread.

use super::view::view;
use crate::{Axis, Figure};

/// One learner.
#[derive(Clone, Debug)]
pub struct LearningCurve<'a> {
    /// Its name.
    pub name: &'a str,
    /// Rows or passes.
    pub size: &'a [f64],
    /// The figure of merit.
    pub loss: &'a [f64],
    /// Its ends of an interval, or nothing.
    pub interval: Option<(&'a [f64], &'a [f64])>,
}

/// The chart, with a logarithmic axis of sizes. The axis of losses is that of the points: a few that lie far above
/// or below all others are outside of it, and the second line says how many. Intervals widen it by half of its
/// length on either side at most, and are cut off there.
pub fn learning(size: &str, loss: &str, curves: &[LearningCurve<'_>]) -> Figure {
    /// The share of points on either side that may be left out.
    const FAR: f64 = 0.1;
    let losses: Vec<f64> = curves.iter().flat_map(|c| c.loss).copied().collect();
    let mut axis = Axis::linear(loss);
    let mut note = String::new();
    if let Some(points) = view(&losses, FAR) {
        let length = points.high - points.low;
        // A single point has its whole interval.
        let reach = if length > 0.0 { 0.5 * length } else { f64::INFINITY };
        // A point outside of the axis does not show its interval.
        let is_shown = |y: f64| y >= points.low && y <= points.high;
        let intervals = || curves.iter().filter_map(|c| Some((c.loss, c.interval?)));
        let ends = || {
            intervals().flat_map(|(loss, (low, high))| {
                let ends = low.iter().zip(high).zip(loss).filter(|(_, loss)| is_shown(**loss));
                ends.flat_map(|((low, high), _)| [*low, *high])
            })
        };
        let finite = || ends().filter(|y| y.is_finite());
        let low = finite().fold(points.low, f64::min).max(points.low - reach);
        let high = finite().fold(points.high, f64::max).min(points.high + reach);
        if points.outside > 0 || finite().any(|y| y < low || y > high) {
            let room = 0.04 * (high - low);
            axis = axis.from(low - room).to(high + room);
        }
        note = points.note("point");
    }
    let mut figure = Figure::new("Learning curve").subtitle(&note).x(Axis::log(size)).y(axis);
    for curve in curves {
        figure =
            figure.line(curve.name, curve.size, curve.loss).points(curve.name, curve.size, curve.loss).opacity(1.0);
        if let Some((low, high)) = curve.interval {
            figure = figure.area(curve.name, curve.size, low, high);
        }
    }
    figure.alt(&format!("{loss} over {size}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue: a log loss of 15 nats at the fewest rows hid that all others differ.
    #[test]
    fn one_outlier_does_not_flatten_a_learning_curve() {
        let size = [25.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0, 6400.0, 12800.0];
        let loss = [15.0, 0.5, 0.4, 0.3, 0.28, 0.27, 0.26, 0.255, 0.25, 0.25];
        let (low, high) = (loss.map(|y| 0.9 * y), loss.map(|y| 1.1 * y));
        let curve = LearningCurve { name: "a", size: &size, loss: &loss, interval: Some((&low, &high)) };
        let figure = learning("rows", "log loss", std::slice::from_ref(&curve));
        assert_eq!(figure.subtitle, "1 point lies outside the axis");
        let (from, to) = figure.y.ends([0.0, 15.0].into_iter());
        assert!(from > 0.2 && to < 0.6, "{from} {to}");
        // Without it, nothing is left out.
        let curve = LearningCurve { size: &size[1..], loss: &loss[1..], interval: None, ..curve };
        assert_eq!(learning("rows", "log loss", &[curve]).subtitle, "");
    }

    #[test]
    fn one_wide_interval_does_not_flatten_a_learning_curve() {
        let (size, loss) = ([25.0, 100.0, 400.0, 1600.0], [0.5, 0.4, 0.3, 0.25]);
        let (low, high) = ([-30.0, 0.38, 0.29, 0.24], [31.0, 0.42, 0.31, 0.26]);
        let curve = LearningCurve { name: "a", size: &size, loss: &loss, interval: Some((&low, &high)) };
        let figure = learning("rows", "log loss", &[curve]);
        let (from, to) = figure.y.ends([-30.0, 31.0].into_iter());
        assert!((from - (0.125 - 0.02)).abs() < 1e-9 && (to - (0.625 + 0.02)).abs() < 1e-9, "{from} {to}");
        assert_eq!(figure.subtitle, "");
    }
}
