//! What is tried of k-dependence tables: one model, with the parents and the weight decay of the default.

use super::{Search, Table};
use crate::data::Kind;
use crate::error::{Error, Result};
use crate::learn::KDependence;
use crate::model::{Candidate, Recipe};

/// Above so many cells for each class (rows × columns × classes), a model takes too long.
const MOST_CELLS: f64 = 2.5e7;
/// Of more columns than these a model takes a part, and the optimiser many steps.
const MOST_COLUMNS: f64 = 120.0;

impl Search for KDependence {
    fn candidates(model: &str, table: &Table<'_>) -> Result<Vec<Candidate>> {
        match table.count(&[Kind::Text]) {
            0 => Ok(vec![Candidate::new(model, Recipe::KDependence(KDependence::default()))]),
            _ => Err(Error::parameter("models", "k-dependence takes numbers and categories, no texts")),
        }
    }

    fn takes_too_long(&self, table: &Table<'_>) -> bool {
        let columns = table.columns.len() as f64;
        columns > MOST_COLUMNS * table.factor() || table.scores() * columns > MOST_CELLS * table.factor()
    }
}
