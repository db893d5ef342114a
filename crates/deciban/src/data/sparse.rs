//! Counts that are mostly 0, row by row, as SciPy's CSR matrices hold them: no array is copied as a
//! whole, whatever its type.

use std::ops::Range;

use rayon::prelude::*;

use super::batch::{Number, with_slice};
use super::{Rows, UNSEEN, Values};
use crate::error::{Error, Result};
use crate::numerics::vectorised;

/// Borrowed row offsets or numbers of words, of the types that SciPy and Arrow have.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Integers<'a> {
    U32(&'a [u32]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    Usize(&'a [usize]),
}

/// Runs `$body` with `$slice` bound to the typed slice inside `$integers`.
macro_rules! with_integers {
    ($integers:expr, $slice:ident => $body:expr) => {
        match $integers {
            Integers::U32($slice) => $body,
            Integers::I32($slice) => $body,
            Integers::I64($slice) => $body,
            Integers::Usize($slice) => $body,
        }
    };
}

macro_rules! integers_from {
    ($($type:ty => $variant:ident),*) => {
        $(impl<'a> From<&'a [$type]> for Integers<'a> {
            fn from(slice: &'a [$type]) -> Self { Integers::$variant(slice) }
        }
        impl<'a> From<&'a Vec<$type>> for Integers<'a> {
            fn from(vector: &'a Vec<$type>) -> Self { Integers::$variant(vector) }
        })*
    };
}
integers_from!(u32 => U32, i32 => I32, i64 => I64, usize => Usize);

impl<'a> Integers<'a> {
    fn len(&self) -> usize {
        with_integers!(self, slice => slice.len())
    }

    fn slice(self, range: Range<usize>) -> Integers<'a> {
        with_integers!(self, slice => Integers::from(&slice[range]))
    }

    /// An integer that is not negative.
    #[inline]
    #[allow(clippy::unnecessary_cast)]
    fn get(&self, i: usize) -> usize {
        with_integers!(self, slice => slice[i] as usize)
    }

    /// Whether they ascend from 0 or more to `most` or less.
    fn ascend_to(&self, most: usize) -> bool {
        with_integers!(self, slice => match (slice.first(), slice.last()) {
            // Wider than all of the types.
            (Some(&first), Some(&last)) => slice.is_sorted() && first as i128 >= 0 && last as i128 <= most as i128,
            _ => false,
        })
    }

    /// The highest of them; a negative one is higher than all words.
    fn highest(&self) -> u64 {
        fn most<T: Copy + Sync, U: Copy + Ord + Default + Send>(slice: &[T], as_u: impl Fn(T) -> U + Sync) -> U {
            const PART: usize = 1 << 16;
            let most = |part: &[T]| vectorised!(part.iter().fold(U::default(), |most, &x| as_u(x).max(most)));
            if slice.len() <= Sparse::FEW {
                return most(slice);
            }
            slice.par_chunks(PART).map(most).max().unwrap_or_default()
        }
        match self {
            Integers::U32(slice) => most(slice, |x| x).into(),
            Integers::I32(slice) => most(slice, |x| x as u32).into(),
            Integers::I64(slice) => most(slice, |x| x as u64),
            Integers::Usize(slice) => most(slice, |x| x as u64),
        }
    }

    /// These numbers of words, copied to `buffer` only if they are wider.
    #[inline]
    fn words<'b>(&'b self, range: Range<usize>, buffer: &'b mut Vec<u32>) -> &'b [u32] {
        match self {
            Integers::U32(slice) => &slice[range],
            // The constructor has checked that they are not negative, and small enough.
            Integers::I32(slice) => bytemuck::cast_slice(&slice[range]),
            Integers::I64(slice) => narrow(&slice[range], buffer, |x| x as u32),
            Integers::Usize(slice) => narrow(&slice[range], buffer, |x| x as u32),
        }
    }
}

#[inline]
fn narrow<'b, T: Copy, U>(from: &[T], to: &'b mut Vec<U>, as_u: impl Fn(T) -> U) -> &'b [U] {
    to.clear();
    to.extend(from.iter().map(|from| as_u(*from)));
    to
}

/// Some counts as `f64`, copied to `buffer` only if they have another type.
#[inline]
fn widened<'b>(counts: &'b Values<'_>, range: Range<usize>, buffer: &'b mut Vec<f64>) -> &'b [f64] {
    match counts {
        Values::F64(slice) => &slice[range],
        other => with_slice!(other, slice => narrow(&slice[range], buffer, |x| x.widen())),
    }
}

/// Counts that are mostly 0, row by row: row `i` holds `counts[offsets[i]..offsets[i + 1]]` of the
/// words `indices[..]` at the same places. Indices of a row are distinct.
///
/// ```
/// use deciban::data::{Rows, Sparse};
/// // SciPy's `indptr`, `indices` and `data`.
/// let counts = Sparse::new(&[0i64, 2, 3][..], &[4i32, 7, 4][..], &[1.0f32, 2.0, 1.0][..])?;
/// let mut total = [0.0; 2];
/// counts.for_each(&Rows::Range(0..2), |row, _word, count| total[row] += count);
/// assert_eq!(total, [3.0, 1.0]);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sparse<'a> {
    offsets: Integers<'a>,
    indices: Integers<'a>,
    counts: Values<'a>,
}

impl<'a> Sparse<'a> {
    /// Up to so many counts are checked without other threads: to wake them takes as long.
    pub const FEW: usize = 1 << 22;

    /// Counts of `offsets.len() − 1` rows.
    pub fn new(
        offsets: impl Into<Integers<'a>>,
        indices: impl Into<Integers<'a>>,
        counts: impl Into<Values<'a>>,
    ) -> Result<Self> {
        Self::of_words(offsets, indices, counts, UNSEEN as usize)
    }

    /// Counts of `offsets.len() − 1` rows and `words` columns.
    pub fn of_words(
        offsets: impl Into<Integers<'a>>,
        indices: impl Into<Integers<'a>>,
        counts: impl Into<Values<'a>>,
        words: usize,
    ) -> Result<Self> {
        let sparse = Self::of_unchecked_words(offsets, indices, counts)?;
        sparse.check_words(0..sparse.rows(), words)?;
        Ok(sparse)
    }

    /// Counts of `offsets.len() − 1` rows, of which [`Sparse::check_words`] must be asked before they are read. So that
    /// a thread may check a few rows and then find them in its cache.
    pub fn of_unchecked_words(
        offsets: impl Into<Integers<'a>>,
        indices: impl Into<Integers<'a>>,
        counts: impl Into<Values<'a>>,
    ) -> Result<Self> {
        let (offsets, indices, counts) = (offsets.into(), indices.into(), counts.into());
        Error::check_shape("counts of a sparse matrix", indices.len(), counts.len())?;
        match offsets.ascend_to(indices.len()) {
            true => Ok(Sparse { offsets, indices, counts }),
            false => Err(Error::Schema("the row offsets of a sparse matrix must ascend within it".into())),
        }
    }

    /// Refuses words of some rows that do not lie within `words` columns.
    pub fn check_words(&self, rows: Range<usize>, words: usize) -> Result<()> {
        let indices = self.indices.slice(self.offsets.get(rows.start)..self.offsets.get(rows.end));
        // Our own type may also hold the reserved codes.
        let reserved = matches!(indices, Integers::U32(_)) && words == UNSEEN as usize;
        if !reserved && indices.len() > 0 && indices.highest() >= words.min(UNSEEN as usize) as u64 {
            let message = format!("the column numbers of a sparse matrix must lie between 0 and {}", words.max(1) - 1);
            return Err(Error::Schema(message));
        }
        Ok(())
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Consecutive rows.
    pub(super) fn slice(self, rows: Range<usize>) -> Sparse<'a> {
        Sparse { offsets: self.offsets.slice(rows.start..rows.end + 1), ..self }
    }

    fn range(&self, row: usize) -> Range<usize> {
        self.offsets.get(row)..self.offsets.get(row + 1)
    }

    /// How many counts the chosen rows hold.
    pub fn stored(&self, rows: &Rows<'_>) -> usize {
        (0..rows.len()).map(|i| self.range(rows.get(i)).len()).sum()
    }

    /// Calls `body(i, index, count)` for each stored count of the `i`th chosen row.
    #[inline]
    pub fn for_each(&self, rows: &Rows<'_>, mut body: impl FnMut(usize, u32, f64)) {
        self.for_each_row(rows, |i, words, counts| {
            words.iter().zip(counts).for_each(|(&word, &count)| body(i, word, count));
        });
    }

    /// Calls `body(i, indices, counts)` for the `i`th chosen row, also if it holds nothing.
    #[inline]
    pub fn for_each_row(&self, rows: &Rows<'_>, mut body: impl FnMut(usize, &[u32], &[f64])) {
        let (mut words, mut counts) = (Vec::new(), Vec::new());
        for i in 0..rows.len() {
            let range = self.range(rows.get(i));
            body(i, self.indices.words(range.clone(), &mut words), widened(&self.counts, range, &mut counts));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(sparse: &Sparse<'_>) -> Vec<Vec<(u32, f64)>> {
        let rows = Rows::Range(0..sparse.rows());
        let mut by_row = vec![Vec::new(); sparse.rows()];
        sparse.for_each_row(&rows, |i, words, counts| {
            by_row[i].extend(words.iter().copied().zip(counts.iter().copied()));
        });
        let mut one_by_one = vec![Vec::new(); sparse.rows()];
        sparse.for_each(&rows, |i, word, count| one_by_one[i].push((word, count)));
        assert_eq!(by_row, one_by_one);
        by_row
    }

    #[test]
    fn all_types_hold_the_same_rows() {
        let (offsets, indices, counts) = ([0u32, 2, 2, 70], Vec::from_iter(0..70u32), vec![3u8; 70]);
        let expected = rows(&Sparse::new(&offsets[..], &indices[..], &counts[..]).unwrap());
        assert_eq!((&expected[0], expected[1].len(), expected[2][67]), (&vec![(0, 3.0), (1, 3.0)], 0, (69, 3.0)));
        let (o32, i32s, f64s) = (offsets.map(|x| x as i32), Vec::from_iter(0..70i32), [3.0; 70]);
        let (o64, i64s, f32s) = (offsets.map(i64::from), Vec::from_iter(0..70i64), [3.0f32; 70]);
        let (own, usizes) = (offsets.map(|x| x as usize), Vec::from_iter(0..70usize));
        for sparse in [
            Sparse::new(&o32[..], &i32s[..], &f64s[..]),
            Sparse::new(&o64[..], &i64s[..], &f32s[..]),
            Sparse::new(&own[..], &usizes[..], &i64s.iter().map(|_| 3i64).collect::<Vec<_>>()[..]),
        ] {
            let sparse = sparse.unwrap();
            assert_eq!(rows(&sparse), expected);
            assert_eq!(rows(&sparse.slice(1..3)), expected[1..]);
            assert_eq!(rows(&sparse.slice(3..3)).len(), 0);
        }
    }

    #[test]
    fn words_are_checked_row_by_row() {
        let (offsets, counts) = ([0i32, 2, 3, 5], [1.0; 5]);
        let sparse = Sparse::of_unchecked_words(&offsets[..], &[0i32, 7, 9, -1, 2][..], &counts[..]).unwrap();
        let is_refused = |rows| sparse.check_words(rows, 9).is_err();
        assert_eq!(
            [is_refused(0..1), is_refused(1..2), is_refused(2..3), is_refused(3..3)],
            [false, true, true, false]
        );
        assert!(sparse.check_words(0..2, 10).is_ok() && sparse.check_words(0..3, 10).is_err());
    }

    #[test]
    fn damage_is_refused() {
        let one = &[1.0][..];
        assert!(Sparse::new(&[0i32, 1][..], &[-1i32][..], one).is_err());
        assert!(Sparse::new(&[0i32, 1][..], &[-1i64][..], one).is_err());
        assert!(Sparse::new(&[0i32, 1][..], &[i64::from(UNSEEN)][..], one).is_err());
        assert!(Sparse::new(&[0i32, 1][..], &[UNSEEN][..], one).is_ok());
        for offsets in [&[-1i64, 1][..], &[0, 2], &[1, 0], &[]] {
            assert!(Sparse::new(offsets, &[0u32][..], one).is_err(), "{offsets:?}");
        }
    }
}
