//! What each feature of a row says in a generative model.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::{Block, Classifier, FittedBlock, GenerativeModel};
use crate::data::{Batch, Cells, Column, Kind, Rows, Tile};
use crate::error::Result;
use crate::explain::{COMPONENTS, Entry, Explanation, Order, explain_columns, word_line};
use crate::family::Density;

pub(super) fn explain(
    model: &GenerativeModel,
    x: &Batch<'_>,
    order: Order,
    stop: &AtomicBool,
) -> Result<Vec<Explanation>> {
    // The values of all subsets of columns are kept for a tile of rows.
    const TILE: usize = 64;
    let mut all = vec![Explanation { entries: Vec::new() }; x.rows()];
    for (tile, explanations) in all.chunks_mut(TILE).enumerate() {
        let rows = tile * TILE..tile * TILE + explanations.len();
        for FittedBlock { block, density } in model.blocks() {
            let columns = block.seen_columns(model.schema().columns());
            block.with_cells(x, Rows::Range(rows.clone()), |cells, _| {
                let mut parts = match density.parts(cells, &columns)? {
                    Some(parts) => parts,
                    None => explain_columns(density, cells, &columns, order, stop)?,
                };
                if let ([text], [Column { kind: Kind::Text, .. }]) = (&block.columns[..], &columns[..]) {
                    // A line in parentheses is not a word.
                    let words = parts.iter_mut().flatten().filter(|entry| !entry.name.starts_with('('));
                    words.for_each(|entry| entry.name = word_line(model.schema().columns(), *text, &entry.name));
                }
                explanations.iter_mut().zip(parts).for_each(|(e, parts)| e.entries.extend(parts));
                Ok(())
            })?;
            if block.gaussianise.is_some() {
                show_as_given(x, block, rows.clone(), explanations)?;
            }
        }
        if !model.components().is_single() {
            average_over_components(model, x, rows, explanations)?;
        }
    }
    Ok(all)
}

/// Turns what features say of components into what they say of classes. With r = p(component | x, class),
///
/// log p(x | class) = Σ_k r_k log p_k(x) + Σ_k r_k ln (π_k / r_k),
///
/// for π_k p_k(x) / r_k = p(x | class) whatever the component. So each line is the average of the components'
/// lines, and one more line holds the second sum.
fn average_over_components(
    model: &GenerativeModel,
    x: &Batch<'_>,
    rows: Range<usize>,
    explanations: &mut [Explanation],
) -> Result<()> {
    let components = model.components();
    let scores = model.group_scores(|_| true, x, Rows::Range(rows))?;
    let mut shares = Tile::default();
    for class in 0..components.classes() {
        let groups = components.of_class(class);
        shares.resize(scores.rows(), groups.len());
        groups.clone().enumerate().for_each(|(k, group)| shares.column_mut(k).copy_from_slice(scores.column(group)));
        components.share(class, &mut shares);
        for (i, explanation) in explanations.iter_mut().enumerate() {
            let r = |k: usize| shares.column(k)[i];
            let known = || (0..groups.len()).filter(|&k| r(k) > 0.0);
            for entry in &mut explanation.entries {
                // The places of classes are filled from the front: those of later groups are still to be read.
                entry.evidence[class] = known().map(|k| r(k) * entry.evidence[groups.start + k]).sum();
            }
            let rest = known().map(|k| r(k) * (components.log_weights(class)[k] - r(k).ln())).sum::<f64>();
            match explanation.entries.last_mut().filter(|_| class > 0) {
                Some(line) => line.evidence[class] = rest,
                None => {
                    let mut evidence = vec![0.0; scores.width()];
                    evidence[0] = rest;
                    explanation.entries.push(Entry::new(COMPONENTS, "", evidence));
                }
            }
        }
    }
    for explanation in explanations {
        explanation.entries.iter_mut().for_each(|entry| entry.evidence.truncate(components.classes()));
    }
    Ok(())
}

/// Shows the numbers of the table, not those that a map made of them.
fn show_as_given(x: &Batch<'_>, block: &Block, rows: Range<usize>, explanations: &mut [Explanation]) -> Result<()> {
    let mut tile = Tile::default();
    Cells::new(x, &block.columns, Rows::Range(rows)).read_numbers(&mut tile)?;
    for (i, explanation) in explanations.iter_mut().enumerate() {
        for entry in explanation.entries.iter_mut().filter(|entry| !entry.missing) {
            if let Some(j) = block.names.iter().position(|name| *name == entry.name) {
                entry.value = format!("{}", tile.column(j)[i]);
            }
        }
    }
    Ok(())
}
