//! Additive models: class k has the log posterior gₖ(z), z = z₀ + Σ tₘ, with z₀ the score of the average row and tₘ
//! what the tables of columns and pairs say, each 0 on average. As for linear models, a term says tₘ times the mean
//! slope of gₖ from z₀ to z: of more than two classes that is tₘ, of two the difference of the classes is.

use super::AdditiveModel;
use crate::data::Batch;
use crate::error::Result;
use crate::explain::{AVERAGE, Entry, Explanation, base, cell, slopes};
use crate::learn::{Classifier, Link};

pub(super) fn explain(model: &AdditiveModel, x: &Batch<'_>, row: usize) -> Result<Explanation> {
    let (columns, intercepts) = (model.schema().columns(), model.intercepts());
    let parts = model.parts(x, row)?;
    let shown = columns.iter().enumerate().map(|(c, column)| cell(x, row, c, column));
    let shown: Vec<String> = shown.collect::<Result<_>>()?;
    let (from, slopes) = match intercepts {
        [z0] => {
            let z = z0 + parts.iter().map(|part| part.says[0]).sum::<f64>();
            let (from, slopes) = slopes(*z0, z, |z| Link::Logit.log_probabilities(z).to_vec());
            (from, Some(slopes))
        }
        _ => (intercepts.to_vec(), None),
    };
    let says = |t: &[f64]| match &slopes {
        Some(slopes) => slopes.iter().map(|s| s * t[0]).collect(),
        None => t.to_vec(),
    };
    let mut entries = vec![base(AVERAGE, &from, model.empirical())];
    for part in parts {
        let join = |of: &dyn Fn(usize) -> String| part.columns.iter().map(|&c| of(c)).collect::<Vec<_>>().join(" × ");
        let name = join(&|c| columns[c].name.clone());
        // A column that was never missing in the training data has nothing to say where it is.
        entries.push(match part.missing && part.says.iter().all(|t| *t == 0.0) {
            true => Entry::missing(name, model.schema().classes().len()),
            false => Entry::new(name, join(&|c| shown[c].clone()), says(&part.says)),
        });
    }
    Ok(Explanation { entries })
}
