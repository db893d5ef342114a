//! Missing cells filled by a model, as cells of the table they stand in.

use deciban::data::{Batch, Column, Kind, Schema, Value, Written};
use deciban::impute::{How, impute};
use deciban::learn::Classifier;
use deciban::model::{Asks, Model};
use deciban::posterior::Prior;
use deciban::{Error, Result};
use deciban_data::date_text;
use serde_json::json;

use crate::numbers;
use crate::table::exact;

/// How cells are filled.
#[derive(Clone, Debug)]
pub struct Imputing<'a> {
    /// The model.
    pub model: &'a Model,
    /// The prior of the classes of rows that have no label.
    pub prior: Prior,
    /// By the mean and the most probable level, or by a draw.
    pub how: How,
}

/// A cell that was missing.
#[derive(Clone, Debug, PartialEq)]
pub struct FilledCell {
    /// Its row in the batch.
    pub row: usize,
    /// Its column in the schema.
    pub column: usize,
    /// What it holds now: a number, or the code of a level.
    pub value: Value,
    /// The same as it is written in a table: a number, a date, or the name of a level.
    pub text: String,
}

impl FilledCell {
    /// The cell for programs: a number, or the text of a date or level.
    pub fn json(&self, schema: &Schema) -> serde_json::Value {
        match self.value {
            Value::Number(x) if !is_date(schema, self.column) => numbers::number(x),
            _ => json!(self.text),
        }
    }
}

impl Imputing<'_> {
    /// The missing cells of some rows, row after row. What the model cannot fill stays missing: cells of a column that
    /// had none when it was fitted.
    pub fn fill(&self, batch: &Batch<'_>) -> Result<Vec<FilledCell>> {
        let schema = self.model.schema();
        let cells = impute(self.model, batch, &self.prior, self.how)?.into_iter();
        Ok(cells
            .filter_map(|cell| {
                let text = written(&cell.value, cell.column, schema)?;
                Some(FilledCell { row: cell.row, column: cell.column, value: cell.value, text })
            })
            .collect())
    }
}

/// Refuses models that cannot fill cells, and those without a column whose cells can be missing.
pub fn fills(model: &Model) -> Result<()> {
    model.described(Asks::Cells)?;
    match model.schema().columns().iter().all(|column| column.kind == Kind::Text) {
        true => Err(Error::Schema(
            "the model has columns of texts alone, and an empty text is not a missing one: there is nothing to fill"
                .into(),
        )),
        false => Ok(()),
    }
}

fn is_date(schema: &Schema, column: usize) -> bool {
    *schema.spelling().written(&schema.columns()[column].name) == Written::Date
}

/// A value as it is written in a cell; `None` for what has no name.
fn written(value: &Value, place: usize, schema: &Schema) -> Option<String> {
    let column: &Column = &schema.columns()[place];
    match value {
        Value::Number(x) if x.is_nan() => None,
        Value::Number(x) => {
            let day = if is_date(schema, place) { date_text(x.round()) } else { None };
            let decimal = schema.spelling().decimal;
            Some(day.unwrap_or_else(|| match decimal {
                '.' => exact(*x),
                decimal => exact(*x).replace('.', &decimal.to_string()),
            }))
        }
        Value::Level(code) => match column.levels.is_empty() {
            true => Some(code.to_string()),
            false => column.levels.get(*code as usize).cloned(),
        },
        Value::Counts(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_written_as_the_table_has_them() {
        let levels = ["red".to_string(), "green".into()].to_vec();
        let colour = Column { name: "colour".into(), kind: Kind::Category, levels };
        let columns = vec![Column::number("born"), Column::number("height"), colour];
        let mut schema = Schema::new(columns, "class", vec!["a".into(), "b".into()]).unwrap();
        let mut spelling = schema.spelling().clone();
        spelling.decimal = ',';
        spelling.columns.insert("born".into(), Written::Date);
        schema = schema.with_spelling(spelling).unwrap();
        assert_eq!(written(&Value::Number(19844.3), 0, &schema).as_deref(), Some("2024-05-01"));
        assert_eq!(written(&Value::Number(1.75), 1, &schema).as_deref(), Some("1,75"));
        assert_eq!(written(&Value::Level(1), 2, &schema).as_deref(), Some("green"));
        assert_eq!(
            (written(&Value::Level(7), 2, &schema), written(&Value::Number(f64::NAN), 1, &schema)),
            (None, None)
        );
    }
}
