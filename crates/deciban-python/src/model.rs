//! [`Model`]: any model of the library, with the statistics it was fitted from where it has some.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use deciban::calibrate::Method;
use deciban::data::{Batch, Column, Schema, Value};
use deciban::engine::Memory;
use deciban::learn::options::TEXTS;
use deciban::learn::{Classifier, Generative, Named, Options, Statistics};
use deciban::model::{AUTO, Asks, FUSED, of_two_classes, takers};
use deciban::numerics::Random;
use deciban::posterior::Prior;
use deciban::unusual::Usual;
use deciban::{Error, Result, Wording};
use deciban_data::Known;
use deciban_tasks::{Change, Keep, Kept, Learned, Learning, Remark, Source, Weight, companion_note};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes};

use crate::array::Array;
use crate::errors::raise;
use crate::statistics::Statistics as Collected;
use crate::stream::calibration;
use crate::table::Table;
use crate::together::Together;
use crate::work;

/// Rows that are scored between two looks at the stop flag.
const ROWS: usize = 1 << 13;

/// Rows that are drawn between two looks: they take longer.
const FEW_ROWS: usize = 64;

/// A fitted model.
#[pyclass(frozen, module = "deciban._core")]
pub struct Model {
    /// The model, and what it was fitted from where it has that.
    kept: Kept,
    /// What `auto` has compared: names and log losses, the best first.
    compared: Vec<(String, f64)>,
    /// What a person should know about the fit, and whether each is a warning.
    remarks: Vec<(bool, String)>,
    /// What the last change did, as JSON.
    receipt: Option<String>,
    /// The levels and words of its columns, made when rows are first read for it.
    known: OnceLock<Vec<Known>>,
    /// Rows of it under the prior that was asked for last.
    pub usual: Mutex<Option<Arc<Usual>>>,
}

/// What is to be learned. Python has put the classes in order.
pub fn learning(name: &str, options: Options, calibrate: Option<Method>) -> Learning {
    let model = name.into();
    Learning { model, options, calibrate, sort_classes: false, keep: Keep::Possible, ..Learning::default() }
}

/// What was learned, with the options that it was asked for with.
pub fn learned(learned: Learned, request: &Learning) -> Model {
    let source = Source::new(request, &learned);
    let Learned { model, comparison, remarks, .. } = learned;
    let ranked = comparison.iter().flat_map(|comparison| comparison.ranked());
    let compared = ranked.map(|outcome| (outcome.name.clone(), outcome.sums.log_loss())).collect();
    Model { remarks: told(remarks), ..Model::new(Kept { model, source }, compared) }
}

/// Remarks in the words of Python, and whether each is a warning.
pub type Remarks = Vec<(bool, String)>;

/// Remarks in the words of Python.
pub fn told(remarks: Vec<Remark>) -> Remarks {
    let told = |remark: Remark| (remark.weight == Weight::Warning, remark.message(Wording::Keywords));
    remarks.into_iter().map(told).collect()
}

/// The names of the models: those that are fitted from statistics of their own, those that take counts of words, and
/// those that are for two classes alone.
#[pyfunction]
pub fn models() -> (Vec<&'static str>, Vec<&'static str>, Vec<&'static str>) {
    let generative = Generative::MODELS.iter().map(|(name, _)| *name).collect();
    let counts: Vec<&str> = [AUTO, FUSED].into_iter().chain(takers("ngrams")).collect();
    (generative, counts, of_two_classes())
}

/// The options of a JSON object, all of which the model must take.
pub fn parse(name: &str, options: &str) -> PyResult<Options> {
    let wrong = |message: String| PyTypeError::new_err(message);
    let mut given: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(options).map_err(|e| wrong(e.to_string()))?;
    for option in given.keys() {
        let takers = takers(option);
        if name != "auto" && !takers.is_empty() && !takers.contains(&name) {
            let takers = takers.join(", ");
            return Err(PyValueError::new_err(format!("{option} is not an option of model {name:?}, but of {takers}")));
        }
    }
    given.retain(|option, _| !TEXTS.contains(&option.as_str())); // The table has them.
    serde_json::from_value(given.into()).map_err(|e| PyValueError::new_err(e.to_string()))
}

impl Model {
    fn new(kept: Kept, compared: Vec<(String, f64)>) -> Self {
        Model { kept, compared, remarks: Vec::new(), receipt: None, known: OnceLock::new(), usual: Mutex::default() }
    }

    /// The model after rows were learned or forgotten; `all` are the tables of all rows that it is to know then, none if
    /// they are not given.
    fn changed(&self, change: Change, rows: &Statistics, all: &[(&Schema, &Batch<'_>)]) -> Result<Self> {
        let mut changed = self.kept.changed(change, std::slice::from_ref(rows))?;
        if !all.is_empty() {
            let schema = changed.schema().clone();
            let together = Together::new(&schema, all)?;
            changed = changed.with_rows(&Memory::new(schema, together.batch()?)?)?;
        }
        let (kept, receipt) = changed.finish()?;
        let receipt = serde_json::to_string(&receipt).map_err(|e| Error::Schema(e.to_string()))?;
        Ok(Model { receipt: Some(receipt), ..Model::new(kept, Vec::new()) })
    }

    /// A model without statistics to add to.
    pub fn plain(model: deciban::model::Model) -> Self {
        Model::new(Kept { model, source: None }, Vec::new())
    }

    /// The model of the library.
    pub fn inner(&self) -> &deciban::model::Model {
        &self.kept.model
    }

    /// What its columns and classes are.
    pub fn schema(&self) -> &Schema {
        self.kept.model.schema()
    }

    /// The levels or words of the column in this place.
    pub fn known(&self, place: usize) -> Option<&Known> {
        let columns = self.schema().columns();
        let known = || columns.iter().map(|column| Known::new(&column.levels)).collect();
        self.known.get_or_init(known).get(place)
    }

    fn prior(&self, given: Option<Vec<f64>>) -> PyResult<Prior> {
        let own = self.kept.model.prior();
        let Some(given) = given else { return Ok(own.clone()) };
        if given.len() != own.classes() {
            let message = format!("prior: {} probabilities for {} classes", given.len(), own.classes());
            return Err(PyValueError::new_err(message));
        }
        Prior::new(&given).map_err(raise)
    }

    fn score(&self, table: &Batch<'_>, out: &mut [f64], stop: &AtomicBool) -> Result<()> {
        let classes = self.kept.model.schema().classes().len();
        for (i, out) in out.chunks_mut(ROWS * classes.max(1)).enumerate() {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let start = i * ROWS;
            let evidence = self.kept.model.evidence(&table.slice(start..start + out.len() / classes))?;
            out.copy_from_slice(evidence.values());
        }
        Ok(())
    }
}

#[pymethods]
impl Model {
    /// Learns from a table whose classes have these names; `options` is a JSON object.
    #[staticmethod]
    #[pyo3(signature = (table, classes, name, options, target="y", calibrate=None, n_jobs=None, report=None))]
    #[allow(clippy::too_many_arguments)]
    fn fit(
        py: Python<'_>,
        table: PyRef<'_, Table>,
        classes: Vec<String>,
        name: &str,
        options: &str,
        target: &str,
        calibrate: Option<&str>,
        n_jobs: Option<isize>,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = parse(name, options)?;
        let calibrate = calibrate.map(calibration).transpose()?;
        let (schema, batch, along) = (table.named_schema(target, classes)?, table.batch()?, table.along());
        let request = learning(name, options, calibrate);
        work::run_watched(py, n_jobs, report, |watch| {
            let mut rows = Memory::new(schema, batch)?.watched_by(watch).with_along(along);
            Ok(learned(deciban_tasks::learn(&request, &mut rows)?, &request))
        })
    }

    /// Learns from statistics; `options` is a JSON object.
    #[staticmethod]
    fn of_statistics(py: Python<'_>, statistics: PyRef<'_, Collected>, name: &str, options: &str) -> PyResult<Self> {
        let (request, statistics) = (learning(name, parse(name, options)?, None), statistics.inner().clone());
        work::run(py, None, |_| Ok(learned(deciban_tasks::learn_from_statistics(&request, statistics)?, &request)))
    }

    /// What it was fitted from.
    fn statistics(&self) -> PyResult<Collected> {
        Ok(Collected::new(self.kept.source().map_err(raise)?.single().map_err(raise)?.clone()))
    }

    /// The model after rows were learned, or forgotten; their classes may be new.
    /// `others` are all other rows of the model, with the names of their classes, for members that learn from rows.
    #[pyo3(signature = (table, classes, forget=false, others=None, n_jobs=None, report=None))]
    #[allow(clippy::too_many_arguments)]
    fn with_rows(
        &self,
        py: Python<'_>,
        table: PyRef<'_, Table>,
        classes: Vec<String>,
        forget: bool,
        others: Option<(PyRef<'_, Table>, Vec<String>)>,
        n_jobs: Option<isize>,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let source = self.kept.source().map_err(raise)?;
        let target = source.statistics().schema().target();
        let schema = table.named_schema(target, classes)?;
        let batch = table.batch()?;
        let others = match &others {
            Some((table, classes)) => Some((table.named_schema(target, classes.clone())?, table.batch()?)),
            None => None,
        };
        work::run_watched(py, n_jobs, report, |watch| {
            let rows = source.summarise(&Memory::new(schema.clone(), batch.clone())?.watched_by(watch))?;
            let others = others.as_ref().map(|(schema, batch)| (schema, batch));
            match forget {
                true => self.changed(Change::Forget, &rows, others.as_slice()),
                false => {
                    let all: Vec<_> = others.into_iter().flat_map(|others| [(&schema, &batch), others]).collect();
                    self.changed(Change::Update, &rows, &all)
                }
            }
        })
    }

    /// The model of the rows behind both.
    fn merged(&self, py: Python<'_>, other: &Model) -> PyResult<Self> {
        let rows = other.kept.source().map_err(raise)?.single().map_err(raise)?;
        work::run(py, None, |_| self.changed(Change::Update, rows, &[]))
    }

    /// The model without the rows behind another.
    fn without(&self, py: Python<'_>, other: &Model) -> PyResult<Self> {
        let rows = other.kept.source().map_err(raise)?.single().map_err(raise)?;
        work::run(py, None, |_| self.changed(Change::Forget, rows, &[]))
    }

    /// What the last change did, as JSON.
    #[getter]
    fn receipt(&self) -> Option<String> {
        self.receipt.clone()
    }

    /// What `auto` has compared: names and log losses, the best first.
    #[getter]
    fn compared(&self) -> Vec<(String, f64)> {
        self.compared.clone()
    }

    /// What a person should know about the fit, and whether each is a warning.
    #[getter]
    fn remarks(&self) -> Vec<(bool, String)> {
        self.remarks.clone()
    }

    /// Name and kind of each column.
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        let told = |column: &Column| (column.name.clone(), format!("{:?}", column.kind).to_lowercase());
        self.kept.model.schema().columns().iter().map(told).collect()
    }

    /// The levels or words of the column in this place.
    fn levels(&self, place: usize) -> Vec<String> {
        self.kept.model.schema().columns().get(place).map(|column| column.levels.clone()).unwrap_or_default()
    }

    /// The texts that stand for a missing cell.
    #[getter]
    fn missing(&self) -> Vec<String> {
        self.kept.model.schema().spelling().missing.clone()
    }

    /// How many levels or words the column in this place has.
    fn level_count(&self, place: usize) -> usize {
        self.kept.model.schema().columns().get(place).map_or(0, |column| column.levels.len())
    }

    /// Whether it has learned from texts, and not only from counts of words.
    #[getter]
    fn reads_texts(&self) -> bool {
        self.kept.model.schema().reading().is_some()
    }

    /// The names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.kept.model.schema().classes().to_vec()
    }

    /// The prior that it uses by default.
    #[getter]
    fn default_prior(&self) -> Vec<f64> {
        self.kept.model.prior().probabilities().to_vec()
    }

    /// The same model with another default prior.
    fn with_prior(&self, prior: Vec<f64>) -> PyResult<Self> {
        let model = self.kept.model.clone().with_prior(self.prior(Some(prior))?).map_err(raise)?;
        let kept = Kept { model, source: self.kept.source.clone() };
        Ok(Model { receipt: self.receipt.clone(), ..Model::new(kept, self.compared.clone()) })
    }

    /// That rows, or what their cells hold, are described by the companion of the model, if they are.
    fn companion_note(&self, cells: bool) -> Option<String> {
        let asks = if cells { Asks::Cells } else { Asks::Rows };
        companion_note(&self.kept.model, asks).map(|note| note.message(Wording::Keywords))
    }

    /// log p(x | class) of each row and class, into `out`.
    #[pyo3(signature = (table, out, n_jobs=None))]
    fn evidence(
        &self,
        py: Python<'_>,
        table: PyRef<'_, Table>,
        out: &Bound<'_, PyAny>,
        n_jobs: Option<isize>,
    ) -> PyResult<()> {
        let mut out = Array::of_scores(out, table.rows(), self.kept.model.schema().classes().len())?;
        let (batch, out) = (table.batch()?, out.slice_mut::<f64>()?);
        if batch.width() != self.kept.model.schema().columns().len() {
            return Err(PyValueError::new_err("the table has other columns than the model"));
        }
        work::run_little(py, table.rows() <= work::FEW_ROWS, n_jobs, |stop| self.score(&batch, out, stop))
    }

    /// New rows: the number of each one's class, and its cells: a float, the name of a level, a text of its words,
    /// or counts by column.
    #[pyo3(signature = (rows, seed, prior=None))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        rows: usize,
        seed: u64,
        prior: Option<Vec<f64>>,
    ) -> PyResult<Vec<(usize, Vec<Bound<'py, PyAny>>)>> {
        let model = self.kept.model.described(Asks::Rows).map_err(raise)?.model;
        let (prior, mut random) = (self.prior(prior)?, Random::new(seed));
        let columns = self.kept.model.schema().columns();
        let cell = |(value, column): (&Value, &Column)| -> PyResult<Bound<'py, PyAny>> {
            let level = |code: u32| column.levels.get(code as usize).cloned();
            match value {
                Value::Number(x) => Ok(x.into_pyobject(py)?.into_any()),
                Value::Level(code) => Ok(level(*code).into_pyobject(py)?.into_any()),
                Value::Counts(counts) if self.reads_texts() => {
                    let words = counts.iter().flat_map(|&(code, count)| vec![level(code); count as usize]);
                    Ok(words.flatten().collect::<Vec<_>>().join(" ").into_pyobject(py)?.into_any())
                }
                Value::Counts(counts) => {
                    let word = |(code, count): &(u32, f64)| (level(*code).unwrap_or(code.to_string()), *count);
                    Ok(counts.iter().map(word).collect::<Vec<_>>().into_py_dict(py)?.into_any())
                }
            }
        };
        let row = |i: usize| {
            if i.is_multiple_of(FEW_ROWS) {
                py.check_signals()?;
            }
            let class = random.pick(prior.probabilities());
            let values = model.sample(class, &mut random).map_err(raise)?;
            Ok((class, values.iter().zip(columns).map(cell).collect::<PyResult<_>>()?))
        };
        (0..rows).map(row).collect()
    }

    /// Writes a model file, as the program does; with statistics if they are to be kept.
    #[pyo3(signature = (path, keep_statistics=false))]
    fn save(&self, path: std::path::PathBuf, keep_statistics: bool) -> PyResult<()> {
        if keep_statistics {
            self.kept.source().map_err(raise)?;
            return self.kept.save(path).map_err(raise);
        }
        self.kept.model.save(path).map_err(raise)
    }

    /// Reads a model file, of this package or of the program.
    #[staticmethod]
    fn load(path: std::path::PathBuf) -> PyResult<Self> {
        Ok(Model::new(Kept::load(path).map_err(raise)?, Vec::new()))
    }

    /// The bytes of the model file with its statistics, and what was compared.
    #[allow(clippy::type_complexity)]
    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Vec<(String, f64)>)> {
        Ok((PyBytes::new(py, &self.kept.to_bytes().map_err(raise)?), self.compared.clone()))
    }

    /// From what `__getstate__` gives.
    #[staticmethod]
    fn from_state(model: &[u8], compared: Vec<(String, f64)>) -> PyResult<Self> {
        Ok(Model::new(Kept::from_bytes(model).map_err(raise)?, compared))
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let state = slf.get().__getstate__(slf.py())?;
        Ok((slf.get_type().getattr("from_state")?, state.into_pyobject(slf.py())?.into_any()))
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
}
