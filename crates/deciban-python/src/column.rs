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
    /// Objects: numbers if all are, else texts. None, NaN, and what pandas has for them are missing.
    #[staticmethod]
    fn of_list(cells: &Bound<'_, PyList>) -> PyResult<Self> {
        let number = cells.py().import("numpy")?.getattr("number")?;
        let mut are_numbers = None;
        let mut texts = LargeStringBuilder::with_capacity(cells.len(), 8 * cells.len());
        for cell in cells.iter() {
            if let Ok(text) = cell.cast::<PyString>() {
                are_numbers = Some(false);
                texts.append_value(text.to_str()?);
                continue;
            }
            if is_missing(&cell)? {
                texts.append_null();
                continue;
            }
            let is_flag = cell.is_instance_of::<PyBool>();
            let is_number = !is_flag && (cell.is_instance_of::<PyInt>() || cell.is_instance_of::<PyFloat>());
            let is_number = is_number || (!is_flag && cell.is_instance(&number)?);
            are_numbers = Some(is_number && are_numbers.unwrap_or(true));
            texts.append_value(text_of(&cell, is_number)?);
        }
        if are_numbers != Some(true) {
            return Ok(Column { pieces: vec![Arc::new(texts.finish())] });
        }
        let numbers = cells.iter().map(|cell| match is_missing(&cell)? {
            true => Ok(f64::NAN),
            false => cell.extract::<f64>(),
        });
        Ok(Column { pieces: vec![Arc::new(Float64Array::from(numbers.collect::<PyResult<Vec<f64>>>()?))] })
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
