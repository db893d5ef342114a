//! The rows that a map is learned from. They are visited as often as the fit needs, some at a time, so their
//! evidence can be held in memory or, where it takes too much, computed again at each visit.

use rayon::prelude::*;

use super::{Calibration, Share};
use crate::data::Batch;
use crate::engine::Engine;
use crate::error::Result;
use crate::evaluate::{Cllr, flat_loss, parts};
use crate::evidence::Evidence;

/// Rows × classes of one slice of rows that are held in memory.
const CELLS: usize = 1 << 16;

/// Slices whose sums are held at the same time.
const SLICES: usize = 64;

/// Some rows with their evidence.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    /// The evidence, row after row.
    pub evidence: &'a [f64],
    /// The true classes.
    pub truth: &'a [u32],
    /// The weights. Rows of weight 0 are ignored.
    pub weights: &'a [f64],
    /// The folds of the rows; empty where there are no folds.
    pub folds: &'a [u32],
    /// How many cells each row has that are not missing; empty where all rows count as complete.
    pub cells: &'a [u32],
}

/// Rows with their evidence, which can be visited again and again.
pub trait ScoredRows {
    /// The number of classes.
    fn classes(&self) -> usize;

    /// Adds up slices of rows: each goes into a sum of its own, and these are merged in the order of the rows,
    /// so that the result does not depend on threads.
    fn sum<S: Send>(
        &self,
        empty: impl Fn() -> S + Sync,
        add: impl Fn(&mut S, Slice<'_>) + Sync,
        merge: impl FnMut(S),
    ) -> Result<()>;
}

/// Rows whose evidence is held in memory.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    evidence: &'a Evidence,
    whole: Slice<'a>,
}

impl<'a> Held<'a> {
    /// Complete rows without folds.
    pub fn new(evidence: &'a Evidence, truth: &'a [u32], weights: &'a [f64]) -> Self {
        let whole = Slice { evidence: evidence.values(), truth, weights, folds: &[], cells: &[] };
        Held { evidence, whole }
    }

    /// The same rows with their folds and their numbers of cells.
    pub fn with_folds(self, folds: &'a [u32], cells: &'a [u32]) -> Self {
        Held { whole: Slice { folds, cells, ..self.whole }, ..self }
    }
}

impl ScoredRows for Held<'_> {
    fn classes(&self) -> usize {
        self.evidence.classes()
    }

    fn sum<S: Send>(
        &self,
        empty: impl Fn() -> S + Sync,
        add: impl Fn(&mut S, Slice<'_>) + Sync,
        merge: impl FnMut(S),
    ) -> Result<()> {
        let (classes, rows, all) = (self.classes(), self.whole.truth.len(), self.whole);
        // A sum may be as long as there are classes: of many classes, few sums.
        let size = (CELLS / classes).max(rows.div_ceil(SLICES)).max(1);
        let part = |start: usize| {
            let range = start..rows.min(start + size);
            let mut sum = empty();
            add(
                &mut sum,
                Slice {
                    evidence: &all.evidence[range.start * classes..range.end * classes],
                    truth: &all.truth[range.clone()],
                    weights: &all.weights[range.clone()],
                    folds: all.folds.get(range.clone()).unwrap_or(&[]),
                    cells: all.cells.get(range).unwrap_or(&[]),
                },
            );
            sum
        };
        let starts: Vec<usize> = (0..rows).step_by(size).collect();
        let sums: Vec<S> = starts.into_par_iter().map(part).collect();
        sums.into_iter().for_each(merge);
        Ok(())
    }
}

/// Labelled rows of a batch with their evidence.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The evidence.
    pub evidence: Evidence,
    /// The true classes.
    pub truth: Vec<u32>,
    /// The weights.
    pub weights: Vec<f64>,
    /// The folds, or empty.
    pub folds: Vec<u32>,
    /// The numbers of cells, or empty.
    pub cells: Vec<u32>,
}

/// Rows of an engine whose evidence is computed at each visit, a few rows at a time.
#[derive(Clone, Copy)]
pub struct Rescored<'a, F> {
    /// The engine whose rows they are.
    pub engine: &'a dyn Engine,
    /// The number of classes.
    pub classes: usize,
    /// Scores a batch; rows without a label are left out.
    pub score: F,
}

impl<F: Fn(&Batch<'_>) -> Result<Piece> + Sync> ScoredRows for Rescored<'_, F> {
    fn classes(&self) -> usize {
        self.classes
    }

    fn sum<S: Send>(
        &self,
        empty: impl Fn() -> S + Sync,
        add: impl Fn(&mut S, Slice<'_>) + Sync,
        mut merge: impl FnMut(S),
    ) -> Result<()> {
        let score = &self.score;
        self.engine.sweep(&mut |batch| {
            let slices: Vec<_> = parts(batch.rows(), self.classes).collect();
            for some in slices.chunks(SLICES) {
                self.engine.check_stop()?;
                let part = |rows: &std::ops::Range<usize>| {
                    let piece = score(&batch.slice(rows.clone()))?;
                    let mut sum = empty();
                    let Piece { evidence, truth, weights, folds, cells } = &piece;
                    add(&mut sum, Slice { evidence: evidence.values(), truth, weights, folds, cells });
                    Ok(sum)
                };
                some.par_iter().map(part).collect::<Result<Vec<S>>>()?.into_iter().for_each(&mut merge);
            }
            Ok(())
        })
    }
}

/// The same rows without those of a fold, which get the weight 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Without<'a, R> {
    pub rows: &'a R,
    pub fold: u32,
}

impl<R: ScoredRows> ScoredRows for Without<'_, R> {
    fn classes(&self) -> usize {
        self.rows.classes()
    }

    fn sum<S: Send>(
        &self,
        empty: impl Fn() -> S + Sync,
        add: impl Fn(&mut S, Slice<'_>) + Sync,
        merge: impl FnMut(S),
    ) -> Result<()> {
        let held = self.fold;
        let others = |sum: &mut S, slice: Slice<'_>| {
            let weight = |(w, fold): (&f64, &u32)| if *fold == held { 0.0 } else { *w };
            let weights: Vec<f64> = slice.weights.iter().zip(slice.folds).map(weight).collect();
            add(sum, Slice { weights: &weights, ..slice });
        };
        self.rows.sum(empty, others, merge)
    }
}

/// The number of rows that have a weight, and how many cells they have on average.
pub fn count(rows: &impl ScoredRows) -> Result<(usize, f64)> {
    let mut all = (0, 0.0, 0.0);
    let add = |sum: &mut (usize, f64, f64), slice: Slice<'_>| {
        for (i, w) in slice.weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let cells = slice.cells.get(i).map_or(0.0, |cells| f64::from(*cells));
            *sum = (sum.0 + 1, sum.1 + w, sum.2 + w * cells);
        }
    };
    rows.sum(|| (0, 0.0, 0.0), add, |part| all = (all.0 + part.0, all.1 + part.1, all.2 + part.2))?;
    let (count, weight, cells) = all;
    Ok((count, if weight > 0.0 { cells / weight } else { 0.0 }))
}

/// Cllr of the rows as they are and calibrated, in bits. There is one map for all rows, or one for each fold;
/// rows with missing cells have their [`Share`] of it, by the number of cells that is typical.
pub fn cllr(rows: &impl ScoredRows, maps: &[Calibration], typical_cells: f64) -> Result<[f64; 2]> {
    let classes = rows.classes();
    let empty = || [Cllr::new(classes), Cllr::new(classes)];
    let mut all = empty();
    let add = |[before, after]: &mut [Cllr; 2], slice: Slice<'_>| {
        let mut mapped = vec![0.0; classes];
        for (i, row) in slice.evidence.chunks_exact(classes).enumerate() {
            let (class, weight) = (slice.truth[i] as usize, slice.weights[i]);
            before.add(class, flat_loss(row, class), weight);
            mapped.copy_from_slice(row);
            let share = slice.cells.get(i).map_or(Share::WHOLE, |cells| Share::new(*cells as usize, typical_cells));
            let map = if maps.len() == 1 { 0 } else { slice.folds[i] as usize };
            maps[map].apply_row(&mut mapped, share);
            after.add(class, flat_loss(&mapped, class), weight);
        }
    };
    rows.sum(empty, add, |part| all.iter_mut().zip(&part).for_each(|(all, part)| all.merge(part)))?;
    Ok(all.map(|cllr| cllr.bits()))
}

/// The least Cllr that a calibration of these rows can have, in bits: of two classes by any rising map of the LLR, of
/// more by an affine map. An affine map of nearly the same rows makes a good `start`.
pub fn min_cllr(rows: &impl ScoredRows, start: Option<&Calibration>) -> Result<f64> {
    if rows.classes() > 2 {
        let start = match start {
            Some(Calibration::Affine(map)) => Some(map),
            _ => None,
        };
        return Ok(super::least_loss(rows, start)?.0 / std::f64::consts::LN_2);
    }
    let (mut llr, mut target, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let add = |sum: &mut Vec<(f64, bool, f64)>, slice: Slice<'_>| {
        let rows = slice.evidence.as_chunks::<2>().0.iter().zip(slice.truth).zip(slice.weights);
        sum.extend(rows.map(|((e, t), w)| (crate::evidence::llr(e, 1), *t == 1, *w)));
    };
    rows.sum(Vec::new, add, |part| {
        for (x, t, w) in part {
            llr.push(x);
            target.push(t);
            weights.push(w);
        }
    })?;
    Ok(crate::evaluate::Trials::new(&llr, &target, Some(&weights))?.min_cllr())
}
