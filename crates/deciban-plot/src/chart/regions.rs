//! A scatter of two features with ellipses of one and two standard deviations and the regions of
//! decisions: each place has the colour of the action of least expected cost.

use super::contour;
use super::surface::{Grid, tint};
use crate::{Anchor, Axis, Dash, Figure, PALETTE, Paint};

/// The points of one class.
#[derive(Clone, Copy, Debug)]
pub struct Cloud<'a> {
    /// The class.
    pub name: &'a str,
    /// First feature.
    pub xs: &'a [f64],
    /// Second feature.
    pub ys: &'a [f64],
}

/// A mean and a covariance of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct Ellipse {
    /// The number of the class.
    pub class: usize,
    /// The middle.
    pub mean: [f64; 2],
    /// Variance of the first, covariance, variance of the second.
    pub covariance: [f64; 3],
}

/// What is decided where.
#[derive(Clone, Debug)]
pub struct Regions<'a> {
    /// The places.
    pub grid: Grid,
    /// The names of actions; those that are names of clouds have their colours.
    pub actions: &'a [String],
    /// The expected cost of each action at each point of the grid.
    pub costs: &'a [f64],
}

impl Regions<'_> {
    fn best(&self, point: usize) -> Option<usize> {
        let n = self.actions.len();
        let costs = self.costs.get(point * n..(point + 1) * n)?;
        let known = !costs.iter().any(|c| c.is_nan());
        known.then(|| (0..n).reduce(|a, b| if costs[b] < costs[a] { b } else { a }))?
    }

    /// How much the best other action costs more than this one: zero on the border of its region.
    fn advantage(&self, point: usize, action: usize) -> f64 {
        let n = self.actions.len();
        let Some(costs) = self.costs.get(point * n..(point + 1) * n) else { return f64::NAN };
        let others = costs.iter().enumerate().filter(|(a, _)| *a != action).map(|(_, c)| *c);
        others.fold(f64::INFINITY, f64::min) - costs[action]
    }
}

/// The chart; ellipses and regions may be left out.
pub fn regions(x: &str, y: &str, clouds: &[Cloud<'_>], ellipses: &[Ellipse], regions: Option<&Regions<'_>>) -> Figure {
    let (mut x_axis, mut y_axis) = (Axis::linear(x), Axis::linear(y));
    if let Some(Regions { grid, .. }) = regions {
        x_axis = x_axis.from(grid.x.0).to(grid.x.1);
        y_axis = y_axis.from(grid.y.0).to(grid.y.1);
    }
    let mut figure = Figure::new("").x(x_axis).y(y_axis);
    if let Some(regions) = regions {
        let series = |action: usize| clouds.iter().position(|c| c.name == regions.actions[action]);
        let image = regions.grid.image(|i| match regions.best(i) {
            Some(action) => tint(series(action), 0.25),
            None => [0; 4],
        });
        figure = figure.picture(image, regions.grid.x, regions.grid.y);
    }
    // Clouds first in the legend, so that their order is that of the classes.
    for (k, cloud) in clouds.iter().enumerate() {
        figure = figure.points(cloud.name, cloud.xs, cloud.ys).series_of(k);
    }
    for ellipse in ellipses {
        for (radius, dash) in [(1.0, Dash::Solid), (2.0, Dash::Dashed)] {
            if let Some((xs, ys)) = outline(ellipse, radius) {
                figure = figure.line("", &xs, &ys).paint(Paint::Series(ellipse.class)).dash(dash).width(1.6);
            }
        }
    }
    // Colours begin again after the last: then names stand at the clouds.
    let labelled = clouds.len() > PALETTE.len();
    if let Some(regions) = regions {
        let (xs, ys) = (regions.grid.xs(), regions.grid.ys());
        for (a, action) in regions.actions.iter().enumerate() {
            let (cx, cy) = contour(&xs, &ys, |i, j| regions.advantage(j * xs.len() + i, a), 0.0);
            figure = figure.line("", &cx, &cy).width(1.0).opacity(0.75);
            if !clouds.iter().any(|c| c.name == action) && (0..xs.len() * ys.len()).any(|i| regions.best(i) == Some(a))
            {
                figure = figure.boxes(action, &[]).paint(Paint::Series(6));
            }
        }
    }
    if labelled {
        for cloud in clouds {
            if let (Some(x), Some(y)) = (median(cloud.xs), median(cloud.ys)) {
                figure = figure.label(x, y, cloud.name, Anchor::Middle);
            }
        }
    }
    figure.legend(!labelled)
}

/// The middle of the finite values.
fn median(values: &[f64]) -> Option<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    finite.get(finite.len() / 2).copied()
}

/// The points at a Mahalanobis distance from the mean: μ + r L (cos t, sin t), Σ = LLᵀ.
fn outline(ellipse: &Ellipse, radius: f64) -> Option<(Vec<f64>, Vec<f64>)> {
    let [a, b, c] = ellipse.covariance;
    let l = a.sqrt();
    let (m, rest) = (b / l, c - b * b / a);
    if !(a > 0.0 && rest > 0.0 && c.is_finite()) {
        return None;
    }
    let turns = (0..=96).map(|i| f64::from(i) / 96.0 * std::f64::consts::TAU);
    let point = |t: f64| {
        let (cos, sin) = (radius * t.cos(), radius * t.sin());
        (ellipse.mean[0] + l * cos, ellipse.mean[1] + m * cos + rest.sqrt() * sin)
    };
    Some(turns.map(point).unzip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ellipses_are_at_their_distance() {
        let ellipse = Ellipse { class: 0, mean: [1.0, 2.0], covariance: [4.0, 1.0, 1.0] };
        let (xs, ys) = outline(&ellipse, 2.0).unwrap();
        for (x, y) in xs.iter().zip(&ys) {
            // (x − μ)ᵀ Σ⁻¹ (x − μ) with Σ⁻¹ = [[1, −1], [−1, 4]] / 3.
            let (u, v) = (x - 1.0, y - 2.0);
            assert!(((u * u - 2.0 * u * v + 4.0 * v * v) / 3.0 - 4.0).abs() < 1e-12);
        }
        assert!(outline(&Ellipse { covariance: [1.0, 1.0, 1.0], ..ellipse }, 1.0).is_none());
    }

    #[test]
    fn clouds_of_many_classes_have_their_names_instead_of_a_legend() {
        let names: Vec<String> = ('A'..='Z').map(String::from).collect();
        let clouds: Vec<Cloud<'_>> = names.iter().map(|name| Cloud { name, xs: &[1.0], ys: &[2.0] }).collect();
        let svg = regions("x", "y", &clouds, &[], None).svg();
        assert!(names.iter().all(|name| svg.matches(&format!(">{name}</text>")).count() == 1));
        // A legend would say that there are more.
        assert!(!svg.contains("more</text>"));
        assert!(regions("x", "y", &clouds[..7], &[], None).svg().contains(">G</text>"));
    }

    #[test]
    fn the_cheapest_action_wins() {
        let grid = Grid { x: (0.0, 2.0), y: (0.0, 1.0), columns: 2, rows: 1 };
        assert_eq!(grid.points(), [[0.5, 0.5], [1.5, 0.5]]);
        let actions = ["a".to_string(), "b".to_string()];
        let regions = Regions { grid, actions: &actions, costs: &[0.1, 0.9, f64::NAN, 0.0] };
        assert_eq!((regions.best(0), regions.best(1), regions.best(2)), (Some(0), None, None));
        assert!((regions.advantage(0, 0) - 0.8).abs() < 1e-15);
    }
}
