//! A parsed block that knows its place in the whole input: ready to become a [`Batch`].

use std::borrow::Cow;
use std::sync::Arc;

use deciban::data::{Batch, MISSING, MISSING_HASH, level_hash};
use deciban::{Error, Result};

use crate::cells::{Cells, Parsed};
use crate::dictionary::Dictionary;
use crate::layout::Layout;
use crate::plan::Plan;

/// Some rows of the input.
pub(crate) struct Block {
    /// Which block of the input this is.
    pub index: usize,
    /// The number of its first row in the whole input, from 0.
    pub first_row: u64,
    /// The line of its first row in its file, from 1.
    pub first_line: u64,
    pub layout: Arc<Layout>,
    pub parsed: Parsed,
    /// For slots with codes: from the block's own codes to those of the whole input.
    pub maps: Vec<(usize, Vec<u32>)>,
    /// Class codes from another file.
    pub labels: Option<Vec<u32>>,
    /// For slots with codes or words: what each cell holds, if a pass wants to know.
    pub hashes: Vec<(usize, Vec<u64>)>,
}

impl Block {
    /// Hashes the cells of levels and texts; before their codes are [replaced](Block::recode).
    pub fn hash(&mut self, plan: &Plan) {
        for (slot, cells) in self.parsed.cells[..plan.features.len()].iter_mut().enumerate() {
            let hashes = match cells {
                Cells::Codes { codes, levels } => {
                    let level = |text| if plan.missing.has(text) { MISSING_HASH } else { level_hash(text) };
                    let levels: Vec<u64> = levels.iter().map(level).collect();
                    codes.iter().map(|code| levels.get(*code as usize).copied().unwrap_or(MISSING_HASH)).collect()
                }
                Cells::Words(words) => std::mem::take(&mut words.hashes),
                Cells::Numbers(_) | Cells::Bytes { .. } | Cells::Texts(_) | Cells::Kept(_) => continue,
            };
            self.hashes.push((slot, hashes));
        }
    }

    /// Replaces the block's own codes by those of the whole input.
    pub fn recode(&mut self) {
        for (slot, map) in self.maps.drain(..) {
            match &mut self.parsed.cells[slot] {
                Cells::Codes { codes, levels } => {
                    codes.iter_mut().filter(|code| **code != MISSING).for_each(|code| *code = map[*code as usize]);
                    *levels = Dictionary::default();
                }
                Cells::Words(words) => words.settle(&map),
                Cells::Numbers(_) | Cells::Bytes { .. } | Cells::Texts(_) | Cells::Kept(_) => {}
            }
        }
    }

    /// How much memory it takes, about.
    pub fn bytes(&self) -> usize {
        let labels = self.labels.as_ref().map_or(0, |labels| 4 * labels.capacity());
        let hashes: usize = self.hashes.iter().map(|(_, hashes)| 8 * hashes.capacity()).sum();
        size_of::<Block>() + labels + hashes + self.parsed.bytes()
    }

    /// The rows as the library sees them; [`recode`](Block::recode) comes first.
    fn batch(&self, plan: &Plan) -> Result<Batch<'_>> {
        let mut batch = Batch::new(self.parsed.rows).first_row(self.first_row);
        for cells in &self.parsed.cells[..plan.features.len()] {
            batch = match cells {
                Cells::Numbers(numbers) => batch.column(&numbers[..])?,
                Cells::Codes { codes, .. } => batch.codes(codes)?,
                Cells::Words(words) => batch.sparse(words.sparse()?)?,
                Cells::Texts(_) | Cells::Kept(_) => {
                    return Err(Error::Schema("texts whose words were not counted".into()));
                }
                Cells::Bytes { start, stride } => batch.strided(&self.parsed.matrix[..], *start, *stride as isize)?,
            };
        }
        for (slot, hashes) in &self.hashes {
            batch = batch.hashes(*slot, hashes)?;
        }
        if let Some(labels) = self.labels(plan) {
            batch = batch.classes(labels)?;
        }
        if let Some(Cells::Codes { codes, .. }) = plan.fold.map(|slot| &self.parsed.cells[slot]) {
            batch = batch.folds(codes)?;
        }
        Ok(batch)
    }

    /// The class of each row.
    pub fn labels(&self, plan: &Plan) -> Option<&[u32]> {
        match (&self.labels, plan.class.map(|slot| &self.parsed.cells[slot])) {
            (Some(labels), _) => Some(labels),
            (None, Some(Cells::Codes { codes, .. })) => Some(codes),
            _ => None,
        }
    }

    /// The weights, which the caller keeps while it uses the batch.
    fn weights(&self, plan: &Plan) -> Option<Cow<'_, [f64]>> {
        match &self.parsed.cells[plan.weight?] {
            Cells::Numbers(numbers) => Some(Cow::Borrowed(numbers)),
            Cells::Bytes { start, stride } => {
                let bytes = self.parsed.matrix[*start..].iter().step_by(*stride);
                Some(Cow::Owned(bytes.map(|byte| f64::from(*byte)).collect()))
            }
            Cells::Codes { .. } | Cells::Texts(_) | Cells::Kept(_) | Cells::Words(_) => None, // A weight is a number.
        }
    }

    /// Runs `use_batch` on the rows; its errors name the file and the line.
    pub fn with_batch<T>(&self, plan: &Plan, use_batch: impl FnOnce(&Batch<'_>) -> Result<T>) -> Result<T> {
        let weights = self.weights(plan);
        let batch = self.batch(plan).and_then(|batch| match &weights {
            Some(weights) => batch.weights(weights),
            None => Ok(batch),
        });
        batch.and_then(|batch| use_batch(&batch)).map_err(|e| self.locate(e, plan))
    }

    /// A cell of a column that is handed through, as it is written; empty where it is missing.
    pub fn kept(&self, slot: usize, row: usize) -> Cow<'_, str> {
        match &self.parsed.cells[slot] {
            Cells::Kept(texts) => String::from_utf8_lossy(texts.get(row)),
            _ => Cow::Borrowed(""), // The plan keeps it.
        }
    }

    /// The file of a row.
    pub fn file(&self, row: usize) -> &str {
        self.parsed.files.get(row).unwrap_or(&self.layout.file)
    }

    /// The error with file and line in place of a row number.
    fn locate(&self, error: Error, plan: &Plan) -> Error {
        let (row, column, message) = match &error {
            Error::Missing { column, row, remedy } => (*row, column.clone(), format!("the cell is missing; {remedy}")),
            Error::Infinite { column, row } => {
                (*row, column.clone(), "the number is infinite; mark it as missing or remove the row".to_string())
            }
            Error::Cell { column, row, message } => (*row, column.clone(), message.clone()),
            Error::Weight { row, weight } => {
                let column = plan.weight.map(|slot| plan.slots[slot].name.clone()).unwrap_or_default();
                let message = match weight.is_nan() {
                    true => "the weight is missing: fill it in or remove the row".to_string(),
                    false => format!("the weight {weight} is not a finite number of at least 0"),
                };
                (*row, column, message)
            }
            _ => return error,
        };
        match row.checked_sub(self.first_row + 1) {
            Some(row) if row < self.parsed.rows as u64 => self.refuse(Some(row as usize), Some(&column), message),
            _ => error, // The row of somebody else's count.
        }
    }

    /// The error of a row.
    pub fn refuse(&self, row: Option<usize>, column: Option<&str>, message: String) -> Error {
        let place = |row| (self.first_row + row as u64, self.first_line + self.parsed.line(row));
        self.layout.refuse(row.map(place), column, message)
    }
}
