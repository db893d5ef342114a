//! Averages of densities in which all columns depend on one of them.

use std::ops::Range;

use super::{A1de, LANES, choose_paired};
use crate::data::{Cells, Column, MISSING, Tile, Value};
use crate::error::{Error, Result};
use crate::evidence::Entry;
use crate::family::counts::{Ragged, Unseen, level_name, log_probabilities, refuse_unseen};
use crate::family::pairs::PairCounts;
use crate::family::{Density, Filled, Filling, Parameters};
use crate::file::{Archive, Stored};
use crate::numerics::{Random, lanes, vectorised};

/// The averaged densities p(x | class) of a block of categories.
#[derive(Clone, Debug, PartialEq)]
pub struct A1deDensity {
    pub(super) family: A1de,
    /// The columns that are paired, ascending.
    pub(super) paired: Vec<usize>,
    /// ln w of each of them.
    pub(super) log_weights: Vec<f64>,
    /// The levels of each column that occurred, in whichever class.
    pub(super) seen: Vec<Vec<bool>>,
    /// Per class.
    pub(super) counts: Vec<ClassCounts>,
    /// What follows from the counts.
    pub(super) tables: Tables,
}

/// The counts of a class.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClassCounts {
    /// n(x_j) of all columns.
    pub(super) singles: Ragged,
    /// n(x_i, x_j) of the paired ones.
    pub(super) pairs: PairCounts,
}

/// Logarithms of probabilities, four classes side by side and padded with 0. The levels of columns that occur have
/// places one after the other, column after column; one more place, of a missing cell, holds zeros.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tables {
    /// The number of classes, rounded up to whole lanes.
    pub(super) stride: usize,
    /// The place of each level of each column; [`MISSING`] for one that never occurs.
    pub(super) places: Vec<Vec<u32>>,
    /// ln p(x_j | c) by place in `places`.
    pub(super) alone: Vec<f64>,
    /// The first place of each paired column among the places of paired columns, and their number at the end.
    pub(super) starts: Vec<usize>,
    /// By place of the parent, place of the child: ln p(x_j | x_p, c), and ln p(x_p | c) where the child is the parent.
    pub(super) given: Vec<f64>,
}

impl A1deDensity {
    /// The columns that are parents, each with its weight; the others depend on the class alone.
    pub fn parents(&self) -> impl Iterator<Item = (usize, f64)> {
        self.paired.iter().copied().zip(self.log_weights.iter().map(|w| w.exp()))
    }

    /// ln p(x_j | c) of a level of a column; `None` for one that never occurs.
    fn log_alone(&self, class: usize, column: usize, level: usize) -> Option<f64> {
        let place = *self.tables.places[column].get(level)?;
        (place != MISSING).then(|| self.tables.alone[place as usize * self.tables.stride + class])
    }

    /// The number of places of paired columns: that of a missing cell.
    fn no_place(&self) -> usize {
        self.tables.starts[self.paired.len()]
    }

    /// Reads the codes of a column, as places among all levels that occur.
    fn read_places(&self, x: &Cells<'_>, j: usize, name: &str, places: &mut Vec<u32>) -> Result<()> {
        x.read_codes(j, places)?;
        let own = &self.tables.places[j];
        for (i, code) in places.iter_mut().enumerate().filter(|(_, code)| **code != MISSING) {
            *code = own.get(*code as usize).copied().unwrap_or(MISSING);
            if *code == MISSING && self.family.unseen == Unseen::Error {
                return Err(refuse_unseen(name, x.row_number(i)));
            }
        }
        Ok(())
    }

    /// The places of paired columns, row after row, and what the other columns say by themselves, if `out` is given.
    fn read_rows(&self, x: &Cells<'_>, names: &[String], mut out: Option<&mut Tile>) -> Result<Vec<u32>> {
        let (width, missing) = (self.paired.len(), self.no_place() as u32);
        let mut rows = vec![missing; x.rows() * width];
        let mut places = Vec::new();
        let mut next = 0;
        for (j, name) in names.iter().enumerate() {
            self.read_places(x, j, name, &mut places)?;
            if self.paired.get(next) == Some(&j) {
                // Levels that occur have places in the order of columns, here and among the paired ones.
                let first = self.tables.places[j].iter().copied().min().unwrap_or(0);
                let start = self.tables.starts[next] as u32;
                for (row, &place) in rows.chunks_exact_mut(width).zip(&places).filter(|(_, place)| **place != MISSING) {
                    row[next] = place - first + start;
                }
                next += 1;
            } else if let Some(out) = &mut out {
                for class in 0..self.counts.len() {
                    for (o, &place) in out.column_mut(class).iter_mut().zip(&places).filter(|(_, p)| **p != MISSING) {
                        *o += self.tables.alone[place as usize * self.tables.stride + class];
                    }
                }
            }
        }
        Ok(rows)
    }

    /// Σ_j ln p(x_j | x_p, c) of all parents p of a few rows: row after row, parent after parent, lane after lane.
    #[inline(always)]
    fn add_stars(&self, rows: &[u32], scores: &mut [f64]) {
        let (width, stride, missing) = (self.paired.len(), self.tables.stride, self.no_place() as u32);
        let table = (missing as usize + 1) * stride;
        // Parent after parent: the tables of one stay in the cache.
        for p in 0..width {
            for (row, scores) in rows.chunks_exact(width).zip(scores.chunks_exact_mut(width * stride)) {
                let own = &mut scores[p * stride..(p + 1) * stride];
                if row[p] == missing {
                    own.fill(f64::NEG_INFINITY);
                    continue;
                }
                let given = &self.tables.given[row[p] as usize * table..][..table];
                for (lane, own) in own.chunks_exact_mut(LANES).enumerate() {
                    let mut sum = [self.log_weights[p]; LANES];
                    for &child in row {
                        let cell = &given[child as usize * stride + lane * LANES..][..LANES];
                        sum.iter_mut().zip(cell).for_each(|(sum, log)| *sum += log);
                    }
                    own.copy_from_slice(&sum);
                }
            }
        }
    }

    /// ln of the weights of the parents that a row knows; −∞ if it knows none.
    fn known_weight(&self, row: &[u32]) -> f64 {
        let missing = self.no_place() as u32;
        let known = row.iter().zip(&self.log_weights).filter(|(place, _)| **place != missing);
        known.map(|(_, w)| w.exp()).sum::<f64>().ln()
    }
}

/// ln Σ_p exp s_p in each lane; the scores are used up.
#[inline(always)]
fn log_sums(scores: &mut [f64], stride: usize, out: &mut [f64]) {
    out.fill(f64::NEG_INFINITY);
    for parent in scores.chunks_exact(stride) {
        out.iter_mut().zip(parent).for_each(|(most, s)| *most = most.max(*s));
    }
    for parent in scores.chunks_exact_mut(stride) {
        // −∞ less itself would be no number.
        parent.iter_mut().zip(&*out).for_each(|(s, most)| *s = lanes::exp(*s - most.max(f64::MIN)));
    }
    let mut sums = [0.0; LANES];
    for (lane, out) in out.chunks_exact_mut(LANES).enumerate() {
        sums.fill(0.0);
        for parent in scores.chunks_exact(stride) {
            sums.iter_mut().zip(&parent[lane * LANES..]).for_each(|(sum, s)| *sum += s);
        }
        out.iter_mut().zip(&sums).for_each(|(out, sum)| *out += sum.ln());
    }
}

impl Density for A1deDensity {
    fn classes(&self) -> usize {
        self.counts.len()
    }

    fn width(&self) -> usize {
        self.tables.places.len()
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        let classes = self.classes();
        let weights = self.parents().map(|(j, weight)| (columns[j].name.clone(), vec![weight; classes])).collect();
        let mut rows = Vec::new();
        for (j, column) in columns.iter().enumerate() {
            for v in 0..self.tables.places[j].len() {
                let p: Option<Vec<f64>> = (0..classes).map(|c| self.log_alone(c, j, v).map(f64::exp)).collect();
                rows.extend(p.map(|p| (level_name(column, v), p)));
            }
        }
        vec![Parameters { what: "weight as a parent", rows: weights }, Parameters { what: "probability", rows }]
    }

    fn of_groups(&self, groups: Range<usize>) -> Self {
        let counts = self.counts[groups].to_vec();
        let tables = self.family.tables(&counts, &self.paired, &self.seen);
        A1deDensity { counts, tables, ..self.clone() }
    }

    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        let (width, stride) = (self.paired.len(), self.tables.stride);
        let rows = self.read_rows(x, names, Some(out))?;
        if width == 0 {
            return Ok(());
        }
        // Few enough rows that their scores stay in the first-level cache.
        let few = ((16 << 10) / (8 * width * stride)).clamp(8, 256);
        let (mut scores, mut sums) = (vec![0.0; few * width * stride], vec![0.0; stride]);
        for (start, rows) in (0..).step_by(few).zip(rows.chunks(few * width)) {
            let scores = &mut scores[..rows.len() * stride];
            vectorised!(self.add_stars(rows, scores));
            for (i, (row, scores)) in rows.chunks_exact(width).zip(scores.chunks_exact_mut(width * stride)).enumerate()
            {
                let known = self.known_weight(row);
                if known == f64::NEG_INFINITY {
                    continue;
                }
                vectorised!(log_sums(scores, stride, &mut sums));
                (0..self.counts.len()).for_each(|c| out.column_mut(c)[start + i] += sums[c] - known);
            }
        }
        Ok(())
    }

    fn is_joint(&self) -> bool {
        true
    }

    /// A missing cell is left out, not integrated out: the scores of its levels are not shares of one whole.
    fn no_filling(&self) -> Option<&'static str> {
        Some("a1de leaves missing cells out, and does not say what they hold: fit §model=tree or §model=naive-bayes")
    }

    fn fill(&self, _: usize, _: &Cells<'_>, _: &[String], _: Filling<'_>) -> Result<Vec<Filled>> {
        Err(Error::Schema(self.no_filling().unwrap_or_default().into()))
    }

    /// With r = p(parent | x, class): log p(x | class) = Σ_p r_p Σ_j ln p(x_j | x_p, c) + Σ_p r_p ln(w_p / r_p). So each
    /// line is the average over the parents, and one more line holds the second sum.
    fn parts(&self, x: &Cells<'_>, columns: &[Column]) -> Result<Option<Vec<Vec<Entry>>>> {
        let (width, stride, classes) = (self.paired.len(), self.tables.stride, self.classes());
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let rows = self.read_rows(x, &names, None)?;
        let missing = self.no_place() as u32;
        let mut codes = vec![Vec::new(); columns.len()];
        codes.iter_mut().enumerate().try_for_each(|(j, codes)| x.read_codes(j, codes))?;
        let mut scores = vec![0.0; width * stride];
        let mut all = Vec::new();
        for i in 0..x.rows() {
            let row = &rows[i * width..(i + 1) * width];
            self.add_stars(row, &mut scores);
            let known = self.known_weight(row);
            // The lines of paired columns, and the rest.
            let mut said = vec![vec![0.0; classes]; width + 1];
            for c in (0..classes).filter(|_| known > f64::NEG_INFINITY) {
                let parents: Vec<usize> = (0..width).filter(|&p| row[p] != missing).collect();
                let shares = responsibilities(parents.iter().map(|&p| scores[p * stride + c]));
                for (p, r) in parents.into_iter().zip(shares).filter(|(_, r)| *r > 0.0) {
                    let given = &self.tables.given[row[p] as usize * (missing as usize + 1) * stride..];
                    row.iter().enumerate().for_each(|(k, &child)| said[k][c] += r * given[child as usize * stride + c]);
                    said[width][c] += r * (self.log_weights[p] - known - r.ln());
                }
            }
            let mut entries = Vec::new();
            for (j, column) in columns.iter().enumerate() {
                let code = codes[j][i];
                let evidence = match self.paired.binary_search(&j) {
                    Ok(k) => said[k].clone(),
                    Err(_) => (0..classes).map(|c| self.log_alone(c, j, code as usize).unwrap_or(0.0)).collect(),
                };
                entries.push(match (code, column.levels.get(code as usize)) {
                    (MISSING, _) => Entry::missing(&column.name, classes),
                    (_, level) => Entry::new(&column.name, level.map_or("(unseen)", String::as_str), evidence),
                });
            }
            entries.push(Entry::new("(parents)", "", said.pop().unwrap_or_default()));
            all.push(entries);
        }
        Ok(Some(all))
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        let mut codes = vec![MISSING; self.width()];
        let pick = |random: &mut Random, p: Vec<f64>| if p.is_empty() { MISSING } else { random.pick(&p) as u32 };
        let alone = |j: usize| -> Vec<f64> {
            (0..self.tables.places[j].len()).map(|v| self.log_alone(class, j, v).map_or(0.0, f64::exp)).collect()
        };
        let weights: Vec<f64> = self.parents().map(|(_, weight)| weight).collect();
        let chosen = (!weights.is_empty()).then(|| random.pick(&weights));
        if let Some(p) = chosen {
            codes[self.paired[p]] = pick(random, alone(self.paired[p]));
        }
        for j in 0..self.width() {
            codes[j] = match (chosen, self.paired.binary_search(&j)) {
                (Some(p), Ok(k)) if k == p => codes[j],
                (Some(p), Ok(k)) => {
                    let level = codes[self.paired[p]] as usize;
                    pick(random, self.given_parent(class, (p, level), k))
                }
                _ => pick(random, alone(j)),
            };
        }
        Ok(codes.into_iter().map(Value::Level).collect())
    }
}

impl A1deDensity {
    /// p(x_k | x_p = level, class) of all levels of a paired column k.
    fn given_parent(&self, class: usize, (p, level): (usize, usize), k: usize) -> Vec<f64> {
        let Tables { stride, places, starts, given, .. } = &self.tables;
        let place = |paired: usize, level: usize| {
            let own = &places[self.paired[paired]];
            let before = own[..level].iter().filter(|place| **place != MISSING).count();
            (own[level] != MISSING).then_some(starts[paired] + before)
        };
        let total = self.no_place() + 1;
        let p = |v: usize| match (place(p, level), place(k, v)) {
            (Some(a), Some(b)) => given[(a * total + b) * stride + class].exp(),
            _ => 0.0,
        };
        (0..places[self.paired[k]].len()).map(p).collect()
    }
}

/// The shares exp s_p / Σ exp s; where all are −∞, the first parent's.
fn responsibilities(scores: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let most = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return scores.enumerate().map(|(p, _)| if p == 0 { 1.0 } else { 0.0 }).collect();
    }
    let shares: Vec<f64> = scores.map(|s| (s - most).exp()).collect();
    let total: f64 = shares.iter().sum();
    shares.into_iter().map(|share| share / total).collect()
}

impl Stored for A1deDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.shape"), &(&self.family, &self.paired, &self.seen, self.counts.len()))?;
        archive.put(&format!("{name}.log_weights"), &[self.log_weights.len()], &self.log_weights)?;
        for (c, class) in self.counts.iter().enumerate() {
            class.singles.store(archive, &format!("{name}.class{c}.all"))?;
            class.pairs.store(archive, &format!("{name}.class{c}"))?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (family, paired, seen, classes): (A1de, Vec<usize>, Vec<Vec<bool>>, usize) =
            archive.json(&format!("{name}.shape"))?;
        let damaged = |what: &str| archive.damaged(&format!("`{name}` {what}"));
        let log_weights = log_probabilities(archive, &format!("{name}.log_weights"), &[paired.len()])?.to_vec();
        let levels: Vec<usize> = seen.iter().map(Vec::len).collect();
        let ascend = paired.is_sorted_by(|a, b| a < b) && paired.last().is_none_or(|&last| last < levels.len());
        if classes == 0 || family.check().is_err() || !ascend || log_weights.contains(&f64::NEG_INFINITY) {
            return Err(damaged("does not hold averaged densities"));
        }
        let own: Vec<usize> = paired.iter().map(|&j| levels[j]).collect();
        let mut counts = Vec::new();
        for c in 0..classes {
            let singles = Ragged::load(archive, &format!("{name}.class{c}.all"))?;
            let pairs = PairCounts::load(archive, &format!("{name}.class{c}"))?;
            if !singles.0.iter().map(Vec::len).eq(levels.iter().copied()) || pairs.levels() != own {
                return Err(damaged("has counts of other columns"));
            }
            counts.push(ClassCounts { singles, pairs });
        }
        if choose_paired(&own, classes).len() < own.len() {
            return Err(damaged("pairs too many levels"));
        }
        let tables = family.tables(&counts, &paired, &seen);
        Ok(A1deDensity { family, paired, log_weights, seen, counts, tables })
    }
}
