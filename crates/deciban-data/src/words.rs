//! Texts as counts of words, in three steps: formats put the texts of a block one after the other
//! ([`Texts`]); in parallel, their tokens are looked up in the vocabulary so far, and those that it does
//! not have go into a dictionary of the block ([`Words`]); in order, only these are added to the
//! vocabulary, and in parallel again each row's codes become counts.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::RwLock;

use deciban::Result;
use deciban::data::{MISSING, Sparse, UNSEEN};
use deciban::text::{Key, Tokens, Word};
use rayon::prelude::*;

use crate::classes::Levels;
use crate::code::Names;
use crate::dictionary::Dictionary;

/// The texts of a column, not yet words.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// Makes room for so many bytes.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve_exact(bytes);
    }

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
    /// Those of a column among the names so far, to which another thread may add meanwhile.
    Shared(&'a RwLock<Names>, usize),
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
    /// What is likely to be the code of each word, while they are looked up.
    likely: Vec<u32>,
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

/// Bytes of text that are worth a thread, and how many threads make words of one block, at most.
const LEAST: usize = 1 << 16;
const MOST_PARTS: usize = 8;

/// The code of a block's first new word until it is [settled](Words::settle); vocabularies are smaller.
const NEW: u32 = 1 << 31;

/// The words of some texts.
#[derive(Debug, Default)]
pub struct Words {
    /// How many texts were not UTF-8.
    pub(crate) broken: u64,
    /// Words that the vocabulary did not have; the first of them has the code [`NEW`].
    pub(crate) new: Dictionary,
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
    pub(crate) fn of(texts: &Texts, tokens: &Tokens, vocabulary: Vocabulary<'_>) -> Self {
        Words::of_rows(texts, 0..texts.ends.len(), tokens.clone(), vocabulary)
    }

    /// The words of `texts`, all of which are new. Several threads take a part each; the words of later parts are
    /// then looked up among those of the parts before, so that codes are the same for any number of threads.
    pub(crate) fn all_new(texts: &Texts, tokens: &Tokens) -> Self {
        let parts = rayon::current_num_threads().min(texts.bytes.len() / LEAST).clamp(1, MOST_PARTS);
        let cut = |part: usize| texts.ends.partition_point(|end| *end < texts.bytes.len() * part / parts);
        let cuts: Vec<usize> = (0..parts).map(cut).chain([texts.ends.len()]).collect();
        let none = Levels::of_words(usize::MAX);
        let words = |rows: &[usize]| Words::of_rows(texts, rows[0]..rows[1], tokens.clone(), Vocabulary::Words(&none));
        let mut parts: Vec<Words> = cuts.par_windows(2).with_max_len(1).map(words).collect();
        let others = parts.split_off(1);
        let mut whole = parts.swap_remove(0);
        for part in others {
            let codes: Vec<u32> = part.new.iter().map(|text| NEW + whole.new.code(Word::of(text))).collect();
            let before = whole.indices.len();
            whole.indices.extend(part.indices.iter().map(|index| codes[(index - NEW) as usize]));
            whole.offsets.extend(part.offsets[1..].iter().map(|end| before + end));
            whole.hashes.extend(part.hashes);
            whole.broken += part.broken;
        }
        whole
    }

    fn of_rows(texts: &Texts, rows: Range<usize>, mut tokens: Tokens, vocabulary: Vocabulary<'_>) -> Self {
        let mut words = Words { offsets: Vec::with_capacity(rows.len() + 1), ..Words::default() };
        words.offsets.push(0);
        words.indices.reserve(rows.end.checked_sub(1).map_or(0, |last| texts.ends[last]) / 6);
        let mut queue = Queue::default();
        for text in rows.map(|row| texts.get(row)) {
            let text = match std::str::from_utf8(text) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => {
                    words.broken += 1;
                    String::from_utf8_lossy(text)
                }
            };
            let mut sum = 0u64;
            if let Vocabulary::Hashed(bits) = vocabulary {
                tokens.for_each_word(&text, |word| {
                    sum = sum.wrapping_add(word.hash());
                    words.indices.push((word.hash() >> (64 - bits)) as u32);
                });
            } else {
                tokens.for_each_word(&text, |word| {
                    sum = sum.wrapping_add(word.hash());
                    queue.push(word);
                });
                if queue.words.len() >= FULL {
                    words.look_up(&mut queue, vocabulary);
                }
            }
            words.hashes.push(sum);
            words.offsets.push(words.indices.len() + queue.words.len());
        }
        words.look_up(&mut queue, vocabulary);
        words
    }

    /// Gives the queued words their codes.
    fn look_up(&mut self, queue: &mut Queue, vocabulary: Vocabulary<'_>) {
        match vocabulary {
            Vocabulary::Words(levels) => self.look_up_in(queue, levels),
            Vocabulary::Shared(names, slot) => {
                // A panic elsewhere leaves names that were added whole.
                let names = names.read().unwrap_or_else(|e| e.into_inner());
                if let Some(levels) = &names.levels[slot] {
                    self.look_up_in(queue, levels);
                }
            }
            Vocabulary::Hashed(_) => {}
        }
        queue.words.clear();
        queue.long.clear();
    }

    fn look_up_in(&mut self, queue: &mut Queue, levels: &Levels) {
        let (Queue { words, long, likely }, known) = (queue, levels.words());
        words.iter().for_each(|&(_, hash, _)| known.fetch(hash));
        likely.clear();
        likely.extend(words.iter().map(|&(_, hash, _)| known.likely(hash)));
        let mut start = 0;
        self.indices.extend(words.iter().zip(&*likely).map(|(&(key, hash, end), &likely)| {
            let letters = start..end;
            start = end;
            if known.confirms(likely, key) {
                return likely;
            }
            let (short, length) = Word::bytes_of(key);
            let text = if letters.is_empty() { &short[..length] } else { &long[letters] };
            let word = Word::known(text, key, hash);
            match known.find(word) {
                Some(code) => code,
                None if levels.is_fixed() => UNSEEN,
                None => NEW + self.new.code(word),
            }
        }));
    }

    /// Gives new word `i` the code `map[i]`, and counts each row's words, in the order of their codes.
    pub(crate) fn settle(&mut self, map: &[u32]) {
        if !map.is_empty() {
            // The map covers all new words; UNSEEN needs a fixed vocabulary, which has none.
            for index in self.indices.iter_mut().filter(|index| **index >= NEW) {
                *index = map[(*index - NEW) as usize];
            }
        }
        self.counts = vec![1; self.indices.len()];
        let mut end = 0;
        for i in 1..self.offsets.len() {
            // A row's new beginning is at or before the old one.
            let tokens = self.offsets[i - 1]..self.offsets[i];
            self.offsets[i - 1] = end;
            match tokens.len() {
                1..=FEW => {
                    let row = in_order(&self.indices[tokens.start..], tokens.len());
                    for &word in &row[..tokens.len()] {
                        // Without a branch: the next word takes the place of one that is none.
                        let is_new = usize::from(word != EQUAL);
                        self.indices[end] = word;
                        end += is_new;
                        self.counts[end - 1] += 1 - is_new as u32;
                    }
                }
                _ => {
                    self.indices[tokens.clone()].sort_unstable();
                    for token in tokens {
                        let word = self.indices[token];
                        if end > self.offsets[i - 1] && self.indices[end - 1] == word {
                            self.counts[end - 1] += 1;
                        } else {
                            self.indices[end] = word;
                            end += 1;
                        }
                    }
                }
            }
        }
        if let Some(last) = self.offsets.last_mut() {
            *last = end;
        }
        self.indices.truncate(end);
        self.counts.truncate(end);
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

/// Rows of up to so many words are put in order by counting, for each word, those before it.
const FEW: usize = 16;

/// In place of a word that equals the one before; no word has this code.
const EQUAL: u32 = MISSING;

/// The first words of `indices`, up to [`FEW`], in the order of their codes; of equal ones the first, and then
/// [`EQUAL`]. Words are compared with all others at once: branches on an order that nobody can predict would take
/// three times as long.
#[inline]
fn in_order(indices: &[u32], words: usize) -> [u32; FEW] {
    let mut row = [0; FEW];
    match indices.first_chunk() {
        Some(first) => row = *first,
        None => row[..words].copy_from_slice(&indices[..words]),
    }
    let mut ranks = [0u32; FEW];
    for &word in &row[..words] {
        ranks.iter_mut().zip(&row).for_each(|(rank, other)| *rank += u32::from(word < *other));
    }
    let mut sorted = [EQUAL; FEW];
    for (&word, &rank) in row.iter().zip(&ranks).take(words) {
        sorted[rank as usize % FEW] = word;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use deciban::data::Rows;
    use deciban::text::Tokeniser;

    fn words(texts: &[&[u8]], vocabulary: Vocabulary<'_>) -> Words {
        let mut column = Texts::default();
        texts.iter().for_each(|text| column.push(text));
        Words::of(&column, &Tokens::new(&Tokeniser::default()).unwrap(), vocabulary)
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
        let mut levels = Levels::of_words(100);
        levels.add(Dictionary::of(&["c", "a"]));
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
    fn rows_of_any_length_are_in_order() {
        let mut random = deciban::numerics::Random::new(1);
        let rows: Vec<Vec<u32>> =
            (0..500).map(|i| (0..i % 40).map(|_| random.below(1 + i % 30) as u32 * 150_000_000).collect()).collect();
        let ends = rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        });
        let offsets = [0].into_iter().chain(ends).collect();
        let mut words = Words { indices: rows.concat(), offsets, ..Words::default() };
        words.settle(&[]);
        for (row, counted) in rows.iter().zip(self::rows(&words)) {
            let mut expected = std::collections::BTreeMap::new();
            row.iter().for_each(|word| *expected.entry(*word).or_insert(0.0) += 1.0);
            assert_eq!(counted, expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn parts_are_as_the_whole() {
        let mut random = deciban::numerics::Random::new(1);
        let mut texts = Texts::default();
        let mut word = || format!("word{} ", random.below(3000));
        (0..20_000).for_each(|i| texts.push((0..i % 7).map(|_| word()).collect::<String>().as_bytes()));
        texts.push(b"\xff end");
        let tokens = Tokens::new(&Tokeniser::default()).unwrap();
        let alone = Words::of(&texts, &tokens, Vocabulary::Words(&Levels::of_words(usize::MAX)));
        for threads in [1, 2, 3, 20] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let whole = pool.install(|| Words::all_new(&texts, &tokens));
            assert_eq!(
                (&whole.indices, &whole.offsets, &whole.hashes),
                (&alone.indices, &alone.offsets, &alone.hashes)
            );
            assert_eq!((whole.broken, whole.new.names()), (1, alone.new.names()));
        }
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
