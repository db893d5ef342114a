//! One multivariate normal, for those who want its parts: marginals and conditionals.
//!
//! x = (x_a, x_b):  x_a ~ N(μ_a, Σ_aa),  x_a | x_b ~ N(μ_a + Σ_ab Σ_bb⁻¹ (x_b − μ_b), Σ_aa − Σ_ab Σ_bb⁻¹ Σ_ba).

use std::f64::consts::TAU;

use crate::error::{Error, Result};
use crate::numerics::covariance::{Scaled, singular};
use crate::numerics::{Matrix, dot};

/// A normal distribution with mean μ and covariance Σ.
///
/// Somebody is 174 cm tall. How likely is that for men, N(175.33, 52.89), and women, N(161.82, 46.89)?
///
/// ```
/// use deciban::{evidence::Evidence, family::normal::Normal, numerics::Matrix, posterior::Prior};
/// let women = Normal::new(vec![161.82], Matrix::diagonal(&[46.89]))?.log_density(&[174.0])?;
/// let men = Normal::new(vec![175.33], Matrix::diagonal(&[52.89]))?.log_density(&[174.0])?;
/// assert_eq!(format!("{:.5} {:.5}", women.exp(), men.exp()), "0.01198 0.05395");
/// assert_eq!(format!("{:.1}", (men - women).exp()), "4.5");
/// // Alike at first, a man; where nine of ten are women, a woman.
/// let evidence = Evidence::new(2, vec![women, men])?;
/// assert_eq!(evidence.posterior(&Prior::uniform(2)).most_probable(0), Some(1));
/// assert_eq!(evidence.posterior(&Prior::new(&[0.9, 0.1])?).most_probable(0), Some(0));
/// # Ok::<(), deciban::Error>(())
/// ```
///
/// What is known of some columns tells about the others:
///
/// ```
/// use deciban::{family::normal::Normal, numerics::Matrix};
/// let normal = Normal::new(vec![0.0, 0.0], Matrix::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 0.8 }))?;
/// // Knowing that x₁ = 1 moves the mean of x₀ to 0.8 and leaves it a variance of 1 − 0.8².
/// let given = normal.conditional(&[1], &[1.0])?;
/// assert!((given.mean()[0] - 0.8).abs() < 1e-12);
/// assert!((given.covariance()[(0, 0)] - 0.36).abs() < 1e-12);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Normal {
    mean: Vec<f64>,
    factor: Scaled,
}

impl Normal {
    /// A normal with this mean and covariance (its lower triangle counts).
    pub fn new(mean: Vec<f64>, covariance: Matrix) -> Result<Self> {
        Error::check_shape("covariance", mean.len(), covariance.rows())?;
        Error::check_shape("covariance", mean.len(), covariance.columns())?;
        let zeros = vec![0.0; mean.len()];
        let factor = Scaled::factor(&covariance, &zeros).ok_or_else(|| {
            let names: Vec<String> = (0..mean.len()).map(|j| format!("c{j}")).collect();
            singular(&covariance, &zeros, f64::INFINITY, None, &names)
        })?;
        Ok(Normal { mean, factor })
    }

    /// μ
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Σ
    pub fn covariance(&self) -> Matrix {
        self.factor.covariance()
    }

    /// log N(x | μ, Σ)
    pub fn log_density(&self, x: &[f64]) -> Result<f64> {
        Error::check_shape("numbers of a row", self.mean.len(), x.len())?;
        let shifted: Vec<f64> = x.iter().zip(&self.mean).map(|(x, m)| x - m).collect();
        let q: f64 = self.factor.whiten(&shifted).iter().map(|z| z * z).sum();
        Ok(-0.5 * (x.len() as f64 * TAU.ln() + q) - self.factor.half_log_determinant())
    }

    /// The distribution of the chosen columns.
    pub fn marginal(&self, columns: &[usize]) -> Result<Normal> {
        self.check(columns)?;
        let factor = self.factor.marginal(columns).ok_or_else(|| repeated(columns))?;
        Ok(Normal { mean: columns.iter().map(|&j| self.mean[j]).collect(), factor })
    }

    /// The distribution of the other columns, in their order, given that `columns` have `values`.
    pub fn conditional(&self, columns: &[usize], values: &[f64]) -> Result<Normal> {
        self.check(columns)?;
        Error::check_shape("values of the given columns", columns.len(), values.len())?;
        let known = self.factor.marginal(columns).ok_or_else(|| repeated(columns))?;
        let free: Vec<usize> = (0..self.mean.len()).filter(|j| !columns.contains(j)).collect();
        let sigma = self.covariance();
        let shifted: Vec<f64> = columns.iter().zip(values).map(|(&j, v)| v - self.mean[j]).collect();
        let z = known.whiten(&shifted);
        // Row i: L_b⁻¹ D_b⁻¹ Σ_bi, so that Σ_ab Σ_bb⁻¹ Σ_ba is the product of such rows.
        let whitened = |i: usize| known.whiten(&columns.iter().map(|&j| sigma[(j, i)]).collect::<Vec<_>>());
        let rows: Vec<Vec<f64>> = free.iter().map(|&i| whitened(i)).collect();
        let mean = free.iter().zip(&rows).map(|(&i, row)| self.mean[i] + dot(row, &z)).collect();
        let n = free.len();
        Normal::new(mean, Matrix::from_fn(n, n, |i, j| sigma[(free[i], free[j])] - dot(&rows[i], &rows[j])))
    }

    fn check(&self, columns: &[usize]) -> Result<()> {
        match columns.iter().find(|&&j| j >= self.mean.len()) {
            Some(j) => Err(Error::Schema(format!("column {j} of a normal with {} columns", self.mean.len()))),
            None => Ok(()),
        }
    }
}

fn repeated(columns: &[usize]) -> Error {
    Error::Schema(format!("a column is named twice in {columns:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joint_density_is_marginal_times_conditional() {
        let sigma = [[2.0, 0.3, -0.4], [0.3, 1.0, 0.2], [-0.4, 0.2, 3.0]];
        let normal = Normal::new(vec![1.0, -2.0, 0.5], Matrix::from_fn(3, 3, |i, j| sigma[i][j])).unwrap();
        let x = [0.3, -1.0, 2.0];
        let marginal = normal.marginal(&[2, 0]).unwrap().log_density(&[x[2], x[0]]).unwrap();
        let conditional = normal.conditional(&[2, 0], &[x[2], x[0]]).unwrap().log_density(&[x[1]]).unwrap();
        assert!((marginal + conditional - normal.log_density(&x).unwrap()).abs() < 1e-13);
    }

    #[test]
    fn the_height_example() {
        let density = |mean, variance| Normal::new(vec![mean], Matrix::diagonal(&[variance])).unwrap();
        let men = density(175.33, 52.89).log_density(&[174.0]).unwrap().exp();
        let women = density(161.82, 46.89).log_density(&[174.0]).unwrap().exp();
        // By hand: exp(−1.33²/105.78)/√(2π·52.89) and exp(−12.18²/93.78)/√(2π·46.89).
        assert!((men - 0.053_946).abs() < 1e-6, "{men}");
        assert!((women - 0.011_978).abs() < 1e-6, "{women}");
    }
}
