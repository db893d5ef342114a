//! Gaussian family: p(x | c) = N(x | μ_c, Σ_c), with Σ of one of six structures.
//!
//! Statistic: w, m, S per class ([`Moments`], or [`ColumnMoments`] where only variances are asked
//! for). With ML estimation Σ_c = S_c/w_c; unbiased divides by w_c − 1, and where classes share
//! Σ by w − K. Regularisation, in this order:
//!
//! - pooling (Friedman 1989):  Σ_c ← ((1−λ) S_c + λ S) / ((1−λ) w_c + λ w), S = Σ_c S_c;
//! - shrinkage:  Σ ← (1−γ) Σ + γ (tr Σ/d) I. This is the posterior mode under an inverse-Wishart
//!   prior with scale proportional to the identity: γ = ν₀/(w + ν₀) says the prior weighs as
//!   much as ν₀ rows that scatter alike in every direction;
//! - sparse precision: graphical lasso on the correlations, with penalty ρ.
//!
//! `bayes` integrates μ and Σ out instead (see [`bayes`]), which gives Student densities.

mod bank;
mod bayes;
mod choose;
mod conditional;
mod covariances;
mod dealt_rows;
mod density;
mod explain;
mod factor;
mod fill;
mod floor;
mod forms;
mod gaps;
mod incomplete;
mod leave_one_out;
mod likelihood;
mod low_rank;
mod marginal;
mod missing_block;
mod observe;
mod prepared;
mod projected;
mod settled;
mod statistic;
mod stored;
mod structure;

pub use bank::{Bank, are_kin};
pub use conditional::Conditional;
pub use density::{GaussianDensity, Tails};
pub use floor::{FLOOR, Floored};
pub use forms::{LinearForm, QuadraticForm};
pub use leave_one_out::Downdate;
pub use likelihood::held_out;
pub use low_rank::Rank;
pub use projected::Reference;
pub use settled::Settled;
pub use statistic::GaussianStatistic;
pub use structure::{Estimator, Strength, Structure};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Assignment, Dealt, Family, Names, for_each_group};
use crate::data::Cells;
use crate::error::{Error, Result};
use crate::statistic::{ColumnMoments, Moments, NotFinite};
use crate::transform::Step;
use prepared::Mapped;

/// The Gaussian family with its hyper-parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gaussian {
    /// The structure of the covariances.
    pub covariance: Structure,
    /// The estimator.
    pub estimator: Estimator,
    /// γ: towards a multiple of the identity.
    pub shrinkage: Strength,
    /// λ: towards the covariance that all classes share.
    pub pooling: Strength,
    /// ρ: the penalty of the graphical lasso on correlations; 0 is none.
    pub sparse_precision: f64,
    /// The number of axes of low-rank covariances.
    #[serde(default, skip_serializing_if = "is_auto")]
    pub rank: Rank,
    /// Linear maps before the density, in order.
    pub steps: Vec<Step>,
    /// ν: how many rows the prior of each covariance weighs, centred on the covariance within classes. By
    /// default none, and in classes of several components as many as there are dimensions, or 2 for variances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_rows: Option<f64>,
    /// What is settled before expectation–maximisation.
    #[serde(skip)]
    #[doc(hidden)]
    pub settled: Option<Arc<Settled>>,
}

fn is_auto(rank: &Rank) -> bool {
    *rank == Rank::Auto
}

impl Gaussian {
    /// Whether the number of axes is to be found.
    pub(crate) fn open_rank(&self) -> bool {
        self.covariance.is_low_rank() && self.rank == Rank::Auto
    }

    /// The weight of the prior, as far as it is known.
    fn nu(&self) -> f64 {
        self.prior_rows.unwrap_or(0.0)
    }

    /// Whether the whole scatter matrix is needed.
    pub(crate) fn needs_full(&self) -> bool {
        self.covariance.is_full() || self.projects()
    }

    /// Whether a step leaves dimensions out.
    pub(crate) fn projects(&self) -> bool {
        self.steps.iter().any(|step| !matches!(step, Step::Standardise))
    }

    /// Refuses hyper-parameters that contradict each other.
    pub fn check(&self) -> Result<()> {
        let is_set = |strength| strength != Strength::Fixed(0.0);
        if self.covariance.is_tied() && is_set(self.pooling) {
            return Err(Error::parameter("pooling", "a tied covariance is pooled already: drop the option"));
        }
        if self.sparse_precision < 0.0 || !self.sparse_precision.is_finite() {
            return Err(Error::parameter("sparse_precision", "give a penalty of 0 or more"));
        }
        if self.sparse_precision > 0.0 && !self.covariance.is_full() {
            return Err(Error::parameter("sparse_precision", "give §covariance=full or tied with it"));
        }
        if self.rank != Rank::Auto && !self.covariance.is_low_rank() {
            return Err(Error::parameter("rank", "give §covariance=low-rank or tied-low-rank with it"));
        }
        if self.covariance.is_low_rank() && (is_set(self.shrinkage) || self.sparse_precision > 0.0) {
            let message = "its rank regularises already: drop §shrinkage and §sparse_precision";
            return Err(Error::parameter("covariance=low-rank", message));
        }
        if self.covariance.is_low_rank() && self.estimator == Estimator::Bayes {
            return Err(Error::parameter("estimator=bayes", "give another §covariance than low-rank with it"));
        }
        if self.prior_rows.is_some_and(|nu| !(nu >= 0.0 && nu.is_finite())) {
            return Err(Error::parameter("prior_rows", "give a number of rows, 0 or more"));
        }
        if self.nu() > 0.0 && (self.covariance.is_tied() || self.covariance.is_spherical()) {
            return Err(Error::parameter("prior_rows", "give §covariance=full, diagonal or low-rank with it"));
        }
        let regularised =
            self.nu() > 0.0 || is_set(self.shrinkage) || is_set(self.pooling) || self.sparse_precision > 0.0;
        if self.estimator == Estimator::Bayes && regularised {
            let message = "its prior regularises already: drop §shrinkage, §pooling, §prior_rows and §sparse_precision";
            return Err(Error::parameter("estimator=bayes", message));
        }
        Ok(())
    }
}

impl Family for Gaussian {
    type Statistic = GaussianStatistic;
    type Density = GaussianDensity;

    fn empty(&self, width: usize) -> GaussianStatistic {
        let width = self.settled.as_ref().map_or(width, |settled| settled.names.len());
        match self.needs_full() {
            true => GaussianStatistic::Full(Moments::empty(width)),
            false => GaussianStatistic::Columns(ColumnMoments::empty(width)),
        }
    }

    fn size(&self, width: usize) -> usize {
        if self.needs_full() { width * width * 8 } else { width * 32 }
    }

    fn observe(&self, statistic: &mut GaussianStatistic, x: &Cells<'_>, names: &[String]) -> Result<()> {
        let one = Dealt::new(vec![0; x.rows()].into(), 1);
        if let Some(observed) = self.deal_out(&mut [statistic], x, &one, names) {
            return observed;
        }
        self.for_each_tile(x, names, |part, tile, weights| match statistic.observe(tile, weights) {
            Ok(()) => Ok(()),
            Err(NotFinite) => {
                part.read_numbers(tile)?;
                self.apply_maps(tile);
                let observed = statistic.observe_with_gaps(tile, weights);
                observed.map_err(|NotFinite| self.explain_not_finite(part, names))
            }
        })
    }

    /// Without a density, rows that lie one after the other are dealt out to the groups in their order. With
    /// one, missing cells are filled by their means given the others, and the scatter grows by their covariance.
    fn observe_groups(
        &self,
        groups: &mut [&mut GaussianStatistic],
        x: &Cells<'_>,
        to: Assignment<'_>,
        at: Option<&GaussianDensity>,
        names: &[String],
    ) -> Result<()> {
        if let (Assignment::Hard(dealt), None) = (to, at)
            && let Some(observed) = self.deal_out(groups, x, dealt, names)
        {
            return observed;
        }
        let Some(density) = at else {
            return for_each_group(x, to, |group, cells| self.observe(groups[group], cells, names));
        };
        if let Assignment::Soft(shares) = to
            && self.mapped_width().is_none()
        {
            return self.observe_shares(groups, x, shares, density, names);
        }
        for_each_group(x, to, |group, cells| {
            self.for_each_tile(cells, names, |part, tile, weights| {
                self.observe_filled(groups[group], part, names, (tile, weights), (density, group), None)
            })
        })
    }

    fn observe_scored(
        &self,
        statistic: &mut GaussianStatistic,
        x: &Cells<'_>,
        at: &GaussianDensity,
        names: &[String],
        log_p: &mut [f64],
    ) -> Result<()> {
        let mut rest = log_p;
        self.for_each_tile(x, names, |part, tile, weights| {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(tile.rows());
            rest = others;
            self.observe_filled(statistic, part, names, (tile, weights), (at, 0), Some(own))
        })
    }

    fn is_open(&self) -> bool {
        self.shrinkage == Strength::Auto || self.pooling == Strength::Auto || self.open_rank()
    }

    fn choose(&self, folds: &[Vec<GaussianStatistic>], names: Names<'_>) -> Result<Self> {
        self.check()?;
        choose::choose(self, folds, names)
    }

    fn begin(&self, statistic: &GaussianStatistic, class: &str, names: &[String]) -> Result<Option<GaussianStatistic>> {
        statistic.beginning(class, names)
    }

    fn step_lengths(&self, steps: [&GaussianStatistic; 3]) -> Option<[f64; 2]> {
        GaussianStatistic::step_lengths(steps)
    }

    fn extrapolate(&self, steps: [&GaussianStatistic; 3], alpha: f64) -> Option<GaussianStatistic> {
        GaussianStatistic::extrapolate(steps, alpha)
    }

    fn log_prior(&self, density: &GaussianDensity) -> f64 {
        self.log_prior_of(density)
    }

    fn log_likelihood(&self, density: &GaussianDensity, class: usize, rows: &GaussianStatistic) -> Option<f64> {
        density.log_likelihood(class, self.prepare(std::slice::from_ref(rows)).ok()?)
    }

    fn fit(&self, classes: &[&GaussianStatistic], names: Names<'_>) -> Result<GaussianDensity> {
        self.check()?;
        for (statistic, class) in classes.iter().zip(names.classes) {
            // With its parameters integrated out, such a column has the prior's mean and a wide density.
            if let (GaussianStatistic::Columns(columns), true) = (statistic, self.estimator != Estimator::Bayes) {
                statistic::check_cells(columns, class, names.columns)?;
            }
        }
        let Mapped { chain, names: columns, moments, reference } = self.mapped(classes, names)?;
        let names = Names { columns: &columns, ..names };
        if self.estimator == Estimator::Bayes {
            return bayes::fit(self.covariance, &moments, chain, names);
        }
        let mut covariances = self.covariances(&moments)?;
        let floored = self.raise(&mut covariances, &moments)?;
        let factors = self.factors(&covariances, &moments, names)?;
        let density = GaussianDensity::normal(chain, moments.means(), factors);
        Ok(density.with_reference(reference).with_floored(floored))
    }
}
