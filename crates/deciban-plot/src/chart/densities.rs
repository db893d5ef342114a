//! Histograms of each class with the densities fitted to them, and their counterpart for categories.
//!
//! A histogram's bar is wₖ / (w · width), so that bars and curve both have area 1. Bins are as wide
//! as Freedman and Diaconis (1981) say, 2 · IQR / n^⅓ over all classes; whole numbers have bins of
//! whole width.

use crate::{Axis, Figure};

/// The values of one class.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The class.
    pub name: &'a str,
    /// Its values; those that are not finite are left out.
    pub values: &'a [f64],
    /// How much each counts; empty for all alike.
    pub weights: &'a [f64],
}

impl Sample<'_> {
    fn weighted(&self) -> impl Iterator<Item = (f64, f64)> {
        let weights =
            self.weights.iter().copied().chain(std::iter::repeat(if self.weights.is_empty() { 1.0 } else { 0.0 }));
        self.values.iter().copied().zip(weights).filter(|(x, _)| x.is_finite())
    }
}

/// Histograms of `samples`, and for each the curve of its density at the values `at`.
///
/// ```
/// use deciban_plot::chart::{Sample, densities};
/// let (a, b) = ([1.0, 1.5, 2.0], [3.0, 3.5, 3.5]);
/// let samples = [("a", &a), ("b", &b)].map(|(name, values)| Sample { name, values, weights: &[] });
/// let figure = densities("length", &samples, &[1.0, 2.0, 3.0], &[vec![0.3, 0.2, 0.0], vec![0.0, 0.1, 0.4]]);
/// assert!(figure.svg().contains("length"));
/// ```
pub fn densities(column: &str, samples: &[Sample<'_>], at: &[f64], curves: &[Vec<f64>]) -> Figure {
    let all: Vec<f64> = samples.iter().flat_map(|s| s.values.iter().copied()).collect();
    let edges = edges(all);
    let mut figure = Figure::new(column).x(Axis::linear(column)).y(Axis::linear("density").from(0.0)).alt(&format!(
        "Histogram of {column} for each class{}.",
        if curves.is_empty() { "" } else { " with its fitted density" }
    ));
    for sample in samples {
        figure = figure.boxes(sample.name, &bars(sample, &edges));
    }
    for (sample, curve) in samples.iter().zip(curves) {
        figure = figure.line(sample.name, at, curve);
    }
    figure
}

/// The shares of levels in each class as bars, and the fitted probabilities as markers.
/// `shares` and `fitted` are [class][level].
pub fn levels(column: &str, names: &[String], classes: &[&str], shares: &[Vec<f64>], fitted: &[Vec<f64>]) -> Figure {
    let mut figure = Figure::new(column)
        .x(Axis::names(column, names))
        .y(Axis::linear("share of the class").percent().from(0.0))
        .alt(&format!("Shares of the levels of {column} in each class."));
    let width = 0.8 / classes.len().max(1) as f64;
    let left = |class: usize, level: usize| level as f64 - 0.4 + width * class as f64;
    for (c, (class, shares)) in classes.iter().zip(shares).enumerate() {
        let bars: Vec<[f64; 4]> =
            shares.iter().enumerate().map(|(l, s)| [left(c, l), left(c, l) + width, 0.0, *s]).collect();
        figure = figure.boxes(class, &bars).opacity(0.5);
    }
    for (c, (class, fitted)) in classes.iter().zip(fitted).enumerate() {
        let xs: Vec<f64> = (0..fitted.len()).map(|l| left(c, l) + width / 2.0).collect();
        figure = figure.points(class, &xs, fitted).opacity(1.0);
    }
    figure
}

/// The bars of one class that are not empty.
fn bars(sample: &Sample<'_>, edges: &[f64]) -> Vec<[f64; 4]> {
    let bins = edges.len().saturating_sub(1);
    let mut counts = vec![0.0; bins];
    let mut total = 0.0;
    for (x, w) in sample.weighted() {
        total += w;
        let bin = edges.partition_point(|e| *e <= x).saturating_sub(1);
        if bins > 0 {
            counts[bin.min(bins - 1)] += w;
        }
    }
    let bar = |(i, count): (usize, &f64)| [edges[i], edges[i + 1], 0.0, count / total / (edges[i + 1] - edges[i])];
    counts.iter().enumerate().filter(|(_, c)| **c > 0.0).map(bar).collect()
}

/// Edges of bins over all values.
fn edges(mut values: Vec<f64>) -> Vec<f64> {
    values.retain(|x| x.is_finite());
    values.sort_by(f64::total_cmp);
    let (Some(&low), Some(&high)) = (values.first(), values.last()) else { return Vec::new() };
    let n = values.len() as f64;
    let quantile = |p: f64| values[((n - 1.0) * p) as usize];
    // Halves, lest the difference overflows.
    let range = high / 2.0 - low / 2.0;
    if values.iter().all(|x| x.fract() == 0.0) && range <= 40.0 {
        let bins = (high - low) as usize + 1;
        return (0..=bins).map(|i| low - 0.5 + i as f64).collect();
    }
    let width = 2.0 * (quantile(0.75) / 2.0 - quantile(0.25) / 2.0) / n.cbrt();
    let bins = if width > 0.0 { (range / width).ceil().clamp(8.0, 60.0) } else { 24.0 };
    if range <= 0.0 {
        let half = (0.05 * high.abs()).clamp(1e-300, 0.5);
        return vec![low - half, high + half];
    }
    (0..=bins as usize).map(|i| low + 2.0 * (range * (i as f64 / bins))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_area_one() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i).sqrt()).collect();
        let edges = edges(values.clone());
        let weights: Vec<f64> = (0..100).map(f64::from).collect();
        for weights in [&[][..], &weights] {
            let bars = bars(&Sample { name: "", values: &values, weights }, &edges);
            let area: f64 = bars.iter().map(|b| (b[1] - b[0]) * b[3]).sum();
            assert!((area - 1.0).abs() < 1e-12, "{area}");
        }
        // √0 ... √99: 2 · IQR / n^⅓ = 2 · (8.6 − 4.9) / 4.64, so 9.95 need 7 bins; 8 is the least.
        assert_eq!((edges.len(), edges[0]), (9, 0.0));
    }

    #[test]
    fn whole_numbers_have_bins_of_their_own() {
        assert_eq!(edges(vec![3.0, 1.0, 2.0, 2.0]), [0.5, 1.5, 2.5, 3.5]);
        let bars = bars(&Sample { name: "", values: &[1.0, 2.0, 2.0, 3.0], weights: &[] }, &[0.5, 1.5, 2.5, 3.5]);
        assert_eq!(bars, [[0.5, 1.5, 0.0, 0.25], [1.5, 2.5, 0.0, 0.5], [2.5, 3.5, 0.0, 0.25]]);
    }
}
