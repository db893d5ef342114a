//! Leave-one-out: every row is scored by the fit of all others, which is the fit of all with one row
//! removed. Plain Gaussians are downdated by a rank-one formula; of other closed-form models the row
//! is removed from the statistics and the block is fitted anew. Both are exact.

use super::held_out_sums::Judge;
use super::score::Scored;
use super::shared::Shared;
use crate::data::{Batch, Column, Gathered, MISSING, Rows, Tile};
use crate::error::{Error, Result};
use crate::family::gaussian::Downdate;
use crate::family::{AnyFamily, AnyStatistic, Density, Family, Names};
use crate::file::{Archive, Stored};
use crate::learn::{Block, Statistics};
use crate::model::Candidate;
use crate::pass::Pass;
use crate::posterior::Prior;
use crate::statistic::Retract;

/// The pass that scores each row by the fit of the others.
#[derive(Clone, Debug)]
pub struct LeaveOneOut {
    blocks: Vec<Block>,
    /// For each block the statistic of each class.
    totals: Vec<Vec<AnyStatistic>>,
    /// Rows and weights of the classes.
    rows: Vec<f64>,
    weights: Vec<f64>,
    classes: Vec<String>,
    /// For each block the number of levels of its columns.
    levels: Vec<Vec<usize>>,
    /// For each candidate its blocks, and their families.
    candidates: Vec<Vec<(usize, AnyFamily)>>,
    judge: Judge,
    prior: Option<Prior>,
    keep: bool,
    /// For each candidate and block the downdate, where there is one; made from the rest.
    downdates: Vec<Vec<Option<Downdate>>>,
}

/// The row that is left out: where it stands, its class and its weight.
struct Row<'a> {
    x: &'a Batch<'a>,
    i: usize,
    own: usize,
    weight: f64,
}

impl LeaveOneOut {
    /// The pass for candidates that are fitted from these statistics.
    pub(super) fn new(
        candidates: &[Candidate],
        shared: &Shared,
        statistics: &Statistics,
        judge: Judge,
        prior: Option<Prior>,
        keep: bool,
    ) -> Result<Self> {
        let (schema, summary) = (statistics.schema(), statistics.summary());
        let totals = (0..shared.blocks.len()).map(|b| summary.block(b)).collect::<Result<_>>()?;
        let levels_of = |block: &Block| block.columns.iter().map(|&c| schema.columns()[c].levels.len()).collect();
        let families = |(candidate, places): (&Candidate, &Option<Vec<usize>>)| {
            let own = candidate.closed_form(schema.columns()).map_or(&[][..], |learner| learner.blocks());
            own.iter().zip(places.iter().flatten()).map(|(block, &place)| (place, block.family.clone())).collect()
        };
        LeaveOneOut {
            blocks: shared.blocks.clone(),
            totals,
            rows: summary.rows(),
            weights: summary.weights(),
            classes: schema.classes().to_vec(),
            levels: shared.blocks.iter().map(levels_of).collect(),
            candidates: candidates.iter().zip(&shared.places).map(families).collect(),
            judge,
            prior,
            keep,
            downdates: Vec::new(),
        }
        .with_downdates()
    }

    /// Why a candidate cannot be left-one-out, if it cannot.
    pub(super) fn refuses(candidate: &Candidate, columns: &[Column]) -> Option<Error> {
        let message = match candidate.closed_form(columns) {
            None => "it is not fitted from statistics alone: give §folds=10",
            Some(learner) if learner.blocks().iter().any(|block| block.family.is_open()) => {
                "auto needs folds: give §folds=10"
            }
            Some(_) => return None,
        };
        Some(Error::parameter("folds=leave-one-out", message))
    }

    fn with_downdates(mut self) -> Result<Self> {
        let downdate = |(place, family): &(usize, AnyFamily)| {
            let AnyFamily::Gaussian(gaussian) = family else { return Ok(None) };
            let moments = self.totals[*place].iter().map(|any| match any {
                AnyStatistic::Gaussian(moments) => Ok(moments.clone()),
                _ => Err(Error::Schema("the statistics belong to another family".into())),
            });
            Downdate::new(gaussian, &moments.collect::<Result<Vec<_>>>()?)
        };
        let all = self.candidates.iter().map(|own| own.iter().map(downdate).collect::<Result<_>>());
        self.downdates = all.collect::<Result<_>>()?;
        Ok(self)
    }

    /// log p(x | class) of a row under a candidate, for the classes `present`; `None` where the fit
    /// without it fails. `without` keeps the statistics without the row, by block.
    fn evidence(
        &self,
        candidate: usize,
        row: &Row<'_>,
        present: &[usize],
        without: &mut [Option<Vec<AnyStatistic>>],
    ) -> Result<Option<Vec<f64>>> {
        let Row { x, i, own, weight } = *row;
        let mut sum = vec![0.0; present.len()];
        let names: Vec<String> = present.iter().map(|&c| self.classes[c].clone()).collect();
        for ((place, family), downdate) in self.candidates[candidate].iter().zip(&self.downdates[candidate]) {
            let block = &self.blocks[*place];
            let whole = present.len() == self.classes.len();
            if let Some(downdate) = downdate.as_ref().filter(|_| whole) {
                let mut tile = Tile::default();
                block.with_cells(x, Rows::Range(i..i + 1), |cells, _| cells.read_numbers(&mut tile))?;
                match downdate.log_densities(tile.data(), own, weight) {
                    Some(densities) => sum.iter_mut().zip(densities).for_each(|(s, d)| *s += d),
                    None => return Ok(None),
                }
                continue;
            }
            if without[*place].is_none() {
                let mut row = block.family.empty(block.columns.len());
                block.with_cells(x, Rows::Range(i..i + 1), |cells, _| {
                    block.family.observe(&mut row, cells, &block.names)
                })?;
                let mut classes = self.totals[*place].clone();
                // Where removing would cost too many digits, nothing is said about the row.
                if classes[own].remove(&row).is_err() {
                    return Ok(None);
                }
                without[*place] = Some(classes);
            }
            let classes = without[*place].as_ref().map_or(&[][..], |classes| classes);
            let chosen: Vec<&AnyStatistic> = present.iter().map(|&c| &classes[c]).collect();
            let names = Names { columns: &block.names, levels: &self.levels[*place], classes: &names };
            let Ok(density) = family.fit(&chosen, names) else { return Ok(None) };
            let mut scores = Tile::default();
            scores.resize(1, present.len());
            scores.data_mut().fill(0.0);
            block.with_cells(x, Rows::Range(i..i + 1), |cells, _| {
                density.add_log_density(cells, &block.names, &mut scores)
            })?;
            sum.iter_mut().zip(scores.data()).for_each(|(s, d)| *s += d);
        }
        Ok(Some(sum))
    }
}

impl Pass for LeaveOneOut {
    const NAME: &'static str = "leave one out";
    type Statistic = Scored;

    fn empty(&self) -> Scored {
        Scored::empty(self.candidates.len(), 1, &self.judge)
    }

    fn size(&self) -> usize {
        self.judge.size() * self.candidates.len()
    }

    fn observe(&self, scored: &mut Scored, batch: &Batch<'_>) -> Result<()> {
        let labels = batch.labels().ok_or_else(|| Error::Schema("the rows have no labels to compare with".into()))?;
        let labelled: Vec<u32> = (0..batch.rows() as u32).filter(|&i| labels[i as usize] != MISSING).collect();
        let mut gathered = Gathered::default();
        gathered.read(batch, &labelled)?;
        let x = gathered.batch()?;
        let mut posterior = vec![0.0; self.classes.len()];
        for (i, &row) in labelled.iter().enumerate() {
            let own = labels[row as usize] as usize;
            let weight = batch.row_weights().map_or(1.0, |w| w[row as usize]);
            let present: Vec<usize> = (0..self.classes.len()).filter(|&c| c != own || self.rows[c] > 1.0).collect();
            let left = |&c: &usize| if c == own { (self.weights[c] - weight).max(0.0) } else { self.weights[c] };
            let weights: Vec<f64> = match &self.prior {
                Some(prior) => present.iter().map(|&c| prior.probabilities()[c]).collect(),
                None => present.iter().map(left).collect(),
            };
            let total: f64 = weights.iter().sum();
            let mut without = vec![None; self.blocks.len()];
            let left = Row { x: &x, i, own, weight };
            for c in 0..self.candidates.len() {
                let evidence = self.evidence(c, &left, &present, &mut without).unwrap_or_else(|error| {
                    scored.fail(c, &error);
                    None
                });
                // A fit that fails says nothing about the row.
                let evidence = evidence.unwrap_or_else(|| vec![f64::NEG_INFINITY; present.len()]);
                let joint = evidence.iter().zip(&weights).map(|(e, w)| e + (w / total).ln());
                let mut joint: Vec<f64> = joint.collect();
                let verdict = self.judge.add(scored.sums(c, 0), &mut joint, &present, own, weight, &mut posterior);
                if self.keep {
                    scored.keep(c, verdict, &evidence);
                }
            }
            if self.keep {
                scored.keep_row(own as u32, weight);
            }
        }
        Ok(())
    }
}

impl Stored for LeaveOneOut {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let prior = self.prior.as_ref().map(Prior::probabilities);
        let shape = (self.blocks.len(), &self.classes, &self.levels, &self.candidates, prior, self.keep);
        archive.put_json(&format!("{name}.shape"), &shape)?;
        archive.put(&format!("{name}.rows"), &[self.rows.len()], &self.rows)?;
        archive.put(&format!("{name}.weights"), &[self.weights.len()], &self.weights)?;
        self.judge.store(archive, &format!("{name}.judge"))?;
        for (b, block) in self.blocks.iter().enumerate() {
            block.store(archive, &format!("{name}.block{b}"))?;
            for (c, statistic) in self.totals[b].iter().enumerate() {
                statistic.store(archive, &format!("{name}.block{b}.class{c}"))?;
            }
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        type Shape = (usize, Vec<String>, Vec<Vec<usize>>, Vec<Vec<(usize, AnyFamily)>>, Option<Vec<f64>>, bool);
        let (count, classes, levels, candidates, prior, keep): Shape = archive.json(&format!("{name}.shape"))?;
        if levels.len() != count || candidates.iter().flatten().any(|(place, _)| *place >= count) {
            return Err(archive.damaged("a candidate has no such block"));
        }
        let of = |b: usize, c: usize| AnyStatistic::load(archive, &format!("{name}.block{b}.class{c}"));
        let totals = (0..count).map(|b| (0..classes.len()).map(|c| of(b, c)).collect::<Result<_>>());
        LeaveOneOut {
            blocks: (0..count).map(|b| Block::load(archive, &format!("{name}.block{b}"))).collect::<Result<_>>()?,
            totals: totals.collect::<Result<_>>()?,
            rows: archive.finite(&format!("{name}.rows"), &[classes.len()])?.to_vec(),
            weights: archive.finite(&format!("{name}.weights"), &[classes.len()])?.to_vec(),
            judge: Judge::load(archive, &format!("{name}.judge"))?,
            prior: prior.map(|p| Prior::new(&p)).transpose()?,
            classes,
            levels,
            candidates,
            keep,
            downdates: Vec::new(),
        }
        .with_downdates()
    }
}
