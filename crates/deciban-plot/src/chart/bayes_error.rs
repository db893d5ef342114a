//! Bayes error curves: the error rate at each prior, as decided (actual), with the best threshold
//! there is (minimum), and without looking at the data at all (default). Between actual and
//! minimum lies what calibration could gain.

use super::percent;
use crate::{Axis, Dash, Figure, Paint};

/// Error rates over prior log-odds.
#[derive(Clone, Debug)]
pub struct BayesError<'a> {
    /// 10 log₁₀ π/(1 − π): decibans.
    pub log_odds: &'a [f64],
    /// Of the model's own decisions.
    pub actual: &'a [f64],
    /// Of the best thresholds.
    pub minimum: &'a [f64],
    /// min(π, 1 − π).
    pub default: &'a [f64],
}

/// The chart, with vertical lines at named applications.
pub fn bayes_error(curve: &BayesError<'_>, applications: &[(&str, f64)]) -> Figure {
    let largest = |ys: &[f64]| ys.iter().copied().filter(|y| y.is_finite()).fold(0.0, f64::max);
    let top = largest(curve.actual).max(largest(curve.minimum));
    // The default rises to 50%; it is cut where it says nothing.
    let top = if top > 0.0 { (1.25 * top).min(0.55) } else { 0.05 };
    let mut figure = Figure::new("Bayes error")
        .x(Axis::linear("prior log-odds (decibans)"))
        .y(Axis::linear("error rate").percent().from(0.0).to(top))
        .line("actual", curve.log_odds, curve.actual)
        .line("minimum", curve.log_odds, curve.minimum)
        .line("default", curve.log_odds, curve.default)
        .paint(Paint::Muted)
        .dash(Dash::Dotted);
    for (name, log_odds) in applications {
        figure = figure.rule_x(name, *log_odds).paint(Paint::Ink);
    }
    figure.alt(&format!(
        "Error rate over prior log-odds: the model's decisions err at most {}, the best thresholds at most {}.",
        percent(largest(curve.actual)),
        percent(largest(curve.minimum))
    ))
}
