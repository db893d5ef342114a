//! A function of two features as a coloured surface with lines of equal height.

use super::contour;
use crate::{Axis, Dash, Figure, Image, PALETTE, Paint};

/// Places of a grid: the middles of equal cells over a rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// From left to right.
    pub x: (f64, f64),
    /// From low to high.
    pub y: (f64, f64),
    /// Cells from left to right.
    pub columns: usize,
    /// Cells from low to high.
    pub rows: usize,
}

impl Grid {
    /// The middles along x.
    pub fn xs(&self) -> Vec<f64> {
        middles(self.x, self.columns)
    }

    /// The middles along y.
    pub fn ys(&self) -> Vec<f64> {
        middles(self.y, self.rows)
    }

    /// Both coordinates of every cell, row after row from the lowest.
    pub fn points(&self) -> Vec<[f64; 2]> {
        let xs = self.xs();
        self.ys().iter().flat_map(|y| xs.iter().map(|x| [*x, *y])).collect()
    }

    /// A picture of the cells, the highest row on top.
    pub(super) fn image(&self, pixel: impl Fn(usize) -> [u8; 4]) -> Image {
        Image::new(self.columns, self.rows, |i, j| pixel((self.rows - 1 - j) * self.columns + i))
    }
}

fn middles((low, high): (f64, f64), count: usize) -> Vec<f64> {
    (0..count).map(|i| low + (high - low) * ((i as f64 + 0.5) / count as f64)).collect()
}

/// The colour of a series with an opacity in 32 steps: a few colours make small files.
pub(super) fn tint(series: Option<usize>, opacity: f64) -> [u8; 4] {
    let [r, g, b] = series.map_or([0x80; 3], |k| PALETTE[k % PALETTE.len()]);
    let step = (opacity.clamp(0.0, 1.0) * 32.0).round() * 255.0 / 32.0;
    [r, g, b, step as u8]
}

/// The probability of a class over two features: `values` at the points of the grid, in the colour
/// of series `class`, with lines at 10%, 50% and 90%.
pub fn surface(grid: &Grid, values: &[f64], class: usize, x: &str, y: &str) -> Figure {
    let (xs, ys) = (grid.xs(), grid.ys());
    let value = |i: usize| values.get(i).copied().unwrap_or(f64::NAN);
    let image = grid.image(|i| tint(Some(class), if value(i).is_nan() { 0.0 } else { 0.7 * value(i) }));
    let mut figure = Figure::new("")
        .x(Axis::linear(x).from(grid.x.0).to(grid.x.1))
        .y(Axis::linear(y).from(grid.y.0).to(grid.y.1))
        .picture(image, grid.x, grid.y);
    for (level, name, dash) in [(0.1, "10%", Dash::Dotted), (0.5, "50%", Dash::Solid), (0.9, "90%", Dash::Dashed)] {
        let (cx, cy) = contour(&xs, &ys, |i, j| value(j * grid.columns + i), level);
        figure = figure.line(name, &cx, &cy).paint(Paint::Ink).dash(dash).width(1.3);
    }
    figure
}
