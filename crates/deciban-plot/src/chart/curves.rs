//! ROC and DET curves: how often a class is found against how often it is claimed wrongly, for
//! every threshold. DET has both errors on probit axes, where Gaussian scores give straight lines.

use crate::{Anchor, Axis, Dash, Figure, PALETTE, Paint};

/// How many curves have a colour and a name where there are more curves than colours: the others are
/// thin grey lines. One colour of the palette is a grey.
pub const COLOURED: usize = PALETTE.len() - 1;

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
    let hits: Vec<Vec<f64>> = curves.iter().map(|c| c.miss.iter().map(|m| 1.0 - m).collect()).collect();
    figure = lines(figure, curves, |i| &hits[i]);
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
    figure = lines(figure, curves, |i| curves[i].miss);
    let both = |c: &ErrorCurve<'_>| c.miss.iter().zip(c.false_alarm).any(|(m, f)| *m > 0.0 && *f > 0.0);
    if !curves.iter().any(both) && curves.iter().any(|c| !c.miss.is_empty()) {
        figure = figure.label(0.35, 0.13, "no threshold makes both errors", Anchor::Middle);
    }
    figure.alt(&format!(
        "Misses against false alarms of {}, on probit axes; equal errors lie on the diagonal.",
        names(curves)
    ))
}

/// The curves, the first of them on top of the others where not all have a colour.
fn lines<'a>(mut figure: Figure, curves: &[ErrorCurve<'_>], y: impl Fn(usize) -> &'a [f64]) -> Figure {
    let named = if curves.len() > PALETTE.len() { COLOURED } else { curves.len() };
    // Names in their order, whatever is drawn first.
    for curve in &curves[..named] {
        figure = figure.line(curve.name, &[], &[]);
    }
    let others = format!("{} others", curves.len() - named);
    for (i, curve) in curves.iter().enumerate().skip(named) {
        let line = figure.line(&others, curve.false_alarm, y(i));
        figure = line.paint(Paint::Muted).dash(Dash::Solid).width(0.8).opacity(0.5);
    }
    for (i, curve) in curves[..named].iter().enumerate() {
        figure = figure.line(curve.name, curve.false_alarm, y(i));
    }
    figure
}

fn least_above_zero(rates: &[f64]) -> f64 {
    rates.iter().copied().filter(|r| *r > 0.0).fold(1.0, f64::min)
}

fn names(curves: &[ErrorCurve<'_>]) -> String {
    let shown: Vec<&str> = curves.iter().take(12).map(|c| c.name).collect();
    match curves.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue: of 26 classes, three had the same colour.
    #[test]
    fn many_classes_have_colours_that_can_be_told_apart() {
        let names: Vec<String> = ('A'..='Z').map(String::from).collect();
        let (f, m) = ([0.0, 0.2, 1.0], [1.0, 0.3, 0.0]);
        let curves: Vec<ErrorCurve<'_>> =
            names.iter().map(|name| ErrorCurve { name, false_alarm: &f, miss: &m }).collect();
        for figure in [roc(&curves), det(&curves)] {
            let mut colours = std::collections::BTreeMap::new();
            for mark in figure.marks.iter().filter(|m| !m.name.is_empty()) {
                let colour = format!("{:?}", mark.paint);
                let first: &String = colours.entry(colour).or_insert(&mark.name);
                assert_eq!(first, &mark.name);
            }
            assert_eq!(colours.len(), COLOURED + 1);
            let svg = figure.svg();
            assert!(svg.contains(">A</text>") && svg.contains(">20 others</text>"));
        }
        // Seven have seven colours.
        assert!(roc(&curves[..7]).svg().contains(">G</text>"));
    }
}
