//! Ledgers add up to the posterior log-odds for every family and model, and say what the formulas say.

use std::sync::atomic::AtomicBool;

use crate::common::Table;
use deciban::calibrate::{Affine, Calibration, Calibrator, Method};
use deciban::data::{Batch, Column, Kind, MISSING, Schema, Sparse, UNSEEN};
use deciban::engine::Memory;
use deciban::explain::{Explanation, Order};
use deciban::family::gaussian::{Estimator, Gaussian, Structure};
use deciban::family::normal::Normal;
use deciban::family::{AnyFamily, Family};
use deciban::learn::{
    Block, Classifier, Generative, Learner, LeastSquares, Link, Logistic, NaiveBayes, NoisyOr, blocks,
};
use deciban::model::{CalibratedModel, Model};
use deciban::numerics::{Matrix, Random, log_sum_exp};
use deciban::posterior::Prior;
use deciban::transform::{Binning, Step};

/// Each class against all others adds up, too, and lies between the pairs.
#[track_caller]
fn against_the_rest(explanation: &Explanation, log_p: &[f64], prior: &Prior, what: &str) {
    let classes = log_p.len();
    for a in 0..classes {
        let ledger = explanation.over_rest(a, prior);
        let others: Vec<f64> = (0..classes).filter(|j| *j != a).map(|j| log_p[j]).collect();
        let expected = log_p[a] - log_sum_exp(&others);
        let own = explanation.entries.iter().flat_map(|e| e.evidence.iter().map(|x| x.abs()));
        let size = 1.0 + own.filter(|x| x.is_finite()).sum::<f64>();
        match expected.is_finite() {
            true => assert!((ledger.total() - expected).abs() <= 1e-11 * size, "{what}: {ledger:?} for {expected}"),
            // Both sides may be impossible.
            false => {
                assert!(ledger.total() == expected || ledger.total().is_nan(), "{what}: {ledger:?} for {expected}")
            }
        }
        for (i, said) in ledger.entries.iter().enumerate().filter(|(_, said)| said.is_finite()) {
            let pairs = (0..classes).filter(|j| *j != a).map(|j| explanation.ledger(a, j, prior).entries[i]);
            let (low, high) = pairs.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
            let slack = 1e-11 * size;
            assert!(!(*said < low - slack || *said > high + slack), "{what}: {said} outside of {low} to {high}");
        }
    }
}

/// Every pair of classes in every row, under another prior than that of the training data.
#[track_caller]
fn adds_up(model: &Model, x: &Batch<'_>, what: &str) -> Vec<Explanation> {
    let classes = model.schema().classes().len();
    let prior = Prior::from_weights(&(1..=classes).map(|k| k as f64).collect::<Vec<_>>()).unwrap();
    let posterior = model.evidence(x).unwrap().posterior(&prior);
    for order in [Order::File, Order::Average] {
        let explanations = model.explain(x, order).unwrap();
        assert_eq!(explanations.len(), x.rows());
        for (row, explanation) in explanations.iter().enumerate() {
            assert!(!explanation.entries.is_empty(), "{what}");
            against_the_rest(explanation, posterior.log_row(row), &prior, what);
            for (a, b) in (0..classes).flat_map(|a| (0..classes).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let ledger = explanation.ledger(a, b, &prior);
                let expected = posterior.log_row(row)[a] - posterior.log_row(row)[b];
                let size: f64 = ledger.entries.iter().map(|e| e.abs()).sum::<f64>() + ledger.prior.abs() + 1.0;
                // Terms of the classes' own, before they are subtracted, bound the rounding.
                let own = explanation.entries.iter().flat_map(|e| [e.evidence[a].abs(), e.evidence[b].abs()]);
                let size = size + own.filter(|x| x.is_finite()).sum::<f64>();
                if expected.is_finite() {
                    let off = (ledger.total() - expected).abs();
                    assert!(off <= 1e-12 * size, "{what} row {row}: {} for {expected}", ledger.total());
                } else {
                    assert_eq!(ledger.total(), expected, "{what} row {row}");
                }
            }
        }
    }
    model.explain(x, Order::Average).unwrap()
}

/// Numbers, a count, categories with missing and unseen cells; three classes.
struct Mixed {
    schema: Schema,
    numbers: Vec<f64>,
    codes: Vec<Vec<u32>>,
    labels: Vec<u32>,
}

const ROWS: usize = 200;

impl Mixed {
    fn new(missing: bool) -> Self {
        let mut random = Random::new(11);
        let labels: Vec<u32> = (0..ROWS).map(|i| (i % 3) as u32).collect();
        let (mut numbers, mut codes) = (Vec::new(), vec![Vec::new(); 3]);
        for &label in &labels {
            let (shift, shared) = (f64::from(label), random.normal());
            let mut row = [
                10.0 + shift + shared,
                3.0 - 0.7 * shift + 0.8 * shared + 0.5 * random.normal(),
                random.normal().exp() + shift,
                random.below(4 + 2 * u64::from(label)) as f64,
            ];
            if missing && random.below(6) == 0 {
                row[random.below(4) as usize] = f64::NAN;
            }
            numbers.extend(row);
            let first = random.below(3) as u32;
            let second = if random.below(3) == 0 { first } else { (label + random.below(2) as u32) % 3 };
            let third = (second + random.below(2) as u32) % 2;
            for (column, code) in codes.iter_mut().zip([first, second, third]) {
                column.push(if missing && random.below(9) == 0 { MISSING } else { code });
            }
        }
        let level = |name: &str, n: usize| Column {
            name: name.into(),
            kind: Kind::Category,
            levels: (0..n).map(|i| format!("l{i}")).collect(),
        };
        let mut columns: Vec<Column> = ["a", "b", "c", "d"].map(Column::number).to_vec();
        columns.extend([level("u", 3), level("v", 3), level("w", 2)]);
        let schema = Schema::new(columns, "class", ["x", "y", "z"].map(String::from).to_vec()).unwrap();
        Mixed { schema, numbers, codes, labels }
    }

    fn batch(&self) -> Batch<'_> {
        let mut batch = Batch::new(ROWS).row_major(&self.numbers[..], 4).unwrap();
        for codes in &self.codes {
            batch = batch.codes(codes).unwrap();
        }
        batch.classes(&self.labels).unwrap()
    }

    fn learn(&self, blocks: Vec<Block>) -> Model {
        Model::Generative(self.learner(Generative::of_blocks(blocks)))
    }

    fn learner<L: Learner>(&self, learner: L) -> L::Model {
        learner.learn(&Memory::new(self.schema.clone(), self.batch()).unwrap()).unwrap()
    }
}

#[test]
fn gaussians_of_every_structure_estimator_and_projection() {
    let wine = crate::common::wine().select(&[0, 2, 4, 6, 9]);
    let rows = wine.filter(|i| i % 7 == 0);
    for (_, covariance) in Structure::FREE {
        for estimator in [Estimator::Ml, Estimator::Bayes] {
            for steps in [vec![], vec![Step::Standardise], vec![Step::Standardise, Step::Pca(3)], vec![Step::Lda(2)]] {
                let what = format!("{covariance:?} {estimator:?} {steps:?}");
                let family = Gaussian { covariance, estimator, steps: steps.clone(), ..Gaussian::default() };
                let model = wine.fit(family);
                let explained = adds_up(&Model::Generative(model.clone()), &rows.batch(), &what);
                assert_eq!(explained[0].entries.len(), 5 + usize::from(steps.iter().any(|s| *s != Step::Standardise)));
                if explained[0].entries.len() == 6 {
                    // What stands before the columns is the evidence of a row at the training mean.
                    let n = wine.rows() as f64;
                    let mean: Vec<f64> =
                        (0..5).map(|j| (0..wine.rows()).map(|i| wine.row(i)[j]).sum::<f64>() / n).collect();
                    let centre = crate::common::evidence_of(&model, &mean);
                    for explanation in &explained {
                        for (a, b) in explanation.entries[0].evidence.iter().zip(centre.row(0)) {
                            assert!((a - b).abs() < 1e-8 * (1.0 + b.abs()), "{what}: {a} for {b}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn two_correlated_columns_by_hand() {
    let table = Mixed::new(false);
    let columns = &table.schema.columns()[..2];
    let model = table.learn(vec![Block::new(vec![0, 1], columns, AnyFamily::Gaussian(Gaussian::default()))]);
    let Model::Generative(fitted) = &model else { unreachable!() };
    let density = crate::common::density(fitted);
    let batch = table.batch();
    let (file, average) = (model.explain(&batch, Order::File).unwrap(), model.explain(&batch, Order::Average).unwrap());
    for row in 0..20 {
        let x = [table.numbers[4 * row], table.numbers[4 * row + 1]];
        for k in 0..3 {
            let (m, s) = (density.mean(k), density.covariance(k));
            let one = |j: usize| {
                Normal::new(vec![m[j]], Matrix::diagonal(&[s[(j, j)]])).unwrap().log_density(&x[j..=j]).unwrap()
            };
            let both = Normal::new(m.to_vec(), s.clone()).unwrap().log_density(&x).unwrap();
            let expected = [[one(0), both - one(0)], [0.5 * (one(0) + both - one(1)), 0.5 * (one(1) + both - one(0))]];
            for (explained, expected) in [&file, &average].iter().zip(expected) {
                for j in 0..2 {
                    let found = explained[row].entries[j].evidence[k];
                    assert!((found - expected[j]).abs() < 1e-11, "{found} for {}", expected[j]);
                }
            }
        }
        assert_eq!(
            (average[row].entries[0].name.as_str(), average[row].entries[0].value.clone()),
            ("a", format!("{}", x[0]))
        );
    }
}

#[test]
fn many_correlated_columns_are_sampled_and_still_add_up() {
    let cancer = crate::common::wdbc();
    let model = Model::Generative(cancer.select(&(0..15).collect::<Vec<_>>()).fit(Gaussian::default()));
    let rows = cancer.select(&(0..15).collect::<Vec<_>>()).filter(|i| i % 200 == 0);
    let first = adds_up(&model, &rows.batch(), "fifteen columns");
    assert_eq!(first, model.explain(&rows.batch(), Order::Average).unwrap());
}

#[test]
fn mixed_tables_with_missing_and_unseen_cells() {
    for missing in [false, true] {
        let mut table = Mixed::new(missing);
        let columns = table.schema.columns().to_vec();
        let categories: Vec<usize> = (4..7).collect();
        let of = |places: Vec<usize>, name: &str| Block::new(places, &columns, AnyFamily::named(name).unwrap());
        let plain: Vec<(Vec<usize>, &str)> = vec![
            (vec![0, 1], "gaussian"),
            (vec![2], "gamma"),
            (vec![2], "log-normal"),
            (vec![2], "exponential"),
            (vec![3], "poisson"),
            (vec![0, 2], "histogram"),
            (vec![0, 3], "bernoulli"),
            (vec![2, 3], "multinomial"),
            (categories.clone(), "categorical"),
            (categories.clone(), "table"),
            (categories.clone(), "tree"),
            (categories.clone(), "a1de"),
        ];
        let mut models = Vec::new();
        let complete = Mixed::new(false);
        for (places, name) in plain {
            // These are not fitted with missing cells, but scored.
            let rows = if ["gaussian", "multinomial"].contains(&name) { &complete } else { &table };
            models.push((name.to_string(), rows.learn(vec![of(places, name)])));
        }
        let families = vec![("c".to_string(), AnyFamily::named("gamma").unwrap())];
        let bayes = NaiveBayes { pseudo_count: 1.0, families, ..NaiveBayes::default() };
        models.push(("naive Bayes".into(), table.learn(bayes.blocks(&columns).unwrap())));
        for name in ["tree", "a1de"] {
            let family = AnyFamily::named(name).unwrap().with_pseudo_count(1.0);
            let binned = Generative::of_blocks(blocks::together(&columns, &family).unwrap()).discretise(Binning::Mdl);
            models.push((format!("{name} of bins"), Model::Generative(table.learner(binned))));
        }
        let diagonal = Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() };
        let block = Block::new(vec![0, 1, 2], &columns, AnyFamily::Gaussian(diagonal));
        models.push((
            "gaussianised".into(),
            Model::Generative(table.learner(Generative::of_blocks(vec![block]).gaussianise(true))),
        ));
        models.push(("softmax".into(), Model::Logistic(table.learner(Logistic::default()))));
        models.push(("softmax of whole rows".into(), Model::Logistic(complete.learner(Logistic::default()))));
        table.codes[0][5] = UNSEEN;
        for (what, model) in &models {
            let explained = adds_up(model, &table.batch(), what);
            if what == "gaussianised" && !missing {
                assert_eq!(explained[0].entries[1].value, format!("{}", table.numbers[1]));
            }
            // A missing cell is listed and says nothing.
            let listed = explained.iter().flat_map(|e| &e.entries).filter(|e| e.missing);
            assert!(listed.clone().all(|e| e.evidence.iter().all(|x| *x == 0.0) && e.value == "missing"));
            // Of a linear model a number says what is expected of it, and so does a category that had no missing cells.
            let expected =
                explained.iter().flat_map(|e| &e.entries).filter(|e| !e.missing && e.value.starts_with("missing"));
            if missing {
                let (is_linear, is_whole) = (what.starts_with("softmax"), what.ends_with("whole rows"));
                assert_eq!((listed.count() > 5, expected.count() > 5), (!is_whole, is_linear), "{what}");
            }
        }
    }
}

#[test]
fn a_full_gaussian_marginalises_missing_cells() {
    let complete = Mixed::new(false);
    let columns = complete.schema.columns().to_vec();
    let model = complete.learn(vec![Block::new(vec![0, 1, 2], &columns, AnyFamily::Gaussian(Gaussian::default()))]);
    let holes = Mixed::new(true);
    let explained = adds_up(&model, &holes.batch(), "holes");
    assert!(explained.iter().flat_map(|e| &e.entries).any(|e| e.missing));
}

#[test]
fn impossible_classes_are_told_as_such() {
    let table = Mixed::new(false);
    let columns = table.schema.columns().to_vec();
    for name in ["categorical", "table", "tree", "a1de"] {
        let family = AnyFamily::named(name).unwrap().with_pseudo_count(0.0);
        // Class z never has the level that only a few rows have.
        let mut sparse = Mixed::new(false);
        (0..ROWS).filter(|i| sparse.labels[*i] == 2).for_each(|i| sparse.codes[1][i] = 0);
        let model = sparse.learn(vec![Block::new(vec![4, 5], &columns, family)]);
        let rows: Vec<usize> = (0..ROWS).filter(|&i| table.labels[i] == 0 && sparse.codes[1][i] == 1).collect();
        let one = table.batch().slice(rows[0]..rows[0] + 1);
        for order in [Order::File, Order::Average] {
            let ledger = model.explain(&one, order).unwrap()[0].ledger(0, 2, &Prior::uniform(3));
            assert_eq!(ledger.total(), f64::INFINITY, "{name}");
            assert!(ledger.entries.iter().all(|e| !e.is_nan()), "{name}");
        }
    }
}

/// Texts of two classes over five words.
fn texts() -> (Schema, Vec<usize>, Vec<u32>, Vec<f64>, Vec<u32>) {
    let mut random = Random::new(2);
    let (mut offsets, mut indices, mut counts, mut labels) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for i in 0..60u32 {
        for word in 0..5u32 {
            let n = random.below(if word % 2 == i % 2 { 4 } else { 2 });
            if n > 0 {
                indices.push(word);
                counts.push(n as f64);
            }
        }
        offsets.push(indices.len());
        labels.push(i % 2);
    }
    let words = ["ham", "viagra", "hello", "prize", "you"].map(String::from).to_vec();
    let text = Column { name: "note".into(), kind: Kind::Text, levels: words };
    let schema = Schema::new(vec![text], "class", vec!["ham".into(), "spam".into()]).unwrap();
    (schema, offsets, indices, counts, labels)
}

#[test]
fn words_of_texts() {
    let (schema, offsets, indices, counts, labels) = texts();
    let sparse = Sparse::new(&offsets, &indices, &counts[..]).unwrap();
    let batch = Batch::new(60).sparse(sparse).unwrap().classes(&labels).unwrap();
    let engine = Memory::new(schema.clone(), batch.clone()).unwrap();
    for (name, pseudo_count) in [("multinomial", 1.0), ("bernoulli", 1.0), ("multinomial", 0.0), ("bernoulli", 0.0)] {
        let family = AnyFamily::named(name).unwrap().with_pseudo_count(pseudo_count);
        let block = Block::new(vec![0], schema.columns(), family);
        let fitted = Generative::of_blocks(vec![block]).learn(&engine).unwrap();
        let model = Model::Generative(fitted.clone());
        let explained = adds_up(&model, &batch, name);
        let parameters = fitted.log_linear().unwrap();
        for (row, explanation) in explained.iter().enumerate() {
            let words = explanation.entries.iter().filter(|e| !e.name.starts_with('('));
            for entry in words {
                let place = schema.columns()[0].levels.iter().position(|w| *w == entry.name).unwrap();
                let stored = (offsets[row]..offsets[row + 1]).find(|&i| indices[i] as usize == place).unwrap();
                if name == "multinomial" && pseudo_count > 0.0 {
                    assert_eq!(entry.value, format!("×{}", counts[stored]));
                    let expected = counts[stored] * parameters.weights[place].1[1];
                    assert!((entry.evidence[1] - expected).abs() < 1e-12);
                }
            }
        }
    }
    let complement = deciban::family::multinomial::Multinomial { complement: true, ..Default::default() };
    let normalise = deciban::family::multinomial::Multinomial { normalise: true, ..Default::default() };
    for family in [complement, normalise] {
        let block = Block::new(vec![0], schema.columns(), AnyFamily::Multinomial(family));
        adds_up(&Model::Generative(Generative::of_blocks(vec![block]).learn(&engine).unwrap()), &batch, "weights");
    }
    adds_up(&Model::Logistic(Logistic::default().learn(&engine).unwrap()), &batch, "logistic words");
    adds_up(&Model::NoisyOr(NoisyOr::default().learn(&engine).unwrap()), &batch, "noisy-or words");
}

#[test]
fn linear_models_of_two_classes() {
    let mut random = Random::new(8);
    let rows: Vec<([f64; 3], u32)> = (0..300)
        .map(|i| {
            let class = i % 2;
            let count = random.below(3 + u64::from(class)) as f64;
            ([count, random.below(2) as f64, (random.normal() + f64::from(class)).abs()], class)
        })
        .collect();
    let mut table = Table::of(&rows);
    let mut models = vec![
        Model::NoisyOr(NoisyOr::default().learn(&table.memory()).unwrap()),
        Model::NoisyOr(NoisyOr { effect: Some("x".into()), ..NoisyOr::default() }.learn(&table.memory()).unwrap()),
        Model::LeastSquares(LeastSquares.learn(&table.memory()).unwrap()),
    ];
    for link in [Link::Logit, Link::Probit, Link::Cloglog] {
        models.push(Model::Logistic(Logistic { link, ..Logistic::default() }.learn(&table.memory()).unwrap()));
    }
    table.values[4] = f64::NAN;
    for (i, model) in models.iter().enumerate() {
        let explained = adds_up(model, &table.batch(), &format!("model {i}"));
        let stopped = model.explain_until(&table.batch(), Order::Average, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(deciban::Error::Interrupted)), "model {i}");
        let entry = &explained[1].entries[2];
        let is_linear = matches!(model, Model::Logistic(_));
        assert!(entry.name == "b" && entry.missing != is_linear && entry.value.starts_with("missing"), "{entry:?}");
    }
    // For a logit a feature says its weight times its distance from the mean.
    let Model::Logistic(logit) = &models[3] else { unreachable!() };
    let mean: f64 = rows.iter().map(|r| r.0[2]).sum::<f64>() / 300.0;
    let weight = logit.coefficients()[2].weight;
    for (row, explanation) in models[3].explain(&table.batch(), Order::File).unwrap().iter().enumerate() {
        let said = explanation.entries[3].evidence[1] - explanation.entries[3].evidence[0];
        assert!((said - weight * (rows[row].0[2] - mean)).abs() < 1e-10);
    }
    let three = Mixed::new(false);
    let table = Table {
        columns: ["a", "b", "c", "d"].map(String::from).to_vec(),
        classes: ["x", "y", "z"].map(String::from).to_vec(),
        values: three.numbers.clone(),
        labels: three.labels.clone(),
    };
    adds_up(&Model::LeastSquares(LeastSquares.learn(&table.memory()).unwrap()), &table.batch(), "three scores");
}

/// What a calibration does is spread over the lines: a feature says less, and the offset is a small line of its own.
#[test]
fn calibration_is_spread_over_the_lines() {
    let table = Mixed::new(false);
    let columns = table.schema.columns().to_vec();
    let inner = table.learn(vec![Block::new(vec![0, 1], &columns, AnyFamily::Gaussian(Gaussian::default()))]);
    let line = Affine { bound: 0.0, scale: 0.6, bias: vec![0.1, -0.3, 0.2] };
    let model = Model::Calibrated(CalibratedModel::new(inner.clone(), Calibration::Affine(line)).unwrap());
    let explained = adds_up(&model, &table.batch(), "calibrated");
    let plain = inner.explain(&table.batch(), Order::Average).unwrap();
    for (row, inside) in explained.iter().zip(&plain) {
        for (line, before) in row.entries.iter().zip(&inside.entries) {
            let scaled = |(a, b): (&f64, &f64)| (a - 0.6 * b).abs() < 1e-12 * b.abs().max(1.0);
            assert!(line.evidence.iter().zip(&before.evidence).all(scaled), "{line:?} {before:?}");
        }
        assert_eq!(row.entries[2].name, "(calibration)");
        let added = row.entries[2].evidence[0] - row.entries[2].evidence[1];
        assert!((added - 0.4).abs() < 1e-10, "{added}");
    }
}

/// What a bound takes away is spread over the lines too, for rows near and far, and for classes that one cell rules out:
/// what is left beside the lines is the offset of the calibration, the same for every row.
#[test]
fn bounds_are_spread_over_the_lines() {
    let table = Mixed::new(false);
    let columns = table.schema.columns().to_vec();
    let inner = table.learn(vec![Block::new(vec![0, 1], &columns, AnyFamily::Gaussian(Gaussian::default()))]);
    for bound in [1e-8, 1e-3, 1e-2] {
        let line = Affine { bound, scale: 0.6, bias: vec![0.1, -0.3, 0.2] };
        let model = Model::Calibrated(CalibratedModel::new(inner.clone(), Calibration::Affine(line)).unwrap());
        let explained = adds_up(&model, &table.batch(), "bounded");
        let plain = inner.explain(&table.batch(), Order::Average).unwrap();
        for (row, inside) in explained.iter().zip(&plain) {
            assert_eq!(row.entries.len(), 3);
            let rest = &row.entries[2];
            assert_eq!(rest.name, "(calibration)");
            assert!((rest.evidence[0] - rest.evidence[1] - 0.4).abs() < 1e-6, "{rest:?}");
            assert!((rest.evidence[2] - rest.evidence[1] - 0.5).abs() < 1e-6, "{rest:?}");
            // No line says more than before against the most probable class.
            let sum = |k: usize| inside.entries.iter().map(|e| e.evidence[k]).sum::<f64>();
            let best = (0..3).max_by(|&a, &b| sum(a).total_cmp(&sum(b))).unwrap();
            for (line, before) in row.entries.iter().zip(&inside.entries) {
                for k in 0..3 {
                    let said = |e: &[f64]| (e[k] - e[best]).abs();
                    assert!(said(&line.evidence) <= 0.6 * said(&before.evidence) + 1e-9, "{line:?} {before:?}");
                }
            }
        }
    }
}

/// Maps that are not lines, rows with missing cells, and classes that are impossible: all ledgers add up.
#[test]
fn ledgers_of_every_calibration_add_up() {
    let mut random = Random::new(3);
    let rows: Vec<([f64; 3], u32)> = (0..240)
        .map(|i| {
            let class = i % 3;
            let base = random.normal();
            ([base + 0.5 * f64::from(class), base + random.normal(), random.normal() - f64::from(class)], class)
        })
        .collect();
    for classes in [2, 3] {
        let mut table = Table::of(&rows.iter().filter(|row| row.1 < classes).copied().collect::<Vec<_>>());
        for covariance in [Structure::Diagonal, Structure::Full] {
            let inner = Model::Generative(table.fit(Gaussian { covariance, ..Gaussian::default() }));
            let evidence = inner.evidence(&table.batch()).unwrap();
            for (name, method) in Method::ALL {
                let calibrator = Calibrator { method, ..Calibrator::default() };
                let map = calibrator.fit(&evidence, &table.labels, None, &table.classes).unwrap();
                let model = Model::Calibrated(CalibratedModel::new(inner.clone(), map).unwrap());
                let explained = adds_up(&model, &table.batch(), name);
                if classes == 2 {
                    // Features carry what there is: the line of the offset is the same for all rows.
                    let offset = |e: &Explanation| e.entries[3].evidence[1] - e.entries[3].evidence[0];
                    let first = offset(&explained[0]);
                    assert!(explained.iter().all(|e| (offset(e) - first).abs() < 1e-9 && first.abs() < 2.0), "{name}");
                }
                let mut part = table.clone();
                for (i, value) in part.values.iter_mut().enumerate() {
                    if i % 5 < 2 || (i / 3) % 20 == 0 {
                        *value = f64::NAN;
                    }
                }
                adds_up(&model, &part.batch(), name);
            }
        }
        table.values[0] = 0.0;
    }
}
