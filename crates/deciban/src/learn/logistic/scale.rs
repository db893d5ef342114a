//! The first pass of a linear model: how many rows each class and each level of a category has, and mean and
//! variance of each number over all of them.

use crate::data::{Batch, Cells, Column, Kind, UNSEEN};
use crate::error::Result;
use crate::family::Family;
use crate::family::gaussian::{Gaussian, GaussianStatistic, Structure};
use crate::file::{Archive, Stored};
use crate::pass::Pass;
use crate::statistic::{ColumnMoments, Statistic};

/// A sweep over the labels, the numbers and the categories.
#[derive(Clone, Debug)]
pub struct Scale {
    numbers: Vec<usize>,
    names: Vec<String>,
    categories: Vec<usize>,
}

impl Scale {
    /// Of all columns that are numbers or categories.
    pub fn new(columns: &[Column]) -> Self {
        let numbers: Vec<usize> = (0..columns.len()).filter(|&c| columns[c].is_numeric()).collect();
        let names = numbers.iter().map(|&c| columns[c].name.clone()).collect();
        let is_category = |column: &Column| !column.is_numeric() && column.kind != Kind::Text;
        let categories = (0..columns.len()).filter(|&c| is_category(&columns[c])).collect();
        Scale { numbers, names, categories }
    }

    fn family(&self) -> Gaussian {
        Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() }
    }
}

impl Stored for Scale {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(&self.numbers, &self.names, &self.categories))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (numbers, names, categories): (Vec<usize>, Vec<String>, _) = archive.json(name)?;
        match numbers.len() == names.len() {
            true => Ok(Scale { numbers, names, categories }),
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
    /// The weight of each level so far, for each category.
    pub levels: Vec<Vec<f64>>,
    numbers: GaussianStatistic,
}

/// Adds sums to others, which may be shorter.
fn add(sums: &mut Vec<f64>, others: &[f64]) {
    sums.resize(sums.len().max(others.len()), 0.0);
    sums.iter_mut().zip(others).for_each(|(a, b)| *a += b);
}

impl Scales {
    /// Mean and scatter of each number.
    pub fn numbers(&self) -> &ColumnMoments {
        match &self.numbers {
            GaussianStatistic::Columns(moments) => moments,
            _ => unreachable!("a diagonal needs no more"),
        }
    }
}

impl Statistic for Scales {
    fn merge(&mut self, other: &Self) -> Result<()> {
        self.numbers.merge(&other.numbers)?;
        self.rows += other.rows;
        add(&mut self.weights, &other.weights);
        self.levels.iter_mut().zip(&other.levels).for_each(|(a, b)| add(a, b));
        Ok(())
    }
}

impl Stored for Scales {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.rows, self.weights.len(), &self.levels))?;
        archive.put(&format!("{name}.weights"), &[self.weights.len()], &self.weights)?;
        self.numbers.store(archive, &format!("{name}.numbers"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (rows, classes, levels): (f64, usize, _) = archive.json(name)?;
        let weights = archive.finite(&format!("{name}.weights"), &[classes])?.to_vec();
        Ok(Scales { rows, weights, levels, numbers: GaussianStatistic::load(archive, &format!("{name}.numbers"))? })
    }
}

impl Pass for Scale {
    const NAME: &'static str = "scale";
    type Statistic = Scales;

    fn empty(&self) -> Scales {
        let levels = vec![Vec::new(); self.categories.len()];
        Scales { rows: 0.0, weights: Vec::new(), levels, numbers: self.family().empty(self.numbers.len()) }
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
        let mut codes = Vec::new();
        for (column, levels) in self.categories.iter().zip(&mut scales.levels) {
            Cells::new(batch, &[*column], rows.clone()).read_codes(0, &mut codes)?;
            for (i, &code) in codes.iter().enumerate().filter(|(_, code)| **code < UNSEEN) {
                if code as usize >= levels.len() {
                    levels.resize(code as usize + 1, 0.0);
                }
                levels[code as usize] += batch.row_weights().map_or(1.0, |weights| weights[rows.get(i)]);
            }
        }
        if self.numbers.is_empty() {
            return Ok(());
        }
        let cells = Cells::new(batch, &self.numbers, rows);
        self.family().observe(&mut scales.numbers, &cells, &self.names)
    }
}
