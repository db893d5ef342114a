//! Square roots of covariances, of each structure that these have.

use super::low_rank::LowRank;
use crate::numerics::Matrix;
use crate::numerics::covariance::Scaled;

/// A square root of a covariance.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// Standard deviations.
    Diagonal(Vec<f64>),
    /// Standard deviations and the factor of the correlations.
    Lower(Scaled),
    /// Principal axes and one variance in all other directions.
    LowRank(LowRank),
}

impl Factor {
    pub(super) fn half_log_determinant(&self) -> f64 {
        match self {
            Factor::Diagonal(sd) => sd.iter().map(|s| s.ln()).sum(),
            Factor::Lower(scaled) => scaled.half_log_determinant(),
            Factor::LowRank(low) => low.half_log_determinant(),
        }
    }

    pub(super) fn sd(&self) -> &[f64] {
        match self {
            Factor::Diagonal(sd) => sd,
            Factor::Lower(scaled) => scaled.sd(),
            Factor::LowRank(low) => low.sd(),
        }
    }

    pub(super) fn whiten(&self, x: &[f64]) -> Vec<f64> {
        match self {
            Factor::Diagonal(sd) => x.iter().zip(sd).map(|(x, s)| x / s).collect(),
            Factor::Lower(scaled) => scaled.whiten(x),
            Factor::LowRank(low) => low.whiten(x),
        }
    }

    pub(super) fn marginal(&self, columns: &[usize]) -> Option<Factor> {
        match self {
            Factor::Diagonal(sd) => Some(Factor::Diagonal(columns.iter().map(|&j| sd[j]).collect())),
            Factor::Lower(scaled) => scaled.marginal(columns).map(Factor::Lower),
            Factor::LowRank(low) => {
                let all = low.covariance();
                let own = Matrix::from_fn(columns.len(), columns.len(), |i, j| all[(columns[i], columns[j])]);
                Scaled::factor(&own, &vec![0.0; columns.len()]).map(Factor::Lower)
            }
        }
    }

    /// The variance of a column.
    pub fn covariance_diagonal(&self, j: usize) -> f64 {
        match self {
            Factor::Diagonal(sd) => sd[j] * sd[j],
            Factor::Lower(scaled) => {
                let length: f64 = (0..=j).map(|k| scaled.l()[(j, k)].powi(2)).sum();
                length * scaled.sd()[j].powi(2)
            }
            Factor::LowRank(low) => low.variance(j),
        }
    }

    /// Σ
    pub fn covariance(&self) -> Matrix {
        match self {
            Factor::Diagonal(sd) => Matrix::diagonal(&sd.iter().map(|s| s * s).collect::<Vec<_>>()),
            Factor::Lower(scaled) => scaled.covariance(),
            Factor::LowRank(low) => low.covariance(),
        }
    }

    /// Σ⁻¹
    pub fn precision(&self) -> Matrix {
        match self {
            Factor::Diagonal(sd) => Matrix::diagonal(&sd.iter().map(|s| (s * s).recip()).collect::<Vec<_>>()),
            Factor::Lower(scaled) => scaled.precision(),
            Factor::LowRank(low) => low.precision(),
        }
    }
}
