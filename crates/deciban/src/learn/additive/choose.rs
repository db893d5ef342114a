//! The weight decays, and whether pairs are worth their terms, by cross-validated log loss.
//!
//! First E is chosen without pairs, then F with pairs at this E. Decays are tried from the largest down, each fit from
//! where the one before ended, until the loss has not fallen twice in a row. Codes and pairs are found anew without each
//! fold. Of all that come within a twentieth of a standard error of the least loss, the simplest is chosen: without pairs,
//! and of the largest decay. Where the loss is flat, the least one is where it is by chance.
//!
//! One decay for both would not do: few columns with much to tell, such as gains of capital that are nearly always 0,
//! want a small one, and sixty pairs a large one.

use rayon::prelude::*;

use super::fit::{Aim, MOST_KEPT, Prepared};
use super::held_out::HeldOut;
use super::model::Tried;
use super::{Additive, AdditiveModel};
use crate::data::Schema;
use crate::engine::{Engine, Run};
use crate::error::Result;
use crate::folds::{Folded, Folds, View};
use crate::learn::Summarise;

/// E, from the largest down.
const DECAYS: [f64; 12] = [150.0, 50.0, 15.0, 5.0, 1.5, 0.5, 0.15, 0.05, 0.015, 0.005, 0.0015, 0.0005];
/// Where rows are too few to compare.
const DEFAULT: f64 = 5.0;
/// F, from the largest down.
const PAIR_DECAYS: [f64; 12] = [900.0, 300.0, 90.0, 30.0, 9.0, 3.0, 0.9, 0.3, 0.09, 0.03, 0.009, 0.003];
/// F in units of E, where it is not compared.
const PAIR: f64 = 6.0;
/// Up to so many rows there are five folds, beyond that three.
const FEW: f64 = 2000.0;
/// Of more rows than this a share is compared.
const MANY: f64 = 30_000.0;
/// How well the compared weights are found.
const TOLERANCE: f64 = 0.03;
/// Losses that differ by no more, in standard errors of the least one, are taken for equal.
const FLAT: f64 = 0.05;

/// A fall of the loss by less, in nats, is none: where rows are told without doubt it falls for ever.
const LEAST: f64 = 1e-4;

/// What was chosen, F only where pairs have terms, and all that was tried.
pub struct Choice {
    pub decay: f64,
    pub pair_decay: Option<f64>,
    pub tried: Vec<Tried>,
}

/// The simplest of those that lose nearly least.
fn simplest(tried: &[Tried]) -> Option<&Tried> {
    let best = tried.iter().min_by(|a, b| a.log_loss.total_cmp(&b.log_loss))?;
    // A standard error that is not a number makes nothing equal.
    let enough = best.log_loss + (FLAT * best.error).max(LEAST);
    let good = tried.iter().filter(|t| t.log_loss <= enough);
    // No pairs are as good as an infinite decay.
    let decays = |t: &Tried| (t.pair_decay.unwrap_or(f64::INFINITY), t.weight_decay);
    good.max_by(|a, b| {
        let ((f, e), (g, h)) = (decays(a), decays(b));
        f.total_cmp(&g).then(e.total_cmp(&h))
    })
}

/// A fold's rows, and the weights of all that was tried without it.
struct Fold {
    classes: Vec<usize>,
    rows: Prepared,
    theta: Vec<Vec<f64>>,
}

/// Decays compared by folds.
struct Comparison<'a> {
    learner: &'a Additive,
    engine: &'a dyn Engine,
    folds: Folds,
    share: f64,
    parts: Vec<Fold>,
    tried: Vec<Tried>,
}

impl Additive {
    /// Compares decays, and pairs with none, as far as they are left open.
    pub(super) fn choose(&self, engine: &dyn Engine) -> Result<Choice> {
        // Without a word about pairs they are on trial.
        let (given, pairs) = (self.weight_decay, self.pairs != Some(0));
        let pair_decay = |decay: f64| pairs.then(|| self.pair_decay.unwrap_or(PAIR * decay));
        let is_settled = !pairs || self.pairs.is_some();
        if let (Some(decay), true) = (given, is_settled) {
            return Ok(Choice { decay, pair_decay: pair_decay(decay), tried: Vec::new() });
        }
        let Some(mut comparison) = Comparison::new(self, engine)? else {
            let decay = given.unwrap_or(DEFAULT);
            return Ok(Choice { decay, pair_decay: pair_decay(decay), tried: Vec::new() });
        };
        let decays = given.map_or(DECAYS.to_vec(), |decay| vec![decay]);
        comparison.descend(&decays, |decay| (decay, None), None)?;
        let best = simplest(&comparison.tried).cloned();
        let decay = best.as_ref().map_or(DEFAULT, |best| best.weight_decay);
        let mut pair_decay = None;
        if pairs && comparison.parts.iter().any(|part| !part.rows.pairs.is_empty()) {
            let start = comparison.tried.iter().position(|t| t.weight_decay == decay);
            let decays = self.pair_decay.map_or(PAIR_DECAYS.to_vec(), |decay| vec![decay]);
            let first = comparison.tried.len();
            comparison.descend(&decays, |pair_decay| (decay, Some(pair_decay)), start)?;
            let mut with = comparison.tried[first..].to_vec();
            // Pairs that are asked for need not win.
            with.extend(best.filter(|_| self.pairs.is_none()));
            pair_decay = simplest(&with).and_then(|best| best.pair_decay);
        }
        Ok(Choice { decay, pair_decay, tried: comparison.tried })
    }
}

impl<'a> Comparison<'a> {
    /// Prepares the rows without each fold; nothing where that leaves fewer than two classes.
    fn new(learner: &'a Additive, engine: &'a dyn Engine) -> Result<Option<Self>> {
        let count = Summarise { blocks: Vec::new(), folds: 1, seed: 0 };
        let rows: f64 = engine.run(&count)?.rows().iter().sum();
        let schema = engine.schema()?;
        let folds = learner.folds.unwrap_or(if rows <= FEW { 5 } else { 3 });
        let folds = Folds::stratified(engine, folds, learner.seed)?;
        let most = MANY.min(MOST_KEPT / schema.columns().len().max(1) as f64);
        let share = (most / rows.max(1.0)).min(1.0);
        let Some(parts) = parts(learner, engine, &folds, share, &schema)? else { return Ok(None) };
        Ok(Some(Comparison { learner, engine, folds, share, parts, tried: Vec::new() }))
    }

    /// Tries decays until the loss has not fallen twice in a row. `aim` says what E and F a decay stands for, and `start`
    /// which of those that were tried the first is found from.
    fn descend(
        &mut self,
        decays: &[f64],
        aim: impl Fn(f64) -> (f64, Option<f64>),
        mut start: Option<usize>,
    ) -> Result<()> {
        let (mut best, mut rises) = (f64::INFINITY, 0);
        for &decay in decays {
            self.engine.check_stop()?;
            let (weight_decay, pair_decay) = aim(decay);
            let (log_loss, error) = self.loss(weight_decay, pair_decay, start)?;
            // No row is of a class that the models without its fold know: there is nothing to compare.
            if !log_loss.is_finite() {
                self.parts.iter_mut().for_each(|part| drop(part.theta.pop()));
                return Ok(());
            }
            start = Some(self.tried.len());
            self.tried.push(Tried { weight_decay, pair_decay, log_loss, error });
            rises = if log_loss > best - LEAST { rises + 1 } else { 0 };
            best = best.min(log_loss);
            if rises == 2 {
                break;
            }
        }
        Ok(())
    }

    /// The mean loss of rows that the models have not seen, and its standard error.
    fn loss(&mut self, decay: f64, pair_decay: Option<f64>, start: Option<usize>) -> Result<(f64, f64)> {
        let learner = self.learner;
        let fit = |part: &mut Fold| -> Result<(Vec<usize>, AdditiveModel)> {
            let start = start.map(|tried| &part.theta[tried][..]);
            let fitted = part.rows.fit_kept(learner, Aim { decay, pair_decay, start, tolerance: TOLERANCE })?;
            part.theta.push(fitted.theta().to_vec());
            Ok((part.classes.clone(), part.rows.model(fitted)?))
        };
        let models = self.parts.par_iter_mut().map(fit).collect::<Result<_>>()?;
        let pass = HeldOut { folds: self.folds.clone(), models };
        let losses = Folded::new(self.engine, View::all(&self.folds).share(self.share)).run(&pass)?;
        Ok((losses.mean(), losses.error()))
    }
}

/// The rows without each fold, or nothing where that leaves fewer than two classes.
fn parts(
    learner: &Additive,
    engine: &dyn Engine,
    folds: &Folds,
    share: f64,
    schema: &Schema,
) -> Result<Option<Vec<Fold>>> {
    let count = Summarise { blocks: Vec::new(), folds: folds.count(), seed: 0 };
    let weights = Folded::new(engine, View::all(folds).share(share)).run(&count)?.weights_by_fold();
    let mut parts = Vec::new();
    for held in 0..folds.count() {
        // A class without rows may have no place.
        let of_fold = |f: usize, c: usize| weights[f].get(c).copied().unwrap_or(0.0);
        let weight = |c: usize| (0..folds.count()).filter(|f| *f != held).map(|f| of_fold(f, c)).sum::<f64>();
        let classes: Vec<usize> = (0..schema.classes().len()).filter(|&c| weight(c) > 0.0).collect();
        if classes.len() < 2 {
            return Ok(None);
        }
        let view = Folded::new(engine, View::without(folds, held, &classes).share(share));
        parts.push(Fold { classes, rows: Prepared::new(&view, learner.pairs)?, theta: Vec::new() });
    }
    Ok(Some(parts))
}
