//! The joint probabilities of combinations of levels.

use std::ops::Range;

use super::statistic::cells_of;
use crate::data::{Cells, Column, MISSING, Tile, Value};
use crate::error::Result;
use crate::family::counts::{Unseen, check_pseudo_count, level_name, refuse_unseen, weights};
use crate::family::{Density, Parameters};
use crate::file::{Archive, Stored};
use crate::numerics::Random;

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
    pub(super) fn new(
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

    pub(super) fn codes(&self, mut cell: usize) -> Vec<u32> {
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
pub(super) fn read_all(x: &Cells<'_>) -> Result<Vec<Vec<u32>>> {
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
