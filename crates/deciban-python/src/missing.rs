//! Missing cells: what fills them, and what measuring them is worth.

use std::sync::atomic::Ordering;

use deciban::Error;
use deciban::data::Value;
use deciban::impute::How;
use deciban_tasks::{Imputing, MeasureCosts, Measured, Measuring, fills};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::ask::parsed;
use crate::errors::raise;
use crate::model::Model;
use crate::table::Table;
use crate::work;

/// Rows that are filled between two looks at the stop flag.
const ROWS: usize = 1 << 13;

/// The rows of the missing cells of a column, and what fills them: numbers, or names of levels.
type Column = (usize, Vec<usize>, Vec<f64>, Vec<String>);

/// Fills missing cells, column by column: by their mean and most probable level, or by a draw with a seed. A table with
/// labels has the class of its rows, as far as these are there.
#[pyfunction]
#[pyo3(signature = (model, table, application, seed=None, n_jobs=None))]
pub fn impute(
    py: Python<'_>,
    model: &Model,
    table: PyRef<'_, Table>,
    application: &str,
    seed: Option<u64>,
    n_jobs: Option<isize>,
) -> PyResult<Vec<Column>> {
    let model = model.inner();
    fills(model).map_err(raise)?;
    let prior = parsed(application)?.to_model(model).map_err(raise)?.prior;
    let task = Imputing { model, prior, how: seed.map_or(How::Mean, How::Draw) };
    let batch = table.batch()?;
    let cells = work::run(py, n_jobs, |stop| {
        let mut cells = Vec::new();
        for start in (0..batch.rows()).step_by(ROWS) {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let filled = task.fill(&batch.slice(start..start + ROWS))?;
            cells.extend(filled.into_iter().map(|cell| (cell.column, start + cell.row, cell.value, cell.text)));
        }
        Ok(cells)
    })?;
    let mut columns: Vec<Column> = (0..batch.width()).map(|c| (c, Vec::new(), Vec::new(), Vec::new())).collect();
    for (column, row, value, text) in cells {
        let (_, rows, numbers, levels) = &mut columns[column];
        rows.push(row);
        match value {
            Value::Number(x) => numbers.push(x),
            _ => levels.push(text),
        }
    }
    columns.retain(|(_, rows, _, _)| !rows.is_empty());
    Ok(columns)
}

/// What to measure next in each row, as JSON, and as text.
#[pyfunction]
#[pyo3(signature = (model, table, application, measure_costs, seed=0, n_jobs=None))]
pub fn next_measurement(
    py: Python<'_>,
    model: &Model,
    table: PyRef<'_, Table>,
    application: &str,
    measure_costs: Vec<(String, f64)>,
    seed: u64,
    n_jobs: Option<isize>,
) -> PyResult<Vec<(String, String)>> {
    let model = model.inner();
    let terms = parsed(application)?.to_model(model).map_err(raise)?;
    let task = Measuring::new(model, terms, &MeasureCosts(measure_costs), Vec::new(), seed).map_err(raise)?;
    let batch = table.batch()?;
    let rows = work::run(py, n_jobs, |stop| {
        let row = |row: usize| match stop.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => task.measure(&batch.slice(row..row + 1)),
        };
        (0..batch.rows()).into_par_iter().map(row).collect::<Vec<_>>().into_iter().collect::<Result<Vec<_>, _>>()
    })?;
    let told = |mut row: Measured| {
        row.row -= 1;
        let json = serde_json::to_string(&row).map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok((json, row.text()))
    };
    rows.into_iter().flatten().map(told).collect()
}
