//! A fitted additive model: a table for each column and each pair, and scores by look-up.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::coding::Coding;
use super::explain::explain;
use super::reader::Reader;
use super::slopes::check_terms;
use super::terms::{Term, places, scores};
use crate::data::Batch;
use crate::error::Result;
use crate::explain::Explanation;
use crate::file::{Archive, Stored};
use crate::learn::discriminative::Discriminative;
use crate::learn::logistic::Link;
use crate::learn::logistic::derivatives::outputs;
use crate::learn::{About, Classifier};
use crate::numerics::log_shares;

/// How the fit went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdditiveFit {
    /// Σ of the row weights.
    pub weight: f64,
    /// E.
    pub weight_decay: f64,
    /// F, if pairs have terms.
    pub pair_decay: Option<f64>,
    /// Σ w ln p(label | row), without the penalty.
    pub log_likelihood: f64,
    /// The same for a model with nothing but an intercept.
    pub null_log_likelihood: f64,
    /// The penalised objective.
    pub objective: f64,
    /// The largest slope by a whitened weight: half its square is about what it could still gain, in nats.
    pub slope: f64,
    /// Iterations of the optimiser.
    pub iterations: usize,
    /// Whether the slope is as small as asked for.
    pub converged: bool,
    /// What cross-validation tried, in this order; empty where nothing was left open.
    pub tried: Vec<Tried>,
}

/// Weight decays that were tried by cross-validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// E.
    pub weight_decay: f64,
    /// F, if pairs had terms.
    pub pair_decay: Option<f64>,
    /// The mean −ln p(label | row) of rows that the model had not seen, in nats.
    pub log_loss: f64,
    /// Its standard error.
    pub error: f64,
}

/// A term as people see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermTable {
    /// The column, or both: `age × sex`.
    pub name: String,
    /// The columns.
    pub columns: Vec<String>,
    /// The root of the mean square of what it says over the training rows and outputs, in nats.
    pub importance: f64,
    /// What its cells are called, a name for each column.
    pub cells: Vec<Vec<String>>,
    /// What each cell says, in nats: for two classes for the second, else for each class.
    pub values: Vec<Vec<f64>>,
}

/// A fitted additive model.
#[derive(Clone, Debug)]
pub struct AdditiveModel {
    about: About,
    reader: Reader,
    terms: Vec<Term>,
    /// `cell·outputs + output`, the intercepts last; 0 on average over the training rows.
    tables: Vec<f64>,
    importance: Vec<f64>,
    fit: AdditiveFit,
}

impl AdditiveModel {
    pub(super) fn new(
        about: About,
        coding: Coding,
        terms: Vec<Term>,
        tables: Vec<f64>,
        importance: Vec<f64>,
        fit: AdditiveFit,
    ) -> Self {
        AdditiveModel { about, reader: Reader { coding, coded: false }, terms, tables, importance, fit }
    }

    pub(super) fn with_tried(mut self, tried: Vec<Tried>) -> Self {
        self.fit.tried = tried;
        self
    }

    /// How the fit went.
    pub fn fit(&self) -> &AdditiveFit {
        &self.fit
    }

    /// How many of its terms are pairs.
    pub fn pairs(&self) -> usize {
        self.terms.iter().filter(|term| matches!(term, Term::Pair(..))).count()
    }

    /// The score of the average row: for two classes that of the second, else one for each class.
    pub fn intercepts(&self) -> &[f64] {
        &self.tables[self.tables.len() - self.outputs()..]
    }

    fn outputs(&self) -> usize {
        outputs(self.schema().classes().len())
    }

    /// The terms: first the columns in their order, then pairs, those first that were found to be worth most.
    pub fn terms(&self) -> Vec<TermTable> {
        let (columns, k) = (self.reader.coding.columns(), self.outputs());
        let starts = places(&self.terms, &self.reader.coding);
        let table = |(t, term): (usize, &Term)| {
            let (places, cells): (Vec<usize>, Vec<Vec<String>>) = match *term {
                Term::Column(c) => {
                    (vec![c], (0..columns[c].count()).map(|code| vec![columns[c].label(code)]).collect())
                }
                Term::Pair(a, b) => {
                    let labels = |c: usize| -> Vec<String> {
                        (0..columns[c].coarse_count()).map(|code| columns[c].coarse_label(code)).collect()
                    };
                    let (first, second) = (labels(a), labels(b));
                    let both = |x: &String| second.iter().map(|y| vec![x.clone(), y.clone()]).collect::<Vec<_>>();
                    (vec![a, b], first.iter().flat_map(both).collect())
                }
            };
            let columns: Vec<String> = places.iter().map(|&c| columns[c].name().to_string()).collect();
            TermTable {
                name: columns.join(" × "),
                columns,
                importance: self.importance[t],
                cells,
                values: self.tables[starts[t] * k..starts[t + 1] * k].chunks_exact(k).map(<[f64]>::to_vec).collect(),
            }
        };
        self.terms.iter().enumerate().map(table).collect()
    }

    /// For one row, the columns of each term, whether one of their cells is missing, and what the term says.
    pub(crate) fn parts(&self, x: &Batch<'_>, row: usize) -> Result<Vec<Part>> {
        let (coding, k) = (&self.reader.coding, self.outputs());
        let mut parts = Vec::new();
        self.reader.each(x, row..row + 1, |codes, _| {
            let mut start = 0;
            for term in &self.terms {
                let place = (start + term.cell(coding, codes, 0)) * k;
                let columns = match *term {
                    Term::Column(c) => vec![c],
                    Term::Pair(a, b) => vec![a, b],
                };
                let is_missing = |c: &usize| usize::from(codes.fine_of(*c)[0]) == coding.columns()[*c].missing();
                let missing = columns.iter().any(is_missing);
                parts.push(Part { columns, missing, says: self.tables[place..place + k].to_vec() });
                start += term.cells(coding);
            }
        })?;
        Ok(parts)
    }
}

/// What a term says of a row.
pub(crate) struct Part {
    pub columns: Vec<usize>,
    pub missing: bool,
    /// For two classes for the second, else for each class.
    pub says: Vec<f64>,
}

impl Discriminative for AdditiveModel {
    const TILE: usize = 1024;

    fn about(&self) -> &About {
        &self.about
    }

    fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    fn learned_from(&self) -> f64 {
        self.fit.weight
    }

    fn log_posteriors(&self, x: &Batch<'_>, rows: Range<usize>, out: &mut [f64]) -> Result<()> {
        let (classes, k, first) = (self.schema().classes().len(), self.outputs(), rows.start);
        let mut z = Vec::new();
        self.reader.each(x, rows, |codes, range| {
            z.resize(range.len() * k, 0.0);
            scores(&self.reader.coding, &self.terms, codes, &self.tables, k, &mut z);
            let out = &mut out[(range.start - first) * classes..(range.end - first) * classes];
            for (row, z) in out.chunks_exact_mut(classes).zip(z.chunks_exact(k)) {
                if let [z] = z {
                    row.copy_from_slice(&Link::Logit.log_probabilities(*z));
                    continue;
                }
                row.copy_from_slice(z);
                log_shares(row);
            }
        })
    }

    fn explain_row(&self, x: &Batch<'_>, row: usize) -> Result<Explanation> {
        explain(self, x, row)
    }
}

impl Stored for AdditiveModel {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.about.store(archive, name)?;
        archive.put_json(&format!("{name}.terms"), &self.terms)?;
        archive.put_json(&format!("{name}.fit"), &self.fit)?;
        self.reader.coding.store(archive, &format!("{name}.coding"))?;
        archive.put(&format!("{name}.tables"), &[self.tables.len()], &self.tables)?;
        archive.put(&format!("{name}.importance"), &[self.importance.len()], &self.importance)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let about = About::load(archive, name)?;
        let (width, classes) = (about.schema().columns().len(), about.schema().classes().len());
        let terms: Vec<Term> = archive.json(&format!("{name}.terms"))?;
        let coding = Coding::load(archive, &format!("{name}.coding"))?;
        if classes < 2 || coding.columns().len() != width || check_terms(&terms, width).is_none() {
            return Err(archive.damaged("the terms do not fit the schema"));
        }
        // There is a place behind the last term.
        let cells = places(&terms, &coding)[terms.len()];
        Ok(AdditiveModel {
            tables: archive.finite(&format!("{name}.tables"), &[(cells + 1) * outputs(classes)])?.to_vec(),
            importance: archive.finite(&format!("{name}.importance"), &[terms.len()])?.to_vec(),
            fit: archive.json(&format!("{name}.fit"))?,
            reader: Reader { coding, coded: false },
            about,
            terms,
        })
    }
}
