//! Scoring with a weight per word and class: s_c = Σ_j x_j w_jc, with w = ln θ.

use std::ops::Range;
use std::sync::OnceLock;

use super::{Multinomial, normalise, read_counts};
use crate::data::{Cells, Column, Tile, Value};
use crate::error::{Error, Result};
use crate::evidence::Entry;
use crate::family::words::wrong_count;
use crate::family::{Density, Filled, Filling, Guess, Parameters};
use crate::file::{Archive, Stored};
use crate::numerics::Random;
use crate::scoring::{Texts, WordTable};

/// Rows of more words or counts than this are not drawn: each of them takes eight bytes.
const MOST_DRAWN: f64 = 1e7;

/// The fitted words of all classes.
#[derive(Clone, Debug)]
pub struct MultinomialDensity {
    classes: usize,
    /// The number of columns of the block.
    width: usize,
    /// w_jc at `j·classes + c`.
    weights: Vec<f64>,
    /// The weights of a word that is not in the vocabulary.
    unseen: Vec<f64>,
    /// How many words a row of the class has on average.
    lengths: Vec<f64>,
    /// Words that were too rare.
    dropped: Vec<usize>,
    normalise: bool,
    complement: bool,
    /// θ_c0 + … + θ_cj for each class, when first sampled.
    cumulative: OnceLock<Vec<Vec<f64>>>,
}

impl MultinomialDensity {
    pub(super) fn new(
        family: &Multinomial,
        width: usize,
        weights: Vec<f64>,
        unseen: Vec<f64>,
        lengths: Vec<f64>,
        dropped: Vec<usize>,
    ) -> Result<Self> {
        let (normalise, complement) = (family.normalise, family.complement);
        let (classes, cumulative) = (unseen.len(), OnceLock::new());
        Error::check_shape("weights of words", weights.len() / classes.max(1) * classes, weights.len())?;
        Ok(MultinomialDensity { classes, width, weights, unseen, lengths, dropped, normalise, complement, cumulative })
    }

    /// Σ ln θ over the words of the vocabulary and the classes.
    pub(super) fn log_sum(&self) -> f64 {
        let dropped: f64 = self.dropped.iter().flat_map(|&word| self.weights(word)).sum();
        self.weights.iter().sum::<f64>() - dropped
    }

    /// V: the number of words.
    pub fn words(&self) -> usize {
        self.weights.len() / self.classes
    }

    /// The weights of a word, one per class: ln θ, or those of `complement`.
    pub fn weights(&self, word: usize) -> &[f64] {
        self.weights.get(word * self.classes..(word + 1) * self.classes).unwrap_or(&self.unseen)
    }

    /// Σ n_j w_jc of the words of texts; `None` where more than their counts is asked for.
    pub(super) fn log_likelihood(&self, class: usize, counts: impl Iterator<Item = f64>) -> Option<f64> {
        if self.normalise || self.complement || self.width > 1 {
            return None;
        }
        let known = |j: usize| j < self.words() || self.counts_unseen();
        let counts = counts.enumerate().filter(|(j, n)| *n > 0.0 && known(*j));
        Some(counts.map(|(j, n)| n * self.weights(j)[class]).sum())
    }

    fn score_texts(&self, x: &Cells<'_>, texts: Texts<'_>, name: &str, out: &mut Tile) -> Result<()> {
        let unknown = self.counts_unseen().then_some(&self.unseen[..]);
        let table = WordTable { classes: self.classes, values: &self.weights, unknown };
        let sound = table.sums(
            texts,
            |count| count,
            |i, total, sums| {
                let scale = if self.normalise && total > 0.0 { total.recip() } else { 1.0 };
                sums.iter().enumerate().for_each(|(c, sum)| out.column_mut(c)[i] += sum * scale);
            },
        );
        if sound { Ok(()) } else { Err(wrong_count(x, texts, name)) }
    }

    /// Whether a word that is not in the vocabulary says anything.
    fn counts_unseen(&self) -> bool {
        self.unseen.iter().any(|w| *w != 0.0)
    }

    fn score_counts(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        let mut tile = Tile::default();
        read_counts(x, names, &mut tile)?;
        if self.normalise {
            normalise(&mut tile);
        }
        self.renormalise(&tile, out);
        for j in 0..tile.width() {
            for (c, &w) in self.weights(j).iter().enumerate() {
                let sums = out.column_mut(c).iter_mut().zip(tile.column(j));
                match w.is_finite() {
                    true => sums.for_each(|(sum, &x)| *sum += w * if x.is_nan() { 0.0 } else { x }),
                    false => sums.filter(|(_, x)| **x > 0.0).for_each(|(sum, _)| *sum = w),
                }
            }
        }
        Ok(())
    }

    /// Where some counts are missing, the others are tokens that were drawn from the words that were
    /// looked for: each has the probability θ_j/Σ_present θ. (1 − Σ_missing θ would cancel where nearly all are
    /// missing.)
    fn renormalise(&self, tile: &Tile, out: &mut Tile) {
        if self.complement || tile.first_not_finite().is_none() {
            return;
        }
        for i in 0..tile.rows() {
            let cells = || (0..tile.width()).map(|j| (j, tile.column(j)[i]));
            let total: f64 = cells().map(|(_, x)| x).filter(|x| !x.is_nan()).sum();
            for c in 0..self.classes {
                let present = cells().filter(|(_, x)| !x.is_nan()).map(|(j, _)| self.weights(j)[c].exp());
                let rest = present.sum::<f64>();
                // Otherwise what was looked for is impossible in this class, and scored so.
                if total > 0.0 && rest > 0.0 {
                    out.column_mut(c)[i] -= total * rest.ln();
                }
            }
        }
    }

    /// What each word says: its count times its weight.
    fn words_of(&self, x: &Cells<'_>, columns: &[Column]) -> Result<Vec<Vec<Entry>>> {
        let times = |count: f64, word: usize| {
            // 0·(−∞) = 0
            self.weights(word).iter().map(|w| if count == 0.0 { 0.0 } else { count * w }).collect::<Vec<_>>()
        };
        let mut rows = vec![Vec::new(); x.rows()];
        if let (Some((sparse, chosen)), [text, ..]) = (x.sparse(), columns) {
            let mut totals = vec![0.0; x.rows()];
            let counts = |word: u32| (word as usize) < self.words() || self.counts_unseen();
            sparse.for_each(chosen, |i, word, count| totals[i] += if counts(word) { count } else { 0.0 });
            sparse.for_each(chosen, |i, word, count| {
                if count != 0.0 && counts(word) {
                    let name = text.levels.get(word as usize).map_or("(unknown word)", String::as_str);
                    let share = if self.normalise { count / totals[i] } else { count };
                    rows[i].push(Entry::new(name, format!("×{count}"), times(share, word as usize)));
                }
            });
            return Ok(rows);
        }
        let names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
        let (mut tile, mut scores) = (Tile::default(), Tile::default());
        read_counts(x, &names, &mut tile)?;
        let shown = tile.clone();
        if self.normalise {
            normalise(&mut tile);
        }
        scores.resize(x.rows(), self.classes);
        scores.data_mut().fill(0.0);
        self.renormalise(&tile, &mut scores);
        for (i, row) in rows.iter_mut().enumerate() {
            for (j, name) in names.iter().enumerate() {
                let (x, raw) = (tile.column(j)[i], shown.column(j)[i]);
                row.push(match x.is_nan() {
                    true => Entry::missing(name, self.classes),
                    false => Entry::new(name, format!("×{raw}"), times(x, j)),
                });
            }
            let left = (0..self.classes).map(|k| scores.column(k)[i]).collect::<Vec<_>>();
            if left.iter().any(|s| *s != 0.0) {
                row.push(Entry::new("(counts that are missing)", "", left));
            }
        }
        Ok(rows)
    }

    /// Missing counts: of a word with the share θ_m as many as of the others together, n θ_m/Σ_present θ, which is
    /// also the mean of their Poisson draws; the class's length times θ_m where no others are there.
    fn fill_counts(&self, group: usize, x: &Cells<'_>, names: &[String], mut by: Filling<'_>) -> Result<Vec<Filled>> {
        if let Some(why) = self.no_filling() {
            return Err(Error::Schema(why.into()));
        }
        let mut tile = Tile::default();
        read_counts(x, names, &mut tile)?;
        let share = |j: usize| self.weights(j)[group].exp();
        let mut filled = Vec::new();
        for row in 0..tile.rows() {
            let (missing, present): (Vec<usize>, Vec<usize>) =
                (0..tile.width()).partition(|&j| tile.column(j)[row].is_nan());
            let shares: f64 = present.iter().map(|&j| share(j)).sum();
            let total: f64 = present.iter().map(|&j| tile.column(j)[row]).sum();
            let length = if shares > 0.0 { total / shares } else { self.lengths[group] };
            for column in missing {
                let mean = length * share(column);
                let guess = match &mut by {
                    Filling::Draw(random) => Guess::Drawn(Value::Number(poisson(mean, &mut random[row]) as f64)),
                    _ => Guess::mean(mean),
                };
                filled.push(Filled { row, column, guess });
            }
        }
        Ok(filled)
    }

    /// The running sums of θ.
    fn cumulative(&self) -> &[Vec<f64>] {
        self.cumulative.get_or_init(|| {
            let mut kept = vec![true; self.words()];
            self.dropped.iter().for_each(|&j| kept[j] = false);
            let running = |c: usize| {
                let mut sum = 0.0;
                let theta = |j: usize| if kept[j] { self.weights(j)[c].exp() } else { 0.0 };
                let add = |j: usize| {
                    sum += theta(j);
                    sum
                };
                (0..self.words()).map(add).collect()
            };
            (0..self.classes).map(running).collect()
        })
    }
}

impl Density for MultinomialDensity {
    fn classes(&self) -> usize {
        self.classes
    }

    fn width(&self) -> usize {
        self.width
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        let name = |j: usize| match columns {
            [text] => text.levels.get(j).cloned().unwrap_or_else(|| format!("{} #{j}", text.name)),
            columns => columns.get(j).map_or_else(|| format!("#{j}"), |column| column.name.clone()),
        };
        let value = |w: &f64| if self.complement { *w } else { w.exp() };
        let mut dropped = self.dropped.iter().peekable();
        let kept = (0..self.words()).filter(|j| dropped.next_if_eq(&j).is_none());
        let rows = kept.map(|j| (name(j), self.weights(j).iter().map(value).collect())).collect();
        vec![Parameters { what: if self.complement { "weight" } else { "probability" }, rows }]
    }

    fn of_groups(&self, groups: Range<usize>) -> Self {
        MultinomialDensity {
            classes: groups.len(),
            weights: self.weights.chunks_exact(self.classes).flat_map(|word| word[groups.clone()].to_vec()).collect(),
            unseen: self.unseen[groups.clone()].to_vec(),
            lengths: self.lengths[groups].to_vec(),
            dropped: self.dropped.clone(),
            cumulative: OnceLock::new(),
            ..*self
        }
    }

    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        match x.sparse() {
            Some(texts) => self.score_texts(x, texts, names.first().map_or("", String::as_str), out),
            None => self.score_counts(x, names, out),
        }
    }

    fn parts(&self, x: &Cells<'_>, columns: &[Column]) -> Result<Option<Vec<Vec<Entry>>>> {
        self.words_of(x, columns).map(Some)
    }

    /// As many tokens as a Poisson number about the class's mean says, each drawn by θ.
    fn fill(&self, group: usize, x: &Cells<'_>, names: &[String], by: Filling<'_>) -> Result<Vec<Filled>> {
        match x.sparse() {
            Some(_) => Ok(Vec::new()),
            None => self.fill_counts(group, x, names, by),
        }
    }

    fn no_density(&self) -> Option<&'static str> {
        match (self.complement, self.normalise) {
            (true, _) => Some("the weights of §complement are not a density of rows: fit the model without it"),
            (false, true) => {
                Some("the model has normalised counts, which do not say how many words a row has: it has no density")
            }
            (false, false) => None,
        }
    }

    /// A text is never missing, and lengths of normalised counts are never needed.
    fn no_filling(&self) -> Option<&'static str> {
        self.no_density().filter(|_| self.complement && self.width > 1)
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        if let Some(why) = self.no_density() {
            return Err(Error::Schema(why.into()));
        }
        let cumulative = &self.cumulative()[class];
        let total = cumulative.last().copied().unwrap_or(0.0);
        if self.lengths[class] > MOST_DRAWN {
            let words = self.lengths[class];
            return Err(Error::Schema(format!(
                "rows cannot be drawn: one has about {words:e} words or counts, more than {MOST_DRAWN:e}"
            )));
        }
        let length = if total > 0.0 { poisson(self.lengths[class], random) } else { 0 };
        let mut tokens: Vec<usize> = (0..length)
            .map(|_| {
                let u = random.uniform() * total;
                cumulative.partition_point(|sum| *sum < u).min(cumulative.len() - 1)
            })
            .collect();
        if self.width > 1 {
            let mut counts = vec![0.0; self.width];
            tokens.iter().for_each(|&j| counts[j] += 1.0);
            return Ok(counts.into_iter().map(Value::Number).collect());
        }
        tokens.sort_unstable();
        let counts = tokens.chunk_by(|a, b| a == b).map(|run| (run[0] as u32, run.len() as f64));
        Ok(vec![Value::Counts(counts.collect())])
    }
}

/// A Poisson number: how many exponential steps fit into `mean`.
fn poisson(mean: f64, random: &mut Random) -> usize {
    if mean > 1e5 {
        return (mean + mean.sqrt() * random.normal()).round().max(0.0) as usize;
    }
    let (mut count, mut left) = (0, mean + random.uniform().ln());
    while left > 0.0 {
        count += 1;
        left += random.uniform().ln();
    }
    count
}

impl Stored for MultinomialDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let shape = (self.classes, self.width, self.words());
        archive.put_json(&format!("{name}.shape"), &shape)?;
        archive.put_json(&format!("{name}.options"), &(self.normalise, self.complement))?;
        archive.put_json(&format!("{name}.dropped"), &self.dropped)?;
        archive.put(&format!("{name}.weights"), &[self.words(), self.classes], &self.weights)?;
        archive.put(&format!("{name}.unseen"), &[self.classes], &self.unseen)?;
        archive.put(&format!("{name}.lengths"), &[self.classes], &self.lengths)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (classes, width, words): (usize, usize, usize) = archive.json(&format!("{name}.shape"))?;
        let (normalise, complement) = archive.json(&format!("{name}.options"))?;
        let dropped: Vec<usize> = archive.json(&format!("{name}.dropped"))?;
        let weights = archive.get(&format!("{name}.weights"), &[words, classes])?.to_vec();
        let unseen = archive.get(&format!("{name}.unseen"), &[classes])?.to_vec();
        let lengths = archive.finite(&format!("{name}.lengths"), &[classes])?.to_vec();
        let odd = |w: &f64| w.is_nan() || *w == f64::INFINITY;
        let fits = classes > 0 && words >= width && dropped.is_sorted() && dropped.iter().all(|j| *j < words);
        if !fits || weights.iter().chain(&unseen).any(odd) || lengths.iter().any(|x| *x < 0.0) {
            return Err(archive.damaged(&format!("`{name}` is no table of words")));
        }
        let cumulative = OnceLock::new();
        Ok(MultinomialDensity { classes, width, weights, unseen, lengths, dropped, normalise, complement, cumulative })
    }
}
