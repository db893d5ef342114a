//! Columns modelled together: v(S) = log p(x_S | class), the other cells integrated out.
//!
//! Densities integrate missing cells out, so v(S) is the score of the row with the cells outside S
//! marked as missing. Column j says v(S ∪ j) − v(S), and along any order these add up to v of all.
//! The average over all d! orders is φⱼ = Σ_{S∌j} |S|! (d−|S|−1)!/d! (v(S ∪ j) − v(S)), over 2ᵈ sets.
//!
//! Where a class is impossible, v = −∞ from some column on: there the order is that of the file, the
//! first such column says −∞ and those after it 0.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::{Entry, MOST_EXACT, Order, SAMPLED};
use crate::data::{Batch, Cells, Column, MISSING, Rows, Tile, UNSEEN, View};
use crate::error::{Error, Result};
use crate::family::{AnyDensity, Density};
use crate::numerics::Random;

/// A column copied out of its batch.
enum Copied {
    Numbers(Vec<f64>),
    Codes(Vec<u32>),
}

impl Copied {
    fn is_missing(&self, row: usize) -> bool {
        match self {
            Copied::Numbers(x) => x[row].is_nan(),
            Copied::Codes(codes) => codes[row] == MISSING,
        }
    }

    fn shown(&self, row: usize, column: &Column) -> String {
        match self {
            Copied::Numbers(x) => format!("{}", x[row]),
            Copied::Codes(codes) if codes[row] == UNSEEN => "(unseen)".into(),
            Copied::Codes(codes) => column.levels.get(codes[row] as usize).cloned().unwrap_or("(unseen)".into()),
        }
    }
}

/// The block of some rows, as a game whose players are its columns.
struct Game<'a> {
    density: &'a AnyDensity,
    names: Vec<String>,
    columns: Vec<Copied>,
    /// Columns of missing cells.
    nothing: Vec<Copied>,
    rows: usize,
    first_row: u64,
    /// Turns true when nobody waits for the answer any more.
    stop: &'a AtomicBool,
}

impl<'a> Game<'a> {
    fn new(density: &'a AnyDensity, x: &Cells<'_>, columns: &[Column], stop: &'a AtomicBool) -> Result<Self> {
        let rows = x.rows();
        let (mut copied, mut nothing) = (Vec::new(), Vec::new());
        for j in 0..x.width() {
            match x.view(j) {
                Some(View::Codes(_)) => {
                    let mut codes = Vec::new();
                    x.read_codes(j, &mut codes)?;
                    copied.push(Copied::Codes(codes));
                    nothing.push(Copied::Codes(vec![MISSING; rows]));
                }
                _ => {
                    let mut tile = Tile::default();
                    x.column(j).read_numbers(&mut tile)?;
                    copied.push(Copied::Numbers(tile.column(0).to_vec()));
                    nothing.push(Copied::Numbers(vec![f64::NAN; rows]));
                }
            }
        }
        let names = columns.iter().map(|c| c.name.clone()).collect();
        let first_row = if rows > 0 { x.row_number(0) } else { 0 };
        Ok(Game { density, names, columns: copied, nothing, rows, first_row, stop })
    }

    /// v(S) of each row and class.
    fn value(&self, knows: impl Fn(usize) -> bool) -> Result<Tile> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let mut batch = Batch::new(self.rows).first_row(self.first_row);
        for (j, (there, missing)) in self.columns.iter().zip(&self.nothing).enumerate() {
            batch = match if knows(j) { there } else { missing } {
                Copied::Numbers(x) => batch.column(&x[..])?,
                Copied::Codes(codes) => batch.codes(codes)?,
            };
        }
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let mut out = Tile::default();
        out.resize(self.rows, self.density.classes());
        out.data_mut().fill(0.0);
        let cells = Cells::new(&batch, &all, Rows::Range(0..self.rows));
        self.density.add_log_density(&cells, &self.names, &mut out)?;
        Ok(out)
    }

    /// What each column says, given those before it in `order`; added to `said`, times `weight`.
    fn add_chain(&self, order: &[usize], weight: f64, said: &mut [Tile]) -> Result<()> {
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &j)| place[j] = i);
        let values: Vec<Tile> =
            (1..=order.len()).into_par_iter().map(|n| self.value(|j| place[j] < n)).collect::<Result<_>>()?;
        for (i, &j) in order.iter().enumerate() {
            for (c, cell) in said[j].data_mut().iter_mut().enumerate() {
                let before = if i == 0 { 0.0 } else { values[i - 1].data()[c] };
                if before > f64::NEG_INFINITY {
                    *cell += weight * (values[i].data()[c] - before);
                }
            }
        }
        Ok(())
    }

    fn zeros(&self) -> Vec<Tile> {
        let mut zero = Tile::default();
        zero.resize(self.rows, self.density.classes());
        zero.data_mut().fill(0.0);
        vec![zero; self.columns.len()]
    }

    /// The average over all orders.
    fn shapley(&self) -> Result<Vec<Tile>> {
        let d = self.columns.len();
        let values: Vec<Tile> =
            (0..1usize << d).into_par_iter().map(|set| self.value(|j| set >> j & 1 == 1)).collect::<Result<_>>()?;
        // weight[s] = s! (d−s−1)!/d!
        let mut weight = vec![1.0 / d as f64; d];
        for s in 1..d {
            weight[s] = weight[s - 1] * s as f64 / (d - s) as f64;
        }
        let mut said = self.zeros();
        said.par_iter_mut().enumerate().for_each(|(j, said)| {
            for set in (0..1usize << d).filter(|set| set >> j & 1 == 0) {
                let w = weight[set.count_ones() as usize];
                let pairs = values[set | 1 << j].data().iter().zip(values[set].data());
                said.data_mut().iter_mut().zip(pairs).for_each(|(s, (with, without))| *s += w * (with - without));
            }
        });
        Ok(said)
    }

    /// The average over a few orders and their reverses.
    fn sampled(&self) -> Result<Vec<Tile>> {
        let mut random = Random::new(0);
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        let mut said = self.zeros();
        for _ in 0..SAMPLED {
            for i in (1..order.len()).rev() {
                order.swap(i, random.below(i as u64 + 1) as usize);
            }
            self.add_chain(&order, 0.5 / SAMPLED as f64, &mut said)?;
            order.reverse();
            self.add_chain(&order, 0.5 / SAMPLED as f64, &mut said)?;
        }
        Ok(said)
    }

    fn solve(&self, order: Order) -> Result<Vec<Tile>> {
        let d = self.columns.len();
        let mut said = self.zeros();
        if !self.density.is_joint() {
            for (j, said) in said.iter_mut().enumerate() {
                *said = self.value(|i| i == j)?;
            }
            return Ok(said);
        }
        let in_file: Vec<usize> = (0..d).collect();
        self.add_chain(&in_file, 1.0, &mut said)?;
        if order == Order::File || d == 1 {
            return Ok(said);
        }
        let averaged = if d <= MOST_EXACT { self.shapley()? } else { self.sampled()? };
        for c in 0..said[0].data().len() {
            if said.iter().all(|tile| tile.data()[c].is_finite()) {
                said.iter_mut().zip(&averaged).for_each(|(said, average)| said.data_mut()[c] = average.data()[c]);
            }
        }
        Ok(said)
    }
}

/// The entries of each row.
pub fn explain(
    density: &AnyDensity,
    x: &Cells<'_>,
    columns: &[Column],
    order: Order,
    stop: &AtomicBool,
) -> Result<Vec<Vec<Entry>>> {
    let game = Game::new(density, x, columns, stop)?;
    let (said, classes) = (game.solve(order)?, density.classes());
    let entry = |row: usize, j: usize| match game.columns[j].is_missing(row) {
        true => Entry::missing(&columns[j].name, classes),
        false => {
            let evidence = (0..classes).map(|k| said[j].column(k)[row]).collect();
            Entry::new(&columns[j].name, game.columns[j].shown(row, &columns[j]), evidence)
        }
    };
    Ok((0..game.rows).map(|row| (0..columns.len()).map(|j| entry(row, j)).collect()).collect())
}
