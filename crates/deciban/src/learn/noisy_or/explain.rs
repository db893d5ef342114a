//! What each cause of a row says.

use super::NoisyOrModel;
use crate::data::Batch;
use crate::error::Result;
use crate::explain::{Explanation, base, slopes};
use crate::learn::Classifier;
use crate::learn::logistic::explain::entries;

pub(super) fn explain(model: &NoisyOrModel, x: &Batch<'_>, row: usize) -> Result<Explanation> {
    let (features, theta) = (model.features(), model.theta());
    model.check_row(x, row)?;
    let terms = features.terms(x, row)?;
    let leak = theta[features.len()];
    let rate = leak + terms.iter().map(|term| term.times(theta)).sum::<f64>();
    let (from, slopes) = slopes(leak, rate, |r| model.log_posterior(r).to_vec());
    let says = |j: usize, x: f64| slopes.iter().map(|s| s * x * theta[j]).collect();
    let mut all = vec![base("(leak)", &from, model.empirical())];
    // A cause that is absent says nothing of its own: the leak is the row without causes.
    all.extend(entries(&terms, features.names(), 2, says));
    Ok(Explanation { entries: all })
}
