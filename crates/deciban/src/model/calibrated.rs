//! A model with its calibration: one more [`Model`], whose evidence is the calibrated one. Rows with missing cells
//! get their [`Share`] of the map.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Model;
use crate::calibrate::{Calibration, HeldScores, Share, count_cells};
use crate::data::Batch;
use crate::error::{Error, Result};
use crate::evaluate::Scored;
use crate::evidence::Evidence;
use crate::explain::{CONSTANT, Entry, Explanation, Order};
use crate::family::Domain;
use crate::file::{Archive, Stored};
use crate::learn::{About, Classifier};

/// A model and the calibration of its evidence.
#[derive(Clone, Debug)]
pub struct CalibratedModel {
    model: Box<Model>,
    calibration: Calibration,
    typical_cells: f64,
    scores: Option<Arc<HeldScores>>,
}

impl CalibratedModel {
    /// Puts a calibration on a model that has none. The rows that taught it had all their cells, unless
    /// [`with_typical_cells`](CalibratedModel::with_typical_cells) says otherwise.
    pub fn new(model: Model, calibration: Calibration) -> Result<Self> {
        let classes = model.schema().classes().len();
        Error::check_shape("classes of the calibration", classes, calibration.classes().unwrap_or(classes))?;
        let typical_cells = model.schema().columns().len() as f64;
        match model {
            Model::Calibrated(_) => {
                Err(Error::Schema("the model is calibrated already: calibrate its `model()`".into()))
            }
            model => Ok(CalibratedModel { model: Box::new(model), calibration, typical_cells, scores: None }),
        }
    }

    /// Says how many cells the rows had on average that taught the calibration, from 0 to the number of columns.
    pub fn with_typical_cells(self, cells: f64) -> Result<Self> {
        let columns = self.model.schema().columns().len() as f64;
        match cells >= 0.0 && cells <= columns {
            true => Ok(CalibratedModel { typical_cells: cells, ..self }),
            false => Err(Error::Schema(format!("{cells} cells of a row with {columns} columns"))),
        }
    }

    /// Keeps the scores that taught the calibration.
    pub fn with_scores(self, scores: Option<HeldScores>) -> Result<Self> {
        if let Some(scores) = &scores {
            let classes = self.model.schema().classes().len();
            Error::check_shape("classes of the scores", classes, scores.rows().evidence().classes())?;
        }
        Ok(CalibratedModel { scores: scores.map(Arc::new), ..self })
    }

    /// The scores that taught the calibration, if they were kept.
    pub fn scores(&self) -> Option<&HeldScores> {
        self.scores.as_deref()
    }

    /// The scores that taught the map, with calibrated evidence; `None` where they were not kept.
    pub fn calibrated_scores(&self) -> Result<Option<Scored>> {
        self.scores().map(|scores| scores.calibrated(&self.calibration, self.typical_cells)).transpose()
    }

    /// The model as it was before.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The map of its evidence.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// How many cells the rows had on average that taught the map.
    pub fn typical_cells(&self) -> f64 {
        self.typical_cells
    }

    /// The model as it was before, by value.
    pub fn into_model(self) -> Model {
        *self.model
    }

    /// The share of the map that each row has, by its cells.
    fn shares(&self, x: &Batch<'_>) -> Result<impl Fn(usize) -> Share + Sync + use<>> {
        let (cells, typical) = (count_cells(x)?, self.typical_cells);
        Ok(move |row: usize| cells.as_ref().map_or(Share::WHOLE, |cells| Share::new(cells[row] as usize, typical)))
    }
}

impl Classifier for CalibratedModel {
    fn about(&self) -> &About {
        self.model.about()
    }

    fn about_mut(&mut self) -> &mut About {
        self.model.about_mut()
    }

    fn learned_from(&self) -> f64 {
        self.model.learned_from()
    }

    fn domains(&self) -> Vec<(usize, Domain)> {
        self.model.domains()
    }

    /// The ledger of the model inside: what the bound takes away is spread over the lines, every line is multiplied by the
    /// slope of the calibration, and the offset is one line more. A map that is not a line has the mean slope from no
    /// evidence to the row's.
    fn ledgers(&self, x: &Batch<'_>, order: Order, stop: &AtomicBool) -> Result<Vec<Explanation>> {
        let mut all = self.model.ledgers(x, order, stop)?;
        let before = self.model.evidence(x)?;
        let shares = self.shares(x)?;
        let after = self.calibration.apply_shares(&before, &shares)?;
        for (row, explanation) in all.iter_mut().enumerate() {
            let slope = self.calibration.slope(before.row(row), after.row(row), shares(row));
            let mut rest = after.row(row).to_vec();
            // Without a cell there is no evidence to bound.
            if let Some(bounded) = self.calibration.bounded(before.row(row)).filter(|_| shares(row).offset > 0.0) {
                spread_bound(&mut explanation.entries, before.row(row), &bounded);
            }
            for (k, rest) in rest.iter_mut().enumerate() {
                let impossible = *rest == f64::NEG_INFINITY;
                let mut sum = 0.0;
                for entry in &mut explanation.entries {
                    let says = &mut entry.evidence[k];
                    // What steps make possible again is not impossible because of one line.
                    match says.is_finite() {
                        true => *says *= slope,
                        false if !impossible => *says = 0.0,
                        false => {}
                    }
                    sum += *says;
                }
                *rest = if impossible { 0.0 } else { *rest - sum };
            }
            // The members of a fusion have calibrations of their own.
            let name = if matches!(*self.model, Model::Fused(_)) { CONSTANT } else { "(calibration)" };
            explanation.entries.push(Entry::new(name, "", rest));
        }
        Ok(all)
    }

    fn evidence_into(&self, x: &Batch<'_>, out: &mut [f64]) -> Result<()> {
        let classes = self.schema().classes().len();
        self.model.evidence_into(x, out)?;
        self.calibration.apply_in_place(out, classes, self.shares(x)?);
        Evidence::check(classes, out)
    }
}

/// Spreads what a bound takes away over the lines of a ledger.
///
/// The most probable class b keeps its lines. What a line says for another class k over b is multiplied by
/// rₖ = (boundedₖ − bounded_b)/(eₖ − e_b), so that for every pair of classes the lines add up to the bounded LLR. Where
/// one line rules a class out, this line says all that the bound leaves.
fn spread_bound(entries: &mut [Entry], before: &[f64], bounded: &[f64]) {
    let best = (0..before.len()).reduce(|best, k| if before[k] > before[best] { k } else { best }).unwrap_or(0);
    if before[best] == f64::NEG_INFINITY {
        // A row that is impossible under every class says nothing behind a bound.
        entries.iter_mut().for_each(|entry| entry.evidence.fill(0.0));
        return;
    }
    for k in (0..before.len()).filter(|k| *k != best) {
        let (whole, left) = (before[k] - before[best], bounded[k] - bounded[best]);
        let ruling = entries.iter().position(|entry| entry.evidence[k] == f64::NEG_INFINITY);
        // Next to even odds the quotient is rounding alone, and a bound takes next to nothing away.
        let ratio = if whole.abs() > 1e-6 { left / whole } else { 1.0 };
        for (place, entry) in entries.iter_mut().enumerate() {
            let of_best = entry.evidence[best];
            entry.evidence[k] = match ruling {
                None => of_best + ratio * (entry.evidence[k] - of_best),
                Some(ruling) if ruling == place => of_best + left,
                Some(_) => of_best,
            };
        }
    }
}

impl Stored for CalibratedModel {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.model.put(archive, &format!("{name}.model.kind"), &format!("{name}.model"))?;
        archive.put(&format!("{name}.typical_cells"), &[1], &[self.typical_cells])?;
        self.calibration.store(archive, &format!("{name}.calibration"))?;
        match &self.scores {
            Some(scores) => scores.store(archive, &format!("{name}.scores")),
            None => Ok(()),
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        // Before the model is loaded: a chain of them must not be followed.
        let kind = format!("{name}.model.kind");
        if archive.json::<String>(&kind)? == "calibrated" {
            return Err(archive.damaged("a calibrated model holds another calibrated one"));
        }
        let calibration = Calibration::load(archive, &format!("{name}.calibration"))?;
        let model = Model::get(archive, &kind, &format!("{name}.model"))?;
        let damaged = |e: Error| archive.damaged(&e.to_string());
        let model = CalibratedModel::new(model, calibration).map_err(damaged)?;
        let scores = match archive.has(&format!("{name}.scores.evidence")) {
            true => Some(HeldScores::load(archive, &format!("{name}.scores"))?),
            false => None,
        };
        let model = model.with_scores(scores).map_err(damaged)?;
        // Files from before do not say it.
        let typical = format!("{name}.typical_cells");
        match archive.has(&typical) {
            false => Ok(model),
            true => {
                let cells = archive.finite(&typical, &[1])?[0];
                model.with_typical_cells(cells).map_err(damaged)
            }
        }
    }
}
