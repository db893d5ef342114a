//! The posterior predictive density under a normal-inverse-Wishart prior.
//!
//! Prior: Σ ~ IW(Ψ₀, ν₀), μ | Σ ~ N(μ₀, Σ/κ₀). After w rows with mean m and scatter S:
//!
//! κ = κ₀ + w,  ν = ν₀ + w,  μ = (κ₀μ₀ + wm)/κ,  Ψ = Ψ₀ + S + (κ₀w/κ)(m−μ₀)(m−μ₀)ᵀ,
//!
//! and a new row is Student with ν − d + 1 degrees of freedom about μ, with scale matrix
//! Ψ (κ+1)/(κ(ν−d+1)). Classes that share Σ share Ψ and ν, summed over classes.
//!
//! The prior is weak and takes its units from the data: μ₀ = the mean of all rows, Ψ₀ = the
//! pooled within-class variances, κ₀ = 0.01 and ν₀ = d + 2, so that E[Σ] = Ψ₀ and the prior
//! weighs as much as a few rows. With diagonal structures each column is such a model of its own
//! (d = 1); with spherical ones all columns inform one variance.

use super::Structure;
use super::density::{GaussianDensity, Tails};
use super::factor::Factor;
use super::prepared::Prepared;
use crate::error::Result;
use crate::family::Names;
use crate::numerics::Matrix;
use crate::numerics::covariance::{Scaled, is_constant, not_varying, singular};
use crate::statistic::{ColumnMoments, Moments, Statistic};
use crate::transform::Linear;

const KAPPA: f64 = 0.01;

/// ν₀ for d columns: the least for which E[Σ] = Ψ₀.
fn nu(d: usize) -> f64 {
    d as f64 + 2.0
}

pub(super) fn fit(
    structure: Structure,
    moments: &Prepared,
    chain: Vec<Linear>,
    names: Names<'_>,
) -> Result<GaussianDensity> {
    let columns = moments.columns();
    let d = moments.width();
    let mut total = ColumnMoments::empty(d);
    for class in &columns {
        total.merge(class)?;
    }
    let pooled =
        |j: usize| columns.iter().map(|c| c.scatter()[j]).sum::<f64>() / total.weight()[j].max(f64::MIN_POSITIVE);
    let prior = Prior { mean: total.mean().to_vec(), variances: (0..d).map(pooled).collect() };
    if (0..d).any(|j| is_constant(prior.variances[j], prior.mean[j])) {
        return Err(not_varying(&prior.variances, &prior.mean, f64::INFINITY, None, names.columns));
    }
    match (structure, moments) {
        (Structure::Full | Structure::Tied, Prepared::Full(classes)) => {
            full(structure.is_tied(), classes, &prior, chain, names)
        }
        (Structure::Spherical | Structure::TiedSpherical, _) => {
            Ok(spherical(structure.is_tied(), &columns, &prior, chain))
        }
        _ => Ok(diagonal(structure.is_tied(), &columns, &prior, chain)),
    }
}

struct Prior {
    mean: Vec<f64>,
    variances: Vec<f64>,
}

impl Prior {
    /// κ and the posterior mean of a column.
    fn mean(&self, j: usize, weight: f64, mean: f64) -> (f64, f64) {
        let kappa = KAPPA + weight;
        (kappa, (KAPPA * self.mean[j] + weight * mean) / kappa)
    }
}

/// (κ+1)/(κ·dof): what turns Ψ into the scale matrix of the predictive density. The product may overflow.
fn spread(kappa: f64, dof: f64) -> f64 {
    (kappa + 1.0) / kappa / dof
}

fn full(
    tied: bool,
    classes: &[Moments],
    prior: &Prior,
    chain: Vec<Linear>,
    names: Names<'_>,
) -> Result<GaussianDensity> {
    let d = prior.mean.len();
    let scatter = |class: &Moments| {
        let shrink = KAPPA * class.weight() / (KAPPA + class.weight());
        let delta: Vec<f64> = class.mean().iter().zip(&prior.mean).map(|(m, p)| m - p).collect();
        let s = class.scatter();
        Matrix::from_fn(d, d, |i, j| s[(i.max(j), i.min(j))] + shrink * delta[i] * delta[j])
    };
    let mut psi: Vec<Matrix> = Vec::new();
    let mut dof = Vec::new();
    for class in classes {
        let own = scatter(class);
        match psi.first_mut() {
            Some(shared) if tied => {
                shared.data_mut().iter_mut().zip(own.data()).for_each(|(a, b)| *a += b);
                dof[0] += class.weight();
            }
            _ => {
                psi.push(own);
                dof.push(nu(d) + class.weight() - d as f64 + 1.0);
            }
        }
    }
    let mut factors = Vec::new();
    for (c, matrix) in psi.iter_mut().enumerate() {
        (0..d).for_each(|j| matrix[(j, j)] += prior.variances[j]);
        let owner = (!tied).then(|| names.classes[c].as_str());
        let factor = Scaled::factor(matrix, &vec![0.0; d])
            .ok_or_else(|| singular(matrix, &vec![0.0; d], f64::INFINITY, owner, names.columns))?;
        factors.push(Factor::Lower(factor));
    }
    let mut means = Vec::new();
    let mut tails = Vec::new();
    for (c, class) in classes.iter().enumerate() {
        let dof = dof[if tied { 0 } else { c }];
        means.push((0..d).map(|j| prior.mean(j, class.weight(), class.mean()[j]).1).collect());
        tails.push((dof, spread(KAPPA + class.weight(), dof)));
    }
    Ok(GaussianDensity::with_tails(chain, means, factors, Tails::Joint(tails)))
}

/// Ψ and ν of one column of one class, before the prior is added.
fn column_scatter(prior: &Prior, class: &ColumnMoments, j: usize) -> f64 {
    let weight = class.weight()[j];
    let delta = class.mean()[j] - prior.mean[j];
    class.scatter()[j] + KAPPA * weight / (KAPPA + weight) * delta * delta
}

fn diagonal(tied: bool, classes: &[ColumnMoments], prior: &Prior, chain: Vec<Linear>) -> GaussianDensity {
    let d = prior.mean.len();
    let shared: Vec<(f64, f64)> = (0..d)
        .map(|j| {
            let psi = classes.iter().map(|c| column_scatter(prior, c, j)).sum::<f64>() + prior.variances[j];
            (psi, nu(1) + classes.iter().map(|c| c.weight()[j]).sum::<f64>())
        })
        .collect();
    let (mut means, mut factors, mut tails) = (Vec::new(), Vec::new(), Vec::new());
    for class in classes {
        let (mut mean, mut sd, mut tail) = (Vec::new(), Vec::new(), Vec::new());
        for j in 0..d {
            let weight = class.weight()[j];
            let (psi, dof) = match tied {
                true => shared[j],
                false => (column_scatter(prior, class, j) + prior.variances[j], nu(1) + weight),
            };
            let (kappa, m) = prior.mean(j, weight, class.mean()[j]);
            mean.push(m);
            sd.push(psi.sqrt());
            tail.push((dof, spread(kappa, dof)));
        }
        means.push(mean);
        tails.push(tail);
        if !tied || factors.is_empty() {
            factors.push(Factor::Diagonal(sd));
        }
    }
    GaussianDensity::with_tails(chain, means, factors, Tails::Columns(tails))
}

fn spherical(tied: bool, classes: &[ColumnMoments], prior: &Prior, chain: Vec<Linear>) -> GaussianDensity {
    let d = prior.mean.len();
    let own = |class: &ColumnMoments| {
        let psi: f64 = (0..d).map(|j| column_scatter(prior, class, j)).sum();
        (psi, class.weight().iter().sum::<f64>())
    };
    let sums: Vec<(f64, f64)> = classes.iter().map(own).collect();
    let all = sums.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    let psi_prior = prior.variances.iter().sum::<f64>() / d as f64;
    let (mut means, mut factors, mut tails) = (Vec::new(), Vec::new(), Vec::new());
    for (class, &sum) in classes.iter().zip(&sums) {
        let (psi, weight) = if tied { all } else { sum };
        let dof = nu(1) + weight;
        // With missing cells κ differs by column; the mean cell count stands for all.
        let kappa = KAPPA + class.weight().iter().sum::<f64>() / d as f64;
        means.push((0..d).map(|j| prior.mean(j, class.weight()[j], class.mean()[j]).1).collect());
        tails.push((dof, spread(kappa, dof)));
        if !tied || factors.is_empty() {
            factors.push(Factor::Diagonal(vec![(psi + psi_prior).sqrt(); d]));
        }
    }
    GaussianDensity::with_tails(chain, means, factors, Tails::Joint(tails))
}
