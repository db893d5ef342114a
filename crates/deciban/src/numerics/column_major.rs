//! Columns of numbers that lie one after the other in memory.

use super::Tile;

/// Columns of numbers, `distance` cells from the start of one to the start of the next.
#[derive(Clone, Copy, Debug)]
pub struct ColumnMajor<'a, T = f64> {
    values: &'a [T],
    distance: usize,
    width: usize,
    rows: usize,
}

impl<'a, T> ColumnMajor<'a, T> {
    /// `width` columns of `rows` cells, if there are so many.
    pub fn new(values: &'a [T], distance: usize, width: usize, rows: usize) -> Option<Self> {
        let fits = width == 0 || (width - 1).checked_mul(distance)?.checked_add(rows)? <= values.len();
        fits.then_some(ColumnMajor { values, distance, width, rows })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The cells of column `j`.
    ///
    /// # Panics
    /// If there is no such column.
    #[inline(always)]
    pub fn column(&self, j: usize) -> &'a [T] {
        &self.values[j * self.distance..][..self.rows]
    }

    /// The cells of R rows, from row `start` on, in column `j`.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline(always)]
    pub fn cells<const R: usize>(&self, j: usize, start: usize) -> &'a [T; R] {
        let place = j * self.distance + start;
        self.values[place..place + R].first_chunk().expect("a slice of R cells has R cells")
    }
}

impl<'a> From<&'a Tile> for ColumnMajor<'a> {
    fn from(tile: &'a Tile) -> Self {
        ColumnMajor { values: tile.data(), distance: tile.rows(), width: tile.width(), rows: tile.rows() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_beyond_the_end_are_refused() {
        let values = [0.0, 1.0, 2.0, 3.0, 4.0];
        let columns = ColumnMajor::new(&values, 3, 2, 2).unwrap();
        assert_eq!((columns.cells::<2>(0, 0), columns.cells::<1>(1, 1)), (&[0.0, 1.0], &[4.0]));
        assert_eq!(columns.column(1), [3.0, 4.0]);
        assert!(ColumnMajor::new(&values, 3, 2, 3).is_none());
        assert!(ColumnMajor::new(&values, usize::MAX, 3, 2).is_none());
        assert!(ColumnMajor::new(&values, 9, 0, 2).is_some());
    }
}
