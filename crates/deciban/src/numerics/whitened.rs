//! Whitened rows, z = L⁻¹ D⁻¹ (x − m), and their squared lengths, a few rows at a time: forward substitution in
//! registers. For matrices that stay in the cache it is several times as fast as solving a whole tile, and what becomes
//! of a row does not depend on how many there are.

use super::{Matrix, Tile, vectorised};

/// Rows at a time: two registers of four numbers.
const ROWS: usize = 8;
/// Columns at a time: eight sums are in registers then.
const COLUMNS: usize = 4;

/// L, in the order in which the substitution reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Whitening {
    /// For each four rows of L the columns before them, then the four that end in the diagonal; each column's
    /// four cells lie together. Rows beyond the last are those of an identity.
    panels: Vec<[f64; COLUMNS]>,
    /// 1/L_jj.
    reciprocals: Vec<f64>,
    /// 1/D_jj.
    scale: Vec<f64>,
}

impl Whitening {
    /// More columns than this are better solved tile by tile.
    pub const WIDEST: usize = 128;

    /// By the lower triangle `l`, where `sd` is the diagonal of D.
    pub fn new(l: &Matrix, sd: &[f64]) -> Self {
        let width = l.columns();
        let padded = width.next_multiple_of(COLUMNS);
        let cell = |i: usize, j: usize| match i < width && j < width {
            true => l[(i, j)],
            false => f64::from(u8::from(i == j)),
        };
        let mut panels = Vec::new();
        for first in (0..padded).step_by(COLUMNS) {
            panels.extend((0..first + COLUMNS).map(|k| std::array::from_fn(|b| cell(first + b, k))));
        }
        let reciprocals = (0..padded).map(|j| cell(j, j).recip()).collect();
        Whitening { panels, reciprocals, scale: sd.iter().map(|s| s.recip()).collect() }
    }

    /// Room for as many rows as are worked on at once.
    fn strip(&self) -> Tile {
        let mut strip = Tile::default();
        strip.resize(ROWS, self.reciprocals.len());
        strip.data_mut().fill(0.0);
        strip
    }

    /// Writes q of each row of `x`.
    pub fn squared_lengths(&self, x: &Tile, mean: &[f64], q: &mut [f64]) {
        let mut strip = self.strip();
        let (z, _) = strip.data_mut().as_chunks_mut::<ROWS>();
        let (whole, last) = q.as_chunks_mut::<ROWS>();
        for (strip, q) in whole.iter_mut().enumerate() {
            let columns = x.data().chunks_exact(x.rows()).zip(mean).zip(&self.scale);
            vectorised!(for (z, ((column, &mean), &scale)) in z.iter_mut().zip(columns) {
                let (x, _) = column[strip * ROWS..].as_chunks::<ROWS>();
                for r in 0..ROWS {
                    z[r] = (x[0][r] - mean) * scale;
                }
            });
            *q = self.solve(z);
        }
        if last.is_empty() {
            return;
        }
        let start = x.rows() - last.len();
        for (j, (z, (mean, scale))) in z.iter_mut().zip(mean.iter().zip(&self.scale)).enumerate() {
            z.iter_mut().zip(&x.column(j)[start..]).for_each(|(z, x)| *z = (x - mean) * scale);
        }
        last.copy_from_slice(&self.solve(z)[..last.len()]);
    }

    /// Each row z of the tile becomes L⁻¹z; D and m are left out.
    pub fn solve_tile(&self, tile: &mut Tile) {
        let (rows, width) = (tile.rows(), tile.width());
        let mut strip = self.strip();
        let (z, _) = strip.data_mut().as_chunks_mut::<ROWS>();
        for start in (0..rows).step_by(ROWS) {
            let count = ROWS.min(rows - start);
            for (z, column) in z.iter_mut().zip(tile.data().chunks_exact(rows)) {
                z[..count].copy_from_slice(&column[start..start + count]);
            }
            // Beyond the last column there is nothing.
            z[width..].fill([0.0; ROWS]);
            self.solve(z);
            for (z, column) in z.iter().zip(tile.data_mut().chunks_exact_mut(rows)) {
                column[start..start + count].copy_from_slice(&z[..count]);
            }
        }
    }

    /// z ← L⁻¹ z of some rows, and Σ z² of each.
    fn solve(&self, z: &mut [[f64; ROWS]]) -> [f64; ROWS] {
        pulp::Arch::new().dispatch(Solve { whitening: self, z })
    }
}

/// What [`Whitening::solve`] comes to. Vectors are named here, because whether the compiler finds them in loops over
/// rows depends on what else it compiles with them.
struct Solve<'a> {
    whitening: &'a Whitening,
    z: &'a mut [[f64; ROWS]],
}

impl pulp::WithSimd for Solve<'_> {
    type Output = [f64; ROWS];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> [f64; ROWS] {
        match S::F64_LANES {
            8 => self.by::<S, 1>(simd),
            4 => self.by::<S, 2>(simd),
            2 => self.by::<S, 4>(simd),
            _ => self.by::<S, ROWS>(simd),
        }
    }
}

impl Solve<'_> {
    /// With `N` vectors for the rows.
    #[inline(always)]
    fn by<S: pulp::Simd, const N: usize>(self, simd: S) -> [f64; ROWS] {
        let mut panels = &self.whitening.panels[..];
        let (z, _) = S::as_mut_simd_f64s(self.z.as_flattened_mut()).0.as_chunks_mut::<N>();
        let zero = simd.splat_f64s(0.0);
        let mut q = [zero; N];
        for (panel, reciprocals) in self.whitening.reciprocals.as_chunks::<COLUMNS>().0.iter().enumerate() {
            let (done, own) = z.split_at_mut(panel * COLUMNS);
            let own: &mut [_; COLUMNS] = own.first_chunk_mut().expect("z has the columns of L");
            let (before, diagonal);
            (before, panels) = panels.split_at(done.len());
            (diagonal, panels) = panels.split_first_chunk::<COLUMNS>().expect("panels end in the diagonal");
            let mut sums = [[zero; N]; COLUMNS];
            for (l, z) in before.iter().zip(&*done) {
                for b in 0..COLUMNS {
                    let l = simd.splat_f64s(l[b]);
                    for r in 0..N {
                        sums[b][r] = simd.mul_add_e_f64s(l, z[r], sums[b][r]);
                    }
                }
            }
            for b in 0..COLUMNS {
                let reciprocal = simd.splat_f64s(reciprocals[b]);
                for r in 0..N {
                    let mut z = simd.sub_f64s(own[b][r], sums[b][r]);
                    for k in 0..b {
                        z = simd.negate_mul_add_e_f64s(simd.splat_f64s(diagonal[k][b]), own[k][r], z);
                    }
                    z = simd.mul_f64s(z, reciprocal);
                    q[r] = simd.mul_add_e_f64s(z, z, q[r]);
                    own[b][r] = z;
                }
            }
        }
        let mut lengths = [0.0; ROWS];
        S::as_mut_simd_f64s(&mut lengths).0.copy_from_slice(&q);
        lengths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::{Random, solve_lower_tile};

    #[test]
    fn lengths_are_those_of_a_solved_tile() {
        let mut random = Random::new(3);
        for (rows, width) in [(1, 1), (8, 4), (23, 5), (16, 30), (9, 127)] {
            let l = Matrix::from_fn(width, width, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Less => f64::NAN,
                std::cmp::Ordering::Equal => 1.0 + random.uniform(),
                std::cmp::Ordering::Greater => random.normal() / width as f64,
            });
            let (mean, sd): (Vec<f64>, Vec<f64>) = (0..width).map(|j| (j as f64, 0.5 + j as f64)).unzip();
            let mut x = Tile::default();
            x.resize(rows, width);
            x.data_mut().iter_mut().for_each(|x| *x = 10.0 * random.normal());
            let mut q = vec![f64::NAN; rows];
            Whitening::new(&l, &sd).squared_lengths(&x, &mean, &mut q);
            for j in 0..width {
                x.column_mut(j).iter_mut().for_each(|x| *x = (*x - mean[j]) / sd[j]);
            }
            let mut own = x.clone();
            Whitening::new(&l, &sd).solve_tile(&mut own);
            solve_lower_tile(&l, &mut x);
            for (a, b) in own.data().iter().zip(x.data()) {
                assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{rows} × {width}: {a}, {b}");
            }
            for (i, q) in q.iter().enumerate() {
                let expected: f64 = (0..width).map(|j| x.column(j)[i].powi(2)).sum();
                assert!((q - expected).abs() < 1e-13 * expected, "{rows} × {width}, row {i}: {q}, {expected}");
            }
        }
    }
}
