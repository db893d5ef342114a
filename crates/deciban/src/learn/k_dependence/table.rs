//! The training rows as codes, column after column, in the coarse codes of `additive/coding.rs`: MDL bins, and
//! some of equal weight where MDL finds few cuts, and the 30 most frequent levels. A missing cell has a code of
//! its own.

use crate::learn::additive::coding::Coding;
use crate::learn::additive::rows::CodedRows;

/// Labelled rows.
pub struct CodedTable {
    /// The codes of each column.
    pub columns: Vec<Vec<u8>>,
    /// How many codes each column has.
    pub codes: Vec<usize>,
    pub labels: Vec<u32>,
    pub weights: Vec<f64>,
    /// The number of classes.
    pub classes: usize,
}

impl CodedTable {
    /// The rows with the coarse codes of `coding`.
    pub fn new(rows: CodedRows, coding: &Coding, classes: usize) -> Self {
        let (mut columns, labels, weights) = rows.into_parts();
        for (codes, column) in columns.iter_mut().zip(coding.columns()) {
            codes.iter_mut().for_each(|code| *code = column.coarse()[usize::from(*code)]);
        }
        let codes = coding.columns().iter().map(|column| column.coarse_count()).collect();
        CodedTable { columns, codes, labels, weights, classes }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// The weight of all rows.
    pub fn weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// The weight of each class.
    pub fn class_weights(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.classes];
        self.labels.iter().zip(&self.weights).for_each(|(&label, w)| sums[label as usize] += w);
        sums
    }
}
