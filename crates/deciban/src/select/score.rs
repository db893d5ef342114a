//! The scoring pass: every row is scored by every candidate, each fitted without the row's fold.
//!
//! Rows of a fold are copied out of the batch once for all candidates, and a block that several
//! candidates share is scored once. Gaussians that differ in their shrinkage only are scored together.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::fitted::{FoldModels, Scorer};
use super::held_out_sums::{HeldOutSums, Judge, Verdict};
use crate::calibrate::count_cells;
use crate::data::{Batch, Cells, Gathered, MISSING, Rows, Tile};
use crate::error::{Error, Result};
use crate::family::Density;
use crate::folds::Folds;
use crate::learn::{Classifier, FittedBlock};
use crate::pass::Pass;
use crate::posterior::Prior;
use crate::statistic::Statistic;

/// Rows scored at once, where classes and blocks are few.
const TILE: usize = 512;

/// Above so many scores at once (rows × classes × blocks), fewer rows are scored at once.
const MOST_SCORES: usize = 1 << 20;

/// Scores rows by the models that have not seen their fold.
#[derive(Clone, Debug)]
pub struct Score {
    /// Which fold a row is in.
    pub folds: Folds,
    /// The models without each fold.
    pub models: Vec<FoldModels>,
    /// Costs, and classes.
    pub judge: Judge,
    /// A prior in place of that of the other folds.
    pub prior: Option<Prior>,
    /// What to keep of each row.
    pub keep: Keep,
}

/// What is kept of single rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Keep {
    /// Nothing: only sums.
    Nothing,
    /// Losses, errors and, of two classes, LLRs.
    Losses,
    /// The evidence of all classes too.
    Evidence,
}

/// What became of the rows, for each candidate.
#[derive(Clone, Debug)]
pub struct Scored {
    pub(super) folds: usize,
    /// `candidate·folds + fold`.
    pub(super) sums: Vec<HeldOutSums>,
    /// Seconds that scoring each candidate took.
    pub(super) seconds: Vec<f64>,
    /// Why a candidate could not score a row: the first such row.
    pub(super) failures: Vec<Option<String>>,
    pub(super) rows: HeldRows,
}

/// What became of single rows, in the order in which they were scored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldRows {
    /// The true classes.
    pub classes: Vec<u32>,
    /// The weights.
    pub weights: Vec<f64>,
    /// For each candidate −ln p(true class), NaN where there is no posterior.
    pub losses: Vec<Vec<f64>>,
    /// For each candidate whether the row is an error, as 0 or 1.
    pub errors: Vec<Vec<u8>>,
    /// For each candidate, of two classes, the log-likelihood ratio of the second.
    pub llrs: Vec<Vec<f64>>,
    /// The folds, where evidence is kept.
    pub folds: Vec<u32>,
    /// How many cells a row has that are not missing, where evidence is kept.
    pub cells: Vec<u32>,
    /// For each candidate the evidence of all classes, row after row, if it is kept: −∞ for a class that
    /// the other folds do not have.
    pub evidence: Vec<Vec<f64>>,
}

impl HeldRows {
    /// The same rows, with what became of them under these candidates only.
    pub(super) fn only(&self, candidates: &[usize]) -> HeldRows {
        let of = |all: &[Vec<f64>]| candidates.iter().map(|&c| all[c].clone()).collect();
        HeldRows {
            losses: of(&self.losses),
            errors: candidates.iter().map(|&c| self.errors[c].clone()).collect(),
            llrs: of(&self.llrs),
            evidence: of(&self.evidence),
            classes: self.classes.clone(),
            weights: self.weights.clone(),
            folds: self.folds.clone(),
            cells: self.cells.clone(),
        }
    }
}

impl Scored {
    /// The sums of a candidate, all folds together.
    pub fn total(&self, candidate: usize) -> HeldOutSums {
        let mut folds = self.by_fold(candidate).iter();
        // There are at least two folds.
        let mut total = folds.next().expect("a fold").clone();
        folds.for_each(|fold| total.merge(fold));
        total
    }

    /// The sums of a candidate for each fold.
    pub fn by_fold(&self, candidate: usize) -> &[HeldOutSums] {
        &self.sums[candidate * self.folds..(candidate + 1) * self.folds]
    }

    pub(super) fn empty(candidates: usize, folds: usize, judge: &Judge) -> Self {
        let sums = judge.empty();
        let rows = HeldRows {
            losses: vec![Vec::new(); candidates],
            errors: vec![Vec::new(); candidates],
            llrs: vec![Vec::new(); candidates],
            evidence: vec![Vec::new(); candidates],
            ..HeldRows::default()
        };
        let (seconds, failures) = (vec![0.0; candidates], vec![None; candidates]);
        Scored { folds, sums: vec![sums; candidates * folds], seconds, failures, rows }
    }

    /// Remembers why a candidate could not score a row. It is left out afterwards, whatever else it says.
    pub(super) fn fail(&mut self, candidate: usize, error: &Error) {
        self.failures[candidate].get_or_insert_with(|| error.marked());
    }

    /// Why a candidate could not score all rows, if it could not.
    pub fn failure(&self, candidate: usize) -> Option<Error> {
        self.failures[candidate].clone().map(Error::Schema)
    }

    pub(super) fn sums(&mut self, candidate: usize, fold: usize) -> &mut HeldOutSums {
        &mut self.sums[candidate * self.folds + fold]
    }

    /// Keeps what became of a row under a candidate.
    pub(super) fn keep(&mut self, candidate: usize, verdict: Verdict, evidence: &[f64]) {
        self.rows.losses[candidate].push(verdict.loss);
        self.rows.errors[candidate].push(u8::from(verdict.wrong));
        if let [first, second] = evidence {
            self.rows.llrs[candidate].push(second - first);
        }
    }

    /// Keeps the evidence of a row for the classes `present` of so many.
    fn keep_evidence(&mut self, candidate: usize, evidence: &[f64], present: &[usize], classes: usize) {
        let kept = &mut self.rows.evidence[candidate];
        let start = kept.len();
        kept.resize(start + classes, f64::NEG_INFINITY);
        present.iter().zip(evidence).for_each(|(&class, e)| kept[start + class] = *e);
    }

    /// Keeps a row's class and weight.
    pub(super) fn keep_row(&mut self, class: u32, weight: f64) {
        self.rows.classes.push(class);
        self.rows.weights.push(weight);
    }

    /// Seconds that scoring a candidate took, over all threads.
    pub fn seconds(&self, candidate: usize) -> f64 {
        self.seconds[candidate]
    }

    /// Single rows, if they were kept.
    pub fn into_rows(self) -> HeldRows {
        self.rows
    }
}

impl Score {
    fn candidates(&self) -> usize {
        self.models.first().map_or(0, |models| models.candidates.len())
    }

    /// ln of the prior over the classes of a fold's models.
    pub(super) fn log_prior(&self, models: &FoldModels) -> Vec<f64> {
        let probability = |(i, &c): (usize, &usize)| match &self.prior {
            Some(prior) => prior.probabilities()[c],
            None => models.prior.probabilities()[i],
        };
        models.classes.iter().enumerate().map(probability).map(f64::ln).collect()
    }

    /// Scores some rows of one fold.
    fn tile(&self, scored: &mut Scored, fold: usize, x: &Batch<'_>, truth: &[u32], weights: &[f64]) -> Result<()> {
        let models = &self.models[fold];
        let log_prior = self.log_prior(models);
        let width = models.classes.len();
        let mut blocks: Vec<Tile> = vec![Tile::default(); models.blocks.len()];
        let mut block_seconds = vec![0.0; blocks.len()];
        for (members, bank) in &models.banks {
            let started = Instant::now();
            let mut numbers = Tile::default();
            let columns = &models.blocks[members[0]].block.columns;
            let read = Cells::new(x, columns, Rows::Range(0..x.rows())).read_numbers(&mut numbers);
            // Rows with missing cells are scored by each density on its own, which also says what is wrong.
            if read.is_err() || numbers.first_not_finite().is_some() {
                continue;
            }
            let mut out = vec![Tile::default(); bank.members()];
            bank.score(&mut numbers, &mut out);
            let share = started.elapsed().as_secs_f64() / members.len() as f64;
            for (&b, scores) in members.iter().zip(out) {
                (blocks[b], block_seconds[b]) = (scores, share);
            }
        }
        let mut failed: Vec<Option<Error>> = blocks.iter().map(|_| None).collect();
        for (b, FittedBlock { block, density }) in models.blocks.iter().enumerate() {
            if blocks[b].width() > 0 {
                continue;
            }
            let started = Instant::now();
            let scores = &mut blocks[b];
            scores.resize(x.rows(), width);
            scores.data_mut().fill(0.0);
            // What a map of a number does to volumes is the same for all classes.
            let scored = block.with_cells(x, Rows::Range(0..x.rows()), |cells, _| {
                density.add_log_density(cells, &block.names, scores)
            });
            failed[b] = scored.err();
            block_seconds[b] = started.elapsed().as_secs_f64();
        }
        let mut users = vec![0usize; blocks.len()];
        for candidate in &models.candidates {
            if let Scorer::Blocks(own) = candidate {
                own.iter().for_each(|&b| users[b] += 1);
            }
        }
        let mut joint = vec![0.0; width];
        let mut posterior = vec![0.0; self.judge.classes()];
        for (c, candidate) in models.candidates.iter().enumerate() {
            let started = Instant::now();
            let evidence = match candidate {
                Scorer::Model(model) => match model.evidence(x) {
                    Ok(evidence) => evidence.values().to_vec(),
                    Err(error) => {
                        scored.fail(c, &error);
                        vec![0.0; x.rows() * width]
                    }
                },
                Scorer::Blocks(own) => {
                    if let Some(error) = own.iter().find_map(|&b| failed[b].as_ref()) {
                        scored.fail(c, error);
                    }
                    let mut sum = vec![0.0; x.rows() * width];
                    for &b in own {
                        for k in 0..width {
                            let column = blocks[b].column(k).iter();
                            column.enumerate().for_each(|(i, s)| sum[i * width + k] += s);
                        }
                    }
                    sum
                }
            };
            for (i, row) in evidence.chunks_exact(width).enumerate() {
                joint.iter_mut().zip(row).zip(&log_prior).for_each(|((j, e), p)| *j = e + p);
                let truth = truth[i] as usize;
                let sums = scored.sums(c, fold);
                let verdict = self.judge.add(sums, &mut joint, &models.classes, truth, weights[i], &mut posterior);
                if self.keep >= Keep::Losses {
                    scored.keep(c, verdict, row);
                }
                if self.keep == Keep::Evidence {
                    scored.keep_evidence(c, row, &models.classes, self.judge.classes());
                }
            }
            scored.seconds[c] += started.elapsed().as_secs_f64();
            if let Scorer::Blocks(own) = candidate {
                scored.seconds[c] += own.iter().map(|&b| block_seconds[b] / users[b] as f64).sum::<f64>();
            }
        }
        Ok(())
    }
}

impl Pass for Score {
    const NAME: &'static str = "score folds";
    type Statistic = Scored;

    fn empty(&self) -> Scored {
        Scored::empty(self.candidates(), self.models.len(), &self.judge)
    }

    fn size(&self) -> usize {
        self.judge.size() * self.candidates() * self.models.len()
    }

    fn wants_hashes(&self) -> bool {
        self.folds.identity().wants_hashes()
    }

    fn observe(&self, scored: &mut Scored, batch: &Batch<'_>) -> Result<()> {
        let labels = batch.labels().ok_or_else(|| Error::Schema("the rows have no labels to compare with".into()))?;
        let folds = self.folds.of(batch)?;
        let mut gathered = Gathered::default();
        let (mut rows, mut truth, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for fold in 0..self.models.len() {
            rows.clear();
            rows.extend(
                (0..batch.rows() as u32).filter(|&i| folds[i as usize] == fold as u32 && labels[i as usize] != MISSING),
            );
            let models = &self.models[fold];
            let scores = models.classes.len() * models.blocks.len().max(1);
            for tile in rows.chunks((MOST_SCORES / scores).clamp(1, TILE)) {
                gathered.read(batch, tile)?;
                truth.clear();
                truth.extend(tile.iter().map(|&i| labels[i as usize]));
                weights.clear();
                weights.extend(tile.iter().map(|&i| batch.row_weights().map_or(1.0, |w| w[i as usize])));
                self.tile(scored, fold, &gathered.batch()?, &truth, &weights)?;
                if self.keep >= Keep::Losses {
                    truth.iter().zip(&weights).for_each(|(&class, &weight)| scored.keep_row(class, weight));
                }
                if self.keep == Keep::Evidence {
                    scored.rows.folds.resize(scored.rows.classes.len(), fold as u32);
                    let x = gathered.batch()?;
                    let cells = count_cells(&x)?.unwrap_or_else(|| vec![x.width() as u32; x.rows()]);
                    scored.rows.cells.extend(cells);
                }
            }
        }
        Ok(())
    }
}

impl Statistic for Scored {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("candidates of merged scores", self.sums.len(), other.sums.len())?;
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| a.merge(b));
        self.seconds.iter_mut().zip(&other.seconds).for_each(|(a, b)| *a += b);
        for (mine, theirs) in self.failures.iter_mut().zip(&other.failures) {
            if mine.is_none() {
                mine.clone_from(theirs);
            }
        }
        let (mine, theirs) = (&mut self.rows, &other.rows);
        mine.classes.extend(&theirs.classes);
        mine.weights.extend(&theirs.weights);
        mine.losses.iter_mut().zip(&theirs.losses).for_each(|(a, b)| a.extend(b));
        mine.errors.iter_mut().zip(&theirs.errors).for_each(|(a, b)| a.extend(b));
        mine.llrs.iter_mut().zip(&theirs.llrs).for_each(|(a, b)| a.extend(b));
        mine.folds.extend(&theirs.folds);
        mine.cells.extend(&theirs.cells);
        mine.evidence.iter_mut().zip(&theirs.evidence).for_each(|(a, b)| a.extend(b));
        Ok(())
    }
}
