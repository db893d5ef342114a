//! The pass of every generative model: for each block, class and fold, the family's statistic.
//!
//! Classes may turn up as the rows come: a summary grows when it meets a new code, so a stream is
//! read once. Folds are drawn from what a row holds: equal rows share a fold, in whatever file and
//! place they stand, so statistics in folds add and subtract like all others.

use super::Block;
use crate::data::{Batch, Rows, View};
use crate::error::{Error, Result};
use crate::family::counts::{MOST_LEVELS, Ragged, add, mark, relevel};
use crate::family::{AnyStatistic, Assignment, Dealt, Family};
use crate::file::{Archive, Stored};
use crate::numerics::hash;
use crate::pass::Pass;
use crate::statistic::{Retract, Statistic};

/// The pass that fills a [`Summary`].
#[derive(Clone, Debug)]
pub struct Summarise {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// How many folds to keep apart; 1 keeps none.
    pub folds: usize,
    /// What the folds are drawn with.
    pub seed: u64,
}

impl Stored for Summarise {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.blocks.len(), self.folds, self.seed))?;
        for (b, block) in self.blocks.iter().enumerate() {
            block.store(archive, &format!("{name}.block{b}"))?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (blocks, folds, seed): (usize, usize, u64) = archive.json(name)?;
        let blocks = (0..blocks).map(|b| Block::load(archive, &format!("{name}.block{b}"))).collect::<Result<_>>()?;
        match folds {
            0 => Err(archive.damaged("there are no folds")),
            folds => Ok(Summarise { blocks, folds, seed }),
        }
    }
}

impl Summarise {
    fn empty_group(&self) -> Group {
        Group::empty(&self.blocks)
    }

    fn fold(&self, batch: &Batch<'_>, row: usize) -> usize {
        match (self.folds, batch.given_folds()) {
            (1, _) => 0,
            (folds, Some(given)) => given[row] as usize % folds,
            (folds, None) => (self.fingerprint(batch, row) % folds as u64) as usize,
        }
    }
}

impl Summarise {
    /// A hash of the row's numbers, levels and words; of its place where it has none.
    fn fingerprint(&self, batch: &Batch<'_>, row: usize) -> u64 {
        let mut mixed = None;
        for column in self.blocks.iter().flat_map(|block| &block.columns) {
            if let Some(bits) = batch.bits(*column, row) {
                mixed = Some(hash(mixed.unwrap_or(self.seed), bits));
            }
        }
        mixed.unwrap_or_else(|| hash(self.seed, batch.row_number(row)))
    }

    /// Counts the levels and words that no family's statistic shows: those of rows of weight 0, and those of
    /// blocks whose family does not show all.
    fn count_hidden(&self, summary: &mut Summary, batch: &Batch<'_>, rows: &Rows<'_>) {
        let mut shown = vec![None; batch.width()];
        for block in &self.blocks {
            block.columns.iter().for_each(|&column| shown[column] = Some(block.family.shows_levels()));
        }
        let all = || (0..rows.len()).map(|i| rows.get(i) as u32);
        let weightless: Vec<u32> = match batch.row_weights() {
            Some(weights) => all().filter(|&row| weights[row as usize] == 0.0).collect(),
            None => Vec::new(),
        };
        for (column, shown) in shown.into_iter().enumerate() {
            let Some(shown) = shown else { continue };
            if shown && weightless.is_empty() || matches!(batch.view(column), View::Numbers(_)) {
                continue;
            }
            if summary.hidden.0.len() <= column {
                summary.hidden.0.resize(batch.width(), Vec::new());
            }
            let counts = &mut summary.hidden.0[column];
            let mut count = |code: u32| {
                // Missing cells have the highest codes.
                let place = code as usize;
                if place < MOST_LEVELS {
                    if counts.len() <= place {
                        counts.resize(place + 1, 0.0);
                    }
                    counts[place] += 1.0;
                }
            };
            let chosen = if shown { Rows::Index(&weightless) } else { rows.clone() };
            match batch.view(column) {
                View::Numbers(_) => {}
                View::Codes(codes) => (0..chosen.len()).for_each(|i| count(codes[chosen.get(i)])),
                View::Sparse(sparse) => sparse.for_each(&chosen, |_, word, times| {
                    if times > 0.0 {
                        count(word);
                    }
                }),
            }
        }
    }
}

impl Pass for Summarise {
    const NAME: &'static str = "summarise";
    type Statistic = Summary;

    fn empty(&self) -> Summary {
        Summary { folds: self.folds, groups: Vec::new(), hidden: Ragged::default() }
    }

    fn size(&self) -> usize {
        // A handful of classes: how many there are is not known before the rows are read.
        let per_class: usize = self.blocks.iter().map(Block::size).sum();
        per_class * self.folds * 8
    }

    fn wants_hashes(&self) -> bool {
        self.folds > 1
    }

    fn observe(&self, summary: &mut Summary, batch: &Batch<'_>) -> Result<()> {
        let labelled = batch.labelled()?;
        let (rows, mut groups) = (labelled.rows(), labelled.classes());
        let most = groups.iter().max().map_or(0, |&class| class as usize + 1);
        if self.folds > 1 {
            let group = |(i, class): (usize, &u32)| class * self.folds as u32 + self.fold(batch, rows.get(i)) as u32;
            groups = groups.iter().enumerate().map(group).collect();
        }
        while summary.groups.len() < most * self.folds {
            summary.groups.push(self.empty_group());
        }
        let dealt = Dealt::new(groups, summary.groups.len());
        for (group, &size) in summary.groups.iter_mut().zip(dealt.sizes()) {
            group.rows += size as f64;
            group.weight += if batch.row_weights().is_none() { size as f64 } else { 0.0 };
        }
        if let Some(weights) = batch.row_weights() {
            let weighed = dealt.groups().iter().enumerate();
            weighed.for_each(|(i, &g)| summary.groups[g as usize].weight += weights[rows.get(i)]);
        }
        self.count_hidden(summary, batch, &rows);
        for (b, block) in self.blocks.iter().enumerate() {
            let mut statistics: Vec<_> = summary.groups.iter_mut().map(|group| &mut group.blocks[b]).collect();
            block.observe(&mut statistics, batch, rows.clone(), Assignment::Hard(&dealt), None)?;
        }
        Ok(())
    }
}

/// The statistics of every block for every class and fold.
#[derive(Clone, Debug)]
pub struct Summary {
    folds: usize,
    /// Group `class·folds + fold`.
    groups: Vec<Group>,
    /// How many rows have each level of each of the schema's columns, where no group shows it.
    hidden: Ragged,
}

/// What is kept of the rows of one group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// How many there are; shares of rows count as such.
    pub rows: f64,
    /// Their weight.
    pub weight: f64,
    /// A statistic for each block.
    pub blocks: Vec<AnyStatistic>,
}

impl Group {
    /// The group of no rows.
    pub fn empty(blocks: &[Block]) -> Self {
        let blocks = blocks.iter().map(|block| block.family.empty(block.columns.len())).collect();
        Group { rows: 0.0, weight: 0.0, blocks }
    }

    /// Adds the rows of another group.
    pub fn merge(&mut self, other: &Group) -> Result<()> {
        Error::check_shape("blocks of the merged statistics", self.blocks.len(), other.blocks.len())?;
        for (a, b) in self.blocks.iter_mut().zip(&other.blocks) {
            a.merge(b)?;
        }
        self.rows += other.rows;
        self.weight += other.weight;
        Ok(())
    }
}

impl Stored for Group {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.shape"), &(self.rows, self.weight, self.blocks.len()))?;
        let blocks = self.blocks.iter().enumerate();
        blocks.into_iter().try_for_each(|(b, block)| block.store(archive, &format!("{name}.block{b}")))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (rows, weight, blocks): (f64, f64, usize) = archive.json(&format!("{name}.shape"))?;
        let block = |b: usize| AnyStatistic::load(archive, &format!("{name}.block{b}"));
        Ok(Group { rows, weight, blocks: (0..blocks).map(block).collect::<Result<_>>()? })
    }
}

impl Summary {
    /// For each class its rows, their weight and the statistic of each block.
    pub(super) fn of_groups(groups: Vec<(f64, f64, Vec<AnyStatistic>)>) -> Self {
        let groups = groups.into_iter().map(|(rows, weight, blocks)| Group { rows, weight, blocks }).collect();
        Summary { folds: 1, groups, hidden: Ragged::default() }
    }

    /// The number of classes seen so far.
    pub fn classes(&self) -> usize {
        self.groups.len() / self.folds
    }

    /// The number of folds.
    pub fn folds(&self) -> usize {
        self.folds
    }

    /// The number of rows of each class.
    pub fn rows(&self) -> Vec<f64> {
        self.groups.chunks_exact(self.folds).map(|folds| folds.iter().map(|g| g.rows).sum()).collect()
    }

    /// The weight of each class.
    pub fn weights(&self) -> Vec<f64> {
        self.groups.chunks_exact(self.folds).map(|folds| folds.iter().map(|g| g.weight).sum()).collect()
    }

    /// The weight of each fold and class.
    pub fn weights_by_fold(&self) -> Vec<Vec<f64>> {
        let of = |fold: usize| self.groups.iter().skip(fold).step_by(self.folds).map(|g| g.weight).collect();
        (0..self.folds).map(of).collect()
    }

    /// The statistics of some of the blocks.
    pub(super) fn select(&self, blocks: &[usize]) -> Summary {
        let chosen = |group: &Group| Group {
            rows: group.rows,
            weight: group.weight,
            blocks: blocks.iter().map(|&b| group.blocks[b].clone()).collect(),
        };
        Summary { groups: self.groups.iter().map(chosen).collect(), ..self.without_groups() }
    }

    fn without_groups(&self) -> Summary {
        Summary { folds: self.folds, groups: Vec::new(), hidden: self.hidden.clone() }
    }

    /// Marks in `seen` which levels the rows have: `seen[c][l]` for level `l` of the schema's column `c`.
    /// Of columns in no block nothing is known, and no level is marked.
    pub(super) fn mark_levels(&self, pass: &Summarise, seen: &mut [Vec<bool>]) {
        for (b, block) in pass.blocks.iter().enumerate() {
            for (j, &column) in block.columns.iter().enumerate() {
                if !seen[column].is_empty() {
                    let groups = self.groups.iter();
                    groups.for_each(|group| block.family.mark_levels(&group.blocks[b], j, &mut seen[column]));
                }
            }
        }
        for (column, counts) in self.hidden.0.iter().enumerate().take(seen.len()) {
            mark(counts.iter().copied(), &mut seen[column]);
        }
    }

    /// Leaves nothing of groups without rows, not even what rounding left.
    pub(super) fn clear_empty_groups(&mut self, pass: &Summarise) {
        self.groups.iter_mut().filter(|group| group.rows == 0.0).for_each(|group| *group = pass.empty_group());
    }

    /// The statistic of a block for each class, all folds together.
    pub fn block(&self, block: usize) -> Result<Vec<AnyStatistic>> {
        let merged = |folds: &[Group]| {
            let mut whole = folds[0].blocks[block].clone();
            folds[1..].iter().try_for_each(|fold| whole.merge(&fold.blocks[block]))?;
            Ok(whole)
        };
        self.groups.chunks_exact(self.folds).map(merged).collect()
    }

    /// Runs `read` on the statistic of a block for each class, all folds together.
    pub fn read_block<R>(&self, block: usize, read: impl FnOnce(&[&AnyStatistic]) -> R) -> Result<R> {
        // Without folds there is nothing to merge: the statistics are read where they lie.
        let merged = if self.folds > 1 { self.block(block)? } else { Vec::new() };
        let classes: Vec<&AnyStatistic> = match self.folds {
            1 => self.groups.iter().map(|group| &group.blocks[block]).collect(),
            _ => merged.iter().collect(),
        };
        Ok(read(&classes))
    }

    /// The statistic of a block for each fold and class.
    pub fn block_by_fold(&self, block: usize) -> Vec<Vec<AnyStatistic>> {
        let of = |fold: usize| self.groups.iter().skip(fold).step_by(self.folds).map(|g| g.blocks[block].clone());
        (0..self.folds).map(|fold| of(fold).collect()).collect()
    }

    /// Whether every group holds the statistics that `pass` leaves, for as many columns.
    pub(super) fn belongs_to(&self, pass: &Summarise) -> bool {
        self.groups.iter().all(|group| pass.empty_group().merge(group).is_ok())
    }

    /// Renumbers levels: level `i` of the schema's column `c` becomes `maps[c][i]`; an empty map
    /// leaves a column as it is, and a level that becomes [`MISSING`] is dropped.
    pub fn relevel(&mut self, maps: &[Vec<u32>], pass: &Summarise) -> Result<()> {
        for (counts, map) in self.hidden.0.iter_mut().zip(maps) {
            *counts = relevel(counts, map)?;
        }
        for (b, block) in pass.blocks.iter().enumerate() {
            let own: Vec<Vec<u32>> = block.columns.iter().map(|&c| maps[c].clone()).collect();
            if own.iter().any(|map| !map.is_empty()) {
                let mut groups = self.groups.iter_mut();
                groups.try_for_each(|group| block.family.relevel(&mut group.blocks[b], &own))?;
            }
        }
        Ok(())
    }

    /// The summary with its classes in another order: class `i` of the result is `order[i]` here,
    /// or an empty class where that is `None`.
    pub fn reordered(&self, order: &[Option<usize>], pass: &Summarise) -> Summary {
        let class = |source: &Option<usize>| match source {
            Some(c) if *c < self.classes() => self.groups[c * self.folds..(c + 1) * self.folds].to_vec(),
            _ => vec![pass.empty_group(); self.folds],
        };
        Summary { groups: order.iter().flat_map(class).collect(), ..self.without_groups() }
    }
}

impl Statistic for Summary {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("folds of the merged statistics", self.folds, other.folds)?;
        for (g, group) in other.groups.iter().enumerate() {
            match self.groups.get_mut(g) {
                Some(mine) => mine.merge(group)?,
                None => self.groups.push(group.clone()),
            }
        }
        if self.hidden.0.len() < other.hidden.0.len() {
            self.hidden.0.resize(other.hidden.0.len(), Vec::new());
        }
        self.hidden.0.iter_mut().zip(&other.hidden.0).for_each(|(a, b)| add(a, b));
        Ok(())
    }
}

impl Retract for Summary {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("folds of the removed statistics", self.folds, other.folds)?;
        let mut left = self.clone();
        for (g, group) in other.groups.iter().enumerate().filter(|(_, group)| group.rows > 0.0) {
            let mine = left.groups.get_mut(g).filter(|mine| mine.rows >= group.rows);
            let Some(mine) = mine else {
                return Err(Error::Cancellation(format!(
                    "cannot remove {} rows of a class: they were never added",
                    group.rows
                )));
            };
            for (a, b) in mine.blocks.iter_mut().zip(&group.blocks) {
                a.remove(b)?;
            }
            mine.rows -= group.rows;
            mine.weight = if mine.rows == 0.0 { 0.0 } else { (mine.weight - group.weight).max(0.0) };
        }
        for (mine, theirs) in left.hidden.0.iter_mut().zip(&other.hidden.0) {
            // Files of layout 1 did not count them: what was never counted cannot be missed.
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a = (*a - b).max(0.0));
        }
        *self = left;
        Ok(())
    }
}

impl Stored for Summary {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let blocks = self.groups.first().map_or(0, |g| g.blocks.len());
        archive.put_json(&format!("{name}.shape"), &(self.folds, self.groups.len(), blocks))?;
        let sizes: Vec<f64> = self.groups.iter().flat_map(|g| [g.rows, g.weight]).collect();
        archive.put(&format!("{name}.sizes"), &[self.groups.len(), 2], &sizes)?;
        if self.hidden.0.iter().flatten().any(|&rows| rows > 0.0) {
            self.hidden.store(archive, &format!("{name}.hidden"))?;
        }
        for (g, group) in self.groups.iter().enumerate() {
            for (b, statistic) in group.blocks.iter().enumerate() {
                statistic.store(archive, &format!("{name}.class{}.fold{}.block{b}", g / self.folds, g % self.folds))?;
            }
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (folds, count, blocks): (usize, usize, usize) = archive.json(&format!("{name}.shape"))?;
        let sizes = archive.finite(&format!("{name}.sizes"), &[count, 2])?;
        if folds == 0 || !count.is_multiple_of(folds) || sizes.iter().any(|x| *x < 0.0) {
            return Err(archive.damaged("the numbers of classes, folds and rows do not fit together"));
        }
        let group = |(g, size): (usize, &[f64])| {
            let at = |b: usize| format!("{name}.class{}.fold{}.block{b}", g / folds, g % folds);
            let blocks = (0..blocks).map(|b| AnyStatistic::load(archive, &at(b))).collect::<Result<_>>()?;
            Ok(Group { rows: size[0], weight: size[1], blocks })
        };
        let groups = sizes.chunks_exact(2).enumerate().map(group).collect::<Result<_>>()?;
        let hidden = match archive.has(&format!("{name}.hidden.weights")) {
            true => Ragged::load(archive, &format!("{name}.hidden"))?,
            false => Ragged::default(),
        };
        Ok(Summary { folds, groups, hidden })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, Kind, MISSING, Schema};
    use crate::engine::{Memory, Run};
    use crate::family::AnyFamily;

    #[test]
    fn folds_do_not_depend_on_the_codes_of_levels() {
        let rows_by_fold = |levels: [&str; 3], codes: [u32; 40]| {
            let levels = levels.map(String::from).to_vec();
            let rooms = Column { name: "rooms".into(), kind: Kind::Category, levels };
            let schema = Schema::new(vec![rooms], "kind", ["flat", "house"].map(String::from).to_vec()).unwrap();
            let classes: Vec<u32> = (0..40).map(|i| i / 20).collect();
            let batch = Batch::new(40).codes(&codes).unwrap().classes(&classes).unwrap();
            let family = AnyFamily::named("categorical").unwrap();
            let blocks = vec![Block::new(vec![0], schema.columns(), family)];
            let pass = Summarise { blocks, folds: 7, seed: 1 };
            let summary = Memory::new(schema, batch).unwrap().run(&pass).unwrap();
            summary.groups.iter().map(|group| group.rows).collect::<Vec<_>>()
        };
        let codes: [u32; 40] = std::array::from_fn(|i| if i % 9 == 8 { MISSING } else { (i * i % 3) as u32 });
        let other = codes.map(|code| if code == MISSING { MISSING } else { 2 - code });
        let folds = rows_by_fold(["one", "two", "more"], codes);
        assert_eq!(folds, rows_by_fold(["more", "two", "one"], other));
        assert_ne!(folds, rows_by_fold(["one", "two", "more"], other));
    }
}
