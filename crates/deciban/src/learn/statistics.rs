//! [`Statistics`]: a summary with the schema it belongs to, as `*.stats` files hold it.
//! Files of the same columns add and subtract: `a + b − c`.

use std::collections::HashMap;
use std::path::Path;

use super::{Block, Summarise, Summary};
use crate::data::{Column, Kind, MISSING, Schema, level_key};
use crate::engine::{Engine, Run};
use crate::error::{Error, Result, list};
use crate::family::AnyStatistic;
use crate::file::{Archive, Stored, readable};
use crate::output;
use crate::statistic::{Retract, Statistic};

/// What a pass over labelled rows left, with the names of columns and classes.
#[derive(Clone, Debug)]
pub struct Statistics {
    schema: Schema,
    pass: Summarise,
    summary: Summary,
}

impl Statistics {
    /// Runs the pass on an engine.
    pub fn collect(pass: Summarise, engine: &dyn Engine) -> Result<Self> {
        let summary = engine.run(&pass)?;
        let schema = engine.schema()?;
        Ok(Statistics { schema, pass, summary }.with_all_classes())
    }

    /// Statistics whose sums somebody else has made: for each class of the schema the number of its rows, their weight
    /// and what the family of each block keeps of them.
    pub fn of_groups(schema: Schema, blocks: Vec<Block>, groups: Vec<(f64, f64, Vec<AnyStatistic>)>) -> Result<Self> {
        Error::check_shape("classes of the statistics", schema.classes().len(), groups.len())?;
        let pass = Summarise { blocks, folds: 1, seed: 0 };
        let summary = Summary::of_groups(groups);
        match summary.belongs_to(&pass) {
            true => Ok(Statistics { schema, pass, summary }),
            false => Err(Error::Schema("the statistics are not those of their blocks".into())),
        }
    }

    /// The statistics of other rows of the same columns, summarised as these were: with the same bins, maps and folds.
    pub fn of_more(&self, engine: &dyn Engine) -> Result<Self> {
        Statistics::collect(self.pass.clone(), engine)
    }

    /// Gives classes of the schema without rows their empty statistics.
    fn with_all_classes(mut self) -> Self {
        if self.summary.classes() == self.schema.classes().len() {
            return self;
        }
        let order: Vec<Option<usize>> = (0..self.schema.classes().len()).map(Some).collect();
        self.summary = self.summary.reordered(&order, &self.pass);
        self
    }

    /// Columns and classes.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The blocks that were summarised.
    pub fn blocks(&self) -> &[Block] {
        &self.pass.blocks
    }

    /// The statistics themselves.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The statistics of some of the blocks, in this order.
    ///
    /// # Panics
    /// If there is no block of that number.
    pub fn select(&self, blocks: &[usize]) -> Statistics {
        let chosen = blocks.iter().map(|&b| self.pass.blocks[b].clone()).collect();
        let pass = Summarise { blocks: chosen, ..self.pass.clone() };
        Statistics { schema: self.schema.clone(), pass, summary: self.summary.select(blocks) }
    }

    /// The classes in ascending order: as numbers if all of them are, else as text.
    pub fn sort_classes(&mut self) -> Result<()> {
        let order: Vec<Option<usize>> = self.schema.class_order().into_iter().map(Some).collect();
        self.summary = self.summary.reordered(&order, &self.pass);
        self.schema = self.schema.sorted_classes()?;
        Ok(())
    }

    fn is_sorted(&self) -> bool {
        self.schema.class_order().is_sorted()
    }

    /// Adds the rows behind `other`, which must have the same columns; classes and levels are matched
    /// by name. Where both have their classes in ascending order, so has the sum; otherwise new ones
    /// go last.
    pub fn merge(&mut self, other: &Statistics) -> Result<()> {
        self.check(other)?;
        let sorted = self.is_sorted() && other.is_sorted();
        let mut classes = self.schema.classes().to_vec();
        classes.extend(other.schema.classes().iter().filter(|c| self.schema.class(c).is_none()).cloned());
        let (columns, maps) = joined_levels(self.schema.columns(), other.schema.columns());
        let mut summary = self.with_classes_in(&classes);
        let mut added = other.with_classes_in(&classes);
        added.relevel(&maps, &other.pass)?;
        summary.merge(&added)?;
        self.schema = self.schema.with_levels(columns).with_classes(classes)?;
        self.summary = summary;
        if sorted { self.sort_classes() } else { Ok(()) }
    }

    /// Takes away the rows behind `other`, all of which must be in these statistics. Classes, levels and
    /// words that came with `other` and that no row has any more go, by name too: after
    /// [`merge`](Statistics::merge) this gives back what was there before.
    pub fn remove(&mut self, other: &Statistics) -> Result<()> {
        self.check(other)?;
        let with_rows = other.schema.classes().iter().zip(other.summary.rows()).filter(|(_, rows)| *rows > 0.0);
        if let Some((class, _)) = with_rows.into_iter().find(|(class, _)| self.schema.class(class).is_none()) {
            return Err(Error::Classes(format!("there is no class `{class}` to remove rows from")));
        }
        let (_, mut maps) = joined_levels(self.schema.columns(), other.schema.columns());
        let places = maps.iter_mut().zip(other.seen_levels());
        for ((map, seen), (own, theirs)) in places.zip(self.schema.columns().iter().zip(other.schema.columns())) {
            for (level, code) in map.iter_mut().enumerate().filter(|(_, code)| **code as usize >= own.levels.len()) {
                if seen[level] {
                    let (name, level) = (&own.name, &theirs.levels[level]);
                    return Err(Error::Schema(format!("column `{name}` has no `{level}` to remove rows from")));
                }
                *code = MISSING;
            }
        }
        let mut removed = other.with_classes_in(self.schema.classes());
        removed.relevel(&maps, &other.pass)?;
        self.check_rows(&removed)?;
        self.summary.remove(&removed).map_err(|error| self.blamed(&removed, error))?;
        self.summary.clear_empty_groups(&self.pass);
        self.drop_levels(&maps)?;
        self.drop_classes(other)
    }

    /// Refuses to remove more rows of a class than there are.
    fn check_rows(&self, removed: &Summary) -> Result<()> {
        let rows = self.summary.rows().into_iter().zip(removed.rows());
        match rows.zip(self.schema.classes()).find(|((has, less), _)| less > has) {
            Some(((has, less), class)) => Err(Error::Cancellation(format!(
                "cannot remove {less} rows of class `{class}`: there are {has}, so they were never added"
            ))),
            None => Ok(()),
        }
    }

    /// The error of removing rows, with the class and the columns that are the cause.
    fn blamed(&self, removed: &Summary, error: Error) -> Error {
        for (b, block) in self.pass.blocks.iter().enumerate() {
            let folds = self.summary.block_by_fold(b).into_iter().zip(removed.block_by_fold(b));
            for (mut has, less) in folds {
                for ((class, name), less) in self.schema.classes().iter().enumerate().zip(&less) {
                    let (columns, message) = match has[class].remove(less) {
                        Ok(()) => continue,
                        Err(Error::ColumnCancellation { column, message }) => (&block.names[column..=column], message),
                        Err(other) => (&block.names[..], other.marked()),
                    };
                    let s = if columns.len() == 1 { "" } else { "s" };
                    return Error::Cancellation(format!("class `{name}`, column{s} {}: {message}", list(columns)));
                }
            }
        }
        error
    }

    /// Which levels of each column the rows have.
    fn seen_levels(&self) -> Vec<Vec<bool>> {
        let mut seen: Vec<Vec<bool>> = self.schema.columns().iter().map(|c| vec![false; c.levels.len()]).collect();
        self.summary.mark_levels(&self.pass, &mut seen);
        seen
    }

    /// Drops the levels and words that `maps` names, those of the removed statistics, and that no row has.
    /// Others without rows stay: somebody else named them.
    fn drop_levels(&mut self, maps: &[Vec<u32>]) -> Result<()> {
        let mut columns = self.schema.columns().to_vec();
        let mut moves = vec![Vec::new(); columns.len()];
        for (c, seen) in self.seen_levels().into_iter().enumerate().filter(|(_, seen)| seen.contains(&false)) {
            let mut stays: Vec<bool> = vec![true; seen.len()];
            maps[c]
                .iter()
                .filter(|code| **code != MISSING)
                .for_each(|&code| stays[code as usize] = seen[code as usize]);
            let mut kept = Vec::new();
            for (level, stays) in std::mem::take(&mut columns[c].levels).into_iter().zip(stays) {
                moves[c].push(if stays { kept.len() as u32 } else { MISSING });
                kept.extend(stays.then_some(level));
            }
            columns[c].levels = kept;
        }
        if moves.iter().any(|codes| codes.contains(&MISSING)) {
            self.summary.relevel(&moves, &self.pass)?;
            self.schema = self.schema.with_levels(columns);
        }
        Ok(())
    }

    /// Drops the classes of `other` that no row has, unless the classes are one against the rest.
    fn drop_classes(&mut self, other: &Statistics) -> Result<()> {
        let (classes, rows) = (self.schema.classes(), self.summary.rows());
        let stays = |&class: &usize| rows[class] > 0.0 || other.schema.class(&classes[class]).is_none();
        let kept: Vec<usize> = (0..classes.len()).filter(stays).collect();
        if kept.len() < classes.len() && self.schema.spelling().versus_rest.is_none() {
            let names = kept.iter().map(|&class| classes[class].clone()).collect();
            let order: Vec<Option<usize>> = kept.into_iter().map(Some).collect();
            self.summary = self.summary.reordered(&order, &self.pass);
            self.schema = self.schema.with_classes(names)?;
        }
        Ok(())
    }

    /// The summary with its classes in this order, empty where there are none.
    fn with_classes_in(&self, classes: &[String]) -> Summary {
        let order: Vec<Option<usize>> = classes.iter().map(|c| self.schema.class(c)).collect();
        self.summary.reordered(&order, &self.pass)
    }

    fn check(&self, other: &Statistics) -> Result<()> {
        let (mine, theirs) = (self.schema.names(), other.schema.names());
        if mine != theirs {
            let odd = theirs.iter().find(|n| !mine.contains(n)).or_else(|| mine.iter().find(|n| !theirs.contains(n)));
            let hint = odd.map_or("their order differs".to_string(), |name| format!("only one has `{name}`"));
            return Err(Error::Schema(format!("the statistics have different columns: {hint}")));
        }
        let kinds = |side: &Statistics| side.schema.columns().iter().map(|c| c.kind).collect::<Vec<_>>();
        if kinds(self) != kinds(other) {
            return Err(Error::Schema("the statistics hold the same columns as different kinds".into()));
        }
        if self.schema.reading() != other.schema.reading() {
            return Err(Error::Schema(
                "the statistics read texts in different ways: make them with the same options".into(),
            ));
        }
        if self.schema.spelling().versus_rest != other.schema.spelling().versus_rest {
            return Err(Error::Schema(
                "the statistics have different classes: make them with the same §versus_rest".into(),
            ));
        }
        if self.pass.folds != other.pass.folds {
            return Err(Error::Schema(format!(
                "the statistics have {} and {} folds: make them with the same §folds",
                self.pass.folds, other.pass.folds
            )));
        }
        let same_maps = |(a, b): (&Block, &Block)| {
            a.deskew == b.deskew
                && a.gaussianise == b.gaussianise
                && a.discretise == b.discretise
                && a.columns == b.columns
        };
        if self.pass.blocks.len() != other.pass.blocks.len()
            || !self.pass.blocks.iter().zip(&other.pass.blocks).all(same_maps)
        {
            return Err(Error::Schema(
                "the statistics were made with other blocks, another §deskew, §gaussianise, §family or §bins: make them with the same options"
                    .into(),
            ));
        }
        Ok(())
    }

    /// Writes a statistics file, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        output::write(path, &self.to_bytes()?)
    }

    /// What a statistics file holds. It is read back first, so that every file can be read.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        readable(self.archive()?.to_bytes()?, Statistics::from_bytes)
    }

    fn archive(&self) -> Result<Archive> {
        let mut archive = Archive::new("statistics");
        self.put(&mut archive, "")?;
        Ok(archive)
    }

    /// Puts the parts under names that begin so.
    fn put(&self, archive: &mut Archive, beginning: &str) -> Result<()> {
        archive.put_json(&format!("{beginning}schema"), &self.schema)?;
        self.pass.store(archive, &format!("{beginning}pass"))?;
        self.summary.store(archive, &format!("{beginning}summary"))
    }

    /// Reads a statistics file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Statistics::get(&Archive::read(path, "statistics")?, "")
    }

    /// Reads what a statistics file holds.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Statistics::get(&Archive::from_bytes(bytes, "statistics")?, "")
    }

    fn get(archive: &Archive, beginning: &str) -> Result<Self> {
        let schema: Schema = archive.json(&format!("{beginning}schema"))?;
        let pass = Summarise::load(archive, &format!("{beginning}pass"))?;
        let summary = Summary::load(archive, &format!("{beginning}summary"))?;
        let columns_exist = pass.blocks.iter().flat_map(|b| &b.columns).all(|&c| c < schema.columns().len());
        let counts_agree = summary.classes() == schema.classes().len() && summary.folds() == pass.folds;
        if !counts_agree || !columns_exist || !summary.belongs_to(&pass) {
            return Err(archive.damaged("its parts do not belong together"));
        }
        Ok(Statistics { schema, pass, summary })
    }
}

impl Stored for Statistics {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.put(archive, &format!("{name}."))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        Statistics::get(archive, &format!("{name}."))
    }
}

/// The first columns with the levels of both, and for each column where the levels of the second
/// stand in them.
fn joined_levels(first: &[Column], second: &[Column]) -> (Vec<Column>, Vec<Vec<u32>>) {
    let mut columns = first.to_vec();
    let mut maps = Vec::new();
    for (column, other) in columns.iter_mut().zip(second) {
        // Words are what they are; levels may be written in several ways, of which the first stays.
        let is_text = column.kind == Kind::Text;
        let key = |level: &str| match is_text {
            true => level.as_bytes().to_vec(),
            false => level_key(level.as_bytes()).into_owned(),
        };
        let mut codes: HashMap<Vec<u8>, u32> = HashMap::new();
        for (level, code) in column.levels.iter().zip(0..) {
            codes.entry(key(level)).or_insert(code);
        }
        let own: HashMap<String, u32> = column.levels.iter().cloned().zip(0..).collect();
        let mut map = Vec::new();
        for level in &other.levels {
            let next = column.levels.len() as u32;
            let code = own.get(level).copied().unwrap_or_else(|| *codes.entry(key(level)).or_insert(next));
            if code == next {
                column.levels.push(level.clone());
            }
            map.push(code);
        }
        maps.push(map);
    }
    (columns, maps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_one_level_when_statistics_are_merged() {
        let column = |kind, levels: &[&str]| {
            vec![Column { name: "x".into(), kind, levels: levels.iter().map(|level| level.to_string()).collect() }]
        };
        let levels = |kind| joined_levels(&column(kind, &["4", "red"]), &column(kind, &["red", "4.0", "04", "4e0"]));
        let (columns, maps) = levels(Kind::Category);
        assert_eq!(columns[0].levels, ["4", "red", "04"]);
        assert_eq!(maps, [[1, 0, 2, 0]]);
        // Words are what they are.
        let (columns, maps) = levels(Kind::Text);
        assert_eq!(columns[0].levels, ["4", "red", "4.0", "04", "4e0"]);
        assert_eq!(maps, [[1, 2, 3, 4]]);
    }
}
