//! Maps for rows with missing cells.
//!
//! Evidence is too sure mostly because columns repeat each other: m columns that share a part ρ of what they
//! say count 1 + (m − 1)ρ times. So a map of slope a, learned on rows with M cells, is for a row with m of them
//!
//! ```text
//! slope   1/a(m) = 1 + (1/a − 1)(m − 1)/(M − 1)        1 for a single cell, a for M
//! offset  b(m)   = b m/M                               0 for none, b for M
//! ```
//!
//! A map g of LLRs that is not a line has the slope (g(x) − g(0))/x and the offset g(0): its calibrated LLR is
//! the weighted harmonic mean of x and g(x) − g(0), plus the offset. A row without cells carries no evidence.
//! M is the mean number of cells of the rows that taught the map; rows with more of them have the whole map.

use rayon::prelude::*;

use crate::data::{Batch, Cells, MISSING, Rows, Tile, View};
use crate::error::Result;

/// How much of a map a row gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// (m − 1)/(M − 1), from 0 to 1: how far the slope is on its way from 1 to that of the map.
    pub slope: f64,
    /// m/M, from 0 to 1: the part of the offset.
    pub offset: f64,
}

impl Share {
    /// The whole map.
    pub const WHOLE: Share = Share { slope: 1.0, offset: 1.0 };

    /// For a row with so many cells, where `typical` is what rows had that taught the map.
    ///
    /// ```
    /// use deciban::calibrate::Share;
    /// assert_eq!(Share::new(9, 9.0), Share::WHOLE);
    /// assert_eq!(Share::new(5, 9.0), Share { slope: 0.5, offset: 5.0 / 9.0 });
    /// assert_eq!(Share::new(0, 9.0), Share { slope: 0.0, offset: 0.0 });
    /// ```
    pub fn new(cells: usize, typical: f64) -> Self {
        let cells = cells as f64;
        match cells {
            _ if cells >= typical => Share::WHOLE,
            0.0 => Share { slope: 0.0, offset: 0.0 },
            _ => Share { slope: (cells - 1.0) / (typical - 1.0), offset: cells / typical },
        }
    }

    /// The slope for a row with this share, from the slope a of the map.
    pub fn of_slope(&self, a: f64) -> f64 {
        a / (a + (1.0 - a) * self.slope)
    }

    /// The calibrated LLR, from g(x) and g(0): monotone in x, x itself for a single cell but for the offset.
    pub(super) fn of_llr(&self, x: f64, gx: f64, g0: f64) -> f64 {
        if *self == Share::WHOLE {
            return gx;
        }
        // Steps may be infinite at 0: then there is no offset to speak of.
        let g0 = if g0.is_finite() { g0 } else { 0.0 };
        let rise = gx - g0;
        let mean = match (x, rise) {
            (0.0, _) | (_, 0.0) if self.slope > 0.0 => 0.0,
            _ if self.slope == 0.0 => x,
            _ => 1.0 / ((1.0 - self.slope) / x + self.slope / rise),
        };
        mean + self.offset * g0
    }
}

/// How many cells each row has; `None` where all rows have all of them. A text is a cell that is there.
pub fn count_cells(x: &Batch<'_>) -> Result<Option<Vec<u32>>> {
    const TILE: usize = 512;
    let numbers: Vec<usize> = (0..x.width()).filter(|&j| matches!(x.view(j), View::Numbers(_))).collect();
    let codes = || (0..x.width()).filter_map(|j| if let View::Codes(codes) = x.view(j) { Some(codes) } else { None });
    let tile = |start: usize| {
        let rows = start..x.rows().min(start + TILE);
        let mut missing = vec![0u32; rows.len()];
        if !numbers.is_empty() {
            let mut tile = Tile::default();
            Cells::new(x, &numbers, Rows::Range(rows.clone())).read_numbers(&mut tile)?;
            for j in 0..numbers.len() {
                missing.iter_mut().zip(tile.column(j)).for_each(|(m, x)| *m += u32::from(x.is_nan()));
            }
        }
        for codes in codes() {
            missing.iter_mut().zip(&codes[rows.clone()]).for_each(|(m, &code)| *m += u32::from(code == MISSING));
        }
        Ok(missing)
    };
    let starts: Vec<usize> = (0..x.rows()).step_by(TILE).collect();
    let mut missing = starts.into_par_iter().map(tile).collect::<Result<Vec<Vec<u32>>>>()?.concat();
    if missing.iter().all(|m| *m == 0) {
        return Ok(None);
    }
    missing.iter_mut().for_each(|m| *m = x.width() as u32 - *m);
    Ok(Some(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_a_map_of_llrs_agree() {
        for a in [0.1, 0.5, 1.0, 3.0] {
            for cells in 0..=7 {
                let share = Share::new(cells, 7.0);
                for x in [-40.0, -1.0, 0.0, 0.3, 12.0] {
                    let b = 0.4;
                    let line = share.of_slope(a) * x + share.offset * b;
                    assert!((share.of_llr(x, a * x + b, b) - line).abs() < 1e-13, "{a} {cells} {x}");
                }
            }
        }
    }

    #[test]
    fn infinite_and_flat_maps_are_no_nan() {
        let infinite = f64::INFINITY;
        for cells in 0..=4 {
            let share = Share::new(cells, 4.0);
            for x in [-infinite, -2.0, 0.0, 2.0, infinite] {
                for (gx, g0) in [(0.5, 0.5), (infinite, 0.0), (-infinite, 0.1), (3.0, -1.0)] {
                    assert!(!share.of_llr(x, gx, g0).is_nan(), "{cells} {x} {gx} {g0}");
                }
            }
        }
        assert_eq!(Share::new(2, 4.0).of_llr(infinite, 3.0, 1.0), 2.0 / (1.0 / 3.0) + 0.5);
    }

    #[test]
    fn cells_are_counted() {
        let (x, y) = ([1.0, f64::NAN, f64::NAN], [0u32, MISSING, 2]);
        let batch = Batch::new(3).column(&x[..]).unwrap().codes(&y).unwrap();
        assert_eq!(count_cells(&batch).unwrap(), Some(vec![2, 0, 1]));
        let whole = Batch::new(1).column(&[1.0][..]).unwrap();
        assert_eq!(count_cells(&whole).unwrap(), None);
    }
}
