//! Cross-validation of many candidates, and their ranking.

use super::calibrate::{HeldOut, Judged, is_quick};
use super::fitted::{Fits, fit};
use super::held_out_sums::{HeldOutSums, Judge};
use super::leave_one_out::LeaveOneOut;
use super::score::{HeldRows, Keep, Score, Scored};
use super::shared::Shared;
use crate::calibrate::{Calibration, Calibrator, HeldScores};
use crate::data::Schema;
use crate::decision::Costs;
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::folds::{Drawn, Folded, Folds, View};
use crate::learn::{Generative, Statistics, Summarise};
use crate::model::{CalibratedModel, Candidate, FusedModel, Model, Part, Recipe};
use crate::posterior::Prior;

/// Above this many scores, rows are not stored, and the figures that need them are left out.
const MOST_KEPT: f64 = 2e7;

/// Above this many numbers, their evidence is not stored.
const MOST_EVIDENCE: f64 = 6.4e7;

/// The name of the line that every candidate is measured against.
const PRIOR_ONLY: &str = "prior only";

/// How candidates are compared.
#[derive(Clone, Debug)]
pub struct CrossValidation {
    /// `None` leaves one row out at a time.
    folds: Option<Folds>,
    prior: Option<Prior>,
    costs: Option<Costs>,
    /// How many of the best are calibrated, too.
    calibrated: usize,
    evidence: bool,
}

/// A candidate and what became of the rows it had not seen.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its number among the candidates.
    pub candidate: usize,
    /// Its name.
    pub name: String,
    /// The sums over all rows.
    pub sums: HeldOutSums,
    /// The sums of each fold.
    pub folds: Vec<HeldOutSums>,
    /// Seconds that fitting and scoring took, over all threads; shared work is divided.
    pub seconds: f64,
    /// The calibration of its evidence, if this is a calibrated one: learned from all folds.
    pub calibration: Option<Calibration>,
    /// How many cells the rows had on average that taught it.
    pub(super) typical_cells: f64,
    /// The scores that taught it.
    pub(super) scores: Option<HeldScores>,
    /// Its number among the kept rows.
    pub(super) place: usize,
    /// Its blocks among the statistics, if it is fitted from them.
    pub(super) blocks: Option<Vec<usize>>,
    /// The members, if it is a fusion.
    pub(super) parts: Vec<(Part, Option<Vec<usize>>)>,
}

impl Outcome {
    /// The members of a fusion with their weights, by their names; empty for all others.
    pub fn members(&self) -> Vec<(&str, f64)> {
        self.parts.iter().map(|(part, _)| (part.candidate.name.as_str(), part.weight)).collect()
    }
}

/// What a cross-validation found.
#[derive(Debug)]
pub struct Comparison {
    costs: Costs,
    ranked: Vec<Outcome>,
    prior_only: Outcome,
    failed: Vec<(String, Error)>,
    statistics: Statistics,
    rows: HeldRows,
    /// How the folds were drawn, if they were.
    drawn: Option<Drawn>,
}

impl CrossValidation {
    /// Compares by these folds, under the prior of the other folds and zero-one costs.
    pub fn new(folds: Folds) -> Self {
        CrossValidation { folds: Some(folds), prior: None, costs: None, calibrated: 0, evidence: false }
    }

    /// Leaves one row out at a time, exactly: closed-form candidates only.
    pub fn leave_one_out() -> Self {
        CrossValidation { folds: None, prior: None, costs: None, calibrated: 0, evidence: false }
    }

    /// Under another prior.
    pub fn prior(self, prior: Prior) -> Self {
        CrossValidation { prior: Some(prior), ..self }
    }

    /// Under other costs.
    pub fn costs(self, costs: Costs) -> Self {
        CrossValidation { costs: Some(costs), ..self }
    }

    pub(super) fn folds(&self) -> Option<&Folds> {
        self.folds.as_ref()
    }

    pub(super) fn other_prior(&self) -> Option<Prior> {
        self.prior.clone()
    }

    /// Of each kind of model the best `count` candidates, and the one of fewest errors, also with logistic
    /// calibration; and the best of each kind fused.
    pub fn calibrated(self, count: usize) -> Self {
        CrossValidation { calibrated: count, ..self }
    }

    /// Keeps the evidence of all rows, for [`Comparison::held_out`].
    pub fn keep_evidence(self) -> Self {
        CrossValidation { evidence: true, ..self }
    }

    /// Fits and scores all candidates, and the prior alone. A candidate that fails, when it is fitted or when
    /// it scores a row, is left out and listed by [`failed`](Comparison::failed). If none is left, the error of
    /// the first is returned.
    pub fn run(&self, engine: &dyn Engine, candidates: &[Candidate]) -> Result<Comparison> {
        // The prior alone is a product of no blocks: it goes the same way as all others.
        let nothing = Candidate::generative(PRIOR_ONLY, Generative::of_blocks(Vec::new()));
        let all: Vec<Candidate> = candidates.iter().cloned().chain([nothing]).collect();
        match &self.folds {
            Some(folds) => self.each_fold(engine, &all, folds),
            None => self.each_row(engine, &all),
        }
    }

    fn each_fold(&self, engine: &dyn Engine, candidates: &[Candidate], folds: &Folds) -> Result<Comparison> {
        let columns = engine.schema()?.columns().to_vec();
        let mut failed = Vec::new();
        let mut alive: Vec<usize> = (0..candidates.len()).collect();
        let of = |alive: &[usize]| alive.iter().map(|&c| candidates[c].clone()).collect::<Vec<_>>();
        let mut shared = Shared::new(candidates, &columns);
        let statistics = match self.statistics(engine, &shared) {
            Ok(statistics) => statistics,
            Err(error) => {
                // A block that cannot take these rows fails alone.
                let mut fails = |c: &usize| {
                    let own = Shared::new(&candidates[*c..=*c], &columns);
                    match self.statistics(engine, &own) {
                        Ok(_) => true,
                        Err(error) => {
                            failed.push((candidates[*c].name.clone(), error));
                            false
                        }
                    }
                };
                alive.retain(&mut fails);
                if alive.is_empty() {
                    return Err(error);
                }
                shared = Shared::new(&of(&alive), &columns);
                self.statistics(engine, &shared)?
            }
        };
        let fits = fit(&of(&alive), &shared, &statistics, engine, folds)?;
        let Fits { folds: mut folds_models, failures, seconds } = fits;
        let living: Vec<usize> = (0..alive.len()).filter(|&i| failures[i].is_none()).collect();
        for (i, failure) in failures.into_iter().enumerate() {
            if let Some(error) = failure {
                failed.push((candidates[alive[i]].name.clone(), error));
            }
        }
        folds_models.iter_mut().for_each(|models| models.keep(&living));
        let (judge, costs, keep) = self.judge(&statistics, living.len())?;
        let (folds, prior) = (folds.clone(), self.prior.clone());
        let mut score = Score { folds, models: folds_models, judge, prior, keep };
        let scored = engine.run(&score)?;
        let places: Vec<(usize, usize)> = living.iter().map(|&i| (alive[i], i)).collect();
        let rows: f64 = statistics.summary().rows().iter().sum();
        let mut comparison = Comparison::new(candidates, &places, &seconds, scored, shared, statistics, costs, failed)?;
        comparison.name_folds(score.folds.drawn(), candidates);
        if self.calibrated > 0 && keep >= Keep::Losses && is_quick(rows, comparison.schema().classes().len()) {
            let few = comparison.promising(self.calibrated, candidates);
            let rows = match keep {
                Keep::Evidence => comparison.rows.only(&few),
                _ => {
                    score.models.iter_mut().for_each(|models| models.keep(&few));
                    score.keep = Keep::Evidence;
                    engine.run(&score)?.into_rows()
                }
            };
            let calibrator = Calibrator { bounded: true, ..Calibrator::default() };
            let maps = comparison.add_calibrated(&few, &score, &rows, &calibrator, candidates)?;
            comparison.add_fused(&few, &maps, &score, &rows, candidates)?;
            if !self.evidence {
                comparison.rows.evidence.iter_mut().for_each(|evidence| *evidence = Vec::new());
            }
        }
        Ok(comparison)
    }

    /// The same, where every row is a fold of its own: closed-form candidates only.
    fn each_row(&self, engine: &dyn Engine, candidates: &[Candidate]) -> Result<Comparison> {
        let columns = engine.schema()?.columns().to_vec();
        let mut failed = Vec::new();
        let mut alive = Vec::new();
        for (c, candidate) in candidates.iter().enumerate() {
            let own = Shared::new(&candidates[c..=c], &columns);
            // Each alone: one that cannot take these rows fails alone.
            let fit = match LeaveOneOut::refuses(candidate, &columns) {
                Some(error) => Err(error),
                None => self.statistics(engine, &own).and_then(|statistics| {
                    let Recipe::Generative(learner) = &candidate.recipe else { return Ok(()) };
                    learner.fit(&statistics.select(own.places[0].as_deref().unwrap_or(&[]))).map(|_| ())
                }),
            };
            match fit {
                Ok(()) => alive.push(c),
                Err(error) => failed.push((candidate.name.clone(), error)),
            }
        }
        let chosen: Vec<Candidate> = alive.iter().map(|&c| candidates[c].clone()).collect();
        let shared = Shared::new(&chosen, &columns);
        let statistics = self.statistics(engine, &shared)?;
        let (judge, costs, keep) = self.judge(&statistics, chosen.len())?;
        let pass = LeaveOneOut::new(&chosen, &shared, &statistics, judge, self.prior.clone(), keep >= Keep::Losses)?;
        let scored = engine.run(&pass)?;
        let places: Vec<(usize, usize)> = alive.iter().enumerate().map(|(i, &c)| (c, i)).collect();
        let seconds = vec![0.0; chosen.len()];
        Comparison::new(candidates, &places, &seconds, scored, shared, statistics, costs, failed)
    }

    fn judge(&self, statistics: &Statistics, candidates: usize) -> Result<(Judge, Costs, Keep)> {
        let classes = statistics.schema().classes();
        let costs = self.costs.clone().unwrap_or_else(|| Costs::zero_one(classes));
        let rows: f64 = statistics.summary().rows().iter().sum();
        let scores = rows * candidates as f64;
        let keep = match scores <= MOST_KEPT {
            true if self.evidence && scores * classes.len() as f64 <= MOST_EVIDENCE => Keep::Evidence,
            // What is kept need not be scored again for its calibration.
            true if self.calibrated > 0 && scores * classes.len() as f64 <= MOST_EVIDENCE / 4.0 => Keep::Evidence,
            true => Keep::Losses,
            false => Keep::Nothing,
        };
        Ok((Judge::new(classes, costs.clone())?, costs, keep))
    }

    pub(super) fn statistics(&self, engine: &dyn Engine, shared: &Shared) -> Result<Statistics> {
        let blocks = shared.blocks.clone();
        match &self.folds {
            None => Statistics::collect(Summarise { blocks, folds: 1, seed: 0 }, engine),
            Some(folds) => {
                let pass = Summarise { blocks, folds: folds.count(), seed: 0 };
                Statistics::collect(pass, &Folded::new(engine, View::all(folds)))
            }
        }
    }
}

fn no_candidates() -> Error {
    Error::parameter("models", "there is no candidate to compare")
}

impl Comparison {
    /// `places` holds, for each scored candidate, its number among all and among those with `seconds`
    /// and blocks in `shared`. The last one is the prior alone.
    #[allow(clippy::too_many_arguments)]
    fn new(
        candidates: &[Candidate],
        places: &[(usize, usize)],
        seconds: &[f64],
        scored: Scored,
        shared: Shared,
        statistics: Statistics,
        costs: Costs,
        mut failed: Vec<(String, Error)>,
    ) -> Result<Self> {
        let outcome = |(place, &(candidate, i)): (usize, &(usize, usize))| Outcome {
            candidate,
            name: candidates[candidate].name.clone(),
            sums: scored.total(place),
            folds: scored.by_fold(place).to_vec(),
            seconds: seconds[i] + scored.seconds(place),
            blocks: shared.places[i].clone(),
            calibration: None,
            typical_cells: 0.0,
            scores: None,
            parts: Vec::new(),
            place,
        };
        let mut ranked: Vec<Outcome> = Vec::new();
        for outcome in places.iter().enumerate().map(outcome) {
            match scored.failure(outcome.place) {
                Some(error) => failed.push((outcome.name, error)),
                None => ranked.push(outcome),
            }
        }
        // A product of no blocks cannot fail where there is anything to learn.
        let prior_only = ranked.pop_if(|outcome| outcome.candidate + 1 == candidates.len());
        let (Some(prior_only), false) = (prior_only, ranked.is_empty()) else {
            return Err(failed.into_iter().next().map_or_else(no_candidates, |(_, error)| error));
        };
        let mut comparison =
            Comparison { costs, ranked, prior_only, failed, statistics, rows: scored.into_rows(), drawn: None };
        comparison.rank();
        Ok(comparison)
    }

    fn rank(&mut self) {
        // Candidates stay in the order given where nothing tells them apart.
        let key = |o: &Outcome| (o.sums.log_loss(), o.sums.errors);
        self.ranked.sort_by(|a, b| key(a).0.total_cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
    }

    /// Adds to the names what depends on the folds, so that `fit` with a name repeats the model.
    fn name_folds(&mut self, drawn: Option<Drawn>, candidates: &[Candidate]) {
        self.drawn = drawn;
        let Some(drawn) = drawn else { return };
        for outcome in &mut self.ranked {
            outcome.name += &candidates[outcome.candidate].fold_options(drawn, false);
        }
    }

    /// Adds the outcome of the candidate at a place with a calibration.
    pub(super) fn add_with(
        &mut self,
        place: usize,
        (calibration, typical_cells, scores): (Calibration, f64, Option<HeldScores>),
        candidates: &[Candidate],
        name: impl FnOnce(&str, &str) -> String,
        judged: Judged,
    ) {
        let Some(plain) = self.ranked.iter().find(|outcome| outcome.place == place).cloned() else { return };
        let candidate = &candidates[plain.candidate];
        let options = self.drawn.map_or_else(String::new, |drawn| candidate.fold_options(drawn, true));
        let name = name(&candidate.name, &options);
        self.add(Outcome { name, calibration: Some(calibration), typical_cells, scores, ..plain }, judged);
    }

    /// Adds an outcome, with the sums of each fold and the losses, errors and LLRs of each row.
    pub(super) fn add(&mut self, outcome: Outcome, (folds, (losses, errors, llrs)): Judged) {
        let mut sums = folds[0].clone();
        folds[1..].iter().for_each(|fold| sums.merge(fold));
        self.rows.losses.push(losses);
        self.rows.errors.push(errors);
        self.rows.llrs.push(llrs);
        self.ranked.push(Outcome { sums, folds, place: self.rows.losses.len() - 1, ..outcome });
        self.rank();
    }

    /// Adds to the name of the fused outcome the options of the search, so that `fit` with the name repeats it.
    pub fn name_fused(&mut self, options: &str) {
        self.ranked.iter_mut().filter(|outcome| !outcome.parts.is_empty()).for_each(|outcome| outcome.name += options);
    }

    /// The same, of rows that are a sample: the models are learned anew from the rows that `refit` is given.
    pub fn of_sample(mut self) -> Self {
        for outcome in &mut self.ranked {
            outcome.blocks = None;
            outcome.parts.iter_mut().for_each(|(_, blocks)| *blocks = None);
        }
        self
    }

    /// The fused outcome, if there is one.
    pub fn fused(&self) -> Option<&Outcome> {
        self.ranked.iter().find(|outcome| !outcome.parts.is_empty())
    }

    /// The columns and classes.
    pub fn schema(&self) -> &Schema {
        self.statistics.schema()
    }

    /// The costs that decided.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// The candidates by log loss, the best first.
    pub fn ranked(&self) -> &[Outcome] {
        &self.ranked
    }

    /// The class shares alone, without a look at any column: what every candidate must beat. Its name is
    /// *prior only*, and it is not among the [`ranked`](Comparison::ranked).
    pub fn prior_only(&self) -> &Outcome {
        &self.prior_only
    }

    /// Whether an outcome has a lower log loss than the prior alone. If the best one does not, the columns say
    /// nothing about the classes that the candidates can learn.
    pub fn beats_prior(&self, outcome: &Outcome) -> bool {
        outcome.sums.log_loss() < self.prior_only.sums.log_loss()
    }

    /// The ranked outcomes with the prior alone at its place among them, as a table shows them.
    pub fn lines(&self) -> Vec<&Outcome> {
        let mut lines: Vec<&Outcome> = self.ranked.iter().collect();
        let place = lines.iter().position(|outcome| !self.beats_prior(outcome)).unwrap_or(lines.len());
        lines.insert(place, &self.prior_only);
        lines
    }

    /// The candidates that could not be fitted or could not score a row, and why.
    pub fn failed(&self) -> &[(String, Error)] {
        &self.failed
    }

    /// What became of single rows; empty where there are too many.
    pub fn rows(&self) -> &HeldRows {
        &self.rows
    }

    /// Single rows of an outcome: losses, errors and, of two classes, log-likelihood ratios.
    pub fn rows_of(&self, outcome: &Outcome) -> (&[f64], &[u8], &[f64]) {
        let rows = &self.rows;
        (&rows.losses[outcome.place], &rows.errors[outcome.place], &rows.llrs[outcome.place])
    }

    /// By how much the log loss of `a` exceeds that of `b`, and the standard error of that: the rows
    /// are the same, so it is much smaller than the errors of both. `None` where rows are not kept.
    pub fn difference(&self, a: &Outcome, b: &Outcome) -> Option<(f64, f64)> {
        let (x, y) = (self.rows_of(a).0, self.rows_of(b).0);
        let rows = x.iter().zip(y).zip(&self.rows.weights).filter(|((x, y), _)| x.is_finite() && y.is_finite());
        let differences: Vec<(f64, f64)> = rows.map(|((x, y), w)| (x - y, *w)).collect();
        let weight: f64 = differences.iter().map(|(_, w)| w).sum();
        let mean = differences.iter().map(|(d, w)| w * d).sum::<f64>() / weight;
        let square: f64 = differences.iter().map(|(d, w)| (w * (d - mean)).powi(2)).sum();
        mean.is_finite().then_some((mean, square.sqrt() / weight))
    }

    /// Rows with their evidence by the models of an outcome that have not seen them, if it was kept.
    pub fn held_out(&self, outcome: &Outcome) -> Result<Option<HeldOut>> {
        let kept = self.rows.evidence.get(outcome.place).is_some_and(|evidence| !evidence.is_empty());
        kept.then(|| HeldOut::new(&self.rows, outcome.place, self.schema().classes().len())).transpose()
    }

    /// The model of the best outcome that can be learned from all rows, which then stands first in the
    /// ranking: one that fails is left out and listed by [`failed`](Comparison::failed).
    pub fn refit_best(&mut self, candidates: &[Candidate], engine: &dyn Engine) -> Result<Model> {
        loop {
            match self.refit(&self.ranked[0], candidates, engine) {
                Err(error) if self.ranked.len() > 1 && !matches!(error, Error::Interrupted | Error::Io { .. }) => {
                    let outcome = self.ranked.remove(0);
                    self.failed.push((outcome.name, error));
                }
                learned => return learned,
            }
        }
    }

    fn refit_plain(&self, candidate: &Candidate, blocks: Option<&[usize]>, engine: &dyn Engine) -> Result<Model> {
        match (&candidate.recipe, blocks, self.drawn) {
            // Left open: settled as `fit` does, by folds of its own.
            (_, _, Some(drawn)) if candidate.is_open() => candidate.learn_by(drawn, engine),
            (Recipe::Generative(learner), Some(blocks), _) => {
                let fitted = learner.fit(&self.statistics.select(blocks)).map(Model::Generative);
                // Rows with missing cells may need passes of their own.
                fitted.or_else(|error| candidate.learn(engine).map_err(|_| error))
            }
            _ => candidate.learn(engine),
        }
    }

    /// The model of an outcome, from all rows: of a closed-form candidate from the statistics, of
    /// others by passes on `engine`.
    pub fn refit(&self, outcome: &Outcome, candidates: &[Candidate], engine: &dyn Engine) -> Result<Model> {
        let model = match &outcome.parts[..] {
            [] => self.refit_plain(&candidates[outcome.candidate], outcome.blocks.as_deref(), engine)?,
            parts => {
                let member = |(part, blocks): &(Part, Option<Vec<usize>>)| {
                    part.member(self.refit_plain(&part.candidate, blocks.as_deref(), engine)?)
                };
                Model::Fused(FusedModel::new(parts.iter().map(member).collect::<Result<_>>()?)?)
            }
        };
        match &outcome.calibration {
            Some(calibration) => {
                let model = CalibratedModel::new(model, calibration.clone())?;
                let model = model.with_typical_cells(outcome.typical_cells)?.with_scores(outcome.scores.clone())?;
                Ok(Model::Calibrated(model))
            }
            None => Ok(model),
        }
    }
}
