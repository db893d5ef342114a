//! Figures against scikit-learn (`reference/evaluate.py` made the values), and probabilities of error
//! against closed forms.

use crate::common::Table;
use deciban::decision::Costs;
use deciban::evaluate::{Application, Evaluation, Reliability, Trials};
use deciban::evidence::Evidence;
use deciban::family::gaussian::{Gaussian, Structure};
use deciban::learn::Classifier;
use deciban::numerics::{Random, normal_cdf};
use deciban::posterior::Prior;
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("reference/evaluate.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{found}, not {expected}");
}

#[track_caller]
fn all_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).for_each(|(a, b)| close(*a, *b));
}

#[test]
fn two_classes_agree_with_scikit_learn() {
    let reference = reference();
    let cases = reference["two"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let llr = numbers(&case["llr"]);
        let y: Vec<bool> = numbers(&case["y"]).iter().map(|y| *y == 1.0).collect();
        let weights = case["weights"].as_array().map(|_| numbers(&case["weights"]));
        let trials = Trials::new(&llr, &y, weights.as_deref()).unwrap();
        close(trials.auc(), case["auc"].as_f64().unwrap());

        // scikit-learn's thresholds fall, and it keeps those at which only rows of weight 0 stand.
        let [thresholds, miss, false_alarm] = [0, 1, 2].map(|j| numbers(&case["roc"][j]));
        for point in trials.roc().iter().filter(|p| p.threshold < f64::INFINITY) {
            let i = thresholds.iter().position(|t| *t == point.threshold).unwrap();
            close(point.miss, miss[i]);
            close(point.false_alarm, false_alarm[i]);
        }

        let (t, n) = trials.totals();
        let pools = trials.pools();
        for (x, share) in numbers(&case["isotonic"][0]).iter().zip(numbers(&case["isotonic"][1])) {
            let pool = pools.iter().find(|p| p.low <= *x && *x <= p.high).unwrap();
            close(pool.target / (pool.target + pool.other), share);
            let llr = (share / (1.0 - share)).ln() - (t / n).ln();
            assert!(pool.llr == llr || (pool.llr - llr).abs() < 1e-12, "{} {llr}", pool.llr);
        }

        if let Some(curve) = case["calibration"].as_array() {
            let mut found = Reliability::new(8);
            llr.iter().zip(&y).for_each(|(x, y)| found.add(1.0 / (1.0 + (-x).exp()), *y, 1.0));
            let found = found.curve();
            all_close(&found.iter().map(|b| b.share).collect::<Vec<_>>(), &numbers(&curve[0]));
            all_close(&found.iter().map(|b| b.mean).collect::<Vec<_>>(), &numbers(&curve[1]));
        }
    }
}

#[test]
fn many_classes_agree_with_scikit_learn() {
    let reference = reference();
    let cases = reference["many"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let rows: Vec<Vec<f64>> = case["evidence"].as_array().unwrap().iter().map(numbers).collect();
        let classes: Vec<String> = (0..rows[0].len()).map(|k| k.to_string()).collect();
        let y: Vec<u32> = numbers(&case["y"]).iter().map(|k| *k as u32).collect();
        let weights = case["weights"].as_array().map(|_| numbers(&case["weights"]));
        let costs = Costs::zero_one(&classes);
        let posterior = Evidence::new(classes.len(), rows.concat()).unwrap().posterior(&Prior::uniform(classes.len()));
        let mut found = Evaluation::new(&classes, &costs);
        found.observe(&posterior, &y, weights.as_deref(), &costs).unwrap();
        let expected = |name: &str| case[name].as_f64().unwrap();
        close(found.accuracy(), expected("accuracy"));
        close(found.error_rate(), 1.0 - expected("accuracy"));
        close(found.balanced_accuracy(), expected("balanced_accuracy"));
        close(found.log_loss(), expected("log_loss"));
        close(found.brier(), expected("brier"));
        let confusion: Vec<Vec<f64>> = case["confusion"].as_array().unwrap().iter().map(numbers).collect();
        assert_eq!(found.confusion(), confusion);
        let per_class = found.per_class();
        all_close(&per_class.iter().map(|c| c.precision).collect::<Vec<_>>(), &numbers(&case["precision"]));
        all_close(&per_class.iter().map(|c| c.recall).collect::<Vec<_>>(), &numbers(&case["recall"]));
        all_close(&per_class.iter().map(|c| c.f1).collect::<Vec<_>>(), &numbers(&case["f1"]));
        let (precision, recall, f1) = found.macro_average();
        all_close(&[precision, recall, f1], &numbers(&case["macro"]));
    }
}

/// Two Gaussians with means ±δ/2 and variance 1: the LLR is δx, and with prior log-odds ℓ the best
/// decision is wrong with probability ∫ min(π₀p(x|0), π₁p(x|1)) dx
/// = π₁Φ((t − δ/2)) + π₀Φ(−t − δ/2), where t = −ℓ/δ.
#[test]
fn the_probability_of_a_mistake() {
    const N: usize = 100_000;
    let delta = 1.7;
    for (seed, p) in [(1, 0.5), (2, 0.3), (3, 0.05)] {
        let mut random = Random::new(seed);
        let y: Vec<u32> = (0..N).map(|_| u32::from(random.uniform() < p)).collect();
        let x: Vec<f64> = y.iter().map(|&k| random.normal() + delta * (f64::from(k) - 0.5)).collect();
        let log_odds = (p / (1.0 - p)).ln();
        let t = -log_odds / delta;
        let closed = p * normal_cdf(t - delta / 2.0) + (1.0 - p) * normal_cdf(-t - delta / 2.0);

        // The integral, by the trapezoidal rule, which for smooth densities on the whole line is exact; the
        // kink at t stands on a node.
        let density = |x: f64, at: f64| (-0.5 * (x - at) * (x - at)).exp() / std::f64::consts::TAU.sqrt();
        let least = |x: f64| (p * density(x, delta / 2.0)).min((1.0 - p) * density(x, -delta / 2.0));
        let h = 1e-4;
        let integral: f64 = (-120_000..=120_000).map(|i| h * least(t + h * f64::from(i))).sum();
        assert!((integral - closed).abs() < 1e-8, "{integral}, not {closed}");

        // The model says so itself, and the sampled rows bear it out.
        let evidence = Evidence::new(2, x.iter().flat_map(|x| [0.0, delta * x]).collect()).unwrap();
        let posterior = evidence.posterior(&Prior::new(&[1.0 - p, p]).unwrap());
        let stated: f64 = (0..N).map(|i| posterior.probability_of_error(i)).sum::<f64>() / N as f64;
        let classes = ["0".to_string(), "1".to_string()];
        let costs = Costs::zero_one(&classes);
        let mut found = Evaluation::new(&classes, &costs);
        found.observe(&posterior, &y, None, &costs).unwrap();
        let sd = (closed * (1.0 - closed) / N as f64).sqrt();
        assert!((found.error_rate() - closed).abs() < 3.5 * sd, "{} {closed} {sd}", found.error_rate());
        assert!((stated - closed).abs() < 3.5 * sd, "{stated} {closed}");
        // And so do the rates of the two classes, weighed by the prior.
        let llr: Vec<f64> = x.iter().map(|x| delta * x).collect();
        let trials = Trials::new(&llr, &y.iter().map(|&k| k == 1).collect::<Vec<_>>(), None).unwrap();
        let cost = trials.dcf(&Application::new(p, 1.0, 1.0).unwrap());
        assert!((cost.actual - closed).abs() < 4.0 * sd && cost.minimum <= cost.actual);
        assert!(cost.actual - cost.minimum < 4.0 * sd, "{cost:?}");
    }
}

/// The same with a fitted model: what it states agrees with what happens on rows it has not seen.
#[test]
fn a_fitted_model_knows_how_often_it_errs() {
    let mut random = Random::new(9);
    let mut draw = |rows: usize| {
        let row = |i: usize, random: &mut Random| {
            let k = (i % 3) as u32;
            ([random.normal() + f64::from(k), random.normal() - 0.5 * f64::from(k)], k)
        };
        Table::of(&(0..rows).map(|i| row(i, &mut random)).collect::<Vec<_>>())
    };
    let (train, test) = (draw(30_000), draw(60_000));
    let model = train.fit(Gaussian { covariance: Structure::Tied, ..Gaussian::default() });
    let posterior = model.evidence(&test.batch()).unwrap().posterior(&Prior::uniform(3));
    let stated: f64 = (0..60_000).map(|i| posterior.probability_of_error(i)).sum::<f64>() / 6e4;
    let costs = Costs::zero_one(&test.classes);
    let mut found = Evaluation::new(&test.classes, &costs);
    found.observe(&posterior, &test.labels, None, &costs).unwrap();
    // Classes on a line, √1.25 apart: errors 4/3 Φ(−√1.25/2).
    let closed = 4.0 / 3.0 * normal_cdf(-0.5 * 1.25f64.sqrt());
    assert!((found.error_rate() - closed).abs() < 0.008, "{} {closed}", found.error_rate());
    assert!((stated - closed).abs() < 0.005, "{stated} {closed}");
}

mod expectation {
    //! What a model expects of its own decisions, against closed forms.

    use deciban::data::{Batch, Column, Kind, Schema};
    use deciban::decision::Costs;
    use deciban::engine::Memory;
    use deciban::expected::{By, Expected, Sampling, expected};
    use deciban::family::AnyFamily;
    use deciban::family::gaussian::{Gaussian, Structure};
    use deciban::learn::{Classifier, Generative, Learner, Logistic, NaiveBayes};
    use deciban::model::Model;
    use deciban::numerics::normal_cdf;
    use deciban::posterior::Prior;

    /// Gaussians of standard deviation `sd` at these means, from two rows each.
    fn gaussians(means: &[f64], sd: f64, family: Gaussian) -> Model {
        let x: Vec<f64> = means.iter().flat_map(|m| [m - sd, m + sd]).collect();
        let labels: Vec<u32> = (0..means.len() as u32).flat_map(|k| [k, k]).collect();
        let names: Vec<String> = (0..means.len()).map(|k| format!("c{k}")).collect();
        let schema = Schema::numbers(&["x".to_string()], "class", &names).unwrap();
        let rows = Batch::new(x.len()).column(&x[..]).unwrap().classes(&labels).unwrap();
        let learner = Generative::gaussian(schema.columns(), family).unwrap();
        Model::Generative(learner.learn(&Memory::new(schema, rows).unwrap()).unwrap())
    }

    fn tied() -> Gaussian {
        Gaussian { covariance: Structure::Tied, ..Gaussian::default() }
    }

    fn of(model: &Model, prior: &Prior, costs: &Costs) -> Expected {
        expected(model, prior, costs, Sampling::default()).unwrap()
    }

    #[track_caller]
    fn close(found: f64, wanted: f64, tolerance: f64) {
        assert!((found - wanted).abs() < tolerance, "{found}, not {wanted}");
    }

    #[test]
    fn two_gaussians_of_equal_variance() {
        for (means, sd) in [([0.0, 2.0], 1.0), ([-1e6, 1e6], 0.7e6), ([5.0, 5.001], 0.01), ([0.0, 30.0], 1.0)] {
            let model = gaussians(&means, sd, tied());
            let d = (means[1] - means[0]) / sd;
            for p in [0.5, 0.1, 0.999] {
                let prior = Prior::new(&[1.0 - p, p]).unwrap();
                // Φ(−d/2 ∓ ℓ/d) with ℓ the prior log-odds.
                let odds = (p / (1.0 - p)).ln();
                let [miss, false_alarm] = [normal_cdf(-d / 2.0 - odds / d), normal_cdf(-d / 2.0 + odds / d)];
                let found = of(&model, &prior, &Costs::zero_one(model.schema().classes()));
                assert_eq!(found.by, By::Quadrature);
                close(found.error_rate, p * miss + (1.0 - p) * false_alarm, 1e-9);
                close(found.expected_cost, found.error_rate, 1e-12);
                assert_eq!(found.rejected, 0.0);
            }
        }
    }

    #[test]
    fn costs_and_rejections() {
        let model = gaussians(&[0.0, 2.0], 1.0, tied());
        let names = model.schema().classes().to_vec();
        let prior = Prior::uniform(2);
        // A miss costs 20: the threshold on the LLR 2x − 2 is −ln 20.
        let mut costs = Costs::zero_one(&names);
        costs.set(1, 0, 20.0).unwrap();
        let t = (2.0 - 20f64.ln()) / 2.0;
        let found = of(&model, &prior, &costs);
        let [false_alarm, miss] = [normal_cdf(-t), normal_cdf(t - 2.0)];
        close(found.error_rate, 0.5 * (false_alarm + miss), 1e-9);
        close(found.expected_cost, 0.5 * (false_alarm + 20.0 * miss), 1e-9);
        // Rejected where neither class has 90 %: |LLR| < ln 9.
        let found = of(&model, &prior, &Costs::zero_one(&names).with_reject(0.1).unwrap());
        let [low, high] = [1.0 - 9f64.ln() / 2.0, 1.0 + 9f64.ln() / 2.0];
        let rejected = 0.5 * (normal_cdf(high) - normal_cdf(low) + normal_cdf(high - 2.0) - normal_cdf(low - 2.0));
        let wrong = 0.5 * (normal_cdf(-high) + normal_cdf(low - 2.0));
        close(found.rejected, rejected, 1e-9);
        close(found.error_rate, wrong, 1e-9);
        close(found.expected_cost, wrong + 0.1 * rejected, 1e-9);
    }

    #[test]
    fn many_gaussians_and_heavy_tails() {
        // Five in a row, two apart: only the outer ones err on one side.
        let model = gaussians(&[0.0, 2.0, 4.0, 6.0, 8.0], 1.0, tied());
        let found = of(&model, &Prior::uniform(5), &Costs::zero_one(model.schema().classes()));
        close(found.error_rate, 8.0 / 5.0 * normal_cdf(-1.0), 1e-9);
        // Student densities have the mass 1 too, and err more.
        let bayes = Gaussian { estimator: deciban::family::gaussian::Estimator::Bayes, ..tied() };
        let model = gaussians(&[0.0, 2.0, 4.0, 6.0, 8.0], 1.0, bayes);
        let wide = of(&model, &Prior::uniform(5), &Costs::zero_one(model.schema().classes()));
        assert!(wide.by == By::Quadrature && wide.error_rate > found.error_rate, "{wide:?}");
    }

    /// Waiting times of mean 1 and 4: p₀ = e^−x, p₁ = e^(−x/4)/4 cross at x = (4/3) ln 4.
    #[test]
    fn waiting_times() {
        let schema = Schema::numbers(&["x"], "class", &["short", "long"]).unwrap();
        let x = [0.5, 1.5, 2.0, 6.0];
        let rows = Batch::new(4).column(&x[..]).unwrap().classes(&[0, 0, 1, 1]).unwrap();
        let mut bayes = NaiveBayes::default();
        bayes.every_number(schema.columns(), &AnyFamily::named("exponential").unwrap());
        let learner = Generative::of_blocks(bayes.blocks(schema.columns()).unwrap());
        let model = Model::Generative(learner.learn(&Memory::new(schema, rows).unwrap()).unwrap());
        let found = of(&model, &Prior::uniform(2), &Costs::zero_one(model.schema().classes()));
        let t = 4.0 / 3.0 * 4f64.ln();
        assert_eq!(found.by, By::Quadrature);
        close(found.error_rate, 0.5 * ((-t).exp() + 1.0 - (-t / 4.0).exp()), 1e-9);
    }

    /// Categories are summed: by hand, for two columns that are independent given the class.
    #[test]
    fn categories_are_summed() {
        let category = |name: &str, levels: &[&str]| Column {
            name: name.into(),
            kind: Kind::Category,
            levels: levels.iter().map(|l| l.to_string()).collect(),
        };
        let columns = vec![category("fur", &["short", "long"]), category("eyes", &["blue", "green", "brown"])];
        let schema = Schema::new(columns, "cat", ["siamese", "persian"].map(String::from).to_vec()).unwrap();
        let (fur, eyes) = ([0, 0, 0, 1, 1, 1, 0, 1], [0, 0, 1, 2, 1, 2, 2, 0]);
        let labels = [0, 0, 0, 0, 1, 1, 1, 1];
        let rows = Batch::new(8).codes(&fur).unwrap().codes(&eyes).unwrap().classes(&labels).unwrap();
        let bayes = NaiveBayes { pseudo_count: 1.0, ..NaiveBayes::default() };
        let learner = Generative::of_blocks(bayes.blocks(schema.columns()).unwrap());
        let model = Model::Generative(learner.learn(&Memory::new(schema, rows).unwrap()).unwrap());
        let prior = Prior::new(&[0.3, 0.7]).unwrap();
        // Of each class and column, (count + 1)/(4 + levels).
        let share = |class: u32, codes: &[u32], level: u32, levels: f64| {
            let count = (0..8).filter(|&i| labels[i] == class && codes[i] == level).count() as f64;
            (count + 1.0) / (4.0 + levels)
        };
        let mut wanted = 0.0;
        for f in 0..2 {
            for e in 0..3 {
                let joint = [0, 1]
                    .map(|k| prior.probabilities()[k as usize] * share(k, &fur, f, 2.0) * share(k, &eyes, e, 3.0));
                wanted += joint[0].min(joint[1]);
            }
        }
        let found = of(&model, &prior, &Costs::zero_one(model.schema().classes()));
        assert_eq!(found.by, By::Sum);
        close(found.error_rate, wanted, 1e-13);
    }

    /// Two numbers are sampled: d is the distance of the means, and the error Φ(−d/2).
    #[test]
    fn more_columns_are_sampled() {
        let schema = Schema::numbers(&["x", "y"], "class", &["a", "b"]).unwrap();
        let x = [-1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, -1.0, 1.0, 1.0, 3.0, 1.0, 2.0, 2.0, 2.0, 0.0];
        let rows = Batch::new(8).row_major(&x[..], 2).unwrap().classes(&[0, 0, 0, 0, 1, 1, 1, 1]).unwrap();
        let learner = Generative::gaussian(schema.columns(), tied()).unwrap();
        let engine = Memory::new(schema.clone(), rows).unwrap();
        let model = Model::Generative(learner.learn(&engine).unwrap());
        let costs = Costs::zero_one(model.schema().classes());
        // Variances of ½, means 2 and 1 apart: d² = (4 + 1)/½.
        let wanted = normal_cdf(-10f64.sqrt() / 2.0);
        let found = of(&model, &Prior::uniform(2), &costs);
        let By::Sampling { rows, error_rate_error, .. } = found.by else { panic!("{found:?}") };
        assert!(rows == 20_000 && error_rate_error < 1e-3, "{found:?}");
        close(found.error_rate, wanted, 4.0 * error_rate_error);
        // The same for any number of threads, another for another seed.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| of(&model, &Prior::uniform(2), &costs)), found);
        let other = expected(&model, &Prior::uniform(2), &costs, Sampling { seed: 1, ..Sampling::default() }).unwrap();
        assert_ne!(other, found);
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Expected>(&text).unwrap(), found);
        // A linear model has no density to expect by.
        let linear = Model::Logistic(Logistic::default().learn(&engine).unwrap());
        assert!(expected(&linear, &Prior::uniform(2), &costs, Sampling::default()).is_err());
    }
}
