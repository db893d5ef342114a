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
mod density;
mod explain;
mod fill;
mod forms;
mod gaps;
mod incomplete;
mod leave_one_out;
mod likelihood;
mod low_rank;
mod marginal;
mod missing_block;
mod projected;
mod statistic;

pub use bank::{Bank, are_kin};
pub use conditional::Conditional;
pub use density::{GaussianDensity, Tails};
pub use forms::{LinearForm, QuadraticForm};
pub use leave_one_out::Downdate;
pub use likelihood::held_out;
pub use low_rank::Rank;
pub use projected::Reference;
pub use statistic::GaussianStatistic;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Assignment, Dealt, Family, Names, add_scores, for_each_group};
use crate::data::{Cells, Tile};
use crate::error::{Error, Result};
use crate::numerics::covariance::{Scaled, is_constant, singular};
use crate::numerics::{Matrix, graphical_lasso};
use crate::statistic::{ColumnMoments, Moments, NotFinite, RowBuffer, Statistic};
use crate::transform::{Linear, Step};
use density::Factor;
use low_rank::LowRank;
use statistic::mixed;

/// What the covariances of the classes have in common, and which of their cells are free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Structure {
    /// Each class its own matrix (quadratic discriminant analysis).
    #[default]
    Full,
    /// One matrix for all classes (linear discriminant analysis).
    Tied,
    /// Each class its own variances (Gaussian naive Bayes).
    Diagonal,
    /// One set of variances for all classes.
    TiedDiagonal,
    /// Each class one variance.
    Spherical,
    /// One variance.
    TiedSpherical,
    /// Each class its own principal axes, and one variance in all other directions (probabilistic PCA).
    LowRank,
    /// The same axes and variances for all classes.
    TiedLowRank,
}

impl Structure {
    /// All structures, by the names of the command line.
    pub const ALL: [(&'static str, Structure); 8] = [
        ("full", Structure::Full),
        ("tied", Structure::Tied),
        ("diagonal", Structure::Diagonal),
        ("tied-diagonal", Structure::TiedDiagonal),
        ("spherical", Structure::Spherical),
        ("tied-spherical", Structure::TiedSpherical),
        ("low-rank", Structure::LowRank),
        ("tied-low-rank", Structure::TiedLowRank),
    ];

    /// Those that leave no number of axes open.
    pub const FREE: [(&'static str, Structure); 6] = {
        let [full, tied, diagonal, tied_diagonal, spherical, tied_spherical, ..] = Structure::ALL;
        [full, tied, diagonal, tied_diagonal, spherical, tied_spherical]
    };

    /// Whether the classes share their covariance.
    pub fn is_tied(self) -> bool {
        use Structure::*;
        matches!(self, Tied | TiedDiagonal | TiedSpherical | TiedLowRank)
    }

    /// Whether columns are correlated within a class.
    pub fn is_full(self) -> bool {
        matches!(self, Structure::Full | Structure::Tied) || self.is_low_rank()
    }

    /// Whether columns are correlated along a few axes only.
    pub fn is_low_rank(self) -> bool {
        matches!(self, Structure::LowRank | Structure::TiedLowRank)
    }

    /// Whether all columns share one variance.
    pub fn is_spherical(self) -> bool {
        matches!(self, Structure::Spherical | Structure::TiedSpherical)
    }
}

/// How a covariance is estimated from a scatter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimator {
    /// Maximum likelihood: divide by the weight.
    #[default]
    Ml,
    /// Divide by the weight less the means that were estimated.
    Unbiased,
    /// Integrate mean and covariance out: a Student density.
    Bayes,
}

impl Estimator {
    /// All estimators, by the names of the command line.
    pub const ALL: [(&'static str, Estimator); 3] =
        [("ml", Estimator::Ml), ("unbiased", Estimator::Unbiased), ("bayes", Estimator::Bayes)];
}

/// A strength of regularisation: given, or chosen by held-out likelihood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strength {
    /// A number from 0 to 1.
    Fixed(f64),
    /// The best of a grid by leave-fold-out likelihood.
    Auto,
}

impl Default for Strength {
    fn default() -> Self {
        Strength::Fixed(0.0)
    }
}

impl std::str::FromStr for Strength {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Strength::Auto),
            number => match number.parse() {
                Ok(x) if (0.0..=1.0).contains(&x) => Ok(Strength::Fixed(x)),
                _ => Err("give a number from 0 to 1, or auto".into()),
            },
        }
    }
}

impl std::fmt::Display for Strength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Strength::Fixed(x) => write!(f, "{x}"),
            Strength::Auto => write!(f, "auto"),
        }
    }
}

impl Serialize for Strength {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Strength {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

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

/// What stays as it is while the densities of groups are found.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The maps of `steps`: statistics are those of mapped rows.
    maps: Vec<Linear>,
    /// What the mapped columns are called.
    names: Vec<String>,
    /// The centre of the prior of each covariance, where it stays.
    centre: Option<Matrix>,
    /// All rows before the maps, where these project.
    reference: Option<Arc<Reference>>,
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

impl Gaussian {
    /// Runs `observe` on tiles of the rows, after the maps that are settled.
    fn for_each_tile(
        &self,
        x: &Cells<'_>,
        names: &[String],
        mut observe: impl FnMut(&Cells<'_>, &mut Tile, Option<&[f64]>) -> Result<()>,
    ) -> Result<()> {
        // Tall enough that the rank-one joins are cheap, small enough for the second-level cache.
        let rows = ((256 << 10) / (8 * x.width().max(1))).clamp(256, 1024);
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        for start in (0..x.rows()).step_by(rows) {
            let part = x.part(start..x.rows().min(start + rows));
            part.read_numbers(&mut tile)?;
            self.check_projected(&part, names, &tile)?;
            self.apply_maps(&mut tile);
            part.read_weights(&mut weights);
            observe(&part, &mut tile, part.weighted().then_some(weights.as_slice()))?;
        }
        Ok(())
    }

    /// Deals rows that lie one after the other out to the groups; `None` where they do not lie so.
    fn deal_out(
        &self,
        groups: &mut [&mut GaussianStatistic],
        x: &Cells<'_>,
        dealt: &Dealt<'_>,
        names: &[String],
    ) -> Option<Result<()>> {
        // The buffers of all groups stay in the second-level cache, and each is worth a join.
        let count = groups.len();
        let tall = ((256 << 10) / (8 * x.width() * count).max(1)).min(512);
        let numbers = x.row_major().filter(|_| tall >= 32 && self.settled.is_none())?;
        let mut weights = Vec::new();
        x.read_weights(&mut weights);
        let mut observe = |group: usize, rows: &mut RowBuffer| {
            let observed = groups[group].observe_rows(rows).or_else(|NotFinite| {
                let is_weighted = rows.weights().iter().any(|weight| *weight != 1.0);
                groups[group].observe_with_gaps(&rows.tile(), is_weighted.then_some(rows.weights()))
            });
            rows.clear();
            observed.map_err(|NotFinite| self.explain_not_finite(x, names))
        };
        Some(RowBuffer::with_each(count, x.width(), |buffers| {
            for (i, &group) in dealt.groups().iter().enumerate() {
                let buffer = &mut buffers[group as usize];
                buffer.push(numbers.row(i), weights[i]);
                if buffer.rows() == tall {
                    observe(group as usize, buffer)?;
                }
            }
            buffers.iter_mut().enumerate().try_for_each(|(group, buffer)| observe(group, buffer))
        }))
    }

    /// Adds rows whose missing cells are filled by the density of a group; log p of each row is added to `log_p`.
    fn observe_filled(
        &self,
        statistic: &mut GaussianStatistic,
        part: &Cells<'_>,
        names: &[String],
        (tile, weights): (&mut Tile, Option<&[f64]>),
        (density, group): (&GaussianDensity, usize),
        mut log_p: Option<&mut [f64]>,
    ) -> Result<()> {
        let fills = matches!(statistic, GaussianStatistic::Full(_)) && tile.first_not_finite().is_some();
        if fills && tile.data().iter().any(|x| x.is_infinite()) {
            return Err(self.explain_not_finite(part, names));
        }
        if !(fills && matches!(density.factor(group), Factor::Lower(_)))
            && let Some(log_p) = log_p.take()
        {
            add_scores(density, part, names, log_p)?;
        }
        let spread = fills.then(|| density.complete(group, tile, weights, log_p)).transpose()?;
        statistic.observe(tile, weights).map_err(|NotFinite| self.explain_not_finite(part, names))?;
        if let (GaussianStatistic::Full(moments), Some(spread)) = (statistic, spread) {
            moments.add_scatter(&spread);
        }
        Ok(())
    }

    /// How many columns there are after the maps that are settled; `None` where there are none.
    pub(crate) fn mapped_width(&self) -> Option<usize> {
        self.settled.as_ref().filter(|settled| !settled.maps.is_empty()).map(|settled| settled.names.len())
    }

    /// Rows of several components after a projection need every cell.
    fn check_projected(&self, x: &Cells<'_>, names: &[String], tile: &Tile) -> Result<()> {
        let projects = self.settled.as_ref().is_some_and(|settled| settled.maps.iter().any(|map| !map.is_columnwise()));
        match projects.then(|| tile.first_not_finite()).flatten().filter(|&(i, j)| tile.column(j)[i].is_nan()) {
            None => Ok(()),
            Some((i, j)) => Err(Error::Missing {
                column: names[j].clone(),
                row: x.row_number(i) + 1,
                remedy: "components after §pca or §lda need every cell: fill it, or fit without them".into(),
            }),
        }
    }

    /// Applies the maps that are settled.
    pub(crate) fn apply_maps(&self, tile: &mut Tile) {
        let Some(settled) = &self.settled else { return };
        let mut spare = Tile::default();
        settled.maps.iter().for_each(|linear| linear.apply(tile, &mut spare));
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
        let covariances = self.covariances(&moments)?;
        let factors = self.factors(&covariances, &moments, names)?;
        Ok(GaussianDensity::normal(chain, moments.means(), factors).with_reference(reference))
    }
}

impl Gaussian {
    /// The classes after the linear maps.
    fn mapped(&self, classes: &[&GaussianStatistic], names: Names<'_>) -> Result<Mapped> {
        let (mut chain, mut columns, mut reference) = match &self.settled {
            Some(settled) => (settled.maps.clone(), settled.names.clone(), settled.reference.clone()),
            None => (Vec::new(), names.columns.to_vec(), None),
        };
        let mut moments = self.prepare(classes.iter().copied())?;
        moments.check_range(&columns)?;
        if let (true, Prepared::Full(classes)) = (self.projects(), &moments) {
            reference = Some(Arc::new(Reference::of_classes(classes)?));
        }
        for step in &self.steps {
            let linear = moments.fit_step(step, &columns)?;
            moments = moments.map(&linear);
            columns = step.names(&columns);
            chain.push(linear);
        }
        Ok(Mapped { chain, names: columns, moments, reference })
    }
}

/// Linear maps, the names of the columns after them, and all rows before them where they project.
pub(crate) type Maps = (Vec<Linear>, Vec<String>, Option<Arc<Reference>>);

/// Classes after linear maps.
struct Mapped {
    /// The maps.
    chain: Vec<Linear>,
    /// What the columns after them are called.
    names: Vec<String>,
    moments: Prepared,
    /// All rows before the maps, where these project.
    reference: Option<Arc<Reference>>,
}

/// Moments of the classes after the linear maps so far.
enum Prepared {
    Full(Vec<Moments>),
    Columns(Vec<ColumnMoments>),
}

impl Prepared {
    /// Refuses columns whose squares are beyond the largest double.
    fn check_range(&self, names: &[String]) -> Result<()> {
        let classes = self.columns();
        let overflows = |j: &usize| !classes.iter().map(|class| class.scatter()[*j]).sum::<f64>().is_finite();
        match (0..self.width()).find(overflows) {
            Some(j) => Err(too_large(&names[j])),
            None => Ok(()),
        }
    }

    /// A linear map fitted to the moments.
    fn fit_step(&self, step: &Step, columns: &[String]) -> Result<Linear> {
        match self {
            Prepared::Full(classes) => step.fit(classes, columns),
            // `needs_full` holds for every other step.
            Prepared::Columns(classes) => standardise(classes),
        }
    }

    fn means(&self) -> Vec<Vec<f64>> {
        match self {
            Prepared::Full(classes) => classes.iter().map(|m| m.mean().to_vec()).collect(),
            Prepared::Columns(classes) => classes.iter().map(|m| m.mean().to_vec()).collect(),
        }
    }

    fn width(&self) -> usize {
        match self {
            Prepared::Full(classes) => classes.first().map_or(0, Moments::width),
            Prepared::Columns(classes) => classes.first().map_or(0, ColumnMoments::width),
        }
    }

    fn map(&self, linear: &Linear) -> Prepared {
        match self {
            Prepared::Full(classes) => Prepared::Full(classes.iter().map(|m| linear.moments(m)).collect()),
            Prepared::Columns(classes) => {
                let scale = linear.parts().0;
                let scale: Vec<f64> = (0..scale.rows()).map(|j| scale[(j, j)]).collect();
                Prepared::Columns(classes.iter().map(|m| m.scaled(linear.parts().1, &scale)).collect())
            }
        }
    }

    fn columns(&self) -> Vec<ColumnMoments> {
        match self {
            Prepared::Full(classes) => classes.iter().map(ColumnMoments::from).collect(),
            Prepared::Columns(classes) => classes.clone(),
        }
    }
}

fn standardise(classes: &[ColumnMoments]) -> Result<Linear> {
    let mut total = ColumnMoments::empty(classes.first().map_or(0, ColumnMoments::width));
    for class in classes {
        total.merge(class)?;
    }
    let variances: Vec<f64> = total.scatter().iter().zip(total.weight()).map(|(s, w)| divide(*s, *w)).collect();
    Ok(Linear::standardise(total.mean(), &variances))
}

/// The covariances of the classes (one, if they share it), before they are factored.
#[derive(Clone)]
enum Covariances {
    Full(Vec<Matrix>),
    Diagonal(Vec<Vec<f64>>),
    /// Full matrices and the number of axes that are kept of them.
    LowRank(Vec<Matrix>, usize),
}

impl Covariances {
    /// Full matrices.
    fn matrices(self) -> Vec<Matrix> {
        match self {
            Covariances::Full(matrices) | Covariances::LowRank(matrices, _) => matrices,
            Covariances::Diagonal(variances) => variances.iter().map(|v| Matrix::diagonal(v)).collect(),
        }
    }
}

impl Gaussian {
    fn prepare<'s>(&self, classes: impl IntoIterator<Item = &'s GaussianStatistic> + Clone) -> Result<Prepared> {
        let moments = |c: &GaussianStatistic| if let GaussianStatistic::Full(m) = c { Some(m.clone()) } else { None };
        let full: Option<Vec<Moments>> = classes.clone().into_iter().map(moments).collect();
        if let Some(classes) = full {
            return Ok(Prepared::Full(classes));
        }
        if self.needs_full() {
            let gapped = |c: &GaussianStatistic| matches!(c, GaussianStatistic::Gapped { .. });
            return Err(match classes.clone().into_iter().any(gapped) {
                true => Error::parameter(
                    "covariance",
                    "some rows have missing cells, and a full or tied covariance is then learned from the rows in \
                     several passes: fit from the data, or give §covariance=diagonal",
                ),
                false => Error::parameter(
                    "covariance",
                    "these statistics hold variances only: give diagonal or spherical, without §pca or §lda",
                ),
            });
        }
        let is_columns = |c: &GaussianStatistic| matches!(c, GaussianStatistic::Columns(_));
        let columns = classes.clone().into_iter().filter(|c| is_columns(c)).count();
        if columns > 0 && columns < classes.clone().into_iter().count() {
            return Err(mixed());
        }
        classes.into_iter().map(GaussianStatistic::columns).collect::<Result<Vec<_>>>().map(Prepared::Columns)
    }

    fn freedom_of_mean(&self) -> f64 {
        if self.estimator == Estimator::Unbiased { 1.0 } else { 0.0 }
    }

    fn covariances(&self, moments: &Prepared) -> Result<Covariances> {
        let (Strength::Fixed(gamma), Strength::Fixed(lambda)) = (self.shrinkage, self.pooling) else {
            return Err(no_folds("shrinkage"));
        };
        self.covariances_with(moments, gamma, lambda)
    }

    /// The regularised covariances for given γ and λ.
    fn covariances_with(&self, moments: &Prepared, gamma: f64, lambda: f64) -> Result<Covariances> {
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
    fn log_prior_of(&self, density: &GaussianDensity) -> f64 {
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

    fn factors(&self, covariances: &Covariances, moments: &Prepared, names: Names<'_>) -> Result<Vec<Factor>> {
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
            true => {
                let matrix = Matrix::diagonal(variances);
                Err(singular(&matrix, &means[c], freedom(c), owner(c), names.columns))
            }
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

    /// Which cell it was, and what to do about it.
    fn explain_not_finite(&self, part: &Cells<'_>, names: &[String]) -> Error {
        let mut tile = Tile::default();
        if let Err(error) = part.read_numbers(&mut tile) {
            return error;
        }
        let infinite_first = (0..tile.width())
            .find_map(|j| tile.column(j).iter().position(|x| x.is_infinite()).map(|i| (i, j)))
            .filter(|_| !self.needs_full());
        let Some((i, j)) = infinite_first.or_else(|| tile.first_not_finite()) else {
            let size = |j: usize| tile.column(j).iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let widest = (0..tile.width()).max_by(|&a, &b| size(a).total_cmp(&size(b)));
            return too_large(widest.map_or("", |j| &names[j]));
        };
        let (column, row) = (names[j].clone(), part.row_number(i) + 1);
        match tile.column(j)[i].is_nan() {
            true => Error::Missing {
                column,
                row,
                remedy: "a full or tied covariance needs every cell: give §covariance=diagonal, \
                         §ignore the column, or leave such rows out"
                    .into(),
            },
            false => Error::Infinite { column, row },
        }
    }
}

fn too_large(column: &str) -> Error {
    Error::Schema(format!("column `{column}`: its numbers are too large for their sums or squares: rescale it"))
}

fn no_folds(option: &'static str) -> Error {
    Error::parameter(option, "auto needs statistics in folds: make them with §folds=5")
}

/// s/w, and 0 where there is nothing to divide.
fn divide(s: f64, w: f64) -> f64 {
    if w > 0.0 { s / w } else { 0.0 }
}
