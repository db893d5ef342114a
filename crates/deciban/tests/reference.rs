//! Gaussian classifiers against scikit-learn and SciPy; `reference/gaussian.py` made the values.

use crate::common::Table;
use deciban::family::AnyDensity;
use deciban::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use deciban::learn::Classifier;
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("reference/gaussian.json")).unwrap()
}

fn rows(case: &Value) -> Vec<Vec<f64>> {
    let row = |row: &Value| row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    case["values"].as_array().unwrap().iter().map(row).collect()
}

fn structure(name: &str) -> Structure {
    Structure::ALL.iter().find(|(known, _)| *known == name).unwrap().1
}

/// What a case was fitted on and what it scored.
fn data(name: &str) -> (Table, Table) {
    match name {
        "iris" => (crate::common::iris(), crate::common::iris()),
        "wine13" => (crate::common::wine(), crate::common::wine()),
        "wdbc" => (crate::common::wdbc(), crate::common::wdbc()),
        "pendigits" => (crate::common::pendigits("tra"), crate::common::pendigits("tes")),
        other => panic!("there is no data named {other}"),
    }
}

fn training_errors(model: &impl Classifier, table: &Table) -> u64 {
    let posterior = model.evidence(&table.batch()).unwrap().posterior(model.prior());
    let wrong = |&i: &usize| posterior.most_probable(i) != Some(table.labels[i] as usize);
    (0..table.rows()).filter(wrong).count() as u64
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn posteriors_agree_with_scikit_learn() {
    let reference = reference();
    let cases = reference["posteriors"].as_array().unwrap();
    assert_eq!(cases.len(), 20);
    for case in cases {
        let name = case["data"].as_str().unwrap();
        let (train, test) = data(name);
        let columns: Vec<usize> = (0..case["columns"].as_u64().unwrap() as usize).collect();
        let (train, test) = (train.select(&columns), test.select(&columns));
        let covariance = structure(case["covariance"].as_str().unwrap());
        let estimator = match case["estimator"].as_str().unwrap() {
            "unbiased" => Estimator::Unbiased,
            _ => Estimator::Ml,
        };
        let model = train.fit(Gaussian { covariance, estimator, ..Gaussian::default() });
        let classes: Vec<&str> = case["classes"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
        assert_eq!(train.classes, classes);
        assert_eq!(training_errors(&model, &train), case["training_errors"].as_u64().unwrap(), "{name} {covariance:?}");

        let posterior = model.evidence(&test.batch()).unwrap().posterior(model.prior());
        let (stride, expected) = (case["stride"].as_u64().unwrap() as usize, rows(case));
        assert_eq!(expected.len(), test.rows().div_ceil(stride));
        let mut worst: f64 = 0.0;
        for (i, expected) in expected.iter().enumerate() {
            for (found, expected) in posterior.row(i * stride).iter().zip(expected) {
                worst = worst.max((found - expected).abs());
            }
        }
        println!("{name} {covariance:?} {estimator:?}: {worst:.1e}");
        assert!(worst <= 1e-8, "{name} {covariance:?} {estimator:?}: {worst:e}");
    }
}

/// Where scikit-learn has no values to compare with: class 4 of pendigits never moves in column 16.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn a_class_without_variance_is_named() {
    let digits = crate::common::pendigits("tra");
    let error = digits.try_fit(Gaussian::default()).unwrap_err().to_string();
    assert!(error.contains("class `4`") && error.contains("do not vary: `c16`;"), "{error}");
    let model = digits.fit(Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() });
    let AnyDensity::Gaussian(density) = &model.blocks()[0].density else { panic!() };
    assert_eq!(density.floored(), [(4, 15)]);
}

/// `pooling 0.1 shrinkage 0.05`, `bayes tied-diagonal`, ...
fn family(name: &str) -> Gaussian {
    let mut family = Gaussian::default();
    let words: Vec<&str> = name.split(' ').collect();
    for pair in words.chunks_exact(2) {
        match *pair {
            ["shrinkage", gamma] => family.shrinkage = Strength::Fixed(gamma.parse().unwrap()),
            ["pooling", lambda] => family.pooling = Strength::Fixed(lambda.parse().unwrap()),
            ["bayes", covariance] => {
                (family.estimator, family.covariance) = (Estimator::Bayes, structure(covariance));
            }
            _ => panic!("there is no family named {name}"),
        }
    }
    family
}

#[test]
fn log_densities_agree_with_scipy() {
    let wine = crate::common::wine();
    let reference = reference();
    let cases = reference["log_densities"].as_array().unwrap();
    assert_eq!(cases.len(), 13);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let evidence = wine.fit(family(name)).evidence(&wine.batch()).unwrap();
        let (stride, expected) = (case["stride"].as_u64().unwrap() as usize, rows(case));
        assert_eq!(expected.len(), wine.rows().div_ceil(stride));
        let mut worst: f64 = 0.0;
        for (i, expected) in expected.iter().enumerate() {
            for (found, expected) in evidence.row(i * stride).iter().zip(expected) {
                worst = worst.max((found - expected).abs() / expected.abs());
            }
        }
        println!("{name}: {worst:.1e}");
        assert!(worst <= 1e-9, "{name}: {worst:e}");
    }
}

/// The errors that textbooks print for Fisher's irises, as the UCI file has them.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn training_errors_on_iris() {
    let iris = crate::common::iris();
    for (covariance, errors) in [(Structure::Tied, 3), (Structure::Full, 3), (Structure::Diagonal, 6)] {
        let model = iris.fit(Gaussian { covariance, estimator: Estimator::Unbiased, ..Gaussian::default() });
        assert_eq!(training_errors(&model, &iris), errors, "{covariance:?}");
    }
}
