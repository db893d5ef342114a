//! What is kept of a class's words: Σ wᵢ, and for each word Σ wᵢ x_ij and Σ wᵢ [x_ij > 0].
//! Words turn up as the rows come, so the statistic grows; merging adds what both have.

use crate::data::UNSEEN;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::statistic::{Retract, Statistic};

/// How often each word occurs in the rows of a class, and in how many of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WordCounts {
    pub(super) weight: f64,
    /// Count and rows of each word, side by side: a word touches one line of memory.
    pub(super) words: Vec<[f64; 2]>,
}

impl WordCounts {
    /// The weight of all rows.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// n_j: how often each word occurs.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.words.iter().map(|word| word[0])
    }

    /// In how many rows each word occurs.
    pub fn rows_with(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.words.iter().map(|word| word[1])
    }

    /// N: how many words the rows have in all.
    pub fn total(&self) -> f64 {
        self.counts().sum()
    }

    /// One more than the last word that occurs: as far as a hashed vocabulary reaches.
    pub(super) fn reach(&self) -> usize {
        self.words.iter().rposition(|word| *word != [0.0; 2]).map_or(0, |last| last + 1)
    }

    /// How many words a row has on average.
    pub(super) fn mean_length(&self) -> f64 {
        if self.weight > 0.0 { self.total() / self.weight } else { 0.0 }
    }

    /// Word `i` becomes word `map[i]`; [`UNSEEN`] leaves it out.
    pub(super) fn relevel(&mut self, map: &[u32]) -> Result<()> {
        if map.len() < self.words.len() {
            return Err(Error::Shape {
                what: "words of the statistics".into(),
                expected: map.len(),
                found: self.words.len(),
            });
        }
        let known = map.iter().filter(|word| **word < UNSEEN);
        let mut words = vec![[0.0; 2]; known.max().map_or(0, |most| *most as usize + 1)];
        for (old, new) in self.words.iter().zip(map).filter(|(_, new)| **new < UNSEEN) {
            (0..2).for_each(|k| words[*new as usize][k] += old[k]);
        }
        self.words = words;
        Ok(())
    }
}

/// a − b, and 0 where only rounding is left; `None` where b is more than a.
fn difference(a: f64, b: f64) -> Option<f64> {
    match a - b {
        rest if rest.abs() <= 1e-12 * a.abs() => Some(0.0),
        rest if rest < 0.0 => None,
        rest => Some(rest),
    }
}

impl Statistic for WordCounts {
    fn merge(&mut self, other: &Self) -> Result<()> {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), [0.0; 2]);
        }
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            (0..2).for_each(|k| mine[k] += theirs[k]);
        }
        self.weight += other.weight;
        Ok(())
    }
}

impl Retract for WordCounts {
    fn remove(&mut self, other: &Self) -> Result<()> {
        let never = || Error::Cancellation("cannot remove words that were never counted".into());
        let most = self.words.len().max(other.words.len());
        let get = |words: &[[f64; 2]], j: usize| words.get(j).copied().unwrap_or_default();
        let rest = |j: usize| {
            let (a, b) = (get(&self.words, j), get(&other.words, j));
            Some([difference(a[0], b[0])?, difference(a[1], b[1])?])
        };
        let weight = difference(self.weight, other.weight).ok_or_else(never)?;
        let mut words: Vec<[f64; 2]> = (0..most).map(rest).collect::<Option<_>>().ok_or_else(never)?;
        words.truncate(self.words.len());
        *self = WordCounts { weight, words };
        Ok(())
    }
}

impl Stored for WordCounts {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.shape"), &(self.words.len(), self.weight))?;
        archive.put(&format!("{name}.words"), &[self.words.len(), 2], self.words.as_flattened())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (length, weight): (usize, f64) = archive.json(&format!("{name}.shape"))?;
        let flat = archive.finite(&format!("{name}.words"), &[length, 2])?;
        if !(weight >= 0.0 && weight.is_finite()) || flat.iter().any(|x| *x < 0.0) {
            return Err(archive.damaged(&format!("`{name}` has counts below 0")));
        }
        Ok(WordCounts { weight, words: flat.as_chunks().0.to_vec() })
    }
}
