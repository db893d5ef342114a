//! Least squares on an indicator matrix against numpy (`reference/least_squares.py`), LDA and laws.

use crate::common::Table;
use deciban::engine::Memory;
use deciban::family::gaussian::{Gaussian, Structure};
use deciban::learn::{Classifier, Learner, LeastSquares, LeastSquaresModel};
use deciban::model::Model;
use deciban::numerics::Random;
use serde_json::Value;

fn learn(table: &Table) -> LeastSquaresModel {
    LeastSquares.learn(&table.memory()).unwrap()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn weights_equal_those_of_numpy() {
    let iris = crate::common::iris();
    let reference: Value = serde_json::from_str(include_str!("reference/least_squares.json")).unwrap();
    let weights: Vec<f64> = (0..150).map(|i| f64::from(1 + i % 4)).collect();
    let weighted = Memory::new(iris.schema(), iris.batch().weights(&weights).unwrap()).unwrap();
    for (name, model) in [("plain", learn(&iris)), ("weighted", LeastSquares.learn(&weighted).unwrap())] {
        for (k, form) in model.scores().iter().enumerate() {
            for (j, found) in form.w.iter().chain([&form.w0]).enumerate() {
                let expected = reference[name]["b"][k][j].as_f64().unwrap();
                assert!((found - expected).abs() < 1e-11, "{name} class {k} column {j}: {found} for {expected}");
            }
            assert!((model.explained()[k] - reference[name]["r2"][k].as_f64().unwrap()).abs() < 1e-12);
        }
    }
}

#[test]
fn two_classes_have_the_direction_of_lda() {
    let cancer = crate::common::wdbc().select(&[0, 1, 4, 8, 20]);
    let tied = Gaussian { covariance: Structure::Tied, ..Gaussian::default() };
    let lda = crate::common::density(&cancer.fit(tied)).linear().unwrap();
    let scores = learn(&cancer).scores();
    let ratio = |j: usize| scores[1].w[j] / (lda[1].w[j] - lda[0].w[j]);
    for j in 1..5 {
        assert!((ratio(j) / ratio(0) - 1.0).abs() < 1e-9, "{} and {}", ratio(j), ratio(0));
    }
    // The factor in closed form: c/(1 + cD²), c = π₀π₁, D² the squared distance of the means.
    let model = cancer.fit(Gaussian { covariance: Structure::Tied, ..Gaussian::default() });
    let p = model.empirical().probabilities();
    let means: Vec<&[f64]> = (0..2).map(|k| crate::common::density(&model).mean(k)).collect();
    let distance: f64 = (0..5).map(|j| (lda[1].w[j] - lda[0].w[j]) * (means[1][j] - means[0][j])).sum();
    let c = p[0] * p[1];
    assert!((ratio(0) / (c / (1.0 + c * distance)) - 1.0).abs() < 1e-9);
}

/// Three classes in a row; each row has its mirror image.
fn in_a_row() -> Table {
    let mut random = Random::new(5);
    let mut rows = Vec::new();
    for i in 0..150 {
        let (class, centre) = if i % 3 == 2 { (1, 0.0) } else { (2, 4.0) };
        let (x, y) = (centre + random.normal(), centre + random.normal());
        rows.extend([([x, y], class), ([-x, -y], 2 - class)]);
    }
    Table::of(&rows)
}

#[test]
fn the_class_in_the_middle_is_masked() {
    let table = in_a_row();
    let decided = |model: &dyn Fn() -> Vec<Option<usize>>| model().iter().filter(|d| **d == Some(1)).count();
    let (squares, lda) = (learn(&table), table.fit(Gaussian { covariance: Structure::Tied, ..Gaussian::default() }));
    let of = |evidence: deciban::evidence::Evidence| {
        let posterior = evidence.posterior(lda.empirical());
        (0..300).map(|i| posterior.most_probable(i)).collect::<Vec<_>>()
    };
    assert_eq!(decided(&|| of(squares.evidence(&table.batch()).unwrap())), 0);
    assert!(decided(&|| of(lda.evidence(&table.batch()).unwrap())) > 95);
    // By symmetry its mean is that of all rows, and its score the same everywhere.
    assert!(squares.scores()[1].w.iter().all(|w| w.abs() < 1e-12));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn the_posterior_is_the_scores_where_they_are_one() {
    for table in [in_a_row(), crate::common::iris(), crate::common::wine()] {
        let model = learn(&table);
        let classes = table.classes.len();
        let least = 1.0 / (table.rows() + classes) as f64;
        let posterior = model.evidence(&table.batch()).unwrap().posterior(model.empirical());
        let mut inside = 0;
        for i in 0..table.rows() {
            let scores: Vec<f64> = model.scores().iter().map(|form| form.at(table.row(i))).collect();
            assert!((scores.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let best = (0..classes).reduce(|a, b| if scores[b] > scores[a] { b } else { a });
            assert_eq!(posterior.most_probable(i), best);
            let clipped: Vec<f64> = scores.iter().map(|s| s.max(least)).collect();
            let total: f64 = clipped.iter().sum();
            for (p, s) in posterior.row(i).iter().zip(&clipped) {
                assert!((p - s / total).abs() < 1e-10);
            }
            inside += usize::from(scores.iter().all(|s| *s >= least));
        }
        assert!(inside > 0 && inside < table.rows());
    }
}

#[test]
fn collinear_and_constant_columns_work() {
    let table = in_a_row();
    let mut wider = table.clone();
    wider.values = table.values.chunks_exact(2).flat_map(|r| [r[0], 3.0 * r[0] - r[1], r[1], 7.0]).collect();
    wider.columns = ["a", "b", "c", "d"].map(String::from).to_vec();
    let (narrow, wide) = (learn(&table), learn(&wider));
    for i in 0..300 {
        for (a, b) in narrow.scores().iter().zip(&wide.scores()) {
            assert!((a.at(table.row(i)) - b.at(wider.row(i))).abs() < 1e-9);
        }
    }
}

#[test]
fn statistics_add_and_files_keep_the_bits() {
    let table = in_a_row();
    let learner = table.learner(Gaussian::default());
    let mut sum = learner.statistics(&table.filter(|i| i < 120).memory()).unwrap();
    sum.merge(&learner.statistics(&table.filter(|i| i >= 120).memory()).unwrap()).unwrap();
    let (whole, parts) = (learn(&table), LeastSquares.fit(&sum).unwrap());
    for (a, b) in whole.scores().iter().zip(&parts.scores()) {
        assert!(a.w.iter().zip(&b.w).all(|(x, y)| (x - y).abs() < 1e-13));
    }
    let diagonal = table.learner(Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() });
    let error = LeastSquares.fit(&diagonal.statistics(&table.memory()).unwrap()).unwrap_err().to_string();
    assert!(error.contains("needs the means and covariances"), "{error}");
    let path = std::env::temp_dir().join(format!("least-squares-{}", std::process::id()));
    Model::LeastSquares(whole.clone()).save(&path).unwrap();
    let loaded = Model::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(whole.evidence(&table.batch()).unwrap(), loaded.evidence(&table.batch()).unwrap());
}
