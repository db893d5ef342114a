//! Sums of kernels around points: ln Σⱼ wⱼ aⱼ^(−d) exp(−|q − zⱼ|²/2h²aⱼ²), for many q of d numbers at once.

use crate::numerics::{Matrix, dot, lanes, product, vectorised};

/// Points of one product: a block of products stays in the second-level cache.
const BLOCK: usize = 256;

/// Whitened points of a class and their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// A point in each column, `BLOCK` columns in each matrix.
    blocks: Vec<Matrix>,
    /// ½|z|² of each.
    halves: Vec<f64>,
    /// 1/a² of each.
    pub precisions: Vec<f64>,
    /// ln w − d ln a of each.
    pub log_weights: Vec<f64>,
    /// Σ w
    pub weight: f64,
}

/// ½|z|² of the columns of a matrix.
pub fn halves(z: &Matrix) -> Vec<f64> {
    (0..z.columns()).map(|i| 0.5 * dot(z.column(i), z.column(i))).collect()
}

impl Points {
    /// Points in the columns of a matrix, with their weights and spreads a.
    pub fn new(z: &Matrix, weights: &[f64], spreads: &[f64]) -> Self {
        let width = z.rows();
        let block = |start: usize| {
            let end = z.columns().min(start + BLOCK);
            Matrix::from_columns(width, end - start, z.data()[start * width..end * width].to_vec())
        };
        Points {
            blocks: (0..z.columns()).step_by(BLOCK).map(block).collect(),
            halves: halves(z),
            precisions: spreads.iter().map(|a| a.powi(-2)).collect(),
            log_weights: weights.iter().zip(spreads).map(|(w, a)| w.ln() - width as f64 * a.ln()).collect(),
            weight: weights.iter().sum(),
        }
    }

    /// Point `i`.
    pub fn point(&self, i: usize) -> &[f64] {
        self.blocks[i / BLOCK].column(i % BLOCK)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.halves.len()
    }

    /// −½|q − z|²/a² of each point z and each column q: point after point in each column.
    pub fn minus_half_squares(&self, q: &Matrix) -> Matrix {
        let own = halves(q);
        let mut all = Matrix::zeros(self.len(), q.columns());
        let mut start = 0;
        for block in &self.blocks {
            let products = product(block, true, q, false);
            let end = start + block.columns();
            for (i, half) in own.iter().enumerate() {
                let cells = &mut all.data_mut()[i * self.halves.len()..][start..end];
                let pairs = products.column(i).iter().zip(&self.halves[start..end]).zip(&self.precisions[start..end]);
                // Rounding must not make a square negative.
                cells.iter_mut().zip(pairs).for_each(|(cell, ((p, z), precision))| {
                    *cell = (p - z - half).min(0.0) * precision;
                });
            }
            start = end;
        }
        all
    }
}

/// ln Σⱼ exp(sⱼ·scale + lⱼ); −∞ of none.
pub fn log_sum(minus_half_squares: &[f64], log_weights: &[f64], scale: f64) -> f64 {
    vectorised!(log_sum_in_lanes(minus_half_squares, log_weights, scale))
}

#[inline(always)]
fn log_sum_in_lanes(s: &[f64], l: &[f64], scale: f64) -> f64 {
    const LANES: usize = 8;
    let ((s, last_s), (l, last_l)) = (s.as_chunks::<LANES>(), l[..s.len()].as_chunks::<LANES>());
    let mut most = [f64::NEG_INFINITY; LANES];
    for (s, l) in s.iter().zip(l) {
        for k in 0..LANES {
            let x = s[k] * scale + l[k];
            most[k] = if x > most[k] { x } else { most[k] };
        }
    }
    let last = last_s.iter().zip(last_l).map(|(s, l)| s * scale + l);
    let most = most.into_iter().chain(last.clone()).fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    let mut sums = [0.0; LANES];
    for (s, l) in s.iter().zip(l) {
        for k in 0..LANES {
            sums[k] += lanes::exp(s[k] * scale + l[k] - most);
        }
    }
    most + (sums.iter().sum::<f64>() + last.map(|x| lanes::exp(x - most)).sum::<f64>()).ln()
}
