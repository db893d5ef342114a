//! Multinomial family: each of a row's tokens is drawn, independently, from the words of its class.
//!
//! The block is one column of texts (sparse counts of words) or several columns of counts. Statistic
//! of a class: n_j = Σᵢ wᵢ x_ij and in how many rows word j occurs ([`WordCounts`]). With N = Σ_j n_j,
//! V words and the pseudo-count α (the mean of the posterior under a Dirichlet(α) prior):
//!
//! ```text
//! θ_j = (n_j + α) / (N + αV)          log p(x | c) = Σ_j x_j ln θ_cj
//! ```
//!
//! This is the probability of the tokens in their order. The probability of their counts has the
//! factor (Σx)!/Πx! in front, the same for all classes, so it is left out: both give the same LLR.
//! With α = 0 a word that a class never used is impossible there (−∞); 0·(−∞) = 0.
//!
//! - `unseen`: a word that is not in the vocabulary is skipped, as scikit-learn's vectorisers do, or
//!   has the share α/(N + αV) that a word of the vocabulary without any count would have.
//! - `min_count`: words of a text that occur in fewer rows are not in the vocabulary, whatever words the
//!   schema knows. V counts the others. So a model of all folds but one does not know the words that
//!   only the fold has: counted as known, each of them would speak for the class with the fewest words.
//!   With 0 the vocabulary is the schema's, as where a dictionary is given.
//! - `vocabulary`: of the others only so many, those that occur most often, are in it.
//! - `normalise`: each row's counts are divided by their sum, so that every row weighs like one token,
//!   however long it is.
//! - `complement` (Rennie et al. 2003): weights −ln θ̃_cj, where θ̃_c is estimated from all *other*
//!   classes; with `norm` they are divided by Σ_j |ln θ̃_cj|. Scores, not a density: they rank classes
//!   of very different sizes well, but differences of them are no log-likelihood ratios.

mod dense;
mod density;
mod statistic;

pub use density::MultinomialDensity;
pub use statistic::WordCounts;

use dense::DenseCounts;
use serde::{Deserialize, Serialize};

use super::counts::mark;
use super::words::{Counting, Wrong, check_vocabulary, first_impossible, is_count, left_out, no_count, wrong_count};
use super::{Assignment, Family, Names, for_each_group};
use crate::data::{Cells, Tile};
use crate::error::{Error, Result};
use crate::numerics::vectorised;
use crate::scoring::Texts;

/// What becomes of words that are not in the vocabulary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unseen {
    /// They say nothing.
    #[default]
    Skip,
    /// They have the share of a word that never occurred.
    Share,
}

impl Unseen {
    /// All of them, by the names of the command line.
    pub const ALL: [(&'static str, Unseen); 2] = [("skip", Unseen::Skip), ("share", Unseen::Share)];
}

/// The multinomial family with its hyper-parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Multinomial {
    /// α: what is added to each count.
    pub pseudo_count: f64,
    /// What becomes of words that are not in the vocabulary.
    pub unseen: Unseen,
    /// Words of a text that occur in fewer rows are left out. With 0 every word of the schema stays, also
    /// one that no row has: where a dictionary is given, as in scikit-learn.
    pub min_count: f64,
    /// At most so many words of a text are known: those that occur most often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<usize>,
    /// Whether each row's counts are divided by their sum.
    pub normalise: bool,
    /// Whether a class is scored by what the other classes do not say.
    pub complement: bool,
    /// Whether the weights of `complement` are divided by their sum.
    pub norm: bool,
}

impl Default for Multinomial {
    fn default() -> Self {
        Multinomial {
            pseudo_count: 1.0,
            unseen: Unseen::Skip,
            min_count: 1.0,
            vocabulary: None,
            normalise: false,
            complement: false,
            norm: false,
        }
    }
}

/// A vocabulary may have this many words: indices beyond are damaged.
const MOST_WORDS: usize = 1 << 28;

/// Rows of counts read at once.
const PART: usize = 1024;

impl Multinomial {
    /// Refuses hyper-parameters out of range.
    pub fn check(&self) -> Result<()> {
        if !(self.pseudo_count >= 0.0 && self.pseudo_count.is_finite()) {
            return Err(Error::parameter("pseudo_count", "give a number of at least 0"));
        }
        check_vocabulary(self.min_count, self.vocabulary)?;
        if self.norm && !self.complement {
            return Err(Error::parameter("norm", "only §complement weights are normalised so"));
        }
        Ok(())
    }

    /// Adds texts, each to the statistic of its class; without classes all to the only one.
    fn observe_texts(
        &self,
        statistics: &mut [&mut WordCounts],
        x: &Cells<'_>,
        texts: Texts<'_>,
        classes: &[u32],
        names: &[String],
    ) -> Result<()> {
        let counting = Counting { normalise: self.normalise, ..Counting::new(x, texts, classes, MOST_WORDS) };
        counting.for_each_weight(|class, weight| statistics[class].weight += weight);
        let mut words: Vec<_> = statistics.iter_mut().map(|statistic| &mut statistic.words).collect();
        let name = names.first().map_or("", String::as_str);
        counting.run(|count| count, &mut words).map_err(|wrong| match wrong {
            Wrong::Count => wrong_count(x, texts, name),
            Wrong::Word(word) => Error::Schema(format!(
                "column `{name}`: there is a word with the number {word}, and {MOST_WORDS} are too many to learn from"
            )),
        })
    }

    /// Counts numbers where they lie; `false`, and nothing is counted, where [`DenseCounts`] does not, or rows are
    /// normalised.
    fn observe_dense(&self, groups: &mut [&mut WordCounts], x: &Cells<'_>, of_rows: &[u32]) -> bool {
        if self.normalise {
            return false;
        }
        let mut weights = Vec::new();
        x.read_weights(&mut weights);
        let Some(found) = DenseCounts::of(x, of_rows, groups.len(), &weights) else { return false };
        of_rows.iter().zip(&weights).for_each(|(&group, weight)| groups[group as usize].weight += weight);
        for (group, statistic) in groups.iter_mut().enumerate() {
            statistic.words.resize(statistic.words.len().max(x.width()), [0.0; 2]);
            let sums = statistic.words.iter_mut().zip(found.of_group(group));
            sums.for_each(|(word, found)| (word[0], word[1]) = (word[0] + found[0], word[1] + found[1]));
        }
        true
    }

    fn observe_counts(&self, statistic: &mut WordCounts, x: &Cells<'_>, names: &[String]) -> Result<()> {
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        x.read_weights(&mut weights);
        statistic.weight += weights.iter().sum::<f64>();
        statistic.words.resize(statistic.words.len().max(x.width()), [0.0; 2]);
        for start in (0..x.rows()).step_by(PART) {
            let part = x.part(start..x.rows().min(start + PART));
            read_counts(&part, names, &mut tile)?;
            if let Some((i, j)) = tile.first_not_finite() {
                return Err(Error::Missing {
                    column: names[j].clone(),
                    row: part.row_number(i) + 1,
                    remedy: "counts are learnt from whole rows: fill in 0, §ignore the column, or leave such rows out"
                        .into(),
                });
            }
            if self.normalise {
                normalise(&mut tile);
            }
            let weights = &weights[start..start + part.rows()];
            vectorised!(for (j, word) in statistic.words.iter_mut().enumerate().take(tile.width()) {
                let [count, rows] = sums(tile.column(j), weights);
                word[0] += count;
                word[1] += rows;
            });
        }
        Ok(())
    }
}

impl Family for Multinomial {
    type Statistic = WordCounts;
    type Density = MultinomialDensity;

    fn with_pseudo_count(self, pseudo_count: f64) -> Self {
        Self { pseudo_count, ..self }
    }

    fn empty(&self, _width: usize) -> WordCounts {
        WordCounts::default()
    }

    fn observe(&self, statistic: &mut WordCounts, x: &Cells<'_>, names: &[String]) -> Result<()> {
        match x.sparse() {
            Some(texts) => self.observe_texts(&mut [statistic], x, texts, &[], names),
            None => self.observe_counts(statistic, x, names),
        }
    }

    /// Texts are counted in the order of the rows, as long as the counts of all classes stay in the cache.
    fn observe_groups(
        &self,
        groups: &mut [&mut WordCounts],
        x: &Cells<'_>,
        to: Assignment<'_>,
        _: Option<&MultinomialDensity>,
        names: &[String],
    ) -> Result<()> {
        let words = groups.iter().map(|statistic| statistic.words.len()).max().unwrap_or(0);
        match (x.sparse(), to) {
            (Some(texts), Assignment::Hard(dealt)) if Counting::is_quick(groups.len(), words) => {
                self.observe_texts(groups, x, texts, dealt.groups(), names)
            }
            (None, Assignment::Hard(dealt)) if self.observe_dense(groups, x, dealt.groups()) => Ok(()),
            _ => for_each_group(x, to, |group, cells| self.observe(groups[group], cells, names)),
        }
    }

    fn size(&self, width: usize) -> usize {
        // A text has as many words as turn up. Half a million of them are taken as usual: fewer
        // copies of the statistic are kept then, and observing is the small part of reading texts.
        if width == 1 { 8 << 20 } else { 16 * width }
    }

    fn relevel(&self, statistic: &mut WordCounts, maps: &[Vec<u32>]) -> Result<()> {
        // Several columns are counts: they have no levels.
        match maps {
            [map] if !map.is_empty() => statistic.relevel(map),
            _ => Ok(()),
        }
    }

    fn mark_levels(&self, statistic: &WordCounts, _: usize, seen: &mut [bool]) {
        mark(statistic.rows_with(), seen);
    }

    /// Σ α ln θ: the logarithm of the Dirichlet prior whose mode the shares are.
    fn log_prior(&self, density: &MultinomialDensity) -> f64 {
        if self.pseudo_count > 0.0 { self.pseudo_count * density.log_sum() } else { 0.0 }
    }

    fn log_likelihood(&self, density: &MultinomialDensity, class: usize, rows: &WordCounts) -> Option<f64> {
        density.log_likelihood(class, rows.counts())
    }

    fn fit(&self, classes: &[&WordCounts], names: Names<'_>) -> Result<MultinomialDensity> {
        self.check()?;
        let levels = names.levels.iter().copied().max().unwrap_or(0);
        let longest = classes.iter().map(|class| class.reach()).max().unwrap_or(0);
        let count = levels.max(longest).max(names.columns.len());
        let get = |c: usize, j: usize| classes[c].words.get(j).copied().unwrap_or_default();
        // Columns of counts are all wanted; a text's vocabulary is what its rows have shown.
        let dropped: Vec<usize> = match names.columns {
            [_] => {
                let sums = |j: usize| {
                    (0..classes.len())
                        .map(|c| get(c, j))
                        .fold([0.0; 2], |sum, word| [sum[0] + word[1], sum[1] + word[0]])
                };
                // A row may weigh less than 1.
                let fewest = match self.min_count {
                    ..=0.0 => 0.0,
                    ..=1.0 => f64::MIN_POSITIVE,
                    fewest => fewest,
                };
                left_out(&(0..count).map(sums).collect::<Vec<_>>(), fewest, self.vocabulary)
            }
            _ => Vec::new(),
        };
        let mut kept = vec![true; count];
        dropped.iter().for_each(|&j| kept[j] = false);
        let words = count - dropped.len();
        let mut weights = vec![0.0; count * classes.len()];
        let mut unseen = vec![0.0; classes.len()];
        for c in 0..classes.len() {
            // n_j of the class, or of all others.
            let n = |j: usize| match self.complement {
                false => get(c, j)[0],
                true => (0..classes.len()).filter(|other| *other != c).map(|other| get(other, j)[0]).sum(),
            };
            let chosen = || (0..count).filter(|j| kept[*j]);
            let log_total = (chosen().map(n).sum::<f64>() + self.pseudo_count * words as f64).ln();
            let log_share = |n: f64| match n + self.pseudo_count {
                0.0 => f64::NEG_INFINITY,
                smoothed => smoothed.ln() - log_total,
            };
            chosen().for_each(|j| weights[j * classes.len() + c] = log_share(n(j)));
            let mut sign = 1.0;
            if self.complement {
                let sum: f64 = chosen().map(|j| weights[j * classes.len() + c]).sum();
                if sum == f64::NEG_INFINITY {
                    let message = "with §complement every word needs a count in the other classes: give more than 0";
                    return Err(Error::parameter("pseudo_count", message));
                }
                sign = if self.norm && sum != 0.0 { sum.recip() } else { -1.0 };
                chosen().for_each(|j| weights[j * classes.len() + c] *= sign);
            }
            if self.unseen == Unseen::Share && words > 0 {
                unseen[c] = sign * log_share(0.0);
            }
            dropped.iter().for_each(|&j| weights[j * classes.len() + c] = unseen[c]);
        }
        let lengths = classes.iter().map(|class| class.mean_length()).collect();
        MultinomialDensity::new(self, names.columns.len(), weights, unseen, lengths, dropped)
    }
}

/// Σ w x, and Σ w of the rows where x is not 0: eight rows at a time, without a branch.
#[inline(always)]
fn sums(x: &[f64], weights: &[f64]) -> [f64; 2] {
    const ROWS: usize = 8;
    let (mut counts, mut rows) = ([0.0; ROWS], [0.0; ROWS]);
    let ((x, last), (weights, last_weights)) = (x.as_chunks::<ROWS>(), weights.as_chunks::<ROWS>());
    let mut add = |r: usize, x: f64, w: f64| {
        counts[r] += w * x;
        rows[r] += if x > 0.0 { w } else { 0.0 };
    };
    for (x, w) in x.iter().zip(weights) {
        (0..ROWS).for_each(|r| add(r, x[r], w[r]));
    }
    last.iter().zip(last_weights).enumerate().for_each(|(r, (x, w))| add(r, *x, *w));
    [counts.iter().sum(), rows.iter().sum()]
}

/// The counts of a part; missing ones are NaN, others at least 0.
fn read_counts(part: &Cells<'_>, names: &[String], tile: &mut Tile) -> Result<()> {
    part.read_numbers(tile)?;
    match first_impossible(tile, |x| x.is_nan() | is_count(x)) {
        None => Ok(()),
        Some((j, i)) => Err(no_count(&names[j], part.row_number(i), tile.column(j)[i])),
    }
}

/// Divides each row of a tile by its sum; rows without counts stay.
fn normalise(tile: &mut Tile) {
    for i in 0..tile.rows() {
        let total: f64 = (0..tile.width()).map(|j| tile.column(j)[i]).filter(|x| !x.is_nan()).sum();
        if total > 0.0 {
            (0..tile.width()).for_each(|j| tile.column_mut(j)[i] /= total);
        }
    }
}
