//! Rows where they lie. A model of one output and nothing but numbers that lie row by row, or of one text,
//! reads each row at the speed of memory: nothing is copied, and numbers are centred on the way.

use std::ops::Range;

use super::rowset::{Design, add_intercepts};
use crate::data::{Rows, Sparse, Tile};
use crate::numerics::{Matrix, RowMajor, add_gram, add_row_gram, all_finite, vectorised};
use crate::scoring::WordTable;

/// Some rows of a batch.
pub enum InPlace<'a> {
    /// Features s(x − c), for one output.
    Numbers {
        x: RowMajor<'a>,
        centre: &'a [f64],
        scale: &'a [f64],
    },
    Text {
        counts: Sparse<'a>,
        rows: Range<usize>,
        words: usize,
    },
}

impl InPlace<'_> {
    /// Some of them.
    pub fn part(&self, range: Range<usize>) -> Self {
        match *self {
            InPlace::Numbers { x, centre, scale } => InPlace::Numbers { x: x.part(range), centre, scale },
            InPlace::Text { counts, words, .. } => InPlace::Text { counts, rows: range, words },
        }
    }

    /// Whether no cell was missing or infinite, told from scores that are sums over all of them.
    pub fn is_whole(&self, z: &Tile) -> bool {
        match self {
            InPlace::Numbers { .. } => all_finite(z.data()),
            InPlace::Text { .. } => true,
        }
    }
}

impl Design for InPlace<'_> {
    fn rows(&self) -> usize {
        match self {
            InPlace::Numbers { x, .. } => x.rows(),
            InPlace::Text { rows, .. } => rows.len(),
        }
    }

    fn scores(&self, theta: &[f64], outputs: usize, z: &mut Tile) {
        z.resize(self.rows(), outputs);
        let (weights, intercept) = theta.split_at(theta.len() - outputs);
        match self {
            InPlace::Numbers { x, centre, scale } => {
                let v: Vec<f64> = scale.iter().zip(weights).map(|(s, w)| s * w).collect();
                x.products(centre, &v, intercept[0], z.column_mut(0));
            }
            InPlace::Text { counts, rows, .. } => {
                let table = WordTable { classes: outputs, values: weights, unknown: None };
                let finish = |i: usize, _: f64, sums: &[f64]| {
                    (0..outputs).for_each(|k| z.column_mut(k)[i] = sums[k] + intercept[k]);
                };
                table.sums((*counts, &Rows::Range(rows.clone())), |x| x, finish);
            }
        }
    }

    fn add_gradient(&self, r: &Tile, gradient: &mut [f64]) {
        match self {
            InPlace::Numbers { x, centre, scale } => {
                let mut sums = vec![0.0; scale.len()];
                x.add_weighted(centre, r.column(0), &mut sums);
                gradient.iter_mut().zip(sums.iter().zip(*scale)).for_each(|(g, (sum, s))| *g += s * sum);
                add_intercepts(r, gradient);
            }
            InPlace::Text { .. } => self.add_words(r, gradient, |x| x),
        }
    }

    fn add_diagonal(&self, c: &Tile, diagonal: &mut [f64]) {
        match self {
            InPlace::Numbers { x, centre, scale } => {
                let (nothing, mut sums) = (vec![0.0; scale.len()], vec![0.0; scale.len()]);
                x.add_weighted_squares(centre, &nothing, c.column(0), &mut sums);
                diagonal.iter_mut().zip(sums.iter().zip(*scale)).for_each(|(d, (sum, s))| *d += s * s * sum);
                add_intercepts(c, diagonal);
            }
            InPlace::Text { .. } => self.add_words(c, diagonal, |x| x * x),
        }
    }

    fn dense(&self, features: usize, by: &[f64], out: &mut Tile) {
        out.resize(self.rows(), features + 1);
        match self {
            InPlace::Numbers { x, centre, scale } => {
                for (j, (c, s)) in centre.iter().zip(*scale).enumerate() {
                    let column = out.column_mut(j).iter_mut().zip(by);
                    column.enumerate().for_each(|(i, (o, by))| *o = by * s * (x.row(i)[j] - c));
                }
            }
            InPlace::Text { counts, rows, words } => {
                out.data_mut().fill(0.0);
                counts.for_each(&Rows::Range(rows.clone()), |i, word, x| {
                    if (word as usize) < *words {
                        out.column_mut(word as usize)[i] = x * by[i];
                    }
                });
            }
        }
        out.column_mut(features).copy_from_slice(by);
    }

    fn add_gram(&self, by: &[f64], copy: &mut Tile, gram: &mut Matrix) {
        let InPlace::Numbers { x, centre, scale } = self else {
            self.dense(gram.columns() - 1, by, copy);
            return add_gram(gram, copy);
        };
        // Rows stay rows: a column of the tile is one.
        copy.resize(scale.len() + 1, self.rows());
        vectorised!(for (i, by) in by.iter().enumerate() {
            let (one, cells) = copy.column_mut(i).split_last_mut().expect("the intercept has a cell");
            *one = *by;
            for (((o, x), c), s) in cells.iter_mut().zip(x.row(i)).zip(*centre).zip(*scale) {
                *o = by * s * (x - c);
            }
        });
        add_row_gram(gram, copy.data());
    }
}

impl InPlace<'_> {
    /// Adds Σᵢ f(xᵢⱼ) rᵢ for the words j and the intercept.
    fn add_words(&self, r: &Tile, sums: &mut [f64], f: impl Fn(f64) -> f64) {
        let InPlace::Text { counts, rows, words } = self else { return };
        let (outputs, rows) = (r.width(), Rows::Range(rows.clone()));
        add_intercepts(r, sums);
        let sums = &mut sums[..words * outputs];
        if outputs == 1 {
            let r = r.column(0);
            counts.for_each_row(&rows, |i, words, x| {
                for (&j, &x) in words.iter().zip(x) {
                    if let Some(sum) = sums.get_mut(j as usize) {
                        *sum += f(x) * r[i];
                    }
                }
            });
            return;
        }
        let mut of_row = vec![0.0; outputs];
        counts.for_each_row(&rows, |i, words, x| {
            of_row.iter_mut().enumerate().for_each(|(k, o)| *o = r.column(k)[i]);
            for (&j, &x) in words.iter().zip(x) {
                let start = j as usize * outputs;
                let sums = sums.get_mut(start..start + outputs).unwrap_or_default();
                sums.iter_mut().zip(&of_row).for_each(|(sum, r)| *sum += f(x) * r);
            }
        });
    }
}
