//! Rows that lie one after the other, dealt out to the groups: read once, in their order.

use super::GaussianStatistic;
use crate::data::Tile;
use crate::numerics::RowMajor;
use crate::statistic::{Joined, NotFinite, RowBuffer, ShiftedSums};

/// Rows that lie one after the other, each with its group and its weight.
pub(super) struct DealtRows<'a> {
    pub numbers: RowMajor<'a>,
    pub groups: &'a [u32],
    pub weights: &'a [f64],
}

impl DealtRows<'_> {
    /// Some of the rows as columns, and their weights.
    fn tile(&self, places: &[u32]) -> (Tile, Vec<f64>) {
        let mut tile = Tile::default();
        tile.resize(places.len(), self.numbers.width());
        for (k, &i) in places.iter().enumerate() {
            self.numbers.row(i as usize).iter().enumerate().for_each(|(j, x)| tile.column_mut(j)[k] = *x);
        }
        (tile, places.iter().map(|&i| self.weights[i as usize]).collect())
    }

    /// Adds the rows at these places, some of which have cells that are missing or infinite.
    fn observe_odd(&self, statistic: &mut GaussianStatistic, places: &[u32]) -> Result<(), NotFinite> {
        let (tile, weights) = self.tile(places);
        let is_weighted = weights.iter().any(|weight| *weight != 1.0);
        statistic.observe_with_gaps(&tile, is_weighted.then_some(&weights[..]))
    }

    /// Adds the rows to moments: those of each group are copied about its mean, `tall` at a time.
    pub fn observe_moments(&self, groups: &mut [&mut GaussianStatistic], tall: usize) -> Result<(), NotFinite> {
        let width = self.numbers.width();
        RowBuffer::with_each(groups.len(), tall * width, |buffers| {
            pulp::Arch::new().dispatch(Copying { rows: self, groups, buffers, tall })?;
            let mut left = groups.iter_mut().zip(buffers).filter(|(_, buffer)| buffer.rows() > 0);
            left.try_for_each(|(statistic, buffer)| self.flush(statistic, buffer))
        })
    }

    /// Adds the rows of a buffer, which is empty then.
    fn flush(&self, statistic: &mut GaussianStatistic, rows: &mut RowBuffer) -> Result<(), NotFinite> {
        let observed = match statistic {
            GaussianStatistic::Full(whole) | GaussianStatistic::Gapped { whole, .. } => whole.observe_rows(rows),
            GaussianStatistic::Columns(_) => Err(NotFinite),
        };
        let observed = observed.or_else(|NotFinite| self.observe_odd(statistic, rows.places()));
        rows.clear();
        observed
    }

    /// Adds the rows to moments of columns, which are summed where they lie, about the means of the rows before.
    pub fn observe_columns(&self, groups: &mut [&mut GaussianStatistic]) -> Result<(), NotFinite> {
        /// Rows for each group that are summed at once.
        const PART: usize = 256;
        let mut sums = ShiftedSums::new(groups.len(), self.numbers.width());
        let part = PART * groups.len().max(1);
        for start in (0..self.groups.len()).step_by(part) {
            let range = start..self.groups.len().min(start + part);
            let (numbers, of_rows) = (self.numbers.part(range.clone()), &self.groups[range.clone()]);
            let add = |sums: &mut ShiftedSums| sums.add(&numbers, of_rows, &self.weights[range.clone()]);
            let mut is_there = vec![false; groups.len()];
            for (row, &group) in of_rows.iter().enumerate() {
                if !std::mem::replace(&mut is_there[group as usize], true) {
                    match &groups[group as usize] {
                        GaussianStatistic::Columns(own) if own.is_known() => sums.start(group as usize, own.mean()),
                        // The first row is as good as any.
                        _ => sums.start(group as usize, numbers.row(row)),
                    }
                }
            }
            add(&mut sums);
            let mut joined = join_sums(groups, &sums, &is_there, false);
            let is_far: Vec<bool> = joined.iter().map(|joined| *joined == Joined::Far).collect();
            if is_far.contains(&true) {
                (0..groups.len()).filter(|group| is_far[*group]).for_each(|group| sums.start_at_mean(group));
                add(&mut sums);
                let again = join_sums(groups, &sums, &is_far, true);
                joined.iter_mut().zip(again).filter(|(joined, _)| **joined == Joined::Far).for_each(|(j, a)| *j = a);
            }
            for (group, _) in joined.iter().enumerate().filter(|(_, joined)| **joined == Joined::NotFinite) {
                let places = range.clone().filter(|&i| self.groups[i] as usize == group).map(|i| i as u32);
                self.observe_odd(groups[group], &places.collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }
}

/// The rows of all groups on their way into the buffers.
struct Copying<'a, 'g> {
    rows: &'a DealtRows<'a>,
    groups: &'a mut [&'g mut GaussianStatistic],
    buffers: &'a mut [RowBuffer],
    tall: usize,
}

impl pulp::WithSimd for Copying<'_, '_> {
    type Output = Result<(), NotFinite>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> Result<(), NotFinite> {
        let rows = self.rows;
        for (i, (&group, &weight)) in rows.groups.iter().zip(rows.weights).enumerate() {
            let (row, buffer) = (rows.numbers.row(i), &mut self.buffers[group as usize]);
            if buffer.rows() == 0 {
                match &*self.groups[group as usize] {
                    GaussianStatistic::Full(whole) | GaussianStatistic::Gapped { whole, .. }
                        if whole.weight() > 0.0 =>
                    {
                        buffer.start(whole.mean());
                    }
                    // The first row is as good as any.
                    _ => buffer.start(row),
                }
            }
            buffer.push(simd, row, weight, i as u32);
            if buffer.rows() == self.tall {
                rows.flush(self.groups[group as usize], buffer)?;
            }
        }
        Ok(())
    }
}

/// Adds the sums of the groups that `is_asked` names.
fn join_sums(
    groups: &mut [&mut GaussianStatistic],
    sums: &ShiftedSums,
    is_asked: &[bool],
    is_last: bool,
) -> Vec<Joined> {
    let join = |(group, statistic): (usize, &mut &mut GaussianStatistic)| match statistic {
        GaussianStatistic::Columns(own) if is_asked[group] => own.join_sums(sums.of(group), is_last),
        _ => Joined::All,
    };
    groups.iter_mut().enumerate().map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, Cells, Rows};
    use crate::family::gaussian::{Gaussian, Structure};
    use crate::family::{Dealt, Family};
    use crate::numerics::Random;

    /// Rows whose level jumps far away and back, with a column that is constant on each level.
    fn rows(count: usize) -> (Vec<f64>, Vec<u32>, Vec<f64>) {
        let mut random = Random::new(11);
        let mut x = Vec::new();
        for i in 0..count {
            let level = [0.0, 1e9, -3.0, 1e9][i * 4 / count];
            x.extend([level + random.normal(), 1e-3 * random.normal() - level, level, random.normal(), level * 1e-9]);
        }
        let groups = (0..count).map(|_| random.below(3) as u32).collect();
        (x, groups, (0..count).map(|_| random.below(4) as f64).collect())
    }

    /// The moments of a group by their definition: the levels are far apart, and sums of differences from 0.5e9 and of
    /// small numbers are exact enough.
    fn expected(x: &[f64], groups: &[u32], weights: &[f64], group: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let own: Vec<usize> = (0..groups.len()).filter(|&i| groups[i] as usize == group).collect();
        let total: f64 = own.iter().map(|&i| weights[i]).sum();
        let shifted =
            |j: usize, shift: f64| own.iter().map(|&i| weights[i] * (x[i * 5 + j] - shift)).sum::<f64>() / total;
        let mean: Vec<f64> = (0..5).map(|j| shifted(j, 0.0)).collect();
        let mean: Vec<f64> = (0..5).map(|j| mean[j] + shifted(j, mean[j])).collect();
        let product = |i: usize, a: usize, b: usize| weights[i] * (x[i * 5 + a] - mean[a]) * (x[i * 5 + b] - mean[b]);
        let scatter = |a: usize, b: usize| own.iter().map(|&i| product(i, a, b)).sum();
        (mean.clone(), (0..5).map(|a| (0..=a).map(|b| scatter(a, b)).collect()).collect())
    }

    #[test]
    fn rows_that_jump_lose_no_digits() {
        for count in [9, 700, 6000] {
            let (x, groups, weights) = rows(count);
            let batch = Batch::new(count).row_major(&x[..], 5).unwrap().weights(&weights).unwrap();
            let cells = Cells::new(&batch, &[0, 1, 2, 3, 4], Rows::Range(0..count));
            let names: Vec<String> = (0..5).map(|j| format!("x{j}")).collect();
            for covariance in [Structure::Full, Structure::Diagonal] {
                let family = Gaussian { covariance, ..Gaussian::default() };
                let mut found: Vec<GaussianStatistic> = (0..3).map(|_| family.empty(5)).collect();
                let mut all: Vec<&mut GaussianStatistic> = found.iter_mut().collect();
                let dealt = Dealt::new(groups.clone().into(), 3);
                family.deal_out(&mut all, &cells, &dealt, &names).expect("rows lie one after the other").unwrap();
                for (group, found) in found.iter().enumerate() {
                    let (mean, scatter) = expected(&x, &groups, &weights, group);
                    for a in 0..5 {
                        let close = |found: f64, expected: f64, scale: f64| {
                            // A group of one row may have a scatter of rounding.
                            assert!(
                                (found - expected).abs() <= 1e-13 * scale + 1e-28,
                                "{count}, {a}: {found} {expected}"
                            );
                        };
                        match found {
                            GaussianStatistic::Full(own) => {
                                close(own.mean()[a], mean[a], mean[a].abs() + 1.0);
                                for b in 0..=a {
                                    let scale = (scatter[a][a] * scatter[b][b]).sqrt();
                                    close(own.scatter()[(a, b)], scatter[a][b], 10.0 * scale);
                                }
                            }
                            GaussianStatistic::Columns(own) => {
                                close(own.mean()[a], mean[a], mean[a].abs() + 1.0);
                                close(own.scatter()[a], scatter[a][a], 10.0 * scatter[a][a]);
                            }
                            GaussianStatistic::Gapped { .. } => panic!("no cell is missing"),
                        }
                    }
                }
            }
        }
    }
}
