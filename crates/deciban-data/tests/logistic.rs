//! Logistic regression from files: the optimum of scikit-learn on mixed columns
//! (`crates/deciban/tests/reference/logistic.py`), and that of the same rows in memory.

use crate::common::{bare, target};
use deciban::data::{Batch, Schema};
use deciban::engine::{Memory, Run};
use deciban::learn::{Learner, Logistic, LogisticModel, Summarise};
use deciban::numerics::Random;
use deciban_data::{Files, Options};
use serde_json::Value;

/// Opens files with all their classes and levels known, classes in ascending order.
fn open(path: &str, options: &Options) -> Files {
    let files = Files::open(&[path.to_string()], options.clone()).unwrap();
    files.run(&Summarise { blocks: Vec::new(), folds: 1, seed: 0 }).unwrap();
    let schema = files.schema().unwrap().sorted_classes().unwrap();
    Files::open_as(&[path.to_string()], options.clone(), &schema).unwrap()
}

fn weight(model: &LogisticModel, name: &str) -> f64 {
    model.weights()[model.feature_names().iter().position(|feature| feature == name).unwrap()]
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn mixed_columns_equal_scikit_learn() {
    let path = crate::common::data("adult/adult.data.gz");
    let all: Value = serde_json::from_str(include_str!("../../deciban/tests/reference/logistic.json")).unwrap();
    let expected = &all["adult"];
    let number = |name: &str| expected[name].as_f64().unwrap();
    let model = Logistic { tolerance: 1e-14, ..Logistic::default() }.learn(&open(&path, &bare("c14"))).unwrap();
    let close = |what: &str, a: f64, b: f64| {
        assert!((a - b).abs() < 1e-6 * b.abs().max(1e-3), "{what}: {a} for {b}");
    };
    assert_eq!(model.weights().len() as u64, expected["features"].as_u64().unwrap() + 1);
    for (name, w) in expected["weights"].as_object().unwrap() {
        close(name, weight(&model, name), w.as_f64().unwrap());
    }
    close("intercept", weight(&model, "(intercept)"), number("intercept"));
    let weights = model.weights();
    let features = &weights[..weights.len() - 1];
    close("sum", features.iter().sum(), number("sum"));
    close("squares", features.iter().map(|w| w * w).sum(), number("squares"));
    close("objective", model.fit().objective, number("objective"));
    assert!(model.fit().gradient_norm <= number("gradient"), "{}", model.fit().gradient_norm);
}

#[test]
fn a_stream_has_the_optimum_of_memory() {
    // Several megabytes, so several blocks; weighted rows, and a column that is the sum of two others.
    let mut random = Random::new(8);
    let rows = 60_000;
    let (mut values, mut labels, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let mut text = String::from("a,b,c,d,w,t\n");
    for _ in 0..rows {
        let label = random.below(3) as u32;
        let row = [random.normal() + f64::from(label), 5.0 + random.normal(), 1e3 * random.normal()];
        let row = [row[0], row[1], row[2], row[0] + row[1]];
        let weight = 0.25 * (1 + random.below(8)) as f64;
        let cells: Vec<String> = row.iter().map(|x| format!("{x}")).collect();
        text += &format!("{},{weight},k{label}\n", cells.join(","));
        values.extend(row);
        labels.push(label);
        weights.push(weight);
    }
    let folder = crate::common::Folder::new();
    let path = folder.write("rows.csv", &text);
    let options = Options { weight: Some("w".into()), ..target("t") };
    let files = open(&path, &options);
    let names = ["a", "b", "c", "d"].map(String::from);
    let schema = Schema::numbers(&names, "t", &["k0", "k1", "k2"].map(String::from)).unwrap();
    let batch = Batch::new(rows).row_major(&values[..], 4).unwrap().classes(&labels).unwrap();
    let memory = Memory::new(schema, batch.weights(&weights).unwrap()).unwrap();
    for weight_decay in [0.0, 1.0] {
        let learner = Logistic { tolerance: 1e-13, weight_decay, ..Logistic::default() };
        let (streamed, held) = (learner.learn(&files).unwrap(), learner.learn(&memory).unwrap());
        assert_eq!(streamed.fit().weight, held.fit().weight);
        let objective = held.fit().objective;
        assert!((streamed.fit().objective - objective).abs() < 1e-11 * objective);
        // Without a penalty dependent columns leave their weights open, but not what they say.
        if weight_decay > 0.0 {
            for (a, b) in streamed.coefficients().iter().zip(&held.coefficients()) {
                assert_eq!((&a.name, &a.class), (&b.name, &b.class));
                assert!((a.weight - b.weight).abs() < 1e-8, "{a:?} {b:?}");
            }
        }
    }
}
