//! How often levels and pairs of levels occur: the statistic of families in which a column may depend on one other
//! column given the class (tree, A1DE).
//!
//! Statistic: n(x_i) per column, and n(x_i, x_j) for each pair of columns from the rows that have both cells
//! (available cases). Merge: weights add.

use super::counts::{Ragged, add, differences, levels_in, relevel, renumbered};
use crate::data::Cells;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::statistic::{Retract, Statistic};

/// Pair tables of more cells in all (128 MB a class) are refused.
const MOST_PAIR_CELLS: usize = 1 << 24;

/// The weight of each level and of each pair of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct PairCounts {
    /// n(x_i) per column; its length is the number of levels so far.
    pub(super) singles: Ragged,
    /// n(x_i, x_j) for i < j, in the order (0,1), (0,2), …, (1,2), …; row after row of L_i × L_j.
    pub(super) pairs: Ragged,
}

impl PairCounts {
    /// Of no rows.
    pub fn empty(width: usize) -> Self {
        let pairs = width * width.saturating_sub(1) / 2;
        PairCounts { singles: Ragged(vec![Vec::new(); width]), pairs: Ragged(vec![Vec::new(); pairs]) }
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.singles.0.len()
    }

    /// How many levels each column has so far.
    pub fn levels(&self) -> Vec<usize> {
        self.singles.0.iter().map(Vec::len).collect()
    }

    /// Makes room for more levels: pair tables get a new layout.
    pub fn grow(&mut self, levels: &[usize]) {
        let old = self.levels();
        let new: Vec<usize> = old.iter().zip(levels).map(|(&a, &b)| a.max(b)).collect();
        if old == new {
            return;
        }
        for (p, (i, j)) in all_pairs(old.len()).enumerate() {
            if (old[i], old[j]) != (new[i], new[j]) {
                let mut table = vec![0.0; new[i] * new[j]];
                for (to, from) in table.chunks_exact_mut(new[j].max(1)).zip(self.pairs.0[p].chunks_exact(old[j].max(1)))
                {
                    to[..old[j]].copy_from_slice(from);
                }
                self.pairs.0[p] = table;
            }
        }
        self.singles.0.iter_mut().zip(&new).for_each(|(n, &levels)| n.resize(levels, 0.0));
    }

    /// The same with room for these levels.
    pub fn grown(&self, levels: &[usize]) -> PairCounts {
        let mut grown = self.clone();
        grown.grow(levels);
        grown
    }

    /// n(x_i = a, x_j = b) for any i ≠ j.
    pub fn pair(&self, i: usize, j: usize, a: usize, b: usize) -> f64 {
        match i < j {
            true => self.pairs.0[place(i, j, self.width())][a * self.singles.0[j].len() + b],
            false => self.pair(j, i, b, a),
        }
    }

    /// The counts of some of the columns, in this order.
    pub fn of_columns(&self, columns: &[usize]) -> PairCounts {
        let singles = columns.iter().map(|&j| self.singles.0[j].clone()).collect();
        let table = |(i, j): (usize, usize)| {
            let (from, to) = (columns[i], columns[j]);
            let (rows, width) = (self.singles.0[from].len(), self.singles.0[to].len());
            (0..rows * width).map(|cell| self.pair(from, to, cell / width, cell % width)).collect()
        };
        PairCounts { singles: Ragged(singles), pairs: Ragged(all_pairs(columns.len()).map(table).collect()) }
    }

    /// Adds rows.
    pub fn observe(&mut self, x: &Cells<'_>, names: &[String]) -> Result<()> {
        // Few enough rows that the codes of all columns stay in the first-level cache.
        let rows = ((16 << 10) / (4 * x.width().max(1))).clamp(64, 4096);
        let (mut columns, mut weights) = (vec![Vec::new(); x.width()], Vec::new());
        for start in (0..x.rows()).step_by(rows) {
            let part = x.part(start..x.rows().min(start + rows));
            let mut levels = self.levels();
            for (j, codes) in columns.iter_mut().enumerate() {
                part.read_codes(j, codes)?;
                levels[j] = levels[j].max(levels_in(codes, &part, &names[j])?);
            }
            check_pair_cells(&levels, names)?;
            self.grow(&levels);
            part.read_weights(&mut weights);
            let weights = part.weighted().then_some(weights.as_slice());
            for (j, counts) in self.singles.0.iter_mut().enumerate() {
                count_pairs(counts, (levels[j], 1), &columns[j], &vec![0; part.rows()], weights);
            }
            for ((i, j), table) in all_pairs(levels.len()).zip(&mut self.pairs.0) {
                count_pairs(table, (levels[i], levels[j]), &columns[i], &columns[j], weights);
            }
        }
        Ok(())
    }

    /// Renumbers levels: level `i` of column `j` becomes `maps[j][i]`; an empty map leaves a column as it is.
    pub fn relevel(&mut self, maps: &[Vec<u32>]) -> Result<()> {
        Error::check_shape("columns with renumbered levels", self.width(), maps.len())?;
        let singles = self.singles.0.iter().zip(maps).map(|(counts, map)| relevel(counts, map));
        let mut moved = PairCounts::empty(maps.len());
        let singles: Vec<Vec<f64>> = singles.collect::<Result<_>>()?;
        moved.grow(&singles.iter().map(Vec::len).collect::<Vec<_>>());
        moved.singles = Ragged(singles);
        let levels = self.levels();
        for (p, (i, j)) in all_pairs(maps.len()).enumerate() {
            let to_levels = moved.singles.0[j].len();
            for (cell, &n) in self.pairs.0[p].iter().enumerate().filter(|(_, n)| **n > 0.0) {
                let (a, b) = (renumbered(&maps[i], cell / levels[j])?, renumbered(&maps[j], cell % levels[j])?);
                moved.pairs.0[p][a * to_levels + b] += n;
            }
        }
        *self = moved;
        Ok(())
    }
}

/// The pairs i < j of columns, in the order of the tables.
pub fn all_pairs(width: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..width).flat_map(move |i| (i + 1..width).map(move |j| (i, j)))
}

/// The place of pair i < j in that order.
pub fn place(i: usize, j: usize, width: usize) -> usize {
    i * (2 * width - i - 1) / 2 + j - i - 1
}

/// n(a, b) ← n(a, b) + Σ wᵢ [xᵢ = (a, b)]; codes beyond the levels are missing.
fn count_pairs(table: &mut [f64], levels: (usize, usize), a: &[u32], b: &[u32], weights: Option<&[f64]>) {
    let mut add = |a: u32, b: u32, w: f64| {
        let (a, b) = (a as usize, b as usize);
        if a < levels.0 && b < levels.1 {
            table[a * levels.1 + b] += w;
        }
    };
    match weights {
        None => a.iter().zip(b).for_each(|(&a, &b)| add(a, b, 1.0)),
        Some(weights) => a.iter().zip(b).zip(weights).for_each(|((&a, &b), &w)| add(a, b, w)),
    }
}

impl Statistic for PairCounts {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the merged pair counts", self.width(), other.width())?;
        self.grow(&other.levels());
        let other = other.grown(&self.levels());
        self.singles.0.iter_mut().zip(&other.singles.0).for_each(|(a, b)| add(a, b));
        self.pairs.0.iter_mut().zip(&other.pairs.0).for_each(|(a, b)| add(a, b));
        Ok(())
    }
}

impl Retract for PairCounts {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the removed pair counts", self.width(), other.width())?;
        let mine = self.grown(&other.levels());
        let other = other.grown(&mine.levels());
        let less = |a: &Ragged, b: &Ragged| {
            Ok(Ragged(a.0.iter().zip(&b.0).map(|(a, b)| differences(a, b)).collect::<Result<_>>()?))
        };
        *self = PairCounts { singles: less(&mine.singles, &other.singles)?, pairs: less(&mine.pairs, &other.pairs)? };
        Ok(())
    }
}

impl Stored for PairCounts {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.singles.store(archive, &format!("{name}.singles"))?;
        self.pairs.store(archive, &format!("{name}.pairs"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let singles = Ragged::load(archive, &format!("{name}.singles"))?;
        let pairs = Ragged::load(archive, &format!("{name}.pairs"))?;
        let width = singles.0.len();
        let fits = |((i, j), table): ((usize, usize), &Vec<f64>)| {
            singles.0[i].len().checked_mul(singles.0[j].len()) == Some(table.len())
        };
        if pairs.0.len() != width * width.saturating_sub(1) / 2 || !all_pairs(width).zip(&pairs.0).all(fits) {
            return Err(archive.damaged(&format!("`{name}` has pair tables that do not fit its levels")));
        }
        Ok(PairCounts { singles, pairs })
    }
}

/// Refuses pair tables that would not fit into memory, naming the column with the most levels.
pub fn check_pair_cells(levels: &[usize], names: &[String]) -> Result<()> {
    let (sum, squares) = levels.iter().fold((0u128, 0u128), |(s, q), &l| (s + l as u128, q + (l as u128).pow(2)));
    let cells = (sum * sum - squares) / 2;
    if cells <= MOST_PAIR_CELLS as u128 {
        return Ok(());
    }
    let most = (0..levels.len()).max_by_key(|&j| levels[j]).unwrap_or(0);
    Err(Error::Schema(format!(
        "there would be {cells} pairs of levels to count, more than {MOST_PAIR_CELLS}: column `{0}` alone has {1} levels; leave it out with §ignore='{0}'",
        names[most], levels[most]
    )))
}
