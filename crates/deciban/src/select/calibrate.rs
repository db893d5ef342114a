//! Calibration from cross-validation: the evidence of every row comes from a model that was fitted
//! without its fold, and the map is learned from all of them. No row is lost to it.
//!
//! Such evidence is that of models of a part (K − 1)/K of the rows; the model of all rows is a little
//! better, and the map a little too careful for it.
//!
//! A calibrated model is judged by rows that neither the model nor the map has seen: for each fold the
//! map is learned from the other folds. (Their models have seen the fold's rows. To hold them back as
//! well would take a model for every pair of folds; the map has but a few numbers to learn from it.)

use rayon::prelude::*;

use super::compare::Comparison;
use super::held_out_sums::HeldOutSums;
use super::score::{HeldRows, Score};
use crate::calibrate::{Calibration, Calibrator, Held, HeldScores, Share};
use crate::error::Result;
use crate::evaluate;
use crate::evidence::Evidence;
use crate::model::{CalibratedModel, Candidate, Model};
use crate::posterior::Prior;

/// Above this many scores (rows × classes), calibrated candidates are not tried: their evidence takes too much
/// memory, and their maps too long.
const MOST_SCORES: f64 = 1e7;

/// Rows with their evidence by models that have not seen their fold.
#[derive(Clone, Debug)]
pub struct HeldOut {
    /// The rows whose class the models know.
    pub rows: evaluate::Scored,
    folds: Vec<u32>,
    /// How many cells each row has, and how many there are on average.
    cells: Vec<u32>,
    typical_cells: f64,
}

impl HeldOut {
    pub(super) fn new(rows: &HeldRows, place: usize, classes: usize) -> Result<Self> {
        HeldOut::of(rows, &rows.evidence[place], &rows.losses[place], classes)
    }

    /// The rows with their evidence and losses.
    pub(super) fn of(rows: &HeldRows, evidence: &[f64], losses: &[f64], classes: usize) -> Result<Self> {
        let (mut values, mut truth, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let (mut folds, mut cells) = (Vec::new(), Vec::new());
        for (i, row) in evidence.chunks_exact(classes).enumerate() {
            // A class that no other fold has is impossible, and so would be its rows.
            let unseen = row[rows.classes[i] as usize] == f64::NEG_INFINITY && losses[i].is_nan();
            if !unseen {
                values.extend_from_slice(row);
                truth.push(rows.classes[i]);
                weights.push(rows.weights[i]);
                folds.push(rows.folds[i]);
                cells.push(rows.cells[i]);
            }
        }
        let typical_cells = typical_cells(&cells, &weights);
        let mut kept = evaluate::Scored::new(classes)?;
        kept.append(&Evidence::new(classes, values)?, &truth, Some(&weights))?;
        Ok(HeldOut { rows: kept, folds, cells, typical_cells })
    }

    /// How many cells a row has on average.
    pub fn typical_cells(&self) -> f64 {
        self.typical_cells
    }

    /// What a calibrated model keeps of them.
    pub fn scores(&self) -> Result<Option<HeldScores>> {
        let folds = self.folds.iter().max().map_or(0, |most| *most as usize + 1);
        HeldScores::new(&self.rows, &self.cells, folds)
    }

    /// A model, learned as those that scored these rows, with the calibration that they teach.
    pub fn calibrate(&self, model: Model, calibrator: &Calibrator, classes: &[String]) -> Result<CalibratedModel> {
        let calibration = self.calibration(calibrator, classes)?;
        CalibratedModel::new(model, calibration)?.with_typical_cells(self.typical_cells)?.with_scores(self.scores()?)
    }

    /// The share of the map that a row has.
    fn share(&self, row: usize) -> Share {
        Share::new(self.cells[row] as usize, self.typical_cells)
    }

    /// The class shares of the rows: where a calibration from cross-validation is to be best.
    pub(super) fn shares(&self) -> Option<Prior> {
        let mut totals = vec![0.0; self.rows.evidence().classes()];
        self.rows.truth().iter().zip(self.rows.weights()).for_each(|(&k, w)| totals[k as usize] += w);
        totals.iter().all(|total| *total > 0.0).then(|| Prior::from_weights(&totals).ok()).flatten()
    }

    /// The calibration that all rows teach.
    pub fn calibration(&self, calibrator: &Calibrator, classes: &[String]) -> Result<Calibration> {
        let rows = &self.rows;
        calibrator.fit(rows.evidence(), rows.truth(), Some(rows.weights()), classes)
    }

    /// The rows with their folds and cells.
    pub(super) fn scored(&self) -> Held<'_> {
        Held::new(self.rows.evidence(), self.rows.truth(), self.rows.weights()).with_folds(&self.folds, &self.cells)
    }

    /// For each fold the calibration that the other folds teach. That of all rows makes a good `start`.
    pub(super) fn without_each(
        &self,
        calibrator: &Calibrator,
        classes: &[String],
        folds: usize,
        start: Option<&Calibration>,
    ) -> Result<Vec<Calibration>> {
        let one = |held: usize| {
            // Rows of weight 0 are not there.
            let weight = |(w, f): (&f64, &u32)| if *f as usize == held { 0.0 } else { *w };
            let weights: Vec<f64> = self.rows.weights().iter().zip(&self.folds).map(weight).collect();
            calibrator.fit_from(self.rows.evidence(), self.rows.truth(), Some(&weights), classes, start)
        };
        (0..folds).into_par_iter().map(one).collect()
    }

    /// The rows with the evidence of each fold calibrated by the others: what to expect of new rows.
    pub fn calibrated(&self, calibrator: &Calibrator, classes: &[String]) -> Result<evaluate::Scored> {
        let folds = self.folds.iter().max().map_or(0, |most| *most as usize + 1);
        let maps = self.without_each(calibrator, classes, folds, None)?;
        let mut values = self.rows.evidence().values().to_vec();
        for (i, row) in values.chunks_exact_mut(classes.len()).enumerate() {
            maps[self.folds[i] as usize].apply_row(row, self.share(i));
        }
        let mut all = evaluate::Scored::new(classes.len())?;
        all.append(&Evidence::new(classes.len(), values)?, self.rows.truth(), Some(self.rows.weights()))?;
        Ok(all)
    }
}

fn typical_cells(cells: &[u32], weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let sum: f64 = cells.iter().zip(weights).map(|(c, w)| f64::from(*c) * w).sum();
    if total > 0.0 { sum / total } else { 0.0 }
}

/// Whether calibrated candidates of so many rows and classes are quick enough.
pub(super) fn is_quick(rows: f64, classes: usize) -> bool {
    rows * classes as f64 <= MOST_SCORES
}

impl Comparison {
    /// The most promising candidates of each sort, by their places: the best `count` by log loss, and the one of
    /// fewest errors, which may be good but for its calibration.
    pub(super) fn promising(&self, count: usize, candidates: &[Candidate]) -> Vec<usize> {
        let mut sorts: Vec<&str> = Vec::new();
        let mut places = Vec::new();
        for sort in self.ranked().iter().map(|outcome| candidates[outcome.candidate].sort()) {
            if sorts.contains(&sort) {
                continue;
            }
            sorts.push(sort);
            let own = || self.ranked().iter().filter(|outcome| candidates[outcome.candidate].sort() == sort);
            let fewest = own().min_by(|a, b| a.sums.errors.total_cmp(&b.sums.errors));
            for outcome in own().take(count).chain(fewest) {
                if !places.contains(&outcome.place) {
                    places.push(outcome.place);
                }
            }
        }
        places
    }

    /// Adds, for the candidate at each of `places`, the same one with a calibration: `score` has scored it,
    /// and `rows` holds what it kept. One that cannot be calibrated, since its rows are apart without
    /// error, is not added. Returns the maps of each, that of all rows and those without each fold.
    pub(super) fn add_calibrated(
        &mut self,
        places: &[usize],
        score: &Score,
        rows: &HeldRows,
        calibrator: &Calibrator,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<Maps>>> {
        let names = self.schema().classes().to_vec();
        let classes = names.len();
        // One after the other, most of a candidate's work would run on one thread.
        let learn = |i: usize| -> Result<Option<(Maps, Judged, Option<HeldScores>)>> {
            let held_out = HeldOut::new(rows, i, classes)?;
            let calibrator = Calibrator { prior: held_out.shares(), ..calibrator.clone() };
            let learned = held_out.calibration(&calibrator, &names).and_then(|whole| {
                let without = held_out.without_each(&calibrator, &names, score.models.len(), Some(&whole))?;
                Ok(Maps { whole, without, typical_cells: held_out.typical_cells })
            });
            let Ok(maps) = learned else { return Ok(None) };
            let judged = judge(score, rows, |fold, r, row| {
                row.copy_from_slice(&rows.evidence[i][r * classes..][..classes]);
                let share = Share::new(rows.cells[r] as usize, held_out.typical_cells);
                maps.without[fold].apply_row(row, share);
            });
            Ok(Some((maps, judged, held_out.scores()?)))
        };
        let learned: Vec<_> = (0..places.len()).into_par_iter().map(learn).collect::<Result<_>>()?;
        let method = calibrator.method.name();
        let mut all = Vec::new();
        for (&place, learned) in places.iter().zip(learned) {
            let Some((maps, judged, scores)) = learned else {
                all.push(None);
                continue;
            };
            let calibration = (maps.whole.clone(), maps.typical_cells, scores);
            let name = |name: &str, options: &str| format!("{name} --calibrate {method}{options}");
            self.add_with(place, calibration, candidates, name, judged);
            all.push(Some(maps));
        }
        Ok(all)
    }
}

/// The maps of a candidate.
#[derive(Clone)]
pub(super) struct Maps {
    /// That of all rows.
    pub whole: Calibration,
    /// Those without each fold.
    pub without: Vec<Calibration>,
    /// How many cells a row has on average.
    pub typical_cells: f64,
}

impl Maps {
    /// Maps that bound the evidence, and change nothing else.
    pub fn of_bound(bound: f64, score: &Score, rows: &HeldRows) -> Self {
        let whole = Calibration::of_bound(bound, score.judge.classes());
        let without = vec![whole.clone(); score.models.len()];
        Maps { whole, without, typical_cells: typical_cells(&rows.cells, &rows.weights) }
    }

    /// The same with bounds that are no smaller than this.
    pub fn with_bound(mut self, bound: f64) -> Self {
        self.whole = self.whole.with_bound(bound);
        self.without = self.without.into_iter().map(|map| map.with_bound(bound)).collect();
        self
    }
}

/// Sums for each fold; losses, errors and, of two classes, LLRs of rows.
pub(super) type Judged = (Vec<HeldOutSums>, (Vec<f64>, Vec<u8>, Vec<f64>));

/// Judges rows by evidence that `evidence` writes, for a fold and the number of a row.
pub(super) fn judge(score: &Score, rows: &HeldRows, evidence: impl Fn(usize, usize, &mut [f64])) -> Judged {
    let classes = score.judge.classes();
    let mut sums = vec![score.judge.empty(); score.models.len()];
    let (mut losses, mut errors, mut llrs) = (Vec::new(), Vec::new(), Vec::new());
    let log_priors: Vec<Vec<f64>> = score.models.iter().map(|models| score.log_prior(models)).collect();
    let (mut row, mut posterior) = (vec![0.0; classes], vec![0.0; classes]);
    for r in 0..rows.classes.len() {
        let fold = rows.folds[r] as usize;
        let present = &score.models[fold].classes;
        evidence(fold, r, &mut row);
        if classes == 2 && present.len() == 2 {
            llrs.push(row[1] - row[0]);
        }
        let mut joint: Vec<f64> = present.iter().zip(&log_priors[fold]).map(|(&k, p)| row[k] + p).collect();
        let truth = rows.classes[r] as usize;
        let verdict = score.judge.add(&mut sums[fold], &mut joint, present, truth, rows.weights[r], &mut posterior);
        losses.push(verdict.loss);
        errors.push(u8::from(verdict.wrong));
    }
    (sums, (losses, errors, llrs))
}
