//! Sums over the words of rows, s_c = Σ_j f(x_j) t_jc.

use crate::data::{Rows, Sparse};
use crate::numerics::vectorised;

/// Some rows of a column of texts.
pub type Texts<'a> = (Sparse<'a>, &'a Rows<'a>);

/// A value per word and class, by which rows of words are summed. The table lies word by word, so that a word
/// touches one line of memory for all classes.
///
/// ```
/// use deciban::data::{Rows, Sparse};
/// use deciban::scoring::WordTable;
/// // Word 0 twice and word 1 once; then word 1.
/// let counts = Sparse::new(&[0i32, 2, 3][..], &[0i32, 1, 1][..], &[2.0, 1.0, 1.0][..])?;
/// let table = WordTable { classes: 2, values: &[1.0, 10.0, 5.0, 50.0], unknown: None };
/// let mut sums = Vec::new();
/// table.sums((counts, &Rows::Range(0..2)), |x| x, |_row, _total, s| sums.extend_from_slice(s));
/// assert_eq!(sums, [7.0, 70.0, 5.0, 50.0]);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WordTable<'a> {
    /// How many values a word has.
    pub classes: usize,
    /// t_jc at `j·classes + c`.
    pub values: &'a [f64],
    /// The values of a word that the table does not have; without them it says nothing.
    pub unknown: Option<&'a [f64]>,
}

impl WordTable<'_> {
    /// Calls `finish(i, Σ_j f(x_j), s)` for each row `i`. A word with f(x_j) = 0 is left out, so that
    /// 0·(−∞) = 0. Returns whether all f(x_j) were finite and at least 0.
    pub fn sums(&self, texts: Texts<'_>, f: impl Fn(f64) -> f64, finish: impl FnMut(usize, f64, &[f64])) -> bool {
        // A loop of known length runs in registers. The fewer classes there are, the more words are added at a time.
        match self.classes {
            1 => self.fixed::<1, 4>(texts, f, finish),
            2 => self.fixed::<2, 4>(texts, f, finish),
            3 => self.fixed::<3, 2>(texts, f, finish),
            4 => self.fixed::<4, 2>(texts, f, finish),
            5..=8 => self.fixed::<8, 2>(texts, f, finish),
            9..=12 => self.fixed::<12, 2>(texts, f, finish),
            13..=16 => self.fixed::<16, 2>(texts, f, finish),
            _ => self.any(texts, f, finish),
        }
    }

    /// As [`WordTable::any`] for at most K classes, whose sums stay in registers.
    fn fixed<const K: usize, const CHAINS: usize>(
        &self,
        texts: Texts<'_>,
        f: impl Fn(f64) -> f64,
        mut finish: impl FnMut(usize, f64, &[f64]),
    ) -> bool {
        let mut sound = true;
        texts.0.for_each_row(texts.1, |i, words, counts| {
            let sums = vectorised!(self.sum_row::<K, CHAINS>(words, counts, &f));
            sound &= are_counts(sums.highest, counts, &f);
            finish(i, sums.total, &sums.of_classes[..self.classes]);
        });
        sound
    }

    /// The sums of one row. Words are added to several sums in turn, so that no addition waits for the one before it.
    #[inline(always)]
    fn sum_row<const K: usize, const CHAINS: usize>(
        &self,
        words: &[u32],
        counts: &[f64],
        f: &impl Fn(f64) -> f64,
    ) -> RowSums<K> {
        let mut chains = [RowSums { total: 0.0, of_classes: [0.0; K], highest: 0 }; CHAINS];
        let ((words, last_words), (counts, last_counts)) = (words.as_chunks::<CHAINS>(), counts.as_chunks::<CHAINS>());
        for (words, counts) in words.iter().zip(counts) {
            for c in 0..CHAINS {
                self.add(&mut chains[c], words[c], f(counts[c]));
            }
        }
        for (word, count) in last_words.iter().zip(last_counts) {
            self.add(&mut chains[0], *word, f(*count));
        }
        let mut all = chains[0];
        for chain in &chains[1..] {
            all.total += chain.total;
            all.highest = all.highest.max(chain.highest);
            for k in 0..K {
                all.of_classes[k] += chain.of_classes[k];
            }
        }
        all
    }

    /// Adds a word with f(x_j) = x.
    #[inline(always)]
    fn add<const K: usize>(&self, sums: &mut RowSums<K>, word: u32, x: f64) {
        sums.highest = x.to_bits().max(sums.highest);
        if x == 0.0 {
            return;
        }
        // Of fewer than K classes, the values of the next word are added as well, to sums that mean nothing.
        let classes = if K <= 4 { K } else { self.classes };
        let start = word as usize * classes;
        let mut last = [0.0; K];
        let values = match self.values.get(start..start + K).and_then(<[f64]>::first_chunk::<K>) {
            Some(values) => values,
            // The last words of the table, and those that it does not have.
            None => {
                let known = self.values.get(start..start + classes);
                let Some(values) = known.or(self.unknown) else { return };
                last[..classes].copy_from_slice(values);
                &last
            }
        };
        sums.total += x;
        for k in 0..K {
            sums.of_classes[k] += x * values[k];
        }
    }

    fn any(&self, texts: Texts<'_>, f: impl Fn(f64) -> f64, mut finish: impl FnMut(usize, f64, &[f64])) -> bool {
        let classes = self.classes;
        let (mut sums, mut sound) = (vec![0.0; classes], true);
        texts.0.for_each_row(texts.1, |i, words, counts| {
            let (mut total, mut highest) = (0.0, 0);
            sums.fill(0.0);
            for (&word, &count) in words.iter().zip(counts) {
                let (x, start) = (f(count), word as usize * classes);
                highest = x.to_bits().max(highest);
                let known = self.values.get(start..start + classes);
                if let (true, Some(values)) = (x != 0.0, known.or(self.unknown)) {
                    total += x;
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += x * value);
                }
            }
            sound &= are_counts(highest, counts, &f);
            finish(i, total, &sums);
        });
        sound
    }
}

/// What is summed over the words of a row: Σ_j f(x_j), Σ_j f(x_j) t_j, and the highest bits of f(x_j).
#[derive(Clone, Copy)]
struct RowSums<const K: usize> {
    total: f64,
    of_classes: [f64; K],
    highest: u64,
}

/// Whether the f(x_j) of a row, whose highest bits are known, are finite and at least 0. The bits of numbers from 0 on
/// ascend to those of ∞; those of −0 are higher than all of these, so that a look at each decides.
#[inline(always)]
fn are_counts(highest: u64, counts: &[f64], f: impl Fn(f64) -> f64) -> bool {
    highest < f64::INFINITY.to_bits() || counts.iter().all(|x| (0.0..f64::INFINITY).contains(&f(*x)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Random;

    /// Every number of classes, up to and over those with loops of their own; words that the table does not have,
    /// counts of 0 and values of −∞.
    #[test]
    fn sums_are_those_word_by_word() {
        let mut random = Random::new(7);
        let (vocabulary, length, rows) = (9u64, 6, 20);
        let words: Vec<u32> = (0..rows * length).map(|_| random.below(vocabulary + 3) as u32).collect();
        let counts: Vec<f64> = words.iter().map(|_| random.below(3) as f64).collect();
        let offsets: Vec<usize> = (0..=rows).map(|i| i * length).collect();
        let sparse = Sparse::new(&offsets[..], &words[..], &counts[..]).unwrap();
        for classes in 1..=18 {
            let mut values: Vec<f64> = (0..vocabulary as usize * classes).map(|_| random.normal()).collect();
            values[classes / 2] = f64::NEG_INFINITY;
            let extra: Vec<f64> = (0..classes).map(|_| random.normal()).collect();
            for unknown in [None, Some(&extra[..])] {
                let table = WordTable { classes, values: &values, unknown };
                let mut seen = 0;
                let sound = table.sums(
                    (sparse, &Rows::Range(0..rows)),
                    |x| 2.0 * x,
                    |i, total, sums| {
                        seen += 1;
                        let (mut all, mut expected) = (0.0, vec![0.0; classes]);
                        for j in i * length..(i + 1) * length {
                            let (x, start) = (2.0 * counts[j], words[j] as usize * classes);
                            let known = values.get(start..start + classes).or(unknown);
                            if let (true, Some(values)) = (x != 0.0, known) {
                                all += x;
                                expected.iter_mut().zip(values).for_each(|(sum, value)| *sum += x * value);
                            }
                        }
                        assert_eq!((total, sums.len()), (all, classes));
                        for (found, expected) in sums.iter().zip(&expected) {
                            assert!(
                                found == expected || (found - expected).abs() < 1e-13,
                                "{classes}: {found} {expected}"
                            );
                        }
                    },
                );
                assert!(sound && seen == rows);
            }
        }
    }
}
