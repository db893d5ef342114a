//! Log-likelihood ratios from elsewhere (`--llr`) are evaluated, drawn, calibrated, compared and fused as those of the
//! models that they come from.

use crate::common::{Folder, close, numbers};
use serde_json::Value;

/// A folder with two models, a.deciban and b.deciban, and scores.csv: their LLRs of the rows of test.csv, in decibans.
fn scored() -> Folder {
    let folder = Folder::with_tumours();
    for (name, covariance) in [("a", "tied-diagonal"), ("b", "tied")] {
        let model = format!("{name}.deciban");
        folder.ok(&["fit", "train.csv", "-t", "diagnosis", "--covariance", covariance, "-o", &model]);
    }
    let llrs = ["a.deciban", "b.deciban"]
        .map(|model| folder.table(&["predict", model, "test.csv", "--evidence"]).texts("evidence(malignant)"));
    let test = String::from_utf8(folder.read("test.csv")).unwrap();
    let classes = test.lines().skip(1).map(|line| line.split(',').next().unwrap());
    let rows = classes.zip(&llrs[0]).zip(&llrs[1]).map(|((class, a), b)| format!("{class},{a},{b}\n"));
    folder.write("scores.csv", format!("diagnosis,a,b\n{}", rows.collect::<String>()));
    folder
}

/// These options say which classes the LLRs are of, and their unit.
const OF: [&str; 4] = ["--target", "diagnosis", "--unit", "decibans"];

fn with<'a>(command: &[&'a str], columns: &[&'a str]) -> Vec<&'a str> {
    let llrs = columns.iter().flat_map(|column| ["--llr", column]);
    command.iter().copied().chain(llrs).chain(OF).collect()
}

fn same(a: &Value, b: &Value, names: &[&str]) {
    for name in names {
        close(a[name].as_f64().unwrap(), b[name].as_f64().unwrap(), 1e-9);
    }
}

#[test]
fn scores_are_evaluated_and_reported() {
    let folder = scored();
    let prior = ["--prior", "malignant=0.3", "--json"];
    let of_llr = folder.json(&[&with(&["evaluate", "scores.csv"], &["a"])[..], &prior].concat());
    let of_model = folder.json(&[&["evaluate", "a.deciban", "test.csv"][..], &prior].concat());
    same(&of_llr, &of_model, &["log_loss", "brier", "cllr", "min_cllr", "auc", "eer", "dcf"]);
    let report = with(&["evaluate", "scores.csv", "--report", "scores.html"], &["a"]);
    folder.ok(&report);
    let page = String::from_utf8(folder.read("scores.html")).unwrap();
    for part in ["a on scores.csv", "Cllr", "ROC", "DET", "Bayes error", "Reliability", "column `a`, in units of"] {
        assert!(page.contains(part), "the page lacks {part}");
    }
    assert!(!page.contains("NaN") && !page.contains("Learned from"));
}

#[test]
fn scores_are_drawn() {
    let folder = scored();
    for (kind, part) in [
        ("det", "malignant (EER "),
        ("roc", "malignant (AUC "),
        ("bayes-error", "prior log-odds (decibans)"),
        ("reliability", "calibration error of p(malignant): "),
        ("confusion", "decided"),
        ("densities", ">a</text>"),
        ("ledger", "row 1: "),
    ] {
        let svg = folder.ok(&with(&["plot", "scores.csv", "--kind", kind], &["a"]));
        assert!(svg.contains(part) && !svg.contains("NaN"), "{kind}: {svg}");
    }
    // The curve is that of the model.
    let roc = |args: &[&str]| folder.ok(args);
    let of_model = roc(&["plot", "a.deciban", "test.csv", "--kind", "roc"]);
    assert_eq!(roc(&with(&["plot", "scores.csv", "--kind", "roc"], &["a"])), of_model);
    let message = folder.fails(&with(&["plot", "scores.csv", "--kind", "learning-curve"], &["a"]));
    assert_eq!(message, "--llr: log-likelihood ratios are not learned: give model files");
    let message = folder.fails(&with(&["plot", "scores.csv", "--kind", "roc"], &["a", "b"]));
    assert!(message.starts_with("--llr: give one column"), "{message}");
}

#[test]
fn scores_are_calibrated() {
    let folder = scored();
    let calibrate = ["calibrate", "scores.csv", "-o", "llr.deciban", "--json"];
    let of_llr = folder.json(&with(&calibrate, &["a"]));
    let of_model = folder.json(&["calibrate", "a.deciban", "test.csv", "-o", "m.deciban", "--json"]);
    same(&of_llr, &of_model, &["rows", "cllr_before", "cllr", "min_cllr"]);
    // The result is a model of the column.
    let evidence =
        |model: &str, rows: &str| folder.table(&["predict", model, rows, "--evidence"]).numbers("evidence(malignant)");
    for (a, b) in evidence("llr.deciban", "scores.csv").into_iter().zip(evidence("m.deciban", "test.csv")) {
        close(a, b, 1e-9 * b.abs().max(1.0));
    }
    let text = folder.ok(&["inspect", "llr.deciban"]);
    assert!(text.contains("log-likelihood ratios of malignant over benign: column `a`"), "{text}");
    folder.ok(&["explain", "llr.deciban", "scores.csv", "--row", "1"]);
    folder.write("gap.csv", "a,b\n,1\n");
    let message = folder.fails(&["predict", "llr.deciban", "gap.csv"]);
    assert!(message.contains("give every row its LLR"), "{message}");
    // Options of LLRs are nothing without them.
    folder.misused(&["calibrate", "a.deciban", "test.csv", "--target", "diagnosis", "-o", "x.deciban"]);
}

#[test]
fn scores_are_compared() {
    let folder = scored();
    let options = ["--prior", "uniform", "--json"];
    let of_llr = folder.json(&[&with(&["compare", "scores.csv"], &["a", "b"])[..], &options].concat());
    let of_model = folder.json(&[&["compare", "a.deciban", "b.deciban", "test.csv"][..], &options].concat());
    for (k, name) in ["b", "a"].iter().enumerate() {
        assert_eq!(of_llr[k]["model"], *name);
        same(&of_llr[k], &of_model[k], &["log_loss", "cllr", "brier"]);
        let worse = |of: &Value| of[k]["worse_than_best"]["log_loss"]["difference"].as_f64().unwrap();
        close(worse(&of_llr), worse(&of_model), 1e-9);
    }
    let message = folder.fails(&with(&["compare", "scores.csv"], &["a"]));
    assert_eq!(message, "--llr: give two columns or more, or `deciban evaluate` the one");
    let message = folder.misused(&with(&["compare", "scores.csv", "--models", "gaussian"], &["a", "b"]));
    assert!(message.contains("--models is for learning, and columns of log-likelihood ratios"), "{message}");
}

#[test]
fn scores_are_fused() {
    let folder = scored();
    let rows = ["--rows", "scores.csv", "-o", "llr.deciban", "--json"];
    let of_llr = folder.json(&with(&[&["fuse"][..], &rows].concat(), &["a", "b"]));
    let of_model = folder.json(&["fuse", "a.deciban", "b.deciban", "--rows", "test.csv", "-o", "m.deciban", "--json"]);
    same(&of_llr, &of_model, &["rows", "log_loss", "prior_log_loss"]);
    let weights = |fused: &Value| -> Vec<f64> {
        fused["members"].as_array().unwrap().iter().map(|member| member["weight"].as_f64().unwrap()).collect()
    };
    for (a, b) in weights(&of_llr).into_iter().zip(weights(&of_model)) {
        close(a, b, 1e-6);
    }
    assert_eq!(numbers(&of_llr["offsets"]).len(), numbers(&of_model["offsets"]).len());
    assert_eq!(folder.table(&["predict", "llr.deciban", "scores.csv"]).texts("decision").len(), 189);
    folder.misused(&with(&[&["fuse", "a.deciban", "b.deciban"][..], &rows[..4]].concat(), &["a"]));
}
