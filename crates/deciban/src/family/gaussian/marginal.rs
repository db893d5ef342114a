//! Scores of rows with missing cells: log p of the cells that they have, the others integrated out.
//!
//! Where few cells are missing, the row is filled as in `incomplete.rs`: with t_j = ln s_j + ½ ln 2π of each column,
//!
//! log p(x_o) = −½ ẑᵀPẑ − ½ ln|R| − ½ ln|P_mm| − Σ_o t_j.
//!
//! Where few cells are there, and where columns are independent, the density of these columns is made, for all rows
//! that have the same.

use crate::data::{Cells, Tile};
use crate::error::{Error, Result};
use crate::numerics::vectorised;
use crate::transform::Linear;

use super::density::{GaussianDensity, Tails, far, squared_norms, standardise};
use super::factor::Factor;
use super::gaps::{Gaps, LANES, Pattern, Strips};
use super::incomplete::fill;

impl GaussianDensity {
    /// The densities of some columns alone, the others integrated out. Every map of the chain must
    /// take columns to columns.
    fn marginal(&self, columns: &[usize]) -> Result<GaussianDensity> {
        let chain = self.chain().iter().map(|linear| linear.select(columns)).collect();
        let select = |mean: &Vec<f64>| columns.iter().map(|&j| mean[j]).collect();
        let factors: Option<Vec<Factor>> = self.factors().iter().map(|f| f.marginal(columns)).collect();
        // A principal minor of a positive definite matrix is positive definite.
        let factors = factors.ok_or_else(|| Error::Schema("a stored covariance is singular".into()))?;
        let tails = match self.tails() {
            Tails::Columns(tails) => {
                Tails::Columns(tails.iter().map(|t| columns.iter().map(|&j| t[j]).collect()).collect())
            }
            joint => joint.clone(),
        };
        Ok(GaussianDensity::with_tails(chain, self.means().iter().map(select).collect(), factors, tails))
    }

    /// Scores a tile in which some rows have missing cells: rows that miss the same cells together,
    /// by the density of the cells they have. A row without any cell says nothing.
    pub(super) fn score_incomplete(&self, x: &Cells<'_>, names: &[String], tile: &Tile, out: &mut Tile) -> Result<()> {
        let infinite = (0..tile.width()).find_map(|j| Some((tile.column(j).iter().position(|x| x.is_infinite())?, j)));
        if let Some((i, j)) = infinite {
            return Err(Error::Infinite { column: names[j].clone(), row: x.row_number(i) + 1 });
        }
        let gaps = Gaps::of(tile);
        let (whole, others) = gaps.split_at(1);
        if self.is_projected() && !others.is_empty() && (self.reference().is_none() || *self.tails() != Tails::Normal) {
            return Err(needs_every_cell(x, names, tile, "a model with §pca or §lda and §estimator=bayes"));
        }
        // Whole rows score as they do among whole rows, to the last bit.
        gaps.patterns(whole).iter().for_each(|pattern| self.score_rows(tile, pattern, self, out));
        if self.is_projected() {
            return gaps.patterns(others).iter().try_for_each(|pattern| self.score_predicted(tile, pattern, out));
        }
        if matches!(self.factors()[0], Factor::LowRank(_)) {
            return self.score_low_rank(tile, &gaps.patterns(others), out);
        }
        // Few cells missing: factor the missing block. Few cells there, or columns on their own: the marginal.
        let few = if self.is_correlated() { gaps.split_at(tile.width() / 2 + 1).0 } else { whole };
        if few.len() > whole.len() {
            self.score_filled(tile, &gaps.strips(&few[whole.len()..]), out)?;
        }
        for pattern in gaps.patterns(&gaps.rows()[few.len()..]).iter().filter(|pattern| !pattern.present.is_empty()) {
            self.score_rows(tile, pattern, &self.marginal(&pattern.present)?, out);
        }
        Ok(())
    }

    /// Adds the scores of the rows of a pattern by the cells they have, whose density is given.
    fn score_rows(&self, tile: &Tile, pattern: &Pattern, density: &GaussianDensity, out: &mut Tile) {
        let Pattern { present, rows, .. } = pattern;
        let (mut cells, mut scores) = (Tile::default(), Tile::default());
        cells.resize(rows.len(), present.len());
        for (k, &j) in present.iter().enumerate() {
            cells.column_mut(k).iter_mut().zip(rows).for_each(|(cell, &i)| *cell = tile.column(j)[i]);
        }
        scores.resize(rows.len(), self.means().len());
        scores.data_mut().fill(0.0);
        density.score_complete(&mut cells, &mut scores);
        for class in 0..self.means().len() {
            rows.iter().zip(scores.column(class)).for_each(|(&i, s)| out.column_mut(class)[i] += s);
        }
    }

    /// Scores rows that miss few cells.
    fn score_filled(&self, tile: &Tile, strips: &Strips, out: &mut Tile) -> Result<()> {
        let (mut rows, mut spare) = (strips.of_tile(tile), Tile::default());
        self.chain().iter().for_each(|linear| linear.apply(&mut rows, &mut spare));
        for (place, factor) in self.factors().iter().enumerate() {
            // Classes that share their covariance share the factors of its missing blocks.
            let classes = if self.factors().len() == 1 { 0..self.means().len() } else { place..place + 1 };
            let of_class = |class: usize| {
                let mut z = rows.clone();
                standardise(&mut z, self.mean(class), factor.sd());
                z
            };
            let mut tiles: Vec<Tile> = classes.clone().map(of_class).collect();
            let halves = fill(&mut tiles, strips, self.precision(place), |_, _| {})?;
            for (class, z) in classes.zip(tiles) {
                self.add_filled(class, z, &halves, strips, out.column_mut(class));
            }
        }
        Ok(())
    }

    /// Adds log p of the cells of rows in the order of the strips, for one class, from z with the missing cells filled and
    /// from ½ ln|P_mm|.
    pub(super) fn add_filled(&self, class: usize, mut z: Tile, halves: &[f64], strips: &Strips, out: &mut [f64]) {
        let (d, factor) = (z.width(), self.factor(class));
        let mut half_log = 0.0;
        if let Factor::Lower(scaled) = factor {
            self.solve_tile(self.factor_place(class), &mut z);
            half_log = (0..d).map(|j| scaled.l()[(j, j)].ln()).sum();
        }
        let mut q = vec![0.0; z.rows()];
        vectorised!(squared_norms(&z, &mut q));
        let scales: Vec<Vec<f64>> = self.chain().iter().map(Linear::log_scales).collect();
        let unit = |j: usize| scales.iter().map(|scales| scales[j]).sum::<f64>() - factor.sd()[j].ln();
        let units: Vec<f64> = (0..d).map(unit).collect();
        let all: f64 = units.iter().sum();
        let columns: Vec<usize> = (0..d).collect();
        for run in strips.runs() {
            for lane in 0..run.lanes() {
                let missing: f64 = run.missing(lane).map(|j| units[j]).sum();
                let present = d - run.missing(lane).count();
                if present == 0 {
                    continue;
                }
                // Of columns that are correlated, the number alone counts.
                let peak = all - missing + self.log_constant(class, &columns[..present]) - half_log;
                for k in (run.start + lane..run.start + run.rows.len()).step_by(LANES) {
                    let far = far(q[k]);
                    let falls = match self.tails() {
                        Tails::Joint(tails) => {
                            let (nu, s) = tails[class];
                            0.5 * (nu + present as f64) * (far / (nu * s)).ln_1p()
                        }
                        _ => 0.5 * far,
                    };
                    out[strips.rows()[k]] += peak - halves[k] - falls;
                }
            }
        }
    }
}

/// The error for a missing cell of a tile.
pub(super) fn needs_every_cell(x: &Cells<'_>, names: &[String], tile: &Tile, what: &str) -> Error {
    let (i, j) = tile.first_not_finite().unwrap_or_default();
    let remedy = format!("{what} needs every cell: fill it, or fit without them");
    Error::Missing { column: names[j].clone(), row: x.row_number(i) + 1, remedy }
}
