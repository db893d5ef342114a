//! What is tried of noisy-OR models.

use super::{Search, Table};
use crate::data::{Column, Kind};
use crate::error::{Error, Result};
use crate::learn::NoisyOr;
use crate::model::{Candidate, Recipe};

impl Search for NoisyOr {
    fn candidates(_: &str, table: &Table<'_>) -> Result<Vec<Candidate>> {
        if table.classes != 2 {
            return Err(Error::parameter("models", "noisy-or is for two classes"));
        }
        // Numbers that nobody called counts, and texts, are causes only if somebody asks for it.
        match table.named || table.columns.iter().all(is_cause) {
            true => Ok([0.1, 1.0, 10.0].map(candidate).into()),
            false => Err(Error::parameter("models", "noisy-or is tried for flags and counts: give §flag or §count")),
        }
    }
}

/// Whether a column is there or not, or so many times.
fn is_cause(column: &Column) -> bool {
    match column.kind {
        Kind::Flag | Kind::Count => true,
        Kind::Category => column.levels.len() <= 2,
        Kind::Number | Kind::Text => false,
    }
}

fn candidate(pseudo_count: f64) -> Candidate {
    let recipe = Recipe::NoisyOr(NoisyOr { pseudo_count, ..NoisyOr::default() });
    Candidate::new(format!("noisy-or --pseudo-count {pseudo_count}"), recipe)
}
