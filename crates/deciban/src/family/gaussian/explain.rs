//! What each column says where a projection (PCA, LDA) stands before the density: columns that a
//! projection mixes have no densities of their own, so they are weighed along the straight path from
//! the training mean x₀ to x.
//!
//! With z = Wᵀx − o and Δz = z − z₀, log p(z) − log p(z₀) = s·Δz for the mean slope s, and column j says
//! (xⱼ − x₀ⱼ)(Ws)ⱼ:
//!
//! - Gaussian: s = −Σ⁻¹(½(z + z₀) − μ), exactly;
//! - Student of all dimensions, log p = h(q): that slope times (h(q) − h(q₀))/(−½(q − q₀));
//! - Student of each dimension: sᵢ = (hᵢ(zᵢ) − hᵢ(z₀ᵢ))/Δzᵢ.
//!
//! What is left is log p at x₀, the row that says nothing about its columns.

use super::density::{GaussianDensity, Tails};
use super::factor::Factor;
use super::marginal::needs_every_cell;
use crate::data::{Cells, Column, Tile};
use crate::error::Result;
use crate::evidence::{AVERAGE, Entry};
use crate::family::Density;
use crate::numerics::{Matrix, solve_lower};

impl GaussianDensity {
    /// Whether a map before the density mixes columns.
    pub(super) fn is_projected(&self) -> bool {
        self.chain().iter().any(|linear| !linear.is_columnwise())
    }

    /// Whether, given the class, columns depend on each other.
    pub(super) fn is_correlated(&self) -> bool {
        matches!(self.tails(), Tails::Joint(_))
            || (0..self.classes()).any(|k| !matches!(self.factor(k), Factor::Diagonal(_)))
    }

    /// The entries of each row, the training mean's first.
    pub(super) fn along_the_path(&self, x: &Cells<'_>, columns: &[Column]) -> Result<Vec<Vec<Entry>>> {
        let names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
        let mut scores = Tile::default();
        scores.resize(x.rows(), self.classes());
        scores.data_mut().fill(0.0);
        let mut tile = Tile::default();
        x.read_numbers(&mut tile)?;
        if tile.data().iter().any(|x| x.is_nan()) {
            return Err(needs_every_cell(x, &names, &tile, "a ledger after §pca or §lda"));
        }
        // It also refuses infinite cells.
        self.add_log_density(x, &names, &mut scores)?;
        let (w, offset) = self.composed();
        let centre = self.chain()[0].parts().1.to_vec();
        let map = |x: &[f64]| -> Vec<f64> { w.transpose_times(x).iter().zip(&offset).map(|(z, o)| z - o).collect() };
        let z0 = map(&centre);
        let explain = |i: usize| {
            let row: Vec<f64> = (0..tile.width()).map(|j| tile.column(j)[i]).collect();
            let z = map(&row);
            let slopes: Vec<Vec<f64>> = (0..self.classes()).map(|k| w.times(&self.mean_slope(k, &z0, &z))).collect();
            let says = |j: usize| -> Vec<f64> { slopes.iter().map(|s| s[j] * (row[j] - centre[j])).collect() };
            let said: Vec<Entry> =
                (0..row.len()).map(|j| Entry::new(&names[j], format!("{}", row[j]), says(j))).collect();
            let rest = |k: usize| scores.column(k)[i] - said.iter().map(|e| e.evidence[k]).sum::<f64>();
            let mut all = vec![Entry::new(AVERAGE, "", (0..self.classes()).map(rest).collect())];
            all.extend(said);
            all
        };
        Ok((0..tile.rows()).map(explain).collect())
    }

    fn mean_slope(&self, class: usize, z0: &[f64], z: &[f64]) -> Vec<f64> {
        let (mean, factor) = (self.mean(class), self.factor(class));
        let from = |point: &[f64]| -> Vec<f64> { point.iter().zip(mean).map(|(x, m)| x - m).collect() };
        let middle: Vec<f64> = z.iter().zip(z0).map(|(a, b)| 0.5 * (a + b)).collect();
        let gaussian: Vec<f64> = factor.times_precision(&from(&middle)).iter().map(|s| -s).collect();
        match self.tails() {
            Tails::Normal => gaussian,
            Tails::Joint(tails) => {
                let (nu, s) = tails[class];
                let q = |point: &[f64]| factor.whiten(&from(point)).iter().map(|t| t * t).sum::<f64>();
                let power = 0.5 * (nu + mean.len() as f64);
                let (q0, q1) = (q(z0), q(z));
                // (h(q₁) − h(q₀))/(−½(q₁ − q₀)), or its limit.
                let ratio = match q1 == q0 {
                    true => 2.0 * power / (nu * s + q0),
                    false => 2.0 * power * ((q1 / (nu * s)).ln_1p() - (q0 / (nu * s)).ln_1p()) / (q1 - q0),
                };
                gaussian.iter().map(|g| g * ratio).collect()
            }
            Tails::Columns(tails) => {
                let slope = |i: usize| {
                    let (nu, s) = tails[class][i];
                    let scale = nu * s * factor.covariance_diagonal(i);
                    let h = |x: f64| -0.5 * (nu + 1.0) * ((x - mean[i]).powi(2) / scale).ln_1p();
                    match z[i] == z0[i] {
                        true => 0.0,
                        false => (h(z[i]) - h(z0[i])) / (z[i] - z0[i]),
                    }
                };
                (0..mean.len()).map(slope).collect()
            }
        }
    }
}

impl Factor {
    /// Σ⁻¹x
    fn times_precision(&self, x: &[f64]) -> Vec<f64> {
        match self {
            Factor::Diagonal(sd) => x.iter().zip(sd).map(|(x, s)| x / (s * s)).collect(),
            Factor::LowRank(low) => low.times_precision(x),
            Factor::Lower(scaled) => {
                let mut u = Matrix::from_columns(x.len(), 1, scaled.whiten(x));
                solve_lower(scaled.l(), true, &mut u);
                u.data().iter().zip(scaled.sd()).map(|(u, s)| u / s).collect()
            }
        }
    }
}
