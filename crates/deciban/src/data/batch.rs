//! Rows, borrowed: columns of numbers of any width and stride, of codes, and of sparse counts.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut, Range};

use super::{MISSING, Rows, Sparse, UNSEEN};
use crate::error::{Error, Result};

/// Borrowed values of any numeric type.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Values<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
    U8(&'a [u8]),
    I8(&'a [i8]),
    U16(&'a [u16]),
    I16(&'a [i16]),
    U32(&'a [u32]),
    I32(&'a [i32]),
    U64(&'a [u64]),
    I64(&'a [i64]),
}

/// Runs `$body` with `$slice` bound to the typed slice inside `$values`.
macro_rules! with_slice {
    ($values:expr, $slice:ident => $body:expr) => {
        match $values {
            Values::F64($slice) => $body,
            Values::F32($slice) => $body,
            Values::U8($slice) => $body,
            Values::I8($slice) => $body,
            Values::U16($slice) => $body,
            Values::I16($slice) => $body,
            Values::U32($slice) => $body,
            Values::I32($slice) => $body,
            Values::U64($slice) => $body,
            Values::I64($slice) => $body,
        }
    };
}

impl Values<'_> {
    pub(super) fn len(&self) -> usize {
        with_slice!(self, slice => slice.len())
    }
}

impl Values<'_> {
    /// Whether both are the same slice of memory.
    pub(super) fn is_same(&self, other: &Values<'_>) -> bool {
        let place = |values: &Values<'_>| with_slice!(values, slice => (slice.as_ptr().addr(), slice.len()));
        std::mem::discriminant(self) == std::mem::discriminant(other) && place(self) == place(other)
    }
}

/// A number that widens to `f64`.
pub(super) trait Number: Copy {
    fn widen(self) -> f64;
    /// The number as a code: NaN is [`MISSING`], and what is no code is [`UNSEEN`].
    fn code(self) -> u32;
}

pub(super) use with_slice;

macro_rules! values_from {
    ($code:expr; $($type:ty => $variant:ident),*) => {
        $(impl<'a> From<&'a [$type]> for Values<'a> {
            fn from(slice: &'a [$type]) -> Self { Values::$variant(slice) }
        }
        impl Number for $type {
            #[inline(always)]
            #[allow(clippy::unnecessary_cast)]
            fn widen(self) -> f64 { self as f64 }
            #[inline(always)]
            fn code(self) -> u32 { $code(self) }
        })*
    };
}
values_from!(float_code; f64 => F64, f32 => F32);
values_from!(integer_code; u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64);

#[inline(always)]
fn integer_code(x: impl TryInto<u32>) -> u32 {
    x.try_into().map_or(UNSEEN, |code| code.min(UNSEEN))
}

#[inline(always)]
fn float_code(x: impl Into<f64>) -> u32 {
    let x = x.into();
    match x as u32 {
        _ if x.is_nan() => MISSING,
        code if f64::from(code) == x => code.min(UNSEEN),
        _ => UNSEEN,
    }
}

/// A column of numbers: cell `i` is `values[start + i·stride]`.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    pub(super) values: Values<'a>,
    pub(super) start: usize,
    pub(super) stride: isize,
}

impl<'a> Strided<'a> {
    fn new(values: Values<'a>, start: usize, stride: isize, rows: usize) -> Result<Self> {
        if rows > 0 {
            let last = start as i128 + (rows as i128 - 1) * stride as i128;
            if start >= values.len() || last < 0 || last >= values.len() as i128 {
                return Err(Error::Shape {
                    what: "values behind a strided column".into(),
                    expected: last.unsigned_abs() as usize + 1,
                    found: values.len(),
                });
            }
        }
        Ok(Strided { values, start, stride })
    }

    fn skip(self, rows: usize) -> Self {
        Strided { start: (self.start as isize + rows as isize * self.stride) as usize, ..self }
    }

    /// Copies the chosen rows, widened to `f64`.
    pub(crate) fn read(&self, rows: &Rows<'_>, out: &mut [f64]) {
        with_slice!(self.values, slice => self.copy(slice, rows, out, Number::widen));
    }

    /// Copies the chosen rows as codes: NaN is [`MISSING`], and what is no code is [`UNSEEN`].
    pub(super) fn read_codes(&self, rows: &Rows<'_>, out: &mut [u32]) {
        with_slice!(self.values, slice => self.copy(slice, rows, out, Number::code));
    }

    #[inline]
    fn copy<T: Copy, U>(&self, slice: &[T], rows: &Rows<'_>, out: &mut [U], read: impl Fn(T) -> U) {
        let (start, stride) = (self.start as isize, self.stride);
        match rows {
            Rows::Range(range) => {
                let first = start + range.start as isize * stride;
                if stride == 1 {
                    out.iter_mut().zip(&slice[first as usize..]).for_each(|(o, &x)| *o = read(x));
                } else {
                    for (i, o) in out.iter_mut().enumerate() {
                        *o = read(slice[(first + i as isize * stride) as usize]);
                    }
                }
            }
            Rows::Index(index) => {
                for (o, &i) in out.iter_mut().zip(*index) {
                    *o = read(slice[(start + i as isize * stride) as usize]);
                }
            }
        }
    }
}

/// A cell on its own, as sampling makes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A level of a category.
    Level(u32),
    /// Words and how often they occur.
    Counts(Vec<(u32, f64)>),
}

/// The cells of one column of a batch.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// Numbers; NaN is missing.
    Numbers(Strided<'a>),
    /// Codes of categories; [`MISSING`] is missing, [`UNSEEN`] a level that is not in the schema.
    Codes(&'a [u32]),
    /// Counts of words.
    Sparse(Sparse<'a>),
}

impl View<'_> {
    /// What a cell holds, as bits: a number widened to `f64`, or a code; `None` for counts.
    fn bits(&self, row: usize) -> Option<u64> {
        match self {
            View::Numbers(numbers) => {
                let mut cell = [0.0];
                numbers.read(&Rows::Range(row..row + 1), &mut cell);
                Some(cell[0].to_bits())
            }
            View::Codes(codes) => Some(u64::from(codes[row])),
            View::Sparse(_) => None,
        }
    }
}

thread_local! {
    /// Memory of a thread's last batches.
    static SPARE: RefCell<Vec<Vec<View<'static>>>> = const { RefCell::new(Vec::new()) };
}

/// The columns of a batch. Their memory is used again: a batch is often one row.
#[derive(Clone, Debug)]
pub(super) struct Views<'a>(Vec<View<'a>>);

impl Views<'_> {
    fn new() -> Self {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
        Views(spare.map_or_else(Vec::new, without_views))
    }
}

/// The memory of views, none of which is left: an empty vector takes views of other rows.
fn without_views<'a, 'b>(mut views: Vec<View<'a>>) -> Vec<View<'b>> {
    views.clear();
    views.into_iter().map(|_| unreachable!("there are none")).collect()
}

impl Drop for Views<'_> {
    fn drop(&mut self) {
        /// More batches than this, and wider ones, are given back.
        const MOST: (usize, usize) = (8, 4096);
        if (1..=MOST.1).contains(&self.0.capacity()) {
            let views = without_views(std::mem::take(&mut self.0));
            // A thread that ends has nothing to keep.
            let _ = SPARE.try_with(|spare| {
                let mut spare = spare.borrow_mut();
                if spare.len() < MOST.0 {
                    spare.push(views);
                }
            });
        }
    }
}

impl<'a> Deref for Views<'a> {
    type Target = Vec<View<'a>>;
    fn deref(&self) -> &Vec<View<'a>> {
        &self.0
    }
}

impl DerefMut for Views<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// Some rows of a table, borrowed.
///
/// ```
/// use deciban::data::Batch;
/// let heights = [181.0, 175.0, 162.0];
/// let batch = Batch::new(3).column(&heights[..])?.classes(&[1, 1, 0])?;
/// assert_eq!((batch.rows(), batch.width()), (3, 1));
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    rows: usize,
    first_row: u64,
    pub(super) columns: Views<'a>,
    classes: Option<&'a [u32]>,
    pub(super) weights: Option<&'a [f64]>,
    folds: Option<&'a [u32]>,
    /// By the place of their column.
    hashes: Vec<(usize, &'a [u64])>,
    keys: Option<&'a [u64]>,
}

impl<'a> Batch<'a> {
    /// A batch of `rows` rows, still without columns.
    pub fn new(rows: usize) -> Self {
        let (columns, hashes) = (Views::new(), Vec::new());
        Batch { rows, first_row: 0, columns, classes: None, weights: None, folds: None, hashes, keys: None }
    }

    /// Adds a contiguous column of numbers.
    pub fn column(self, values: impl Into<Values<'a>>) -> Result<Self> {
        let values = values.into();
        Error::check_shape("cells of a column", self.rows, values.len())?;
        self.strided(values, 0, 1)
    }

    /// Adds a column of numbers whose cell `i` is `values[start + i·stride]`.
    pub fn strided(mut self, values: impl Into<Values<'a>>, start: usize, stride: isize) -> Result<Self> {
        self.columns.push(View::Numbers(Strided::new(values.into(), start, stride, self.rows)?));
        Ok(self)
    }

    /// Adds the columns of a matrix that lies row by row.
    pub fn row_major(self, values: impl Into<Values<'a>>, columns: usize) -> Result<Self> {
        let rows = self.rows;
        self.matrix(values.into(), rows, columns, columns as isize, 1)
    }

    /// Adds the columns of a matrix that lies column by column.
    pub fn column_major(self, values: impl Into<Values<'a>>, columns: usize) -> Result<Self> {
        let rows = self.rows;
        self.matrix(values.into(), rows, columns, 1, rows as isize)
    }

    fn matrix(
        mut self,
        values: Values<'a>,
        rows: usize,
        columns: usize,
        by_row: isize,
        by_column: isize,
    ) -> Result<Self> {
        Error::check_shape("cells of a matrix", rows * columns, values.len())?;
        self.columns.reserve(columns);
        for column in 0..columns {
            self = self.strided(values, column * by_column as usize, by_row)?;
        }
        Ok(self)
    }

    /// Adds a column of category codes.
    pub fn codes(mut self, codes: &'a [u32]) -> Result<Self> {
        Error::check_shape("codes of a column", self.rows, codes.len())?;
        self.columns.push(View::Codes(codes));
        Ok(self)
    }

    /// Adds a column of texts, as counts of their words.
    pub fn sparse(mut self, counts: Sparse<'a>) -> Result<Self> {
        Error::check_shape("rows of a sparse matrix", self.rows, counts.rows())?;
        self.columns.push(View::Sparse(counts));
        Ok(self)
    }

    /// Puts other numbers into a column.
    pub fn with_numbers(mut self, column: usize, values: impl Into<Values<'a>>) -> Result<Self> {
        let values = values.into();
        Error::check_shape("cells of a column", self.rows, values.len())?;
        self.columns[column] = View::Numbers(Strided::new(values, 0, 1, self.rows)?);
        Ok(self)
    }

    /// Puts other codes into a column.
    pub fn with_codes(mut self, column: usize, codes: &'a [u32]) -> Result<Self> {
        Error::check_shape("codes of a column", self.rows, codes.len())?;
        self.columns[column] = View::Codes(codes);
        Ok(self)
    }

    /// Sets the class code of each row; [`MISSING`] is a row without a label.
    pub fn classes(mut self, classes: &'a [u32]) -> Result<Self> {
        Error::check_shape("class codes", self.rows, classes.len())?;
        self.classes = Some(classes);
        Ok(self)
    }

    /// Sets the weight of each row.
    pub fn weights(mut self, weights: &'a [f64]) -> Result<Self> {
        Error::check_shape("row weights", self.rows, weights.len())?;
        if let Some((i, &weight)) = weights.iter().enumerate().find(|(_, w)| !w.is_finite() || **w < 0.0) {
            return Err(Error::Weight { row: self.first_row + i as u64 + 1, weight });
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// Sets the fold of each row; without it, folds are drawn from what the row holds.
    pub fn folds(mut self, folds: &'a [u32]) -> Result<Self> {
        Error::check_shape("folds", self.rows, folds.len())?;
        self.folds = Some(folds);
        Ok(self)
    }

    /// Sets the hash of each cell of a column of levels or texts, by [what it holds](super::level_hash):
    /// codes are those of one input, and would tell equal rows of two inputs apart.
    pub fn hashes(mut self, column: usize, hashes: &'a [u64]) -> Result<Self> {
        Error::check_shape("hashes of cells", self.rows, hashes.len())?;
        self.hashes.push((column, hashes));
        Ok(self)
    }

    /// Sets for each row what stands for all it holds: where rows were made of others by arithmetic, which may differ
    /// in the last digits elsewhere, the keys of those.
    pub(crate) fn keys(mut self, keys: &'a [u64]) -> Result<Self> {
        Error::check_shape("keys of rows", self.rows, keys.len())?;
        self.keys = Some(keys);
        Ok(self)
    }

    /// What stands for all that rows hold, if it is given.
    pub(super) fn row_keys(&self) -> Option<&'a [u64]> {
        self.keys
    }

    /// What a cell holds, as 64 bits: its hash, or a number, or a code; `None` for texts without a hash.
    pub(crate) fn bits(&self, column: usize, row: usize) -> Option<u64> {
        match self.cell_hashes(column) {
            Some(hashes) => Some(hashes[row]),
            None => self.columns[column].bits(row),
        }
    }

    /// The hash of each cell of a column, if the batch carries them.
    pub(super) fn cell_hashes(&self, column: usize) -> Option<&'a [u64]> {
        self.hashes.iter().find(|(place, _)| *place == column).map(|(_, hashes)| *hashes)
    }

    /// Says which row of the whole input the batch begins with, counted from 0.
    pub fn first_row(mut self, first_row: u64) -> Self {
        self.first_row = first_row;
        self
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The place of row 0 in the whole input.
    pub fn row_number(&self, row: usize) -> u64 {
        self.first_row + row as u64
    }

    /// The class codes, if the rows have labels.
    pub fn labels(&self) -> Option<&'a [u32]> {
        self.classes
    }

    /// The row weights, if there are any.
    pub fn row_weights(&self) -> Option<&'a [f64]> {
        self.weights
    }

    /// The folds, if they are given.
    pub fn given_folds(&self) -> Option<&'a [u32]> {
        self.folds
    }

    /// The cells of a column.
    pub fn view(&self, column: usize) -> &View<'a> {
        &self.columns[column]
    }

    /// The bytes of a column where they lie, if it holds bytes one after the other.
    pub(crate) fn bytes(&self, column: usize, rows: Range<usize>) -> Option<&'a [u8]> {
        match self.columns.get(column)? {
            View::Numbers(Strided { values: Values::U8(bytes), start, stride: 1 }) => {
                bytes.get(start + rows.start..start + rows.end)
            }
            _ => None,
        }
    }

    /// The rows without these columns, borrowed again.
    pub fn without(&self, columns: &[usize]) -> Batch<'a> {
        let stays = |column: &usize| !columns.contains(column);
        let mut views = Views::new();
        views.extend((0..self.width()).filter(stays).map(|column| self.columns[column]));
        let place = |column: usize| column - columns.iter().filter(|gone| **gone < column).count();
        let hashes = self.hashes.iter().filter(|(column, _)| stays(column));
        Batch {
            columns: views,
            hashes: hashes.map(|(column, hashes)| (place(*column), *hashes)).collect(),
            ..Batch {
                classes: self.classes,
                weights: self.weights,
                folds: self.folds,
                keys: self.keys,
                ..Batch::new(self.rows)
            }
        }
        .first_row(self.first_row)
    }

    /// The rows `range`, borrowed again.
    pub fn slice(&self, range: Range<usize>) -> Batch<'a> {
        let range = range.start.min(self.rows)..range.end.min(self.rows);
        let mut columns = Views::new();
        columns.extend(self.columns.iter().map(|view| match *view {
            View::Numbers(numbers) => View::Numbers(numbers.skip(range.start)),
            View::Codes(codes) => View::Codes(&codes[range.clone()]),
            View::Sparse(sparse) => View::Sparse(sparse.slice(range.clone())),
        }));
        Batch {
            rows: range.len(),
            first_row: self.first_row + range.start as u64,
            columns,
            classes: self.classes.map(|c| &c[range.clone()]),
            weights: self.weights.map(|w| &w[range.clone()]),
            folds: self.folds.map(|f| &f[range.clone()]),
            hashes: self.hashes.iter().map(|(column, hashes)| (*column, &hashes[range.clone()])).collect(),
            keys: self.keys.map(|k| &k[range.clone()]),
        }
    }
}
