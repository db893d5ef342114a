//! What missing cells hold, given the cells of their row that are there, in one group.
//!
//! Levels need nothing of a family but its density, which integrates missing cells out: with o the cells that are
//! there,
//!
//! p(x_j = l | x_o) ∝ p(x_o, x_j = l),
//!
//! and several cells are drawn one after the other, each given those before it. Numbers that are independent given
//! the group have their own mean, and are drawn as whole rows are; families of dependent numbers fill by a method
//! of their own ([`Density::fill`]).

use super::Density;
use crate::data::{Batch, Cells, MISSING, Rows, Tile, Value};
use crate::error::{Error, Result};
use crate::numerics::Random;

/// What is asked about missing cells.
pub enum Filling<'a> {
    /// Their means, or the probabilities of their levels.
    Mean,
    /// The same, and how far numbers spread about their means.
    Spread,
    /// A draw, by one generator for each row.
    Draw(&'a mut [Random]),
}

/// What a missing cell holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Guess {
    /// A number by its mean. If a spread is asked for, it is `mean + scale·t` where t is a Student variable with
    /// `freedom` degrees of freedom, a normal one if these are infinite; otherwise the scale is 0.
    Number {
        /// The mean.
        mean: f64,
        /// What multiplies t.
        scale: f64,
        /// The degrees of freedom of t.
        freedom: f64,
    },
    /// The probability of each level.
    Levels(Vec<f64>),
    /// A draw.
    Drawn(Value),
}

impl Guess {
    /// A number by its mean alone.
    pub fn mean(mean: f64) -> Self {
        Guess::Number { mean, scale: 0.0, freedom: f64::INFINITY }
    }
}

/// A missing cell and what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// The row, among those that were given.
    pub row: usize,
    /// The column of the block.
    pub column: usize,
    /// What the cell holds.
    pub guess: Guess,
}

/// Fills the missing cells of a block of levels, or of numbers that are independent given the group.
pub(super) fn columns<D: Density>(
    density: &D,
    group: usize,
    x: &Cells<'_>,
    names: &[String],
    by: Filling<'_>,
) -> Result<Vec<Filled>> {
    // An empty text is a text without words, not a missing one.
    if x.sparse().is_some() {
        return Ok(Vec::new());
    }
    match (0..x.width()).all(|j| density.levels(j).is_some()) {
        true => levels(&density.of_groups(group..group + 1), x, names, by),
        false => numbers(density, group, x, names, by),
    }
}

fn numbers<D: Density>(
    density: &D,
    group: usize,
    x: &Cells<'_>,
    names: &[String],
    mut by: Filling<'_>,
) -> Result<Vec<Filled>> {
    let mut tile = Tile::default();
    x.read_numbers(&mut tile)?;
    let mut filled = Vec::new();
    for row in 0..tile.rows() {
        let mut drawn = Vec::new();
        for column in (0..tile.width()).filter(|&j| tile.column(j)[row].is_nan()) {
            let guess = match &mut by {
                Filling::Draw(random) => {
                    if drawn.is_empty() {
                        drawn = density.sample(group, &mut random[row])?;
                    }
                    Guess::Drawn(drawn[column].clone())
                }
                _ => Guess::mean(density.column_mean(group, column).ok_or_else(|| cannot_fill(&names[column]))?),
            };
            filled.push(Filled { row, column, guess });
        }
    }
    Ok(filled)
}

/// The error of a column whose family has no mean to fill cells with.
fn cannot_fill(column: &str) -> Error {
    Error::Schema(format!(
        "the family of column `{column}` has no mean to fill missing cells with: draw them, or fit with \
         §family='{column}=gaussian'"
    ))
}

/// Fills levels by the density of one group.
fn levels<D: Density>(density: &D, x: &Cells<'_>, names: &[String], mut by: Filling<'_>) -> Result<Vec<Filled>> {
    let mut codes = vec![Vec::new(); x.width()];
    for (j, codes) in codes.iter_mut().enumerate() {
        x.read_codes(j, codes)?;
    }
    let mut filled = Vec::new();
    for column in 0..x.width() {
        let missing: Vec<usize> = (0..x.rows()).filter(|&i| codes[column][i] == MISSING).collect();
        let levels = density.levels(column).unwrap_or(0);
        // Of a column that never had a cell nothing is known.
        if missing.is_empty() || levels == 0 {
            continue;
        }
        let shares = match density.is_joint() {
            true => shares(density, &codes, &missing, column, levels, names)?,
            // The other cells say nothing about it.
            false => {
                let alone = vec![vec![MISSING]; x.width()];
                let own = shares(density, &alone, &[0], column, levels, names)?;
                vec![own[0].clone(); missing.len()]
            }
        };
        for (&row, shares) in missing.iter().zip(shares) {
            let guess = match &mut by {
                Filling::Draw(random) => {
                    let level = random[row].pick(&shares) as u32;
                    codes[column][row] = level;
                    Guess::Drawn(Value::Level(level))
                }
                _ => Guess::Levels(shares),
            };
            filled.push(Filled { row, column, guess });
        }
    }
    Ok(filled)
}

/// The probability of each level of a column, for some rows of codes.
fn shares<D: Density>(
    density: &D,
    codes: &[Vec<u32>],
    rows: &[usize],
    column: usize,
    levels: usize,
    names: &[String],
) -> Result<Vec<Vec<f64>>> {
    let mut cells: Vec<Vec<u32>> = codes.iter().map(|codes| rows.iter().map(|&i| codes[i]).collect()).collect();
    let all: Vec<usize> = (0..codes.len()).collect();
    let mut scores = vec![Vec::with_capacity(levels); rows.len()];
    let mut out = Tile::default();
    for level in 0..levels {
        cells[column].fill(level as u32);
        let mut batch = Batch::new(rows.len());
        for codes in &cells {
            batch = batch.codes(codes)?;
        }
        out.resize(rows.len(), 1);
        out.data_mut().fill(0.0);
        density.add_log_density(&Cells::new(&batch, &all, Rows::Range(0..rows.len())), names, &mut out)?;
        scores.iter_mut().zip(out.column(0)).for_each(|(scores, s)| scores.push(*s));
    }
    for scores in &mut scores {
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // A row that is impossible in the group says nothing about its levels.
        scores.iter_mut().for_each(|s| *s = if most > f64::NEG_INFINITY { (*s - most).exp() } else { 1.0 });
        let sum: f64 = scores.iter().sum();
        scores.iter_mut().for_each(|s| *s /= sum);
    }
    Ok(scores)
}
