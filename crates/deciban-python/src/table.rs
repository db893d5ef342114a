//! [`Table`]: arrays of Python as the columns of a batch.

use std::sync::atomic::AtomicBool;

use arrow_array::ArrayRef;
use deciban::data::{Batch, Column, Kind, Schema, Sparse, Spelling};
use deciban::text::{Reading, Tokeniser};
use deciban_data::{Cells, Known, Options, Target, Vocabulary};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::Array;
use crate::column::{self, Column as Given};
use crate::errors::raise;
use crate::model::Model;
use crate::work;

enum Source {
    /// All columns of a matrix.
    Matrix(Array),
    /// A column of numbers or counts.
    Numbers(Array, Kind),
    /// Numbers of an Arrow array, where they lie.
    Arrow(ArrayRef, Kind),
    /// Cells that were read, with what the column is.
    Cells(Cells, Column),
    /// Rows of a compressed sparse matrix.
    Sparse { offsets: Array, indices: Array, counts: Array, width: usize },
}

/// Columns, classes and weights, borrowed from Python.
#[pyclass(module = "deciban._core")]
pub struct Table {
    rows: usize,
    sources: Vec<(String, Source)>,
    classes: Option<Array>,
    weights: Option<Array>,
    /// The fold or the group of each row.
    folds: Option<Array>,
    /// How cells and texts are read.
    options: Options,
    /// The columns that nobody has said anything of.
    along: Vec<String>,
}

impl Table {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns that nobody has said anything of.
    pub fn along(&self) -> Vec<String> {
        self.along.clone()
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
                Source::Arrow(array, _) => {
                    // Only numbers are kept so.
                    let values = column::values(array).ok_or_else(|| PyValueError::new_err("these are no numbers"))?;
                    batch.strided(values, 0, 1).map_err(raise)?
                }
                Source::Cells(cells, _) => match cells {
                    Cells::Numbers(numbers) => batch.column(&numbers[..]),
                    Cells::Codes(codes) => batch.codes(codes),
                    Cells::Words(words) => words.sparse().and_then(|sparse| batch.sparse(sparse)),
                }
                .map_err(raise)?,
                Source::Sparse { offsets, indices, counts, width } => {
                    let is_little = indices.rows() <= Sparse::FEW;
                    let (offsets, indices, counts) = (offsets.integers()?, indices.integers()?, counts.values().0);
                    let checked = |_: &AtomicBool| Sparse::of_words(offsets, indices, counts, *width);
                    let sparse = Python::attach(|py| work::run_little(py, is_little, None, checked))?;
                    batch.sparse(sparse).map_err(raise)?
                }
            };
        }
        if let Some(classes) = &self.classes {
            batch = batch.classes(classes.slice::<u32>()?).map_err(raise)?;
        }
        if let Some(weights) = &self.weights {
            batch = batch.weights(weights.slice::<f64>()?).map_err(raise)?;
        }
        if let Some(folds) = &self.folds {
            batch = batch.folds(folds.slice::<u32>()?).map_err(raise)?;
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
                Source::Cells(_, column) => columns.push(column.clone()),
                Source::Numbers(_, kind) | Source::Arrow(_, kind) => {
                    columns.push(Column { name: name.clone(), kind: *kind, levels: Vec::new() });
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
        let (tokeniser, hashed_bits) = (self.options.tokeniser.clone(), self.options.vocabulary.hashed_bits);
        let has_texts = self.sources.iter().any(|(_, source)| matches!(source, Source::Cells(Cells::Words(_), _)));
        let reading = has_texts.then_some(Reading { tokeniser, hashed_bits });
        let schema = Schema::new(columns, target, classes).map_err(raise)?.with_reading(reading);
        let missing = self.options.missing.clone().unwrap_or(Spelling::default().missing);
        schema.with_spelling(Spelling { missing, ..Spelling::default() }).map_err(raise)
    }

    /// How files are read, with cells and texts as [`Table::read_with`] has them. `kinds` are pairs of a column and its
    /// kind, which may be "ignore".
    pub fn file_options(
        &self,
        target: &str,
        kinds: Vec<(String, String)>,
        weight: Option<String>,
        fold: Option<String>,
    ) -> PyResult<Options> {
        let (ignored, kinds): (Vec<_>, Vec<_>) = kinds.into_iter().partition(|(_, kind)| kind == "ignore");
        let known = |(name, kind): (String, String)| Ok((name, kind_named(&kind)?));
        Ok(Options {
            kinds: kinds.into_iter().map(known).collect::<PyResult<_>>()?,
            ignore: ignored.into_iter().map(|(name, _)| name).collect(),
            target: Target::Column(target.into()),
            weight,
            fold,
            ..self.options.clone()
        })
    }

    /// Adds a column of this kind, with the levels that are known or those that are found.
    fn add_read(
        &mut self,
        py: Python<'_>,
        name: String,
        given: &Given,
        kind: Kind,
        known: Option<&Known>,
    ) -> PyResult<()> {
        let options = &self.options;
        let read = |stop: &AtomicBool| deciban_data::read(&name, given.pieces(), kind, known, options, stop);
        let (cells, levels) = work::run_little(py, given.rows() <= work::FEW_ROWS, None, read)?;
        let column = Column { name: name.clone(), kind, levels };
        self.sources.push((name, Source::Cells(cells, column)));
        Ok(())
    }

    fn check(&self, rows: usize, what: &str) -> PyResult<()> {
        match rows == self.rows {
            true => Ok(()),
            false => Err(PyValueError::new_err(format!("{what} has {rows} rows, and the table {}", self.rows))),
        }
    }
}

/// The kind of columns of this name.
fn kind_named(name: &str) -> PyResult<Kind> {
    match name {
        "number" => Ok(Kind::Number),
        "count" => Ok(Kind::Count),
        "category" => Ok(Kind::Category),
        "flag" => Ok(Kind::Flag),
        "text" => Ok(Kind::Text),
        _ => Err(PyValueError::new_err(format!("there is no kind {name:?} of columns"))),
    }
}

#[pymethods]
impl Table {
    /// The number of rows.
    #[getter(rows)]
    fn height(&self) -> usize {
        self.rows
    }

    #[new]
    #[pyo3(signature = (rows, classes=None, weights=None))]
    fn new(rows: usize, classes: Option<&Bound<'_, PyAny>>, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let (classes, weights) = (classes.map(Array::new).transpose()?, weights.map(Array::new).transpose()?);
        let table = Table {
            rows,
            sources: Vec::new(),
            classes: None,
            weights: None,
            folds: None,
            options: Options::default(),
            along: Vec::new(),
        };
        classes.as_ref().map_or(Ok(()), |array| table.check(array.rows(), "y"))?;
        weights.as_ref().map_or(Ok(()), |array| table.check(array.rows(), "sample_weight"))?;
        Ok(Table { classes, weights, ..table })
    }

    /// Says which columns came along with a table: nobody has said what they are.
    fn came_along(&mut self, names: Vec<String>) {
        self.along = names;
    }

    /// Gives each row a fold or a group, by its code.
    fn set_folds(&mut self, codes: &Bound<'_, PyAny>) -> PyResult<()> {
        let codes = Array::new(codes)?;
        self.check(codes.rows(), "the list of folds or groups")?;
        self.folds = Some(codes);
        Ok(())
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

    /// How cells and texts are read: the texts that stand for missing cells, and the options of words.
    #[pyo3(signature = (
        missing=None, ngrams=None, characters=false, case=false, no_symbols=false, stop_words=None,
        min_length=None, hashed_bits=None, most_words=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn read_with(
        &mut self,
        missing: Option<Vec<String>>,
        ngrams: Option<(usize, usize)>,
        characters: bool,
        case: bool,
        no_symbols: bool,
        stop_words: Option<Vec<String>>,
        min_length: Option<usize>,
        hashed_bits: Option<u32>,
        most_words: Option<usize>,
    ) -> PyResult<()> {
        let (lowercase, symbols, stop_words) = (!case, !no_symbols, stop_words.unwrap_or_default());
        let default = Tokeniser::default();
        let (ngrams, min_length) = (ngrams.unwrap_or(default.ngrams), min_length.unwrap_or(default.min_length));
        let tokeniser = Tokeniser { characters, lowercase, ngrams, symbols, stop_words, min_length };
        tokeniser.check().map_err(raise)?;
        let most_words = most_words.unwrap_or(Vocabulary::default().most_words);
        let vocabulary = Vocabulary { hashed_bits, most_words };
        self.options = Options { missing, tokeniser, vocabulary, ..Options::default() };
        Ok(())
    }

    /// Texts become words, and cells are missing, as they did for a model.
    fn read_as(&mut self, model: &Model) {
        self.options.missing = Some(model.schema().spelling().missing.clone());
        if let Some(reading) = model.schema().reading() {
            self.options.tokeniser = reading.tokeniser.clone();
            self.options.vocabulary.hashed_bits = reading.hashed_bits;
        }
    }

    /// Adds a column of this kind, or of the kind that it seems to be.
    #[pyo3(signature = (name, column, kind=None))]
    fn add_column(&mut self, py: Python<'_>, name: String, column: &Given, kind: Option<&str>) -> PyResult<()> {
        self.check(column.rows(), &name)?;
        let kind = match kind {
            None => {
                let missing = self.options.missing.clone().unwrap_or(Spelling::default().missing);
                deciban_data::kind_of(&name, column.pieces(), &missing).map_err(raise)?
            }
            Some(kind) => kind_named(kind)?,
        };
        if let (Kind::Number | Kind::Count, Some(numbers)) = (kind, column.numbers()) {
            self.sources.push((name, Source::Arrow(numbers, kind)));
            return Ok(());
        }
        let is_flag = kind == Kind::Flag;
        self.add_read(py, name, column, if is_flag { Kind::Category } else { kind }, None)?;
        match self.sources.last() {
            Some((name, Source::Cells(_, column))) if is_flag && column.levels.len() > 2 => {
                let levels = column.levels.len();
                Err(PyValueError::new_err(format!("column {name:?} is no flag: it has {levels} different values")))
            }
            _ => Ok(()),
        }
    }

    /// Adds the column that a model has in this place; levels and words that it does not know are unseen.
    fn add_known(&mut self, py: Python<'_>, model: &Model, place: usize, column: &Given) -> PyResult<()> {
        let known = model.schema().columns().get(place);
        let known = known.ok_or_else(|| PyValueError::new_err("the model has no such column"))?;
        self.check(column.rows(), &known.name)?;
        let as_fitted = column.in_terms_of(&known.levels);
        let column = as_fitted.as_ref().unwrap_or(column);
        match (known.kind, column.numbers()) {
            (Kind::Number | Kind::Count, Some(numbers)) => {
                self.sources.push((known.name.clone(), Source::Arrow(numbers, known.kind)));
                Ok(())
            }
            _ => self.add_read(py, known.name.clone(), column, known.kind, model.known(place)),
        }
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
        self.sources.push((name, Source::Sparse { offsets, indices, counts, width }));
        Ok(())
    }
}
