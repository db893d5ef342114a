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

use super::density::{GaussianDensity, standardise};
use super::factor::Factor;
use super::gaps::{Gaps, LANES, Pattern, Run, Strips};
use super::low_rank::{Cells, LowRank};
use super::missing_block::MissingBlock;
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

/// A Gaussian as its missing cells need it.
#[derive(Clone, Copy)]
pub(super) struct Standard<'a> {
    /// μ
    pub mean: &'a [f64],
    /// The standard deviations D.
    pub sd: &'a [f64],
    /// P
    pub precision: &'a Matrix,
}

impl Standard<'_> {
    /// z of some rows, in the order of the strips.
    pub(super) fn of_rows(&self, strips: &Strips, tile: &Tile) -> Tile {
        let mut z = strips.of_tile(tile);
        standardise(&mut z, self.mean, self.sd);
        z
    }

    /// Sets the missing cells of rows to their means given the others, and adds Σ w D P_mm⁻¹ D to the lower triangle of
    /// `spread`. z with the missing cells filled is the result, and ½ ln|P_mm| of each row, in the order of the strips.
    pub(super) fn complete(
        &self,
        tile: &mut Tile,
        strips: &Strips,
        weights: Option<&[f64]>,
        spread: Option<&mut Matrix>,
    ) -> Result<(Tile, Vec<f64>)> {
        let mut z = [self.of_rows(strips, tile)];
        let mut scatter = spread.is_some().then(|| Matrix::zeros(self.mean.len(), self.mean.len()));
        let halves = fill(&mut z, strips, self.precision, |run, block| {
            if let Some(scatter) = &mut scatter {
                let sum = |lane| run.of_lane(lane).map(|i| weights.map_or(1.0, |w| w[i])).sum();
                block.add_covariances(run, &std::array::from_fn(sum), scatter);
            }
        })?;
        let [z] = z;
        for run in strips.runs() {
            for (k, &i) in run.rows.iter().enumerate() {
                for m in run.missing(k % LANES) {
                    tile.column_mut(m)[i] = self.mean[m] + self.sd[m] * z.column(m)[run.start + k];
                }
            }
        }
        if let (Some(spread), Some(scatter)) = (spread, scatter) {
            for (j, s) in self.sd.iter().enumerate() {
                for (i, t) in self.sd.iter().enumerate().skip(j) {
                    spread[(i, j)] += scatter[(i, j)] * s * t;
                }
            }
        }
        Ok((z, halves))
    }
}

/// Sets the missing cells of standardised rows to ẑ_m, in tiles that miss the same cells, with their rows in the order of
/// the strips; ½ ln|P_mm| of each row is the result. `then` is called with the factors of each run.
pub(super) fn fill(
    tiles: &mut [Tile],
    strips: &Strips,
    precision: &Matrix,
    mut then: impl FnMut(&Run<'_>, &mut MissingBlock),
) -> Result<Vec<f64>> {
    let mut block = MissingBlock::default();
    let mut halves = Vec::with_capacity(strips.rows().len());
    for run in strips.runs() {
        block.set(precision, &run)?;
        tiles.iter_mut().for_each(|z| block.fill(precision, &run, z));
        let half = block.half_log_determinants();
        halves.extend((0..run.rows.len()).map(|k| half[k % LANES]));
        then(&run, &mut block);
    }
    Ok(halves)
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

    /// One group as its missing cells need it.
    pub(super) fn standard(&self, group: usize) -> Standard<'_> {
        let (mean, sd) = (self.mean(group), self.factor(group).sd());
        Standard { mean, sd, precision: self.precision(self.factor_place(group)) }
    }

    /// Fills the missing cells of rows by their means given the cells that are there, for one group, and
    /// returns Σᵢ wᵢ Cᵢ, where Cᵢ is the covariance of the filled cells of row i and 0 elsewhere. log p of each row's cells
    /// is added to `log_p`.
    pub(super) fn complete(
        &self,
        group: usize,
        tile: &mut Tile,
        weights: Option<&[f64]>,
        log_p: Option<&mut [f64]>,
    ) -> Result<Matrix> {
        let gaps = Gaps::of(tile);
        if let Factor::LowRank(low) = self.factor(group) {
            return complete_low_rank(low, self.mean(group), tile, &gaps.patterns(gaps.rows()), weights);
        }
        // Rows without gaps are only scored.
        let strips = gaps.strips(if log_p.is_some() { gaps.rows() } else { gaps.split_at(1).1 });
        let mut spread = Matrix::zeros(tile.width(), tile.width());
        let (z, halves) = self.standard(group).complete(tile, &strips, weights, Some(&mut spread))?;
        if let Some(log_p) = log_p {
            self.add_filled(group, z, &halves, &strips, log_p);
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
