//! Counts in rows, or in columns, that lie one after the other: all groups are counted in one read, and nothing is copied.

use pulp::Simd;

use crate::data::{Cells, ColumnSlices, RowSlices};
use crate::numerics::{Cell, ColumnMajor, RowMajor, all_finite};

/// Σ w x of each column, and Σ w of its rows where x is not 0, group by group.
pub(super) struct DenseCounts {
    width: usize,
    counts: Vec<f64>,
    rows: Vec<f64>,
}

impl DenseCounts {
    /// The counts of rows, each with its group and weight; `None` where they lie otherwise, a number is no count, or a
    /// sum is not finite.
    pub fn of(x: &Cells<'_>, groups: &[u32], count: usize, weights: &[f64]) -> Option<Self> {
        /// Columns are multiplied by the weights of each group. Of more groups, it is quicker to take the rows of each.
        const MOST_GROUPS: usize = 16;
        let width = x.width();
        let mut found = DenseCounts { width, counts: vec![0.0; count * width], rows: vec![0.0; count * width] };
        let (found_in, arch) = (&mut found, pulp::Arch::new());
        let is_below = match (x.row_slices(), x.column_slices()) {
            (Some(RowSlices::F64(x)), _) => arch.dispatch(AddRows { found: found_in, x: &x, groups, weights }),
            (Some(RowSlices::F32(x)), _) => arch.dispatch(AddRows { found: found_in, x: &x, groups, weights }),
            (None, Some(columns)) if count <= MOST_GROUPS => match columns {
                ColumnSlices::F64(x) => arch.dispatch(AddColumns { found: found_in, x: &x, groups, weights }),
                ColumnSlices::F32(x) => arch.dispatch(AddColumns { found: found_in, x: &x, groups, weights }),
            },
            _ => return None,
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
struct AddRows<'a, T> {
    found: &'a mut DenseCounts,
    x: &'a RowMajor<'a, T>,
    groups: &'a [u32],
    weights: &'a [f64],
}

impl<T: Cell> pulp::WithSimd for AddRows<'_, T> {
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

/// Columns that are counted; the output is whether a number was below 0.
struct AddColumns<'a, T> {
    found: &'a mut DenseCounts,
    x: &'a ColumnMajor<'a, T>,
    groups: &'a [u32],
    weights: &'a [f64],
}

/// So many rows of a column are taken at a time: the weights of a few groups stay in the first-level cache.
const BLOCK: usize = 128;

impl<T: Cell> pulp::WithSimd for AddColumns<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> bool {
        let width = self.found.width;
        // The weight of each row in its group, and 0 in the others.
        let mut shares = vec![[0.0; BLOCK]; self.found.counts.len() / width];
        let mut least = simd.splat_f64s(0.0);
        for (block, (groups, weights)) in self.groups.chunks(BLOCK).zip(self.weights.chunks(BLOCK)).enumerate() {
            shares.as_flattened_mut().fill(0.0);
            for (i, (group, weight)) in groups.iter().zip(weights).enumerate() {
                shares[*group as usize][i] = *weight;
            }
            for j in 0..width {
                let x = &self.x.column(j)[block * BLOCK..][..groups.len()];
                let mut group = 0;
                // As many sums at a time as fill the registers.
                while group < shares.len() {
                    let place = group * width + j;
                    group += match &shares[group..] {
                        [a, b, c, d, ..] => self.add(simd, x, [a, b, c, d], place, &mut least),
                        [a, b, ..] => self.add(simd, x, [a, b], place, &mut least),
                        [a] => self.add(simd, x, [a], place, &mut least),
                        [] => 0,
                    };
                }
            }
        }
        simd.reduce_min_f64s(least) < 0.0
    }
}

impl<T: Cell> AddColumns<'_, T> {
    /// Adds a part of a column to the sums of G groups, of which the first has its own at `place`; returns G.
    #[inline(always)]
    fn add<S: Simd, const G: usize>(
        &mut self,
        simd: S,
        x: &[T],
        shares: [&[f64; BLOCK]; G],
        place: usize,
        least: &mut S::f64s,
    ) -> usize {
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let shares = shares.map(|shares| S::as_simd_f64s(shares).0);
        let (mut counts, mut rows) = ([zero; G], [zero; G]);
        for (v, x) in x.chunks(S::F64_LANES).enumerate() {
            let x = T::vector(simd, x);
            let is_there = simd.select_f64s(simd.less_than_f64s(zero, x), one, zero);
            *least = simd.select_f64s(simd.less_than_f64s(x, *least), x, *least);
            for g in 0..G {
                counts[g] = simd.mul_add_f64s(x, shares[g][v], counts[g]);
                rows[g] = simd.mul_add_f64s(is_there, shares[g][v], rows[g]);
            }
        }
        for g in 0..G {
            self.found.counts[place + g * self.found.width] += simd.reduce_sum_f64s(counts[g]);
            self.found.rows[place + g * self.found.width] += simd.reduce_sum_f64s(rows[g]);
        }
        G
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, Rows};

    const ROWS: usize = 300;
    const WIDTH: usize = 7;

    /// Counts of columns, of which no vector has a whole number, column by column; their groups, and their weights.
    fn table(groups: u32) -> (Vec<f64>, Vec<u32>, Vec<f64>) {
        let x = (0..ROWS * WIDTH).map(|k| (k * k % 11 % 4) as f64).collect();
        let of_rows = (0..ROWS as u32).map(|i| i * i % 31 % groups).collect();
        (x, of_rows, (0..ROWS).map(|i| 0.5 + (i % 4) as f64).collect())
    }

    /// The same cells in each layout, of both widths.
    fn for_each_layout(x: &[f64], mut body: impl FnMut(&Cells<'_>, &str)) {
        let by_row: Vec<f64> = (0..ROWS * WIDTH).map(|k| x[k % WIDTH * ROWS + k / WIDTH]).collect();
        let narrow = |x: &[f64]| x.iter().map(|x| *x as f32).collect::<Vec<f32>>();
        let (narrow_columns, narrow_rows) = (narrow(x), narrow(&by_row));
        let batches = [
            ("rows", Batch::new(ROWS).row_major(&by_row[..], WIDTH)),
            ("columns", Batch::new(ROWS).column_major(x, WIDTH)),
            ("rows, f32", Batch::new(ROWS).row_major(&narrow_rows[..], WIDTH)),
            ("columns, f32", Batch::new(ROWS).column_major(&narrow_columns[..], WIDTH)),
        ];
        let places: Vec<usize> = (0..WIDTH).collect();
        for (layout, batch) in batches {
            body(&Cells::new(&batch.unwrap(), &places, Rows::Range(0..ROWS)), layout);
        }
    }

    #[test]
    fn sums_are_those_row_by_row() {
        for groups in 1..=7 {
            let (x, of_rows, weights) = table(groups);
            for_each_layout(&x, |cells, layout| {
                let found = DenseCounts::of(cells, &of_rows, groups as usize, &weights).unwrap();
                for group in 0..groups {
                    for (j, sums) in found.of_group(group as usize).enumerate() {
                        let own = || (0..ROWS).filter(|&i| of_rows[i] == group);
                        let x = |i: usize| x[j * ROWS + i];
                        // Multiples of a half: all sums are exact.
                        let count: f64 = own().map(|i| weights[i] * x(i)).sum();
                        let with: f64 = own().filter(|&i| x(i) != 0.0).map(|i| weights[i]).sum();
                        assert_eq!(sums, [count, with], "{layout}, group {group} of {groups}");
                    }
                }
            });
        }
    }

    #[test]
    fn numbers_that_are_no_counts_are_refused_in_every_column() {
        let (all, of_rows, weights) = table(3);
        for wrong in [-1.0, -1e-30, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for j in 0..WIDTH {
                for i in [0, 170, ROWS - 1] {
                    let mut x = all.clone();
                    x[j * ROWS + i] = wrong;
                    for_each_layout(&x, |cells, layout| {
                        assert!(DenseCounts::of(cells, &of_rows, 3, &weights).is_none(), "{layout}: {wrong}, {i}, {j}");
                    });
                }
            }
        }
    }
}
