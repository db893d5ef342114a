//! Comparisons by the use layer: a search that is cross-validated, and fitted models that are judged by the same rows.

use std::sync::Arc;

use deciban::data::Schema;
use deciban::engine::{Memory, Watch};
use deciban::learn::{Classifier, Effort};
use deciban::{Result, Wording};
use deciban_data::{Files, Options, Target};
use deciban_tasks::comparison::{Compared, Comparing, FoldRule, Judged, Judgement, MEASURES, compare};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::ask::parsed;
use crate::errors::raise;
use crate::model::{Model, told};
use crate::remote;
use crate::rows::Rows as Stream;
use crate::stream::{self, Columns};
use crate::table::Table;
use crate::work;

/// The rows of a comparison, from which its models are learned again.
enum Rows {
    Table(Py<Table>, Box<Schema>),
    Files(Box<Files>),
    /// On other machines.
    Elsewhere,
}

/// Models that were cross-validated on the same rows.
#[pyclass(module = "deciban._core")]
pub struct Comparison {
    compared: Compared,
    rows: Rows,
}

/// What is compared: kinds of models, measure, effort, number of folds, "stratified", "equal", "group" or "fold", seed, application.
type How = (Vec<String>, String, String, String, String, u64, String);

fn request((models, by, effort, folds, rule, seed, application): How) -> PyResult<Comparing> {
    let named = MEASURES.iter().find(|(name, _)| *name == by);
    let names = MEASURES.map(|(name, _)| format!("{name:?}")).join(" or ");
    let by = named.ok_or_else(|| PyValueError::new_err(format!("by: give {names}, not {by:?}")))?.1;
    let named = Effort::ALL.iter().find(|(name, _)| *name == effort);
    let names = Effort::ALL.map(|(name, _)| format!("{name:?}")).join(", ");
    let effort = named.ok_or_else(|| PyValueError::new_err(format!("effort: give one of {names}, not {effort:?}")))?.1;
    let folds = folds.parse().map_err(|message: String| PyValueError::new_err(format!("folds: {message}")))?;
    let rule = match rule.as_str() {
        "group" => FoldRule::Grouped,
        "fold" => FoldRule::Given,
        "equal" => FoldRule::EqualTogether,
        _ => FoldRule::Stratified,
    };
    Ok(Comparing { models, by, effort, folds, rule, seed, application: parsed(&application)? })
}

#[pymethods]
impl Comparison {
    /// Compares by the rows of a table whose classes have these names.
    #[staticmethod]
    #[pyo3(signature = (table, classes, target, how, n_jobs=None, report=None))]
    fn of_table(
        py: Python<'_>,
        table: Py<Table>,
        classes: Vec<String>,
        target: &str,
        how: How,
        n_jobs: Option<isize>,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let request = request(how)?;
        let rows = table.borrow(py);
        let schema = rows.named_schema(target, classes)?;
        let (known, batch, along) = (schema.clone(), rows.batch()?, rows.along());
        let compared = work::run_watched(py, n_jobs, report, |watch| {
            compare(&request, &mut Memory::new(known, batch)?.watched_by(watch).with_along(along))
        })?;
        drop(rows);
        Ok(Comparison { compared, rows: Rows::Table(table, Box::new(schema)) })
    }

    /// Compares by the rows of files. Cells and texts are read as `table` reads them.
    #[staticmethod]
    #[pyo3(signature = (table, paths, target, kinds, how, weight=None, fold=None, n_jobs=None, report=None))]
    #[allow(clippy::too_many_arguments)]
    fn of_files(
        py: Python<'_>,
        table: PyRef<'_, Table>,
        paths: Vec<String>,
        target: &str,
        kinds: Vec<(String, String)>,
        how: How,
        weight: Option<String>,
        fold: Option<String>,
        n_jobs: Option<isize>,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (request, options) = (request(how)?, table.file_options(target, kinds, weight, fold)?);
        let (compared, files) = work::run_watched(py, n_jobs, report, |watch| {
            let mut files = Files::open(&paths, options)?;
            files.watched_by(Arc::clone(watch));
            Ok((compare(&request, &mut files)?, files))
        })?;
        Ok(Comparison { compared, rows: Rows::Files(Box::new(files)) })
    }

    /// Compares by rows on other machines, of which `first` are some of the first. `ask` puts questions to these machines.
    #[staticmethod]
    fn of_remote(
        py: Python<'_>,
        ask: &Bound<'_, PyAny>,
        first: &Stream,
        table: PyRef<'_, Table>,
        columns: Columns,
        how: How,
    ) -> PyResult<Self> {
        let (request, options) = (request(how)?, stream::remote_options(&table, columns)?);
        let compared = remote::run(py, ask, |asker| {
            remote::with_rows(&first.open(options, &Arc::default())?, asker, |rows| compare(&request, rows))
        })?;
        Ok(Comparison { compared, rows: Rows::Elsewhere })
    }

    /// The model of this name, or the best, learned from all rows.
    #[pyo3(signature = (name=None, n_jobs=None, report=None))]
    fn refit(
        &mut self,
        py: Python<'_>,
        name: Option<&str>,
        n_jobs: Option<isize>,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Model> {
        let Comparison { compared, rows } = self;
        let model = match rows {
            Rows::Table(table, schema) => {
                let table = table.borrow(py);
                let batch = table.batch()?;
                work::run_watched(py, n_jobs, report, |watch| {
                    let mut rows = Memory::new((**schema).clone(), batch)?.watched_by(watch);
                    rows.leave_out(&compared.left_out)?;
                    compared.learn(name, &rows)
                })?
            }
            Rows::Files(files) => work::run_watched(py, n_jobs, report, |watch| {
                files.watched_by(Arc::clone(watch));
                compared.learn(name, &**files)
            })?,
            Rows::Elsewhere => {
                return Err(PyValueError::new_err("the rows are on other machines: fit the model there"));
            }
        };
        Ok(Model::plain(model))
    }

    /// The name of the best model.
    #[getter]
    fn best(&self) -> String {
        self.compared.best().to_string()
    }

    /// What a person should know, and whether each is a warning.
    #[getter]
    fn remarks(&self) -> Vec<(bool, String)> {
        told(self.compared.remarks.clone())
    }

    /// The best `top` models as the program prints them.
    fn text(&self, top: usize) -> PyResult<String> {
        self.compared.text(top).map(|text| Wording::Keywords.apply(&text)).map_err(raise)
    }

    /// The figures as JSON.
    fn json(&self) -> PyResult<String> {
        self.compared.json().map(|json| json.to_string()).map_err(raise)
    }
}

/// Fitted models, judged by labelled rows: the names, the best first, a table and JSON. Every model has a table of
/// its own; without tables, the rows are read from files.
#[pyfunction]
#[pyo3(signature = (names, models, tables, paths, application, seed=0, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn judge(
    py: Python<'_>,
    names: Vec<String>,
    models: Vec<PyRef<'_, Model>>,
    tables: Vec<PyRef<'_, Table>>,
    paths: Vec<String>,
    application: &str,
    seed: u64,
    n_jobs: Option<isize>,
) -> PyResult<(Vec<String>, String, String)> {
    if models.len() < 2 || names.len() != models.len() || (!tables.is_empty() && tables.len() != models.len()) {
        return Err(PyValueError::new_err("models: give at least two fitted models"));
    }
    let application = parsed(application)?;
    let batches = tables.iter().map(|table| table.batch()).collect::<PyResult<Vec<_>>>()?;
    let models: Vec<_> = models.iter().map(|model| model.inner()).collect();
    work::run_watched(py, n_jobs, None, |watch: &Arc<Watch>| {
        let mut batches = batches.into_iter();
        let first = models[0].schema();
        let judge = |(name, model): (&String, &&deciban::model::Model)| -> Result<Judged> {
            let (one, base) = ((name.as_str(), *model), (names[0].as_str(), first));
            match batches.next() {
                Some(batch) => {
                    let rows = Memory::new(model.schema().clone(), batch)?.watched_by(watch);
                    Judged::new(one, base, models.len(), &application, &rows)
                }
                None => {
                    let target = Target::Column(model.schema().target().into());
                    let mut rows = Files::open_as(&paths, Options { target, ..Options::default() }, model.schema())?;
                    rows.watched_by(Arc::clone(watch));
                    Judged::new(one, base, models.len(), &application, &rows)
                }
            }
        };
        let judged = names.iter().zip(&models).map(judge).collect::<Result<Vec<_>>>()?;
        let judgement = Judgement::new(judged, first, &application, seed)?;
        let ranked = judgement.ranked().iter().map(|model| model.name().to_string()).collect();
        Ok((ranked, Wording::Keywords.apply(&judgement.text()), judgement.json().to_string()))
    })
}
