//! Rows with missing cells where a projection (PCA, LDA) stands before the densities.
//!
//! A model after a projection z = Wᵀ(x − c) says that classes differ in z alone: given z, the rest of x is the same
//! for all classes. What it is follows from the mean m and covariance T of all training rows, which the density
//! keeps: under N(m, T) the cells o that are there predict z by
//!
//! ẑ = E[z | x_o] = z̄ + Wᵀ T_:o T_oo⁻¹ (x_o − m_o),  A = cov ẑ = Wᵀ T_:o T_oo⁻¹ T_o: W,
//!
//! and ẑ is all that x_o says about z, and so about the class. In units in which all rows have z̄ = 0 and covariance
//! WᵀTW = I, a class with mean μ and covariance Σ of z gives
//!
//! ẑ ~ N(Aμ, AΣA + A − A²),  p(ẑ | a) / p(ẑ | b) = p(x_o | a) / p(x_o | b).
//!
//! With every cell there, A = I, and this is the density of z. Cells that say nothing make A singular; then the
//! density is that of ẑ in the directions in which it varies, and a row without any cell says nothing.

use std::f64::consts::TAU;
use std::sync::{Arc, OnceLock};

use super::density::{GaussianDensity, Tails};
use super::gaps::Pattern;
use crate::data::Tile;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::{Matrix, cholesky, dot, eigen, product, solve_lower};
use crate::statistic::{Moments, Statistic};

/// Mean and covariance of all rows, before the maps.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    mean: Vec<f64>,
    /// Both triangles count.
    covariance: Matrix,
}

impl Reference {
    /// Of the rows of all classes together.
    pub(super) fn of_classes(classes: &[Moments]) -> Result<Self> {
        let mut total = Moments::empty(classes.first().map_or(0, Moments::width));
        classes.iter().try_for_each(|class| total.merge(class))?;
        let mut covariance = total.scatter().clone();
        covariance.mirror_lower();
        covariance.data_mut().iter_mut().for_each(|x| *x /= total.weight());
        Ok(Reference { mean: total.mean().to_vec(), covariance })
    }

    /// The first column whose variance over all rows is beyond the largest double.
    pub(super) fn first_too_large(&self) -> Option<usize> {
        (0..self.mean.len()).find(|&j| !self.covariance[(j, j)].is_finite())
    }
}

impl Stored for Reference {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let (d, lower) = (self.mean.len(), self.covariance.lower());
        archive.put(&format!("{name}.mean"), &[d], &self.mean)?;
        archive.put(&format!("{name}.covariance"), &[lower.len()], &lower)?;
        archive.put_json(&format!("{name}.width"), &d)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let d: usize = archive.json(&format!("{name}.width"))?;
        let mean = archive.finite(&format!("{name}.mean"), &[d])?.to_vec();
        let cells = d.checked_mul(d + 1).map(|cells| cells / 2).unwrap_or(usize::MAX);
        let mut covariance = Matrix::from_lower(d, archive.finite(&format!("{name}.covariance"), &[cells])?);
        if (0..d).any(|j| covariance[(j, j)] < 0.0) {
            return Err(archive.damaged(&format!("`{name}` holds a negative variance")));
        }
        covariance.mirror_lower();
        Ok(Reference { mean, covariance })
    }
}

impl Reference {
    /// The number of columns.
    pub(super) fn width(&self) -> usize {
        self.mean.len()
    }
}

/// What all rows with missing cells need, made when the first is met.
#[derive(Clone, Debug, Default)]
pub(super) struct Whitened(OnceLock<Option<Arc<Coordinates>>>);

/// It follows from the rest of the density.
impl PartialEq for Whitened {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// u = L⁻¹(z − z̄), with WᵀTW = LLᵀ.
#[derive(Debug)]
struct Coordinates {
    /// The standard deviation of each column, 0 where it does not vary.
    sd: Vec<f64>,
    /// cov(x, u), column by column of x in standard deviations.
    with_u: Matrix,
    l: Matrix,
    /// The means and covariances of the groups.
    means: Vec<Vec<f64>>,
    covariances: Vec<Matrix>,
}

/// Variances of ẑ below this share of that of z are rounding.
const LEAST: f64 = 1e-12;

impl GaussianDensity {
    fn coordinates(&self, reference: &Reference) -> Option<Arc<Coordinates>> {
        let make = || {
            let (w, offset) = self.composed();
            let covariance = &reference.covariance;
            let tw = product(covariance, false, &w, false);
            let l = cholesky(&product(&w, true, &tw, false))?;
            let sd: Vec<f64> = (0..w.rows()).map(|j| covariance[(j, j)].sqrt()).collect();
            // cov(x, u) = T W L⁻ᵀ: one column of its transpose for each column of x.
            let mut with_u = Matrix::from_fn(w.columns(), w.rows(), |k, j| tw[(j, k)]);
            solve_lower(&l, false, &mut with_u);
            let with_u = Matrix::from_fn(w.columns(), w.rows(), |k, j| match sd[j] > 0.0 {
                true => with_u[(k, j)] / sd[j],
                false => 0.0,
            });
            let centre: Vec<f64> = w.transpose_times(&reference.mean).iter().zip(&offset).map(|(z, o)| z - o).collect();
            let mean = |mean: &Vec<f64>| {
                let delta = mean.iter().zip(&centre).map(|(m, c)| m - c).collect();
                let mut delta = Matrix::from_columns(centre.len(), 1, delta);
                solve_lower(&l, false, &mut delta);
                delta.data().to_vec()
            };
            let covariance = |group: usize| {
                let mut half = self.covariance(group);
                solve_lower(&l, false, &mut half);
                let mut whole = Matrix::from_fn(half.columns(), half.rows(), |i, j| half[(j, i)]);
                solve_lower(&l, false, &mut whole);
                whole
            };
            let groups = 0..self.factors().len();
            let (means, covariances) = (self.means().iter().map(mean).collect(), groups.map(covariance).collect());
            Some(Arc::new(Coordinates { sd, with_u, l, means, covariances }))
        };
        self.projected().0.get_or_init(make).clone()
    }

    /// Adds the scores of rows of a tile, in the units of the columns, that miss the same cells.
    pub(super) fn score_predicted(&self, tile: &Tile, pattern: &Pattern, out: &mut Tile) -> Result<()> {
        let singular = || Error::Schema("the directions of a projection depend on each other".into());
        let Some(reference) = self.reference().filter(|_| *self.tails() == Tails::Normal) else {
            // Checked before.
            return Err(singular());
        };
        let at = self.coordinates(reference).ok_or_else(singular)?;
        let cells = Predictor::new(reference, &at, &pattern.present);
        // A = QΛQᵀ; v = Λ^(−½) Qᵀ û has covariance I under N(m, T).
        let (values, vectors) = eigen(&cells.covariance()).ok_or_else(singular)?;
        let rank = values.iter().take_while(|value| **value > LEAST).count();
        if rank == 0 {
            return Ok(());
        }
        let q = vectors.rows();
        let values = &values[..rank];
        let basis = Matrix::from_columns(q, rank, vectors.data()[..q * rank].to_vec());
        // The volume of the directions of û in the units of z, with those of Λ.
        let spread = product(&at.l, false, &basis, false);
        let volume = cholesky(&product(&spread, true, &spread, false)).ok_or_else(singular)?;
        let log_units: f64 = (0..rank).map(|k| volume[(k, k)].ln() + 0.5 * values[k].ln()).sum();
        let mut v = Matrix::zeros(rank, pattern.rows.len());
        for (r, &i) in pattern.rows.iter().enumerate() {
            let predicted = basis.transpose_times(&cells.predict(tile, reference, &at, i));
            predicted.iter().zip(values).enumerate().for_each(|(k, (x, value))| v[(k, r)] = x / value.sqrt());
        }
        let root = |k: usize| values[k].sqrt();
        let factor = |covariance: &Matrix| {
            let turned = product(&basis, true, &product(covariance, false, &basis, false), false);
            cholesky(&Matrix::from_fn(rank, rank, |i, j| {
                let rest = if i == j { (1.0 - values[i]).max(0.0) } else { 0.0 };
                turned[(i, j)] * root(i) * root(j) + rest
            }))
        };
        let factors: Option<Vec<Matrix>> = at.covariances.iter().map(factor).collect();
        let factors = factors.ok_or_else(singular)?;
        for (group, mean) in at.means.iter().enumerate() {
            let l = &factors[self.factor_place(group)];
            let mean = basis.transpose_times(mean);
            let mut z = Matrix::from_fn(rank, v.columns(), |k, r| v[(k, r)] - root(k) * mean[k]);
            solve_lower(l, false, &mut z);
            let peak = self.log_volume()
                - 0.5 * rank as f64 * TAU.ln()
                - log_units
                - (0..rank).map(|k| l[(k, k)].ln()).sum::<f64>();
            let column = out.column_mut(group);
            for (r, &i) in pattern.rows.iter().enumerate() {
                let far: f64 = z.column(r).iter().map(|z| z * z).sum();
                column[i] += peak - 0.5 * if far.is_nan() { f64::INFINITY } else { far };
            }
        }
        Ok(())
    }
}

/// How u is predicted from some cells: the Cholesky factor of their correlations, row after row, without columns that
/// do not vary or follow from those before them, and Y = L⁻¹ cov(x_o, u).
struct Predictor {
    kept: Vec<usize>,
    /// Row a has a + 1 numbers.
    rows: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
    width: usize,
}

impl Predictor {
    fn new(reference: &Reference, at: &Coordinates, present: &[usize]) -> Self {
        let floor = 8.0 * reference.width() as f64 * f64::EPSILON;
        let width = at.with_u.rows();
        let mut all = Predictor { kept: Vec::new(), rows: Vec::new(), y: Vec::new(), width };
        for &j in present.iter().filter(|&&j| at.sd[j] > 0.0) {
            let column = reference.covariance.column(j);
            let mut row = Vec::with_capacity(all.kept.len() + 1);
            for (b, &i) in all.kept.iter().enumerate() {
                let before = &all.rows[b];
                let rest = column[i] / at.sd[i] / at.sd[j] - dot(&row, &before[..b]);
                row.push(rest / before[b]);
            }
            let rest = 1.0 - row.iter().map(|x| x * x).sum::<f64>();
            if rest <= floor {
                continue;
            }
            let pivot = rest.sqrt();
            let mut y = at.with_u.column(j).to_vec();
            for (x, before) in row.iter().zip(&all.y) {
                y.iter_mut().zip(before).for_each(|(y, b)| *y -= x * b);
            }
            y.iter_mut().for_each(|y| *y /= pivot);
            row.push(pivot);
            all.kept.push(j);
            all.rows.push(row);
            all.y.push(y);
        }
        all
    }

    /// A = YᵀY
    fn covariance(&self) -> Matrix {
        let mut a = Matrix::zeros(self.width, self.width);
        for y in &self.y {
            for (j, x) in y.iter().enumerate() {
                (0..self.width).for_each(|i| a[(i, j)] += x * y[i]);
            }
        }
        a
    }

    /// û = Yᵀ L⁻¹ x_o of a row.
    fn predict(&self, tile: &Tile, reference: &Reference, at: &Coordinates, i: usize) -> Vec<f64> {
        let (mut white, mut u) = (Vec::with_capacity(self.kept.len()), vec![0.0; self.width]);
        for ((&j, row), y) in self.kept.iter().zip(&self.rows).zip(&self.y) {
            let x = (tile.column(j)[i] - reference.mean[j]) / at.sd[j];
            let a = white.len();
            white.push((x - dot(&row[..a], &white)) / row[a]);
            u.iter_mut().zip(y).for_each(|(u, y)| *u += y * white[a]);
        }
        u
    }
}
