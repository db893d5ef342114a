//! What holds for whole models.

use super::*;
use crate::data::{Batch, Schema};
use crate::engine::Memory;
use crate::file::{from_bytes, to_bytes};
use crate::learn::Classifier;
use crate::numerics::{Random, log_sum_exp};

/// Rows of three columns with four codes each; the class depends on the first two together.
pub fn table(rows: usize, classes: usize) -> CodedTable {
    let mut random = Random::new(11);
    let mut code = || (random.uniform() * 4.0) as u8;
    let cells: Vec<[u8; 4]> = (0..rows).map(|_| [code(), code(), code(), code()]).collect();
    let label = |c: &[u8; 4]| if c[3] == 0 { c[2] as usize % classes } else { (c[0] + c[1]) as usize % classes };
    CodedTable {
        columns: (0..3).map(|c| cells.iter().map(|row| row[c]).collect()).collect(),
        codes: vec![4; 3],
        labels: cells.iter().map(|c| label(c) as u32).collect(),
        weights: vec![1.0; rows],
        classes,
    }
}

/// Numbers of the same kind, some of them missing in the last column.
fn rows(n: usize, classes: usize) -> (Vec<f64>, Vec<u32>) {
    let table = table(n, classes);
    let mut random = Random::new(5);
    let cell = |row: usize, c: usize| f64::from(table.columns[c][row]) + 0.3 * (row % 3) as f64;
    let mut x = Vec::new();
    for row in 0..n {
        x.extend([cell(row, 0), cell(row, 1)]);
        x.push(if random.uniform() < 0.2 { f64::NAN } else { cell(row, 2) });
    }
    (x, table.labels)
}

fn schema(classes: usize) -> Schema {
    Schema::numbers(&["a", "b", "c"], "y", &["u", "v", "w"][..classes]).unwrap()
}

fn learned(x: &[f64], y: &[u32], weights: Option<&[f64]>, classes: usize) -> KDependenceModel {
    let mut batch = Batch::new(y.len()).row_major(x, 3).unwrap().classes(y).unwrap();
    if let Some(weights) = weights {
        batch = batch.weights(weights).unwrap();
    }
    let learner = KDependence { tolerance: 1e-8, ..KDependence::default() };
    learner.learn(&Memory::new(schema(classes), batch).unwrap()).unwrap()
}

#[test]
fn columns_add_up_to_the_evidence() {
    for classes in [2, 3] {
        let (x, y) = rows(600, classes);
        let model = learned(&x, &y, None, classes);
        let batch = Batch::new(600).row_major(&x[..], 3).unwrap();
        let evidence = model.evidence(&batch).unwrap();
        let prior = model.empirical().probabilities();
        let mut loss = 0.0;
        for row in 0..600 {
            let mut z = model.offsets().to_vec();
            for (_, says) in model.parts(&batch, row).unwrap() {
                z.iter_mut().zip(&says).for_each(|(z, says)| *z += says);
            }
            let total = log_sum_exp(&z);
            for k in 0..classes {
                assert!((z[k] - total - prior[k].ln() - evidence.row(row)[k]).abs() < 1e-9);
            }
            loss -= (z[y[row] as usize] - total) / 600.0;
        }
        // The tables without a row know less about it, and both know more than the shares of the classes.
        let fit = model.fit();
        assert!(loss < fit.log_loss && fit.log_loss < 0.8 * fit.null_log_loss, "{loss} {fit:?}");
    }
}

#[test]
fn files_and_threads_change_nothing() {
    let (x, y) = rows(1500, 3);
    let bytes = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| to_bytes(&learned(&x, &y, None, 3)).unwrap())
    };
    let (one, three) = (bytes(1), bytes(3));
    assert_eq!(one, three);
    let model: KDependenceModel = from_bytes(&one).unwrap();
    let batch = Batch::new(1500).row_major(&x[..], 3).unwrap();
    assert_eq!(model.evidence(&batch).unwrap(), learned(&x, &y, None, 3).evidence(&batch).unwrap());
    assert_eq!(to_bytes(&model).unwrap(), one);
}

#[test]
fn rows_in_parts_give_the_same_tables() {
    let (x, y) = rows(500, 2);
    let engine = |rows: std::ops::Range<usize>| {
        let batch = Batch::new(rows.len()).row_major(&x[3 * rows.start..3 * rows.end], 3).unwrap();
        Memory::new(schema(2), batch.classes(&y[rows]).unwrap()).unwrap()
    };
    let all = engine(0..500);
    let statistics = Statistics::collect(survey(schema(2).columns(), "k-dependence").unwrap(), &all).unwrap();
    let pass = Encode { coding: Coding::new(&statistics).unwrap() };
    let mut merged = engine(0..50).run(&pass).unwrap();
    for part in 1..10 {
        let other = engine(50 * part..50 * (part + 1)).run(&pass).unwrap();
        crate::statistic::Statistic::merge(&mut merged, &other).unwrap();
    }
    let tables = |rows| {
        let table = CodedTable::new(rows, &pass.coding, 2);
        let root = Root { weights: table.class_weights() };
        structure::chains(&table, 2).into_iter().map(|c| Chain::grow(&table, &root, c)).collect::<Vec<_>>()
    };
    assert_eq!(tables(merged), tables(all.run(&pass).unwrap()));
}

#[test]
fn weight_two_equals_the_row_twice() {
    let (x, y) = rows(300, 2);
    let weights: Vec<f64> = (0..300).map(|i| 1.0 + f64::from(i % 2 == 0)).collect();
    let (mut twice_x, mut twice_y) = (x.clone(), y.clone());
    for row in (0..300).step_by(2) {
        twice_x.extend_from_slice(&x[3 * row..3 * row + 3]);
        twice_y.push(y[row]);
    }
    let batch = Batch::new(300).row_major(&x[..], 3).unwrap();
    let [a, b] = [learned(&x, &y, Some(&weights), 2), learned(&twice_x, &twice_y, None, 2)]
        .map(|model| model.evidence(&batch).unwrap().values().to_vec());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6));
}

#[test]
fn cells_that_no_training_row_has_say_nothing() {
    let (mut x, y) = rows(400, 2);
    x.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 1.0);
    let model = learned(&x, &y, None, 2);
    let batch = Batch::new(1).row_major(&[f64::NAN; 3][..], 3).unwrap();
    assert!(model.parts(&batch, 0).unwrap().iter().all(|(_, says)| says.iter().all(|s| *s == 0.0)));
    // The offsets alone are the shares of the classes, nearly.
    assert!(model.evidence(&batch).unwrap().row(0).iter().all(|e| e.abs() < 0.5));
}

#[test]
fn columns_with_one_code_leave_the_shares_of_the_classes() {
    let x = [0.0; 30];
    let y = [0, 1, 1, 1, 0, 1, 1, 1, 1, 1];
    let model = learned(&x, &y, None, 2);
    assert!(model.chains().is_empty());
    let evidence = model.evidence(&Batch::new(10).row_major(&x[..], 3).unwrap()).unwrap();
    assert!(evidence.values().iter().all(|e| e.abs() < 1e-7), "{:?}", evidence.values());
}

#[test]
fn what_cannot_be_learned_is_refused() {
    let (x, y) = rows(50, 2);
    let engine = |y| Memory::new(schema(2), Batch::new(50).row_major(&x[..], 3).unwrap().classes(y).unwrap()).unwrap();
    let learner = KDependence { weight_decay: 0.0, ..KDependence::default() };
    let message = learner.learn(&engine(&y)).unwrap_err().to_string();
    assert!(message.contains("weight_decay"), "{message}");
    let message = KDependence::default().learn(&engine(&[0; 50])).unwrap_err().to_string();
    assert!(message.contains("class `v` of `y` has no rows"), "{message}");
}
