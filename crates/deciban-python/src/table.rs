//! [`Table`]: arrays of Python as the columns of a batch.

use deciban::data::{Batch, Column, Integers, Kind, Schema, Sparse};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::array::Array;
use crate::errors::raise;

enum Source {
    /// All columns of a matrix.
    Matrix(Array),
    /// A column of numbers or counts.
    Numbers(Array, Kind),
    /// Codes of categories, a column after the other.
    CodeMatrix(Py<Codes>),
    /// Codes of a category, with its levels.
    Codes(Array, Vec<String>),
    /// Rows of a compressed sparse matrix.
    Sparse { offsets: Array, indices: Array, counts: Array, width: usize },
}

/// A matrix of integers as codes of categories, a column after the other.
#[pyclass(frozen, module = "deciban._core")]
pub struct Codes {
    columns: Vec<Vec<u32>>,
    /// Rows and columns.
    #[pyo3(get)]
    shape: (usize, usize),
    /// One more than the highest code of each column.
    #[pyo3(get)]
    levels: Vec<usize>,
}

#[pymethods]
impl Codes {
    /// The codes, or `None` if one is negative.
    #[staticmethod]
    fn of(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let array = Array::new(array)?;
        let Some(columns) = py.detach(|| array.codes())? else { return Ok(None) };
        let (columns, levels) = columns.into_iter().unzip();
        Ok(Some(Codes { columns, shape: (array.rows(), array.columns()), levels }))
    }
}

/// Columns, classes and weights, borrowed from Python.
#[pyclass(module = "deciban._core")]
pub struct Table {
    rows: usize,
    sources: Vec<(String, Source)>,
    classes: Option<Array>,
    weights: Option<Array>,
}

impl Table {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The rows as the library sees them.
    pub fn batch(&self) -> PyResult<Batch<'_>> {
        let mut batch = Batch::new(self.rows);
        for (_, source) in &self.sources {
            batch = match source {
                Source::Matrix(array) => {
                    let (values, start) = array.values();
                    let (by_row, by_column) = array.strides();
                    for j in 0..array.columns() {
                        let first = (start as isize + j as isize * by_column) as usize;
                        batch = batch.strided(values, first, by_row).map_err(raise)?;
                    }
                    batch
                }
                Source::Numbers(array, _) => {
                    let (values, start) = array.values();
                    batch.strided(values, start, array.strides().0).map_err(raise)?
                }
                Source::CodeMatrix(matrix) => {
                    for codes in &matrix.get().columns {
                        batch = batch.codes(codes).map_err(raise)?;
                    }
                    batch
                }
                Source::Codes(array, _) => batch.codes(array.slice::<u32>()?).map_err(raise)?,
                Source::Sparse { offsets, indices, counts, .. } => {
                    let sparse = Sparse::new(offsets.integers()?, indices.integers()?, counts.values().0);
                    batch.sparse(sparse.map_err(raise)?).map_err(raise)?
                }
            };
        }
        if let Some(classes) = &self.classes {
            batch = batch.classes(classes.slice::<u32>()?).map_err(raise)?;
        }
        if let Some(weights) = &self.weights {
            batch = batch.weights(weights.slice::<f64>()?).map_err(raise)?;
        }
        Ok(batch)
    }

    /// What the columns are, with classes named by their codes, and the columns of sparse matrices too, if
    /// `name_words`: to count and to score, their numbers do.
    pub fn schema(&self, classes: usize, name_words: bool) -> PyResult<Schema> {
        let mut columns = Vec::new();
        for (name, source) in &self.sources {
            match source {
                Source::Matrix(array) if array.columns() == 1 => columns.push(Column::number(name)),
                Source::Matrix(array) => {
                    columns.extend((0..array.columns()).map(|j| Column::number(format!("{name}{j}"))));
                }
                Source::Numbers(_, kind) => {
                    columns.push(Column { name: name.clone(), kind: *kind, levels: Vec::new() });
                }
                Source::CodeMatrix(matrix) => columns.extend((0..matrix.get().shape.1).map(|j| Column {
                    name: format!("{name}{j}"),
                    kind: Kind::Category,
                    levels: Vec::new(),
                })),
                Source::Codes(_, levels) => {
                    let (name, levels) = (name.clone(), levels.clone());
                    columns.push(Column { name, kind: Kind::Category, levels });
                }
                Source::Sparse { width, .. } => {
                    let levels = if name_words { (0..*width).map(|j| j.to_string()).collect() } else { Vec::new() };
                    columns.push(Column { name: name.clone(), kind: Kind::Text, levels });
                }
            }
        }
        Schema::new(columns, "y", (0..classes).map(|c| c.to_string()).collect()).map_err(raise)
    }

    /// What the columns are, with classes of these names.
    pub fn named_schema(&self, target: &str, classes: Vec<String>) -> PyResult<Schema> {
        let columns = self.schema(0, true)?.columns().to_vec();
        Schema::new(columns, target, classes).map_err(raise)
    }

    fn check(&self, rows: usize, what: &str) -> PyResult<()> {
        match rows == self.rows {
            true => Ok(()),
            false => Err(PyValueError::new_err(format!("{what} has {rows} rows, and the table {}", self.rows))),
        }
    }
}

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (rows, classes=None, weights=None))]
    fn new(rows: usize, classes: Option<&Bound<'_, PyAny>>, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let (classes, weights) = (classes.map(Array::new).transpose()?, weights.map(Array::new).transpose()?);
        let table = Table { rows, sources: Vec::new(), classes: None, weights: None };
        classes.as_ref().map_or(Ok(()), |array| table.check(array.rows(), "y"))?;
        weights.as_ref().map_or(Ok(()), |array| table.check(array.rows(), "sample_weight"))?;
        Ok(Table { classes, weights, ..table })
    }

    /// Adds the columns of a matrix, or one column.
    fn add_matrix(&mut self, name: String, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let array = Array::new(array)?;
        self.check(array.rows(), &name)?;
        self.sources.push((name, Source::Matrix(array)));
        Ok(())
    }

    /// Adds a column of kind "number" or "count".
    fn add_numbers(&mut self, name: String, array: &Bound<'_, PyAny>, kind: &str) -> PyResult<()> {
        let kind = match kind {
            "number" => Kind::Number,
            "count" => Kind::Count,
            _ => return Err(PyValueError::new_err(format!("{kind:?} is no kind of numbers"))),
        };
        let array = Array::new(array)?;
        if array.columns() != 1 {
            return Err(PyValueError::new_err(format!("{name}: a column has one dimension")));
        }
        self.check(array.rows(), &name)?;
        self.sources.push((name, Source::Numbers(array, kind)));
        Ok(())
    }

    /// Adds the columns of a matrix of codes.
    fn add_code_matrix(&mut self, name: String, codes: &Bound<'_, Codes>) -> PyResult<()> {
        self.check(codes.get().shape.0, &name)?;
        self.sources.push((name, Source::CodeMatrix(codes.clone().unbind())));
        Ok(())
    }

    /// Adds a category by its codes.
    fn add_codes(&mut self, name: String, codes: &Bound<'_, PyAny>, levels: Vec<String>) -> PyResult<()> {
        let codes = Array::new(codes)?;
        self.check(codes.rows(), &name)?;
        self.sources.push((name, Source::Codes(codes, levels)));
        Ok(())
    }

    /// Adds a matrix of compressed rows: int32 or int64 offsets and indices, numbers of any type.
    fn add_sparse(
        &mut self,
        name: String,
        offsets: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        counts: &Bound<'_, PyAny>,
        width: usize,
    ) -> PyResult<()> {
        let (offsets, indices, counts) = (Array::new(offsets)?, Array::new(indices)?, Array::new(counts)?);
        self.check(offsets.rows().saturating_sub(1), &name)?;
        let most = match indices.integers()? {
            Integers::U32(slice) => slice.par_iter().max().map(|&j| j as usize),
            Integers::I32(slice) => slice.par_iter().max().map(|&j| j as usize),
            Integers::I64(slice) => slice.par_iter().max().map(|&j| j as usize),
            Integers::Usize(slice) => slice.par_iter().max().copied(),
        };
        if most.is_some_and(|most| most >= width) {
            return Err(PyValueError::new_err(format!("an index of `{name}` is not below its {width} columns")));
        }
        self.sources.push((name, Source::Sparse { offsets, indices, counts, width }));
        Ok(())
    }
}
