//! From moments to covariances: averaged, pooled, shrunk and made sparse, as the formulas of the family say, and factored.

use super::factor::Factor;
use super::low_rank::{self, LowRank};
use super::prepared::{Prepared, divide};
use super::{Estimator, Gaussian, Rank, Strength};
use crate::error::{Error, Result};
use crate::family::Names;
use crate::numerics::covariance::{Scaled, is_constant, not_varying, singular};
use crate::numerics::{Matrix, graphical_lasso};
use crate::statistic::{ColumnMoments, Moments};

/// The covariances of the classes (one, if they share it), before they are factored.
#[derive(Clone)]
pub(super) enum Covariances {
    Full(Vec<Matrix>),
    Diagonal(Vec<Vec<f64>>),
    /// Full matrices and the number of axes that are kept of them.
    LowRank(Vec<Matrix>, usize),
}

impl Covariances {
    /// Full matrices.
    pub(super) fn matrices(self) -> Vec<Matrix> {
        match self {
            Covariances::Full(matrices) | Covariances::LowRank(matrices, _) => matrices,
            Covariances::Diagonal(variances) => variances.iter().map(|v| Matrix::diagonal(v)).collect(),
        }
    }
}

impl Gaussian {
    pub(super) fn covariances(&self, moments: &Prepared) -> Result<Covariances> {
        let (Strength::Fixed(gamma), Strength::Fixed(lambda)) = (self.shrinkage, self.pooling) else {
            return Err(no_folds("shrinkage"));
        };
        self.covariances_with(moments, gamma, lambda)
    }

    /// The regularised covariances for given γ and λ.
    pub(super) fn covariances_with(&self, moments: &Prepared, gamma: f64, lambda: f64) -> Result<Covariances> {
        let d = moments.width();
        match moments {
            Prepared::Full(classes) if self.covariance.is_full() => {
                let scatter = |m: &Moments| m.scatter().data().to_vec();
                let mut parts: Vec<(Vec<f64>, f64)> = classes.iter().map(|m| (scatter(m), m.weight())).collect();
                self.add_prior(&mut parts, |centre| centre.data().to_vec());
                let averaged = self.average(&parts, lambda);
                let pooled = self.pooled(&parts);
                let scale_of = |s: &[f64]| (0..d).map(|j| s[j * d + j]).sum::<f64>() / d as f64;
                let mut matrices = Vec::new();
                for covariance in averaged {
                    let scale = Some(scale_of(&covariance)).filter(|s| *s > 0.0).unwrap_or_else(|| scale_of(&pooled));
                    let mut matrix = Matrix::from_columns(d, d, covariance);
                    matrix.data_mut().iter_mut().for_each(|x| *x *= 1.0 - gamma);
                    (0..d).for_each(|j| matrix[(j, j)] += gamma * scale);
                    matrices.push(self.sparsify(matrix)?);
                }
                match (self.covariance.is_low_rank(), self.rank) {
                    (false, _) => Ok(Covariances::Full(matrices)),
                    (true, Rank::Fixed(rank)) => Ok(Covariances::LowRank(matrices, rank)),
                    (true, Rank::Auto) => Err(no_folds("rank")),
                }
            }
            _ => {
                let classes = moments.columns();
                let mut columns: Vec<Vec<f64>> = Vec::new();
                let mut pooled = Vec::new();
                // Column by column: with missing cells each has a weight of its own.
                for j in 0..d {
                    let mut parts: Vec<(Vec<f64>, f64)> =
                        classes.iter().map(|m| (vec![m.scatter()[j]], m.weight()[j])).collect();
                    self.add_prior(&mut parts, |centre| vec![centre[(j, j)]]);
                    columns.push(self.average(&parts, lambda).concat());
                    pooled.extend(self.pooled(&parts));
                }
                let groups = columns.first().map_or(0, Vec::len);
                let mean = |v: &[f64]| v.iter().sum::<f64>() / d as f64;
                let diagonal = |c: usize| {
                    let variances: Vec<f64> = columns.iter().map(|column| column[c]).collect();
                    let scale = Some(mean(&variances)).filter(|s| *s > 0.0).unwrap_or_else(|| mean(&pooled));
                    if self.covariance.is_spherical() {
                        return vec![if gamma > 0.0 { scale } else { mean(&variances) }; d];
                    }
                    variances.iter().map(|v| (1.0 - gamma) * v + gamma * scale).collect()
                };
                Ok(Covariances::Diagonal((0..groups).map(diagonal).collect()))
            }
        }
    }

    /// S ← S + νC, w ← w + ν: a prior that weighs ν rows whose covariance is C. Where it is not settled, C is
    /// the covariance that the classes share.
    fn add_prior(&self, parts: &mut [(Vec<f64>, f64)], centre: impl Fn(&Matrix) -> Vec<f64>) {
        if self.nu() > 0.0 {
            let settled = self.settled.as_deref().and_then(|settled| settled.centre.as_ref());
            let centre = settled.map_or_else(|| self.pooled(parts), centre);
            for (scatter, weight) in parts {
                scatter.iter_mut().zip(&centre).for_each(|(s, c)| *s += self.nu() * c);
                *weight += self.nu();
            }
        }
    }

    /// Scatter over weight: of each class, pooled by λ, or of all where they share it.
    fn average(&self, parts: &[(Vec<f64>, f64)], lambda: f64) -> Vec<Vec<f64>> {
        if self.covariance.is_tied() {
            return vec![self.pooled(parts)];
        }
        let (all, weight) = self.sums(parts);
        let own = |(scatter, w): &(Vec<f64>, f64)| {
            let divisor = (1.0 - lambda) * (w - self.freedom_of_mean()) + lambda * weight;
            let cell = |(s, t): (&f64, &f64)| divide((1.0 - lambda) * s + lambda * t, divisor);
            scatter.iter().zip(&all).map(cell).collect()
        };
        parts.iter().map(own).collect()
    }

    /// Σ_c S_c and its divisor.
    fn sums(&self, parts: &[(Vec<f64>, f64)]) -> (Vec<f64>, f64) {
        let mut all = vec![0.0; parts.first().map_or(0, |p| p.0.len())];
        let mut weight = 0.0;
        for (scatter, w) in parts.iter().filter(|p| p.1 > 0.0) {
            all.iter_mut().zip(scatter).for_each(|(a, s)| *a += s);
            weight += w - self.freedom_of_mean();
        }
        (all, weight)
    }

    fn pooled(&self, parts: &[(Vec<f64>, f64)]) -> Vec<f64> {
        let (all, weight) = self.sums(parts);
        all.into_iter().map(|s| divide(s, weight)).collect()
    }

    pub(super) fn freedom_of_mean(&self) -> f64 {
        if self.estimator == Estimator::Unbiased { 1.0 } else { 0.0 }
    }

    fn sparsify(&self, covariance: Matrix) -> Result<Matrix> {
        let d = covariance.rows();
        let sd: Vec<f64> = (0..d).map(|j| covariance[(j, j)].sqrt()).collect();
        if self.sparse_precision == 0.0 || sd.iter().any(|s| *s <= 0.0 || !s.is_finite()) {
            return Ok(covariance);
        }
        let correlation = Matrix::from_fn(d, d, |i, j| covariance[(i.max(j), i.min(j))] / sd[i] / sd[j]);
        let sparse = graphical_lasso(correlation.data(), d, self.sparse_precision)?;
        Ok(Matrix::from_fn(d, d, |i, j| sparse.covariance[j * d + i] * sd[i] * sd[j]))
    }

    pub(super) fn factors(
        &self,
        covariances: &Covariances,
        moments: &Prepared,
        names: Names<'_>,
    ) -> Result<Vec<Factor>> {
        let means = moments.means();
        let rows: Vec<f64> = match moments {
            Prepared::Full(classes) => classes.iter().map(Moments::rows).collect(),
            Prepared::Columns(classes) => classes.iter().map(ColumnMoments::rows).collect(),
        };
        // What a shared covariance has to go on: all rows, less one per class mean.
        let tied = self.covariance.is_tied();
        let owner = |c: usize| (!tied).then(|| names.classes[c].as_str());
        let freedom = |c: usize| if tied { rows.iter().map(|n| n - 1.0).sum() } else { rows[c] - 1.0 };
        let factor_full = |(c, covariance): (usize, &Matrix)| {
            Scaled::factor(covariance, &means[c])
                .map(Factor::Lower)
                .ok_or_else(|| singular(covariance, &means[c], freedom(c), owner(c), names.columns))
        };
        let factor_low = |(c, covariance): (usize, &Matrix), rank: usize| {
            low_rank::check_rank(rank, covariance.rows())?;
            LowRank::of_covariance(covariance, rank)
                .map(Factor::LowRank)
                .ok_or_else(|| singular(covariance, &means[c], freedom(c), owner(c), names.columns))
        };
        let factor_diagonal = |(c, variances): (usize, &Vec<f64>)| match variances
            .iter()
            .zip(&means[c])
            .any(|(&v, &m)| is_constant(v, m))
        {
            true => Err(not_varying(variances, &means[c], freedom(c), owner(c), names.columns)),
            false => Ok(Factor::Diagonal(variances.iter().map(|v| v.sqrt()).collect())),
        };
        match covariances {
            Covariances::Full(matrices) => matrices.iter().enumerate().map(factor_full).collect(),
            Covariances::Diagonal(variances) => variances.iter().enumerate().map(factor_diagonal).collect(),
            Covariances::LowRank(matrices, rank) => {
                matrices.iter().enumerate().map(|covariance| factor_low(covariance, *rank)).collect()
            }
        }
    }
}

pub(super) fn no_folds(option: &'static str) -> Error {
    Error::parameter(option, "auto needs statistics in folds: make them with §folds=5")
}
