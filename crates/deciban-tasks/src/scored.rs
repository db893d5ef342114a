//! Rows of a stream scored and evaluated as they pass, and kept while they fit in memory.

use deciban::decision::Costs;
use deciban::evaluate::{Cllr, Evaluation, Scored};
use deciban::evidence::Evidence;
use deciban::posterior::Prior;
use deciban::{Error, Result};
use deciban_data::Files;

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
    files: &Files,
    classes: &[String],
    prior: &Prior,
    costs: &Costs,
    budget: usize,
    score: impl Fn(&deciban::data::Batch<'_>) -> Result<Evidence> + Sync,
) -> Result<Collected> {
    let mut all = Collected {
        evaluation: Evaluation::new(classes, costs),
        cllr: Cllr::new(classes.len()),
        rows: Some(Scored::new(classes.len())?),
    };
    let most = budget / Scored::bytes_per_row(classes.len());
    files.map_in_order(
        |batch| {
            let evidence = score(batch)?;
            let labels = batch.labels().ok_or_else(|| Error::Classes("the rows have no labels".into()))?;
            let weights = batch.row_weights();
            let mut part = (Evaluation::new(classes, costs), Cllr::new(classes.len()));
            part.0.observe(&evidence.posterior(prior), labels, weights, costs)?;
            part.1.observe(&evidence, labels, weights)?;
            Ok((part, evidence, labels.to_vec(), weights.map(<[f64]>::to_vec)))
        },
        |((evaluation, cllr), evidence, labels, weights)| {
            all.evaluation.merge(&evaluation);
            all.cllr.merge(&cllr);
            if all.evaluation.rows() > most {
                all.rows = None;
            }
            match &mut all.rows {
                Some(rows) => rows.append(&evidence, &labels, weights.as_deref()),
                None => Ok(()),
            }
        },
    )?;
    Ok(all)
}
