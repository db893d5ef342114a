//! What is tried of least squares.

use super::{Search, Table};
use crate::error::{Error, Result};
use crate::learn::LeastSquares;
use crate::model::{Candidate, Recipe};

impl Search for LeastSquares {
    fn candidates(model: &str, table: &Table<'_>) -> Result<Vec<Candidate>> {
        match table.has_only_numbers() {
            true => Ok(vec![Candidate::new(model, Recipe::LeastSquares(LeastSquares))]),
            false => Err(Error::parameter("models", "least-squares takes numbers alone")),
        }
    }
}
