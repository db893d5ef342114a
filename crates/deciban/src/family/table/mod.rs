//! Table family: the joint distribution of several categories, one cell per combination of levels.
//!
//! Statistic: n(x) = Σ wᵢ [xᵢ = x] for each combination x that occurs; a row with a missing cell
//! belongs to no combination and adds nothing. Merge: weights add.
//!
//! p(x | c) = (n_c(x) + α) / (N_c + α ∏_j L_j),  L_j levels in column j.
//!
//! A row with missing cells is scored by the sum over the combinations it may be:
//! (Σ n_c(x) + α·their number) / (N_c + α ∏ L_j). A level that training never saw makes a cell of
//! count 0. Only combinations that occur are kept, but ∏ L_j is limited to [`MOST_CELLS`].

mod density;
mod statistic;
#[cfg(test)]
mod tests;

pub use density::TableDensity;
pub use statistic::JointCounts;

use serde::{Deserialize, Serialize};

use self::density::read_all;
use self::statistic::{bits, cells_of, pack, too_many, unpack};
use super::counts::{Unseen, check_pseudo_count, levels_in, renumbered};
use super::{Family, Names};
use crate::data::{Cells, MISSING};
use crate::error::{Error, Result};

/// Tables of more cells are refused: hardly any of them would be seen in training.
pub const MOST_CELLS: usize = 1_000_000;

/// The table family with its hyper-parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// α of every cell.
    pub pseudo_count: f64,
    /// What to do with a level that training never saw.
    #[serde(default)]
    pub unseen: Unseen,
}

impl Default for Table {
    fn default() -> Self {
        Table { pseudo_count: 1.0, unseen: Unseen::Share }
    }
}

impl Family for Table {
    type Statistic = JointCounts;
    type Density = TableDensity;

    fn with_pseudo_count(self, pseudo_count: f64) -> Self {
        Self { pseudo_count, ..self }
    }

    fn empty(&self, width: usize) -> JointCounts {
        JointCounts::empty(width)
    }

    fn size(&self, _: usize) -> usize {
        1 << 18
    }

    fn observe(&self, statistic: &mut JointCounts, x: &Cells<'_>, names: &[String]) -> Result<()> {
        let columns = read_all(x)?;
        let mut levels = statistic.levels.clone();
        for (j, codes) in columns.iter().enumerate() {
            levels[j] = levels[j].max(levels_in(codes, x, &names[j])?);
        }
        if cells_of(&levels).is_none() {
            return Err(too_many(&levels, names));
        }
        statistic.grow(&levels)?;
        let bits = bits(&levels);
        let mut weights = Vec::new();
        x.read_weights(&mut weights);
        let mut row = vec![0; columns.len()];
        for (i, w) in weights.iter().enumerate() {
            row.iter_mut().zip(&columns).for_each(|(code, column)| *code = column[i]);
            if *w > 0.0 && !row.contains(&MISSING) {
                *statistic.cells.entry(pack(&bits, &row)).or_insert(0.0) += w;
            }
        }
        Ok(())
    }

    fn relevel(&self, statistic: &mut JointCounts, maps: &[Vec<u32>]) -> Result<()> {
        Error::check_shape("columns with renumbered levels", statistic.levels.len(), maps.len())?;
        let move_all = |(codes, n): (Vec<u32>, f64)| {
            let moved = codes.iter().zip(maps).map(|(&code, map)| renumbered(map, code as usize).map(|new| new as u32));
            Ok((moved.collect::<Result<Vec<u32>>>()?, n))
        };
        let cells: Vec<(Vec<u32>, f64)> = statistic.cells().into_iter().map(move_all).collect::<Result<_>>()?;
        let mut moved = JointCounts::empty(maps.len());
        let room = |j: usize| cells.iter().map(|cell| cell.0[j] as usize + 1).max().unwrap_or(0);
        moved.grow(&(0..maps.len()).map(room).collect::<Vec<_>>())?;
        let bits = bits(&moved.levels);
        for (codes, n) in cells {
            *moved.cells.entry(pack(&bits, &codes)).or_insert(0.0) += n;
        }
        *statistic = moved;
        Ok(())
    }

    fn mark_levels(&self, statistic: &JointCounts, j: usize, seen: &mut [bool]) {
        let bits = bits(&statistic.levels);
        for (&key, _) in statistic.cells.iter().filter(|(_, n)| **n > 0.0) {
            if let Some(seen) = seen.get_mut(unpack(&bits, key)[j] as usize) {
                *seen = true;
            }
        }
    }

    /// A row with a missing cell belongs to no combination.
    fn shows_levels(&self) -> bool {
        false
    }

    fn fit(&self, classes: &[&JointCounts], names: Names<'_>) -> Result<TableDensity> {
        check_pseudo_count(self.pseudo_count)?;
        let seen = |j: usize| classes.iter().map(|class| class.levels[j]).max().unwrap_or(0);
        let levels: Vec<usize> = (0..names.columns.len()).map(|j| seen(j).max(names.levels[j]).max(1)).collect();
        if cells_of(&levels).is_none() {
            return Err(too_many(&levels, names.columns));
        }
        let k = classes.len();
        let index = |codes: &[u32]| codes.iter().zip(&levels).fold(0, |cell, (&code, &l)| cell * l + code as usize);
        let mut counts: std::collections::BTreeMap<usize, Vec<f64>> = Default::default();
        for (c, class) in classes.iter().enumerate() {
            let cells = class.cells();
            if cells.iter().map(|cell| cell.1).sum::<f64>() + self.pseudo_count <= 0.0 {
                return Err(Error::Classes(format!(
                    "class `{}` has no row with a cell in each column of the table: give §pseudo_count above 0, or leave \
                     columns out with §ignore",
                    names.classes[c]
                )));
            }
            for (codes, n) in cells {
                counts.entry(index(&codes)).or_insert_with(|| vec![0.0; k])[c] = n;
            }
        }
        let (occurring, counts): (Vec<usize>, Vec<Vec<f64>>) = counts.into_iter().unzip();
        Ok(TableDensity::new(levels, self.pseudo_count, self.unseen, &occurring, &counts.concat(), k))
    }
}
