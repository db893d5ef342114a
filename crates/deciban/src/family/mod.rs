//! Families: the shapes a block's class-conditional density can have, one file each.
//!
//! A family says what to keep of the rows (its statistic) and how that becomes a density for each
//! class. To add one: write its file, implement [`Family`] and [`Density`], and add one line to
//! the list at the end of this file.

mod assignment;
pub mod a1de;
pub mod auto;
pub mod bernoulli;
pub mod beta;
pub mod categorical;
pub mod counts;
pub mod exponential;
pub mod exponential_family;
mod fill;
pub mod gamma;
pub mod gaussian;
pub mod histogram;
pub mod log_normal;
pub mod multinomial;
pub mod negative_binomial;
pub mod normal;
pub mod pairs;
pub mod parzen;
pub mod poisson;
pub mod table;
#[cfg(test)]
mod testing;
pub mod tree;
mod words;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::data::{Cells, Column, Tile, Value};
use crate::error::Result;
use crate::evidence::Entry;
use crate::file::{Archive, Stored};
use crate::numerics::Random;
use crate::statistic::{Retract, Statistic};

pub(crate) use assignment::for_each_group;
pub use assignment::{Assignment, Dealt};
pub use fill::{Filled, Filling, Guess};

/// The names a fit speaks of in its errors.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The block's columns.
    pub columns: &'a [String],
    /// How many levels each column has: those of a category, the words of a text, else 0.
    pub levels: &'a [usize],
    /// The classes.
    pub classes: &'a [String],
}

/// The shape of a block's class-conditional density.
pub trait Family: Clone + Send + Sync {
    /// What is kept of the rows of one class.
    type Statistic: Retract;
    /// The fitted densities, one per class.
    type Density: Density;

    /// The statistic of no rows of `width` columns.
    fn empty(&self, width: usize) -> Self::Statistic;

    /// Adds rows of one group.
    fn observe(&self, statistic: &mut Self::Statistic, x: &Cells<'_>, names: &[String]) -> Result<()>;

    /// Adds rows to the groups they are assigned to. `at` holds the current densities of these groups,
    /// where there are any: families that model columns jointly fill missing cells by them.
    ///
    /// Without a method of its own a family takes the rows of one group after the other.
    fn observe_groups(
        &self,
        groups: &mut [&mut Self::Statistic],
        x: &Cells<'_>,
        to: Assignment<'_>,
        _at: Option<&Self::Density>,
        names: &[String],
    ) -> Result<()> {
        for_each_group(x, to, |group, cells| self.observe(groups[group], cells, names))
    }

    /// Adds rows of one group, as [`observe_groups`](Family::observe_groups) does, and adds log p(x | group) of each to
    /// `log_p`; `at` holds the current density of this group alone.
    fn observe_scored(
        &self,
        statistic: &mut Self::Statistic,
        x: &Cells<'_>,
        at: &Self::Density,
        names: &[String],
        log_p: &mut [f64],
    ) -> Result<()> {
        add_scores(at, x, names, log_p)?;
        let dealt = Dealt::new(vec![0; log_p.len()].into(), 1);
        self.observe_groups(&mut [statistic], x, Assignment::Hard(&dealt), Some(at), names)
    }

    /// About how many bytes a statistic of `width` columns takes.
    fn size(&self, width: usize) -> usize;

    /// Renumbers the levels of the block's columns: level `i` of column `j` becomes `maps[j][i]`; an
    /// empty map leaves a column as it is, and a level that becomes `MISSING` is dropped.
    fn relevel(&self, _statistic: &mut Self::Statistic, _maps: &[Vec<u32>]) -> Result<()> {
        Ok(())
    }

    /// Marks the levels of the block's column `j` that the rows behind a statistic have, as far as it
    /// shows them.
    fn mark_levels(&self, _statistic: &Self::Statistic, _j: usize, _seen: &mut [bool]) {}

    /// Whether a statistic shows every level that a row of positive weight has.
    fn shows_levels(&self) -> bool {
        true
    }

    /// Settles what is still open ("auto") from statistics per fold and class.
    fn choose(&self, _folds: &[Vec<Self::Statistic>], _names: Names<'_>) -> Result<Self> {
        Ok(self.clone())
    }

    /// The same family with another pseudo-count, if it has one.
    fn with_pseudo_count(self, _pseudo_count: f64) -> Self {
        self
    }

    /// A statistic to begin expectation–maximisation with, where missing cells keep [`fit`](Family::fit) from
    /// taking this one, of the class of this name.
    fn begin(&self, _statistic: &Self::Statistic, _class: &str, _names: &[String]) -> Result<Option<Self::Statistic>> {
        Ok(None)
    }

    /// The logarithm of the prior of the parameters, but for a constant: expectation–maximisation never lowers
    /// its sum with the log-likelihood.
    fn log_prior(&self, _density: &Self::Density) -> f64 {
        0.0
    }

    /// How far three statistics in a row of expectation–maximisation are apart, as points of the parameters: ‖r‖²
    /// and ‖v‖² with r = θ₁ − θ₀ and v = (θ₂ − θ₁) − r. `None` for families whose steps are not extrapolated.
    fn step_lengths(&self, _steps: [&Self::Statistic; 3]) -> Option<[f64; 2]> {
        None
    }

    /// The statistic at θ₀ + 2αr + α²v, if there is one (squared extrapolation, Varadhan & Roland 2008).
    fn extrapolate(&self, _steps: [&Self::Statistic; 3], _alpha: f64) -> Option<Self::Statistic> {
        None
    }

    /// Whether [`choose`](Family::choose) has anything to settle.
    fn is_open(&self) -> bool {
        false
    }

    /// Σ log p(x | class) of rows that only their statistic tells of; `None` where it does not.
    fn log_likelihood(&self, _density: &Self::Density, _class: usize, _rows: &Self::Statistic) -> Option<f64> {
        None
    }

    /// The densities of all classes: it sees them all, so pooling and tying are ordinary fits.
    fn fit(&self, classes: &[&Self::Statistic], names: Names<'_>) -> Result<Self::Density>;
}

/// Adds log p(x | group) of each row, by the density of one group.
fn add_scores(density: &impl Density, x: &Cells<'_>, names: &[String], log_p: &mut [f64]) -> Result<()> {
    let mut scores = Tile::default();
    scores.resize(log_p.len(), 1);
    scores.data_mut().copy_from_slice(log_p);
    density.add_log_density(x, names, &mut scores)?;
    log_p.copy_from_slice(scores.column(0));
    Ok(())
}

/// Some parameters of a density, for people and programs to read: a value per class in each row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameters {
    /// What the values are: `mean`, `probability`, ...
    pub what: &'static str,
    /// A name and a value for each class.
    pub rows: Vec<(String, Vec<f64>)>,
}

/// The numbers that a density describes.
#[derive(Clone, Copy, Debug)]
pub struct Domain {
    /// In words, such as `numbers above 0`.
    pub what: &'static str,
    /// Whether a number is one of them.
    pub contains: fn(f64) -> bool,
}

/// The fitted densities p(x | class) of a block.
pub trait Density: Stored + Send + Sync {
    /// The number of classes.
    fn classes(&self) -> usize;

    /// The number of columns.
    fn width(&self) -> usize;

    /// The parameters in the units of the data, where `columns` are the block's.
    fn parameters(&self, columns: &[Column]) -> Vec<Parameters>;

    /// The densities of some of the classes, or groups.
    fn of_groups(&self, groups: Range<usize>) -> Self;

    /// Adds log p(xᵢ | class) to cell (i, class) of `out`.
    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()>;

    /// Whether columns depend on each other given the class: then what one says depends on which others
    /// are known.
    fn is_joint(&self) -> bool {
        false
    }

    /// log p(x | class) of each row, split over features, where these are not its columns (words, or
    /// columns that a projection mixes); otherwise `None`, and columns are explained by their marginals.
    fn parts(&self, _x: &Cells<'_>, _columns: &[Column]) -> Result<Option<Vec<Vec<Entry>>>> {
        Ok(None)
    }

    /// How many levels a column has, where the block is one of levels.
    fn levels(&self, _column: usize) -> Option<usize> {
        None
    }

    /// Numbers that stand for all that a column may hold in a group, with their probabilities, where columns are
    /// independent given the group and the density tells only so many numbers apart: bins, or present and absent.
    fn points(&self, _group: usize, _column: usize) -> Option<Vec<(f64, f64)>> {
        None
    }

    /// The cells that it describes, where these are not all numbers; any other says nothing about the class.
    fn domain(&self) -> Option<Domain> {
        None
    }

    /// The mean of a column of numbers in a group, where columns are independent given the group.
    fn column_mean(&self, group: usize, column: usize) -> Option<f64> {
        Some(self.points(group, column)?.iter().map(|(x, p)| x * p).sum())
    }

    /// The reason why its scores are not densities of rows, if they are not. Such rows have no rank and cannot be drawn.
    fn no_density(&self) -> Option<&'static str> {
        None
    }

    /// The reason why it cannot fill missing cells, if it cannot.
    fn no_filling(&self) -> Option<&'static str> {
        None
    }

    /// What the missing cells of rows hold in a group, given the cells of the row that are there. Densities of
    /// dependent numbers have a method of their own.
    fn fill(&self, group: usize, x: &Cells<'_>, names: &[String], by: Filling<'_>) -> Result<Vec<Filled>> {
        fill::columns(self, group, x, names, by)
    }

    /// Draws a row of a class: a value for each column of the block.
    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>>;
}

/// One enum per role from the list of families, and the dispatch between them.
macro_rules! families {
    ($($name:literal $variant:ident: $family:ty),* $(,)?) => {
        /// A family of any shape.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "family", rename_all = "kebab-case")]
        pub enum AnyFamily { $(#[doc = $name] $variant($family)),* }

        /// The statistic of any family.
        #[derive(Clone, Debug)]
        pub enum AnyStatistic { $(#[doc = $name] $variant(<$family as Family>::Statistic)),* }

        /// The densities of any family.
        #[derive(Clone, Debug)]
        pub enum AnyDensity { $(#[doc = $name] $variant(<$family as Family>::Density)),* }

        /// The names of the families.
        pub const NAMES: &[&str] = &[$($name),*];

        impl AnyFamily {
            /// The family of this name, with its defaults.
            pub fn named(name: &str) -> Result<Self> {
                match name {
                    $($name => Ok(AnyFamily::$variant(<$family>::default())),)*
                    _ => Err(crate::Error::parameter(
                        "family",
                        format!("there is no family `{name}`: there are {}", NAMES.join(", ")),
                    )),
                }
            }

            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(AnyFamily::$variant(_) => $name),* }
            }
        }

        impl Statistic for AnyStatistic {
            fn merge(&mut self, other: &Self) -> Result<()> {
                #[allow(unreachable_patterns)]
                match (self, other) {
                    $((AnyStatistic::$variant(a), AnyStatistic::$variant(b)) => a.merge(b),)*
                    _ => Err(different()),
                }
            }
        }

        impl Retract for AnyStatistic {
            fn remove(&mut self, other: &Self) -> Result<()> {
                #[allow(unreachable_patterns)]
                match (self, other) {
                    $((AnyStatistic::$variant(a), AnyStatistic::$variant(b)) => a.remove(b),)*
                    _ => Err(different()),
                }
            }
        }

        impl Family for AnyFamily {
            type Statistic = AnyStatistic;
            type Density = AnyDensity;
            fn empty(&self, width: usize) -> AnyStatistic {
                match self { $(AnyFamily::$variant(f) => AnyStatistic::$variant(f.empty(width))),* }
            }
            fn observe(&self, statistic: &mut AnyStatistic, x: &Cells<'_>, names: &[String]) -> Result<()> {
                #[allow(unreachable_patterns)]
                match (self, statistic) {
                    $((AnyFamily::$variant(f), AnyStatistic::$variant(s)) => f.observe(s, x, names),)*
                    _ => Err(different()),
                }
            }
            fn observe_groups(
                &self,
                groups: &mut [&mut AnyStatistic],
                x: &Cells<'_>,
                to: Assignment<'_>,
                at: Option<&AnyDensity>,
                names: &[String],
            ) -> Result<()> {
                match self {
                    $(AnyFamily::$variant(f) => {
                        let own = groups.iter_mut().map(|any| match any {
                            AnyStatistic::$variant(s) => Ok(s),
                            #[allow(unreachable_patterns)]
                            _ => Err(different()),
                        });
                        let at = match at {
                            None => None,
                            Some(AnyDensity::$variant(d)) => Some(d),
                            #[allow(unreachable_patterns)]
                            Some(_) => return Err(different()),
                        };
                        f.observe_groups(&mut own.collect::<Result<Vec<_>>>()?, x, to, at, names)
                    })*
                }
            }
            fn observe_scored(
                &self,
                statistic: &mut AnyStatistic,
                x: &Cells<'_>,
                at: &AnyDensity,
                names: &[String],
                log_p: &mut [f64],
            ) -> Result<()> {
                #[allow(unreachable_patterns)]
                match (self, statistic, at) {
                    $((AnyFamily::$variant(f), AnyStatistic::$variant(s), AnyDensity::$variant(d)) => {
                        f.observe_scored(s, x, d, names, log_p)
                    })*
                    _ => Err(different()),
                }
            }
            fn relevel(&self, statistic: &mut AnyStatistic, maps: &[Vec<u32>]) -> Result<()> {
                #[allow(unreachable_patterns)]
                match (self, statistic) {
                    $((AnyFamily::$variant(f), AnyStatistic::$variant(s)) => f.relevel(s, maps),)*
                    _ => Err(different()),
                }
            }
            fn mark_levels(&self, statistic: &AnyStatistic, j: usize, seen: &mut [bool]) {
                #[allow(unreachable_patterns)]
                match (self, statistic) {
                    $((AnyFamily::$variant(f), AnyStatistic::$variant(s)) => f.mark_levels(s, j, seen),)*
                    _ => {}
                }
            }
            fn shows_levels(&self) -> bool {
                match self { $(AnyFamily::$variant(f) => f.shows_levels()),* }
            }
            fn size(&self, width: usize) -> usize {
                match self { $(AnyFamily::$variant(f) => f.size(width)),* }
            }
            fn with_pseudo_count(self, pseudo_count: f64) -> Self {
                match self { $(AnyFamily::$variant(f) => AnyFamily::$variant(f.with_pseudo_count(pseudo_count))),* }
            }
            fn is_open(&self) -> bool {
                match self { $(AnyFamily::$variant(f) => f.is_open()),* }
            }
            fn choose(&self, folds: &[Vec<AnyStatistic>], names: Names<'_>) -> Result<Self> {
                match self {
                    $(AnyFamily::$variant(f) => {
                        let own = |classes: &Vec<AnyStatistic>| {
                            Ok(typed!($variant, classes.iter())?.into_iter().cloned().collect())
                        };
                        let folds: Result<Vec<Vec<_>>> = folds.iter().map(own).collect();
                        Ok(AnyFamily::$variant(f.choose(&folds?, names)?))
                    })*
                }
            }
            fn begin(&self, statistic: &AnyStatistic, class: &str, names: &[String]) -> Result<Option<AnyStatistic>> {
                #[allow(unreachable_patterns)]
                match (self, statistic) {
                    $((AnyFamily::$variant(f), AnyStatistic::$variant(s)) => {
                        Ok(f.begin(s, class, names)?.map(AnyStatistic::$variant))
                    })*
                    _ => Err(different()),
                }
            }
            fn step_lengths(&self, steps: [&AnyStatistic; 3]) -> Option<[f64; 2]> {
                #[allow(unreachable_patterns)]
                match (self, steps) {
                    $((
                        AnyFamily::$variant(f),
                        [AnyStatistic::$variant(a), AnyStatistic::$variant(b), AnyStatistic::$variant(c)],
                    ) => f.step_lengths([a, b, c]),)*
                    _ => None,
                }
            }
            fn extrapolate(&self, steps: [&AnyStatistic; 3], alpha: f64) -> Option<AnyStatistic> {
                #[allow(unreachable_patterns)]
                match (self, steps) {
                    $((
                        AnyFamily::$variant(f),
                        [AnyStatistic::$variant(a), AnyStatistic::$variant(b), AnyStatistic::$variant(c)],
                    ) => f.extrapolate([a, b, c], alpha).map(AnyStatistic::$variant),)*
                    _ => None,
                }
            }
            fn log_prior(&self, density: &AnyDensity) -> f64 {
                #[allow(unreachable_patterns)]
                match (self, density) {
                    $((AnyFamily::$variant(f), AnyDensity::$variant(d)) => f.log_prior(d),)*
                    _ => 0.0,
                }
            }
            fn log_likelihood(&self, density: &AnyDensity, class: usize, rows: &AnyStatistic) -> Option<f64> {
                #[allow(unreachable_patterns)]
                match (self, density, rows) {
                    $((AnyFamily::$variant(f), AnyDensity::$variant(d), AnyStatistic::$variant(s)) => {
                        f.log_likelihood(d, class, s)
                    })*
                    _ => None,
                }
            }
            fn fit(&self, classes: &[&AnyStatistic], names: Names<'_>) -> Result<AnyDensity> {
                match self {
                    $(AnyFamily::$variant(f) => Ok(AnyDensity::$variant(f.fit(&typed!($variant, classes.iter().copied())?, names)?)),)*
                }
            }
        }

        impl Density for AnyDensity {
            fn classes(&self) -> usize {
                match self { $(AnyDensity::$variant(d) => d.classes()),* }
            }
            fn width(&self) -> usize {
                match self { $(AnyDensity::$variant(d) => d.width()),* }
            }
            fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
                match self { $(AnyDensity::$variant(d) => d.parameters(columns)),* }
            }
            fn of_groups(&self, groups: Range<usize>) -> Self {
                match self { $(AnyDensity::$variant(d) => AnyDensity::$variant(d.of_groups(groups))),* }
            }
            fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
                match self { $(AnyDensity::$variant(d) => d.add_log_density(x, names, out)),* }
            }
            fn no_density(&self) -> Option<&'static str> {
                match self { $(AnyDensity::$variant(d) => d.no_density()),* }
            }
            fn no_filling(&self) -> Option<&'static str> {
                match self { $(AnyDensity::$variant(d) => d.no_filling()),* }
            }

            fn is_joint(&self) -> bool {
                match self { $(AnyDensity::$variant(d) => d.is_joint()),* }
            }
            fn parts(&self, x: &Cells<'_>, columns: &[Column]) -> Result<Option<Vec<Vec<Entry>>>> {
                match self { $(AnyDensity::$variant(d) => d.parts(x, columns)),* }
            }
            fn levels(&self, column: usize) -> Option<usize> {
                match self { $(AnyDensity::$variant(d) => d.levels(column)),* }
            }
            fn points(&self, group: usize, column: usize) -> Option<Vec<(f64, f64)>> {
                match self { $(AnyDensity::$variant(d) => d.points(group, column)),* }
            }
            fn domain(&self) -> Option<Domain> {
                match self { $(AnyDensity::$variant(d) => d.domain()),* }
            }
            fn column_mean(&self, group: usize, column: usize) -> Option<f64> {
                match self { $(AnyDensity::$variant(d) => d.column_mean(group, column)),* }
            }
            fn fill(&self, group: usize, x: &Cells<'_>, names: &[String], by: Filling<'_>) -> Result<Vec<Filled>> {
                match self { $(AnyDensity::$variant(d) => d.fill(group, x, names, by)),* }
            }
            fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
                match self { $(AnyDensity::$variant(d) => d.sample(class, random)),* }
            }
        }

        stored_by_name!(AnyStatistic { $($name $variant: <$family as Family>::Statistic),* });
        stored_by_name!(AnyDensity { $($name $variant: <$family as Family>::Density),* });
    };
}

/// The statistics of one family out of an iterator over [`AnyStatistic`].
macro_rules! typed {
    ($variant:ident, $any:expr) => {
        $any.map(|any| {
            #[allow(unreachable_patterns)]
            match any {
                AnyStatistic::$variant(s) => Ok(s),
                _ => Err(different()),
            }
        })
        .collect::<Result<Vec<_>>>()
    };
}

/// Stores the variant's name beside its content.
macro_rules! stored_by_name {
    ($any:ident { $($name:literal $variant:ident: $type:ty),* }) => {
        impl Stored for $any {
            fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
                match self {
                    $($any::$variant(value) => {
                        archive.put_json(&format!("{name}.family"), &$name)?;
                        value.store(archive, name)
                    })*
                }
            }
            fn load(archive: &Archive, name: &str) -> Result<Self> {
                let family: String = archive.json(&format!("{name}.family"))?;
                match family.as_str() {
                    $($name => Ok($any::$variant(<$type>::load(archive, name)?)),)*
                    other => Err(archive.damaged(&format!("there is no family `{other}`"))),
                }
            }
        }
    };
}

/// Of a column whose sums or squares are beyond the largest double.
fn too_large(column: &str) -> crate::Error {
    crate::Error::Schema(format!("column `{column}`: its numbers are too large for their sums or squares: rescale it"))
}

fn different() -> crate::Error {
    crate::Error::Schema("the statistics belong to another family".into())
}

// Every family of the library, one line each.
families! {
    "gaussian" Gaussian: gaussian::Gaussian,
    "categorical" Categorical: categorical::Categorical,
    "bernoulli" Bernoulli: bernoulli::Bernoulli,
    "table" Table: table::Table,
    "tree" Tree: tree::Tree,
    "a1de" A1de: a1de::A1de,
    "parzen" Parzen: parzen::Parzen,
    "multinomial" Multinomial: multinomial::Multinomial,
    "poisson" Poisson: poisson::Poisson,
    "negative-binomial" NegativeBinomial: negative_binomial::NegativeBinomial,
    "exponential" Exponential: exponential::Exponential,
    "log-normal" LogNormal: log_normal::LogNormal,
    "gamma" Gamma: gamma::Gamma,
    "beta" Beta: beta::Beta,
    "histogram" Histogram: histogram::Histogram,
    "auto" Auto: auto::Auto,
}
