//! Graphical lasso: a precision matrix Θ with zeros, from a covariance S.
//!
//! ```text
//! minimise   −ln|Θ| + tr(SΘ) + ρ Σ_{i≠j} |Θᵢⱼ|
//! dual:       ln|W| + d   to be maximised over  |Wᵢⱼ − Sᵢⱼ| ≤ ρ, Wᵢᵢ = Sᵢᵢ;   W = Θ⁻¹ at the optimum
//! column j:   β = argmin ½βᵀW₁₁β − s₁₂ᵀβ + ρ‖β‖₁;   w₁₂ ← W₁₁β;   θⱼⱼ = 1/(wⱼⱼ − w₁₂ᵀβ),  θ₁₂ = −β θⱼⱼ
//! ```
//!
//! Friedman, Hastie & Tibshirani, *Sparse inverse covariance estimation with the graphical lasso*
//! (Biostatistics 2008). Every column is a lasso on all others, solved by coordinate descent from
//! its last solution; this ascends the dual, so W stays positive definite. Columns that no chain of
//! |Sᵢⱼ| > ρ connects have Θᵢⱼ = 0 and are solved apart (Witten, Friedman & Simon 2011).

use super::linear::{Matrix, cholesky, solve_lower};
use crate::error::{Error, Result};

/// The option that sets ρ.
const OPTION: &str = "sparse_precision";

/// The most sweeps over the columns, and over the coefficients of one column.
const SWEEPS: usize = 1000;

/// The duality gap per column at which a result is good.
const GAP: f64 = 1e-10;

/// The largest change of a correlation in the last sweep, for a start: it is tightened while the
/// gap is too large. The gap alone would not do, it grows with the square of the error: 1e-10
/// would leave only five digits right.
const CHANGE: f64 = 1e-11;

/// A covariance and its sparse inverse.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphicalLasso {
    /// W, row by row; its diagonal is that of S.
    pub covariance: Vec<f64>,
    /// Θ = W⁻¹, row by row.
    pub precision: Vec<f64>,
    /// Sweeps over the columns, in the block that took most.
    pub iterations: usize,
    /// How far the objective is above its minimum, at most.
    pub dual_gap: f64,
}

/// Minimises −ln|Θ| + tr(SΘ) + ρ Σ_{i≠j} |Θᵢⱼ| for a symmetric `s` of `d` × `d` cells.
///
/// ```
/// use deciban::numerics::graphical_lasso;
/// let s = [1.0, 0.5, 0.5, 1.0];
/// let found = graphical_lasso(&s, 2, 0.2)?;
/// assert!((found.covariance[1] - 0.3).abs() < 1e-10); // 0.5 − 0.2
/// assert_eq!(graphical_lasso(&s, 2, 0.5)?.precision, [1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn graphical_lasso(s: &[f64], d: usize, rho: f64) -> Result<GraphicalLasso> {
    Error::check_shape("cells of a covariance matrix", d * d, s.len())?;
    if !(rho >= 0.0 && rho.is_finite()) {
        return Err(Error::parameter(OPTION, format!("{rho} is not a finite number of at least 0")));
    }
    if s.iter().any(|x| !x.is_finite()) || (0..d).any(|j| s[j * d + j] <= 0.0) {
        return Err(Error::parameter(
            OPTION,
            "a column does not vary, or its variance is not finite: drop it with §ignore",
        ));
    }
    if rho == 0.0 {
        return invert(s, d);
    }
    let mut whole =
        GraphicalLasso { covariance: vec![0.0; d * d], precision: vec![0.0; d * d], iterations: 0, dual_gap: 0.0 };
    for block in components(s, d, rho) {
        let n = block.len();
        let part: Vec<f64> = block.iter().flat_map(|i| block.iter().map(move |j| s[i * d + j])).collect();
        let part = solve(&part, n, rho)?;
        for (a, &i) in block.iter().enumerate() {
            for (b, &j) in block.iter().enumerate() {
                whole.covariance[i * d + j] = part.covariance[a * n + b];
                whole.precision[i * d + j] = part.precision[a * n + b];
            }
        }
        whole.iterations = whole.iterations.max(part.iterations);
        whole.dual_gap += part.dual_gap;
    }
    Ok(whole)
}

/// The columns in groups connected by |Sᵢⱼ| > ρ.
fn components(s: &[f64], d: usize, rho: f64) -> Vec<Vec<usize>> {
    let mut seen = vec![false; d];
    let mut blocks = Vec::new();
    for start in 0..d {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut block = vec![start];
        let mut next = 0;
        while next < block.len() {
            let i = block[next];
            for j in 0..d {
                if s[i * d + j].abs() > rho && !std::mem::replace(&mut seen[j], true) {
                    block.push(j);
                }
            }
            next += 1;
        }
        block.sort_unstable();
        blocks.push(block);
    }
    blocks
}

/// Block coordinate descent on one connected block, ρ > 0.
fn solve(s: &[f64], d: usize, rho: f64) -> Result<GraphicalLasso> {
    let off_diagonal = || (0..d * d).filter(|k| k / d != k % d);
    // Shrinking S towards its diagonal as far as the box allows starts in the box with a W that is
    // positive definite even where S is singular.
    let largest = off_diagonal().map(|k| s[k].abs()).fold(0.0, f64::max);
    let mut w = s.to_vec();
    off_diagonal().for_each(|k| w[k] *= 1.0 - (rho / largest).min(1.0));
    let mut beta = vec![0.0; d * d];
    let (mut tolerance, mut gap) = (CHANGE, f64::INFINITY);
    for iterations in 1..=SWEEPS {
        let mut change = 0.0f64;
        for j in 0..d {
            let row = j * d..(j + 1) * d;
            let column = regress(&w, d, j, &s[row.clone()], rho, 0.1 * tolerance, &mut beta[row]);
            for i in (0..d).filter(|&i| i != j) {
                change = change.max((w[i * d + j] - column[i]).abs() / (s[i * d + i] * s[j * d + j]).sqrt());
                (w[i * d + j], w[j * d + i]) = (column[i], column[i]);
            }
        }
        if change <= tolerance {
            let precision = precision(&w, &beta, d);
            gap = dual_gap(s, &w, &precision, d, rho);
            if gap <= GAP * d as f64 {
                return Ok(GraphicalLasso { covariance: w, precision, iterations, dual_gap: gap });
            }
            if tolerance < f64::EPSILON {
                break;
            }
            tolerance *= 0.1;
        }
    }
    Err(Error::parameter(
        OPTION,
        format!(
            "{rho} leaves the precision too ill-conditioned (duality gap {gap:.1e}): try a larger value, or §shrinkage=auto"
        ),
    ))
}

/// The lasso of column `j` on the others: improves `beta` until no standardised coefficient moves
/// by more than `tolerance`, and gives W₁₁β.
fn regress(w: &[f64], d: usize, j: usize, s: &[f64], rho: f64, tolerance: f64, beta: &mut [f64]) -> Vec<f64> {
    let mut fitted = vec![0.0; d];
    for k in 0..d {
        add(beta[k], &w[k * d..(k + 1) * d], &mut fitted);
    }
    // Once all coefficients have been visited, those that are not 0 settle among themselves.
    let mut all = true;
    for _ in 0..SWEEPS {
        let mut change = 0.0f64;
        for k in (0..d).filter(|&k| k != j) {
            let old = beta[k];
            if all || old != 0.0 {
                let variance = w[k * d + k];
                let new = soft_threshold(s[k] - fitted[k] + variance * old, rho) / variance;
                if new != old {
                    beta[k] = new;
                    add(new - old, &w[k * d..(k + 1) * d], &mut fitted);
                    change = change.max((new - old).abs() * (variance / s[j]).sqrt());
                }
            }
        }
        let settled = change <= tolerance;
        if settled && all {
            break;
        }
        all = settled;
    }
    fitted
}

/// y += a·x, if there is anything to add.
fn add(a: f64, x: &[f64], y: &mut [f64]) {
    if a != 0.0 {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
    }
}

fn soft_threshold(x: f64, rho: f64) -> f64 {
    (x.abs() - rho).max(0.0).copysign(x)
}

/// Θ from the regressions of all columns. Θᵢⱼ follows from column i and from column j, equal but
/// for the last digits: their mean, or 0 if one of them is.
fn precision(w: &[f64], beta: &[f64], d: usize) -> Vec<f64> {
    let row = |m: &[f64], j: usize| -> Vec<f64> { m[j * d..(j + 1) * d].to_vec() };
    let mut theta = vec![0.0; d * d];
    for j in 0..d {
        let explained: f64 = row(w, j).iter().zip(&row(beta, j)).map(|(w, b)| w * b).sum();
        theta[j * d + j] = 1.0 / (w[j * d + j] - explained);
    }
    for i in 0..d {
        for j in 0..i {
            let (a, b) = (-beta[i * d + j] * theta[i * d + i], -beta[j * d + i] * theta[j * d + j]);
            let mean = if a == 0.0 || b == 0.0 { 0.0 } else { 0.5 * (a + b) };
            (theta[i * d + j], theta[j * d + i]) = (mean, mean);
        }
    }
    theta
}

/// The objective at Θ minus the dual at W, moved into the box: at least the distance of either
/// from the optimum. Infinite unless both are positive definite.
fn dual_gap(s: &[f64], w: &[f64], theta: &[f64], d: usize, rho: f64) -> f64 {
    let feasible: Vec<f64> =
        (0..d * d).map(|k| if k / d == k % d { s[k] } else { w[k].clamp(s[k] - rho, s[k] + rho) }).collect();
    let cost = |k: usize| s[k] * theta[k] + if k / d == k % d { 0.0 } else { rho * theta[k].abs() };
    match (log_determinant(theta, d), log_determinant(&feasible, d)) {
        (Some(theta), Some(w)) => (0..d * d).map(cost).sum::<f64>() - d as f64 - theta - w,
        _ => f64::INFINITY,
    }
}

/// ln|A| of a positive definite matrix.
fn log_determinant(a: &[f64], d: usize) -> Option<f64> {
    let l = cholesky(&Matrix::from_columns(d, d, a.to_vec()))?;
    Some(2.0 * (0..d).map(|j| l[(j, j)].ln()).sum::<f64>())
}

/// S and S⁻¹ = L⁻ᵀL⁻¹: the solution for ρ = 0.
fn invert(s: &[f64], d: usize) -> Result<GraphicalLasso> {
    // A pivot is the part of a variance that the columns before it leave unexplained.
    let definite = |l: &Matrix| (0..d).all(|j| l[(j, j)].powi(2) > d as f64 * f64::EPSILON * s[j * d + j]);
    let l = cholesky(&Matrix::from_columns(d, d, s.to_vec())).filter(definite);
    let l = l.ok_or_else(|| {
        Error::parameter(OPTION, "the covariance is singular, and 0 does not regularise it: give a larger value")
    })?;
    let mut inverse = Matrix::identity(d);
    solve_lower(&l, false, &mut inverse);
    let dot = |i: usize, j: usize| inverse.column(i).iter().zip(inverse.column(j)).map(|(x, y)| x * y).sum::<f64>();
    let precision: Vec<f64> = (0..d * d).map(|k| dot(k / d, k % d)).collect();
    let dual_gap = dual_gap(s, s, &precision, d, 0.0);
    Ok(GraphicalLasso { covariance: s.to_vec(), precision, iterations: 0, dual_gap })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numerics::Random;

    /// The covariance of `n` rows of `d` mixed columns.
    fn covariance(seed: u64, d: usize, n: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mix: Vec<f64> = (0..d * d).map(|_| random.normal()).collect();
        let mut s = vec![0.0; d * d];
        for _ in 0..n {
            let z: Vec<f64> = (0..d).map(|_| random.normal()).collect();
            let x: Vec<f64> = (0..d).map(|i| z[i] + (0..d).map(|k| mix[i * d + k] * z[k]).sum::<f64>()).collect();
            (0..d * d).for_each(|k| s[k] += x[k / d] * x[k % d] / n as f64);
        }
        s
    }

    fn correlation(seed: u64, d: usize, n: usize) -> Vec<f64> {
        let s = covariance(seed, d, n);
        (0..d * d).map(|k| s[k] / (s[k / d * d + k / d] * s[k % d * d + k % d]).sqrt()).collect()
    }

    fn product(a: &[f64], b: &[f64], d: usize) -> Vec<f64> {
        (0..d * d).map(|k| (0..d).map(|m| a[k / d * d + m] * b[m * d + k % d]).sum()).collect()
    }

    /// The conditions of an optimum: Θ = W⁻¹; |Sᵢⱼ − Wᵢⱼ| ≤ ρ; Wᵢⱼ = Sᵢⱼ + ρ sign Θᵢⱼ where Θᵢⱼ ≠ 0.
    fn check(s: &[f64], d: usize, rho: f64) -> GraphicalLasso {
        let found = graphical_lasso(s, d, rho).unwrap();
        let (w, theta) = (&found.covariance, &found.precision);
        let scale = |k: usize| (s[k / d * d + k / d] * s[k % d * d + k % d]).sqrt();
        for (k, x) in product(w, theta, d).into_iter().enumerate() {
            let identity = (k / d == k % d) as u8 as f64;
            assert!((x - identity).abs() < 1e-7 * (theta[k % d * d + k % d] * s[k % d * d + k % d]), "WΘ = {x} at {k}");
        }
        for k in 0..d * d {
            let transposed = k % d * d + k / d;
            assert_eq!((w[k], theta[k]), (w[transposed], theta[transposed]));
            if k / d == k % d {
                assert_eq!(w[k], s[k]);
            } else {
                assert!((s[k] - w[k]).abs() <= rho + 1e-9 * scale(k), "out of the box: {} and {}", s[k], w[k]);
                if theta[k] != 0.0 {
                    let residual = (w[k] - s[k] - rho * theta[k].signum()).abs();
                    assert!(residual < 1e-9 * scale(k), "Θ = {}: residual {residual}", theta[k]);
                }
            }
        }
        assert!(found.dual_gap.abs() <= GAP * d as f64, "{}", found.dual_gap);
        found
    }

    #[test]
    fn two_columns_by_hand() {
        // w = sign(s)(|s| − ρ)⁺, Θ the inverse of [[a, w], [w, b]].
        let (a, b, s, rho) = (2.0, 3.0, -1.5, 0.4);
        let found = check(&[a, s, s, b], 2, rho);
        let w = s + rho;
        let determinant = a * b - w * w;
        for (x, y) in found.precision.iter().zip([b, -w, -w, a]) {
            assert!((x - y / determinant).abs() < 1e-10, "{:?}", found.precision);
        }
        assert!((found.covariance[1] - w).abs() < 1e-11);
    }

    #[test]
    fn a_penalty_above_all_covariances_leaves_the_diagonal() {
        let s = covariance(1, 6, 50);
        let largest = (0..36).filter(|k| k / 6 != k % 6).map(|k| s[k].abs()).fold(0.0, f64::max);
        let found = check(&s, 6, largest);
        let expected: Vec<f64> = (0..36).map(|k| if k / 6 == k % 6 { 1.0 / s[k] } else { 0.0 }).collect();
        assert_eq!(found.precision, expected);
        // A little less lets one pair in.
        assert_eq!(check(&s, 6, 0.999 * largest).precision.iter().filter(|x| **x != 0.0).count(), 8);
    }

    #[test]
    fn no_penalty_is_the_inverse() {
        let s = covariance(2, 5, 100);
        let found = check(&s, 5, 0.0);
        assert_eq!(found.covariance, s);
        assert!(found.precision.iter().all(|x| *x != 0.0));
    }

    #[test]
    fn blocks_that_do_not_touch_are_solved_apart() {
        let (a, b) = (correlation(3, 3, 20), correlation(4, 4, 20));
        let mut s = vec![0.01; 49];
        // Interleaved: columns 0, 2, 4 and 1, 3, 5, 6.
        let (even, odd) = ([0, 2, 4], [1, 3, 5, 6]);
        (0..9).for_each(|k| s[even[k / 3] * 7 + even[k % 3]] = a[k]);
        (0..16).for_each(|k| s[odd[k / 4] * 7 + odd[k % 4]] = b[k]);
        let found = check(&s, 7, 0.02);
        assert_eq!(components(&s, 7, 0.02), [even.to_vec(), odd.to_vec()]);
        let (a, b) = (graphical_lasso(&a, 3, 0.02).unwrap(), graphical_lasso(&b, 4, 0.02).unwrap());
        (0..9).for_each(|k| assert_eq!(found.precision[even[k / 3] * 7 + even[k % 3]], a.precision[k]));
        (0..16).for_each(|k| assert_eq!(found.precision[odd[k / 4] * 7 + odd[k % 4]], b.precision[k]));
        assert!(even.iter().all(|i| odd.iter().all(|j| found.precision[i * 7 + j] == 0.0)));
    }

    #[test]
    fn what_cannot_be_solved_is_said() {
        let message = |s: &[f64], d: usize, rho: f64| graphical_lasso(s, d, rho).unwrap_err().to_string();
        let singular = [1.0, 1.0, 1.0, 1.0];
        assert!(message(&singular, 2, 0.0).contains("singular"));
        assert!(message(&covariance(5, 8, 4), 8, 0.0).contains("singular"));
        check(&singular, 2, 0.01);
        assert!(message(&singular, 2, -0.1).starts_with("sparse_precision: -0.1"));
        assert!(message(&singular, 2, f64::NAN).contains("NaN"));
        assert!(message(&[0.0], 1, 0.1).contains("does not vary"));
        assert!(message(&[1.0, f64::NAN, f64::NAN, 1.0], 2, 0.1).contains("not finite"));
        assert!(message(&[1.0], 2, 0.1).contains("expected 4"));
        // Not a covariance: correlations beyond 1.
        assert!(message(&[1.0, 5.0, 5.0, 1.0], 2, 0.1).contains("larger value"));
        assert!(graphical_lasso(&[], 0, 0.1).unwrap().precision.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_conditions_of_an_optimum_hold(seed: u64, d in 1usize..13, n in 2usize..60, rho in 0.01f64..0.9) {
            // With n < d the correlations are singular.
            check(&correlation(seed, d, n), d, rho);
        }

        #[test]
        fn also_on_other_scales(seed: u64, d in 2usize..8, exponent in -6i32..7) {
            let scale = 10f64.powi(exponent);
            let s: Vec<f64> = covariance(seed, d, 30).iter().map(|x| x * scale).collect();
            check(&s, d, 0.3 * scale);
        }
    }
}
