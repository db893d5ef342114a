//! Tree family: tree-augmented naive Bayes (Friedman, Geiger & Goldszmidt 1997). Besides the class,
//! each column of categories but the first depends on one other column, its parent.
//!
//! Statistic: counts of levels and of pairs of levels (`pairs.rs`).
//!
//! I(X_i; X_j | C) = Σ_c Σ_ab n_c(a,b)/N · ln [ n_c(a,b) N_c / (n_c(a) n_c(b)) ], from pair tables
//! and their margins; the parents are the maximum spanning tree of it (Prim), rooted at the first
//! column: the tree of largest likelihood (Chow & Liu 1968). It is the same for all classes.
//!
//! log p(x | c) = ln p(x_root | c) + Σ_j ln p(x_j | x_parent(j), c), with
//! p(x_j | c) = (n_c(x_j) + α)/(N_c + α L_j), and what the parent adds backs off to it:
//! p(x_j | x_p, c) = (n_c(x_j, x_p) + N⁰ p(x_j | c)) / (n_c(x_p) + N⁰), N⁰ = 5α by default.
//! (A flat α in each cell of a pair table would outweigh the data: most of them are empty.)
//!
//! Missing cells are summed out along the tree, children first. A level that training never saw has
//! p = α/(N_c + α L_j) of its column; as a parent it says nothing, so its children follow p(x_j | c).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::categorical::log_probabilities_of;
use super::counts::{
    Unseen, check_pseudo_count, level_name, log_probabilities, mark, nothing_to_estimate, refuse_unseen,
};
use super::pairs::{PairCounts, all_pairs, check_pair_cells, place};
use super::{Density, Family, Names, Parameters};
use crate::data::{Cells, Column, MISSING, Tile, Value};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::Random;

/// The tree family with its hyper-parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// α of every level of a column.
    pub pseudo_count: f64,
    /// N⁰: how many rows p(x_j | c) weighs in p(x_j | x_parent, c); 5α if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<f64>,
    /// What to do with a level that training never saw.
    #[serde(default)]
    pub unseen: Unseen,
}

impl Default for Tree {
    fn default() -> Self {
        Tree { pseudo_count: 1.0, back_off: None, unseen: Unseen::Share }
    }
}

/// A column's place in the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// The column.
    pub column: usize,
    /// The column it depends on.
    pub parent: usize,
    /// I(X_column; X_parent | C) in nats.
    pub information: f64,
    /// The mutual information within each class, in nats.
    pub by_class: Vec<f64>,
}

/// The probabilities p(x_j | x_parent, class) of a block of categories.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeDensity {
    classes: usize,
    levels: Vec<usize>,
    unseen: Unseen,
    /// One per column but the first, parents before their children.
    edges: Vec<Edge>,
    /// Per column; that of the first has one level of a parent.
    tables: Vec<Conditional>,
}

/// ln p(child's level | parent's level, class): class after class, row after row of parents' levels.
/// The level never seen comes last in both directions; a 0 ends each class, for rows to pass over.
#[derive(Clone, Debug, PartialEq)]
struct Conditional {
    parent: Option<usize>,
    /// Levels of the child and one more.
    stride: usize,
    /// Cells of a class, the 0 included.
    cells: usize,
    log_p: Vec<f64>,
}

impl Conditional {
    fn new(parent: Option<usize>, stride: usize, log_p: Vec<f64>, classes: usize) -> Self {
        Conditional { parent, stride, cells: log_p.len() / classes.max(1), log_p }
    }

    fn class(&self, class: usize) -> &[f64] {
        &self.log_p[class * self.cells..(class + 1) * self.cells]
    }
}

/// A code as a place in a table of `levels` levels and one never seen.
fn level_or_unseen(code: u32, levels: usize) -> usize {
    (code as usize).min(levels)
}

impl TreeDensity {
    /// The tree: each column but the first with its parent, parents before their children.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// p(level | parent's level, class) of a column; the first column has parent's level 0.
    pub fn probability(&self, class: usize, column: usize, parent_level: usize, level: usize) -> f64 {
        let table = &self.tables[column];
        let parents = table.parent.map_or(0, |p| self.levels[p]);
        table.class(class)[parent_level.min(parents) * table.stride + level.min(self.levels[column])].exp()
    }

    /// The columns, parents before their children.
    fn order(&self) -> impl DoubleEndedIterator<Item = usize> {
        (!self.levels.is_empty()).then_some(0).into_iter().chain(self.edges.iter().map(|edge| edge.column))
    }

    /// log p(x | class) of a row with missing cells: messages go up the tree.
    ///
    /// `below[j][v]` collects, for a column j without its cell, the logarithm of what is known below
    /// it if its level were v; for one with its cell only `below[j][0]` is used.
    fn marginal(&self, class: usize, codes: &[u32], known: &[bool], below: &mut [Vec<f64>]) -> f64 {
        below.iter_mut().for_each(|b| b.fill(0.0));
        let mut score = 0.0;
        for j in self.order().rev().filter(|&j| known[j]) {
            let table = &self.tables[j];
            let log_p = table.class(class);
            let own = std::mem::take(&mut below[j]);
            let message = |parent_level: usize| {
                let row = &log_p[parent_level * table.stride..];
                match codes[j] {
                    MISSING => log_sum(|v| row[v] + own[v], self.levels[j]),
                    code => row[level_or_unseen(code, self.levels[j])] + own[0],
                }
            };
            match table.parent {
                None => score = message(0),
                Some(p) if codes[p] == MISSING => below[p].iter_mut().enumerate().for_each(|(u, b)| *b += message(u)),
                Some(p) => below[p][0] += message(level_or_unseen(codes[p], self.levels[p])),
            }
            below[j] = own;
        }
        score
    }
}

/// ln Σ_v exp f(v), v < n.
fn log_sum(f: impl Fn(usize) -> f64, n: usize) -> f64 {
    let max = (0..n).map(&f).fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY { max } else { max + (0..n).map(|v| (f(v) - max).exp()).sum::<f64>().ln() }
}

impl Density for TreeDensity {
    fn classes(&self) -> usize {
        self.classes
    }

    fn width(&self) -> usize {
        self.levels.len()
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        let name = |edge: &Edge| format!("{} given {}", columns[edge.column].name, columns[edge.parent].name);
        let tree = self.edges.iter().map(|edge| (name(edge), edge.by_class.clone())).collect();
        let mut rows = Vec::new();
        for j in self.order() {
            let parent = self.tables[j].parent;
            for u in 0..parent.map_or(1, |p| self.levels[p]) {
                for v in 0..self.levels[j] {
                    let own = level_name(&columns[j], v);
                    let name = parent.map_or(own.clone(), |p| format!("{own} given {}", level_name(&columns[p], u)));
                    rows.push((name, (0..self.classes).map(|c| self.probability(c, j, u, v)).collect()));
                }
            }
        }
        vec![Parameters { what: "mutual information in nats", rows: tree }, Parameters { what: "probability", rows }]
    }

    fn of_groups(&self, groups: Range<usize>) -> Self {
        let own = |table: &Conditional| Conditional {
            log_p: table.log_p[groups.start * table.cells..groups.end * table.cells].to_vec(),
            ..*table
        };
        TreeDensity {
            classes: groups.len(),
            tables: self.tables.iter().map(own).collect(),
            levels: self.levels.clone(),
            edges: self.edges.clone(),
            unseen: self.unseen,
        }
    }

    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        let mut columns = vec![Vec::new(); self.width()];
        let mut incomplete = vec![false; x.rows()];
        for (j, codes) in columns.iter_mut().enumerate() {
            x.read_codes(j, codes)?;
            incomplete.iter_mut().zip(&*codes).for_each(|(any, &code)| *any |= code == MISSING);
            let levels = self.levels[j];
            if self.unseen == Unseen::Error
                && let Some(i) = codes.iter().position(|&code| code != MISSING && code as usize >= levels)
            {
                return Err(refuse_unseen(&names[j], x.row_number(i)));
            }
        }
        // Rows with all cells, column by column; the others meet the 0 at the end of each table.
        let mut places = vec![0; x.rows()];
        for (j, table) in self.tables.iter().enumerate() {
            for (i, place) in places.iter_mut().enumerate() {
                let parent = table.parent.map_or(0, |p| level_or_unseen(columns[p][i], self.levels[p]));
                *place = match incomplete[i] {
                    true => table.cells - 1,
                    false => parent * table.stride + level_or_unseen(columns[j][i], self.levels[j]),
                };
            }
            for class in 0..self.classes {
                let log_p = table.class(class);
                out.column_mut(class).iter_mut().zip(&places).for_each(|(o, &place)| *o += log_p[place]);
            }
        }
        let mut below: Vec<Vec<f64>> = self.levels.iter().map(|&levels| vec![0.0; levels.max(1)]).collect();
        let (mut row, mut known) = (vec![0; self.width()], vec![false; self.width()]);
        for i in (0..x.rows()).filter(|&i| incomplete[i]) {
            row.iter_mut().zip(&columns).for_each(|(code, column)| *code = column[i]);
            // What is known neither of a column nor below it sums to 1.
            known.iter_mut().zip(&row).for_each(|(known, &code)| *known = code != MISSING);
            self.edges.iter().rev().for_each(|edge| known[edge.parent] |= known[edge.column]);
            for class in 0..self.classes {
                out.column_mut(class)[i] += self.marginal(class, &row, &known, &mut below);
            }
        }
        Ok(())
    }

    fn is_joint(&self) -> bool {
        true
    }

    fn levels(&self, column: usize) -> Option<usize> {
        Some(self.levels[column])
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        let mut codes = vec![MISSING; self.width()];
        for j in self.order() {
            let parent = self.tables[j].parent.map_or(0, |p| codes[p] as usize);
            let p: Vec<f64> = (0..self.levels[j]).map(|v| self.probability(class, j, parent, v)).collect();
            codes[j] = if p.is_empty() { MISSING } else { random.pick(&p) as u32 };
        }
        Ok(codes.into_iter().map(Value::Level).collect())
    }
}

impl Stored for TreeDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.shape"), &(self.classes, &self.levels, self.unseen, &self.edges))?;
        for (j, table) in self.tables.iter().enumerate() {
            archive.put(&format!("{name}.log_p{j}"), &[self.classes, table.cells], &table.log_p)?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (classes, levels, unseen, edges): (usize, Vec<usize>, Unseen, Vec<Edge>) =
            archive.json(&format!("{name}.shape"))?;
        let damaged = |what: &str| archive.damaged(&format!("`{name}` {what}"));
        let mut parents = vec![None; levels.len()];
        let mut reached = vec![false; levels.len()];
        reached.iter_mut().take(1).for_each(|root| *root = true);
        for edge in &edges {
            let sound = reached.get(edge.parent) == Some(&true)
                && reached.get(edge.column) == Some(&false)
                && edge.information.is_finite()
                && edge.by_class.len() == classes;
            if !sound {
                return Err(damaged("is not a tree"));
            }
            (reached[edge.column], parents[edge.column]) = (true, Some(edge.parent));
        }
        if classes == 0 || reached.contains(&false) {
            return Err(damaged("is not a tree of all its columns"));
        }
        let table = |j: usize| {
            let parent_levels = parents[j].map_or(Some(1), |p: usize| levels[p].checked_add(1));
            let stride = levels[j].checked_add(1).ok_or_else(|| damaged("has too many levels"))?;
            let cells = parent_levels.and_then(|rows| rows.checked_mul(stride)?.checked_add(1));
            let cells = cells.ok_or_else(|| damaged("has too many levels"))?;
            let log_p = log_probabilities(archive, &format!("{name}.log_p{j}"), &[classes, cells])?;
            if log_p.chunks_exact(cells).any(|class| class[cells - 1] != 0.0) {
                return Err(damaged("has a table without its end"));
            }
            Ok(Conditional::new(parents[j], stride, log_p.to_vec(), classes))
        };
        let tables = (0..levels.len()).map(table).collect::<Result<_>>()?;
        Ok(TreeDensity { classes, levels, unseen, edges, tables })
    }
}

/// The mutual information of a pair table, and its weight.
fn mutual_information(table: &[f64], columns: usize) -> (f64, f64) {
    let columns = columns.max(1);
    let total: f64 = table.iter().sum();
    let rows: Vec<f64> = table.chunks_exact(columns).map(|row| row.iter().sum()).collect();
    let mut sums = vec![0.0; columns];
    table.chunks_exact(columns).for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, n)| *sum += n));
    let term = |(i, &n): (usize, &f64)| match n > 0.0 {
        true => n * (n * total / (rows[i / columns] * sums[i % columns])).ln(),
        false => 0.0,
    };
    let information: f64 = table.iter().enumerate().map(term).sum();
    // Jensen: at least 0, but for rounding.
    (if total > 0.0 { (information / total).max(0.0) } else { 0.0 }, total)
}

/// The mutual information of columns i < j within each class, and given the class.
fn information(classes: &[PairCounts], i: usize, j: usize) -> (f64, Vec<f64>) {
    let of =
        |class: &PairCounts| mutual_information(&class.pairs.0[place(i, j, class.width())], class.singles.0[j].len());
    let (by_class, weights): (Vec<f64>, Vec<f64>) = classes.iter().map(of).unzip();
    let total: f64 = weights.iter().sum();
    let sum: f64 = by_class.iter().zip(&weights).map(|(i, w)| i * w).sum();
    (if total > 0.0 { sum / total } else { 0.0 }, by_class)
}

/// The maximum spanning tree from column 0 (Prim), parents before their children; of equal weights
/// the first counts.
fn spanning_tree(width: usize, weight: impl Fn(usize, usize) -> f64) -> Vec<(usize, usize)> {
    let mut best: Vec<(f64, usize)> = (0..width).map(|j| if j == 0 { (0.0, 0) } else { (weight(0, j), 0) }).collect();
    let mut left: Vec<usize> = (1..width).collect();
    let mut edges = Vec::new();
    while let Some(at) = (0..left.len()).reduce(|a, b| if best[left[b]].0 > best[left[a]].0 { b } else { a }) {
        let column = left.remove(at);
        edges.push((column, best[column].1));
        for &j in &left {
            let weight = weight(column.min(j), column.max(j));
            if weight > best[j].0 {
                best[j] = (weight, column);
            }
        }
    }
    edges
}

impl Tree {
    /// Refuses hyper-parameters out of range.
    pub fn check(&self) -> Result<()> {
        check_pseudo_count(self.pseudo_count)?;
        match self.back_off {
            Some(rows) if !rows.is_finite() || rows < 0.0 => {
                Err(Error::parameter("back_off", "give a finite number of at least 0"))
            }
            _ => Ok(()),
        }
    }

    /// ln p(x_j | x_p) of one class for each level of the parent and one never seen, given the
    /// logarithms of p(x_j).
    fn conditional(&self, class: &PairCounts, parent: usize, j: usize, marginal: &[f64]) -> Vec<f64> {
        let back_off = self.back_off.unwrap_or(5.0 * self.pseudo_count);
        let levels = class.singles.0[j].len();
        let mut log_p = Vec::new();
        for u in 0..class.singles.0[parent].len() {
            let counts: Vec<f64> = (0..levels).map(|v| class.pair(parent, j, u, v)).collect();
            let total = counts.iter().sum::<f64>() + back_off;
            // A parent's level without rows says nothing, as one never seen.
            match total > 0.0 {
                true => log_p.extend(marginal.iter().enumerate().map(|(v, log)| {
                    let n = counts.get(v).copied().unwrap_or(0.0);
                    ((n + back_off * log.exp()).ln() - total.ln()).min(0.0)
                })),
                false => log_p.extend(marginal),
            }
        }
        log_p.extend(marginal);
        log_p
    }
}

impl Family for Tree {
    type Statistic = PairCounts;
    type Density = TreeDensity;

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

    fn fit(&self, classes: &[&PairCounts], names: Names<'_>) -> Result<TreeDensity> {
        self.check()?;
        let width = names.columns.len();
        let seen = |j: usize| classes.iter().map(|class| class.singles.0[j].len()).max().unwrap_or(0);
        let levels: Vec<usize> = (0..width).map(|j| seen(j).max(names.levels[j])).collect();
        check_pair_cells(&levels, names.columns)?;
        let classes: Vec<PairCounts> = classes.iter().map(|class| class.grown(&levels)).collect();
        let informations: Vec<(f64, Vec<f64>)> = all_pairs(width).map(|(i, j)| information(&classes, i, j)).collect();
        let of = |i: usize, j: usize| &informations[place(i.min(j), i.max(j), width)];
        let edge = |(column, parent): (usize, usize)| {
            let (information, by_class) = of(column, parent).clone();
            Edge { column, parent, information, by_class }
        };
        let edges: Vec<Edge> = spanning_tree(width, |i, j| of(i, j).0).into_iter().map(edge).collect();
        let mut tables = Vec::new();
        for j in 0..width {
            let parent = edges.iter().find(|edge| edge.column == j).map(|edge| edge.parent);
            let mut log_p = Vec::new();
            for (c, class) in classes.iter().enumerate() {
                let alpha = vec![self.pseudo_count; levels[j]];
                let marginal = log_probabilities_of(&class.singles.0[j], &alpha, self.pseudo_count)
                    .ok_or_else(|| nothing_to_estimate(&names.columns[j], &names.classes[c]))?;
                match parent {
                    Some(p) => log_p.extend(self.conditional(class, p, j, &marginal)),
                    None => log_p.extend(marginal),
                }
                log_p.push(0.0);
            }
            tables.push(Conditional::new(parent, levels[j] + 1, log_p, classes.len()));
        }
        Ok(TreeDensity { classes: classes.len(), levels, unseen: self.unseen, edges, tables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Kind, UNSEEN};
    use crate::family::testing::{self, close, names, observe, score};
    use crate::file::{from_bytes, to_bytes};
    use proptest::prelude::*;

    const ML: Tree = Tree { pseudo_count: 0.0, back_off: None, unseen: Unseen::Share };
    const NEVER: f64 = f64::NEG_INFINITY;

    /// Columns b and c follow a in class k0; in k1 all is even.
    fn chain(family: &Tree) -> TreeDensity {
        let a = observe(family, &[&[0, 0, 0, 1, 1, 1], &[0, 0, 1, 1, 1, 1], &[2, 2, 2, 0, 1, 1]], None).unwrap();
        let b = observe(family, &[&[0, 0, 1, 1], &[0, 1, 0, 1], &[0, 1, 2, 0]], None).unwrap();
        family.fit(&[&a, &b], names(&["a", "b", "c"], &[2, 2, 3])).unwrap()
    }

    #[test]
    fn conditionals_by_hand() {
        let family = Tree::default();
        let a = observe(&family, &[&[0, 0, 0, 1], &[0, 0, 1, 1]], None).unwrap();
        let density = family.fit(&[&a], names(&["a", "b"], &[2, 3])).unwrap();
        // p(a) = (3+1)/(4+2); p(b) = (2+1)/(4+3), 3/7, 1/7; N⁰ = 5.
        close(&[density.probability(0, 0, 0, 0)], &[4.0 / 6.0], 1e-15);
        let given = |u: usize| [0, 1, 2, 3].map(|v| density.probability(0, 1, u, v));
        let p = [3.0 / 7.0, 3.0 / 7.0, 1.0 / 7.0, 1.0 / 7.0];
        close(
            &given(0),
            &[(2.0 + 5.0 * p[0]) / 8.0, (1.0 + 5.0 * p[1]) / 8.0, 5.0 * p[2] / 8.0, 5.0 * p[3] / 8.0],
            1e-15,
        );
        close(&given(1), &[5.0 * p[0] / 6.0, (1.0 + 5.0 * p[1]) / 6.0, 5.0 * p[2] / 6.0, 5.0 * p[3] / 6.0], 1e-15);
        close(&given(2), &p, 1e-15);
        let expected = (4.0f64 / 6.0 * (1.0 + 5.0 * p[1]) / 8.0).ln();
        close(&score(&density, &[&[0, UNSEEN], &[1, 0]]).unwrap()[0], &[expected, (1.0f64 / 6.0 * p[0]).ln()], 1e-15);
    }

    #[test]
    fn information_by_hand() {
        // A copied fair coin has ln 2 nats, an independent one none.
        close(&[mutual_information(&[2.0, 0.0, 0.0, 2.0], 2).0], &[2f64.ln()], 1e-15);
        close(&[mutual_information(&[1.0, 3.0, 2.0, 6.0], 2).0], &[0.0], 1e-15);
        assert_eq!(mutual_information(&[], 0), (0.0, 0.0));
        // Weighted by class: 4 rows of ln 2, 12 of nothing.
        let copied = observe(&ML, &[&[0, 0, 1, 1], &[0, 0, 1, 1]], None).unwrap();
        let even = observe(&ML, &[&[0, 0, 1, 1], &[0, 1, 0, 1]], Some(&[3.0; 4])).unwrap();
        let (given_class, by_class) = information(&[copied, even], 0, 1);
        close(&[given_class, by_class[0], by_class[1]], &[2f64.ln() / 4.0, 2f64.ln(), 0.0], 1e-15);
    }

    #[test]
    fn the_tree_follows_the_information() {
        // Column 2 copies 0, column 1 copies 3; 3 depends a little on 2.
        let columns: [&[u32]; 4] = [
            &[0, 0, 0, 0, 1, 1, 1, 1],
            &[0, 0, 0, 1, 0, 1, 1, 1],
            &[0, 0, 0, 0, 1, 1, 1, 1],
            &[0, 0, 0, 1, 0, 1, 1, 1],
        ];
        let density = ML.fit(&[&observe(&ML, &columns, None).unwrap()], names(&["a", "b", "c", "d"], &[2; 4])).unwrap();
        let found: Vec<(usize, usize)> = density.edges().iter().map(|edge| (edge.column, edge.parent)).collect();
        assert_eq!(found, [(2, 0), (1, 0), (3, 1)]);
        let weak = 0.75 * 1.5f64.ln() + 0.25 * 0.5f64.ln();
        let nats: Vec<f64> = density.edges().iter().map(|edge| edge.information).collect();
        close(&nats, &[2f64.ln(), weak, 2f64.ln()], 1e-15);
        let column =
            |name: &str| Column { name: name.into(), kind: Kind::Category, levels: vec!["no".into(), "yes".into()] };
        let parameters = density.parameters(&["a", "b", "c", "d"].map(column));
        assert_eq!(parameters[0].rows[1].0, "b given a");
        let shown: Vec<&str> = parameters[1].rows.iter().take(3).map(|row| row.0.as_str()).collect();
        assert_eq!(shown, ["a=no", "a=yes", "c=no given a=no"]);
    }

    /// Σ p over every completion of a row, the hard way.
    fn enumerated(density: &TreeDensity, class: usize, row: &[u32]) -> f64 {
        match row.iter().position(|&code| code == MISSING) {
            Some(j) => (0..density.levels[j] as u32)
                .map(|v| enumerated(density, class, &[&row[..j], &[v], &row[j + 1..]].concat()))
                .sum(),
            None => {
                let columns: Vec<Vec<u32>> = row.iter().map(|&code| vec![code]).collect();
                score(density, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()[class][0].exp()
            }
        }
    }

    proptest! {
        #[test]
        fn missing_cells_are_summed_out(
            rows in testing::rows(5, 3),
            row in prop::collection::vec(prop::sample::select(vec![0, 1, 2, MISSING, MISSING, UNSEEN]), 5),
            pseudo_count in prop::sample::select(vec![0.0, 0.2, 1.0]),
        ) {
            let family = Tree { pseudo_count, ..Tree::default() };
            let columns: Vec<Vec<u32>> = (0..5).map(|j| rows.iter().map(|row| row.0[j]).collect()).collect();
            let weights: Vec<f64> = rows.iter().map(|row| row.1).collect();
            let statistic =
                observe(&family, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>(), Some(&weights)).unwrap();
            if let Ok(density) = family.fit(&[&statistic, &statistic], names(&["a", "b", "c", "d", "e"], &[3; 5])) {
                let cells: Vec<[u32; 1]> = row.iter().map(|&code| [code]).collect();
                let scores = score(&density, &cells.iter().map(|c| &c[..]).collect::<Vec<_>>()).unwrap();
                let expected = enumerated(&density, 0, &row);
                prop_assert!((scores[0][0].exp() - expected).abs() <= 1e-12 * expected, "{} {}", scores[0][0].exp(), expected);
                prop_assert_eq!(scores[0][0], scores[1][0]);
            }
        }

        #[test]
        fn laws(rows in testing::rows(3, 5), cut in 0usize..40, weight in 0.0..3.0f64) {
            testing::check_laws(&Tree::default(), &rows, cut, weight)?;
        }
    }

    #[test]
    fn probabilities_sum_to_one() {
        let density = chain(&Tree::default());
        for class in 0..2 {
            assert!((enumerated(&density, class, &[MISSING; 3]) - 1.0).abs() < 1e-14);
        }
        assert_eq!(score(&density, &[&[MISSING], &[MISSING], &[MISSING]]).unwrap().concat(), [0.0, 0.0]);
    }

    #[test]
    fn maximum_likelihood_rules_out_what_was_not_seen() {
        let density = chain(&ML);
        // (0, 0, 2) has 2 of 6 rows; (1, 0, ·) none.
        let scores = score(&density, &[&[0, 1, UNSEEN], &[0, 0, 0], &[2, 0, 0]]).unwrap();
        close(&scores[0], &[(2.0f64 / 6.0).ln(), NEVER, NEVER], 1e-15);
    }

    #[test]
    fn hostile_input_is_refused() {
        assert!(Tree { back_off: Some(-1.0), ..ML }.check().is_err());
        assert!(Tree { pseudo_count: f64::NAN, ..ML }.check().is_err());
        let error = observe(&ML, &[&[5000], &[5000]], None).unwrap_err().to_string();
        assert!(error.contains("column `c1` alone has 5001 levels"), "{error}");
        let nothing = observe(&ML, &[&[MISSING], &[0]], None).unwrap();
        let error = ML.fit(&[&nothing], names(&["a", "b"], &[2, 2])).unwrap_err().to_string();
        assert!(error.contains("class `k0` has no cell in column `a`"), "{error}");
        let strict = chain(&Tree { unseen: Unseen::Error, ..Tree::default() });
        let error = score(&strict, &[&[0, MISSING], &[0, UNSEEN], &[0, 0]]).unwrap_err().to_string();
        assert!(error.contains("column `c1`, row 2"), "{error}");
        // A single column is a categorical one.
        let one = observe(&ML, &[&[0, 1, 1, 1]], None).unwrap();
        let density = ML.fit(&[&one], names(&["a"], &[2])).unwrap();
        close(&score(&density, &[&[1, MISSING]]).unwrap()[0], &[0.75f64.ln(), 0.0], 1e-15);
    }

    #[test]
    fn samples_have_the_frequencies_of_pairs() {
        let density = chain(&Tree::default());
        let marginal = |j: usize, levels: u32| {
            let row = |v: u32| (0..3).map(|k| if k == j { v } else { MISSING }).collect::<Vec<_>>();
            (0..levels).map(|v| enumerated(&density, 0, &row(v))).collect::<Vec<_>>()
        };
        testing::check_samples(&density, 0, &[marginal(0, 2), marginal(1, 2), marginal(2, 3)]);
        let mut random = Random::new(5);
        let row = [Value::Level(0), Value::Level(0), Value::Level(2)];
        let share = (0..40_000).filter(|_| density.sample(0, &mut random).unwrap() == row).count() as f64 / 40_000.0;
        assert!((share - enumerated(&density, 0, &[0, 0, 2])).abs() < 0.011, "{share}");
    }

    #[test]
    fn files_hold_it_and_damage_is_refused() {
        let statistic = observe(&ML, &[&[0, 3], &[1, MISSING], &[0, 2]], None).unwrap();
        assert_eq!(from_bytes::<PairCounts>(&to_bytes(&statistic).unwrap()).unwrap(), statistic);
        let density = chain(&ML);
        assert_eq!(from_bytes::<TreeDensity>(&to_bytes(&density).unwrap()).unwrap(), density);
        let mut archive = Archive::new("state");
        statistic.store(&mut archive, "s").unwrap();
        archive.put_json("s.singles.lengths", &[2, 4, 3]).unwrap();
        assert!(PairCounts::load(&archive, "s").is_err());
        let with_edges = |edges: &[Edge]| {
            let mut archive = Archive::new("state");
            density.store(&mut archive, "d").unwrap();
            archive.put_json("d.shape", &(2, [2, 2, 3], Unseen::Share, edges)).unwrap();
            TreeDensity::load(&archive, "d")
        };
        let edges = density.edges().to_vec();
        assert_eq!(with_edges(&edges).unwrap(), density);
        let loops =
            vec![Edge { parent: 2, column: 1, ..edges[0].clone() }, Edge { parent: 1, column: 2, ..edges[1].clone() }];
        assert!(with_edges(&loops).is_err() && with_edges(&edges[..1]).is_err());
        let far = vec![edges[0].clone(), Edge { column: 9, ..edges[1].clone() }];
        assert!(with_edges(&far).is_err());
    }
}
