//! What people ask of a model, answered by the use layer (`deciban-tasks`): what a prior and costs mean, ledgers of
//! rows, descriptions and evaluations.

use std::sync::atomic::Ordering;

use deciban::engine::Memory;
use deciban::evaluate::Bootstrap;
use deciban::explain::Order;
use deciban::learn::Classifier;
use deciban::{Error, Result, Wording};
use deciban_tasks::figures::{self, Use};
use deciban_tasks::ledger::{Between, Explaining, Ledger};
use deciban_tasks::{Application, Evaluating, Terms, describe};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::errors::raise;
use crate::model::{Model, Remarks};
use crate::stream::{self, Shown};
use crate::table::Table;
use crate::work;

/// Rows that are explained between two looks at the stop flag.
const ROWS: usize = 64;

/// Lines of a ledger that are printed; the rest are summed up in one.
const LINES: usize = 20;

/// An application, from JSON.
pub fn parsed(application: &str) -> PyResult<Application> {
    let wrong = |e: serde_json::Error| PyValueError::new_err(Wording::Keywords.apply(&e.to_string()));
    // From a value, so that errors do not speak of lines and columns of a text that nobody has written.
    let value: serde_json::Value = serde_json::from_str(application).map_err(wrong)?;
    serde_json::from_value(value).map_err(wrong)
}

/// What an application means for the classes of a model.
fn terms(model: &Model, application: &str) -> PyResult<Terms> {
    parsed(application)?.to_model(model.inner()).map_err(raise)
}

/// The prior, the costs (classes × actions) and the names of the actions.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn resolve(model: &Model, application: &str) -> PyResult<(Vec<f64>, Vec<Vec<f64>>, Vec<String>)> {
    let Terms { prior, costs, .. } = terms(model, application)?;
    let row = |class: usize| (0..costs.actions().len()).map(|action| costs.cost(class, action)).collect();
    let matrix = (0..costs.classes()).map(row).collect();
    Ok((prior.probabilities().to_vec(), matrix, costs.actions().to_vec()))
}

/// A model in a line, in full, and the weight of the rows that it has learned from.
#[pyfunction]
pub fn description(model: &Model) -> (String, String, f64) {
    let model = model.inner();
    (describe::in_short(model), describe::Description::new(model).text(), model.learned_from())
}

/// Row, class, other class, their posteriors, prior, features (name, value, decibans), missing columns, total, text.
type Told = (u64, String, Option<String>, (f64, f64), f64, Vec<(String, String, f64)>, Vec<String>, f64, String);

/// The ledgers of rows, counted from 0, in decibans.
#[pyfunction]
#[pyo3(signature = (model, table, application, between=None, order="average", n_jobs=None, report=None))]
#[allow(clippy::too_many_arguments)]
pub fn explain(
    py: Python<'_>,
    model: &Model,
    table: PyRef<'_, Table>,
    application: &str,
    between: Option<Vec<String>>,
    order: &str,
    n_jobs: Option<isize>,
    report: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Told>> {
    let Terms { prior, .. } = terms(model, application)?;
    let model = model.inner();
    let between = Between::named(between.as_deref(), model.schema(), "between").map_err(raise)?;
    let found = Order::ALL.iter().find(|(name, _)| *name == order);
    let order = found.ok_or_else(|| PyValueError::new_err("order: give \"average\" or \"file\""))?.1;
    let explaining = Explaining { model, prior, between, order, rows: Vec::new() };
    let batch = table.batch()?;
    let parts = work::run_watched(py, n_jobs, report, |watch| {
        watch.expect(batch.rows());
        let starts: Vec<usize> = (0..batch.rows()).step_by(ROWS).collect();
        let part = |start: usize| match watch.stop().load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => {
                let rows = batch.slice(start..(start + ROWS).min(batch.rows()));
                let ledgers = explaining.explain_until(&rows, watch.stop());
                watch.step(rows.rows());
                ledgers
            }
        };
        starts.into_par_iter().map(part).collect::<Vec<Result<_>>>().into_iter().collect::<Result<Vec<_>>>()
    })?;
    let mut rows = Vec::with_capacity(batch.rows());
    for part in parts {
        py.check_signals()?;
        rows.extend(part.into_iter().map(told));
    }
    Ok(rows)
}

fn told(mut ledger: Ledger) -> Told {
    ledger.row -= 1;
    let text = ledger.text(LINES);
    let features = ledger.features.into_iter().map(|line| (line.name, line.value, line.decibans)).collect();
    let [of, over] = ledger.posterior;
    (ledger.row, ledger.of, ledger.over, (of, over), ledger.prior, features, ledger.missing, ledger.total, text)
}

/// Name, value and interval of a figure.
pub type Figured = (String, f64, Option<(f64, f64)>);

/// All figures of labelled rows, the same as JSON, and as text; and remarks. `positive` is the class of interest of two.
#[pyfunction]
#[pyo3(signature = (model, table, application, positive=None, resamples=None, confidence=0.95, seed=0, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn evaluate(
    py: Python<'_>,
    model: &Model,
    table: PyRef<'_, Table>,
    application: &str,
    positive: Option<String>,
    resamples: Option<usize>,
    confidence: f64,
    seed: u64,
    n_jobs: Option<isize>,
) -> PyResult<(Shown, Remarks)> {
    if resamples == Some(0) || !(confidence > 0.0 && confidence < 1.0) {
        return Err(PyValueError::new_err("give at least one resample, and a confidence between 0 and 1"));
    }
    let application = parsed(application)?;
    let (model, batch) = (model.inner(), table.batch()?);
    let bootstrap = resamples.map(|resamples| Bootstrap { resamples, confidence, seed });
    // The rows are in memory, and so may be their evidence.
    let request = Evaluating { application, positive, bootstrap, memory: usize::MAX };
    work::run(py, n_jobs, |stop| {
        let rows = Memory::new(model.schema().clone(), batch)?.stopped_by(stop);
        Ok(stream::shown(deciban_tasks::evaluate(model, &rows, &request)?))
    })
}

/// One page with all figures of labelled rows, as HTML.
#[pyfunction]
#[pyo3(signature = (model, table, application, title, n_jobs=None))]
pub fn report(
    py: Python<'_>,
    model: &Model,
    table: PyRef<'_, Table>,
    application: &str,
    title: &str,
    n_jobs: Option<isize>,
) -> PyResult<String> {
    let Terms { prior, costs, .. } = terms(model, application)?;
    let (model, batch) = (model.inner(), table.batch()?);
    work::run(py, n_jobs, |stop| {
        let rows = Memory::new(model.schema().clone(), batch)?.stopped_by(stop);
        figures::report(title, &rows, &Use { model, prior: &prior, costs: &costs })
    })
}

/// Runs the program `deciban` with these arguments, the first of which is its name, and returns its exit code.
#[pyfunction]
pub fn program(py: Python<'_>, args: Vec<std::ffi::OsString>) -> i32 {
    py.detach(|| deciban_cli::run(args))
}
