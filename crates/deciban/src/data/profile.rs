//! What the first rows say of a column, so that a model can be chosen before any pass: how many
//! different values there are, and how much of the cells the most frequent one takes.

use super::{Batch, Cells, MISSING, Rows, Tile, UNSEEN, View};
use crate::error::Result;

/// A look at some cells of a column of numbers or categories.
///
/// ```
/// use deciban::data::Profile;
/// let gains: Vec<f64> = (0..200).map(|i| if i % 10 == 0 { 1e3 + i as f64 } else { 0.0 }).collect();
/// let profile = Profile::of_numbers(&gains);
/// assert_eq!((profile.mode, profile.share()), (0.0, 0.9));
/// assert!(profile.is_spiked());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// How many cells are not missing.
    pub cells: usize,
    /// How many different values they have.
    pub distinct: usize,
    /// The most frequent value, or its code; of several the least.
    pub mode: f64,
    /// How many cells have it.
    pub mode_cells: usize,
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub greatest: f64,
    /// Whether all values are whole numbers.
    pub is_whole: bool,
    /// Whether each value is greater than the one in the row before.
    pub ascends: bool,
    /// Whether there are more rows than were looked at.
    pub is_partial: bool,
}

impl Profile {
    /// More cells than these are not looked at.
    pub const MOST: usize = 1 << 14;

    /// Fewer cells than these tell nothing of a distribution.
    const FEWEST: usize = 100;

    /// Of numbers, NaN being missing.
    pub fn of_numbers(cells: &[f64]) -> Self {
        let mut sorted: Vec<f64> = cells.iter().copied().filter(|x| !x.is_nan()).collect();
        let ascends = sorted.is_sorted_by(|a, b| a < b);
        // −0 is 0.
        sorted.iter_mut().for_each(|x| *x += 0.0);
        sorted.sort_unstable_by(f64::total_cmp);
        let (Some(&least), Some(&greatest)) = (sorted.first(), sorted.last()) else { return Profile::default() };
        let mut profile = Profile { cells: sorted.len(), least, greatest, ascends, ..Profile::default() };
        profile.is_whole = sorted.iter().all(|x| x.fract() == 0.0);
        for run in sorted.chunk_by(|a, b| a == b) {
            profile.distinct += 1;
            if run.len() > profile.mode_cells {
                (profile.mode, profile.mode_cells) = (run[0], run.len());
            }
        }
        profile
    }

    /// Of codes, [`MISSING`] and [`UNSEEN`] ones left out.
    pub fn of_codes(codes: impl IntoIterator<Item = u32>) -> Self {
        let known = codes.into_iter().filter(|code| ![MISSING, UNSEEN].contains(code));
        Profile::of_numbers(&known.map(f64::from).collect::<Vec<_>>())
    }

    /// Of every column in the first rows of a batch; of texts there is nothing to tell.
    pub fn of_batch(batch: &Batch<'_>) -> Result<Vec<Self>> {
        let (mut tile, mut codes) = (Tile::default(), Vec::new());
        let of = |column: usize| {
            let columns = [column];
            let cells = Cells::new(batch, &columns, Rows::Range(0..batch.rows().min(Self::MOST)));
            match batch.view(column) {
                View::Numbers(_) => {
                    cells.read_numbers(&mut tile)?;
                    Ok(Profile::of_numbers(tile.column(0)))
                }
                View::Codes(_) => {
                    cells.read_codes(0, &mut codes)?;
                    Ok(Profile::of_codes(codes.iter().copied()))
                }
                View::Sparse(_) => Ok(Profile::default()),
            }
        };
        let is_partial = batch.rows() > Self::MOST;
        (0..batch.width()).map(of).map(|profile| Ok(Profile { is_partial, ..profile? })).collect()
    }

    /// The share of the most frequent value.
    pub fn share(&self) -> f64 {
        self.mode_cells as f64 / self.cells.max(1) as f64
    }

    /// Whether all of several cells are the same.
    pub fn is_constant(&self) -> bool {
        self.distinct == 1 && self.cells > 1
    }

    /// Whether a Gaussian is no description: one value stands in at least half of 100 cells or more,
    /// so that it is the median and every density there is without bound; or in all of them.
    pub fn is_spiked(&self) -> bool {
        self.is_constant() || self.cells >= Self::FEWEST && 2 * self.mode_cells >= self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted() {
        let profile = Profile::of_numbers(&[2.0, 0.0, f64::NAN, -0.0, 7.5]);
        let expected = Profile {
            cells: 4,
            distinct: 3,
            mode: 0.0,
            mode_cells: 2,
            least: 0.0,
            greatest: 7.5,
            is_whole: false,
            ascends: false,
            is_partial: false,
        };
        assert_eq!(profile, expected);
        assert_eq!(Profile::of_numbers(&[f64::NAN]), Profile::default());
        assert!(!Profile::default().is_spiked());
        assert!(Profile::of_numbers(&[3.0, f64::NAN, 4.0]).ascends && !Profile::of_numbers(&[3.0, 3.0]).ascends);
    }

    #[test]
    fn half_of_a_hundred_cells_is_a_spike() {
        let column = |zeros: usize, others: usize| {
            Profile::of_numbers(&(0..zeros + others).map(|i| i.saturating_sub(zeros - 1) as f64).collect::<Vec<_>>())
        };
        assert!(column(50, 50).is_spiked() && !column(50, 51).is_spiked());
        assert!(!column(90, 9).is_spiked(), "99 cells are too few");
        assert!(Profile::of_numbers(&[4.0, 4.0]).is_spiked() && !Profile::of_numbers(&[4.0]).is_spiked());
    }

    #[test]
    fn a_batch_is_looked_at_column_by_column() {
        let (numbers, codes) = ([1.0, 1.0, 2.0], [0, MISSING, UNSEEN]);
        let batch = Batch::new(3).column(&numbers[..]).unwrap().codes(&codes).unwrap();
        let profiles = Profile::of_batch(&batch).unwrap();
        assert_eq!((profiles[0].distinct, profiles[0].mode_cells), (2, 2));
        assert_eq!((profiles[1].distinct, profiles[1].cells), (1, 1));
    }
}
