//! Which cells of a tile are missing, and its rows by what they miss.
//!
//! Rows are put in an order in which those that miss the same cells stand together, fewest first. [`Pattern`]s are such
//! rows; [`Strips`] are rows in this order, a few at a time, whether they miss the same cells or not.

use crate::data::Tile;

/// Rows that are worked on at the same time, each in a lane of the vector unit.
pub(super) const LANES: usize = 8;

/// Which cells of a tile are missing.
pub(super) struct Gaps {
    width: usize,
    /// A bit per missing cell, so many words a row.
    bits: Vec<u64>,
    words: usize,
    /// How many cells each row misses.
    counts: Vec<usize>,
    order: Vec<usize>,
}

/// Rows that miss the same cells.
pub(super) struct Pattern {
    /// The columns whose cells are missing.
    pub missing: Vec<usize>,
    /// The columns whose cells are there.
    pub present: Vec<usize>,
    /// The rows.
    pub rows: Vec<usize>,
}

impl Gaps {
    pub(super) fn of(tile: &Tile) -> Self {
        let (rows, width) = (tile.rows(), tile.width());
        let words = width.div_ceil(64);
        let mut bits = vec![0u64; rows * words];
        for j in 0..width {
            let own = bits.iter_mut().skip(j / 64).step_by(words);
            own.zip(tile.column(j)).for_each(|(bits, x)| *bits |= u64::from(x.is_nan()) << (j % 64));
        }
        let of_row = |i: usize| &bits[i * words..(i + 1) * words];
        let counts: Vec<usize> =
            (0..rows).map(|i| of_row(i).iter().map(|bits| bits.count_ones() as usize).sum()).collect();
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_unstable_by(|&a, &b| (counts[a], of_row(a), a).cmp(&(counts[b], of_row(b), b)));
        Gaps { width, bits, words, counts, order }
    }

    fn of_row(&self, i: usize) -> &[u64] {
        &self.bits[i * self.words..(i + 1) * self.words]
    }

    /// The columns whose cells a row misses.
    fn missing(&self, i: usize) -> impl Iterator<Item = usize> {
        let of_word = |(word, bits): (usize, &u64)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let place = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(64 * word + place)
            })
        };
        self.of_row(i).iter().enumerate().flat_map(of_word)
    }

    /// All rows, in order.
    pub(super) fn rows(&self) -> &[usize] {
        &self.order
    }

    /// The rows that miss fewer cells than this, and the others.
    pub(super) fn split_at(&self, count: usize) -> (&[usize], &[usize]) {
        self.order.split_at(self.order.partition_point(|&i| self.counts[i] < count))
    }

    /// Some of the rows in order, by the cells they miss.
    pub(super) fn patterns(&self, rows: &[usize]) -> Vec<Pattern> {
        let pattern = |same: &[usize]| {
            let mut missing = self.missing(same[0]).peekable();
            let is_missing = |j: &usize| missing.next_if_eq(j).is_some();
            let (missing, present) = (0..self.width).partition(is_missing);
            Pattern { missing, present, rows: same.to_vec() }
        };
        rows.chunk_by(|&a, &b| self.of_row(a) == self.of_row(b)).map(pattern).collect()
    }

    /// Some of the rows in order, a few at a time.
    pub(super) fn strips(&self, rows: &[usize]) -> Strips {
        let mut strips = Strips { rows: rows.to_vec(), runs: Vec::new(), missing: Vec::new() };
        for (strip, rows) in rows.chunks(LANES).enumerate() {
            let end = strip * LANES + rows.len();
            if let Some((start, _, run_end)) = strips.runs.last_mut() {
                let first = strips.rows[*start..].iter();
                if rows.iter().zip(first).all(|(&a, &b)| self.of_row(a) == self.of_row(b)) {
                    *run_end = end;
                    continue;
                }
            }
            let (first, count) = (strips.missing.len(), rows.iter().map(|&i| self.counts[i]).max().unwrap_or(0));
            strips.missing.resize(first + count, [NONE; LANES]);
            for (lane, &i) in rows.iter().enumerate() {
                strips.missing[first..].iter_mut().zip(self.missing(i)).for_each(|(m, j)| m[lane] = j as u32);
            }
            strips.runs.push((strip * LANES, first, end));
        }
        strips
    }
}

/// No column.
const NONE: u32 = u32::MAX;

/// Rows a few at a time: row after row goes to the next lane.
pub(super) struct Strips {
    rows: Vec<usize>,
    /// The first row, its place in `missing`, and the row after the last.
    runs: Vec<(usize, usize, usize)>,
    missing: Vec<[u32; LANES]>,
}

/// Strips one after the other in which the rows of a lane miss the same cells.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    /// The place of the first row.
    pub start: usize,
    /// The rows, strip after strip.
    pub rows: &'a [usize],
    /// What the rows of each lane miss, in ascending order; lanes that miss fewer end in [`NONE`].
    missing: &'a [[u32; LANES]],
}

impl Run<'_> {
    /// The most cells that a row misses.
    pub(super) fn most(&self) -> usize {
        self.missing.len()
    }

    /// The columns whose cells the rows of a lane miss.
    #[inline(always)]
    pub(super) fn missing(&self, lane: usize) -> impl Iterator<Item = usize> + Clone {
        self.missing.iter().map(move |m| m[lane]).take_while(|&j| j != NONE).map(|j| j as usize)
    }

    /// How many lanes have rows.
    pub(super) fn lanes(&self) -> usize {
        self.rows.len().min(LANES)
    }

    /// The rows of a lane.
    pub(super) fn of_lane(&self, lane: usize) -> impl Iterator<Item = usize> {
        self.rows.iter().skip(lane).step_by(LANES).copied()
    }
}

impl Strips {
    /// The rows in the order of the strips.
    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        let ends = self.runs.iter().skip(1).map(|run| run.1).chain([self.missing.len()]);
        let run = |(&(start, first, end), last)| Run {
            start,
            rows: &self.rows[start..end],
            missing: &self.missing[first..last],
        };
        self.runs.iter().zip(ends).map(run)
    }

    /// These rows of a tile, in their order.
    pub(super) fn of_tile(&self, tile: &Tile) -> Tile {
        let mut own = Tile::default();
        own.resize(self.rows.len(), tile.width());
        for j in 0..tile.width() {
            let column = tile.column(j);
            own.column_mut(j).iter_mut().zip(&self.rows).for_each(|(x, &i)| *x = column[i]);
        }
        own
    }
}
