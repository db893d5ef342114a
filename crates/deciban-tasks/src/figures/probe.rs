//! Rows that have some columns alone. A generative model integrates the others out, so its evidence
//! is the log density of the columns that are there. A logistic model needs all: the others then
//! have the mean, or the most frequent level, of the rows.

use deciban::data::{Batch, Kind, MISSING, Schema, Sparse};
use deciban::evidence::Evidence;
use deciban::family::AnyDensity;
use deciban::learn::{Classifier, Model};
use deciban::transform::Bins;
use deciban::{Error, Result};

use super::Gathered;

/// What is done about columns that are not shown.
pub fn others(model: &Model, shown: usize) -> &'static str {
    match model.plain() {
        _ if model.schema().columns().len() == shown => "",
        Model::Generative(_) => "other columns integrated out",
        _ => "other columns at their mean",
    }
}

/// The evidence of rows that have `values` in `columns` (values of one row after the other).
pub fn evidence(model: &Model, gathered: &Gathered, columns: &[usize], values: &[f64]) -> Result<Evidence> {
    let schema = model.schema();
    if let Model::Generative(model) = model.plain()
        && model
            .blocks()
            .iter()
            .any(|b| matches!(b.density, AnyDensity::Bernoulli(_)) && is_text(schema, &b.block.columns))
    {
        let message = "absent words count in this model: a row without its text is not one without words";
        return Err(Error::parameter("kind", message));
    }
    let rows = values.len() / columns.len().max(1);
    let offsets = vec![0; rows + 1];
    let mut numbers: Vec<Vec<f64>> = Vec::new();
    let mut codes: Vec<Vec<u32>> = Vec::new();
    for (c, column) in schema.columns().iter().enumerate() {
        let given = columns.iter().position(|j| *j == c);
        let cell = |row: usize, place: usize| values[row * columns.len() + place];
        let filled: Vec<f64> = match given {
            Some(place) => (0..rows).map(|row| cell(row, place)).collect(),
            None if !matches!(model.plain(), Model::Generative(_)) => vec![typical(gathered, c, is_code(column)); rows],
            None => vec![f64::NAN; rows],
        };
        match is_code(column) {
            true => codes.push(filled.iter().map(|x| if x.is_nan() { MISSING } else { *x as u32 }).collect()),
            false => numbers.push(filled),
        }
    }
    let mut batch = Batch::new(rows);
    let (mut numbers, mut codes) = (numbers.iter(), codes.iter());
    for column in schema.columns() {
        batch = match (column.kind, is_code(column)) {
            (Kind::Text, _) => batch.sparse(Sparse::new(&offsets[..], &[] as &[u32], &[] as &[f64])?)?,
            // There are as many of either as columns of the kind.
            (_, true) => batch.codes(codes.next().map_or(&[], Vec::as_slice))?,
            (_, false) => batch.column(numbers.next().map_or(&[][..], Vec::as_slice))?,
        };
    }
    let shown: Vec<&str> = columns.iter().map(|c| schema.columns()[*c].name.as_str()).collect();
    model.evidence(&batch).map_err(|e| {
        Error::parameter(
            "columns",
            format!("the model cannot be looked at in `{}` alone: {}", shown.join("`, `"), e.marked()),
        )
    })
}

fn is_text(schema: &Schema, columns: &[usize]) -> bool {
    columns.iter().any(|c| schema.columns()[*c].kind == Kind::Text)
}

/// Whether the evidence of a column alone is a density or probability of its value: counts that are
/// drawn together, and mere presence, have none.
pub fn has_density(model: &Model, column: usize) -> bool {
    let Model::Generative(model) = model.plain() else { return false };
    let block = model.blocks().iter().find(|b| b.block.columns.contains(&column));
    block.is_some_and(|b| !matches!(b.density, AnyDensity::Multinomial(_) | AnyDensity::Bernoulli(_)))
}

/// The bins into which a model cuts a column of numbers: its evidence is then that of the bin.
pub fn bins(model: &Model, column: usize) -> Option<&Bins> {
    let Model::Generative(model) = model.plain() else { return None };
    model.blocks().iter().find_map(|b| {
        let place = b.block.columns.iter().position(|c| *c == column)?;
        b.block.discretise.as_ref()?.bins(place)
    })
}

/// Whether cells are codes of levels.
pub fn is_code(column: &deciban::data::Column) -> bool {
    !column.is_numeric()
}

/// The mean of a column of numbers, the most frequent code of one of levels.
fn typical(gathered: &Gathered, column: usize, code: bool) -> f64 {
    let (values, weights) = gathered.cells(column, None);
    let there = || values.iter().zip(&weights).filter(|(x, _)| x.is_finite());
    if !code {
        let total: f64 = there().map(|(_, w)| w).sum();
        return there().map(|(x, w)| x * w / total).sum();
    }
    let mut counts = std::collections::BTreeMap::<u32, f64>::new();
    there().for_each(|(x, w)| *counts.entry(*x as u32).or_default() += w);
    let most = counts.iter().fold((0, 0.0), |best, (code, w)| if *w > best.1 { (*code, *w) } else { best });
    f64::from(most.0)
}
