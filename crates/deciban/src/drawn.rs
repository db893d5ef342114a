//! Rows as they were drawn from a model, column by column.

use crate::data::{Batch, MISSING, Sparse, Value};
use crate::error::Result;

/// Rows of cells.
pub struct Drawn {
    rows: usize,
    columns: Vec<Column>,
}

enum Column {
    Numbers(Vec<f64>),
    Codes(Vec<u32>),
    Counts { offsets: Vec<usize>, words: Vec<u32>, counts: Vec<f64> },
}

impl Drawn {
    pub fn new(rows: Vec<Vec<Value>>, width: usize) -> Self {
        let column = |j: usize| match rows.first().map(|row| &row[j]) {
            Some(Value::Level(_)) => {
                let code = |row: &Vec<Value>| if let Value::Level(code) = row[j] { code } else { MISSING };
                Column::Codes(rows.iter().map(code).collect())
            }
            Some(Value::Counts(_)) => {
                let (mut offsets, mut words, mut counts) = (vec![0], Vec::new(), Vec::new());
                for row in &rows {
                    if let Value::Counts(drawn) = &row[j] {
                        words.extend(drawn.iter().map(|(word, _)| *word));
                        counts.extend(drawn.iter().map(|(_, count)| *count));
                    }
                    offsets.push(words.len());
                }
                Column::Counts { offsets, words, counts }
            }
            _ => {
                let number = |row: &Vec<Value>| if let Value::Number(x) = row[j] { x } else { f64::NAN };
                Column::Numbers(rows.iter().map(number).collect())
            }
        };
        Drawn { columns: (0..width).map(column).collect(), rows: rows.len() }
    }

    /// Runs `body` on the rows without the cells of columns that are `missing`; an empty list leaves all cells.
    /// A text is never missing.
    pub fn with_batch<R>(&self, missing: &[bool], body: impl FnOnce(&Batch<'_>) -> Result<R>) -> Result<R> {
        let (numbers, codes) = match missing.contains(&true) {
            true => (vec![f64::NAN; self.rows], vec![MISSING; self.rows]),
            false => (Vec::new(), Vec::new()),
        };
        let mut batch = Batch::new(self.rows);
        for (j, column) in self.columns.iter().enumerate() {
            let is_missing = missing.get(j).copied().unwrap_or(false);
            batch = match column {
                Column::Numbers(x) => batch.column(if is_missing { &numbers[..] } else { &x[..] })?,
                Column::Codes(x) => batch.codes(if is_missing { &codes } else { x })?,
                Column::Counts { offsets, words, counts } => {
                    batch.sparse(Sparse::new(&offsets[..], &words[..], &counts[..])?)?
                }
            };
        }
        body(&batch)
    }
}
