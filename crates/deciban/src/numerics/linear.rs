//! Dense linear algebra, through faer: products, Cholesky, triangular solves, eigenvectors.

use faer::linalg::matmul::{self, triangular, triangular::BlockStructure};
use faer::linalg::triangular_solve;
use faer::prelude::Solve;
use faer::{Accum, MatMut, MatRef, Par, Side};

use super::{Tile, row_gram, upper_halves_cleared, vectorised};

/// A dense matrix, column after column.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Matrix { rows, columns, data: vec![0.0; rows * columns] }
    }

    /// The identity.
    pub fn identity(size: usize) -> Self {
        Matrix::diagonal(&vec![1.0; size])
    }

    /// A diagonal matrix.
    pub fn diagonal(diagonal: &[f64]) -> Self {
        let mut matrix = Matrix::zeros(diagonal.len(), diagonal.len());
        for (j, &x) in diagonal.iter().enumerate() {
            matrix[(j, j)] = x;
        }
        matrix
    }

    /// The matrix whose cell (i, j) is `cell(i, j)`.
    pub fn from_fn(rows: usize, columns: usize, mut cell: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(rows * columns);
        for j in 0..columns {
            data.extend((0..rows).map(|i| cell(i, j)));
        }
        Matrix { rows, columns, data }
    }

    /// A matrix from its cells, column after column.
    ///
    /// # Panics
    /// If there are not `rows·columns` cells.
    pub fn from_columns(rows: usize, columns: usize, data: Vec<f64>) -> Self {
        assert_eq!(data.len(), rows * columns);
        Matrix { rows, columns, data }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All cells, column after column.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// All cells, column after column, to write.
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// A column.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// The lower triangle of a square matrix, column after column: what files hold of it.
    pub fn lower(&self) -> Vec<f64> {
        (0..self.columns).flat_map(|j| &self.column(j)[j..]).copied().collect()
    }

    /// The square matrix with this lower triangle and zeros above it.
    ///
    /// # Panics
    /// If there are not `size·(size+1)/2` cells.
    pub fn from_lower(size: usize, lower: &[f64]) -> Self {
        assert_eq!(lower.len(), size * (size + 1) / 2);
        let mut matrix = Matrix::zeros(size, size);
        let mut rest = lower;
        for j in 0..size {
            let (column, after) = rest.split_at(size - j);
            matrix.data[j * size + j..(j + 1) * size].copy_from_slice(column);
            rest = after;
        }
        matrix
    }

    /// Copies the lower triangle onto the upper one.
    pub fn mirror_lower(&mut self) {
        for j in 0..self.columns {
            for i in j + 1..self.rows {
                self[(j, i)] = self[(i, j)];
            }
        }
    }

    /// The product with a vector.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.rows];
        for (j, &xj) in x.iter().enumerate().take(self.columns) {
            for (yi, a) in y.iter_mut().zip(self.column(j)) {
                *yi += a * xj;
            }
        }
        y
    }

    /// The transpose's product with a vector.
    pub fn transpose_times(&self, x: &[f64]) -> Vec<f64> {
        (0..self.columns).map(|j| dot(self.column(j), x)).collect()
    }

    fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.columns)
    }

    fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.columns)
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[j * self.rows + i]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.data[j * self.rows + i]
    }
}

/// Σ aᵢbᵢ, in eight sums that do not wait for each other.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Short ones are not worth the question which instructions there are.
    const SHORT: usize = 64;
    let length = a.len().min(b.len());
    match length < SHORT {
        true => dot_in_lanes(&a[..length], &b[..length]),
        false => vectorised!(dot_in_lanes(&a[..length], &b[..length])),
    }
}

#[inline(always)]
fn dot_in_lanes(a: &[f64], b: &[f64]) -> f64 {
    let ((a, last_a), (b, last_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    let last: f64 = last_a.iter().zip(last_b).map(|(x, y)| x * y).sum();
    let [p, q, r, s, t, u, v, w] = sums;
    ((p + t) + (q + u)) + ((r + v) + (s + w)) + last
}

/// `C ← op(A)·op(B)`, where `op` transposes if asked to.
pub fn product(a: &Matrix, transpose_a: bool, b: &Matrix, transpose_b: bool) -> Matrix {
    let a = if transpose_a { a.view().transpose() } else { a.view() };
    let b = if transpose_b { b.view().transpose() } else { b.view() };
    let mut c = Matrix::zeros(a.nrows(), b.ncols());
    upper_halves_cleared(|| matmul::matmul(c.view_mut(), Accum::Replace, a, b, 1.0, Par::Seq));
    c
}

/// Lower triangle of `S ← S + XᵀX`.
pub fn add_gram(s: &mut Matrix, x: &Tile) {
    gram(s, MatRef::from_column_major_slice(x.data(), x.rows(), x.width()));
}

/// As [`add_gram`], of rows that lie one after the other.
pub fn add_row_gram(s: &mut Matrix, rows: &[f64]) {
    let width = s.columns;
    if width <= row_gram::MOST {
        return row_gram::add(&mut s.data, width, rows);
    }
    gram(s, MatRef::from_row_major_slice(rows, rows.len() / width.max(1), width));
}

/// Adds to S the products of each `width` columns of X with those before them: the blocks of XᵀX above its diagonal.
pub fn add_gram_of_blocks(s: &mut Matrix, x: &Tile, width: usize) {
    let x = MatRef::from_column_major_slice(x.data(), x.rows(), x.width());
    for start in (width..x.ncols()).step_by(width) {
        let (before, block) = (x.subcols(0, start), x.subcols(start, width));
        let sums = s.view_mut().submatrix_mut(0, start, start, width);
        upper_halves_cleared(|| matmul::matmul(sums, Accum::Add, before.transpose(), block, 1.0, Par::Seq));
    }
}

fn gram(s: &mut Matrix, x: MatRef<'_, f64>) {
    let (lower, whole) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    upper_halves_cleared(|| {
        triangular::matmul(s.view_mut(), lower, Accum::Add, x.transpose(), whole, x, whole, 1.0, Par::Seq);
    });
}

/// Writes the product of a tile's rows with `w`: row `x` becomes `xᵀw`.
pub fn tile_product(x: &Tile, w: &Matrix, out: &mut Tile) {
    write_product(x, w.view(), out);
}

/// As [`tile_product`], with `outputs` weights of the first column, then of the second, and so on.
pub fn tile_product_by_rows(x: &Tile, w: &[f64], outputs: usize, out: &mut Tile) {
    write_product(x, MatRef::from_row_major_slice(w, x.width(), outputs), out);
}

fn write_product(x: &Tile, w: MatRef<'_, f64>, out: &mut Tile) {
    let rows = x.rows();
    out.resize(rows, w.ncols());
    let lhs = MatRef::from_column_major_slice(x.data(), rows, x.width());
    let dst = MatMut::from_column_major_slice_mut(out.data_mut(), rows, w.ncols());
    upper_halves_cleared(|| matmul::matmul(dst, Accum::Replace, lhs, w, 1.0, Par::Seq));
}

/// XᵀY of two tiles.
pub fn tile_transpose_product(x: &Tile, y: &Tile) -> Matrix {
    let mut product = Matrix::zeros(x.width(), y.width());
    let lhs = MatRef::from_column_major_slice(x.data(), x.rows(), x.width());
    let rhs = MatRef::from_column_major_slice(y.data(), y.rows(), y.width());
    upper_halves_cleared(|| matmul::matmul(product.view_mut(), Accum::Replace, lhs.transpose(), rhs, 1.0, Par::Seq));
    product
}

/// The lower Cholesky factor of a symmetric matrix given by its lower triangle; `None` unless it
/// is positive definite.
pub fn cholesky(a: &Matrix) -> Option<Matrix> {
    if a.data.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut l = a.clone();
    for j in 0..l.columns {
        l.data[j * l.rows..j * l.rows + j].fill(0.0);
    }
    let factor = upper_halves_cleared(|| a.view().llt(Side::Lower)).ok()?;
    for j in 0..l.columns {
        for i in j..l.rows {
            l[(i, j)] = factor.L()[(i, j)];
        }
    }
    (0..l.rows).all(|j| l[(j, j)] > 0.0 && l[(j, j)].is_finite()).then_some(l)
}

/// Each row `x` of the tile becomes `L⁻¹x`.
pub fn solve_lower_tile(l: &Matrix, x: &mut Tile) {
    let (rows, width) = (x.rows(), x.width());
    let x = MatMut::from_column_major_slice_mut(x.data_mut(), rows, width);
    upper_halves_cleared(|| triangular_solve::solve_lower_triangular_in_place(l.view(), x.transpose_mut(), Par::Seq));
}

/// `X ← L⁻¹X`, or `L⁻ᵀX` if `transpose`.
pub fn solve_lower(l: &Matrix, transpose: bool, x: &mut Matrix) {
    upper_halves_cleared(|| match transpose {
        false => triangular_solve::solve_lower_triangular_in_place(l.view(), x.view_mut(), Par::Seq),
        true => triangular_solve::solve_upper_triangular_in_place(l.view().transpose(), x.view_mut(), Par::Seq),
    });
}

/// The solution X of AX = B; `None` where A is singular or not finite.
pub fn solve(a: &Matrix, b: &Matrix) -> Option<Matrix> {
    if a.data.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut x = b.clone();
    upper_halves_cleared(|| a.view().partial_piv_lu().solve_in_place(x.view_mut()));
    // Of a singular matrix rounding may leave a pivot that is next to nothing.
    let largest = |m: &Matrix| m.data.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let sound = x.data.iter().all(|x| x.is_finite()) && largest(&x) * largest(a) <= 1e12 * largest(b);
    sound.then_some(x)
}

/// Eigenvalues, largest first, and eigenvectors (as columns) of a symmetric matrix given by its
/// lower triangle; `None` if it is not finite or the iteration fails.
///
/// The sign of a vector is arbitrary: its largest component is made positive.
pub fn eigen(a: &Matrix) -> Option<(Vec<f64>, Matrix)> {
    if a.data.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let decomposition = upper_halves_cleared(|| a.view().self_adjoint_eigen(Side::Lower)).ok()?;
    let (s, u) = (decomposition.S(), decomposition.U());
    let n = a.rows;
    let values = (0..n).rev().map(|j| s[j]).collect();
    let mut vectors = Matrix::from_fn(n, n, |i, j| u[(i, n - 1 - j)]);
    for column in vectors.data.chunks_exact_mut(n.max(1)) {
        let largest = column.iter().fold(0.0f64, |m, &x| if x.abs() > m.abs() { x } else { m });
        if largest < 0.0 {
            column.iter_mut().for_each(|x| *x = -*x);
        }
    }
    Some((values, vectors))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(rows: usize, width: usize) -> Tile {
        let mut tile = Tile::default();
        tile.resize(rows, width);
        for (i, x) in tile.data_mut().iter_mut().enumerate() {
            *x = ((i * 37 + 11) % 23) as f64 / 7.0 - 1.0;
        }
        tile
    }

    #[test]
    fn gram_cholesky_and_solve_fit_together() {
        let x = tile(30, 5);
        let mut s = Matrix::zeros(5, 5);
        add_gram(&mut s, &x);
        for i in 0..5 {
            for j in 0..=i {
                let direct: f64 = (0..30).map(|r| x.column(i)[r] * x.column(j)[r]).sum();
                assert!((s[(i, j)] - direct).abs() < 1e-12);
            }
        }
        let l = cholesky(&s).unwrap();
        let back = product(&l, false, &l, true);
        for i in 0..5 {
            for j in 0..=i {
                assert!((back[(i, j)] - s[(i, j)]).abs() < 1e-12);
            }
        }
        let mut y = x.clone();
        solve_lower_tile(&l, &mut y);
        let again = (0..5).map(|j| (0..5).map(|k| l[(j, k)] * y.column(k)[3]).sum::<f64>());
        for (j, value) in again.enumerate() {
            assert!((value - x.column(j)[3]).abs() < 1e-12);
        }
    }

    #[test]
    fn eigenvectors_rebuild_the_matrix_largest_first() {
        let mut a = Matrix::from_fn(4, 4, |i, j| 1.0 / (i + j + 1) as f64);
        a.mirror_lower();
        let (values, u) = eigen(&a).unwrap();
        assert!(values.windows(2).all(|w| w[0] >= w[1]));
        // Hilbert matrix of order 4: largest eigenvalue 1.5002142800592426.
        assert!((values[0] - 1.500_214_280_059_242_6).abs() < 1e-14);
        let scaled = product(&u, false, &Matrix::diagonal(&values), false);
        let back = product(&scaled, false, &u, true);
        assert!(back.data().iter().zip(a.data()).all(|(x, y)| (x - y).abs() < 1e-14));
    }

    #[test]
    fn a_lower_triangle_comes_back_with_zeros_above() {
        let full = Matrix::from_fn(3, 3, |i, j| (10 * i + j) as f64);
        assert_eq!(full.lower(), [0.0, 10.0, 20.0, 11.0, 21.0, 22.0]);
        let back = Matrix::from_lower(3, &full.lower());
        assert_eq!(back, Matrix::from_fn(3, 3, |i, j| if i >= j { full[(i, j)] } else { 0.0 }));
    }

    #[test]
    fn singular_and_broken_matrices_have_no_factor() {
        assert!(cholesky(&Matrix::zeros(3, 3)).is_none());
        assert!(cholesky(&Matrix::diagonal(&[1.0, f64::NAN])).is_none());
        assert!(cholesky(&Matrix::diagonal(&[1.0, -1.0])).is_none());
        assert!(eigen(&Matrix::diagonal(&[1.0, f64::INFINITY])).is_none());
    }
}
