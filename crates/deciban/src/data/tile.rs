//! The small dense matrices in which all numerical work is done.

/// A small dense matrix of numbers, each column contiguous.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    rows: usize,
    width: usize,
    pub(super) data: Vec<f64>,
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

    /// Makes room for `rows` × `width` cells; what they hold is left open.
    pub fn resize(&mut self, rows: usize, width: usize) {
        (self.rows, self.width) = (rows, width);
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
        // A sum is finite only if its terms are, so whole columns pass at the speed of memory.
        // (A finite column may still overflow its sum: then the search below finds nothing.)
        (0..self.width).find_map(|j| {
            let column = self.column(j);
            if column.iter().map(|x| x * 0.0).sum::<f64>() == 0.0 {
                return None;
            }
            column.iter().position(|x| !x.is_finite()).map(|i| (i, j))
        })
    }
}
