//! The pass of every generative model: for each block, class and fold, the family's statistic.
//!
//! Classes may turn up as the rows come: a summary grows when it meets a new code, so a stream is
//! read once. Folds are drawn from what a row holds: equal rows share a fold, in whatever file and
//! place they stand, so statistics in folds add and subtract like all others.

use serde::{Deserialize, Serialize};

use crate::data::{Batch, Cells, Column, Kind, Rows, Tile};
use crate::error::{Error, Result};
use crate::family::{AnyFamily, AnyStatistic, Family};
use crate::file::{Archive, Stored};
use crate::numerics::hash;
use crate::pass::Pass;
use crate::statistic::Statistic;
use crate::transform::{Discretise, Gaussianise};

/// Columns modelled jointly given the class, with the family of their density.
#[derive(Clone, Debug)]
pub struct Block {
    /// The columns' places in the schema.
    pub columns: Vec<usize>,
    /// Their names.
    pub names: Vec<String>,
    /// A map of each number towards a normal one, before the family sees it.
    pub gaussianise: Option<Gaussianise>,
    /// Bins for the block's numbers, so that a family of categories sees codes only.
    pub discretise: Option<Discretise>,
    /// The family.
    pub family: AnyFamily,
}

#[derive(Serialize, Deserialize)]
struct StoredBlock {
    columns: Vec<usize>,
    names: Vec<String>,
    gaussianised: bool,
    #[serde(default)]
    discretised: bool,
    family: AnyFamily,
}

impl Stored for Block {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let stored = StoredBlock {
            columns: self.columns.clone(),
            names: self.names.clone(),
            gaussianised: self.gaussianise.is_some(),
            discretised: self.discretise.is_some(),
            family: self.family.clone(),
        };
        archive.put_json(name, &stored)?;
        if let Some(map) = &self.gaussianise {
            map.store(archive, &format!("{name}.gaussianise"))?;
        }
        match &self.discretise {
            Some(bins) => bins.store(archive, &format!("{name}.discretise")),
            None => Ok(()),
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let StoredBlock { columns, names, gaussianised, discretised, family } = archive.json(name)?;
        if columns.len() != names.len() || columns.is_empty() {
            return Err(archive.damaged(&format!("`{name}` does not name its columns")));
        }
        let gaussianise = match gaussianised {
            true => Some(Gaussianise::load(archive, &format!("{name}.gaussianise"))?),
            false => None,
        };
        let discretise = match discretised {
            true => Some(Discretise::load(archive, &format!("{name}.discretise"))?),
            false => None,
        };
        let widths = [gaussianise.as_ref().map(Gaussianise::width), discretise.as_ref().map(Discretise::width)];
        if widths.iter().flatten().any(|&width| width != columns.len()) {
            return Err(archive.damaged(&format!("`{name}` has a map for other columns")));
        }
        if gaussianised && discretised {
            return Err(archive.damaged(&format!("`{name}` is both gaussianised and discretised")));
        }
        Ok(Block { columns, names, gaussianise, discretise, family })
    }
}

impl Block {
    /// The columns at these places of the schema, by one family.
    pub fn new(places: Vec<usize>, columns: &[Column], family: AnyFamily) -> Self {
        let names = places.iter().map(|&c| columns[c].name.clone()).collect();
        Block { columns: places, names, gaussianise: None, discretise: None, family }
    }

    /// The block's columns as its family sees them: numbers with bins are categories, whose levels
    /// are the bins. `columns` are the schema's.
    ///
    /// # Panics
    /// If the schema lacks a column of the block.
    pub fn seen_columns(&self, columns: &[Column]) -> Vec<Column> {
        let seen = |(j, &column): (usize, &usize)| match self.discretise.as_ref().and_then(|d| d.bins(j)) {
            Some(bins) => Column { name: self.names[j].clone(), kind: Kind::Category, levels: bins.names() },
            None => columns[column].clone(),
        };
        self.columns.iter().enumerate().map(seen).collect()
    }

    /// How many levels each of them has.
    pub(super) fn seen_levels(&self, columns: &[Column]) -> Vec<usize> {
        let seen = |(j, &column): (usize, &usize)| match self.discretise.as_ref().and_then(|d| d.bins(j)) {
            Some(bins) => bins.count(),
            None => columns[column].levels.len(),
        };
        self.columns.iter().enumerate().map(seen).collect()
    }

    /// Adds rows of several groups in one go, if the family can: the `i`th to `statistics[groups[i]]`.
    fn observe_mixed(
        &self,
        statistics: &mut [&mut AnyStatistic],
        batch: &Batch<'_>,
        rows: Rows<'_>,
        groups: &[u32],
    ) -> Option<Result<()>> {
        if self.gaussianise.is_some() || self.discretise.is_some() {
            return None;
        }
        let cells = Cells::new(batch, &self.columns, rows);
        self.family.observe_mixed(statistics, &cells, groups, &self.names)
    }

    /// Runs `body` on the block's cells in the chosen rows, gaussianised or discretised if the block is so. The
    /// second argument is the log-Jacobian of each row, empty where it is 0.
    pub(crate) fn with_cells<R>(
        &self,
        batch: &Batch<'_>,
        rows: Rows<'_>,
        body: impl FnOnce(&Cells<'_>, &[f64]) -> Result<R>,
    ) -> Result<R> {
        let cells = Cells::new(batch, &self.columns, rows.clone());
        if let Some(discretise) = &self.discretise {
            return self.with_codes(discretise, batch, rows, body);
        }
        let Some(map) = &self.gaussianise else { return body(&cells, &[]) };
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        cells.read_numbers(&mut tile)?;
        let mut log_jacobian = vec![0.0; tile.rows()];
        map.apply(&mut tile, &mut log_jacobian)?;
        cells.read_weights(&mut weights);
        let mut mapped = Batch::new(tile.rows()).column_major(tile.data(), tile.width())?;
        if let Rows::Range(range) = &rows {
            mapped = mapped.first_row(batch.row_number(range.start));
        }
        if cells.weighted() {
            mapped = mapped.weights(&weights)?;
        }
        let columns: Vec<usize> = (0..tile.width()).collect();
        body(&Cells::new(&mapped, &columns, Rows::Range(0..tile.rows())), &log_jacobian)
    }

    /// Runs `body` on codes: numbers become those of their bins, categories pass through.
    fn with_codes<R>(
        &self,
        discretise: &Discretise,
        batch: &Batch<'_>,
        rows: Rows<'_>,
        body: impl FnOnce(&Cells<'_>, &[f64]) -> Result<R>,
    ) -> Result<R> {
        let mut codes = vec![Vec::new(); self.columns.len()];
        let mut tile = Tile::default();
        for (j, codes) in codes.iter_mut().enumerate() {
            let cells = Cells::new(batch, &self.columns[j..=j], rows.clone());
            match discretise.bins(j) {
                None => cells.read_codes(0, codes)?,
                Some(bins) => {
                    cells.read_numbers(&mut tile)?;
                    if let Some(i) = tile.column(0).iter().position(|x| x.is_infinite()) {
                        return Err(Error::Infinite { column: self.names[j].clone(), row: cells.row_number(i) + 1 });
                    }
                    bins.codes(tile.column(0), codes);
                }
            }
        }
        let mut weights = Vec::new();
        let cells = Cells::new(batch, &self.columns, rows.clone());
        cells.read_weights(&mut weights);
        let mut mapped = Batch::new(rows.len());
        if let Rows::Range(range) = &rows {
            mapped = mapped.first_row(batch.row_number(range.start));
        }
        for codes in &codes {
            mapped = mapped.codes(codes)?;
        }
        if cells.weighted() {
            mapped = mapped.weights(&weights)?;
        }
        let columns: Vec<usize> = (0..self.columns.len()).collect();
        body(&Cells::new(&mapped, &columns, Rows::Range(0..rows.len())), &[])
    }
}

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
        let blocks = self.blocks.iter().map(|block| block.family.empty(block.columns.len())).collect();
        Group { rows: 0.0, weight: 0.0, blocks }
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
}

impl Pass for Summarise {
    const NAME: &'static str = "summarise";
    type Statistic = Summary;

    fn empty(&self) -> Summary {
        Summary { folds: self.folds, groups: Vec::new() }
    }

    fn size(&self) -> usize {
        // A handful of classes: how many there are is not known before the rows are read.
        let per_class: usize = self.blocks.iter().map(|block| block.family.size(block.columns.len())).sum();
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
        let mut sizes = vec![0; summary.groups.len()];
        groups.iter().for_each(|&g| sizes[g as usize] += 1);
        for (group, &size) in summary.groups.iter_mut().zip(&sizes) {
            group.rows += size as f64;
            group.weight += if batch.row_weights().is_none() { size as f64 } else { 0.0 };
        }
        if let Some(weights) = batch.row_weights() {
            let weighed = groups.iter().enumerate();
            weighed.for_each(|(i, &g)| summary.groups[g as usize].weight += weights[rows.get(i)]);
        }
        let mut sorted = None;
        for (b, block) in self.blocks.iter().enumerate() {
            let mut statistics: Vec<_> = summary.groups.iter_mut().map(|group| &mut group.blocks[b]).collect();
            if let Some(observed) = block.observe_mixed(&mut statistics, batch, rows.clone(), &groups) {
                observed?;
                continue;
            }
            let sorted: &Vec<u32> = sorted.get_or_insert_with(|| sort_by_group(&rows, &groups, &sizes));
            let mut rest = &sorted[..];
            for (statistic, &size) in statistics.into_iter().zip(&sizes).filter(|(_, size)| **size > 0) {
                let rows;
                (rows, rest) = rest.split_at(size);
                block.with_cells(batch, Rows::Index(rows), |cells, _| {
                    block.family.observe(statistic, cells, &block.names)
                })?;
            }
        }
        Ok(())
    }
}

/// The rows of the first group in their order, then those of the next; `sizes` says how many each has.
fn sort_by_group(rows: &Rows<'_>, group_of: &[u32], sizes: &[usize]) -> Vec<u32> {
    let starts = sizes.iter().scan(0, |next, size| {
        let start = *next;
        *next += size;
        Some(start)
    });
    let mut next: Vec<usize> = starts.collect();
    let mut sorted = vec![0; rows.len()];
    for (i, &group) in group_of.iter().enumerate() {
        let place = &mut next[group as usize];
        sorted[*place] = rows.get(i) as u32;
        *place += 1;
    }
    sorted
}

/// The statistics of every block for every class and fold.
#[derive(Clone, Debug)]
pub struct Summary {
    folds: usize,
    /// Group `class·folds + fold`.
    groups: Vec<Group>,
}

#[derive(Clone, Debug)]
struct Group {
    rows: f64,
    weight: f64,
    blocks: Vec<AnyStatistic>,
}

impl Group {
    fn merge(&mut self, other: &Group) -> Result<()> {
        Error::check_shape("blocks of the merged statistics", self.blocks.len(), other.blocks.len())?;
        for (a, b) in self.blocks.iter_mut().zip(&other.blocks) {
            a.merge(b)?;
        }
        self.rows += other.rows;
        self.weight += other.weight;
        Ok(())
    }
}

impl Summary {
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
        Summary { folds: self.folds, groups: self.groups.iter().map(chosen).collect() }
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
        Summary { folds: self.folds, groups: order.iter().flat_map(class).collect() }
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
        Ok(())
    }

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
        Ok(Summary { folds, groups })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{MISSING, Schema};
    use crate::engine::{Engine, Memory};
    use crate::family::histogram::Histogram;
    use crate::pass::{from_bytes, to_bytes};
    use crate::transform::{Binning, Bins};

    const AREA: [f64; 8] = [300.0, 420.0, 500.0, f64::NAN, 900.0, 1300.0, 1500.0, 2000.0];
    const ROOMS: [u32; 8] = [0, 1, 0, MISSING, 2, 1, 2, 2];
    const CLASSES: [u32; 8] = [0, 0, 0, 0, 1, 1, 1, 1];
    const WEIGHTS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

    fn batch() -> Batch<'static> {
        let batch = Batch::new(8).codes(&ROOMS).unwrap().column(&AREA[..]).unwrap();
        batch.classes(&CLASSES).unwrap().weights(&WEIGHTS).unwrap().first_row(40)
    }

    fn schema() -> Schema {
        let levels = ["one", "two", "more"].map(String::from).to_vec();
        let rooms = Column { name: "rooms".into(), kind: Kind::Category, levels };
        Schema::new(vec![rooms, Column::number("area")], "kind", ["flat", "house"].map(String::from).to_vec()).unwrap()
    }

    fn block(columns: &[usize], discretise: Option<Discretise>) -> Block {
        Block {
            columns: columns.to_vec(),
            names: columns.iter().map(|&c| ["rooms", "area"][c].to_string()).collect(),
            gaussianise: None,
            discretise,
            family: AnyFamily::Histogram(Histogram::default()),
        }
    }

    #[test]
    fn families_of_categories_see_mixed_columns_as_codes() {
        let bins = Bins::new(vec![400.0, 800.0, 1200.0], None, None).unwrap();
        let block = block(&[0, 1], Some(Discretise::new(vec![None, Some(bins)])));
        let codes = |rows: Rows<'_>| {
            block.with_cells(&batch(), rows, |cells, log_jacobian| {
                let (mut rooms, mut area, mut weights) = (Vec::new(), Vec::new(), Vec::new());
                cells.read_codes(0, &mut rooms)?;
                cells.read_codes(1, &mut area)?;
                cells.read_weights(&mut weights);
                assert!(log_jacobian.is_empty());
                Ok((rooms, area, weights, cells.row_number(0)))
            })
        };
        let (rooms, area, weights, first) = codes(Rows::Range(2..6)).unwrap();
        assert_eq!((rooms, area), (vec![0, MISSING, 2, 1], vec![1, MISSING, 2, 3]));
        assert_eq!((weights, first), (vec![3.0, 4.0, 5.0, 6.0], 42));
        let (rooms, area, weights, _) = codes(Rows::Index(&[7, 0])).unwrap();
        assert_eq!((rooms, area, weights), (vec![2, 0], vec![3, 0], vec![8.0, 1.0]));
        let seen = block.seen_columns(schema().columns());
        assert_eq!(seen[0], schema().columns()[0]);
        assert_eq!(seen[1].levels, ["<400", "400..800", "800..1200", ">=1200"]);
    }

    #[test]
    fn folds_do_not_depend_on_the_codes_of_levels() {
        let rows_by_fold = |levels: [&str; 3], codes: [u32; 40]| {
            let levels = levels.map(String::from).to_vec();
            let rooms = Column { name: "rooms".into(), kind: Kind::Category, levels };
            let schema = Schema::new(vec![rooms], "kind", ["flat", "house"].map(String::from).to_vec()).unwrap();
            let classes: Vec<u32> = (0..40).map(|i| i / 20).collect();
            let batch = Batch::new(40).codes(&codes).unwrap().classes(&classes).unwrap();
            let family = AnyFamily::named("categorical").unwrap();
            let pass = Summarise { blocks: vec![Block { family, ..block(&[0], None) }], folds: 7, seed: 1 };
            let summary = Memory::new(schema, batch).unwrap().run(&pass).unwrap();
            summary.groups.iter().map(|group| group.rows).collect::<Vec<_>>()
        };
        let codes: [u32; 40] = std::array::from_fn(|i| if i % 9 == 8 { MISSING } else { (i * i % 3) as u32 });
        let other = codes.map(|code| if code == MISSING { MISSING } else { 2 - code });
        let folds = rows_by_fold(["one", "two", "more"], codes);
        assert_eq!(folds, rows_by_fold(["more", "two", "one"], other));
        assert_ne!(folds, rows_by_fold(["one", "two", "more"], other));
    }

    #[test]
    fn bins_come_from_the_pass_of_the_histogram() {
        // Flats reach to 500 (weights 1, 2, 3), houses begin at 900 (5, 6, 7, 8): one cut between.
        let pass = Summarise { blocks: vec![block(&[1], None)], folds: 1, seed: 0 };
        let summary = Memory::new(schema(), batch()).unwrap().run(&pass).unwrap();
        let found = Discretise::from_statistics(&Binning::Mdl, &summary.block(0).unwrap()).unwrap();
        assert_eq!(found.bins(0).unwrap().cuts(), [700.0]);
        assert_eq!(found.bins(0).unwrap().edges(1), (700.0, 2000.0));
        let halves = Discretise::from_statistics(&Binning::Quantiles(2), &summary.block(0).unwrap()).unwrap();
        // 17 of 32 lie up to 1300.
        assert_eq!(halves.bins(0).unwrap().cuts(), [1400.0]);
        let placed = found.among(2, &[1]).unwrap();
        assert!(placed.bins(0).is_none() && placed.bins(1).is_some());
    }

    #[test]
    fn blocks_are_stored_with_their_bins() {
        let bins = || Some(Bins::new(vec![400.0], None, None).unwrap());
        let good = block(&[0, 1], Some(Discretise::new(vec![None, bins()])));
        let loaded: Block = from_bytes(&to_bytes(&good).unwrap()).unwrap();
        assert_eq!((&loaded.columns, &loaded.discretise), (&good.columns, &good.discretise));
        let narrow = block(&[0, 1], Some(Discretise::new(vec![bins()])));
        assert!(from_bytes::<Block>(&to_bytes(&narrow).unwrap()).is_err());
        let both = Block { gaussianise: Some(Gaussianise::fit(&vec![Default::default(); 2])), ..good };
        assert!(from_bytes::<Block>(&to_bytes(&both).unwrap()).is_err());
    }

    #[test]
    fn infinite_numbers_are_named() {
        let area = [1.0, f64::INFINITY];
        let batch = Batch::new(2).column(&area[..]).unwrap().first_row(10);
        let mut block = block(&[0], Some(Discretise::new(vec![Some(Bins::new(vec![], None, None).unwrap())])));
        block.names = vec!["area".into()];
        let error = block.with_cells(&batch, Rows::Index(&[1]), |_, _| Ok(())).unwrap_err().to_string();
        assert!(error.starts_with("column `area`, row 12:"), "{error}");
    }
}
