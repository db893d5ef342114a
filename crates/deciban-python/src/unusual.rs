//! How usual rows are, how common their classes are, and conformal p-values.

use std::sync::Arc;

use deciban::calibrate::{Conformity, conformal};
use deciban::engine::Memory;
use deciban::learn::Classifier;
use deciban::model::Asks;
use deciban::posterior::Prior;
use deciban::unusual::{DRAWN, Usual};
use deciban::{Error, Wording};
use deciban_tasks::{Adapting, Input, Remark, Weight};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::to_numpy;
use crate::errors::raise;
use crate::model::Model;
use crate::table::Table;
use crate::work;

/// ln p(x) of each row under a prior, by the model that describes rows; with `ranks` instead the share of that model's
/// own rows that are no more usual.
#[pyfunction]
#[pyo3(signature = (model, table, prior, ranks=false, n_jobs=None))]
pub fn density<'py>(
    py: Python<'py>,
    model: &Model,
    table: PyRef<'_, Table>,
    prior: Vec<f64>,
    ranks: bool,
    n_jobs: Option<isize>,
) -> PyResult<Bound<'py, PyAny>> {
    let described = model.inner().described(Asks::Rows).map_err(raise)?.model;
    let (prior, batch) = (Prior::new(&prior).map_err(raise)?, table.batch()?);
    let values = work::run(py, n_jobs, |_| match ranks {
        false => Ok(described.evidence(&batch)?.log_density(&prior)),
        true => {
            let found = usual(model, &prior)?.look(model.inner(), &batch)?;
            Ok(found.into_iter().map(|how| how.rank).collect())
        }
    })?;
    to_numpy(py, &values, &[values.len()])
}

/// Rows of a model under a prior, drawn once for each prior in a row.
fn usual(model: &Model, prior: &Prior) -> deciban::Result<Arc<Usual>> {
    // A panic elsewhere leaves what was there before. The lock is not held while rows are drawn.
    let lock = || model.usual.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(usual) = lock().as_ref().filter(|usual| usual.prior() == prior) {
        return Ok(usual.clone());
    }
    let usual = Arc::new(Usual::new(model.inner(), prior, DRAWN, 0)?);
    *lock() = Some(usual.clone());
    Ok(usual)
}

/// The p-value of each row for each class.
#[pyfunction]
#[pyo3(signature = (model, table, by, n_jobs=None))]
pub fn conformal_p_values<'py>(
    py: Python<'py>,
    model: &Model,
    table: PyRef<'_, Table>,
    by: &str,
    n_jobs: Option<isize>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = Conformity::ALL.iter().find(|(name, _)| *name == by);
    let by = found.ok_or_else(|| PyValueError::new_err("by: give \"evidence\" or \"density\""))?.1;
    let refuse = |message: &str| Err(PyValueError::new_err(message.to_string()));
    let deciban::model::Model::Calibrated(calibrated) = model.inner() else {
        return refuse(
            "conformal p-values need scores of rows that models have not seen: fit with calibrate=\"logistic\"",
        );
    };
    let Some(scores) = calibrated.scores() else {
        return refuse("the model has not kept the scores of its calibration: fit it again with calibrate=");
    };
    if by == Conformity::Density && !matches!(calibrated.model(), deciban::model::Model::Generative(_)) {
        return refuse("by: this model knows classes given rows, not how usual a row is: give \"evidence\"");
    }
    let batch = table.batch()?;
    let (rows, classes) = (batch.rows(), model.schema().classes().len());
    let values = work::run(py, n_jobs, |_| conformal(scores, &calibrated.model().evidence(&batch)?, by))?;
    to_numpy(py, &values, &[rows, classes])
}

/// The shares of the classes among rows as JSON and as a table, and remarks with whether each is a warning.
#[pyfunction]
#[pyo3(signature = (model, table, labelled=None, confidence=0.95, n_jobs=None))]
#[allow(clippy::type_complexity)]
pub fn adapt_prior(
    py: Python<'_>,
    model: &Model,
    table: PyRef<'_, Table>,
    labelled: Option<PyRef<'_, Table>>,
    confidence: f64,
    n_jobs: Option<isize>,
) -> PyResult<(String, String, Vec<(bool, String)>)> {
    let (model, batch) = (model.inner(), table.batch()?);
    let known = labelled.as_ref().map(|labelled| labelled.batch()).transpose()?;
    // The rows are in memory, and so may be their evidence.
    let request = Adapting { confidence, memory: usize::MAX };
    work::run(py, n_jobs, |stop| {
        let memory = |batch| Ok::<_, Error>(Memory::new(model.schema().clone(), batch)?.stopped_by(stop));
        let known = known.map(memory).transpose()?;
        let adapted = deciban_tasks::adapt_prior(
            model,
            &memory(batch)?,
            known.as_ref().map(|rows| rows as &dyn Input),
            &request,
        )?;
        let remark = |remark: &Remark| (remark.weight == Weight::Warning, remark.message(Wording::Keywords));
        let remarks = adapted.remarks.iter().map(remark).collect();
        Ok((adapted.json()?.to_string(), adapted.text(), remarks))
    })
}
