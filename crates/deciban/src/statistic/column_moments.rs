//! Weight, mean and scatter of columns one by one, so that a missing cell costs its column one row and the
//! others nothing. How rows join is told in `moments`.

use super::moments::{MOST_LOST, NotFinite, centre, lost, refuse_cancellation, remaining, roots, sum, two_sum};
use super::shifted_sums::{GroupSums, Joined};
use super::{Moments, Retract, Statistic};
use crate::data::Tile;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::{all_finite, vectorised};

/// Weight, mean and scatter of each of several columns on its own; missing cells (NaN) are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnMoments {
    rows: f64,
    weight: Vec<f64>,
    mean: Vec<f64>,
    low: Vec<f64>,
    scatter: Vec<f64>,
    /// Cells that were there, whatever their weight.
    cells: Vec<f64>,
}

impl ColumnMoments {
    /// The moments of no rows.
    pub fn empty(width: usize) -> Self {
        let zeros = vec![0.0; width];
        let [weight, mean, low, scatter, cells] = std::array::from_fn(|_| zeros.clone());
        ColumnMoments { rows: 0.0, weight, mean, low, scatter, cells }
    }

    /// The number of rows.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    /// The weight of each column's cells.
    pub fn weight(&self) -> &[f64] {
        &self.weight
    }

    /// The mean of each column.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The scatter of each column.
    pub fn scatter(&self) -> &[f64] {
        &self.scatter
    }

    /// The moments of (xⱼ − cⱼ)·sⱼ.
    pub fn scaled(&self, centre: &[f64], scale: &[f64]) -> ColumnMoments {
        let mut scaled = self.clone();
        for (j, (c, s)) in centre.iter().zip(scale).enumerate() {
            (scaled.mean[j], scaled.low[j]) = (((self.mean[j] - c) + self.low[j]) * s, 0.0);
            scaled.scatter[j] = self.scatter[j] * s * s;
        }
        scaled
    }

    /// Adds the rows of a tile, which is used up.
    pub fn observe(&mut self, tile: &mut Tile, weights: Option<&[f64]>) -> Result<(), NotFinite> {
        let rows = tile.rows();
        if rows == 0 {
            return Ok(());
        }
        let whole = weights.map_or(rows as f64, |w| w.iter().sum());
        let whole_roots = weights.map(roots);
        let weighted = weights.zip(whole_roots.as_deref());
        for j in 0..self.width() {
            let shift = (self.weight[j] > 0.0).then_some(self.mean[j]);
            let column = tile.column_mut(j);
            if all_finite(column) {
                let mean = vectorised!(centre(column, weighted, whole, shift));
                if !mean.0.is_finite() {
                    return Err(NotFinite);
                }
                self.join(j, rows as f64, whole, mean, vectorised!(sum(column, |x| x * x)));
                continue;
            }
            if column.iter().any(|x| x.is_infinite()) {
                return Err(NotFinite);
            }
            let there = |i: &usize| !column[*i].is_nan();
            let kept: Vec<f64> = weights.map_or(Vec::new(), |w| (0..rows).filter(there).map(|i| w[i]).collect());
            let mut cells: Vec<f64> = column.iter().copied().filter(|x| !x.is_nan()).collect();
            let weight = if weights.is_some() { kept.iter().sum() } else { cells.len() as f64 };
            let kept_roots = roots(&kept);
            let weighted = weights.map(|_| (kept.as_slice(), kept_roots.as_slice()));
            let mean = centre(&mut cells, weighted, weight, shift);
            if !mean.0.is_finite() && !cells.is_empty() {
                return Err(NotFinite);
            }
            self.join(j, cells.len() as f64, weight, mean, sum(&cells, |x| x * x));
        }
        self.rows += rows as f64;
        Ok(())
    }

    /// Whether there is a mean of every column.
    pub(crate) fn is_known(&self) -> bool {
        self.weight.iter().all(|weight| *weight > 0.0)
    }

    /// Adds rows by their sums about c, unless cells were missing or infinite, or c is so far off that Σ(x − c)² loses
    /// digits; the latter counts only where the sums can be taken again.
    pub(crate) fn join_sums(&mut self, of: GroupSums<'_>, is_last: bool) -> Joined {
        let total = if of.weight > 0.0 { of.weight } else { 1.0 };
        if !all_finite(of.squares) {
            return Joined::NotFinite;
        }
        let is_near = |(sum, square): (&f64, &f64)| sum * sum / total <= MOST_LOST * square;
        if !is_last && !of.sums.iter().zip(of.squares).all(is_near) {
            return Joined::Far;
        }
        for j in 0..self.width() {
            let (sum, square) = (of.sums[j], of.squares[j]);
            let scatter = (square - sum * (sum / total)).max(0.0);
            self.join(j, of.rows, of.weight, two_sum(of.centre[j], sum / total), scatter);
        }
        self.rows += of.rows;
        Joined::All
    }

    fn join(&mut self, j: usize, cells: f64, weight: f64, (mean, low): (f64, f64), scatter: f64) {
        self.cells[j] += cells;
        if weight == 0.0 {
            return;
        }
        let total = self.weight[j] + weight;
        if self.weight[j] == 0.0 {
            (self.mean[j], self.low[j]) = (mean, low);
        }
        let delta = (mean - self.mean[j]) + (low - self.low[j]);
        self.scatter[j] += scatter + self.weight[j] * weight / total * delta * delta;
        (self.mean[j], self.low[j]) = two_sum(self.mean[j], self.low[j] + delta * (weight / total));
        self.weight[j] = total;
    }
}

impl From<&Moments> for ColumnMoments {
    fn from(full: &Moments) -> Self {
        let d = full.width();
        ColumnMoments {
            rows: full.rows,
            weight: vec![full.weight; d],
            mean: full.mean.clone(),
            low: full.low.clone(),
            scatter: (0..d).map(|j| full.scatter[(j, j)]).collect(),
            cells: vec![full.rows; d],
        }
    }
}

impl Statistic for ColumnMoments {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the merged moments", self.width(), other.width())?;
        self.rows += other.rows;
        for j in 0..self.width() {
            self.join(j, other.cells[j], other.weight[j], (other.mean[j], other.low[j]), other.scatter[j]);
        }
        Ok(())
    }
}

impl Retract for ColumnMoments {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the removed moments", self.width(), other.width())?;
        let mut left = self.clone();
        left.rows -= other.rows;
        for j in 0..self.width() {
            left.cells[j] = self.cells[j] - other.cells[j];
            let Some(rest) = remaining(self.cells[j], self.weight[j], other.cells[j], other.weight[j])? else {
                (left.cells[j], left.weight[j], left.scatter[j]) = (0.0, 0.0, 0.0);
                (left.mean[j], left.low[j]) = (0.0, 0.0);
                continue;
            };
            if other.weight[j] == 0.0 {
                continue;
            }
            let back = (self.mean[j] - other.mean[j]) + (self.low[j] - other.low[j]);
            (left.mean[j], left.low[j]) = two_sum(self.mean[j], self.low[j] + back * (other.weight[j] / rest));
            let delta = back * (self.weight[j] / rest);
            left.scatter[j] -= other.scatter[j] + rest * other.weight[j] / self.weight[j] * delta * delta;
            left.weight[j] = rest;
            if left.cells[j] == 1.0 {
                left.scatter[j] = 0.0;
                continue;
            }
            refuse_cancellation(lost(self.scatter[j], left.scatter[j]), j)?;
        }
        *self = left;
        Ok(())
    }
}

impl Stored for ColumnMoments {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let d = self.width();
        let columns = [&self.cells, &self.weight, &self.mean, &self.low, &self.scatter].map(|v| v.as_slice()).concat();
        archive.put(&format!("{name}.columns"), &[5, d], &columns)?;
        archive.put(&format!("{name}.rows"), &[1], &[self.rows])?;
        archive.put_json(&format!("{name}.width"), &d)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let d: usize = archive.json(&format!("{name}.width"))?;
        let columns = archive.finite(&format!("{name}.columns"), &[5, d])?;
        let part = |k: usize| columns[k * d..(k + 1) * d].to_vec();
        let rows = archive.finite(&format!("{name}.rows"), &[1])?[0];
        let loaded =
            ColumnMoments { rows, cells: part(0), weight: part(1), mean: part(2), low: part(3), scatter: part(4) };
        let parts = [&loaded.cells, &loaded.weight, &loaded.scatter];
        if rows < 0.0 || parts.iter().any(|v| v.iter().any(|x| *x < 0.0)) {
            return Err(archive.damaged(&format!("`{name}` holds a negative weight or variance")));
        }
        Ok(loaded)
    }
}
