//! What is tried of k-dependence tables: one model, with the parents and the weight decay of the default.

use super::{Search, Table};
use crate::data::Kind;
use crate::error::{Error, Result};
use crate::learn::KDependence;
use crate::model::{Candidate, Recipe};

/// Above so many cells for each class (rows × columns × classes), a model takes too long.
const MOST_CELLS: f64 = 2.5e7;

impl Search for KDependence {
    fn candidates(model: &str, table: &Table<'_>) -> Result<Vec<Candidate>> {
        match table.count(&[Kind::Text]) {
            0 => Ok(vec![Candidate::new(model, Recipe::KDependence(KDependence::default()))]),
            _ => Err(Error::parameter("models", "k-dependence takes numbers and categories, no texts")),
        }
    }

    fn takes_too_long(&self, table: &Table<'_>) -> bool {
        table.scores() * table.columns.len() as f64 > MOST_CELLS * table.factor()
    }
}
