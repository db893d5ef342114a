//! Σ_j w_j x_j of rows of numbers with the weights of each class, by the way in which the rows lie.
//!
//! Rows that lie one after the other are read where they lie: for one or two classes, a row runs through the lanes of
//! the vector unit; for more, the classes do, with the weights of a column side by side. Where columns lie one after
//! the other, the rows do. Sums stay in registers, and each is taken in the same order for all rows, so that it does
//! not depend on how rows are cut into tiles.

use crate::data::Tile;
use crate::numerics::{ColumnMajor, RowMajor, vectorised};

/// Numbers that run side by side.
const LANES: usize = 4;

/// A number that is widened where it is read.
pub(super) trait Cell: Copy + Into<f64> {}
impl<T: Copy + Into<f64>> Cell for T {}

/// The products of rows with the weights of K classes, which are few.
pub(super) fn of_few<T: Cell, const K: usize>(x: &RowMajor<'_, T>, weights: [&[f64]; K], out: &mut Tile) {
    vectorised!({
        const ROWS: usize = 4;
        let whole = x.rows() - x.rows() % ROWS;
        for start in (0..whole).step_by(ROWS) {
            let sums = dots::<T, ROWS, K>(std::array::from_fn(|r| x.row(start + r)), weights);
            for k in 0..K {
                out.column_mut(k)[start..start + ROWS].copy_from_slice(&sums[k]);
            }
        }
        for i in whole..x.rows() {
            let sums = dots([x.row(i)], weights);
            for k in 0..K {
                out.column_mut(k)[i] = sums[k][0];
            }
        }
    });
}

/// The inner products of R rows with the weights of K classes, each in four sums.
#[inline(always)]
fn dots<T: Cell, const R: usize, const K: usize>(x: [&[T]; R], w: [&[f64]; K]) -> [[f64; R]; K] {
    let (x_whole, x_last) = (x.map(|x| x.as_chunks::<LANES>().0), x.map(|x| x.as_chunks::<LANES>().1));
    let (w_whole, w_last) = (w.map(|w| w.as_chunks::<LANES>().0), w.map(|w| w.as_chunks::<LANES>().1));
    let chunks = w_whole[0].len();
    // Known to be as long, so that the loop checks nothing.
    let (x_whole, w_whole) = (x_whole.map(|x| &x[..chunks]), w_whole.map(|w| &w[..chunks]));
    let mut sums = [[[0.0; LANES]; R]; K];
    for j in 0..chunks {
        for r in 0..R {
            let x: [f64; LANES] = x_whole[r][j].map(Into::into);
            for k in 0..K {
                for l in 0..LANES {
                    sums[k][r][l] = x[l].mul_add(w_whole[k][j][l], sums[k][r][l]);
                }
            }
        }
    }
    std::array::from_fn(|k| {
        std::array::from_fn(|r| {
            let [a, b, c, d] = sums[k][r];
            let last: f64 = x_last[r].iter().zip(w_last[k]).map(|(x, w)| Into::<f64>::into(*x) * w).sum();
            (a + c) + (b + d) + last
        })
    })
}

/// The products of rows with the weights of many classes, which lie column by column as [`side_by_side`] has them.
pub(super) fn of_many<T: Cell>(x: &RowMajor<'_, T>, weights: &[f64], out: &mut Tile) {
    vectorised!({
        let (mut class, classes) = (0, out.width());
        while class < classes {
            class += match classes - class {
                ..=4 => of_class_block::<T, 8, 1>(x, weights, class, out),
                5..=8 => of_class_block::<T, 4, 2>(x, weights, class, out),
                _ => of_class_block::<T, 4, 3>(x, weights, class, out),
            };
        }
    });
}

/// Behind the weights of a table there is so much room, so that those of the last classes can be read as whole lanes.
const ROOM: usize = LANES - 1;

/// The weights of each column side by side, and some room behind them, which means nothing.
pub(super) fn side_by_side(weights: &[f64], classes: usize, by_column: &mut Vec<f64>) {
    const PART: usize = 256;
    let width = weights.len() / classes.max(1);
    by_column.resize(width * classes + ROOM, 0.0);
    // So many columns at a time that what is written stays in the cache.
    for (part, by_column) in by_column[..width * classes].chunks_mut(PART * classes.max(1)).enumerate() {
        for (class, weights) in weights.chunks_exact(width.max(1)).enumerate() {
            let cells = by_column.iter_mut().skip(class).step_by(classes);
            cells.zip(&weights[part * PART..]).for_each(|(cell, w)| *cell = *w);
        }
    }
}

/// The products for at most 4·N classes, from `class` on, R rows at a time; returns 4·N. Where there are fewer classes,
/// lanes behind the last sum up weights of the next column, and are dropped.
#[inline(always)]
fn of_class_block<T: Cell, const R: usize, const N: usize>(
    x: &RowMajor<'_, T>,
    weights: &[f64],
    class: usize,
    out: &mut Tile,
) -> usize {
    let whole = x.rows() - x.rows() % R;
    for start in (0..whole).step_by(R) {
        of_block::<T, R, N>(x, start, weights, class, out);
    }
    for i in whole..x.rows() {
        of_block::<T, 1, N>(x, i, weights, class, out);
    }
    LANES * N
}

#[inline(always)]
fn of_block<T: Cell, const R: usize, const N: usize>(
    x: &RowMajor<'_, T>,
    start: usize,
    weights: &[f64],
    class: usize,
    out: &mut Tile,
) {
    let classes = out.width();
    let rows: [&[T]; R] = std::array::from_fn(|r| x.row(start + r));
    let width = rows[0].len();
    let rows = rows.map(|row| &row[..width]);
    let mut sums = [[[0.0; LANES]; N]; R];
    for j in 0..width {
        let w: &[[f64; LANES]; N] = lanes_at(weights, j * classes + class);
        for r in 0..R {
            let x: f64 = rows[r][j].into();
            for n in 0..N {
                for l in 0..LANES {
                    sums[r][n][l] = x.mul_add(w[n][l], sums[r][n][l]);
                }
            }
        }
    }
    for k in 0..(LANES * N).min(classes - class) {
        let cells: [f64; R] = std::array::from_fn(|r| sums[r][k / LANES][k % LANES]);
        out.column_mut(class + k)[start..start + R].copy_from_slice(&cells);
    }
}

/// N times four numbers from a place on.
#[inline(always)]
fn lanes_at<const N: usize>(weights: &[f64], place: usize) -> &[[f64; LANES]; N] {
    let lanes = weights[place..place + N * LANES].as_chunks::<LANES>().0;
    lanes.first_chunk().expect("a slice of N times four numbers has N chunks of four")
}

/// The products of columns with the weights of the classes, class after class.
pub(super) fn of_columns<T: Cell>(x: &ColumnMajor<'_, T>, weights: &[f64], out: &mut Tile) {
    vectorised!({
        let (mut class, classes) = (0, out.width());
        // As many sums at a time as fill the registers.
        while class < classes {
            class += match classes - class {
                4.. => of_classes::<T, 8, 4>(x, weights, class, out),
                2..4 => of_classes::<T, 16, 2>(x, weights, class, out),
                _ => of_classes::<T, 32, 1>(x, weights, class, out),
            };
        }
    });
}

/// The products for K classes, from `class` on, R rows at a time; returns K.
#[inline(always)]
fn of_classes<T: Cell, const R: usize, const K: usize>(
    x: &ColumnMajor<'_, T>,
    weights: &[f64],
    class: usize,
    out: &mut Tile,
) -> usize {
    let width = x.width();
    let w = std::array::from_fn(|k| &weights[(class + k) * width..(class + k + 1) * width]);
    let whole = x.rows() - x.rows() % R;
    for start in (0..whole).step_by(R) {
        of_strip::<T, R, K>(x, start, w, class, out);
    }
    for i in whole..x.rows() {
        of_strip::<T, 1, K>(x, i, w, class, out);
    }
    K
}

#[inline(always)]
fn of_strip<T: Cell, const R: usize, const K: usize>(
    x: &ColumnMajor<'_, T>,
    start: usize,
    weights: [&[f64]; K],
    class: usize,
    out: &mut Tile,
) {
    let mut sums = [[0.0; R]; K];
    for j in 0..x.width() {
        let cells: [f64; R] = x.cells::<R>(j, start).map(Into::into);
        for k in 0..K {
            let w = weights[k][j];
            for r in 0..R {
                sums[k][r] = w.mul_add(cells[r], sums[k][r]);
            }
        }
    }
    for k in 0..K {
        out.column_mut(class + k)[start..start + R].copy_from_slice(&sums[k]);
    }
}
