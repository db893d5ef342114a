//! The likelihood of rows that only their moments tell of, for many strengths of shrinkage at once.
//!
//! Σᵢ log N(xᵢ | μ, Σ) = −½ [ w d ln 2π + w ln|Σ| + tr(Σ⁻¹S) + w (m−μ)ᵀΣ⁻¹(m−μ) ].
//!
//! Shrinkage moves eigenvalues and leaves eigenvectors: with Σ = VΛVᵀ and s = tr Σ/d, that of
//! (1−γ)Σ + γsI is λⱼ(γ) = (1−γ)λⱼ + γs. So one decomposition serves all γ: what is left of each is a
//! sum over the d numbers (VᵀSV)ⱼⱼ and (Vᵀ(m−μ))ⱼ².

use std::f64::consts::TAU;

use super::covariances::Covariances;
use super::prepared::Prepared;
use super::{Gaussian, GaussianStatistic, choose};
use crate::error::{Error, Result};
use crate::numerics::{Matrix, eigen, product};
use crate::statistic::{ColumnMoments, Moments};

/// Eigenvalues that differ by more have lost too many digits: there each γ is factored on its own.
pub(super) const MOST_CONDITIONED: f64 = 1e6;

/// For each γ the log-likelihood, in each class, of held-out rows under the fit of others; −∞ where
/// that is singular. `None` where a projection leaves part of the rows out of account.
pub fn held_out(
    family: &Gaussian,
    gammas: &[f64],
    train: &[GaussianStatistic],
    held: &[GaussianStatistic],
    columns: &[String],
) -> Result<Option<Vec<f64>>> {
    let super::Strength::Fixed(lambda) = family.pooling else {
        return Err(Error::parameter("shrinkage", "give numbers to compare"));
    };
    let (mut train, mut held) = (family.prepare(train)?, family.prepare(held)?);
    let mut log_scales = vec![0.0; train.width()];
    for step in &family.steps {
        let linear = train.fit_step(step, columns)?;
        if !linear.is_columnwise() {
            return Ok(None);
        }
        log_scales.iter_mut().zip(linear.log_scales()).for_each(|(sum, s)| *sum += s);
        (train, held) = (train.map(&linear), held.map(&linear));
    }
    // What does not depend on the covariances: the factors 2π and the change of units, of each column as often as
    // it has cells.
    let constant =
        |m: &ColumnMoments| -> f64 { m.weight().iter().zip(&log_scales).map(|(w, s)| w * (s - 0.5 * TAU.ln())).sum() };
    let constant: f64 = held.columns().iter().map(constant).sum();
    let plain =
        family.sparse_precision == 0.0 && matches!(family.covariance, super::Structure::Full | super::Structure::Tied);
    let spectra = match (&train, &held) {
        (Prepared::Full(train), Prepared::Full(held)) if plain => spectra(family, lambda, train, held)?,
        _ => None,
    };
    let one = |&gamma: &f64| match &spectra {
        Some(spectra) if spectra.iter().all(|s| s.is_sound(gamma)) => {
            Ok(constant + spectra.iter().map(|s| s.log_likelihood(gamma)).sum::<f64>())
        }
        _ => Ok(constant + choose::held_out(family, &train, &held, gamma, lambda)?),
    };
    gammas.iter().map(one).collect::<Result<_>>().map(Some)
}

/// Held-out rows of one class in the directions of its covariance.
struct Spectrum {
    values: Vec<f64>,
    /// s
    scale: f64,
    weight: f64,
    /// (VᵀSV)ⱼⱼ + w (Vᵀ(m−μ))ⱼ²
    squares: Vec<f64>,
}

impl Spectrum {
    fn value(&self, j: usize, gamma: f64) -> f64 {
        (1.0 - gamma) * self.values[j] + gamma * self.scale
    }

    /// Whether the smallest eigenvalue has its digits. Values come largest first.
    fn is_sound(&self, gamma: f64) -> bool {
        let d = self.values.len();
        self.scale > 0.0 && self.value(0, gamma) < MOST_CONDITIONED * self.value(d - 1, gamma)
    }

    fn log_likelihood(&self, gamma: f64) -> f64 {
        let column = |j: usize| self.weight * self.value(j, gamma).ln() + self.squares[j] / self.value(j, gamma);
        -0.5 * (0..self.values.len()).map(column).sum::<f64>()
    }
}

/// `None` where a decomposition fails.
fn spectra(family: &Gaussian, lambda: f64, train: &[Moments], held: &[Moments]) -> Result<Option<Vec<Spectrum>>> {
    let moments = Prepared::Full(train.to_vec());
    let Covariances::Full(matrices) = family.covariances_with(&moments, 0.0, lambda)? else { return Ok(None) };
    let decomposed: Option<Vec<(Vec<f64>, Matrix)>> = matrices.iter().map(eigen).collect();
    let Some(decomposed) = decomposed else { return Ok(None) };
    let mut spectra = Vec::new();
    for (c, m) in held.iter().enumerate().filter(|(c, m)| m.weight() > 0.0 && train[*c].weight() > 0.0) {
        let (values, vectors) = &decomposed[if decomposed.len() == 1 { 0 } else { c }];
        let d = values.len();
        let mut scatter = m.scatter().clone();
        scatter.mirror_lower();
        let sv = product(&scatter, false, vectors, false);
        let delta: Vec<f64> = m.mean().iter().zip(train[c].mean()).map(|(a, b)| a - b).collect();
        let along = vectors.transpose_times(&delta);
        let square = |j: usize| {
            let own: f64 = vectors.column(j).iter().zip(sv.column(j)).map(|(v, s)| v * s).sum();
            own + m.weight() * along[j] * along[j]
        };
        spectra.push(Spectrum {
            scale: values.iter().sum::<f64>() / d as f64,
            weight: m.weight(),
            squares: (0..d).map(square).collect(),
            values: values.clone(),
        });
    }
    Ok(Some(spectra))
}
