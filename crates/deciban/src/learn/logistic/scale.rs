//! The first pass of a linear model: how many rows each class has, and mean and variance of each number
//! over all of them.

use crate::data::{Batch, Cells, Column};
use crate::error::Result;
use crate::family::Family;
use crate::family::gaussian::{Gaussian, GaussianStatistic, Structure};
use crate::file::{Archive, Stored};
use crate::pass::Pass;
use crate::statistic::{ColumnMoments, Statistic};

/// A sweep over the labels and the numbers.
#[derive(Clone, Debug)]
pub struct Scale {
    numbers: Vec<usize>,
    names: Vec<String>,
}

impl Scale {
    /// Of all columns that are numbers.
    pub fn new(columns: &[Column]) -> Self {
        let numbers: Vec<usize> = (0..columns.len()).filter(|&c| columns[c].is_numeric()).collect();
        let names = numbers.iter().map(|&c| columns[c].name.clone()).collect();
        Scale { numbers, names }
    }

    fn family(&self) -> Gaussian {
        Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() }
    }
}

impl Stored for Scale {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(&self.numbers, &self.names))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (numbers, names): (Vec<usize>, Vec<String>) = archive.json(name)?;
        match numbers.len() == names.len() {
            true => Ok(Scale { numbers, names }),
            false => Err(archive.damaged(&format!("`{name}` does not name its columns"))),
        }
    }
}

/// Labelled rows, counted and weighed by class, and the moments of their numbers.
#[derive(Clone, Debug)]
pub struct Scales {
    /// The number of rows.
    pub rows: f64,
    /// The weight of each class so far.
    pub weights: Vec<f64>,
    numbers: GaussianStatistic,
}

impl Scales {
    /// Mean and scatter of each number.
    pub fn numbers(self) -> ColumnMoments {
        match self.numbers {
            GaussianStatistic::Columns(moments) => moments,
            GaussianStatistic::Full(_) => unreachable!("a diagonal needs no more"),
        }
    }
}

impl Statistic for Scales {
    fn merge(&mut self, other: &Self) -> Result<()> {
        self.numbers.merge(&other.numbers)?;
        self.rows += other.rows;
        self.weights.resize(self.weights.len().max(other.weights.len()), 0.0);
        self.weights.iter_mut().zip(&other.weights).for_each(|(a, b)| *a += b);
        Ok(())
    }

    fn remove(&mut self, other: &Self) -> Result<()> {
        self.numbers.remove(&other.numbers)?;
        self.rows -= other.rows;
        self.weights.iter_mut().zip(&other.weights).for_each(|(a, b)| *a -= b);
        Ok(())
    }
}

impl Stored for Scales {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.rows, self.weights.len()))?;
        archive.put(&format!("{name}.weights"), &[self.weights.len()], &self.weights)?;
        self.numbers.store(archive, &format!("{name}.numbers"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (rows, classes): (f64, usize) = archive.json(name)?;
        let weights = archive.finite(&format!("{name}.weights"), &[classes])?.to_vec();
        Ok(Scales { rows, weights, numbers: GaussianStatistic::load(archive, &format!("{name}.numbers"))? })
    }
}

impl Pass for Scale {
    const NAME: &'static str = "scale";
    type Statistic = Scales;

    fn empty(&self) -> Scales {
        Scales { rows: 0.0, weights: Vec::new(), numbers: self.family().empty(self.numbers.len()) }
    }

    fn size(&self) -> usize {
        self.family().size(self.numbers.len())
    }

    fn observe(&self, scales: &mut Scales, batch: &Batch<'_>) -> Result<()> {
        let labelled = batch.labelled()?;
        let rows = labelled.rows();
        for (i, &class) in labelled.classes().iter().enumerate() {
            if class as usize >= scales.weights.len() {
                scales.weights.resize(class as usize + 1, 0.0);
            }
            scales.weights[class as usize] += batch.row_weights().map_or(1.0, |weights| weights[rows.get(i)]);
        }
        scales.rows += rows.len() as f64;
        if self.numbers.is_empty() {
            return Ok(());
        }
        let cells = Cells::new(batch, &self.numbers, rows);
        self.family().observe(&mut scales.numbers, &cells, &self.names)
    }
}
