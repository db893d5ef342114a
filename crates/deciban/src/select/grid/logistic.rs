//! What is tried of linear models.

use super::{Search, Table};
use crate::data::{Column, Kind, Profile};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::learn::{Link, Logistic, Named};
use crate::model::Candidate;

/// Above so many scores (rows × classes), linear models take too long: they visit them hundreds of times.
const MOST_LINEAR: f64 = 2e7;

/// Above so many weights (words × classes), a search does not try a linear model of texts.
const MOST_WEIGHTS: usize = 200_000;

const DECAYS: [f64; 5] = [0.01, 0.1, 1.0, 10.0, 100.0];

impl Search for Logistic {
    /// They seldom differ from logistic models.
    const ON_DEMAND: &'static [&'static str] = &["probit", "cloglog"];

    fn candidates(model: &str, table: &Table<'_>) -> Result<Vec<Candidate>> {
        let link = match model {
            "logistic" => Link::Logit,
            _ if table.classes != 2 => {
                return Err(Error::parameter("models", format!("{model} is for two classes")));
            }
            "probit" => Link::Probit,
            _ => Link::Cloglog,
        };
        Ok(DECAYS.map(|decay| linear(link, decay)).into())
    }

    fn quick(table: &Table<'_>) -> Result<Vec<Candidate>> {
        let is_slow = why_slow(table.columns, table.profiles, table.classes).is_some();
        Ok(if is_slow { Vec::new() } else { vec![linear(Link::Logit, 1.0)] })
    }

    fn takes_too_long(&self, table: &Table<'_>) -> bool {
        table.scores() > MOST_LINEAR * table.factor()
    }
}

fn linear(link: Link, weight_decay: f64) -> Candidate {
    let learner = Logistic { link, weight_decay, ..Logistic::default() };
    Candidate::logistic(format!("{} --weight-decay {weight_decay}", learner.model()), learner)
}

/// The kinds of models that [`quick`](super::quick) leaves out though they fit the columns, and why.
pub fn left_out(engine: &dyn Engine) -> Result<Vec<(&'static str, String)>> {
    let (schema, profiles) = (engine.schema()?, engine.profiles()?);
    Ok(why_slow(schema.columns(), &profiles, schema.classes().len()).map(|why| ("logistic", why)).into_iter().collect())
}

/// Why a linear model of texts takes long, if it does and others may take its place: where numbers are below 0, all
/// other models of texts refuse them.
fn why_slow(columns: &[Column], profiles: &[Profile], classes: usize) -> Option<String> {
    let texts = || columns.iter().filter(|column| column.kind == Kind::Text);
    if columns.iter().zip(profiles).any(|(column, profile)| column.kind == Kind::Text && profile.least < 0.0) {
        return None;
    }
    let words: usize = texts().map(|column| column.levels.len()).sum();
    let names: Vec<String> = texts().map(|column| format!("`{}`", column.name)).collect();
    // Words that are numbered by hashes are not counted: there may be any number of them.
    let hashed = !names.is_empty() && words == 0;
    (hashed || words * classes > MOST_WEIGHTS).then(|| {
        format!(
            "a linear model of the {words} words of {} and {classes} classes takes long to learn: give §model=logistic \
             to try it",
            names.join(", ")
        )
    })
}
