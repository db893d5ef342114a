//! Scores s = Wx + b of rows of numbers, with a row of W for each class.
//!
//! For one or two classes, rows that lie one after the other are read where they lie, four at a time: the way from
//! memory is most of the work. For more classes, and for rows that lie otherwise, they are copied into a tile, where
//! neighbours in a column run side by side in the lanes of the vector unit: eight rows and four classes at a time, so
//! that the sums stay in registers. The sum of a cell is always taken in the same order, so it does not depend on how
//! rows are cut into tiles.

use super::{Texts, WordTable};
use crate::data::{Cells, RowSlices, Tile};
use crate::error::Result;
use crate::numerics::{all_finite, vectorised};

/// W and b.
///
/// ```
/// use deciban::data::{Batch, Cells, Rows, Tile};
/// use deciban::scoring::Affine;
/// let batch = Batch::new(2).row_major(&[1.0, 2.0, 3.0, 4.0][..], 2)?;
/// let cells = Cells::new(&batch, &[0, 1], Rows::Range(0..2));
/// let affine = Affine { weights: &[1.0, 0.0, 0.5, 2.0], bias: &[0.0, 1.0] };
/// let (mut copy, mut scores) = (Tile::default(), Tile::default());
/// assert!(affine.scores(&cells, false, &mut copy, &mut scores)?);
/// assert_eq!(scores.data(), [1.0, 3.0, 5.5, 10.5]);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Affine<'a> {
    /// The weights of the columns, class after class.
    pub weights: &'a [f64],
    /// b, one per class.
    pub bias: &'a [f64],
}

impl Affine<'_> {
    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.bias.len()
    }

    /// Writes the scores of the rows, a column for each class. With `skip_missing` a NaN counts as 0. Returns
    /// whether all cells were finite or skipped: where one was not, the scores of its row are not finite either.
    /// `tile` is a place for copies of the cells, which may be kept from call to call.
    pub fn scores(&self, cells: &Cells<'_>, skip_missing: bool, tile: &mut Tile, out: &mut Tile) -> Result<bool> {
        out.resize(cells.rows(), self.classes());
        let width = cells.width();
        match (cells.row_slices(), self.classes()) {
            (Some(x), 1) => multiply_in_place(&x, [self.weights], out),
            (Some(x), 2) => multiply_in_place(&x, [&self.weights[..width], &self.weights[width..]], out),
            _ => {
                cells.read_numbers(tile)?;
                vectorised!(multiply_tile(self.weights, tile, out));
            }
        }
        let mut sound = all_finite(out.data());
        if !sound {
            // Either a cell is not finite, or a weight, or a sum has overflowed: cell by cell.
            cells.read_numbers(tile)?;
            sound = self.multiply_odd(tile, skip_missing, out);
        }
        for (column, b) in out.data_mut().chunks_exact_mut(cells.rows().max(1)).zip(self.bias) {
            column.iter_mut().for_each(|s| *s += b);
        }
        Ok(sound)
    }

    /// The weights of each column side by side: what a word of a sparse row touches.
    pub fn by_word(&self) -> Vec<f64> {
        const PART: usize = 1024;
        let (classes, width) = (self.classes(), self.weights.len() / self.classes().max(1));
        let mut by_word = vec![0.0; width * classes];
        // So many words at a time that what is written stays in the cache.
        for (part, by_word) in by_word.chunks_mut(PART * classes.max(1)).enumerate() {
            for (class, weights) in self.weights.chunks_exact(width.max(1)).enumerate() {
                let cells = by_word.iter_mut().skip(class).step_by(classes);
                cells.zip(&weights[part * PART..]).for_each(|(cell, w)| *cell = *w);
            }
        }
        by_word
    }

    /// Writes the scores of rows of words, a column for each class, by the weights as [`Affine::by_word`] has them:
    /// without, a few rows are scored by the weights as they lie. Returns whether all counts were finite.
    pub fn text_scores(&self, texts: Texts<'_>, by_word: Option<&[f64]>, out: &mut Tile) -> bool {
        let (classes, height) = (self.classes(), texts.1.len());
        out.resize(height, classes);
        let scores = out.data_mut();
        let width = self.weights.len() / classes.max(1);
        if let Some(values) = by_word.or((classes == 1).then_some(self.weights)) {
            let table = WordTable { classes, values, unknown: None };
            let sound = table.sums(
                texts,
                |x| x,
                |i, _, sums| {
                    (0..classes).for_each(|k| scores[k * height + i] = sums[k] + self.bias[k]);
                },
            );
            return sound || are_finite(texts);
        }
        scores.chunks_exact_mut(height.max(1)).zip(self.bias).for_each(|(column, b)| column.fill(*b));
        texts.0.for_each(texts.1, |i, word, x| {
            if x != 0.0 && (word as usize) < width {
                (0..classes).for_each(|k| scores[k * height + i] += x * self.weights[k * width + word as usize]);
            }
        });
        are_finite(texts)
    }

    /// The products where something is not finite: 0·(−∞) is 0, as for a cell of a sparse matrix that is not stored.
    fn multiply_odd(&self, tile: &mut Tile, skip_missing: bool, out: &mut Tile) -> bool {
        if skip_missing {
            tile.data_mut().iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
        }
        let width = tile.width();
        out.data_mut().fill(0.0);
        for class in 0..self.classes() {
            for (j, &w) in self.weights[class * width..(class + 1) * width].iter().enumerate() {
                let sums = out.column_mut(class).iter_mut().zip(tile.column(j));
                sums.filter(|(_, x)| **x != 0.0).for_each(|(sum, x)| *sum += w * x);
            }
        }
        all_finite(tile.data())
    }
}

fn are_finite((sparse, rows): Texts<'_>) -> bool {
    let mut finite = true;
    sparse.for_each(rows, |_, _, x| finite &= x.is_finite());
    finite
}

/// The products of rows that lie one after the other with the weights of K classes.
fn multiply_in_place<const K: usize>(x: &RowSlices<'_>, weights: [&[f64]; K], out: &mut Tile) {
    match x {
        RowSlices::F64(x) => vectorised!(multiply_rows(x.rows(), |i| x.row(i), weights, out)),
        RowSlices::F32(x) => vectorised!(multiply_rows(x.rows(), |i| x.row(i), weights, out)),
    }
}

#[inline(always)]
fn multiply_rows<'x, T: Copy + Into<f64> + 'x, const K: usize>(
    rows: usize,
    row: impl Fn(usize) -> &'x [T],
    weights: [&[f64]; K],
    out: &mut Tile,
) {
    const ROWS: usize = 4;
    let whole = rows - rows % ROWS;
    for start in (0..whole).step_by(ROWS) {
        let sums: [[f64; ROWS]; K] = dots(std::array::from_fn(|r| row(start + r)), weights);
        for k in 0..K {
            out.column_mut(k)[start..start + ROWS].copy_from_slice(&sums[k]);
        }
    }
    for i in whole..rows {
        let sums = dots([row(i)], weights);
        for k in 0..K {
            out.column_mut(k)[i] = sums[k][0];
        }
    }
}

/// The inner products of some rows with the weights of some classes, each in four sums.
#[inline(always)]
fn dots<T: Copy + Into<f64>, const R: usize, const K: usize>(x: [&[T]; R], w: [&[f64]; K]) -> [[f64; R]; K] {
    const LANES: usize = 4;
    let (x_whole, x_last) = (x.map(|x| x.as_chunks::<LANES>().0), x.map(|x| x.as_chunks::<LANES>().1));
    let (w_whole, w_last) = (w.map(|w| w.as_chunks::<LANES>().0), w.map(|w| w.as_chunks::<LANES>().1));
    let chunks = w_whole[0].len();
    // Known to be as long, so that the loop checks nothing.
    let (x_whole, w_whole) = (x_whole.map(|x| &x[..chunks]), w_whole.map(|w| &w[..chunks]));
    let mut sums = [[[0.0; LANES]; R]; K];
    for j in 0..chunks {
        for r in 0..R {
            let x: [f64; LANES] = x_whole[r][j].map(Into::into);
            for k in 0..K {
                for l in 0..LANES {
                    sums[k][r][l] += x[l] * w_whole[k][j][l];
                }
            }
        }
    }
    std::array::from_fn(|k| {
        std::array::from_fn(|r| {
            let [a, b, c, d] = sums[k][r];
            let last: f64 = x_last[r].iter().zip(w_last[k]).map(|(x, w)| Into::<f64>::into(*x) * w).sum();
            (a + c) + (b + d) + last
        })
    })
}

/// The products of the rows of a tile with the weights of each class.
#[inline(always)]
pub(super) fn multiply_tile(weights: &[f64], tile: &Tile, out: &mut Tile) {
    const ROWS: usize = 8;
    let rows = tile.rows();
    let whole = rows - rows % ROWS;
    // Not `for_each`, which is a function of its own, without the instructions of the machine.
    for start in (0..whole).step_by(ROWS) {
        multiply_strip::<ROWS>(weights, tile, start, out);
    }
    for i in whole..rows {
        multiply_strip::<1>(weights, tile, i, out);
    }
}

/// The same for R rows, whose cells stay in the first-level cache from class to class.
#[inline(always)]
fn multiply_strip<const R: usize>(weights: &[f64], tile: &Tile, start: usize, out: &mut Tile) {
    let (mut class, classes) = (0, out.width());
    while class < classes {
        class += match classes - class {
            4.. => multiply_classes::<R, 4>(weights, tile, start, class, out),
            2..4 => multiply_classes::<R, 2>(weights, tile, start, class, out),
            _ => multiply_classes::<R, 1>(weights, tile, start, class, out),
        };
    }
}

/// The same for R rows and K classes; returns K.
#[inline(always)]
fn multiply_classes<const R: usize, const K: usize>(
    weights: &[f64],
    tile: &Tile,
    start: usize,
    class: usize,
    out: &mut Tile,
) -> usize {
    let width = tile.width();
    let w = std::array::from_fn(|k| &weights[(class + k) * width..(class + k + 1) * width]);
    let sums: [[f64; R]; K] = column_dots(tile, start, w);
    for k in 0..K {
        out.column_mut(class + k)[start..start + R].copy_from_slice(&sums[k]);
    }
    K
}

/// Σ_j w_j x_j for R rows of a tile and the weights of K classes, four columns at a time.
#[inline(always)]
fn column_dots<const R: usize, const K: usize>(tile: &Tile, start: usize, weights: [&[f64]; K]) -> [[f64; R]; K] {
    let (cells, rows) = (tile.data(), tile.rows());
    let column = |j: usize| -> &[f64; R] { cells[j * rows + start..].first_chunk().unwrap_or(&[0.0; R]) };
    let (fours, last) = (weights.map(|w| w.as_chunks::<4>().0), weights.map(|w| w.as_chunks::<4>().1));
    let mut sums = [[0.0; R]; K];
    for j in 0..fours[0].len() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|l| column(4 * j + l));
        for k in 0..K {
            let w = fours[k][j];
            for r in 0..R {
                sums[k][r] += (w[0] * a[r] + w[1] * b[r]) + (w[2] * c[r] + w[3] * d[r]);
            }
        }
    }
    for j in 0..last[0].len() {
        let x = column(4 * fours[0].len() + j);
        for k in 0..K {
            for r in 0..R {
                sums[k][r] += last[k][j] * x[r];
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, Rows};
    use crate::numerics::Random;

    fn scores(affine: &Affine<'_>, batch: &Batch<'_>, rows: std::ops::Range<usize>, skip: bool) -> (Tile, bool) {
        let columns: Vec<usize> = (0..batch.width()).collect();
        let (mut copy, mut out) = (Tile::default(), Tile::default());
        let cells = Cells::new(batch, &columns, Rows::Range(rows));
        let sound = affine.scores(&cells, skip, &mut copy, &mut out).unwrap();
        (out, sound)
    }

    #[test]
    fn every_layout_gives_the_sums_and_parts_give_the_same_bits() {
        let mut random = Random::new(5);
        for (rows, width, classes) in [(1, 1, 1), (7, 3, 2), (13, 9, 3), (33, 20, 10)] {
            let x: Vec<f64> = (0..rows * width).map(|_| f64::from(random.normal() as f32)).collect();
            let narrow: Vec<f32> = x.iter().map(|x| *x as f32).collect();
            let by_column: Vec<f64> = (0..rows * width).map(|k| x[k % rows * width + k / rows]).collect();
            let weights: Vec<f64> = (0..width * classes).map(|_| random.normal()).collect();
            let bias: Vec<f64> = (0..classes).map(|_| random.normal()).collect();
            let affine = Affine { weights: &weights, bias: &bias };
            let batches = [
                Batch::new(rows).row_major(&x[..], width).unwrap(),
                Batch::new(rows).row_major(&narrow[..], width).unwrap(),
                Batch::new(rows).column_major(&by_column[..], width).unwrap(),
            ];
            for batch in &batches {
                let (found, sound) = scores(&affine, batch, 0..rows, false);
                assert!(sound);
                for i in 0..rows {
                    for k in 0..classes {
                        let terms = (0..width).map(|j| x[i * width + j] * weights[k * width + j]);
                        let expected = bias[k] + terms.sum::<f64>();
                        assert!((found.column(k)[i] - expected).abs() < 1e-13, "{} {expected}", found.column(k)[i]);
                    }
                }
                let (part, _) = scores(&affine, batch, rows / 2..rows, false);
                (0..classes).for_each(|k| assert_eq!(part.column(k), &found.column(k)[rows / 2..]));
            }
        }
    }

    #[test]
    fn cells_that_are_not_finite_are_reported_and_missing_ones_skipped() {
        let weights = [1.0, f64::NEG_INFINITY, 2.0, 3.0];
        let affine = Affine { weights: &weights, bias: &[0.5, f64::NEG_INFINITY] };
        // A weight of −∞ says nothing about a cell of 0.
        let batch = |x: [f64; 2]| x;
        for (x, skip, expected, sound) in [
            (batch([2.0, 0.0]), false, 2.5, true),
            (batch([2.0, 1.0]), false, f64::NEG_INFINITY, true),
            (batch([f64::NAN, 0.0]), true, 0.5, true),
            (batch([f64::NAN, 0.0]), false, f64::NAN, false),
            (batch([f64::INFINITY, 0.0]), true, f64::INFINITY, false),
        ] {
            let (found, is_sound) = scores(&affine, &Batch::new(1).row_major(&x[..], 2).unwrap(), 0..1, skip);
            assert_eq!(
                (found.column(0)[0].to_bits() == expected.to_bits() || expected.is_nan(), is_sound),
                (true, sound)
            );
            assert!(found.column(0)[0].is_nan() == expected.is_nan());
        }
    }
}
