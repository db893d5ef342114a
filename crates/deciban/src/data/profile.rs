//! What the first rows say of a column: how many different values there are, how they are spread and
//! which are frequent. A model is chosen by it before any pass, and a model file keeps it, so that forms,
//! warnings about unusual cells and typical rows need no training data.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{Batch, Cells, Column, MISSING, Rows, Sparse, Tile, UNSEEN, View};
use crate::error::Result;

/// A look at the first cells of a column.
///
/// ```
/// use deciban::data::Profile;
/// let gains: Vec<f64> = (0..200).map(|i| if i % 10 == 0 { 1e3 + i as f64 } else { 0.0 }).collect();
/// let profile = Profile::of_numbers(&gains);
/// assert_eq!((profile.mode, profile.share()), (0.0, 0.9));
/// assert!(profile.is_spiked());
/// // The median, and the greatest value.
/// assert_eq!((profile.quantiles[4], profile.quantiles[8]), (0.0, 1190.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// How many rows were looked at.
    pub rows: usize,
    /// How many of their cells are not missing.
    pub cells: usize,
    /// How many different values they have; of texts, how many different words.
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
    /// Of numbers, the values below which the shares [`QUANTILES`](Profile::QUANTILES) of the cells lie.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<f64>,
    /// Of categories, up to [`MOST_FREQUENT`](Profile::MOST_FREQUENT) levels, the most frequent first, and how
    /// many cells have each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frequent: Vec<(String, usize)>,
    /// Of texts, how many words one has on average.
    pub mean_words: f64,
}

impl Profile {
    /// More cells than these are not looked at.
    pub const MOST: usize = 1 << 14;

    /// Fewer cells than these tell nothing of a distribution.
    const FEWEST: usize = 100;

    /// The shares of the quantiles.
    pub const QUANTILES: [f64; 9] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

    /// More levels than these are not listed.
    pub const MOST_FREQUENT: usize = 20;

    /// Of numbers, NaN being missing.
    pub fn of_numbers(cells: &[f64]) -> Self {
        let mut sorted: Vec<f64> = cells.iter().copied().filter(|x| !x.is_nan()).collect();
        let ascends = sorted.is_sorted_by(|a, b| a < b);
        // −0 is 0.
        sorted.iter_mut().for_each(|x| *x += 0.0);
        sorted.sort_unstable_by(f64::total_cmp);
        let empty = Profile { rows: cells.len(), ..Profile::default() };
        let (Some(&least), Some(&greatest)) = (sorted.first(), sorted.last()) else { return empty };
        let mut profile = Profile { cells: sorted.len(), least, greatest, ascends, ..empty };
        profile.quantiles = Self::QUANTILES.map(|share| quantile(&sorted, share)).to_vec();
        profile.is_whole = sorted.iter().all(|x| x.fract() == 0.0);
        for run in sorted.chunk_by(|a, b| a == b) {
            profile.distinct += 1;
            if run.len() > profile.mode_cells {
                (profile.mode, profile.mode_cells) = (run[0], run.len());
            }
        }
        profile
    }

    /// Of codes, where [`MISSING`] and [`UNSEEN`] ones are missing; `name` says what a code stands for.
    pub fn of_codes(codes: impl IntoIterator<Item = u32>, name: impl Fn(u32) -> String) -> Self {
        let number = |code: u32| if [MISSING, UNSEEN].contains(&code) { f64::NAN } else { f64::from(code) };
        let numbers: Vec<f64> = codes.into_iter().map(number).collect();
        let mut known: Vec<u32> = numbers.iter().filter(|x| !x.is_nan()).map(|&code| code as u32).collect();
        known.sort_unstable();
        let mut levels: Vec<(u32, usize)> = known.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
        // Of equally frequent ones the first.
        levels.sort_by_key(|&(code, cells)| (std::cmp::Reverse(cells), code));
        levels.truncate(Self::MOST_FREQUENT);
        let frequent = levels.into_iter().map(|(code, cells)| (name(code), cells)).collect();
        Profile { quantiles: Vec::new(), frequent, ..Profile::of_numbers(&numbers) }
    }

    /// Of texts: how many there are, and of how many words in all, `distinct` of them different.
    pub fn of_texts(texts: usize, words: f64, distinct: usize) -> Self {
        let mean_words = words / texts.max(1) as f64;
        Profile { rows: texts, cells: texts, distinct, mean_words, ..Profile::default() }
    }

    fn of_sparse(sparse: &Sparse<'_>, rows: usize) -> Self {
        let (mut words, mut least, mut distinct) = (0.0, 0.0f64, HashSet::new());
        sparse.for_each(&Rows::Range(0..rows), |_, word, count| {
            words += count;
            least = least.min(count);
            distinct.insert(word);
        });
        let profile = Profile::of_texts(rows, words, distinct.len());
        // Numbers of a sparse matrix may be no counts.
        Profile { least: least.max(f64::MIN), ..profile }
    }

    /// Of every column in the first rows of a batch, which has these columns.
    pub fn of_batch(columns: &[Column], batch: &Batch<'_>) -> Result<Vec<Self>> {
        let rows = batch.rows().min(Self::MOST);
        let (mut tile, mut codes) = (Tile::default(), Vec::new());
        let of = |column: usize| {
            let place = [column];
            let cells = Cells::new(batch, &place, Rows::Range(0..rows));
            let levels = &columns[column].levels;
            match batch.view(column) {
                View::Numbers(_) => {
                    cells.read_numbers(&mut tile)?;
                    Ok(Profile::of_numbers(tile.column(0)))
                }
                View::Codes(_) => {
                    cells.read_codes(0, &mut codes)?;
                    let name = |code: u32| levels.get(code as usize).cloned().unwrap_or_else(|| format!("#{code}"));
                    Ok(Profile::of_codes(codes.iter().copied(), name))
                }
                View::Sparse(sparse) => Ok(Profile::of_sparse(sparse, rows)),
            }
        };
        let is_partial = batch.rows() > Self::MOST;
        (0..batch.width()).map(of).map(|profile| Ok(Profile { is_partial, ..profile? })).collect()
    }

    /// The share of the cells that are missing.
    pub fn missing(&self) -> f64 {
        (self.rows - self.cells.min(self.rows)) as f64 / self.rows.max(1) as f64
    }

    /// Whether it is sound, as files hold it: no count is above the number of rows, and numbers are finite.
    pub(crate) fn is_sound(&self) -> bool {
        let numbers = [self.mode, self.least, self.greatest, self.mean_words];
        self.cells <= self.rows
            && self.mode_cells <= self.cells
            && numbers.iter().chain(&self.quantiles).all(|x| x.is_finite())
            && [0, Self::QUANTILES.len()].contains(&self.quantiles.len())
            && self.quantiles.is_sorted()
            && self.frequent.iter().all(|(_, cells)| *cells <= self.cells)
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

/// The value below which a share of the sorted values lies, between two of them by linear interpolation.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    match sorted.get(below + 1) {
        Some(above) if part > 0.0 => sorted[below] * (1.0 - part) + above * part,
        _ => sorted[below],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted() {
        let profile = Profile::of_numbers(&[2.0, 0.0, f64::NAN, -0.0, 7.5]);
        let expected = Profile {
            rows: 5,
            cells: 4,
            distinct: 3,
            mode: 0.0,
            mode_cells: 2,
            least: 0.0,
            greatest: 7.5,
            is_whole: false,
            ascends: false,
            // By numpy: np.quantile([0, 0, 2, 7.5], [0, .01, .05, .25, .5, .75, .95, .99, 1])
            quantiles: vec![0.0, 0.0, 0.0, 0.0, 1.0, 3.375, 6.675, 7.335, 7.5],
            ..Profile::default()
        };
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-14;
        assert!(profile.quantiles.iter().zip(&expected.quantiles).all(close), "{:?}", profile.quantiles);
        assert_eq!(Profile { quantiles: expected.quantiles.clone(), ..profile.clone() }, expected);
        assert_eq!(profile.missing(), 0.2);
        assert!(profile.is_sound() && Profile::default().is_sound());
        assert!(!Profile::of_numbers(&[1.0, f64::INFINITY]).is_sound());
        let nothing = Profile::of_numbers(&[f64::NAN]);
        assert_eq!((nothing.missing(), nothing.cells, nothing.quantiles.len()), (1.0, 0, 0));
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
        let (numbers, codes) = ([1.0, 1.0, 2.0], [1, MISSING, UNSEEN]);
        let words = Sparse::new(&[0u32, 2, 2, 3][..], &[4u32, 9, 4][..], &[1.0, 2.0, 3.0][..]).unwrap();
        let batch = Batch::new(3).column(&numbers[..]).unwrap().codes(&codes).unwrap().sparse(words).unwrap();
        let fur = Column { levels: vec!["long".into(), "short".into()], ..Column::number("fur") };
        let profiles = Profile::of_batch(&[Column::number("x"), fur, Column::number("t")], &batch).unwrap();
        assert_eq!((profiles[0].distinct, profiles[0].mode_cells), (2, 2));
        assert_eq!((profiles[1].distinct, profiles[1].cells, profiles[1].rows), (1, 1, 3));
        assert_eq!(profiles[1].frequent, [("short".to_string(), 1)]);
        assert_eq!((profiles[2].distinct, profiles[2].mean_words, profiles[2].least), (2, 2.0, 0.0));
        let codes = (0..100u32).flat_map(|code| vec![code; code as usize % 30]);
        let many = Profile::of_codes(codes, |code| code.to_string());
        assert_eq!((many.frequent.len(), many.distinct), (20, 96));
        let first: Vec<&str> = many.frequent[..4].iter().map(|level| level.0.as_str()).collect();
        assert_eq!(first, ["29", "59", "89", "28"]);
        let text = serde_json::to_string(&profiles).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Profile>>(&text).unwrap(), profiles);
    }
}
