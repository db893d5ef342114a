//! Learning, summarising and evaluating by [`Rows`] that are read as a stream, here or on other machines.

use std::sync::Arc;

use deciban::calibrate::Method;
use deciban::engine::Watch;
use deciban::evaluate::{Bootstrap, Interval};
use deciban_data::{Options, Target};
use deciban_tasks::{Evaluating, Learning};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::ask::{Figured, parsed};
use crate::model::{Model, learned, learning, parse, told};
use crate::remote::{self, Remote};
use crate::rows::Rows;
use crate::statistics::Statistics;
use crate::table::Table;
use crate::work;

/// What is learned of a stream: its name, options as JSON, and a calibration.
type What = (String, String, Option<String>);

/// The columns of a stream: the target, pairs of a column and its kind, and the column of weights.
type Columns = (String, Vec<(String, String)>, Option<String>);

fn request((name, options, calibrate): What) -> PyResult<Learning> {
    let calibrate = calibrate.as_deref().map(calibration).transpose()?;
    // Classes turn up as rows come, and are put in order afterwards.
    Ok(Learning { sort_classes: true, ..learning(&name, parse(&name, &options)?, calibrate) })
}

/// The calibration of this name.
pub fn calibration(name: &str) -> PyResult<Method> {
    let found = Method::ALL.iter().find(|(known, _)| *known == name).map(|(_, method)| *method);
    let known = Method::ALL.map(|(name, _)| name).join(", ");
    found.ok_or_else(|| PyValueError::new_err(format!("calibrate: there is no `{name}`, only {known}")))
}

/// How the stream is read: cells and texts as `table` reads them. Rows may lack a label.
fn options(table: &Table, (target, kinds, weight): Columns) -> PyResult<Options> {
    Ok(Options { unlabelled: true, ..table.file_options(&target, kinds, weight, None)? })
}

/// Learns from a stream, which is read again where a model needs several passes.
#[pyfunction]
#[pyo3(signature = (rows, table, columns, what, n_jobs=None, report=None))]
pub fn fit_rows(
    py: Python<'_>,
    rows: &Rows,
    table: PyRef<'_, Table>,
    columns: Columns,
    what: What,
    n_jobs: Option<isize>,
    report: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let (request, options) = (request(what)?, options(&table, columns)?);
    work::run_watched(py, n_jobs, report, |watch| {
        let mut files = rows.open(options, watch)?;
        Ok(learned(deciban_tasks::learn(&request, &mut files)?, &request))
    })
}

/// Summarises a stream; with remarks about its columns.
#[pyfunction]
#[pyo3(signature = (rows, table, columns, what, n_jobs=None, report=None))]
#[allow(clippy::type_complexity)]
pub fn collect_rows(
    py: Python<'_>,
    rows: &Rows,
    table: PyRef<'_, Table>,
    columns: Columns,
    what: What,
    n_jobs: Option<isize>,
    report: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Statistics, Vec<(bool, String)>)> {
    let (request, options) = (request(what)?, options(&table, columns)?);
    work::run_watched(py, n_jobs, report, |watch| {
        let (statistics, remarks) = request.statistics(&mut rows.open(options, watch)?)?;
        Ok((Statistics::new(statistics), told(remarks)))
    })
}

/// All figures of a stream of labelled rows, the same as JSON, and as text. `memory` is how many bytes the evidence of
/// rows may take, for figures that need all rows at once.
#[pyfunction]
#[pyo3(signature = (model, rows, target, application, weight=None, positive=None, bootstrap=None, memory=536870912, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn evaluate_rows(
    py: Python<'_>,
    model: &Model,
    rows: &Rows,
    target: String,
    application: &str,
    weight: Option<String>,
    positive: Option<String>,
    bootstrap: Option<(usize, f64, u64)>,
    memory: usize,
    n_jobs: Option<isize>,
) -> PyResult<(Vec<Figured>, String, String)> {
    let bootstrap = bootstrap.map(|(resamples, confidence, seed)| Bootstrap { resamples, confidence, seed });
    let request = Evaluating { application: parsed(application)?, positive, bootstrap, memory };
    let options = Options { target: Target::Column(target), weight, ..Options::default() };
    work::run_watched(py, n_jobs, None, |watch: &Arc<Watch>| {
        let mut files = rows.open_as(model.schema(), options, false)?;
        files.watched_by(watch.clone());
        let found = deciban_tasks::evaluate(model.inner(), &files, &request)?;
        let (json, text) = (found.json().to_string(), found.text());
        let ends = |interval: Option<Interval>| interval.map(|Interval { low, high }| (low, high));
        Ok((found.figures.into_iter().map(|f| (f.name, f.value, ends(f.interval))).collect(), json, text))
    })
}

/// Learns from rows on other machines, of which `first` are some of the first. `ask` puts questions to these machines.
#[pyfunction]
pub fn fit_remote(
    py: Python<'_>,
    ask: &Bound<'_, PyAny>,
    first: &Rows,
    table: PyRef<'_, Table>,
    columns: Columns,
    what: What,
) -> PyResult<Model> {
    let (request, options) = (Learning { sort_classes: false, ..request(what)? }, options(&table, columns)?);
    remote::run(py, ask, |asker| {
        let mut rows = Remote::new(&first.open(options, &Arc::default())?, asker)?;
        Ok(learned(deciban_tasks::learn(&request, &mut rows)?, &request))
    })
}

/// Summarises rows on other machines; with remarks about their columns.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn collect_remote(
    py: Python<'_>,
    ask: &Bound<'_, PyAny>,
    first: &Rows,
    table: PyRef<'_, Table>,
    columns: Columns,
    what: What,
) -> PyResult<(Statistics, Vec<(bool, String)>)> {
    let (request, options) = (Learning { sort_classes: false, ..request(what)? }, options(&table, columns)?);
    remote::run(py, ask, |asker| {
        let mut rows = Remote::new(&first.open(options, &Arc::default())?, asker)?;
        let (statistics, remarks) = request.statistics(&mut rows)?;
        Ok((Statistics::new(statistics), told(remarks)))
    })
}
