//! Rows as bytes: every cell coded once, so that the passes of the optimiser are look-ups in tables.

use super::coding::Coding;
use crate::data::{Batch, Rows, Schema};
use crate::engine::Memory;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::pass::Pass;
use crate::statistic::Statistic;

/// The pass that codes rows and keeps them.
#[derive(Clone, Debug)]
pub struct Encode {
    /// The codes.
    pub coding: Coding,
}

/// Labelled rows, coded, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodedRows {
    /// The codes of each column.
    columns: Vec<Vec<u8>>,
    labels: Vec<u32>,
    weights: Vec<f64>,
}

impl CodedRows {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// The codes of each column.
    pub fn columns(&self) -> &[Vec<u8>] {
        &self.columns
    }

    /// The codes of each column, the labels and the weights.
    pub fn into_parts(self) -> (Vec<Vec<u8>>, Vec<u32>, Vec<f64>) {
        (self.columns, self.labels, self.weights)
    }

    /// An engine over the codes; `schema` has the classes and as many columns.
    pub fn engine(&self, schema: &Schema) -> Result<Memory<'_>> {
        let mut batch = Batch::new(self.rows());
        for column in &self.columns {
            batch = batch.column(&column[..])?;
        }
        Memory::new(schema.clone(), batch.classes(&self.labels)?.weights(&self.weights)?)
    }
}

impl Pass for Encode {
    const NAME: &'static str = "encode";
    type Statistic = CodedRows;

    fn empty(&self) -> CodedRows {
        CodedRows { columns: vec![Vec::new(); self.coding.columns().len()], ..CodedRows::default() }
    }

    fn size(&self) -> usize {
        // Rows are kept once, in however many parts.
        0
    }

    fn observe(&self, kept: &mut CodedRows, batch: &Batch<'_>) -> Result<()> {
        let labels = batch.labels_to_learn()?;
        let weight = |row: u32| batch.row_weights().map_or(1.0, |weights| weights[row as usize]);
        let is_known = |row: &u32| labels[*row as usize] != crate::data::MISSING && weight(*row) > 0.0;
        let rows: Vec<u32> = (0..batch.rows() as u32).filter(is_known).collect();
        let mut codes = Vec::new();
        self.coding.read(batch, Rows::Index(&rows), &mut codes)?;
        for (column, codes) in kept.columns.iter_mut().zip(codes.chunks_exact(rows.len().max(1))) {
            column.extend_from_slice(codes);
        }
        kept.labels.extend(rows.iter().map(|&row| labels[row as usize]));
        kept.weights.extend(rows.iter().map(|&row| weight(row)));
        Ok(())
    }
}

impl Statistic for CodedRows {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of merged rows", self.columns.len(), other.columns.len())?;
        self.columns.iter_mut().zip(&other.columns).for_each(|(a, b)| a.extend_from_slice(b));
        self.labels.extend_from_slice(&other.labels);
        self.weights.extend_from_slice(&other.weights);
        Ok(())
    }
}

impl Stored for Encode {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.coding.store(archive, name)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        Ok(Encode { coding: Coding::load(archive, name)? })
    }
}

impl Stored for CodedRows {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let rows = self.rows();
        archive.put_json(name, &(rows, self.columns.len()))?;
        let labels: Vec<f64> = self.labels.iter().map(|&label| f64::from(label)).collect();
        let codes: Vec<f64> = self.columns.iter().flatten().map(|&code| f64::from(code)).collect();
        archive.put(&format!("{name}.labels"), &[rows], &labels)?;
        archive.put(&format!("{name}.weights"), &[rows], &self.weights)?;
        archive.put(&format!("{name}.codes"), &[self.columns.len(), rows], &codes)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (rows, width): (usize, usize) = archive.json(name)?;
        let labels = archive.finite(&format!("{name}.labels"), &[rows])?.iter().map(|&label| label as u32).collect();
        let weights = archive.finite(&format!("{name}.weights"), &[rows])?.to_vec();
        let codes = archive.finite(&format!("{name}.codes"), &[width, rows])?;
        let bytes: Vec<u8> = codes.iter().map(|&code| code as u8).collect();
        let column = |c: usize| bytes[c * rows..(c + 1) * rows].to_vec();
        Ok(CodedRows { columns: (0..width).map(column).collect(), labels, weights })
    }
}
