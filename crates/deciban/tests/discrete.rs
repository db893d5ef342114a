//! Families of categories on real data, and as bytes.

use deciban::data::{Batch, Cells, Column, Kind, MISSING, Rows, Schema, Tile};
use deciban::engine::{Memory, Run};
use deciban::family::categorical::Categorical;
use deciban::family::table::Table;
use deciban::family::tree::Tree;
use deciban::family::{AnyDensity, AnyFamily, Density, Family, Names};
use deciban::file::{from_bytes, to_bytes};
use deciban::learn::{Block, Summarise, Summary};
use deciban::numerics::hash;
use deciban::pass::{Pass, pass_to_bytes};
use deciban::registry::accumulator;
use deciban::statistic::Retract;

/// Rows of categories, coded column by column in the order of their sorted levels.
struct Categories {
    names: Vec<String>,
    levels: Vec<Vec<String>>,
    codes: Vec<Vec<u32>>,
    labels: Vec<u32>,
}

/// e is edible, p poisonous; `?` is a missing cell.
fn mushroom() -> Categories {
    let text = std::fs::read_to_string(crate::common::shared("data/mushroom/agaricus-lepiota.data")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().filter(|l| !l.is_empty()).map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), 8124);
    let column = |j: usize| {
        let mut levels: Vec<&str> = rows.iter().map(|row| row[j]).filter(|cell| *cell != "?").collect();
        levels.sort();
        levels.dedup();
        let code = |row: &Vec<&str>| levels.binary_search(&row[j]).map_or(MISSING, |code| code as u32);
        let codes: Vec<u32> = rows.iter().map(code).collect();
        (levels.iter().map(|level| level.to_string()).collect::<Vec<_>>(), codes)
    };
    let (levels, codes) = (1..23).map(column).unzip();
    Categories { names: (1..23).map(|j| format!("c{j}")).collect(), levels, codes, labels: column(0).1 }
}

impl Categories {
    fn schema(&self) -> Schema {
        let column = |(name, levels): (&String, &Vec<String>)| Column {
            name: name.clone(),
            kind: Kind::Category,
            levels: levels.clone(),
        };
        let columns = self.names.iter().zip(&self.levels).map(column).collect();
        Schema::new(columns, "class", vec!["edible".into(), "poisonous".into()]).unwrap()
    }

    fn batch(&self) -> Batch<'_> {
        let empty = Batch::new(self.labels.len()).classes(&self.labels).unwrap();
        self.codes.iter().fold(empty, |batch, codes| batch.codes(codes).unwrap())
    }

    fn block(&self, family: AnyFamily) -> Block {
        Block {
            columns: (0..self.names.len()).collect(),
            names: self.names.clone(),
            deskew: None,
            gaussianise: None,
            discretise: None,
            family,
        }
    }
}

/// The densities of a summary's only block.
fn fit(family: &AnyFamily, statistics: &[deciban::family::AnyStatistic], schema: &Schema) -> AnyDensity {
    let (columns, levels) = (schema.names(), schema.columns().iter().map(|c| c.levels.len()).collect::<Vec<_>>());
    let names = Names { columns: &columns, levels: &levels, classes: schema.classes() };
    family.fit(&statistics.iter().collect::<Vec<_>>(), names).unwrap()
}

/// ln p(class) + ln p(x | class) of the chosen rows, per row.
fn joint(density: &AnyDensity, weights: &[f64], batch: &Batch<'_>, rows: &[u32]) -> Vec<Vec<f64>> {
    let columns: Vec<usize> = (0..batch.width()).collect();
    let names: Vec<String> = columns.iter().map(|j| format!("c{j}")).collect();
    let total: f64 = weights.iter().sum();
    let mut out = Tile::default();
    out.resize(rows.len(), weights.len());
    for (class, w) in weights.iter().enumerate() {
        out.column_mut(class).fill((w / total).ln());
    }
    density.add_log_density(&Cells::new(batch, &columns, Rows::Index(rows)), &names, &mut out).unwrap();
    (0..rows.len()).map(|i| (0..weights.len()).map(|class| out.column(class)[i]).collect()).collect()
}

/// Errors of ten-fold cross-validation: each fold is scored by the statistics of all without its own.
fn cross_validated(table: &Categories, family: AnyFamily, seed: u64) -> usize {
    let folds: Vec<u32> = (0..table.labels.len()).map(|i| (hash(seed, i as u64) % 10) as u32).collect();
    let batch = table.batch().folds(&folds).unwrap();
    let pass = Summarise { blocks: vec![table.block(family.clone())], folds: 10, seed: 0 };
    let summary = Memory::new(table.schema(), batch.clone()).unwrap().run(&pass).unwrap();
    let whole = summary.block(0).unwrap();
    let mut errors = 0;
    for (fold, held_out) in summary.block_by_fold(0).iter().enumerate() {
        let mut training = whole.clone();
        training.iter_mut().zip(held_out).for_each(|(all, part)| all.remove(part).unwrap());
        let density = fit(&family, &training, &table.schema());
        let in_fold = |i: &u32| folds[*i as usize] as usize == fold;
        let weights = [0, 1].map(|class| {
            (0..table.labels.len()).filter(|&i| folds[i] as usize != fold && table.labels[i] == class).count() as f64
        });
        let rows: Vec<u32> = (0..table.labels.len() as u32).filter(in_fold).collect();
        let scores = joint(&density, &weights, &batch, &rows);
        let wrong = |(&i, s): (&u32, &Vec<f64>)| (s[1] > s[0]) != (table.labels[i as usize] == 1);
        errors += rows.iter().zip(&scores).filter(|(i, s)| wrong((i, s))).count();
    }
    errors
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn a_tree_tells_mushrooms_apart() {
    let table = mushroom();
    let naive = cross_validated(&table, AnyFamily::Categorical(Categorical::default()), 0);
    for seed in 0..3 {
        let tree = cross_validated(&table, AnyFamily::Tree(Tree::default()), seed);
        println!("tree {tree} errors in 8124, naive Bayes {naive}");
        assert!(tree <= 8 && naive > 100, "tree {tree}, naive Bayes {naive}");
    }
}

/// An engine that carries only bytes leaves the same statistic, and a stored density scores the same.
#[test]
fn passes_and_densities_travel_as_bytes() {
    let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    let codes: Vec<Vec<u32>> = (0..3)
        .map(|j| (0..300).map(|i| hash(j, i) % 5).map(|code| if code == 4 { MISSING } else { code as u32 }).collect())
        .collect();
    let labels: Vec<u32> = (0..300).map(|i| (hash(9, i) % 2) as u32).collect();
    let table = Categories { names, levels: vec![vec!["l".into(); 4]; 3], codes, labels };
    for family in [
        AnyFamily::Categorical(Categorical { level_pseudo_counts: Some(vec![vec![0.5; 4]]), ..Categorical::default() }),
        AnyFamily::Table(Table::default()),
        AnyFamily::Tree(Tree { back_off: Some(2.0), ..Tree::default() }),
    ] {
        let pass = Summarise { blocks: vec![table.block(family.clone())], folds: 1, seed: 0 };
        let batch = table.batch();
        let mut whole = pass.empty();
        pass.observe(&mut whole, &batch).unwrap();
        let bytes = pass_to_bytes(&pass).unwrap();
        let (mut a, mut b) = (accumulator(&bytes).unwrap(), accumulator(&bytes).unwrap());
        a.observe(&batch.slice(0..120)).unwrap();
        b.observe(&batch.slice(120..300)).unwrap();
        a.merge(&b.state().unwrap()).unwrap();
        let carried: Summary = from_bytes(&a.state().unwrap()).unwrap();
        let rows: Vec<u32> = (0..300).collect();
        let scores = |summary: &Summary| {
            let density = fit(&family, &summary.block(0).unwrap(), &table.schema());
            let stored: AnyDensity = from_bytes(&to_bytes(&density).unwrap()).unwrap();
            let scores = joint(&density, &summary.weights(), &batch, &rows);
            assert_eq!(joint(&stored, &summary.weights(), &batch, &rows), scores);
            scores
        };
        assert_eq!(scores(&carried), scores(&whole));
    }
}
