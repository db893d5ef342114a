//! Which columns a second chain has, that is grown for the class: behind its column comes the one that tells most of
//! the class beside it, then the one that tells most beside both, and so on, as long as one tells more than chance.
//!
//! The chains of `structure.rs` have columns that depend on each other. Where single columns and pairs tell little of
//! the class, and three or four together settle it, as in games, they miss what these chains find: they are paths of a
//! decision tree whose nodes of one depth ask for the same column.
//!
//! A column tells as much as it makes the labels more probable, each by the counts without its own row, backed off as in
//! `chain.rs` with a concentration of [`CONCENTRATION`]. So columns whose cells are too small for their rows tell nothing.
//! The best of m columns gains by chance, for which it has to pay ln m nats.

use rayon::prelude::*;

use super::chain::{Root, left_out, own_shares};
use super::table::CodedTable;
use crate::numerics::{dot, lanes, vectorised};

/// How many rows the cells before are worth while columns are compared.
const CONCENTRATION: f64 = 4.0;
/// Behind the first parent, so many columns are tried: those that told most in its place.
const MOST_TRIED: usize = 16;
/// The most rows times pairs of columns that are looked at; beyond that, every so many rows are.
const MOST_LOOKED_AT: f64 = 2e7;

/// A chain that begins with each of the columns, but for those without parents, and those of the same columns as one
/// before.
pub fn chains(table: &CodedTable, root: &Root, parents: usize, columns: &[usize]) -> Vec<Vec<usize>> {
    let looked_at = (columns.len() * columns.len()) as f64 * table.rows() as f64;
    let step = (looked_at / MOST_LOOKED_AT).ceil().max(1.0) as usize;
    let all = Told::new(table, root, step);
    let mut chains: Vec<Vec<usize>> =
        columns.par_iter().map(|&first| chain(all.clone(), first, parents, columns)).collect();
    let mut seen: Vec<Vec<usize>> = Vec::new();
    chains.retain(|chain| {
        let mut members = chain.clone();
        members.sort_unstable();
        let is_new = chain.len() > 1 && !seen.contains(&members);
        seen.push(members);
        is_new
    });
    chains
}

fn chain(mut told: Told<'_>, first: usize, parents: usize, columns: &[usize]) -> Vec<usize> {
    let mut chain = vec![first];
    let mut others: Vec<usize> = columns.iter().copied().filter(|&column| column != first).collect();
    while chain.len() <= parents {
        told.split(chain[chain.len() - 1]);
        let before = told.log_probability(&told.shares);
        let gain = |&column: &usize| (told.log_probability(&told.shares_by(column)) - before, column);
        let mut gains: Vec<(f64, usize)> = others.iter().map(gain).collect();
        gains.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        match gains.first() {
            Some(&(gain, best)) if gain > (gains.len() as f64).ln() => chain.push(best),
            _ => break,
        }
        others = gains.into_iter().skip(1).take(MOST_TRIED).map(|(_, column)| column).collect();
    }
    chain
}

/// Rows in groups that share the codes of all columns so far, and what is told of their classes.
#[derive(Clone)]
struct Told<'a> {
    table: &'a CodedTable,
    /// The rows, group after group.
    rows: Vec<u32>,
    /// Their labels and weights, in the same order.
    labels: Vec<u32>,
    weights: Vec<f64>,
    /// Where each group begins, and where the last ends.
    starts: Vec<usize>,
    /// The share of each row's own class, by counts without the row.
    shares: Vec<f64>,
}

impl<'a> Told<'a> {
    /// Every `step`th row, in one group.
    fn new(table: &'a CodedTable, root: &Root, step: usize) -> Self {
        let rows: Vec<u32> = (0..table.rows() as u32).step_by(step).collect();
        let shares = own_shares(table, root).into_iter().step_by(step).collect();
        let labels = rows.iter().map(|&row| table.labels[row as usize]).collect();
        let weights = rows.iter().map(|&row| table.weights[row as usize]).collect();
        Told { table, starts: vec![0, rows.len()], rows, labels, weights, shares }
    }

    /// The shares of the rows' own classes if groups were split by a column.
    fn shares_by(&self, column: usize) -> Vec<f64> {
        let (codes, classes) = (&self.table.columns[column], self.table.classes);
        let mut counts = vec![0.0; self.table.codes[column] * classes];
        let mut totals = vec![0.0; self.table.codes[column]];
        let mut shares = Vec::with_capacity(self.rows.len());
        let mut own: Vec<usize> = Vec::new();
        for group in self.starts.windows(2) {
            let group = group[0]..group[1];
            let (labels, weights) = (&self.labels[group.clone()], &self.weights[group.clone()]);
            own.clear();
            own.extend(self.rows[group.clone()].iter().map(|&row| usize::from(codes[row as usize])));
            for ((&code, &label), weight) in own.iter().zip(labels).zip(weights) {
                counts[code * classes + label as usize] += weight;
                totals[code] += weight;
            }
            let rows = own.iter().zip(labels).zip(weights.iter().zip(&self.shares[group]));
            for ((&code, &label), (&weight, before)) in rows {
                let less = left_out(weight);
                let n = (counts[code * classes + label as usize] - less).max(0.0);
                shares.push((n + CONCENTRATION * before) / ((totals[code] - less).max(0.0) + CONCENTRATION));
            }
            for (&code, &label) in own.iter().zip(labels) {
                counts[code * classes + label as usize] = 0.0;
                totals[code] = 0.0;
            }
        }
        shares
    }

    /// Splits the groups by a column. Rows without another one in their group are left out: nothing more is told of them.
    fn split(&mut self, column: usize) {
        let codes = &self.table.columns[column];
        let shares = self.shares_by(column);
        let mut parts: Vec<Vec<usize>> = vec![Vec::new(); self.table.codes[column]];
        let (rows, labels, weights) = (Vec::new(), Vec::new(), Vec::new());
        let mut split = Told { table: self.table, rows, labels, weights, starts: vec![0], shares: Vec::new() };
        for group in self.starts.windows(2) {
            (group[0]..group[1]).for_each(|place| parts[usize::from(codes[self.rows[place] as usize])].push(place));
            for part in &mut parts {
                let weight: f64 = part.iter().map(|&place| self.weights[place]).sum();
                if part.len() > 1 || weight > 1.0 {
                    split.rows.extend(part.iter().map(|&place| self.rows[place]));
                    split.labels.extend(part.iter().map(|&place| self.labels[place]));
                    split.weights.extend(part.iter().map(|&place| self.weights[place]));
                    split.shares.extend(part.iter().map(|&place| shares[place]));
                    split.starts.push(split.rows.len());
                }
                part.clear();
            }
        }
        *self = split;
    }

    /// The log-probability of the labels with these shares.
    fn log_probability(&self, shares: &[f64]) -> f64 {
        let mut logs = vec![0.0; shares.len()];
        vectorised!(for (log, share) in logs.iter_mut().zip(shares) {
            *log = lanes::ln(*share);
        });
        dot(&logs, &self.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The class is the parity of the first three columns but for some rows, and the fourth is noise. One by one, no
    /// column tells anything.
    fn parity() -> CodedTable {
        let bit = |i: usize, place: usize| (i >> place & 1) as u8;
        let label = |i: usize| u32::from((bit(i, 0) + bit(i, 1) + bit(i, 2)) % 2) ^ u32::from(i.is_multiple_of(37));
        CodedTable {
            columns: (0..4).map(|c| (0..480).map(|i| bit(i, c)).collect()).collect(),
            codes: vec![2; 4],
            labels: (0..480).map(label).collect(),
            weights: vec![1.0; 480],
            classes: 2,
        }
    }

    fn roots(table: &CodedTable) -> Root {
        Root { weights: table.class_weights() }
    }

    #[test]
    fn shares_are_by_counts_without_the_row() {
        let table = CodedTable {
            columns: vec![vec![0, 0, 0, 1, 1]],
            codes: vec![2],
            labels: vec![0, 0, 1, 1, 1],
            weights: vec![1.0; 5],
            classes: 2,
        };
        let told = Told::new(&table, &roots(&table), 1);
        // Without the first row: (1 + ½)/5 of the root, and one of two others.
        let root = 1.5 / 5.0;
        assert!((told.shares[0] - root).abs() < 1e-15);
        assert!((told.shares_by(0)[0] - (1.0 + CONCENTRATION * root) / (2.0 + CONCENTRATION)).abs() < 1e-15);
    }

    #[test]
    fn rows_that_are_alone_are_left_out() {
        let table = CodedTable {
            columns: vec![vec![1, 0, 1, 2]],
            codes: vec![3],
            labels: vec![0, 1, 1, 1],
            weights: vec![1.0, 1.0, 1.0, 2.0],
            classes: 2,
        };
        let mut told = Told::new(&table, &roots(&table), 1);
        told.split(0);
        assert_eq!((told.rows, told.starts), (vec![0, 2, 3], vec![0, 2, 3]));
    }

    #[test]
    fn columns_that_tell_together_stand_in_one_chain() {
        let table = parity();
        let mut told = Told::new(&table, &roots(&table), 1);
        told.split(0);
        told.split(1);
        let gain = |column: usize| told.log_probability(&told.shares_by(column)) - told.log_probability(&told.shares);
        assert!(gain(2) > 100.0 && gain(3) < 0.0, "{} {}", gain(2), gain(3));
        // Chains without parents are none, and so are those of the same columns.
        assert!(chains(&table, &roots(&table), 0, &[0, 1, 2, 3]).is_empty());
        let found = chains(&table, &roots(&table), 3, &[0, 1, 2, 3]);
        let sets: std::collections::BTreeSet<Vec<usize>> = found
            .iter()
            .map(|chain| {
                let mut set = chain.clone();
                set.sort_unstable();
                set
            })
            .collect();
        assert_eq!(sets.len(), found.len());
    }
}
