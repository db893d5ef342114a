//! Every candidate fitted without each fold. Closed-form candidates come from statistics: those of
//! the other folds are merged (never is one removed, which would cancel), and blocks that several
//! candidates share are fitted once.

use std::collections::HashMap;
use std::time::Instant;

use rayon::prelude::*;

use super::shared::Shared;
use crate::data::Schema;
use crate::engine::{Engine, Watch};
use crate::error::{Error, Result};
use crate::family::gaussian::{Bank, are_kin};
use crate::family::{AnyDensity, AnyFamily, AnyStatistic, Family, Names};
use crate::folds::{Folded, Folds, View};
use crate::learn::{FittedBlock, Logistic, Statistics};
use crate::model::{Candidate, Model, Recipe};
use crate::posterior::Prior;
use crate::statistic::Statistic;

/// The candidates fitted without one fold.
#[derive(Clone, Debug)]
pub struct FoldModels {
    /// The classes that the other folds have, by their codes.
    pub classes: Vec<usize>,
    /// Their prior there.
    pub prior: Prior,
    /// Blocks, each only once.
    pub blocks: Vec<FittedBlock>,
    /// The candidates.
    pub candidates: Vec<Scorer>,
    /// Gaussian blocks that are scored together.
    pub(super) banks: Vec<(Vec<usize>, Bank)>,
}

impl FoldModels {
    /// Drops all candidates but these, and the blocks that only others use.
    pub(super) fn keep(&mut self, living: &[usize]) {
        let mut places = vec![None; self.blocks.len()];
        let mut blocks = Vec::new();
        let mut candidates = Vec::new();
        for &c in living {
            candidates.push(match &self.candidates[c] {
                Scorer::Model(model) => Scorer::Model(model.clone()),
                Scorer::Blocks(own) => {
                    let mut place = |b: usize| {
                        *places[b].get_or_insert_with(|| {
                            blocks.push(self.blocks[b].clone());
                            blocks.len() - 1
                        })
                    };
                    Scorer::Blocks(own.iter().map(|&b| place(b)).collect())
                }
            });
        }
        (self.blocks, self.candidates) = (blocks, candidates);
        self.make_banks();
    }

    /// Finds the Gaussian blocks of the same columns that differ in their shrinkage only.
    pub(super) fn make_banks(&mut self) {
        let mut kin: Vec<Vec<usize>> = Vec::new();
        for (b, FittedBlock { block, .. }) in self.blocks.iter().enumerate() {
            let AnyFamily::Gaussian(family) = &block.family else { continue };
            if block.deskew.is_some() || block.gaussianise.is_some() {
                continue;
            }
            let is_kin = |members: &&mut Vec<usize>| {
                let first = &self.blocks[members[0]].block;
                matches!(&first.family, AnyFamily::Gaussian(other) if are_kin(other, family))
                    && first.columns == block.columns
            };
            match kin.iter_mut().find(is_kin) {
                Some(members) => members.push(b),
                None => kin.push(vec![b]),
            }
        }
        let gaussian = |&b: &usize| match (&self.blocks[b].block.family, &self.blocks[b].density) {
            (AnyFamily::Gaussian(family), AnyDensity::Gaussian(density)) => Some((family, density)),
            _ => None,
        };
        let bank = |members: Vec<usize>| {
            let bank = Bank::new(&members.iter().map(gaussian).collect::<Option<Vec<_>>>()?)?;
            Some((members, bank))
        };
        self.banks = kin.into_iter().filter_map(bank).collect();
    }
}

/// How a candidate scores.
#[derive(Clone, Debug)]
pub enum Scorer {
    /// The product of these blocks.
    Blocks(Vec<usize>),
    /// A model that has no blocks.
    Model(Box<Model>),
}

/// What each candidate gave: fold by fold a scorer, or the first error.
pub struct Fits {
    /// The models of each fold; candidates that failed have no blocks there.
    pub folds: Vec<FoldModels>,
    /// Why a candidate failed.
    pub failures: Vec<Option<Error>>,
    /// Seconds that fitting each candidate took.
    pub seconds: Vec<f64>,
}

/// Statistics of all folds but one, for each fold and class, by merging from both ends.
pub fn without_each(folds: &[Vec<AnyStatistic>]) -> Result<Vec<Vec<AnyStatistic>>> {
    let merged = |a: &[AnyStatistic], b: &[AnyStatistic]| {
        let mut sum = a.to_vec();
        sum.iter_mut().zip(b).try_for_each(|(a, b)| a.merge(b))?;
        Ok::<_, Error>(sum)
    };
    let count = folds.len();
    let mut after: Vec<Option<Vec<AnyStatistic>>> = vec![None; count];
    for fold in (0..count - 1).rev() {
        let rest = &folds[fold + 1];
        after[fold] = Some(after[fold + 1].as_ref().map_or_else(|| Ok(rest.clone()), |sum| merged(rest, sum))?);
    }
    let mut before: Option<Vec<AnyStatistic>> = None;
    let mut others = Vec::new();
    for fold in 0..count {
        others.push(match (&before, &after[fold]) {
            (None, Some(after)) => after.clone(),
            (Some(before), None) => before.clone(),
            (Some(before), Some(after)) => merged(before, after)?,
            (None, None) => return Err(Error::parameter("folds", "at least 2 folds are needed")),
        });
        before = Some(before.as_ref().map_or_else(|| Ok(folds[fold].clone()), |sum| merged(sum, &folds[fold]))?);
    }
    Ok(others)
}

/// Fits every candidate without each fold.
pub fn fit(
    candidates: &[Candidate],
    shared: &Shared,
    statistics: &Statistics,
    engine: &dyn Engine,
    folds: &Folds,
) -> Result<Fits> {
    let weights = statistics.summary().weights_by_fold();
    let schema = statistics.schema();
    let present: Vec<Vec<usize>> = (0..folds.count())
        .map(|held| {
            let has_rows = |c: &usize| (0..folds.count()).any(|f| f != held && weights[f][*c] > 0.0);
            (0..schema.classes().len()).filter(has_rows).collect()
        })
        .collect();
    if let Some(fold) = present.iter().position(|classes| classes.len() < 2) {
        return Err(too_few(statistics, fold, &present[fold]));
    }
    engine.watch().inspect(|watch| watch.expect(candidates.len() * folds.count()));
    let mut fits = closed_form(candidates, shared, statistics, &weights, &present, engine.watch())?;
    for (c, candidate) in candidates.iter().enumerate() {
        let failed_by_gaps = match (&candidate.recipe, &shared.places[c]) {
            (Recipe::Generative(learner), Some(places)) if fits.failures[c].is_some() => {
                learner.needs_rows(&statistics.select(places)).unwrap_or(false)
            }
            _ => false,
        };
        if shared.places[c].is_some() && !failed_by_gaps || matches!(candidate.recipe, Recipe::Logistic(_)) {
            continue;
        }
        fits.failures[c] = None;
        let started = Instant::now();
        for (held, models) in fits.folds.iter_mut().enumerate() {
            let view = Folded::new(engine, View::without(folds, held, &present[held]));
            match candidate.learn(&view) {
                // Blocks that expectation–maximisation found are fitted to statistics of their own: kindred families do
                // not make them kin.
                Ok(Model::Generative(model)) if model.convergence().is_none() => {
                    let first = models.blocks.len();
                    models.blocks.extend(model.blocks().iter().cloned());
                    models.candidates[c] = Scorer::Blocks((first..models.blocks.len()).collect());
                }
                Ok(model) => models.candidates[c] = Scorer::Model(Box::new(model)),
                Err(error) => {
                    fits.failures[c] = Some(error);
                    engine.watch().inspect(|watch| watch.step(folds.count() - held));
                    break;
                }
            }
            engine.watch().inspect(|watch| watch.step(1));
        }
        fits.seconds[c] = started.elapsed().as_secs_f64();
    }
    linear(candidates, engine, folds, &present, &mut fits);
    Ok(fits)
}

/// What is wrong with the rows where fewer than two classes are left without a fold.
fn too_few(statistics: &Statistics, fold: usize, left: &[usize]) -> Error {
    let (schema, rows) = (statistics.schema(), statistics.summary().rows());
    let name = |k: usize| format!("`{}`", schema.classes()[k]);
    let there: Vec<usize> = (0..rows.len()).filter(|&k| rows[k] > 0.0).collect();
    let message = match there[..] {
        [] => format!("no row has a class in `{}`", schema.target()),
        [only] => {
            format!("there is one class only in `{}`: {}; a model needs at least two", schema.target(), name(only))
        }
        _ => {
            // The class with the fewest rows of those that the fold holds alone.
            let lost = there.iter().filter(|k| !left.contains(k)).min_by(|a, b| rows[**a].total_cmp(&rows[**b]));
            let &k = lost.unwrap_or(&there[0]);
            let (count, noun) = (rows[k], if rows[k] == 1.0 { "row" } else { "rows" });
            format!(
                "class {} has {count} {noun}, all in fold {} of {}: models are compared by rows that they have not \
                 learned from, so at least two classes need rows in two folds; give more rows, or name the model \
                 with §model",
                name(k),
                fold + 1,
                statistics.summary().weights_by_fold().len()
            )
        }
    };
    Error::Classes(message)
}

fn closed_form(
    candidates: &[Candidate],
    shared: &Shared,
    statistics: &Statistics,
    weights: &[Vec<f64>],
    present: &[Vec<usize>],
    watch: Option<&Watch>,
) -> Result<Fits> {
    let (schema, summary) = (statistics.schema(), statistics.summary());
    let parts: Vec<Vec<Vec<AnyStatistic>>> = (0..shared.blocks.len()).map(|b| summary.block_by_fold(b)).collect();
    let others: Vec<Vec<Vec<AnyStatistic>>> =
        parts.par_iter().map(|folds| without_each(folds)).collect::<Result<_>>()?;
    let fold = |held: usize| -> Result<(FoldModels, Vec<Option<Error>>, Vec<f64>)> {
        let classes = &present[held];
        let class_names: Vec<String> = classes.iter().map(|&c| schema.classes()[c].clone()).collect();
        let weight = |c: &usize| (0..weights.len()).filter(|f| *f != held).map(|f| weights[f][*c]).sum();
        let prior = Prior::from_weights(&classes.iter().map(weight).collect::<Vec<f64>>())?;
        let mut known: HashMap<(usize, String), usize> = HashMap::new();
        let (mut blocks, mut scorers) = (Vec::new(), Vec::new());
        let (mut failures, mut seconds) = (Vec::new(), Vec::new());
        for (candidate, places) in candidates.iter().zip(&shared.places) {
            let started = Instant::now();
            let own = candidate.closed_form(schema.columns());
            let mut fitted = Vec::new();
            let mut failure = None;
            for (block, &place) in own.map_or(&[][..], |learner| learner.blocks()).iter().zip(places.iter().flatten()) {
                let key = (place, serde_json::to_string(&block.family).unwrap_or_default());
                if let Some(known) = known.get(&key) {
                    fitted.push(*known);
                    continue;
                }
                let chosen = |all: &[AnyStatistic]| classes.iter().map(|&c| all[c].clone()).collect::<Vec<_>>();
                let levels = levels(schema, &block.columns);
                let names = Names { columns: &block.names, levels: &levels, classes: &class_names };
                let family = match block.family.is_open() {
                    true => {
                        let inner = parts[place].iter().enumerate().filter(|(f, _)| *f != held);
                        block.family.choose(&inner.map(|(_, all)| chosen(all)).collect::<Vec<_>>(), names)
                    }
                    false => Ok(block.family.clone()),
                };
                let fit = family.and_then(|family| {
                    let train: Vec<&AnyStatistic> = classes.iter().map(|&c| &others[place][held][c]).collect();
                    let density = family.fit(&train, names)?;
                    let mut block = block.clone();
                    block.family = family;
                    Ok(FittedBlock { block, density })
                });
                match fit {
                    Ok(block) => {
                        known.insert(key, blocks.len());
                        fitted.push(blocks.len());
                        blocks.push(block);
                    }
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
            }
            scorers.push(Scorer::Blocks(fitted));
            failures.push(failure);
            seconds.push(started.elapsed().as_secs_f64());
            watch.filter(|_| places.is_some()).inspect(|watch| watch.step(1));
        }
        Ok((
            FoldModels { classes: classes.clone(), prior, blocks, candidates: scorers, banks: Vec::new() },
            failures,
            seconds,
        ))
    };
    let fitted: Vec<_> = (0..present.len()).into_par_iter().map(fold).collect::<Result<_>>()?;
    let count = candidates.len();
    let mut fits = Fits { folds: Vec::new(), failures: (0..count).map(|_| None).collect(), seconds: vec![0.0; count] };
    for (models, failures, seconds) in fitted {
        fits.folds.push(models);
        fits.seconds.iter_mut().zip(seconds).for_each(|(a, b)| *a += b);
        for (first, failure) in fits.failures.iter_mut().zip(failures) {
            if first.is_none() {
                *first = failure;
            }
        }
    }
    Ok(fits)
}

/// How many levels the columns of a block have.
pub fn levels(schema: &Schema, columns: &[usize]) -> Vec<usize> {
    columns.iter().map(|&c| schema.columns()[c].levels.len()).collect()
}

/// Linear candidates that differ in their weight decay only are learned together, from the largest
/// down, each from where the one before ended.
fn linear(candidates: &[Candidate], engine: &dyn Engine, folds: &Folds, present: &[Vec<usize>], fits: &mut Fits) {
    let mut paths: Vec<(Logistic, Vec<usize>)> = Vec::new();
    for (c, candidate) in candidates.iter().enumerate() {
        let Recipe::Logistic(learner) = &candidate.recipe else { continue };
        let plain = Logistic { weight_decay: 0.0, ..learner.clone() };
        match paths.iter_mut().find(|(known, _)| *known == plain) {
            Some((_, members)) => members.push(c),
            None => paths.push((plain, vec![c])),
        }
    }
    for (learner, mut members) in paths {
        let decay = |c: &usize| match &candidates[*c].recipe {
            Recipe::Logistic(learner) => learner.weight_decay,
            _ => 0.0,
        };
        members.sort_by(|a, b| decay(b).total_cmp(&decay(a)));
        let decays: Vec<f64> = members.iter().map(decay).collect();
        let started = Instant::now();
        for (held, models) in fits.folds.iter_mut().enumerate() {
            let view = Folded::new(engine, View::without(folds, held, &present[held]));
            match learner.path(&view, &decays) {
                Ok(path) => members.iter().zip(path).for_each(|(&c, model)| {
                    models.candidates[c] = Scorer::Model(Box::new(Model::Logistic(model)));
                }),
                Err(error) => {
                    // One error serves all members.
                    let message = error.marked();
                    members.iter().for_each(|&c| fits.failures[c] = Some(Error::Schema(message.clone())));
                    engine.watch().inspect(|watch| watch.step(members.len() * (folds.count() - held)));
                    break;
                }
            }
            engine.watch().inspect(|watch| watch.step(members.len()));
        }
        let share = started.elapsed().as_secs_f64() / members.len() as f64;
        members.iter().for_each(|&c| fits.seconds[c] = share);
    }
}
