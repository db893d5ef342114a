//! Logistic and softmax regression of a table.

use deciban::engine::Memory;
use deciban::learn::{Learner, Logistic, Solver};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::to_numpy;
use crate::table::Table;
use crate::work;

/// Fits −Σ w ln p(class | x) + ½ E ‖weights‖² and gives a dictionary: `weights` (outputs × columns) and
/// `intercepts` of each output (one for two classes), `iterations`, `converged` and `gradient_norm`.
/// `start` are weights to start from, column after column, the intercepts last.
#[pyfunction]
#[pyo3(signature = (table, classes, weight_decay, solver, tolerance, iterations, intercept, start=None, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn fit_logistic<'py>(
    py: Python<'py>,
    table: PyRef<'_, Table>,
    classes: usize,
    weight_decay: f64,
    solver: &str,
    tolerance: f64,
    iterations: usize,
    intercept: bool,
    start: Option<Vec<f64>>,
    n_jobs: Option<isize>,
) -> PyResult<Bound<'py, PyAny>> {
    let solver = Solver::ALL.iter().find(|(name, _)| *name == solver).map(|(_, solver)| *solver);
    let solver = solver.ok_or_else(|| PyValueError::new_err("there is no such solver"))?;
    let standardise = false;
    let learner = Logistic {
        solver,
        weight_decay,
        standardise,
        intercept,
        tolerance,
        iterations,
        fills: false,
        ..Logistic::default()
    };
    let (schema, batch) = (table.schema(classes, true)?, table.batch()?);
    let model = work::run(py, n_jobs, |stop| {
        let engine = Memory::new(schema, batch)?.stopped_by(stop);
        match start {
            Some(weights) => learner.learn_from(&engine, &weights),
            None => learner.learn(&engine),
        }
    })?;
    let all = model.weights();
    let outputs = if classes == 2 { 1 } else { classes };
    let width = all.len() / outputs - 1;
    let by_output: Vec<f64> =
        (0..outputs).flat_map(|k| (0..width).map(move |j| j * outputs + k)).map(|i| all[i]).collect();
    let result = pyo3::types::PyDict::new(py);
    result.set_item("weights", to_numpy(py, &by_output, &[outputs, width])?)?;
    result.set_item("intercepts", to_numpy(py, &all[width * outputs..], &[outputs])?)?;
    result.set_item("iterations", model.fit().iterations)?;
    result.set_item("converged", model.fit().converged)?;
    result.set_item("gradient_norm", model.fit().gradient_norm)?;
    Ok(result.into_any())
}
