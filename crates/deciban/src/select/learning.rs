//! Learning curves: how candidates do as they learn from more and more rows.
//!
//! A share of the rows is drawn by their places, each smaller one a part of the larger ones. Every row of
//! the input is judged, by models that have learned from this share of the rows of the other folds.

use super::compare::CrossValidation;
use super::fitted::{FoldModels, Scorer};
use super::held_out_sums::{HeldOutSums, Judge};
use super::score::{Keep, Score};
use crate::data::Schema;
use crate::decision::Costs;
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::folds::{Folded, Folds, View};
use crate::learn::Summarise;
use crate::model::{Candidate, Model};
use crate::posterior::Prior;

/// A candidate over the number of rows it learns from.
#[derive(Clone, Debug)]
pub struct LearningCurve {
    /// Its name.
    pub name: String,
    /// How many rows it learned from, on average over folds, and what became of all rows; in the order of
    /// the shares. Where the rows are too few for it there is no point.
    pub points: Vec<(f64, HeldOutSums)>,
}

impl CrossValidation {
    /// The curves of candidates over these shares of the rows, each above 0 and at most 1.
    ///
    /// ```
    /// use deciban::data::{Batch, Schema};
    /// use deciban::engine::Memory;
    /// use deciban::family::gaussian::Gaussian;
    /// use deciban::learn::Generative;
    /// use deciban::numerics::Random;
    /// use deciban::model::Candidate;
    /// use deciban::select::CrossValidation;
    /// use deciban::folds::Folds;
    ///
    /// let mut random = Random::new(1);
    /// let classes: Vec<u32> = (0..800).map(|i| i % 2).collect();
    /// let x: Vec<f64> = classes.iter().map(|k| f64::from(*k) + random.normal()).collect();
    /// let schema = Schema::numbers(&["x"], "class", &["a", "b"])?;
    /// let engine = Memory::new(schema.clone(), Batch::new(800).column(&x[..])?.classes(&classes)?)?;
    /// let candidate = Candidate::generative("gaussian", Generative::gaussian(schema.columns(), Gaussian::default())?);
    /// let validation = CrossValidation::new(Folds::stratified(&engine, 5, 0)?);
    /// let curves = validation.learning_curves(&engine, &[candidate], &[0.02, 1.0])?;
    /// let [(few, early), (all, late)] = &curves[0].points[..] else { panic!() };
    /// assert!(*few < 20.0 && *all == 640.0 && late.log_loss() < early.log_loss());
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn learning_curves(
        &self,
        engine: &dyn Engine,
        candidates: &[Candidate],
        shares: &[f64],
    ) -> Result<Vec<LearningCurve>> {
        let Some(folds) = self.folds() else {
            return Err(Error::parameter("folds", "a learning curve needs folds"));
        };
        if let Some(share) = shares.iter().find(|share| !(**share > 0.0 && **share <= 1.0)) {
            return Err(Error::parameter("shares", format!("{share} is no share above 0 and up to 1")));
        }
        let schema = engine.schema()?;
        let judge = Judge::new(schema.classes(), Costs::zero_one(schema.classes()))?;
        let mut curves: Vec<LearningCurve> =
            candidates.iter().map(|c| LearningCurve { name: c.name.clone(), points: Vec::new() }).collect();
        let mut last = None;
        for &share in shares {
            let Some(part) = Part::learn(engine, candidates, folds, &schema, share, &mut last)? else { continue };
            let Part { models, living, rows } = part;
            let prior = self.other_prior();
            let score = Score { folds: folds.clone(), models, judge: judge.clone(), prior, keep: Keep::Nothing };
            let scored = engine.run(&score)?;
            for (i, &c) in living.iter().enumerate() {
                match scored.failure(i) {
                    Some(error) => last = Some(error),
                    None => curves[c].points.push((rows, scored.total(i))),
                }
            }
        }
        match (last, curves.iter().all(|curve| curve.points.is_empty())) {
            (Some(error), true) => Err(error),
            _ => Ok(curves),
        }
    }
}

/// The models of a share of the rows, without each fold.
struct Part {
    models: Vec<FoldModels>,
    /// The candidates that could be learned from it.
    living: Vec<usize>,
    rows: f64,
}

impl Part {
    /// `None` where no candidate could be learned; `last` says why.
    fn learn(
        engine: &dyn Engine,
        candidates: &[Candidate],
        folds: &Folds,
        schema: &Schema,
        share: f64,
        last: &mut Option<Error>,
    ) -> Result<Option<Self>> {
        let count = Summarise { blocks: Vec::new(), folds: folds.count(), seed: 0 };
        let labels = Folded::new(engine, View::all(folds).share(share)).run(&count)?;
        let (weights, rows) = (labels.weights_by_fold(), labels.rows().iter().sum::<f64>());
        let mut models = Vec::new();
        let mut lives = vec![true; candidates.len()];
        for held in 0..folds.count() {
            // A class without rows may have no place.
            let of_fold = |f: usize, c: usize| weights[f].get(c).copied().unwrap_or(0.0);
            let weight = |c: usize| (0..folds.count()).filter(|f| *f != held).map(|f| of_fold(f, c)).sum::<f64>();
            let classes: Vec<usize> = (0..schema.classes().len()).filter(|&c| weight(c) > 0.0).collect();
            if classes.len() < 2 {
                return Ok(None);
            }
            let prior = Prior::from_weights(&classes.iter().map(|&c| weight(c)).collect::<Vec<f64>>())?;
            let view = Folded::new(engine, View::without(folds, held, &classes).share(share));
            let mut of = FoldModels { classes, prior, blocks: Vec::new(), candidates: Vec::new(), banks: Vec::new() };
            for (candidate, lives) in candidates.iter().zip(&mut lives) {
                let scorer = match lives.then(|| candidate.learn(&view)) {
                    Some(Ok(Model::Generative(model))) if model.components().is_single() => {
                        let first = of.blocks.len();
                        of.blocks.extend(model.blocks().iter().cloned());
                        Scorer::Blocks((first..of.blocks.len()).collect())
                    }
                    Some(Ok(model)) => Scorer::Model(Box::new(model)),
                    failed => {
                        *lives = false;
                        *last = failed.and_then(Result::err).or(last.take());
                        Scorer::Blocks(Vec::new())
                    }
                };
                of.candidates.push(scorer);
            }
            models.push(of);
        }
        let living: Vec<usize> = (0..candidates.len()).filter(|&c| lives[c]).collect();
        models.iter_mut().for_each(|models| models.keep(&living));
        let rows = rows * (folds.count() - 1) as f64 / folds.count() as f64;
        Ok((!living.is_empty()).then_some(Part { models, living, rows }))
    }
}
