//! Texts as counts of words, in three steps: formats put the texts of a block one after the other
//! ([`Texts`]); in parallel, their tokens are looked up in the vocabulary so far, and those that it does
//! not have go into a dictionary of the block ([`Words`]); in order, only these are added to the
//! vocabulary, and in parallel again each row's codes become counts.

use std::borrow::Cow;

use deciban::Result;
use deciban::data::{Sparse, UNSEEN};
use deciban::text::{Key, Tokens, Word};

use crate::classes::Levels;
use crate::dictionary::Dictionary;

/// The texts of a column, not yet words.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// Adds a row.
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text of a row.
    pub fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }

    /// Adds the rows of others.
    pub fn append(&mut self, others: &Texts) {
        others.iter().for_each(|text| self.push(text));
    }

    /// How much memory they take.
    pub fn bytes(&self) -> usize {
        self.bytes.capacity() + 8 * self.ends.capacity()
    }

    /// All texts, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[*start..*end])
    }
}

/// The numbers that words have while a block is read.
#[derive(Clone, Copy)]
pub(crate) enum Vocabulary<'a> {
    /// Those of the words so far, or of a schema.
    Words(&'a Levels),
    /// The highest bits of their hashes, this many.
    Hashed(u32),
}

/// Words that wait for their codes. Looking up many at once lets the processor fetch the next ones'
/// places from memory while it waits for the first: twice as fast as one by one between tokens.
#[derive(Default)]
struct Queue {
    /// Key, hash and where the long words so far end below.
    words: Vec<(Key, u64, usize)>,
    /// Long words, one after the other.
    long: Vec<u8>,
}

impl Queue {
    #[inline]
    fn push(&mut self, word: Word<'_>) {
        if word.is_long() {
            self.long.extend_from_slice(word.text());
        }
        self.words.push((word.key(), word.hash(), self.long.len()));
    }
}

/// How many words are looked up at once, about.
const FULL: usize = 256;

/// The words of some texts.
#[derive(Debug, Default)]
pub struct Words {
    /// How many texts were not UTF-8.
    pub(crate) broken: u64,
    /// Words that the vocabulary did not have; the first of them has the code `known`.
    pub(crate) new: Dictionary,
    known: u32,
    /// Until they are [settled](Words::settle), the codes of all tokens; then each word of a row once.
    indices: Vec<u32>,
    counts: Vec<u32>,
    /// Row `i` has `indices[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<usize>,
    /// For each row, the sum of its words' hashes.
    pub(crate) hashes: Vec<u64>,
}

impl Words {
    /// Of no rows.
    pub(crate) fn none() -> Self {
        Words { offsets: vec![0], ..Words::default() }
    }

    /// Adds the rows of others; both are settled.
    pub(crate) fn append(&mut self, others: &Words) {
        let start = self.indices.len();
        self.indices.extend_from_slice(&others.indices);
        self.counts.extend_from_slice(&others.counts);
        self.offsets.extend(others.offsets[1..].iter().map(|end| start + end));
    }

    /// The first row, so many times; it is settled.
    pub(crate) fn repeated(&self, rows: usize) -> Words {
        let first = 0..self.offsets.get(1).copied().unwrap_or(0);
        let mut words = Words::none();
        for _ in 0..rows {
            words.indices.extend_from_slice(&self.indices[first.clone()]);
            words.counts.extend_from_slice(&self.counts[first.clone()]);
            words.offsets.push(words.indices.len());
        }
        words
    }

    /// How many words there are, before they are [settled](Words::settle).
    pub(crate) fn tokens(&self) -> usize {
        self.indices.len()
    }

    /// The words of `texts`. What is not UTF-8 is read with replacement characters.
    pub(crate) fn of(texts: &Texts, mut tokens: Tokens, vocabulary: Vocabulary<'_>) -> Self {
        let mut words = Words { offsets: Vec::with_capacity(texts.ends.len() + 1), ..Words::default() };
        words.offsets.push(0);
        words.indices.reserve(texts.bytes.len() / 6);
        if let Vocabulary::Words(levels) = vocabulary {
            words.known = levels.len() as u32;
        }
        let mut queue = Queue::default();
        for text in texts.iter() {
            let text = match std::str::from_utf8(text) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => {
                    words.broken += 1;
                    String::from_utf8_lossy(text)
                }
            };
            let mut sum = 0u64;
            match vocabulary {
                Vocabulary::Hashed(bits) => {
                    tokens.for_each_word(&text, |word| {
                        sum = sum.wrapping_add(word.hash());
                        words.indices.push((word.hash() >> (64 - bits)) as u32);
                    });
                }
                Vocabulary::Words(levels) => {
                    tokens.for_each_word(&text, |word| {
                        sum = sum.wrapping_add(word.hash());
                        queue.push(word);
                    });
                    if queue.words.len() >= FULL {
                        words.look_up(&mut queue, levels);
                    }
                }
            }
            words.hashes.push(sum);
            words.offsets.push(words.indices.len() + queue.words.len());
        }
        if let Vocabulary::Words(levels) = vocabulary {
            words.look_up(&mut queue, levels);
        }
        words
    }

    /// Gives the queued words their codes.
    fn look_up(&mut self, queue: &mut Queue, levels: &Levels) {
        let mut start = 0;
        for &(key, hash, end) in &queue.words {
            let code = levels.glance(key, hash).unwrap_or_else(|| {
                let (short, length) = Word::bytes_of(key);
                let text = if end > start { &queue.long[start..end] } else { &short[..length] };
                let word = Word::known(text, key, hash);
                match levels.find(word) {
                    Some(code) => code,
                    None if levels.is_fixed() => UNSEEN,
                    None => self.known + self.new.code(word),
                }
            });
            start = end;
            self.indices.push(code);
        }
        queue.words.clear();
        queue.long.clear();
    }

    /// Gives new word `i` the code `map[i]`, and counts each row's words, in the order of their codes.
    pub(crate) fn settle(&mut self, map: &[u32]) {
        if !map.is_empty() {
            // Codes from `known` up are those of new words, which the map covers; UNSEEN needs a fixed
            // vocabulary, which has none.
            for index in self.indices.iter_mut().filter(|index| **index >= self.known) {
                *index = map[(*index - self.known) as usize];
            }
        }
        self.counts = Vec::with_capacity(self.indices.len());
        let mut end = 0;
        for i in 1..self.offsets.len() {
            // A row's new beginning is at or before the old one.
            let tokens = self.offsets[i - 1]..self.offsets[i];
            self.offsets[i - 1] = end;
            self.indices[tokens.clone()].sort_unstable();
            for token in tokens {
                let word = self.indices[token];
                if end > self.offsets[i - 1] && self.indices[end - 1] == word {
                    self.counts[end - 1] += 1;
                } else {
                    self.indices[end] = word;
                    self.counts.push(1);
                    end += 1;
                }
            }
        }
        if let Some(last) = self.offsets.last_mut() {
            *last = end;
        }
        self.indices.truncate(end);
        self.new = Dictionary::default();
        self.hashes = Vec::new();
    }

    /// How much memory the counts take.
    pub(crate) fn bytes(&self) -> usize {
        4 * (self.indices.capacity() + self.counts.capacity()) + 8 * self.offsets.capacity()
    }

    /// The counts as the library sees them, once they are settled.
    pub fn sparse(&self) -> Result<Sparse<'_>> {
        Sparse::new(&self.offsets[..], &self.indices[..], &self.counts[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deciban::data::Rows;
    use deciban::text::Tokeniser;

    fn words(texts: &[&[u8]], vocabulary: Vocabulary<'_>) -> Words {
        let mut column = Texts::default();
        texts.iter().for_each(|text| column.push(text));
        Words::of(&column, Tokens::new(&Tokeniser::default()).unwrap(), vocabulary)
    }

    fn rows(words: &Words) -> Vec<Vec<(u32, f64)>> {
        let sparse = words.sparse().unwrap();
        let mut rows = vec![Vec::new(); sparse.rows()];
        sparse.for_each(&Rows::Range(0..sparse.rows()), |i, index, count| rows[i].push((index, count)));
        rows
    }

    const TEXTS: [&[u8]; 3] = [b"b a b c", b"", b"d a \xff d"];

    #[test]
    fn known_and_new_words() {
        let mut levels = Levels::words(100);
        levels.add(&Dictionary::of(&["c", "a"]));
        let mut found = words(&TEXTS, Vocabulary::Words(&levels));
        assert_eq!((found.broken, found.new.names()), (1, ["b", "d", "\u{fffd}"].map(String::from).to_vec()));
        // Meanwhile another block has added `x` and `d`.
        found.settle(&[9, 3, 4]);
        let settled = [vec![(0, 1.0), (1, 1.0), (9, 2.0)], vec![], vec![(1, 1.0), (3, 2.0), (4, 1.0)]];
        assert_eq!(rows(&found), settled);
        let fixed = Levels::fixed(&["d".into()]);
        let mut found = words(&TEXTS, Vocabulary::Words(&fixed));
        found.settle(&[]);
        assert_eq!(rows(&found), [vec![(UNSEEN, 4.0)], vec![], vec![(0, 2.0), (UNSEEN, 2.0)]]);
    }

    #[test]
    fn hashed_words_may_meet() {
        use deciban::text::word_hash;
        let slot = |word: &str| (word_hash(word.as_bytes()) >> 63) as u32;
        let mut found = words(&[b"free entry now for all"], Vocabulary::Hashed(1));
        found.settle(&[]);
        let ones = ["free", "entry", "now", "for", "all"].map(slot).iter().sum::<u32>();
        assert_eq!(rows(&found), [vec![(0, f64::from(5 - ones)), (1, f64::from(ones))]]);
    }
}
