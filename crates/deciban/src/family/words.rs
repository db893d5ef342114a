//! What the families of texts share, and linear models of texts with them. Scores are sums over a row's words,
//!
//! s_c = Σ_j f(x_j) t_jc,
//!
//! with a table t that lies word by word, so that a word touches one line of memory for all classes
//! ([`WordTable`]). Counts of many rows are first summed as small integers ([`Tally`]).

use crate::data::{Rows, Sparse, UNSEEN};
use crate::error::{Error, Result};

/// Some rows of a column of texts.
pub(crate) type Texts<'a> = (Sparse<'a>, &'a Rows<'a>);

/// A value per word and class.
pub(crate) struct WordTable<'a> {
    pub classes: usize,
    /// t_jc at `j·classes + c`.
    pub values: &'a [f64],
    /// The values of a word that the table does not have; without them it says nothing.
    pub unknown: Option<&'a [f64]>,
}

impl WordTable<'_> {
    /// Calls `finish(i, Σ_j f(x_j), s)` for each row `i`. A word with f(x_j) = 0 is left out, so that
    /// 0·(−∞) = 0. Tells whether all f(x_j) were finite and at least 0.
    pub fn sums(&self, texts: Texts<'_>, f: impl Fn(f64) -> f64, finish: impl FnMut(usize, f64, &[f64])) -> bool {
        // A loop of known length runs in registers.
        match self.classes {
            1 => self.fixed::<1>(texts, f, finish),
            2 => self.fixed::<2>(texts, f, finish),
            3 => self.fixed::<3>(texts, f, finish),
            4 => self.fixed::<4>(texts, f, finish),
            5 => self.fixed::<5>(texts, f, finish),
            _ => self.any(texts, f, finish),
        }
    }

    fn fixed<const K: usize>(
        &self,
        texts: Texts<'_>,
        f: impl Fn(f64) -> f64,
        mut finish: impl FnMut(usize, f64, &[f64]),
    ) -> bool {
        let (by_word, _) = self.values.as_chunks::<K>();
        let unknown = self.unknown.and_then(|values| <&[f64; K]>::try_from(values).ok());
        let mut sound = true;
        texts.0.for_each_row(texts.1, |i, words, counts| {
            sound &= are_counts(counts, &f);
            let (total, sums) = sum_row(by_word, unknown, words, counts, &f);
            finish(i, total, &sums);
        });
        sound
    }

    fn any(&self, texts: Texts<'_>, f: impl Fn(f64) -> f64, mut finish: impl FnMut(usize, f64, &[f64])) -> bool {
        let classes = self.classes;
        let (mut sums, mut sound) = (vec![0.0; classes], true);
        texts.0.for_each_row(texts.1, |i, words, counts| {
            sound &= are_counts(counts, &f);
            let mut total = 0.0;
            sums.fill(0.0);
            for (&word, &count) in words.iter().zip(counts) {
                let (x, start) = (f(count), word as usize * classes);
                let known = self.values.get(start..start + classes);
                if let (true, Some(values)) = (x != 0.0, known.or(self.unknown)) {
                    total += x;
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += x * value);
                }
            }
            finish(i, total, &sums);
        });
        sound
    }
}

fn are_counts(counts: &[f64], f: impl Fn(f64) -> f64) -> bool {
    // Without an early end, so that it runs in lanes.
    counts.iter().map(|x| f(*x)).fold(true, |all, x| all & (0.0..f64::INFINITY).contains(&x))
}

/// Σ_j f(x_j) and Σ_j f(x_j) t_j of one row. A function of its own: its sums stay in registers.
#[inline(never)]
fn sum_row<const K: usize>(
    by_word: &[[f64; K]],
    unknown: Option<&[f64; K]>,
    words: &[u32],
    counts: &[f64],
    f: impl Fn(f64) -> f64,
) -> (f64, [f64; K]) {
    let add = |(total, sums): &mut (f64, [f64; K]), word: u32, count: f64| {
        let x = f(count);
        if let (true, Some(values)) = (x != 0.0, by_word.get(word as usize).or(unknown)) {
            *total += x;
            for k in 0..K {
                sums[k] += x * values[k];
            }
        }
    };
    // Two sums at a time: one addition need not wait for the other.
    let (mut even, mut odd) = ((0.0, [0.0; K]), (0.0, [0.0; K]));
    let ((words, last_word), (counts, last_count)) = (words.as_chunks::<2>(), counts.as_chunks::<2>());
    for (word, count) in words.iter().zip(counts) {
        add(&mut even, word[0], count[0]);
        add(&mut odd, word[1], count[1]);
    }
    last_word.iter().zip(last_count).for_each(|(&word, &count)| add(&mut even, word, count));
    (even.0 + odd.0, std::array::from_fn(|k| even.1[k] + odd.1[k]))
}

/// The words of a text that a model leaves out, in order: those in fewer than `fewest` rows and, where more
/// than `most` are left, the less frequent; of equally frequent ones the later. `words` has for each the
/// weight of the rows with it, and how often it occurs.
pub(super) fn left_out(words: &[[f64; 2]], fewest: f64, most: Option<usize>) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..words.len()).filter(|&j| words[j][0] >= fewest).collect();
    if let Some(most) = most.filter(|most| *most < kept.len()) {
        // Stable: equally frequent words stay in their order.
        kept.sort_by(|&a, &b| words[b][1].total_cmp(&words[a][1]));
        kept.truncate(most);
    }
    let mut out = vec![true; words.len()];
    kept.iter().for_each(|&j| out[j] = false);
    (0..words.len()).filter(|&j| out[j]).collect()
}

/// Refuses a vocabulary without words.
pub(super) fn check_vocabulary(min_count: f64, vocabulary: Option<usize>) -> Result<()> {
    if min_count.is_nan() {
        return Err(Error::parameter("--min-count", "give a number of rows"));
    }
    match vocabulary {
        Some(0) => Err(Error::parameter("--vocabulary", "give a number of words of at least 1")),
        _ => Ok(()),
    }
}

/// Why texts cannot be counted.
pub(super) enum Wrong {
    /// A word has this number.
    Word(u32),
    /// A count is negative or not finite.
    Count,
}

/// The texts of a class, to be counted.
pub(super) struct Counting<'a> {
    pub texts: Texts<'a>,
    /// Of the rows; empty where all are 1.
    pub weights: &'a [f64],
    /// Whether each row's counts are divided by their sum.
    pub normalise: bool,
    /// Numbers of words lie below.
    pub most: usize,
}

impl Counting<'_> {
    /// Calls `add(j, Σᵢ wᵢ [xᵢⱼ ≠ 0], Σᵢ wᵢ xᵢⱼ)` for parts of the sums, where the x are f(count); unknown
    /// words are left out. `known` is how many words there have been before.
    pub fn run(&self, known: usize, f: impl Fn(f64) -> f64, mut add: impl FnMut(usize, f64, f64)) -> Result<(), Wrong> {
        let (sparse, rows) = self.texts;
        // Emptying a tally takes time for each word, used or not.
        let pays = self.weights.is_empty() && !self.normalise && 2 * sparse.stored(rows) >= known;
        let mut tally = pays.then(Tally::default);
        let mut wrong = None;
        sparse.for_each_row(rows, |i, words, counts| {
            if let Some(tally) = &mut tally {
                if i % Tally::ROWS == 0 {
                    tally.empty(&mut add);
                }
                if Tally::takes(counts, &f) {
                    if let Err(word) = tally.add(words, counts, &f, self.most) {
                        wrong.get_or_insert(Wrong::Word(word));
                    }
                    return;
                }
            }
            let w = self.weights.get(i).copied().unwrap_or(1.0);
            let cells = || words.iter().zip(counts).filter(|(word, _)| **word < UNSEEN).map(|(&word, &x)| (word, f(x)));
            let total: f64 = if self.normalise { cells().map(|(_, x)| x).sum() } else { 0.0 };
            for (word, x) in cells().filter(|(_, x)| *x != 0.0) {
                match word as usize {
                    j if j >= self.most => drop(wrong.get_or_insert(Wrong::Word(word))),
                    _ if !(x > 0.0 && x < f64::INFINITY) => drop(wrong.get_or_insert(Wrong::Count)),
                    j => add(j, w, w * if self.normalise { x / total } else { x }),
                }
            }
        });
        if let Some(mut tally) = tally {
            tally.empty(add);
        }
        wrong.map_or(Ok(()), Err)
    }
}

/// Counts per word over some rows: the number of rows in the high 14 bits of a cell, the sum of the
/// counts in the low 18. Four bytes a word stay in the second-level cache where sums of 8 or 16 do not.
#[derive(Default)]
struct Tally {
    cells: Vec<u32>,
}

impl Tally {
    /// A cell has room for so many rows,
    const ROWS: usize = 8192;
    const ROW: u32 = 1 << 18;
    /// each of counts up to this: 8192·31 < 2¹⁸.
    const MOST: f64 = 31.0;
    /// x + 2⁵² has x in its lowest bits, if x is a small integer.
    const SHIFT: f64 = (1u64 << 52) as f64;

    /// Whether a row's counts are integers that the cells have room for.
    fn takes(counts: &[f64], f: impl Fn(f64) -> f64) -> bool {
        let fits = |x: f64| (0.0..=Self::MOST).contains(&x) & ((x + Self::SHIFT) - Self::SHIFT == x);
        counts.iter().fold(true, |all, &x| all & fits(f(x)))
    }

    /// Adds a row whose counts it takes; tells a word of too high a number.
    #[inline(never)]
    fn add(
        &mut self,
        words: &[u32],
        counts: &[f64],
        f: impl Fn(f64) -> f64,
        most: usize,
    ) -> std::result::Result<(), u32> {
        if words.iter().fold(0, |most, &word| word.max(most)) as usize >= self.cells.len() {
            self.grow(words, most)?;
        }
        let cells = &mut self.cells[..];
        for (&word, &count) in words.iter().zip(counts) {
            // Unknown words have no cell.
            if let Some(cell) = cells.get_mut(word as usize) {
                let x = (f(count) + Self::SHIFT).to_bits() as u32;
                *cell += if x > 0 { Self::ROW + x } else { 0 };
            }
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self, words: &[u32], most: usize) -> std::result::Result<(), u32> {
        let highest = words.iter().copied().filter(|word| *word < UNSEEN).max().unwrap_or(0);
        match highest as usize {
            j if j >= most => Err(highest),
            j => {
                self.cells.resize(self.cells.len().max(j + 1), 0);
                Ok(())
            }
        }
    }

    /// Hands on what it has, and begins anew.
    fn empty(&mut self, mut add: impl FnMut(usize, f64, f64)) {
        // The last word first: sums that grow do so once.
        if let Some(last) = self.cells.iter().rposition(|cell| *cell > 0) {
            add(last, 0.0, 0.0);
        }
        for (j, cell) in self.cells.iter_mut().enumerate().filter(|(_, cell)| **cell > 0) {
            add(j, f64::from(*cell / Self::ROW), f64::from(*cell % Self::ROW));
            *cell = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows and counts of each word, straight and through the tally.
    fn both_ways(rows: &[(Vec<u32>, Vec<f64>)], f: impl Fn(f64) -> f64) -> Vec<[f64; 2]> {
        let (words, counts): (Vec<_>, Vec<_>) = rows.iter().cloned().unzip();
        let ends = rows.iter().scan(0, |end, (words, _)| {
            *end += words.len();
            Some(*end)
        });
        let offsets: Vec<usize> = [0].into_iter().chain(ends).collect();
        let (words, counts) = (words.concat(), counts.concat());
        let sparse = Sparse::new(&offsets[..], &words[..], &counts[..]).unwrap();
        let (all, ones) = (Rows::Range(0..rows.len()), vec![1.0; rows.len()]);
        let [straight, tallied] = [&ones[..], &[]].map(|weights| {
            let mut sums = vec![[0.0; 2]; 5];
            let counting = Counting { texts: (sparse, &all), weights, normalise: false, most: 5 };
            let add = |j: usize, rows: f64, count: f64| {
                sums[j][0] += rows;
                sums[j][1] += count;
            };
            assert!(counting.run(5, &f, add).is_ok());
            sums
        });
        assert_eq!(straight, tallied);
        tallied
    }

    #[test]
    fn rare_words_and_those_beyond_the_most_frequent_are_left_out() {
        let words = [[3.0, 3.0], [1.0, 9.0], [0.0, 0.0], [2.0, 3.0], [2.0, 4.0]];
        assert_eq!(left_out(&words, f64::MIN_POSITIVE, None), [2]);
        assert_eq!(left_out(&words, 2.0, None), [1, 2]);
        assert_eq!(left_out(&words, 0.0, Some(5)), [0; 0]);
        // Of words 0 and 3, both three times, the earlier stays.
        assert_eq!(left_out(&words, 2.0, Some(2)), [1, 2, 3]);
        assert_eq!(left_out(&words, 0.0, Some(1)), [0, 2, 3, 4]);
    }

    #[test]
    fn tallies_are_sums() {
        // Enough rows to empty the tally on the way, at the limits of its cells.
        let mut rows = vec![(vec![0, 1, UNSEEN], vec![31.0, 1.0, 5.0]); 20_000];
        assert_eq!(both_ways(&rows, |x| x)[..3], [[2e4, 62e4], [2e4, 2e4], [0.0, 0.0]]);
        rows.extend([(vec![3, 1], vec![32.0, 0.0]), (vec![3, 4], vec![0.5, 1e9])]);
        assert_eq!(both_ways(&rows, |x| x)[1..], [[2e4, 2e4], [0.0, 0.0], [2.0, 32.5], [1.0, 1e9]]);
        assert_eq!(both_ways(&rows, |x| f64::from(x > 1.0))[..2], [[2e4, 2e4], [0.0, 0.0]]);
    }

    #[test]
    fn odd_words_and_counts_are_told() {
        let all = Rows::Range(0..1);
        for (word, count) in [(7, 1.0), (7, 0.5), (0, -1.0), (0, f64::NAN), (0, f64::INFINITY)] {
            let (words, counts) = ([word], [count]);
            let sparse = Sparse::new(&[0usize, 1][..], &words[..], &counts[..]).unwrap();
            let counting = Counting { texts: (sparse, &all), weights: &[], normalise: false, most: 5 };
            match counting.run(0, |x| x, |_, _, _| panic!("nothing to add")) {
                Err(Wrong::Word(found)) => assert_eq!((found, word), (7, 7)),
                Err(Wrong::Count) => assert_eq!(word, 0),
                Ok(()) => panic!("{word} {count}"),
            }
        }
    }
}
