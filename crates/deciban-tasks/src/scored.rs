//! Rows of a stream scored and evaluated as they pass, and kept while they fit in memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use deciban::data::{Batch, MISSING};
use deciban::decision::Costs;
use deciban::evaluate::{Cllr, Evaluation, Scored, parts};
use deciban::evidence::Evidence;
use deciban::file::Archive;
use deciban::numerics::hash;
use deciban::posterior::Prior;
use deciban::{Error, Result};

use crate::input::Input;

/// What was kept of a stream.
pub struct Collected {
    /// Decisions and probabilities.
    pub evaluation: Evaluation,
    /// The cost of the evidence.
    pub cllr: Cllr,
    /// All rows, unless they are too many, or those that were drawn.
    pub rows: Option<Scored>,
}

impl Collected {
    /// No rows yet.
    pub fn new(classes: &[String], costs: &Costs) -> Result<Self> {
        let (evaluation, cllr) = (Evaluation::new(classes, costs), Cllr::new(classes.len()));
        Ok(Collected { evaluation, cllr, rows: Some(Scored::new(classes.len())?) })
    }

    /// What is known of a part of the rows, as bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut archive = Archive::new(KIND);
        self.evaluation.store(&mut archive, "evaluation")?;
        self.cllr.store(&mut archive, "cllr")?;
        self.rows.iter().try_for_each(|rows| rows.store(&mut archive, "rows"))?;
        archive.to_bytes()
    }

    /// Adds [bytes](Collected::to_bytes) of another part.
    pub fn merge_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let archive = Archive::from_bytes(bytes, KIND)?;
        self.evaluation.merge_stored(&archive, "evaluation")?;
        self.cllr.merge_stored(&archive, "cllr")?;
        match (&mut self.rows, archive.has("rows.evidence")) {
            (Some(rows), true) => rows.merge_stored(&archive, "rows")?,
            _ => self.rows = None,
        }
        Ok(())
    }
}

/// The kind of archive that holds what is known of a part of the rows.
const KIND: &str = "evaluated";

/// Which rows are kept.
#[derive(Clone, Copy, Debug)]
pub enum Keeping {
    /// All, up to so many bytes.
    All(usize),
    /// A share of the rows, drawn by their places.
    Drawn {
        /// From 0 to 1.
        share: f64,
        /// What they are drawn with.
        seed: u64,
    },
}

/// Says which rows of a batch are none of the classes.
pub type Unusual<'a> = &'a (dyn Fn(&Batch<'_>) -> Result<Vec<bool>> + Sync);

/// Scores and evaluates all rows, and keeps some. `unusual`, where it is given, says which rows are none of the classes.
pub fn collect(
    input: &dyn Input,
    classes: &[String],
    prior: &Prior,
    costs: &Costs,
    keeping: Keeping,
    score: impl Fn(&Batch<'_>) -> Result<Evidence> + Sync,
    unusual: Option<Unusual<'_>>,
) -> Result<Collected> {
    let mut all = Collected::new(classes, costs)?;
    let most = match keeping {
        Keeping::All(budget) => budget / Scored::bytes_per_row(classes.len()),
        Keeping::Drawn { .. } => usize::MAX,
    };
    // Where all rows are too many, at least one batch finds so.
    let seen = AtomicUsize::new(0);
    input.map_in_order(
        |batch| {
            let keeps = seen.fetch_add(batch.rows(), Ordering::Relaxed) + batch.rows() <= most;
            let mut part = Collected::new(classes, costs)?;
            part.rows = part.rows.filter(|_| keeps);
            // The evidence of many classes takes much memory: some rows at a time.
            for rows in parts(batch.rows(), classes.len()) {
                let batch = batch.slice(rows);
                let (evidence, unusual) = (score(&batch)?, unusual.map(|unusual| unusual(&batch)).transpose()?);
                if let (Keeping::Drawn { share, seed }, Some(kept)) = (keeping, &mut part.rows) {
                    kept.merge(&drawn(&batch, &evidence, unusual.as_deref(), share, seed)?)?;
                }
                let rows = labelled(&batch, evidence, unusual)?;
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
                if let (Keeping::All(_), Some(kept)) = (keeping, &mut part.rows) {
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

/// The labelled rows of a share.
fn drawn(batch: &Batch<'_>, evidence: &Evidence, unusual: Option<&[bool]>, share: f64, seed: u64) -> Result<Scored> {
    let labels = batch.labels().ok_or_else(|| Error::Classes("the rows have no labels".into()))?;
    let is_drawn = |row: usize| (hash(seed, batch.row_number(row)) >> 11) as f64 * (-53f64).exp2() < share;
    let label = |(row, &class): (usize, &u32)| if is_drawn(row) { class } else { MISSING };
    let labels: Vec<u32> = labels.iter().enumerate().map(label).collect();
    labelled(&batch.clone().classes(&labels)?, evidence.clone(), unusual.map(<[bool]>::to_vec))
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
