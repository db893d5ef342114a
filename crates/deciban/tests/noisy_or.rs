//! Noisy-OR against scipy's bounded optimiser (`reference/noisy_or.py`), closed forms and laws.

use crate::common::Table;
use deciban::data::Batch;
use deciban::engine::Memory;
use deciban::learn::{Classifier, Learner, Method, NoisyOr, NoisyOrModel};
use deciban::model::Model;
use deciban::pass::pass_to_bytes;
use deciban::posterior::Prior;
use deciban::registry::accumulator;
use serde_json::Value;

const EXACT: NoisyOr =
    NoisyOr { effect: None, pseudo_count: 0.0, method: Method::Newton, tolerance: 1e-11, iterations: 100_000 };

/// The table of the script: three flags and a count, of which the third flag is no cause.
fn drawn() -> Table {
    let mut state = 12345u64;
    let mut draw = || {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        state as f64 / (1u64 << 31) as f64
    };
    let mut rows = Vec::new();
    for _ in 0..900 {
        let mut flag = |p: f64| f64::from(u8::from(draw() < p));
        let row = [flag(0.4), flag(0.3), flag(0.5), (4.0 * draw()).floor()];
        let rate = 0.1 + 0.9 * row[0] + 0.3 * row[1] + 0.2 * row[3];
        let rate = if row[2] == 0.0 { rate } else { 0.7 * rate };
        rows.push((row, u32::from(draw() < 1.0 - (-rate).exp())));
    }
    Table::of(&rows)
}

fn learn(learner: &NoisyOr, table: &Table) -> NoisyOrModel {
    learner.learn(&table.memory()).unwrap()
}

fn theta(model: &NoisyOrModel) -> Vec<f64> {
    model.causes().iter().map(|cause| cause.theta).collect()
}

#[test]
fn weights_equal_those_of_a_bounded_optimiser() {
    let table = drawn();
    let reference: Value = serde_json::from_str(include_str!("reference/noisy_or.json")).unwrap();
    assert_eq!(table.labels.iter().sum::<u32>() as u64, reference["effects"].as_u64().unwrap());
    for expected in reference["fits"].as_array().unwrap() {
        let pseudo_count = expected["pseudo_count"].as_f64().unwrap();
        let model = learn(&NoisyOr { pseudo_count, ..EXACT }, &table);
        assert!(model.fit().converged && model.fit().iterations < 30, "{:?}", model.fit());
        for (found, expected) in theta(&model).iter().zip(expected["theta"].as_array().unwrap()) {
            let expected = expected.as_f64().unwrap();
            assert!((found - expected).abs() < 1e-8, "{found} for {expected}");
        }
        assert_eq!(theta(&model)[2], 0.0, "what prevents is no cause");
        assert!((model.fit().objective - expected["objective"].as_f64().unwrap()).abs() < 1e-9);
    }
}

#[test]
fn em_climbs_to_the_same_weights_without_a_step_back() {
    let table = drawn();
    for pseudo_count in [0.0, 3.0] {
        let newton = learn(&NoisyOr { pseudo_count, ..EXACT }, &table);
        let em = NoisyOr { method: Method::Em, tolerance: 1e-9, pseudo_count, ..EXACT };
        let em = learn(&em, &table);
        assert!(em.fit().converged, "{:?}", em.fit().violation);
        for (a, b) in theta(&newton).iter().zip(theta(&em)) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
        for path in [&newton.fit().path, &em.fit().path] {
            assert!(path.len() > 4 && path[0] > path[path.len() - 1] + 1.0);
            // To the last digit of a sum over 900 rows.
            assert!(path.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-13)));
        }
    }
}

/// Rows of one flag: counts of (x, effect).
fn two_by_two(counts: [[usize; 2]; 2]) -> Table {
    let mut rows = Vec::new();
    for x in 0..2 {
        for effect in 0..2 {
            rows.extend(std::iter::repeat_n(([x as f64], effect as u32), counts[x][effect]));
        }
    }
    Table::of(&rows)
}

#[test]
fn one_flag_has_a_closed_form() {
    // p(no effect): 70/100 without the cause, 28/80 with it, so α₀ = 0.7 and α = 0.35/0.7.
    let model = learn(&EXACT, &two_by_two([[70, 30], [28, 52]]));
    let causes = model.causes();
    assert!((causes[1].alpha - 0.7).abs() < 1e-12 && (causes[0].alpha - 0.5).abs() < 1e-12, "{causes:?}");
    assert!((causes[0].strength - 0.5).abs() < 1e-12 && (causes[1].strength - 0.3).abs() < 1e-12);
    // A flag that prevents the effect is no cause, and the leak is the share of all rows.
    let model = learn(&EXACT, &two_by_two([[40, 60], [70, 30]]));
    let causes = model.causes();
    assert!(causes[0].theta == 0.0 && (causes[1].alpha - 0.55).abs() < 1e-12, "{causes:?}");
    assert!((model.fit().log_likelihood - model.fit().null_log_likelihood).abs() < 1e-9);
    // The other class as the effect: 30/100 without the flag, 52/80 with it never happen.
    let model = learn(&NoisyOr { effect: Some("x".into()), ..EXACT }, &two_by_two([[30, 70], [52, 28]]));
    assert_eq!(model.effect(), "x");
    assert!((model.causes()[0].alpha - (28.0 / 80.0) / 0.7).abs() < 1e-12, "{:?}", model.causes());
}

#[test]
fn the_posterior_is_the_product_of_failures() {
    let table = drawn();
    let model = learn(&NoisyOr::default(), &table);
    let causes = model.causes();
    let posterior = model.evidence(&table.batch()).unwrap().posterior(model.empirical());
    for i in 0..table.rows() {
        let fails: f64 = (0..4).map(|j| causes[j].alpha.powf(table.row(i)[j])).product::<f64>() * causes[4].alpha;
        assert!((posterior.row(i)[0] - fails).abs() < 1e-14);
    }
    // Another prior moves the log-odds by its change.
    let other = Prior::new(&[0.9, 0.1]).unwrap();
    let moved = model.evidence(&table.batch()).unwrap().posterior(&other);
    let p = model.empirical().probabilities();
    let change = (0.1 / 0.9f64).ln() - (p[1] / p[0]).ln();
    for i in 0..table.rows() {
        let odds = |log: &[f64]| log[1] - log[0];
        assert!((odds(moved.log_row(i)) - odds(posterior.log_row(i)) - change).abs() < 1e-12);
    }
}

#[test]
fn a_cause_that_never_fails_is_named() {
    let table = two_by_two([[70, 30], [0, 20]]);
    let model = learn(&NoisyOr { tolerance: 1e-8, ..EXACT }, &table);
    assert_eq!(model.fit().never_fail, ["a"]);
    assert!(model.fit().converged && model.causes()[0].alpha < 1e-7, "{:?}", model.causes());
    // One row of the cause alone without effect: ln L = … + 20 ln(1 − 0.7α) + ln α, so α = 1/(0.7·21).
    let held = learn(&NoisyOr { pseudo_count: 1.0, ..EXACT }, &table);
    assert!(held.fit().never_fail.is_empty());
    let (alpha, leak) = (held.causes()[0].alpha, held.causes()[1].alpha);
    assert!((leak * alpha - 1.0 / 21.0).abs() < 1e-10, "{alpha} {leak}");
}

#[test]
fn weights_count_rows_and_bytes_travel() {
    let table = drawn();
    let weights: Vec<f64> = (0..900).map(|i| f64::from(i % 3)).collect();
    let weighted = Memory::new(table.schema(), table.batch().weights(&weights).unwrap()).unwrap();
    let repeated: Vec<usize> = (0..900).flat_map(|i| vec![i; i % 3]).collect();
    let twice = Table {
        values: repeated.iter().flat_map(|&i| table.row(i).to_vec()).collect(),
        labels: repeated.iter().map(|&i| table.labels[i]).collect(),
        ..table.clone()
    };
    let (a, b) = (EXACT.learn(&weighted).unwrap(), learn(&EXACT, &twice));
    assert!(theta(&a).iter().zip(theta(&b)).all(|(x, y)| (x - y).abs() < 1e-9));
    let (model, path) = (learn(&EXACT, &table), std::env::temp_dir().join(format!("noisy-or-{}", std::process::id())));
    Model::NoisyOr(model.clone()).save(&path).unwrap();
    let loaded = Model::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(model.evidence(&table.batch()).unwrap(), loaded.evidence(&table.batch()).unwrap());
    let columns = table.schema().columns().to_vec();
    let pass = deciban::learn::Causes::at(&columns, 1, vec![0.1; 5]).unwrap();
    assert!(accumulator(&pass_to_bytes(&pass).unwrap()).unwrap().observe(&table.batch()).is_ok());
}

#[test]
fn causes_below_zero_and_other_classes_are_refused() {
    let table = Table::of(&[([1.0, 0.0], 0), ([0.0, 2.0], 1), ([0.0, -3.0], 1)]);
    let error = EXACT.learn(&table.memory()).unwrap_err().to_string();
    assert!(error.starts_with("column `b`, row 3: -3 is below 0"), "{error}");
    let model = learn(&NoisyOr::default(), &drawn());
    let row = [0.0, -1.0, 0.0, 0.0];
    let error = model.evidence(&Batch::new(1).row_major(&row[..], 4).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("column `b`, row 1: -1 is below 0"), "{error}");
    let three = Table::of(&[([1.0], 0), ([0.0], 1), ([2.0], 2)]);
    let error = EXACT.learn(&three.memory()).unwrap_err().to_string();
    assert!(error.contains("needs two classes, and there are 3"), "{error}");
    let error = NoisyOr { effect: Some("w".into()), ..EXACT }.learn(&drawn().memory()).unwrap_err().to_string();
    assert_eq!(error, "effect: there is no class `w`: the classes are `x`, `y`");
}
