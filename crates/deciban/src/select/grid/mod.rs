//! Which candidates there are for the columns of a table.
//!
//! | columns | candidates |
//! |---|---|
//! | numbers | Gaussians of all structures, shrunken, pooled, pulled towards the covariance within classes, of normal scores, after PCA and LDA |
//! | numbers, classes of many rows | mixtures of Gaussians |
//! | any | naive Bayes: numbers apart, jointly, in histograms, or each by the family that suits it; pseudo-counts |
//! | categories, flags and numbers in bins | table, tree, A1DE |
//! | numbers, not too many rows | Parzen |
//! | counts and texts | Bernoulli and multinomial with several pseudo-counts |
//! | any | logistic with several weight decays; of two classes also probit and cloglog, if they are named |
//! | any but texts | additive: steps and pairs, with decays that cross-validation settles ([`settle`]) |
//! | any but texts | k-dependence |
//! | numbers | least squares |
//! | flags and counts, two classes | noisy-or with several pseudo-counts |
//!
//! Names are the options of `fit`, so that what wins can be had again.

mod additive;
mod generative;
mod k_dependence;
mod least_squares;
mod llr;
mod logistic;
mod noisy_or;

pub use logistic::left_out;

use crate::data::{Column, Kind, Profile};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::learn::{Effort, Named};
use crate::model::{Candidate, Recipe};

/// What a comparison tries of a learner.
pub trait Search: Named {
    /// The models that are compared only if they are named.
    const ON_DEMAND: &'static [&'static str] = &[];

    /// The candidates of a model, or why it does not fit the table.
    fn candidates(model: &str, table: &Table<'_>) -> Result<Vec<Candidate>>;

    /// A few that are quick to compare, if any fit the table.
    fn quick(_: &Table<'_>) -> Result<Vec<Candidate>> {
        Ok(Vec::new())
    }

    /// Whether a table is too large to try this learner, with as much effort as it asks for.
    fn takes_too_long(&self, _: &Table<'_>) -> bool {
        false
    }

    /// Settles what is left open and can be settled once for all folds, by as many folds of a seed.
    fn settle_by(&self, _: &dyn Engine, _: (usize, u64)) -> Result<Option<Candidate>> {
        Ok(None)
    }
}

/// A table to choose a model for.
pub struct Table<'a> {
    /// The columns.
    pub columns: &'a [Column],
    /// What the first rows say of them.
    pub profiles: &'a [Profile],
    /// How many classes there are.
    pub classes: usize,
    /// How many rows there are, where the time counts that a search takes.
    pub rows: f64,
    /// How many rows the chosen model is fitted to: more, if the search sees a sample.
    pub fitted: f64,
    /// How much work a search may take.
    pub effort: Effort,
    /// Whether the models were asked for by name, so that only what they cannot learn from is refused.
    pub named: bool,
}

impl Table<'_> {
    fn count(&self, kinds: &[Kind]) -> usize {
        self.columns.iter().filter(|column| kinds.contains(&column.kind)).count()
    }

    fn has_only_numbers(&self) -> bool {
        self.count(&[Kind::Number]) == self.columns.len()
    }

    /// Rows × classes.
    fn scores(&self) -> f64 {
        self.rows * self.classes as f64
    }

    /// By how much the limits of what is tried are raised.
    fn factor(&self) -> f64 {
        if self.effort == Effort::Thorough { 20.0 } else { 1.0 }
    }
}

macro_rules! searches {
    ($($(#[$doc:meta])* $name:literal $learner:ident: $model:ident),* $(,)?) => {
        /// The kinds of models that can be compared.
        pub fn models() -> Vec<&'static str> {
            let all = [$(<crate::learn::$learner as Named>::MODELS),*];
            all.into_iter().flatten().map(|(name, _)| *name).collect()
        }

        /// The candidates of a kind of model, or why there are none.
        fn of_model(model: &str, table: &Table<'_>) -> Result<Vec<Candidate>> {
            $(if crate::learn::$learner::makes(model) {
                return crate::learn::$learner::candidates(model, table);
            })*
            let names = models().join(", ");
            Err(Error::parameter("models", format!("there is no model `{model}`: there are {names}")))
        }

        /// Whether a kind of model is compared only if it is named.
        fn is_on_demand(model: &str) -> bool {
            [$(<crate::learn::$learner as Search>::ON_DEMAND),*].into_iter().flatten().any(|name| *name == model)
        }

        /// A few candidates that are quick to compare.
        pub fn quick(engine: &dyn Engine) -> Result<Vec<Candidate>> {
            let (schema, profiles) = (engine.schema()?, engine.profiles()?);
            let (columns, classes) = (schema.columns(), schema.classes().len());
            let table = Table { columns, profiles: &profiles, classes, rows: 0.0, fitted: 0.0, effort: Effort::Quick, named: false };
            let mut all = Vec::new();
            $(all.extend(crate::learn::$learner::quick(&table)?);)*
            Ok(all)
        }

        fn takes_too_long(recipe: &Recipe, table: &Table<'_>) -> bool {
            match recipe {
                $(Recipe::$learner(learner) => learner.takes_too_long(table),)*
                Recipe::Fused(_) => false,
            }
        }

        fn settled(recipe: &Recipe, engine: &dyn Engine, drawn: (usize, u64)) -> Result<Option<Candidate>> {
            match recipe {
                $(Recipe::$learner(learner) => Search::settle_by(learner, engine, drawn),)*
                Recipe::Fused(_) => Ok(None),
            }
        }
    };
}

crate::with_learners!(searches);

/// All candidates of the named kinds of models for a table of so many rows; of every kind that fits the columns if
/// none is named.
pub fn candidates(engine: &dyn Engine, named: &[String], effort: Effort, rows: f64) -> Result<Vec<Candidate>> {
    if named.is_empty() && effort == Effort::Quick {
        return quick(engine);
    }
    let (schema, profiles) = (engine.schema()?, engine.profiles()?);
    let (columns, classes) = (schema.columns(), schema.classes().len());
    let asked = !named.is_empty();
    let table = Table { columns, profiles: &profiles, classes, rows, fitted: rows, effort, named: asked };
    let known = models();
    if let Some(unknown) = named.iter().find(|name| !known.contains(&name.as_str())) {
        of_model(unknown, &table)?;
    }
    let mut all = Vec::new();
    for model in known {
        if named.is_empty() && !is_on_demand(model) {
            // Numbers that nobody called counts are none.
            let of_counts = ["bernoulli", "multinomial"].contains(&model);
            if !(of_counts && table.count(&[Kind::Number]) > 0) {
                all.extend(of_model(model, &table).unwrap_or_default());
            }
        } else if named.iter().any(|name| name == model) {
            all.extend(of_model(model, &table)?);
        }
    }
    match all.is_empty() {
        true => Err(Error::parameter("models", "none of these models fits the columns")),
        false => Ok(all),
    }
}

/// Settles what candidates leave open that folds can settle once for all of them, such as the decays of additive
/// models, by as many folds of the same seed. Returns the candidates that failed, and why.
pub fn settle(
    candidates: &mut Vec<Candidate>,
    engine: &dyn Engine,
    drawn: (usize, u64),
) -> Result<Vec<(String, Error)>> {
    let mut failed = Vec::new();
    let mut all = Vec::new();
    for candidate in candidates.drain(..) {
        match settled(&candidate.recipe, engine, drawn) {
            Ok(settled) => all.push(settled.unwrap_or(candidate)),
            Err(error @ (Error::Interrupted | Error::Io { .. })) => return Err(error),
            Err(error) => failed.push((candidate.name, error)),
        }
    }
    *candidates = all;
    Ok(failed)
}

/// Takes out the candidates that take too long for a table: linear and additive models, whose passes are many, and
/// those that look at pairs of columns or of rows. Returns the kinds that are taken out, and why.
pub fn keep_quick(candidates: &mut Vec<Candidate>, table: &Table<'_>) -> Vec<(String, String)> {
    let too_long = |candidate: &Candidate| takes_too_long(&candidate.recipe, table);
    let mut kinds: Vec<String> = candidates.iter().filter(|c| too_long(c)).map(|c| c.kind.clone()).collect();
    kinds.dedup();
    candidates.retain(|candidate| !too_long(candidate));
    let (rows, columns, classes) = (table.fitted, table.columns.len(), table.classes);
    let why =
        format!("{rows} rows, {columns} columns and {classes} classes take long to learn: name the model to try it");
    kinds.into_iter().map(|kind| (kind, why.clone())).collect()
}
