//! Sums over the words of rows, s_c = Σ_j f(x_j) t_jc.

use crate::data::{Rows, Sparse};

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
            let (total, sums, highest) = sum_row(by_word, unknown, words, counts, &f);
            // The bits of numbers from 0 on ascend to those of ∞.
            sound &= highest < f64::INFINITY.to_bits() || are_counts(counts, &f);
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

/// Σ_j f(x_j), Σ_j f(x_j) t_j and the highest bits of f(x_j) of one row. A function of its own: its sums
/// stay in registers.
#[inline(never)]
fn sum_row<const K: usize>(
    by_word: &[[f64; K]],
    unknown: Option<&[f64; K]>,
    words: &[u32],
    counts: &[f64],
    f: impl Fn(f64) -> f64,
) -> (f64, [f64; K], u64) {
    let add = |(total, sums, highest): &mut (f64, [f64; K], u64), word: u32, count: f64| {
        let x = f(count);
        *highest = x.to_bits().max(*highest);
        if let (true, Some(values)) = (x != 0.0, by_word.get(word as usize).or(unknown)) {
            *total += x;
            for k in 0..K {
                sums[k] += x * values[k];
            }
        }
    };
    // Two sums at a time: one addition need not wait for the other.
    let (mut even, mut odd) = ((0.0, [0.0; K], 0), (0.0, [0.0; K], 0));
    let ((words, last_word), (counts, last_count)) = (words.as_chunks::<2>(), counts.as_chunks::<2>());
    for (word, count) in words.iter().zip(counts) {
        add(&mut even, word[0], count[0]);
        add(&mut odd, word[1], count[1]);
    }
    last_word.iter().zip(last_count).for_each(|(&word, &count)| add(&mut even, word, count));
    (even.0 + odd.0, std::array::from_fn(|k| even.1[k] + odd.1[k]), even.2.max(odd.2))
}
