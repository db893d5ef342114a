//! Scores s = Wx + b of rows of numbers, with a row of W for each class.
//!
//! Numbers in single or double precision are read where they lie (`products.rs`), column by column or row by row. Others
//! are copied into a tile first.

use super::{Texts, WordTable, products};
use crate::data::{Cells, Tile};
use crate::error::Result;
use crate::numerics::all_finite;

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
        products::of_cells(cells, None, self.weights, tile, out)?;
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

    /// Writes the scores of rows that lie one after the other, row after row. Returns whether it has, and all of them are
    /// finite; where not, [`Affine::scores`] finds them.
    pub fn write_rows(&self, cells: &Cells<'_>, out: &mut [f64]) -> bool {
        let to = (Some(self.bias), self.classes());
        products::of_whole_rows(cells, None, self.weights, to, out) && all_finite(out)
    }

    /// Writes the weights of each column side by side: what a word of a sparse row touches.
    pub fn by_word(&self, out: &mut Vec<f64>) {
        const PART: usize = 256;
        let (classes, width) = (self.classes(), self.weights.len() / self.classes().max(1));
        out.resize(width * classes, 0.0);
        // So many words at a time that what is written stays in the cache.
        for (part, by_word) in out.chunks_mut(PART * classes.max(1)).enumerate() {
            for (class, weights) in self.weights.chunks_exact(width.max(1)).enumerate() {
                let cells = by_word.iter_mut().skip(class).step_by(classes);
                cells.zip(&weights[part * PART..]).for_each(|(cell, w)| *cell = *w);
            }
        }
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
        for (rows, width, classes) in
            [(1, 1, 1), (7, 3, 2), (13, 9, 3), (37, 6, 5), (33, 20, 10), (50, 3, 13), (70, 5, 1), (40, 7, 29)]
        {
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
                let mut by_row = vec![f64::NAN; rows * classes];
                let columns: Vec<usize> = (0..width).collect();
                if affine.write_rows(&Cells::new(batch, &columns, Rows::Range(0..rows)), &mut by_row) && classes > 1 {
                    (0..rows * classes).for_each(|k| assert_eq!(by_row[k], found.column(k % classes)[k / classes]));
                }
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
