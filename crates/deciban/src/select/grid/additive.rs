//! What is tried of additive models: one, whose decays and pairs folds settle.

use super::{Search, Table};
use crate::data::Kind;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::learn::Additive;
use crate::model::{Candidate, Recipe};

/// Above so many table look-ups a pass (rows × columns × classes), an additive model takes too long.
const MOST_ADDITIVE: f64 = 1e7;

impl Search for Additive {
    fn candidates(_: &str, table: &Table<'_>) -> Result<Vec<Candidate>> {
        match table.count(&[Kind::Text]) {
            0 => Ok(vec![candidate(Additive::default())]),
            _ => Err(Error::parameter("models", "additive takes numbers and categories, no texts")),
        }
    }

    fn takes_too_long(&self, table: &Table<'_>) -> bool {
        table.scores() * table.columns.len() as f64 > MOST_ADDITIVE * table.factor()
    }

    fn settle_by(&self, engine: &dyn Engine, (folds, seed): (usize, u64)) -> Result<Option<Candidate>> {
        let learner = Additive { folds: Some(folds), seed, ..self.clone() };
        learner.settled(engine).map(candidate).map(Some)
    }
}

fn candidate(learner: Additive) -> Candidate {
    let mut name = "additive".to_string();
    let options = [("weight-decay", learner.weight_decay), ("pair-decay", learner.pair_decay)];
    options.iter().for_each(|(option, value)| {
        if let Some(value) = value {
            name += &format!(" --{option} {value}");
        }
    });
    if let Some(pairs) = learner.pairs {
        name += &format!(" --pairs {pairs}");
    }
    Candidate::new(name, Recipe::Additive(learner))
}
