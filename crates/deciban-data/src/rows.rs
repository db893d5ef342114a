//! [`Rows`]: a table in memory that a model is asked about, however it came.

use std::borrow::Cow;

use deciban::data::{Batch, Column, MISSING, Schema, UNSEEN};
use deciban::{Error, Result};
use serde::Serialize;
use serde_json::Value;

use crate::block::Block;
use crate::cells::Cells as Parsed;
use crate::code::Names;
use crate::memory::Cells;
use crate::options::Options;
use crate::plan::Plan;
use crate::row_reader::RowReader;
use crate::words::{Texts, Words};

/// Rows with the columns of a [`Schema`], by name, owned.
///
/// They come from JSON, CSV or Arrow in memory, or from files; the same cell gives the same number or code
/// whichever way it comes. Who reads often prepares a [`RowReader`] once, and makes rows from that.
///
/// ```
/// use deciban::data::{Column, Kind, Schema};
/// use deciban_data::Rows;
/// let levels = vec!["short".to_string(), "long".to_string()];
/// let fur = Column { name: "fur".into(), kind: Kind::Category, levels };
/// let schema = Schema::new(vec![fur, Column::number("kg")], "cat", vec!["siamese".into(), "persian".into()])?;
///
/// let rows = Rows::from_json(&schema, r#"[{"kg": 5, "fur": "long"}, {"fur": "curly"}]"#)?;
/// assert_eq!(rows.len(), 2);
/// assert_eq!(rows.batch()?.width(), 2);
/// assert_eq!((rows.unseen()[0].column.as_str(), rows.unseen()[0].example.as_str()), ("fur", "curly"));
///
/// let error = Rows::from_json(&schema, r#"[{"kg": 5}, {"kilo": 4}]"#).unwrap_err();
/// assert!(error.to_string().starts_with("column `kilo`, row 2: the model has no such column"));
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Debug)]
pub struct Rows {
    rows: usize,
    columns: Vec<Cells>,
    labels: Option<Vec<u32>>,
    weights: Option<Vec<f64>>,
    kept: Vec<Texts>,
    unseen: Vec<Unseen>,
    unknown: Vec<(String, u64)>,
    warnings: Vec<String>,
}

/// Cells of a column that hold a level which the model has not seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// The column's name.
    pub column: String,
    /// How many cells hold such a level.
    pub cells: u64,
    /// The first of these levels.
    pub example: String,
}

impl Rows {
    /// One object or a list of objects, whose keys are the columns, in any order. A key that is absent and a
    /// `null` are missing cells; a key that the schema does not have is an error, unless it is the target.
    pub fn from_json(schema: &Schema, text: &str) -> Result<Self> {
        RowReader::new(schema, Options::default())?.json(text)
    }

    /// The same for JSON that has been parsed.
    pub fn from_json_value(schema: &Schema, value: &Value) -> Result<Self> {
        RowReader::new(schema, Options::default())?.json_value(value)
    }

    /// CSV with a header. Columns that the schema does not have are left out; one that is lacking is an error.
    pub fn from_csv(schema: &Schema, bytes: &[u8]) -> Result<Self> {
        RowReader::new(schema, Options::default())?.csv(bytes)
    }

    /// An Arrow IPC stream or file.
    pub fn from_arrow(schema: &Schema, bytes: &[u8]) -> Result<Self> {
        RowReader::new(schema, Options::default())?.arrow(bytes)
    }

    /// Arrow record batches.
    pub fn from_arrow_batches(schema: &Schema, batches: &[arrow_array::RecordBatch]) -> Result<Self> {
        RowReader::new(schema, Options::default())?.arrow_batches(batches)
    }

    /// Files of any format.
    pub fn from_files(schema: &Schema, paths: &[String]) -> Result<Self> {
        RowReader::new(schema, Options::default())?.files(paths)
    }

    pub(crate) fn none(plan: &Plan, labelled: bool) -> Self {
        let cells = |slot: &crate::plan::Slot| match (&slot.tokens, slot.is_code) {
            (Some(_), _) => Cells::Words(Words::none()),
            (None, true) => Cells::Codes(Vec::new()),
            (None, false) => Cells::Numbers(Vec::new()),
        };
        Rows {
            rows: 0,
            columns: plan.slots[..plan.features.len()].iter().map(cells).collect(),
            labels: labelled.then(Vec::new),
            weights: plan.weight.map(|_| Vec::new()),
            kept: plan.kept.iter().map(|_| Texts::default()).collect(),
            unseen: Vec::new(),
            unknown: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds the rows of a block whose codes are those of the schema.
    pub(crate) fn add(&mut self, block: &mut Block, plan: &Plan) {
        let rows = block.parsed.rows;
        let numbers = |block: &Block, slot: usize| (0..rows).map(|row| block.parsed.number(slot, row)).collect();
        if let (Some(labels), Some(codes)) = (&mut self.labels, block.labels(plan)) {
            labels.extend_from_slice(codes);
        }
        if let (Some(all), Some(slot)) = (&mut self.weights, plan.weight) {
            let weights: Vec<f64> = numbers(block, slot);
            all.extend(weights);
        }
        for (all, slot) in self.kept.iter_mut().zip(&plan.kept) {
            if let Parsed::Kept(texts) = &block.parsed.cells[*slot] {
                all.append(texts);
            }
        }
        for (slot, all) in self.columns.iter_mut().enumerate() {
            match (all, &mut block.parsed.cells[slot]) {
                (Cells::Numbers(all), Parsed::Numbers(own)) => join(all, own),
                (Cells::Numbers(all), Parsed::Bytes { .. }) => {
                    let own: Vec<f64> = numbers(block, slot);
                    all.extend(own);
                }
                (Cells::Codes(all), Parsed::Codes { codes, .. }) => join(all, codes),
                (Cells::Words(all), Parsed::Words(words)) => match self.rows {
                    0 => *all = std::mem::take(words),
                    _ => all.append(words),
                },
                _ => {} // A plan makes cells of its kind.
            }
        }
        self.rows += rows;
    }

    /// What was found on the way.
    pub(crate) fn finish(self, names: &Names, features: &[Column]) -> Self {
        let (unseen, warnings) = (names.unseen(features), names.warnings(features));
        Rows { unseen, unknown: names.unknown.clone(), warnings, ..self }
    }

    /// The first row over again, with each of `values` in `column`: numbers, or codes of levels, NaN being missing. A
    /// text cannot be varied, and stays as it is. This is what a map of two columns is made of.
    ///
    /// ```
    /// use deciban::data::Schema;
    /// use deciban_data::Rows;
    /// let schema = Schema::numbers(&["height", "weight"], "sex", &["f", "m"])?;
    /// let case = Rows::from_json(&schema, r#"{"weight": 80.5, "height": 180}"#)?;
    /// let map = case.varied(&[(0, &[150.0, 150.0, 190.0]), (1, &[50.0, 90.0, f64::NAN])])?;
    /// assert_eq!(map.len(), 3);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn varied(&self, columns: &[(usize, &[f64])]) -> Result<Rows> {
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        columns.iter().try_for_each(|(_, values)| Error::check_shape("values of a column", rows, values.len()))?;
        if self.rows == 0 {
            return Err(Error::Usage("there is no row to vary".into()));
        }
        let code = |x: &f64| if x.is_nan() { MISSING } else { *x as u32 };
        let cells = |(place, cells): (usize, &Cells)| {
            let given = columns.iter().find(|(column, _)| *column == place).map(|(_, values)| *values);
            match (cells, given) {
                (Cells::Numbers(_), Some(values)) => Cells::Numbers(values.to_vec()),
                (Cells::Numbers(numbers), None) => Cells::Numbers(vec![numbers[0]; rows]),
                (Cells::Codes(_), Some(values)) => Cells::Codes(values.iter().map(code).collect()),
                (Cells::Codes(codes), None) => Cells::Codes(vec![codes[0]; rows]),
                (Cells::Words(words), _) => Cells::Words(words.repeated(rows)),
            }
        };
        Ok(Rows {
            rows,
            columns: self.columns.iter().enumerate().map(cells).collect(),
            labels: None,
            weights: None,
            kept: Vec::new(),
            unseen: self.unseen.clone(),
            unknown: Vec::new(),
            warnings: self.warnings.clone(),
        })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows as the library sees them, with the columns in the order of the schema.
    pub fn batch(&self) -> Result<Batch<'_>> {
        let mut batch = Batch::new(self.rows);
        for cells in &self.columns {
            batch = match cells {
                Cells::Numbers(numbers) => batch.column(&numbers[..])?,
                Cells::Codes(codes) => batch.codes(codes)?,
                Cells::Words(words) => batch.sparse(words.sparse()?)?,
            };
        }
        if let Some(labels) = &self.labels {
            batch = batch.classes(labels)?;
        }
        match &self.weights {
            Some(weights) => batch.weights(weights),
            None => Ok(batch),
        }
    }

    /// The class of each row, if the reader was told where it stands; [`MISSING`] where a row has none.
    pub fn labels(&self) -> Option<&[u32]> {
        self.labels.as_deref()
    }

    /// The cell of a row in the `place`th column of [`Options::keep`], as it is written; empty where it is missing.
    pub fn kept(&self, place: usize, row: usize) -> Cow<'_, str> {
        String::from_utf8_lossy(self.kept[place].get(row))
    }

    /// The classes that the schema does not have and how many rows have each, where these are
    /// [allowed](Options::unknown_classes).
    pub fn unknown_classes(&self) -> &[(String, u64)] {
        &self.unknown
    }

    /// The columns with levels that the schema does not have.
    pub fn unseen(&self) -> &[Unseen] {
        &self.unseen
    }

    /// What is odd about the rows, though they were read: texts that are not UTF-8.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Appends without a copy where nothing is there yet.
fn join<T>(all: &mut Vec<T>, own: &mut Vec<T>) {
    match all.is_empty() {
        true => std::mem::swap(all, own),
        false => all.append(own),
    }
}

/// How many of a block's cells hold levels that the map does not know.
pub(crate) fn count_unseen(codes: &[u32], map: &[u32]) -> u64 {
    codes.iter().filter(|code| **code != MISSING && map[**code as usize] == UNSEEN).count() as u64
}
