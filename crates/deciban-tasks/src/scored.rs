//! Rows of a stream scored and evaluated as they pass, and kept while they fit in memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use deciban::data::{Batch, MISSING};
use deciban::decision::Costs;
use deciban::evaluate::{Cllr, Evaluation, Scored, parts};
use deciban::evidence::Evidence;
use deciban::posterior::Prior;
use deciban::{Error, Result};

use crate::input::Input;

/// What was kept of a stream.
pub struct Collected {
    /// Decisions and probabilities.
    pub evaluation: Evaluation,
    /// The cost of the evidence.
    pub cllr: Cllr,
    /// All rows, unless they are too many.
    pub rows: Option<Scored>,
}

/// Scores and evaluates all rows; keeps them up to `budget` bytes.
pub fn collect(
    input: &impl Input,
    classes: &[String],
    prior: &Prior,
    costs: &Costs,
    budget: usize,
    score: impl Fn(&Batch<'_>) -> Result<Evidence> + Sync,
) -> Result<Collected> {
    let mut all = Collected {
        evaluation: Evaluation::new(classes, costs),
        cllr: Cllr::new(classes.len()),
        rows: Some(Scored::new(classes.len())?),
    };
    let most = budget / Scored::bytes_per_row(classes.len());
    // Where all rows are too many, at least one batch finds so.
    let seen = AtomicUsize::new(0);
    input.map_in_order(
        |batch| {
            let keeps = seen.fetch_add(batch.rows(), Ordering::Relaxed) + batch.rows() <= most;
            let mut part = Collected {
                evaluation: Evaluation::new(classes, costs),
                cllr: Cllr::new(classes.len()),
                rows: keeps.then(|| Scored::new(classes.len())).transpose()?,
            };
            // The evidence of many classes takes much memory: some rows at a time.
            for rows in parts(batch.rows(), classes.len()) {
                let batch = batch.slice(rows);
                let (evidence, labels, weights) = labelled(&batch, score(&batch)?)?;
                let weights = weights.as_deref();
                part.evaluation.observe_evidence(&evidence, prior, &labels, weights, costs)?;
                part.cllr.observe(&evidence, &labels, weights)?;
                if let Some(kept) = &mut part.rows {
                    kept.append(&evidence, &labels, weights)?;
                }
            }
            Ok(part)
        },
        |part| {
            all.evaluation.merge(&part.evaluation);
            all.cllr.merge(&part.cllr);
            match (&mut all.rows, part.rows) {
                (Some(rows), Some(part)) if rows.rows() == 0 => {
                    *rows = part;
                    Ok(())
                }
                (Some(rows), Some(part)) => rows.append(part.evidence(), part.truth(), Some(part.weights())),
                _ => {
                    all.rows = None;
                    Ok(())
                }
            }
        },
    )?;
    Ok(all)
}

/// The evidence, classes and weights of the rows that have a label.
pub fn labelled(batch: &Batch<'_>, evidence: Evidence) -> Result<(Evidence, Vec<u32>, Option<Vec<f64>>)> {
    let labels = batch.labels().ok_or_else(|| Error::Classes("the rows have no labels".into()))?;
    let weights = batch.row_weights();
    if labels.iter().all(|&class| class != MISSING) {
        return Ok((evidence, labels.to_vec(), weights.map(<[f64]>::to_vec)));
    }
    let known: Vec<usize> = (0..labels.len()).filter(|&row| labels[row] != MISSING).collect();
    let values = known.iter().flat_map(|&row| evidence.row(row).iter().copied()).collect();
    let evidence = Evidence::new(evidence.classes(), values)?;
    let labels = known.iter().map(|&row| labels[row]).collect();
    Ok((evidence, labels, weights.map(|w| known.iter().map(|&row| w[row]).collect())))
}
