//! The rows themselves, as a statistic: sorted, equal rows as one with the sum of their weights. So merging does not
//! depend on the order, and rows can be removed again.

use std::cmp::Ordering;

use crate::data::{Cells, Tile};
use crate::error::{Error, Result};
use crate::family::counts::difference;
use crate::file::{Archive, Stored};
use crate::statistic::{Retract, Statistic};

/// More numbers than this are refused (20 MB).
const MOST_CELLS: usize = 2_500_000;

/// Rows without missing cells.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptRows {
    width: usize,
    /// Row after row, ascending.
    cells: Vec<f64>,
    /// The weight of each, above 0.
    weights: Vec<f64>,
}

fn compare(a: &[f64], b: &[f64]) -> Ordering {
    let differ = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| *order != Ordering::Equal);
    differ.unwrap_or(Ordering::Equal)
}

impl KeptRows {
    /// No rows.
    pub fn empty(width: usize) -> Self {
        KeptRows { width, cells: Vec::new(), weights: Vec::new() }
    }

    /// How many different rows there are.
    pub fn rows(&self) -> usize {
        self.weights.len()
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.cells[i * self.width..(i + 1) * self.width]
    }

    /// The weight of each row.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The weight of all.
    pub fn weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// Adds rows; those with a missing cell are left out.
    pub fn observe(&mut self, x: &Cells<'_>, names: &[String]) -> Result<()> {
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        x.read_numbers(&mut tile)?;
        x.read_weights(&mut weights);
        for (i, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let cell = |j: usize| tile.column(j)[i];
            if let Some(j) = (0..self.width).find(|&j| cell(j).is_infinite()) {
                return Err(Error::Infinite { column: names[j].clone(), row: x.row_number(i) + 1 });
            }
            if !(0..self.width).any(|j| cell(j).is_nan()) {
                // 0 and −0 are one number.
                self.cells.extend((0..self.width).map(|j| cell(j) + 0.0));
                self.weights.push(weight);
            }
        }
        self.tidy()
    }

    /// Sorts rows, and makes one of those that are equal.
    fn tidy(&mut self) -> Result<()> {
        let mut order: Vec<usize> = (0..self.rows()).collect();
        // Rows that were sorted before are runs, which this sort merges.
        order.sort_by(|&a, &b| compare(self.row(a), self.row(b)));
        let mut tidy = KeptRows::empty(self.width);
        for i in order {
            match tidy.weights.len().checked_sub(1) {
                Some(last) if tidy.row(last) == self.row(i) => tidy.weights[last] += self.weights[i],
                _ => {
                    tidy.cells.extend_from_slice(self.row(i));
                    tidy.weights.push(self.weights[i]);
                }
            }
        }
        if tidy.cells.len() > MOST_CELLS {
            return Err(Error::Schema(format!(
                "§model=parzen keeps every row, and more than {} different rows of {} columns are too many: give \
                 §model=gaussian with §components",
                MOST_CELLS / self.width.max(1),
                self.width
            )));
        }
        *self = tidy;
        Ok(())
    }
}

impl Statistic for KeptRows {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the merged rows", self.width, other.width)?;
        let mut sum = self.clone();
        sum.cells.extend_from_slice(&other.cells);
        sum.weights.extend_from_slice(&other.weights);
        sum.tidy()?;
        *self = sum;
        Ok(())
    }
}

impl Retract for KeptRows {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the removed rows", self.width, other.width)?;
        let mut rest = KeptRows::empty(self.width);
        let mut next = 0;
        for i in 0..self.rows() {
            let mut weight = self.weights[i];
            if next < other.rows() && other.row(next) == self.row(i) {
                weight = difference(weight, other.weights[next])?;
                next += 1;
            }
            if weight > 0.0 {
                rest.cells.extend_from_slice(self.row(i));
                rest.weights.push(weight);
            }
        }
        if next < other.rows() {
            return Err(Error::Cancellation("cannot remove a row that was never added".into()));
        }
        *self = rest;
        Ok(())
    }
}

impl Stored for KeptRows {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.shape"), &(self.rows(), self.width))?;
        archive.put(&format!("{name}.rows"), &[self.rows(), self.width], &self.cells)?;
        archive.put(&format!("{name}.weights"), &[self.rows()], &self.weights)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (rows, width): (usize, usize) = archive.json(&format!("{name}.shape"))?;
        let cells = archive.finite(&format!("{name}.rows"), &[rows, width])?.to_vec();
        let weights = archive.finite(&format!("{name}.weights"), &[rows])?.to_vec();
        let kept = KeptRows { width, cells, weights };
        let ascend = (1..rows).all(|i| compare(kept.row(i - 1), kept.row(i)) == Ordering::Less);
        match ascend && kept.weights.iter().all(|w| *w > 0.0) {
            true => Ok(kept),
            false => Err(archive.damaged(&format!("`{name}` does not hold sorted rows"))),
        }
    }
}
