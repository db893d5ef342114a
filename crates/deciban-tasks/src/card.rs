//! [`Card`]: what a client must know of a model to ask it: its columns with what was seen in them, and its classes.

use deciban::data::{Kind, Profile, ShownKind, Written};
use deciban::learn::Classifier;
use deciban::model::{Asks, Model};
use deciban_data::date_text;
use serde::Serialize;
use serde_json::{Value, json};

use crate::describe;
use crate::numbers;

/// What a model takes and answers.
#[derive(Clone, Debug, Serialize)]
pub struct Card {
    /// What the classes are of.
    pub target: String,
    /// The classes, in the order of all lists.
    pub classes: Vec<String>,
    /// How common they are, if a request does not say it.
    pub prior: Vec<f64>,
    /// How common they were in the training data.
    pub empirical_prior: Vec<f64>,
    /// The columns, in their order.
    pub columns: Vec<ColumnCard>,
    /// How many rows the model has learned from.
    pub rows: f64,
    /// The model in a few words.
    pub summary: String,
    /// Whether it has densities of rows: it can say how usual a row is, and draw rows.
    pub generative: bool,
    /// Who describes rows: `model` itself, a `member` of a fused model, or the `companion` of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub described_by: Option<String>,
    /// A row that is typical of the training data, as far as that is known.
    pub typical: serde_json::Map<String, Value>,
}

/// What a column takes, and what was seen in it.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnCard {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ShownKind,
    /// The levels of a category; the words of a text are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// The least and the greatest number, or date, that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[Value; 2]>,
    /// The share of cells that were missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<f64>,
    /// All that is known of its cells in the training data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

impl Card {
    /// Of a model.
    pub fn new(model: &Model) -> Self {
        let (schema, profiles) = (model.schema(), model.about().profiles());
        let columns = schema.columns().iter().enumerate().map(|(place, column)| {
            let profile = profiles.get(place).filter(|profile| profile.cells > 0);
            let is_date = *schema.spelling().written(&column.name) == Written::Date;
            let shown = |x: f64| shown(x, is_date);
            ColumnCard {
                name: column.name.clone(),
                kind: schema.spelling().shown_kind(column),
                levels: if column.kind == Kind::Text { Vec::new() } else { column.levels.clone() },
                range: profile.filter(|_| column.is_numeric()).map(|p| [shown(p.least), shown(p.greatest)]),
                missing: profiles.get(place).map(Profile::missing),
                profile: profile.cloned(),
            }
        });
        let columns: Vec<ColumnCard> = columns.collect();
        let typical = schema.columns().iter().zip(&columns).filter_map(|(column, card)| {
            let profile = card.profile.as_ref()?;
            let is_date = card.kind == ShownKind::Date;
            let cell = match column.kind {
                Kind::Text => return None,
                _ if column.is_numeric() => shown(*profile.quantiles.get(MEDIAN)?, is_date),
                _ => json!(profile.frequent.first()?.0),
            };
            Some((column.name.clone(), cell))
        });
        Card {
            target: schema.target().into(),
            classes: schema.classes().to_vec(),
            prior: model.prior().probabilities().to_vec(),
            empirical_prior: model.empirical().probabilities().to_vec(),
            typical: typical.collect(),
            columns,
            rows: model.learned_from(),
            summary: describe::in_short(model),
            generative: model.described(Asks::Rows).is_ok(),
            described_by: model.described(Asks::Rows).ok().map(|described| described.by.to_string()),
        }
    }
}

/// The place of the median among the quantiles of a profile.
const MEDIAN: usize = 4;

/// A number, or the date that it means.
fn shown(x: f64, is_date: bool) -> Value {
    match date_text(x).filter(|_| is_date) {
        Some(date) => json!(date),
        None => numbers::number(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifth_quantile_is_the_median() {
        assert_eq!(Profile::QUANTILES[MEDIAN], 0.5);
    }
}
