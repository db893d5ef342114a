//! The lower triangle of XᵀX for narrow rows that lie one after the other: they are multiplied where they lie, and the
//! sums of a block stay in registers. faer's product packs its operands first, which takes longer than the product here.

use super::Tile;

/// Columns whose products with up to three vectors of others are summed at once.
const COLUMNS: usize = 4;

/// More columns than this are left to faer: their sums do not stay in the cache.
pub(super) const MOST: usize = 128;

/// Adds the lower triangle of XᵀX to `sums`, which lie column after column.
pub(super) fn add(sums: &mut [f64], width: usize, rows: &[f64]) {
    if width > 0 {
        pulp::Arch::new().dispatch(RowGram { sums, width, rows });
    }
}

struct RowGram<'a> {
    sums: &'a mut [f64],
    width: usize,
    rows: &'a [f64],
}

impl pulp::WithSimd for RowGram<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, simd: S) {
        // Vectors go beyond the end of a row into the next, and what they find there is not kept. The last rows, behind
        // which there are not so many numbers, are copied.
        let (width, count) = (self.width, self.rows.len() / self.width);
        let reach = width + S::F64_LANES.max(COLUMNS);
        let whole = self.rows.len().checked_sub(reach).map_or(0, |room| room / width + 1).min(count);
        let rows = self.rows;
        self.add_rows(simd, rows, width, whole);
        let mut last = Tile::default();
        last.resize(reach, count - whole);
        for (i, row) in rows[whole * width..].chunks_exact(width).enumerate() {
            last.column_mut(i)[..width].copy_from_slice(row);
            last.column_mut(i)[width..].fill(0.0);
        }
        self.add_rows(simd, last.data(), reach, count - whole);
    }
}

impl RowGram<'_> {
    /// Adds rows that begin `stride` numbers apart.
    #[inline(always)]
    fn add_rows<S: pulp::Simd>(&mut self, simd: S, rows: &[f64], stride: usize, count: usize) {
        /// So many numbers stay in the first-level cache.
        const NEAR: usize = 3072;
        let strip = (NEAR / stride).clamp(16, 256);
        for start in (0..count).step_by(strip) {
            let rows = (&rows[start * stride..], stride, strip.min(count - start));
            for j in (0..self.width).step_by(COLUMNS) {
                let mut i = j;
                // A single vector would wait for its own sums.
                while i < self.width {
                    i += match (self.width - i).div_ceil(S::F64_LANES) {
                        1 => self.add_block::<S, 1>(simd, rows, i, j),
                        2 | 4 => self.add_block::<S, 2>(simd, rows, i, j),
                        _ => self.add_block::<S, 3>(simd, rows, i, j),
                    };
                }
            }
        }
    }

    /// Adds Σ xᵢxⱼ for V vectors of i, and the columns j to j + 3; returns how many i there were.
    #[inline(always)]
    fn add_block<S: pulp::Simd, const V: usize>(
        &mut self,
        simd: S,
        (rows, stride, count): (&[f64], usize, usize),
        i: usize,
        j: usize,
    ) -> usize {
        let (width, tall) = (self.width, V * S::F64_LANES);
        let mut sums = [[simd.splat_f64s(0.0); V]; COLUMNS];
        for r in 0..count {
            let row = &rows[r * stride..];
            let x = S::as_simd_f64s(&row[i..i + tall]).0;
            let y: &[f64; COLUMNS] = row[j..].first_chunk().expect("rows reach beyond their end");
            for c in 0..COLUMNS {
                let y = simd.splat_f64s(y[c]);
                for v in 0..V {
                    sums[c][v] = simd.mul_add_e_f64s(x[v], y, sums[c][v]);
                }
            }
        }
        for (c, sums) in sums.iter().enumerate().take(width - j) {
            // Up to three vectors of up to eight lanes.
            let mut found = [0.0; 24];
            S::as_mut_simd_f64s(&mut found[..tall]).0.copy_from_slice(sums);
            let (from, to) = (i.max(j + c), width.min(i + tall));
            if from < to {
                let own = &mut self.sums[(j + c) * width..][from..to];
                own.iter_mut().zip(&found[from - i..]).for_each(|(sum, found)| *sum += found);
            }
        }
        tall
    }
}

#[cfg(test)]
mod tests {
    use crate::numerics::{Matrix, Random, add_row_gram};

    #[test]
    fn sums_are_those_of_all_pairs() {
        let mut random = Random::new(8);
        for width in (1..30).chain([50, 64, 100, 161]) {
            for count in [0, 1, 2, 7, 40] {
                let rows: Vec<f64> = (0..width * count).map(|_| random.below(19) as f64 - 9.0).collect();
                let mut sums = Matrix::from_fn(width, width, |i, j| (i + 2 * j) as f64);
                add_row_gram(&mut sums, &rows);
                for i in 0..width {
                    for j in 0..width {
                        // Small integers: all sums are exact. What is above the diagonal stays.
                        let products = rows.chunks_exact(width).map(|row| row[i] * row[j]);
                        let expected = (i + 2 * j) as f64 + if i < j { 0.0 } else { products.sum::<f64>() };
                        assert_eq!(sums[(i, j)], expected, "{count} × {width}, {i}, {j}");
                    }
                }
            }
        }
    }
}
