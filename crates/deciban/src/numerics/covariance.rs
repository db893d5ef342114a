//! Factors of covariance matrices: Σ = D L Lᵀ D with D = diag(standard deviations) and L the
//! Cholesky factor of the correlations. So columns of scale 1e-150 and 1e150 stand side by side,
//! and whether Σ is singular does not depend on the columns' units.

use super::{Matrix, cholesky, dot, product, solve_lower};
use crate::error::{Error, Result};

/// Σ = D L Lᵀ D.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    sd: Vec<f64>,
    l: Matrix,
}

impl Scaled {
    /// The factor of a covariance given by its lower triangle; `None` if it is singular.
    /// `mean` tells below which size a standard deviation is only rounding.
    pub fn factor(covariance: &Matrix, mean: &[f64]) -> Option<Scaled> {
        let d = covariance.rows();
        if (0..d).any(|j| is_constant(covariance[(j, j)], mean[j])) {
            return None;
        }
        let sd: Vec<f64> = (0..d).map(|j| covariance[(j, j)].sqrt()).collect();
        let l = cholesky(&correlation(covariance, &sd))?;
        // 1 − R² of a column on those before it: rounding alone leaves about d·ε.
        let floor = tolerance(d);
        (0..d).all(|j| l[(j, j)] * l[(j, j)] > floor).then_some(Scaled { sd, l })
    }

    /// A factor from its parts.
    pub fn from_parts(sd: Vec<f64>, l: Matrix) -> Result<Scaled> {
        Error::check_shape("factor of a covariance", sd.len(), l.rows())?;
        Error::check_shape("factor of a covariance", sd.len(), l.columns())?;
        Ok(Scaled { sd, l })
    }

    /// The standard deviations D.
    pub fn sd(&self) -> &[f64] {
        &self.sd
    }

    /// The factor L of the correlations.
    pub fn l(&self) -> &Matrix {
        &self.l
    }

    /// ½ ln|Σ|
    pub fn half_log_determinant(&self) -> f64 {
        (0..self.sd.len()).map(|j| self.sd[j].ln() + self.l[(j, j)].ln()).sum()
    }

    /// L⁻¹D⁻¹x, whose squared length is xᵀΣ⁻¹x.
    pub fn whiten(&self, x: &[f64]) -> Vec<f64> {
        let mut z = Matrix::from_columns(x.len(), 1, x.iter().zip(&self.sd).map(|(x, s)| x / s).collect());
        solve_lower(&self.l, false, &mut z);
        z.data().to_vec()
    }

    /// D L z, the inverse of [`whiten`](Scaled::whiten).
    pub fn colour(&self, z: &[f64]) -> Vec<f64> {
        self.l.times(z).iter().zip(&self.sd).map(|(x, s)| x * s).collect()
    }

    /// tr(Σ⁻¹S) for a symmetric S given by its lower triangle.
    pub fn trace_ratio(&self, s: &Matrix) -> f64 {
        let mut half = correlation(s, &self.sd);
        half.mirror_lower();
        solve_lower(&self.l, false, &mut half);
        let d = self.sd.len();
        let mut whole = Matrix::from_fn(d, d, |i, j| half[(j, i)]);
        solve_lower(&self.l, false, &mut whole);
        (0..d).map(|j| whole[(j, j)]).sum()
    }

    /// Σ⁻¹, for people to look at; scoring solves instead.
    pub fn precision(&self) -> Matrix {
        let d = self.sd.len();
        let mut inverse = Matrix::diagonal(&self.sd.iter().map(|s| s.recip()).collect::<Vec<_>>());
        solve_lower(&self.l, false, &mut inverse);
        solve_lower(&self.l, true, &mut inverse);
        Matrix::from_fn(d, d, |i, j| inverse[(i.max(j), i.min(j))] / self.sd[i.max(j)])
    }

    /// (LLᵀ)⁻¹, the inverse of the correlations.
    pub fn correlation_precision(&self) -> Matrix {
        let mut inverse = Matrix::identity(self.sd.len());
        solve_lower(&self.l, false, &mut inverse);
        solve_lower(&self.l, true, &mut inverse);
        inverse
    }

    /// Σ
    pub fn covariance(&self) -> Matrix {
        let d = self.sd.len();
        let product = product(&self.l, false, &self.l, true);
        Matrix::from_fn(d, d, |i, j| product[(i, j)] * self.sd[i] * self.sd[j])
    }

    /// The factor of the chosen columns: marginals of a Gaussian are Gaussian.
    pub fn marginal(&self, columns: &[usize]) -> Option<Scaled> {
        let d = self.sd.len();
        let rows: Vec<Vec<f64>> = columns.iter().map(|&i| (0..d).map(|k| self.l[(i, k)]).collect()).collect();
        let n = columns.len();
        let l = cholesky(&Matrix::from_fn(n, n, |i, j| dot(&rows[i], &rows[j])))?;
        Some(Scaled { sd: columns.iter().map(|&j| self.sd[j]).collect(), l })
    }
}

fn tolerance(d: usize) -> f64 {
    8.0 * d as f64 * f64::EPSILON
}

/// Whether a variance is zero but for the rounding of numbers of the size of `mean`.
pub fn is_constant(variance: f64, mean: f64) -> bool {
    variance.is_nan() || variance.sqrt() <= 4.0 * f64::EPSILON * mean.abs() || variance <= 0.0
}

fn correlation(covariance: &Matrix, sd: &[f64]) -> Matrix {
    // Divided one after the other: the product of two tiny deviations may underflow.
    Matrix::from_fn(sd.len(), sd.len(), |i, j| covariance[(i.max(j), i.min(j))] / sd[i] / sd[j])
}

/// Why a covariance is singular, and which columns make it so. `freedom` is the number of rows,
/// less one per mean that was estimated from them.
pub fn singular(covariance: &Matrix, mean: &[f64], freedom: f64, class: Option<&str>, names: &[String]) -> Error {
    let d = covariance.rows();
    let variances: Vec<f64> = (0..d).map(|j| covariance[(j, j)]).collect();
    if freedom < 1.0 || variances.iter().zip(mean).any(|(&v, &m)| is_constant(v, m)) {
        return not_varying(&variances, mean, freedom, class, names);
    }
    let (why, columns) = if freedom < d as f64 {
        (format!("{} rows are too few for {d} columns", freedom + 1.0), names.to_vec())
    } else {
        let sd: Vec<f64> = (0..d).map(|j| covariance[(j, j)].sqrt()).collect();
        let columns = dependent(&correlation(covariance, &sd)).iter().map(|&j| names[j].clone()).collect();
        ("these columns depend on each other".to_string(), columns)
    };
    Error::Singular { class: class.map(str::to_string), columns, why }
}

/// The error names the columns that make a diagonal covariance singular, and why.
pub fn not_varying(variances: &[f64], mean: &[f64], freedom: f64, class: Option<&str>, names: &[String]) -> Error {
    let constant = (0..variances.len()).filter(|&j| is_constant(variances[j], mean[j]));
    let (why, columns) = match freedom < 1.0 {
        true => ("it has only one row", names.to_vec()),
        false => ("these columns do not vary", constant.map(|j| names[j].clone()).collect()),
    };
    Error::Singular { class: class.map(str::to_string), columns, why: why.to_string() }
}

/// The first column that is a combination of columns before it, and those columns.
fn dependent(correlation: &Matrix) -> Vec<usize> {
    let d = correlation.rows();
    for j in 1..d {
        let before: Vec<usize> = (0..j).collect();
        let Some(l) = cholesky(&Matrix::from_fn(j, j, |i, k| correlation[(i, k)])) else { return before };
        let mut b = Matrix::from_fn(j, 1, |i, _| correlation[(j, i)]);
        solve_lower(&l, false, &mut b);
        let explained: f64 = b.data().iter().map(|x| x * x).sum();
        if 1.0 - explained <= 2.0 * tolerance(d) {
            solve_lower(&l, true, &mut b);
            let used = before.into_iter().filter(|&i| b.data()[i].abs() > 1e-6);
            return used.chain([j]).collect();
        }
    }
    (0..d).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_scales_stand_side_by_side() {
        let covariance = Matrix::from_fn(2, 2, |i, j| match (i, j) {
            (0, 0) => 4e-300,
            (1, 1) => 9e300,
            _ => 3.0,
        });
        let factor = Scaled::factor(&covariance, &[0.0, 0.0]).unwrap();
        // |Σ| = 36 − 9 = 27.
        // The logarithms of the scales, ±345, cancel in the sum.
        assert!((factor.half_log_determinant() - 27f64.ln() / 2.0).abs() < 1e-12);
        let z = factor.whiten(&[2e-150, 0.0]);
        // xᵀΣ⁻¹x = x₁² Σ₂₂/|Σ| = 4e-300·9e300/27.
        assert!((z.iter().map(|z| z * z).sum::<f64>() - 36.0 / 27.0).abs() < 1e-14);
    }

    #[test]
    fn dependent_columns_are_named() {
        let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        // c = a + b, d is free.
        let covariance = Matrix::from_fn(4, 4, |i, j| {
            [[1.0, 0.5, 1.5, 0.1], [0.5, 2.0, 2.5, 0.2], [1.5, 2.5, 4.0, 0.3], [0.1, 0.2, 0.3, 1.0]][i][j]
        });
        assert!(Scaled::factor(&covariance, &[0.0; 4]).is_none());
        let error = singular(&covariance, &[0.0; 4], 100.0, Some("x"), &names).to_string();
        assert_eq!(
            error,
            "the covariance of class `x` is singular: these columns depend on each other: `a`, `b`, `c`; \
             drop columns with ignore, or regularise with shrinkage=auto"
        );
    }
}
