//! The cells of a block, and how they are copied out of a batch.

use std::ops::Range;

use super::batch::{Number, with_slice};
use super::{Batch, Sparse, Strided, Tile, UNSEEN, Values, View};
use crate::error::{Error, Result};
use crate::numerics::{ColumnMajor, RowMajor, all_finite, vectorised};

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

/// What numbers hold that is no finite number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// NaN.
    pub missing: bool,
    /// ∞ or −∞.
    pub infinite: bool,
}

impl Oddities {
    fn look(&mut self, numbers: &[f64]) {
        if !all_finite(numbers) {
            self.missing |= numbers.iter().any(|x| x.is_nan());
            self.infinite |= numbers.iter().any(|x| x.is_infinite());
        }
    }
}

/// Rows of numbers that lie one after the other.
pub(crate) enum RowSlices<'a> {
    F64(RowMajor<'a>),
    F32(RowMajor<'a, f32>),
}

/// Columns of numbers that lie one after the other.
pub(crate) enum ColumnSlices<'a> {
    F64(ColumnMajor<'a>),
    F32(ColumnMajor<'a, f32>),
}

/// The cells of a block: some columns of some rows of a batch.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    batch: &'a Batch<'a>,
    columns: &'a [usize],
    rows: Rows<'a>,
    /// The weight of each chosen row, where it is not the batch's.
    weights: Option<&'a [f64]>,
}

impl<'a> Cells<'a> {
    /// The cells of `columns` in `rows` of `batch`.
    pub fn new(batch: &'a Batch<'a>, columns: &'a [usize], rows: Rows<'a>) -> Self {
        Cells { batch, columns, rows, weights: None }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The chosen rows.
    pub fn chosen(&self) -> &Rows<'a> {
        &self.rows
    }

    /// The cells of the block's `j`th column in the batch.
    pub fn view(&self, j: usize) -> Option<&View<'a>> {
        self.batch.columns.get(self.columns[j])
    }

    /// The block's `j`th column alone.
    pub fn column(&self, j: usize) -> Cells<'a> {
        Cells { columns: &self.columns[j..=j], ..self.clone() }
    }

    /// Other rows of the same columns, by their numbers in the batch.
    pub(crate) fn of_rows<'b>(&'b self, rows: Rows<'b>) -> Cells<'b> {
        Cells { batch: self.batch, columns: self.columns, rows, weights: None }
    }

    /// The same cells with a weight for each row.
    pub(crate) fn weighted_by(self, weights: &'a [f64]) -> Cells<'a> {
        debug_assert_eq!(weights.len(), self.rows());
        Cells { weights: Some(weights), ..self }
    }

    /// Whether rows are weighted.
    pub fn weighted(&self) -> bool {
        self.weights.is_some() || self.batch.weights.is_some()
    }

    /// The number of row `i` in the whole input, counted from 0.
    pub fn row_number(&self, i: usize) -> u64 {
        self.batch.row_number(self.rows.get(i))
    }

    /// Some of these rows.
    pub fn part(&'a self, range: Range<usize>) -> Cells<'a> {
        let weights = self.weights.map(|weights| &weights[range.clone()]);
        Cells { batch: self.batch, columns: self.columns, rows: self.rows.part(range), weights }
    }

    /// Copies the rows' weights.
    pub fn read_weights(&self, out: &mut Vec<f64>) {
        out.clear();
        match (self.weights, self.batch.weights) {
            (Some(weights), _) => out.extend_from_slice(weights),
            (None, Some(weights)) => out.extend((0..self.rows()).map(|i| weights[self.rows.get(i)])),
            (None, None) => out.resize(self.rows(), 1.0),
        }
    }

    /// Copies the numbers into a tile, column by column.
    pub fn read_numbers(&self, tile: &mut Tile) -> Result<()> {
        tile.make_room(self.rows(), self.width());
        if let Some(first) = self.neighbours() {
            with_slice!(first.values, values => vectorised!(self.read_rows(values, first, tile)));
            return Ok(());
        }
        for (j, &column) in self.columns.iter().enumerate() {
            self.strided(column)?.read(&self.rows, tile.column_mut(j));
        }
        Ok(())
    }

    /// Whether any of the numbers or counts is missing (NaN), and whether any is infinite.
    pub fn oddities(&self) -> Result<Oddities> {
        let mut odd = Oddities::default();
        if let Some((sparse, rows)) = self.sparse() {
            sparse.for_each_row(rows, |_, _, counts| odd.look(counts));
        } else if let Some(rows) = self.row_major() {
            (0..rows.rows()).for_each(|i| odd.look(rows.row(i)));
        } else {
            let mut tile = Tile::default();
            self.read_numbers(&mut tile)?;
            odd.look(tile.data());
        }
        Ok(odd)
    }

    /// The numbers where they lie, if the columns are neighbours in rows of `f64` one after the other.
    pub(crate) fn row_major(&self) -> Option<RowMajor<'a>> {
        match self.row_slices()? {
            RowSlices::F64(rows) => Some(rows),
            RowSlices::F32(_) => None,
        }
    }

    /// The same, of either width.
    pub(crate) fn row_slices(&self) -> Option<RowSlices<'a>> {
        let Rows::Range(range) = &self.rows else { return None };
        let first = self.neighbours()?;
        let stride = usize::try_from(first.stride).ok()?;
        let start = first.start + range.start * stride;
        match first.values {
            Values::F64(values) => {
                RowMajor::new(values.get(start..)?, stride, self.width(), range.len()).map(RowSlices::F64)
            }
            Values::F32(values) => {
                RowMajor::new(values.get(start..)?, stride, self.width(), range.len()).map(RowSlices::F32)
            }
            _ => None,
        }
    }

    /// The numbers where they lie, if the cells of each column are neighbours and all columns are as far apart.
    pub(crate) fn column_slices(&self) -> Option<ColumnSlices<'a>> {
        let (Rows::Range(range), width) = (&self.rows, self.width()) else { return None };
        let first = self.strided(*self.columns.first()?).ok()?;
        let second = self.columns.get(1).map_or(Some(first), |column| self.strided(*column).ok())?;
        let distance = second.start.checked_sub(first.start)?;
        let start = first.start + range.start;
        if first.stride != 1 || !self.are_apart(first, distance) {
            return None;
        }
        match first.values {
            Values::F64(values) => {
                ColumnMajor::new(values.get(start..)?, distance, width, range.len()).map(ColumnSlices::F64)
            }
            Values::F32(values) => {
                ColumnMajor::new(values.get(start..)?, distance, width, range.len()).map(ColumnSlices::F32)
            }
            _ => None,
        }
    }

    /// Whether column j begins j times `distance` cells behind the first, in the same memory.
    fn are_apart(&self, first: Strided<'a>, distance: usize) -> bool {
        self.columns.iter().enumerate().all(|(j, &column)| {
            matches!(self.batch.columns.get(column), Some(View::Numbers(column))
                if column.stride == first.stride && column.start == first.start + j * distance
                    && column.values.is_same(&first.values))
        })
    }

    /// The first column, if there are several and they are neighbours in rows that lie contiguous.
    fn neighbours(&self) -> Option<Strided<'a>> {
        let first = self.strided(*self.columns.first()?).ok()?;
        (self.columns.len() > 1 && self.are_apart(first, 1)).then_some(first)
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

    /// Copies the codes of the block's `j`th column. Numbers are codes too, if they are 0, 1, 2 and so on; NaN is
    /// missing.
    pub fn read_codes(&self, j: usize, out: &mut Vec<u32>) -> Result<()> {
        let column = self.columns[j];
        out.clear();
        match self.batch.columns.get(column) {
            Some(View::Codes(codes)) => match &self.rows {
                Rows::Range(range) => out.extend_from_slice(&codes[range.clone()]),
                Rows::Index(index) => out.extend(index.iter().map(|&i| codes[i as usize])),
            },
            Some(View::Numbers(numbers)) => {
                out.resize(self.rows(), 0);
                numbers.read_codes(&self.rows, out);
                // Without an early end, so that it runs in lanes.
                if out.iter().fold(false, |any, code| any | (*code == UNSEEN)) {
                    let i = out.iter().position(|code| *code == UNSEEN).unwrap_or(0);
                    return Err(self.no_code(column, i));
                }
            }
            Some(View::Sparse(_)) => return Err(Error::Schema(format!("column {column} does not hold categories"))),
            None => return Err(self.too_narrow(column)),
        }
        Ok(())
    }

    /// The error of a number that is no code.
    fn no_code(&self, column: usize, i: usize) -> Error {
        let mut number = Tile::default();
        let cell = Cells { columns: &[column], ..self.clone() };
        let read = cell.part(i..i + 1).read_numbers(&mut number);
        let number = read.map_or(f64::NAN, |()| number.column(0)[0]);
        let message = format!("{number} is not the code of a level: codes are 0, 1, 2, ...");
        Error::Cell { column: format!("number {column}"), row: self.row_number(i) + 1, message }
    }

    /// The block's counts of words, if it is one column of texts.
    pub fn sparse(&self) -> Option<(Sparse<'a>, &Rows<'a>)> {
        match (self.columns, self.batch.columns.get(*self.columns.first()?)) {
            ([_], Some(View::Sparse(sparse))) => Some((*sparse, &self.rows)),
            _ => None,
        }
    }

    /// Transposes rows that lie contiguous. Some are copied first, because memory is read fastest in its order, and then
    /// taken in squares of 4 × 4: each is written in whole lines.
    #[inline(always)]
    fn read_rows<T: Number>(&self, values: &[T], first: Strided<'_>, tile: &mut Tile) {
        const SIDE: usize = 4;
        /// So many cells stay in the first-level cache.
        const NEAR: usize = 2048;
        let (rows, width) = (self.rows(), self.width());
        let at = |i: usize| {
            let start = (first.start as isize + self.rows.get(i) as isize * first.stride) as usize;
            &values[start..start + width]
        };
        let whole = rows - rows % SIDE;
        let block = (NEAR / width.max(1) / SIDE).max(1) * SIDE;
        let mut near = Tile::default();
        near.make_room(width, block.min(whole));
        for start in (0..whole).step_by(block) {
            let count = block.min(whole - start);
            for (i, copy) in near.data.chunks_exact_mut(width.max(1)).enumerate().take(count) {
                copy.iter_mut().zip(at(start + i)).for_each(|(copy, x)| *copy = x.widen());
            }
            for (k, strip) in near.data.chunks_exact(SIDE * width.max(1)).enumerate().take(count / SIDE) {
                transpose_strip(strip, width, &mut tile.data[start + SIDE * k..], rows);
            }
        }
        for i in whole..rows {
            for (column, x) in tile.data.chunks_exact_mut(rows).zip(at(i)) {
                column[i] = x.widen();
            }
        }
    }
}

/// Writes four rows as columns, which begin `apart` cells from each other.
#[inline(always)]
fn transpose_strip(rows: &[f64], width: usize, columns: &mut [f64], apart: usize) {
    const SIDE: usize = 4;
    let [a, b, c, d] = [0, 1, 2, 3].map(|r| &rows[r * width..(r + 1) * width]);
    let squares = a.as_chunks::<SIDE>().0.iter().zip(b.as_chunks::<SIDE>().0);
    let squares = squares.zip(c.as_chunks::<SIDE>().0.iter().zip(d.as_chunks::<SIDE>().0));
    for (square, ((a, b), (c, d))) in squares.enumerate() {
        for l in 0..SIDE {
            columns[(SIDE * square + l) * apart..][..SIDE].copy_from_slice(&[a[l], b[l], c[l], d[l]]);
        }
    }
    for j in width - width % SIDE..width {
        columns[j * apart..][..SIDE].copy_from_slice(&[a[j], b[j], c[j], d[j]]);
    }
}
