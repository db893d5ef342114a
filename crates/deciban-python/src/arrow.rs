//! Tables and columns of others through the Arrow C data interface: objects that have `__arrow_c_stream__` or
//! `__arrow_c_array__`, as those of PyArrow, Polars and pandas do. Nothing is copied.

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::ArrayStreamReader;
use arrow_array::{Array, ArrayReader, ArrayRef, make_array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

/// An array in pieces, and what it is.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<(FieldRef, Vec<ArrayRef>)> {
    let wrong = |e: ArrowError| PyValueError::new_err(e.to_string());
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let stream = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: a capsule of this name points to a stream. It is moved out, and what it leaves behind counts
        // as released, so the capsule does not release it, too.
        let stream = unsafe { ArrayStreamReader::from_raw(stream.cast().as_ptr()) }.map_err(wrong)?;
        let field = stream.field().clone();
        return Ok((field, stream.collect::<Result<_, _>>().map_err(wrong)?));
    }
    if !object.hasattr("__arrow_c_array__")? {
        return Err(PyTypeError::new_err(format!("{} has no Arrow C interface", object.get_type())));
    }
    let pair = object.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.cast::<PyTuple>()?.extract()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: capsules of these names point to a schema, which is borrowed while the capsule lives, and to an
    // array, which is moved out: what it leaves behind counts as released.
    let (field, data) = unsafe {
        let schema = schema.as_ref();
        let field = Field::try_from(schema).map_err(wrong)?;
        (field, from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema).map_err(wrong)?)
    };
    Ok((field.into(), vec![make_array(data)]))
}

/// The columns of a table: its names, each column in pieces, and the number of rows.
#[allow(clippy::type_complexity)]
pub fn import_table(object: &Bound<'_, PyAny>) -> PyResult<(Vec<(String, Vec<ArrayRef>)>, usize)> {
    let (field, pieces) = import(object)?;
    let DataType::Struct(fields) = field.data_type() else {
        return Err(PyTypeError::new_err(format!("a table has columns, and this is of type {}", field.data_type())));
    };
    let column = |(place, field): (usize, &FieldRef)| {
        (field.name().clone(), pieces.iter().map(|piece| piece.as_struct().column(place).clone()).collect())
    };
    Ok((fields.iter().enumerate().map(column).collect(), pieces.iter().map(|piece| piece.len()).sum()))
}
