//! Histograms of each class with the densities fitted to them, and their counterpart for categories.
//!
//! A histogram's bar is wₖ / (w · width), so that bars and curve both have area 1.

use super::bins::edges;
use super::view::view;
use crate::{Axis, Figure};

/// The share of far values on either side that an axis of values may leave out.
pub const FAR: f64 = 0.01;

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
/// Where each bin is a whole number and `at` are whole numbers, the curve has steps as wide as the bins.
/// The axis is the [`view`] of all values that leaves out at most [`FAR`].
///
/// ```
/// use deciban_plot::chart::{Sample, densities};
/// let (a, b) = ([1.0, 1.5, 2.0], [3.0, 3.5, 3.5]);
/// let samples = [("a", &a), ("b", &b)].map(|(name, values)| Sample { name, values, weights: &[] });
/// let figure = densities("length", &samples, &[1.0, 2.0, 3.0], &[vec![0.3, 0.2, 0.0], vec![0.0, 0.1, 0.4]]);
/// assert!(figure.svg().contains("length"));
/// ```
pub fn densities(column: &str, samples: &[Sample<'_>], at: &[f64], curves: &[Vec<f64>]) -> Figure {
    let mut all: Vec<f64> = samples.iter().flat_map(|s| s.values.iter().copied()).filter(|x| x.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let shown = view(&all, FAR);
    if let Some(shown) = shown {
        all.retain(|x| (shown.low..=shown.high).contains(x));
    }
    let edges = edges(&all);
    let mut axis = Axis::linear(column);
    let note = shown.map(|v| v.note("value")).unwrap_or_default();
    if let (false, [first, .., last]) = (note.is_empty(), &edges[..]) {
        axis = axis.from(*first).to(*last);
    }
    let steps = edges.windows(2).all(|w| w[1] - w[0] == 1.0) && at.iter().all(|x| x.fract() == 0.0);
    let mut figure = Figure::new(column).subtitle(&note).x(axis).y(Axis::linear("density").from(0.0)).alt(&format!(
        "Histogram of {column} for each class{}.",
        if curves.is_empty() { "" } else { " with its fitted density" }
    ));
    for sample in samples {
        figure = figure.boxes(sample.name, &bars(sample, &edges));
    }
    for (sample, curve) in samples.iter().zip(curves) {
        figure = match steps {
            true => {
                let xs: Vec<f64> = at.iter().flat_map(|x| [x - 0.5, x + 0.5]).collect();
                let ys: Vec<f64> = curve.iter().flat_map(|y| [*y, *y]).collect();
                figure.line(sample.name, &xs, &ys)
            }
            false => figure.line(sample.name, at, curve),
        };
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
    let [first, .., last] = edges else { return Vec::new() };
    let bins = edges.len() - 1;
    let mut counts = vec![0.0; bins];
    let mut total = 0.0;
    for (x, w) in sample.weighted() {
        total += w;
        if (*first..=*last).contains(&x) {
            counts[(edges.partition_point(|e| *e <= x) - 1).min(bins - 1)] += w;
        }
    }
    let bar = |(i, count): (usize, &f64)| [edges[i], edges[i + 1], 0.0, count / total / (edges[i + 1] - edges[i])];
    counts.iter().enumerate().filter(|(_, c)| **c > 0.0).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_area_one() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i).sqrt()).collect();
        let edges = edges(&values);
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
    fn a_bin_of_each_whole_number() {
        let bars = bars(&Sample { name: "", values: &[1.0, 2.0, 2.0, 3.0], weights: &[] }, &[0.5, 1.5, 2.5, 3.5]);
        assert_eq!(bars, [[0.5, 1.5, 0.0, 0.25], [1.5, 2.5, 0.0, 0.5], [2.5, 3.5, 0.0, 0.25]]);
    }

    /// The corners of the first line of a figure, in the units of the data.
    fn first_line(figure: &Figure) -> Vec<[f64; 2]> {
        let line = figure.marks.iter().find_map(|m| match &m.shape {
            crate::figure::Shape::Line(points) => Some(points.clone()),
            _ => None,
        });
        line.unwrap()
    }

    /// Issue: the curve of a column of whole numbers was a line between them, where nothing is.
    #[test]
    fn fitted_curves_on_integer_columns_are_steps_over_the_bins() {
        let sample = [Sample { name: "a", values: &[0.0, 1.0, 1.0, 2.0], weights: &[] }];
        let poisson = vec![0.368, 0.368, 0.184];
        let steps = first_line(&densities("n", &sample, &[0.0, 1.0, 2.0], std::slice::from_ref(&poisson)));
        assert_eq!(steps, [[-0.5, 0.368], [0.5, 0.368], [0.5, 0.368], [1.5, 0.368], [1.5, 0.184], [2.5, 0.184]]);
        // A curve of numbers that are not whole stays a line.
        let sample = [Sample { name: "a", values: &[0.1, 1.2, 1.7, 2.0], weights: &[] }];
        assert_eq!(first_line(&densities("x", &sample, &[0.0, 1.0, 2.0], &[poisson])).len(), 3);
    }

    #[test]
    fn far_values_do_not_flatten_a_histogram() {
        let mut values: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.37).sin()).collect();
        values.push(1e6);
        let figure = densities("x", &[Sample { name: "a", values: &values, weights: &[] }], &[], &[]);
        assert!(figure.svg().contains(">1 value lies outside the axis</text>"));
        let boxes = figure.marks.iter().map(|m| match &m.shape {
            crate::figure::Shape::Boxes(boxes) => boxes.clone(),
            _ => Vec::new(),
        });
        let boxes = boxes.collect::<Vec<_>>().concat();
        assert!(boxes.len() >= 8 && boxes.iter().all(|b| b[1] <= 1.0));
        let area: f64 = boxes.iter().map(|b| (b[1] - b[0]) * b[3]).sum();
        assert!((area - 1000.0 / 1001.0).abs() < 1e-12);
    }
}
