//! Standard errors of a regression table, from the Hessian H of the likelihood at its optimum: the line aᵀθ has the
//! variance aᵀ H⁻¹ a.
//!
//! Where no cell of a category is missing, its indicators sum to the intercept's ones, and H is singular. Then the
//! reference level is left out of H, and the weight of another level in what is left *is* its difference to the
//! reference. Where cells are missing, all levels are determined, and a line is a difference of two weights.

use super::features::Features;
use super::model::references_of;
use crate::numerics::{Matrix, cholesky, solve_lower};

/// Standard errors of the lines of a regression table.
pub struct Errors {
    /// A value per feature and output, the intercept last; NaN for lines that are not there.
    pub values: Vec<f64>,
    /// The number of weights that are determined, without the intercepts.
    pub degrees: usize,
}

/// The errors of lines in the units of the data; `None` where weights are not determined, or biased by a penalty. Of
/// more than two classes the first is the reference.
pub fn standard_errors(
    features: &Features,
    references: &[usize],
    hessian: Matrix,
    outputs: usize,
    decay: f64,
) -> Option<Errors> {
    let n = features.len() + 1;
    // With a penalty weights are biased on purpose, and a softmax has no reference class.
    if hessian.rows() != n * outputs || decay > 0.0 {
        return None;
    }
    let h = |i: usize, j: usize| hessian[(i.max(j), i.min(j))];
    let absorbed = absorbed(features, references, outputs, h);
    // A feature that no row has says nothing, and has no error.
    let is_kept =
        |i: usize| (outputs == 1 || !i.is_multiple_of(outputs)) && !absorbed.contains(&(i / outputs)) && h(i, i) > 0.0;
    let kept: Vec<usize> = (0..n * outputs).filter(|&i| is_kept(i)).collect();
    // Scaled to a diagonal of ones, so that what is singular does not depend on units.
    let scale: Vec<f64> = kept.iter().map(|&i| h(i, i).sqrt().recip()).collect();
    let scaled = |i: usize, j: usize| h(kept[i], kept[j]) * scale[i] * scale[j];
    let l = cholesky(&Matrix::from_fn(kept.len(), kept.len(), scaled))?;
    if (0..kept.len()).any(|i| l[(i, i)] < SINGULAR) {
        return None;
    }
    let reference = references_of(features, references);
    let mut values = vec![f64::NAN; n * outputs];
    for target in (0..n * outputs).filter(|i| outputs == 1 || i % outputs != 0) {
        let (j, k) = (target / outputs, target % outputs);
        if references.contains(&j) {
            continue;
        }
        let mut terms = features.unit(j);
        match reference[j] {
            Some(reference) => terms.push((reference, -1.0)),
            None if j == features.len() => terms.extend(references.iter().map(|&r| (r, 1.0))),
            None => {}
        }
        let mut row = Matrix::zeros(kept.len(), 1);
        let mut is_determined = true;
        for (feature, factor) in terms.into_iter().filter(|(feature, _)| !absorbed.contains(feature)) {
            match kept.binary_search(&(feature * outputs + k)) {
                Ok(place) => row[(place, 0)] += factor * scale[place],
                Err(_) => is_determined &= factor == 0.0 || feature < features.numbers(),
            }
        }
        if is_determined && kept.binary_search(&target).is_ok() {
            solve_lower(&l, false, &mut row);
            values[target] = row.data().iter().map(|x| x * x).sum::<f64>().sqrt();
        }
    }
    let intercepts = kept.iter().filter(|&&i| i / outputs == features.len()).count();
    Some(Errors { values, degrees: kept.len() - intercepts })
}

/// A pivot below: a column is a linear function of others to eleven digits.
const SINGULAR: f64 = 3e-6;

/// The reference levels of categories that no row lacks.
fn absorbed(features: &Features, references: &[usize], outputs: usize, h: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let k = outputs - 1;
    let intercept = features.len() * outputs + k;
    let whole = h(intercept, intercept);
    let is_complete = |range: std::ops::Range<usize>| {
        let sum: f64 = range.map(|j| h(j * outputs + k, intercept)).sum();
        (sum - whole).abs() <= 1e-9 * whole
    };
    let complete = features.categories().zip(references).filter(|(range, _)| is_complete(range.clone()));
    complete.map(|(_, &reference)| reference).collect()
}
