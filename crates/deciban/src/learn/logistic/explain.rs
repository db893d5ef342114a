//! What each feature of a row says in a linear model.

use super::LogisticModel;
use super::features::Term;
use crate::data::Batch;
use crate::error::Result;
use crate::explain::{AVERAGE, Entry, Explanation, base, slopes};
use crate::learn::Classifier;

/// A line for each term, where `says` tells what a feature says to each class.
pub(in crate::learn) fn entries(
    terms: &[Term],
    names: &[String],
    classes: usize,
    says: impl Fn(usize, f64) -> Vec<f64>,
) -> Vec<Entry> {
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

pub(super) fn explain(model: &LogisticModel, x: &Batch<'_>, row: usize) -> Result<Explanation> {
    let classes = model.schema().classes().len();
    let (features, theta) = (model.features(), model.theta());
    let terms = features.terms(x, row)?;
    let outputs = theta.len() / (features.len() + 1);
    let intercept = &theta[features.len() * outputs..];
    if outputs > 1 {
        let says = |j: usize, x: f64| (0..outputs).map(|k| x * theta[j * outputs + k]).collect();
        let mut all = vec![base(AVERAGE, intercept, model.empirical())];
        all.extend(entries(&terms, features.names(), classes, says));
        return Ok(Explanation { entries: all });
    }
    let z = intercept[0] + terms.iter().map(|term| term.times(theta)).sum::<f64>();
    let (from, slopes) = slopes(intercept[0], z, |z| model.link().log_probabilities(z).to_vec());
    let says = |j: usize, x: f64| slopes.iter().map(|s| s * x * theta[j]).collect();
    let mut all = vec![base(AVERAGE, &from, model.empirical())];
    all.extend(entries(&terms, features.names(), classes, says));
    Ok(Explanation { entries: all })
}
