//! Multivariate Bernoulli family: what is present and what is absent, independent given the class.
//!
//! A number is present if it lies above the threshold; NaN is missing and counts neither way. At the default
//! threshold of 0, numbers are flags or counts, and learning refuses those below 0. A text
//! has the words whose count lies above it; all other words are absent, and that counts.
//!
//! Statistic, numbers: the weights n of present and m of absent cells per column, N = n + m;
//! words: n per word and the weight N of all texts, m = N − n. Merge: weights add.
//!
//! log p(x | c) = Σ_j [x_j ln p_j + (1 − x_j) ln(1 − p_j)],  p = (n + α)/(N + 2α),
//!
//! 1 − p = (m + α)/(N + 2α): the posterior predictive probability under a Beta(α, α) prior. For a
//! text this is Σ_j ln(1 − p_j), known before the text is, plus ln p_j − ln(1 − p_j) for each word
//! it has. Under maximum likelihood p may be 0 or 1: such terms are kept out of the sums and counted
//! apart, since ∞ − ∞ is not a number. A word beyond the vocabulary says nothing.

mod density;
mod statistic;
#[cfg(test)]
mod tests;

pub use density::BernoulliDensity;
pub use statistic::Presence;

use serde::{Deserialize, Serialize};

use super::counts::{check_pseudo_count, mark, nothing_to_estimate, relevel};
use super::words::{Counting, check_vocabulary, first_impossible, left_out};
use super::{Assignment, Family, Names, for_each_group};
use crate::data::{Cells, Tile};
use crate::error::{Error, Result};

/// The Bernoulli family with its hyper-parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bernoulli {
    /// α of presence and of absence.
    pub pseudo_count: f64,
    /// Present is what lies above.
    pub threshold: f64,
    /// Words of a text that occur in fewer rows say nothing.
    #[serde(skip_serializing_if = "is_nothing")]
    pub min_count: f64,
    /// At most so many words of a text are known: those in the most rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<usize>,
}

/// Whether it leaves out nothing.
fn is_nothing(min_count: &f64) -> bool {
    *min_count <= 1.0
}

impl Default for Bernoulli {
    fn default() -> Self {
        Bernoulli { pseudo_count: 1.0, threshold: 0.0, min_count: 1.0, vocabulary: None }
    }
}

impl Bernoulli {
    /// Refuses hyper-parameters out of range.
    pub fn check(&self) -> Result<()> {
        check_pseudo_count(self.pseudo_count)?;
        check_vocabulary(self.min_count, self.vocabulary)?;
        match self.threshold.is_finite() {
            true => Ok(()),
            false => Err(Error::parameter("threshold", "give a finite number")),
        }
    }

    /// A word that a text lacks must be absent.
    fn check_texts(&self) -> Result<()> {
        match self.threshold >= 0.0 {
            true => Ok(()),
            false => Err(Error::parameter("threshold", "give at least 0 for texts: a word they lack has count 0")),
        }
    }
}

impl Bernoulli {
    /// At the default threshold cells are flags or counts: a number below 0 is neither.
    fn check_flags(&self, part: &Cells<'_>, tile: &Tile, names: &[String]) -> Result<()> {
        match first_impossible(tile, |x| x.is_nan() | (x >= 0.0)) {
            Some((j, i)) if self.threshold == 0.0 => {
                let message = format!(
                    "{} is below 0; bernoulli takes flags and counts: leave the column out with §ignore, or fit \
                     §model=naive-bayes",
                    tile.column(j)[i]
                );
                Err(Error::Cell { column: names[j].clone(), row: part.row_number(i) + 1, message })
            }
            _ => Ok(()),
        }
    }
}

impl Family for Bernoulli {
    type Statistic = Presence;
    type Density = BernoulliDensity;

    fn with_pseudo_count(self, pseudo_count: f64) -> Self {
        Self { pseudo_count, ..self }
    }

    fn empty(&self, width: usize) -> Presence {
        Presence::Nothing(width)
    }

    fn size(&self, width: usize) -> usize {
        // A single column may be a text of half a million words.
        if width == 1 { 4 << 20 } else { width * 16 }
    }

    fn observe(&self, statistic: &mut Presence, x: &Cells<'_>, names: &[String]) -> Result<()> {
        if let Some(texts) = x.sparse() {
            self.check_texts()?;
            return Presence::observe_texts(&mut [statistic], x, texts, &[], self.threshold, name_of(names));
        }
        let rows = ((256 << 10) / (8 * x.width().max(1))).clamp(64, 1024);
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        for start in (0..x.rows()).step_by(rows) {
            let part = x.part(start..x.rows().min(start + rows));
            part.read_numbers(&mut tile)?;
            self.check_flags(&part, &tile, names)?;
            part.read_weights(&mut weights);
            let weights = part.weighted().then_some(weights.as_slice());
            statistic.observe_numbers(&tile, weights, self.threshold)?;
        }
        Ok(())
    }

    /// Texts are counted in the order of the rows, as long as the counts of all classes stay in the cache.
    fn observe_groups(
        &self,
        groups: &mut [&mut Presence],
        x: &Cells<'_>,
        to: Assignment<'_>,
        _: Option<&BernoulliDensity>,
        names: &[String],
    ) -> Result<()> {
        let words: Option<Vec<usize>> = groups.iter().map(|presence| presence.words()).collect();
        let most = words.and_then(|words| words.into_iter().max());
        match (x.sparse(), to, most) {
            (Some(texts), Assignment::Hard(dealt), Some(most)) if Counting::is_quick(groups.len(), most) => {
                self.check_texts()?;
                Presence::observe_texts(groups, x, texts, dealt.groups(), self.threshold, name_of(names))
            }
            _ => for_each_group(x, to, |group, cells| self.observe(groups[group], cells, names)),
        }
    }

    fn relevel(&self, statistic: &mut Presence, maps: &[Vec<u32>]) -> Result<()> {
        if let (Presence::Words { present, .. }, [map]) = (statistic, maps) {
            *present = relevel(present, map)?;
        }
        Ok(())
    }

    fn mark_levels(&self, statistic: &Presence, _: usize, seen: &mut [bool]) {
        if let Presence::Words { present, .. } = statistic {
            mark(present.iter().copied(), seen);
        }
    }

    /// A word that no text has more often than the threshold is not counted.
    fn shows_levels(&self) -> bool {
        self.threshold <= 0.0
    }

    /// Σ α (ln p + ln(1 − p)): the logarithm of the beta prior whose mode the probabilities are.
    fn log_prior(&self, density: &BernoulliDensity) -> f64 {
        if self.pseudo_count > 0.0 { self.pseudo_count * density.log_sum() } else { 0.0 }
    }

    fn fit(&self, classes: &[&Presence], names: Names<'_>) -> Result<BernoulliDensity> {
        self.check()?;
        let texts = classes.iter().any(|class| matches!(class, Presence::Words { .. }));
        if texts && classes.iter().any(|class| matches!(class, Presence::Numbers { .. })) {
            return Err(mixed());
        }
        // As far as a hashed vocabulary reaches: one more than the last word that occurs.
        let known = |class: &Presence| match class {
            Presence::Words { present, .. } => present.iter().rposition(|n| *n != 0.0).map_or(0, |last| last + 1),
            _ => 0,
        };
        let terms = match texts {
            true => classes.iter().copied().map(known).max().unwrap_or(0).max(names.levels[0]),
            false => names.columns.len(),
        };
        let alpha = self.pseudo_count;
        let count = terms * classes.len();
        let (mut log_present, mut log_absent) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut totals = vec![(0.0, 0.0); classes.len()];
        for j in 0..terms {
            for (c, class) in classes.iter().enumerate() {
                let (n, m) = class.weights(j);
                let total = n + m + 2.0 * alpha;
                if total <= 0.0 {
                    let column = names.columns.get(j).unwrap_or(&names.columns[0]);
                    return Err(nothing_to_estimate(column, &names.classes[c]));
                }
                // Of texts it is the same for all words.
                if total != totals[c].0 {
                    totals[c] = (total, total.ln());
                }
                log_present.push(((n + alpha).ln() - totals[c].1).min(0.0));
                log_absent.push(((m + alpha).ln() - totals[c].1).min(0.0));
            }
        }
        if texts && (!is_nothing(&self.min_count) || self.vocabulary.is_some()) {
            let rows = |j: usize| classes.iter().map(|class| class.weights(j).0).sum();
            let words: Vec<[f64; 2]> = (0..terms).map(|j| [rows(j); 2]).collect();
            for j in left_out(&words, if is_nothing(&self.min_count) { 0.0 } else { self.min_count }, self.vocabulary) {
                let of_word = j * classes.len()..(j + 1) * classes.len();
                log_present[of_word.clone()].fill(0.0);
                log_absent[of_word].fill(0.0);
            }
        }
        Ok(BernoulliDensity::new(classes.len(), self.threshold, log_present, log_absent, texts))
    }
}

/// The column of a text.
fn name_of(names: &[String]) -> &str {
    names.first().map_or("", String::as_str)
}

fn mixed() -> Error {
    Error::Schema(
        "some statistics hold the presence of words and some that of numbers: make them from the same columns".into(),
    )
}
