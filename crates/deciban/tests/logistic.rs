//! Logistic, softmax, probit and complementary log-log regression against scikit-learn and statsmodels
//! (`reference/logistic.py`), closed forms and laws.

use crate::common::Table;
use deciban::data::{Batch, Column, Kind, MISSING, Schema, Sparse, Tile};
use deciban::engine::{Engine, Memory};
use deciban::evidence::Evidence;
use deciban::family::gaussian::Conditional;
use deciban::learn::{Classifier, Descent, Learner, Link, Logistic, LogisticModel, Solver};
use deciban::model::Model;
use deciban::numerics::Random;
use deciban::pass::{ErasedPass, ErasedStatistic, pass_to_bytes};
use deciban::posterior::Prior;
use deciban::registry::accumulator;
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("reference/logistic.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

fn plain(weight_decay: f64) -> Logistic {
    Logistic { weight_decay, standardise: false, tolerance: 1e-12, ..Logistic::default() }
}

fn learn(learner: &Logistic, table: &Table) -> LogisticModel {
    learner.learn(&table.memory()).unwrap()
}

/// The coefficients of each class, the intercept last.
fn weights(model: &LogisticModel) -> Vec<f64> {
    model.coefficients().iter().map(|c| c.weight).collect()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn coefficients_equal_those_of_scikit_learn() {
    let (cancer, iris) = (crate::common::wdbc(), crate::common::iris());
    for (name, table) in [("wdbc", &cancer), ("iris", &iris)] {
        for expected in reference()[name].as_array().unwrap() {
            let decay = 1.0 / expected["C"].as_f64().unwrap();
            let (coef, intercept) = (numbers(&expected["coef"]), numbers(&expected["intercept"]));
            let outputs = intercept.len();
            let d = table.columns.len();
            for solver in [Solver::Auto, Solver::Newton, Solver::Lbfgs] {
                let model = learn(&Logistic { solver, ..plain(decay) }, table);
                let (found, most) = (weights(&model), expected["gradient"].as_f64().unwrap());
                assert!(model.fit().gradient_norm <= most, "{name} {solver:?}: {}", model.fit().gradient_norm);
                for k in 0..outputs {
                    for j in 0..d {
                        let (a, b) = (found[j * outputs + k], coef[k * d + j]);
                        assert!((a - b).abs() < 1e-6, "{name} {solver:?} class {k} column {j}: {a} for {b}");
                    }
                    // Only differences of intercepts are determined where there is one per class.
                    let shift = if outputs == 1 { 0.0 } else { found[d * outputs] - intercept[0] };
                    assert!((found[d * outputs + k] - intercept[k] - shift).abs() < 1e-6 * intercept[k].abs().max(1.0));
                }
            }
        }
    }
}

#[test]
fn errors_of_the_weights_equal_those_of_statsmodels() {
    let table = crate::common::wdbc().select(&[1, 4, 8]);
    let reference = reference();
    for (name, link) in [("logit", Link::Logit), ("probit", Link::Probit), ("cloglog", Link::Cloglog)] {
        let model = learn(&Logistic { link, ..Logistic { standardise: true, ..plain(0.0) } }, &table);
        let (params, errors) = (numbers(&reference[name]["params"]), numbers(&reference[name]["errors"]));
        for (j, c) in model.coefficients().iter().enumerate() {
            // Their constant stands first.
            let at = (j + 1) % 4;
            assert!((c.weight / params[at] - 1.0).abs() < 1e-6, "{name} {c:?} {}", params[at]);
            assert!((c.standard_error.unwrap() / errors[at] - 1.0).abs() < 1e-6, "{name} {c:?} {}", errors[at]);
        }
        let fit = model.fit();
        assert!(fit.converged && !fit.separated);
        assert!((fit.log_likelihood - reference[name]["log_likelihood"].as_f64().unwrap()).abs() < 1e-8);
        assert!((fit.null_log_likelihood - reference[name]["null"].as_f64().unwrap()).abs() < 1e-8);
    }
}

#[test]
fn tests_and_intervals_equal_those_of_statsmodels() {
    let table = crate::common::wdbc().select(&[1, 4, 8]);
    let reference = &reference()["logit"];
    let model = learn(&Logistic { standardise: true, ..plain(0.0) }, &table);
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-6, "{a} for {b}");
    for (j, c) in model.coefficients().iter().enumerate() {
        let expected = |name: &str| numbers(&reference[name])[(j + 1) % 4];
        close(c.z().unwrap(), expected("z"));
        close(c.p_value().unwrap(), expected("p"));
        close(c.interval(0.95).unwrap()[0], expected("low"));
        close(c.interval(0.99).unwrap()[1], expected("high99"));
    }
    let (statistic, p) = model.fit().likelihood_ratio().unwrap();
    close(statistic, reference["llr"].as_f64().unwrap());
    close(p, reference["llr_p"].as_f64().unwrap());
    close(model.fit().pseudo_r2(), reference["pseudo_r2"].as_f64().unwrap());
    // A penalty biases the weights: no test of them, and none where columns depend on each other.
    assert_eq!(learn(&plain(1.0), &table).fit().likelihood_ratio(), None);
    let mut twice = table.select(&[0, 1, 0]);
    twice.columns[2] = "the first again".into();
    assert_eq!(learn(&plain(0.0), &twice).fit().likelihood_ratio(), None);
}

#[test]
fn softmax_errors_equal_those_of_statsmodels() {
    let table = crate::common::wine().select(&[2, 4]);
    let model = learn(&Logistic { standardise: true, ..plain(0.0) }, &table);
    let reference = &reference()["mnlogit"];
    let (params, errors) = (numbers(&reference["params"]), numbers(&reference["errors"]));
    let found = model.coefficients();
    for k in 1..3 {
        for (j, at) in [(0, 1), (1, 2), (2, 0)] {
            let difference = found[j * 3 + k].weight - found[j * 3].weight;
            assert!((difference / params[at * 2 + k - 1] - 1.0).abs() < 1e-6, "{difference}");
            assert!((found[j * 3 + k].standard_error.unwrap() / errors[at * 2 + k - 1] - 1.0).abs() < 1e-6);
        }
    }
    assert!((model.fit().log_likelihood - reference["log_likelihood"].as_f64().unwrap()).abs() < 1e-8);
    let (statistic, p) = model.fit().likelihood_ratio().unwrap();
    assert!((statistic / reference["llr"].as_f64().unwrap() - 1.0).abs() < 1e-8);
    assert!((p / reference["llr_p"].as_f64().unwrap() - 1.0).abs() < 1e-6);
    assert_eq!(model.fit().degrees, Some(4));
}

/// Compares weights by name, the intercept, and their sums, with a summary of the reference.
fn check_summary(model: &LogisticModel, expected: &Value) {
    let coefficients = model.coefficients();
    let close = |what: &str, a: f64, b: f64| {
        assert!((a - b).abs() < 1e-6 * b.abs().max(1e-3), "{what}: {a} for {b}");
    };
    for (name, weight) in expected["weights"].as_object().unwrap() {
        let c = coefficients.iter().find(|c| c.name == *name).unwrap();
        close(name, c.weight, weight.as_f64().unwrap());
    }
    let (intercept, features) = coefficients.split_last().unwrap();
    close("intercept", intercept.weight, expected["intercept"].as_f64().unwrap());
    close("sum", features.iter().map(|c| c.weight).sum(), expected["sum"].as_f64().unwrap());
    close("squares", features.iter().map(|c| c.weight * c.weight).sum(), expected["squares"].as_f64().unwrap());
    close("objective", model.fit().objective, expected["objective"].as_f64().unwrap());
    let most = expected["gradient"].as_f64().unwrap();
    assert!(model.fit().gradient_norm <= most, "gradient {} above {most}", model.fit().gradient_norm);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn sparse_text_equals_scikit_learn() {
    let path = crate::common::shared("data/sms-spam/SMSSpamCollection");
    let expected = &reference()["sms"];
    let text = std::fs::read_to_string(path).unwrap().to_ascii_lowercase();
    let rows: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('\t')).collect();
    let split = |c: char| !c.is_ascii_alphanumeric();
    let mut names: Vec<&str> = rows.iter().flat_map(|r| r.1.split(split)).filter(|w| !w.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    let (mut offsets, mut indices, mut counts) = (vec![0], Vec::new(), Vec::new());
    for (_, message) in &rows {
        let words = message.split(split).filter(|w| !w.is_empty());
        let mut codes: Vec<u32> = words.map(|w| names.binary_search(&w).unwrap() as u32).collect();
        codes.sort_unstable();
        for same in codes.chunk_by(|a, b| a == b) {
            indices.push(same[0]);
            counts.push(same.len() as f64);
        }
        offsets.push(indices.len());
    }
    assert_eq!(
        (names.len() as u64, indices.len() as u64),
        (expected["words"].as_u64().unwrap(), expected["entries"].as_u64().unwrap())
    );
    let labels: Vec<u32> = rows.iter().map(|r| u32::from(r.0 == "spam")).collect();
    let levels: Vec<String> = names.iter().map(|w| w.to_string()).collect();
    let column = Column { name: String::new(), kind: Kind::Text, levels };
    let schema = Schema::new(vec![column], "class", vec!["ham".into(), "spam".into()]).unwrap();
    let sparse = Sparse::new(&offsets, &indices, &counts[..]).unwrap();
    let batch = Batch::new(rows.len()).sparse(sparse).unwrap().classes(&labels).unwrap();
    let engine = Memory::new(schema, batch).unwrap();
    let mut expected = expected.clone();
    let named = expected["weights"].as_object().unwrap().iter().map(|(word, w)| (format!("={word}"), w.clone()));
    expected["weights"] = named.collect::<serde_json::Map<_, _>>().into();
    for solver in [Solver::Auto, Solver::Newton] {
        check_summary(&Logistic { solver, tolerance: 1e-12, ..Logistic::default() }.learn(&engine).unwrap(), &expected);
    }
}

/// Overlapping classes, one of them rare.
fn drawn(rows: usize, classes: u64, shift: f64) -> Table {
    let mut random = Random::new(3);
    let labels: Vec<u32> = (0..rows).map(|_| random.below(classes * 2).min(classes - 1) as u32).collect();
    let row =
        |label: &u32| [random.normal() + shift * f64::from(*label), 2.0 * random.normal(), 100.0 + random.normal()];
    let values = labels.iter().flat_map(row).collect();
    let columns = ["a", "b", "c"].map(String::from).to_vec();
    Table { columns, classes: (0..classes).map(|k| k.to_string()).collect(), values, labels }
}

fn evidence(model: &LogisticModel, table: &Table) -> Evidence {
    model.evidence(&table.batch()).unwrap()
}

#[test]
fn all_solvers_reach_the_same_optimum() {
    for classes in [2, 3] {
        let table = drawn(2000, classes, 1.0);
        let fits: Vec<LogisticModel> = [Solver::Newton, Solver::Lbfgs, Solver::Gradient]
            .iter()
            .map(|&solver| {
                learn(&Logistic { solver, tolerance: 1e-10, iterations: 100_000, ..Logistic::default() }, &table)
            })
            .collect();
        let first = evidence(&fits[0], &table);
        for model in &fits {
            let fit = model.fit();
            assert!(fit.converged, "{fit:?}");
            assert!(fit.path.windows(2).all(|w| w[1] <= w[0] + 1e-12 * w[0].abs()));
            let other = evidence(model, &table);
            assert!(first.values().iter().zip(other.values()).all(|(a, b)| (a - b).abs() < 1e-7));
        }
    }
}

#[test]
fn conjugate_gradients_reach_the_optimum_of_many_weights() {
    // 30 columns of 60 levels: more weights than get a Hessian.
    let mut random = Random::new(5);
    let (rows, levels) = (3000, 60);
    let codes: Vec<Vec<u32>> = (0..30).map(|_| (0..rows).map(|_| random.below(levels) as u32).collect()).collect();
    for classes in [2, 3] {
        let labels: Vec<u32> = codes[0].iter().map(|c| (c + random.below(40) as u32) * classes / 99).collect();
        let names: Vec<String> = (0..levels).map(|l| l.to_string()).collect();
        let columns = (0..30).map(|j| Column { name: format!("c{j}"), kind: Kind::Category, levels: names.clone() });
        let class_names = (0..classes).map(|k| k.to_string()).collect();
        let schema = Schema::new(columns.collect(), "class", class_names).unwrap();
        let batch = codes.iter().fold(Batch::new(rows), |batch, codes| batch.codes(codes).unwrap());
        let engine = Memory::new(schema, batch.clone().classes(&labels).unwrap()).unwrap();
        let fit = |solver| Logistic { solver, tolerance: 1e-10, ..Logistic::default() }.learn(&engine).unwrap();
        let (newton, lbfgs) = (fit(Solver::Newton), fit(Solver::Lbfgs));
        assert!(newton.fit().converged && newton.fit().iterations < 30, "{:?}", newton.fit());
        assert_eq!(newton.fit().solver, Solver::Newton);
        let (a, b) = (newton.evidence(&batch).unwrap(), lbfgs.evidence(&batch).unwrap());
        assert!(a.values().iter().zip(b.values()).all(|(x, y)| (x - y).abs() < 1e-6));
    }
}

#[test]
fn a_hessian_of_some_rows_leads_to_the_same_optimum() {
    // Rows enough that `auto` samples them.
    for classes in [2, 3] {
        let table = drawn(60_000, classes, 1.0);
        let fit = |solver| learn(&Logistic { solver, tolerance: 1e-12, ..Logistic::default() }, &table);
        let (sampled, exact) = (fit(Solver::Auto), fit(Solver::Newton));
        assert!(sampled.fit().solver == Solver::Lbfgs && sampled.fit().iterations < 15, "{:?}", sampled.fit());
        let (a, b) = (evidence(&sampled, &table), evidence(&exact, &table));
        assert!(a.values().iter().zip(b.values()).all(|(x, y)| (x - y).abs() < 1e-8));
    }
}

/// Columns that are sums of few: gradients alone would take hundreds of steps, and Newton's as many Hessians.
#[test]
fn many_correlated_columns_take_few_steps() {
    let (rows, columns, sources) = (1500, 150, 12);
    let mut random = Random::new(8);
    let mixing: Vec<f64> = (0..columns * sources).map(|_| random.normal()).collect();
    let (mut x, mut classes) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let source: Vec<f64> = (0..sources).map(|_| random.normal()).collect();
        let mixed = mixing.chunks(sources).map(|m| m.iter().zip(&source).map(|(m, s)| m * s).sum::<f64>());
        x.extend(mixed.map(|x| x + 0.1 * random.normal()));
        classes.push(u32::from(source[0] + random.normal() > 0.0));
    }
    let names: Vec<String> = (0..columns).map(|j| format!("x{j}")).collect();
    let schema = Schema::numbers(&names.iter().map(String::as_str).collect::<Vec<_>>(), "y", &["a", "b"]).unwrap();
    let batch = Batch::new(rows).row_major(&x[..], columns).unwrap();
    let engine = Memory::new(schema, batch.clone().classes(&classes).unwrap()).unwrap();
    let fit = |solver| Logistic { solver, tolerance: 1e-9, ..Logistic::default() }.learn(&engine).unwrap();
    let (auto, newton) = (fit(Solver::Auto), fit(Solver::Newton));
    assert!(auto.fit().converged && auto.fit().iterations < 30, "{:?}", auto.fit());
    assert_eq!((auto.fit().solver, auto.fit().path.len()), (Solver::Lbfgs, auto.fit().iterations + 1));
    let (a, b) = (auto.evidence(&batch).unwrap(), newton.evidence(&batch).unwrap());
    assert!(a.values().iter().zip(b.values()).all(|(x, y)| (x - y).abs() < 1e-5));
}

#[test]
fn rare_columns_that_are_all_but_certain_take_few_steps() {
    let (rows, columns, classes) = (4000, 30, 4);
    let mut random = Random::new(5);
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let numbers: Vec<f64> = (0..6).map(|_| random.normal()).collect();
        let (rare, first) = (random.below(800) as usize, u32::from(numbers[0] + random.normal() > 0.0));
        x.extend(numbers);
        x.extend((6..columns).map(|j| f64::from(u8::from(rare == j))));
        labels.push(if (6..columns).contains(&rare) { (rare % classes) as u32 } else { first });
    }
    let names: Vec<String> = (0..columns).map(|j| format!("x{j}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let schema = Schema::numbers(&names, "y", &["a", "b", "c", "d"]).unwrap();
    let batch = Batch::new(rows).row_major(&x[..], columns).unwrap();
    let engine = Memory::new(schema, batch.clone().classes(&labels).unwrap()).unwrap();
    let fit = |solver| Logistic { solver, weight_decay: 0.01, ..Logistic::default() }.learn(&engine).unwrap();
    let (auto, newton, lbfgs) = (fit(Solver::Auto), fit(Solver::Newton), fit(Solver::Lbfgs));
    assert!(newton.fit().converged && newton.fit().iterations < 40, "{:?}", newton.fit());
    assert!(auto.fit().converged && auto.fit().iterations < 90, "{:?}", auto.fit());
    assert!(lbfgs.fit().iterations > 200, "an easy table: {:?}", lbfgs.fit());
    let posterior = |model: &LogisticModel| model.evidence(&batch).unwrap().posterior(model.prior());
    let (a, b) = (posterior(&auto), posterior(&newton));
    assert!((0..rows).all(|i| a.row(i).iter().zip(b.row(i)).all(|(p, q)| (p - q).abs() < 1e-6)));
}

#[test]
fn another_prior_moves_the_log_odds_by_its_change() {
    let table = drawn(500, 2, 1.0);
    let model = learn(&Logistic::default(), &table);
    let evidence = evidence(&model, &table);
    let other = Prior::new(&[0.9, 0.1]).unwrap();
    let (before, after) = (evidence.posterior(model.prior()), evidence.posterior(&other));
    let log_odds = |p: &Prior| (p.probabilities()[1] / p.probabilities()[0]).ln();
    let change = log_odds(&other) - log_odds(model.prior());
    for row in 0..table.rows() {
        let moved = (after.log_row(row)[1] - after.log_row(row)[0]) - (before.log_row(row)[1] - before.log_row(row)[0]);
        assert!((moved - change).abs() < 1e-12);
    }
}

#[test]
fn separable_data_is_said_to_be_so() {
    let rows: Vec<([f64; 1], u32)> = (0..20).map(|i| ([f64::from(i)], u32::from(i >= 10))).collect();
    let table = Table::of(&rows);
    assert!(learn(&plain(0.0), &table).fit().separated);
    let held = learn(&plain(1.0), &table);
    assert!(held.fit().converged && !held.fit().separated);
}

#[test]
fn collinear_columns_work() {
    let mut table = drawn(1000, 2, 1.0);
    let alone = learn(&plain(0.0), &table);
    table.values = table.values.chunks_exact(3).flat_map(|r| [r[0], r[1], r[2], r[0] + r[1]]).collect();
    table.columns.push("d".into());
    let both = learn(&plain(0.0), &table);
    assert!(both.fit().converged, "{:?}", both.fit());
    assert!((alone.fit().log_likelihood - both.fit().log_likelihood).abs() < 1e-7);
}

#[test]
fn weights_count_rows() {
    let table = drawn(300, 3, 1.0);
    let weights: Vec<f64> = (0..300).map(|i| 1.0 + f64::from(i % 3)).collect();
    let weighted = Memory::new(table.schema(), table.batch().weights(&weights).unwrap()).unwrap();
    let repeated: Vec<usize> = (0..300).flat_map(|i| vec![i; 1 + i % 3]).collect();
    let twice = Table {
        values: repeated.iter().flat_map(|&i| table.values[i * 3..i * 3 + 3].to_vec()).collect(),
        labels: repeated.iter().map(|&i| table.labels[i]).collect(),
        ..table.clone()
    };
    let learner = Logistic { tolerance: 1e-12, ..Logistic::default() };
    let (a, b) = (learner.learn(&weighted).unwrap(), learn(&learner, &twice));
    let (a, b) = (evidence(&a, &table), evidence(&b, &table));
    assert!(a.values().iter().zip(b.values()).all(|(x, y)| (x - y).abs() < 1e-8));
}

#[test]
fn an_engine_of_bytes_reaches_the_same_optimum() {
    struct Bytes<'a>(Memory<'a>, Batch<'a>);
    impl Engine for Bytes<'_> {
        fn collect(&self, pass: &dyn ErasedPass) -> deciban::Result<ErasedStatistic> {
            let bytes = pass_to_bytes(pass)?;
            let mut driver = pass.accumulator();
            for range in [0..100, 100..250, 250..self.1.rows()] {
                let mut executor = accumulator(&bytes)?;
                executor.observe(&self.1.slice(range))?;
                driver.merge(&executor.state()?)?;
            }
            Ok(driver.finish())
        }
        fn schema(&self) -> deciban::Result<Schema> {
            self.0.schema()
        }
    }
    let table = drawn(500, 3, 1.0);
    let learner = Logistic { tolerance: 1e-12, ..Logistic::default() };
    let model = learner.learn(&Bytes(table.memory(), table.batch())).unwrap();
    let direct = learn(&learner, &table);
    let (a, b) = (evidence(&model, &table), evidence(&direct, &table));
    assert!(a.values().iter().zip(b.values()).all(|(x, y)| (x - y).abs() < 1e-8));
}

#[test]
fn stochastic_gradient_descent_ends_within_a_sweep() {
    use std::cell::Cell;
    /// Counts sweeps, and says stop after so many questions.
    struct Stopping<'a>(Memory<'a>, Cell<usize>, Cell<usize>);
    impl Engine for Stopping<'_> {
        fn collect(&self, pass: &dyn ErasedPass) -> deciban::Result<ErasedStatistic> {
            self.0.collect(pass)
        }
        fn sweep(&self, visit: &mut dyn FnMut(&Batch<'_>) -> deciban::Result<()>) -> deciban::Result<()> {
            self.2.set(self.2.get() + 1);
            self.0.sweep(visit)
        }
        fn check_stop(&self) -> deciban::Result<()> {
            self.1.set(self.1.get().checked_sub(1).ok_or(deciban::Error::Interrupted)?);
            Ok(())
        }
        fn schema(&self) -> deciban::Result<Schema> {
            self.0.schema()
        }
    }
    // Four tiles of rows: the first sweep finds the rate, the second moves the weights.
    let table = drawn(1000, 3, 1.0);
    let learner = Logistic { solver: Solver::Sgd, ..Logistic::default() };
    for (questions, sweeps) in [(2, 1), (6, 2)] {
        let engine = Stopping(table.memory(), Cell::new(questions), Cell::new(0));
        assert!(matches!(learner.learn(&engine), Err(deciban::Error::Interrupted)), "{questions}");
        assert_eq!(engine.2.get(), sweeps);
    }
}

#[test]
fn a_model_file_gives_the_same_bits() {
    let table = drawn(200, 3, 1.0);
    let model = learn(&Logistic::default(), &table);
    let path = std::env::temp_dir().join(format!("deciban-logistic-{}.deciban", std::process::id()));
    Model::Logistic(model.clone()).save(&path).unwrap();
    let loaded = Model::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(model.evidence(&table.batch()).unwrap(), loaded.evidence(&table.batch()).unwrap());
}

#[test]
fn one_pass_of_sgd_by_hand() {
    // Rows (−1, a) and (1, b), w = b = 0, η₀ = ½. The first row has p = ½ and moves w by ¼ and b by ±¼;
    // the second has z = 0 again, η₁ = ½/(1 + ½).
    let table = Table::of(&[([-1.0], 0), ([1.0], 1)]);
    let descent = Descent { rate: Some(0.5), passes: 1, ..Descent::default() };
    let second = 0.5 / 1.5;
    let learner = |seed| Logistic { solver: Solver::Sgd, descent: Descent { seed, ..descent.clone() }, ..plain(0.0) };
    let mut signs = Vec::new();
    for seed in 0..32 {
        let found = weights(&learn(&learner(seed), &table));
        assert!((found[0] - (0.25 + 0.5 * second)).abs() < 1e-15, "{found:?}");
        assert!((found[1].abs() - (0.25 - 0.5 * second)).abs() < 1e-15, "{found:?}");
        signs.push(found[1] > 0.0);
    }
    assert!(signs.contains(&true) && signs.contains(&false), "both orders come: {signs:?}");
    // With E = 1 the weight is first shrunk by 1 − η E/N, the intercept never.
    let found = weights(&learn(&Logistic { weight_decay: 1.0, ..learner(0) }, &table));
    assert!((found[0] - (0.25 * (1.0 - second / 2.0) + 0.5 * second)).abs() < 1e-15, "{found:?}");
}

#[test]
fn sgd_comes_close_to_the_optimum_and_says_how_close() {
    for classes in [2, 3] {
        let table = drawn(2000, classes, 1.0);
        let learner = Logistic { solver: Solver::Sgd, ..Logistic::default() };
        let (model, optimum) = (learn(&learner, &table), learn(&Logistic::default(), &table));
        let (fit, best) = (model.fit(), optimum.fit());
        assert!(fit.converged && fit.iterations > 1 && fit.solver == Solver::Sgd, "{fit:?}");
        assert_eq!(fit.path.len(), fit.iterations + 1);
        let changes: Vec<f64> = fit.path.windows(2).map(|w| (w[1] - w[0]).abs() / 2000.0).collect();
        let (last, before) = changes.split_last().unwrap();
        assert!(*last <= 1e-5 && before.iter().all(|change| *change > 1e-5), "{changes:?}");
        let gap = (fit.objective - best.objective) / 2000.0;
        assert!((0.0..5e-4).contains(&gap), "{gap}");
        let (a, b) = (evidence(&model, &table), evidence(&optimum, &table));
        assert!(a.values().iter().zip(b.values()).all(|(x, y)| (x - y).abs() < 0.25));
        // Too few passes are told.
        let short = Logistic { descent: Descent { passes: 2, ..Descent::default() }, ..learner };
        assert!(!learn(&short, &table).fit().converged);
    }
}

#[test]
fn sgd_repeats_by_seed_whatever_the_threads() {
    let table = drawn(20_000, 2, 1.0);
    let descent = |seed| Descent { seed, passes: 2, ..Descent::default() };
    let fit = |seed, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let learner = Logistic { solver: Solver::Sgd, descent: descent(seed), ..Logistic::default() };
        pool.install(|| weights(&learn(&learner, &table)))
    };
    assert_eq!(fit(1, 1), fit(1, 4));
    assert_ne!(fit(1, 2), fit(2, 2));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        let descent = Descent { rate: Some(rate), ..Descent::default() };
        let error = Logistic { solver: Solver::Sgd, descent, ..Logistic::default() }.learn(&table.memory());
        assert!(error.unwrap_err().to_string().contains("rate"), "{rate}");
    }
}

#[test]
fn without_an_intercept_a_constant_column_takes_its_part() {
    // p(class | x = 1) must be the share of each class, and at x = 0 all classes are equally likely.
    let x = [1.0; 12];
    for (classes, labels) in [(2, [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]), (3, [0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2])] {
        let names: Vec<String> = (0..classes).map(|c| format!("c{c}")).collect();
        let schema = Schema::new(vec![Column::number("x")], "y", names).unwrap();
        let rows = Batch::new(12).column(&x[..]).unwrap().classes(&labels).unwrap();
        let engine = Memory::new(schema, rows).unwrap();
        for solver in [Solver::Auto, Solver::Newton, Solver::Lbfgs, Solver::Gradient] {
            let learner = Logistic { solver, intercept: false, iterations: 100_000, ..plain(0.0) };
            let model = learner.learn(&engine).unwrap();
            let outputs = if classes == 2 { 1 } else { 3 };
            let found = weights(&model);
            let share = |class: u32| labels.iter().filter(|c| **c == class).count() as f64;
            // Of three classes the first is the reference.
            let class = |k: u32| if classes == 2 { k + 1 } else { k };
            for k in 0..outputs as u32 {
                let expected = (share(class(k)) / share(0)).ln();
                assert!((found[k as usize] - expected).abs() < 1e-6, "{solver:?}: {found:?}, expected {expected}");
                assert_eq!(found[outputs + k as usize], 0.0, "{solver:?}");
            }
        }
        let refused = Logistic { solver: Solver::Sgd, intercept: false, ..plain(0.0) }.learn(&engine);
        assert!(refused.unwrap_err().to_string().contains("needs an intercept"));
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn a_start_at_the_optimum_is_the_end() {
    let table = crate::common::iris();
    for standardise in [false, true] {
        let learner = Logistic { standardise, tolerance: 1e-9, ..plain(0.5) };
        let cold = learn(&learner, &table);
        let warm = learner.learn_from(&table.memory(), &weights(&cold)).unwrap();
        assert!(cold.fit().iterations > 3 && warm.fit().iterations == 0, "{:?}", warm.fit());
        assert!(weights(&cold).iter().zip(weights(&warm)).all(|(a, b)| (a - b).abs() < 1e-9));
        assert!(learner.learn_from(&table.memory(), &[0.0; 3]).is_err());
    }
}

/// Two classes of three numbers that go together, three cells in ten missing.
fn with_gaps(rows: usize) -> Table {
    let mut random = Random::new(21);
    let mut table = Table::of(&(0..rows as u32).map(|i| ([0.0; 3], i % 2)).collect::<Vec<_>>());
    for i in 0..rows {
        let common = random.normal() + 1.5 * f64::from(table.labels[i]);
        for j in 0..3 {
            let x = common * (1.0 + j as f64) + 0.5 * random.normal() + 10.0;
            table.values[3 * i + j] = if random.uniform() < 0.3 { f64::NAN } else { x };
        }
    }
    table
}

#[test]
fn a_missing_number_is_its_mean_given_the_others_at_fit_and_at_prediction() {
    let table = with_gaps(300);
    let means: Vec<f64> = (0..3)
        .map(|j| {
            let cells: Vec<f64> = table.values.iter().skip(j).step_by(3).copied().filter(|x| !x.is_nan()).collect();
            cells.iter().sum::<f64>() / cells.len() as f64
        })
        .collect();
    let conditional = Conditional::learn(&table.values, &vec![1.0; 300], &means).unwrap().unwrap();
    let mut tile = Tile::default();
    tile.resize(300, 3);
    for j in 0..3 {
        (0..300).for_each(|i| tile.column_mut(j)[i] = table.values[3 * i + j]);
    }
    conditional.fill(&mut tile).unwrap();
    let mut filled = with_gaps(300);
    (0..900).for_each(|k| filled.values[k] = tile.column(k % 3)[k / 3]);
    for (solver, link) in [(Solver::Auto, Link::Logit), (Solver::Lbfgs, Link::Probit)] {
        for intercept in [true, false] {
            let learner = Logistic { solver, link, intercept, ..plain(1.0) };
            let gaps = learn(&learner, &table);
            let whole = learn(&Logistic { fills: false, ..learner }, &filled);
            assert!(gaps.fills_numbers() && !whole.fills_numbers());
            let (a, b) = (gaps.evidence(&table.batch()).unwrap(), whole.evidence(&filled.batch()).unwrap());
            for (a, b) in a.values().iter().zip(b.values()) {
                assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
        }
    }
}

#[test]
fn the_fill_is_kept_and_helps() {
    let table = with_gaps(600);
    let (train, test) = (table.filter(|i| i < 300), table.filter(|i| i >= 300));
    let loss = |learner: &Logistic| {
        let model = learn(learner, &train);
        let evidence = model.evidence(&test.batch()).unwrap();
        let loss = |(row, &label): (&[f64], &u32)| {
            let [own, other] = [row[label as usize], row[1 - label as usize]];
            (1.0 + (other - own).exp()).ln()
        };
        (evidence.values().chunks_exact(2).zip(&test.labels).map(loss).sum::<f64>() / 300.0, model, evidence)
    };
    let (with, model, evidence) = loss(&Logistic::default());
    let (without, ..) = loss(&Logistic { fills: false, ..Logistic::default() });
    assert!(with < without - 0.01, "{with} {without}");
    let loaded = Model::from_bytes(&Model::Logistic(model).to_bytes().unwrap()).unwrap();
    assert_eq!(loaded.evidence(&test.batch()).unwrap().values(), evidence.values());
}

#[test]
fn a_missing_category_is_a_share_of_each_level() {
    let mut random = Random::new(5);
    let classes: Vec<u32> = (0..400).map(|i| i % 2).collect();
    let codes: Vec<u32> = classes.iter().map(|c| random.below(2 + u64::from(*c)) as u32).collect();
    let levels = ["x", "y", "z"].map(String::from).to_vec();
    let columns = vec![Column { name: "k".into(), kind: Kind::Category, levels }];
    let schema = Schema::new(columns, "class", vec!["a".into(), "b".into()]).unwrap();
    let learn = |codes: &[u32]| {
        let batch = Batch::new(400).codes(codes).unwrap().classes(&classes).unwrap();
        Logistic::default().learn(&Memory::new(schema.clone(), batch).unwrap()).unwrap()
    };
    let z = |model: &LogisticModel, code: u32| {
        let evidence = model.evidence(&Batch::new(1).codes(&[code]).unwrap()).unwrap();
        evidence.values()[1] - evidence.values()[0]
    };
    let model = learn(&codes);
    assert_eq!(model.fills_categories(), 1);
    let share = |level: u32| codes.iter().filter(|c| **c == level).count() as f64 / 400.0;
    let expected: f64 = (0..3).map(|level| share(level) * z(&model, level)).sum();
    assert!((z(&model, MISSING) - expected).abs() < 1e-9, "{} {expected}", z(&model, MISSING));
    // Where cells are missing at the fit, they teach what a missing cell says: here, that it is of class b.
    let gaps: Vec<u32> = codes.iter().enumerate().map(|(i, &c)| if i % 8 == 1 { MISSING } else { c }).collect();
    let taught = learn(&gaps);
    assert_eq!(taught.fills_categories(), 0);
    assert!(z(&taught, MISSING) > z(&model, MISSING) + 1.0, "{} {}", z(&taught, MISSING), z(&model, MISSING));
}

/// What a missing cell of one row is filled by, beside a row that is whole.
fn fill_row<const D: usize>(conditional: &Conditional, row: [f64; D]) -> [f64; D] {
    let mut tile = Tile::default();
    tile.resize(2, D);
    (0..D).for_each(|j| tile.column_mut(j).copy_from_slice(&[1.0, row[j]]));
    conditional.fill(&mut tile).unwrap();
    assert!((0..D).all(|j| tile.column(j)[0] == 1.0));
    std::array::from_fn(|j| tile.column(j)[1])
}

/// Rows of x and y ≈ 2x + 10.
fn pairs() -> Vec<f64> {
    let pair = |i: i32| {
        let x = f64::from(i % 20) - 9.5;
        [x, 2.0 * x + f64::from(i % 7) + 7.0]
    };
    (0..200).flat_map(pair).collect()
}

#[test]
fn the_fill_of_a_pair_is_the_regression_of_one_on_the_other() {
    let rows = pairs();
    let learn = |rows: &[f64]| Conditional::learn(rows, &[1.0; 200], &[0.0, 0.0]).unwrap().unwrap();
    let mean = |j: usize| rows.iter().skip(j).step_by(2).sum::<f64>() / 200.0;
    let (a, b) = (mean(0), mean(1));
    let covariance =
        |i: usize, j: usize| rows.chunks(2).map(|row| (row[i] - [a, b][i]) * (row[j] - [a, b][j])).sum::<f64>() / 200.0;
    // Correlations are shrunk as by two rows that have none.
    let expected = b + covariance(0, 1) / covariance(0, 0) * 200.0 / 202.0 * (4.0 - a);
    let whole = learn(&rows);
    let [x, y] = fill_row(&whole, [4.0, f64::NAN]);
    assert!(x == 4.0 && (y - expected).abs() < 1e-10, "{y} {expected}");
    let [x, y] = fill_row(&whole, [f64::NAN, f64::NAN]);
    assert!((x - a).abs() < 1e-12 && (y - b).abs() < 1e-12);
    // Where the other cell tells what is missing, little is lost.
    let mut gaps = rows.clone();
    gaps.iter_mut().enumerate().filter(|(k, _)| k % 5 == 0).for_each(|(_, x)| *x = f64::NAN);
    let [_, fewer] = fill_row(&learn(&gaps), [4.0, f64::NAN]);
    assert!((fewer - y).abs() > 0.0 && (fewer - expected).abs() < 0.3, "{fewer} {expected}");
}

#[test]
fn constant_and_collinear_columns_and_columns_without_cells_do_no_harm() {
    let rows: Vec<f64> = (0..30).flat_map(|i| [f64::from(i), 2.0 * f64::from(i), 5.0, f64::NAN]).collect();
    let conditional = Conditional::learn(&rows, &[1.0; 30], &[0.0, 0.0, 5.0, 0.0]).unwrap().unwrap();
    let [_, double, constant, none] = fill_row(&conditional, [20.0, f64::NAN, f64::NAN, f64::NAN]);
    assert!((double - 40.0).abs() < 2.0 && constant == 5.0 && none == 0.0, "{double} {constant} {none}");
}
