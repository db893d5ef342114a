//! Linear models: class k has the log posterior gₖ(z), z = z₀ + Σ Δⱼ, with z₀ the score of the average
//! row (of no cause, for noisy-OR) and Δⱼ = wⱼ(xⱼ − mⱼ).
//!
//! Feature j says Δⱼ (gₖ(z) − gₖ(z₀))/(z − z₀): its part of the way, times the mean slope along it. Where
//! g is the identity, as for the softmax, that is Δⱼ; for two classes of a logit the difference of
//! the classes is.

use super::{Entry, Explanation};
use crate::data::{Batch, Tile};
use crate::error::Result;
use crate::learn::{Classifier, LeastSquaresModel, LogisticModel, NoisyOrModel, Term};

/// What stands for the row before any feature is known.
pub(super) const BASE: &str = "(average row)";

/// gₖ(z₀) for each class, and the mean slopes from there to z.
pub(super) fn slopes(z0: f64, z: f64, g: impl Fn(f64) -> Vec<f64>) -> (Vec<f64>, Vec<f64>) {
    let (from, to) = (g(z0), g(z));
    let mut base = from.clone();
    let mut slopes = vec![0.0; from.len()];
    for k in 0..from.len() {
        if from[k].is_finite() && z != z0 {
            slopes[k] = (to[k] - from[k]) / (z - z0);
        } else if z != z0 {
            // Impossible before any feature: the features share all there is.
            (base[k], slopes[k]) = (0.0, to[k] / (z - z0));
        }
    }
    (base, slopes)
}

fn entries(terms: &[Term], names: &[String], classes: usize, says: impl Fn(usize, f64) -> Vec<f64>) -> Vec<Entry> {
    let entry = |term: &Term| match term {
        Term::Missing { column, expected, .. } if expected.is_empty() => Entry::missing(column, classes),
        Term::Missing { column, expected, shown } => {
            let mut sum = vec![0.0; classes];
            for (index, x) in expected {
                sum.iter_mut().zip(says(*index, *x)).for_each(|(sum, says)| *sum += says);
            }
            Entry::new(column, shown, sum)
        }
        Term::Feature { index, x, shown } => Entry::new(&names[*index], shown, says(*index, *x)),
    };
    terms.iter().map(entry).collect()
}

/// The weight of evidence of the average row: gₖ less the log-prior of the training data.
pub(super) fn base(name: &str, g: &[f64], model: &impl Classifier) -> Entry {
    let p = model.empirical().probabilities();
    Entry::new(name, "", g.iter().zip(p).map(|(g, p)| g - p.ln()).collect())
}

pub fn logistic(model: &LogisticModel, x: &Batch<'_>, row: usize) -> Result<Explanation> {
    let classes = model.schema().classes().len();
    let (features, theta) = (model.features(), model.theta());
    let terms = features.terms(x, row)?;
    let outputs = theta.len() / (features.len() + 1);
    let intercept = &theta[features.len() * outputs..];
    if outputs > 1 {
        let says = |j: usize, x: f64| (0..outputs).map(|k| x * theta[j * outputs + k]).collect();
        let mut all = vec![base(BASE, intercept, model)];
        all.extend(entries(&terms, features.names(), classes, says));
        return Ok(Explanation { entries: all });
    }
    let z = intercept[0] + terms.iter().map(|term| term.times(theta)).sum::<f64>();
    let (from, slopes) = slopes(intercept[0], z, |z| model.link().log_probabilities(z).to_vec());
    let says = |j: usize, x: f64| slopes.iter().map(|s| s * x * theta[j]).collect();
    let mut all = vec![base(BASE, &from, model)];
    all.extend(entries(&terms, features.names(), classes, says));
    Ok(Explanation { entries: all })
}

pub fn noisy_or(model: &NoisyOrModel, x: &Batch<'_>, row: usize) -> Result<Explanation> {
    let (features, theta) = (model.features(), model.theta());
    model.check_row(x, row)?;
    let terms = features.terms(x, row)?;
    let leak = theta[features.len()];
    let rate = leak + terms.iter().map(|term| term.times(theta)).sum::<f64>();
    let (from, slopes) = slopes(leak, rate, |r| model.log_posterior(r).to_vec());
    let says = |j: usize, x: f64| slopes.iter().map(|s| s * x * theta[j]).collect();
    let mut all = vec![base("(leak)", &from, model)];
    // A cause that is absent says nothing of its own: the leak is the row without causes.
    all.extend(entries(&terms, features.names(), 2, says));
    Ok(Explanation { entries: all })
}

pub fn least_squares(model: &LeastSquaresModel, x: &Batch<'_>, row: usize) -> Result<Explanation> {
    let (mut centred, p) = (Tile::default(), model.empirical().probabilities());
    model.centred(x, row..row + 1, &mut centred)?;
    let raw = model.cells(x, row)?;
    let forms = model.scores();
    let d = raw.len();
    let of_class = |k: usize| {
        let z = p[k] + (0..d).map(|j| forms[k].w[j] * centred.column(j)[0]).sum::<f64>();
        let (from, slopes) = slopes(p[k], z, |score| vec![model.log_share(score)]);
        (from[0], slopes[0])
    };
    let classes: Vec<(f64, f64)> = (0..p.len()).map(of_class).collect();
    let mut all = vec![base(BASE, &classes.iter().map(|c| c.0).collect::<Vec<_>>(), model)];
    for j in 0..d {
        let name = &raw[j].0;
        all.push(match raw[j].1.is_nan() {
            true => Entry::missing(name, p.len()),
            false => {
                let says = |(k, c): (usize, &(f64, f64))| c.1 * forms[k].w[j] * centred.column(j)[0];
                Entry::new(name, format!("{}", raw[j].1), classes.iter().enumerate().map(says).collect())
            }
        });
    }
    Ok(Explanation { entries: all })
}
