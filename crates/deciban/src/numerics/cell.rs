//! Numbers of single or double precision that are summed in double precision.

use pulp::Simd;

/// A number that is widened where it is read.
pub(crate) trait Cell: Copy + Into<f64> {
    /// As many numbers as a vector has, or fewer with zeros behind them.
    fn vector<S: Simd>(simd: S, cells: &[Self]) -> S::f64s;
}

impl Cell for f64 {
    #[inline(always)]
    fn vector<S: Simd>(simd: S, cells: &[f64]) -> S::f64s {
        match S::as_simd_f64s(cells).0.first() {
            Some(vector) => *vector,
            None => simd.partial_load_f64s(cells),
        }
    }
}

impl Cell for f32 {
    #[inline(always)]
    fn vector<S: Simd>(_: S, cells: &[f32]) -> S::f64s {
        let mut wide = [0.0; 8];
        wide.iter_mut().zip(cells).for_each(|(wide, x)| *wide = f64::from(*x));
        S::as_simd_f64s(&wide).0[0]
    }
}
