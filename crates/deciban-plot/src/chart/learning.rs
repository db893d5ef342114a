//! Learning curves: how a figure of merit falls as rows or passes grow, with bands for its spread.

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

/// The chart, with a logarithmic axis of sizes.
pub fn learning(size: &str, loss: &str, curves: &[LearningCurve<'_>]) -> Figure {
    let mut figure = Figure::new("Learning curve").x(Axis::log(size)).y(Axis::linear(loss));
    for curve in curves {
        figure =
            figure.line(curve.name, curve.size, curve.loss).points(curve.name, curve.size, curve.loss).opacity(1.0);
        if let Some((low, high)) = curve.interval {
            figure = figure.area(curve.name, curve.size, low, high);
        }
    }
    figure.alt(&format!("{loss} over {size}."))
}
