//! Fusion in a comparison: the best candidate of each sort of model, by weights that are learned from the same
//! evidence of held-out rows as the calibrations.
//!
//! A fused model is judged by rows that neither its members nor their maps nor their weights have seen: for each fold
//! the maps and the weights are learned from the other folds. (As with calibrations, the models that scored the other
//! folds have seen the fold's rows; maps and weights have but a few numbers to learn from that.)

use std::time::Instant;

use super::calibrate::{HeldOut, Maps, judge};
use super::compare::{Comparison, Outcome};
use super::score::{HeldRows, Score};
use crate::calibrate::{Affine, Calibration, Share};
use crate::error::Result;
use crate::fuse::{FOREIGN_ROWS, Fusion};
use crate::model::{Candidate, FUSED, Part};

/// No more members are fused: those of the least loss.
const MOST_MEMBERS: usize = 8;

/// Every member has a weight to be learned, for which so many rows must be there.
const ROWS_PER_MEMBER: usize = 150;

/// Above so many numbers (rows × classes × members), there is no fusion.
const MOST_NUMBERS: f64 = 3.2e7;

/// A candidate that may be a member.
struct Chosen {
    /// Its number among the rows' evidence.
    index: usize,
    outcome: Outcome,
    /// Its maps, or mere bounds if it is better without maps.
    maps: Maps,
}

impl Chosen {
    /// Its evidence, by its own map of `which`.
    fn evidence(&self, rows: &HeldRows, classes: usize, map: impl Fn(&Maps) -> &Calibration) -> Vec<f64> {
        let mut values = rows.evidence[self.index].clone();
        let map = map(&self.maps);
        for (r, row) in values.chunks_exact_mut(classes).enumerate() {
            map.apply_row(row, Share::new(rows.cells[r] as usize, self.maps.typical_cells));
        }
        values
    }
}

impl Comparison {
    /// Adds the fusion of the best candidate of each sort, if there are two that are better than the prior alone.
    /// `places` are those of the candidates whose evidence `rows` hold and whose calibrations have `maps`.
    pub(super) fn add_fused(
        &mut self,
        places: &[usize],
        maps: &[Option<Maps>],
        score: &Score,
        rows: &HeldRows,
        candidates: &[Candidate],
    ) -> Result<()> {
        let started = Instant::now();
        let classes = score.judge.classes();
        let most = (rows.classes.len() / ROWS_PER_MEMBER).clamp(2, MOST_MEMBERS);
        let chosen = self.members(places, maps, score, rows, candidates, most);
        if chosen.len() < 2 || rows.classes.len() as f64 * (classes * chosen.len()) as f64 > MOST_NUMBERS {
            return Ok(());
        }
        // Rows of a class that no other fold has teach nothing.
        let seen = |r: usize| !rows.losses[chosen[0].index][r].is_nan();
        let weights: Vec<f64> = (0..rows.classes.len()).map(|r| if seen(r) { rows.weights[r] } else { 0.0 }).collect();
        let mut fused = vec![0.0; rows.classes.len() * classes];
        for fold in 0..score.models.len() {
            let own = |member: &Chosen| member.evidence(rows, classes, |maps| &maps.without[fold]);
            let members: Vec<Vec<f64>> = chosen.iter().map(own).collect();
            let is_other = |(w, f): (&f64, &u32)| if *f as usize == fold { 0.0 } else { *w };
            let others: Vec<f64> = weights.iter().zip(&rows.folds).map(is_other).collect();
            let fusion = Fusion::fit(&slices(&members), classes, &rows.classes, &others)?;
            for (r, out) in fused.chunks_exact_mut(classes).enumerate().filter(|(r, _)| rows.folds[*r] as usize == fold)
            {
                fusion.add_up(members.iter().map(|e| &e[r * classes..][..classes]), out);
                out.iter_mut().zip(&fusion.offsets).for_each(|(e, b)| *e += b);
            }
        }
        let judged = judge(score, rows, |_, r, row| row.copy_from_slice(&fused[r * classes..][..classes]));
        let whole = |member: &Chosen| member.evidence(rows, classes, |maps| &maps.whole);
        let members: Vec<Vec<f64>> = chosen.iter().map(whole).collect();
        let fusion = Fusion::fit_strong(&slices(&members), classes, &rows.classes, &weights)?;
        if fusion.weights.iter().filter(|weight| **weight > 0.0).count() < 2 {
            return Ok(());
        }
        for (r, out) in fused.chunks_exact_mut(classes).enumerate() {
            out.fill(0.0);
            fusion.add_up(members.iter().map(|e| &e[r * classes..][..classes]), out);
        }
        let held_out = HeldOut::of(rows, &fused, &judged.1.0, classes)?;
        let strong: Vec<(&Chosen, f64)> =
            chosen.iter().zip(fusion.weights).filter(|(_, weight)| *weight > 0.0).collect();
        let seconds = strong.iter().map(|(member, _)| member.outcome.seconds).sum::<f64>();
        let parts: Vec<(Part, Option<Vec<usize>>)> = strong
            .iter()
            .map(|&(member, weight)| {
                let candidate = candidates[member.outcome.candidate].clone();
                let calibration = (member.maps.whole.clone(), member.maps.typical_cells);
                (Part { candidate, weight, calibration: Some(calibration) }, member.outcome.blocks.clone())
            })
            .collect();
        let outcome = Outcome {
            name: FUSED.into(),
            seconds: seconds + started.elapsed().as_secs_f64(),
            calibration: Some(Calibration::Affine(Affine { bound: 0.0, scale: 1.0, bias: fusion.offsets })),
            typical_cells: held_out.typical_cells(),
            scores: held_out.scores()?,
            blocks: None,
            parts,
            ..strong[0].0.outcome.clone()
        };
        self.add(outcome, judged);
        Ok(())
    }

    /// The best candidate of each sort, with or without its calibration, the best first.
    fn members(
        &self,
        places: &[usize],
        maps: &[Option<Maps>],
        score: &Score,
        rows: &HeldRows,
        candidates: &[Candidate],
        most: usize,
    ) -> Vec<Chosen> {
        let bound = FOREIGN_ROWS / rows.classes.len() as f64;
        let bounded = Maps::of_bound(bound, score, rows);
        let mut chosen: Vec<Chosen> = Vec::new();
        for outcome in self.ranked().iter().filter(|outcome| self.beats_prior(outcome)) {
            // A calibrated outcome has the candidate of its plain one.
            let is_same = |place: &usize| {
                let plain = self.ranked().iter().find(|o| o.place == *place);
                plain.is_some_and(|plain| plain.candidate == outcome.candidate)
            };
            let Some(index) = places.iter().position(is_same) else { continue };
            let sort = candidates[outcome.candidate].sort();
            if chosen.len() < most && chosen.iter().all(|c| candidates[c.outcome.candidate].sort() != sort) {
                let maps = match (&outcome.calibration, &maps[index]) {
                    (Some(_), Some(maps)) => maps.clone().with_bound(bound),
                    _ => bounded.clone(),
                };
                chosen.push(Chosen { index, outcome: outcome.clone(), maps });
            }
        }
        chosen
    }
}

fn slices(members: &[Vec<f64>]) -> Vec<&[f64]> {
    members.iter().map(Vec::as_slice).collect()
}
