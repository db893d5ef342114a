//! Rows as features, and the products of linear models with them.

use crate::data::Tile;
use crate::numerics::{Matrix, add_gram, tile_product_by_rows, tile_transpose_product};

/// Rows as features, for the passes of linear models: X, with the intercept's ones as its last column.
/// Weights, gradients and diagonals hold a value per output for each feature, the intercept last.
pub trait Design {
    /// The number of rows.
    fn rows(&self) -> usize;
    /// z = Xθ, a column per output.
    fn scores(&self, theta: &[f64], outputs: usize, z: &mut Tile);
    /// g ← g + Xᵀr for residuals r, a column per output.
    fn add_gradient(&self, r: &Tile, gradient: &mut [f64]);
    /// Adds the diagonals of Xᵀ diag(c) X for curvatures c, a column per output.
    fn add_diagonal(&self, c: &Tile, diagonal: &mut [f64]);
    /// X as one dense tile, row `i` multiplied by `by[i]`.
    fn dense(&self, features: usize, by: &[f64], out: &mut Tile);
    /// Adds the lower triangle of Xᵀ diag(by²) X; `copy` is a place for a copy of X.
    fn add_gram(&self, by: &[f64], copy: &mut Tile, gram: &mut Matrix) {
        self.dense(gram.columns() - 1, by, copy);
        add_gram(gram, copy);
    }
}

/// Adds what the intercept's ones contribute to Xᵀr, at the end of `sums`.
pub(super) fn add_intercepts(r: &Tile, sums: &mut [f64]) {
    let first = sums.len() - r.width();
    sums[first..].iter_mut().enumerate().for_each(|(k, sum)| *sum += r.column(k).iter().sum::<f64>());
}

/// Rows copied into features: numbers dense, the rest by code.
#[derive(Default)]
pub struct Rowset {
    pub(super) numbers: Tile,
    /// For each row the other features and their values, one after the other; empty where there are none.
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Rowset {
    /// Forgets the sparse features, for new rows.
    pub(super) fn clear_sparse(&mut self) {
        self.offsets.clear();
        self.indices.clear();
        self.values.clear();
    }

    /// Adds a sparse feature to the row that is being read.
    pub(super) fn push(&mut self, feature: u32, value: f64) {
        self.indices.push(feature);
        self.values.push(value);
    }

    /// Ends the row that is being read.
    pub(super) fn end_row(&mut self) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.offsets.push(self.indices.len());
    }

    /// The first cell below 0, as row, feature and value.
    pub fn first_negative(&self) -> Option<(usize, usize, f64)> {
        let dense = (0..self.numbers.width()).find_map(|j| {
            let (i, x) = self.numbers.column(j).iter().enumerate().find(|(_, x)| **x < 0.0)?;
            Some((i, j, *x))
        });
        let sparse = || (0..self.rows()).find_map(|i| self.sparse(i).find(|(_, x)| *x < 0.0).map(|(j, x)| (i, j, x)));
        dense.or_else(sparse)
    }

    /// The sparse features of a row with their values.
    pub fn sparse(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = match self.offsets.get(row..row + 2) {
            Some(&[start, end]) => start..end,
            // All features are numbers.
            _ => 0..0,
        };
        self.indices[range.clone()].iter().map(|&i| i as usize).zip(self.values[range].iter().copied())
    }

    /// Copies the numbers of a row.
    pub fn numbers_of(&self, row: usize, out: &mut [f64]) {
        out.iter_mut().enumerate().for_each(|(j, x)| *x = self.numbers.column(j)[row]);
    }

    /// ‖x‖² of a row, without the intercept.
    pub fn square(&self, row: usize) -> f64 {
        let numbers = (0..self.numbers.width()).map(|j| self.numbers.column(j)[row]);
        numbers.chain(self.sparse(row).map(|(_, x)| x)).map(|x| x * x).sum()
    }

    /// Calls `body(i, j, x)` for every sparse feature of every row.
    fn for_each_sparse(&self, mut body: impl FnMut(usize, usize, f64)) {
        if !self.indices.is_empty() {
            (0..self.rows()).for_each(|i| self.sparse(i).for_each(|(j, x)| body(i, j, x)));
        }
    }
}

impl Design for Rowset {
    fn rows(&self) -> usize {
        self.numbers.rows()
    }

    fn scores(&self, theta: &[f64], outputs: usize, z: &mut Tile) {
        tile_product_by_rows(&self.numbers, &theta[..self.numbers.width() * outputs], outputs, z);
        let intercept = &theta[theta.len() - outputs..];
        for k in 0..outputs {
            z.column_mut(k).iter_mut().for_each(|z| *z += intercept[k]);
        }
        self.for_each_sparse(|i, j, x| {
            (0..outputs).for_each(|k| z.column_mut(k)[i] += x * theta[j * outputs + k]);
        });
    }

    fn add_gradient(&self, r: &Tile, gradient: &mut [f64]) {
        let (n, outputs) = (self.numbers.width(), r.width());
        let dense = tile_transpose_product(&self.numbers, r);
        for j in 0..n {
            for k in 0..outputs {
                gradient[j * outputs + k] += dense[(j, k)];
            }
        }
        add_intercepts(r, gradient);
        self.for_each_sparse(|i, j, x| {
            (0..outputs).for_each(|k| gradient[j * outputs + k] += x * r.column(k)[i]);
        });
    }

    fn add_diagonal(&self, c: &Tile, diagonal: &mut [f64]) {
        let (n, outputs) = (self.numbers.width(), c.width());
        for k in 0..outputs {
            for j in 0..n {
                let terms = self.numbers.column(j).iter().zip(c.column(k));
                diagonal[j * outputs + k] += terms.map(|(x, c)| x * x * c).sum::<f64>();
            }
        }
        add_intercepts(c, diagonal);
        self.for_each_sparse(|i, j, x| {
            (0..outputs).for_each(|k| diagonal[j * outputs + k] += x * x * c.column(k)[i]);
        });
    }

    fn dense(&self, features: usize, by: &[f64], out: &mut Tile) {
        let n = self.numbers.width();
        out.resize(self.rows(), features + 1);
        for j in 0..n {
            let column = out.column_mut(j).iter_mut().zip(self.numbers.column(j));
            column.zip(by).for_each(|((o, x), s)| *o = x * s);
        }
        for j in n..features {
            out.column_mut(j).fill(0.0);
        }
        out.column_mut(features).copy_from_slice(by);
        self.for_each_sparse(|i, j, x| out.column_mut(j)[i] = x * by[i]);
    }
}
