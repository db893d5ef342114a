//! The texts of a block, as counts of words. Words are numbered in the block's own order while blocks
//! are parsed in parallel; afterwards, in order, only the block's different words are looked up in the
//! vocabulary of the whole input, and in parallel again they are renamed.

use deciban::Result;
use deciban::data::{Sparse, UNSEEN};
use deciban::text::Tokens;

use crate::dictionary::Dictionary;

/// Some texts, one per row.
#[derive(Debug)]
pub(crate) struct Words {
    tokens: Tokens,
    /// The different words.
    pub words: Dictionary,
    /// How many texts were not UTF-8.
    pub broken: u64,
    /// Row `i` has `counts[offsets[i]..offsets[i + 1]]` of the words `indices[..]` there.
    offsets: Vec<usize>,
    indices: Vec<u32>,
    counts: Vec<u32>,
    /// Where each word was last counted: behind the row's beginning if the row has it already.
    places: Vec<usize>,
}

impl Words {
    /// No texts yet.
    pub fn new(tokens: Tokens) -> Self {
        let (words, indices, counts, places) = Default::default();
        Words { tokens, words, broken: 0, offsets: vec![0], indices, counts, places }
    }

    /// Adds a row. What is not UTF-8 is read with replacement characters.
    pub fn push(&mut self, text: &[u8]) {
        let Words { tokens, words, broken, offsets, indices, counts, places } = self;
        let first = indices.len();
        let count = |token: &str| {
            let word = words.code(token.as_bytes());
            match places.get_mut(word as usize) {
                Some(place) if *place >= first => return counts[*place] += 1,
                Some(place) => *place = indices.len(),
                None => places.push(indices.len()),
            }
            indices.push(word);
            counts.push(1);
        };
        match std::str::from_utf8(text) {
            Ok(text) => tokens.for_each(text, count),
            Err(_) => {
                *broken += 1;
                tokens.for_each(&String::from_utf8_lossy(text), count);
            }
        }
        offsets.push(indices.len());
    }

    /// Adds a row without words.
    pub fn push_missing(&mut self) {
        self.offsets.push(self.indices.len());
    }

    /// The slots of a hashed vocabulary, 2^`bits` of them, for each of the block's words.
    pub fn hashed(&self, bits: u32) -> Vec<u32> {
        self.words.iter().map(|(_, tag)| (u64::from(tag) << bits >> 32) as u32).collect()
    }

    /// Word `i` becomes word `map[i]`.
    pub fn rename(&mut self, map: &[u32], injective: bool) {
        // Each index is a code of the block's dictionary, which the map covers.
        self.indices.iter_mut().for_each(|index| *index = map[*index as usize]);
        if !injective {
            self.join_equal();
        }
    }

    /// Makes the words of each row distinct again, in ascending order.
    fn join_equal(&mut self) {
        let (mut row, mut end) = (Vec::new(), 0);
        for i in 1..self.offsets.len() {
            // The new beginning of the row is at or before the old one.
            let range = self.offsets[i - 1]..self.offsets[i];
            row.clear();
            row.extend(self.indices[range.clone()].iter().copied().zip(self.counts[range].iter().copied()));
            row.sort_unstable();
            self.offsets[i - 1] = end;
            for words in row.chunk_by(|a, b| a.0 == b.0) {
                self.indices[end] = words[0].0;
                self.counts[end] = words.iter().map(|word| word.1).sum();
                end += 1;
            }
        }
        if let Some(last) = self.offsets.last_mut() {
            *last = end;
        }
        self.indices.truncate(end);
        self.counts.truncate(end);
    }

    /// The counts as the library sees them.
    pub fn sparse(&self) -> Result<Sparse<'_>> {
        Sparse::new(&self.offsets, &self.indices, &self.counts[..])
    }
}

/// Whether no two words have become one.
pub(crate) fn is_injective(map: &[u32]) -> bool {
    // A vocabulary gives each word a code of its own; only unknown words share one.
    map.iter().filter(|code| **code == UNSEEN).take(2).count() < 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use deciban::data::Rows;
    use deciban::text::Tokeniser;

    fn rows(words: &Words) -> Vec<Vec<(u32, f64)>> {
        let sparse = words.sparse().unwrap();
        let mut rows = vec![Vec::new(); sparse.rows()];
        sparse.for_each(&Rows::Range(0..sparse.rows()), |i, index, count| rows[i].push((index, count)));
        rows
    }

    #[test]
    fn counted_renamed_and_joined() {
        let mut words = Words::new(Tokens::new(&Tokeniser::default()).unwrap());
        words.push(b"b a b c");
        words.push_missing();
        words.push(b"d a \xff d");
        assert_eq!((words.broken, words.words.len()), (1, 5));
        let counted = [vec![(0, 2.0), (1, 1.0), (2, 1.0)], vec![], vec![(3, 2.0), (1, 1.0), (4, 1.0)]];
        assert_eq!(rows(&words), counted);
        let map = [7, UNSEEN, UNSEEN, 0, UNSEEN];
        assert!(!is_injective(&map) && is_injective(&[2, UNSEEN, 1]));
        words.rename(&map, false);
        assert_eq!(rows(&words), [vec![(7, 2.0), (UNSEEN, 2.0)], vec![], vec![(0, 2.0), (UNSEEN, 2.0)]]);
    }

    #[test]
    fn hashed_slots_are_the_highest_bits() {
        let mut words = Words::new(Tokens::new(&Tokeniser::default()).unwrap());
        words.push(b"free entry now");
        let expected = |bits: u32| {
            ["free", "entry", "now"].map(|w| (deciban::text::word_hash(w.as_bytes()) >> (64 - bits)) as u32)
        };
        for bits in [1, 10, 28] {
            assert_eq!(words.hashed(bits), expected(bits));
        }
    }
}
