//! Densities of a row under the fit of all other rows, by a rank-one downdate of the fit of all.
//!
//! Let class c have weight n, mean m and scatter S; the row has weight v, and δ = x − m. Without it
//!
//! w′ = n − v,  m′ = m − (v/w′) δ,  S′ = S − aδδᵀ with a = nv/w′,  x − m′ = (n/w′) δ.
//!
//! With q = δᵀS⁻¹δ,  ln|S′| = ln|S| + ln(1 − aq) and, for any u,
//!
//! uᵀS′⁻¹u = uᵀS⁻¹u + a (uᵀS⁻¹δ)² / (1 − aq)   (Sherman & Morrison 1950).
//!
//! Where classes share Σ, S is the sum of their scatters, and the densities of all classes move.

use std::f64::consts::TAU;

use super::covariances::Covariances;
use super::prepared::Prepared;
use super::{Estimator, Gaussian, GaussianStatistic, Strength};
use crate::error::Result;
use crate::numerics::Matrix;
use crate::numerics::covariance::Scaled;
use crate::statistic::{ColumnMoments, Moments};

/// The fit of all rows, ready to do without any one of them.
#[derive(Clone, Debug)]
pub struct Downdate {
    /// What the estimator takes off a class's weight.
    freedom: f64,
    tied: bool,
    parts: Parts,
}

#[derive(Clone, Debug)]
enum Parts {
    Full { classes: Vec<Moments>, factors: Vec<Scaled>, weight: f64 },
    Columns { classes: Vec<ColumnMoments>, pooled: Vec<(f64, f64)> },
}

impl Downdate {
    /// `None` where the fit is not a plain one (shrunken, pooled, sparse, mapped, spherical or Bayesian)
    /// or is singular: there a row is removed from the statistics and all is fitted anew.
    pub fn new(family: &Gaussian, classes: &[GaussianStatistic]) -> Result<Option<Self>> {
        let zero = Strength::Fixed(0.0);
        let plain =
            family.shrinkage == zero && family.pooling == zero && family.sparse_precision == 0.0 && family.nu() == 0.0;
        if !plain
            || !family.steps.is_empty()
            || family.estimator == Estimator::Bayes
            || family.covariance.is_spherical()
            || family.covariance.is_low_rank()
        {
            return Ok(None);
        }
        let (freedom, tied) = (family.freedom_of_mean(), family.covariance.is_tied());
        let parts = match family.prepare(classes)? {
            Prepared::Full(classes) if family.covariance.is_full() => {
                let covariances = Covariances::matrices(family.covariances(&Prepared::Full(classes.clone()))?);
                let factor = |(k, covariance): (usize, &Matrix)| Scaled::factor(covariance, classes[k].mean());
                let Some(factors) = covariances.iter().enumerate().map(factor).collect::<Option<Vec<Scaled>>>() else {
                    return Ok(None);
                };
                let weight = classes.iter().filter(|m| m.weight() > 0.0).map(|m| m.weight() - freedom).sum();
                Parts::Full { classes, factors, weight }
            }
            prepared => {
                let classes = prepared.columns();
                let sum = |j: usize| {
                    let of = |f: &dyn Fn(&ColumnMoments) -> f64| classes.iter().map(f).sum::<f64>();
                    (of(&|m| m.scatter()[j]), of(&|m| if m.weight()[j] > 0.0 { m.weight()[j] - freedom } else { 0.0 }))
                };
                let pooled = (0..classes.first().map_or(0, ColumnMoments::width)).map(sum).collect();
                Parts::Columns { classes, pooled }
            }
        };
        Ok(Some(Downdate { freedom, tied, parts }))
    }

    /// log p(x | class) for each class, where `x` is one of the rows of class `own`, with weight `v`.
    /// `None` where the fit without it is singular.
    pub fn log_densities(&self, x: &[f64], own: usize, v: f64) -> Option<Vec<f64>> {
        match &self.parts {
            Parts::Full { classes, factors, weight } => self.full(classes, factors, *weight, x, own, v),
            Parts::Columns { classes, pooled } => {
                (0..classes.len()).map(|k| self.columns(classes, pooled, x, (own, v), k)).collect()
            }
        }
    }

    fn full(
        &self,
        classes: &[Moments],
        factors: &[Scaled],
        weight: f64,
        x: &[f64],
        own: usize,
        v: f64,
    ) -> Option<Vec<f64>> {
        let d = x.len() as f64;
        let n = classes[own].weight();
        let rest = n - v;
        let a = n * v / rest;
        let from = |k: usize| x.iter().zip(classes[k].mean()).map(|(x, m)| x - m).collect::<Vec<f64>>();
        let density = |log_determinant: f64, q: f64| -0.5 * (d * TAU.ln() + log_determinant + q);
        let factor = |k: usize| &factors[if self.tied { 0 } else { k }];
        // Σ = S/b, so that uᵀS⁻¹u is that of Σ over b.
        let b = if self.tied { weight } else { n - self.freedom };
        let left = b - v;
        let z = factor(own).whiten(&from(own));
        let q = z.iter().map(|z| z * z).sum::<f64>() / b;
        let share = 1.0 - a * q;
        if !(share > 1e-12 && left > 0.0 && rest > 0.0) {
            return None;
        }
        let log_determinant = 2.0 * factor(own).half_log_determinant() + share.ln() + d * (b / left).ln();
        let one = |k: usize| {
            if k == own {
                return density(log_determinant, left * (n / rest).powi(2) * q / share);
            }
            let u = factor(k).whiten(&from(k));
            let length: f64 = u.iter().map(|u| u * u).sum();
            match self.tied {
                false => density(2.0 * factor(k).half_log_determinant(), length),
                true => {
                    let along = u.iter().zip(&z).map(|(u, z)| u * z).sum::<f64>() / b;
                    density(log_determinant, left * (length / b + a * along * along / share))
                }
            }
        };
        Some((0..classes.len()).map(one).collect())
    }

    /// Column by column the same with numbers for matrices; missing cells are left out.
    fn columns(
        &self,
        classes: &[ColumnMoments],
        pooled: &[(f64, f64)],
        x: &[f64],
        (own, v): (usize, f64),
        k: usize,
    ) -> Option<f64> {
        let mut sum = 0.0;
        for (j, &x) in x.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
            let n = classes[own].weight()[j];
            let (rest, delta) = (n - v, x - classes[own].mean()[j]);
            let removed = if rest > 0.0 { n * v / rest * delta * delta } else { return None };
            let (scatter, divisor) = match self.tied {
                true => (pooled[j].0 - removed, pooled[j].1 - v),
                false if k == own => (classes[k].scatter()[j] - removed, rest - self.freedom),
                false => (classes[k].scatter()[j], classes[k].weight()[j] - self.freedom),
            };
            let variance = scatter / divisor;
            let u = if k == own { n / rest * delta } else { x - classes[k].mean()[j] };
            if !(variance > 0.0 && divisor > 0.0) || scatter <= 1e-12 * removed {
                return None;
            }
            sum -= 0.5 * (TAU.ln() + variance.ln() + u * u / variance);
        }
        Some(sum)
    }
}
