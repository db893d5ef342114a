//! How usual rows are: the rank of p(x) among rows that the model itself would make, or the model that
//! [describes](Model::described) its rows.
//!
//! ```text
//! p(x) = Σₖ πₖ p(x | k)        rank(x) = P( p(X) ≤ p(x) ),  X drawn from the model under the prior π
//! ```
//!
//! Ranks come from rows drawn with a seed, [`DRAWN`] of them, so that a rank is off by half a per cent or so. A row
//! with missing cells is compared with drawn rows that lack the same cells: densities of different cells do not
//! compare. For one Gaussian of d numbers the rank is the tail of χ² with d degrees of freedom at the squared
//! Mahalanobis distance.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use crate::data::{Batch, Cells, MISSING, Rows, Tile, View};
use crate::drawn::Drawn;
use crate::error::{Error, Result};
use crate::learn::{Classifier, GenerativeModel};
use crate::model::{Asks, Model};
use crate::numerics::{Random, hash};
use crate::posterior::Prior;

/// How many rows are drawn, unless told otherwise.
pub const DRAWN: usize = 10_000;

/// Ranks are kept of rows that lack cells in so many ways.
const KEPT: usize = 64;

/// Rows drawn at once.
const CHUNK: usize = 256;

/// Rows of a model under a prior, to which others are compared.
pub struct Usual {
    prior: Prior,
    width: usize,
    /// Drawn rows, and the weight of each of them.
    drawn: Vec<(Drawn, f64)>,
    /// The ranks of drawn rows without some of their cells, by which are missing; at first that of whole rows.
    ranks: Mutex<HashMap<Vec<bool>, Arc<Ranks>>>,
}

/// How usual a row is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HowUsual {
    /// ln p(x).
    pub log_density: f64,
    /// The probability that a row of the model is no more usual.
    pub rank: f64,
}

/// ln p(x) of drawn rows, ascending, and the weight of all rows up to each.
struct Ranks {
    log_densities: Vec<f64>,
    up_to: Vec<f64>,
}

impl Ranks {
    fn rank(&self, log_density: f64) -> f64 {
        // Equal rows need not have equal last digits.
        let limit = log_density + 1e-10 * log_density.abs().max(1.0);
        match self.log_densities.partition_point(|x| *x <= limit) {
            0 => 0.0,
            count => self.up_to[count - 1],
        }
    }
}

impl std::fmt::Debug for Usual {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Usual").field("prior", &self.prior).finish_non_exhaustive()
    }
}

impl Usual {
    /// Draws rows of the model that describes those of `model`, under a prior.
    ///
    /// ```
    /// use deciban::data::{Batch, Schema};
    /// use deciban::engine::Memory;
    /// use deciban::unusual::{DRAWN, Usual};
    /// use deciban::family::gaussian::Gaussian;
    /// use deciban::learn::{Generative, Learner};
    /// use deciban::model::Model;
    /// use deciban::posterior::Prior;
    /// // Two unit Gaussians at 0 and 9; where the second never occurs, one in 20 rows is 1.96 or more from 0.
    /// let schema = Schema::numbers(&["x"], "class", &["a", "b"])?;
    /// let rows = Batch::new(4).column(&[-1.0, 1.0, 8.0, 10.0][..])?.classes(&[0, 0, 1, 1])?;
    /// let learner = Generative::gaussian(schema.columns(), Gaussian::default())?;
    /// let model = Model::Generative(learner.learn(&Memory::new(schema, rows)?)?);
    /// let usual = Usual::new(&model, &Prior::new(&[1.0, 0.0])?, DRAWN, 0)?;
    /// let found = usual.look(&model, &Batch::new(1).column(&[-1.959_963_985][..])?)?[0];
    /// assert!((found.rank - 0.05).abs() < 0.01);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn new(model: &Model, prior: &Prior, rows: usize, seed: u64) -> Result<Self> {
        let model = model.described(Asks::Rows)?.model;
        Error::check_shape("classes of the prior", model.schema().classes().len(), prior.classes())?;
        let width = model.schema().columns().len();
        // Classes have rows in proportion to the prior, so that only their cells are left to chance.
        let mut chunks = Vec::new();
        for (class, &share) in prior.probabilities().iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let count = ((rows as f64 * share).ceil() as usize).max(1);
            let starts = (0..count).step_by(CHUNK);
            chunks.extend(starts.map(|start| (class, start, CHUNK.min(count - start), share / count as f64)));
        }
        let draw = |(class, start, count, weight): (usize, usize, usize, f64)| {
            // Each chunk has its own stream, so that threads change nothing.
            let mut random = Random::new(hash(hash(seed, class as u64), start as u64));
            let rows = (0..count).map(|_| model.sample(class, &mut random)).collect::<Result<Vec<_>>>()?;
            Ok((Drawn::new(rows, width), weight))
        };
        let drawn = chunks.into_par_iter().map(draw).collect::<Result<_>>()?;
        Ok(Usual { prior: prior.clone(), width, drawn, ranks: Mutex::default() })
    }

    /// The prior.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// How usual rows are; `model` is that of which the rows were drawn.
    pub fn look(&self, model: &Model, x: &Batch<'_>) -> Result<Vec<HowUsual>> {
        let model = model.described(Asks::Rows)?.model;
        let densities = model.evidence(x)?.log_density(&self.prior);
        let mut known: HashMap<Vec<bool>, Arc<Ranks>> = HashMap::new();
        let row = |(missing, log_density): (Vec<bool>, f64)| {
            let ranks = match known.get(&missing) {
                Some(ranks) => ranks.clone(),
                None => known.entry(missing.clone()).or_insert(self.ranks(model, missing)?).clone(),
            };
            Ok(HowUsual { log_density, rank: ranks.rank(log_density) })
        };
        missing_cells(x)?.into_iter().zip(densities).map(row).collect()
    }

    fn ranks(&self, model: &GenerativeModel, missing: Vec<bool>) -> Result<Arc<Ranks>> {
        Error::check_shape("columns of the rows", self.width, missing.len())?;
        // A panic elsewhere leaves ranks that were added whole.
        let lock = || self.ranks.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(ranks) = lock().get(&missing) {
            return Ok(ranks.clone());
        }
        let chunk = |(rows, weight): &(Drawn, f64)| {
            let densities = rows.with_batch(&missing, |x| Ok(model.evidence(x)?.log_density(&self.prior)))?;
            Ok(densities.into_iter().map(|x| (x, *weight)).collect())
        };
        let mut all = self.drawn.par_iter().map(chunk).collect::<Result<Vec<Vec<(f64, f64)>>>>()?.concat();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let up_to = all.iter().scan(0.0, |sum, (_, weight)| {
            *sum += weight;
            Some(f64::min(*sum, 1.0))
        });
        let ranks = Arc::new(Ranks { up_to: up_to.collect(), log_densities: all.iter().map(|(x, _)| *x).collect() });
        let mut known = lock();
        if known.len() >= KEPT {
            // Who asks for ever other cells must not fill the memory of a service.
            known.clear();
        }
        known.insert(missing, ranks.clone());
        drop(known);
        Ok(ranks)
    }
}

/// For each row, which of its cells are missing.
fn missing_cells(x: &Batch<'_>) -> Result<Vec<Vec<bool>>> {
    let mut missing = vec![vec![false; x.width()]; x.rows()];
    let numbers: Vec<usize> = (0..x.width()).filter(|&j| matches!(x.view(j), View::Numbers(_))).collect();
    if !numbers.is_empty() {
        let mut tile = Tile::default();
        Cells::new(x, &numbers, Rows::Range(0..x.rows())).read_numbers(&mut tile)?;
        for (place, &j) in numbers.iter().enumerate() {
            missing.iter_mut().zip(tile.column(place)).for_each(|(row, x)| row[j] = x.is_nan());
        }
    }
    for j in 0..x.width() {
        if let View::Codes(codes) = x.view(j) {
            missing.iter_mut().zip(*codes).for_each(|(row, code)| row[j] = *code == MISSING);
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Schema;
    use crate::engine::Memory;
    use crate::family::gaussian::Gaussian;
    use crate::learn::{Generative, Learner};
    use crate::numerics::chi_squared_tail;

    #[test]
    fn the_rank_of_a_gaussian_is_the_tail_of_chi_squared() {
        let mut random = Random::new(5);
        let n = 4000;
        let x: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let y: Vec<f64> = x.iter().map(|x| 0.8 * x + 3.0 * random.normal()).collect();
        let classes: Vec<u32> = (0..n as u32).map(|i| i % 2).collect();
        let schema = Schema::numbers(&["x", "y"], "class", &["a", "b"]).unwrap();
        let batch = Batch::new(n).column(&x[..]).unwrap().column(&y[..]).unwrap().classes(&classes).unwrap();
        let learner = Generative::gaussian(schema.columns(), Gaussian::default()).unwrap();
        let model = Model::Generative(learner.learn(&Memory::new(schema, batch).unwrap()).unwrap());
        let prior = Prior::new(&[1.0, 0.0]).unwrap();
        let usual = Usual::new(&model, &prior, DRAWN, 1).unwrap();
        // ln p(mean) − ln p(x) is half the squared distance, whatever the parameters.
        let nan = f64::NAN;
        let (u, v) = ([0.1, 1.0, -2.0, 2.5, nan, nan, 0.7], [0.0, -3.0, 1.0, -9.0, 2.0, 9.0, nan]);
        let found = usual.look(&model, &Batch::new(7).column(&u[..]).unwrap().column(&v[..]).unwrap()).unwrap();
        let own =
            |class: u32, z: &[f64]| -> Vec<f64> { (0..n).filter(|&i| classes[i] == class).map(|i| z[i]).collect() };
        let mean = |z: &[f64]| z.iter().sum::<f64>() / z.len() as f64;
        let centre = [mean(&own(0, &x)), mean(&own(0, &y))];
        for (i, how) in found.iter().enumerate() {
            let at = |z: f64, c: f64| [if z.is_nan() { nan } else { c }];
            let (a, b) = (at(u[i], centre[0]), at(v[i], centre[1]));
            let top = usual.look(&model, &Batch::new(1).column(&a[..]).unwrap().column(&b[..]).unwrap()).unwrap()[0];
            let degrees = f64::from(u8::from(!u[i].is_nan()) + u8::from(!v[i].is_nan()));
            let tail = chi_squared_tail(2.0 * (top.log_density - how.log_density), degrees);
            assert!((how.rank - tail).abs() < 0.015, "{i}: {how:?} {tail}");
            assert!(top.rank > 0.999);
        }
    }
}
