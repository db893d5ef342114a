//! A chain of tables: the weights of the classes among the rows that share the code of a column, then those that share
//! the code of its first parent too, and so on. Each table backs off to the one before:
//!
//! ```text
//! pₘ(y) = (n(cell, y) + cₘ pₘ₋₁(y)) / (n(cell) + cₘ)
//! ```
//!
//! with p₋₁ the shares of the classes ([`Root`]). In a cell that no training row has, pₘ is pₘ₋₁, and so it is in all
//! cells behind it. cₘ is that of the [`GRID`] under which the training rows are most probable,
//! each by the counts without itself. A row of weight w counts as w rows: one of them is left out, or all of it where
//! w < 1.

use super::table::CodedTable;
use crate::numerics::{dot, lanes, vectorised};

/// The values that are tried for each concentration.
const GRID: [f64; 10] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// How much of a row's weight is left out with it.
pub fn left_out(weight: f64) -> f64 {
    weight.min(1.0)
}

/// The shares of the classes before a cell is seen: (n(y) + 1/K)/(n + 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// The weight of each class.
    pub weights: Vec<f64>,
}

impl Root {
    /// The shares, without `out.1` of the class `out.0`.
    pub fn shares(&self, out: Option<(usize, f64)>, p: &mut [f64]) {
        let k = self.weights.len() as f64;
        let less = out.map_or(0.0, |(_, less)| less);
        let scale = 1.0 / (self.weights.iter().sum::<f64>() - less + 1.0);
        for (y, (p, n)) in p.iter_mut().zip(&self.weights).enumerate() {
            let own = out.filter(|(class, _)| *class == y).map_or(0.0, |(_, less)| less);
            *p = ((n - own).max(0.0) + 1.0 / k) * scale;
        }
    }
}

/// A table of the chain. Its cells lie in the order of those of the table before, and there by their code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Level {
    /// c, how many rows the table before is worth.
    pub concentration: f64,
    /// Where the cells begin that refine each cell of the table before, and where the last ends.
    pub first: Vec<u32>,
    /// The code of each cell.
    pub codes: Vec<u8>,
    /// Where the classes of each cell begin, and where the last ends.
    pub starts: Vec<u32>,
    /// The classes that occur in each cell, and their weights.
    pub classes: Vec<u32>,
    pub weights: Vec<f64>,
}

impl Level {
    fn new(concentration: f64) -> Self {
        Level { concentration, first: vec![0], starts: vec![0], ..Level::default() }
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.codes.len()
    }

    /// The cell that refines another one by a code, if there is one.
    #[inline]
    fn child(&self, cell: usize, code: u8) -> Option<usize> {
        let (start, end) = (self.first[cell] as usize, self.first[cell + 1] as usize);
        self.codes[start..end].iter().position(|c| *c == code).map(|place| start + place)
    }

    /// The classes of a cell and their weights.
    #[inline]
    pub fn of(&self, cell: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[cell] as usize..self.starts[cell + 1] as usize;
        self.classes[range.clone()].iter().map(|&class| class as usize).zip(self.weights[range].iter().copied())
    }
}

/// A column with its parents, and a table for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The column, then its parents.
    pub columns: Vec<usize>,
    /// As many tables.
    pub levels: Vec<Level>,
}

impl Chain {
    /// Counts the rows and chooses the concentrations.
    pub fn grow(table: &CodedTable, root: &Root, columns: Vec<usize>) -> Self {
        let mut groups = Groups::new(table.rows());
        // pₘ(label) without the row itself, by the tables so far.
        let mut own = own_shares(table, root);
        let mut levels = Vec::new();
        for &column in &columns {
            let mut level = Level::new(0.0);
            groups.refine(&table.columns[column], &mut level);
            groups.count(table, &mut level);
            level.concentration = groups.choose(table, &level, &mut own);
            levels.push(level);
        }
        Chain { columns, levels }
    }

    /// Calls `visit` with pₘ for each table whose cell the row has. `p` holds p₋₁ at first and is changed; `code` gives
    /// the row's code of a column. A row that was counted is left out by its class and weight.
    #[inline]
    pub fn walk(
        &self,
        code: impl Fn(usize) -> u8,
        out: Option<(usize, f64)>,
        p: &mut [f64],
        mut visit: impl FnMut(usize, &[f64]),
    ) {
        let mut cell = 0;
        for (m, (level, &column)) in self.levels.iter().zip(&self.columns).enumerate() {
            let Some(child) = level.child(cell, code(column)) else { return };
            cell = child;
            let less = out.map_or(0.0, |(_, less)| less);
            let total = level.of(cell).map(|(_, n)| n).sum::<f64>() - less;
            // Nobody else is in this cell, and in those behind it.
            if total <= 0.0 {
                return;
            }
            let scale = 1.0 / (total + level.concentration);
            let kept = level.concentration * scale;
            p.iter_mut().for_each(|p| *p *= kept);
            for (y, n) in level.of(cell) {
                let own = if out.is_some_and(|(class, _)| class == y) { less } else { 0.0 };
                p[y] += (n - own).max(0.0) * scale;
            }
            visit(m, p);
        }
    }
}

/// What the root says of each row's own class, without the row.
pub fn own_shares(table: &CodedTable, root: &Root) -> Vec<f64> {
    let k = table.classes as f64;
    let total = table.weight();
    let rows = table.labels.iter().zip(&table.weights);
    rows.map(|(&label, &w)| {
        let less = left_out(w);
        ((root.weights[label as usize] - less).max(0.0) + 1.0 / k) / (total - less + 1.0)
    })
    .collect()
}

/// Rows in groups that share the codes of all columns so far.
struct Groups {
    /// The rows, group after group, in each as they came.
    order: Vec<u32>,
    /// Where each group begins, and where the last ends.
    starts: Vec<u32>,
    sorted: Vec<u32>,
}

impl Groups {
    fn new(rows: usize) -> Self {
        Groups { order: (0..rows as u32).collect(), starts: vec![0, rows as u32], sorted: vec![0; rows] }
    }

    /// Splits every group by the codes of a column, and writes down the cells.
    fn refine(&mut self, codes: &[u8], level: &mut Level) {
        let mut starts = vec![0];
        let mut places = [0u32; 256];
        for group in self.starts.windows(2) {
            let (start, end) = (group[0] as usize, group[1] as usize);
            let rows = &self.order[start..end];
            match rows {
                [] => {}
                [row] => {
                    self.sorted[start] = *row;
                    level.codes.push(codes[*row as usize]);
                    starts.push(end as u32);
                }
                _ => {
                    let most = rows.iter().map(|&row| codes[row as usize]).max().map_or(0, usize::from);
                    let places = &mut places[..=most];
                    places.fill(0);
                    rows.iter().for_each(|&row| places[usize::from(codes[row as usize])] += 1);
                    let mut next = start as u32;
                    for (code, place) in places.iter_mut().enumerate().filter(|(_, n)| **n > 0) {
                        let count = *place;
                        *place = next;
                        next += count;
                        level.codes.push(code as u8);
                        starts.push(next);
                    }
                    for &row in rows {
                        let place = &mut places[usize::from(codes[row as usize])];
                        self.sorted[*place as usize] = row;
                        *place += 1;
                    }
                }
            }
            level.first.push(level.codes.len() as u32);
        }
        std::mem::swap(&mut self.order, &mut self.sorted);
        self.starts = starts;
    }

    /// The weights of the classes in each group.
    fn count(&self, table: &CodedTable, level: &mut Level) {
        let mut sums = vec![0.0; table.classes];
        let mut seen: Vec<u32> = Vec::new();
        for group in self.starts.windows(2) {
            for &row in &self.order[group[0] as usize..group[1] as usize] {
                let label = table.labels[row as usize];
                if sums[label as usize] == 0.0 {
                    seen.push(label);
                }
                sums[label as usize] += table.weights[row as usize];
            }
            seen.sort_unstable();
            for label in seen.drain(..) {
                level.classes.push(label);
                level.weights.push(std::mem::take(&mut sums[label as usize]));
            }
            level.starts.push(level.classes.len() as u32);
        }
    }

    /// The concentration under which the rows are most probable, each by the counts without itself. `own` has what the
    /// table before says of each row's class, and is replaced by what this one does.
    fn choose(&self, table: &CodedTable, level: &Level, own: &mut [f64]) -> f64 {
        let rows = self.order.len();
        let [mut n, mut total, mut before, mut weight] = [0; 4].map(|_| vec![0.0; rows]);
        let mut sums = vec![0.0; table.classes];
        for (cell, group) in self.starts.windows(2).enumerate() {
            level.of(cell).for_each(|(y, w)| sums[y] = w);
            let all: f64 = level.of(cell).map(|(_, w)| w).sum();
            for i in group[0] as usize..group[1] as usize {
                let row = self.order[i] as usize;
                let less = left_out(table.weights[row]);
                (n[i], total[i]) = ((sums[table.labels[row] as usize] - less).max(0.0), (all - less).max(0.0));
                (before[i], weight[i]) = (own[row], table.weights[row]);
            }
        }
        let mut logs = vec![0.0; rows];
        let values = GRID.map(|c| {
            let cells = logs.iter_mut().zip(&n).zip(total.iter().zip(&before));
            vectorised!(for ((log, n), (total, before)) in cells {
                *log = lanes::ln((n + c * before) / (total + c));
            });
            dot(&logs, &weight)
        });
        let best = (0..GRID.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)));
        let c = GRID[best.unwrap_or(0)];
        for (i, &row) in self.order.iter().enumerate() {
            own[row as usize] = (n[i] + c * before[i]) / (total[i] + c);
        }
        c
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::k_dependence::tests::table;

    /// All pₘ of a row.
    fn walked(chain: &Chain, root: &Root, table: &CodedTable, row: usize, out: Option<(usize, f64)>) -> Vec<Vec<f64>> {
        let mut p = vec![0.0; table.classes];
        root.shares(out, &mut p);
        let mut all = vec![p.clone()];
        chain.walk(|column| table.columns[column][row], out, &mut p, |_, p| all.push(p.to_vec()));
        all
    }

    #[test]
    fn shares_by_hand() {
        let table = CodedTable {
            columns: vec![vec![0, 0, 0, 1, 1, 1], vec![2, 2, 0, 0, 0, 0]],
            codes: vec![2, 3],
            labels: vec![0, 0, 1, 1, 1, 0],
            weights: vec![1.0; 6],
            classes: 2,
        };
        let root = Root { weights: table.class_weights() };
        let mut chain = Chain::grow(&table, &root, vec![0, 1]);
        chain.levels[0].concentration = 2.0;
        chain.levels[1].concentration = 0.5;
        // Root ½, ½; three rows with code 0, two of class 0; two of them with code 2, both of class 0.
        let first = (2.0 + 2.0 * 0.5) / 5.0;
        let second = (2.0 + 0.5 * first) / 2.5;
        let found = walked(&chain, &root, &table, 0, None);
        for (found, by_hand) in found.iter().zip([0.5, first, second]) {
            assert!((found[0] - by_hand).abs() < 1e-15 && (found[1] - (1.0 - by_hand)).abs() < 1e-15, "{found:?}");
        }
        // Without the row itself: (2 + ½)/6 of the root, one of two rows, and the one that is left.
        let root_without = 2.5 / 6.0;
        let first = (1.0 + 2.0 * root_without) / 4.0;
        let second = (1.0 + 0.5 * first) / 1.5;
        let found = walked(&chain, &root, &table, 0, Some((0, 1.0)));
        for (found, by_hand) in found.iter().zip([root_without, first, second]) {
            assert!((found[0] - by_hand).abs() < 1e-15, "{found:?}");
        }
        // Nobody else has the codes of row 2, and no row has a code 7.
        assert_eq!(walked(&chain, &root, &table, 2, Some((1, 1.0))).len(), 2);
        let mut p = [0.5; 2];
        chain.walk(|_| 7, None, &mut p, |_, _| panic!("there is no such cell"));
    }

    #[test]
    fn a_row_left_out_equals_tables_without_it() {
        for weight in [1.0, 0.5] {
            let mut table = table(120, 3);
            table.weights.fill(weight);
            let root = Root { weights: table.class_weights() };
            let chain = Chain::grow(&table, &root, vec![2, 0, 1]);
            for row in 0..table.rows() {
                let without = |column: &Vec<u8>| [&column[..row], &column[row + 1..]].concat();
                let other = CodedTable {
                    columns: table.columns.iter().map(without).collect(),
                    codes: table.codes.clone(),
                    labels: [&table.labels[..row], &table.labels[row + 1..]].concat(),
                    weights: vec![weight; table.rows() - 1],
                    classes: table.classes,
                };
                let other_root = Root { weights: other.class_weights() };
                let mut grown = Chain::grow(&other, &other_root, chain.columns.clone());
                let levels = grown.levels.iter_mut().zip(&chain.levels);
                levels.for_each(|(own, level)| own.concentration = level.concentration);
                let refitted = walked(&grown, &other_root, &table, row, None);
                let out = Some((table.labels[row] as usize, left_out(weight)));
                let left_out = walked(&chain, &root, &table, row, out);
                assert_eq!(refitted.len(), left_out.len());
                for (a, b) in refitted.iter().flatten().zip(left_out.iter().flatten()) {
                    assert!((a - b).abs() < 1e-13, "{row}: {a}, {b}");
                }
            }
        }
    }

    #[test]
    fn concentrations_are_the_best_of_the_grid() {
        let table = table(150, 2);
        let root = Root { weights: table.class_weights() };
        let mut chain = Chain::grow(&table, &root, vec![1, 2]);
        let probability = |chain: &Chain| -> f64 {
            let of_row = |row: usize| {
                let label = table.labels[row] as usize;
                let all = walked(chain, &root, &table, row, Some((label, 1.0)));
                all[all.len() - 1][label].ln()
            };
            (0..table.rows()).map(of_row).sum()
        };
        let chosen = chain.levels[1].concentration;
        let best = probability(&chain);
        for c in GRID.into_iter().filter(|c| *c != chosen) {
            chain.levels[1].concentration = c;
            assert!(probability(&chain) < best, "{c} is better than {chosen}");
        }
    }
}
