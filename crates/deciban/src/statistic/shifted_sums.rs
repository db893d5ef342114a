//! Sums of rows about the means of the rows before them: rows of all groups are read once, in their order, and
//! nothing is copied.

use crate::numerics::{RowMajor, vectorised};

/// Weight, Σ w(x − c) and Σ w(x − c)² of the rows of several groups, each about its own c.
#[derive(Debug)]
pub(crate) struct ShiftedSums {
    width: usize,
    /// Rows and weight of each group.
    sizes: Vec<[f64; 2]>,
    /// c of each column, the sums and the sums of squares, group by group.
    cells: Vec<f64>,
}

/// The sums of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupSums<'a> {
    pub rows: f64,
    pub weight: f64,
    pub centre: &'a [f64],
    pub sums: &'a [f64],
    pub squares: &'a [f64],
}

impl ShiftedSums {
    /// No rows yet.
    pub fn new(groups: usize, width: usize) -> Self {
        ShiftedSums { width, sizes: vec![[0.0; 2]; groups], cells: vec![0.0; 3 * groups * width] }
    }

    /// Forgets a group's rows; others will be summed about `centre`.
    pub fn start(&mut self, group: usize, centre: &[f64]) {
        self.sizes[group] = [0.0; 2];
        let (own, sums) = self.cells[3 * self.width * group..][..3 * self.width].split_at_mut(self.width);
        own.copy_from_slice(centre);
        sums.fill(0.0);
    }

    /// Adds rows, each to its group.
    pub fn add(&mut self, rows: &RowMajor<'_>, groups: &[u32], weights: &[f64]) {
        let width = self.width;
        vectorised!(for (i, (&group, &weight)) in groups.iter().zip(weights).enumerate() {
            let group = group as usize;
            let [count, total] = &mut self.sizes[group];
            (*count, *total) = (*count + 1.0, *total + weight);
            let (centre, sums) = self.cells[3 * width * group..][..3 * width].split_at_mut(width);
            let (sums, squares) = sums.split_at_mut(width);
            for (((x, c), sum), square) in rows.row(i).iter().zip(&*centre).zip(sums).zip(squares) {
                let residual = x - c;
                let weighted = weight * residual;
                *sum += weighted;
                *square += weighted * residual;
            }
        });
    }

    /// What was summed.
    pub fn of(&self, group: usize) -> GroupSums<'_> {
        let [rows, weight] = self.sizes[group];
        let cells = &self.cells[3 * self.width * group..][..3 * self.width];
        let (centre, sums) = cells.split_at(self.width);
        let (sums, squares) = sums.split_at(self.width);
        GroupSums { rows, weight, centre, sums, squares }
    }
}
