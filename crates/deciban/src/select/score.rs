//! The scoring pass: every row is scored by every candidate, each fitted without the row's fold.
//!
//! Rows of a fold are copied out of the batch once for all candidates, and a block that several
//! candidates share is scored once. Gaussians that differ in their shrinkage only are scored together.

use std::time::Instant;

use super::Folds;
use super::fitted::{FoldModels, Scorer};
use super::sums::{Judge, Sums, Verdict};
use crate::data::{Batch, Cells, Gathered, MISSING, Rows, Tile};
use crate::error::{Error, Result};
use crate::family::{AnyDensity, Density};
use crate::file::{Archive, Stored};
use crate::learn::{Block, Classifier, FittedBlock, LogisticModel};
use crate::pass::Pass;
use crate::posterior::Prior;
use crate::statistic::Statistic;

/// Rows scored at once.
const TILE: usize = 512;

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
    /// Whether to keep what became of each row.
    pub keep: bool,
}

/// What became of the rows, for each candidate.
#[derive(Clone, Debug)]
pub struct Scored {
    folds: usize,
    /// `candidate·folds + fold`.
    sums: Vec<Sums>,
    /// Seconds that scoring each candidate took.
    seconds: Vec<f64>,
    rows: HeldRows,
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
}

impl Scored {
    /// The sums of a candidate, all folds together.
    pub fn total(&self, candidate: usize) -> Sums {
        let mut folds = self.by_fold(candidate).iter();
        // There are at least two folds.
        let mut total = folds.next().expect("a fold").clone();
        folds.for_each(|fold| total.merge(fold));
        total
    }

    /// The sums of a candidate for each fold.
    pub fn by_fold(&self, candidate: usize) -> &[Sums] {
        &self.sums[candidate * self.folds..(candidate + 1) * self.folds]
    }

    pub(super) fn empty(candidates: usize, folds: usize, judge: &Judge) -> Self {
        let sums = Sums::empty(judge.classes(), judge.costs.actions().len());
        let rows = HeldRows {
            losses: vec![Vec::new(); candidates],
            errors: vec![Vec::new(); candidates],
            llrs: vec![Vec::new(); candidates],
            ..HeldRows::default()
        };
        Scored { folds, sums: vec![sums; candidates * folds], seconds: vec![0.0; candidates], rows }
    }

    pub(super) fn sums(&mut self, candidate: usize, fold: usize) -> &mut Sums {
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

    fn log_prior(&self, models: &FoldModels) -> Vec<f64> {
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
            Cells::new(x, columns, Rows::Range(0..x.rows())).read_numbers(&mut numbers)?;
            // Rows with missing cells are scored by each density on its own.
            if numbers.first_not_finite().is_some() {
                continue;
            }
            let mut out = vec![Tile::default(); bank.members()];
            bank.score(&mut numbers, &mut out);
            let share = started.elapsed().as_secs_f64() / members.len() as f64;
            for (&b, scores) in members.iter().zip(out) {
                (blocks[b], block_seconds[b]) = (scores, share);
            }
        }
        for (b, FittedBlock { block, density }) in models.blocks.iter().enumerate() {
            if blocks[b].width() > 0 {
                continue;
            }
            let started = Instant::now();
            let scores = &mut blocks[b];
            scores.resize(x.rows(), width);
            scores.data_mut().fill(0.0);
            // What a map of a number does to volumes is the same for all classes.
            block.with_cells(x, Rows::Range(0..x.rows()), |cells, _| {
                density.add_log_density(cells, &block.names, scores)
            })?;
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
                Scorer::Logistic(model) => model.evidence(x)?.values().to_vec(),
                Scorer::Blocks(own) => {
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
                if self.keep {
                    scored.keep(c, verdict, row);
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
        let classes = self.judge.classes();
        8 * self.candidates() * self.models.len() * (16 + classes * (classes + 2))
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
            for tile in rows.chunks(TILE) {
                gathered.read(batch, tile)?;
                truth.clear();
                truth.extend(tile.iter().map(|&i| labels[i as usize]));
                weights.clear();
                weights.extend(tile.iter().map(|&i| batch.row_weights().map_or(1.0, |w| w[i as usize])));
                self.tile(scored, fold, &gathered.batch()?, &truth, &weights)?;
                if self.keep {
                    truth.iter().zip(&weights).for_each(|(&class, &weight)| scored.keep_row(class, weight));
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
        let (mine, theirs) = (&mut self.rows, &other.rows);
        mine.classes.extend(&theirs.classes);
        mine.weights.extend(&theirs.weights);
        mine.losses.iter_mut().zip(&theirs.losses).for_each(|(a, b)| a.extend(b));
        mine.errors.iter_mut().zip(&theirs.errors).for_each(|(a, b)| a.extend(b));
        mine.llrs.iter_mut().zip(&theirs.llrs).for_each(|(a, b)| a.extend(b));
        Ok(())
    }

    fn remove(&mut self, _: &Self) -> Result<()> {
        Err(Error::Cancellation("scores of single rows cannot be taken back: score the other rows anew".into()))
    }
}

impl Stored for Score {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let prior = self.prior.as_ref().map(Prior::probabilities);
        archive.put_json(&format!("{name}.rule"), &(&self.folds, prior, self.keep))?;
        self.judge.store(archive, &format!("{name}.judge"))?;
        for (f, models) in self.models.iter().enumerate() {
            models.store(archive, &format!("{name}.fold{f}"))?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (folds, prior, keep): (Folds, Option<Vec<f64>>, bool) = archive.json(&format!("{name}.rule"))?;
        let models = (0..folds.count()).map(|f| FoldModels::load(archive, &format!("{name}.fold{f}")));
        Ok(Score {
            models: models.collect::<Result<_>>()?,
            judge: Judge::load(archive, &format!("{name}.judge"))?,
            prior: prior.map(|p| Prior::new(&p)).transpose()?,
            folds,
            keep,
        })
    }
}

impl Stored for FoldModels {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        for (b, FittedBlock { block, density }) in self.blocks.iter().enumerate() {
            block.store(archive, &format!("{name}.block{b}"))?;
            density.store(archive, &format!("{name}.density{b}"))?;
        }
        let mut candidates = Vec::new();
        for (c, candidate) in self.candidates.iter().enumerate() {
            candidates.push(match candidate {
                Scorer::Blocks(blocks) => Some(blocks),
                Scorer::Logistic(model) => {
                    model.store(archive, &format!("{name}.candidate{c}"))?;
                    None
                }
            });
        }
        archive.put_json(name, &(&self.classes, self.prior.probabilities(), self.blocks.len(), candidates))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        type Parts = (Vec<usize>, Vec<f64>, usize, Vec<Option<Vec<usize>>>);
        let (classes, prior, count, scorers): Parts = archive.json(name)?;
        let mut blocks = Vec::new();
        for b in 0..count {
            let block = Block::load(archive, &format!("{name}.block{b}"))?;
            let density = AnyDensity::load(archive, &format!("{name}.density{b}"))?;
            if density.classes() != classes.len() || density.width() != block.columns.len() {
                return Err(archive.damaged(&format!("block {b} does not fit its classes or columns")));
            }
            blocks.push(FittedBlock { block, density });
        }
        let candidate = |(c, own): (usize, Option<Vec<usize>>)| match own {
            Some(own) if own.iter().any(|&b| b >= count) => Err(archive.damaged("a candidate has no such block")),
            Some(own) => Ok(Scorer::Blocks(own)),
            None => Ok(Scorer::Logistic(Box::new(LogisticModel::load(archive, &format!("{name}.candidate{c}"))?))),
        };
        let candidates = scorers.into_iter().enumerate().map(candidate).collect::<Result<_>>()?;
        let mut models = FoldModels { classes, prior: Prior::new(&prior)?, blocks, candidates, banks: Vec::new() };
        models.make_banks();
        Ok(models)
    }
}

impl Stored for Scored {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let length = self.sums.first().map_or(0, |sums| sums.numbers().len());
        let kept = self.rows.classes.len();
        let two = self.rows.llrs.iter().any(|llrs| !llrs.is_empty());
        archive.put_json(name, &(self.folds, self.sums.len(), length, self.seconds.len(), kept, two))?;
        let numbers: Vec<f64> = self.sums.iter().flat_map(Sums::numbers).collect();
        archive.put(&format!("{name}.sums"), &[self.sums.len(), length], &numbers)?;
        archive.put(&format!("{name}.seconds"), &[self.seconds.len()], &self.seconds)?;
        let classes: Vec<f64> = self.rows.classes.iter().map(|&c| f64::from(c)).collect();
        archive.put(&format!("{name}.classes"), &[kept], &classes)?;
        archive.put(&format!("{name}.weights"), &[kept], &self.rows.weights)?;
        if kept == 0 {
            return Ok(());
        }
        for c in 0..self.seconds.len() {
            let errors: Vec<f64> = self.rows.errors[c].iter().map(|&e| f64::from(e)).collect();
            archive.put(&format!("{name}.losses{c}"), &[kept], &self.rows.losses[c])?;
            archive.put(&format!("{name}.errors{c}"), &[kept], &errors)?;
            if two {
                archive.put(&format!("{name}.llrs{c}"), &[kept], &self.rows.llrs[c])?;
            }
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (folds, count, length, candidates, kept, two): (usize, usize, usize, usize, usize, bool) =
            archive.json(name)?;
        if count != folds * candidates || (count > 0 && length < Sums::empty(1, 0).numbers().len()) {
            return Err(archive.damaged("the sums do not fit the candidates and folds"));
        }
        let numbers = archive.get(&format!("{name}.sums"), &[count, length])?;
        let integers = |name: &str| archive.get(name, &[kept]);
        let mut rows = HeldRows {
            classes: integers(&format!("{name}.classes"))?.iter().map(|&x| x as u32).collect(),
            weights: archive.get(&format!("{name}.weights"), &[kept])?.to_vec(),
            losses: vec![Vec::new(); candidates],
            errors: vec![Vec::new(); candidates],
            llrs: vec![Vec::new(); candidates],
        };
        for c in 0..if kept > 0 { candidates } else { 0 } {
            rows.losses[c] = archive.get(&format!("{name}.losses{c}"), &[kept])?.to_vec();
            rows.errors[c] = integers(&format!("{name}.errors{c}"))?.iter().map(|&x| x as u8).collect();
            if two {
                rows.llrs[c] = archive.get(&format!("{name}.llrs{c}"), &[kept])?.to_vec();
            }
        }
        let sums = numbers.chunks_exact(length.max(1)).map(Sums::from_numbers).collect();
        let seconds = archive.get(&format!("{name}.seconds"), &[candidates])?.to_vec();
        Ok(Scored { folds, sums, seconds, rows })
    }
}
