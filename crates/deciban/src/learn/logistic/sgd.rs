//! Stochastic gradient descent: the textbook's update with every row,
//!
//! ```text
//! wₜ₊₁ = wₜ + ηₜ ((tₙ − yₙ) xₙ − (E/N) wₜ),     ηₜ = η₀ / (1 + t/τ),     τ = min(N, 200/η₀)
//! ```
//!
//! so that Σηₜ is infinite and Σηₜ² is not (Robbins & Monro 1951), and steps are small in time where rows are
//! many and columns few; y the probabilities at wₜ and t the label (of other links −∂ℓ/∂z stands for t − y), N the number of
//! rows; a row of weight 2 has twice the step. Rows come in a new order in every pass, drawn from the
//! seed: in memory an order of all rows, in files an order of the rows of each block, block after block.
//! After each pass the objective is summed over all rows, and the end is where it changes by no more
//! than the tolerance.
//!
//! A step depends on the one before, so this is not a pass that threads share: it is the one learner
//! that needs [`Engine::sweep`]. (Averaging the weights of stripes would be a pass; it is another method.)

use super::Solver;
use super::derivatives::outputs;
use super::features::Features;
use super::link::Link;
use super::rowset::Rowset;
use crate::data::{MISSING, Rows};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::numerics::minimise::{Curvature, Objective, Solution, norm};
use crate::numerics::{Random, hash};

/// The rate, the order of the rows and the end of stochastic gradient descent.
#[derive(Clone, Debug, PartialEq)]
pub struct Descent {
    /// η₀; without it 1/(¼ mean ‖x‖² + E/N), the inverse of a bound on a row's mean curvature (of the
    /// logit; ‖x‖² counts the intercept's 1).
    pub rate: Option<f64>,
    /// The seed of the orders.
    pub seed: u64,
    /// The change of the objective from one pass to the next, per row, that counts as none.
    pub tolerance: f64,
    /// The most passes.
    pub passes: usize,
}

impl Default for Descent {
    fn default() -> Self {
        Descent { rate: None, seed: 0, tolerance: 1e-5, passes: 100 }
    }
}

/// Rows that become features at once.
const TILE: usize = 256;

/// The model whose weights move.
pub struct Problem<'a> {
    pub features: &'a Features,
    pub classes: usize,
    pub link: Link,
    pub decay: f64,
    /// N: the weight of all rows.
    pub weight: f64,
}

/// Descends from `theta`; `objective` is the penalised one of the same problem.
pub fn sgd(
    engine: &dyn Engine,
    problem: &Problem<'_>,
    objective: &impl Objective,
    theta: Vec<f64>,
    descent: &Descent,
) -> Result<Solution> {
    let rate = match descent.rate {
        Some(rate) => rate,
        None => (0.25 * problem.mean_square(engine)? + problem.decay / problem.weight).recip(),
    };
    if !(rate > 0.0 && rate * problem.decay < problem.weight) {
        let most = problem.weight / problem.decay;
        return Err(Error::parameter("rate", format!("give a number above 0 and below rows/E = {most}")));
    }
    let mut weights = Weights::new(theta, outputs(problem.classes));
    let mut point = objective.at(&weights.theta(), Curvature::None)?;
    let mut path = vec![point.value];
    let mut change = f64::INFINITY;
    while path.len() <= descent.passes && change > descent.tolerance * problem.weight {
        let pass = path.len() as u64;
        problem.pass(engine, &mut weights, rate, hash(descent.seed, pass))?;
        let theta = weights.theta();
        if theta.iter().any(|w| !w.is_finite()) {
            return Err(Error::parameter("rate", format!("the weights run away: give less than {rate}")));
        }
        point = objective.at(&theta, Curvature::None)?;
        change = (path[path.len() - 1] - point.value).abs();
        path.push(point.value);
    }
    Ok(Solution {
        solver: Solver::Sgd,
        theta: weights.theta(),
        value: point.value,
        gradient_norm: norm(&point.gradient),
        iterations: path.len() - 1,
        converged: change <= descent.tolerance * problem.weight,
        path,
    })
}

/// θ = (s·v, b): the penalty shrinks all weights in one multiplication, so a sparse row costs only
/// its own features.
struct Weights {
    scale: f64,
    v: Vec<f64>,
    intercept: Vec<f64>,
    /// t: the weight of the rows so far.
    seen: f64,
}

impl Weights {
    fn new(mut theta: Vec<f64>, outputs: usize) -> Self {
        let intercept = theta.split_off(theta.len() - outputs);
        Weights { scale: 1.0, v: theta, intercept, seen: 0.0 }
    }

    fn theta(&self) -> Vec<f64> {
        self.v.iter().map(|v| self.scale * v).chain(self.intercept.iter().copied()).collect()
    }

    fn shrink(&mut self, factor: f64) {
        self.scale *= factor;
        if self.scale < 1e-100 {
            self.v.iter_mut().for_each(|v| *v *= self.scale);
            self.scale = 1.0;
        }
    }
}

/// Σ of a product along a row: its numbers, then its sparse features.
fn add_product(v: &[f64], numbers: &[f64], sparse: impl Iterator<Item = (usize, f64)>, out: &mut [f64]) {
    let outputs = out.len();
    for (w, x) in v.chunks_exact(outputs).zip(numbers) {
        out.iter_mut().zip(w).for_each(|(z, w)| *z += x * w);
    }
    for (j, x) in sparse {
        out.iter_mut().zip(&v[j * outputs..]).for_each(|(z, w)| *z += x * w);
    }
}

impl Problem<'_> {
    /// The mean of ‖x‖², the intercept's 1 included.
    fn mean_square(&self, engine: &dyn Engine) -> Result<f64> {
        let (mut rowset, mut sum) = (Rowset::default(), 0.0);
        engine.sweep(&mut |batch| {
            let (labels, weights) = (batch.labels_to_learn()?, batch.row_weights());
            for start in (0..batch.rows()).step_by(TILE) {
                engine.check_stop()?;
                let rows = start..batch.rows().min(start + TILE);
                self.features.read(batch, Rows::Range(rows.clone()), &mut rowset)?;
                for (i, row) in rows.enumerate().filter(|(_, row)| labels[*row] != MISSING) {
                    let square = rowset.square(i) + 1.0;
                    sum += square * weights.map_or(1.0, |w| w[row]);
                }
            }
            Ok(())
        })?;
        Ok(sum / self.weight)
    }

    /// One pass over all rows, in an order drawn from `seed`.
    fn pass(&self, engine: &dyn Engine, weights: &mut Weights, rate: f64, seed: u64) -> Result<()> {
        let (mut random, mut order) = (Random::new(seed), Vec::new());
        let (mut rowset, mut numbers) = (Rowset::default(), vec![0.0; self.features.numbers()]);
        let mut z = vec![0.0; weights.intercept.len()];
        let tau = self.weight.min(200.0 / rate);
        engine.sweep(&mut |batch| {
            let (labels, given) = (batch.labels_to_learn()?, batch.row_weights());
            random.permutation(batch.rows() as u32, &mut order);
            for rows in order.chunks(TILE) {
                engine.check_stop()?;
                self.features.read(batch, Rows::Index(rows), &mut rowset)?;
                for (i, &row) in rows.iter().enumerate() {
                    let (label, weight) = (labels[row as usize], given.map_or(1.0, |w| w[row as usize]));
                    if label == MISSING || weight == 0.0 {
                        continue;
                    }
                    rowset.numbers_of(i, &mut numbers);
                    z.fill(0.0);
                    add_product(&weights.v, &numbers, rowset.sparse(i), &mut z);
                    z.iter_mut().zip(&weights.intercept).for_each(|(z, b)| *z = weights.scale * *z + b);
                    self.link.slopes(&mut z, label);
                    let step = rate * weight / (1.0 + weights.seen / tau);
                    weights.shrink(1.0 - step * self.decay / self.weight);
                    z.iter_mut().zip(&mut weights.intercept).for_each(|(z, b)| {
                        *b -= step * *z;
                        *z *= step / weights.scale;
                    });
                    subtract(&mut weights.v, &numbers, rowset.sparse(i), &z);
                    weights.seen += weight;
                }
            }
            Ok(())
        })
    }
}

/// v ← v − x rᵀ
fn subtract(v: &mut [f64], numbers: &[f64], sparse: impl Iterator<Item = (usize, f64)>, r: &[f64]) {
    let outputs = r.len();
    for (w, x) in v.chunks_exact_mut(outputs).zip(numbers) {
        w.iter_mut().zip(r).for_each(|(w, r)| *w -= x * r);
    }
    for (j, x) in sparse {
        v[j * outputs..].iter_mut().zip(r).for_each(|(w, r)| *w -= x * r);
    }
}
