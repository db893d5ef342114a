//! Discrete families against scikit-learn (`reference/discrete.py` made the values), and the tree on
//! real data.

mod common;

use std::collections::HashMap;

use deciban::data::{Batch, Cells, Column, Kind, MISSING, Rows, Schema, Sparse, Tile};
use deciban::engine::{Engine, Memory};
use deciban::family::bernoulli::Bernoulli;
use deciban::family::categorical::Categorical;
use deciban::family::table::Table;
use deciban::family::tree::Tree;
use deciban::family::{AnyDensity, AnyFamily, Density, Family, Names};
use deciban::learn::{Block, Summarise, Summary};
use deciban::numerics::hash;
use deciban::pass::{Pass, accumulator, from_bytes, pass_to_bytes, to_bytes};
use deciban::statistic::Statistic;
use serde_json::Value;

/// Rows of categories, coded column by column in the order of their sorted levels.
struct Categories {
    names: Vec<String>,
    levels: Vec<Vec<String>>,
    codes: Vec<Vec<u32>>,
    labels: Vec<u32>,
}

/// e is edible, p poisonous; `?` is a level or a missing cell.
fn mushroom(missing: bool) -> Option<Categories> {
    let text = std::fs::read_to_string(common::shared("data/mushroom/agaricus-lepiota.data")?).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().filter(|l| !l.is_empty()).map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), 8124);
    let column = |j: usize| {
        let mut levels: Vec<&str> = rows.iter().map(|row| row[j]).filter(|cell| !missing || *cell != "?").collect();
        levels.sort();
        levels.dedup();
        let code = |row: &Vec<&str>| levels.binary_search(&row[j]).map_or(MISSING, |code| code as u32);
        let codes: Vec<u32> = rows.iter().map(code).collect();
        (levels.iter().map(|level| level.to_string()).collect::<Vec<_>>(), codes)
    };
    let (levels, codes) = (1..23).map(column).unzip();
    Some(Categories { names: (1..23).map(|j| format!("c{j}")).collect(), levels, codes, labels: column(0).1 })
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
    family.fit(statistics, names).unwrap()
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

fn reference() -> Value {
    serde_json::from_str(include_str!("reference/discrete.json")).unwrap()
}

fn cases(data: &str) -> Vec<Value> {
    let all = reference()["cases"].as_array().unwrap().clone();
    all.into_iter().filter(|case| case["data"] == data).collect()
}

/// Compares with a case's values, to 1e-10 of max(1, |x|).
fn check(case: &Value, family: &AnyFamily, schema: &Schema, summary: &Summary, batch: &Batch<'_>) {
    let density = fit(family, &summary.block(0).unwrap(), schema);
    let rows: Vec<u32> = (0..batch.rows() as u32).step_by(case["stride"].as_u64().unwrap() as usize).collect();
    let found = joint(&density, &summary.weights(), batch, &rows);
    let expected = case["values"].as_array().unwrap();
    assert_eq!(found.len(), expected.len());
    let mut worst: f64 = 0.0;
    let mut impossible = 0;
    for (found, expected) in found.iter().zip(expected) {
        let expected = expected.as_array().unwrap();
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            match e.as_f64() {
                Some(e) => worst = worst.max((f - e).abs() / e.abs().max(1.0)),
                None => {
                    assert_eq!(*f, f64::NEG_INFINITY);
                    impossible += 1;
                }
            }
        }
    }
    println!("{} alpha {}: {worst:.1e}, {impossible} impossible", case["data"], case["alpha"]);
    assert!(worst <= 1e-10, "{} {worst:e}", case["data"]);
    assert_eq!(impossible > 0, case["alpha"] == 0.0);
}

#[test]
fn categorical_agrees_with_scikit_learn() {
    let Some(table) = mushroom(false) else { return };
    let cases = cases("mushroom");
    assert_eq!(cases.len(), 7);
    let weights: Vec<f64> = (0..table.labels.len()).map(|i| 0.5 + (i % 7) as f64 / 4.0).collect();
    for case in &cases {
        let pseudo_count = case["alpha"].as_f64().unwrap();
        let family = AnyFamily::Categorical(Categorical { pseudo_count, ..Categorical::default() });
        let pass = Summarise { blocks: vec![table.block(family.clone())], folds: 1, seed: 0 };
        let mut batch = table.batch();
        if case["weighted"] == true {
            batch = batch.weights(&weights).unwrap();
        }
        let summary = match case["parts"] == true {
            false => Memory::new(table.schema(), batch.clone()).unwrap().run(&pass).unwrap(),
            true => {
                let mut whole = pass.empty();
                for range in [5000..8124, 0..3000, 3000..5000] {
                    let mut part = pass.empty();
                    pass.observe(&mut part, &batch.slice(range)).unwrap();
                    whole.merge(&part).unwrap();
                }
                whole
            }
        };
        check(case, &family, &table.schema(), &summary, &batch);
    }
}

#[test]
fn bernoulli_of_numbers_agrees_with_scikit_learn() {
    let Some(path) = common::shared("data/optdigits/optdigits.tra") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Vec<u8>> =
        text.lines().map(|line| line.split(',').map(|cell| cell.trim().parse().unwrap()).collect()).collect();
    let cells: Vec<u8> = rows.iter().flat_map(|row| row[..64].to_vec()).collect();
    let labels: Vec<u32> = rows.iter().map(|row| row[64] as u32).collect();
    let batch = Batch::new(rows.len()).row_major(&cells[..], 64).unwrap().classes(&labels).unwrap();
    let names: Vec<String> = (0..64).map(|j| format!("c{j}")).collect();
    let digits: Vec<String> = (0..10).map(|d| d.to_string()).collect();
    let schema = Schema::numbers(&names, "digit", &digits).unwrap();
    let cases = cases("optdigits");
    assert_eq!(cases.len(), 2);
    for case in &cases {
        let pseudo_count = case["alpha"].as_f64().unwrap();
        let family = AnyFamily::Bernoulli(Bernoulli { pseudo_count, threshold: 8.0 });
        let block = Block {
            columns: (0..64).collect(),
            names: names.clone(),
            gaussianise: None,
            discretise: None,
            family: family.clone(),
        };
        let pass = Summarise { blocks: vec![block], folds: 1, seed: 0 };
        let summary = Memory::new(schema.clone(), batch.clone()).unwrap().run(&pass).unwrap();
        check(case, &family, &schema, &summary, &batch);
    }
}

#[test]
fn bernoulli_of_words_agrees_with_scikit_learn() {
    let Some(path) = common::shared("data/sms-spam/SMSSpamCollection") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let vocabulary: Vec<String> =
        reference()["vocabulary"].as_array().unwrap().iter().map(|w| w.as_str().unwrap().to_string()).collect();
    let known: HashMap<&str, u32> = vocabulary.iter().enumerate().map(|(i, w)| (w.as_str(), i as u32)).collect();
    let (mut offsets, mut indices, mut counts, mut labels) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (class, message) = line.split_once('\t').unwrap();
        labels.push((class == "spam") as u32);
        let lower = message.to_ascii_lowercase();
        let mut words: Vec<u32> =
            lower.split(|c: char| !c.is_ascii_lowercase()).filter_map(|word| known.get(word).copied()).collect();
        words.sort();
        for run in words.chunk_by(|a, b| a == b) {
            indices.push(run[0]);
            counts.push(run.len() as u32);
        }
        offsets.push(indices.len());
    }
    let sparse = Sparse::new(&offsets, &indices, &counts[..]).unwrap();
    let batch = Batch::new(labels.len()).sparse(sparse).unwrap().classes(&labels).unwrap();
    let column = Column { name: "message".into(), kind: Kind::Text, levels: vocabulary };
    let schema = Schema::new(vec![column], "class", vec!["ham".into(), "spam".into()]).unwrap();
    let cases = cases("sms");
    assert_eq!(cases.len(), 2);
    for case in &cases {
        let pseudo_count = case["alpha"].as_f64().unwrap();
        let family = AnyFamily::Bernoulli(Bernoulli { pseudo_count, threshold: 0.0 });
        let block = Block {
            columns: vec![0],
            names: schema.names(),
            gaussianise: None,
            discretise: None,
            family: family.clone(),
        };
        let pass = Summarise { blocks: vec![block], folds: 1, seed: 0 };
        let summary = Memory::new(schema.clone(), batch.clone()).unwrap().run(&pass).unwrap();
        check(case, &family, &schema, &summary, &batch);
    }
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
fn a_tree_tells_mushrooms_apart() {
    let Some(table) = mushroom(true) else { return };
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
