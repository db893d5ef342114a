//! A generative model whose evidence is linear has the posteriors of the softmax it is written out as.

use deciban::data::{Batch, Column, Kind, Schema};
use deciban::engine::Memory;
use deciban::family::gaussian::{Estimator, Gaussian, Structure};
use deciban::family::{AnyFamily, Family};
use deciban::learn::{Block, Classifier, Generative, GenerativeModel, Learner, LogLinear};
use deciban::numerics::{Random, log_sum_exp};
use deciban::transform::Step;

/// ln p(k | φ) of the softmax.
fn log_softmax(form: &LogLinear, model: &GenerativeModel, phi: &[f64]) -> Vec<f64> {
    assert_eq!(form.weights.len(), phi.len());
    let p = model.prior().probabilities();
    let score = |k: usize| {
        let sum: f64 = form.weights.iter().zip(phi).map(|((_, w), x)| w[k] * x).sum();
        sum + form.constants[k] + p[k].ln()
    };
    let scores: Vec<f64> = (0..p.len()).map(score).collect();
    let total = log_sum_exp(&scores);
    scores.iter().map(|s| s - total).collect()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn a_tied_gaussian_is_a_softmax() {
    let iris = crate::common::iris();
    let two = iris.filter(|i| i >= 50);
    let two = crate::common::Table {
        labels: two.labels.iter().map(|l| l - 1).collect(),
        classes: two.classes[1..].to_vec(),
        ..two
    };
    for table in [iris, two] {
        for covariance in [Structure::Tied, Structure::TiedDiagonal, Structure::TiedSpherical] {
            for steps in [vec![], vec![Step::Standardise, Step::Pca(3)], vec![Step::Lda(1)]] {
                let model = table.fit(Gaussian { covariance, steps, ..Gaussian::default() });
                let form = model.log_linear().unwrap();
                assert_eq!(form.weights[2].0, "c3");
                let posterior = model.evidence(&table.batch()).unwrap().posterior(model.prior());
                for i in 0..table.rows() {
                    let found = log_softmax(&form, &model, table.row(i));
                    for (a, b) in found.iter().zip(posterior.log_row(i)) {
                        assert!((a.exp() - b.exp()).abs() < 1e-12 && (a - b).abs() < 1e-10 * (1.0 + b.abs()));
                    }
                }
            }
        }
    }
}

#[test]
fn discrete_families_are_softmax_models() {
    let mut random = Random::new(3);
    const ROWS: usize = 120;
    let labels: Vec<u32> = (0..ROWS as u32).map(|i| i % 3).collect();
    let colour: Vec<u32> = labels.iter().map(|l| (l + random.below(2) as u32) % 3).collect();
    let count: Vec<f64> = labels.iter().map(|l| random.below(3 + 2 * u64::from(*l)) as f64).collect();
    let flag: Vec<f64> = labels.iter().map(|l| random.below(2 + u64::from(*l)).min(1) as f64).collect();
    let time: Vec<f64> = labels.iter().map(|l| -random.uniform().ln() * f64::from(l + 1)).collect();
    let levels = ["red", "green", "blue"].map(String::from).to_vec();
    let columns = vec![
        Column { name: "colour".into(), kind: Kind::Category, levels },
        Column::number("count"),
        Column::number("flag"),
        Column::number("time"),
        Column::number("ham"),
    ];
    let schema = Schema::new(columns.clone(), "class", ["a", "b", "c"].map(String::from).to_vec()).unwrap();
    let batch = Batch::new(ROWS).codes(&colour).unwrap().column(&count[..]).unwrap().column(&flag[..]).unwrap();
    let batch = batch.column(&time[..]).unwrap().column(&count[..]).unwrap().classes(&labels).unwrap();
    let of = |place: usize, name: &str| Block::new(vec![place], &columns, AnyFamily::named(name).unwrap());
    let words = Block::new(vec![1, 4], &columns, AnyFamily::named("multinomial").unwrap());
    let blocks = vec![of(0, "categorical"), of(1, "poisson"), of(2, "bernoulli"), of(3, "exponential"), words];
    let engine = Memory::new(schema, batch.clone()).unwrap();
    let model = Generative::of_blocks(blocks).learn(&engine).unwrap();
    let form = model.log_linear().unwrap();
    let names: Vec<&str> = form.weights.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["colour=red", "colour=green", "colour=blue", "count", "flag", "time", "count", "ham"]);
    let posterior = model.evidence(&batch).unwrap().posterior(model.prior());
    for i in 0..ROWS {
        let is = |level: u32| f64::from(u8::from(colour[i] == level));
        let phi = [is(0), is(1), is(2), count[i], flag[i], time[i], count[i], count[i]];
        for (a, b) in log_softmax(&form, &model, &phi).iter().zip(posterior.log_row(i)) {
            assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} {b}");
        }
    }
    let gamma = Generative::of_blocks(vec![of(3, "gamma")]).learn(&engine).unwrap();
    let error = gamma.log_linear().unwrap_err().to_string();
    assert_eq!(error, "as=logistic: `time`: a gamma is not linear in its columns");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn what_is_not_linear_is_refused() {
    let iris = crate::common::iris();
    let full = iris.fit(Gaussian::default()).log_linear().unwrap_err().to_string();
    assert!(full.contains("give covariance=tied"), "{full}");
    let student = Gaussian { covariance: Structure::Tied, estimator: Estimator::Bayes, ..Gaussian::default() };
    assert!(iris.fit(student).log_linear().is_err());
}

/// A word that is nearly always there: ln(1 − p) is that of the model, not of a p that is rounded to 1.
#[test]
fn a_probability_near_one_keeps_its_rest() {
    let schema = Schema::numbers(&["word"], "class", &["a", "b"]).unwrap();
    let (x, weights) = ([1.0, 0.0, 1.0, 0.0], [1e18, 1.0, 3.0, 5.0]);
    let rows = Batch::new(4).column(&x[..]).unwrap().classes(&[0, 0, 1, 1]).unwrap().weights(&weights).unwrap();
    let family = AnyFamily::named("bernoulli").unwrap().with_pseudo_count(1.0);
    let block = Block::new(vec![0], schema.columns(), family);
    let model = Generative::of_blocks(vec![block]).learn(&Memory::new(schema.clone(), rows).unwrap()).unwrap();
    let form = model.log_linear().unwrap();
    let without = Batch::new(1).column(&[0.0][..]).unwrap();
    let evidence = model.evidence(&without).unwrap();
    let expected = evidence.row(0)[0] - evidence.row(0)[1];
    assert!(expected < -30.0 && expected.is_finite(), "{expected}");
    assert!((form.constants[0] - form.constants[1] - expected).abs() < 1e-9, "{:?} {expected}", form.constants);
}
