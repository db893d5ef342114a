//! Ranking by the likelihood of held-out rows, from statistics alone: no row is scored.
//!
//! A fold's log p(x, class) under the fit of the others depends only on the fold's statistics, of
//! Gaussians on its moments, of categories and words on its counts. It says how well a model tells
//! what rows of each class are like, not how well it tells classes apart: models of the same columns
//! can be compared, of projections (PCA, LDA) none.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::compare::CrossValidation;
use super::fitted::{levels, without_each};
use super::shared::Shared;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::family::gaussian::{Gaussian, GaussianStatistic, Strength, held_out};
use crate::family::{AnyFamily, AnyStatistic, Family, Names};
use crate::model::Candidate;

/// Candidates by the likelihood of held-out rows.
#[derive(Debug)]
pub struct Likelihoods {
    /// Number among the candidates, name, and mean log p(x, class) in nats, the largest first.
    pub ranked: Vec<(usize, String, f64)>,
    /// The candidates that have none, and why.
    pub failed: Vec<(String, Error)>,
    /// Σ of the row weights.
    pub weight: f64,
}

/// What of a fold does not depend on candidates.
struct Fold<'a> {
    classes: Vec<usize>,
    names: Vec<String>,
    train: Vec<&'a [AnyStatistic]>,
    held: Vec<&'a [AnyStatistic]>,
    /// Σ w ln prior
    prior: f64,
}

impl CrossValidation {
    /// Ranks closed-form candidates by the likelihood of held-out rows: one pass over the rows.
    pub fn by_likelihood(&self, engine: &dyn Engine, candidates: &[Candidate]) -> Result<Likelihoods> {
        let columns = engine.schema()?.columns().to_vec();
        let shared = Shared::new(candidates, &columns);
        let statistics = self.statistics(engine, &shared)?;
        let (schema, summary) = (statistics.schema(), statistics.summary());
        let weights = summary.weights_by_fold();
        let parts: Vec<Vec<Vec<AnyStatistic>>> = (0..shared.blocks.len()).map(|b| summary.block_by_fold(b)).collect();
        let others: Vec<Vec<Vec<AnyStatistic>>> =
            parts.par_iter().map(|folds| without_each(folds)).collect::<Result<_>>()?;
        let fold = |f: usize| {
            let left = |c: usize| (0..weights.len()).filter(|g| *g != f).map(|g| weights[g][c]).sum::<f64>();
            let classes: Vec<usize> = (0..schema.classes().len()).filter(|&c| left(c) > 0.0).collect();
            let all: f64 = classes.iter().map(|&c| left(c)).sum();
            Fold {
                names: classes.iter().map(|&c| schema.classes()[c].clone()).collect(),
                train: others.iter().map(|block| block[f].as_slice()).collect(),
                held: parts.iter().map(|block| block[f].as_slice()).collect(),
                prior: classes.iter().map(|&c| weights[f][c] * (left(c) / all).ln()).sum(),
                classes,
            }
        };
        let folds: Vec<Fold<'_>> = (0..weights.len()).map(fold).collect();
        // Gaussians that differ in their shrinkage only are told together.
        let mut kin: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (c, candidate) in candidates.iter().enumerate() {
            let alone = format!("{c}");
            let key = single_gaussian(candidate, &shared, c).map_or(alone, |(place, family, _)| {
                let plain = Gaussian { shrinkage: Strength::Fixed(0.0), ..family.clone() };
                format!("{place} {}", serde_json::to_string(&plain).unwrap_or_default())
            });
            kin.entry(key).or_default().push(c);
        }
        let kin: Vec<Vec<usize>> = kin.into_values().collect();
        let tasks: Vec<(usize, usize)> = (0..kin.len()).flat_map(|k| (0..folds.len()).map(move |f| (k, f))).collect();
        // Covariances of their own take a decomposition for each class, shared ones only one: threads take
        // turns, one task at a time.
        let told: Vec<Result<Vec<f64>>> = tasks
            .par_iter()
            .with_max_len(1)
            .map(|&(k, f)| {
                let members = &kin[k];
                match single_gaussian(&candidates[members[0]], &shared, members[0]) {
                    Some((place, family, names)) => {
                        let gamma =
                            |&c: &usize| single_gaussian(&candidates[c], &shared, c).map_or(0.0, |g| strength(g.1));
                        let gammas: Vec<f64> = members.iter().map(gamma).collect();
                        folds[f].gaussians(place, family, &gammas, names)
                    }
                    None => {
                        let levels = |columns: &[usize]| levels(schema, columns);
                        folds[f].blocks(&candidates[members[0]], shared.places[members[0]].as_deref(), &columns, levels)
                    }
                }
            })
            .collect();
        let weight: f64 = weights.iter().flatten().sum();
        let mut likelihoods = Likelihoods { ranked: Vec::new(), failed: Vec::new(), weight };
        let mut told = told.into_iter();
        for members in &kin {
            let of: Vec<Result<Vec<f64>>> = told.by_ref().take(folds.len()).collect();
            match of.into_iter().collect::<Result<Vec<Vec<f64>>>>() {
                Ok(of) => {
                    for (m, &c) in members.iter().enumerate() {
                        let sum: f64 = of.iter().map(|fold| fold[m]).sum();
                        likelihoods.ranked.push((c, candidates[c].name.clone(), sum / weight));
                    }
                }
                Err(error) => {
                    let message = error.marked();
                    let failure = |&c: &usize| (candidates[c].name.clone(), Error::Schema(message.clone()));
                    likelihoods.failed.extend(members.iter().map(failure));
                }
            }
        }
        likelihoods.ranked.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
        Ok(likelihoods)
    }
}

fn strength(family: &Gaussian) -> f64 {
    match family.shrinkage {
        Strength::Fixed(gamma) => gamma,
        Strength::Auto => f64::NAN,
    }
}

/// The only block of a candidate, if it is a Gaussian with numbers for its strengths.
fn single_gaussian<'a>(
    candidate: &'a Candidate,
    shared: &Shared,
    c: usize,
) -> Option<(usize, &'a Gaussian, &'a [String])> {
    let crate::model::Recipe::Generative(learner) = &candidate.recipe else { return None };
    match (learner.blocks(), shared.places[c].as_deref()) {
        ([block], Some([place])) => match &block.family {
            AnyFamily::Gaussian(family)
                if !block.family.is_open() && family.estimator != crate::family::gaussian::Estimator::Bayes =>
            {
                Some((*place, family, &block.names))
            }
            _ => None,
        },
        _ => None,
    }
}

fn no_likelihood() -> Error {
    Error::parameter("by=likelihood", "statistics alone do not tell the likelihood of this model")
}

impl Fold<'_> {
    fn gaussians(&self, place: usize, family: &Gaussian, gammas: &[f64], names: &[String]) -> Result<Vec<f64>> {
        family.check()?;
        let typed = |all: &[AnyStatistic]| -> Result<Vec<GaussianStatistic>> {
            let one = |&c: &usize| match &all[c] {
                AnyStatistic::Gaussian(moments) => Ok(moments.clone()),
                _ => Err(no_likelihood()),
            };
            self.classes.iter().map(one).collect()
        };
        let (train, held) = (typed(self.train[place])?, typed(self.held[place])?);
        let told = held_out(family, gammas, &train, &held, names)?.ok_or_else(no_likelihood)?;
        Ok(told.into_iter().map(|x| x + self.prior).collect())
    }

    fn blocks(
        &self,
        candidate: &Candidate,
        places: Option<&[usize]>,
        columns: &[crate::data::Column],
        levels: impl Fn(&[usize]) -> Vec<usize>,
    ) -> Result<Vec<f64>> {
        let (Some(learner), Some(places)) = (candidate.closed_form(columns), places) else {
            return Err(no_likelihood());
        };
        let mut sum = self.prior;
        for (block, &place) in learner.blocks().iter().zip(places) {
            let levels = levels(&block.columns);
            let names = Names { columns: &block.names, levels: &levels, classes: &self.names };
            if block.family.is_open() {
                return Err(no_likelihood());
            }
            let train: Vec<&AnyStatistic> = self.classes.iter().map(|&c| &self.train[place][c]).collect();
            let density = block.family.fit(&train, names)?;
            for (k, &c) in self.classes.iter().enumerate() {
                sum += block.family.log_likelihood(&density, k, &self.held[place][c]).ok_or_else(no_likelihood)?;
            }
        }
        Ok(vec![sum])
    }
}
