//! Folds: which rows are held out together.
//!
//! - **Stratified**: every class is spread evenly. Row i of the input draws hash(seed, i), or a hash of
//!   what it holds, as the engine's [`Identity`] says; the rows of a class are ranked by it, and of n rows rank r goes to fold ⌊rK/n⌋, so that folds of a class
//!   differ by one row at most. Each class begins where the one before ended, so that folds of many
//!   small classes fill up alike. Classes of more than 65,536 rows are cut where a uniform hash
//!   should be: their folds differ by chance, by less than two per cent.
//! - **Grouped**: rows of a group stay together; the largest groups are dealt out first, each to the
//!   fold with the fewest rows. Where an engine tells rows apart by their groups, all folds are of this sort.
//! - **Given**: a column says it.
//!
//! On one machine folds go by a row's place by default, not by what it holds, as folds of statistics
//! files do: in a table of categories many rows are equal, and holding all of them out would ask a model
//! about rows whose kind it has never seen. The price is that the same rows in another order have other
//! folds. Rows on several machines have no lasting order, so there folds go by what rows hold; one machine
//! has the same folds if its rows are told apart by their contents, too. Rows that belong together for another
//! reason need groups.

mod view;

pub use view::{Folded, View, Viewed};

use serde::{Deserialize, Serialize};

use crate::data::{Batch, Identity, MISSING};
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::hash;
use crate::pass::Pass;
use crate::statistic::Statistic;

/// Classes with more rows are cut by the distribution of the hash.
const MOST_RANKED: usize = 1 << 16;

/// The rule that gives each row its fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Folds {
    count: usize,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Rule {
    /// For each class the hashes at which folds 1, 2, ... begin, and the fold it begins with.
    Stratified {
        seed: u64,
        #[serde(default)]
        by: Identity,
        classes: Vec<(Vec<u64>, usize)>,
    },
    /// The fold of each code that the batches carry.
    Coded(Vec<u32>),
}

/// All that folds depend on beside the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drawn {
    pub count: usize,
    pub seed: u64,
    pub by: Identity,
}

impl Folds {
    /// Folds in which every class is spread evenly; one pass over the labels. Where the engine tells rows apart by
    /// their groups, groups stay together, and of fewer groups than folds each is a fold.
    pub fn stratified(engine: &dyn Engine, count: usize, seed: u64) -> Result<Self> {
        check_count(count)?;
        let by = engine.identity();
        if by == Identity::Group {
            let Counts(rows) = engine.run(&Count)?;
            let groups = rows.iter().filter(|rows| **rows > 0).count();
            return match groups {
                0 | 1 => Err(Error::parameter("group", "all rows are of one group: nothing can be held out")),
                _ => Ok(Folds::of_groups(&rows, count.min(groups), seed)),
            };
        }
        let Draws { classes } = engine.run(&Draw { seed, by })?;
        let mut start = 0;
        let mut cuts = Vec::new();
        for (rows, mut hashes) in classes {
            hashes.sort_unstable();
            let begin = |fold: usize| match rows > MOST_RANKED {
                true => ((fold as u128) << 64).div_ceil(count as u128) as u64,
                // A fold that gets no row begins behind all of them.
                false => hashes.get((fold * rows).div_ceil(count)).copied().unwrap_or(u64::MAX),
            };
            cuts.push(((1..count).map(begin).collect(), start));
            start = (start + rows) % count;
        }
        Ok(Folds { count, rule: Rule::Stratified { seed, by, classes: cuts } })
    }

    /// Folds that keep the groups together whose codes the batches carry; one pass over them.
    pub fn grouped(engine: &dyn Engine, count: usize, seed: u64) -> Result<Self> {
        check_count(count)?;
        let Counts(rows) = engine.run(&Count)?;
        if rows.len() < count {
            let message = format!("{} groups are too few for {count} folds: give §folds={}", rows.len(), rows.len());
            return Err(Error::parameter("group", message));
        }
        Ok(Folds::of_groups(&rows, count, seed))
    }

    /// Deals groups into folds; `rows` are the numbers of their rows.
    fn of_groups(rows: &[usize], count: usize, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&g| (std::cmp::Reverse(rows[g]), hash(seed, g as u64)));
        let (mut filled, mut fold) = (vec![0; count], vec![0; rows.len()]);
        for g in order {
            // There is at least one fold.
            let least = (0..count).min_by_key(|&f| filled[f]).expect("a fold");
            filled[least] += rows[g];
            fold[g] = least as u32;
        }
        Folds { count, rule: Rule::Coded(fold) }
    }

    /// Folds that the batches carry themselves, counted from 0; one pass over them.
    pub fn given(engine: &dyn Engine) -> Result<Self> {
        let Counts(rows) = engine.run(&Count)?;
        if rows.len() < 2 {
            return Err(Error::parameter("fold", "the column has one value only: at least two folds are needed"));
        }
        Ok(Folds { count: rows.len(), rule: Rule::Coded((0..rows.len() as u32).collect()) })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How they were drawn, if they were.
    pub(crate) fn drawn(&self) -> Option<Drawn> {
        match &self.rule {
            Rule::Stratified { seed, by, .. } => Some(Drawn { count: self.count, seed: *seed, by: *by }),
            Rule::Coded(_) => None,
        }
    }

    /// What tells rows apart.
    pub(crate) fn identity(&self) -> Identity {
        match &self.rule {
            Rule::Stratified { by, .. } => *by,
            Rule::Coded(_) => Identity::Place,
        }
    }

    /// The fold of each row of a labelled batch; of rows without a label, [`MISSING`].
    pub fn of(&self, batch: &Batch<'_>) -> Result<Vec<u32>> {
        let labels = batch.labels_to_learn()?;
        match &self.rule {
            Rule::Stratified { seed, by, classes } => Ok(labels
                .iter()
                .zip(by.draw(*seed, batch))
                .map(|(&class, drawn)| match classes.get(class as usize) {
                    None => MISSING,
                    Some((cuts, start)) => ((cuts.partition_point(|cut| *cut <= drawn) + start) % self.count) as u32,
                })
                .collect()),
            Rule::Coded(fold) => {
                let codes = batch.given_folds().ok_or_else(no_codes)?;
                let labelled = labels.iter().enumerate();
                labelled
                    .map(|(row, &class)| match (class, fold.get(codes[row] as usize)) {
                        (MISSING, _) => Ok(MISSING),
                        (_, Some(&fold)) => Ok(fold),
                        (_, None) => Err(missing_code(batch, row)),
                    })
                    .collect()
            }
        }
    }
}

fn check_count(count: usize) -> Result<()> {
    match count {
        0 | 1 => Err(Error::parameter("folds", "at least 2 folds are needed")),
        _ => Ok(()),
    }
}

fn no_codes() -> Error {
    Error::Schema("the rows carry no folds or groups".into())
}

fn missing_code(batch: &Batch<'_>, row: usize) -> Error {
    Error::Schema(format!("row {}: the group or fold is missing", batch.row_number(row) + 1))
}

/// The pass that draws a hash for each labelled row.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    seed: u64,
    by: Identity,
}

/// For each class its rows and, while they are not too many, their hashes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draws {
    classes: Vec<(usize, Vec<u64>)>,
}

impl Pass for Draw {
    const NAME: &'static str = "draw folds";
    type Statistic = Draws;

    fn empty(&self) -> Draws {
        Draws::default()
    }

    fn size(&self) -> usize {
        8 * MOST_RANKED
    }

    fn wants_hashes(&self) -> bool {
        self.by.wants_hashes()
    }

    fn observe(&self, draws: &mut Draws, batch: &Batch<'_>) -> Result<()> {
        let labels = batch.labels_to_learn()?;
        let drawn = self.by.draw(self.seed, batch);
        for (&class, hash) in labels.iter().zip(drawn).filter(|(class, _)| **class != MISSING) {
            draws.add(class as usize, 1, &[hash]);
        }
        Ok(())
    }
}

impl Draws {
    fn add(&mut self, class: usize, rows: usize, hashes: &[u64]) {
        if self.classes.len() <= class {
            self.classes.resize(class + 1, (0, Vec::new()));
        }
        let (count, kept) = &mut self.classes[class];
        *count += rows;
        match *count > MOST_RANKED {
            true => *kept = Vec::new(),
            false => kept.extend(hashes),
        }
    }
}

impl Statistic for Draws {
    fn merge(&mut self, other: &Self) -> Result<()> {
        for (class, (rows, hashes)) in other.classes.iter().enumerate() {
            self.add(class, *rows, hashes);
        }
        Ok(())
    }
}

impl Stored for Draw {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.seed, self.by))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (seed, by) = archive.json(name)?;
        Ok(Draw { seed, by })
    }
}

impl Stored for Draws {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &self.classes)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        Ok(Draws { classes: archive.json(name)? })
    }
}

/// The pass that counts the labelled rows of each code that batches carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Count;

/// Rows per code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts(Vec<usize>);

impl Pass for Count {
    const NAME: &'static str = "count groups";
    type Statistic = Counts;

    fn empty(&self) -> Counts {
        Counts::default()
    }

    fn size(&self) -> usize {
        1 << 16
    }

    fn observe(&self, counts: &mut Counts, batch: &Batch<'_>) -> Result<()> {
        let (codes, labels) = (batch.given_folds().ok_or_else(no_codes)?, batch.labels_to_learn()?);
        for (row, &code) in codes.iter().enumerate().filter(|(row, _)| labels[*row] != MISSING) {
            if code == MISSING {
                return Err(missing_code(batch, row));
            }
            counts.add(code as usize, 1);
        }
        Ok(())
    }
}

impl Counts {
    fn add(&mut self, code: usize, rows: usize) {
        if self.0.len() <= code {
            self.0.resize(code + 1, 0);
        }
        self.0[code] += rows;
    }
}

impl Statistic for Counts {
    fn merge(&mut self, other: &Self) -> Result<()> {
        other.0.iter().enumerate().for_each(|(code, rows)| self.add(code, *rows));
        Ok(())
    }
}

impl Stored for Count {
    fn store(&self, _: &mut Archive, _: &str) -> Result<()> {
        Ok(())
    }

    fn load(_: &Archive, _: &str) -> Result<Self> {
        Ok(Count)
    }
}

impl Stored for Counts {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &self.0)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        Ok(Counts(archive.json(name)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, Kind, Schema, Sparse, row_hashes};
    use crate::engine::Memory;

    fn sizes(folds: &Folds, batch: &Batch<'_>, labels: &[u32], classes: usize) -> Vec<Vec<usize>> {
        let mut sizes = vec![vec![0; folds.count()]; classes];
        for (fold, class) in folds.of(batch).unwrap().iter().zip(labels) {
            sizes[*class as usize][*fold as usize] += 1;
        }
        sizes
    }

    #[test]
    fn classes_are_spread_to_within_one_row() {
        // 97 rows of a, 53 of b, 3 of c, 1 of d.
        let labels: Vec<u32> = [(97, 0), (53, 1), (3, 2), (1, 3)].iter().flat_map(|&(n, c)| vec![c; n]).collect();
        let x = vec![0.0; labels.len()];
        let batch = Batch::new(x.len()).column(&x[..]).unwrap().classes(&labels).unwrap();
        let schema = Schema::numbers(&["x"], "class", &["a", "b", "c", "d"]).unwrap();
        let engine = Memory::new(schema, batch.clone()).unwrap();
        let folds = Folds::stratified(&engine, 10, 1).unwrap();
        for class in sizes(&folds, &batch, &labels, 4) {
            let (least, most) = (class.iter().min().unwrap(), class.iter().max().unwrap());
            assert!(most - least <= 1, "{class:?}");
        }
        assert_eq!(folds, Folds::stratified(&engine, 10, 1).unwrap());
        let other = Folds::stratified(&engine, 10, 2).unwrap();
        assert_ne!(folds.of(&batch).unwrap(), other.of(&batch).unwrap());
        assert!(Folds::stratified(&engine, 1, 1).is_err());
    }

    #[test]
    fn by_contents_folds_do_not_depend_on_the_order_of_rows_and_their_codes() {
        // 300 rows, each number 3 times, with one of two colours and texts of two words; reversed, with other codes.
        let rows = |number: usize| ((number % 100) as f64, (number % 2) as u32, [(number % 5) as u32, 5]);
        let folds_of = |order: &[usize], colours: [&str; 2], colour_code: fn(u32) -> u32| {
            let numbers: Vec<f64> = order.iter().map(|&i| rows(i).0).collect();
            let colour: Vec<u32> = order.iter().map(|&i| colour_code(rows(i).1)).collect();
            let words: Vec<u32> = order.iter().flat_map(|&i| rows(i).2).collect();
            let starts: Vec<usize> = (0..=order.len()).map(|i| 2 * i).collect();
            let ones = vec![1.0; words.len()];
            let labels: Vec<u32> = order.iter().map(|&i| u32::from(i % 100 >= 70)).collect();
            let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
            let columns = vec![
                Column::number("x"),
                Column { name: "colour".into(), kind: Kind::Category, levels: names(&colours) },
                Column { name: "text".into(), kind: Kind::Text, levels: names(&["a", "b", "c", "d", "e", "f"]) },
            ];
            let schema = Schema::new(columns, "y", vec!["p".into(), "q".into()]).unwrap();
            let texts = Sparse::of_words(&starts[..], &words[..], &ones[..], 6).unwrap();
            let batch = Batch::new(order.len()).column(&numbers[..]).unwrap().codes(&colour).unwrap();
            let batch = batch.sparse(texts).unwrap().classes(&labels).unwrap();
            let mut engine = Memory::new(schema, batch.clone()).unwrap();
            engine.tell_apart(Identity::Contents);
            let folds = Folds::stratified(&engine, 5, 3).unwrap();
            // As the engine hands rows to a pass that wants hashes.
            let hashes = row_hashes(engine.schema().unwrap().columns(), &batch);
            let hashed = hashes.iter().fold(batch, |batch, (column, cells)| batch.hashes(*column, cells).unwrap());
            let seen = folds.of(&hashed).unwrap();
            let mut by_row: Vec<(usize, u32)> = order.iter().copied().zip(seen).collect();
            by_row.sort_unstable();
            by_row.into_iter().map(|(_, fold)| fold).collect::<Vec<u32>>()
        };
        let order: Vec<usize> = (0..300).collect();
        let reversed: Vec<usize> = (0..300).rev().collect();
        let first = folds_of(&order, ["red", "blue"], |code| code);
        assert_eq!(first, folds_of(&reversed, ["blue", "red"], |code| 1 - code));
        (0..100).for_each(|i| assert!(first[i] == first[i + 100] && first[i] == first[i + 200], "row {i}"));
        // Class p has 210 rows, q has 90: 42 and 18 in each fold, but for equal rows that stay together.
        for fold in 0..5 {
            let of = |class: bool| (0..300).filter(|&i| first[i] == fold && (i % 100 >= 70) == class).count();
            assert!(of(false).abs_diff(42) <= 3 && of(true).abs_diff(18) <= 3, "{} {}", of(false), of(true));
        }
    }

    #[test]
    fn large_classes_are_spread_evenly_but_for_chance() {
        let labels = vec![0u32; 100_000];
        let x = vec![0u8; labels.len()];
        let batch = Batch::new(x.len()).column(&x[..]).unwrap().classes(&labels).unwrap();
        let engine = Memory::new(Schema::numbers(&["x"], "class", &["a"]).unwrap(), batch.clone()).unwrap();
        let folds = Folds::stratified(&engine, 5, 3).unwrap();
        // Four standard deviations of a binomial of 100,000 with 1/5.
        assert!(sizes(&folds, &batch, &labels, 1)[0].iter().all(|&n| n.abs_diff(20_000) < 506));
    }

    #[test]
    fn groups_stay_together_and_fill_folds_alike() {
        // Groups of 40, 30, 20, 10, 10 rows, interleaved.
        let sizes_of = [40, 30, 20, 10, 10];
        let mut groups: Vec<u32> = (0..40).flat_map(|i| (0..5).filter(move |g| i < sizes_of[*g as usize])).collect();
        let labels: Vec<u32> = (0..groups.len() as u32).map(|i| i % 2).collect();
        let x = vec![0.0; labels.len()];
        let schema = Schema::numbers(&["x"], "class", &["a", "b"]).unwrap();
        let rows = |groups: &[u32]| {
            let batch = Batch::new(x.len()).column(&x[..]).unwrap().classes(&labels).unwrap();
            let batch = batch.folds(groups).unwrap();
            let folds = Folds::grouped(&Memory::new(schema.clone(), batch.clone()).unwrap(), 3, 0)?;
            folds.of(&batch)
        };
        let fold = rows(&groups).unwrap();
        for g in 0..5 {
            let mut of: Vec<u32> = groups.iter().zip(&fold).filter(|(h, _)| **h == g).map(|(_, f)| *f).collect();
            of.dedup();
            assert_eq!(of.len(), 1);
        }
        let filled: Vec<usize> = (0..3).map(|f| fold.iter().filter(|x| **x == f).count()).collect();
        assert_eq!(filled.iter().sum::<usize>(), 110);
        assert_eq!((*filled.iter().max().unwrap(), *filled.iter().min().unwrap()), (40, 30));
        {
            // An engine that tells rows apart by their groups has no other folds; of few groups each is a fold.
            let batch = Batch::new(x.len()).column(&x[..]).unwrap().classes(&labels).unwrap().folds(&groups).unwrap();
            let mut engine = Memory::new(schema.clone(), batch.clone()).unwrap();
            engine.tell_apart(Identity::Group);
            assert_eq!(Folds::stratified(&engine, 3, 0).unwrap().of(&batch).unwrap(), fold);
            let few = Folds::stratified(&engine, 20, 0).unwrap();
            assert_eq!(few.count(), 5);
            // The groups of a fold that is held out are not dealt, so no fold is empty.
            let view = View::without(&few, 0, &[0, 1]);
            assert_eq!(Folds::stratified(&Folded::new(&engine, view), 20, 0).unwrap().count(), 4);
            let same = vec![3; x.len()];
            let mut one = Memory::new(schema.clone(), batch.clone().folds(&same).unwrap()).unwrap();
            one.tell_apart(Identity::Group);
            assert!(Folds::stratified(&one, 3, 0).unwrap_err().to_string().contains("all rows are of one group"));
        }
        groups[7] = MISSING;
        assert_eq!(rows(&groups).unwrap_err().to_string(), "row 8: the group or fold is missing");
    }
}
