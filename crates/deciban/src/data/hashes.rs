//! Hashes of cells by what they hold: a level or word by its letters, not by its code, which is that of
//! one input. So equal rows are equal in every file and engine.
//!
//! The hash of a text is the sum of those of its words: their order does not matter.

use super::{Batch, Column, Kind, Rows, View, level_key};
use crate::text::{Word, word_hash};

/// The hash of a missing cell.
pub const MISSING_HASH: u64 = 0;

/// The hash of a level, however it is [written](super::level_key).
pub fn level_hash(text: &[u8]) -> u64 {
    Word::of(&level_key(text)).hash()
}

/// The hashes of the rows in each column whose levels or words are known, with its place.
pub(crate) fn row_hashes(columns: &[Column], batch: &Batch<'_>) -> Vec<(usize, Vec<u64>)> {
    let mut all = Vec::new();
    for (place, column) in columns.iter().enumerate().filter(|(_, column)| !column.levels.is_empty()) {
        let hash: fn(&[u8]) -> u64 = if column.kind == Kind::Text { word_hash } else { level_hash };
        let levels: Vec<u64> = column.levels.iter().map(|level| hash(level.as_bytes())).collect();
        let hash = |code: u32| levels.get(code as usize).copied().unwrap_or(MISSING_HASH);
        match batch.view(place) {
            View::Codes(codes) => all.push((place, codes.iter().map(|&code| hash(code)).collect())),
            View::Sparse(sparse) => {
                let mut sums = vec![0u64; batch.rows()];
                sparse.for_each(&Rows::Range(0..batch.rows()), |row, word, count| {
                    sums[row] = sums[row].wrapping_add(hash(word).wrapping_mul(count as u64));
                });
                all.push((place, sums));
            }
            View::Numbers(_) => {}
        }
    }
    all
}
