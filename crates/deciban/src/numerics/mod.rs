//! The numerical tools: the only place that names a linear-algebra crate.

pub(crate) mod bounded;
mod cell;
mod column_major;
pub(crate) mod covariance;
mod digamma;
mod glasso;
mod incomplete_gamma;
pub(crate) mod lanes;
mod linear;
pub(crate) mod minimise;
mod random;
mod row_gram;
mod row_major;
mod softmax;
mod special;
mod tile;
mod whitened;

pub(crate) use cell::Cell;
pub(crate) use column_major::ColumnMajor;
pub use digamma::{
    digamma, itakura_saito, less_ln_1p, ln_less_digamma, stirling_rest, trigamma, trigamma_less_reciprocal,
};
pub use glasso::{GraphicalLasso, graphical_lasso};
pub use incomplete_gamma::{chi_squared_tail, gamma_upper};
pub use linear::{
    Matrix, add_gram, add_gram_of_blocks, add_row_gram, cholesky, dot, eigen, product, solve, solve_lower,
    solve_lower_tile, tile_product, tile_product_by_rows, tile_transpose_product,
};
pub use random::{Random, hash};
pub(crate) use row_major::RowMajor;
pub use softmax::{Normalise, label_of_largest, normalise};
pub use special::{ln_gamma, ln_normal_cdf, log_shares, log_sum_exp, normal_cdf, normal_quantile, softplus};
pub use tile::Tile;
pub(crate) use whitened::Whitening;

/// Whether all are finite numbers.
pub fn all_finite(x: &[f64]) -> bool {
    // Without an early end, so that it runs in lanes.
    vectorised!(x.iter().fold(true, |all, x| all & x.is_finite()))
}

/// The least of them; ∞ of none.
pub fn least(x: &[f64]) -> f64 {
    let (chunks, last) = x.as_chunks::<8>();
    let mut least = [f64::INFINITY; 8];
    vectorised!(for x in chunks {
        for k in 0..8 {
            least[k] = if x[k] < least[k] { x[k] } else { least[k] };
        }
    });
    least.iter().chain(last).copied().fold(f64::INFINITY, f64::min)
}

/// The standard error of a weighted mean m = Σwx/Σw, √(Σw²(x−m)²)/Σw, as if the x were independent. `squares` holds
/// Σw², Σw²x and Σw²x².
pub(crate) fn mean_error(weight: f64, mean: f64, [w, wx, wxx]: [f64; 3]) -> f64 {
    (wxx - 2.0 * mean * wx + mean * mean * w).max(0.0).sqrt() / weight
}

/// Runs a function of the linear-algebra crate. Its products leave the upper halves of the vector registers in
/// use, and from then on each scalar `exp` or `ln` of the system waits for them, for 20 times as long as it
/// takes: they are cleared here.
pub(crate) fn upper_halves_cleared<R>(work: impl FnOnce() -> R) -> R {
    let result = work();
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        #[target_feature(enable = "avx")]
        fn clear() {
            std::arch::x86_64::_mm256_zeroupper();
        }
        // SAFETY: the processor has the instruction.
        unsafe { clear() };
    }
    result
}

/// Runs a loop with the widest vector instructions of the machine it is on. The functions it calls must be
/// `#[inline(always)]`, so that they are compiled once for each set of instructions.
macro_rules! vectorised {
    ($body:expr) => {
        $crate::numerics::run_vectorised(
            #[inline(always)]
            || $body,
        )
    };
}
pub(crate) use vectorised;

/// What [`vectorised`] comes to.
#[inline(always)]
pub(crate) fn run_vectorised<R>(body: impl FnOnce() -> R) -> R {
    struct Body<F>(F);
    impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Body<F> {
        type Output = R;
        #[inline(always)]
        fn call(self) -> R {
            (self.0)()
        }
    }
    pulp::Arch::new().dispatch(Body(body))
}
