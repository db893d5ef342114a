//! Fused models: the sum of the members' ledgers, each times its weight. Lines of the same name are one line: what a
//! column says in all members, what all bounds take away, the offsets of all calibrations.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use super::additive::cell;
use super::{Explanation, Order, explain_until};
use crate::data::{Batch, Kind};
use crate::error::Result;
use crate::fuse::{FusedModel, Member};
use crate::learn::Classifier;

pub fn explain(model: &FusedModel, x: &Batch<'_>, order: Order, stop: &AtomicBool) -> Result<Vec<Explanation>> {
    let mut all: Vec<(Explanation, HashMap<String, usize>)> =
        (0..x.rows()).map(|_| (Explanation { entries: Vec::new() }, HashMap::new())).collect();
    for Member { weight, model, .. } in model.members() {
        for ((fused, places), own) in all.iter_mut().zip(explain_until(model, x, order, stop)?) {
            for mut entry in own.entries {
                entry.evidence.iter_mut().for_each(|e| *e *= weight);
                match places.get(&entry.name) {
                    Some(&place) => {
                        let known = &mut fused.entries[place];
                        known.evidence.iter_mut().zip(&entry.evidence).for_each(|(a, b)| *a += b);
                        // A cell that is missing says something where a member has learned what that means.
                        if known.missing && !entry.missing {
                            (known.missing, known.value) = (false, entry.value);
                        }
                    }
                    None => {
                        places.insert(entry.name.clone(), fused.entries.len());
                        fused.entries.push(entry);
                    }
                }
            }
        }
    }
    // Members may show bins: the ledger of all of them shows what the cell holds.
    for (c, column) in model.schema().columns().iter().enumerate().filter(|(_, column)| column.kind != Kind::Text) {
        for (row, (explanation, places)) in all.iter_mut().enumerate() {
            if let Some(entry) = places.get(&column.name).map(|&place| &mut explanation.entries[place]) {
                entry.value = cell(x, row, c, column)?;
            }
        }
    }
    // What belongs to no column stands last, in the order in which the members named it.
    let last = |mut explanation: Explanation| {
        explanation.entries.sort_by_key(|entry| entry.name.starts_with('('));
        explanation
    };
    Ok(all.into_iter().map(|(explanation, _)| last(explanation)).collect())
}
