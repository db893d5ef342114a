//! A calibration for a candidate from cross-validation, and what it does for rows that neither the model nor the
//! map has seen. The evidence of all rows is held in memory where it fits; where it does not, models that
//! were fitted without each fold compute it again at each visit, a few rows at a time.

use super::calibrate::HeldOut;
use super::compare::CrossValidation;
use super::fitted::{Fits, FoldModels, Scorer, fit};
use super::held_out_sums::Judge;
use super::score::{Keep, Score};
use super::shared::Shared;
use crate::calibrate::{
    Calibration, Calibrator, HeldScores, Piece, Rescored, ScoredRows, Without, cllr, count, count_cells, min_cllr,
};
use crate::data::{Batch, Gathered, MISSING, Rows, Tile};
use crate::decision::Costs;
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::family::Density;
use crate::learn::{Classifier, FittedBlock};
use crate::model::Candidate;
use crate::posterior::Prior;

/// A calibration that was learned by cross-validation. Costs of evidence are in bits.
#[derive(Clone, Debug)]
pub struct CrossedCalibration {
    /// The map that all rows teach.
    pub map: Calibration,
    /// How many cells a row has on average.
    pub typical_cells: f64,
    /// How many rows taught it.
    pub rows: usize,
    /// Cllr without calibration.
    pub cllr_before: f64,
    /// Cllr with the rows of each fold calibrated by the others.
    pub cllr: f64,
    /// The least Cllr that a calibration can have on these rows.
    pub min_cllr: f64,
    /// What a calibrated model keeps of the scores, if they were held in memory.
    pub scores: Option<HeldScores>,
}

impl CrossValidation {
    /// Learns a calibration for the model of a candidate. Evidence is held in memory if that takes no more than
    /// `memory` bytes; if it takes more, the rows are scored anew at each of some hundred visits, and the
    /// calibration must be logistic or temperature, and has no bound. It is best at the class shares of the rows,
    /// unless the calibrator has a prior.
    pub fn calibration(
        &self,
        engine: &dyn Engine,
        candidate: &Candidate,
        calibrator: &Calibrator,
        memory: usize,
    ) -> Result<CrossedCalibration> {
        let Some(folds) = self.folds() else {
            return Err(Error::parameter("folds", "calibration needs folds: single rows are not left out"));
        };
        let candidates = std::slice::from_ref(candidate);
        let shared = Shared::new(candidates, engine.schema()?.columns());
        let statistics = self.statistics(engine, &shared)?;
        let Fits { folds: models, failures, .. } = fit(candidates, &shared, &statistics, engine, folds)?;
        if let Some(error) = failures.into_iter().flatten().next() {
            return Err(error);
        }
        let names = statistics.schema().classes();
        let rows: f64 = statistics.summary().rows().iter().sum();
        // Merging and sorting out take it three times at most.
        if 3.0 * 8.0 * rows * names.len() as f64 <= memory as f64 {
            let judge = Judge::new(names, Costs::zero_one(names))?;
            let (folds, prior, keep) = (folds.clone(), self.other_prior(), Keep::Evidence);
            let scored = engine.run(&Score { folds, models, judge, prior, keep })?;
            if let Some(error) = scored.failure(0) {
                return Err(error);
            }
            let held_out = HeldOut::new(&scored.into_rows(), 0, names.len())?;
            let prior = calibrator.prior.clone().or_else(|| held_out.shares());
            let calibrator = &Calibrator { prior, ..calibrator.clone() };
            let maps = |whole: &Calibration| held_out.without_each(calibrator, names, self.count(), Some(whole));
            let learned = learn(&held_out.scored(), held_out.calibration(calibrator, names)?, maps)?;
            return Ok(CrossedCalibration { scores: held_out.scores()?, ..learned });
        }
        let prior = calibrator.prior.clone().or_else(|| Prior::from_weights(&statistics.summary().weights()).ok());
        let calibrator = &Calibrator { prior, ..calibrator.clone() };
        let score = |batch: &Batch<'_>| score(&models, &folds.of(batch)?, names.len(), batch);
        let rows = Rescored { engine, classes: names.len(), score };
        let without = |_: &Calibration| {
            let one = |fold: u32| calibrator.fit_rows(&Without { rows: &rows, fold }, names, None);
            (0..folds.count() as u32).map(one).collect::<Result<Vec<_>>>()
        };
        learn(&rows, calibrator.fit_rows(&rows, names, None)?, without)
    }

    fn count(&self) -> usize {
        self.folds().map_or(0, |folds| folds.count())
    }
}

/// Judges a map of all rows by the maps `without` each fold.
fn learn(
    rows: &impl ScoredRows,
    map: Calibration,
    without: impl FnOnce(&Calibration) -> Result<Vec<Calibration>>,
) -> Result<CrossedCalibration> {
    let (number, typical_cells) = count(rows)?;
    let [cllr_before, after] = cllr(rows, &without(&map)?, typical_cells)?;
    let least = min_cllr(rows, Some(&map))?.min(cllr_before);
    Ok(CrossedCalibration { map, typical_cells, rows: number, cllr_before, cllr: after, min_cllr: least, scores: None })
}

/// Scores the labelled rows of a batch by models that have not seen their fold. Rows of a class that no other
/// fold has are left out.
fn score(models: &[FoldModels], folds: &[u32], classes: usize, batch: &Batch<'_>) -> Result<Piece> {
    let labels = batch.labels_to_learn()?;
    let weights = batch.row_weights();
    let mut gathered = Gathered::default();
    let mut values = Vec::new();
    let (mut truth, mut kept, mut of, mut cells) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (fold, models) in models.iter().enumerate() {
        let knows = |class: u32| models.classes.binary_search(&(class as usize)).is_ok();
        let is_held = |&i: &u32| {
            let label = labels[i as usize];
            folds[i as usize] == fold as u32 && label != MISSING && knows(label)
        };
        let rows: Vec<u32> = (0..batch.rows() as u32).filter(is_held).collect();
        if rows.is_empty() {
            continue;
        }
        gathered.read(batch, &rows)?;
        let x = gathered.batch()?;
        spread(&evidence(models, &x)?, &models.classes, classes, &mut values);
        truth.extend(rows.iter().map(|&i| labels[i as usize]));
        kept.extend(rows.iter().map(|&i| weights.map_or(1.0, |w| w[i as usize])));
        of.resize(truth.len(), fold as u32);
        cells.extend(count_cells(&x)?.unwrap_or_else(|| vec![x.width() as u32; x.rows()]));
    }
    Ok(Piece { evidence: Evidence::new(classes, values)?, truth, weights: kept, folds: of, cells })
}

/// The evidence of rows for the classes that a fold's models know, row after row, by the first candidate.
fn evidence(models: &FoldModels, x: &Batch<'_>) -> Result<Vec<f64>> {
    let own = match &models.candidates[0] {
        Scorer::Model(model) => return Ok(model.evidence(x)?.values().to_vec()),
        Scorer::Blocks(own) => own,
    };
    let width = models.classes.len();
    let mut scores = Tile::default();
    scores.resize(x.rows(), width);
    scores.data_mut().fill(0.0);
    for &b in own {
        let FittedBlock { block, density } = &models.blocks[b];
        block.with_cells(x, Rows::Range(0..x.rows()), |cells, _| {
            density.add_log_density(cells, &block.names, &mut scores)
        })?;
    }
    let mut values = vec![0.0; x.rows() * width];
    for k in 0..width {
        scores.column(k).iter().enumerate().for_each(|(i, score)| values[i * width + k] = *score);
    }
    Ok(values)
}

/// Adds rows with a value for each of all classes: −∞ for those that are not `present`.
fn spread(evidence: &[f64], present: &[usize], classes: usize, values: &mut Vec<f64>) {
    for row in evidence.chunks_exact(present.len()) {
        let start = values.len();
        values.resize(start + classes, f64::NEG_INFINITY);
        present.iter().zip(row).for_each(|(&class, e)| values[start + class] = *e);
    }
}
