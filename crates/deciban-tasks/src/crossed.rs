//! Calibration by cross-validated scores, for `fit --calibrate`: no rows need to be held back.

use deciban::calibrate::{CalibratedModel, Calibration, Calibrator, Method};
use deciban::decision::Costs;
use deciban::engine::Engine;
use deciban::evaluate::{Bootstrap, Figure, Scored};
use deciban::learn::Model;
use deciban::posterior::Prior;
use deciban::select::{Candidate, CrossValidation, Folds};
use deciban::{Error, Result};
use serde_json::{Value, json};

use crate::describe;
use crate::table::number;

/// A calibration, and what it did for rows that neither the model nor the map had seen.
#[derive(Clone, Debug)]
pub struct Crossed {
    /// The map.
    pub map: Calibration,
    /// How many cells a row has on average.
    typical_cells: f64,
    folds: usize,
    rows: usize,
    /// Cllr before, after and at best, in bits.
    cllr: [f64; 3],
}

impl Crossed {
    /// Learns a calibration for a candidate from the scores of every row by models without its fold.
    pub fn new(input: &impl Engine, candidate: Candidate, method: Method, folds: Folds) -> Result<Self> {
        let count = folds.count();
        let comparison = CrossValidation::new(folds).keep_evidence().run(input, &[candidate])?;
        let Some(held_out) = comparison.held_out(&comparison.ranked()[0])? else {
            let message = "the scores of so many rows do not fit in memory: calibrate with rows that were held back";
            return Err(Error::parameter("calibrate", message));
        };
        let (classes, calibrator) = (comparison.schema().classes(), Calibrator { method, ..Calibrator::default() });
        let map = held_out.calibration(&calibrator, classes)?;
        let ([before, least], [after, _]) =
            (cllr(&held_out.rows, classes)?, cllr(&held_out.calibrated(&calibrator, classes)?, classes)?);
        let (rows, typical_cells) = (held_out.rows.rows(), held_out.typical_cells());
        Ok(Crossed { map, typical_cells, folds: count, rows, cllr: [before, after, least] })
    }

    /// The model with this calibration.
    pub fn calibrate(&self, model: Model) -> Result<Model> {
        let calibrated = CalibratedModel::new(model, self.map.clone())?;
        Ok(Model::Calibrated(calibrated.with_typical_cells(self.typical_cells)?))
    }

    /// What it did, on one line.
    pub fn text(&self) -> String {
        let [before, after, least] = self.cllr.map(|x| number(x, 4));
        format!("Cllr in {} folds: {before} before calibration, {after} after, {least} at best (bits)", self.folds)
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let [before, after, least] = self.cllr;
        let map = describe::calibration_json(&self.map);
        json!({ "calibration": map, "folds": self.folds, "rows": self.rows, "cllr_before": before, "cllr": after,
                "min_cllr": least })
    }
}

/// Actual and minimum Cllr of rows, in bits.
pub fn cllr(rows: &Scored, classes: &[String]) -> Result<[f64; 2]> {
    let (prior, costs) = (Prior::uniform(classes.len()), Costs::zero_one(classes));
    let none: Option<&Bootstrap> = None;
    let figures = rows.figures(classes, &prior, &costs, 1, none)?;
    let value = |name: &str| figures.iter().find(|f: &&Figure| f.name == name).map_or(f64::NAN, |f| f.value);
    Ok([value("cllr"), value("min_cllr")])
}
