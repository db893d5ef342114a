//! Scoring presence and absence.
//!
//! For a text, Σ_j ln(1 − p_j) is known before the text is, and each word that it has adds
//! ln p_j − ln(1 − p_j).

use std::ops::Range;

use super::mixed;
use crate::data::{Cells, Column, Tile, Value};
use crate::error::{Error, Result};
use crate::evidence::Entry;
use crate::family::counts::{level_name, log_probabilities};
use crate::family::{Density, Parameters};
use crate::file::{Archive, Stored};
use crate::numerics::{Random, vectorised};
use crate::scoring::{Texts, WordTable};

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

    fn add_log_density(&self, texts: Texts<'_>, threshold: f64, out: &mut Tile) {
        let present = |count: f64| if count > threshold { 1.0 } else { 0.0 };
        let table = |values| WordTable { classes: self.base.len(), values, unknown: None };
        table(&self.log_odds[..]).sums(texts, present, |i, _, sums| {
            let scores = self.base.iter().zip(sums).enumerate();
            scores.for_each(|(c, (base, sum))| out.column_mut(c)[i] += base + sum);
        });
        let Some(certain) = &self.certain else { return };
        table(&certain.change[..]).sums(texts, present, |i, _, changes| {
            for (c, (base, change)) in certain.base.iter().zip(changes).enumerate() {
                if base + change > 0.0 {
                    out.column_mut(c)[i] = f64::NEG_INFINITY;
                }
            }
        });
    }
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
    pub(super) fn new(
        classes: usize,
        threshold: f64,
        log_present: Vec<f64>,
        log_absent: Vec<f64>,
        texts: bool,
    ) -> Self {
        let words = texts.then(|| WordTables::new(classes, &log_present, &log_absent));
        BernoulliDensity { classes, threshold, log_present, log_absent, words }
    }

    /// Flags of columns, or of the words of a text, present above `threshold`, from ln p(present | class), class
    /// after class.
    ///
    /// ```
    /// use deciban::family::bernoulli::BernoulliDensity;
    /// let density = BernoulliDensity::from_log_probabilities(2, 0.0, &[0.5f64.ln(), 0.25f64.ln()], false)?;
    /// assert!((density.probability(1, 0) - 0.25).abs() < 1e-15);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn from_log_probabilities(classes: usize, threshold: f64, log_present: &[f64], texts: bool) -> Result<Self> {
        let terms = log_present.len() / classes.max(1);
        Error::check_shape("probabilities of flags", terms * classes, log_present.len())?;
        // A sum of rounded logarithms may lie a little above 0.
        if log_present.iter().any(|p| p.is_nan() || *p > 1e-9) || threshold.is_nan() {
            return Err(Error::Schema("ln p must be a number of at most 0, and the threshold a number".into()));
        }
        let by_term = (0..terms * classes).map(|k| log_present[k % classes * terms + k / classes].min(0.0));
        let log_present: Vec<f64> = by_term.collect();
        let log_absent = log_present.iter().map(|p| (-p.exp()).ln_1p()).collect();
        Ok(BernoulliDensity::new(classes, threshold, log_present, log_absent, texts))
    }

    /// Σ ln p + ln(1 − p) over all columns or words and classes.
    pub(super) fn log_sum(&self) -> f64 {
        self.log_present.iter().zip(&self.log_absent).map(|(p, q)| p + q).sum()
    }

    /// The number of columns, or of words.
    pub fn terms(&self) -> usize {
        self.log_present.len() / self.classes.max(1)
    }

    /// Whether a word was left out of the vocabulary: present or absent, it adds ln 1.
    fn is_left_out(&self, term: usize) -> bool {
        let of_term = term * self.classes..(term + 1) * self.classes;
        self.words.is_some()
            && self.log_present[of_term.clone()].iter().chain(&self.log_absent[of_term]).all(|x| *x == 0.0)
    }

    /// p(present | class) of a column or word.
    pub fn probability(&self, class: usize, term: usize) -> f64 {
        self.log_present[term * self.classes + class].exp()
    }

    /// What each word of a text says, and all words that it lacks together.
    fn words_of(&self, (sparse, rows): Texts<'_>, text: &Column) -> Vec<Vec<Entry>> {
        let k = self.classes;
        let mut present = vec![Vec::new(); rows.len()];
        sparse.for_each(rows, |i, word, count| {
            let word = word as usize;
            if word < self.terms() && count > self.threshold && !self.is_left_out(word) {
                present[i].push(word);
            }
        });
        let explain = |present: &Vec<usize>| {
            let mut lacks = vec![true; self.terms()];
            present.iter().for_each(|&word| lacks[word] = false);
            let mut absent = vec![0.0; k];
            for word in (0..lacks.len()).filter(|&word| lacks[word]) {
                let terms = &self.log_absent[word * k..(word + 1) * k];
                absent.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            }
            let name = |word: usize| text.levels.get(word).map_or("(unknown word)", String::as_str);
            let says = |word: usize| self.log_present[word * k..(word + 1) * k].to_vec();
            let mut entries = vec![Entry::new(format!("(words `{}` lacks)", text.name), "", absent)];
            entries.extend(present.iter().map(|&word| Entry::new(name(word), "", says(word))));
            entries
        };
        present.iter().map(explain).collect()
    }
}

impl BernoulliDensity {
    /// The name of each column or word, with ln p and ln(1 − p) of each class: from p itself, which is rounded, the
    /// second could not be had where p is near 1.
    pub(crate) fn log_parameters(&self, columns: &[Column]) -> Vec<(String, Vec<[f64; 2]>)> {
        let rows = self.parameters(columns).into_iter().flat_map(|table| table.rows);
        let terms = (0..self.terms()).filter(|&j| !self.is_left_out(j));
        let logs = |j: usize| (0..self.classes).map(move |c| j * self.classes + c);
        rows.zip(terms)
            .map(|((name, _), j)| (name, logs(j).map(|i| [self.log_present[i], self.log_absent[i]]).collect()))
            .collect()
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
        vec![Parameters {
            what: "probability",
            rows: (0..self.terms()).filter(|&j| !self.is_left_out(j)).map(row).collect(),
        }]
    }

    fn of_groups(&self, groups: Range<usize>) -> Self {
        let own = |log: &[f64]| log.chunks_exact(self.classes).flat_map(|term| term[groups.clone()].to_vec()).collect();
        let (present, absent) = (own(&self.log_present), own(&self.log_absent));
        BernoulliDensity::new(groups.len(), self.threshold, present, absent, self.words.is_some())
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
                    vectorised!(add_presence(out, tile.column(term), self.threshold, p, q));
                }
            }
            _ => return Err(mixed()),
        }
        Ok(())
    }

    fn parts(&self, x: &Cells<'_>, columns: &[Column]) -> Result<Option<Vec<Vec<Entry>>>> {
        Ok(match (x.sparse(), columns) {
            (Some(texts), [text, ..]) => Some(self.words_of(texts, text)),
            _ => None,
        })
    }

    fn points(&self, group: usize, column: usize) -> Option<Vec<(f64, f64)>> {
        let above = (self.threshold + 1.0).max(self.threshold.next_up());
        let p = if self.is_left_out(column) { 0.0 } else { self.probability(group, column) };
        self.words.is_none().then(|| vec![(self.threshold, 1.0 - p), (above, p)])
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        let above = (self.threshold + 1.0).max(self.threshold.next_up());
        let mut present = |j: usize| !self.is_left_out(j) && random.uniform() < self.probability(class, j);
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
        // Of a word that was left out both are 0.
        let sound = |(p, q): (&f64, &f64)| (p.exp() + q.exp() - 1.0).abs() < 1e-9 || (texts && *p == 0.0 && *q == 0.0);
        if shape[1] == 0 || !log_present.iter().zip(&log_absent).all(sound) || (texts && threshold < 0.0) {
            return Err(archive.damaged(&format!("`{name}` holds probabilities that do not sum to 1")));
        }
        Ok(BernoulliDensity::new(shape[1], threshold, log_present, log_absent, texts))
    }
}
