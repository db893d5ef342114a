//! What is settled before expectation–maximisation and stays as it is while the densities of groups are found: the maps
//! before them, and the centre of the prior of their covariances.

use std::sync::Arc;

use super::density::GaussianDensity;
use super::factor::Factor;
use super::prepared::{Mapped, Prepared};
use super::{Estimator, Gaussian, GaussianStatistic, Rank, Reference, Strength, Structure};
use crate::error::{Error, Result};
use crate::family::{Family, Names};
use crate::numerics::Matrix;
use crate::transform::Linear;

/// What stays as it is while the densities of groups are found.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The maps of `steps`: statistics are those of mapped rows.
    pub(super) maps: Vec<Linear>,
    /// What the mapped columns are called.
    pub(super) names: Vec<String>,
    /// The centre of the prior of each covariance, where it stays.
    pub(super) centre: Option<Matrix>,
    /// All rows before the maps, where these project.
    pub(super) reference: Option<Arc<Reference>>,
}

/// Linear maps, the names of the columns after them, and all rows before them where they project.
pub(crate) type Maps = (Vec<Linear>, Vec<String>, Option<Arc<Reference>>);

impl Gaussian {
    /// The maps of `steps`, the names of the columns after them, and all rows before them.
    pub(crate) fn maps(&self, classes: &[&GaussianStatistic], names: Names<'_>) -> Result<Maps> {
        self.mapped(classes, names).map(|mapped| (mapped.chain, mapped.names, mapped.reference))
    }

    /// The family for expectation–maximisation with so many groups in a class: its maps and the centre of its
    /// prior stay as the classes have them. Several shapes in a class are each smaller than the class: of M
    /// equal boxes that fill a box of d dimensions, each has 1/M^(2/d) of its covariance.
    pub(crate) fn settle(&self, classes: &[&GaussianStatistic], groups: usize, names: Names<'_>) -> Result<Self> {
        self.check()?;
        if self.is_open() {
            let option = if self.open_rank() { "rank" } else { "shrinkage" };
            return Err(Error::parameter(option, "give a number: auto is for models of one component"));
        }
        if self.estimator == Estimator::Bayes {
            return Err(Error::parameter("estimator=bayes", "it is for models of one component: give §prior_rows"));
        }
        let Mapped { chain: maps, names, moments, reference } = self.mapped(classes, names)?;
        let d = moments.width();
        let within = Gaussian { covariance: Structure::Tied, steps: Vec::new(), ..Gaussian::default() };
        let within = match &moments {
            Prepared::Full(_) => within,
            Prepared::Columns(_) => Gaussian { covariance: Structure::TiedDiagonal, ..within },
        };
        let mut centre = within.covariances_with(&moments, 0.0, 0.0)?.matrices().swap_remove(0);
        centre.mirror_lower();
        let smaller = (groups as f64).powf(-2.0 / d as f64);
        centre.data_mut().iter_mut().for_each(|c| *c *= smaller);
        let settled = Some(Arc::new(Settled { maps, names, centre: Some(centre), reference }));
        let takes_prior = matches!(self.covariance, Structure::Full | Structure::Diagonal | Structure::LowRank)
            && (self.shrinkage, self.pooling) == (Strength::default(), Strength::default());
        let usual = match self.covariance {
            _ if !takes_prior => 0.0,
            Structure::Full => d as f64,
            // An axis has about as many numbers as there are dimensions, and rows tell as many.
            Structure::LowRank => {
                if let Rank::Fixed(rank) = self.rank {
                    rank as f64 + 1.0
                } else {
                    0.0
                }
            }
            _ => 2.0,
        };
        let prior_rows = Some(self.prior_rows.unwrap_or(usual));
        Ok(Gaussian { steps: Vec::new(), prior_rows, settled, ..self.clone() })
    }

    /// The scales of columns, found once, for expectation–maximisation with one group in a class.
    pub(crate) fn scaled(&self, classes: &[&GaussianStatistic], names: Names<'_>) -> Result<Option<Arc<Settled>>> {
        if self.steps.is_empty() {
            return Ok(None);
        }
        let Mapped { chain: maps, names, .. } = self.mapped(classes, names)?;
        Ok(Some(Arc::new(Settled { maps, names, centre: None, reference: None })))
    }

    /// The statistic of rows after the maps that are settled, from that of the rows before them.
    pub(crate) fn after_settled(&self, statistic: GaussianStatistic) -> Result<GaussianStatistic> {
        let Some(settled) = self.settled.as_deref().filter(|settled| !settled.maps.is_empty()) else {
            return Ok(statistic);
        };
        let moments = self.prepare([&statistic])?;
        match settled.maps.iter().fold(moments, |moments, map| moments.map(map)) {
            Prepared::Full(mut classes) => Ok(GaussianStatistic::Full(classes.swap_remove(0))),
            Prepared::Columns(mut classes) => Ok(GaussianStatistic::Columns(classes.swap_remove(0))),
        }
    }

    /// The family as it was asked for, with what was found, and its density of the statistics that `found` was
    /// fitted to.
    pub(crate) fn finish(
        &self,
        found: &Gaussian,
        classes: &[&GaussianStatistic],
        names: Names<'_>,
    ) -> Result<(Gaussian, GaussianDensity)> {
        let rank = if self.open_rank() { found.rank } else { self.rank };
        let family = Gaussian { shrinkage: found.shrinkage, pooling: found.pooling, rank, ..self.clone() };
        let density = match self.projects() {
            true => family.fit(classes, names)?,
            false => {
                let plain = Gaussian { steps: Vec::new(), settled: found.settled.clone(), ..family.clone() };
                plain.fit(classes, names)?
            }
        };
        Ok((family, density))
    }

    /// The family as it observes rows for these densities: with their maps, and without a prior.
    pub(crate) fn settled_as(&self, density: &GaussianDensity) -> Self {
        let d = density.mean(0).len();
        let names = (0..d).map(|j| format!("z{}", j + 1)).collect();
        let settled = Settled { maps: density.chain().to_vec(), names, centre: None, reference: None };
        Gaussian { settled: Some(Arc::new(settled)), ..self.clone() }
    }

    /// Whether the fit maximises the likelihood, with the prior of the covariances where there is one. Shrunk and pooled
    /// covariances depend on what they are drawn to, which itself comes from the rows.
    pub(crate) fn is_maximum(&self) -> bool {
        let is_nothing = |strength: Strength| strength == Strength::Fixed(0.0);
        is_nothing(self.shrinkage)
            && (is_nothing(self.pooling) || self.covariance.is_tied())
            && self.sparse_precision == 0.0
            && self.estimator == Estimator::Ml
    }

    /// The logarithm of the prior of the covariances, but for a constant: −½ν Σ (ln|Σ| + tr(Σ⁻¹C)).
    pub(super) fn log_prior_of(&self, density: &GaussianDensity) -> f64 {
        let centre = self.settled.as_deref().and_then(|settled| settled.centre.as_ref());
        let Some(centre) = centre.filter(|_| self.nu() > 0.0) else { return 0.0 };
        let of_factor = |factor: &Factor| {
            let trace = match factor {
                Factor::Lower(scaled) => scaled.trace_ratio(centre),
                Factor::LowRank(low) => low.trace_ratio(centre),
                Factor::Diagonal(sd) => sd.iter().enumerate().map(|(j, s)| centre[(j, j)] / (s * s)).sum(),
            };
            2.0 * factor.half_log_determinant() + trace
        };
        -0.5 * self.nu() * density.factors().iter().map(of_factor).sum::<f64>()
    }
}
