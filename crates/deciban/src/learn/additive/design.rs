//! What is penalised: the weights θ, and the tables T that they make.
//!
//! | term | weights | table |
//! |---|---|---|
//! | number of B bins | a step at each of B − 1 cuts, and one for missing cells | T_b = Σ_{j ≤ b} θⱼ − Σⱼ sⱼθⱼ, T_missing = θ |
//! | category | one for each level | T_l = θ_l |
//! | pair | one for each cell | T_ab = θ_ab |
//!
//! sⱼ is the share of the rows above cut j, among those with a number, so that a column's steps are 0 on average
//! and a weight of 0 makes a missing cell an average one. The penalty is ½ E Σ θ² over the weights of columns and
//! ½ F Σ θ² over those of pairs. As it is on steps, neighbouring bins are drawn together, and a column without effect is flat.
//!
//! The optimiser sees neither: it sees φ = Lᵀθ, where LLᵀ is the block of the Hessian that belongs to a term. In φ
//! neither the scale of a term nor the correlation of its own steps costs iterations. Where this is not enough, as
//! where two columns say the same, LLᵀ is the block of all columns together (`joint_hessian.rs`).

use super::coding::{Codes, Coding};
use super::terms::{Term, places};
use crate::numerics::{Matrix, cholesky, dot};

/// Terms, and how their weights become tables.
#[derive(Clone, Debug)]
pub struct Design {
    pub coding: Coding,
    pub terms: Vec<Term>,
    pub outputs: usize,
    /// For each term that is a number, sⱼ.
    steps: Vec<Option<Vec<f64>>>,
    /// Where the cells of each term begin, and its weights.
    cells: Vec<usize>,
    weights: Vec<usize>,
}

impl Design {
    /// The design of these terms; `seen` has the weight of each code of each column.
    pub fn new(coding: Coding, terms: Vec<Term>, outputs: usize, seen: &[Vec<f64>]) -> Self {
        let steps = |term: &Term| match *term {
            Term::Column(c) => match coding.columns()[c].codes() {
                Codes::Bins(bins) => Some(shares_above(&seen[c][..bins.count()])),
                Codes::Levels { .. } => None,
            },
            Term::Pair(..) => None,
        };
        let steps: Vec<Option<Vec<f64>>> = terms.iter().map(steps).collect();
        let cells = places(&terms, &coding);
        let mut weights = vec![0];
        for (t, steps) in steps.iter().enumerate() {
            // B bins and a missing cell have B − 1 steps and one weight more.
            let own = cells[t + 1] - cells[t] - usize::from(steps.is_some());
            weights.push(weights[t] + own);
        }
        Design { coding, terms, outputs, steps, cells, weights }
    }

    /// How many weights there are, with the intercepts.
    pub fn len(&self) -> usize {
        (self.weights[self.terms.len()] + 1) * self.outputs
    }

    /// The length of the tables, with the intercepts.
    pub fn table_len(&self) -> usize {
        (self.cells[self.terms.len()] + 1) * self.outputs
    }

    /// Whether a term is a number, whose cells are bins and, last, the missing ones.
    pub fn has_steps(&self, term: usize) -> bool {
        self.steps[term].is_some()
    }

    /// The penalty of each weight, E for columns and F for pairs, the intercepts' of 0 last.
    pub fn penalties(&self, decay: f64, pair_decay: f64) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.len());
        for (t, term) in self.terms.iter().enumerate() {
            let penalty = if matches!(term, Term::Pair(..)) { pair_decay } else { decay };
            all.resize(self.weights[t + 1] * self.outputs, penalty);
        }
        all.resize(self.len(), 0.0);
        all
    }

    /// The tables of weights.
    pub fn tables(&self, theta: &[f64]) -> Vec<f64> {
        let k = self.outputs;
        let mut tables = Vec::with_capacity(self.table_len());
        for (t, steps) in self.steps.iter().enumerate() {
            let own = &theta[self.weights[t] * k..self.weights[t + 1] * k];
            let Some(shares) = steps else {
                tables.extend_from_slice(own);
                continue;
            };
            let mut level = vec![0.0; k];
            for (step, share) in own.chunks_exact(k).zip(shares) {
                level.iter_mut().zip(step).for_each(|(level, step)| *level -= share * step);
            }
            tables.extend_from_slice(&level);
            for step in own.chunks_exact(k).take(shares.len()) {
                level.iter_mut().zip(step).for_each(|(level, step)| *level += step);
                tables.extend_from_slice(&level);
            }
            tables.extend_from_slice(&own[shares.len() * k..]);
        }
        tables.extend_from_slice(&theta[self.len() - k..]);
        tables
    }

    /// The slopes by the weights of slopes by the tables' cells: the transpose of [`tables`](Design::tables).
    pub fn pull(&self, slopes: &[f64]) -> Vec<f64> {
        let k = self.outputs;
        let mut pulled = Vec::with_capacity(self.len());
        for (t, steps) in self.steps.iter().enumerate() {
            let own = &slopes[self.cells[t] * k..self.cells[t + 1] * k];
            let Some(shares) = steps else {
                pulled.extend_from_slice(own);
                continue;
            };
            let (bins, missing) = own.split_at((shares.len() + 1) * k);
            let above = sums_above(bins, k);
            for (j, share) in shares.iter().enumerate() {
                pulled.extend((0..k).map(|o| above[(j + 1) * k + o] - share * above[o]));
            }
            pulled.extend_from_slice(missing);
        }
        pulled.extend_from_slice(&slopes[self.table_len() - k..]);
        pulled
    }

    /// How many terms are columns: they come first.
    pub fn columns(&self) -> usize {
        self.terms.iter().take_while(|term| matches!(term, Term::Column(_))).count()
    }

    /// Where the cells of each column begin, and behind them the place of the intercept.
    pub fn column_cells(&self) -> &[usize] {
        &self.cells[..=self.columns()]
    }

    /// The Hessian by the weights of the columns and the intercept, of one that is symmetric by their cells and the
    /// intercept, row after row.
    fn pull_columns(&self, by_cells: &[f64]) -> Vec<f64> {
        let columns = self.columns();
        let mut design = Design {
            terms: self.terms[..columns].to_vec(),
            steps: self.steps[..columns].to_vec(),
            cells: self.cells[..=columns].to_vec(),
            weights: self.weights[..=columns].to_vec(),
            coding: self.coding.clone(),
            outputs: self.cells[columns] + 1,
        };
        let half = design.pull(by_cells);
        let (rows, length) = (design.weights[columns] + 1, design.outputs);
        design.outputs = rows;
        design.pull(&(0..length * rows).map(|i| half[i % rows * length + i / rows]).collect::<Vec<_>>())
    }

    /// The metric in which all columns and the intercept of an output have one block, which is given by their cells for
    /// each output. Nothing if rounding has left a block that has no factor.
    pub fn joint_metric(&self, hessians: &[Vec<f64>], diagonal: &[f64], penalties: &[f64]) -> Option<Metric> {
        let k = self.outputs;
        let weights = self.weights[self.columns()];
        let block = |(o, by_cells): (usize, &Vec<f64>)| {
            let places: Vec<usize> = (0..weights).map(|w| w * k + o).chain([self.len() - k + o]).collect();
            let h = self.pull_columns(by_cells);
            let n = places.len();
            let ridged = Matrix::from_fn(n, n, |i, j| h[i * n + j] + if i == j { penalties[places[i]] } else { 0.0 });
            let l = cholesky(&ridged)?;
            Some(Block { places, lower: (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|at| l[at]).collect() })
        };
        let blocks = hessians.iter().enumerate().map(block).collect::<Option<Vec<Block>>>()?;
        let mut metric = self.metric(diagonal, penalties);
        metric.scale[..weights * k].fill(1.0);
        let intercepts = metric.scale.len() - k;
        metric.scale[intercepts..].fill(1.0);
        Some(Metric { blocks, ..metric })
    }

    /// The metric at the Hessian's diagonal by the tables' cells, and the weights' penalties.
    pub fn metric(&self, diagonal: &[f64], penalties: &[f64]) -> Metric {
        let k = self.outputs;
        let mut scale = Vec::with_capacity(self.len());
        let mut blocks = Vec::new();
        for (t, steps) in self.steps.iter().enumerate() {
            let own = &diagonal[self.cells[t] * k..self.cells[t + 1] * k];
            let start = self.weights[t] * k;
            let ridge = |i: usize, h: f64| (h + penalties[start + i]).max(f64::MIN_POSITIVE).sqrt();
            let Some(shares) = steps else {
                scale.extend(own.iter().enumerate().map(|(i, &h)| ridge(i, h)));
                continue;
            };
            let n = shares.len();
            let (bins, missing) = own.split_at((n + 1) * k);
            let above = sums_above(bins, k);
            for o in 0..k {
                let h = |j: usize| above[j * k + o];
                // Σ_b h_b ([b ≥ i] − sᵢ)([b ≥ j] − sⱼ) + E [i = j], for j ≤ i.
                let cell = |i: usize, j: usize| {
                    let (si, sj) = (shares[i], shares[j]);
                    let ridge = if i == j { penalties[start + i * k + o] } else { 0.0 };
                    h(i + 1) - si * h(j + 1) - sj * h(i + 1) + si * sj * h(0) + ridge
                };
                blocks.push(Block { places: (0..n).map(|i| start + o + i * k).collect(), lower: factor(n, cell) });
            }
            scale.resize(start + n * k, 1.0);
            scale.extend(missing.iter().enumerate().map(|(i, &h)| ridge(n * k + i, h)));
        }
        let intercepts = &diagonal[self.table_len() - k..];
        scale.extend(intercepts.iter().map(|h| h.max(1e-9).sqrt()));
        Metric { scale, blocks }
    }
}

/// The share of weights above each cut between them; 0 where there is no weight.
fn shares_above(weights: &[f64]) -> Vec<f64> {
    let above = sums_above(weights, 1);
    let all = above[0];
    above[1..].iter().map(|sum| if all > 0.0 { sum / all } else { 0.0 }).collect()
}

/// Σ over this and all later cells, for `k` values per cell.
fn sums_above(cells: &[f64], k: usize) -> Vec<f64> {
    let mut sums = cells.to_vec();
    (0..cells.len().saturating_sub(k)).rev().for_each(|i| sums[i] += sums[i + k]);
    sums
}

/// L of some weights of one output, row after row.
#[derive(Clone, Debug)]
struct Block {
    places: Vec<usize>,
    lower: Vec<f64>,
}

/// Longer rows of L are multiplied in lanes.
const LONG: usize = 256;

/// The factor L of a symmetric matrix of which `cell(i, j)` with j ≤ i is asked. Rounding may leave a pivot
/// that is not positive; it is taken for a small one, as a metric need not be exact.
fn factor(n: usize, cell: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let row = |i: usize| i * (i + 1) / 2;
    let mut l = Vec::with_capacity(row(n));
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|m| l[row(i) + m] * l[row(j) + m]).sum();
            let rest = cell(i, j) - sum;
            l.push(match i == j {
                true => rest.max(1e-12 * cell(i, i).abs()).max(f64::MIN_POSITIVE).sqrt(),
                false => rest / l[row(j) + j],
            });
        }
    }
    l
}

/// The map between weights θ and what the optimiser sees, φ = Lᵀθ.
#[derive(Clone, Debug)]
pub struct Metric {
    /// The diagonal of L, 1 where a block has it.
    scale: Vec<f64>,
    blocks: Vec<Block>,
}

impl Metric {
    /// φ = Lᵀθ.
    pub fn whitened(&self, theta: &[f64]) -> Vec<f64> {
        let mut phi: Vec<f64> = theta.iter().zip(&self.scale).map(|(t, s)| t * s).collect();
        self.each(&mut phi, |l, x| {
            for j in 0..x.len() {
                x[j] = (j..x.len()).map(|i| l[i * (i + 1) / 2 + j] * x[i]).sum();
            }
        });
        phi
    }

    /// θ = L⁻ᵀφ.
    pub fn weights(&self, phi: &[f64]) -> Vec<f64> {
        let mut theta: Vec<f64> = phi.iter().zip(&self.scale).map(|(p, s)| p / s).collect();
        self.each(&mut theta, |l, x| {
            for i in (0..x.len()).rev() {
                let (row, above) = (&l[i * (i + 1) / 2..(i + 1) * (i + 2) / 2], i);
                x[i] /= row[i];
                let xi = x[i];
                x[..above].iter_mut().zip(row).for_each(|(x, l)| *x -= l * xi);
            }
        });
        theta
    }

    /// The slope by φ of a slope by θ: L⁻¹g.
    pub fn slope(&self, gradient: &[f64]) -> Vec<f64> {
        let mut slope: Vec<f64> = gradient.iter().zip(&self.scale).map(|(g, s)| g / s).collect();
        self.each(&mut slope, |l, x| {
            for i in 0..x.len() {
                let row = &l[i * (i + 1) / 2..(i + 1) * (i + 2) / 2];
                let sum = match i > LONG {
                    true => dot(row, &x[..i]),
                    false => row.iter().zip(&x[..i]).map(|(l, x)| l * x).sum(),
                };
                x[i] = (x[i] - sum) / row[i];
            }
        });
        slope
    }

    /// Applies `body` to the steps of each block.
    fn each(&self, values: &mut [f64], body: impl Fn(&[f64], &mut [f64])) {
        let mut own = Vec::new();
        for Block { places, lower } in &self.blocks {
            own.clear();
            own.extend(places.iter().map(|&place| values[place]));
            body(lower, &mut own);
            places.iter().zip(&own).for_each(|(&place, x)| values[place] = *x);
        }
    }
}
