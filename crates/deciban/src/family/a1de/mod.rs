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

mod density;
#[cfg(test)]
mod tests;

pub use density::A1deDensity;

use serde::{Deserialize, Serialize};

use self::density::{ClassCounts, Tables};
use super::counts::{Unseen, check_pseudo_count, mark, nothing_to_estimate};
use super::pairs::PairCounts;
use super::{Family, Names};
use crate::data::{Cells, MISSING};
use crate::error::Result;

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
