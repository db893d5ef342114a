//! The pass of the optimiser: −log-likelihood of the labels at given tables, its slope by every cell, and, if asked
//! for, the diagonal of its Hessian.
//!
//! A row adds w(pₖ − [label = k]) to the slope of output k in each of its cells, and w pₖ(1 − pₖ) to the diagonal.

use super::reader::Reader;
use super::terms::{Term, add_rows, places, scores};
use crate::data::{Batch, Tile};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::learn::logistic::Link;
use crate::learn::logistic::derivatives::{Derivatives, outputs, softmax, softmax_residuals};
use crate::numerics::Matrix;
use crate::pass::Pass;

/// A sweep at the tables that it carries.
#[derive(Clone, Debug)]
pub struct Slopes {
    /// How rows become codes.
    pub reader: Reader,
    /// The terms.
    pub terms: Vec<Term>,
    /// The number of classes.
    pub classes: usize,
    /// The tables of the terms, `cell·outputs + output`, the intercepts last.
    pub tables: Vec<f64>,
    /// Whether to compute the diagonal of the Hessian.
    pub curvature: bool,
}

impl Pass for Slopes {
    const NAME: &'static str = "slopes";
    type Statistic = Derivatives;

    fn empty(&self) -> Derivatives {
        let n = self.tables.len();
        Derivatives {
            weight: 0.0,
            loss: 0.0,
            gradient: vec![0.0; n],
            curved: 0.0,
            hessian: Matrix::zeros(if self.curvature { n } else { 0 }, usize::from(self.curvature)),
            margin: f64::INFINITY,
        }
    }

    fn size(&self) -> usize {
        8 * self.tables.len() * (1 + usize::from(self.curvature))
    }

    fn observe(&self, sums: &mut Derivatives, batch: &Batch<'_>) -> Result<()> {
        let (coding, outputs) = (&self.reader.coding, outputs(self.classes));
        let (mut rows, mut z, mut curvature) = (Vec::new(), Tile::default(), Vec::new());
        self.reader.tiles(batch, |codes, labels, weights| {
            let n = labels.len();
            rows.resize(n * outputs, 0.0);
            scores(coding, &self.terms, codes, &self.tables, outputs, &mut rows);
            z.resize(n, outputs);
            (0..outputs).for_each(|k| turn(z.column_mut(k), &rows, outputs, k));
            curvature.resize(n, 0.0);
            let (loss, margin) = match outputs {
                1 => Link::Logit.residuals(z.data_mut(), labels, weights, &mut curvature),
                _ => softmax(&mut z, labels, weights),
            };
            sums.weight += weights.iter().sum::<f64>();
            sums.loss += loss;
            sums.margin = sums.margin.min(margin);
            if self.curvature {
                for k in 0..outputs {
                    let p = z.column(k).iter().zip(weights).zip(&curvature);
                    let of_row = p.map(|((p, w), c)| if outputs == 1 { *c } else { w * p * (1.0 - p) });
                    of_row.enumerate().for_each(|(i, c)| rows[i * outputs + k] = c);
                }
                add_rows(coding, &self.terms, codes, &rows, outputs, sums.hessian.data_mut());
            }
            if outputs > 1 {
                softmax_residuals(&mut z, labels, weights);
            }
            for k in 0..outputs {
                z.column(k).iter().enumerate().for_each(|(i, r)| rows[i * outputs + k] = *r);
            }
            add_rows(coding, &self.terms, codes, &rows, outputs, &mut sums.gradient);
        })?;
        match sums.loss.is_finite() {
            true => Ok(()),
            false => Err(Error::parameter("weights", "the log-likelihood overflows: give smaller weights")),
        }
    }
}

impl Slopes {
    /// w pₖ(1 − pₖ) of each row of a batch and output.
    pub fn curvatures(&self, batch: &Batch<'_>) -> Result<Vec<f64>> {
        let outputs = outputs(self.classes);
        let (mut all, mut rows, mut z, mut curvature) = (Vec::new(), Vec::new(), Tile::default(), Vec::new());
        self.reader.tiles(batch, |codes, labels, weights| {
            let n = labels.len();
            rows.resize(n * outputs, 0.0);
            scores(&self.reader.coding, &self.terms, codes, &self.tables, outputs, &mut rows);
            z.resize(n, outputs);
            (0..outputs).for_each(|k| turn(z.column_mut(k), &rows, outputs, k));
            curvature.resize(n, 0.0);
            match outputs {
                1 => Link::Logit.residuals(z.data_mut(), labels, weights, &mut curvature),
                _ => softmax(&mut z, labels, weights),
            };
            for (i, w) in weights.iter().enumerate() {
                match outputs {
                    1 => all.push(curvature[i]),
                    _ => all.extend((0..outputs).map(|k| w * z.column(k)[i] * (1.0 - z.column(k)[i]))),
                }
            }
        })?;
        Ok(all)
    }
}

/// Output `k` of rows of `outputs` values.
fn turn(column: &mut [f64], rows: &[f64], outputs: usize, k: usize) {
    column.iter_mut().zip(rows.chunks_exact(outputs)).for_each(|(z, row)| *z = row[k]);
}

impl Stored for Slopes {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.terms"), &(&self.terms, self.classes, self.curvature))?;
        archive.put(&format!("{name}.tables"), &[self.tables.len()], &self.tables)?;
        self.reader.store(archive, name)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (terms, classes, curvature): (Vec<Term>, usize, bool) = archive.json(&format!("{name}.terms"))?;
        let reader = Reader::load(archive, name)?;
        check_terms(&terms, reader.coding.columns().len()).ok_or_else(|| archive.damaged("a term has no column"))?;
        // There is a place behind the last term.
        let cells = places(&terms, &reader.coding)[terms.len()];
        let tables = archive.finite(&format!("{name}.tables"), &[(cells + 1) * outputs(classes)])?.to_vec();
        Ok(Slopes { reader, terms, classes, tables, curvature })
    }
}

/// Nothing if a term has a column beyond `width`.
pub fn check_terms(terms: &[Term], width: usize) -> Option<()> {
    let is_there = |term: &Term| match *term {
        Term::Column(c) => c < width,
        Term::Pair(a, b) => a.max(b) < width,
    };
    terms.iter().all(is_there).then_some(())
}
