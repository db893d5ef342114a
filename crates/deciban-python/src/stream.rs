//! Learning, summarising and evaluating by [`Rows`] that are read as a stream, here or on other machines.

use std::sync::Arc;

use deciban::calibrate::Method;
use deciban::engine::Watch;
use deciban::evaluate::{Bootstrap, Interval};
use deciban_data::{Options, Target};
use deciban_tasks::scored::Keeping;
use deciban_tasks::{Evaluated, Evaluating, Learning};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::ask::{Figured, parsed};
use crate::model::{Model, Remarks, learned, learning, parse, told};
use crate::remote::{self, Remote};
use crate::rows::Rows;
use crate::statistics::Statistics;
use crate::table::Table;
use crate::work;

/// What is learned of a stream: its name, options as JSON, and a calibration.
type What = (String, String, Option<String>);

/// The columns of a stream: the target, pairs of a column and its kind, and the column of weights.
pub type Columns = (String, Vec<(String, String)>, Option<String>);

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

/// How the stream is read: cells and texts as `table` reads them. Rows lack a label only if they count then.
fn options(table: &Table, (target, kinds, weight): Columns, request: &Learning) -> PyResult<Options> {
    let (unlabelled, group) = (request.options.unlabelled_weight > 0.0, request.options.group.clone());
    Ok(Options { unlabelled, ..table.file_options(&target, kinds, weight, group)? })
}

/// How rows on other machines are read: those without a label are left out.
pub fn remote_options(table: &Table, (target, kinds, weight): Columns) -> PyResult<Options> {
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
    let request = request(what)?;
    let options = options(&table, columns, &request)?;
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
    let request = request(what)?;
    let options = options(&table, columns, &request)?;
    work::run_watched(py, n_jobs, report, |watch| {
        let (statistics, remarks) = request.statistics(&mut rows.open(options, watch)?)?;
        Ok((Statistics::new(statistics), told(remarks)))
    })
}

/// All figures of a stream of labelled rows, the same as JSON, and as text; and remarks. `memory` is how many bytes figures that need
/// all rows at once may take.
#[pyfunction]
#[pyo3(signature = (model, rows, target, application, weight=None, positive=None, bootstrap=None, memory=2147483648, n_jobs=None))]
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
) -> PyResult<(Shown, Remarks)> {
    let bootstrap = bootstrap.map(|(resamples, confidence, seed)| Bootstrap { resamples, confidence, seed });
    let request = Evaluating { application: parsed(application)?, positive, bootstrap, memory };
    let options = Options { target: Target::Column(target), weight, ..Options::default() };
    work::run_watched(py, n_jobs, None, |watch: &Arc<Watch>| {
        let mut files = rows.open_as(model.schema(), options, false)?;
        files.watched_by(watch.clone());
        Ok(shown(deciban_tasks::evaluate(model.inner(), &files, &request)?))
    })
}

/// Figures by name, the same as JSON, and as text.
pub type Shown = (Vec<Figured>, String, String);

/// Figures in all three forms, and remarks.
pub fn shown(mut found: Evaluated) -> (Shown, Remarks) {
    let remarks = told(std::mem::take(&mut found.remarks));
    let (json, text) = (found.json().to_string(), found.text());
    let ends = |interval: Option<Interval>| interval.map(|Interval { low, high }| (low, high));
    ((found.figures.into_iter().map(|f| (f.name, f.value, ends(f.interval))).collect(), json, text), remarks)
}

/// On an executor: what is known of a part of labelled rows, and how many they are. The evidence of a share of them is
/// kept, drawn with the seed.
#[pyfunction]
#[pyo3(signature = (model, rows, target, application, weight, share, seed))]
#[allow(clippy::too_many_arguments)]
pub fn evaluate_part<'py>(
    py: Python<'py>,
    model: &Model,
    rows: &Rows,
    target: String,
    application: &str,
    weight: Option<String>,
    share: f64,
    seed: u64,
) -> PyResult<(Bound<'py, PyBytes>, u64)> {
    let application = parsed(application)?;
    let options = Options { target: Target::Column(target), weight, unlabelled: true, ..Options::default() };
    let (bytes, count) = work::run(py, Some(1), |_| {
        let files = rows.open_as(model.schema(), options, false)?;
        let keeping = Keeping::Drawn { share, seed };
        let bytes = deciban_tasks::evaluate_part(model.inner(), &files, &application, keeping)?;
        Ok((bytes, files.rows().unwrap_or(0)))
    })?;
    Ok((PyBytes::new(py, &bytes), count))
}

/// What is known of several parts together, in their order.
#[pyfunction]
pub fn merge_evaluated<'py>(
    py: Python<'py>,
    model: &Model,
    application: &str,
    parts: Vec<Vec<u8>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let application = parsed(application)?;
    let bytes = work::run(py, Some(1), |_| deciban_tasks::merge_parts(model.inner(), &parts, &application))?;
    Ok(PyBytes::new(py, &bytes))
}

/// All figures of what is known of all parts, as [`evaluate_rows`] has them, and remarks. `share` is that of the rows
/// whose evidence was kept.
#[pyfunction]
#[pyo3(signature = (model, parts, application, share, positive=None, bootstrap=None))]
#[allow(clippy::type_complexity)]
pub fn evaluate_parts(
    py: Python<'_>,
    model: &Model,
    parts: Vec<Vec<u8>>,
    application: &str,
    share: f64,
    positive: Option<String>,
    bootstrap: Option<(usize, f64, u64)>,
) -> PyResult<(Shown, Remarks)> {
    let bootstrap = bootstrap.map(|(resamples, confidence, seed)| Bootstrap { resamples, confidence, seed });
    let request = Evaluating { application: parsed(application)?, positive, bootstrap, ..Evaluating::default() };
    work::run(py, None, |_| Ok(shown(deciban_tasks::evaluate_parts(model.inner(), &parts, &request, share)?)))
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
    let (request, options) = (Learning { sort_classes: false, ..request(what)? }, remote_options(&table, columns)?);
    remote::run(py, ask, |asker| {
        let learn = |rows: &mut Remote<'_>| Ok(learned(deciban_tasks::learn(&request, rows)?, &request));
        remote::with_rows(&first.open(options, &Arc::default())?, asker, learn)
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
    let (request, options) = (Learning { sort_classes: false, ..request(what)? }, remote_options(&table, columns)?);
    remote::run(py, ask, |asker| {
        let collect = |rows: &mut Remote<'_>| {
            let (statistics, remarks) = request.statistics(rows)?;
            Ok((Statistics::new(statistics), told(remarks)))
        };
        remote::with_rows(&first.open(options, &Arc::default())?, asker, collect)
    })
}
