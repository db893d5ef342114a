//! Tables as the library sees them: a [`Schema`] says what the columns are, a [`Batch`] borrows
//! some rows of them. Numbers may lie row by row or column by column, in any width of float or
//! integer; they are widened to `f64` tile by tile, never as a whole.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::text::Reading;

/// The code of a missing category, and of a row without a label.
pub const MISSING: u32 = u32::MAX;

/// The code of a category level that the schema does not know.
pub const UNSEEN: u32 = u32::MAX - 1;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A real number; NaN is a missing cell.
    Number,
    /// One of several levels.
    Category,
    /// Yes or no.
    Flag,
    /// How often something occurs.
    Count,
    /// Words.
    Text,
}

/// A column's name, kind and, for categories, its levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The name.
    pub name: String,
    /// What its cells are.
    pub kind: Kind,
    /// The levels of a category, or the words of a text; code `i` stands for `levels[i]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
}

impl Column {
    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Column { name: name.into(), kind: Kind::Number, levels: Vec::new() }
    }
}

/// The columns of a table and the classes of its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawSchema")]
pub struct Schema {
    columns: Vec<Column>,
    target: String,
    classes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reading: Option<Reading>,
}

#[derive(Deserialize)]
struct RawSchema {
    columns: Vec<Column>,
    target: String,
    classes: Vec<String>,
    #[serde(default)]
    reading: Option<Reading>,
}

impl TryFrom<RawSchema> for Schema {
    type Error = Error;
    fn try_from(raw: RawSchema) -> Result<Self> {
        Ok(Schema::new(raw.columns, raw.target, raw.classes)?.with_reading(raw.reading))
    }
}

impl Schema {
    /// Columns and classes, each with names of their own.
    pub fn new(columns: Vec<Column>, target: impl Into<String>, classes: Vec<String>) -> Result<Self> {
        distinct(columns.iter().map(|c| c.name.as_str()), "column")?;
        distinct(classes.iter().map(String::as_str), "class")?;
        Ok(Schema { columns, target: target.into(), classes, reading: None })
    }

    /// The same schema with another way of reading texts.
    pub fn with_reading(self, reading: Option<Reading>) -> Self {
        Schema { reading, ..self }
    }

    /// How its texts become words, if it has texts.
    pub fn reading(&self) -> Option<&Reading> {
        self.reading.as_ref()
    }

    /// Number columns only, as the examples use them.
    pub fn numbers<S: AsRef<str>>(columns: &[S], target: &str, classes: &[S]) -> Result<Self> {
        let columns = columns.iter().map(|name| Column::number(name.as_ref())).collect();
        Schema::new(columns, target, classes.iter().map(|c| c.as_ref().to_string()).collect())
    }

    /// The columns, without target and weight.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The target's name.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The classes' names; code `i` stands for `classes()[i]`.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The code of a class.
    pub fn class(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class == name)
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|c| c.name.clone()).collect()
    }

    /// The codes of the classes in ascending order: as numbers if all of them are, else as text.
    pub fn class_order(&self) -> Vec<usize> {
        let number = |class: &String| class.parse().ok().filter(|x: &f64| !x.is_nan());
        let numbers: Option<Vec<f64>> = self.classes.iter().map(number).collect();
        let mut order: Vec<usize> = (0..self.classes.len()).collect();
        match numbers {
            Some(numbers) => order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b])),
            None => order.sort_by(|&a, &b| self.classes[a].cmp(&self.classes[b])),
        }
        order
    }

    /// The same columns with the classes in ascending order.
    pub fn sorted_classes(&self) -> Result<Self> {
        self.with_classes(self.class_order().iter().map(|&c| self.classes[c].clone()).collect())
    }

    /// The same columns with other classes.
    pub fn with_classes(&self, classes: Vec<String>) -> Result<Self> {
        let schema = Schema::new(self.columns.clone(), self.target.clone(), classes)?;
        Ok(schema.with_reading(self.reading.clone()))
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>, what: &str) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Error::Schema(format!("there are two {what}s named `{name}`: give each its own name")));
        }
    }
    Ok(())
}

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
    fn len(&self) -> usize {
        with_slice!(self, slice => slice.len())
    }
}

impl Values<'_> {
    /// Whether both are the same slice of memory.
    fn is_same(&self, other: &Values<'_>) -> bool {
        let place = |values: &Values<'_>| with_slice!(values, slice => (slice.as_ptr().addr(), slice.len()));
        std::mem::discriminant(self) == std::mem::discriminant(other) && place(self) == place(other)
    }
}

/// A number that widens to `f64`.
trait Number: Copy {
    fn widen(self) -> f64;
}

macro_rules! values_from {
    ($($type:ty => $variant:ident),*) => {
        $(impl<'a> From<&'a [$type]> for Values<'a> {
            fn from(slice: &'a [$type]) -> Self { Values::$variant(slice) }
        }
        impl Number for $type {
            #[inline(always)]
            #[allow(clippy::unnecessary_cast)]
            fn widen(self) -> f64 { self as f64 }
        })*
    };
}
values_from!(f64 => F64, f32 => F32, u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64);

/// A column of numbers: cell `i` is `values[start + i·stride]`.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    values: Values<'a>,
    start: usize,
    stride: isize,
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
    fn read(&self, rows: &Rows<'_>, out: &mut [f64]) {
        let (start, stride) = (self.start as isize, self.stride);
        with_slice!(self.values, slice => match rows {
            Rows::Range(range) => {
                let first = start + range.start as isize * stride;
                if stride == 1 {
                    for (o, &x) in out.iter_mut().zip(&slice[first as usize..]) { *o = x.widen(); }
                } else {
                    for (i, o) in out.iter_mut().enumerate() {
                        *o = slice[(first + i as isize * stride) as usize].widen();
                    }
                }
            }
            Rows::Index(index) => {
                for (o, &i) in out.iter_mut().zip(*index) {
                    *o = slice[(start + i as isize * stride) as usize].widen();
                }
            }
        })
    }
}

/// Counts that are mostly 0, row by row: row `i` holds `counts[offsets[i]..offsets[i + 1]]` of the
/// words `indices[..]` at the same places. Indices of a row are distinct.
#[derive(Clone, Copy, Debug)]
pub struct Sparse<'a> {
    offsets: &'a [usize],
    indices: &'a [u32],
    counts: Values<'a>,
}

impl<'a> Sparse<'a> {
    /// Counts of `offsets.len() − 1` rows.
    pub fn new(offsets: &'a [usize], indices: &'a [u32], counts: impl Into<Values<'a>>) -> Result<Self> {
        let counts = counts.into();
        Error::check_shape("counts of a sparse matrix", indices.len(), counts.len())?;
        let ascending = offsets.is_sorted() && offsets.last().is_some_and(|&end| end <= indices.len());
        match ascending {
            true => Ok(Sparse { offsets, indices, counts }),
            false => Err(Error::Schema("the row offsets of a sparse matrix must ascend within it".into())),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Calls `body(i, index, count)` for each stored count of the `i`th chosen row.
    pub fn for_each(&self, rows: &Rows<'_>, mut body: impl FnMut(usize, u32, f64)) {
        with_slice!(self.counts, counts => {
            for i in 0..rows.len() {
                let row = rows.get(i);
                let range = self.offsets[row]..self.offsets[row + 1];
                for (&index, count) in self.indices[range.clone()].iter().zip(&counts[range]) {
                    body(i, index, count.widen());
                }
            }
        })
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
    pub(crate) fn bits(&self, row: usize) -> Option<u64> {
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
    columns: Vec<View<'a>>,
    classes: Option<&'a [u32]>,
    weights: Option<&'a [f64]>,
    folds: Option<&'a [u32]>,
}

impl<'a> Batch<'a> {
    /// A batch of `rows` rows, still without columns.
    pub fn new(rows: usize) -> Self {
        Batch { rows, first_row: 0, columns: Vec::new(), classes: None, weights: None, folds: None }
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

    /// Sets the fold of each row; without it, folds are drawn from the row's number.
    pub fn folds(mut self, folds: &'a [u32]) -> Result<Self> {
        Error::check_shape("folds", self.rows, folds.len())?;
        self.folds = Some(folds);
        Ok(self)
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

    /// The rows `range`, borrowed again.
    pub fn slice(&self, range: Range<usize>) -> Batch<'a> {
        let range = range.start.min(self.rows)..range.end.min(self.rows);
        let columns = self.columns.iter().map(|view| match *view {
            View::Numbers(numbers) => View::Numbers(numbers.skip(range.start)),
            View::Codes(codes) => View::Codes(&codes[range.clone()]),
            View::Sparse(sparse) => {
                View::Sparse(Sparse { offsets: &sparse.offsets[range.start..=range.end], ..sparse })
            }
        });
        Batch {
            rows: range.len(),
            first_row: self.first_row + range.start as u64,
            columns: columns.collect(),
            classes: self.classes.map(|c| &c[range.clone()]),
            weights: self.weights.map(|w| &w[range.clone()]),
            folds: self.folds.map(|f| &f[range.clone()]),
        }
    }
}

/// A choice of rows of a batch.
#[derive(Clone, Debug)]
pub enum Rows<'a> {
    /// Consecutive rows.
    Range(Range<usize>),
    /// Rows by number.
    Index(&'a [u32]),
}

impl Rows<'_> {
    /// How many rows are chosen.
    pub fn len(&self) -> usize {
        match self {
            Rows::Range(range) => range.len(),
            Rows::Index(index) => index.len(),
        }
    }

    /// Whether no row is chosen.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The batch's row number of the `i`th chosen row.
    pub fn get(&self, i: usize) -> usize {
        match self {
            Rows::Range(range) => range.start + i,
            Rows::Index(index) => index[i] as usize,
        }
    }

    fn part(&self, range: Range<usize>) -> Rows<'_> {
        match self {
            Rows::Range(all) => Rows::Range(all.start + range.start..all.start + range.end),
            Rows::Index(index) => Rows::Index(&index[range]),
        }
    }
}

/// The cells of a block: some columns of some rows of a batch.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    batch: &'a Batch<'a>,
    columns: &'a [usize],
    rows: Rows<'a>,
}

impl<'a> Cells<'a> {
    /// The cells of `columns` in `rows` of `batch`.
    pub fn new(batch: &'a Batch<'a>, columns: &'a [usize], rows: Rows<'a>) -> Self {
        Cells { batch, columns, rows }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Whether rows are weighted.
    pub fn weighted(&self) -> bool {
        self.batch.weights.is_some()
    }

    /// The number of row `i` in the whole input, counted from 0.
    pub fn row_number(&self, i: usize) -> u64 {
        self.batch.row_number(self.rows.get(i))
    }

    /// Some of these rows.
    pub fn part(&'a self, range: Range<usize>) -> Cells<'a> {
        Cells { batch: self.batch, columns: self.columns, rows: self.rows.part(range) }
    }

    /// Copies the rows' weights.
    pub fn read_weights(&self, out: &mut Vec<f64>) {
        out.clear();
        match self.batch.weights {
            Some(weights) => out.extend((0..self.rows()).map(|i| weights[self.rows.get(i)])),
            None => out.resize(self.rows(), 1.0),
        }
    }

    /// Copies the numbers into a tile, column by column.
    pub fn read_numbers(&self, tile: &mut Tile) -> Result<()> {
        let rows = self.rows();
        tile.resize(rows, self.width());
        let columns: Vec<Strided<'_>> =
            self.columns.iter().map(|&column| self.strided(column)).collect::<Result<_>>()?;
        if let Some(first) = row_major(&columns) {
            with_slice!(first.values, values => self.read_rows(values, first, tile));
            return Ok(());
        }
        for (j, column) in columns.iter().enumerate() {
            column.read(&self.rows, tile.column_mut(j));
        }
        Ok(())
    }

    fn strided(&self, column: usize) -> Result<Strided<'a>> {
        match self.batch.columns.get(column) {
            Some(View::Numbers(numbers)) => Ok(*numbers),
            Some(_) => Err(Error::Schema(format!("column {column} does not hold numbers"))),
            None => Err(self.too_narrow(column)),
        }
    }

    fn too_narrow(&self, column: usize) -> Error {
        Error::Shape { what: "columns of a batch".into(), expected: column + 1, found: self.batch.width() }
    }

    /// Copies the codes of the block's `j`th column.
    pub fn read_codes(&self, j: usize, out: &mut Vec<u32>) -> Result<()> {
        let column = self.columns[j];
        out.clear();
        match self.batch.columns.get(column) {
            Some(View::Codes(codes)) => out.extend((0..self.rows()).map(|i| codes[self.rows.get(i)])),
            Some(_) => return Err(Error::Schema(format!("column {column} does not hold categories"))),
            None => return Err(self.too_narrow(column)),
        }
        Ok(())
    }

    /// The block's counts of words, if it is one column of texts.
    pub fn sparse(&self) -> Option<(Sparse<'a>, &Rows<'a>)> {
        match (self.columns, self.batch.columns.get(*self.columns.first()?)) {
            ([_], Some(View::Sparse(sparse))) => Some((*sparse, &self.rows)),
            _ => None,
        }
    }

    /// Transposes rows that lie contiguous, eight at a time, so that a line of memory serves all
    /// the columns it covers while it is in the cache.
    fn read_rows<T: Number>(&self, values: &[T], first: Strided<'_>, tile: &mut Tile) {
        const STRIP: usize = 8;
        let (rows, width) = (self.rows(), self.width());
        let at = |i: usize| {
            let start = (first.start as isize + self.rows.get(i) as isize * first.stride) as usize;
            &values[start..start + width]
        };
        let whole = rows - rows % STRIP;
        for start in (0..whole).step_by(STRIP) {
            let strip: [&[T]; STRIP] = std::array::from_fn(|r| at(start + r));
            for (j, column) in tile.data.chunks_exact_mut(rows).enumerate() {
                let out = &mut column[start..start + STRIP];
                for r in 0..STRIP {
                    out[r] = strip[r][j].widen();
                }
            }
        }
        for i in whole..rows {
            for (column, x) in tile.data.chunks_exact_mut(rows).zip(at(i)) {
                column[i] = x.widen();
            }
        }
    }
}

/// The first column, if the columns are neighbours in rows that lie contiguous.
fn row_major<'a>(columns: &[Strided<'a>]) -> Option<Strided<'a>> {
    let first = columns.first()?;
    let neighbours = columns.iter().enumerate().all(|(j, column)| {
        column.stride == first.stride && column.start == first.start + j && column.values.is_same(&first.values)
    });
    (columns.len() > 1 && neighbours).then_some(*first)
}

/// A small dense matrix of numbers, each column contiguous.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    rows: usize,
    width: usize,
    data: Vec<f64>,
}

impl Tile {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Makes room for `rows` × `width` cells; what they hold is left open.
    pub fn resize(&mut self, rows: usize, width: usize) {
        (self.rows, self.width) = (rows, width);
        self.data.resize(rows * width, 0.0);
    }

    /// A column.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// A column, to write.
    pub fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// All cells, column after column.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// All cells, column after column, to write.
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The first cell that is not a finite number, as (row, column).
    pub fn first_not_finite(&self) -> Option<(usize, usize)> {
        // A sum is finite only if its terms are, so whole columns pass at the speed of memory.
        // (A finite column may still overflow its sum: then the search below finds nothing.)
        (0..self.width).find_map(|j| {
            let column = self.column(j);
            if column.iter().map(|x| x * 0.0).sum::<f64>() == 0.0 {
                return None;
            }
            column.iter().position(|x| !x.is_finite()).map(|i| (i, j))
        })
    }
}
