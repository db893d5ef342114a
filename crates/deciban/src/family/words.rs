//! What the families of texts share: which words they know, and how rows are counted. Counts of many rows are
//! first summed as small integers ([`Tally`]).

use std::cell::RefCell;

use crate::data::{Cells, Tile, UNSEEN};
use crate::error::{Error, Result};
use crate::numerics::vectorised;
use crate::scoring::Texts;

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
        return Err(Error::parameter("min_count", "give a number of rows"));
    }
    match vocabulary {
        Some(0) => Err(Error::parameter("vocabulary", "give a number of words of at least 1")),
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

/// Sums of a class that grow with the words.
pub(super) trait WordSums {
    /// Makes room for so many words.
    fn reserve(&mut self, words: usize);
    /// Adds Σᵢ wᵢ [xᵢⱼ ≠ 0] and Σᵢ wᵢ xᵢⱼ of some rows.
    fn add(&mut self, j: usize, rows: f64, count: f64);
    /// For how many words there is room.
    fn words(&self) -> usize;
}

/// Counts and rows.
impl WordSums for Vec<[f64; 2]> {
    fn reserve(&mut self, words: usize) {
        if words > self.len() {
            self.resize(words, [0.0; 2]);
        }
    }

    #[inline]
    fn add(&mut self, j: usize, rows: f64, count: f64) {
        let sums = &mut self[j];
        sums[0] += count;
        sums[1] += rows;
    }

    fn words(&self) -> usize {
        self.len()
    }
}

/// Rows alone.
impl WordSums for Vec<f64> {
    fn reserve(&mut self, words: usize) {
        if words > self.len() {
            self.resize(words, 0.0);
        }
    }

    #[inline]
    fn add(&mut self, j: usize, rows: f64, _count: f64) {
        self[j] += rows;
    }

    fn words(&self) -> usize {
        self.len()
    }
}

/// Texts to be counted, each for its class.
pub(super) struct Counting<'a> {
    pub texts: Texts<'a>,
    /// The class of each row; empty where there is but one.
    pub classes: &'a [u32],
    /// Of the rows; empty where all are 1.
    pub weights: Vec<f64>,
    /// Whether each row's counts are divided by their sum.
    pub normalise: bool,
    /// Numbers of words lie below.
    pub most: usize,
}

impl<'a> Counting<'a> {
    /// The texts of a block.
    pub fn new(x: &Cells<'_>, texts: Texts<'a>, classes: &'a [u32], most: usize) -> Self {
        let mut weights = Vec::new();
        if x.weighted() {
            x.read_weights(&mut weights);
        }
        Counting { texts, classes, weights, normalise: false, most }
    }

    /// Whether so many classes of so many words are counted best in the order of the rows: all tallies
    /// together stay in the cache.
    pub fn is_quick(classes: usize, words: usize) -> bool {
        classes * words <= 1 << 19
    }

    fn class(&self, row: usize) -> usize {
        self.classes.get(row).map_or(0, |class| *class as usize)
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.get(row).copied().unwrap_or(1.0)
    }

    /// Calls `add(class, weight)` for each row.
    pub fn for_each_weight(&self, mut add: impl FnMut(usize, f64)) {
        (0..self.texts.1.len()).for_each(|row| add(self.class(row), self.weight(row)));
    }

    /// Adds the rows to the sums of their classes, where the x are f(count); unknown words are left out.
    pub fn run<S: WordSums>(&self, f: impl Fn(f64) -> f64, sums: &mut [&mut S]) -> Result<(), Wrong> {
        let (sparse, rows) = self.texts;
        let known = sums.iter().map(|sums| sums.words()).max().unwrap_or(0);
        // Emptying a tally takes time for each word, used or not.
        let pays = self.weights.is_empty() && !self.normalise && 2 * sparse.stored(rows) >= known * sums.len();
        let mut tallies: Vec<Tally> = sums.iter().filter(|_| pays).map(|_| Tally::new(known)).collect();
        let mut wrong = None;
        sparse.for_each_row(rows, |i, words, counts| {
            let class = self.class(i);
            if i > 0 && i % Tally::ROWS == 0 {
                tallies.iter_mut().zip(&mut *sums).for_each(|(tally, sums)| tally.empty(*sums));
            }
            if let Some(tally) = tallies.get_mut(class) {
                match tally.add(words, counts, &f, self.most) {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(found) => {
                        wrong.get_or_insert(found);
                        return;
                    }
                }
            }
            let w = self.weight(i);
            let cells = || words.iter().zip(counts).filter(|(word, _)| **word < UNSEEN).map(|(&word, &x)| (word, f(x)));
            let total: f64 = if self.normalise { cells().map(|(_, x)| x).sum() } else { 0.0 };
            for (word, x) in cells().filter(|(_, x)| *x != 0.0) {
                match word as usize {
                    j if j >= self.most => drop(wrong.get_or_insert(Wrong::Word(word))),
                    _ if !(x > 0.0 && x < f64::INFINITY) => drop(wrong.get_or_insert(Wrong::Count)),
                    j => {
                        sums[class].reserve(j + 1);
                        sums[class].add(j, w, w * if self.normalise { x / total } else { x });
                    }
                }
            }
        });
        for (mut tally, sums) in tallies.into_iter().zip(sums) {
            tally.empty(*sums);
            tally.keep();
        }
        wrong.map_or(Ok(()), Err)
    }
}

/// Whether a number can be how often a word occurs.
#[inline(always)]
pub(super) fn is_count(count: f64) -> bool {
    (0.0..f64::INFINITY).contains(&count)
}

/// The column and the row of a cell that is not possible, if there is one.
#[inline(always)]
pub(super) fn first_impossible(tile: &Tile, is_possible: impl Fn(f64) -> bool + Copy) -> Option<(usize, usize)> {
    // Without an early end, so that it runs in lanes; one that is wrong is looked for afterwards.
    if vectorised!(tile.data().iter().fold(true, |all, x| all & is_possible(*x))) {
        return None;
    }
    (0..tile.width()).find_map(|j| Some((j, tile.column(j).iter().position(|x| !is_possible(*x))?)))
}

/// The error of the first number of texts that is not a count.
pub(super) fn wrong_count(x: &Cells<'_>, (sparse, rows): Texts<'_>, name: &str) -> Error {
    let mut wrong = None;
    sparse.for_each(rows, |i, _, count| {
        if !is_count(count) {
            wrong.get_or_insert((i, count));
        }
    });
    let (i, count) = wrong.unwrap_or_default();
    no_count(name, x.row_number(i), count)
}

/// The error of a cell that does not hold a count; `row` counts from 0.
pub(super) fn no_count(column: &str, row: u64, count: f64) -> Error {
    let column = column.to_string();
    match count {
        f64::INFINITY => Error::Infinite { column, row: row + 1 },
        _ => {
            let message = format!("{count} is not a count: counts are at least 0");
            Error::Cell { column, row: row + 1, message }
        }
    }
}

/// Counts per word over some rows of a class: the number of rows in the high 14 bits of a cell, the sum of
/// the counts in the low 18. Four bytes a word stay in the second-level cache where sums of 8 or 16 do not.
struct Tally {
    cells: Vec<u32>,
}

/// What became of a row.
struct Added {
    /// Whether its counts are integers that the cells have room for.
    fits: bool,
    /// The highest word beyond the cells.
    beyond: Option<u32>,
}

thread_local! {
    /// Memory of a thread's last tallies: fresh pages cost as much as counting.
    static SPARE: RefCell<Vec<Vec<u32>>> = const { RefCell::new(Vec::new()) };
}

impl Tally {
    /// A cell has room for so many rows,
    const ROWS: usize = 8192;
    const ROW: u32 = 1 << 18;
    /// each of counts up to this: 8192·31 < 2¹⁸.
    const MOST: u64 = 31;
    /// x + 2⁵² has x in its lowest bits, if x is a small integer.
    const SHIFT: f64 = (1u64 << 52) as f64;
    /// The most cells that there are, and that a thread keeps for the next tally.
    const LARGEST: usize = 1 << 24;
    const SPARE: usize = 1 << 20;

    fn new(words: usize) -> Self {
        let mut cells = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
        cells.clear();
        cells.resize(words, 0);
        Tally { cells }
    }

    /// Leaves the memory to the thread's next tally.
    fn keep(self) {
        SPARE.with_borrow_mut(|spare| {
            if self.cells.capacity() + spare.iter().map(Vec::capacity).sum::<usize>() <= Self::SPARE {
                spare.push(self.cells);
            }
        });
    }

    /// Adds a row; tells whether it did.
    fn add(&mut self, words: &[u32], counts: &[f64], f: impl Fn(f64) -> f64, most: usize) -> Result<bool, Wrong> {
        let added = self.each(words, counts, &f, u32::wrapping_add);
        if added.fits && added.beyond.is_none() {
            return Ok(true);
        }
        // Rare: the row is taken away again, and what it lacked is seen to.
        self.each(words, counts, &f, u32::wrapping_sub);
        match added.beyond.map(|word| word as usize) {
            Some(j) if j >= most => Err(Wrong::Word(j as u32)),
            Some(j) if j < Self::LARGEST => {
                self.cells.resize(j + 1, 0);
                self.add(words, counts, f, most)
            }
            _ => Ok(false),
        }
    }

    /// Adds a row to the cells or takes it away; counts that do not fit do nonsense, but both ways the same.
    #[inline(never)]
    fn each(&mut self, words: &[u32], counts: &[f64], f: impl Fn(f64) -> f64, by: impl Fn(u32, u32) -> u32) -> Added {
        let cells = &mut self.cells[..];
        // Bits that no small integer has.
        let (mut high, mut rest) = (0, 0);
        let mut beyond = None;
        for (&word, &count) in words.iter().zip(counts) {
            let x = f(count);
            let shifted = x + Self::SHIFT;
            let bits = shifted.to_bits() ^ Self::SHIFT.to_bits();
            high |= bits;
            rest |= (shifted - Self::SHIFT).to_bits() ^ x.to_bits();
            let n = bits as u32;
            match cells.get_mut(word as usize) {
                Some(cell) => *cell = by(*cell, if n > 0 { Self::ROW + n } else { 0 }),
                // Unknown words have no cell.
                None if word < UNSEEN => beyond = beyond.max(Some(word)),
                None => {}
            }
        }
        Added { fits: high <= Self::MOST && rest == 0, beyond }
    }

    /// Hands on what it has, and begins anew.
    fn empty(&mut self, sums: &mut impl WordSums) {
        let used = self.cells.iter().rposition(|cell| *cell > 0).map_or(0, |last| last + 1);
        sums.reserve(used);
        for (j, cell) in self.cells[..used].iter_mut().enumerate() {
            sums.add(j, f64::from(*cell / Self::ROW), f64::from(*cell % Self::ROW));
            *cell = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, Rows, Sparse};
    use crate::family::bernoulli::Bernoulli;
    use crate::family::multinomial::Multinomial;
    use crate::family::{Assignment, Dealt, Family};

    /// Counts and rows of each word, straight and through the tally.
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
        let [straight, tallied] = [ones, Vec::new()].map(|weights| {
            let mut sums = vec![[0.0; 2]; 5];
            let counting = Counting { texts: (sparse, &all), classes: &[], weights, normalise: false, most: 5 };
            assert!(counting.run(&f, &mut [&mut sums]).is_ok());
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
        assert_eq!(both_ways(&rows, |x| x)[..3], [[62e4, 2e4], [2e4, 2e4], [0.0, 0.0]]);
        rows.extend([(vec![3, 1], vec![32.0, 0.0]), (vec![3, 4], vec![0.5, 1e9])]);
        assert_eq!(both_ways(&rows, |x| x)[1..], [[2e4, 2e4], [0.0, 0.0], [32.5, 2.0], [1e9, 1.0]]);
        assert_eq!(both_ways(&rows, |x| f64::from(x > 1.0))[..2], [[2e4, 2e4], [0.0, 0.0]]);
    }

    fn counted_in_one_go_as_class_by_class<F: Family>(family: &F, batch: &Batch<'_>)
    where
        F::Statistic: std::fmt::Debug + PartialEq,
    {
        let (rows, classes, names) = (batch.rows() as u32, 3, ["text".to_string()]);
        let class = |row: u32| row / 2 % classes;
        let mut alone: Vec<_> = (0..classes).map(|_| family.empty(1)).collect();
        for (c, statistic) in alone.iter_mut().enumerate() {
            let of_class: Vec<u32> = (0..rows).filter(|row| class(*row) == c as u32).collect();
            family.observe(statistic, &Cells::new(batch, &[0], Rows::Index(&of_class)), &names).unwrap();
        }
        let mut mixed: Vec<_> = (0..classes).map(|_| family.empty(1)).collect();
        let of_rows: Vec<u32> = (0..rows).map(class).collect();
        let mut statistics: Vec<_> = mixed.iter_mut().collect();
        let all = Cells::new(batch, &[0], Rows::Range(0..rows as usize));
        let dealt = Dealt::new(of_rows.into(), 3);
        family.observe_groups(&mut statistics, &all, Assignment::Hard(&dealt), None, &names).unwrap();
        assert_eq!(mixed, alone);
    }

    #[test]
    fn classes_are_counted_in_one_go() {
        // Rows of two words; some counts are no small integers, and classes know different words.
        let rows = 9000;
        let offsets: Vec<usize> = (0..=rows).map(|i| 2 * i).collect();
        let words: Vec<u32> = (0..rows as u32).flat_map(|i| [i % 7, 10 + i % 3 * 100]).collect();
        let counts: Vec<f64> = (0..rows).flat_map(|i| [[1.0, 2.0], [0.5, 3.0], [0.0, 99.0]][i % 11 % 3]).collect();
        let weights: Vec<f64> = (0..rows).map(|i| [1.0, 0.25, 0.0][i % 3]).collect();
        let sparse = Sparse::new(&offsets[..], &words[..], &counts[..]).unwrap();
        let plain = Batch::new(rows).sparse(sparse).unwrap();
        for batch in [plain.clone(), plain.weights(&weights).unwrap()] {
            counted_in_one_go_as_class_by_class(&Multinomial::default(), &batch);
            counted_in_one_go_as_class_by_class(&Bernoulli::default(), &batch);
        }
        assert!(!Counting::is_quick(100, 50_000));
    }

    #[test]
    fn odd_words_and_counts_are_told() {
        let all = Rows::Range(0..1);
        for (word, count) in [(7, 1.0), (7, 0.5), (0, -1.0), (0, f64::NAN), (0, f64::INFINITY)] {
            let (words, counts) = ([word], [count]);
            let sparse = Sparse::new(&[0usize, 1][..], &words[..], &counts[..]).unwrap();
            let counting = Counting { texts: (sparse, &all), classes: &[], weights: vec![], normalise: false, most: 5 };
            let mut sums: Vec<f64> = Vec::new();
            let counted = counting.run(|x| x, &mut [&mut sums]);
            assert!(sums.is_empty(), "nothing is added");
            match counted {
                Err(Wrong::Word(found)) => assert_eq!((found, word), (7, 7)),
                Err(Wrong::Count) => assert_eq!(word, 0),
                Ok(()) => panic!("{word} {count}"),
            }
        }
    }
}
