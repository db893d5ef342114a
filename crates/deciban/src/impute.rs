//! Missing cells filled by a generative model.
//!
//! Where the class of a row is known, the cells come from that class; otherwise from all classes, by their
//! posterior probability given the cells that are there, and from the components of a class likewise:
//!
//! ```text
//! p(x_m | x_o) = Σ_g p(g | x_o) p(x_m | x_o, g)
//! ```
//!
//! A number is filled by its mean, a category by its most probable level. A draw takes one group for the whole row and
//! draws all its cells from that, so that they belong together.

use rayon::prelude::*;

use crate::data::{Batch, Cells, MISSING, Rows, Tile, Value, View};
use crate::error::{Error, Result};
use crate::family::{Density, Filling, Guess};
use crate::learn::{Block, Classifier, FittedBlock, GenerativeModel};
use crate::model::{Asks, Model};
use crate::numerics::{Random, hash};
use crate::posterior::Prior;

/// What fills a missing cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The mean of a number, the most probable level of a category.
    Mean,
    /// A draw with this seed. What a row gets depends on the seed and on its place in the input alone.
    Draw(u64),
}

/// A cell that was missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Imputed {
    /// Its row in the batch.
    pub row: usize,
    /// Its column in the schema.
    pub column: usize,
    /// What fills it.
    pub value: Value,
}

/// Rows that are filled at once.
const TILE: usize = 512;

/// Fills the missing cells of rows, row after row; a row's class is known where the batch has its label. Cells of a
/// column that had none at the fit stay missing.
///
/// ```
/// use deciban::data::{Batch, MISSING, Schema, Value};
/// use deciban::engine::Memory;
/// use deciban::family::gaussian::Gaussian;
/// use deciban::impute::{How, impute};
/// use deciban::learn::{Classifier, Generative, Learner};
/// use deciban::model::Model;
///
/// // Within both classes b = 2a, but for a little.
/// let schema = Schema::numbers(&["a", "b"], "class", &["low", "high"])?;
/// let cells = [0.0, 0.1, 1.0, 1.9, 2.0, 4.0, 10.0, 20.1, 11.0, 21.9, 12.0, 24.0];
/// let rows = Batch::new(6).row_major(&cells[..], 2)?.classes(&[0, 0, 0, 1, 1, 1])?;
/// let learner = Generative::gaussian(schema.columns(), Gaussian::default())?;
/// let model = Model::Generative(learner.learn(&Memory::new(schema, rows)?)?);
///
/// let row = [1.5, f64::NAN];
/// let filled = impute(&model, &Batch::new(1).row_major(&row[..], 2)?, model.prior(), How::Mean)?;
/// let Value::Number(b) = filled[0].value else { panic!("a number") };
/// assert!((b - 2.975).abs() < 1e-9);
/// // Without any cell, the mean of the class that is known, or of both.
/// let nothing = [f64::NAN; 4];
/// let rows = Batch::new(2).row_major(&nothing[..], 2)?.classes(&[1, MISSING])?;
/// let filled = impute(&model, &rows, model.prior(), How::Mean)?;
/// for (cell, expected) in filled.iter().zip([11.0, 22.0, 6.0, 12.0]) {
///     let Value::Number(found) = cell.value else { panic!("a number") };
///     assert!((found - expected).abs() < 1e-9);
/// }
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn impute(model: &Model, x: &Batch<'_>, prior: &Prior, how: How) -> Result<Vec<Imputed>> {
    let generative = model.described(Asks::Cells)?.model;
    Error::check_shape("columns of a batch", model.schema().columns().len(), x.width())?;
    Error::check_shape("classes of the prior", model.schema().classes().len(), prior.classes())?;
    let starts: Vec<usize> = (0..x.rows()).step_by(TILE).collect();
    let tile = |&start: &usize| {
        let mut filled = fill(model, generative, &x.slice(start..start + TILE), prior, how)?;
        filled.iter_mut().for_each(|cell| cell.row += start);
        Ok(filled)
    };
    Ok(starts.par_iter().map(tile).collect::<Result<Vec<_>>>()?.concat())
}

/// Which cells of a batch are missing: the rows of each column.
pub(crate) fn missing_rows(x: &Batch<'_>) -> Result<Vec<Vec<u32>>> {
    let mut tile = Tile::default();
    let mut column = |c: usize| -> Result<Vec<u32>> {
        Ok(match x.view(c) {
            View::Numbers(_) => {
                Cells::new(x, &[c], Rows::Range(0..x.rows())).read_numbers(&mut tile)?;
                (0..).zip(tile.column(0)).filter(|(_, x)| x.is_nan()).map(|(i, _)| i).collect()
            }
            View::Codes(codes) => (0..).zip(codes.iter()).filter(|(_, c)| **c == MISSING).map(|(i, _)| i).collect(),
            View::Sparse(_) => Vec::new(),
        })
    };
    (0..x.width()).map(&mut column).collect()
}

/// p(group | x) of each row: those of the groups of its class where it is known.
pub(crate) fn group_shares(
    model: &Model,
    generative: &GenerativeModel,
    x: &Batch<'_>,
    prior: &Prior,
) -> Result<Vec<Vec<f64>>> {
    let components = generative.components();
    let posterior = model.evidence(x)?.posterior(prior);
    let mut shares = vec![vec![0.0; components.groups()]; x.rows()];
    let scores = match components.is_single() {
        true => None,
        false => Some(generative.group_scores(|_| true, x, Rows::Range(0..x.rows()))?),
    };
    for class in 0..components.classes() {
        let groups = components.of_class(class);
        let mut within = Tile::default();
        within.resize(x.rows(), groups.len());
        match &scores {
            None => within.data_mut().fill(1.0),
            Some(scores) => {
                groups.clone().enumerate().for_each(|(k, g)| within.column_mut(k).copy_from_slice(scores.column(g)));
                components.share(class, &mut within);
            }
        }
        for (row, shares) in shares.iter_mut().enumerate() {
            let known = x.labels().map(|labels| labels[row]).filter(|label| *label != MISSING);
            // A row that is impossible under every class says nothing about it.
            let p = match (known, posterior.log_row(row)[class]) {
                (Some(label), _) => f64::from(u8::from(label as usize == class)),
                (None, log_p) if log_p.is_nan() => prior.probabilities()[class],
                (None, log_p) => log_p.exp(),
            };
            groups.clone().enumerate().for_each(|(k, group)| shares[group] = p * within.column(k)[row]);
        }
    }
    Ok(shares)
}

/// Fills the cells of a few rows.
fn fill(model: &Model, generative: &GenerativeModel, x: &Batch<'_>, prior: &Prior, how: How) -> Result<Vec<Imputed>> {
    let missing = missing_rows(x)?;
    if missing.iter().all(Vec::is_empty) {
        return Ok(Vec::new());
    }
    let shares = group_shares(model, generative, x, prior)?;
    match how {
        How::Mean => means(generative, x, &missing, &shares),
        How::Draw(seed) => {
            let mut random: Vec<Random> = (0..x.rows()).map(|row| Random::new(hash(seed, x.row_number(row)))).collect();
            let groups: Vec<usize> = random.iter_mut().zip(&shares).map(|(r, shares)| r.pick(shares)).collect();
            draws(generative, x, &missing, &groups, &mut random)
        }
    }
}

/// The rows that miss a cell of a block, in ascending order.
fn rows_of(block: &Block, missing: &[Vec<u32>]) -> Vec<u32> {
    let mut rows: Vec<u32> = block.columns.iter().flat_map(|&c| missing[c].iter().copied()).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// What the groups expect of a cell, weighted by their shares.
enum Sum {
    Number(f64),
    Levels(Vec<f64>),
}

fn means(model: &GenerativeModel, x: &Batch<'_>, missing: &[Vec<u32>], shares: &[Vec<f64>]) -> Result<Vec<Imputed>> {
    let mut all = Vec::new();
    for FittedBlock { block, density } in model.blocks() {
        let rows = rows_of(block, missing);
        if rows.is_empty() {
            continue;
        }
        // By row and column of the block.
        let mut sums: std::collections::BTreeMap<(u32, usize), Sum> = Default::default();
        for group in 0..model.components().groups() {
            let own: Vec<u32> = rows.iter().copied().filter(|&row| shares[row as usize][group] > 0.0).collect();
            if own.is_empty() {
                continue;
            }
            let by = || if block.gaussianise.is_some() { Filling::Spread } else { Filling::Mean };
            let filled =
                block.with_cells(x, Rows::Index(&own), |cells, _| density.fill(group, cells, &block.names, by()))?;
            for cell in filled {
                let row = own[cell.row];
                let share = shares[row as usize][group];
                let guess = as_given(block, cell.column, cell.guess);
                let sum = sums.entry((row, cell.column)).or_insert_with(|| match &guess {
                    Guess::Levels(p) => Sum::Levels(vec![0.0; p.len()]),
                    _ => Sum::Number(0.0),
                });
                match (sum, guess) {
                    (Sum::Number(sum), Guess::Number { mean, .. }) => *sum += share * mean,
                    (Sum::Levels(sums), Guess::Levels(p)) => {
                        sums.iter_mut().zip(p).for_each(|(sum, p)| *sum += share * p);
                    }
                    _ => {}
                }
            }
        }
        for ((row, j), sum) in sums {
            let column = block.columns[j];
            let value = match sum {
                Sum::Number(mean) => Value::Number(mean),
                Sum::Levels(p) => {
                    // Of levels without a name nobody can say which they are.
                    let named = model.schema().columns()[column].levels.len();
                    let p = if named > 0 { &p[..p.len().min(named)] } else { &p[..] };
                    let best = (0..p.len()).reduce(|best, k| if p[k] > p[best] { k } else { best });
                    Value::Level(best.unwrap_or(0) as u32)
                }
            };
            all.push(Imputed { row: row as usize, column, value });
        }
    }
    all.sort_by_key(|cell| (cell.row, cell.column));
    Ok(all)
}

/// Draws the missing cells of each row from its group.
pub(crate) fn draws(
    model: &GenerativeModel,
    x: &Batch<'_>,
    missing: &[Vec<u32>],
    groups: &[usize],
    random: &mut [Random],
) -> Result<Vec<Imputed>> {
    let mut all = Vec::new();
    for FittedBlock { block, density } in model.blocks() {
        let mut by_group = vec![Vec::new(); model.components().groups()];
        rows_of(block, missing).into_iter().for_each(|row| by_group[groups[row as usize]].push(row));
        for (group, rows) in by_group.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let mut own: Vec<Random> = rows.iter().map(|&row| random[row as usize].clone()).collect();
            let filled = block.with_cells(x, Rows::Index(rows), |cells, _| {
                density.fill(group, cells, &block.names, Filling::Draw(&mut own))
            })?;
            for cell in filled {
                let bins = block.discretise.as_ref().and_then(|discretise| discretise.bins(cell.column));
                let value = match (cell.guess, &block.gaussianise, bins) {
                    (Guess::Drawn(Value::Number(y)), Some(map), _) => Value::Number(map.inverse(cell.column, y)),
                    (Guess::Drawn(Value::Level(bin)), _, Some(bins)) if (bin as usize) < bins.count() => {
                        Value::Number(bins.at(bin as usize, own[cell.row].uniform()))
                    }
                    (Guess::Drawn(value), _, _) => value,
                    _ => continue,
                };
                all.push(Imputed { row: rows[cell.row] as usize, column: block.columns[cell.column], value });
            }
            rows.iter().zip(own).for_each(|(&row, own)| random[row as usize] = own);
        }
    }
    all.sort_by_key(|cell| (cell.row, cell.column));
    Ok(all)
}

/// A guess of what the family sees as one of the cell in the table: of a number that was gaussianised or cut into
/// bins.
fn as_given(block: &Block, column: usize, guess: Guess) -> Guess {
    let bins = block.discretise.as_ref().and_then(|discretise| discretise.bins(column));
    match (guess, &block.gaussianise, bins) {
        (Guess::Number { mean, scale, freedom }, Some(map), _) => {
            Guess::mean(mean_of(|y| map.inverse(column, y), mean, scale, freedom))
        }
        (Guess::Levels(p), _, Some(bins)) => {
            let within = || p.iter().enumerate().take(bins.count());
            let sum: f64 = within().map(|(_, p)| p).sum();
            Guess::mean(within().map(|(bin, p)| p / sum * bins.at(bin, 0.5)).sum())
        }
        (guess, _, _) => guess,
    }
}

/// The mean of g(y) where y is `mean + scale·t`, t a Student variable: the trapezoidal rule in u, where t = sinh u,
/// whose error falls exponentially for smooth g.
fn mean_of(g: impl Fn(f64) -> f64, mean: f64, scale: f64, freedom: f64) -> f64 {
    const STEPS: i32 = 200;
    // A normal density is 0 beyond sinh 4.4 = 40, one of a single degree of freedom 1e-10 beyond sinh 12.
    let widest = if freedom.is_finite() { 12.0 } else { 4.4 };
    let log_density = |t: f64| match freedom.is_finite() {
        true => -0.5 * (freedom + 1.0) * (t * t / freedom).ln_1p(),
        false => -0.5 * t * t,
    };
    let (mut sum, mut weights) = (0.0, 0.0);
    for step in -STEPS..=STEPS {
        let u = widest * f64::from(step) / f64::from(STEPS);
        let t = u.sinh();
        let weight = log_density(t).exp() * u.cosh();
        if weight > 0.0 {
            sum += weight * g(mean + scale * t);
            weights += weight;
        }
    }
    sum / weights
}
