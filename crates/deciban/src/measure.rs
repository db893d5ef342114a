//! What to measure next: by how much each missing cell of a row is expected to lower the Bayes risk.
//!
//! ```text
//! R(x_o) = min_a Σ_c cost(a, c) p(c | x_o)          worth of j:  R(x_o) − E[R(x_o, x_j)],  x_j ~ p(x_j | x_o)
//! ```
//!
//! The expectation is a sum over levels (or bins) where there are only so many, and otherwise a mean over [`DRAWS`]
//! draws from the conditional densities of the groups, each of which has draws in proportion to its probability.
//! The posterior now is the mean of those after the measurement. Taking that mean over the same draws for R(x_o),
//! too, makes the worth at least 0, since the minimum over actions is concave, and exactly 0 where the cell says
//! nothing.

use crate::data::{Batch, Gathered, Rows, Value, View};
use crate::decision::Costs;
use crate::error::{Error, Result};
use crate::family::{Density, Filling, Guess};
use crate::impute::{draws, group_shares, missing_rows};
use crate::learn::{Classifier, FittedBlock, GenerativeModel};
use crate::model::{Asks, Model};
use crate::numerics::{Random, hash};
use crate::posterior::Prior;

/// How many draws a mean over draws is taken of.
pub const DRAWS: usize = 4096;

/// What it is worth to measure a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The column's place in the schema.
    pub column: usize,
    /// By how much the Bayes risk is expected to fall.
    pub reduction: f64,
    /// The standard error of the reduction where it is a mean over draws, and 0 where it is exact.
    pub standard_error: f64,
    /// The probability that another action becomes the best one.
    pub changes: f64,
    /// Whether the expectation is a sum over all that the cell may hold, and not a mean over draws.
    pub exact: bool,
    /// The mean of the posterior after the measurement, which is the posterior now.
    pub mean_posterior: Vec<f64>,
}

/// A row's risk now, and what its missing cells are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// The action that is best now.
    pub action: usize,
    /// The Bayes risk now.
    pub risk: f64,
    /// The columns whose cell is missing, in their order.
    pub measurements: Vec<Measurement>,
}

/// What the missing cells of a row are worth, under a prior and costs; `seed` is that of the draws. Texts are never
/// missing, and a row that is impossible under every class has no risk to lower.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::decision::Costs;
/// use deciban::engine::Memory;
/// use deciban::family::gaussian::{Gaussian, Structure};
/// use deciban::learn::{Classifier, Generative, Learner};
/// use deciban::model::Model;
/// use deciban::measure::next;
///
/// // Column a tells the classes apart, column b does not.
/// let schema = Schema::numbers(&["a", "b"], "class", &["low", "high"])?;
/// let cells = [0.0, 1.0, 1.0, 3.0, 2.0, 2.0, 10.0, 1.0, 11.0, 3.0, 12.0, 2.0];
/// let rows = Batch::new(6).row_major(&cells[..], 2)?.classes(&[0, 0, 0, 1, 1, 1])?;
/// let family = Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() };
/// let learner = Generative::gaussian(schema.columns(), family)?;
/// let model = Model::Generative(learner.learn(&Memory::new(schema.clone(), rows)?)?);
///
/// let nothing = [f64::NAN; 2];
/// let row = Batch::new(1).row_major(&nothing[..], 2)?;
/// let found = next(&model, &row, 0, model.prior(), &Costs::zero_one(schema.classes()), 0)?;
/// assert!((found.risk - 0.5).abs() < 1e-12);
/// assert!((found.measurements[0].reduction - 0.5).abs() < 1e-6);
/// assert!(found.measurements[1].reduction < 1e-12);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn next(model: &Model, x: &Batch<'_>, row: usize, prior: &Prior, costs: &Costs, seed: u64) -> Result<Next> {
    let own = model.described(Asks::Cells)?.model;
    Error::check_shape("columns of a batch", model.schema().columns().len(), x.width())?;
    Error::check_shape("classes of the prior", model.schema().classes().len(), prior.classes())?;
    let mut gathered = Gathered::default();
    gathered.read(x, &[row as u32])?;
    let one = gathered.batch()?.first_row(x.row_number(row));
    let now = model.evidence(&one)?.posterior(prior).row(0);
    let (action, risk) = costs.best(&now);
    let missing = missing_rows(&one)?;
    let mut next = Next { action, risk, measurements: Vec::new() };
    if missing.iter().all(Vec::is_empty) || now.iter().any(|p| p.is_nan()) {
        return Ok(next);
    }
    let shares = group_shares(model, own, &one, prior)?.swap_remove(0);
    let mut drawn = None;
    for (column, rows) in missing.iter().enumerate() {
        if rows.is_empty() {
            continue;
        }
        let Some((block, place)) = block_of(own, column) else { continue };
        let points = points(block, place, &one, &shares)?;
        let exact = points.is_some();
        let points = match points {
            Some(points) => points,
            None => {
                if drawn.is_none() {
                    drawn = Some(draw(own, x, row, &missing, &shares, seed)?);
                }
                let of_column = drawn.iter().flatten().filter(|(c, _)| *c == column);
                of_column.map(|(_, value)| (value.clone(), 1.0)).collect()
            }
        };
        let worth = Worth { model, x, row, prior, costs, action };
        next.measurements.extend(worth.of(column, &points, exact)?);
    }
    Ok(next)
}

/// The block of a column, and the column's place in it.
fn block_of(model: &GenerativeModel, column: usize) -> Option<(&FittedBlock, usize)> {
    model.blocks().iter().find_map(|fitted| {
        let place = fitted.block.columns.iter().position(|c| *c == column)?;
        Some((fitted, place))
    })
}

/// What a missing cell may hold, and how probable that is, if there is only so much; `None` for continuous numbers.
fn points(
    FittedBlock { block, density }: &FittedBlock,
    place: usize,
    one: &Batch<'_>,
    shares: &[f64],
) -> Result<Option<Vec<(Value, f64)>>> {
    let mut points: Vec<(Value, f64)> = Vec::new();
    let mut add = |value: Value, k: usize, p: f64| match points.get_mut(k) {
        Some(point) => point.1 += p,
        None => points.push((value, p)),
    };
    let bins = block.discretise.as_ref().and_then(|discretise| discretise.bins(place));
    for (group, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        if let Some(own) = density.points(group, place) {
            own.into_iter().enumerate().for_each(|(k, (x, p))| add(Value::Number(x), k, share * p));
            continue;
        }
        if density.levels(place).is_none() {
            return Ok(None);
        }
        let filled = block
            .with_cells(one, Rows::Range(0..1), |cells, _| density.fill(group, cells, &block.names, Filling::Mean))?;
        for cell in filled.into_iter().filter(|cell| cell.column == place) {
            let Guess::Levels(p) = cell.guess else { return Ok(None) };
            for (k, p) in p.into_iter().enumerate() {
                let value = match bins {
                    Some(bins) if k < bins.count() => Value::Number(bins.at(k, 0.5)),
                    _ => Value::Level(k as u32),
                };
                add(value, k, share * p);
            }
        }
    }
    Ok(Some(points))
}

/// Draws of the missing cells of a row, from all groups in proportion to their shares.
fn draw(
    model: &GenerativeModel,
    x: &Batch<'_>,
    row: usize,
    missing: &[Vec<u32>],
    shares: &[f64],
    seed: u64,
) -> Result<Vec<(usize, Value)>> {
    let mut copies = Gathered::default();
    copies.read(x, &[row as u32; DRAWS])?;
    let is_drawn = |column: usize| {
        block_of(model, column).is_some_and(|(fitted, place)| {
            fitted.density.levels(place).is_none() && fitted.density.points(0, place).is_none()
        })
    };
    let all: Vec<u32> = (0..DRAWS as u32).collect();
    let missing: Vec<Vec<u32>> = missing
        .iter()
        .enumerate()
        .map(|(column, rows)| if rows.is_empty() || !is_drawn(column) { Vec::new() } else { all.clone() })
        .collect();
    // Evenly spread over the groups, so that only what they hold is left to chance.
    let total: f64 = shares.iter().sum();
    let mut groups = Vec::with_capacity(DRAWS);
    let (mut group, mut up_to) = (0, shares[0]);
    for i in 0..DRAWS {
        while (i as f64 + 0.5) / DRAWS as f64 * total > up_to && group + 1 < shares.len() {
            group += 1;
            up_to += shares[group];
        }
        groups.push(group);
    }
    let mut random: Vec<Random> = (0..DRAWS as u64).map(|i| Random::new(hash(seed, i))).collect();
    let drawn = draws(model, &copies.batch()?, &missing, &groups, &mut random)?;
    Ok(drawn.into_iter().map(|cell| (cell.column, cell.value)).collect())
}

/// What measuring is worth in one row.
struct Worth<'a> {
    model: &'a Model,
    x: &'a Batch<'a>,
    row: usize,
    prior: &'a Prior,
    costs: &'a Costs,
    /// What is best without it.
    action: usize,
}

impl Worth<'_> {
    /// The worth of a column that may hold these values with these weights; `None` if it may hold none.
    fn of(&self, column: usize, points: &[(Value, f64)], exact: bool) -> Result<Option<Measurement>> {
        let possible: Vec<&(Value, f64)> = points.iter().filter(|(_, weight)| *weight > 0.0).collect();
        let mut copies = Gathered::default();
        copies.read(self.x, &vec![self.row as u32; possible.len()])?;
        let numbers: Vec<f64> = possible.iter().map(|(value, _)| number(value)).collect();
        let codes: Vec<u32> = possible.iter().map(|(value, _)| number(value) as u32).collect();
        let batch = copies.batch()?;
        let batch = match self.x.view(column) {
            View::Codes(_) => batch.with_codes(column, &codes)?,
            _ => batch.with_numbers(column, &numbers[..])?,
        };
        let posterior = self.model.evidence(&batch)?.posterior(self.prior);
        let mut mean = vec![0.0; self.prior.classes()];
        let (mut total, mut after, mut changes) = (0.0, 0.0, 0.0);
        let mut taken = Vec::new();
        for (i, (_, weight)) in possible.iter().enumerate() {
            let p = posterior.row(i);
            // Impossible under every class, but for rounding.
            if p.iter().any(|p| p.is_nan()) {
                continue;
            }
            let (action, risk) = self.costs.best(&p);
            total += weight;
            after += weight * risk;
            changes += weight * f64::from(u8::from(action != self.action));
            mean.iter_mut().zip(&p).for_each(|(mean, p)| *mean += weight * p);
            taken.push(i);
        }
        if total <= 0.0 {
            return Ok(None);
        }
        mean.iter_mut().for_each(|mean| *mean /= total);
        let (stays, risk) = self.costs.best(&mean);
        let reduction = (risk - after / total).max(0.0);
        // Expected costs are linear in the posterior, so the reduction is the mean of what each draw saves over `stays`.
        let saved = |i: &usize| {
            let p = posterior.row(*i);
            self.costs.expected(&p)[stays] - self.costs.best(&p).1
        };
        let standard_error = match (exact, taken.len()) {
            (true, _) | (_, 0 | 1) => 0.0,
            (false, count) => {
                let squares: f64 = taken.iter().map(|i| (saved(i) - reduction).powi(2)).sum();
                (squares / (count as f64 * (count - 1) as f64)).sqrt()
            }
        };
        let changes = changes / total;
        Ok(Some(Measurement { column, reduction, standard_error, changes, exact, mean_posterior: mean }))
    }
}

/// A number, or the code of a level as one.
fn number(value: &Value) -> f64 {
    match value {
        Value::Number(x) => *x,
        Value::Level(code) => f64::from(*code),
        Value::Counts(_) => f64::NAN,
    }
}
