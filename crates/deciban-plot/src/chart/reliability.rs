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

/// The chart. Whiskers are ± two standard errors of a share, √(p(1 − p)/w) with p as said.
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
            let error = 2.0 * (p * (1.0 - p) / w).sqrt();
            xs.extend([*p, *p, f64::NAN]);
            ys.extend([h - error, h + error, f64::NAN]);
            farthest = farthest.max((p - h).abs() - error);
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
