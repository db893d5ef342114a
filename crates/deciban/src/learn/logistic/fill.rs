//! What stands for the missing cells of a linear model: what is expected of them, whatever the class.
//!
//! A missing number is its mean given the other numbers of its row, under one Gaussian for all rows ([`Conditional`]).
//! A missing category has no level if some were missing at the fit: then the weights of the levels, against the
//! intercept, have learned what a missing cell says. If none was, it is a share of each level, as frequent as they are.
//! The same fill is used at fit, in cross-validation and at prediction.

use std::sync::Arc;

use super::gather::Gather;
use super::scale::Scales;
use crate::data::{Column, Contents, Tile};
use crate::engine::{Engine, Run};
use crate::error::Result;
use crate::family::gaussian::Conditional;
use crate::file::{Archive, Stored};

/// The fill of the features of a model; nothing by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fill {
    numbers: Option<Arc<Conditional>>,
    /// The share of each level, for each category; none for categories that had missing cells, or have many levels.
    levels: Vec<Vec<f64>>,
}

/// More numbers than this have no Gaussian: a missing one is its column's mean.
const MOST_NUMBERS: usize = 256;
/// Of more rows than this, and 20 for each column, some are drawn.
const ENOUGH_ROWS: usize = 8192;
/// A missing category of more levels is no level.
const MOST_LEVELS: usize = 1000;

impl Fill {
    /// Learns the fill of `columns` from what the first pass has found.
    pub fn learn(engine: &dyn Engine, columns: &[Column], scales: &Scales) -> Result<Self> {
        let all: f64 = scales.weights.iter().sum();
        let share = |weights: &Vec<f64>| {
            let known: f64 = weights.iter().sum();
            // Sums in another order differ in their last digits.
            match known > 0.0 && known >= (1.0 - 1e-12) * all && weights.len() <= MOST_LEVELS {
                true => weights.iter().map(|w| w / known).collect(),
                false => Vec::new(),
            }
        };
        let levels = scales.levels.iter().map(share).collect();
        let numbers: Vec<usize> = (0..columns.len()).filter(|&c| columns[c].is_numeric()).collect();
        if numbers.is_empty() || numbers.len() > MOST_NUMBERS {
            return Ok(Fill { numbers: None, levels });
        }
        let enough = ENOUGH_ROWS.max(20 * numbers.len()) as f64;
        let every = (scales.rows / enough).ceil().max(1.0) as u64;
        let contents = if every < 2 { Contents::default() } else { Contents::of(&engine.schema()?) };
        let gathered = engine.run(&Gather { numbers, every, contents })?;
        let numbers = Conditional::learn(&gathered.rows, &gathered.weights, scales.numbers().mean())?;
        Ok(Fill { numbers: numbers.map(Arc::new), levels })
    }

    /// The same for numbers s(x − c).
    pub fn mapped(self, centre: &[f64], scale: &[f64]) -> Self {
        let numbers = self.numbers.map(|numbers| Arc::new(Arc::unwrap_or_clone(numbers).mapped(centre, scale)));
        Fill { numbers, ..self }
    }

    /// Whether a missing number depends on the others of its row.
    pub fn has_numbers(&self) -> bool {
        self.numbers.is_some()
    }

    /// How many categories are shares of their levels where they are missing.
    pub fn categories(&self) -> usize {
        self.levels.iter().filter(|shares| !shares.is_empty()).count()
    }

    /// Fills missing numbers.
    pub fn numbers(&self, x: &mut Tile) -> Result<()> {
        match &self.numbers {
            Some(numbers) => numbers.fill(x),
            None => {
                x.data_mut().iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
                Ok(())
            }
        }
    }

    /// The levels that stand for a missing cell of a category, and their shares.
    pub fn shares(&self, category: usize) -> impl Iterator<Item = (usize, f64)> {
        let shares = self.levels.get(category).map_or(&[][..], |shares| shares);
        shares.iter().copied().enumerate().filter(|(_, share)| *share > 0.0)
    }

    /// Whether it is a fill for so many numbers and for categories of so many levels.
    pub fn fits(&self, numbers: usize, levels: &[usize]) -> bool {
        self.numbers.as_ref().is_none_or(|own| own.width() == numbers)
            && self.levels.len() <= levels.len()
            && self.levels.iter().zip(levels).all(|(own, levels)| own.len() <= *levels)
    }
}

impl Stored for Fill {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        if let Some(numbers) = &self.numbers {
            numbers.store(archive, &format!("{name}.numbers"))?;
        }
        match self.levels.is_empty() {
            true => Ok(()),
            false => archive.put_json(&format!("{name}.levels"), &self.levels),
        }
    }

    /// Older files have none.
    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let numbers = format!("{name}.numbers");
        let numbers = match archive.json_if_any::<usize>(&numbers)? {
            Some(_) => Some(Arc::new(Conditional::load(archive, &numbers)?)),
            None => None,
        };
        let levels: Vec<Vec<f64>> = archive.json_if_any(&format!("{name}.levels"))?.unwrap_or_default();
        match levels.iter().flatten().all(|share| share.is_finite() && *share >= 0.0) {
            true => Ok(Fill { numbers, levels }),
            false => Err(archive.damaged(&format!("`{name}.levels` has a share that is negative"))),
        }
    }
}
