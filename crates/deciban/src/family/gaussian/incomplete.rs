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
use crate::numerics::Matrix;

use super::density::{Factor, GaussianDensity};
use super::low_rank::{Cells, LowRank};
use crate::transform::Linear;

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

/// Which cells of a tile are missing, and its rows in an order in which those that miss the same cells stand together.
pub(super) struct Gaps {
    /// A bit per missing cell, so many words a row.
    bits: Vec<u64>,
    words: usize,
    order: Vec<usize>,
}

impl Gaps {
    pub(super) fn of(tile: &Tile) -> Self {
        let (rows, words) = (tile.rows(), tile.width().div_ceil(64));
        let mut bits = vec![0u64; rows * words];
        for j in 0..tile.width() {
            for (i, _) in tile.column(j).iter().enumerate().filter(|(_, x)| x.is_nan()) {
                bits[i * words + j / 64] |= 1 << (j % 64);
            }
        }
        let mut gaps = Gaps { bits, words, order: Vec::new() };
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_by_key(|&i| gaps.of_row(i));
        gaps.order = order;
        gaps
    }

    fn of_row(&self, i: usize) -> &[u64] {
        &self.bits[i * self.words..(i + 1) * self.words]
    }

    /// Whether a row misses the cell of a column.
    pub(super) fn is_missing(&self, i: usize, j: usize) -> bool {
        self.of_row(i)[j / 64] >> (j % 64) & 1 == 1
    }

    /// Rows that miss the same cells; those that miss none come first.
    pub(super) fn groups(&self) -> impl Iterator<Item = &[usize]> {
        self.order.chunk_by(|&a, &b| self.of_row(a) == self.of_row(b))
    }
}

/// The rows of a tile by the cells they miss.
pub(super) fn patterns(tile: &Tile) -> Vec<Pattern> {
    let gaps = Gaps::of(tile);
    let pattern = |same: &[usize]| {
        let (missing, present) = (0..tile.width()).partition(|&j| gaps.is_missing(same[0], j));
        Pattern { missing, present, rows: same.to_vec() }
    };
    gaps.groups().map(pattern).collect()
}

/// The Cholesky factor of P_mm, row after row: a few cells each, for which a library's set-up would cost more.
#[derive(Default)]
pub(super) struct MissingFactor {
    n: usize,
    l: Vec<f64>,
}

impl MissingFactor {
    pub(super) fn new(precision: &Matrix, missing: &[usize]) -> Result<Self> {
        let mut factor = MissingFactor::default();
        factor.set(precision, missing)?;
        Ok(factor)
    }

    /// Makes it the factor of other cells, in the same memory.
    pub(super) fn set(&mut self, precision: &Matrix, missing: &[usize]) -> Result<()> {
        let n = missing.len();
        self.n = n;
        self.l.clear();
        self.l.resize(n * n, 0.0);
        let l = &mut self.l;
        for a in 0..n {
            for b in 0..=a {
                let sum: f64 = l[a * n..a * n + b].iter().zip(&l[b * n..b * n + b]).map(|(x, y)| x * y).sum();
                let rest = precision[(missing[a], missing[b])] - sum;
                l[a * n + b] = match a == b {
                    // A principal minor of a positive definite matrix is positive definite.
                    true if rest <= 0.0 => {
                        let message = "a covariance is too close to singular to fill missing cells: give §prior_rows, \
                                       §shrinkage or §covariance=diagonal";
                        return Err(Error::Schema(message.into()));
                    }
                    true => rest.sqrt(),
                    false => rest / l[b * n + b],
                };
            }
        }
        Ok(())
    }

    /// ½ ln|P_mm|
    fn half_log_determinant(&self) -> f64 {
        (0..self.n).map(|a| self.l[a * self.n + a].ln()).sum()
    }

    /// x ← L⁻ᵀ x, which gives independent normal numbers the covariance P_mm⁻¹.
    pub(super) fn colour(&self, x: &mut [f64]) {
        let (n, l) = (self.n, &self.l);
        for a in (0..n).rev() {
            let sum: f64 = (a + 1..n).map(|b| l[b * n + a] * x[b]).sum();
            x[a] = (x[a] - sum) / l[a * n + a];
        }
    }

    /// The square roots of the diagonal of P_mm⁻¹.
    pub(super) fn deviations(&self) -> Vec<f64> {
        let mut column = vec![0.0; self.n];
        let mut deviation = |a: usize| {
            column.fill(0.0);
            column[a] = 1.0;
            self.solve(&mut column);
            column[a].sqrt()
        };
        (0..self.n).map(&mut deviation).collect()
    }

    /// Adds w P_mm⁻¹, in units of the standard deviations, to the lower triangle of a scatter of all columns.
    pub(super) fn add_covariance(&self, missing: &[usize], sd: &[f64], weight: f64, scatter: &mut Matrix) {
        let mut inverse = vec![0.0; self.n];
        for (b, &j) in missing.iter().enumerate() {
            inverse.fill(0.0);
            inverse[b] = 1.0;
            self.solve(&mut inverse);
            // Columns stand in ascending order: these are of the lower triangle.
            for (a, &i) in missing.iter().enumerate().skip(b) {
                scatter[(i, j)] += weight * inverse[a] * sd[i] * sd[j];
            }
        }
    }

    /// x ← P_mm⁻¹ x
    pub(super) fn solve(&self, x: &mut [f64]) {
        let (n, l) = (self.n, &self.l);
        for a in 0..n {
            let sum: f64 = l[a * n..a * n + a].iter().zip(&x[..a]).map(|(l, x)| l * x).sum();
            x[a] = (x[a] - sum) / l[a * n + a];
        }
        self.colour(x);
    }
}

impl Pattern {
    /// Sets the missing cells of standardised rows to ẑ_m.
    fn fill(&self, z: &mut Tile, precision: &Matrix, factor: &MissingFactor) {
        let mut b = vec![0.0; self.missing.len()];
        for &i in &self.rows {
            for (b, &m) in b.iter_mut().zip(&self.missing) {
                let column = precision.column(m);
                *b = -self.present.iter().map(|&o| column[o] * z.column(o)[i]).sum::<f64>();
            }
            factor.solve(&mut b);
            self.missing.iter().zip(&b).for_each(|(&m, b)| z.column_mut(m)[i] = *b);
        }
    }
}

impl GaussianDensity {
    pub(super) fn precision(&self, factor: usize) -> &Matrix {
        let of_factor = |factor: &Factor| match factor {
            Factor::Diagonal(sd) => Matrix::identity(sd.len()),
            Factor::Lower(scaled) => scaled.correlation_precision(),
            Factor::LowRank(low) => {
                let (precision, sd) = (low.precision(), low.sd());
                Matrix::from_fn(sd.len(), sd.len(), |i, j| precision[(i, j)] * sd[i] * sd[j])
            }
        };
        &self.precisions().0.get_or_init(|| self.factors().iter().map(of_factor).collect())[factor]
    }

    /// Standardised rows with their missing cells filled in, for one group, and ½ ln|P_mm| of each pattern.
    pub(super) fn filled(&self, group: usize, tile: &Tile, patterns: &[Pattern]) -> Result<(Tile, Vec<f64>)> {
        let (factor, mean) = (self.factor(group), self.mean(group));
        let mut z = tile.clone();
        for (j, (m, s)) in mean.iter().zip(factor.sd()).enumerate() {
            z.column_mut(j).iter_mut().for_each(|x| *x = (*x - m) / s);
        }
        let precision = self.precision(self.factor_place(group));
        let mut halves = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let factor = MissingFactor::new(precision, &pattern.missing)?;
            halves.push(factor.half_log_determinant());
            if !pattern.missing.is_empty() {
                pattern.fill(&mut z, precision, &factor);
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
            self.solve_tile(self.factor_place(group), &mut z);
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
        if let Factor::LowRank(low) = self.factor(group) {
            return complete_low_rank(low, self.mean(group), tile, &patterns, weights);
        }
        let (z, _) = self.filled(group, tile, &patterns)?;
        let (sd, mean, d) = (self.factor(group).sd(), self.mean(group), tile.width());
        let precision = self.precision(self.factor_place(group));
        let mut spread = Matrix::zeros(d, d);
        for pattern in patterns.iter().filter(|pattern| !pattern.missing.is_empty()) {
            for &m in &pattern.missing {
                pattern.rows.iter().for_each(|&i| tile.column_mut(m)[i] = mean[m] + sd[m] * z.column(m)[i]);
            }
            let weight: f64 = pattern.rows.iter().map(|&i| weights.map_or(1.0, |w| w[i])).sum();
            let factor = MissingFactor::new(precision, &pattern.missing)?;
            factor.add_covariance(&pattern.missing, sd, weight, &mut spread);
        }
        Ok(spread)
    }
}

fn too_close() -> Error {
    Error::Schema("a low-rank covariance is too close to singular for missing cells: give a smaller §rank".into())
}

/// A row less the mean, in some columns.
fn deltas(tile: &Tile, mean: &[f64], columns: &[usize], i: usize) -> Vec<f64> {
    columns.iter().map(|&j| tile.column(j)[i] - mean[j]).collect()
}

impl GaussianDensity {
    /// Adds the scores of rows with missing cells where covariances are of low rank.
    pub(super) fn score_low_rank(&self, tile: &Tile, patterns: &[Pattern], out: &mut Tile) -> Result<()> {
        let mut z = tile.clone();
        let mut spare = Tile::default();
        self.chain().iter().for_each(|linear| linear.apply(&mut z, &mut spare));
        for pattern in patterns.iter().filter(|pattern| !pattern.present.is_empty() && !pattern.missing.is_empty()) {
            let scales = |linear: &Linear| -> f64 {
                let scales = linear.log_scales();
                pattern.present.iter().map(|&j| scales[j]).sum()
            };
            let volume: f64 = self.chain().iter().map(scales).sum();
            let cells = |factor: &Factor| match factor {
                Factor::LowRank(low) => low.of_columns(&pattern.present).ok_or_else(too_close),
                _ => Err(too_close()),
            };
            let factors: Vec<Cells> = self.factors().iter().map(cells).collect::<Result<_>>()?;
            let constant = volume - 0.5 * pattern.present.len() as f64 * std::f64::consts::TAU.ln();
            for (group, mean) in self.means().iter().enumerate() {
                let cells = &factors[self.factor_place(group)];
                let peak = constant - cells.half_log_determinant();
                let column = out.column_mut(group);
                for &i in &pattern.rows {
                    let q = cells.squared_length(&deltas(&z, mean, &pattern.present, i));
                    column[i] += peak - 0.5 * if q.is_nan() { f64::INFINITY } else { q };
                }
            }
        }
        Ok(())
    }
}

/// What [`GaussianDensity::complete`] does, for a covariance of low rank.
fn complete_low_rank(
    low: &LowRank,
    mean: &[f64],
    tile: &mut Tile,
    patterns: &[Pattern],
    weights: Option<&[f64]>,
) -> Result<Matrix> {
    let mut spread = Matrix::zeros(mean.len(), mean.len());
    for pattern in patterns.iter().filter(|pattern| !pattern.missing.is_empty()) {
        let cells = low.of_columns(&pattern.present).ok_or_else(too_close)?;
        let others = low.loadings(&pattern.missing);
        for &i in &pattern.rows {
            let filled = others.times(&cells.scores(&deltas(tile, mean, &pattern.present, i)));
            pattern.missing.iter().zip(filled).for_each(|(&m, x)| tile.column_mut(m)[i] = mean[m] + x);
        }
        let weight: f64 = pattern.rows.iter().map(|&i| weights.map_or(1.0, |w| w[i])).sum();
        let covariance = cells.covariance_of(&others);
        for (b, &j) in pattern.missing.iter().enumerate() {
            for (a, &i) in pattern.missing.iter().enumerate().skip(b) {
                spread[(i, j)] += weight * covariance[(a, b)];
            }
        }
    }
    Ok(spread)
}
