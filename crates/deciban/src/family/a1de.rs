//! A1DE family: averaged one-dependence estimators (Webb, Boughton & Wang 2005), weighted (Jiang & Zhang 2006).
//! Each column in turn is a parent on which all others depend besides the class, and these densities are averaged.
//!
//! Statistic: counts of levels and of pairs of levels (`pairs.rs`), as of the tree family.
//!
//! ```text
//! p(x | c) = Σ_p w_p f_p(x | c)                        f_p(x | c) = p(x_p | c) Π_{j≠p} p(x_j | x_p, c)
//! p(x_j | c) = (n_c(x_j) + α)/(N_c + α L_j)            p(x_j | x_p, c) = (n_c(x_j, x_p) + α p(x_j | c))/(n_c(x_p) + α)
//! w_p ∝ I(X_p; C) + 1/N
//! ```
//!
//! with L_j the levels of column j that occur, and N rows in all: a column that says nothing of the class still has the
//! weight of one row. n_c(x_p) counts the rows that have both cells.
//!
//! A missing cell is left out, as a child and as a parent: the row is scored as by a model that was learned without
//! the column, with the weights of the known parents rescaled to 1. So is a level that training never saw.
//!
//! Columns with many levels are not paired where the pair tables would become too large ([`MOST_CELLS`]), those with
//! the most levels first: they depend on the class alone, as in naive Bayes.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::counts::{
    Ragged, Unseen, check_pseudo_count, level_name, log_probabilities, mark, nothing_to_estimate, refuse_unseen,
};
use super::pairs::PairCounts;
use super::{Density, Family, Filled, Filling, Names, Parameters};
use crate::data::{Cells, Column, MISSING, Tile, Value};
use crate::error::{Error, Result};
use crate::evidence::Entry;
use crate::file::{Archive, Stored};
use crate::numerics::{Random, lanes, vectorised};

/// Classes are scored four at a time.
const LANES: usize = 4;
/// The most levels of a column that is paired with others.
const MOST_LEVELS: usize = 256;
/// The most cells of all pair tables, classes included (32 MB).
pub const MOST_CELLS: usize = 1 << 22;

/// The A1DE family with its hyper-parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct A1de {
    /// α: the rows that the prior adds to every level, and the weight of p(x_j | c) in p(x_j | x_p, c).
    pub pseudo_count: f64,
    /// What to do with a level that training never saw: it is left out, or refused.
    #[serde(default)]
    pub unseen: Unseen,
}

impl Default for A1de {
    fn default() -> Self {
        A1de { pseudo_count: 1.0, unseen: Unseen::Share }
    }
}

/// The averaged densities p(x | class) of a block of categories.
#[derive(Clone, Debug, PartialEq)]
pub struct A1deDensity {
    family: A1de,
    /// The columns that are paired, ascending.
    paired: Vec<usize>,
    /// ln w of each of them.
    log_weights: Vec<f64>,
    /// The levels of each column that occurred, in whichever class.
    seen: Vec<Vec<bool>>,
    /// Per class.
    counts: Vec<ClassCounts>,
    /// What follows from the counts.
    tables: Tables,
}

/// The counts of a class.
#[derive(Clone, Debug, PartialEq)]
struct ClassCounts {
    /// n(x_j) of all columns.
    singles: Ragged,
    /// n(x_i, x_j) of the paired ones.
    pairs: PairCounts,
}

/// Logarithms of probabilities, four classes side by side and padded with 0. The levels of columns that occur have
/// places one after the other, column after column; one more place, of a missing cell, holds zeros.
#[derive(Clone, Debug, PartialEq)]
struct Tables {
    /// The number of classes, rounded up to whole lanes.
    stride: usize,
    /// The place of each level of each column; [`MISSING`] for one that never occurs.
    places: Vec<Vec<u32>>,
    /// ln p(x_j | c) by place in `places`.
    alone: Vec<f64>,
    /// The first place of each paired column among the places of paired columns, and their number at the end.
    starts: Vec<usize>,
    /// By place of the parent, place of the child: ln p(x_j | x_p, c), and ln p(x_p | c) where the child is the parent.
    given: Vec<f64>,
}

/// The levels of each column that occur in a class.
fn occurring(classes: &[ClassCounts], levels: &[usize]) -> Vec<Vec<bool>> {
    let of = |(j, &levels): (usize, &usize)| {
        let mut seen = vec![false; levels];
        classes.iter().for_each(|class| mark(class.singles.0[j].iter().copied(), &mut seen));
        seen
    };
    levels.iter().enumerate().map(of).collect()
}

/// The columns that are paired: those with the fewest levels, as long as their tables fit.
fn choose_paired(levels: &[usize], classes: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..levels.len()).filter(|&j| (1..=MOST_LEVELS).contains(&levels[j])).collect();
    order.sort_by_key(|&j| levels[j]);
    let stride = classes.next_multiple_of(LANES);
    let mut sum = 1;
    let mut paired: Vec<usize> = order
        .into_iter()
        .take_while(|&j| {
            sum += levels[j];
            sum * sum * stride <= MOST_CELLS
        })
        .collect();
    paired.sort_unstable();
    paired
}

/// I(X; C) in nats, from the weights of the levels in each class.
pub(super) fn information(classes: &[&Vec<f64>]) -> f64 {
    let x_ln_x = |x: f64| if x > 0.0 { x * x.ln() } else { 0.0 };
    let levels = classes.first().map_or(0, |class| class.len());
    let of_level = |v: usize| classes.iter().map(|class| class[v]).sum::<f64>();
    let of_class: Vec<f64> = classes.iter().map(|class| class.iter().sum()).collect();
    let n: f64 = of_class.iter().sum();
    let cells: f64 = classes.iter().flat_map(|class| class.iter()).map(|&n| x_ln_x(n)).sum();
    let margins =
        of_class.iter().map(|&n| x_ln_x(n)).sum::<f64>() + (0..levels).map(|v| x_ln_x(of_level(v))).sum::<f64>();
    // Jensen: at least 0, but for rounding.
    if n > 0.0 { ((cells - margins + x_ln_x(n)) / n).max(0.0) } else { 0.0 }
}

impl A1de {
    /// Refuses hyper-parameters out of range.
    pub fn check(&self) -> Result<()> {
        check_pseudo_count(self.pseudo_count)
    }

    /// p(x_j | c) of each level; 0 for those that never occur.
    fn probabilities(&self, counts: &[f64], seen: &[bool]) -> Vec<f64> {
        let weight = |(n, &seen): (&f64, &bool)| if seen { n + self.pseudo_count } else { 0.0 };
        let weights: Vec<f64> = counts.iter().zip(seen).map(weight).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| if total > 0.0 { weight / total } else { 0.0 }).collect()
    }

    /// All tables, from counts that have a cell of each level.
    fn tables(&self, counts: &[ClassCounts], paired: &[usize], seen: &[Vec<bool>]) -> Tables {
        let stride = counts.len().next_multiple_of(LANES);
        let mut next = 0;
        let mut place = |seen: &bool| match seen {
            true => {
                next += 1;
                next - 1
            }
            false => MISSING,
        };
        let places: Vec<Vec<u32>> = seen.iter().map(|seen| seen.iter().map(&mut place).collect()).collect();
        let mut alone = vec![0.0; (next as usize + 1) * stride];
        let mut starts = vec![0];
        for &j in paired {
            starts.push(starts[starts.len() - 1] + seen[j].iter().filter(|seen| **seen).count());
        }
        let total = starts[paired.len()];
        let mut given = vec![0.0; (total + 1) * (total + 1) * stride];
        // Places of levels that occur, among those of their column.
        let occur = |seen: &Vec<bool>| (0..seen.len()).filter(|&v| seen[v]).collect::<Vec<_>>();
        let occur: Vec<Vec<usize>> = seen.iter().map(occur).collect();
        for (c, class) in counts.iter().enumerate() {
            let mut p = Vec::new();
            for (j, seen) in seen.iter().enumerate() {
                let own = self.probabilities(&class.singles.0[j], seen);
                occur[j].iter().for_each(|&v| alone[places[j][v] as usize * stride + c] = own[v].ln().min(0.0));
                p.push(own);
            }
            for (i, &parent) in paired.iter().enumerate() {
                for (a, &u) in occur[parent].iter().enumerate() {
                    let row = (starts[i] + a) * (total + 1);
                    for (k, &child) in paired.iter().enumerate() {
                        if i == k {
                            given[(row + starts[i] + a) * stride + c] = p[parent][u].ln().min(0.0);
                            continue;
                        }
                        let n = |v: usize| class.pairs.pair(i, k, u, v);
                        let rows = occur[child].iter().map(|&v| n(v)).sum::<f64>() + self.pseudo_count;
                        for (b, &v) in occur[child].iter().enumerate() {
                            let own = p[child][v];
                            // A parent's level without rows says nothing.
                            let given_parent = if rows > 0.0 { (n(v) + self.pseudo_count * own) / rows } else { own };
                            given[(row + starts[k] + b) * stride + c] = given_parent.ln().min(0.0);
                        }
                    }
                }
            }
        }
        Tables { stride, places, alone, starts, given }
    }
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
    fn fills(&self) -> bool {
        false
    }

    fn fill(&self, _: usize, _: &Cells<'_>, _: &[String], _: Filling<'_>) -> Result<Vec<Filled>> {
        let message = "a1de leaves missing cells out, and does not say what they hold: fit §model=tree or \
                       §model=naive-bayes";
        Err(Error::Schema(message.into()))
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

impl Family for A1de {
    type Statistic = PairCounts;
    type Density = A1deDensity;

    fn with_pseudo_count(self, pseudo_count: f64) -> Self {
        Self { pseudo_count, ..self }
    }

    fn empty(&self, width: usize) -> PairCounts {
        PairCounts::empty(width)
    }

    fn size(&self, width: usize) -> usize {
        width * width * 256
    }

    fn observe(&self, statistic: &mut PairCounts, x: &Cells<'_>, names: &[String]) -> Result<()> {
        statistic.observe(x, names)
    }

    fn relevel(&self, statistic: &mut PairCounts, maps: &[Vec<u32>]) -> Result<()> {
        statistic.relevel(maps)
    }

    fn mark_levels(&self, statistic: &PairCounts, j: usize, seen: &mut [bool]) {
        mark(statistic.singles.0[j].iter().copied(), seen);
    }

    fn fit(&self, classes: &[&PairCounts], names: Names<'_>) -> Result<A1deDensity> {
        self.check()?;
        let most = |j: usize| classes.iter().map(|class| class.singles.0[j].len()).max().unwrap_or(0);
        let levels: Vec<usize> = (0..names.columns.len()).map(|j| most(j).max(names.levels[j])).collect();
        let paired = choose_paired(&levels, classes.len());
        let of_class = |class: &&PairCounts| {
            let grown = class.grown(&levels);
            ClassCounts { pairs: grown.of_columns(&paired), singles: grown.singles }
        };
        let counts: Vec<ClassCounts> = classes.iter().map(of_class).collect();
        let seen = occurring(&counts, &levels);
        for (c, class) in counts.iter().enumerate().filter(|_| self.pseudo_count == 0.0) {
            let empty = |&j: &usize| seen[j].contains(&true) && class.singles.0[j].iter().all(|n| *n == 0.0);
            if let Some(j) = (0..levels.len()).find(empty) {
                return Err(nothing_to_estimate(&names.columns[j], &names.classes[c]));
            }
        }
        let rows = |j: usize| counts.iter().flat_map(|class| &class.singles.0[j]).sum::<f64>();
        let n = (0..levels.len()).map(rows).fold(0.0, f64::max);
        let weight = |&j: &usize| {
            let classes: Vec<&Vec<f64>> = counts.iter().map(|class| &class.singles.0[j]).collect();
            information(&classes) + 1.0 / n
        };
        let weights: Vec<f64> = if n > 0.0 { paired.iter().map(weight).collect() } else { vec![1.0; paired.len()] };
        let total: f64 = weights.iter().sum();
        let log_weights = weights.iter().map(|weight| (weight / total).ln().min(0.0)).collect();
        let tables = self.tables(&counts, &paired, &seen);
        Ok(A1deDensity { family: self.clone(), paired, log_weights, seen, counts, tables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, Kind, Rows, UNSEEN};
    use crate::family::testing::{self, close, names, observe, score};
    use crate::file::{from_bytes, to_bytes};
    use proptest::prelude::*;

    const NEVER: f64 = f64::NEG_INFINITY;
    const A: [&[u32]; 3] = [&[0, 0, 0, 1, 1, 1], &[0, 0, 1, 1, 1, 1], &[2, 2, 2, 0, 1, 1]];
    const B: [&[u32]; 3] = [&[0, 0, 1, 1], &[0, 1, 0, 1], &[0, 1, 2, 0]];

    fn fitted(family: &A1de) -> A1deDensity {
        let (a, b) = (observe(family, &A, None).unwrap(), observe(family, &B, None).unwrap());
        family.fit(&[&a, &b], names(&["a", "b", "c"], &[2, 2, 3])).unwrap()
    }

    /// The formulas of the first lines of this file, straight from rows, for two classes.
    fn by_definition(rows: [&[Vec<u32>]; 2], alpha: f64, x: &[u32], class: usize) -> f64 {
        let width = x.len();
        let levels: Vec<f64> = (0..width)
            .map(|j| {
                let mut all: Vec<u32> = rows.concat().iter().map(|row| row[j]).filter(|&v| v != MISSING).collect();
                all.sort_unstable();
                all.dedup();
                all.len() as f64
            })
            .collect();
        let count =
            |class: usize, holds: &dyn Fn(&[u32]) -> bool| rows[class].iter().filter(|row| holds(row)).count() as f64;
        let alone = |j: usize| {
            let n = count(class, &|row| row[j] == x[j]);
            (n + alpha) / (count(class, &|row| row[j] != MISSING) + alpha * levels[j])
        };
        let all = rows.map(<[_]>::len).iter().sum::<usize>() as f64;
        let most = (0..width).map(|j| (0..2).map(|c| count(c, &|row| row[j] != MISSING)).sum()).fold(0.0, f64::max);
        assert!(most <= all);
        let weight = |j: usize| {
            let n: f64 = (0..2).map(|c| count(c, &|row| row[j] != MISSING)).sum();
            let mut sum = 0.0;
            for v in 0..8 {
                let of_level: f64 = (0..2).map(|c| count(c, &|row| row[j] == v)).sum();
                for c in 0..2 {
                    let (cell, of_class) = (count(c, &|row| row[j] == v), count(c, &|row| row[j] != MISSING));
                    sum += if cell > 0.0 { cell / n * (cell * n / (of_level * of_class)).ln() } else { 0.0 };
                }
            }
            sum + 1.0 / most
        };
        let known: Vec<usize> = (0..width).filter(|&j| x[j] != MISSING).collect();
        let star = |&p: &usize| {
            let child = |&j: &usize| {
                let both = count(class, &|row| row[j] == x[j] && row[p] == x[p]);
                (both + alpha * alone(j)) / (count(class, &|row| row[j] != MISSING && row[p] == x[p]) + alpha)
            };
            weight(p) * alone(p) * known.iter().filter(|&&j| j != p).map(child).product::<f64>()
        };
        known.iter().map(star).sum::<f64>() / known.iter().map(|&p| weight(p)).sum::<f64>()
    }

    #[test]
    fn two_columns_by_hand() {
        let family = A1de::default();
        // Class k0: a = 0, 0, 0, 1 and b = 0, 0, 1, 1; class k1: a = 1 and b = 0.
        let one = observe(&family, &[&[0, 0, 0, 1], &[0, 0, 1, 1]], None).unwrap();
        let two = observe(&family, &[&[1], &[0]], None).unwrap();
        let density = family.fit(&[&one, &two], names(&["a", "b"], &[2, 2])).unwrap();
        // p(a = 0) = 4/6, p(b = 0) = 3/6; p(b = 0 | a = 0) = (2 + 1/2)/4, p(a = 0 | b = 0) = (2 + 2/3)/3.
        let information = |cells: [f64; 4], margins: [f64; 4]| -> f64 {
            cells.iter().zip(margins).map(|(n, m)| if *n > 0.0 { n / 5.0 * (n * 5.0 / m).ln() } else { 0.0 }).sum()
        };
        let a = information([3.0, 1.0, 0.0, 1.0], [12.0, 8.0, 3.0, 2.0]) + 0.2;
        let b = information([2.0, 2.0, 1.0, 0.0], [12.0, 8.0, 3.0, 2.0]) + 0.2;
        let weights: Vec<f64> = density.parents().map(|(_, weight)| weight).collect();
        close(&weights, &[a / (a + b), b / (a + b)], 1e-14);
        let expected = weights[0] * 4.0 / 6.0 * 2.5 / 4.0 + weights[1] * 3.0 / 6.0 * (2.0 + 2.0 / 3.0) / 3.0;
        close(&score(&density, &[&[0], &[0]]).unwrap()[0], &[expected.ln()], 1e-14);
        // With one cell there is one parent, and a level never seen is as good as no cell.
        for other in [MISSING, UNSEEN, 7] {
            close(&score(&density, &[&[0], &[other]]).unwrap()[0], &[(4.0f64 / 6.0).ln()], 1e-14);
        }
        assert_eq!(score(&density, &[&[UNSEEN], &[MISSING]]).unwrap().concat(), [0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn it_is_the_average_of_its_definition(
            rows in testing::rows(4, 3),
            row in prop::collection::vec(prop::sample::select(vec![0u32, 1, 2, MISSING]), 4),
            cut in 0usize..40,
            alpha in prop::sample::select(vec![0.2, 1.0, 3.0]),
        ) {
            let rows: Vec<Vec<u32>> = rows.into_iter().map(|row| row.0).collect();
            let (one, two) = rows.split_at(cut.min(rows.len()));
            let family = A1de { pseudo_count: alpha, ..A1de::default() };
            let statistic = |rows: &[Vec<u32>]| {
                let columns: Vec<Vec<u32>> = (0..4).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
                observe(&family, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>(), None).unwrap()
            };
            let density = family.fit(&[&statistic(one), &statistic(two)], names(&["a", "b", "c", "d"], &[3; 4])).unwrap();
            // Levels that no row has are left out.
            let seen = |j: usize| rows.iter().any(|other| other[j] == row[j]);
            let known: Vec<u32> = (0..4).map(|j| if seen(j) { row[j] } else { MISSING }).collect();
            let cells: Vec<[u32; 1]> = row.iter().map(|&code| [code]).collect();
            let scores = score(&density, &cells.iter().map(|c| &c[..]).collect::<Vec<_>>()).unwrap();
            for class in 0..2 {
                let expected = match known.iter().all(|&code| code == MISSING) {
                    true => 1.0,
                    false => by_definition([one, two], alpha, &known, class),
                };
                prop_assert!((scores[class][0].exp() - expected).abs() <= 1e-12 * expected, "{} {expected}", scores[class][0].exp());
            }
        }

        #[test]
        fn laws(rows in testing::rows(3, 5), cut in 0usize..40, weight in 0.0..3.0f64) {
            testing::check_laws(&A1de::default(), &rows, cut, weight)?;
        }
    }

    #[test]
    fn a_row_without_a_cell_is_scored_as_by_a_model_without_the_column() {
        let family = A1de::default();
        let density = fitted(&family);
        let (a, b) = (observe(&family, &[A[0], A[2]], None).unwrap(), observe(&family, &[B[0], B[2]], None).unwrap());
        let narrow = family.fit(&[&a, &b], names(&["a", "c"], &[2, 3])).unwrap();
        let with = score(&density, &[&[0, 1, 1], &[MISSING; 3], &[2, 0, MISSING]]).unwrap();
        let without = score(&narrow, &[&[0, 1, 1], &[2, 0, MISSING]]).unwrap();
        (0..2).for_each(|c| close(&with[c], &without[c], 1e-14));
    }

    #[test]
    fn lines_add_up_to_the_evidence() {
        for pseudo_count in [0.0, 0.5, 1.0] {
            let density = fitted(&A1de { pseudo_count, ..A1de::default() });
            let rows: [&[u32]; 3] =
                [&[0, 1, MISSING, 0, 1, MISSING], &[0, 0, 1, MISSING, 0, MISSING], &[2, 0, 1, UNSEEN, 1, MISSING]];
            let scores = score(&density, &rows).unwrap();
            let batch = rows.iter().fold(Batch::new(6), |batch, codes| batch.codes(codes).unwrap());
            let column = |name: &str, levels: usize| Column {
                name: name.into(),
                kind: Kind::Category,
                levels: (0..levels).map(|v| v.to_string()).collect(),
            };
            let columns = [column("a", 2), column("b", 2), column("c", 3)];
            let parts = density.parts(&Cells::new(&batch, &[0, 1, 2], Rows::Range(0..6)), &columns).unwrap().unwrap();
            for (i, entries) in parts.iter().enumerate() {
                assert_eq!(entries.len(), 4);
                for c in 0..2 {
                    let sum: f64 = entries.iter().map(|entry| entry.evidence[c]).sum();
                    close(&[sum], &[scores[c][i]], 1e-14);
                }
            }
            assert_eq!(parts[3][2].value, "(unseen)");
            assert!(parts[3][1].missing && parts[5].iter().all(|entry| entry.evidence == [0.0, 0.0]));
            assert_eq!(pseudo_count == 0.0, scores.concat().contains(&NEVER));
        }
    }

    #[test]
    fn columns_of_many_levels_depend_on_the_class_alone() {
        // 300 levels are too many for pairs: the other two columns average, the wide one multiplies.
        let wide: Vec<u32> = (0..300).collect();
        let codes = |step: u32| (0..300).map(|i| i / step % 2).collect::<Vec<u32>>();
        let family = A1de::default();
        let statistic = observe(&family, &[&codes(1), &wide, &codes(3)], None).unwrap();
        let other = observe(&family, &[&codes(2), &wide, &codes(3)], None).unwrap();
        let density = family.fit(&[&statistic, &other], names(&["a", "b", "c"], &[2, 300, 2])).unwrap();
        assert_eq!(density.parents().map(|(j, _)| j).collect::<Vec<_>>(), [0, 2]);
        let with = score(&density, &[&[1], &[17], &[0]]).unwrap();
        let without = score(&density, &[&[1], &[MISSING], &[0]]).unwrap();
        close(&[with[0][0] - without[0][0]], &[(2.0f64 / 600.0).ln()], 1e-13);
        // Too many levels in all: those with the most stay out.
        assert_eq!(choose_paired(&[200, 200, 3, 200, 200, 200, 200, 200, 200], 100), [0, 2]);
        assert_eq!(choose_paired(&[], 2), [0usize; 0]);
        // A single column is a categorical one.
        let one = family.fit(&[&observe(&family, &[&[0, 1, 1, 1]], None).unwrap()], names(&["a"], &[2])).unwrap();
        close(&score(&one, &[&[1, MISSING]]).unwrap()[0], &[(4.0f64 / 6.0).ln(), 0.0], 1e-15);
    }

    #[test]
    fn many_classes_are_scored_as_few() {
        let family = A1de::default();
        let classes: Vec<PairCounts> = (0..7)
            .map(|k| observe(&family, &[&[0, 1, k % 2, 1], &[k % 3, 0, 1, 2], &[k % 2, k % 3, 0, 1]], None).unwrap())
            .collect();
        let density = family.fit(&classes.iter().collect::<Vec<_>>(), names(&["a", "b", "c"], &[2, 3, 3])).unwrap();
        let rows: [&[u32]; 3] = [&[0, 1, MISSING, 1], &[0, 2, 1, 1], &[2, 1, 0, MISSING]];
        let all = score(&density, &rows).unwrap();
        for group in 0..7 {
            let own = density.of_groups(group..group + 1);
            close(&score(&own, &rows).unwrap()[0], &all[group], 1e-15);
        }
        assert_eq!(score(&density.of_groups(2..5), &rows).unwrap(), all[2..5]);
    }

    #[test]
    fn samples_have_the_frequencies_of_levels() {
        let density = fitted(&A1de::default());
        let mut expected = [vec![0.0; 2], vec![0.0; 2], vec![0.0; 3]];
        for a in 0..2u32 {
            for b in 0..2u32 {
                for c in 0..3u32 {
                    let p = score(&density, &[&[a], &[b], &[c]]).unwrap()[0][0].exp();
                    expected[0][a as usize] += p;
                    expected[1][b as usize] += p;
                    expected[2][c as usize] += p;
                }
            }
        }
        expected.iter().for_each(|p| assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14));
        testing::check_samples(&density, 0, &expected);
    }

    #[test]
    fn hostile_input_is_refused() {
        assert!(A1de { pseudo_count: f64::NAN, ..A1de::default() }.check().is_err());
        let family = A1de { pseudo_count: 0.0, unseen: Unseen::Error };
        let (nothing, some) =
            (observe(&family, &[&[MISSING], &[0]], None).unwrap(), observe(&family, &[&[1], &[0]], None).unwrap());
        let error = family.fit(&[&some, &nothing], names(&["a", "b"], &[2, 2])).unwrap_err().to_string();
        assert!(error.contains("class `k1` has no cell in column `a`"), "{error}");
        let error = score(&fitted(&family), &[&[0, MISSING], &[0, UNSEEN], &[0, 0]]).unwrap_err().to_string();
        assert!(error.contains("column `c1`, row 2"), "{error}");
        // No rows at all, and a column without a cell.
        let density = A1de::default().fit(&[&PairCounts::empty(2)], names(&["a", "b"], &[2, 0])).unwrap();
        assert_eq!(score(&density, &[&[1], &[MISSING]]).unwrap(), [[0.0]]);
        assert_eq!(density.sample(0, &mut Random::new(1)).unwrap().len(), 2);
    }

    #[test]
    fn files_hold_it_and_damage_is_refused() {
        let density = fitted(&A1de::default());
        assert_eq!(from_bytes::<A1deDensity>(&to_bytes(&density).unwrap()).unwrap(), density);
        let part = density.of_groups(1..2);
        assert_eq!(from_bytes::<A1deDensity>(&to_bytes(&part).unwrap()).unwrap(), part);
        let family = A1de::default();
        let with = |paired: &[usize], seen: &[Vec<bool>], classes: usize| {
            let mut archive = Archive::new("state");
            density.store(&mut archive, "d").unwrap();
            archive.put_json("d.shape", &(&family, paired, seen, classes)).unwrap();
            A1deDensity::load(&archive, "d")
        };
        let seen = density.seen.clone();
        assert_eq!(with(&[0, 1, 2], &seen, 2).unwrap(), density);
        for paired in [&[0, 1][..], &[0, 2, 1], &[0, 1, 3], &[0, 1, 1]] {
            assert!(with(paired, &seen, 2).is_err(), "{paired:?}");
        }
        assert!(with(&[0, 1, 2], &seen[..2], 2).is_err() && with(&[0, 1, 2], &seen, 0).is_err());
        assert!(with(&[0, 1, 2], &seen, 3).is_err());
    }
}
