//! How the scoring pass, the models it carries and what it leaves are stored: they travel to other
//! machines as bytes.

use super::fitted::{FoldModels, Scorer};
use super::held_out_sums::{HeldOutSums, Judge};
use super::score::{HeldRows, Keep, Score, Scored};
use crate::error::{Error, Result};
use crate::family::{AnyDensity, Density};
use crate::file::{Archive, Stored};
use crate::folds::Folds;
use crate::learn::{Block, FittedBlock};
use crate::model::Model;
use crate::posterior::Prior;

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
        let (folds, prior, keep): (Folds, Option<Vec<f64>>, Keep) = archive.json(&format!("{name}.rule"))?;
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
                Scorer::Model(model) => {
                    model.put(archive, &format!("{name}.candidate{c}.kind"), &format!("{name}.candidate{c}"))?;
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
            None => {
                let model = Model::get(archive, &format!("{name}.candidate{c}.kind"), &format!("{name}.candidate{c}"))?;
                Ok(Scorer::Model(Box::new(model)))
            }
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
        // How many classes the kept evidence is of.
        let classes = self.rows.evidence.first().map_or(0, |evidence| evidence.len() / kept.max(1));
        archive.put_json(name, &(self.folds, self.sums.len(), length, self.seconds.len(), kept, two, classes))?;
        archive.put_json(&format!("{name}.failures"), &self.failures)?;
        let numbers: Vec<f64> = self.sums.iter().flat_map(HeldOutSums::numbers).collect();
        archive.put(&format!("{name}.sums"), &[self.sums.len(), length], &numbers)?;
        archive.put(&format!("{name}.seconds"), &[self.seconds.len()], &self.seconds)?;
        let integers = |codes: &[u32]| codes.iter().map(|&c| f64::from(c)).collect::<Vec<f64>>();
        archive.put(&format!("{name}.classes"), &[kept], &integers(&self.rows.classes))?;
        archive.put(&format!("{name}.weights"), &[kept], &self.rows.weights)?;
        if kept == 0 {
            return Ok(());
        }
        if classes > 0 {
            archive.put(&format!("{name}.folds"), &[kept], &integers(&self.rows.folds))?;
            archive.put(&format!("{name}.cells"), &[kept], &integers(&self.rows.cells))?;
        }
        for c in 0..self.seconds.len() {
            let errors: Vec<f64> = self.rows.errors[c].iter().map(|&e| f64::from(e)).collect();
            archive.put(&format!("{name}.losses{c}"), &[kept], &self.rows.losses[c])?;
            archive.put(&format!("{name}.errors{c}"), &[kept], &errors)?;
            if two {
                archive.put(&format!("{name}.llrs{c}"), &[kept], &self.rows.llrs[c])?;
            }
            if classes > 0 {
                archive.put(&format!("{name}.evidence{c}"), &[kept, classes], &self.rows.evidence[c])?;
            }
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        type Shape = (usize, usize, usize, usize, usize, bool, usize);
        let (folds, count, length, candidates, kept, two, classes): Shape = archive.json(name)?;
        let failures: Vec<Option<String>> = archive.json(&format!("{name}.failures"))?;
        let fits = count == folds * candidates && failures.len() == candidates;
        if !fits || (count > 0 && length < HeldOutSums::empty(0).numbers().len()) {
            return Err(archive.damaged("the sums do not fit the candidates and folds"));
        }
        let numbers = archive.get(&format!("{name}.sums"), &[count, length])?;
        let integers = |name: &str| archive.get(name, &[kept]);
        let codes = |name: &str| Ok::<Vec<u32>, Error>(integers(name)?.iter().map(|&x| x as u32).collect());
        let mut rows = HeldRows {
            classes: codes(&format!("{name}.classes"))?,
            folds: if classes > 0 { codes(&format!("{name}.folds"))? } else { Vec::new() },
            cells: if classes > 0 { codes(&format!("{name}.cells"))? } else { Vec::new() },
            evidence: vec![Vec::new(); candidates],
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
            if classes > 0 {
                rows.evidence[c] = archive.get(&format!("{name}.evidence{c}"), &[kept, classes])?.to_vec();
            }
        }
        let sums = numbers.chunks_exact(length.max(1)).map(HeldOutSums::from_numbers).collect();
        let seconds = archive.get(&format!("{name}.seconds"), &[candidates])?.to_vec();
        Ok(Scored { folds, sums, seconds, failures, rows })
    }
}
