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

/// Says which rows of a batch are none of the classes.
pub type Unusual<'a> = &'a (dyn Fn(&Batch<'_>) -> Result<Vec<bool>> + Sync);

/// Scores and evaluates all rows; keeps them up to `budget` bytes. `unusual`, where it is given, says which rows are
/// none of the classes.
pub fn collect(
    input: &impl Input,
    classes: &[String],
    prior: &Prior,
    costs: &Costs,
    budget: usize,
    score: impl Fn(&Batch<'_>) -> Result<Evidence> + Sync,
    unusual: Option<Unusual<'_>>,
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
                let rows = labelled(&batch, score(&batch)?, unusual.map(|unusual| unusual(&batch)).transpose()?)?;
                let weights = Some(rows.weights());
                part.evaluation.observe_evidence(
                    rows.evidence(),
                    prior,
                    rows.truth(),
                    weights,
                    costs,
                    rows.unusual(),
                )?;
                part.cllr.observe(rows.evidence(), rows.truth(), weights)?;
                if let Some(kept) = &mut part.rows {
                    kept.merge(&rows)?;
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
                (Some(rows), Some(part)) => rows.merge(&part),
                _ => {
                    all.rows = None;
                    Ok(())
                }
            }
        },
    )?;
    Ok(all)
}

/// The rows that have a label.
pub fn labelled(batch: &Batch<'_>, evidence: Evidence, unusual: Option<Vec<bool>>) -> Result<Scored> {
    let labels = batch.labels().ok_or_else(|| Error::Classes("the rows have no labels".into()))?;
    let (classes, weights) = (evidence.classes(), batch.row_weights());
    let mut rows = Scored::new(classes)?;
    if labels.iter().all(|&class| class != MISSING) {
        rows.append(&evidence, labels, weights)?;
        return rows.with_unusual(unusual);
    }
    let known: Vec<usize> = (0..labels.len()).filter(|&row| labels[row] != MISSING).collect();
    let values = known.iter().flat_map(|&row| evidence.row(row).iter().copied()).collect();
    let labels: Vec<u32> = known.iter().map(|&row| labels[row]).collect();
    let weights: Option<Vec<f64>> = weights.map(|w| known.iter().map(|&row| w[row]).collect());
    rows.append(&Evidence::new(classes, values)?, &labels, weights.as_deref())?;
    rows.with_unusual(unusual.map(|unusual| known.iter().map(|&row| unusual[row]).collect()))
}
