//! Monotone maps that make each column standard normal.
//!
//! ```text
//! y(x): piecewise linear through (xᵢ, Φ⁻¹(pᵢ)),  pᵢ = P(X < xᵢ) + ½ P(X = xᵢ)
//! p(x) = p(y(x)) · Π dyⱼ/dxⱼ
//! ```
//!
//! Knots are even in asin √p, at most 512 of them. That function stabilises the variance of a
//! share, so neighbouring knots are equally well told apart everywhere. Knots even in p would draw
//! one straight line from Φ⁻¹(1/512) = −2.9 to the smallest value, knots even in y would follow
//! every single row of the tails.
//!
//! Beyond the ends the map goes on with the slope of the line from the end to the knot 5 % of the
//! knots further in (three at least): the mean slope there. The outermost interval alone would not
//! do: two values that nearly coincide make it as steep as chance will have it, and all that lies
//! beyond absurdly unlikely. A far outlier makes the mean slope flat, which is right: where one
//! row was found another one is no wonder.

use crate::data::Tile;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::normal_quantile;
use crate::statistic::Quantiles;

/// The most knots of a column.
const KNOTS: usize = 512;

/// The least step in y from knot to knot: smaller ones are rounding.
const STEP: f64 = 1e-9;

/// One monotone map per column.
///
/// ```
/// use deciban::{statistic::Quantiles, transform::Gaussianise};
/// let mut income = Quantiles::new();
/// income.observe(&[20.0, 30.0, 40.0, 60.0, 900.0], &[1.0; 5]);
/// let map = Gaussianise::fit(&[income]);
/// assert!((map.inverse(0, 0.0) - 40.0).abs() < 1e-9); // the median
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussianise {
    columns: Vec<Curve>,
}

/// A strictly increasing piecewise linear function, ready for evaluation.
#[derive(Clone, Debug, PartialEq)]
struct Curve {
    x: Vec<f64>,
    y: Vec<f64>,
    /// One before, between each two and after the knots.
    lines: Vec<Line>,
}

/// y + (X − x)·dy/dx. The slope is kept as a quotient: one of neighbouring subnormals overflows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    x: f64,
    y: f64,
    dx: f64,
    dy: f64,
    log_slope: f64,
}

impl Line {
    /// Through `at`, in the direction from `a` to `b`.
    fn new(at: (f64, f64), a: (f64, f64), b: (f64, f64)) -> Self {
        // A difference beyond the largest double saturates.
        let (dx, dy) = ((b.0 - a.0).min(f64::MAX), b.1 - a.1);
        Line { x: at.0, y: at.1, dx, dy, log_slope: dy.ln() - dx.ln() }
    }

    fn y(&self, x: f64) -> f64 {
        self.y + self.dy * ((x - self.x).clamp(f64::MIN, f64::MAX) / self.dx)
    }

    fn x(&self, y: f64) -> f64 {
        self.x + self.dx * ((y - self.y) / self.dy)
    }
}

impl Curve {
    /// The curve through these knots, which ascend strictly in x and y.
    fn new(knots: &[(f64, f64)]) -> Self {
        let n = knots.len();
        let (x, y) = knots.iter().copied().unzip();
        let lines = match *knots {
            [] => vec![Line::new((0.0, 0.0), (0.0, 0.0), (1.0, 1.0))],
            [at] => vec![Line::new(at, (0.0, 0.0), (1.0, 1.0)); 2],
            [first, .., last] => {
                let outer = n.div_ceil(20).max(3).min(n - 1);
                let before = Line::new(first, first, knots[outer]);
                let after = Line::new(last, knots[n - 1 - outer], last);
                let between = knots.windows(2).map(|k| Line::new(k[0], k[0], k[1]));
                std::iter::once(before).chain(between).chain([after]).collect()
            }
        };
        Curve { x, y, lines }
    }

    /// The knots of a column, fit for a curve: p so close to 0 or 1, or to its neighbour, that Φ⁻¹
    /// is infinite or the same are left out.
    fn fit(quantiles: &Quantiles) -> Self {
        let mut knots: Vec<(f64, f64)> = Vec::with_capacity(KNOTS);
        for (x, p) in quantiles.knots_even_in(KNOTS, |p| p.sqrt().asin()) {
            let y = normal_quantile(p);
            if y.is_finite() && knots.last().is_none_or(|last| y - last.1 > STEP) {
                knots.push((x, y));
            }
        }
        Curve::new(&knots)
    }

    /// Replaces each x by y and adds ln dy/dx.
    fn apply(&self, cells: &mut [f64], log_jacobian: &mut [f64]) {
        for (x, log_jacobian) in cells.iter_mut().zip(log_jacobian) {
            if !x.is_nan() {
                let line = &self.lines[self.x.partition_point(|knot| knot <= x)];
                *log_jacobian += line.log_slope;
                *x = line.y(*x);
            }
        }
    }

    fn inverse(&self, y: f64) -> f64 {
        self.lines[self.y.partition_point(|&knot| knot <= y)].x(y)
    }
}

impl Gaussianise {
    /// The maps of these columns. A constant column is only moved to 0, a column without values
    /// stays as it is.
    pub fn fit(sketches: &[Quantiles]) -> Self {
        Gaussianise { columns: sketches.iter().map(Curve::fit).collect() }
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Maps a tile in place and adds Σ ln dy/dx over its columns to each row's `log_jacobian`.
    /// A missing cell stays missing and adds nothing.
    pub fn apply(&self, tile: &mut Tile, log_jacobian: &mut [f64]) -> Result<()> {
        Error::check_shape("columns to gaussianise", self.columns.len(), tile.width())?;
        Error::check_shape("rows of the log-Jacobian", tile.rows(), log_jacobian.len())?;
        for (j, curve) in self.columns.iter().enumerate() {
            curve.apply(tile.column_mut(j), log_jacobian);
        }
        Ok(())
    }

    /// The x that a column's map takes to `y`: from normal draws back to the column's scale.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn inverse(&self, column: usize, y: f64) -> f64 {
        self.columns[column].inverse(y)
    }
}

impl Stored for Gaussianise {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let lengths: Vec<usize> = self.columns.iter().map(|curve| curve.x.len()).collect();
        let x: Vec<f64> = self.columns.iter().flat_map(|curve| &curve.x).copied().collect();
        let y: Vec<f64> = self.columns.iter().flat_map(|curve| &curve.y).copied().collect();
        archive.put_json(name, &lengths)?;
        archive.put(&format!("{name}.x"), &[x.len()], &x)?;
        archive.put(&format!("{name}.y"), &[y.len()], &y)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let damaged = || archive.damaged(&format!("`{name}` is not an increasing curve"));
        let lengths: Vec<usize> = archive.json(name)?;
        let total = lengths.iter().try_fold(0usize, |sum, n| sum.checked_add(*n)).ok_or_else(damaged)?;
        let x = archive.finite(&format!("{name}.x"), &[total])?;
        let y = archive.finite(&format!("{name}.y"), &[total])?;
        let knots: Vec<(f64, f64)> = x.iter().copied().zip(y.iter().copied()).collect();
        let mut rest = &knots[..];
        let mut columns = Vec::new();
        for n in lengths {
            // The lengths add up to the number of knots.
            let (column, others) = rest.split_at(n);
            // Beyond 40 the normal distribution has no doubles left.
            let sound = column.iter().all(|(_, y)| y.abs() <= 40.0);
            if !sound || !column.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1) {
                return Err(damaged());
            }
            columns.push(Curve::new(column));
            rest = others;
        }
        Ok(Gaussianise { columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{from_bytes, to_bytes};
    use crate::numerics::Random;

    fn log_normals(seed: u64, n: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| random.normal().exp()).collect()
    }

    fn tile(columns: &[&[f64]]) -> Tile {
        let mut tile = Tile::default();
        tile.resize(columns[0].len(), columns.len());
        columns.iter().enumerate().for_each(|(j, column)| tile.column_mut(j).copy_from_slice(column));
        tile
    }

    /// y and ln dy/dx of each x, in one column.
    fn apply(map: &Gaussianise, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut tile = tile(&[x]);
        let mut log_jacobian = vec![0.0; x.len()];
        map.apply(&mut tile, &mut log_jacobian).unwrap();
        (tile.column(0).to_vec(), log_jacobian)
    }

    fn moments(y: &[f64]) -> (f64, f64, f64, f64) {
        let mean = y.iter().sum::<f64>() / y.len() as f64;
        let central = |k: i32| y.iter().map(|y| (y - mean).powi(k)).sum::<f64>() / y.len() as f64;
        let sd = central(2).sqrt();
        (mean, sd, central(3) / sd.powi(3), central(4) / sd.powi(4))
    }

    #[test]
    fn a_log_normal_becomes_normal() {
        for (n, tolerance) in [(500, 0.02), (100_000, 0.002)] {
            let x = log_normals(1, n);
            let map = Gaussianise::fit(&[Quantiles::of(&x)]);
            let (mean, sd, skewness, _) = moments(&apply(&map, &x).0);
            assert!(mean.abs() < tolerance && (sd - 1.0).abs() < tolerance, "{n}: {mean}, {sd}");
            assert!(skewness.abs() < 2.0 * tolerance, "{n}: {skewness}");
        }
    }

    #[test]
    fn new_rows_become_normal_too() {
        let map = Gaussianise::fit(&[Quantiles::of(&log_normals(1, 100_000))]);
        let (mean, sd, skewness, kurtosis) = moments(&apply(&map, &log_normals(2, 100_000)).0);
        // About 4.5 standard errors, of the sample and of the map's own.
        assert!(mean.abs() < 0.02 && (sd - 1.0).abs() < 0.02, "{mean}, {sd}");
        assert!(skewness.abs() < 0.05 && (kurtosis - 3.0).abs() < 0.1, "{skewness}, {kurtosis}");
    }

    #[test]
    fn the_map_is_the_logarithm_also_in_the_tails() {
        let map = Gaussianise::fit(&[Quantiles::of(&log_normals(3, 1_000_000))]);
        for i in -40..=40 {
            let z = i as f64 / 10.0;
            let (y, log_jacobian) = apply(&map, &[z.exp()]);
            // ln x is the true map; a share p is known to √(p/n), y to √p/(φ(y)√n).
            let (error, bound) = ((y[0] - z).abs(), if z.abs() < 3.0 { 0.03 } else { 0.25 });
            assert!(error < bound, "at {z}: {}", y[0]);
            if z.abs() < 2.0 {
                assert!((log_jacobian[0] + z).abs() < 0.3, "at {z}: {}", log_jacobian[0]);
            }
        }
    }

    #[test]
    fn inverse_undoes_apply() {
        let map = Gaussianise::fit(&[Quantiles::of(&log_normals(4, 5000))]);
        let x: Vec<f64> = (0..2000).map(|i| (i as f64 - 500.0) * 0.05).chain([1e6, -1e6, 1e300]).collect();
        for (x, y) in x.iter().zip(apply(&map, &x).0) {
            assert!((map.inverse(0, y) - x).abs() <= 1e-12 * x.abs().max(1.0), "{x} became {}", map.inverse(0, y));
        }
        let y: Vec<f64> = (-800..=800).map(|i| i as f64 * 0.01).collect();
        let x: Vec<f64> = y.iter().map(|&y| map.inverse(0, y)).collect();
        assert!(x.is_sorted_by(|a, b| a < b));
        for (y, found) in y.iter().zip(apply(&map, &x).0) {
            assert!((found - y).abs() < 1e-9, "{y} became {found}");
        }
    }

    #[test]
    fn the_jacobian_is_the_derivative() {
        let x = log_normals(5, 2000);
        let map = Gaussianise::fit(&[Quantiles::of(&x)]);
        let mut sorted = x.clone();
        sorted.sort_by(f64::total_cmp);
        // Between two values there is no knot, so the difference quotient is exact.
        let mut checked = 0;
        for pair in [-5.0, 0.0].into_iter().chain(sorted).chain([1e3, 1e4]).collect::<Vec<_>>().windows(2) {
            let h = 0.25 * (pair[1] - pair[0]);
            let middle = pair[0] + 2.0 * h;
            let (y, log_jacobian) = apply(&map, &[middle - h, middle, middle + h]);
            if h > 1e-5 {
                let slope = (y[2] - y[0]) / (2.0 * h);
                assert!((slope.ln() - log_jacobian[1]).abs() < 1e-7, "at {middle}: {slope}");
                checked += 1;
            }
        }
        assert!(checked > 1500, "{checked}");
    }

    #[test]
    fn the_density_integrates_to_one() {
        let map = Gaussianise::fit(&[Quantiles::of(&log_normals(6, 20_000))]);
        let mut random = Random::new(7);
        let (low, high, n) = (-1.0, 60.0, 1_000_000);
        let x: Vec<f64> = (0..n).map(|_| low + (high - low) * random.uniform()).collect();
        let (y, log_jacobian) = apply(&map, &x);
        let log_phi = |y: f64| -0.5 * (y * y + (2.0 * std::f64::consts::PI).ln());
        let sum: f64 = y.iter().zip(&log_jacobian).map(|(&y, j)| (log_phi(y) + j).exp()).sum();
        let integral = (high - low) * sum / n as f64;
        assert!((integral - 1.0).abs() < 0.02, "{integral}");
    }

    #[test]
    fn beyond_the_ends_goes_the_mean_slope() {
        let mut x: Vec<f64> = (0..1000).map(|i| i as f64 / 1000.0).collect();
        let map = Gaussianise::fit(&[Quantiles::of(&x)]);
        // Of 480 knots the outer 24 are 24 of 1000 rows: (Φ⁻¹(0.0245) − Φ⁻¹(0.0005)) / 0.024 = 55.
        let slope = map.columns[0].lines[0].log_slope.exp();
        assert!((slope - 55.0).abs() < 3.0, "{slope}");
        assert!((apply(&map, &[-0.01]).0[0] - apply(&map, &[0.0]).0[0] + 0.01 * slope).abs() < 1e-12);
        // Values that nearly coincide with the ends change little, an outlier takes the slope along.
        x.extend([-1e-9, 1e6]);
        let map = Gaussianise::fit(&[Quantiles::of(&x)]);
        let y = apply(&map, &[-0.01, 2e6]).0;
        assert!(y[0] > -4.0 && y[0] < -3.4 && y[1] > 4.0 && y[1] < 5.0, "{y:?}");
    }

    #[test]
    fn constant_empty_and_two_valued_columns() {
        let columns =
            [Quantiles::of(&[7.0, 7.0, 7.0]), Quantiles::of(&[f64::NAN]), Quantiles::of(&[0.0, 0.0, 0.0, 1.0])];
        let map = Gaussianise::fit(&columns);
        let mut tile = tile(&[&[7.0, 9.5, f64::NAN], &[3.0, -1.0, f64::NAN], &[0.0, 1.0, f64::NAN]]);
        let mut log_jacobian = vec![1.0; 3];
        map.apply(&mut tile, &mut log_jacobian).unwrap();
        assert_eq!(tile.column(0)[..2], [0.0, 2.5]);
        assert_eq!(tile.column(1)[..2], [3.0, -1.0]);
        // 0 at p = 3/8, 1 at p = 7/8.
        let (low, high) = (normal_quantile(0.375), normal_quantile(0.875));
        assert_eq!(tile.column(2)[0], low);
        assert!((tile.column(2)[1] - high).abs() < 1e-15);
        assert!((log_jacobian[0] - 1.0 - (high - low).ln()).abs() < 1e-15);
        assert!((0..3).all(|j| tile.column(j)[2].is_nan()));
        assert_eq!(log_jacobian[2], 1.0);
        assert_eq!(map.inverse(0, 2.5), 9.5);
    }

    #[test]
    fn extreme_numbers_stay_numbers() {
        let hostile = [f64::MIN, -1e300, -5e-324, 0.0, 5e-324, 1e-310, 1.0, 1e9, 1e300, f64::MAX];
        for values in [&hostile[..], &hostile[2..6], &hostile[..2], &[f64::MIN, f64::MAX]] {
            let map = Gaussianise::fit(&[Quantiles::of(values)]);
            let (y, log_jacobian) = apply(&map, &hostile);
            assert!(y.iter().chain(&log_jacobian).all(|x| !x.is_nan()), "{values:?}: {y:?} {log_jacobian:?}");
            assert!(log_jacobian.iter().all(|j| j.is_finite()), "{values:?}: {log_jacobian:?}");
            assert!(y.is_sorted(), "{values:?}: {y:?}");
        }
    }

    #[test]
    fn a_weight_too_small_for_its_share_adds_no_knot() {
        let mut quantiles = Quantiles::new();
        quantiles.observe(&[1.0, 2.0, 3.0], &[1e-30, 1.0, 1e-30]);
        let map = Gaussianise::fit(&[quantiles]);
        let (y, log_jacobian) = apply(&map, &[0.0, 1.0, 2.0, 3.0, 4.0]);
        assert!(y.iter().chain(&log_jacobian).all(|x| x.is_finite()), "{y:?} {log_jacobian:?}");
        assert!(y.is_sorted_by(|a, b| a < b), "{y:?}");
    }

    #[test]
    fn shapes_are_checked_and_damaged_curves_refused() {
        let map =
            Gaussianise::fit(&[Quantiles::of(&log_normals(8, 100)), Quantiles::of(&[]), Quantiles::of(&[1.0, 2.0])]);
        assert_eq!(from_bytes::<Gaussianise>(&to_bytes(&map).unwrap()).unwrap(), map);
        assert!(map.apply(&mut tile(&[&[1.0]]), &mut [0.0]).is_err());
        assert!(Gaussianise::fit(&[]).apply(&mut Tile::default(), &mut [0.0]).is_err());
        for (x, y) in [(vec![1.0, 1.0], vec![0.0, 1.0]), (vec![1.0, 2.0], vec![0.0, 0.0])] {
            let damaged = Gaussianise { columns: vec![Curve { x, y, lines: vec![] }] };
            assert!(from_bytes::<Gaussianise>(&to_bytes(&damaged).unwrap()).is_err());
        }
    }
}
