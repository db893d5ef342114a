//! The rows by which a search judges models: all of them, or a sample of a large table. What is found is learned from
//! all rows in any case.

use deciban::Result;
use deciban::engine::{Engine, Memory};
use deciban::learn::Effort;
use deciban::select::{Comparison, Sample};

use crate::input::Input;
use crate::remarks::Remark;

/// Of more rows a search sees a sample, which has as many at most.
const MOST_ROWS: f64 = 1e5;

/// A sample has fewer rows where they have more numbers than this (rows × columns × classes),
const MOST_NUMBERS: f64 = 2e7;
/// but no fewer than these,
const LEAST_ROWS: f64 = 2e4;
/// unless it has more cells, which are kept in memory.
const MOST_CELLS: f64 = 3e7;

/// One fit to all rows may take as long as so many to the sample: a search makes as many and more.
const FITS: f64 = 10.0;

/// The sample by which a search judges models, if it takes one: models that are named, and all effort, take all rows.
pub(crate) fn sample(
    input: &dyn Input,
    models: &[String],
    effort: Effort,
    rows: f64,
    told: &mut Vec<Remark>,
) -> Result<Option<Sample>> {
    if rows <= MOST_ROWS || !models.is_empty() || effort == Effort::Thorough || !input.has_order() {
        return Ok(None);
    }
    let schema = input.schema()?;
    let (columns, classes) = (schema.columns().len().max(1) as f64, schema.classes().len().max(1) as f64);
    let most = (MOST_NUMBERS / (columns * classes)).clamp(LEAST_ROWS, MOST_ROWS).min(MOST_CELLS / columns);
    let sample = Sample::draw(input, most)?;
    told.push(Remark::note(format!(
        "models are judged by {} of {rows} rows, and the best is fitted to all rows: §effort=thorough judges by all rows",
        sample.rows()
    )));
    Ok(Some(sample))
}

/// The rows that a search sees.
pub(crate) struct Searched<'a> {
    all: &'a dyn Engine,
    sample: Option<Memory<'a>>,
    /// How many they are.
    pub rows: f64,
    /// How many rows there are.
    pub all_rows: f64,
}

impl<'a> Searched<'a> {
    /// The rows of a sample, or all of so many.
    pub fn new(input: &'a dyn Input, sample: Option<&'a Sample>, all_rows: f64) -> Result<Self> {
        let watched = |mut memory: Memory<'a>| {
            memory.tell_apart(input.identity());
            match input.watch() {
                Some(watch) => memory.watched_by(watch),
                None => memory,
            }
        };
        let rows = sample.map_or(all_rows, |sample| sample.rows() as f64);
        let sample = sample.map(Sample::engine).transpose()?.map(watched);
        Ok(Searched { all: input, sample, rows, all_rows })
    }

    /// An engine over them.
    pub fn engine(&self) -> &dyn Engine {
        match &self.sample {
            Some(sample) => sample,
            None => self.all,
        }
    }

    /// The rows by which the time is judged that a model takes.
    pub fn timed(&self) -> f64 {
        self.rows.max(self.all_rows / FITS)
    }

    /// What was found by them, to be learned from all rows.
    pub fn found(&self, comparison: Comparison) -> Comparison {
        match self.sample {
            Some(_) => comparison.of_sample(),
            None => comparison,
        }
    }
}
