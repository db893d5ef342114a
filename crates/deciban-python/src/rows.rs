//! [`Rows`]: labelled rows that are read as a stream: files, or record batches of whatever has Arrow's C interface.

use std::sync::Arc;

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use deciban::data::Schema;
use deciban::engine::Watch;
use deciban::{Error, Result};
use deciban_data::{Batches, Files, Options, Reader, RowReader, Share};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyIterator};

use crate::arrow;
use crate::column::Column;
use crate::errors::raise;

/// Rows that are read as a stream.
#[pyclass(frozen, module = "deciban._core")]
pub struct Rows(Source);

enum Source {
    Files(Vec<String>),
    /// Parts of files.
    Shares(Vec<Share>),
    /// A function that returns something with a stream, and whether it may be called again.
    Stream(Arc<Py<PyAny>>, bool),
}

#[pymethods]
impl Rows {
    /// Record batches of what `open` returns; `again` says whether it may be called again, for the same rows.
    #[new]
    fn new(open: Py<PyAny>, again: bool) -> Self {
        Rows(Source::Stream(Arc::new(open), again))
    }

    #[staticmethod]
    fn of_files(paths: Vec<String>) -> Self {
        Rows(Source::Files(paths))
    }

    /// Row groups of Parquet files (the first, and the one behind the last), bytes of delimited text, or whole files.
    #[staticmethod]
    fn of_shares(shares: Vec<(String, Option<(u64, u64)>)>) -> Self {
        let share = |(path, part): (String, Option<(u64, u64)>)| (path, part.map(|(start, end)| start..end));
        Rows(Source::Shares(shares.into_iter().map(share).collect()))
    }

    /// The batches, one after the other, as columns: those of a stream only.
    fn batches(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        match &self.0 {
            Source::Stream(open, _) => Ok(BatchIterator { reader: std::sync::Mutex::new(reader(open.bind(py))?) }),
            _ => Err(PyTypeError::new_err("files have no batches")),
        }
    }
}

impl Rows {
    /// The rows, whose columns are inferred.
    pub fn open(&self, options: Options, watch: &Arc<Watch>) -> Result<Files> {
        let mut files = match &self.0 {
            Source::Files(paths) => Files::open(paths, options),
            Source::Stream(open, again) => Files::of_batches(batches(open, *again)?, options),
            Source::Shares(_) => Err(Error::Schema("parts of files have no columns of their own".into())),
        }?;
        files.watched_by(watch.clone());
        Ok(files)
    }

    /// The rows with the columns of `schema`; `grows` says whether classes, levels and words may be new.
    pub fn open_as(&self, schema: &Schema, options: Options, grows: bool) -> Result<Files> {
        match &self.0 {
            Source::Files(paths) if grows => Files::open_more(paths, options, schema),
            Source::Files(paths) => Files::open_as(paths, options, schema),
            Source::Shares(shares) => RowReader::new(schema, options)?.open_shares(shares, grows),
            Source::Stream(open, again) => {
                let (reader, batches) = (RowReader::new(schema, options)?, batches(open, *again)?);
                if grows { reader.open_more_batches(batches) } else { reader.open_batches(batches) }
            }
        }
    }
}

fn batches(open: &Arc<Py<PyAny>>, again: bool) -> Result<Batches> {
    let open = open.clone();
    let opened = move || Python::attach(|py| reader(open.bind(py)).map_err(told));
    if again { Ok(Batches::again(opened)) } else { opened().map(Batches::once) }
}

/// An error of Python as one of the library.
fn told(error: PyErr) -> Error {
    Error::Schema(format!("the stream could not be opened: {error}"))
}

/// The stream of what `open` returns.
fn reader(open: &Bound<'_, PyAny>) -> PyResult<Reader> {
    stream_of(&open.call0()?)
}

/// The record batches of an object with a stream, or those that it yields.
fn stream_of(object: &Bound<'_, PyAny>) -> PyResult<Reader> {
    if !object.hasattr("__arrow_c_stream__")? {
        return Ok(Box::new(Yielded::new(object.try_iter().map_err(|_| {
            PyTypeError::new_err(format!("{} is not a stream of record batches", object.get_type()))
        })?)?));
    }
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let stream = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name points to a stream. It is moved out, and what it leaves behind counts as
    // released, so the capsule does not release it, too.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.cast().as_ptr()) };
    Ok(Box::new(reader.map_err(|e| PyValueError::new_err(e.to_string()))?))
}

/// Batches that an iterator of Python yields: record batches, or tables.
struct Yielded {
    items: Py<PyIterator>,
    schema: SchemaRef,
    current: Option<Reader>,
}

impl Yielded {
    fn new(items: Bound<'_, PyIterator>) -> PyResult<Self> {
        let py = items.py();
        let mut yielded =
            Yielded { items: items.unbind(), schema: Arc::new(arrow_schema::Schema::empty()), current: None };
        match yielded.advance(py)? {
            true => yielded.schema = yielded.current.as_ref().map_or(yielded.schema, |reader| reader.schema()),
            false => {
                return Err(PyValueError::new_err(
                    "the stream has no batches, so that nothing is known of its columns",
                ));
            }
        }
        Ok(yielded)
    }

    /// Goes on to the next item; `false` if there is none.
    fn advance(&mut self, py: Python<'_>) -> PyResult<bool> {
        let Some(item) = self.items.bind(py).clone().next().transpose()? else { return Ok(false) };
        let has_stream = item.hasattr("__arrow_c_stream__")?;
        self.current = Some(if has_stream { stream_of(&item)? } else { Box::new(only(&item)?) });
        Ok(true)
    }
}

/// A stream of one batch.
fn only(item: &Bound<'_, PyAny>) -> PyResult<impl RecordBatchReader + Send + use<>> {
    let (_, arrays) = arrow::import(item)?;
    let batch = |array: &arrow_array::ArrayRef| {
        let rows = arrow_array::cast::as_struct_array(array);
        RecordBatch::from(StructArray::clone(rows))
    };
    if !arrays.iter().all(|array| matches!(array.data_type(), arrow_schema::DataType::Struct(_))) {
        return Err(PyTypeError::new_err(format!("a batch has columns, and {} has none", item.get_type())));
    }
    let batches: Vec<RecordBatch> = arrays.iter().map(batch).collect();
    let schema = batches.first().map_or_else(|| Arc::new(arrow_schema::Schema::empty()), RecordBatch::schema);
    Ok(arrow_array::RecordBatchIterator::new(batches.into_iter().map(Ok), schema))
}

impl Iterator for Yielded {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.current.as_mut()?.next() {
                return Some(batch);
            }
            match Python::attach(|py| self.advance(py)) {
                Ok(true) => {}
                Ok(false) => {
                    self.current = None;
                    return None;
                }
                Err(e) => {
                    self.current = None;
                    return Some(Err(ArrowError::ExternalError(Box::new(e))));
                }
            }
        }
    }
}

impl RecordBatchReader for Yielded {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The names and cells of columns, and the number of rows.
type Columns = (Vec<(String, Column)>, usize);

/// The batches of a stream, as columns.
#[pyclass(frozen, module = "deciban._core")]
pub struct BatchIterator {
    reader: std::sync::Mutex<Reader>,
}

#[pymethods]
impl BatchIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// The names and cells of the columns of the next batch, and its rows.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Columns>> {
        let next = py.detach(|| self.reader.lock().unwrap_or_else(|e| e.into_inner()).next());
        let batch = next.transpose().map_err(|e| PyValueError::new_err(e.to_string()))?;
        let columns = |batch: RecordBatch| {
            let schema = batch.schema();
            let names = schema.fields().iter().map(|field| field.name().clone());
            let columns = names.zip(batch.columns().iter().map(|array| Column::of_pieces(vec![array.clone()])));
            (columns.collect(), batch.num_rows())
        };
        Ok(batch.map(columns))
    }
}

/// The shares of bytes that a file of delimited text is cut into, or `None` if it cannot be cut.
#[pyfunction]
pub fn byte_shares(path: &str, size: u64) -> PyResult<Option<Vec<(u64, u64)>>> {
    let shares = deciban_data::byte_shares(path, size).map_err(raise)?;
    Ok(shares.map(|shares| shares.into_iter().map(|part| (part.start, part.end)).collect()))
}

/// How many rows each row group of a Parquet file has.
#[pyfunction]
pub fn row_groups(path: &str) -> PyResult<Vec<u64>> {
    deciban_data::row_groups(path).map_err(raise)
}
