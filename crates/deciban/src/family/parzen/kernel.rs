//! Sums of kernels around points: ln Σⱼ wⱼ aⱼ^(−d) exp(−|q − zⱼ|²/2h²aⱼ²), for many q of d numbers at once.

use crate::numerics::{Matrix, dot, lanes, log_shares, product, vectorised};

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
    /// What they all are, if they are equal.
    pub log_weight: Option<f64>,
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
        let log_weights: Vec<f64> = weights.iter().zip(spreads).map(|(w, a)| w.ln() - width as f64 * a.ln()).collect();
        let first = log_weights.first().copied().unwrap_or(0.0);
        let block = |start: usize| {
            let end = z.columns().min(start + BLOCK);
            Matrix::from_columns(width, end - start, z.data()[start * width..end * width].to_vec())
        };
        Points {
            blocks: (0..z.columns()).step_by(BLOCK).map(block).collect(),
            halves: halves(z),
            precisions: spreads.iter().map(|a| a.powi(-2)).collect(),
            log_weight: log_weights.iter().all(|weight| *weight == first).then_some(first),
            log_weights,
            weight: weights.iter().sum(),
        }
    }

    /// Point `i`.
    pub fn point(&self, i: usize) -> &[f64] {
        self.blocks[i / BLOCK].column(i % BLOCK)
    }

    /// ln Σⱼ wⱼ aⱼ^(−d) exp(sⱼ·scale) of a column of [`minus_half_squares`](Self::minus_half_squares).
    pub fn log_sum(&self, s: &[f64], scale: f64) -> f64 {
        match self.log_weight {
            Some(weight) => {
                let most = most(s);
                most * scale + weight + log_sum_of_equal(s, most, scale)
            }
            None => log_sum(s, &self.log_weights, scale),
        }
    }

    /// The share of each point in this sum; 0/0 and NaN where the sum is 0.
    pub fn shares(&self, s: &[f64], scale: f64) -> Vec<f64> {
        let mut shares: Vec<f64> = s.iter().zip(&self.log_weights).map(|(s, w)| s * scale + w).collect();
        log_shares(&mut shares);
        shares.iter_mut().for_each(|share| *share = share.exp());
        shares
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.halves.len()
    }

    /// −½|q − z|²/a² of each point z and each column q: point after point in each column; −∞ where |q|² is beyond the
    /// largest double.
    pub fn minus_half_squares(&self, q: &Matrix) -> Matrix {
        let own = halves(q);
        let mut all = Matrix::zeros(self.len(), q.columns());
        let mut start = 0;
        for block in &self.blocks {
            let products = product(block, true, q, false);
            let end = start + block.columns();
            for (i, half) in own.iter().enumerate() {
                let cells = &mut all.data_mut()[i * self.halves.len()..][start..end];
                if !half.is_finite() {
                    // Below, ∞ − ∞ would be NaN.
                    cells.fill(f64::NEG_INFINITY);
                    continue;
                }
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

/// Kernels that are smaller than the largest by this factor, as a logarithm, are left out where eight of them stand
/// together: a million of them change no sum of doubles. (Far from all points the largest is so large a number that it
/// does not change when this is added: the largest itself is never left out.)
const NEGLIGIBLE: f64 = -50.0;

/// ln Σⱼ exp((sⱼ − most)·scale) of points that weigh the same, where `most` is the largest s; −∞ of none.
pub fn log_sum_of_equal(minus_half_squares: &[f64], most: f64, scale: f64) -> f64 {
    match most == f64::NEG_INFINITY {
        true => most,
        false => vectorised!(log_sum_of_equal_in_lanes(minus_half_squares, most, scale)),
    }
}

#[inline(always)]
fn log_sum_of_equal_in_lanes(s: &[f64], most: f64, scale: f64) -> f64 {
    const LANES: usize = 8;
    let (s, last) = s.as_chunks::<LANES>();
    let near = most + NEGLIGIBLE / scale;
    let mut sums = [0.0; LANES];
    for s in s {
        let mut any = false;
        for k in 0..LANES {
            any |= s[k] >= near;
        }
        if any {
            for k in 0..LANES {
                sums[k] += lanes::exp((s[k] - most) * scale);
            }
        }
    }
    (sums.iter().sum::<f64>() + last.iter().map(|s| lanes::exp((s - most) * scale)).sum::<f64>()).ln()
}

/// The largest number; −∞ of none.
pub fn most(s: &[f64]) -> f64 {
    vectorised!(most_in_lanes(s))
}

#[inline(always)]
fn most_in_lanes(s: &[f64]) -> f64 {
    let (s, last) = s.as_chunks::<16>();
    let mut most = [f64::NEG_INFINITY; 16];
    for s in s {
        for k in 0..16 {
            most[k] = if s[k] > most[k] { s[k] } else { most[k] };
        }
    }
    most.iter().chain(last).copied().fold(f64::NEG_INFINITY, f64::max)
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
    let near = most + NEGLIGIBLE;
    let mut sums = [0.0; LANES];
    for (s, l) in s.iter().zip(l) {
        let (mut x, mut any) = ([0.0; LANES], false);
        for k in 0..LANES {
            x[k] = s[k] * scale + l[k];
            any |= x[k] >= near;
        }
        if any {
            for k in 0..LANES {
                sums[k] += lanes::exp(x[k] - most);
            }
        }
    }
    most + (sums.iter().sum::<f64>() + last.map(|x| lanes::exp(x - most)).sum::<f64>()).ln()
}

/// The numbers behind ln Σⱼ exp(sⱼ·scale + lⱼ) in single precision, for sums at several scales: they are good to five
/// digits or more, which is enough to choose a kernel.
pub struct Rough {
    /// s less the largest.
    s: Vec<f32>,
    /// l less the largest; empty where all are equal.
    l: Vec<f32>,
    most: [f64; 2],
}

impl Rough {
    /// Of numbers s and l; l may be one for all.
    pub fn new(s: &[f64], l: Result<&[f64], f64>) -> Self {
        let most = [most(s), l.map_or_else(|l| l, most)];
        let less = |x: &[f64], most: f64| -> Vec<f32> { vectorised!(x.iter().map(|x| (x - most) as f32).collect()) };
        let l = l.map_or_else(|_| Vec::new(), |l| less(l, most[1]));
        Rough { s: less(s, most[0]), l, most }
    }

    /// ln Σⱼ exp(sⱼ·scale + lⱼ); −∞ of none.
    pub fn log_sum(&self, scale: f64) -> f64 {
        let [s, l] = self.most;
        if s == f64::NEG_INFINITY || l == f64::NEG_INFINITY {
            return f64::NEG_INFINITY;
        }
        let rest = match self.l.is_empty() {
            true => vectorised!(rough_sum(&self.s, &self.s, scale as f32, 0.0)),
            false => vectorised!(rough_sum(&self.s, &self.l, scale as f32, 1.0)),
        };
        s * scale + l + rest
    }
}

/// ln Σⱼ exp(sⱼ·scale + lⱼ·by), where by is 0 or 1. Without l the largest is 0.
#[inline(always)]
fn rough_sum(s: &[f32], l: &[f32], scale: f32, by: f32) -> f64 {
    const LANES: usize = 16;
    let ((s, last_s), (l, last_l)) = (s.as_chunks::<LANES>(), l.as_chunks::<LANES>());
    let x = |s: f32, l: f32| if by > 0.0 { s * scale + l } else { s * scale };
    let mut most = 0.0;
    if by > 0.0 {
        let mut lanes = [f32::NEG_INFINITY; LANES];
        for (s, l) in s.iter().zip(l) {
            for k in 0..LANES {
                let x = x(s[k], l[k]);
                lanes[k] = if x > lanes[k] { x } else { lanes[k] };
            }
        }
        let last = last_s.iter().zip(last_l).map(|(s, l)| x(*s, *l));
        most = lanes.into_iter().chain(last).fold(f32::NEG_INFINITY, f32::max);
        if most == f32::NEG_INFINITY {
            return f64::NEG_INFINITY;
        }
    }
    let near = most + NEGLIGIBLE as f32;
    let mut sums = [0.0f32; LANES];
    for (s, l) in s.iter().zip(l) {
        let mut any = false;
        for k in 0..LANES {
            any |= x(s[k], l[k]) > near;
        }
        if any {
            for k in 0..LANES {
                sums[k] += lanes::exp_single(x(s[k], l[k]) - most);
            }
        }
    }
    let last = last_s.iter().zip(last_l).map(|(s, l)| f64::from(lanes::exp_single(x(*s, *l) - most)));
    f64::from(most) + (sums.iter().map(|sum| f64::from(*sum)).sum::<f64>() + last.sum::<f64>()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Random;

    #[test]
    fn sums_agree() {
        let mut random = Random::new(2);
        let s: Vec<f64> = (0..203).map(|_| -40.0 * random.uniform()).collect();
        let l: Vec<f64> = (0..203).map(|_| random.normal()).collect();
        for scale in [0.25, 1.0, 30.0] {
            let exact = |l: &dyn Fn(usize) -> f64| (0..203).map(|i| (s[i] * scale + l(i)).exp()).sum::<f64>().ln();
            let (equal, other) = (exact(&|_| 0.5), exact(&|i| l[i]));
            assert!((most(&s) * scale + 0.5 + log_sum_of_equal(&s, most(&s), scale) - equal).abs() < 1e-12);
            assert!((log_sum(&s, &l, scale) - other).abs() < 1e-12);
            assert!((Rough::new(&s, Err(0.5)).log_sum(scale) - equal).abs() < 1e-5);
            assert!((Rough::new(&s, Ok(&l)).log_sum(scale) - other).abs() < 1e-5);
        }
        assert_eq!(Rough::new(&[], Err(0.0)).log_sum(1.0), f64::NEG_INFINITY);
        assert_eq!(Rough::new(&[f64::NEG_INFINITY], Err(0.0)).log_sum(1.0), f64::NEG_INFINITY);
    }
}
