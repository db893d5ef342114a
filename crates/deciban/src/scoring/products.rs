//! Σ_j w_j x_j of rows of numbers with the weights of each class, by the way in which the rows lie.
//!
//! Rows that lie one after the other run through the lanes of the vector unit themselves, for one or two classes. Where
//! columns lie one after the other, in memory or as a copy, neighbours in a column run side by side in the lanes. Sums
//! stay in registers, and each is taken in the same order for all rows, so that it does not depend on how rows are cut
//! into tiles.

use std::ops::Range;

use crate::data::Tile;
use crate::numerics::{ColumnMajor, RowMajor, vectorised};

/// Numbers that run side by side.
const LANES: usize = 4;

/// A number that is widened where it is read.
pub(super) trait Cell: Copy + Into<f64> {}
impl<T: Copy + Into<f64>> Cell for T {}

/// The products of rows with the weights of K classes, which are few.
pub(super) fn of_few<T: Cell, const K: usize>(x: &RowMajor<'_, T>, weights: [&[f64]; K], out: &mut Tile) {
    vectorised!(few_of_rows(x.rows(), |i| x.row(i), weights, out));
}

#[inline(always)]
fn few_of_rows<'x, T: Cell + 'x, const K: usize>(
    rows: usize,
    row: impl Fn(usize) -> &'x [T],
    weights: [&[f64]; K],
    out: &mut Tile,
) {
    const ROWS: usize = 4;
    let whole = rows - rows % ROWS;
    for start in (0..whole).step_by(ROWS) {
        let sums: [[f64; ROWS]; K] = dots(std::array::from_fn(|r| row(start + r)), weights);
        for k in 0..K {
            out.column_mut(k)[start..start + ROWS].copy_from_slice(&sums[k]);
        }
    }
    for i in whole..rows {
        let sums = dots([row(i)], weights);
        for k in 0..K {
            out.column_mut(k)[i] = sums[k][0];
        }
    }
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
                    sums[k][r][l] += x[l] * w_whole[k][j][l];
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

/// So many cells are taken through all classes before the next: they stay in the first-level cache.
const STRIP: usize = 2048;

/// The products of columns with the weights of the classes, class after class.
pub(super) fn of_columns<T: Cell>(x: &ColumnMajor<'_, T>, weights: &[f64], out: &mut Tile) {
    if out.width() == 1 {
        return vectorised!(of_one_class(x, weights, out.column_mut(0)));
    }
    let strip = (STRIP / x.width().max(1)).next_multiple_of(32);
    vectorised!(for start in (0..x.rows()).step_by(strip) {
        let rows = start..x.rows().min(start + strip);
        let (mut class, classes) = (0, out.width());
        // As many sums at a time as fill the registers.
        while class < classes {
            class += match classes - class {
                4.. => of_classes::<T, 8, 4>(x, rows.clone(), weights, class, out),
                2..4 => of_classes::<T, 16, 2>(x, rows.clone(), weights, class, out),
                _ => of_classes::<T, 32, 1>(x, rows.clone(), weights, class, out),
            };
        }
    });
}

/// The products for one class, four columns at a time over all rows: memory is read fastest in long runs.
#[inline(always)]
fn of_one_class<T: Cell>(x: &ColumnMajor<'_, T>, weights: &[f64], sums: &mut [f64]) {
    sums.fill(0.0);
    let (fours, last) = weights.as_chunks::<4>();
    for (k, w) in fours.iter().enumerate() {
        let [a, b, c, d] = std::array::from_fn(|l| x.column(4 * k + l));
        for ((((sum, &a), &b), &c), &d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            let two = w[1].mul_add(b.into(), w[0].mul_add(a.into(), *sum));
            *sum = w[3].mul_add(d.into(), w[2].mul_add(c.into(), two));
        }
    }
    for (l, w) in last.iter().enumerate() {
        let cells = x.column(4 * fours.len() + l);
        sums.iter_mut().zip(cells).for_each(|(sum, &x)| *sum = w.mul_add(x.into(), *sum));
    }
}

/// The products for K classes, from `class` on, R rows at a time; returns K.
#[inline(always)]
fn of_classes<T: Cell, const R: usize, const K: usize>(
    x: &ColumnMajor<'_, T>,
    rows: Range<usize>,
    weights: &[f64],
    class: usize,
    out: &mut Tile,
) -> usize {
    let width = x.width();
    let w = std::array::from_fn(|k| &weights[(class + k) * width..(class + k + 1) * width]);
    let whole = rows.end - rows.len() % R;
    for start in (rows.start..whole).step_by(R) {
        of_rows::<T, R, K>(x, start, w, class, out);
    }
    for i in whole..rows.end {
        of_rows::<T, 1, K>(x, i, w, class, out);
    }
    K
}

#[inline(always)]
fn of_rows<T: Cell, const R: usize, const K: usize>(
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
