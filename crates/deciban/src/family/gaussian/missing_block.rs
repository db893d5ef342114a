//! The missing block P_mm of a precision matrix, factored for a few rows at the same time, each in a lane of the vector
//! unit with the cells that it misses: P_mm = LLᵀ.
//!
//! A lane that misses fewer cells than others has ones on the diagonal and zeros beside it at the end, which leave its
//! own numbers as they are, to the last bit: what becomes of a row does not depend on the rows beside it.

use crate::data::Tile;
use crate::error::{Error, Result};
use crate::numerics::{Matrix, dot, lanes, vectorised};

use super::gaps::{LANES, Run};

/// A number of each lane.
pub(super) type Lanes = [f64; LANES];

/// P_mm of the rows of some lanes, with memory that is used again.
#[derive(Default)]
pub(super) struct MissingBlock {
    /// The most cells that a lane misses.
    n: usize,
    /// L, column after column, each from the diagonal down.
    l: Vec<Lanes>,
    /// 1/L_aa
    reciprocals: Vec<Lanes>,
    /// L⁻¹, as L.
    inverse: Vec<Lanes>,
    /// Right-hand sides.
    x: Vec<Lanes>,
    row: Vec<f64>,
}

impl MissingBlock {
    /// Factors P_mm of the rows of a run.
    pub(super) fn set(&mut self, precision: &Matrix, run: &Run<'_>) -> Result<()> {
        let n = run.most();
        self.n = n;
        self.l.resize(n * (n + 1) / 2, [0.0; LANES]);
        self.reciprocals.resize(n, [0.0; LANES]);
        for lane in 0..LANES {
            let mut l = self.l.iter_mut();
            let mut missing = run.missing(lane);
            for b in 0..n {
                let rest = missing.clone();
                let column = missing.next().map_or(&[][..], |j| precision.column(j));
                let mut below = rest.map(|i| column[i]);
                let beyond = if column.is_empty() { 1.0 } else { 0.0 };
                for (k, l) in l.by_ref().take(n - b).enumerate() {
                    l[lane] = below.next().unwrap_or(if k == 0 { beyond } else { 0.0 });
                }
            }
        }
        let (l, reciprocals) = (&mut self.l[..], &mut self.reciprocals[..]);
        match vectorised!(factor(l, reciprocals)) {
            true => Ok(()),
            // A principal minor of a positive definite matrix is positive definite.
            false => Err(Error::Schema(
                "a covariance is too close to singular to fill missing cells: give §prior_rows, §shrinkage or \
                 §covariance=diagonal"
                    .into(),
            )),
        }
    }

    /// ½ ln|P_mm|
    pub(super) fn half_log_determinants(&self) -> Lanes {
        let mut sums = [0.0; LANES];
        vectorised!(for r in &self.reciprocals {
            for lane in 0..LANES {
                sums[lane] -= lanes::ln(r[lane]);
            }
        });
        sums
    }

    /// Sets the missing cells of standardised rows, which lie in the tile as in the run, to ẑ_m = −P_mm⁻¹ P_mo z_o.
    pub(super) fn fill(&mut self, precision: &Matrix, run: &Run<'_>, z: &mut Tile) {
        self.row.resize(z.width(), 0.0);
        let rows = z.rows();
        for (strip, of_strip) in run.rows.chunks(LANES).enumerate() {
            let start = run.start + strip * LANES;
            self.x.clear();
            self.x.resize(self.n, [0.0; LANES]);
            for lane in 0..of_strip.len() {
                let cells = z.data().iter().skip(start + lane).step_by(rows);
                self.row.iter_mut().zip(cells).for_each(|(row, z)| *row = *z);
                // What is 0 adds nothing to the products.
                run.missing(lane).for_each(|m| self.row[m] = 0.0);
                for (x, m) in self.x.iter_mut().zip(run.missing(lane)) {
                    x[lane] = -dot(precision.column(m), &self.row);
                }
            }
            let (l, reciprocals, x) = (&self.l[..], &self.reciprocals[..], &mut self.x[..]);
            vectorised!({
                forward(l, reciprocals, x);
                backward(l, reciprocals, x);
            });
            for lane in 0..of_strip.len() {
                run.missing(lane).zip(&self.x).for_each(|(m, x)| z.column_mut(m)[start + lane] = x[lane]);
            }
        }
    }

    /// x ← L⁻ᵀ x, which gives independent normal numbers the covariance P_mm⁻¹.
    pub(super) fn colour(&self, x: &mut [Lanes]) {
        vectorised!(backward(&self.l, &self.reciprocals, x));
    }

    /// P_mm⁻¹, column after column, each from the diagonal down.
    pub(super) fn covariances(&mut self) -> &[Lanes] {
        self.inverse.clear();
        self.inverse.resize(self.l.len(), [0.0; LANES]);
        let (l, reciprocals, inverse) = (&self.l[..], &self.reciprocals[..], &mut self.inverse[..]);
        vectorised!(invert(l, reciprocals, inverse));
        inverse
    }

    /// The square roots of the diagonal of P_mm⁻¹.
    pub(super) fn deviations(&mut self) -> Vec<Lanes> {
        let n = self.n;
        let mut columns = self.covariances();
        let mut deviations = Vec::with_capacity(n);
        for b in 0..n {
            deviations.push(columns[0].map(f64::sqrt));
            columns = &columns[n - b..];
        }
        deviations
    }

    /// Adds Σ w P_mm⁻¹ to the lower triangle of a scatter of all columns, with a weight for each lane.
    pub(super) fn add_covariances(&mut self, run: &Run<'_>, weights: &Lanes, scatter: &mut Matrix) {
        let (n, d) = (self.n, scatter.rows());
        let covariances = self.covariances();
        for (lane, weight) in weights.iter().enumerate().take(run.lanes()) {
            let (mut missing, mut first) = (run.missing(lane), 0);
            for b in 0..n {
                let below = missing.clone();
                let Some(j) = missing.next() else { break };
                // Columns stand in ascending order: these are of the lower triangle.
                let column = &mut scatter.data_mut()[j * d..(j + 1) * d];
                below.zip(&covariances[first..]).for_each(|(i, c)| column[i] += weight * c[lane]);
                first += n - b;
            }
        }
    }
}

/// P ← L, in place; whether all lanes are positive definite.
#[inline(always)]
fn factor(l: &mut [Lanes], reciprocals: &mut [Lanes]) -> bool {
    let (mut rest, n) = (l, reciprocals.len());
    let mut sound = true;
    for (k, reciprocal) in reciprocals.iter_mut().enumerate() {
        let (column, others) = rest.split_at_mut(n - k);
        let (diagonal, below) = column.split_at_mut(1);
        for lane in 0..LANES {
            // Not a number where the numbers overflowed: such a row is infinitely far away.
            sound &= diagonal[0][lane] > 0.0 || diagonal[0][lane].is_nan();
            diagonal[0][lane] = diagonal[0][lane].sqrt();
            reciprocal[lane] = diagonal[0][lane].recip();
        }
        for x in below.iter_mut() {
            for lane in 0..LANES {
                x[lane] *= reciprocal[lane];
            }
        }
        let mut target = &mut *others;
        for b in 0..below.len() {
            let own;
            (own, target) = target.split_at_mut(below.len() - b);
            let by = below[b];
            for (cell, x) in own.iter_mut().zip(&below[b..]) {
                for lane in 0..LANES {
                    cell[lane] -= x[lane] * by[lane];
                }
            }
        }
        rest = others;
    }
    sound
}

/// x ← L⁻¹ x
#[inline(always)]
fn forward(l: &[Lanes], reciprocals: &[Lanes], x: &mut [Lanes]) {
    let (mut rest, mut x) = (l, x);
    for reciprocal in reciprocals {
        let (column, others) = rest.split_at(x.len());
        let (own, below) = x.split_at_mut(1);
        for lane in 0..LANES {
            own[0][lane] *= reciprocal[lane];
        }
        for (x, l) in below.iter_mut().zip(&column[1..]) {
            for lane in 0..LANES {
                x[lane] -= l[lane] * own[0][lane];
            }
        }
        (rest, x) = (others, below);
    }
}

/// x ← L⁻ᵀ x
#[inline(always)]
fn backward(l: &[Lanes], reciprocals: &[Lanes], x: &mut [Lanes]) {
    let mut rest = l;
    for k in (0..x.len()).rev() {
        let column;
        (rest, column) = rest.split_at(rest.len() - (x.len() - k));
        let mut own = x[k];
        for (l, x) in column[1..].iter().zip(&x[k + 1..]) {
            for lane in 0..LANES {
                own[lane] -= l[lane] * x[lane];
            }
        }
        for lane in 0..LANES {
            own[lane] *= reciprocals[k][lane];
        }
        x[k] = own;
    }
}

/// (LLᵀ)⁻¹, lower triangle; `inverse` is 0 before.
#[inline(always)]
fn invert(l: &[Lanes], reciprocals: &[Lanes], inverse: &mut [Lanes]) {
    let n = reciprocals.len();
    // W = L⁻¹, column by column.
    let (mut rest, mut l_rest) = (&mut *inverse, l);
    for b in 0..n {
        let (column, others) = rest.split_at_mut(n - b);
        column[0] = [1.0; LANES];
        forward(l_rest, &reciprocals[b..], column);
        (rest, l_rest) = (others, &l_rest[n - b..]);
    }
    // WᵀW: cell (a, b) needs the columns a and b from row a on, and no column before b.
    let mut rest = &mut *inverse;
    for b in 0..n {
        let (column, others) = rest.split_at_mut(n - b);
        let mut others_rest = &*others;
        for a in b..n {
            let mut sum = [0.0; LANES];
            if a == b {
                for w in column.iter() {
                    for lane in 0..LANES {
                        sum[lane] += w[lane] * w[lane];
                    }
                }
            } else {
                let own;
                (own, others_rest) = others_rest.split_at(n - a);
                for (w, v) in own.iter().zip(&column[a - b..]) {
                    for lane in 0..LANES {
                        sum[lane] += w[lane] * v[lane];
                    }
                }
            }
            // Rows above a of column b are not read any more.
            column[a - b] = sum;
        }
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::super::gaps::Gaps;
    use super::*;
    use crate::numerics::{Random, cholesky, solve_lower};

    /// Rows of numbers of which some are missing: several that miss the same, one that misses all, one that misses none.
    fn rows_with_gaps(rows: usize, width: usize, random: &mut Random) -> Tile {
        let mut tile = Tile::default();
        tile.resize(rows, width);
        tile.data_mut().iter_mut().for_each(|x| *x = random.normal());
        for i in 0..rows {
            let seed = if i % 3 == 0 { 7 } else { i as u64 };
            let mut own = Random::new(seed);
            for j in 0..width {
                if i == 1 || (i != 2 && own.uniform() < 0.4) {
                    tile.column_mut(j)[i] = f64::NAN;
                }
            }
        }
        tile
    }

    fn precision(width: usize, random: &mut Random) -> Matrix {
        let root = Matrix::from_fn(width, width, |i, j| random.normal() + f64::from(u8::from(i == j)) * 3.0);
        crate::numerics::product(&root, false, &root, true)
    }

    /// Every row is filled, and has the determinant and the covariance, of its own P_mm.
    #[test]
    fn each_row_has_its_own_missing_block() {
        let mut random = Random::new(11);
        for width in [1, 3, 9, 16] {
            let p = precision(width, &mut random);
            let tile = rows_with_gaps(45, width, &mut random);
            let gaps = Gaps::of(&tile);
            let strips = gaps.strips(gaps.rows());
            let mut seen = vec![0; tile.rows()];
            let mut z = strips.of_tile(&tile);
            let mut block = MissingBlock::default();
            for run in strips.runs() {
                block.set(&p, &run).unwrap();
                block.fill(&p, &run, &mut z);
                let (half, deviations) = (block.half_log_determinants(), block.deviations());
                let mut scatter = Matrix::zeros(width, width);
                block.add_covariances(&run, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &mut scatter);
                for (k, &i) in run.rows.iter().enumerate() {
                    seen[i] += 1;
                    let (missing, present): (Vec<usize>, Vec<usize>) =
                        (0..width).partition(|&j| tile.column(j)[i].is_nan());
                    assert_eq!(run.missing(k % LANES).collect::<Vec<_>>(), missing);
                    let n = missing.len();
                    let own = Matrix::from_fn(n, n, |a, b| p[(missing[a], missing[b])]);
                    let l = if n > 0 { cholesky(&own).unwrap() } else { Matrix::zeros(0, 0) };
                    let logs: f64 = (0..n).map(|a| l[(a, a)].ln()).sum();
                    assert!((half[k % LANES] - logs).abs() < 1e-13 * logs.abs().max(1.0));
                    // P_mm ẑ_m + P_mo z_o = 0
                    for &m in &missing {
                        let at = |j: usize| p[(m, j)] * z.column(j)[run.start + k];
                        let (sum, size) = (0..width).map(at).fold((0.0, 0.0), |(s, t), x| (s + x, t + x.abs()));
                        assert!(sum.abs() < 1e-13 * f64::max(size, 1.0), "{sum} of {size}");
                    }
                    for &o in &present {
                        assert_eq!(z.column(o)[run.start + k], tile.column(o)[i]);
                    }
                    let mut inverse = Matrix::identity(n);
                    if n > 0 {
                        solve_lower(&l, false, &mut inverse);
                        solve_lower(&l, true, &mut inverse);
                    }
                    for a in 0..n {
                        assert!((deviations[a][k % LANES].powi(2) - inverse[(a, a)]).abs() < 1e-13 * inverse[(a, a)]);
                        for b in (0..=a).filter(|_| k == 0) {
                            let (found, exact) = (scatter[(missing[a], missing[b])], inverse[(a, b)]);
                            assert!((found - exact).abs() < 1e-13 * inverse[(a, a)].max(inverse[(b, b)]));
                        }
                    }
                }
            }
            assert!(seen.iter().all(|&times| times == 1));
        }
    }

    /// To the last bit.
    #[test]
    fn a_row_does_not_depend_on_the_rows_beside_it() {
        let mut random = Random::new(5);
        let p = precision(12, &mut random);
        let tile = rows_with_gaps(30, 12, &mut random);
        let gaps = Gaps::of(&tile);
        let filled = |rows: &[usize]| {
            let strips = gaps.strips(rows);
            let (mut z, mut block) = (strips.of_tile(&tile), MissingBlock::default());
            let mut halves = Vec::new();
            for run in strips.runs() {
                block.set(&p, &run).unwrap();
                block.fill(&p, &run, &mut z);
                let half = block.half_log_determinants();
                halves.extend((0..run.rows.len()).map(|k| half[k % LANES]));
            }
            (z, halves)
        };
        let (all, halves) = filled(gaps.rows());
        for (k, &i) in gaps.rows().iter().enumerate() {
            let (alone, half) = filled(&[i]);
            assert_eq!(half[0].to_bits(), halves[k].to_bits());
            (0..12).for_each(|j| assert_eq!(alone.column(j)[0].to_bits(), all.column(j)[k].to_bits()));
        }
    }

    #[test]
    fn a_precision_that_is_not_positive_definite_is_refused() {
        let mut tile = Tile::default();
        tile.resize(1, 2);
        tile.data_mut().fill(f64::NAN);
        let gaps = Gaps::of(&tile);
        let strips = gaps.strips(gaps.rows());
        let p = Matrix::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 2.0 });
        let run = strips.runs().next().unwrap();
        assert!(MissingBlock::default().set(&p, &run).is_err());
    }
}
