//! `deciban calibrate`: evidence that means what it says, in every command that uses the model.

use crate::common::{Folder, close, numbers, wine};
use serde_json::Value;

fn figure(figures: &Value, name: &str) -> f64 {
    figures[name].as_f64().unwrap_or_else(|| panic!("no `{name}` in {figures}"))
}

#[test]
fn every_method_brings_the_cost_near_its_minimum() {
    let folder = Folder::with_tumours();
    let evaluate = |model: &str| folder.json(&["evaluate", model, "test.csv", "--json"]);
    let before = evaluate("naive.deciban");
    assert!(figure(&before, "cllr") - figure(&before, "min_cllr") > 1.0);
    for method in ["logistic", "pav", "temperature", "beta"] {
        let calibrate = ["calibrate", "naive.deciban", "held-out.csv", "--method", method, "-o", "new.deciban"];
        let report = folder.json(&[&calibrate[..], &["--json"]].concat());
        assert_eq!(report["calibration"]["method"], method);
        assert!(figure(&report, "cllr") < figure(&report, "cllr_before") && figure(&report, "rows") == 190.0);
        let after = evaluate("new.deciban");
        assert!(figure(&after, "cllr") - figure(&after, "min_cllr") < 0.11, "{method}: {after}");
        assert!(figure(&after, "log_loss") < 0.3 * figure(&before, "log_loss"), "{method}");
    }
}

/// Without rows that were held back: the scores of cross-validation do.
#[test]
fn cross_validated_scores_bring_the_cost_near_its_minimum() {
    let folder = Folder::with_tumours();
    let evaluate = |model: &str| folder.json(&["evaluate", model, "test.csv", "--json"]);
    let before = evaluate("naive.deciban");
    let fit =
        ["fit", "train.csv", "held-out.csv", "-t", "diagnosis", "--covariance", "tied-diagonal", "-o", "new.deciban"];
    for method in ["logistic", "pav", "temperature", "beta"] {
        let report = folder.json(&[&fit[..], &["--calibrate", method, "--json"]].concat());
        let told = &report["calibration"];
        assert_eq!((&told["calibration"]["method"], figure(told, "rows")), (&Value::from(method), 380.0));
        assert!(figure(told, "cllr_before") > 1.0 && figure(told, "cllr") < 0.35, "{told}");
        let after = evaluate("new.deciban");
        assert!(figure(&after, "cllr") - figure(&after, "min_cllr") < 0.08, "{method}: {after}");
        assert!(figure(&after, "log_loss") < 0.3 * figure(&before, "log_loss"), "{method}");
        // The prior is plugged in as ever, and stored under the calibration.
        folder.ok(&[&fit[..], &["--calibrate", method, "--prior", "malignant=0.2"]].concat());
        close(numbers(&evaluate("new.deciban")["prior"])[1], 0.2, 1e-15);
    }
    // Models of every kind.
    for options in [&["--model", "logistic"][..], &["--model", "least-squares"], &["--model", "naive-bayes"]] {
        let (code, _, stderr) =
            folder.run(&[&fit[..5], &["--calibrate", "logistic", "-o", "x.deciban"], options].concat());
        assert!(code == 0 && stderr.contains("\nCllr in 5 folds: "), "{stderr}");
    }
    folder.ok(&["stats", "train.csv", "-t", "diagnosis", "-o", "train.stats"]);
    let message = folder.fails(&["fit", "train.stats", "--calibrate", "pav"]);
    assert_eq!(message, "--calibrate: scores come from rows, not from statistics");
    // Standard input is kept for the folds.
    let rows = std::fs::read_to_string(folder.path().join("train.csv")).unwrap();
    let piped = ["fit", "-", "-t", "diagnosis", "--model", "naive-bayes", "--calibrate", "pav", "-o", "piped.deciban"];
    let (code, _, stderr) = folder.run_with(&piped, &rows);
    assert!(code == 0 && stderr.contains("\nCllr in 5 folds: "), "{stderr}");
}

/// The line that `inspect` shows is what happens to the evidence, and another prior moves log-odds as ever.
#[test]
fn predictions_are_calibrated() {
    let folder = Folder::with_tumours();
    folder.ok(&["calibrate", "naive.deciban", "held-out.csv", "-o", "new.deciban"]);
    let map = folder.json(&["inspect", "new.deciban", "--json"])["calibration"].clone();
    let (scale, bias) = (figure(&map, "scale"), numbers(&map["bias"]));
    let decibans = |model: &str, options: &[&str]| {
        folder.table(&[&["predict", model, "test.csv", "--evidence"], options].concat()).numbers("evidence(malignant)")
    };
    let (plain, calibrated) = (decibans("naive.deciban", &[]), decibans("new.deciban", &[]));
    for (x, y) in plain.iter().zip(&calibrated) {
        close(*y, scale * x + (bias[1] - bias[0]) * 10.0 / 10f64.ln(), 1e-9);
    }
    assert_eq!(decibans("new.deciban", &["--prior", "malignant=0.01"]), calibrated);
    let text = folder.ok(&["inspect", "new.deciban"]);
    assert!(text.starts_with("calibrated: LLR(malignant) = 0.1512 × model's + 1.651\n\ngaussian"), "{text}");
    let rows = |model: &str| folder.ok(&["sample", model, "-n", "3"]);
    assert_eq!(rows("new.deciban"), rows("naive.deciban"));
    // A calibration changes evidence, not densities.
    let densities = |model: &str| {
        let table = folder.table(&["predict", model, "test.csv", "--density", "--prior", "uniform"]);
        (table.numbers("log p(x)"), table.numbers("rank"))
    };
    assert_eq!(densities("new.deciban"), densities("naive.deciban"));
}

#[test]
fn again_and_of_three_classes() {
    let folder = Folder::with_tumours();
    let first = ["calibrate", "naive.deciban", "held-out.csv", "-o", "first.deciban"];
    folder.ok(&first);
    let again = ["calibrate", "first.deciban", "held-out.csv", "-o", "second.deciban"];
    let (code, _, stderr) = folder.run(&again);
    assert!(code == 0 && stderr.starts_with("note: first.deciban is calibrated already"), "{stderr}");
    assert_eq!(folder.read("first.deciban"), folder.read("second.deciban"));

    let folder = Folder::with_model(&["--covariance", "spherical"]);
    let calibrate = ["calibrate", "wine.deciban", &wine(), "-o", "new.deciban", "--prior", "Barolo=0.5"];
    let (code, stdout, stderr) = folder.run(&calibrate);
    assert_eq!((code, stdout.as_str()), (0, ""));
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines[0], "new.deciban: logistic calibration by 178 rows");
    assert!(lines[1].starts_with("calibrated: evidence = ") && lines[1].contains("Barolo "), "{stderr}");
    let [was, is] = ["wine.deciban", "new.deciban"].map(|m| folder.json(&["evaluate", m, &wine(), "--json"]));
    assert!(figure(&is, "cllr") < figure(&was, "cllr"));
    close(figure(&is, "min_cllr"), figure(&was, "min_cllr"), 1e-9);
    // Maps of two classes are put on each class against the rest.
    for method in ["pav", "beta"] {
        let options = ["--method", method, "--pseudo-count", "1", "-o", "new.deciban"];
        let report = folder.json(&[&["calibrate", "wine.deciban", &wine(), "--json"], &options[..]].concat());
        assert_eq!(report["calibration"]["classes"].as_array().unwrap().len(), 3);
        let is = folder.json(&["evaluate", "new.deciban", &wine(), "--json"]);
        assert!(figure(&is, "cllr") < figure(&was, "cllr"), "{method}: {is}");
        let text = folder.ok(&["inspect", "new.deciban"]);
        assert!(text.starts_with("Barbera against the rest calibrated: "), "{text}");
    }
}

#[test]
fn what_cannot_be_calibrated_is_said() {
    let folder = Folder::with_tumours();
    let text = String::from_utf8(folder.read("test.csv")).unwrap();
    let benign: Vec<&str> = text.lines().filter(|line| !line.starts_with("malignant")).collect();
    folder.write("benign.csv", benign.join("\n"));
    let message = folder.fails(&["calibrate", "naive.deciban", "benign.csv", "-o", "x.deciban"]);
    assert_eq!(message, "class `malignant` has no rows to calibrate with");
    let few: Vec<&str> = text.lines().take(1).chain(text.lines().filter(|l| l.starts_with("benign")).take(3)).collect();
    let two: Vec<&str> = few.into_iter().chain(text.lines().filter(|l| l.starts_with("malignant")).take(3)).collect();
    folder.write("few.csv", two.join("\n"));
    let message = folder.fails(&["calibrate", "naive.deciban", "few.csv", "-o", "x.deciban"]);
    assert!(message.starts_with("--pseudo-count: the rows are perfectly separable"), "{message}");
    folder.ok(&["calibrate", "naive.deciban", "few.csv", "-o", "x.deciban", "--pseudo-count", "1"]);
    // Steps need the evidence of all rows at once; others score the rows again, with the same result.
    let little = ["calibrate", "naive.deciban", "test.csv", "--memory", "0", "-o"];
    let message = folder.fails(&[&little[..], &["y.deciban", "--method", "pav"]].concat());
    assert!(message.starts_with("--memory: "), "{message}");
    folder.ok(&[&little[..], &["y.deciban"]].concat());
    folder.ok(&["calibrate", "naive.deciban", "test.csv", "-o", "z.deciban"]);
    assert_eq!(folder.ok(&["predict", "y.deciban", "test.csv"]), folder.ok(&["predict", "z.deciban", "test.csv"]));
    folder.misused(&["calibrate", "naive.deciban", "test.csv"]);
}
