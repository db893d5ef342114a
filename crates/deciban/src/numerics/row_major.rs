//! Products with rows that lie one after the other in memory, as NumPy has them: each row is read once,
//! and nothing is transposed.

use super::vectorised;

/// Rows of numbers, `stride` cells from one to the next.
#[derive(Clone, Copy, Debug)]
pub struct RowMajor<'a, T = f64> {
    values: &'a [T],
    stride: usize,
    width: usize,
    rows: usize,
}

impl<'a, T> RowMajor<'a, T> {
    /// `rows` rows of `width` cells, if there are so many.
    pub fn new(values: &'a [T], stride: usize, width: usize, rows: usize) -> Option<Self> {
        let fits = rows == 0 || (rows - 1).checked_mul(stride)?.checked_add(width)? <= values.len();
        (fits && stride >= width).then_some(RowMajor { values, stride, width, rows })
    }

    /// Some of the rows.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        assert!(range.end <= self.rows);
        let (stride, width) = (self.stride, self.width);
        RowMajor { values: &self.values[range.start * stride..], rows: range.len(), stride, width }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A row.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [T] {
        &self.values[i * self.stride..i * self.stride + self.width]
    }
}

impl RowMajor<'_> {
    /// zᵢ = b + Σ_j (xᵢⱼ − cⱼ) vⱼ
    pub fn products(&self, c: &[f64], v: &[f64], b: f64, z: &mut [f64]) {
        let (c, v) = (&c[..self.width], &v[..self.width]);
        vectorised!(for (i, z) in z.iter_mut().enumerate() {
            *z = b + centred_dot(self.row(i), c, v);
        });
    }

    /// gⱼ ← gⱼ + Σᵢ rᵢ (xᵢⱼ − cⱼ)
    pub fn add_weighted(&self, c: &[f64], r: &[f64], g: &mut [f64]) {
        vectorised!(self.add_terms(c, c, r, g, |x, c, _| x - c));
    }

    /// gⱼ ← gⱼ + Σᵢ rᵢ ((xᵢⱼ − cⱼ) − lⱼ)²
    pub fn add_weighted_squares(&self, c: &[f64], l: &[f64], r: &[f64], g: &mut [f64]) {
        vectorised!(self.add_terms(c, l, r, g, |x, c, l| {
            let residual = (x - c) - l;
            residual * residual
        }));
    }

    /// gⱼ ← gⱼ + Σᵢ rᵢ f(xᵢⱼ, cⱼ, lⱼ)
    #[inline(always)]
    fn add_terms(&self, c: &[f64], l: &[f64], r: &[f64], g: &mut [f64], f: impl Fn(f64, f64, f64) -> f64) {
        let (c, l, g, r) = (&c[..self.width], &l[..self.width], &mut g[..self.width], &r[..self.rows]);
        // Four rows at a time: g is read and written once for all of them.
        let (fours, last) = r.as_chunks::<4>();
        for (i, r) in fours.iter().enumerate() {
            let [x, y, z, w] = [0, 1, 2, 3].map(|k| self.row(4 * i + k));
            for ((((((g, &c), &l), x), y), z), w) in g.iter_mut().zip(c).zip(l).zip(x).zip(y).zip(z).zip(w) {
                *g += (r[0] * f(*x, c, l) + r[1] * f(*y, c, l)) + (r[2] * f(*z, c, l) + r[3] * f(*w, c, l));
            }
        }
        for (i, r) in last.iter().enumerate() {
            let x = self.row(4 * fours.len() + i);
            for (((g, c), l), x) in g.iter_mut().zip(c).zip(l).zip(x) {
                *g += r * f(*x, *c, *l);
            }
        }
    }
}

/// Σ (xⱼ − cⱼ) vⱼ, in eight sums that do not wait for each other.
#[inline(always)]
fn centred_dot(x: &[f64], c: &[f64], v: &[f64]) -> f64 {
    let ((x, last_x), (c, last_c), (v, last_v)) = (x.as_chunks::<8>(), c.as_chunks::<8>(), v.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for ((x, c), v) in x.iter().zip(c).zip(v) {
        for k in 0..8 {
            sums[k] += (x[k] - c[k]) * v[k];
        }
    }
    let [p, q, r, s, t, u, w, y] = sums;
    let last: f64 = last_x.iter().zip(last_c).zip(last_v).map(|((x, c), v)| (x - c) * v).sum();
    ((p + t) + (q + u)) + ((r + w) + (s + y)) + last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_each_row() {
        // Small integers: all sums are exact.
        let (rows, width, stride) = (7, 11, 13);
        let cell = |i: usize, j: usize| ((i * 5 + j * 3) % 17) as f64;
        let values: Vec<f64> = (0..rows * stride - 2).map(|k| cell(k / stride, k % stride)).collect();
        let x = RowMajor::new(&values, stride, width, rows).unwrap();
        let c: Vec<f64> = (0..width).map(|j| j as f64).collect();
        let v: Vec<f64> = (0..width).map(|j| (j % 4) as f64 - 1.0).collect();
        let (mut z, mut g) = (vec![0.0; rows], vec![1.0; width]);
        x.products(&c, &v, 2.0, &mut z);
        for (i, z) in z.iter().enumerate() {
            assert_eq!(*z, 2.0 + (0..width).map(|j| (cell(i, j) - c[j]) * v[j]).sum::<f64>());
        }
        x.add_weighted(&c, &z, &mut g);
        for (j, g) in g.iter().enumerate() {
            assert_eq!(*g, 1.0 + (0..rows).map(|i| z[i] * (cell(i, j) - c[j])).sum::<f64>());
        }
        let mut squares = vec![1.0; width];
        x.add_weighted_squares(&c, &v, &z, &mut squares);
        for (j, square) in squares.iter().enumerate() {
            assert_eq!(*square, 1.0 + (0..rows).map(|i| z[i] * (cell(i, j) - c[j] - v[j]).powi(2)).sum::<f64>());
        }
    }

    #[test]
    fn rows_beyond_the_end_are_refused() {
        assert!(RowMajor::new(&[0.0; 5], 3, 2, 2).is_some());
        assert!(RowMajor::new(&[0.0; 4], 3, 2, 2).is_none());
        assert!(RowMajor::new(&[0.0; 4], 1, 2, 2).is_none());
        assert!(RowMajor::<f64>::new(&[], 3, 2, 0).is_some());
        assert!(RowMajor::new(&[0.0; 4], usize::MAX, 2, 3).is_none());
    }
}
