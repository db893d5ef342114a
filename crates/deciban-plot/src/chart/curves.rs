//! ROC and DET curves: how often a class is found against how often it is claimed wrongly, for
//! every threshold. DET has both errors on probit axes, where Gaussian scores give straight lines.

use crate::{Anchor, Axis, Figure, Paint};

/// The error rates of one detector over its thresholds.
#[derive(Clone, Debug)]
pub struct ErrorCurve<'a> {
    /// What it detects.
    pub name: &'a str,
    /// The share of others that are claimed.
    pub false_alarm: &'a [f64],
    /// The share of its own that are missed.
    pub miss: &'a [f64],
}

/// Receiver operating characteristic.
pub fn roc(curves: &[ErrorCurve<'_>]) -> Figure {
    let mut figure = Figure::new("ROC")
        .size(460.0, 470.0)
        .x(Axis::linear("false alarms").percent().from(-0.02).to(1.02))
        .y(Axis::linear("hits").percent().from(-0.02).to(1.02))
        .line("", &[0.0, 1.0], &[0.0, 1.0])
        .paint(Paint::Muted)
        .width(1.0);
    for curve in curves {
        let hits: Vec<f64> = curve.miss.iter().map(|m| 1.0 - m).collect();
        figure = figure.line(curve.name, curve.false_alarm, &hits);
    }
    figure.alt(&format!("Hits against false alarms of {}.", names(curves)))
}

/// Detection error trade-off, on probit axes.
pub fn det(curves: &[ErrorCurve<'_>]) -> Figure {
    // As far as the data tell: the smallest rate above zero, but not below 0.01%.
    let smallest = |side: fn(&ErrorCurve<'_>) -> f64| curves.iter().map(side).fold(0.1, f64::min).clamp(1e-4, 0.1);
    let (x, y) = (smallest(|c| least_above_zero(c.false_alarm)), smallest(|c| least_above_zero(c.miss)));
    let mut figure = Figure::new("DET")
        .size(460.0, 470.0)
        .x(Axis::probit("false alarms").from(0.8 * x).to(0.6))
        .y(Axis::probit("misses").from(0.8 * y).to(0.6))
        .line("", &[1e-5, 1e-3, 0.05, 0.5, 0.9], &[1e-5, 1e-3, 0.05, 0.5, 0.9])
        .paint(Paint::Muted)
        .width(1.0);
    for curve in curves {
        figure = figure.line(curve.name, curve.false_alarm, curve.miss);
    }
    let both = |c: &ErrorCurve<'_>| c.miss.iter().zip(c.false_alarm).any(|(m, f)| *m > 0.0 && *f > 0.0);
    if !curves.iter().any(both) {
        figure = figure.label(0.35, 0.13, "no threshold makes both errors", Anchor::Middle);
    }
    figure.alt(&format!(
        "Misses against false alarms of {}, on probit axes; equal errors lie on the diagonal.",
        names(curves)
    ))
}

fn least_above_zero(rates: &[f64]) -> f64 {
    rates.iter().copied().filter(|r| *r > 0.0).fold(1.0, f64::min)
}

fn names(curves: &[ErrorCurve<'_>]) -> String {
    curves.iter().map(|c| c.name).collect::<Vec<_>>().join(", ")
}
