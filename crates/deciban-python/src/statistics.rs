//! [`Statistics`]: what a pass over a table leaves of each class, to be merged and read.

use deciban::engine::Memory;
use deciban::family::gaussian::{Gaussian, GaussianStatistic, Structure};
use deciban::family::{AnyFamily, AnyStatistic};
use deciban::learn::{Block, Summarise};
use deciban::statistic::{ColumnMoments, Statistic};
use deciban::transform::Step;
use deciban_tasks::describe;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::array::to_numpy;
use crate::errors::raise;
use crate::model::{learning, parse, told};
use crate::table::Table;
use crate::work;

/// So many rows, which the engine takes as one part, with so many cells are read by the calling thread.
const FEW_ROWS: usize = 2048;
const FEW_CELLS: usize = 1 << 15;

/// Additive statistics of a table, class by class.
#[pyclass(module = "deciban._core")]
#[derive(Clone)]
pub struct Statistics(deciban::learn::Statistics);

fn columns(class: &AnyStatistic) -> PyResult<&ColumnMoments> {
    match class {
        AnyStatistic::Gaussian(GaussianStatistic::Columns(moments)) => Ok(moments),
        _ => Err(PyTypeError::new_err("these statistics are no moments of columns")),
    }
}

/// The families by which the drop-in classifiers count.
fn family(name: &str) -> PyResult<AnyFamily> {
    let gaussian = |covariance| AnyFamily::Gaussian(Gaussian { covariance, ..Gaussian::default() });
    match name {
        "moments" => Ok(gaussian(Structure::Full)),
        "column-moments" => Ok(gaussian(Structure::Diagonal)),
        _ => AnyFamily::named(name).map_err(raise),
    }
}

impl Statistics {
    /// Statistics for Python.
    pub fn new(statistics: deciban::learn::Statistics) -> Self {
        Statistics(statistics)
    }

    /// The statistics of the library.
    pub fn inner(&self) -> &deciban::learn::Statistics {
        &self.0
    }

    /// Runs `read` on the statistic of each class.
    fn read<R>(&self, read: impl FnOnce(&[&AnyStatistic]) -> PyResult<R>) -> PyResult<R> {
        self.0.summary().read_block(0, read).map_err(raise)?
    }
}

#[pymethods]
impl Statistics {
    /// One pass over the table.
    #[new]
    #[pyo3(signature = (table, classes, what, n_jobs=None))]
    fn of_columns(
        py: Python<'_>,
        table: PyRef<'_, Table>,
        classes: usize,
        what: &str,
        n_jobs: Option<isize>,
    ) -> PyResult<Self> {
        let (schema, batch) = (table.schema(classes, false)?, table.batch()?);
        let places = (0..schema.columns().len()).collect();
        let block = Block::new(places, schema.columns(), family(what)?);
        let pass = Summarise { blocks: vec![block], folds: 1, seed: 0 };
        let is_little = batch.rows() <= FEW_ROWS && batch.rows() * schema.columns().len() <= FEW_CELLS;
        let statistics = work::run_little(py, is_little, n_jobs, |stop| {
            let engine = Memory::new(schema, batch)?.stopped_by(stop);
            deciban::learn::Statistics::collect(pass, &engine)
        })?;
        let statistics = Statistics(statistics);
        let is_gapped =
            |class: &&AnyStatistic| matches!(class, AnyStatistic::Gaussian(GaussianStatistic::Gapped { .. }));
        match statistics.read(|classes| Ok(classes.iter().any(is_gapped)))? {
            true => Err(PyValueError::new_err("X has missing cells (NaN)")),
            false => Ok(statistics),
        }
    }

    /// What models of this name are fitted from, of a table whose classes have these names, and remarks about its
    /// columns; `options` is a JSON object.
    #[staticmethod]
    #[pyo3(signature = (table, classes, name, options, target="y", n_jobs=None, report=None))]
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    fn collect(
        py: Python<'_>,
        table: PyRef<'_, Table>,
        classes: Vec<String>,
        name: &str,
        options: &str,
        target: &str,
        n_jobs: Option<isize>,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Self, Vec<(bool, String)>)> {
        let request = learning(name, parse(name, options)?, None);
        let (schema, batch) = (table.named_schema(target, classes)?, table.batch()?);
        work::run_watched(py, n_jobs, report, |watch| {
            let (statistics, remarks) = request.statistics(&mut Memory::new(schema, batch)?.watched_by(watch))?;
            Ok((Statistics(statistics), told(remarks)))
        })
    }

    /// Writes a statistics file, as the program does.
    fn save(&self, path: std::path::PathBuf) -> PyResult<()> {
        self.0.save(path).map_err(raise)
    }

    /// Reads a statistics file, of this package or of the program.
    #[staticmethod]
    fn load(path: std::path::PathBuf) -> PyResult<Self> {
        deciban::learn::Statistics::load(path).map(Statistics).map_err(raise)
    }

    /// The names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.schema().classes().to_vec()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().names()
    }

    /// What they hold, as the program shows it.
    fn described(&self, name: &str) -> String {
        describe::statistics(name, &self.0)
    }

    /// Adds the rows behind others.
    fn merge(&mut self, other: PyRef<'_, Statistics>) -> PyResult<()> {
        self.0.merge(&other.0).map_err(raise)
    }

    /// Takes the rows behind others away.
    fn remove(&mut self, other: PyRef<'_, Statistics>) -> PyResult<()> {
        self.0.remove(&other.0).map_err(raise)
    }

    /// The bytes of a statistics file.
    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(raise)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Statistics(deciban::learn::Statistics::from_bytes(bytes).map_err(raise)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.borrow().__getstate__(slf.py())?,)))
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.clone()
    }

    /// The weight of each class.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let weights = self.0.summary().weights();
        to_numpy(py, &weights, &[weights.len()])
    }

    /// The number of rows of each class.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.0.summary().rows();
        to_numpy(py, &rows, &[rows.len()])
    }

    /// Of counts: Σ w x for each class and column.
    fn counts<'py>(&self, py: Python<'py>, width: usize) -> PyResult<Bound<'py, PyAny>> {
        self.read(|classes| {
            let mut counts = Vec::with_capacity(classes.len() * width);
            for class in classes {
                let AnyStatistic::Multinomial(words) = class else {
                    return Err(PyTypeError::new_err("these statistics are no counts"));
                };
                counts.extend(words.counts().chain(std::iter::repeat(0.0)).take(width));
            }
            to_numpy(py, &counts, &[classes.len(), width])
        })
    }

    /// Of categories: one more than the highest code of each column.
    fn levels(&self) -> PyResult<Vec<usize>> {
        self.read(|classes| {
            let mut levels = Vec::new();
            for class in classes {
                let AnyStatistic::Categorical(found) = class else {
                    return Err(PyTypeError::new_err("these statistics are not of categories"));
                };
                levels.resize(found.width(), 0);
                levels.iter_mut().enumerate().for_each(|(j, most)| *most = found.counts(j).len().max(*most));
            }
            Ok(levels)
        })
    }

    /// Of categories: the weight of each class's levels of a column.
    fn level_counts<'py>(&self, py: Python<'py>, column: usize, levels: usize) -> PyResult<Bound<'py, PyAny>> {
        self.read(|classes| {
            let mut counts = Vec::with_capacity(classes.len() * levels);
            for class in classes {
                let AnyStatistic::Categorical(found) = class else {
                    return Err(PyTypeError::new_err("these statistics are not of categories"));
                };
                counts.extend(found.counts(column).iter().copied().chain(std::iter::repeat(0.0)).take(levels));
            }
            to_numpy(py, &counts, &[classes.len(), levels])
        })
    }

    /// Of column moments: weight, mean and scatter of each class and column.
    fn column_moments<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyAny>; 3]> {
        self.read(|classes| {
            let mut parts = [Vec::new(), Vec::new(), Vec::new()];
            let mut width = 0;
            for class in classes {
                let moments = columns(class)?;
                width = moments.width();
                parts[0].extend_from_slice(moments.weight());
                parts[1].extend_from_slice(moments.mean());
                parts[2].extend_from_slice(moments.scatter());
            }
            let [weight, mean, scatter] = parts.map(|part| to_numpy(py, &part, &[classes.len(), width]));
            Ok([weight?, mean?, scatter?])
        })
    }

    /// Of column moments: the variance of the column whose variance over all classes is largest.
    fn largest_variance(&self) -> PyResult<f64> {
        self.read(|classes| {
            let Some((first, others)) = classes.split_first() else { return Ok(0.0) };
            let mut all = columns(first)?.clone();
            others.iter().try_for_each(|class| all.merge(columns(class)?).map_err(raise))?;
            let variances = all.scatter().iter().zip(all.weight()).filter(|(_, w)| **w > 0.0).map(|(s, w)| s / w);
            Ok(variances.fold(0.0, f64::max))
        })
    }

    /// Of moments: W (outputs × inputs) and c of the map z = W (x − c) that `step` names: "pca" or "lda" with `n`
    /// outputs, or "standardise".
    fn linear_map<'py>(
        &self,
        py: Python<'py>,
        step: &str,
        n: usize,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let step = match step {
            "pca" => Step::Pca(n),
            "lda" => Step::Lda(n),
            "standardise" => Step::Standardise,
            _ => return Err(PyTypeError::new_err(format!("there is no map {step:?}"))),
        };
        let mut classes = Vec::new();
        for block in self.0.summary().block(0).map_err(raise)? {
            match block {
                AnyStatistic::Gaussian(GaussianStatistic::Full(moments)) => classes.push(moments),
                _ => return Err(PyTypeError::new_err("these statistics are no moments")),
            }
        }
        let map = step.fit(&classes, &self.0.schema().names()).map_err(raise)?;
        let (weights, centre) = map.parts();
        let w = to_numpy(py, weights.data(), &[map.outputs(), map.inputs()])?;
        Ok((w, to_numpy(py, centre, &[centre.len()])?))
    }

    /// Of moments: means (classes × columns) and scatters (classes × columns × columns).
    fn moments<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        self.read(|classes| {
            let (mut means, mut scatters, mut shape) = (Vec::new(), Vec::new(), Vec::new());
            for class in classes {
                let AnyStatistic::Gaussian(GaussianStatistic::Full(moments)) = class else {
                    return Err(PyTypeError::new_err("these statistics are no moments"));
                };
                shape = vec![classes.len(), moments.width(), moments.width()];
                means.extend_from_slice(moments.mean());
                let mut scatter = moments.scatter().clone();
                scatter.mirror_lower();
                scatters.extend_from_slice(scatter.data());
            }
            let width = shape.get(1).copied().unwrap_or(0);
            Ok((to_numpy(py, &means, &[classes.len(), width])?, to_numpy(py, &scatters, &shape)?))
        })
    }
}
