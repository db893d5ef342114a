//! NumPy arrays through their `__array_interface__`: where the numbers lie, of which type, shape and
//! strides. Nothing is copied, and no version of NumPy's C interface is asked for.

use deciban::data::{Batch, Cells, Integers, Rows, Tile, Values};
use deciban::numerics;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict, PyTuple};
use rayon::prelude::*;

use crate::errors::raise;
use crate::work;

/// The types of numbers that are read in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Type {
    F64,
    F32,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    /// False and True, as 0 and 1.
    Bool,
}

impl Type {
    fn of(typestr: &str) -> Option<(Type, usize)> {
        let (order, name) = typestr.split_at_checked(1)?;
        let (kind, size) = match name {
            "f8" => (Type::F64, 8),
            "f4" => (Type::F32, 4),
            "u1" => (Type::U8, 1),
            "b1" => (Type::Bool, 1),
            "i1" => (Type::I8, 1),
            "u2" => (Type::U16, 2),
            "i2" => (Type::I16, 2),
            "u4" => (Type::U32, 4),
            "i4" => (Type::I32, 4),
            "u8" => (Type::U64, 8),
            "i8" => (Type::I64, 8),
            _ => return None,
        };
        let native = if cfg!(target_endian = "little") { "<" } else { ">" };
        (order == "|" || order == native).then_some((kind, size))
    }
}

/// An array that Python owns, of one or two dimensions.
///
/// The caller keeps others from writing to it while Rust reads, as with every library that leaves the
/// interpreter's lock.
pub struct Array {
    data: *const u8,
    kind: Type,
    rows: usize,
    columns: usize,
    /// Steps from row to row and from column to column, in elements.
    strides: (isize, isize),
    writable: bool,
    /// Keeps the memory alive.
    _owner: Py<PyAny>,
}

// SAFETY: the memory is that of an array which `_owner` keeps alive; it is only read, but for
// `slice_mut`, which asks for `&mut self`.
unsafe impl Send for Array {}
unsafe impl Sync for Array {}

/// A type that the elements of an array can be taken as.
pub trait Element: Copy {
    #[doc(hidden)]
    const TYPE: Type;
}

macro_rules! elements {
    ($($type:ty => $variant:ident),*) => { $(impl Element for $type { const TYPE: Type = Type::$variant; })* };
}
elements!(f64 => F64, f32 => F32, u32 => U32, i32 => I32, i64 => I64, bool => Bool);

/// Whether an array of doubles in one piece holds neither NaN nor infinities.
#[pyfunction]
pub fn all_finite(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<bool> {
    const PART: usize = 1 << 16;
    let array = Array::new(array)?;
    let values = array.slice::<f64>()?;
    match values.len() <= PART {
        true => Ok(numerics::all_finite(values)),
        false => work::run(py, None, |_| Ok(values.par_chunks(PART).all(numerics::all_finite))),
    }
}

impl Array {
    /// The memory behind a NumPy array.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let interface = object
            .getattr("__array_interface__")
            .map_err(|_| PyTypeError::new_err(format!("expected a NumPy array, found {}", object.get_type())))?;
        let interface = interface.cast::<PyDict>()?;
        let item = |name: &str| {
            interface.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("the array has no `{name}`")))
        };
        let typestr: String = item("typestr")?.extract()?;
        let (kind, size) = Type::of(&typestr)
            .ok_or_else(|| PyTypeError::new_err(format!("arrays of type `{typestr}` cannot be read")))?;
        let shape: Vec<usize> = item("shape")?.extract()?;
        let (rows, columns) = match shape[..] {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => return Err(PyValueError::new_err(format!("{} dimensions instead of 1 or 2", shape.len()))),
        };
        let (address, read_only): (usize, bool) = item("data")?.cast::<PyTuple>()?.extract()?;
        let strides = match interface.get_item("strides")? {
            Some(strides) if !strides.is_none() => {
                let bytes: Vec<isize> = strides.extract()?;
                let odd = bytes.iter().any(|s| s % size as isize != 0);
                if odd || !address.is_multiple_of(size) {
                    return Err(PyValueError::new_err("the array is not aligned: copy it first"));
                }
                (bytes[0] / size as isize, bytes.get(1).map_or(0, |s| s / size as isize))
            }
            _ if !address.is_multiple_of(size) => {
                return Err(PyValueError::new_err("the array is not aligned: copy it first"));
            }
            _ => (columns as isize, 1),
        };
        Ok(Array {
            data: address as *const u8,
            kind,
            rows,
            columns,
            strides,
            writable: !read_only,
            _owner: object.clone().unbind(),
        })
    }

    /// An array to write scores into: a row per row, a column per class.
    pub fn of_scores(object: &Bound<'_, PyAny>, rows: usize, classes: usize) -> PyResult<Self> {
        let array = Array::new(object)?;
        match (array.rows(), array.columns()) == (rows, classes) {
            true => Ok(array),
            false => Err(PyValueError::new_err("the output needs a row per row and a column per class")),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns; 1 for a vector.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Steps from row to row and from column to column, in elements.
    pub fn strides(&self) -> (isize, isize) {
        self.strides
    }

    /// The memory from the lowest to the highest element, and where element (0, 0) lies in it.
    pub fn values(&self) -> (Values<'_>, usize) {
        if self.rows == 0 || self.columns == 0 {
            return (Values::F64(&[]), 0);
        }
        let reach = |length: usize, stride: isize| (length as isize - 1) * stride;
        let (by_row, by_column) = (reach(self.rows, self.strides.0), reach(self.columns, self.strides.1));
        let (lowest, highest) = (by_row.min(0) + by_column.min(0), by_row.max(0) + by_column.max(0));
        let length = (highest - lowest) as usize + 1;
        let start = lowest.unsigned_abs();
        macro_rules! span {
            ($($($kind:ident)|+ => $variant:ident($type:ty)),*) => {
                match self.kind {
                    // SAFETY: shape and strides are those of a live, aligned array, so all memory between
                    // its lowest and highest element belongs to it.
                    $($(Type::$kind)|+ => Values::$variant(unsafe {
                        std::slice::from_raw_parts(self.data.cast::<$type>().offset(lowest), length)
                    })),*
                }
            };
        }
        let values = span!(
            F64 => F64(f64), F32 => F32(f32), U8 | Bool => U8(u8), I8 => I8(i8), U16 => U16(u16), I16 => I16(i16),
            U32 => U32(u32), I32 => I32(i32), U64 => U64(u64), I64 => I64(i64)
        );
        (values, start)
    }

    /// The columns of a matrix.
    pub fn batch(&self) -> PyResult<Batch<'_>> {
        let (values, start) = self.values();
        let mut batch = Batch::new(self.rows);
        for j in 0..self.columns as isize {
            batch =
                batch.strided(values, (start as isize + j * self.strides.1) as usize, self.strides.0).map_err(raise)?;
        }
        Ok(batch)
    }

    /// Whether it is this object's memory.
    pub fn is(&self, object: &Bound<'_, PyAny>) -> bool {
        self._owner.is(object)
    }

    /// Whether it holds floats of single precision.
    pub fn is_narrow(&self) -> bool {
        self.kind == Type::F32
    }

    /// A copy of the elements, row by row.
    pub fn to_vec(&self) -> PyResult<Vec<f64>> {
        let (batch, mut tile) = (self.batch()?, Tile::default());
        let columns: Vec<usize> = (0..self.columns).collect();
        Cells::new(&batch, &columns, Rows::Range(0..self.rows)).read_numbers(&mut tile).map_err(raise)?;
        Ok((0..self.rows * self.columns).map(|k| tile.column(k % self.columns)[k / self.columns]).collect())
    }

    /// A number that changes with what the memory holds.
    pub fn content(&self) -> u64 {
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        let bytes = bytes_of(&self.values().0);
        let mut sums = [bytes.len() as u64; 8];
        let (blocks, last) = bytes.as_chunks::<64>();
        for block in blocks {
            let (words, _) = block.as_chunks::<8>();
            for k in 0..8 {
                sums[k] = (sums[k].rotate_left(23) ^ u64::from_le_bytes(words[k])).wrapping_mul(FACTOR);
            }
        }
        let all = sums.into_iter().chain(last.iter().map(|byte| u64::from(*byte)));
        all.fold(0, |all, part| (all.rotate_left(23) ^ part).wrapping_mul(FACTOR))
    }

    /// The elements of a contiguous array of integers, as SciPy has them for offsets and indices.
    pub fn integers(&self) -> PyResult<Integers<'_>> {
        match self.kind {
            Type::U32 => Ok(self.slice::<u32>()?.into()),
            Type::I32 => Ok(self.slice::<i32>()?.into()),
            _ => Ok(self.slice::<i64>()?.into()),
        }
    }

    fn contiguous<T: Element>(&self) -> PyResult<usize> {
        let dense = self.strides.1 == 1 || self.columns == 1;
        let packed = self.rows <= 1 || self.strides.0 == self.columns as isize;
        if self.kind != T::TYPE || !dense || !packed {
            return Err(PyTypeError::new_err(format!("expected a contiguous array of {:?}", T::TYPE)));
        }
        Ok(self.rows * self.columns)
    }

    /// The elements of a contiguous array, row by row.
    pub fn slice<T: Element>(&self) -> PyResult<&[T]> {
        match self.contiguous::<T>()? {
            0 => Ok(&[]),
            // SAFETY: as in `values`.
            length => Ok(unsafe { std::slice::from_raw_parts(self.data.cast::<T>(), length) }),
        }
    }

    /// The elements of a contiguous array, to write.
    pub fn slice_mut<T: Element>(&mut self) -> PyResult<&mut [T]> {
        if !self.writable {
            return Err(PyValueError::new_err("the array to write to is read-only"));
        }
        match self.contiguous::<T>()? {
            0 => Ok(&mut []),
            // SAFETY: as in `values`; the array is writable and borrowed for as long as the slice.
            length => Ok(unsafe { std::slice::from_raw_parts_mut(self.data.cast::<T>().cast_mut(), length) }),
        }
    }
}

/// The bytes of some numbers.
fn bytes_of<'a>(values: &Values<'a>) -> &'a [u8] {
    fn bytes<T>(slice: &[T]) -> &[u8] {
        // SAFETY: the bytes of numbers may be read as such.
        unsafe { std::slice::from_raw_parts(slice.as_ptr().cast::<u8>(), size_of_val(slice)) }
    }
    match values {
        Values::F64(slice) => bytes(slice),
        Values::F32(slice) => bytes(slice),
        Values::U8(slice) => bytes(slice),
        Values::I8(slice) => bytes(slice),
        Values::U16(slice) => bytes(slice),
        Values::I16(slice) => bytes(slice),
        Values::U32(slice) => bytes(slice),
        Values::I32(slice) => bytes(slice),
        Values::U64(slice) => bytes(slice),
        Values::I64(slice) => bytes(slice),
    }
}

/// A new NumPy array of these numbers, which lie row by row.
pub fn to_numpy<'py>(py: Python<'py>, values: &[f64], shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: any eight bytes of a float may be read as bytes.
    let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
    // Bytes of a `bytearray` may be written to, and so may the array.
    let flat = py.import("numpy")?.call_method1("frombuffer", (PyByteArray::new(py, bytes),))?;
    flat.call_method1("reshape", (PyTuple::new(py, shape)?,))
}
