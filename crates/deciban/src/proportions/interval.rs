//! Shares with intervals, from rows without labels and, if there are some, scores of rows with labels.
//!
//! At any shares p, the means over rows of hₖ = p(x | k)/Σⱼ pⱼ p(x | j) are mixtures of those of the classes:
//!
//! ```text
//! h̄ = M π          Mₖⱼ the mean of hₖ over rows of class j, π the shares that are sought
//! ```
//!
//! whether or not the evidence is right. Labelled rows estimate M, so π = M⁻¹h̄ corrects the shares of greatest
//! likelihood, near which p lies; where the evidence is right they are the same but for chance. By the delta method
//!
//! ```text
//! cov π = M⁻¹ [ C/n + Σⱼ πⱼ² Cⱼ/nⱼ ] M⁻ᵀ      C, Cⱼ: covariance of h over the n rows, and over nⱼ labelled ones of j
//! ```
//!
//! Without labelled rows, the shares are those of greatest likelihood, and M⁻¹ gives way to the inverse of the observed
//! information, the mean of hhᵀ, along shares that sum to 1: this holds only if the evidence is right.
//!
//! Few rows of a class have no spread to estimate. So p is pulled to the middle by z² rows where there are labels; for
//! Cⱼ, z² of the labelled rows of class j look like those of the others, since errors that a few rows do not show occur
//! all the same; the variance is at least that of counting n labelled rows; and the interval is the one of Agresti &
//! Coull (1998).

use super::em::Likelihoods;
use crate::error::{Error, Result};
use crate::evaluate::{Interval, Scored};
use crate::evidence::Evidence;
use crate::numerics::{Matrix, normal_quantile, product, solve};

/// Shares of classes among rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The share of each class.
    pub shares: Vec<f64>,
    /// Where it lies with the confidence that was asked for.
    pub intervals: Vec<Interval>,
    /// The shares that make the rows most probable, before they were corrected by labelled rows.
    pub maximum_likelihood: Vec<f64>,
    /// Rows that are impossible under every class: they are left out.
    pub impossible: usize,
}

/// Estimates shares from the evidence of rows, weighted if they have weights; `labelled` are scores of rows that
/// the model has not been fitted on, by the same map of evidence.
///
/// ```
/// use deciban::evidence::Evidence;
/// use deciban::proportions::estimate;
/// // 90 rows that are surely of the first class and 10 of the second.
/// let rows = (0..100).flat_map(|i| if i < 90 { [0.0, -99.0] } else { [-99.0, 0.0] }).collect();
/// let found = estimate(&Evidence::new(2, rows)?, None, None, 0.95)?;
/// // The interval of Agresti and Coull: 11.92/103.84 ± 1.96 √(0.1148 · 0.8852/103.84).
/// assert!((found.shares[1] - 0.1).abs() < 1e-12);
/// assert!((found.intervals[1].low - 0.0535).abs() < 5e-4 && (found.intervals[1].high - 0.1761).abs() < 5e-4);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn estimate(
    evidence: &Evidence,
    weights: Option<&[f64]>,
    labelled: Option<&Scored>,
    confidence: f64,
) -> Result<Estimate> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Error::parameter("confidence", "give a probability above 0 and below 1"));
    }
    let rows = Likelihoods::new(evidence, weights)?;
    let classes = evidence.classes();
    let best = rows.maximise().shares;
    let (n, z) = (rows.effective_rows(), normal_quantile(0.5 + confidence / 2.0));
    let inner: Vec<f64> = best.iter().map(|p| (n * p + z * z / classes as f64) / (n + z * z)).collect();
    let scores = labelled.map(|scored| by_class(scored, classes, &inner, z * z)).transpose()?;
    let (mean, spread) = rows.moments(if scores.is_some() { &inner } else { &best });
    // How the shares follow the mean of h.
    let influence = match &scores {
        Some(scores) => {
            let mixing = Matrix::from_fn(classes, classes, |k, j| scores[j].mean[k]);
            solve(&mixing, &Matrix::identity(classes))
        }
        None => along_shares(&rows.information(&best), &best),
    };
    let Some(influence) = influence else {
        // Where classes look alike to the model, their shares can be anything.
        let intervals = vec![Interval { low: 0.0, high: 1.0 }; classes];
        return Ok(Estimate { shares: best.clone(), intervals, maximum_likelihood: best, impossible: rows.impossible });
    };
    let shares = match scores {
        Some(_) => on_simplex(&influence.times(&mean)),
        None => best.clone(),
    };
    let from_rows: Vec<f64> = sandwich(&influence, &spread).iter().map(|variance| variance / n).collect();
    let mut from_labels = vec![0.0; classes];
    for (j, of) in scores.iter().flatten().enumerate() {
        let share = shares[j].max(inner[j]);
        let added = sandwich(&influence, &of.covariance_of_mean);
        from_labels.iter_mut().zip(added).for_each(|(v, a)| *v += share * share * a);
    }
    let interval = |k: usize| {
        let middle = (n * shares[k] + z * z / 2.0) / (n + z * z);
        // No fewer than if the rows had labels.
        let variance = from_rows[k].max(middle * (1.0 - middle) / (n + z * z)) + from_labels[k];
        let half = z * variance.sqrt();
        Interval { low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
    };
    let intervals = (0..classes).map(interval).collect();
    Ok(Estimate { shares, intervals, maximum_likelihood: best, impossible: rows.impossible })
}

/// What labelled rows of a class say of h.
struct OfClass {
    mean: Vec<f64>,
    covariance_of_mean: Matrix,
}

/// For each class the mean of h over its labelled rows, and how sure it is, if `strangers` more of them were like rows
/// of the other classes.
fn by_class(scored: &Scored, classes: usize, shares: &[f64], strangers: f64) -> Result<Vec<OfClass>> {
    Error::check_shape("classes of the labelled rows", classes, scored.evidence().classes())?;
    let of = |class: usize| {
        let own: Vec<usize> = (0..scored.rows()).filter(|&i| scored.truth()[i] as usize == class).collect();
        let values = own.iter().flat_map(|&i| scored.evidence().row(i).iter().copied()).collect();
        let weights: Vec<f64> = own.iter().map(|&i| scored.weights()[i]).collect();
        let none = |_| Error::Classes(format!("class {} has no labelled rows that are possible", class + 1));
        let rows = Likelihoods::new(&Evidence::new(classes, values)?, Some(&weights)).map_err(none)?;
        let (mean, covariance) = rows.moments(shares);
        Ok((mean, covariance, rows.effective_rows()))
    };
    let all = (0..classes).map(of).collect::<Result<Vec<_>>>()?;
    let mixed = |class: usize| {
        let count = all[class].2 + strangers;
        let share = |j: usize| if j == class { all[j].2 } else { strangers / (classes as f64 - 1.0) } / count;
        let mean: Vec<f64> = (0..classes).map(|k| (0..classes).map(|j| share(j) * all[j].0[k]).sum()).collect();
        let mut covariance = Matrix::zeros(classes, classes);
        for (j, (own, within, _)) in all.iter().enumerate() {
            let between = |k: usize, l: usize| (own[k] - mean[k]) * (own[l] - mean[l]);
            let part = Matrix::from_fn(classes, classes, |k, l| share(j) / count * (within[(k, l)] + between(k, l)));
            covariance.data_mut().iter_mut().zip(part.data()).for_each(|(a, b)| *a += b);
        }
        OfClass { mean: all[class].0.clone(), covariance_of_mean: covariance }
    };
    Ok((0..classes).map(mixed).collect())
}

/// The inverse of an information matrix along shares that sum to 1: E (DGDᵀ)⁻¹ D, where D takes the differences from
/// the class with the largest share and E makes up for it; `None` where it is singular.
fn along_shares(information: &Matrix, shares: &[f64]) -> Option<Matrix> {
    let classes = shares.len();
    let most = (0..classes).reduce(|best, k| if shares[k] > shares[best] { k } else { best })?;
    let others: Vec<usize> = (0..classes).filter(|k| *k != most).collect();
    let is = |a: usize, b: usize| f64::from(u8::from(a == b));
    let differences = Matrix::from_fn(others.len(), classes, |i, k| is(others[i], k) - is(most, k));
    let along = product(&product(&differences, false, information, false), false, &differences, true);
    let inverse = solve(&along, &differences)?;
    Some(product(&differences, true, &inverse, false))
}

/// The diagonal of A S Aᵀ.
fn sandwich(a: &Matrix, s: &Matrix) -> Vec<f64> {
    let whole = product(&product(a, false, s, false), false, a, true);
    (0..whole.rows()).map(|k| whole[(k, k)].max(0.0)).collect()
}

/// Shares without those below 0; they sum to 1.
fn on_simplex(shares: &[f64]) -> Vec<f64> {
    let sum: f64 = shares.iter().map(|p| p.max(0.0)).sum();
    shares.iter().map(|p| p.max(0.0) / sum).collect()
}
