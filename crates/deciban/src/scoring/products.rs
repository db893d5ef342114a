//! Σ_j w_j (x_j − c_j) of rows of numbers with the weights of each class, by the way in which the rows lie.
//!
//! Rows that lie one after the other run through the lanes of the vector unit themselves for one class; for several,
//! the classes lie side by side in the lanes. Where columns lie one after the other, in memory or as a copy, neighbours
//! in a column run side by side. Sums stay in registers, and each is taken in the same order for all rows, so that it
//! does not depend on how rows are cut into tiles.
//!
//! Vectors are named where rows lie one after the other: left to itself, the compiler may lose them, or put rows into
//! the lanes.

use std::ops::Range;

use pulp::Simd;

use crate::data::{Cells, ColumnSlices, RowSlices, Tile};
use crate::error::Result;
use crate::numerics::{Cell, ColumnMajor, RowMajor, vectorised};

/// c_j; without a centre, `IS_CENTRED` is false, and x − 0 is x.
#[inline(always)]
fn centre_of<const IS_CENTRED: bool>(centre: &[f64], j: usize) -> f64 {
    if IS_CENTRED { centre[j] } else { 0.0 }
}

/// Writes the products of rows with the weights of each class, a column for each. `tile` is a place for a copy of the
/// cells, where they can be read neither row by row nor column by column.
pub(super) fn of_cells(
    cells: &Cells<'_>,
    centre: Option<&[f64]>,
    weights: &[f64],
    tile: &mut Tile,
    out: &mut Tile,
) -> Result<()> {
    match centre {
        None => of_layout::<false>(cells, &[], weights, tile, out),
        Some(centre) => of_layout::<true>(cells, centre, weights, tile, out),
    }
}

fn of_layout<const IS_CENTRED: bool>(
    cells: &Cells<'_>,
    centre: &[f64],
    weights: &[f64],
    tile: &mut Tile,
    out: &mut Tile,
) -> Result<()> {
    match (cells.column_slices(), cells.row_slices()) {
        (Some(ColumnSlices::F64(x)), _) => of_columns::<f64, IS_CENTRED>(&x, centre, weights, out),
        (Some(ColumnSlices::F32(x)), _) => of_columns::<f32, IS_CENTRED>(&x, centre, weights, out),
        (_, Some(RowSlices::F64(x))) => of_rows::<f64, IS_CENTRED>(&x, centre, weights, out),
        (_, Some(RowSlices::F32(x))) => of_rows::<f32, IS_CENTRED>(&x, centre, weights, out),
        _ => {
            cells.read_numbers(tile)?;
            of_columns::<f64, IS_CENTRED>(&(&*tile).into(), centre, weights, out);
        }
    }
    Ok(())
}

/// Writes the products of rows that lie one after the other, row after row, and `bias` added to them. Returns `false`,
/// and writes nothing, where rows do not lie so.
pub(super) fn of_whole_rows(
    cells: &Cells<'_>,
    centre: Option<&[f64]>,
    weights: &[f64],
    (bias, classes): (Option<&[f64]>, usize),
    out: &mut [f64],
) -> bool {
    let mut write = |start: usize, products: &[f64], apart: usize| {
        for (to, products) in out[start * classes..].chunks_exact_mut(classes).zip(products.chunks_exact(apart)) {
            match bias {
                Some(bias) => to.iter_mut().zip(products).zip(bias).for_each(|((to, product), b)| *to = product + b),
                None => to.copy_from_slice(&products[..classes]),
            }
        }
    };
    let Some(rows) = cells.row_slices() else { return false };
    match (rows, centre) {
        (RowSlices::F64(x), None) => of_several::<f64, false>(&x, &[], weights, classes, &mut write),
        (RowSlices::F32(x), None) => of_several::<f32, false>(&x, &[], weights, classes, &mut write),
        (RowSlices::F64(x), Some(centre)) => of_several::<f64, true>(&x, centre, weights, classes, &mut write),
        (RowSlices::F32(x), Some(centre)) => of_several::<f32, true>(&x, centre, weights, classes, &mut write),
    }
    true
}

fn of_rows<T: Cell, const IS_CENTRED: bool>(x: &RowMajor<'_, T>, centre: &[f64], weights: &[f64], out: &mut Tile) {
    let classes = out.width();
    if classes == 1 {
        let out = out.column_mut(0);
        return pulp::Arch::new().dispatch(OneClass::<T, IS_CENTRED> { x, centre, weights, out });
    }
    of_several::<T, IS_CENTRED>(x, centre, weights, classes, &mut |start, products, apart| {
        for class in 0..classes {
            let own = products.iter().skip(class).step_by(apart);
            out.column_mut(class)[start..].iter_mut().zip(own).for_each(|(to, product)| *to = *product);
        }
    });
}

/// The products of rows with the weights of one class.
struct OneClass<'a, T, const IS_CENTRED: bool> {
    x: &'a RowMajor<'a, T>,
    centre: &'a [f64],
    weights: &'a [f64],
    out: &'a mut [f64],
}

impl<T: Cell, const IS_CENTRED: bool> pulp::WithSimd for OneClass<'_, T, IS_CENTRED> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        const ROWS: usize = 8;
        let (whole, last) = self.out.as_chunks_mut::<ROWS>();
        let start = ROWS * whole.len();
        for (i, out) in whole.iter_mut().enumerate() {
            let rows = std::array::from_fn(|r| self.x.row(ROWS * i + r));
            *out = dots::<S, T, IS_CENTRED, ROWS>(simd, rows, self.centre, self.weights);
        }
        for (i, out) in last.iter_mut().enumerate() {
            [*out] = dots::<S, T, IS_CENTRED, 1>(simd, [self.x.row(start + i)], self.centre, self.weights);
        }
    }
}

/// The inner products of R rows with the weights, each in a vector of sums.
#[inline(always)]
fn dots<S: Simd, T: Cell, const IS_CENTRED: bool, const R: usize>(
    simd: S,
    x: [&[T]; R],
    centre: &[f64],
    weights: &[f64],
) -> [f64; R] {
    let width = weights.len();
    // Known to be as long, so that the loop checks nothing.
    let x = x.map(|x| &x[..width]);
    let mut sums = [simd.splat_f64s(0.0); R];
    let whole = width - width % S::F64_LANES;
    for start in (0..whole).step_by(S::F64_LANES) {
        let range = start..start + S::F64_LANES;
        add_terms::<S, T, IS_CENTRED, R>(simd, &x, centre, weights, range, &mut sums);
    }
    if whole < width {
        add_terms::<S, T, IS_CENTRED, R>(simd, &x, centre, weights, whole..width, &mut sums);
    }
    sums.map(|sum| simd.reduce_sum_f64s(sum))
}

#[inline(always)]
fn add_terms<S: Simd, T: Cell, const IS_CENTRED: bool, const R: usize>(
    simd: S,
    x: &[&[T]; R],
    centre: &[f64],
    weights: &[f64],
    range: Range<usize>,
    sums: &mut [S::f64s; R],
) {
    let w = f64::vector(simd, &weights[range.clone()]);
    let c = if IS_CENTRED { f64::vector(simd, &centre[range.clone()]) } else { simd.splat_f64s(0.0) };
    for r in 0..R {
        let x = simd.sub_f64s(T::vector(simd, &x[r][range.clone()]), c);
        sums[r] = simd.mul_add_f64s(x, w, sums[r]);
    }
}

/// The products of rows with the weights of several classes. They are handed over a few rows at a time: the first of
/// these, the products of each row one after the other, and how far one row is from the next.
fn of_several<T: Cell, const IS_CENTRED: bool>(
    x: &RowMajor<'_, T>,
    centre: &[f64],
    weights: &[f64],
    classes: usize,
    hand_over: &mut dyn FnMut(usize, &[f64], usize),
) {
    /// So few rows are not worth another order of the weights.
    const FEW: usize = 4;
    if x.rows() >= FEW {
        return pulp::Arch::new().dispatch(InLanes::<T, IS_CENTRED> { x, centre, weights, classes, hand_over });
    }
    let (width, mut sums) = (weights.len() / classes.max(1), Tile::default());
    sums.resize(classes, 1);
    for i in 0..x.rows() {
        vectorised!(for (class, sum) in sums.data_mut().iter_mut().enumerate() {
            let cells = x.row(i).iter().zip(&weights[class * width..][..width]).enumerate();
            let centred = cells.map(|(j, (x, w))| ((*x).into() - centre_of::<IS_CENTRED>(centre, j), w));
            *sum = centred.fold(0.0, |sum, (x, w)| x.mul_add(*w, sum));
        });
        hand_over(i, sums.data(), classes);
    }
}

/// What [`of_several`] comes to for many rows.
struct InLanes<'a, T, const IS_CENTRED: bool> {
    x: &'a RowMajor<'a, T>,
    centre: &'a [f64],
    weights: &'a [f64],
    classes: usize,
    hand_over: &'a mut dyn FnMut(usize, &[f64], usize),
}

impl<T: Cell, const IS_CENTRED: bool> pulp::WithSimd for InLanes<'_, T, IS_CENTRED> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        /// Rows that are handed over together.
        const STRIP: usize = 64;
        let (rows, width) = (self.x.rows(), self.weights.len() / self.classes);
        let padded = self.classes.next_multiple_of(S::F64_LANES);
        // The weights of a column for all classes lie side by side.
        let mut by_column = Tile::default();
        by_column.resize(padded, width);
        by_column.data_mut().fill(0.0);
        for (class, own) in self.weights.chunks_exact(width.max(1)).enumerate() {
            by_column.data_mut().iter_mut().skip(class).step_by(padded).zip(own).for_each(|(to, w)| *to = *w);
        }
        let mut strip = Tile::default();
        strip.resize(padded, STRIP.min(rows));
        let vectors = padded / S::F64_LANES;
        for start in (0..rows).step_by(STRIP) {
            let x = self.x.part(start..rows.min(start + STRIP));
            let (centre, weights) = (self.centre, S::as_simd_f64s(by_column.data()).0);
            let mut strip_of = Strip::<'_, S, T, IS_CENTRED> {
                x: &x,
                centre,
                weights,
                vectors,
                sums: S::as_mut_simd_f64s(strip.data_mut()).0,
            };
            let mut first = 0;
            // As many sums at a time as fill the registers.
            while first < vectors {
                first += match vectors - first {
                    3.. => strip_of.sum::<3, 4>(simd, first),
                    2 => strip_of.sum::<2, 4>(simd, first),
                    _ => strip_of.sum::<1, 8>(simd, first),
                };
            }
            (self.hand_over)(start, &strip.data()[..x.rows() * padded], padded);
        }
    }
}

/// A few rows, and the vectors of their sums.
struct Strip<'a, S: Simd, T, const IS_CENTRED: bool> {
    x: &'a RowMajor<'a, T>,
    centre: &'a [f64],
    /// So many vectors for each column.
    weights: &'a [S::f64s],
    vectors: usize,
    sums: &'a mut [S::f64s],
}

impl<S: Simd, T: Cell, const IS_CENTRED: bool> Strip<'_, S, T, IS_CENTRED> {
    /// The sums of V vectors of classes, from `first` on, R rows at a time; returns V.
    #[inline(always)]
    fn sum<const V: usize, const R: usize>(&mut self, simd: S, first: usize) -> usize {
        let (rows, whole) = (self.x.rows(), self.x.rows() - self.x.rows() % R);
        for i in (0..whole).step_by(R) {
            self.sum_rows::<V, R>(simd, i, first);
        }
        for i in whole..rows {
            self.sum_rows::<V, 1>(simd, i, first);
        }
        V
    }

    #[inline(always)]
    fn sum_rows<const V: usize, const R: usize>(&mut self, simd: S, start: usize, first: usize) {
        let x: [&[T]; R] = std::array::from_fn(|r| self.x.row(start + r));
        let width = x[0].len();
        // Known to be as long, so that the loop checks nothing.
        let x = x.map(|x| &x[..width]);
        let mut sums = [[simd.splat_f64s(0.0); V]; R];
        for j in 0..width {
            let w: &[S::f64s; V] =
                self.weights[j * self.vectors + first..].first_chunk().expect("every column has all vectors");
            let c = centre_of::<IS_CENTRED>(self.centre, j);
            for r in 0..R {
                let x = simd.splat_f64s(x[r][j].into() - c);
                for v in 0..V {
                    sums[r][v] = simd.mul_add_f64s(x, w[v], sums[r][v]);
                }
            }
        }
        for (r, found) in sums.iter().enumerate() {
            self.sums[(start + r) * self.vectors + first..][..V].copy_from_slice(found);
        }
    }
}

/// So many cells are taken through all classes before the next: they stay in the first-level cache.
const STRIP: usize = 2048;

/// The products of columns with the weights of the classes, class after class.
fn of_columns<T: Cell, const IS_CENTRED: bool>(
    x: &ColumnMajor<'_, T>,
    centre: &[f64],
    weights: &[f64],
    out: &mut Tile,
) {
    if out.width() == 1 {
        return vectorised!(of_one_class::<T, IS_CENTRED>(x, centre, weights, out.column_mut(0)));
    }
    let strip = (STRIP / x.width().max(1)).next_multiple_of(32);
    vectorised!(for start in (0..x.rows()).step_by(strip) {
        let rows = start..x.rows().min(start + strip);
        let (mut class, classes) = (0, out.width());
        // As many sums at a time as fill the registers.
        while class < classes {
            class += match classes - class {
                4.. => of_classes::<T, IS_CENTRED, 8, 4>(x, centre, rows.clone(), weights, class, out),
                2..4 => of_classes::<T, IS_CENTRED, 16, 2>(x, centre, rows.clone(), weights, class, out),
                _ => of_classes::<T, IS_CENTRED, 32, 1>(x, centre, rows.clone(), weights, class, out),
            };
        }
    });
}

/// The products for one class, four columns at a time over all rows: memory is read fastest in long runs.
#[inline(always)]
fn of_one_class<T: Cell, const IS_CENTRED: bool>(
    x: &ColumnMajor<'_, T>,
    centre: &[f64],
    weights: &[f64],
    sums: &mut [f64],
) {
    sums.fill(0.0);
    let (fours, last) = weights.as_chunks::<4>();
    for (k, w) in fours.iter().enumerate() {
        let [a, b, c, d] = std::array::from_fn(|l| x.column(4 * k + l));
        let m: [f64; 4] = std::array::from_fn(|l| centre_of::<IS_CENTRED>(centre, 4 * k + l));
        for ((((sum, &a), &b), &c), &d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            let two = w[1].mul_add(b.into() - m[1], w[0].mul_add(a.into() - m[0], *sum));
            *sum = w[3].mul_add(d.into() - m[3], w[2].mul_add(c.into() - m[2], two));
        }
    }
    for (l, w) in last.iter().enumerate() {
        let j = 4 * fours.len() + l;
        let c = centre_of::<IS_CENTRED>(centre, j);
        sums.iter_mut().zip(x.column(j)).for_each(|(sum, &x)| *sum = w.mul_add(x.into() - c, *sum));
    }
}

/// The products for K classes, from `class` on, R rows at a time; returns K.
#[inline(always)]
fn of_classes<T: Cell, const IS_CENTRED: bool, const R: usize, const K: usize>(
    x: &ColumnMajor<'_, T>,
    centre: &[f64],
    rows: Range<usize>,
    weights: &[f64],
    class: usize,
    out: &mut Tile,
) -> usize {
    let width = x.width();
    let w = std::array::from_fn(|k| &weights[(class + k) * width..(class + k + 1) * width]);
    let whole = rows.end - rows.len() % R;
    for start in (rows.start..whole).step_by(R) {
        sum_columns::<T, IS_CENTRED, R, K>(x, centre, start, w, class, out);
    }
    for i in whole..rows.end {
        sum_columns::<T, IS_CENTRED, 1, K>(x, centre, i, w, class, out);
    }
    K
}

#[inline(always)]
fn sum_columns<T: Cell, const IS_CENTRED: bool, const R: usize, const K: usize>(
    x: &ColumnMajor<'_, T>,
    centre: &[f64],
    start: usize,
    weights: [&[f64]; K],
    class: usize,
    out: &mut Tile,
) {
    let mut sums = [[0.0; R]; K];
    for j in 0..x.width() {
        let c = centre_of::<IS_CENTRED>(centre, j);
        let cells: [f64; R] = x.cells::<R>(j, start).map(|x| x.into() - c);
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
