//! Rows with missing cells: how they score, and what fills their cells.
//!
//! Let z = D⁻¹(x − μ), R = LLᵀ the correlations and P = R⁻¹. With o the cells that are there and m the
//! missing ones, given z_o the missing cells are normal with
//!
//! mean ẑ_m = −P_mm⁻¹ P_mo z_o,  covariance P_mm⁻¹.
//!
//! A row filled with ẑ_m is as far from the mean as the cells it has: ẑᵀPẑ = z_oᵀ R_oo⁻¹ z_o. And
//! ln|R_oo| = ln|R| + ln|P_mm|. So both scoring and filling factor only the missing block of P.

use std::sync::OnceLock;

use crate::data::Tile;
use crate::error::{Error, Result};
use crate::numerics::{Matrix, cholesky, solve_lower, solve_lower_tile};

use super::density::{Factor, GaussianDensity};

/// R⁻¹ of each factor, made when the first row with a missing cell is met.
#[derive(Clone, Debug, Default)]
pub(super) struct Precisions(OnceLock<Vec<Matrix>>);

/// They follow from the factors.
impl PartialEq for Precisions {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Rows that miss the same cells.
pub(super) struct Pattern {
    /// The columns whose cells are missing.
    pub missing: Vec<usize>,
    /// The columns whose cells are there.
    pub present: Vec<usize>,
    /// The rows.
    pub rows: Vec<usize>,
}

/// The rows of a tile by the cells they miss.
pub(super) fn patterns(tile: &Tile) -> Vec<Pattern> {
    // A bit per missing cell, and rows sorted by their bits.
    let (rows, width) = (tile.rows(), tile.width());
    let words = width.div_ceil(64);
    let mut missing = vec![0u64; rows * words];
    for j in 0..width {
        for (i, _) in tile.column(j).iter().enumerate().filter(|(_, x)| x.is_nan()) {
            missing[i * words + j / 64] |= 1 << (j % 64);
        }
    }
    let bits = |i: usize| &missing[i * words..(i + 1) * words];
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by_key(|&i| bits(i));
    let pattern = |same: &[usize]| {
        let is_missing = |j: &usize| bits(same[0])[j / 64] >> (j % 64) & 1 == 1;
        let (missing, present) = (0..width).partition(is_missing);
        Pattern { missing, present, rows: same.to_vec() }
    };
    order.chunk_by(|&a, &b| bits(a) == bits(b)).map(pattern).collect()
}

/// The Cholesky factor of P_mm.
fn missing_factor(precision: &Matrix, missing: &[usize]) -> Result<Matrix> {
    let n = missing.len();
    // A principal minor of a positive definite matrix is positive definite.
    cholesky(&Matrix::from_fn(n, n, |a, b| precision[(missing[a], missing[b])]))
        .ok_or_else(|| Error::Schema("a covariance is too close to singular to fill missing cells".into()))
}

impl Pattern {
    /// Sets the missing cells of standardised rows to ẑ_m, where `l` is the factor of P_mm.
    fn fill(&self, z: &mut Tile, precision: &Matrix, l: &Matrix) {
        let mut b = Matrix::zeros(self.missing.len(), self.rows.len());
        for (k, &i) in self.rows.iter().enumerate() {
            for (a, &m) in self.missing.iter().enumerate() {
                b[(a, k)] = -self.present.iter().map(|&o| precision[(m, o)] * z.column(o)[i]).sum::<f64>();
            }
        }
        solve_lower(l, false, &mut b);
        solve_lower(l, true, &mut b);
        for (k, &i) in self.rows.iter().enumerate() {
            self.missing.iter().enumerate().for_each(|(a, &m)| z.column_mut(m)[i] = b[(a, k)]);
        }
    }
}

impl GaussianDensity {
    fn precision(&self, factor: usize) -> &Matrix {
        let of_factor = |factor: &Factor| match factor {
            Factor::Diagonal(sd) => Matrix::identity(sd.len()),
            Factor::Lower(scaled) => scaled.correlation_precision(),
        };
        &self.precisions().0.get_or_init(|| self.factors().iter().map(of_factor).collect())[factor]
    }

    /// Standardised rows with their missing cells filled in, for one group, and ½ ln|P_mm| of each pattern.
    fn filled(&self, group: usize, tile: &Tile, patterns: &[Pattern]) -> Result<(Tile, Vec<f64>)> {
        let (factor, mean) = (self.factor(group), self.mean(group));
        let mut z = tile.clone();
        for (j, (m, s)) in mean.iter().zip(factor.sd()).enumerate() {
            z.column_mut(j).iter_mut().for_each(|x| *x = (*x - m) / s);
        }
        let precision = self.precision(self.factor_place(group));
        let mut halves = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let l = missing_factor(precision, &pattern.missing)?;
            halves.push((0..l.rows()).map(|j| l[(j, j)].ln()).sum());
            if !pattern.missing.is_empty() {
                pattern.fill(&mut z, precision, &l);
            }
        }
        Ok((z, halves))
    }

    /// q and ½ ln|R_oo| of rows with missing cells, for one group.
    pub(super) fn marginal_distances(
        &self,
        group: usize,
        tile: &Tile,
        patterns: &[Pattern],
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut z, halves) = self.filled(group, tile, patterns)?;
        let mut half_log = vec![0.0; tile.rows()];
        let mut whole = 0.0;
        if let Factor::Lower(scaled) = self.factor(group) {
            solve_lower_tile(scaled.l(), &mut z);
            whole = (0..tile.width()).map(|j| scaled.l()[(j, j)].ln()).sum();
        }
        for (pattern, half) in patterns.iter().zip(halves) {
            pattern.rows.iter().for_each(|&i| half_log[i] = whole + half);
        }
        let mut q = vec![0.0; tile.rows()];
        for j in 0..tile.width() {
            q.iter_mut().zip(z.column(j)).for_each(|(q, z)| *q += z * z);
        }
        Ok((q, half_log))
    }

    /// Fills the missing cells of rows by their means given the cells that are there, for one group, and
    /// returns Σᵢ wᵢ Cᵢ, where Cᵢ is the covariance of the filled cells of row i and 0 elsewhere.
    pub(super) fn complete(&self, group: usize, tile: &mut Tile, weights: Option<&[f64]>) -> Result<Matrix> {
        let patterns = patterns(tile);
        let (z, _) = self.filled(group, tile, &patterns)?;
        let (sd, mean, d) = (self.factor(group).sd(), self.mean(group), tile.width());
        let precision = self.precision(self.factor_place(group));
        let mut spread = Matrix::zeros(d, d);
        for pattern in patterns.iter().filter(|pattern| !pattern.missing.is_empty()) {
            for &m in &pattern.missing {
                pattern.rows.iter().for_each(|&i| tile.column_mut(m)[i] = mean[m] + sd[m] * z.column(m)[i]);
            }
            let weight: f64 = pattern.rows.iter().map(|&i| weights.map_or(1.0, |w| w[i])).sum();
            let mut inverse = Matrix::identity(pattern.missing.len());
            let l = missing_factor(precision, &pattern.missing)?;
            solve_lower(&l, false, &mut inverse);
            solve_lower(&l, true, &mut inverse);
            for (a, &i) in pattern.missing.iter().enumerate() {
                for (b, &j) in pattern.missing.iter().enumerate().take(a + 1) {
                    spread[(i, j)] += weight * inverse[(a, b)] * sd[i] * sd[j];
                }
            }
        }
        Ok(spread)
    }
}
