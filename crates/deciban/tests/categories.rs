//! Regression tables of categories against statsmodels (`reference/categories.py`), and causes that are categories.

use deciban::data::{Batch, Column, Kind, MISSING, Schema};
use deciban::engine::Memory;
use deciban::learn::{Classifier, Coefficient, Learner, Logistic, LogisticModel, NoisyOr};
use deciban::model::Model;
use serde_json::Value;

/// The table of the script: family history, a region that is missing at times, a number, and classes.
#[derive(Default)]
struct Drawn {
    history: Vec<u32>,
    region: Vec<u32>,
    x: Vec<f64>,
    two: Vec<u32>,
    three: Vec<u32>,
}

fn drawn() -> Drawn {
    let mut state = 2024u64;
    let mut draw = || {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        state as f64 / (1u64 << 31) as f64
    };
    let mut all = Drawn::default();
    for _ in 0..600 {
        let history = u32::from(draw() < 0.6);
        let mut region = (3.0 * draw().powf(1.5)) as u32;
        if draw() < 0.1 {
            region = MISSING;
        }
        let x = 4.0 * draw() - 2.0;
        let of_region = [0.0, 0.8, -0.6].get(region as usize).copied().unwrap_or(0.3);
        let z = -0.7 + 0.5 * x + 0.9 * f64::from(1 - history) + of_region;
        let first = u32::from(draw() < 1.0 / (1.0 + (-z).exp()));
        all.history.push(history);
        all.region.push(region);
        all.x.push(x);
        all.two.push(first);
        all.three.push(first + u32::from(draw() < 0.3));
    }
    all
}

fn category(name: &str, levels: &[&str]) -> Column {
    Column { name: name.into(), kind: Kind::Category, levels: levels.iter().map(|l| l.to_string()).collect() }
}

/// Learns without a penalty from these columns: the number, the history and, if wanted, the region.
fn learn(drawn: &Drawn, with_region: bool, classes: &[u32]) -> LogisticModel {
    let mut columns = vec![Column::number("x"), category("famhist", &["Present", "Absent"])];
    let mut batch = Batch::new(600).column(&drawn.x[..]).unwrap().codes(&drawn.history).unwrap();
    if with_region {
        columns.push(category("region", &["a", "b", "c"]));
        batch = batch.codes(&drawn.region).unwrap();
    }
    let names = (0..=*classes.iter().max().unwrap()).map(|c| c.to_string()).collect();
    let schema = Schema::new(columns, "y", names).unwrap();
    let engine = Memory::new(schema, batch.classes(classes).unwrap()).unwrap();
    Logistic { weight_decay: 0.0, tolerance: 1e-12, ..Logistic::default() }.learn(&engine).unwrap()
}

fn reference() -> Value {
    serde_json::from_str(include_str!("reference/categories.json")).unwrap()
}

fn check(lines: &[&Coefficient], expected: &Value) {
    for (i, line) in lines.iter().enumerate() {
        let of = |name: &str| expected[name][i].as_f64().unwrap();
        assert!((line.weight - of("weights")).abs() < 1e-8, "{line:?} for {}", of("weights"));
        assert!((line.standard_error.unwrap() / of("errors") - 1.0).abs() < 1e-6, "{line:?} for {}", of("errors"));
    }
    assert_eq!(lines.len(), expected["weights"].as_array().unwrap().len());
}

#[test]
fn an_odds_ratio_is_that_against_the_reference_level_with_its_error() {
    let drawn = drawn();
    let reference = reference();
    assert_eq!(drawn.two.iter().sum::<u32>() as u64, reference["positive"].as_u64().unwrap());
    let model = learn(&drawn, false, &drawn.two);
    let table = model.coefficients();
    check(&table.iter().collect::<Vec<_>>(), &reference["dummies"]);
    let labels: Vec<String> = table.iter().map(Coefficient::label).collect();
    assert_eq!(labels, ["x", "famhist=Present against Absent", "(intercept)"]);
    // The weights as the model scores with them differ by just that, whatever they are on their own.
    let weights = model.weights();
    assert!((weights[1] - weights[2] - table[1].weight).abs() < 1e-12);
    let (statistic, _) = model.fit().likelihood_ratio().unwrap();
    assert!((statistic / reference["dummies"]["llr"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{statistic}");
    assert_eq!(model.fit().degrees, Some(2));
}

#[test]
fn missing_cells_leave_all_levels_determined() {
    let drawn = drawn();
    let reference = reference();
    let model = learn(&drawn, true, &drawn.two);
    let table = model.coefficients();
    check(&table.iter().collect::<Vec<_>>(), &reference["missing"]);
    assert_eq!(table[2].label(), "region=b against a");
    assert_eq!(model.fit().degrees.map(|d| d as u64), reference["missing"]["df"].as_u64());
    let model = learn(&drawn, true, &drawn.three);
    let table = model.coefficients();
    for k in 1..3 {
        let of_class: Vec<&Coefficient> = table.iter().skip(k).step_by(3).collect();
        check(&of_class, &reference["softmax"][k - 1]);
    }
}

#[test]
fn a_level_that_no_row_has_has_no_error_and_spoils_none() {
    let drawn = drawn();
    let columns = vec![Column::number("x"), category("famhist", &["Present", "Absent", "Unknown"])];
    let batch = Batch::new(600).column(&drawn.x[..]).unwrap().codes(&drawn.history).unwrap();
    let schema = Schema::new(columns, "y", vec!["0".into(), "1".into()]).unwrap();
    let engine = Memory::new(schema, batch.classes(&drawn.two).unwrap()).unwrap();
    let learner = Logistic { weight_decay: 0.0, tolerance: 1e-12, ..Logistic::default() };
    let table = learner.learn(&engine).unwrap().coefficients();
    assert_eq!((table[2].name.as_str(), table[2].standard_error), ("famhist=Unknown", None));
    let known: Vec<&Coefficient> = table.iter().filter(|c| c.name != "famhist=Unknown").collect();
    check(&known, &reference()["dummies"]);
}

#[test]
fn reference_levels_survive_a_file() {
    let drawn = drawn();
    let model = learn(&drawn, true, &drawn.two);
    let table = model.coefficients();
    match Model::from_bytes(&Model::from(model).to_bytes().unwrap()).unwrap() {
        Model::Logistic(back) => assert_eq!(back.coefficients(), table),
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_what_is_there_is_a_cause() {
    // The effect follows the flag in four of five rows with it, and never without.
    let flag: Vec<u32> = (0..100).map(|i| u32::from(i >= 50)).collect();
    let effect: Vec<u32> = (0..100).map(|i| u32::from(i >= 50 && i % 5 != 0)).collect();
    for (levels, name) in [
        (["no", "yes"], "flag=yes"),
        (["False", "True"], "flag=True"),
        (["0", "1"], "flag=1"),
        (["red", "blue"], "flag=blue"),
    ] {
        let schema = Schema::new(vec![category("flag", &levels)], "y", vec!["0".into(), "1".into()]).unwrap();
        let batch = Batch::new(100).codes(&flag).unwrap().classes(&effect).unwrap();
        let learner = NoisyOr { pseudo_count: 0.0, ..NoisyOr::default() };
        let model = learner.learn(&Memory::new(schema, batch.clone()).unwrap()).unwrap();
        let causes = model.causes();
        assert_eq!(causes.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), [name, "(leak)"]);
        assert!((causes[0].strength - 0.8).abs() < 1e-6 && causes[1].strength < 1e-6, "{causes:?}");
        assert_eq!(model.absences(), [format!("flag={}", levels[0])]);
        let evidence = model.evidence(&batch).unwrap();
        assert!(evidence.llr(99, 1) > 0.0 && evidence.llr(0, 1) < 0.0);
    }
}
