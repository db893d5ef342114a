//! Each column says what its chains of tables say, Σₘ wⱼₘ (ln pⱼₘ − ln pⱼ,ₘ₋₁); the offsets are a line of their own.

use super::KDependenceModel;
use crate::data::Batch;
use crate::error::Result;
use crate::explain::{CONSTANT, Entry, Explanation, base, cell};
use crate::learn::Classifier;
use crate::numerics::log_sum_exp;

pub(super) fn explain(model: &KDependenceModel, x: &Batch<'_>, row: usize) -> Result<Explanation> {
    let columns = model.schema().columns();
    let parts = model.parts(x, row)?;
    let mut z = model.offsets().to_vec();
    parts.iter().for_each(|(_, says)| z.iter_mut().zip(says).for_each(|(z, says)| *z += says));
    let total = log_sum_exp(&z);
    let offsets: Vec<f64> = model.offsets().iter().map(|offset| offset - total).collect();
    let mut entries = vec![base(CONSTANT, &offsets, model.empirical())];
    for (c, says) in parts {
        let (name, shown) = (columns[c].name.clone(), cell(x, row, c, &columns[c])?);
        entries.push(match shown == "missing" && says.iter().all(|s| *s == 0.0) {
            true => Entry::missing(name, says.len()),
            false => Entry::new(name, shown, says),
        });
    }
    Ok(Explanation { entries })
}
