//! Multivariate Bernoulli family: what is present and what is absent, independent given the class.
//!
//! A number is present if it lies above the threshold; NaN is missing and counts neither way. A text
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

use serde::{Deserialize, Serialize};

use super::counts::{
    MOST_LEVELS, add, check_pseudo_count, difference, differences, level_name, log_probabilities, nothing_to_estimate,
    relevel, weights,
};
use super::{Density, Family, Names, Parameters};
use crate::data::{Cells, Column, Rows, Sparse, Tile, Value};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::{Random, vectorised};
use crate::statistic::Statistic;

/// The Bernoulli family with its hyper-parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bernoulli {
    /// α of presence and of absence.
    pub pseudo_count: f64,
    /// Present is what lies above.
    #[serde(default)]
    pub threshold: f64,
}

impl Default for Bernoulli {
    fn default() -> Self {
        Bernoulli { pseudo_count: 1.0, threshold: 0.0 }
    }
}

/// How much was present and absent.
#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    /// No rows yet, of so many columns.
    Nothing(usize),
    /// The weights of present and of absent cells per column.
    Numbers {
        /// Per column.
        present: Vec<f64>,
        /// Per column.
        absent: Vec<f64>,
    },
    /// The weight of the texts, and of those that have each word.
    Words {
        /// Of all texts.
        weight: f64,
        /// Per word, as far as words have been seen.
        present: Vec<f64>,
    },
}

impl Presence {
    fn width(&self) -> usize {
        match self {
            Presence::Nothing(width) => *width,
            Presence::Numbers { present, .. } => present.len(),
            Presence::Words { .. } => 1,
        }
    }

    /// The weights of presence and absence of column or word `j`.
    fn weights(&self, j: usize) -> (f64, f64) {
        let at = |v: &[f64]| v.get(j).copied().unwrap_or(0.0);
        match self {
            Presence::Nothing(_) => (0.0, 0.0),
            Presence::Numbers { present, absent } => (at(present), at(absent)),
            // Words are among the texts; a loaded file may say otherwise, which is no absence.
            Presence::Words { weight, present } => (at(present), difference(*weight, at(present)).unwrap_or(0.0)),
        }
    }

    fn observe_numbers(&mut self, tile: &Tile, weights: Option<&[f64]>, threshold: f64) -> Result<()> {
        if let Presence::Nothing(width) = *self {
            *self = Presence::Numbers { present: vec![0.0; width], absent: vec![0.0; width] };
        }
        let Presence::Numbers { present, absent } = self else { return Err(mixed()) };
        for (j, (n, m)) in present.iter_mut().zip(absent).enumerate() {
            let (above, below) = vectorised(|| presence(tile.column(j), weights, threshold));
            *n += above;
            *m += below;
        }
        Ok(())
    }

    fn observe_words(&mut self, x: &Cells<'_>, texts: (Sparse<'_>, &Rows<'_>), threshold: f64) -> Result<()> {
        if let Presence::Nothing(1) = *self {
            *self = Presence::Words { weight: 0.0, present: Vec::new() };
        }
        let Presence::Words { weight, present } = self else { return Err(mixed()) };
        let mut weights = Vec::new();
        x.read_weights(&mut weights);
        let (words, terms) = extent(texts);
        if words > MOST_LEVELS {
            return Err(Error::Schema(format!(
                "there is a word with the number {}, and {MOST_LEVELS} are too many to learn from",
                words - 1
            )));
        }
        if present.len() < words {
            add(present, &vec![0.0; words]);
        }
        match x.weighted() || terms < words {
            true => count_words(&mut present[..], texts, threshold, |n, i| *n += weights[i]),
            // Half as wide as weights, so that the table of a class stays in the second-level cache.
            false => {
                let mut counts = vec![0u32; words];
                count_words(&mut counts, texts, threshold, |n, _| *n += 1);
                present.iter_mut().zip(&counts).for_each(|(n, &count)| *n += count as f64);
            }
        }
        *weight += weights.iter().sum::<f64>();
        Ok(())
    }
}

/// One more than the largest word of the texts, and how many counts they store.
fn extent(texts: (Sparse<'_>, &Rows<'_>)) -> (usize, usize) {
    let (mut words, mut terms) = (0, 0);
    texts.0.for_each(texts.1, |_, word, _| {
        words = words.max(word as usize + 1);
        terms += 1;
    });
    (words, terms)
}

/// Calls `add` on the place of each word that text `i` has.
fn count_words<N>(table: &mut [N], texts: (Sparse<'_>, &Rows<'_>), threshold: f64, add: impl Fn(&mut N, usize)) {
    texts.0.for_each(texts.1, |i, word, count| {
        if let (true, Some(n)) = (count > threshold, table.get_mut(word as usize)) {
            add(n, i);
        }
    });
}

/// The weights of cells above the threshold, and of those not above it.
#[inline(always)]
fn presence(column: &[f64], weights: Option<&[f64]>, threshold: f64) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    let mut add = |x: f64, w: f64| {
        sums.0 += if x > threshold { w } else { 0.0 };
        sums.1 += if x <= threshold { w } else { 0.0 };
    };
    match weights {
        None => {
            // Integers sum in any order, so the loop may run in lanes.
            let above: u64 = column.iter().map(|&x| (x > threshold) as u64).sum();
            let below: u64 = column.iter().map(|&x| (x <= threshold) as u64).sum();
            sums = (above as f64, below as f64);
        }
        Some(weights) => column.iter().zip(weights).for_each(|(&x, &w)| add(x, w)),
    }
    sums
}

fn mixed() -> Error {
    Error::Schema(
        "some statistics hold the presence of words and some that of numbers: make them from the same columns".into(),
    )
}

impl Statistic for Presence {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the merged presences", self.width(), other.width())?;
        match (&mut *self, other) {
            (_, Presence::Nothing(_)) => {}
            (Presence::Nothing(_), other) => *self = other.clone(),
            (Presence::Numbers { present: a, absent: m }, Presence::Numbers { present: b, absent: n }) => {
                add(a, b);
                add(m, n);
            }
            (Presence::Words { weight, present }, Presence::Words { weight: w, present: other }) => {
                *weight += w;
                add(present, other);
            }
            _ => return Err(mixed()),
        }
        Ok(())
    }

    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the removed presences", self.width(), other.width())?;
        let zeros;
        let before = match (&*self, other) {
            (_, Presence::Nothing(_)) => return Ok(()),
            (Presence::Nothing(_), Presence::Words { .. }) => {
                zeros = Presence::Words { weight: 0.0, present: Vec::new() };
                &zeros
            }
            (Presence::Nothing(width), _) => {
                zeros = Presence::Numbers { present: vec![0.0; *width], absent: vec![0.0; *width] };
                &zeros
            }
            (before, _) => before,
        };
        let after = match (before, other) {
            (Presence::Numbers { present: a, absent: m }, Presence::Numbers { present: b, absent: n }) => {
                Presence::Numbers { present: differences(a, b)?, absent: differences(m, n)? }
            }
            (Presence::Words { weight, present }, Presence::Words { weight: w, present: other }) => {
                Presence::Words { weight: difference(*weight, *w)?, present: differences(present, other)? }
            }
            _ => return Err(mixed()),
        };
        *self = after;
        Ok(())
    }
}

impl Stored for Presence {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let put_shape =
            |archive: &mut Archive, kind: &str, length| archive.put_json(&format!("{name}.shape"), &(kind, length));
        match self {
            Presence::Nothing(width) => put_shape(archive, "nothing", *width),
            Presence::Numbers { present, absent } => {
                put_shape(archive, "numbers", present.len())?;
                archive.put(&format!("{name}.present"), &[present.len()], present)?;
                archive.put(&format!("{name}.absent"), &[absent.len()], absent)
            }
            Presence::Words { weight, present } => {
                put_shape(archive, "words", present.len())?;
                archive.put(&format!("{name}.present"), &[present.len()], present)?;
                archive.put(&format!("{name}.weight"), &[1], &[*weight])
            }
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (kind, length): (String, usize) = archive.json(&format!("{name}.shape"))?;
        let array = |which: &str, length| weights(archive, &format!("{name}.{which}"), length).map(<[f64]>::to_vec);
        match kind.as_str() {
            "nothing" => Ok(Presence::Nothing(length)),
            "numbers" => Ok(Presence::Numbers { present: array("present", length)?, absent: array("absent", length)? }),
            "words" => Ok(Presence::Words { weight: array("weight", 1)?[0], present: array("present", length)? }),
            other => Err(archive.damaged(&format!("there are no presences of `{other}`"))),
        }
    }
}

/// The probabilities of presence of a block, per class.
#[derive(Clone, Debug, PartialEq)]
pub struct BernoulliDensity {
    classes: usize,
    threshold: f64,
    /// ln p and ln(1 − p), both as [column or word][class].
    log_present: Vec<f64>,
    log_absent: Vec<f64>,
    /// For texts only.
    words: Option<WordTables>,
}

/// What scores a text: one line of memory per word it has.
#[derive(Clone, Debug, PartialEq)]
struct WordTables {
    /// Σ_j ln(1 − p_j) per class, without words of p = 1.
    base: Vec<f64>,
    /// ln p − ln(1 − p) as [word][class], without what is not finite.
    log_odds: Vec<f64>,
    /// Where any p is 0 or 1.
    certain: Option<Certain>,
}

/// How many impossible terms a text has: those of the text without words, and per word and class
/// what its presence changes: +1 for p = 0, −1 for p = 1.
#[derive(Clone, Debug, PartialEq)]
struct Certain {
    base: Vec<f64>,
    change: Vec<f64>,
}

/// The logarithm, or 0 in the place of −∞.
fn finite(log: f64) -> f64 {
    if log == f64::NEG_INFINITY { 0.0 } else { log }
}

impl WordTables {
    fn new(classes: usize, log_present: &[f64], log_absent: &[f64]) -> Self {
        let sums = |term: &dyn Fn(f64) -> f64| {
            let mut sums = vec![0.0; classes];
            for word in log_absent.chunks_exact(classes) {
                sums.iter_mut().zip(word).for_each(|(sum, &q)| *sum += term(q));
            }
            sums
        };
        let impossible = |log: f64| (log == f64::NEG_INFINITY) as u8 as f64;
        let both = || log_present.iter().zip(log_absent);
        let any = both().any(|(p, q)| p.is_infinite() || q.is_infinite());
        let certain = any.then(|| Certain {
            base: sums(&impossible),
            change: both().map(|(&p, &q)| impossible(p) - impossible(q)).collect(),
        });
        let log_odds = both().map(|(&p, &q)| finite(p) - finite(q)).collect();
        WordTables { base: sums(&finite), log_odds, certain }
    }

    fn add_log_density(&self, texts: (Sparse<'_>, &Rows<'_>), threshold: f64, out: &mut Tile) {
        let classes = self.base.len();
        let mut scores = gather(texts, threshold, &self.base, &self.log_odds);
        if let Some(certain) = &self.certain {
            let impossible = gather(texts, threshold, &certain.base, &certain.change);
            scores.iter_mut().zip(impossible).filter(|(_, n)| *n > 0.0).for_each(|(s, _)| *s = f64::NEG_INFINITY);
        }
        for class in 0..classes {
            let own = scores.iter().skip(class).step_by(classes);
            out.column_mut(class).iter_mut().zip(own).for_each(|(o, s)| *o += s);
        }
    }
}

/// base + Σ table[word] over the words of each text, as [text][class].
fn gather(texts: (Sparse<'_>, &Rows<'_>), threshold: f64, base: &[f64], table: &[f64]) -> Vec<f64> {
    // The number of classes is small and known here: a loop of known length runs in registers.
    match base.len() {
        2 => gather_fixed::<2>(texts, threshold, base, table),
        3 => gather_fixed::<3>(texts, threshold, base, table),
        4 => gather_fixed::<4>(texts, threshold, base, table),
        classes => {
            let mut sums = base.repeat(texts.1.len());
            texts.0.for_each(texts.1, |i, word, count| {
                let start = word as usize * classes;
                if let (true, Some(terms)) = (count > threshold, table.get(start..start + classes)) {
                    sums[i * classes..(i + 1) * classes].iter_mut().zip(terms).for_each(|(s, t)| *s += t);
                }
            });
            sums
        }
    }
}

fn gather_fixed<const K: usize>(
    texts: (Sparse<'_>, &Rows<'_>),
    threshold: f64,
    base: &[f64],
    table: &[f64],
) -> Vec<f64> {
    let mut sums = base.repeat(texts.1.len());
    let (by_text, _) = sums.as_chunks_mut::<K>();
    let (by_word, _) = table.as_chunks::<K>();
    texts.0.for_each(texts.1, |i, word, count| {
        if let (true, Some(terms)) = (count > threshold, by_word.get(word as usize)) {
            for k in 0..K {
                by_text[i][k] += terms[k];
            }
        }
    });
    sums
}

/// Adds ln p where x lies above the threshold and ln(1 − p) where not; nothing where it is missing.
#[inline(always)]
fn add_presence(out: &mut [f64], x: &[f64], threshold: f64, log_present: f64, log_absent: f64) {
    for (o, &x) in out.iter_mut().zip(x) {
        *o += if x > threshold {
            log_present
        } else if x <= threshold {
            log_absent
        } else {
            0.0
        };
    }
}

impl BernoulliDensity {
    fn new(classes: usize, threshold: f64, log_present: Vec<f64>, log_absent: Vec<f64>, texts: bool) -> Self {
        let words = texts.then(|| WordTables::new(classes, &log_present, &log_absent));
        BernoulliDensity { classes, threshold, log_present, log_absent, words }
    }

    /// The number of columns, or of words.
    pub fn terms(&self) -> usize {
        self.log_present.len() / self.classes.max(1)
    }

    /// p(present | class) of a column or word.
    pub fn probability(&self, class: usize, term: usize) -> f64 {
        self.log_present[term * self.classes + class].exp()
    }
}

impl Density for BernoulliDensity {
    fn classes(&self) -> usize {
        self.classes
    }

    fn width(&self) -> usize {
        if self.words.is_some() { 1 } else { self.terms() }
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        let name = |j: usize| match (&self.words, columns) {
            (Some(_), [text, ..]) => level_name(text, j),
            _ => columns[j].name.clone(),
        };
        let row = |j: usize| (name(j), (0..self.classes).map(|c| self.probability(c, j)).collect());
        vec![Parameters { what: "probability", rows: (0..self.terms()).map(row).collect() }]
    }

    fn add_log_density(&self, x: &Cells<'_>, _: &[String], out: &mut Tile) -> Result<()> {
        match (&self.words, x.sparse()) {
            (Some(words), Some(texts)) => words.add_log_density(texts, self.threshold, out),
            (None, None) => {
                let mut tile = Tile::default();
                x.read_numbers(&mut tile)?;
                for (term, i) in (0..self.log_present.len()).map(|i| (i / self.classes, i)) {
                    let (p, q) = (self.log_present[i], self.log_absent[i]);
                    let out = out.column_mut(i % self.classes);
                    vectorised(|| add_presence(out, tile.column(term), self.threshold, p, q));
                }
            }
            _ => return Err(mixed()),
        }
        Ok(())
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        let above = (self.threshold + 1.0).max(self.threshold.next_up());
        let mut present = |j: usize| random.uniform() < self.probability(class, j);
        Ok(match self.words {
            Some(_) => {
                vec![Value::Counts((0..self.terms()).filter(|&j| present(j)).map(|j| (j as u32, above)).collect())]
            }
            None => {
                let draw = |j: usize| Value::Number(if present(j) { above } else { self.threshold });
                (0..self.terms()).map(draw).collect()
            }
        })
    }
}

impl Stored for BernoulliDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let shape = [self.terms(), self.classes];
        archive.put_json(&format!("{name}.shape"), &(shape, self.words.is_some(), self.threshold))?;
        archive.put(&format!("{name}.log_present"), &shape, &self.log_present)?;
        archive.put(&format!("{name}.log_absent"), &shape, &self.log_absent)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (shape, texts, threshold): ([usize; 2], bool, f64) = archive.json(&format!("{name}.shape"))?;
        let array = |which| log_probabilities(archive, &format!("{name}.{which}"), &shape).map(<[f64]>::to_vec);
        let (log_present, log_absent) = (array("log_present")?, array("log_absent")?);
        let sound = |(p, q): (&f64, &f64)| (p.exp() + q.exp() - 1.0).abs() < 1e-9;
        if shape[1] == 0 || !log_present.iter().zip(&log_absent).all(sound) || (texts && threshold < 0.0) {
            return Err(archive.damaged(&format!("`{name}` holds probabilities that do not sum to 1")));
        }
        Ok(BernoulliDensity::new(shape[1], threshold, log_present, log_absent, texts))
    }
}

impl Bernoulli {
    /// Refuses hyper-parameters out of range.
    pub fn check(&self) -> Result<()> {
        check_pseudo_count(self.pseudo_count)?;
        match self.threshold.is_finite() {
            true => Ok(()),
            false => Err(Error::parameter("--threshold", "give a finite number")),
        }
    }

    /// A word that a text lacks must be absent.
    fn check_texts(&self) -> Result<()> {
        match self.threshold >= 0.0 {
            true => Ok(()),
            false => Err(Error::parameter("--threshold", "give at least 0 for texts: a word they lack has count 0")),
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
        // A single column may be a text of many words.
        if width == 1 { 1 << 20 } else { width * 16 }
    }

    fn observe(&self, statistic: &mut Presence, x: &Cells<'_>, _: &[String]) -> Result<()> {
        if let Some(texts) = x.sparse() {
            self.check_texts()?;
            return statistic.observe_words(x, texts, self.threshold);
        }
        let rows = ((256 << 10) / (8 * x.width().max(1))).clamp(64, 1024);
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        for start in (0..x.rows()).step_by(rows) {
            let part = x.part(start..x.rows().min(start + rows));
            part.read_numbers(&mut tile)?;
            part.read_weights(&mut weights);
            let weights = part.weighted().then_some(weights.as_slice());
            statistic.observe_numbers(&tile, weights, self.threshold)?;
        }
        Ok(())
    }

    fn relevel(&self, statistic: &mut Presence, maps: &[Vec<u32>]) -> Result<()> {
        if let (Presence::Words { present, .. }, [map]) = (statistic, maps) {
            *present = relevel(present, map)?;
        }
        Ok(())
    }

    fn fit(&self, classes: &[Presence], names: Names<'_>) -> Result<BernoulliDensity> {
        self.check()?;
        let texts = classes.iter().any(|class| matches!(class, Presence::Words { .. }));
        if texts && classes.iter().any(|class| matches!(class, Presence::Numbers { .. })) {
            return Err(mixed());
        }
        let known = |class: &Presence| if let Presence::Words { present, .. } = class { present.len() } else { 0 };
        let terms = match texts {
            true => classes.iter().map(known).max().unwrap_or(0).max(names.levels[0]),
            false => names.columns.len(),
        };
        let alpha = self.pseudo_count;
        let (mut log_present, mut log_absent) = (Vec::new(), Vec::new());
        for j in 0..terms {
            for (c, class) in classes.iter().enumerate() {
                let (n, m) = class.weights(j);
                let total = n + m + 2.0 * alpha;
                if total <= 0.0 {
                    let column = names.columns.get(j).unwrap_or(&names.columns[0]);
                    return Err(nothing_to_estimate(column, &names.classes[c]));
                }
                log_present.push(((n + alpha).ln() - total.ln()).min(0.0));
                log_absent.push(((m + alpha).ln() - total.ln()).min(0.0));
            }
        }
        Ok(BernoulliDensity::new(classes.len(), self.threshold, log_present, log_absent, texts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Batch;
    use crate::family::testing::{close, names, observe_batch, score_batch};
    use crate::pass::{from_bytes, to_bytes};
    use proptest::prelude::*;

    const ML: Bernoulli = Bernoulli { pseudo_count: 0.0, threshold: 0.0 };

    fn numbers(family: &Bernoulli, rows: &[[f64; 2]], weights: Option<&[f64]>) -> Presence {
        let flat = rows.concat();
        let mut batch = Batch::new(rows.len()).row_major(&flat[..], 2).unwrap();
        if let Some(weights) = weights {
            batch = batch.weights(weights).unwrap();
        }
        observe_batch(family, &batch).unwrap()
    }

    /// Texts as lists of their words.
    fn sparse(texts: &[Vec<u32>]) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
        let ends = texts.iter().scan(0, |end, text| {
            *end += text.len();
            Some(*end)
        });
        let words = texts.concat();
        ([0].into_iter().chain(ends).collect(), words.clone(), vec![2.0; words.len()])
    }

    fn words(family: &Bernoulli, texts: &[Vec<u32>], weights: Option<&[f64]>) -> Presence {
        let (offsets, indices, counts) = sparse(texts);
        let mut batch = Batch::new(texts.len()).sparse(Sparse::new(&offsets, &indices, &counts[..]).unwrap()).unwrap();
        if let Some(weights) = weights {
            batch = batch.weights(weights).unwrap();
        }
        observe_batch(family, &batch).unwrap()
    }

    fn score_words(density: &BernoulliDensity, texts: &[Vec<u32>]) -> Vec<Vec<f64>> {
        let (offsets, indices, counts) = sparse(texts);
        let batch = Batch::new(texts.len()).sparse(Sparse::new(&offsets, &indices, &counts[..]).unwrap()).unwrap();
        score_batch(density, &batch).unwrap()
    }

    #[test]
    fn numbers_by_hand_with_missing_cells() {
        // Column 0: present 2 of 3; column 1: present 1 of 2, one missing.
        let a = numbers(&ML, &[[1.0, 0.0], [3.0, f64::NAN], [0.0, 0.5]], None);
        assert_eq!(a, Presence::Numbers { present: vec![2.0, 1.0], absent: vec![1.0, 1.0] });
        let b = numbers(&ML, &[[-1.0, 1.0]], None);
        let laplace = Bernoulli::default();
        let density = laplace.fit(&[a.clone(), b.clone()], names(&["x", "y"], &[0, 0])).unwrap();
        let x = [2.0, 0.0, f64::NAN, 1.0, f64::INFINITY, f64::NAN];
        let scores = score_batch(&density, &Batch::new(3).row_major(&x[..], 2).unwrap()).unwrap();
        let p: [f64; 2] = [3.0 / 5.0, 2.0 / 4.0];
        close(&scores[0], &[p[0].ln() + (1.0 - p[1]).ln(), p[1].ln(), p[0].ln()], 1e-15);
        close(&scores[1], &[(1.0f64 / 9.0).ln(), (2.0f64 / 3.0).ln(), (1.0f64 / 3.0).ln()], 1e-15);
        let density = ML.fit(&[a, b], names(&["x", "y"], &[0, 0])).unwrap();
        let scores = score_batch(&density, &Batch::new(3).row_major(&x[..], 2).unwrap()).unwrap();
        close(&scores[1], &[f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY], 0.0);
        let high = Bernoulli { threshold: 8.0, ..ML };
        assert_eq!(numbers(&high, &[[8.0, 9.0]], None).weights(0), (0.0, 1.0));
    }

    #[test]
    fn words_by_hand() {
        let family = Bernoulli::default();
        // 3 texts: word 0 in 2, word 1 in none, word 2 in 3; the other class has one text of word 1.
        let a = words(&family, &[vec![0, 2], vec![2], vec![0, 2]], None);
        let b = words(&family, &[vec![1]], None);
        let density = family.fit(&[a, b], names(&["text"], &[3])).unwrap();
        let p = |c: usize| [0, 1, 2].map(|j| density.probability(c, j));
        close(&p(0), &[3.0 / 5.0, 1.0 / 5.0, 4.0 / 5.0], 1e-15);
        close(&p(1), &[1.0 / 3.0, 2.0 / 3.0, 1.0 / 3.0], 1e-15);
        // Word 7 is beyond the vocabulary.
        let scores = score_words(&density, &[vec![0, 7], vec![], vec![1, 2]]);
        close(&scores[0], &[0.6f64 * 0.8 * 0.2, 0.4 * 0.8 * 0.2, 0.4 * 0.2 * 0.8].map(f64::ln), 1e-15);
        close(
            &scores[1],
            &[1.0f64 / 3.0 / 3.0 * 2.0 / 3.0, 2.0 / 3.0 / 3.0 * 2.0 / 3.0, 2.0 / 3.0 * 2.0 / 3.0 / 3.0].map(f64::ln),
            1e-15,
        );
    }

    #[test]
    fn certain_words_give_minus_infinity_and_never_nan() {
        let a = words(&ML, &[vec![0, 1], vec![0]], None); // p = 1, ½, 0
        let b = words(&ML, &[vec![2], vec![0, 2]], None); // p = ½, 0, 1
        let density = ML.fit(&[a, b], names(&["text"], &[3])).unwrap();
        let scores = score_words(&density, &[vec![0, 1], vec![0], vec![2], vec![], vec![0, 2], vec![0, 1, 2]]);
        let (half, never) = (0.5f64.ln(), f64::NEG_INFINITY);
        close(&scores[0], &[half, half, never, never, never, never], 1e-15);
        close(&scores[1], &[never, never, half, never, half, never], 1e-15);
    }

    #[test]
    fn any_number_of_classes_scores_alike() {
        let family = Bernoulli::default();
        let class = |c: usize| words(&family, &vec![vec![c as u32 % 3, 3]; c + 1], None);
        let all: Vec<Presence> = (0..6).map(class).collect();
        let texts = [vec![0, 3], vec![2], vec![]];
        let of = |k: usize| {
            let density = family.fit(&all[..k], names(&["text"], &[4])).unwrap();
            score_words(&density, &texts)
        };
        let six = of(6);
        for k in 1..6 {
            assert_eq!(of(k), six[..k]);
        }
        for (c, scores) in six.iter().enumerate() {
            let n = c as f64 + 1.0;
            let p = |word: u32| if word == 3 || word == c as u32 % 3 { (n + 1.0) / (n + 2.0) } else { 1.0 / (n + 2.0) };
            let direct = |text: &Vec<u32>| {
                (0..4).map(|j| if text.contains(&j) { p(j).ln() } else { (1.0 - p(j)).ln() }).sum::<f64>()
            };
            close(scores, &texts.iter().map(direct).collect::<Vec<_>>(), 1e-14);
        }
    }

    #[test]
    fn hostile_input_is_refused() {
        assert!(Bernoulli { threshold: f64::NAN, ..ML }.check().is_err());
        assert!(Bernoulli { pseudo_count: -1.0, ..ML }.check().is_err());
        let (number, word) = (numbers(&ML, &[[1.0, f64::NAN]], None), words(&ML, &[vec![0]], None));
        let error = ML.fit(&[number.clone(), number.clone()], names(&["x", "y"], &[0, 0])).unwrap_err().to_string();
        assert!(error.contains("class `k0` has no cell in column `y`"), "{error}");
        let (mut a, one) = (word.clone(), Presence::Numbers { present: vec![1.0], absent: vec![0.0] });
        assert!(a.merge(&one).is_err() && a.remove(&one).is_err() && a.merge(&number).is_err());
        assert_eq!(a, word);
        let indices = [u32::MAX - 7];
        let texts = Batch::new(1).sparse(Sparse::new(&[0, 1], &indices, &[1.0][..]).unwrap()).unwrap();
        assert!(observe_batch(&ML, &texts).is_err());
        assert!(observe_batch(&Bernoulli { threshold: -1.0, ..ML }, &texts).is_err());
    }

    #[test]
    fn explicit_zeros_are_absent() {
        let texts = Batch::new(2).sparse(Sparse::new(&[0, 2, 3], &[0, 1, 0], &[0u32, 1, 2][..]).unwrap()).unwrap();
        assert_eq!(observe_batch(&ML, &texts).unwrap(), Presence::Words { weight: 2.0, present: vec![1.0, 1.0] });
    }

    #[test]
    fn samples_are_fitted_back() {
        let family = Bernoulli { threshold: 8.0, ..Bernoulli::default() };
        let rows: Vec<[f64; 2]> =
            (0..30).map(|i| [if i < 20 { 9.0 } else { 0.0 }, if i < 3 { 16.0 } else { 8.0 }]).collect();
        let density = family.fit(&[numbers(&family, &rows, None)], names(&["x", "y"], &[0, 0])).unwrap();
        let mut random = Random::new(3);
        let draw = |random: &mut Random| match density.sample(0, random).unwrap()[..] {
            [Value::Number(x), Value::Number(y)] => [x, y],
            _ => panic!("numbers"),
        };
        let drawn: Vec<[f64; 2]> = (0..40_000).map(|_| draw(&mut random)).collect();
        let again = family.fit(&[numbers(&family, &drawn, None)], names(&["x", "y"], &[0, 0])).unwrap();
        for (j, p) in [21.0 / 32.0, 4.0 / 32.0].into_iter().enumerate() {
            assert!((again.probability(0, j) - p).abs() < 0.011, "{j}");
        }
        let text = Bernoulli::default();
        let density = text.fit(&[words(&text, &[vec![1]], None)], names(&["text"], &[2])).unwrap();
        let has = |random: &mut Random| match &density.sample(0, random).unwrap()[..] {
            [Value::Counts(counts)] => counts.contains(&(1, 1.0)),
            _ => panic!("counts"),
        };
        let share = (0..40_000).filter(|_| has(&mut random)).count() as f64 / 40_000.0;
        assert!((share - 2.0 / 3.0).abs() < 0.011, "{share}");
    }

    #[test]
    fn files_hold_it_and_damage_is_refused() {
        let a = words(&ML, &[vec![0, 1], vec![0]], None);
        for statistic in [a.clone(), numbers(&ML, &[[1.0, 0.0]], None), Presence::Nothing(4)] {
            assert_eq!(from_bytes::<Presence>(&to_bytes(&statistic).unwrap()).unwrap(), statistic);
        }
        let density = ML.fit(&[a.clone(), words(&ML, &[vec![2]], None)], names(&["text"], &[3])).unwrap();
        assert_eq!(from_bytes::<BernoulliDensity>(&to_bytes(&density).unwrap()).unwrap(), density);
        let mut archive = Archive::new("state");
        density.store(&mut archive, "d").unwrap();
        for bad in [0.5, f64::NAN, -3.0] {
            archive.put("d.log_absent", &[3, 2], &[bad; 6]).unwrap();
            assert!(BernoulliDensity::load(&archive, "d").is_err(), "{bad}");
        }
        let mut archive = Archive::new("state");
        a.store(&mut archive, "s").unwrap();
        archive.put("s.weight", &[1], &[f64::NAN]).unwrap();
        assert!(Presence::load(&archive, "s").is_err());
        archive.put_json("s.shape", &("letters", 2)).unwrap();
        assert!(Presence::load(&archive, "s").is_err());
    }

    fn near(a: &Presence, b: &Presence) -> Result<(), TestCaseError> {
        for j in 0..8 {
            let ((n, m), (o, p)) = (a.weights(j), b.weights(j));
            prop_assert!((n - o).abs() < 1e-9 && (m - p).abs() < 1e-9, "{:?} {:?}", a, b);
        }
        Ok(())
    }

    fn check_laws(of: impl Fn(usize, usize, f64) -> Presence, rows: usize, cut: usize) -> Result<(), TestCaseError> {
        let cut = cut.min(rows);
        let (whole, a, b) = (of(0, rows, 1.0), of(0, cut, 1.0), of(cut, rows, 1.0));
        let merged = |a: &Presence, b: &Presence| {
            let mut sum = a.clone();
            sum.merge(b).unwrap();
            sum
        };
        near(&merged(&a, &b), &whole)?;
        near(&merged(&b, &a), &whole)?;
        prop_assert_eq!(&merged(&whole, &Presence::Nothing(whole.width())), &whole);
        prop_assert_eq!(&merged(&Presence::Nothing(whole.width()), &whole), &whole);
        let mut back = merged(&a, &b);
        back.remove(&b).unwrap();
        near(&back, &a)?;
        near(&of(0, rows, 2.0), &merged(&whole, &whole))
    }

    proptest! {
        #[test]
        fn laws_of_numbers(rows in prop::collection::vec((any::<[i8; 2]>(), 0.0..4.0f64), 1..40), cut in 0usize..40) {
            let cells: Vec<[f64; 2]> =
                rows.iter().map(|row| row.0.map(|x| if x < -90 { f64::NAN } else { x as f64 })).collect();
            let of = |from: usize, to: usize, scale: f64| {
                let weights: Vec<f64> = rows[from..to].iter().map(|row| row.1 * scale).collect();
                numbers(&ML, &cells[from..to], Some(&weights))
            };
            check_laws(of, rows.len(), cut)?;
        }

        #[test]
        fn laws_of_words(rows in prop::collection::vec((prop::collection::btree_set(0u32..8, 0..5), 0.0..4.0f64), 1..40), cut in 0usize..40) {
            let texts: Vec<Vec<u32>> = rows.iter().map(|row| row.0.iter().copied().collect()).collect();
            let of = |from: usize, to: usize, scale: f64| {
                let weights: Vec<f64> = rows[from..to].iter().map(|row| row.1 * scale).collect();
                words(&ML, &texts[from..to], Some(&weights))
            };
            check_laws(of, rows.len(), cut)?;
            let weights: Vec<f64> = rows.iter().map(|row| row.1).collect();
            let turned: Vec<Vec<u32>> = texts.iter().map(|text| text.iter().map(|w| 7 - w).collect()).collect();
            let mut renumbered = of(0, rows.len(), 1.0);
            ML.relevel(&mut renumbered, &[(0..8).map(|w| 7 - w).collect()]).unwrap();
            near(&renumbered, &words(&ML, &turned, Some(&weights)))?;
        }
    }
}
