//! Low-rank covariances: a few principal axes, and one variance in all other directions (probabilistic PCA,
//! Tipping & Bishop 1999).
//!
//! Of a covariance with the eigenvalues λ₁ ≥ ... ≥ λ_d and eigenvectors V, the likelihood is greatest for
//!
//! Σ = V_q Λ_q V_qᵀ + σ² (I − V_q V_qᵀ),  σ² = (λ_{q+1} + ... + λ_d) / (d − q).
//!
//! With B = V_q (Λ_q − σ²I)^½ it is Σ = BBᵀ + σ²I, also of some columns alone; with M = σ²I + BᵀB, a q × q matrix,
//!
//! xᵀΣ⁻¹x = (‖x‖² − bᵀM⁻¹b)/σ², b = Bᵀx,  ln|Σ| = (d − q) ln σ² + ln|M|   (Woodbury),
//!
//! and given the cells o the others have mean B_m M⁻¹ b and covariance σ² (B_m M⁻¹ B_mᵀ + I).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::data::Tile;
use crate::error::{Error, Result};
use crate::numerics::{Matrix, cholesky, dot, eigen, product, solve_lower, tile_product, vectorised};

/// The number of principal axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rank {
    /// The best of a few by leave-fold-out likelihood.
    #[default]
    Auto,
    /// So many.
    Fixed(usize),
}

impl std::str::FromStr for Rank {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Rank::Auto),
            (_, Ok(rank)) => Ok(Rank::Fixed(rank)),
            _ => Err("give a number of axes, or auto".into()),
        }
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rank::Auto => write!(f, "auto"),
            Rank::Fixed(rank) => write!(f, "{rank}"),
        }
    }
}

impl Serialize for Rank {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rank {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Σ = V Λ Vᵀ + σ² (I − V Vᵀ).
#[derive(Clone, Debug, PartialEq)]
pub struct LowRank {
    /// V, orthonormal.
    axes: Matrix,
    /// Λ
    variances: Vec<f64>,
    /// σ²
    rest: f64,
    /// The roots of the diagonal of Σ.
    sd: Vec<f64>,
}

impl LowRank {
    /// The closest to a covariance that is given by its lower triangle; `None` if it is singular.
    pub fn of_covariance(covariance: &Matrix, rank: usize) -> Option<Self> {
        let d = covariance.rows();
        let (values, vectors) = eigen(covariance)?;
        let rest = values.get(rank..)?.iter().map(|v| v.max(0.0)).sum::<f64>() / (d - rank) as f64;
        // Rounding alone leaves about d·ε of the largest.
        let sound = rest.is_finite() && rest > 8.0 * d as f64 * f64::EPSILON * values[0];
        let axes = Matrix::from_columns(d, rank, vectors.data()[..d * rank].to_vec());
        sound.then(|| LowRank::from_parts(axes, values[..rank].to_vec(), rest))
    }

    /// From its parts, which are sound.
    pub fn from_parts(axes: Matrix, variances: Vec<f64>, rest: f64) -> Self {
        let mut low_rank = LowRank { sd: Vec::new(), axes, variances, rest };
        low_rank.sd = (0..low_rank.axes.rows()).map(|j| low_rank.variance(j).sqrt()).collect();
        low_rank
    }

    /// V, Λ and σ².
    pub fn parts(&self) -> (&Matrix, &[f64], f64) {
        (&self.axes, &self.variances, self.rest)
    }

    /// The standard deviations of the columns.
    pub fn sd(&self) -> &[f64] {
        &self.sd
    }

    fn rank(&self) -> usize {
        self.variances.len()
    }

    /// The variance of a column.
    pub fn variance(&self, j: usize) -> f64 {
        let axis = |k: usize| self.axes[(j, k)].powi(2) * (self.variances[k] - self.rest);
        self.rest + (0..self.rank()).map(axis).sum::<f64>()
    }

    /// ½ ln|Σ|
    pub fn half_log_determinant(&self) -> f64 {
        let rest = (self.axes.rows() - self.rank()) as f64 * self.rest.ln();
        0.5 * (rest + self.variances.iter().map(|v| v.ln()).sum::<f64>())
    }

    /// f(Σ) x for a function of its eigenvalues.
    fn function(&self, x: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
        let other = f(self.rest);
        let mut along = self.axes.transpose_times(x);
        along.iter_mut().zip(&self.variances).for_each(|(t, v)| *t *= f(*v) - other);
        self.axes.times(&along).iter().zip(x).map(|(y, x)| y + other * x).collect()
    }

    /// Σ^(−½) x, whose squared length is xᵀΣ⁻¹x.
    pub fn whiten(&self, x: &[f64]) -> Vec<f64> {
        self.function(x, |v| v.sqrt().recip())
    }

    /// Σ^½ z
    pub fn colour(&self, z: &[f64]) -> Vec<f64> {
        self.function(z, f64::sqrt)
    }

    /// Σ⁻¹x
    pub fn times_precision(&self, x: &[f64]) -> Vec<f64> {
        self.function(x, f64::recip)
    }

    fn matrix(&self, f: impl Fn(f64) -> f64) -> Matrix {
        let d = self.axes.rows();
        let other = f(self.rest);
        let scaled = Matrix::from_fn(d, self.rank(), |j, k| self.axes[(j, k)] * (f(self.variances[k]) - other));
        let mut all = product(&scaled, false, &self.axes, true);
        (0..d).for_each(|j| all[(j, j)] += other);
        all
    }

    /// Σ
    pub fn covariance(&self) -> Matrix {
        self.matrix(|v| v)
    }

    /// Σ⁻¹, for people to look at.
    pub fn precision(&self) -> Matrix {
        self.matrix(f64::recip)
    }

    /// tr(Σ⁻¹S) for a symmetric S given by its lower triangle.
    pub fn trace_ratio(&self, s: &Matrix) -> f64 {
        let mut s = s.clone();
        s.mirror_lower();
        let along = product(&s, false, &self.axes, false);
        let trace: f64 = (0..s.rows()).map(|j| s[(j, j)]).sum();
        let axis =
            |k: usize| dot(self.axes.column(k), along.column(k)) * (self.variances[k].recip() - self.rest.recip());
        trace / self.rest + (0..self.rank()).map(axis).sum::<f64>()
    }

    /// Writes xᵀΣ⁻¹x of each row less the mean: ‖x − VVᵀx‖²/σ² + Σ (Vᵀx)²/λ.
    pub fn squared_lengths(&self, x: &Tile, mean: &[f64], q: &mut [f64]) {
        let (mut centred, mut along) = (x.clone(), Tile::default());
        for (j, m) in mean.iter().enumerate() {
            centred.column_mut(j).iter_mut().for_each(|x| *x -= m);
        }
        q.fill(0.0);
        tile_product(&centred, &self.axes, &mut along);
        // ‖x‖² − ‖Vᵀx‖² cancels where axes are much longer than the rest: there what is left is formed first.
        let is_steep = self.variances.first().is_some_and(|v| *v > 1e4 * self.rest);
        let reciprocal = self.rest.recip();
        vectorised!({
            if is_steep {
                for k in 0..self.variances.len() {
                    for (j, v) in self.axes.column(k).iter().enumerate() {
                        centred.column_mut(j).iter_mut().zip(along.column(k)).for_each(|(x, t)| *x -= v * t);
                    }
                }
            }
            for j in 0..centred.width() {
                q.iter_mut().zip(centred.column(j)).for_each(|(q, x)| *q += x * x * reciprocal);
            }
            for (k, v) in self.variances.iter().enumerate() {
                let weight = if is_steep { v.recip() } else { v.recip() - reciprocal };
                q.iter_mut().zip(along.column(k)).for_each(|(q, t)| *q += t * t * weight);
            }
        });
    }

    /// The Gaussian of some columns.
    pub fn of_columns(&self, columns: &[usize]) -> Option<Cells> {
        let b = self.loadings(columns);
        let mut m = product(&b, true, &b, false);
        (0..self.rank()).for_each(|k| m[(k, k)] += self.rest);
        Some(Cells { b, l: cholesky(&m)?, rest: self.rest })
    }

    /// B of some columns.
    pub fn loadings(&self, columns: &[usize]) -> Matrix {
        let root = |k: usize| (self.variances[k] - self.rest).max(0.0).sqrt();
        Matrix::from_fn(columns.len(), self.rank(), |i, k| self.axes[(columns[i], k)] * root(k))
    }
}

/// Some columns: B_o and the Cholesky factor of M.
pub struct Cells {
    b: Matrix,
    l: Matrix,
    rest: f64,
}

impl Cells {
    /// ½ ln|Σ_oo|
    pub fn half_log_determinant(&self) -> f64 {
        let free = self.b.rows() as f64 - self.b.columns() as f64;
        0.5 * free * self.rest.ln() + (0..self.l.rows()).map(|k| self.l[(k, k)].ln()).sum::<f64>()
    }

    /// L⁻¹Bᵀx with M = LLᵀ.
    fn half(&self, x: &[f64]) -> Matrix {
        let mut half = Matrix::from_columns(self.b.columns(), 1, self.b.transpose_times(x));
        solve_lower(&self.l, false, &mut half);
        half
    }

    /// xᵀΣ_oo⁻¹x
    pub fn squared_length(&self, x: &[f64]) -> f64 {
        // With s = M⁻¹b it is ‖x − Bs‖²/σ² + ‖s‖², which does not cancel.
        let s = self.scores(x);
        let left: f64 = self.b.times(&s).iter().zip(x).map(|(y, x)| (x - y) * (x - y)).sum();
        left / self.rest + dot(&s, &s)
    }

    /// M⁻¹Bᵀx: the other cells have the mean B_m times this.
    pub fn scores(&self, x: &[f64]) -> Vec<f64> {
        let mut half = self.half(x);
        solve_lower(&self.l, true, &mut half);
        half.data().to_vec()
    }

    /// σ² (B_m M⁻¹ B_mᵀ + I), the covariance of the other cells given these.
    pub fn covariance_of(&self, others: &Matrix) -> Matrix {
        let mut half = Matrix::from_fn(others.columns(), others.rows(), |k, i| others[(i, k)]);
        solve_lower(&self.l, false, &mut half);
        let mut all = product(&half, true, &half, false);
        (0..others.rows()).for_each(|i| all[(i, i)] += 1.0);
        all.data_mut().iter_mut().for_each(|x| *x *= self.rest);
        all
    }
}

/// The ranks that are tried where it is left open, for so many columns; the largest first.
pub fn ranks(width: usize) -> Vec<usize> {
    const RANKS: [usize; 16] = [128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 5, 4, 3, 2, 1, 0];
    RANKS.into_iter().filter(|rank| *rank < width).collect()
}

/// Refuses a rank that leaves no direction to the rest.
pub fn check_rank(rank: usize, width: usize) -> Result<()> {
    match rank < width {
        true => Ok(()),
        false => Err(Error::parameter("rank", format!("{rank} axes of {width} columns: give 0 to {}", width - 1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covariance() -> Matrix {
        let a = Matrix::from_fn(5, 5, |i, j| ((i * 7 + j * 3) % 5) as f64 - 1.5 + if i == j { 2.0 } else { 0.0 });
        product(&a, true, &a, false)
    }

    #[test]
    fn axes_are_kept_and_the_rest_is_averaged() {
        let (values, vectors) = eigen(&covariance()).unwrap();
        let low = LowRank::of_covariance(&covariance(), 2).unwrap();
        let rest = (values[2] + values[3] + values[4]) / 3.0;
        let sigma = low.covariance();
        for (k, value) in [values[0], values[1], rest, rest, rest].iter().enumerate() {
            let turned = sigma.times(vectors.column(k));
            assert!((dot(&turned, vectors.column(k)) - value).abs() < 1e-10 * values[0]);
        }
        let log: f64 = values[0].ln() + values[1].ln() + 3.0 * rest.ln();
        assert!((low.half_log_determinant() - 0.5 * log).abs() < 1e-12);
        // At the maximum of the likelihood tr(Σ⁻¹S) is the number of dimensions.
        assert!((low.trace_ratio(&covariance()) - 5.0).abs() < 1e-10);
    }

    #[test]
    fn distances_agree_with_the_matrix() {
        for (rank, steep) in [(0, 1.0), (2, 1.0), (2, 1e7)] {
            let low = LowRank::of_covariance(&covariance(), rank).unwrap();
            let (axes, variances, rest) = low.parts();
            let low = LowRank::from_parts(axes.clone(), variances.iter().map(|v| v * steep).collect(), rest);
            let (x, mean) = ([0.3, -1.0, 2.0, 0.7, 0.1], [0.1, 0.2, -0.3, 0.4, 0.0]);
            let delta: Vec<f64> = x.iter().zip(&mean).map(|(x, m)| x - m).collect();
            let truth = dot(&delta, &low.precision().times(&delta));
            let mut tile = Tile::default();
            tile.resize(1, 5);
            x.iter().enumerate().for_each(|(j, x)| tile.column_mut(j)[0] = *x);
            let mut q = [0.0];
            low.squared_lengths(&tile, &mean, &mut q);
            assert!((q[0] - truth).abs() < 1e-10 * truth, "{} {truth}", q[0]);
            let whitened = low.whiten(&delta);
            assert!((dot(&whitened, &whitened) - truth).abs() < 1e-9 * truth);
            let back = low.colour(&whitened);
            assert!(back.iter().zip(&delta).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }

    #[test]
    fn some_columns_agree_with_the_matrix() {
        let low = LowRank::of_covariance(&covariance(), 2).unwrap();
        let (present, missing) = ([0, 2, 4], [1, 3]);
        let cells = low.of_columns(&present).unwrap();
        let sigma = low.covariance();
        let own = Matrix::from_fn(3, 3, |i, j| sigma[(present[i], present[j])]);
        let l = cholesky(&own).unwrap();
        assert!((cells.half_log_determinant() - (0..3).map(|k| l[(k, k)].ln()).sum::<f64>()).abs() < 1e-12);
        let x = [0.4, -1.0, 0.3];
        let solve = |x: &[f64]| {
            let mut y = Matrix::from_columns(3, 1, x.to_vec());
            solve_lower(&l, false, &mut y);
            solve_lower(&l, true, &mut y);
            y.data().to_vec()
        };
        assert!((cells.squared_length(&x) - dot(&x, &solve(&x))).abs() < 1e-10);
        let others = low.loadings(&missing);
        let filled = others.times(&cells.scores(&x));
        let conditional = cells.covariance_of(&others);
        for (a, &m) in missing.iter().enumerate() {
            let row: Vec<f64> = present.iter().map(|&o| sigma[(m, o)]).collect();
            assert!((filled[a] - dot(&row, &solve(&x))).abs() < 1e-10);
            assert!((conditional[(a, a)] - (sigma[(m, m)] - dot(&row, &solve(&row)))).abs() < 1e-10);
        }
    }
}
