//! The means of missing numbers given those of their row that are there, under one Gaussian for all rows.
//!
//! ẑ_m = −P_mm⁻¹ P_mo z_o,   z = (x − μ)/s,   P = R⁻¹
//!
//! μ, s and R are those of maximum likelihood for the cells that are there, found by expectation–maximisation in
//! standard deviations, where the covariance is shrunk towards the identity as by d rows: collinear columns, and fewer
//! rows than columns, leave it regular.

use rayon::prelude::*;

use super::gaps::{Gaps, Strips};
use super::incomplete::Standard;
use super::statistic::GaussianStatistic;
use super::{Gaussian, Strength};
use crate::data::Tile;
use crate::error::{Error, Result};
use crate::family::{Family, Names};
use crate::file::{Archive, Stored};
use crate::numerics::covariance::is_constant;
use crate::numerics::{Matrix, cholesky};
use crate::statistic::{Moments, NotFinite, Statistic};

/// What fills missing numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditional {
    mean: Vec<f64>,
    sd: Vec<f64>,
    /// The inverse of the correlations.
    precision: Matrix,
}

/// At most so many steps of expectation–maximisation, and fewer if means and covariances change by less, in standard
/// deviations: the numbers that are filled in are guesses anyway.
const STEPS: usize = 60;
const SMALL: f64 = 1e-4;
/// Rows that are filled at once.
const TALL: usize = 256;

impl Conditional {
    /// Learns from rows, given one after the other with NaN for a missing cell. Columns that do not vary have the means
    /// that are given. `None` where the cells are too large to have a covariance.
    pub fn learn(rows: &[f64], weights: &[f64], means: &[f64]) -> Result<Option<Self>> {
        let width = means.len();
        let moments = column_moments(rows, weights, width);
        let free: Vec<usize> = (0..width).filter(|&j| !is_constant(moments[j][1], moments[j][0])).collect();
        let mut all = Conditional { mean: means.to_vec(), sd: vec![1.0; width], precision: Matrix::identity(width) };
        if free.is_empty() {
            return Ok(Some(all));
        }
        let scale: Vec<f64> = free.iter().map(|&j| moments[j][1].sqrt()).collect();
        if scale.iter().any(|s| !s.is_finite()) {
            return Ok(None);
        }
        let tile = |rows: &[f64]| {
            let mut tile = Tile::default();
            tile.resize(rows.len() / width, free.len());
            for (k, &j) in free.iter().enumerate() {
                let cells = rows.iter().skip(j).step_by(width);
                tile.column_mut(k).iter_mut().zip(cells).for_each(|(z, x)| *z = (x - moments[j][0]) / scale[k]);
            }
            let strips = strips(&tile);
            (tile, strips)
        };
        let tiles: Vec<(Tile, Strips)> = rows.chunks(TALL * width).map(tile).collect();
        let Ok(own) = climb(&tiles, weights, free.len()) else { return Ok(None) };
        for (a, &i) in free.iter().enumerate() {
            (all.mean[i], all.sd[i]) = (moments[i][0] + scale[a] * own.mean[a], scale[a] * own.sd[a]);
            free.iter().enumerate().for_each(|(b, &j)| all.precision[(i, j)] = own.precision[(a, b)]);
        }
        Ok(Some(all))
    }

    /// The same for columns s(x − c).
    pub fn mapped(mut self, centre: &[f64], scale: &[f64]) -> Self {
        for (j, (c, s)) in centre.iter().zip(scale).enumerate() {
            (self.mean[j], self.sd[j]) = ((self.mean[j] - c) * s, self.sd[j] * s);
        }
        self
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    fn standard(&self) -> Standard<'_> {
        Standard { mean: &self.mean, sd: &self.sd, precision: &self.precision }
    }

    /// Sets the missing cells of rows to their means given the others.
    pub fn fill(&self, x: &mut Tile) -> Result<()> {
        self.standard().complete(x, &strips(x), None, None).map(|_| ())
    }
}

/// The rows of a tile that miss some of their cells.
fn strips(x: &Tile) -> Strips {
    let gaps = Gaps::of(x);
    gaps.strips(gaps.split_at(1).1)
}

/// Mean and variance of the cells of each column that are there; NaN where there are none. Rows are read as they lie.
fn column_moments(rows: &[f64], weights: &[f64], width: usize) -> Vec<[f64; 2]> {
    let mean_of = |f: &dyn Fn(usize, f64) -> f64| {
        let mut sums = vec![[0.0; 2]; width];
        for (row, w) in rows.chunks_exact(width).zip(weights) {
            for (j, (x, [sum, weight])) in row.iter().zip(&mut sums).enumerate().filter(|(_, (x, _))| !x.is_nan()) {
                (*sum, *weight) = (*sum + w * f(j, *x), *weight + w);
            }
        }
        sums.iter().map(|[sum, weight]| sum / weight).collect::<Vec<f64>>()
    };
    let means = mean_of(&|_, x| x);
    let variances = mean_of(&|j, x| (x - means[j]) * (x - means[j]));
    means.into_iter().zip(variances).map(<[f64; 2]>::from).collect()
}

/// Learns from rows in tiles, whose means are about 0 and variances about 1.
fn climb(tiles: &[(Tile, Strips)], weights: &[f64], d: usize) -> Result<Conditional> {
    let weight: f64 = weights.iter().sum();
    let prior = d as f64;
    let family = Gaussian { shrinkage: Strength::Fixed(prior / (weight + prior)), ..Gaussian::default() };
    let (columns, classes) = (vec![String::new(); d], [String::new()]);
    let fit = |moments: &Moments| {
        let names = Names { columns: &columns, levels: &[], classes: &classes };
        let density = family.fit(&[&GaussianStatistic::Full(moments.clone())], names)?;
        let (mean, sd) = (density.mean(0).to_vec(), density.factor(0).sd().to_vec());
        Ok(Conditional { mean, sd, precision: density.precision(0).clone() })
    };
    let is_whole = tiles.iter().all(|(tile, _)| tile.first_not_finite().is_none());
    let unit = Matrix::diagonal(&vec![weight; d]);
    let mut moments = Moments::from_parts(weights.len() as f64, weight, vec![0.0; d], unit)?;
    for _ in 0..if is_whole { 1 } else { STEPS } {
        let at: Conditional = fit(&moments)?;
        let part = |((tile, strips), weights): (&(Tile, Strips), &[f64])| {
            let (mut tile, mut part, mut spread) = (tile.clone(), Moments::empty(d), Matrix::zeros(d, d));
            at.standard().complete(&mut tile, strips, Some(weights), Some(&mut spread))?;
            let observed = part.observe(&mut tile, Some(weights));
            observed.map_err(|NotFinite| Error::Schema("a number is too large to be filled in".into()))?;
            part.add_scatter(&spread);
            Ok(part)
        };
        // Merged in their order: threads change no bit.
        let parts: Vec<Moments> = tiles.par_iter().zip(weights.par_chunks(TALL)).map(part).collect::<Result<_>>()?;
        let mut next = Moments::empty(d);
        parts.iter().try_for_each(|part| next.merge(part))?;
        let change = change(&moments, &next);
        moments = next;
        if change < SMALL {
            break;
        }
    }
    fit(&moments)
}

/// The largest change of a mean or a covariance.
fn change(a: &Moments, b: &Moments) -> f64 {
    let means = a.mean().iter().zip(b.mean()).map(|(a, b)| (a - b).abs());
    let cells = a.scatter().data().iter().zip(b.scatter().data());
    means.chain(cells.map(|(s, t)| (s / a.weight() - t / b.weight()).abs())).fold(0.0, f64::max)
}

impl Stored for Conditional {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let d = self.width();
        archive.put(&format!("{name}.mean"), &[d], &self.mean)?;
        archive.put(&format!("{name}.sd"), &[d], &self.sd)?;
        archive.put(&format!("{name}.precision"), &[d, d], self.precision.data())?;
        archive.put_json(name, &d)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let d: usize = archive.json(name)?;
        let mean = archive.finite(&format!("{name}.mean"), &[d])?.to_vec();
        let sd = archive.finite(&format!("{name}.sd"), &[d])?.to_vec();
        let precision = archive.finite(&format!("{name}.precision"), &[d, d])?.to_vec();
        if sd.iter().any(|s| *s <= 0.0) {
            return Err(archive.damaged(&format!("`{name}` has a standard deviation that is not positive")));
        }
        let precision = Matrix::from_columns(d, d, precision);
        // Then so is each part of it, which rows with missing cells are filled by.
        match cholesky(&precision) {
            Some(_) => Ok(Conditional { mean, sd, precision }),
            None => Err(archive.damaged(&format!("`{name}.precision` is not positive definite"))),
        }
    }
}
