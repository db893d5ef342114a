//! Calibrations against scikit-learn and SciPy (`reference/calibrate.py` made the values), in model files,
//! and on data that no one tuned on.

use crate::common::Table;
use deciban::calibrate::{Calibration, Calibrator, Method};
use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::evaluate::{BayesError, Cllr, Scored, Trials};
use deciban::evidence::Evidence;
use deciban::family::gaussian::{Gaussian, Structure};
use deciban::file::{from_bytes, to_bytes};
use deciban::folds::Folds;
use deciban::learn::{Classifier, Generative, Logistic};
use deciban::model::{CalibratedModel, Candidate, Model};
use deciban::numerics::Random;
use deciban::posterior::Prior;
use deciban::select::{CrossValidation, CrossedCalibration};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn reference() -> Value {
    serde_json::from_str(include_str!("reference/calibrate.json")).unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs().max(1.0), "{found}, not {expected}");
}

fn names(classes: usize) -> Vec<String> {
    (0..classes).map(|k| k.to_string()).collect()
}

fn of_llr(llr: &[f64]) -> Evidence {
    Evidence::new(2, llr.iter().flat_map(|x| [3.0, 3.0 + x]).collect()).unwrap()
}

#[test]
fn two_classes_agree_with_references() {
    let reference = reference();
    let cases = reference["two"].as_array().unwrap();
    assert_eq!(cases.len(), 2);
    for case in cases {
        let llr = numbers(&case["llr"]);
        let y: Vec<u32> = numbers(&case["y"]).iter().map(|y| *y as u32).collect();
        let weights = case["weights"].as_array().map(|_| numbers(&case["weights"]));
        let prior = Prior::new(&numbers(&case["prior"])).unwrap();
        let fit = |method: Method| {
            let calibrator = Calibrator { method, prior: Some(prior.clone()), pseudo_count: None, bounded: false };
            calibrator.fit(&of_llr(&llr), &y, weights.as_deref(), &names(2)).unwrap()
        };

        let line = fit(Method::Logistic);
        let [slope, offset] = [0, 1].map(|j| numbers(&case["logistic"])[j]);
        for (x, found) in [-5.0, 0.0, 7.0].iter().zip([0, 1, 2]) {
            let calibrated = line.apply(&of_llr(&[-5.0, 0.0, 7.0])).unwrap();
            close(calibrated.llr(found, 1), slope * x + offset, 1e-8);
        }

        let Calibration::Affine(scale) = fit(Method::Temperature) else { panic!() };
        close(scale.scale, case["temperature"].as_f64().unwrap(), 1e-8);
        assert_eq!(scale.bias, [0.0, 0.0]);

        let Calibration::Beta(beta) = fit(Method::Beta) else { panic!() };
        let expected = numbers(&case["beta"]);
        for (found, expected) in [beta.a, beta.b, beta.c].iter().zip(&expected) {
            close(*found, *expected, 1e-6);
        }
        // By the formula, at a prior of its own.
        let odds = (prior.probabilities()[1] / prior.probabilities()[0]).ln();
        let p: f64 = 1.0 / (1.0 + (-(0.4 + odds)).exp());
        close(beta.apply(0.4), beta.a * p.ln() - beta.b * (1.0 - p).ln() + beta.c - odds, 1e-12);

        let steps = fit(Method::Pav);
        let calibrated = steps.apply(&of_llr(&numbers(&case["pav"][0]))).unwrap();
        for (i, expected) in numbers(&case["pav"][1]).iter().enumerate() {
            assert!(expected.is_finite());
            close(calibrated.llr(i, 1), *expected, 1e-12);
        }
    }
}

#[test]
fn many_classes_agree_with_scipy() {
    let reference = reference();
    let case = &reference["many"][0];
    let rows: Vec<Vec<f64>> = case["evidence"].as_array().unwrap().iter().map(numbers).collect();
    let y: Vec<u32> = numbers(&case["y"]).iter().map(|y| *y as u32).collect();
    let evidence = Evidence::new(4, rows.concat()).unwrap();
    let prior = Some(Prior::new(&numbers(&case["prior"])).unwrap());
    let calibrator = Calibrator { prior, ..Calibrator::default() };
    let Calibration::Affine(found) = calibrator.fit(&evidence, &y, None, &names(4)).unwrap() else { panic!() };
    close(found.scale, case["affine"][0].as_f64().unwrap(), 1e-7);
    close(found.bias.iter().sum(), 0.0, 1e-12);
    for (k, expected) in numbers(&case["affine"][1]).iter().enumerate() {
        close(found.bias[k] - found.bias[0], *expected, 1e-7);
    }
    // A constant added to a row's evidence changes nothing.
    let shifted = rows.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |e| e + 100.0 * (i % 7) as f64));
    let shifted = Evidence::new(4, shifted.collect()).unwrap();
    let Calibration::Affine(again) = calibrator.fit(&shifted, &y, None, &names(4)).unwrap() else { panic!() };
    close(again.scale, found.scale, 1e-9);
}

/// Three classes with these probabilities of five kinds of rows: the evidence is right.
const RIGHT: [[f64; 5]; 3] = [[0.5, 0.2, 0.1, 0.15, 0.05], [0.1, 0.3, 0.2, 0.3, 0.1], [0.05, 0.1, 0.3, 0.05, 0.5]];

/// A row of each kind and class, weighted by its probability and by how many rows the class has.
fn right_rows(power: f64, rows: [f64; 3]) -> (Evidence, Vec<u32>, Vec<f64>) {
    let (mut values, mut y, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for kind in 0..5 {
        for k in 0..3 {
            values.extend(RIGHT.iter().map(|p| power * p[kind].ln()));
            y.push(k as u32);
            weights.push(rows[k] * RIGHT[k][kind]);
        }
    }
    (Evidence::new(3, values).unwrap(), y, weights)
}

/// Each class against the rest: evidence that is right stays, however frequent the classes are; evidence
/// that is too sure becomes right, by PAV exactly.
#[test]
fn one_class_against_the_rest() {
    for method in [Method::Pav, Method::Beta] {
        for rows in [[100.0, 100.0, 100.0], [1000.0, 10.0, 100.0]] {
            let calibrator = Calibrator { method, pseudo_count: Some(0.0), ..Calibrator::default() };
            let (evidence, y, weights) = right_rows(1.0, rows);
            let map = calibrator.fit(&evidence, &y, Some(&weights), &names(3)).unwrap();
            assert_eq!(map.method(), method);
            let again = map.apply(&evidence).unwrap();
            let difference = |evidence: &Evidence, i: usize, k: usize| evidence.row(i)[k] - evidence.row(i)[0];
            for i in 0..evidence.rows() {
                (1..3).for_each(|k| close(difference(&again, i, k), difference(&evidence, i, k), 1e-6));
            }
            // A constant for all classes is no evidence.
            let moved =
                evidence.values().chunks(3).enumerate().flat_map(|(i, row)| row.iter().map(move |e| e + i as f64));
            let moved = map.apply(&Evidence::new(3, moved.collect()).unwrap()).unwrap();
            again.values().iter().zip(moved.values()).for_each(|(a, b)| close(*a, *b, 1e-12));
            // Twice as sure: its LLRs against the rest rise with the right ones, except where they do not.
            let (sure, ..) = right_rows(2.0, rows);
            let map = calibrator.fit(&sure, &y, Some(&weights), &names(3)).unwrap();
            let cllr = |evidence: &Evidence| {
                let mut cllr = Cllr::new(3);
                cllr.observe(evidence, &y, Some(&weights)).unwrap();
                cllr.bits()
            };
            let [before, after, best] = [cllr(&sure), cllr(&map.apply(&sure).unwrap()), cllr(&evidence)];
            assert!(
                best <= after + 1e-12 && after - best < 0.2 * (before - best),
                "{method:?}: {before} {after} {best}"
            );
            let stored: Calibration = from_bytes(&to_bytes(&map).unwrap()).unwrap();
            assert_eq!(stored, map);
        }
    }
    // By hand: class 0 of the first kind, 0.5 against (0.1 + 0.05)/2.
    let (evidence, y, weights) = right_rows(1.0, [1.0; 3]);
    let calibrator = Calibrator { method: Method::Pav, pseudo_count: Some(0.0), ..Calibrator::default() };
    let map = calibrator.fit(&evidence, &y, Some(&weights), &names(3)).unwrap();
    let Calibration::OneVersusRest(rest) = &map else { panic!() };
    close(rest.maps[0].apply(evidence.llr(0, 0)), (0.5f64 / 0.075).ln(), 1e-12);
    close(map.apply(&evidence).unwrap().row(0)[0], (0.5f64 / 0.65).ln(), 1e-12);
    // What is impossible stays so, and so does a row that nothing explains.
    let never = f64::NEG_INFINITY;
    let odd = Evidence::new(3, vec![0.0, never, -1.0, never, never, never]).unwrap();
    let told = map.apply(&odd).unwrap();
    assert!(told.row(0)[0] > told.row(0)[1] && told.row(1).iter().all(|e| *e == never), "{told:?}");
}

#[test]
fn what_is_good_stays() {
    // LLRs that are right: e^x of the targets to one of the others at ±x.
    let (mut llr, mut y, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for x in [-3.0, -1.0, 0.5, 2.0, 4.0f64] {
        // p(x | target)/p(x | other) = e^x up to a factor, which is taken out below.
        for (k, w) in [(1, x.exp() * (-0.5 * x * x).exp()), (0, (-0.5 * x * x).exp())] {
            llr.push(x);
            y.push(k);
            weights.push(w);
        }
    }
    let total = |k: u32| y.iter().zip(&weights).filter(|(c, _)| **c == k).map(|(_, w)| w).sum::<f64>();
    let offset = (total(1) / total(0)).ln();
    llr.iter_mut().for_each(|x| *x -= offset);
    for (_, method) in Method::ALL {
        let calibrator = Calibrator { method, pseudo_count: Some(0.0), ..Calibrator::default() };
        let map = calibrator.fit(&of_llr(&llr), &y, Some(&weights), &names(2)).unwrap();
        let calibrated = map.apply(&of_llr(&llr)).unwrap();
        for (i, x) in llr.iter().enumerate() {
            close(calibrated.llr(i, 1), *x, 1e-7);
        }
        // Between what was seen it rises, and does not leave what it knows.
        let grid: Vec<f64> = (-80..80).map(|i| f64::from(i) / 10.0).collect();
        let calibrated = map.apply(&of_llr(&grid)).unwrap();
        let values: Vec<f64> = (0..grid.len()).map(|i| calibrated.llr(i, 1)).collect();
        assert!(values.windows(2).all(|v| v[0] <= v[1] + 1e-12), "{method:?}");
    }
}

#[test]
fn infinite_and_impossible() {
    let never = f64::NEG_INFINITY;
    let rows = vec![0.0, never, never, 0.0, never, never, 0.0, 1.0, 0.0, -1.0, 0.0, 2.0];
    let evidence = Evidence::new(2, rows).unwrap();
    let y = [0, 1, 0, 0, 1, 1];
    let fit = |method: Method, pseudo_count: Option<f64>| {
        Calibrator { method, pseudo_count, ..Calibrator::default() }.fit(&evidence, &y, None, &names(2))
    };
    let calibrated = fit(Method::Pav, None).unwrap().apply(&evidence).unwrap();
    assert_eq!(calibrated.row(2), [never, never]);
    assert!((0..6).filter(|i| *i != 2).all(|i| calibrated.llr(i, 1).is_finite()), "{calibrated:?}");
    let open = fit(Method::Pav, Some(0.0)).unwrap().apply(&evidence).unwrap();
    assert_eq!((open.llr(0, 1), open.llr(1, 1)), (never, f64::INFINITY));
    for method in [Method::Beta, Method::Logistic] {
        let error = fit(method, Some(1.0)).unwrap_err().to_string();
        assert!(error.contains("infinite evidence cannot be calibrated so: use method=pav"), "{error}");
    }
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let fit = |calibrator: &Calibrator, llr: &[f64], y: &[u32]| {
        calibrator.fit(&of_llr(llr), y, None, &["benign".to_string(), "malignant".to_string()])
    };
    let said = |calibrator: &Calibrator, llr: &[f64], y: &[u32]| fit(calibrator, llr, y).unwrap_err().to_string();
    let plain = Calibrator::default();
    assert!(said(&plain, &[-1.0, 2.0], &[0, 1]).starts_with("pseudo_count: the rows are perfectly separable"));
    // With a pseudo-count separable rows have an answer: a finite one.
    let smooth = Calibrator { pseudo_count: Some(1.0), ..plain.clone() };
    let Calibration::Affine(line) = fit(&smooth, &[-1.0, 1.0], &[0, 1]).unwrap() else { panic!() };
    // Targets of 2/3 for one row of each class: a·1 = ln 2.
    close(line.scale, 2f64.ln(), 1e-8);
    assert_eq!(said(&plain, &[-1.0, 2.0], &[0, 0]), "class `malignant` has no rows to calibrate with");
    let wrong = said(&plain, &[1.0, -1.0, 1.0, -1.0, -1.0, 1.0], &[0, 1, 0, 1, 0, 1]);
    assert!(wrong.starts_with("the evidence does not point towards the classes"), "{wrong}");
    let pav = Calibrator { method: Method::Pav, ..plain.clone() };
    let three = pav.fit(&Evidence::new(3, vec![0.0; 3]).unwrap(), &[0], None, &names(3)).unwrap_err();
    assert_eq!(three.to_string(), "class `1` has no rows to calibrate with");
    let none = Calibrator { prior: Some(Prior::new(&[0.0, 1.0]).unwrap()), ..plain.clone() };
    assert_eq!(said(&none, &[1.0], &[0]), "prior: class `benign` has 0: calibration needs them all");
    for count in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(fit(&Calibrator { pseudo_count: Some(count), ..plain.clone() }, &[1.0, 2.0], &[0, 1]).is_err());
    }
    assert!(fit(&plain, &[1.0], &[7]).is_err() && fit(&plain, &[1.0], &[0, 1]).is_err());
}

fn score(model: &impl Classifier, table: &Table) -> Scored {
    let mut scored = Scored::new(table.classes.len()).unwrap();
    scored.append(&model.evidence(&table.batch()).unwrap(), &table.labels, None).unwrap();
    scored
}

fn calibrate(model: Model, method: Method, rows: &Table) -> CalibratedModel {
    let scored = score(&model, rows);
    let calibrator = Calibrator { method, ..Calibrator::default() };
    let map = calibrator.fit(scored.evidence(), scored.truth(), None, &rows.classes).unwrap();
    CalibratedModel::new(model, map).unwrap()
}

/// Tumours: naive Bayes on 30 correlated columns counts the same evidence many times over. A third of
/// the rows to learn from, a third to calibrate, a third to see.
#[test]
fn calibration_on_tumours_brings_the_cost_near_its_minimum() {
    let tumours = crate::common::wdbc();
    let part = |k: usize| tumours.filter(|i| i % 3 == k);
    let (train, held_out, test) = (part(0), part(1), part(2));
    let naive = Gaussian { covariance: Structure::TiedDiagonal, ..Gaussian::default() };
    let model = Model::Generative(train.fit(naive));
    let before = score(&model, &test).trials(1).unwrap();
    let loss = |trials: &Trials| trials.cllr() - trials.min_cllr();
    assert!(loss(&before) > 1.0, "{} {}", before.cllr(), before.min_cllr());
    // Mean error rates over prior log-odds from −5 to 5: actual and minimum.
    let errors = |trials: &Trials| {
        let log_odds: Vec<f64> = (-50..=50).map(|i| f64::from(i) / 10.0).collect();
        let curve = trials.bayes_error_curve(&log_odds);
        let mean = |of: fn(&BayesError) -> f64| curve.iter().map(of).sum::<f64>() / curve.len() as f64;
        (mean(|p| p.actual), mean(|p| p.minimum))
    };
    let (actual, least) = errors(&before);
    assert!(actual > 2.0 * least, "{actual} {least}");
    for (name, method) in Method::ALL {
        let after = score(&calibrate(model.clone(), method, &held_out), &test).trials(1).unwrap();
        let (actual, least) = errors(&after);
        println!("{name}: Cllr {:.4} to {:.4}, minimum {:.4}", before.cllr(), after.cllr(), after.min_cllr());
        println!("{name}: errors {:.4} to {actual:.4}, minimum {least:.4}", errors(&before).0);
        assert!(loss(&after) < 0.11, "{name}: {} {}", after.cllr(), after.min_cllr());
        assert!(actual < 1.5 * least, "{name}: {actual} {least}");
        // Smooth maps keep the order of the rows.
        if method != Method::Pav {
            assert!((after.auc() - before.auc()).abs() < 1e-12 && (after.min_cllr() - before.min_cllr()).abs() < 1e-12);
        }
    }
}

/// Digits by writers whom neither the model nor the calibration has seen.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn calibration_on_digits_of_new_writers() {
    let (known, test) = (crate::common::pendigits("tra"), crate::common::pendigits("tes"));
    let (train, held_out) = (known.filter(|i| i < 5000), known.filter(|i| i >= 5000));
    let family =
        Gaussian { covariance: Structure::Diagonal, shrinkage: "0.05".parse().unwrap(), ..Gaussian::default() };
    let model = Model::Generative(train.fit(family));
    let names = test.classes.clone();
    let figures = |scored: &Scored| {
        let costs = deciban::decision::Costs::zero_one(&names);
        let figures = scored.figures(&names, &Prior::uniform(10), &costs, 1, None).unwrap();
        ["cllr", "min_cllr"].map(|name| figures.iter().find(|f| f.name == name).unwrap().value)
    };
    let [before, least] = figures(&score(&model, &test));
    for (_, method) in Method::ALL {
        let [after, _] = figures(&score(&calibrate(model.clone(), method, &held_out), &test));
        println!("{method:?}: Cllr {before:.4} to {after:.4}, minimum {least:.4}");
        assert!(before > 1.3 * least && after < 1.2 * least, "{before} {after} {least}");
    }
}

#[test]
fn files_hold_the_calibration() {
    let rows: Vec<([f64; 1], u32)> =
        (0..200).map(|i| ([f64::from(i * 37 % 101) / 10.0], u32::from(i * 37 % 101 + i % 50 > 70))).collect();
    let table = Table::of(&rows);
    let model = Model::Generative(table.fit(Gaussian::default()));
    let path = std::env::temp_dir().join(format!("deciban-calibrated-{}", std::process::id()));
    for (_, method) in Method::ALL {
        let calibrated = calibrate(model.clone(), method, &table);
        let evidence = calibrated.evidence(&table.batch()).unwrap();
        assert_ne!(evidence, model.evidence(&table.batch()).unwrap());
        assert_eq!(calibrated.calibration().method(), method);
        Model::Calibrated(calibrated).save(&path).unwrap();
        let Model::Calibrated(loaded) = Model::load(&path).unwrap() else { panic!() };
        assert_eq!(loaded.evidence(&table.batch()).unwrap(), evidence);
        assert_eq!((loaded.prior(), loaded.empirical()), (model.prior(), model.empirical()));
        // Not twice, and not for other classes.
        let map = loaded.calibration().clone();
        let error = CalibratedModel::new(Model::Calibrated(loaded), map).unwrap_err().to_string();
        assert!(error.starts_with("the model is calibrated already"), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
}

/// Cells removed at random with a probability.
fn with_gaps(table: &Table, share: f64, seed: u64) -> Table {
    let mut random = deciban::numerics::Random::new(seed);
    let values = table.values.iter().map(|x| if random.uniform() < share { f64::NAN } else { *x }).collect();
    Table { values, ..table.clone() }
}

/// No cells: no evidence. All cells: the whole map. In between the slope falls from 1 to that of the map, one
/// cell after the other.
#[test]
fn a_map_for_partial_rows_goes_from_nothing_to_the_whole() {
    let rows: Vec<([f64; 4], u32)> = (0..60)
        .map(|i| {
            let x = f64::from(i * 37 % 61) / 10.0;
            ([x, x + 1.0, 2.0 * x, f64::from(i % 7)], u32::from(i * 37 % 61 + i % 20 > 40))
        })
        .collect();
    let table = Table::of(&rows);
    let model = Model::Generative(table.fit(Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() }));
    for (name, method) in Method::ALL {
        let calibrated = calibrate(model.clone(), method, &table);
        let llr = |model: &dyn Fn(&deciban::data::Batch<'_>) -> Evidence, row: &[f64]| {
            model(&deciban::data::Batch::new(1).row_major(row, 4).unwrap()).llr(0, 1)
        };
        let (before, after) = (
            |x: &deciban::data::Batch<'_>| model.evidence(x).unwrap(),
            |x: &deciban::data::Batch<'_>| calibrated.evidence(x).unwrap(),
        );
        let nothing = deciban::data::Batch::new(1).row_major(&[f64::NAN; 4][..], 4).unwrap();
        assert_eq!(after(&nothing).row(0), [0.0, 0.0], "{name}");
        let whole = calibrated.calibration().apply(&model.evidence(&table.batch()).unwrap()).unwrap();
        assert_eq!(calibrated.evidence(&table.batch()).unwrap(), whole, "{name}");
        let Calibration::Affine(line) = calibrated.calibration() else { continue };
        let mut last = f64::INFINITY;
        for cells in 1..=4 {
            let row = |x: f64| {
                let mut row = [x, x + 1.0, 2.0 * x, 3.0];
                row[cells..].fill(f64::NAN);
                row
            };
            let (a, b) = (row(0.5), row(5.0));
            let slope = (llr(&after, &b) - llr(&after, &a)) / (llr(&before, &b) - llr(&before, &a));
            let expected = 1.0 / (1.0 + (1.0 / line.scale - 1.0) * (cells as f64 - 1.0) / 3.0);
            close(slope, expected, 1e-10);
            close(
                llr(&after, &a),
                expected * llr(&before, &a) + cells as f64 / 4.0 * (line.bias[1] - line.bias[0]),
                1e-10,
            );
            assert!(slope < last, "{name}: {slope} {last}");
            last = slope;
        }
    }
    // What rows had on average that taught the map is kept in files, and files that do not say it are read.
    let calibrated = calibrate(model, Method::Logistic, &table).with_typical_cells(2.0).unwrap();
    let mut archive = deciban::file::Archive::new("model");
    deciban::file::Stored::store(&calibrated, &mut archive, "m").unwrap();
    let again: CalibratedModel = deciban::file::Stored::load(&archive, "m").unwrap();
    assert_eq!(again.typical_cells(), 2.0);
    let two = deciban::data::Batch::new(1).row_major(&[1.0, 2.0, f64::NAN, f64::NAN][..], 4).unwrap();
    let whole = calibrated.calibration().apply(&calibrated.model().evidence(&two).unwrap()).unwrap();
    assert_eq!(calibrated.evidence(&two).unwrap(), whole);
    assert!(calibrated.with_typical_cells(5.0).is_err());
}

/// Tumours with 30, 50 and 80 % of their cells removed at random: the map of whole rows does as well as a map that was
/// learned on rows with as many gaps, and better than none.
#[test]
fn calibration_holds_for_rows_with_missing_cells() {
    let tumours = crate::common::wdbc();
    let part = |k: usize| tumours.filter(|i| i % 3 == k);
    let (train, held_out, test) = (part(0), part(1), part(2));
    for covariance in [Structure::Diagonal, Structure::TiedDiagonal] {
        let model = Model::Generative(train.fit(Gaussian { covariance, ..Gaussian::default() }));
        let calibrated = calibrate(model.clone(), Method::Logistic, &held_out);
        for (share, seed) in [(0.3, 1), (0.5, 2), (0.8, 3)] {
            let rows = with_gaps(&test, share, seed);
            let cllr = |evidence: &Evidence| {
                let mut cllr = Cllr::new(2);
                cllr.observe(evidence, &rows.labels, None).unwrap();
                cllr.bits()
            };
            let plain = model.evidence(&rows.batch()).unwrap();
            let same = score(&model, &with_gaps(&held_out, share, seed + 10));
            let own = Calibrator::default().fit(same.evidence(), same.truth(), None, &rows.classes).unwrap();
            let [raw, ours, own, whole] = [
                cllr(&plain),
                cllr(&calibrated.evidence(&rows.batch()).unwrap()),
                cllr(&own.apply(&plain).unwrap()),
                cllr(&calibrated.calibration().apply(&plain).unwrap()),
            ];
            println!(
                "{covariance:?} {share}: raw {raw:.3}, ours {ours:.3}, equally incomplete {own:.3}, whole {whole:.3}"
            );
            assert!(ours < 0.9 * raw && ours < own + 0.03, "{raw} {ours} {own} {whole}");
        }
    }
}

/// Newton by conjugate gradients ends where the gradient is 0, with many classes too, and its work grows with rows × classes.
#[test]
fn many_classes_are_calibrated() {
    let mut random = Random::new(5);
    for classes in [3usize, 50, 300] {
        let rows = (6 * classes).max(120);
        let truth: Vec<u32> = (0..rows).map(|i| (i % classes) as u32).collect();
        let mut values = Vec::new();
        for k in &truth {
            values.extend(
                (0..classes).map(|j| 3.0 * random.normal() + if j == *k as usize { 4.0 } else { 0.01 * j as f64 }),
            );
        }
        let evidence = Evidence::new(classes, values).unwrap();
        // Beta calibration of a class by six rows may fail.
        for method in [Method::Logistic, Method::Temperature, Method::Pav] {
            let calibrator = Calibrator { method, ..Calibrator::default() };
            let map = calibrator.fit(&evidence, &truth, None, &names(classes)).unwrap();
            let cllr = |evidence: &Evidence| {
                let mut cllr = Cllr::new(classes);
                cllr.observe(evidence, &truth, None).unwrap();
                cllr.bits()
            };
            assert!(cllr(&map.apply(&evidence).unwrap()) <= cllr(&evidence) + 1e-9, "{method:?} {classes}");
            let Calibration::Affine(line) = map else { continue };
            // A little more or less of any parameter is worse.
            let loss = |scale: f64, class: usize, bias: f64| {
                let mut line = line.clone();
                line.scale *= scale;
                line.bias[class] += bias;
                cllr(&Calibration::Affine(line).apply(&evidence).unwrap())
            };
            let least = loss(1.0, 0, 0.0);
            assert!(loss(1.01, 0, 0.0) > least && loss(0.99, 0, 0.0) > least);
            if method == Method::Logistic {
                for class in [0, classes / 2, classes - 1] {
                    assert!(loss(1.0, class, 0.05) > least && loss(1.0, class, -0.05) > least, "{classes} {class}");
                }
            }
        }
    }
}

/// Rows whose evidence is too much for memory are scored again at each visit: the map and its figures are the same.
#[test]
fn a_calibration_needs_no_evidence_in_memory() {
    let mut random = Random::new(4);
    for classes in [2, 7] {
        let labels: Vec<u32> = (0..60 * classes).map(|i| i % classes).collect();
        // The second column repeats the first in part, and some cells are missing.
        let mut x = Vec::new();
        for (i, k) in labels.iter().enumerate() {
            let value = f64::from(*k) + 0.7 * random.normal();
            x.extend([value, if i % 9 == 4 { f64::NAN } else { value + 0.3 * random.normal() }]);
        }
        let weights: Vec<f64> = (0..labels.len()).map(|i| [1.0, 2.0, 0.5][i % 3]).collect();
        let names = names(classes as usize);
        let schema = Schema::numbers(&["x", "y"].map(String::from), "class", &names).unwrap();
        let rows = Batch::new(labels.len()).row_major(&x[..], 2).unwrap().classes(&labels).unwrap();
        let engine = Memory::new(schema.clone(), rows.weights(&weights).unwrap()).unwrap();
        let family = Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() };
        let diagonal = Candidate::generative("diagonal", Generative::gaussian(schema.columns(), family).unwrap());
        for candidate in [diagonal, Candidate::logistic("linear", Logistic::default())] {
            let validation = CrossValidation::new(Folds::stratified(&engine, 4, 0).unwrap());
            for method in [Method::Logistic, Method::Temperature] {
                let calibrator = Calibrator { method, ..Calibrator::default() };
                let [held, again] =
                    [usize::MAX, 0].map(|memory| validation.calibration(&engine, &candidate, &calibrator, memory));
                let (held, again) = (held.unwrap(), again.unwrap());
                let (Calibration::Affine(a), Calibration::Affine(b)) = (&held.map, &again.map) else { panic!() };
                close(b.scale, a.scale, 1e-9);
                b.bias.iter().zip(&a.bias).for_each(|(b, a)| close(*b, *a, 1e-9));
                assert_eq!((held.rows, again.rows), (labels.len(), labels.len()));
                let figures = |c: &CrossedCalibration| [c.typical_cells, c.cllr_before, c.cllr, c.min_cllr];
                figures(&again).into_iter().zip(figures(&held)).for_each(|(a, b)| close(a, b, 1e-8));
                assert!(held.min_cllr <= held.cllr_before, "{held:?}");
                assert!(candidate.kind == "logistic" || held.cllr < held.cllr_before, "{held:?}");
            }
            let pav = Calibrator { method: Method::Pav, ..Calibrator::default() };
            assert!(validation.calibration(&engine, &candidate, &pav, usize::MAX).is_ok());
            let error = validation.calibration(&engine, &candidate, &pav, 0).unwrap_err().marked();
            assert!(
                error.contains("pav needs the evidence of all rows in memory") && error.contains("§memory"),
                "{error}"
            );
        }
    }
}
