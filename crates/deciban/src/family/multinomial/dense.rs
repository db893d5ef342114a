//! Counts in rows that lie one after the other: the rows of all groups are counted in one read, and nothing is copied.

use pulp::Simd;

use crate::data::RowSlices;
use crate::numerics::{Cell, RowMajor, all_finite};

/// Σ w x of each column, and Σ w of its rows where x is not 0, group by group.
pub(super) struct DenseCounts {
    width: usize,
    counts: Vec<f64>,
    rows: Vec<f64>,
}

impl DenseCounts {
    /// The counts of rows, each with its group and weight; `None` where a number is no count, or a sum is not finite.
    pub fn of(rows: &RowSlices<'_>, width: usize, groups: &[u32], count: usize, weights: &[f64]) -> Option<Self> {
        let mut found = DenseCounts { width, counts: vec![0.0; count * width], rows: vec![0.0; count * width] };
        let arch = pulp::Arch::new();
        let is_below = match rows {
            RowSlices::F64(x) => arch.dispatch(Adding { found: &mut found, x, groups, weights }),
            RowSlices::F32(x) => arch.dispatch(Adding { found: &mut found, x, groups, weights }),
        };
        (all_finite(&found.counts) && !is_below).then_some(found)
    }

    /// The sums of each column of a group.
    pub fn of_group(&self, group: usize) -> impl Iterator<Item = [f64; 2]> {
        let own = group * self.width..(group + 1) * self.width;
        self.counts[own.clone()].iter().zip(&self.rows[own]).map(|(count, rows)| [*count, *rows])
    }
}

/// Rows that are counted; the output is whether a number was below 0.
struct Adding<'a, T> {
    found: &'a mut DenseCounts,
    x: &'a RowMajor<'a, T>,
    groups: &'a [u32],
    weights: &'a [f64],
}

impl<T: Cell> pulp::WithSimd for Adding<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let (width, zero) = (self.found.width, simd.splat_f64s(0.0));
        let (mut least, mut least_of_last) = (zero, 0.0);
        for (i, (&group, &weight)) in self.groups.iter().zip(self.weights).enumerate() {
            let own = group as usize * width..(group as usize + 1) * width;
            let (counts, last_counts) = S::as_mut_simd_f64s(&mut self.found.counts[own.clone()]);
            let (rows, last_rows) = S::as_mut_simd_f64s(&mut self.found.rows[own]);
            let (x, weights) = (&self.x.row(i)[..width], simd.splat_f64s(weight));
            let last = &x[counts.len() * S::F64_LANES..];
            for ((x, count), rows) in x.chunks_exact(S::F64_LANES).zip(counts).zip(rows) {
                let x = T::vector(simd, x);
                *count = simd.mul_add_f64s(x, weights, *count);
                *rows = simd.add_f64s(*rows, simd.select_f64s(simd.less_than_f64s(zero, x), weights, zero));
                least = simd.select_f64s(simd.less_than_f64s(x, least), x, least);
            }
            for ((x, count), rows) in last.iter().zip(last_counts).zip(last_rows) {
                let x: f64 = (*x).into();
                *count = x.mul_add(weight, *count);
                *rows += if x > 0.0 { weight } else { 0.0 };
                least_of_last = if x < least_of_last { x } else { least_of_last };
            }
        }
        simd.reduce_min_f64s(least) < 0.0 || least_of_last < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of 7 columns, of which no vector has a whole number, and their groups.
    fn rows() -> (Vec<f64>, Vec<u32>, Vec<f64>) {
        let x = (0..30 * 7).map(|k| f64::from(k * k % 11 % 4)).collect();
        (x, (0..30).map(|i| i * i % 3).collect(), (0..30).map(|i| 0.5 + f64::from(i % 4)).collect())
    }

    #[test]
    fn sums_are_those_row_by_row() {
        let (x, groups, weights) = rows();
        let narrow: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        let of = |rows: RowSlices<'_>| DenseCounts::of(&rows, 7, &groups, 3, &weights).unwrap();
        let found = [
            of(RowSlices::F64(RowMajor::new(&x, 7, 7, 30).unwrap())),
            of(RowSlices::F32(RowMajor::new(&narrow, 7, 7, 30).unwrap())),
        ];
        for found in found {
            for group in 0..3 {
                for (j, sums) in found.of_group(group).enumerate() {
                    let own = || (0..30).filter(|&i| groups[i] as usize == group);
                    // Multiples of a half: all sums are exact.
                    let count: f64 = own().map(|i| weights[i] * x[i * 7 + j]).sum();
                    let with: f64 = own().filter(|&i| x[i * 7 + j] != 0.0).map(|i| weights[i]).sum();
                    assert_eq!(sums, [count, with]);
                }
            }
        }
    }

    #[test]
    fn numbers_that_are_no_counts_are_refused_in_every_column() {
        for wrong in [-1.0, -1e-300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for j in 0..7 {
                let (mut x, groups, weights) = rows();
                x[17 * 7 + j] = wrong;
                let rows = RowSlices::F64(RowMajor::new(&x, 7, 7, 30).unwrap());
                assert!(DenseCounts::of(&rows, 7, &groups, 3, &weights).is_none(), "{wrong}, {j}");
            }
        }
    }
}
