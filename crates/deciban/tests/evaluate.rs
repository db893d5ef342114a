//! Figures against scikit-learn (`reference/evaluate.py` made the values), and probabilities of error
//! against closed forms.

mod common;

use common::Table;
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
