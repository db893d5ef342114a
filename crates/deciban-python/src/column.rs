//! [`Column`]: cells that are not numbers in an array, on their way to a table. Whatever they came as, they are
//! Arrow arrays here, and read as those of files are.

use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int32Array, Int64Array,
    UInt64Array,
};
use arrow_schema::DataType;
use deciban::data::Values;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString};

use crate::array::Array;
use crate::arrow;

/// Cells of any type.
#[pyclass(frozen, module = "deciban._core")]
pub struct Column {
    pieces: Vec<ArrayRef>,
}

impl Column {
    /// Cells in pieces.
    pub fn of_pieces(pieces: Vec<ArrayRef>) -> Self {
        Column { pieces }
    }

    /// The cells, in pieces.
    pub fn pieces(&self) -> &[ArrayRef] {
        &self.pieces
    }

    /// The number of cells.
    pub fn rows(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// The cells as they lie, if they are numbers, none of which is missing, in one piece.
    pub fn numbers(&self) -> Option<ArrayRef> {
        match &self.pieces[..] {
            [piece] if piece.null_count() == 0 && values(piece).is_some() => Some(piece.clone()),
            _ => None,
        }
    }
}

impl Column {
    /// Flags of a column that was fitted as 0 and 1, in these terms; `None` for all other columns. (A column that was
    /// fitted as `true` and `false` is known to be a flag, however it is written.)
    pub fn in_terms_of(&self, levels: &[String]) -> Option<Column> {
        if levels.is_empty() || levels.iter().any(|level| level != "0" && level != "1") {
            return None;
        }
        let as_numbers = |piece: &ArrayRef| -> Option<ArrayRef> {
            let flags = piece.as_boolean_opt()?;
            Some(Arc::new(flags.iter().map(|flag| flag.map(i64::from)).collect::<Int64Array>()))
        };
        Some(Column { pieces: self.pieces.iter().map(as_numbers).collect::<Option<_>>()? })
    }
}

/// The numbers of an array, if it has some; those that are null are missing.
fn numbers(array: &ArrayRef) -> Option<Box<dyn Iterator<Item = Option<f64>> + '_>> {
    macro_rules! numbers {
        ($($type:ident => $arrow:ty),*) => {
            match array.data_type() {
                $(DataType::$type => {
                    Some(Box::new(array.as_primitive::<$arrow>().iter().map(|x| x.map(|x| x as f64))))
                })*
                _ => None,
            }
        };
    }
    numbers!(Float64 => Float64Type, Float32 => Float32Type, Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type,
        Int64 => Int64Type, UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type)
}

/// The numbers of an array.
pub fn values(array: &ArrayRef) -> Option<Values<'_>> {
    macro_rules! values {
        ($($type:ident => $arrow:ty, $values:ident);*) => {
            match array.data_type() {
                $(DataType::$type => Some(Values::$values(array.as_primitive::<$arrow>().values())),)*
                _ => None,
            }
        };
    }
    values!(Float64 => Float64Type, F64; Float32 => Float32Type, F32; Int8 => Int8Type, I8; Int16 => Int16Type, I16;
        Int32 => Int32Type, I32; Int64 => Int64Type, I64; UInt8 => UInt8Type, U8; UInt16 => UInt16Type, U16;
        UInt32 => UInt32Type, U32; UInt64 => UInt64Type, U64)
}

#[pymethods]
impl Column {
    /// Objects: flags or numbers if all are, else texts; times that have passed are numbers of days. None, NaN, and what
    /// pandas has for them are missing.
    #[staticmethod]
    fn of_list(cells: &Bound<'_, PyList>) -> PyResult<Self> {
        let types = Types::new(cells.py())?;
        let mut common = None;
        let mut texts = LargeStringBuilder::with_capacity(cells.len(), 8 * cells.len());
        for cell in cells.iter() {
            if let Ok(text) = cell.cast::<PyString>() {
                common = Some(Type::Text);
                texts.append_value(text.to_str()?);
                continue;
            }
            if is_missing(&cell)? {
                texts.append_null();
                continue;
            }
            let found = types.of(&cell)?;
            common = Some(if common.is_none_or(|common| common == found) { found } else { Type::Text });
            texts.append_value(text_of(&cell, found == Type::Number)?);
        }
        let numbers = |number: fn(&Bound<'_, PyAny>) -> PyResult<f64>| {
            let cell = |cell: Bound<'_, PyAny>| if is_missing(&cell)? { Ok(f64::NAN) } else { number(&cell) };
            cells.iter().map(cell).collect::<PyResult<Vec<f64>>>()
        };
        let piece: ArrayRef = match common {
            None | Some(Type::Text) => Arc::new(texts.finish()),
            Some(Type::Number) => Arc::new(Float64Array::from(numbers(|cell| cell.extract())?)),
            Some(Type::Duration) => Arc::new(Float64Array::from(numbers(|cell| {
                Ok(cell.call_method0("total_seconds")?.extract::<f64>()? / 86400.0)
            })?)),
            Some(Type::Flag) => {
                let flag = |cell: Bound<'_, PyAny>| match is_missing(&cell)? {
                    true => Ok(None),
                    false => cell.is_truthy().map(Some),
                };
                Arc::new(BooleanArray::from(cells.iter().map(flag).collect::<PyResult<Vec<_>>>()?))
            }
        };
        Ok(Column { pieces: vec![piece] })
    }

    /// A copy of the numbers or flags of a vector, of whatever type and stride.
    #[staticmethod]
    fn of_array(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let is_flag = array.getattr("dtype")?.getattr("kind")?.extract::<String>()? == "b";
        let array = Array::new(array)?;
        let ((values, start), (step, _)) = (array.values(), array.strides());
        let place = |i: usize| (start as isize + i as isize * step) as usize;
        let rows = 0..array.rows();
        let piece: ArrayRef = match values {
            Values::U8(x) if is_flag => Arc::new(rows.map(|i| Some(x[place(i)] != 0)).collect::<BooleanArray>()),
            Values::F64(x) => Arc::new(Float64Array::from_iter_values(rows.map(|i| x[place(i)]))),
            Values::F32(x) => Arc::new(Float32Array::from_iter_values(rows.map(|i| x[place(i)]))),
            Values::U64(x) => Arc::new(UInt64Array::from_iter_values(rows.map(|i| x[place(i)]))),
            Values::I64(x) => Arc::new(Int64Array::from_iter_values(rows.map(|i| x[place(i)]))),
            Values::U8(x) => Arc::new(Int64Array::from_iter_values(rows.map(|i| x[place(i)].into()))),
            Values::I8(x) => Arc::new(Int64Array::from_iter_values(rows.map(|i| x[place(i)].into()))),
            Values::U16(x) => Arc::new(Int64Array::from_iter_values(rows.map(|i| x[place(i)].into()))),
            Values::I16(x) => Arc::new(Int64Array::from_iter_values(rows.map(|i| x[place(i)].into()))),
            Values::U32(x) => Arc::new(Int64Array::from_iter_values(rows.map(|i| x[place(i)].into()))),
            Values::I32(x) => Arc::new(Int64Array::from_iter_values(rows.map(|i| x[place(i)].into()))),
        };
        Ok(Column { pieces: vec![piece] })
    }

    /// Categories by their codes, of 32 bits; −1 is missing.
    #[staticmethod]
    fn of_codes(codes: &Bound<'_, PyAny>, categories: &Column) -> PyResult<Self> {
        let codes = Array::new(codes)?;
        let codes: Int32Array = codes.slice::<i32>()?.iter().map(|code| (*code >= 0).then_some(*code)).collect();
        let categories = match &categories.pieces[..] {
            [piece] => piece.clone(),
            _ => return Err(PyValueError::new_err("categories must lie in one piece")),
        };
        let array = DictionaryArray::<Int32Type>::try_new(codes, categories);
        Ok(Column { pieces: vec![Arc::new(array.map_err(|e| PyValueError::new_err(e.to_string()))?)] })
    }

    /// A column through the Arrow C interface, where it lies.
    #[staticmethod]
    fn of_arrow(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Column { pieces: arrow::import(object)?.1 })
    }

    /// The same column, in which these numbers are missing. Texts that stand for a missing cell are known to the reader.
    fn without(&self, missing: Vec<f64>) -> Column {
        let without = |piece: &ArrayRef| -> ArrayRef {
            match numbers(piece) {
                Some(numbers) => {
                    let kept = numbers.map(|x| x.filter(|x| !missing.contains(x)));
                    Arc::new(kept.collect::<Float64Array>())
                }
                None => piece.clone(),
            }
        };
        Column { pieces: self.pieces.iter().map(without).collect() }
    }

    fn __len__(&self) -> usize {
        self.rows()
    }
}

/// The names and columns of a table through the Arrow C interface, where they lie, and the number of rows.
#[pyfunction]
pub fn arrow_columns(object: &Bound<'_, PyAny>) -> PyResult<(Vec<(String, Column)>, usize)> {
    let (columns, rows) = arrow::import_table(object)?;
    Ok((columns.into_iter().map(|(name, pieces)| (name, Column { pieces })).collect(), rows))
}

/// What an object is that is not missing.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    Flag,
    Number,
    Duration,
    Text,
}

/// The classes that are not built in.
struct Types<'py> {
    number: Bound<'py, PyAny>,
    flag: Bound<'py, PyAny>,
    decimal: Bound<'py, PyAny>,
    duration: Bound<'py, PyAny>,
}

impl<'py> Types<'py> {
    fn new(py: Python<'py>) -> PyResult<Self> {
        let numpy = py.import("numpy")?;
        Ok(Types {
            number: numpy.getattr("number")?,
            flag: numpy.getattr("bool_")?,
            decimal: py.import("decimal")?.getattr("Decimal")?,
            duration: py.import("datetime")?.getattr("timedelta")?,
        })
    }

    fn of(&self, cell: &Bound<'_, PyAny>) -> PyResult<Type> {
        if cell.is_instance_of::<PyBool>() || cell.is_instance(&self.flag)? {
            return Ok(Type::Flag);
        }
        if cell.is_instance(&self.duration)? {
            return Ok(Type::Duration);
        }
        let is_number = cell.is_instance_of::<PyInt>() || cell.is_instance_of::<PyFloat>();
        let is_number = is_number || cell.is_instance(&self.number)? || cell.is_instance(&self.decimal)?;
        Ok(if is_number { Type::Number } else { Type::Text })
    }
}

/// None, NaN, pandas' NA and NaT.
fn is_missing(cell: &Bound<'_, PyAny>) -> PyResult<bool> {
    if cell.is_none() {
        return Ok(true);
    }
    if let Ok(number) = cell.cast::<PyFloat>() {
        return Ok(number.value().is_nan());
    }
    if cell.is_instance_of::<PyInt>() || cell.is_instance_of::<PyBytes>() {
        return Ok(false);
    }
    let name = cell.get_type().name()?;
    Ok(name == "NAType" || name == "NaTType" || cell.ne(cell).unwrap_or(false))
}

/// A cell that is no text, as files write it.
fn text_of(cell: &Bound<'_, PyAny>, is_number: bool) -> PyResult<String> {
    if is_number {
        // Whole numbers have no point.
        return match cell.is_instance_of::<PyInt>() {
            true => Ok(cell.str()?.to_str()?.to_string()),
            false => Ok(cell.extract::<f64>().map_or(cell.str()?.to_string(), |number| number.to_string())),
        };
    }
    if let Ok(bytes) = cell.cast::<PyBytes>() {
        return Ok(String::from_utf8_lossy(bytes.as_bytes()).into_owned());
    }
    let text = cell.str()?.to_str()?.to_string();
    let name = cell.get_type().name()?;
    let is_flag = cell.is_instance_of::<PyBool>() || name == "bool" || name == "bool_";
    Ok(if is_flag { text.to_lowercase() } else { text })
}
