//! Rows of one class, copied one after the other out of rows of all classes: these are read once, in their
//! order, and never transposed.

use std::cell::RefCell;

use super::NotFinite;
use super::moments::two_sum;
use crate::data::Tile;
use crate::numerics::{RowMajor, all_finite, vectorised};

/// Rows and their weights.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowBuffer {
    width: usize,
    cells: Vec<f64>,
    weights: Vec<f64>,
}

thread_local! {
    /// Memory of a thread's last buffers: fresh pages cost as much as the work on them.
    static SPARE: RefCell<Vec<RowBuffer>> = const { RefCell::new(Vec::new()) };
}

impl RowBuffer {
    /// Runs `body` with an empty buffer for each of so many classes.
    pub fn with_each<R>(classes: usize, width: usize, body: impl FnOnce(&mut [RowBuffer]) -> R) -> R {
        let mut buffers = SPARE.take();
        buffers.resize_with(classes, RowBuffer::default);
        for buffer in &mut buffers {
            buffer.width = width;
            buffer.clear();
        }
        let result = body(&mut buffers);
        SPARE.set(buffers);
        result
    }

    pub fn push(&mut self, row: &[f64], weight: f64) {
        self.cells.extend_from_slice(row);
        self.weights.push(weight);
    }

    pub fn clear(&mut self) {
        self.cells.clear();
        self.weights.clear();
    }

    /// How many there are.
    pub fn rows(&self) -> usize {
        self.weights.len()
    }

    /// The cells, row after row.
    pub fn cells(&self) -> &[f64] {
        &self.cells
    }

    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The weight of all.
    pub fn weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    fn view(&self) -> RowMajor<'_> {
        RowMajor::new(&self.cells, self.width, self.width, self.rows()).expect("only whole rows are pushed")
    }

    /// The weighted mean, in two doubles. As in `moments`, residuals are summed about `shift`, the mean of the rows
    /// before, and twice where there are none.
    pub fn mean(&self, shift: &[f64], is_known: bool) -> Result<[Vec<f64>; 2], NotFinite> {
        let total = Some(self.weight()).filter(|total| *total > 0.0).unwrap_or(1.0);
        let (mut mean, mut low) = (shift.to_vec(), vec![0.0; self.width]);
        for _ in 0..if is_known { 1 } else { 2 } {
            let mut sums = vec![0.0; self.width];
            self.view().add_weighted(&mean, &self.weights, &mut sums);
            for j in 0..self.width {
                (mean[j], low[j]) = two_sum(mean[j], sums[j] / total);
            }
        }
        if all_finite(&mean) { Ok([mean, low]) } else { Err(NotFinite) }
    }

    /// Centres the rows on their mean and scales them by √weight.
    pub fn centre(&mut self, [mean, low]: &[Vec<f64>; 2]) {
        vectorised!(for (row, weight) in self.cells.chunks_exact_mut(self.width).zip(&self.weights) {
            let scale = weight.sqrt();
            for ((x, mean), low) in row.iter_mut().zip(mean).zip(low) {
                *x = ((*x - mean) - low) * scale;
            }
        });
    }

    /// Σ w (x − mean)² of each column.
    pub fn scatter(&self, [mean, low]: &[Vec<f64>; 2]) -> Vec<f64> {
        let mut sums = vec![0.0; self.width];
        self.view().add_weighted_squares(mean, low, &self.weights, &mut sums);
        sums
    }

    /// The rows as columns.
    pub fn tile(&self) -> Tile {
        let mut tile = Tile::default();
        tile.resize(self.rows(), self.width);
        for j in 0..self.width {
            let column = self.cells.iter().skip(j).step_by(self.width);
            tile.column_mut(j).iter_mut().zip(column).for_each(|(cell, x)| *cell = *x);
        }
        tile
    }
}
