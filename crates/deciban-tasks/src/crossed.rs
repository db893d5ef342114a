//! Calibration by cross-validated scores, for `fit --calibrate`: no rows need to be held back.

use deciban::Result;
use deciban::calibrate::{Calibrator, Method};
use deciban::engine::Engine;
use deciban::folds::Folds;
use deciban::model::{CalibratedModel, Candidate, Model};
use deciban::select::{CrossValidation, CrossedCalibration};
use serde_json::{Value, json};

use crate::describe;
use crate::table::number;

/// A calibration, and what it did for rows that neither the model nor the map had seen.
#[derive(Clone, Debug)]
pub struct Crossed {
    /// The map with its figures.
    pub calibration: CrossedCalibration,
    folds: usize,
}

impl Crossed {
    /// Learns a calibration for a candidate from the scores of every row by models without its fold. Their evidence
    /// is held in memory if that takes no more than `memory` bytes, and computed several times if it takes more.
    pub fn new(input: &dyn Engine, candidate: &Candidate, method: Method, folds: Folds, memory: usize) -> Result<Self> {
        let (count, calibrator) = (folds.count(), Calibrator { method, bounded: true, ..Calibrator::default() });
        let calibration = CrossValidation::new(folds).calibration(input, candidate, &calibrator, memory)?;
        Ok(Crossed { calibration, folds: count })
    }

    /// The model with this calibration.
    pub fn calibrate(&self, model: Model) -> Result<Model> {
        let calibrated = CalibratedModel::new(model, self.calibration.map.clone())?;
        let calibrated = calibrated.with_typical_cells(self.calibration.typical_cells)?;
        Ok(Model::Calibrated(calibrated.with_scores(self.calibration.scores.clone())?))
    }

    /// What it did, on one line.
    pub fn text(&self) -> String {
        let [before, after, least] = self.cllr().map(|x| number(x, 4));
        format!("Cllr in {} folds: {before} before calibration, {after} after, {least} at best (bits)", self.folds)
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let [before, after, least] = self.cllr();
        let (map, rows) = (describe::calibration_json(&self.calibration.map), self.calibration.rows);
        json!({ "calibration": map, "folds": self.folds, "rows": rows, "cllr_before": before, "cllr": after,
                "min_cllr": least })
    }

    /// Cllr before, after and at best, in bits.
    fn cllr(&self) -> [f64; 3] {
        let CrossedCalibration { cllr_before, cllr, min_cllr, .. } = self.calibration;
        [cllr_before, cllr, min_cllr]
    }
}
