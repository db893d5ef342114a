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

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::counts::{
    Unseen, check_pseudo_count, difference, level_name, levels_in, refuse_unseen, renumbered, weights,
};
use super::{Density, Family, Names, Parameters};
use crate::data::{Cells, Column, MISSING, Tile, Value};
use crate::error::{Error, Result, list};
use crate::file::{Archive, Stored};
use crate::numerics::{Random, hash};
use crate::statistic::{Retract, Statistic};

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

/// Mixes a packed combination; hostile keys are no concern, combinations are few.
#[derive(Clone, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(b as u64));
    }
    fn write_u64(&mut self, x: u64) {
        self.0 = hash(self.0, x);
    }
}

/// The weight of each combination of levels that occurs.
///
/// A combination is packed into 64 bits, each column with as many as its levels need. More are
/// never needed: a column of b bits has at least 2^(b/2) levels, so that beyond 64 bits there are
/// more than 2³² cells.
#[derive(Clone)]
pub struct JointCounts {
    /// One more than the largest code of each column.
    levels: Vec<usize>,
    cells: HashMap<u64, f64, BuildHasherDefault<Mix>>,
}

impl JointCounts {
    fn empty(width: usize) -> Self {
        JointCounts { levels: vec![0; width], cells: HashMap::default() }
    }

    /// The combinations in ascending order with their weights.
    pub fn cells(&self) -> Vec<(Vec<u32>, f64)> {
        let bits = bits(&self.levels);
        let mut cells: Vec<_> = self.cells.iter().map(|(&key, &n)| (unpack(&bits, key), n)).collect();
        cells.sort_by(|a, b| a.0.cmp(&b.0));
        cells
    }

    /// Makes room for more levels.
    fn grow(&mut self, levels: &[usize]) -> Result<()> {
        let levels: Vec<usize> = self.levels.iter().zip(levels).map(|(&a, &b)| a.max(b)).collect();
        let (old, new) = (bits(&self.levels), bits(&levels));
        check_bits(&new)?;
        if old != new {
            self.cells = self.cells.iter().map(|(&key, &n)| (pack(&new, &unpack(&old, key)), n)).collect();
        }
        self.levels = levels;
        Ok(())
    }
}

/// The bits that the codes of each column need.
fn bits(levels: &[usize]) -> Vec<u32> {
    levels.iter().map(|&levels| usize::BITS - levels.saturating_sub(1).leading_zeros()).collect()
}

fn check_bits(bits: &[u32]) -> Result<()> {
    match bits.iter().sum::<u32>() <= u64::BITS {
        true => Ok(()),
        false => Err(Error::Schema("the columns have too many combinations of levels for a table".into())),
    }
}

fn pack(bits: &[u32], codes: &[u32]) -> u64 {
    // A shift by all 64 bits happens only before the only column that has any.
    bits.iter().zip(codes).fold(0, |key, (&b, &code)| key.checked_shl(b).unwrap_or(0) | code as u64)
}

fn unpack(bits: &[u32], mut key: u64) -> Vec<u32> {
    let mut codes = vec![0; bits.len()];
    for (code, &b) in codes.iter_mut().zip(bits).rev() {
        *code = (key & ((1u64 << b) - 1)) as u32;
        key = key.checked_shr(b).unwrap_or(0);
    }
    codes
}

/// The number of cells, or `None` where it is beyond [`MOST_CELLS`].
fn cells_of(levels: &[usize]) -> Option<usize> {
    let product = levels.iter().try_fold(1usize, |cells, &levels| cells.checked_mul(levels.max(1)));
    product.filter(|&cells| cells <= MOST_CELLS)
}

fn too_many(levels: &[usize], columns: &[String]) -> Error {
    let cells = levels.iter().map(|&levels| levels.max(1) as f64).product::<f64>();
    Error::Schema(format!(
        "the table of {} has {cells} cells, more than {MOST_CELLS}: leave columns out with §ignore, or give §model=tree or naive-bayes",
        list(columns)
    ))
}

impl std::fmt::Debug for JointCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JointCounts").field("levels", &self.levels).field("cells", &self.cells()).finish()
    }
}

impl PartialEq for JointCounts {
    fn eq(&self, other: &Self) -> bool {
        self.levels == other.levels && self.cells == other.cells
    }
}

impl Statistic for JointCounts {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the merged table", self.levels.len(), other.levels.len())?;
        self.grow(&other.levels)?;
        let (theirs, mine) = (bits(&other.levels), bits(&self.levels));
        for (&key, n) in &other.cells {
            *self.cells.entry(pack(&mine, &unpack(&theirs, key))).or_insert(0.0) += n;
        }
        Ok(())
    }
}

impl Retract for JointCounts {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the removed table", self.levels.len(), other.levels.len())?;
        let mut left = self.clone();
        left.grow(&other.levels)?;
        let (theirs, mine) = (bits(&other.levels), bits(&left.levels));
        for (&key, &n) in &other.cells {
            let key = pack(&mine, &unpack(&theirs, key));
            match difference(left.cells.get(&key).copied().unwrap_or(0.0), n)? {
                0.0 => left.cells.remove(&key),
                rest => left.cells.insert(key, rest),
            };
        }
        *self = left;
        Ok(())
    }
}

impl Stored for JointCounts {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let cells = self.cells();
        archive.put_json(&format!("{name}.levels"), &(&self.levels, cells.len()))?;
        let codes: Vec<f64> = cells.iter().flat_map(|cell| cell.0.iter().map(|&code| code as f64)).collect();
        archive.put(&format!("{name}.codes"), &[cells.len(), self.levels.len()], &codes)?;
        archive.put(&format!("{name}.weights"), &[cells.len()], &cells.iter().map(|cell| cell.1).collect::<Vec<_>>())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (levels, count): (Vec<usize>, usize) = archive.json(&format!("{name}.levels"))?;
        let codes = archive.finite(&format!("{name}.codes"), &[count, levels.len()])?;
        let weights = weights(archive, &format!("{name}.weights"), count)?;
        let bits = bits(&levels);
        let damaged = || archive.damaged(&format!("`{name}` is no table of levels"));
        check_bits(&bits).map_err(|_| damaged())?;
        let mut cells = HashMap::default();
        for (codes, &n) in codes.chunks_exact(levels.len().max(1)).zip(weights) {
            let sound = codes.iter().zip(&levels).all(|(&c, &l)| c.fract() == 0.0 && c >= 0.0 && (c as usize) < l);
            let key = pack(&bits, &codes.iter().map(|&code| code as u32).collect::<Vec<_>>());
            if !sound || cells.insert(key, n).is_some() {
                return Err(damaged());
            }
        }
        Ok(JointCounts { levels, cells })
    }
}

/// The joint probabilities of a block of categories, per class.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDensity {
    levels: Vec<usize>,
    pseudo_count: f64,
    unseen: Unseen,
    /// The place of each cell in `weights` and `log_p`; those that never occur share place 0.
    places: Vec<u32>,
    /// n + α as [place][class].
    weights: Vec<f64>,
    /// ln (n + α) − ln (N + α ∏ L) as [place][class].
    log_p: Vec<f64>,
    /// ln (N + α ∏ L) per class.
    log_total: Vec<f64>,
}

impl TableDensity {
    /// From the cells that occur, ascending, and their counts as [cell][class].
    fn new(
        levels: Vec<usize>,
        pseudo_count: f64,
        unseen: Unseen,
        occurring: &[usize],
        counts: &[f64],
        k: usize,
    ) -> Self {
        let cells: usize = levels.iter().product();
        let mut places = vec![0; cells];
        occurring.iter().enumerate().for_each(|(place, &cell)| places[cell] = place as u32 + 1);
        let weights: Vec<f64> =
            std::iter::repeat_n(0.0, k).chain(counts.iter().copied()).map(|n| n + pseudo_count).collect();
        let total = |class: usize| counts.iter().skip(class).step_by(k).sum::<f64>() + pseudo_count * cells as f64;
        let log_total: Vec<f64> = (0..k).map(|class| total(class).ln()).collect();
        let log_p = weights.iter().enumerate().map(|(i, w)| (w.ln() - log_total[i % k]).min(0.0)).collect();
        TableDensity { levels, pseudo_count, unseen, places, weights, log_p, log_total }
    }

    /// p(x | class) of a combination of levels.
    pub fn probability(&self, class: usize, codes: &[u32]) -> f64 {
        let place = self.cell(codes).map_or(0, |cell| self.places[cell] as usize);
        self.log_p[place * self.log_total.len() + class].exp()
    }

    /// The cell of a combination, the last column running fastest; `None` beyond the table.
    fn cell(&self, codes: &[u32]) -> Option<usize> {
        codes
            .iter()
            .zip(&self.levels)
            .try_fold(0, |cell, (&code, &levels)| ((code as usize) < levels).then_some(cell * levels + code as usize))
    }

    fn codes(&self, mut cell: usize) -> Vec<u32> {
        let mut codes = vec![0; self.levels.len()];
        for (code, &levels) in codes.iter_mut().zip(&self.levels).rev() {
            *code = (cell % levels) as u32;
            cell /= levels;
        }
        codes
    }

    /// Adds the logarithm of Σ p over the combinations that a row with missing cells may be.
    fn add_marginal(&self, codes: &mut [u32], scores: &mut [f64]) {
        let missing: Vec<usize> = (0..codes.len()).filter(|&j| codes[j] == MISSING).collect();
        if missing.len() == codes.len() {
            return; // The whole table: p = 1.
        }
        let k = scores.len();
        let combinations: usize = missing.iter().map(|&j| self.levels[j]).product();
        missing.iter().for_each(|&j| codes[j] = 0);
        let mut sums = vec![0.0; k];
        if self.cell(codes).is_none() {
            // With a level never seen, none of the combinations occurs.
            sums.fill(self.pseudo_count * combinations as f64);
        } else {
            for _ in 0..combinations {
                let place = self.cell(codes).map_or(0, |cell| self.places[cell] as usize);
                sums.iter_mut().zip(&self.weights[place * k..]).for_each(|(sum, w)| *sum += w);
                advance(codes, &missing, &self.levels);
            }
        }
        for ((score, sum), log_total) in scores.iter_mut().zip(sums).zip(&self.log_total) {
            *score += (sum.ln() - log_total).min(0.0);
        }
    }
}

/// The next combination of the `free` columns.
fn advance(codes: &mut [u32], free: &[usize], levels: &[usize]) {
    for &j in free.iter().rev() {
        codes[j] += 1;
        if (codes[j] as usize) < levels[j] {
            return;
        }
        codes[j] = 0;
    }
}

impl Density for TableDensity {
    fn classes(&self) -> usize {
        self.log_total.len()
    }

    fn width(&self) -> usize {
        self.levels.len()
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        let k = self.classes();
        let name = |cell: usize| {
            let levels =
                self.codes(cell).into_iter().zip(columns).map(|(code, column)| level_name(column, code as usize));
            levels.collect::<Vec<_>>().join(", ")
        };
        let values = |place: usize| self.log_p[place * k..(place + 1) * k].iter().map(|log_p| log_p.exp()).collect();
        let occurring = self.places.iter().enumerate().filter(|(_, place)| **place > 0);
        let mut rows: Vec<(String, Vec<f64>)> =
            occurring.map(|(cell, &place)| (name(cell), values(place as usize))).collect();
        if rows.len() < self.places.len() {
            rows.push(("each other combination".into(), values(0)));
        }
        vec![Parameters { what: "probability", rows }]
    }

    fn of_groups(&self, groups: Range<usize>) -> Self {
        let own = |cells: &[f64]| {
            let places = cells.chunks_exact(self.log_total.len());
            places.flat_map(|place| place[groups.clone()].to_vec()).collect()
        };
        TableDensity {
            weights: own(&self.weights),
            log_p: own(&self.log_p),
            log_total: self.log_total[groups.clone()].to_vec(),
            levels: self.levels.clone(),
            places: self.places.clone(),
            ..*self
        }
    }

    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        let (rows, k) = (x.rows(), self.classes());
        let columns = read_all(x)?;
        let mut codes = vec![0; self.levels.len()];
        let mut scores = vec![0.0; k];
        for i in 0..rows {
            codes.iter_mut().zip(&columns).for_each(|(code, column)| *code = column[i]);
            if self.unseen == Unseen::Error {
                let beyond = |&j: &usize| codes[j] != MISSING && codes[j] as usize >= self.levels[j];
                if let Some(j) = (0..codes.len()).find(beyond) {
                    return Err(refuse_unseen(&names[j], x.row_number(i)));
                }
            }
            if codes.contains(&MISSING) {
                scores.fill(0.0);
                self.add_marginal(&mut codes, &mut scores);
                scores.iter().enumerate().for_each(|(class, s)| out.column_mut(class)[i] += s);
                continue;
            }
            let place = self.cell(&codes).map_or(0, |cell| self.places[cell] as usize);
            for (class, log_p) in self.log_p[place * k..(place + 1) * k].iter().enumerate() {
                out.column_mut(class)[i] += log_p;
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
        let k = self.classes();
        let occurring = self.weights.len() / k - 1;
        let others = self.places.len() - occurring;
        let mut p: Vec<f64> = self.weights.iter().skip(class).step_by(k).copied().collect();
        p[0] = self.pseudo_count * others as f64;
        let place = random.pick(&p) as u32;
        let chosen = match place {
            0 if others > 0 => random.below(others as u64) as usize,
            _ => 0,
        };
        let same = self.places.iter().enumerate().filter(|(_, found)| **found == place);
        let cell = same.map(|(cell, _)| cell).nth(chosen).unwrap_or(0);
        Ok(self.codes(cell).into_iter().map(Value::Level).collect())
    }
}

/// The codes of all columns.
fn read_all(x: &Cells<'_>) -> Result<Vec<Vec<u32>>> {
    let mut columns = vec![Vec::new(); x.width()];
    columns.iter_mut().enumerate().try_for_each(|(j, codes)| x.read_codes(j, codes))?;
    Ok(columns)
}

impl Stored for TableDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let k = self.classes();
        let mut occurring: Vec<(u32, usize)> = self
            .places
            .iter()
            .enumerate()
            .filter(|(_, place)| **place > 0)
            .map(|(cell, &place)| (place, cell))
            .collect();
        occurring.sort_unstable();
        let cells: Vec<f64> = occurring.iter().map(|&(_, cell)| cell as f64).collect();
        let shape = (&self.levels, k, cells.len(), self.pseudo_count, self.unseen);
        archive.put_json(&format!("{name}.shape"), &shape)?;
        archive.put(&format!("{name}.cells"), &[cells.len()], &cells)?;
        let counts: Vec<f64> = self.weights[k..].iter().map(|w| w - self.pseudo_count).collect();
        archive.put(&format!("{name}.counts"), &[counts.len()], &counts)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (levels, k, occurring, pseudo_count, unseen): (Vec<usize>, usize, usize, f64, Unseen) =
            archive.json(&format!("{name}.shape"))?;
        let damaged = || archive.damaged(&format!("`{name}` is no table of levels"));
        let cells = cells_of(&levels).filter(|_| levels.iter().all(|&l| l > 0)).ok_or_else(damaged)?;
        let places = archive.finite(&format!("{name}.cells"), &[occurring])?;
        let counts = weights(archive, &format!("{name}.counts"), occurring.checked_mul(k).ok_or_else(damaged)?)?;
        let ascending = places.windows(2).all(|w| w[0] < w[1]);
        let sound = places.iter().all(|&c| c.fract() == 0.0 && c >= 0.0 && (c as usize) < cells);
        if !ascending || !sound || k == 0 || check_pseudo_count(pseudo_count).is_err() {
            return Err(damaged());
        }
        let places: Vec<usize> = places.iter().map(|&cell| cell as usize).collect();
        let density = TableDensity::new(levels, pseudo_count, unseen, &places, counts, k);
        match density.log_total.iter().all(|total| total.is_finite()) {
            true => Ok(density),
            false => Err(damaged()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::UNSEEN;
    use crate::family::testing::{self, close, names, observe, score};
    use crate::file::{from_bytes, to_bytes};
    use proptest::prelude::*;

    const NEVER: f64 = f64::NEG_INFINITY;

    /// Fur (2 levels) and size (3): class k0 has (0,0) twice, (1,2) once, and a row without a size.
    fn fitted(pseudo_count: f64) -> TableDensity {
        let family = Table { pseudo_count, ..Table::default() };
        let a = observe(&family, &[&[0, 0, 1, 1], &[0, 0, 2, MISSING]], None).unwrap();
        assert_eq!(a.cells(), [(vec![0, 0], 2.0), (vec![1, 2], 1.0)]);
        let b = observe(&family, &[&[1], &[1]], None).unwrap();
        family.fit(&[&a, &b], names(&["fur", "size"], &[2, 3])).unwrap()
    }

    #[test]
    fn cells_by_hand() {
        let scores = score(&fitted(0.0), &[&[0, 1, 1, UNSEEN], &[0, 2, 1, 0]]).unwrap();
        close(&scores[0], &[(2.0f64 / 3.0).ln(), (1.0f64 / 3.0).ln(), NEVER, NEVER], 1e-15);
        close(&scores[1], &[NEVER, NEVER, 0.0, NEVER], 1e-15);
        let scores = score(&fitted(0.5), &[&[0, 1, 1, 0], &[0, 2, 1, 7]]).unwrap();
        close(&scores[0], &[2.5f64 / 6.0, 1.5 / 6.0, 0.5 / 6.0, 0.5 / 6.0].map(f64::ln), 1e-15);
        close(&scores[1], &[0.5f64 / 4.0, 0.5 / 4.0, 1.5 / 4.0, 0.5 / 4.0].map(f64::ln), 1e-15);
    }

    #[test]
    fn missing_cells_are_summed_out() {
        let density = fitted(0.5);
        let m = MISSING;
        let scores = score(&density, &[&[0, 1, m, m, UNSEEN], &[m, m, 2, m, m]]).unwrap();
        close(&scores[0], &[3.5f64 / 6.0, 2.5 / 6.0, 2.0 / 6.0, 1.0, 1.5 / 6.0].map(f64::ln), 1e-15);
        close(&scores[1], &[1.5f64 / 4.0, 2.5 / 4.0, 1.0 / 4.0, 1.0, 1.5 / 4.0].map(f64::ln), 1e-15);
        close(&score(&fitted(0.0), &[&[m], &[1]]).unwrap().concat(), &[NEVER, 0.0], 0.0);
    }

    #[test]
    fn probabilities_sum_to_one() {
        let density = fitted(0.3);
        for class in 0..2 {
            let sum: f64 = (0..6).map(|cell| density.probability(class, &density.codes(cell))).sum();
            assert!((sum - 1.0).abs() < 1e-15, "{sum}");
        }
    }

    #[test]
    fn large_tables_are_refused_by_name() {
        let family = Table::default();
        let error = observe(&family, &[&[1000], &[1000]], None).unwrap_err().to_string();
        assert!(error.contains("`c0`, `c1`") && error.contains("1002001 cells"), "{error}");
        let a = observe(&family, &[&[999], &[999]], None).unwrap();
        assert!(family.fit(&[&a, &a], names(&["x", "y"], &[1000, 1000])).is_ok());
        let error = family.fit(&[&a], names(&["x", "y"], &[1000, 1001])).unwrap_err().to_string();
        assert!(error.contains("`x`, `y`") && error.contains("1001000 cells"), "{error}");
        // Seventy columns of two levels each.
        let columns = vec![&[0u32, 1][..]; 70];
        assert!(observe(&family, &columns, None).unwrap_err().to_string().contains("and 62 more"));
        let strict = Table { unseen: Unseen::Error, ..family };
        let density = strict.fit(&[&observe(&strict, &[&[0]], None).unwrap()], names(&["x"], &[1])).unwrap();
        assert!(score(&density, &[&[0, 4]]).unwrap_err().to_string().contains("column `c0`, row 2"));
        let ml = Table { pseudo_count: 0.0, ..strict };
        let nothing = observe(&ml, &[&[MISSING]], None).unwrap();
        assert!(ml.fit(&[&nothing], names(&["x"], &[1])).unwrap_err().to_string().contains("class `k0` has no row"));
    }

    #[test]
    fn one_level_columns_need_no_bits() {
        let bits = bits(&[1, 5, 0, 2]);
        assert_eq!(bits, [0, 3, 0, 1]);
        assert_eq!(unpack(&bits, pack(&bits, &[0, 4, 0, 1])), [0, 4, 0, 1]);
        let wide = [32, 32];
        assert_eq!(unpack(&wide, pack(&wide, &[u32::MAX - 5, 7])), [u32::MAX - 5, 7]);
    }

    #[test]
    fn samples_have_the_cells_frequencies() {
        let density = fitted(0.5);
        let size = [3.0 / 6.0, 1.0 / 6.0, 2.0 / 6.0];
        testing::check_samples(&density, 0, &[vec![3.5 / 6.0, 2.5 / 6.0], size.to_vec()]);
        let mut random = Random::new(7);
        let pair = [Value::Level(0), Value::Level(0)];
        let share = (0..40_000).filter(|_| density.sample(0, &mut random).unwrap() == pair).count() as f64 / 40_000.0;
        assert!((share - 2.5 / 6.0).abs() < 0.011, "{share}");
    }

    #[test]
    fn files_hold_it_and_damage_is_refused() {
        let family = Table::default();
        let statistic = observe(&family, &[&[0, 3, 3], &[1, 0, MISSING]], None).unwrap();
        assert_eq!(from_bytes::<JointCounts>(&to_bytes(&statistic).unwrap()).unwrap(), statistic);
        let density = fitted(0.5);
        assert_eq!(from_bytes::<TableDensity>(&to_bytes(&density).unwrap()).unwrap(), density);
        let mut archive = Archive::new("state");
        statistic.store(&mut archive, "s").unwrap();
        for bad in [4.0, 0.5, -1.0] {
            archive.put("s.codes", &[2, 2], &[0.0, 1.0, bad, 0.0]).unwrap();
            assert!(JointCounts::load(&archive, "s").is_err(), "{bad}");
        }
        let mut archive = Archive::new("state");
        density.store(&mut archive, "d").unwrap();
        for bad in [[6.0, 1.0, 2.0], [0.0, 0.0, 1.0], [0.0, 0.5, 1.0]] {
            archive.put("d.cells", &[3], &bad).unwrap();
            assert!(TableDensity::load(&archive, "d").is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn laws(rows in testing::rows(3, 5), cut in 0usize..40, weight in 0.0..3.0f64) {
            testing::check_laws(&Table::default(), &rows, cut, weight)?;
        }
    }
}
