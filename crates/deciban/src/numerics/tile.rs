//! The small dense matrices in which all numerical work is done.

use std::cell::RefCell;

use super::all_finite;

thread_local! {
    /// Memory of a thread's last tiles: a row on its own takes less time than to ask for some.
    static SPARE: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

/// A small dense matrix of numbers, each column contiguous. Its memory is used again.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    rows: usize,
    width: usize,
    pub(crate) data: Vec<f64>,
}

impl Tile {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Gives the tile `rows` × `width` cells. Those of a new tile are 0, others hold what they did.
    pub fn resize(&mut self, rows: usize, width: usize) {
        if self.data.capacity() == 0 {
            self.make_room(0, 0);
        }
        self.make_room(rows, width);
    }

    /// As [`Tile::resize`], where all cells are written next: what they hold is left open.
    pub(crate) fn make_room(&mut self, rows: usize, width: usize) {
        (self.rows, self.width) = (rows, width);
        if self.data.capacity() == 0 {
            self.data = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten().unwrap_or_default();
        }
        self.data.resize(rows * width, 0.0);
    }

    /// A column.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// A column, to write.
    pub fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// All cells, column after column.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// All cells, column after column, to write.
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The first cell that is not a finite number, as (row, column).
    pub fn first_not_finite(&self) -> Option<(usize, usize)> {
        (0..self.width).filter(|&j| !all_finite(self.column(j))).find_map(|j| {
            let row = self.column(j).iter().position(|x| !x.is_finite())?;
            Some((row, j))
        })
    }
}

impl Drop for Tile {
    fn drop(&mut self) {
        /// More tiles than this, and larger ones, are given back.
        const MOST: (usize, usize) = (8, 64 << 10);
        if (1..=MOST.1).contains(&self.data.capacity()) {
            let data = std::mem::take(&mut self.data);
            // A thread that ends has nothing to keep.
            let _ = SPARE.try_with(|spare| {
                let mut spare = spare.borrow_mut();
                if spare.len() < MOST.0 {
                    spare.push(data);
                }
            });
        }
    }
}
