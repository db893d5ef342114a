//! A fitted k-dependence model: chains of tables, their weights, and scores by walks along the chains.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::bytes;
use super::chain::{Chain, Root};
use super::explain::explain;
use crate::data::Batch;
use crate::error::Result;
use crate::explain::Explanation;
use crate::file::{Archive, Stored};
use crate::learn::About;
use crate::learn::additive::coding::Coding;
use crate::learn::additive::reader::Reader;
use crate::learn::discriminative::Discriminative;
use crate::numerics::{lanes, log_shares};

/// How the fit went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KDependenceFit {
    /// Σ of the row weights.
    pub weight: f64,
    /// k, the most parents of a column.
    pub parents: usize,
    /// E.
    pub weight_decay: f64,
    /// The mean −ln p(label | row), by tables without the row, in nats.
    pub log_loss: f64,
    /// The same for a model with nothing but the shares of the classes.
    pub null_log_loss: f64,
    /// The objective.
    pub objective: f64,
    /// The largest component of its gradient.
    pub gradient: f64,
    /// Iterations of the optimiser.
    pub iterations: usize,
    /// Whether the gradient is as small as asked for.
    pub converged: bool,
}

/// A chain as people see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainTable {
    /// The column.
    pub name: String,
    /// Its parents, the closest first.
    pub parents: Vec<String>,
    /// The cells of each of its tables.
    pub cells: Vec<usize>,
    /// How many rows the table before is worth, for each table.
    pub concentrations: Vec<f64>,
    /// The weight of each table.
    pub weights: Vec<f64>,
}

/// A fitted k-dependence model.
#[derive(Clone, Debug)]
pub struct KDependenceModel {
    about: About,
    reader: Reader,
    root: Root,
    chains: Vec<Chain>,
    /// The weights of the tables, chain after chain.
    weights: Vec<f64>,
    /// One for each class, 0 for the first.
    offsets: Vec<f64>,
    fit: KDependenceFit,
}

impl KDependenceModel {
    pub(super) fn new(
        about: About,
        coding: Coding,
        root: Root,
        chains: Vec<Chain>,
        [weights, offsets]: [Vec<f64>; 2],
        fit: KDependenceFit,
    ) -> Self {
        KDependenceModel { about, reader: Reader { coding, coded: false }, root, chains, weights, offsets, fit }
    }

    /// How the fit went.
    pub fn fit(&self) -> &KDependenceFit {
        &self.fit
    }

    /// The score of a row of which nothing is known, for each class.
    pub fn offsets(&self) -> &[f64] {
        &self.offsets
    }

    /// The chains, the columns that tell most first; those that are grown for the class come behind the others.
    pub fn chains(&self) -> Vec<ChainTable> {
        let name = |&c: &usize| self.reader.coding.columns()[c].name().to_string();
        let mut rest = &self.weights[..];
        let chain = |chain: &Chain| {
            // There is a weight for each table.
            let (weights, others) = rest.split_at(chain.levels.len());
            rest = others;
            ChainTable {
                name: name(&chain.columns[0]),
                parents: chain.columns[1..].iter().map(name).collect(),
                cells: chain.levels.iter().map(|level| level.cells()).collect(),
                concentrations: chain.levels.iter().map(|level| level.concentration).collect(),
                weights: weights.to_vec(),
            }
        };
        self.chains.iter().map(chain).collect()
    }

    /// Calls `body` for each chain and row, tile by tile, with what the chain says for each class. Chain after chain, so
    /// that its tables stay in the cache.
    fn says(
        &self,
        x: &Batch<'_>,
        rows: std::ops::Range<usize>,
        mut body: impl FnMut(usize, &Chain, &[f64]),
    ) -> Result<()> {
        let [mut root, mut p, mut last, mut says] = [0; 4].map(|_| vec![0.0; self.offsets.len()]);
        self.root.shares(None, &mut root);
        let logs: Vec<f64> = root.iter().map(|p| lanes::ln(*p)).collect();
        self.reader.each(x, rows, |codes, range| {
            let mut weights = &self.weights[..];
            for chain in &self.chains {
                for (i, row) in range.clone().enumerate() {
                    p.copy_from_slice(&root);
                    last.copy_from_slice(&logs);
                    says.fill(0.0);
                    let code = |column: usize| codes.coarse_of(column)[i];
                    chain.walk(code, None, &mut p, |m, p| {
                        for ((says, p), last) in says.iter_mut().zip(p).zip(&mut last) {
                            let log = lanes::ln(*p);
                            *says += weights[m] * (log - std::mem::replace(last, log));
                        }
                    });
                    body(row, chain, &says);
                }
                weights = &weights[chain.levels.len()..];
            }
        })
    }

    /// For one row, each column with a chain and what its chains say for each class.
    pub(super) fn parts(&self, x: &Batch<'_>, row: usize) -> Result<Vec<(usize, Vec<f64>)>> {
        let mut parts: Vec<(usize, Vec<f64>)> = Vec::new();
        self.says(x, row..row + 1, |_, chain, says| {
            match parts.iter_mut().find(|(column, _)| *column == chain.columns[0]) {
                Some((_, sum)) => sum.iter_mut().zip(says).for_each(|(sum, says)| *sum += says),
                None => parts.push((chain.columns[0], says.to_vec())),
            }
        })?;
        Ok(parts)
    }
}

impl Discriminative for KDependenceModel {
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
        let (classes, first) = (self.offsets.len(), rows.start);
        out.chunks_exact_mut(classes).for_each(|row| row.copy_from_slice(&self.offsets));
        self.says(x, rows, |row, _, says| {
            let own = &mut out[(row - first) * classes..(row - first + 1) * classes];
            own.iter_mut().zip(says).for_each(|(z, says)| *z += says);
        })?;
        out.chunks_exact_mut(classes).for_each(log_shares);
        Ok(())
    }

    fn explain_row(&self, x: &Batch<'_>, row: usize) -> Result<Explanation> {
        explain(self, x, row)
    }
}

impl Stored for KDependenceModel {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.about.store(archive, name)?;
        archive.put_json(&format!("{name}.fit"), &self.fit)?;
        self.reader.coding.store(archive, &format!("{name}.coding"))?;
        archive.put(&format!("{name}.classes"), &[self.root.weights.len()], &self.root.weights)?;
        archive.put(&format!("{name}.weights"), &[self.weights.len()], &self.weights)?;
        archive.put(&format!("{name}.offsets"), &[self.offsets.len()], &self.offsets)?;
        bytes::store(&self.chains, archive, &format!("{name}.chains"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let about = About::load(archive, name)?;
        let (width, classes) = (about.schema().columns().len(), about.schema().classes().len());
        let coding = Coding::load(archive, &format!("{name}.coding"))?;
        if classes < 2 || coding.columns().len() != width {
            return Err(archive.damaged("the codes do not fit the schema"));
        }
        let weights = archive.finite(&format!("{name}.classes"), &[classes])?.to_vec();
        if weights.iter().any(|w| *w < 0.0) {
            return Err(archive.damaged("a class has a negative weight"));
        }
        let chains = bytes::load(archive, &format!("{name}.chains"), width, classes)?;
        let tables = chains.iter().map(|chain| chain.levels.len()).sum();
        Ok(KDependenceModel {
            root: Root { weights },
            weights: archive.finite(&format!("{name}.weights"), &[tables])?.to_vec(),
            offsets: archive.finite(&format!("{name}.offsets"), &[classes])?.to_vec(),
            fit: archive.json(&format!("{name}.fit"))?,
            reader: Reader { coding, coded: false },
            about,
            chains,
        })
    }
}
