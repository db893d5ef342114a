//! Additive models: against scikit-learn on hand-made indicator columns (`reference/additive.py`), laws, and rows
//! that they have not seen.

use crate::common::Table;
use deciban::Error;
use deciban::data::{Batch, Column, Kind, MISSING, Schema, UNSEEN};
use deciban::engine::{Engine, Memory};
use deciban::explain::Order;
use deciban::learn::{Additive, AdditiveModel, Classifier, Learner, Logistic};
use deciban::model::Model;
use deciban::numerics::Random;
use deciban::posterior::Prior;
use serde_json::Value;

const EXACT: Additive = Additive {
    weight_decay: Some(1.0),
    pairs: Some(0),
    pair_decay: None,
    folds: None,
    seed: 0,
    tolerance: 1e-7,
    iterations: 10_000,
};

/// A number, a category and classes, with weights.
struct Mixed {
    x: Vec<f64>,
    g: Vec<u32>,
    y: Vec<u32>,
    w: Vec<f64>,
    schema: Schema,
}

impl Mixed {
    fn new(x: Vec<f64>, g: Vec<u32>, y: Vec<u32>, w: Vec<f64>) -> Self {
        let levels = ["a", "b", "c"].map(String::from).to_vec();
        let g_column = Column { name: "g".into(), kind: Kind::Category, levels };
        let classes = y.iter().max().map_or(0, |most| most + 1);
        let classes = (0..classes).map(|k| format!("k{k}")).collect();
        let schema = Schema::new(vec![Column::number("x"), g_column], "y", classes).unwrap();
        Mixed { x, g, y, w, schema }
    }

    /// Rows whose class depends on both columns together; some cells are missing.
    fn drawn(rows: usize, classes: u64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (mut x, mut g, mut y) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            let (number, level) = (random.normal(), random.below(3) as u32);
            let likely = if (number > 0.3) == (level == 1) { 1 } else { random.below(classes) };
            y.push(if random.uniform() < 0.7 { likely } else { random.below(classes) } as u32);
            x.push(if random.uniform() < 0.1 { f64::NAN } else { number });
            g.push(if random.uniform() < 0.1 { MISSING } else { level });
        }
        Mixed::new(x, g, y, vec![1.0; rows])
    }

    fn batch(&self) -> Batch<'_> {
        let batch = Batch::new(self.x.len()).column(&self.x[..]).unwrap().codes(&self.g).unwrap();
        batch.classes(&self.y).unwrap().weights(&self.w).unwrap()
    }

    fn engine(&self) -> Memory<'_> {
        Memory::new(self.schema.clone(), self.batch()).unwrap()
    }

    fn learn(&self, learner: &Additive) -> AdditiveModel {
        learner.learn(&self.engine()).unwrap()
    }
}

/// ln p(class | row) under the prior of the training data.
fn log_posterior(model: &impl Classifier, rows: &Batch<'_>) -> Vec<Vec<f64>> {
    let posterior = model.evidence(rows).unwrap().posterior(model.empirical());
    (0..rows.rows()).map(|i| posterior.log_row(i).to_vec()).collect()
}

fn log_loss(model: &impl Classifier, rows: &Batch<'_>) -> f64 {
    let labels = rows.labels().unwrap();
    let losses = log_posterior(model, rows);
    losses.iter().zip(labels).map(|(row, &label)| -row[label as usize]).sum::<f64>() / labels.len() as f64
}

#[test]
fn equals_logistic_regression_on_hand_made_indicators() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("reference/additive.json")).unwrap();
    for case in cases {
        let list = |name: &str| case[name].as_array().unwrap().clone();
        let codes = |name: &str| list(name).iter().map(|v| v.as_u64().unwrap() as u32).collect::<Vec<_>>();
        let x = list("x").iter().map(|v| v.as_f64().unwrap_or(f64::NAN)).collect();
        let w = list("w").iter().map(|v| v.as_f64().unwrap()).collect();
        let table = Mixed::new(x, codes("g"), codes("y"), w);
        let pairs = usize::from(case["pairs"].as_bool().unwrap());
        let model = table.learn(&Additive { weight_decay: case["decay"].as_f64(), pairs: Some(pairs), ..EXACT });
        assert!(model.fit().converged && model.fit().slope <= 1e-7, "{:?}", model.fit());
        // Four bins and the missing cell; three levels, others and the missing cell.
        assert_eq!(model.terms()[0].cells.len(), 5);
        assert!(pairs == 0 || model.terms()[2].cells.len() == 25, "{:?}", model.terms()[2].cells);
        let objective = case["objective"].as_f64().unwrap();
        assert!((model.fit().objective - objective).abs() < 1e-7, "{} for {objective}", model.fit().objective);
        for (found, expected) in log_posterior(&model, &table.batch()).iter().zip(list("log_posterior")) {
            for (a, b) in found.iter().zip(expected.as_array().unwrap()) {
                assert!((a - b.as_f64().unwrap()).abs() < 1e-6, "{found:?} for {expected}");
            }
        }
    }
}

#[test]
fn tables_are_zero_on_average_and_steps_are_smooth() {
    let table = Mixed::drawn(600, 2, 5);
    let model = table.learn(&Additive { weight_decay: Some(20.0), ..EXACT });
    let batch = table.batch();
    let entries = Model::Additive(model.clone()).explain(&batch, Order::Average).unwrap();
    for term in [1, 2] {
        let said = entries.iter().map(|e| e.entries[term].evidence[1] - e.entries[term].evidence[0]);
        assert!((said.sum::<f64>() / 600.0).abs() < 1e-12);
    }
    // Where nothing but the penalty speaks, neighbouring bins are the same.
    let far = table.learn(&Additive { weight_decay: Some(1e9), ..EXACT });
    assert!(far.terms()[0].values.iter().all(|value| value[0].abs() < 1e-6));
}

/// `y` is a XOR b; the other columns are noise.
fn xor(rows: usize, seed: u64) -> Table {
    let mut random = Random::new(seed);
    let mut row = || {
        let cells: [f64; 5] = std::array::from_fn(|_| random.below(2) as f64);
        let truth = (cells[1] + cells[3]) as u32 % 2;
        (cells, if random.uniform() < 0.9 { truth } else { 1 - truth })
    };
    Table::of(&(0..rows).map(|_| row()).collect::<Vec<_>>())
}

#[test]
fn pairs_find_what_no_column_tells() {
    let (train, test) = (xor(1000, 1), xor(1000, 2));
    let one = Additive { pairs: Some(1), ..EXACT }.learn(&train.memory()).unwrap();
    let names: Vec<String> = one.terms().iter().map(|term| term.name.clone()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e", "b × d"]);
    let most = one.terms().iter().map(|term| term.importance).fold(0.0, f64::max);
    assert_eq!(one.terms()[5].importance, most);
    // Whether there are pairs is found out, too. One label in ten is wrong: 0.325 nats.
    let open = Additive::default().learn(&train.memory()).unwrap();
    let (with, least) = (log_loss(&open, &test.batch()), -(0.9f64 * 0.9f64.ln() + 0.1 * 0.1f64.ln()));
    assert!(open.pairs() > 0 && open.fit().tried.len() > 4, "{:?}", open.fit());
    assert!(with < least + 0.03, "{with} for {least}");
    let without = Additive { pairs: Some(0), ..Additive::default() }.learn(&train.memory()).unwrap();
    assert!(log_loss(&without, &test.batch()) > 0.68);
}

#[test]
fn threads_do_not_change_a_bit() {
    let table = Mixed::drawn(40_000, 3, 7);
    let learn = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let learner = Additive { weight_decay: Some(3.0), pairs: Some(1), ..Additive::default() };
        pool.install(|| Model::Additive(table.learn(&learner)).to_bytes().unwrap())
    };
    assert!(learn(1) == learn(3));
}

#[test]
fn a_weight_is_as_many_rows() {
    let mut table = Mixed::drawn(400, 3, 11);
    table.w = (0..400).map(|i| f64::from(i % 3 + 1)).collect();
    let repeat = |i: usize| std::iter::repeat_n(i, table.w[i] as usize);
    let rows: Vec<usize> = (0..400).flat_map(repeat).collect();
    let of = |f: &dyn Fn(usize) -> u32| rows.iter().map(|&i| f(i)).collect::<Vec<u32>>();
    let x = rows.iter().map(|&i| table.x[i]).collect();
    let repeated = Mixed::new(x, of(&|i| table.g[i]), of(&|i| table.y[i]), vec![1.0; rows.len()]);
    let learner = Additive { pairs: Some(1), ..EXACT };
    let (a, b) = (table.learn(&learner), repeated.learn(&learner));
    assert_eq!(a.terms().iter().map(|t| t.cells.clone()).collect::<Vec<_>>(), {
        b.terms().iter().map(|t| t.cells.clone()).collect::<Vec<_>>()
    });
    let batch = table.batch();
    for (a, b) in log_posterior(&a, &batch).iter().flatten().zip(log_posterior(&b, &batch).iter().flatten()) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn files_hold_the_whole_model() {
    for classes in [2, 4] {
        let table = Mixed::drawn(500, classes, 13);
        let model = Model::Additive(table.learn(&Additive { pairs: Some(1), ..EXACT }));
        let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(again.evidence(&table.batch()).unwrap(), model.evidence(&table.batch()).unwrap());
        let (Model::Additive(a), Model::Additive(b)) = (&model, &again) else { panic!("another kind of model") };
        assert_eq!((a.terms(), a.fit()), (b.terms(), b.fit()));
    }
}

#[test]
fn ledgers_add_up() {
    for classes in [2, 3] {
        let table = Mixed::drawn(500, classes, 17);
        let model = Model::Additive(table.learn(&Additive { pairs: Some(1), ..EXACT }));
        // A number beyond all others, missing cells, an unseen level.
        let (x, g) = ([0.4, 1e9, f64::NAN, -2.0, f64::NAN], [1, 0, 2, UNSEEN, MISSING]);
        let rows = Batch::new(5).column(&x[..]).unwrap().codes(&g).unwrap();
        let prior = match classes {
            2 => Prior::new(&[0.9, 0.1]),
            _ => Prior::new(&[0.2, 0.3, 0.5]),
        };
        let prior = prior.unwrap();
        let posterior = model.evidence(&rows).unwrap().posterior(&prior);
        for (row, explained) in model.explain(&rows, Order::Average).unwrap().iter().enumerate() {
            let names: Vec<&str> = explained.entries.iter().map(|entry| entry.name.as_str()).collect();
            assert_eq!(names, ["(start: an average row)", "x", "g", "x × g"]);
            let log = posterior.log_row(row);
            let ledger = explained.ledger(1, 0, &prior);
            assert!((ledger.total() - (log[1] - log[0])).abs() < 1e-9, "row {row}: {ledger:?}");
        }
        let shown = &model.explain(&rows, Order::Average).unwrap()[3].entries;
        assert_eq!((shown[1].value.as_str(), shown[2].value.as_str()), ("-2", "unseen"));
    }
}

#[test]
fn what_was_never_there_is_average() {
    let mut table = Mixed::drawn(500, 2, 19);
    table.x.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
    let model = Model::Additive(table.learn(&EXACT));
    let rows = Batch::new(1).column(&[f64::NAN][..]).unwrap().codes(&[UNSEEN]).unwrap();
    let entries = &model.explain(&rows, Order::Average).unwrap()[0].entries;
    assert!(entries[1].missing && entries[1].evidence == [0.0, 0.0], "{entries:?}");
    assert!(!entries[2].missing && entries[2].value == "unseen" && entries[2].evidence == [0.0, 0.0]);
}

#[test]
fn a_prior_moves_the_log_odds_by_its_own() {
    let table = Mixed::drawn(500, 2, 23);
    let model = table.learn(&EXACT);
    let evidence = model.evidence(&table.batch()).unwrap();
    let (a, b) = (evidence.posterior(model.empirical()), evidence.posterior(&Prior::new(&[0.5, 0.5]).unwrap()));
    let p = model.empirical().probabilities();
    for i in 0..20 {
        let odds = |row: &[f64]| row[1] - row[0];
        let moved = odds(b.log_row(i)) - odds(a.log_row(i));
        assert!((moved + (p[1] / p[0]).ln()).abs() < 1e-12);
    }
}

#[test]
fn new_rows_are_told_nearly_as_well_as_can_be() {
    // p(1 | x, g) is known: what is left above its entropy is what was not learned.
    let truth = |x: f64, g: u32| {
        let z = (2.0 * x).sin() + if g == 1 && x > 0.5 { 1.5 } else { 0.0 } - 0.5 * f64::from(g);
        1.0 / (1.0 + (-z).exp())
    };
    let draw = |rows: usize, seed: u64| {
        let mut random = Random::new(seed);
        let (mut x, mut g, mut y) = (Vec::new(), Vec::new(), Vec::new());
        let mut entropy = 0.0;
        for _ in 0..rows {
            let (number, level) = (4.0 * random.uniform() - 2.0, random.below(3) as u32);
            let p = truth(number, level);
            let label = u32::from(random.uniform() < p);
            entropy -= (if label == 1 { p } else { 1.0 - p }).ln();
            x.push(number);
            g.push(level);
            y.push(label);
        }
        (Mixed::new(x, g, y, vec![1.0; rows]), entropy / rows as f64)
    };
    let (train, _) = draw(4000, 1);
    let (test, entropy) = draw(20_000, 2);
    let model = train.learn(&Additive::default());
    let found = log_loss(&model, &test.batch());
    assert!(model.pairs() == 1 && found < entropy + 0.01, "{found} for {entropy}");
    let plain = train.learn(&Additive { pairs: Some(0), ..Additive::default() });
    assert!(log_loss(&plain, &test.batch()) > found + 0.005);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn digits_of_other_writers_are_told_better_than_by_lines() {
    let (train, test) = (crate::common::pendigits("tra"), crate::common::pendigits("tes"));
    let learner = Additive { weight_decay: Some(1.5), pairs: Some(60), ..Additive::default() };
    let model = learner.learn(&train.memory()).unwrap();
    let lines = Logistic::default().learn(&train.memory()).unwrap();
    fn wrong(model: &impl Classifier, test: &Table) -> usize {
        let best = |row: &Vec<f64>| (0..10).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap() as u32;
        log_posterior(model, &test.batch()).iter().zip(&test.labels).filter(|(row, label)| best(row) != **label).count()
    }
    let (tables, straight) = (wrong(&model, &test), wrong(&lines, &test));
    assert!(2 * tables < straight, "{tables} and {straight} of 3498 are wrong");
    let (found, straight) = (log_loss(&model, &test.batch()), log_loss(&lines, &test.batch()));
    assert!(1.5 * found < straight, "{found} {straight}");
}

#[test]
fn odd_columns_are_learned_from() {
    let levels: Vec<String> = (0..400).map(|i| format!("l{i}")).collect();
    let columns = vec![
        Column::number("constant"),
        Column::number("never"),
        Column { name: "many".into(), kind: Kind::Category, levels },
        Column::number("huge"),
    ];
    let schema = Schema::new(columns, "y", vec!["a".into(), "b".into()]).unwrap();
    let n = 800;
    let (constant, never) = (vec![3.5; n], vec![f64::NAN; n]);
    let many: Vec<u32> = (0..n as u32).map(|i| i % 400).collect();
    let huge: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1e300 } else { -1e300 }).collect();
    let y: Vec<u32> = (0..n as u32).map(|i| u32::from(i % 400 < 150)).collect();
    let batch = Batch::new(n).column(&constant[..]).unwrap().column(&never[..]).unwrap().codes(&many).unwrap();
    let batch = batch.column(&huge[..]).unwrap().classes(&y).unwrap();
    let engine = Memory::new(schema, batch.clone()).unwrap();
    let model = Additive { weight_decay: Some(0.1), ..Additive::default() }.learn(&engine).unwrap();
    let right = log_posterior(&model, &batch).iter().zip(&y).filter(|(row, y)| row[**y as usize] > 0.5f64.ln()).count();
    // 250 of 400 levels have a code of their own.
    assert!(right > 600, "{right}");
    assert_eq!(model.terms()[2].cells.len(), 252);
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let table = Mixed::drawn(100, 2, 29);
    let refused = |learner: &Additive| learner.learn(&table.engine()).unwrap_err().to_string();
    assert!(refused(&Additive { weight_decay: Some(0.0), ..EXACT }).starts_with("weight_decay: give a number above 0"));
    let text = Column { name: "note".into(), kind: Kind::Text, levels: vec!["word".into()] };
    let schema = Schema::new(vec![text], "y", vec!["a".into(), "b".into()]).unwrap();
    let (offsets, indices, counts) = ([0usize, 1, 1], [0u32], [1.0]);
    let words = deciban::data::Sparse::new(&offsets[..], &indices[..], &counts[..]).unwrap();
    let batch = Batch::new(2).sparse(words).unwrap().classes(&[0, 1]).unwrap();
    let error = EXACT.learn(&Memory::new(schema, batch).unwrap()).unwrap_err().to_string();
    assert!(error.contains("additive takes numbers and categories"), "{error}");
    let model = table.learn(&EXACT);
    let rows = Batch::new(1).column(&[f64::INFINITY][..]).unwrap().codes(&[0]).unwrap();
    assert!(matches!(model.evidence(&rows), Err(Error::Infinite { .. })));
    let one = Mixed::new(vec![1.0; 5], vec![0; 5], vec![0; 5], vec![1.0; 5]);
    assert!(EXACT.learn(&one.engine()).is_err());
}

#[test]
fn classes_of_one_row_are_no_obstacle() {
    let mut table = Mixed::drawn(60, 2, 31);
    table.y[0] = 2;
    let table = Mixed::new(table.x, table.g, table.y, table.w);
    let model = table.learn(&Additive::default());
    assert!(log_loss(&model, &table.batch()) < 1.1);
    assert_eq!(table.engine().schema().unwrap().classes().len(), 3);
}
