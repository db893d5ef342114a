//! [`Contents`]: rows told apart by what they hold, so that what is drawn of them does not depend on their order, nor
//! on the machine they are on.
//!
//! The key of a row mixes what its cells hold, column after column: a number by its bits, a level or word by its
//! letters, not by its code, which is that of one input. A text is the sum of its words: their order does not matter.
//! Where a batch carries hashes of levels and words, these are taken.
//! Equal rows have equal keys.

use serde::{Deserialize, Serialize};

use super::{Batch, Kind, Rows, Schema, View, level_hash};
use crate::numerics::hash;
use crate::text::word_hash;

/// What keys of rows are made with: hashes of the levels and words of a schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contents {
    /// For each column, the hash of each level or word that is known; none for numbers and hashed words.
    levels: Vec<Vec<u64>>,
}

impl Contents {
    /// Of rows with the columns of `schema`, whose levels and words are complete.
    pub fn of(schema: &Schema) -> Self {
        let hashes = |column: &super::Column| {
            let hash: fn(&[u8]) -> u64 = if column.kind == Kind::Text { word_hash } else { level_hash };
            column.levels.iter().map(|level| hash(level.as_bytes())).collect()
        };
        Contents { levels: schema.columns().iter().map(hashes).collect() }
    }

    /// The hash of a level or word of a column; where it has no name, of its code.
    pub fn level(&self, column: usize, code: u32) -> u64 {
        let known = self.levels.get(column).and_then(|levels| levels.get(code as usize));
        known.copied().unwrap_or_else(|| hash(1, u64::from(code)))
    }

    /// The key of each row of a batch: 64 bits that depend on the seed and on what the row holds, or on the key that
    /// it [carries](Batch::keys).
    pub fn keys(&self, seed: u64, batch: &Batch<'_>) -> Vec<u64> {
        if let Some(given) = batch.row_keys() {
            return given.iter().map(|key| hash(seed, *key)).collect();
        }
        let (mut keys, mut numbers) = (vec![seed; batch.rows()], vec![0.0; batch.rows()]);
        (0..batch.width()).for_each(|column| self.mix(batch, column, &mut numbers, &mut keys));
        keys
    }

    /// The key of each cell of a column.
    pub fn cell_keys(&self, batch: &Batch<'_>, column: usize) -> Vec<u64> {
        let (mut keys, mut numbers) = (vec![0; batch.rows()], vec![0.0; batch.rows()]);
        self.mix(batch, column, &mut numbers, &mut keys);
        keys
    }

    /// Mixes the cells of a column into the keys of the rows; `numbers` is room for as many.
    fn mix(&self, batch: &Batch<'_>, column: usize, numbers: &mut [f64], keys: &mut [u64]) {
        let all = Rows::Range(0..batch.rows());
        let mix = |key: &mut u64, bits: u64| *key = hash(*key, bits);
        if let Some(hashes) = batch.cell_hashes(column) {
            return keys.iter_mut().zip(hashes).for_each(|(key, hash)| mix(key, *hash));
        }
        match batch.view(column) {
            View::Numbers(view) => {
                view.read(&all, numbers);
                keys.iter_mut().zip(&*numbers).for_each(|(key, x)| mix(key, Self::bits(*x)));
            }
            View::Codes(codes) => {
                keys.iter_mut().zip(*codes).for_each(|(key, code)| mix(key, self.level(column, *code)));
            }
            View::Sparse(sparse) => {
                let mut sums = vec![0u64; batch.rows()];
                sparse.for_each(&all, |row, word, count| {
                    if count != 0.0 {
                        sums[row] = sums[row].wrapping_add(hash(self.level(column, word), Self::bits(count)));
                    }
                });
                keys.iter_mut().zip(&sums).for_each(|(key, sum)| mix(key, *sum));
            }
        }
    }

    /// The key of one row, of what its cells [hold](Held).
    pub fn key(&self, seed: u64, cells: &[Held]) -> u64 {
        cells.iter().enumerate().fold(seed, |key, (column, cell)| match cell {
            Held::Number(bits) => hash(key, *bits),
            Held::Level(code) => hash(key, self.level(column, *code)),
            Held::Words(words) => {
                let sum =
                    |sum: u64, (word, count): &(u32, u64)| sum.wrapping_add(hash(self.level(column, *word), *count));
                hash(key, words.iter().fold(0, sum))
            }
        })
    }

    /// Numbers that are equal have equal bits, and all that are missing, too.
    pub fn bits(x: f64) -> u64 {
        if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() }
    }
}

/// The content of a cell of a row that is kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Held {
    /// The [bits](Contents::bits) of a number.
    Number(u64),
    /// The code of a level.
    Level(u32),
    /// Codes of words, with the bits of their counts.
    Words(Vec<(u32, u64)>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, MISSING, Sparse};

    #[test]
    fn keys_depend_on_what_rows_hold_and_not_on_codes_order_or_type() {
        let schema = |levels: [&str; 2], words: [&str; 3]| {
            let named = |name: &str, kind, levels: &[&str]| {
                let levels = levels.iter().map(ToString::to_string).collect();
                Column { name: name.into(), kind, levels }
            };
            let columns =
                vec![Column::number("x"), named("colour", Kind::Category, &levels), named("text", Kind::Text, &words)];
            Schema::new(columns, "y", vec!["a".into()]).unwrap()
        };
        let x = [0.0, 1.5, f64::NAN, 0.0];
        let (starts, ones) = ([0usize, 2, 3, 3, 5], [1.0; 5]);
        let keys = |schema: &Schema, x: Batch<'_>, codes: &[u32], words: &[u32]| {
            let words = Sparse::of_words(&starts[..], words, &ones[..], 3).unwrap();
            Contents::of(schema).keys(7, &x.codes(codes).unwrap().sparse(words).unwrap())
        };
        let batch = || Batch::new(4).column(&x[..]).unwrap();
        let first = keys(&schema(["red", "blue"], ["a", "b", "c"]), batch(), &[0, 1, MISSING, 0], &[0, 1, 2, 0, 1]);
        // Other codes for the same letters; words in another order; a narrower type; the other zero, the other NaN.
        let again = schema(["blue", "red"], ["c", "b", "a"]);
        let y = [-0.0f32, 1.5, -f32::NAN, 0.0];
        let second = keys(&again, Batch::new(4).column(&y[..]).unwrap(), &[1, 0, MISSING, 1], &[1, 2, 0, 2, 1]);
        assert_eq!(first, second);
        assert_eq!(first[0], first[3], "equal rows");
        assert!(first[0] != first[1] && first[1] != first[2] && first[0] != first[2]);
        let other = keys(&schema(["red", "blue"], ["a", "b", "c"]), batch(), &[1, 1, MISSING, 0], &[0, 2, 2, 0, 1]);
        assert_eq!(other[1..], first[1..]);
        assert_ne!(other[0], first[0]);
    }
}
