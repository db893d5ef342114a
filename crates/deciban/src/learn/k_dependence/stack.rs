//! The weights of the tables. With δₜ(k) = ln pₘ(k) − ln pₘ₋₁(k) for each table t, they minimise
//!
//! ```text
//! −Σ vᵢ ln p(labelᵢ | xᵢ) + ½ E Σₜ (wₜ − w₀)²,   p(k | x) ∝ exp(bₖ + Σₜ wₜ δₜ(k))
//! ```
//!
//! where each row's δ are by the counts without the row: tables that only repeat their own rows get no weight. Only
//! differences of classes matter, so the first class has the score 0 and no offset. The optimiser is L-BFGS, in the
//! metric of a Hessian that is that of some rows.

use rayon::prelude::*;

use super::chain::{Chain, Root, left_out};
use super::table::CodedTable;
use crate::error::Result;
use crate::numerics::minimise::{Curvature, Limits, Objective, Point, Solution, lbfgs};
use crate::numerics::{Matrix, add_row_gram, lanes, vectorised};

/// w₀: weights stay here where nothing speaks against it.
pub const FIRST: f64 = 0.1;
/// The most numbers that are kept; of more rows, every so many teach the weights.
const MOST_KEPT: usize = 1 << 26;
/// Products of a Hessian that points the way.
const MOST_PRODUCTS: f64 = 1.5e9;
/// Rows whose sums are added up by themselves: results do not depend on threads.
const BLOCK: usize = 512;

/// The rows by which the weights are learned.
pub struct Stack {
    tables: usize,
    outputs: usize,
    /// `(row·outputs + class − 1)·tables + table`: δ of the class less that of the first.
    features: Vec<f32>,
    labels: Vec<u32>,
    weights: Vec<f64>,
    /// E.
    decay: f64,
}

impl Stack {
    /// The features of all rows, or of every so many.
    pub fn new(table: &CodedTable, root: &Root, chains: &[Chain], decay: f64) -> Self {
        let tables: usize = chains.iter().map(|chain| chain.levels.len()).sum();
        let outputs = table.classes - 1;
        let most = (MOST_KEPT / (tables * outputs).max(1)).max(1);
        let rows: Vec<usize> = (0..table.rows()).step_by(table.rows().div_ceil(most).max(1)).collect();
        let width = tables * outputs;
        let mut features = vec![0f32; rows.len() * width];
        if width > 0 {
            let blocks = features.par_chunks_mut(BLOCK * width).zip(rows.par_chunks(BLOCK));
            blocks.for_each(|(features, rows)| fill(table, root, chains, rows, features));
        }
        let labels = rows.iter().map(|&row| table.labels[row]).collect();
        let weights = rows.iter().map(|&row| table.weights[row]).collect();
        Stack { tables, outputs, features, labels, weights, decay }
    }

    /// The weights and the offsets of all classes but the first, from the weights of the classes; `stop` is asked at
    /// each step.
    pub fn solve(&self, classes: &[f64], limits: Limits, stop: &dyn Fn() -> Result<()>) -> Result<Solution> {
        let offsets = classes[1..].iter().map(|w| (w / classes[0]).ln());
        let theta = std::iter::repeat_n(FIRST, self.tables).chain(offsets).collect();
        lbfgs(&Problem { stack: self, stop }, theta, Curvature::Exact, limits)
    }

    /// The weight of the rows.
    pub fn weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// What a squared weight adds to the objective.
    pub fn penalty(&self, theta: &[f64]) -> f64 {
        0.5 * self.decay * theta[..self.tables].iter().map(|w| (w - FIRST) * (w - FIRST)).sum::<f64>()
    }

    /// Calls `body` for some rows with their features, labels, weights, and the probability of each class but the first;
    /// it returns the loss.
    fn each(&self, rows: &[usize], theta: &[f64], mut body: impl FnMut(&[f32], &[f64], f64)) -> f64 {
        let (w, b) = theta.split_at(self.tables);
        let width = self.tables * self.outputs;
        let mut p = vec![0.0; self.outputs];
        let mut loss = 0.0;
        for &row in rows {
            let features = &self.features[row * width..(row + 1) * width];
            p.copy_from_slice(b);
            if self.tables > 0 {
                vectorised!(for (z, features) in p.iter_mut().zip(features.chunks_exact(w.len())) {
                    *z += product(features, w);
                });
            }
            let label = self.labels[row] as usize;
            let own = label.checked_sub(1).map_or(0.0, |k| p[k]);
            let top = p.iter().copied().fold(0.0, f64::max);
            let mut sum = (-top).exp();
            for p in &mut p {
                *p = (*p - top).exp();
                sum += *p;
            }
            loss += self.weights[row] * (top + sum.ln() - own);
            p.iter_mut().for_each(|p| *p /= sum);
            body(features, &p, self.weights[row]);
        }
        loss
    }

    fn slopes(&self, rows: &[usize], theta: &[f64]) -> (f64, Vec<f64>) {
        let mut slopes = vec![0.0; theta.len()];
        let (by_weight, by_offset) = slopes.split_at_mut(self.tables);
        let mut at = rows.iter();
        let loss = self.each(rows, theta, |features, p, weight| {
            // One call for each row.
            let label = at.next().map_or(0, |&row| self.labels[row] as usize);
            let residual = |k: usize| weight * (p[k] - f64::from(label == k + 1));
            (0..p.len()).for_each(|k| by_offset[k] += residual(k));
            if !by_weight.is_empty() {
                vectorised!(for (k, features) in features.chunks_exact(by_weight.len()).enumerate() {
                    let r = residual(k);
                    by_weight.iter_mut().zip(features).for_each(|(sum, x)| *sum += r * f64::from(*x));
                });
            }
        });
        (loss, slopes)
    }

    /// The Hessian without the penalty: Σ v Σₖ pₖ (fₖ − f̄)(fₖ − f̄)ᵀ with f̄ = Σ pₖ fₖ, where the offsets are features
    /// too.
    fn hessian(&self, rows: &[usize], theta: &[f64]) -> Matrix {
        let size = theta.len();
        let mut h = Matrix::zeros(size, size);
        let mut mean = vec![0.0; size];
        let mut centred = Vec::new();
        self.each(rows, theta, |features, p, weight| {
            let value = |k: usize, j: usize| match j.checked_sub(self.tables) {
                None => f64::from(features[k * self.tables + j]),
                Some(output) => f64::from(output == k),
            };
            mean.fill(0.0);
            for (k, p) in p.iter().enumerate() {
                mean.iter_mut().enumerate().for_each(|(j, mean)| *mean += p * value(k, j));
            }
            for (k, p) in p.iter().enumerate() {
                let scale = (weight * p).sqrt();
                centred.extend(mean.iter().enumerate().map(|(j, mean)| scale * (value(k, j) - mean)));
            }
            // The first class, whose features are 0.
            let scale = (weight * (1.0 - p.iter().sum::<f64>()).max(0.0)).sqrt();
            centred.extend(mean.iter().map(|mean| -scale * mean));
        });
        add_row_gram(&mut h, &centred);
        h
    }

    /// The objective and its derivatives; the Hessian is an estimate.
    fn at(&self, theta: &[f64], curvature: Curvature) -> Point {
        let rows: Vec<usize> = (0..self.labels.len()).collect();
        let blocks: Vec<(f64, Vec<f64>)> = rows.par_chunks(BLOCK).map(|rows| self.slopes(rows, theta)).collect();
        let (mut value, mut gradient) = (self.penalty(theta), vec![0.0; theta.len()]);
        for (loss, slopes) in &blocks {
            value += loss;
            gradient.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope);
        }
        let weights = gradient.iter_mut().zip(theta).take(self.tables);
        weights.for_each(|(slope, w)| *slope += self.decay * (w - FIRST));
        if curvature != Curvature::Exact {
            return Point { value, gradient, curvature: Matrix::zeros(0, 0) };
        }
        let products = ((self.outputs + 1) * theta.len() * theta.len()) as f64;
        let most = (MOST_PRODUCTS / products).max(100.0) as usize;
        let some: Vec<usize> = (0..rows.len()).step_by(rows.len().div_ceil(most).max(1)).collect();
        // A few blocks, each with a matrix of its own.
        let parts: Vec<Matrix> =
            some.par_chunks(some.len().div_ceil(4).max(1)).map(|rows| self.hessian(rows, theta)).collect();
        let scale = rows.len() as f64 / some.len().max(1) as f64;
        let mut h = Matrix::zeros(theta.len(), theta.len());
        for part in &parts {
            h.data_mut().iter_mut().zip(part.data()).for_each(|(h, part)| *h += scale * part);
        }
        (0..self.tables).for_each(|t| h[(t, t)] += self.decay);
        Point { value, gradient, curvature: h }
    }
}

/// xᵀw, in the lanes of a vector unit.
#[inline(always)]
fn product(x: &[f32], w: &[f64]) -> f64 {
    let ((x, last_x), (w, last_w)) = (x.as_chunks::<8>(), w.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (x, w) in x.iter().zip(w) {
        for i in 0..8 {
            sums[i] += f64::from(x[i]) * w[i];
        }
    }
    sums.iter().sum::<f64>() + last_x.iter().zip(last_w).map(|(x, w)| f64::from(*x) * w).sum::<f64>()
}

/// The objective as the optimiser sees it.
struct Problem<'a> {
    stack: &'a Stack,
    stop: &'a dyn Fn() -> Result<()>,
}

impl Objective for Problem<'_> {
    fn at(&self, theta: &[f64], curvature: Curvature) -> Result<Point> {
        (self.stop)()?;
        Ok(self.stack.at(theta, curvature))
    }
}

/// The features of some rows, chain after chain, so that its tables stay in the cache.
fn fill(table: &CodedTable, root: &Root, chains: &[Chain], rows: &[usize], features: &mut [f32]) {
    let classes = table.classes;
    let (width, mut start) = (features.len() / rows.len().max(1), 0);
    let tables = width / (classes - 1);
    let [mut p, mut last] = [0; 2].map(|_| vec![0.0; classes]);
    for chain in chains {
        for (&row, features) in rows.iter().zip(features.chunks_exact_mut(width)) {
            let out = Some((table.labels[row] as usize, left_out(table.weights[row])));
            root.shares(out, &mut p);
            last.iter_mut().zip(&p).for_each(|(last, p)| *last = lanes::ln(*p));
            let code = |column: usize| table.columns[column][row];
            chain.walk(code, out, &mut p, |m, p| {
                let mut first = 0.0;
                for (k, (p, last)) in p.iter().zip(last.iter_mut()).enumerate() {
                    let log = lanes::ln(*p);
                    let says = log - std::mem::replace(last, log);
                    match k {
                        0 => first = says,
                        _ => features[(k - 1) * tables + start + m] = (says - first) as f32,
                    }
                }
            });
        }
        start += chain.levels.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::k_dependence::tests::table;

    #[test]
    fn derivatives_are_those_of_the_value() {
        let table = table(200, 3);
        let root = Root { weights: table.class_weights() };
        let chains = [vec![0, 1], vec![2]].map(|columns| Chain::grow(&table, &root, columns));
        let stack = Stack::new(&table, &root, &chains, 2.0);
        let theta = [0.4, -0.3, 0.7, 0.2, -0.5];
        let at = |j: usize, by: f64| {
            let mut theta = theta.to_vec();
            theta[j] += by;
            stack.at(&theta, Curvature::None)
        };
        let point = stack.at(&theta, Curvature::Exact);
        for j in 0..theta.len() {
            let slope = (at(j, 1e-5).value - at(j, -1e-5).value) / 2e-5;
            assert!((slope - point.gradient[j]).abs() < 1e-5 * (1.0 + slope.abs()), "{j}: {slope}");
            for i in j..theta.len() {
                let curvature = (at(j, 1e-4).gradient[i] - at(j, -1e-4).gradient[i]) / 2e-4;
                let found = point.curvature[(i, j)];
                assert!((curvature - found).abs() < 1e-4 * (1.0 + curvature.abs()), "{i}, {j}: {curvature}, {found}");
            }
        }
    }

    #[test]
    fn without_tables_the_classes_have_their_shares() {
        let table = table(90, 3);
        let weights = table.class_weights();
        let stack = Stack::new(&table, &Root { weights: weights.clone() }, &[], 1.0);
        let limits = Limits { gradient: 1e-9, iterations: 50 };
        let theta = stack.solve(&weights, limits, &|| Ok(())).unwrap().theta;
        let by_hand = [(weights[1] / weights[0]).ln(), (weights[2] / weights[0]).ln()];
        assert!(theta.iter().zip(by_hand).all(|(a, b)| (a - b).abs() < 1e-9), "{theta:?}");
    }
}
