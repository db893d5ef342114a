//! Projections z = W(x − c) of rows of numbers, with a row of W for each direction.
//!
//! The centre is subtracted first: W x − W c would lose the digits that the two have in common.

use super::products;
use crate::data::{Cells, Tile};
use crate::error::Result;
use crate::numerics::all_finite;

/// W and c.
///
/// ```
/// use deciban::data::{Batch, Cells, Rows, Tile};
/// use deciban::scoring::Projection;
/// let batch = Batch::new(1).row_major(&[1e9 + 1.0, 5.0][..], 2)?;
/// let cells = Cells::new(&batch, &[0, 1], Rows::Range(0..1));
/// let projection = Projection { weights: &[0.1, 2.0], centre: &[1e9, 4.0] };
/// let (mut copy, mut out) = (Tile::default(), Tile::default());
/// assert!(projection.of(&cells, &mut copy, &mut out)?);
/// assert_eq!(out.data(), [2.1]);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Projection<'a> {
    /// The weights of the columns, direction after direction.
    pub weights: &'a [f64],
    /// c, one number per column.
    pub centre: &'a [f64],
}

impl Projection<'_> {
    /// Writes the projections of the rows, a column for each direction, and returns whether all cells were finite.
    /// `tile` is a place for a copy of the cells, which may be kept from call to call.
    pub fn of(&self, cells: &Cells<'_>, tile: &mut Tile, out: &mut Tile) -> Result<bool> {
        out.resize(cells.rows(), self.weights.len() / self.centre.len().max(1));
        products::of_cells(cells, Some(self.centre), self.weights, tile, out)?;
        if all_finite(out.data()) {
            return Ok(true);
        }
        cells.read_numbers(tile)?;
        Ok(all_finite(tile.data()))
    }

    /// Writes the projections of rows that lie one after the other, row after row. Returns whether it has, and all of
    /// them are finite; where not, [`Projection::of`] finds them.
    pub fn write_rows(&self, cells: &Cells<'_>, out: &mut [f64]) -> bool {
        let directions = self.weights.len() / self.centre.len().max(1);
        products::of_whole_rows(cells, Some(self.centre), self.weights, (None, directions), out) && all_finite(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, Rows};

    #[test]
    fn infinite_cells_are_reported_and_infinite_products_are_not() {
        for (x, weight, sound) in
            [(1.0, 2.0, true), (f64::INFINITY, 2.0, false), (f64::NAN, 0.0, false), (1e200, 1e200, true)]
        {
            let x = [x, 0.0];
            let batch = Batch::new(1).row_major(&x[..], 2).unwrap();
            let projection = Projection { weights: &[weight, 1.0], centre: &[0.0, 0.0] };
            let cells = Cells::new(&batch, &[0, 1], Rows::Range(0..1));
            assert_eq!(projection.of(&cells, &mut Tile::default(), &mut Tile::default()).unwrap(), sound, "{x:?}");
        }
    }
}
