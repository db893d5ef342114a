//! `deciban fuse`: fitted models become one, by rows that none of them has seen.

use crate::common::{Folder, close, numbers, wine};
use deciban::calibrate::bound;
use deciban::fuse::{FOREIGN_ROWS, Fusion};
use serde_json::Value;

/// Tumours with two models of the first part: `naive.deciban`, which is far too sure, and `logistic.deciban`.
fn tumours() -> Folder {
    let folder = Folder::with_tumours();
    fit_logistic(&folder, "train.csv", "logistic.deciban");
    folder
}

fn fit_logistic(folder: &Folder, rows: &str, model: &str) {
    folder.ok(&["fit", rows, "-t", "diagnosis", "--model", "logistic", "--weight-decay", "1", "-o", model]);
}

fn fuse(folder: &Folder, models: &[&str]) -> Value {
    folder.json(&[&["fuse"], models, &["--rows", "held-out.csv", "-o", "fused.deciban", "--json"]].concat())
}

fn weights(report: &Value) -> Vec<f64> {
    report["members"].as_array().unwrap().iter().map(|member| member["weight"].as_f64().unwrap()).collect()
}

/// The LLRs of a table's rows, in nats.
fn llrs(folder: &Folder, model: &str, rows: &str) -> Vec<f64> {
    let decibans = folder.table(&["predict", model, rows, "--evidence"]).numbers("evidence(malignant)");
    decibans.into_iter().map(|x| x * 10f64.ln() / 10.0).collect()
}

/// The evidence of rows by a model without a calibration, with the bound that `n` rows ask for.
fn bounded(folder: &Folder, model: &str, rows: &str, n: usize) -> Vec<f64> {
    let row = |x: f64| {
        let mut row = [0.0, x];
        bound(&mut row, FOREIGN_ROWS / n as f64);
        row
    };
    llrs(folder, model, rows).into_iter().flat_map(row).collect()
}

fn truth(folder: &Folder, rows: &str) -> Vec<u32> {
    let text = String::from_utf8(folder.read(rows)).unwrap();
    text.lines().skip(1).map(|line| u32::from(line.starts_with("malignant"))).collect()
}

#[test]
fn weights_are_those_that_the_evidence_of_the_rows_teaches() {
    let folder = tumours();
    let models = ["naive.deciban", "logistic.deciban"];
    let report = fuse(&folder, &models);
    let truth = truth(&folder, "held-out.csv");
    let n = truth.len();
    assert_eq!((report["rows"].as_u64(), report["folds"].as_u64()), (Some(n as u64), Some(10)));
    let evidence = models.map(|model| bounded(&folder, model, "held-out.csv", n));
    let direct = Fusion::fit(&[&evidence[0], &evidence[1]], 2, &truth, &vec![1.0; n]).unwrap();
    let (found, offsets) = (weights(&report), numbers(&report["offsets"]));
    for (a, b) in found.iter().zip(&direct.weights).chain(offsets.iter().zip(&direct.offsets)) {
        close(*a, *b, 1e-6);
    }
    // The file has these weights: evidence of new rows is the weighted sum, and the offsets.
    let members = models.map(|model| bounded(&folder, model, "test.csv", n));
    for (i, x) in llrs(&folder, "fused.deciban", "test.csv").into_iter().enumerate() {
        let llr = |member: &[f64]| member[2 * i + 1] - member[2 * i];
        let sum = found[0] * llr(&members[0]) + found[1] * llr(&members[1]) + offsets[1] - offsets[0];
        close(x, sum, 1e-9);
    }
    // Each log loss is that of rows that had no part in the weights.
    let figure = |value: &Value, name: &str| value[name].as_f64().unwrap();
    let members = report["members"].as_array().unwrap();
    assert!(figure(&members[0], "scaled_log_loss") < figure(&members[0], "log_loss"), "{report}");
    let alone = members.iter().map(|member| figure(member, "scaled_log_loss")).fold(f64::INFINITY, f64::min);
    assert!(figure(&report, "log_loss") < alone + 0.01 && alone < 0.2 * figure(&report, "prior_log_loss"), "{report}");
    let tested = |model: &str| figure(&folder.json(&["evaluate", model, "test.csv", "--json"]), "log_loss");
    close(figure(&report, "log_loss"), tested("fused.deciban"), 0.05);
    assert!(tested("fused.deciban") < tested("naive.deciban"));
    // For people, on standard error.
    let args = ["fuse", models[0], models[1], "--rows", "held-out.csv", "-o", "again.deciban"];
    let (code, stdout, stderr) = folder.run(&args);
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert!(stderr.starts_with("again.deciban: 2 models, weights from 190 rows\nfused from 2 models:\n"), "{stderr}");
    assert_eq!(folder.read("again.deciban"), folder.read("fused.deciban"));
    let text = folder.ok(&["inspect", "fused.deciban"]);
    assert!(text.starts_with("offsets in nats: benign ") && text.contains("# logistic.deciban"), "{text}");
}

/// A model that was fitted on labels of other rows says nothing.
#[test]
fn a_useless_member_has_no_weight() {
    let folder = tumours();
    let text = String::from_utf8(folder.read("train.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let split: Vec<(&str, &str)> = rows.lines().map(|line| line.split_once(',').unwrap()).collect();
    let label = |i: usize| split[(i * 7 + 3) % split.len()].0;
    let shuffled: Vec<String> = (0..split.len()).map(|i| format!("{},{}", label(i), split[i].1)).collect();
    folder.write("shuffled.csv", format!("{header}\n{}\n", shuffled.join("\n")));
    // Its Gaussians have as many parameters as rows, so that it is sure of what it says.
    let fit = ["fit", "shuffled.csv", "-t", "diagnosis", "--model", "gaussian", "--covariance", "full"];
    folder.ok(&[&fit[..], &["-o", "useless.deciban"]].concat());
    let report = fuse(&folder, &["logistic.deciban", "useless.deciban", "naive.deciban"]);
    let found = weights(&report);
    assert!(found[1] == 0.0 && found[0] > 0.8, "{report}");
    // It is named, and it is not in the file.
    let models = ["logistic.deciban", "useless.deciban"];
    let (_, _, told) = folder.run(&[&["fuse"], &models[..], &["--rows", "held-out.csv", "-o", "one.deciban"]].concat());
    assert!(told.contains("note: useless.deciban has next to no weight beside the others"), "{told}");
    let shown = folder.json(&["inspect", "one.deciban", "--json"]);
    assert_eq!(shown["members"].as_array().unwrap().len(), 1);
}

#[test]
fn ledgers_of_a_fused_model_add_up() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(wine()).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    for (k, name) in ["train.csv", "rows.csv"].iter().enumerate() {
        let part: Vec<&str> = rows.lines().skip(k).step_by(2).collect();
        folder.write(name, format!("{header}\n{}\n", part.join("\n")));
    }
    let fit = ["fit", "train.csv", "-t", "Type", "--columns", "Alcohol,Ash,Hue"];
    folder.ok(&[&fit[..], &["--model", "naive-bayes", "-o", "a.deciban"]].concat());
    // A member that is calibrated keeps its calibration.
    let calibrated = ["--model", "gaussian", "--covariance", "tied-diagonal", "--calibrate", "logistic"];
    folder.ok(&[&fit[..], &calibrated, &["--prior", "uniform", "-o", "b.deciban"]].concat());
    let fuse = ["fuse", "a.deciban", "b.deciban", "--rows", "rows.csv", "-o", "fused.deciban"];
    let (code, _, stderr) = folder.run(&fuse);
    assert!(code == 0 && stderr.contains("note: the models have different priors: "), "{stderr}");
    let predicted = folder.table(&["predict", "fused.deciban", "rows.csv", "--prior", "uniform"]);
    let lines = folder.ok(&["explain", "fused.deciban", "rows.csv", "--json", "--prior", "uniform"]);
    assert_eq!(lines.lines().count(), 89);
    for (i, line) in lines.lines().enumerate() {
        let row: Value = serde_json::from_str(line).unwrap();
        let features = row["features"].as_array().unwrap();
        let total = row["total"].as_f64().unwrap();
        close(features.iter().map(|f| f["decibans"].as_f64().unwrap()).sum(), total, 1e-9);
        let p = |class: &Value| predicted.numbers(&format!("p({})", class.as_str().unwrap()))[i];
        close(total, 10.0 * (p(&row["of"]) / p(&row["over"])).log10(), 1e-7);
        assert!(features.iter().any(|f| f["name"] == "(same for every row)"), "{row}");
    }
}

/// Models as `fit` makes them by default are fused and calibrated: their members are fused.
#[test]
fn a_fused_model_is_opened_into_its_members() {
    let folder = tumours();
    let fit = ["fit", "train.csv", "-t", "diagnosis", "--model", "fused", "--models", "gaussian,logistic", "--effort"];
    folder.ok(&[&fit[..], &["quick", "--prior", "uniform", "-o", "found.deciban"]].concat());
    let inside = folder.json(&["inspect", "found.deciban", "--json"]);
    let inside = inside["members"].as_array().unwrap().len();
    assert!(inside > 1);
    let models = ["found.deciban", "naive.deciban"];
    let report = fuse(&folder, &models);
    let members = report["members"].as_array().unwrap();
    assert_eq!(members.len(), inside + 1);
    let name = |i: usize| members[i]["name"].as_str().unwrap();
    assert!(name(0).starts_with("found.deciban: ") && name(inside) == "naive.deciban", "{report}");
    // Each member alone does as well as the file of a model of its kind would: the rows are scored by the member.
    assert!(weights(&report).iter().sum::<f64>() > 0.5, "{report}");
    // The prior is that of the first file, and a fusion of a fusion is one, too.
    let shown = folder.json(&["inspect", "fused.deciban", "--json"]);
    assert_eq!(shown["prior"], serde_json::json!([0.5, 0.5]));
    let again = ["fuse", "fused.deciban", "logistic.deciban", "--rows", "held-out.csv", "-o", "again.deciban"];
    folder.ok(&again);
    folder.ok(&["explain", "again.deciban", "test.csv", "--row", "1"]);
}

#[test]
fn what_cannot_be_fused_is_said() {
    let folder = tumours();
    let held = ["--rows", "held-out.csv", "-o", "x.deciban"];
    let fails = |models: &[&str]| folder.fails(&[&["fuse"], models, &held[..]].concat());
    assert!(folder.misused(&[&["fuse", "naive.deciban"], &held[..]].concat()).contains("2 values required"));
    // Other targets, classes and columns.
    folder.ok(&["fit", &wine(), "-t", "Type", "--model", "gaussian", "-o", "wine.deciban"]);
    assert_eq!(
        fails(&["naive.deciban", "wine.deciban"]),
        "naive.deciban predicts `diagnosis` and wine.deciban `Type`: only models of the same target can be fused"
    );
    let text = String::from_utf8(folder.read("train.csv")).unwrap();
    folder.write("other.csv", text.replace("benign", "harmless"));
    fit_logistic(&folder, "other.csv", "other.deciban");
    assert_eq!(
        fails(&["naive.deciban", "other.deciban"]),
        "only naive.deciban knows the class `benign`: only models of the same classes can be fused"
    );
    let fit = ["fit", "train.csv", "-t", "diagnosis", "--model", "gaussian", "--columns", "mean_radius,mean_area"];
    folder.ok(&[&fit[..], &["-o", "two.deciban"]].concat());
    assert_eq!(
        fails(&["naive.deciban", "two.deciban"]),
        "only naive.deciban has the column `mean_texture`: only models of the same columns can be fused"
    );
    // Levels that came in another order have other codes.
    for (name, rows) in [("red", "red,a\nred,b\nblue,a\nblue,b\n"), ("blue", "blue,a\nblue,b\nred,a\nred,b\n")] {
        folder.write("colours.csv", format!("fur,t\n{rows}"));
        let model = format!("{name}.deciban");
        folder.ok(&["fit", "colours.csv", "-t", "t", "--model", "naive-bayes", "-o", &model]);
    }
    assert_eq!(
        fails(&["red.deciban", "blue.deciban"]),
        "column `fur`: level 1 is `red` to red.deciban and `blue` to blue.deciban: only models that have met the levels \
         in the same order can be fused, such as models of the same rows"
    );
    // Rows without a label, without any row of a class, and too many.
    let with =
        |rows: &str| ["fuse", "naive.deciban", "logistic.deciban", "-o", "x.deciban", "--rows", rows].map(String::from);
    let fails = |rows: &str, more: &[&str]| {
        let args = with(rows);
        folder.fails(&[&args.each_ref().map(String::as_str)[..], more].concat())
    };
    let text = String::from_utf8(folder.read("held-out.csv")).unwrap();
    let strip = |line: &str| line.split_once(',').unwrap().1.to_string();
    folder.write("unlabelled.csv", text.lines().map(strip).collect::<Vec<_>>().join("\n"));
    assert!(fails("unlabelled.csv", &[]).contains("diagnosis"));
    let empty: Vec<String> = text.lines().skip(1).map(|line| format!(",{}", strip(line))).collect();
    folder.write("empty.csv", format!("{}\n{}\n", text.lines().next().unwrap(), empty.join("\n")));
    assert_eq!(
        fails("empty.csv", &[]),
        "empty.csv:2: column `diagnosis`: the class is missing: fill it in or remove the row"
    );
    let benign: Vec<&str> = text.lines().filter(|line| !line.starts_with("malignant")).collect();
    folder.write("benign.csv", benign.join("\n"));
    assert_eq!(fails("benign.csv", &[]), "class `malignant` has no rows to fuse with");
    assert!(fails("held-out.csv", &["--memory", "0"]).starts_with("--memory: the evidence of 190 rows takes 1 MiB"));
    assert_eq!(fails("held-out.csv", &["--folds", "1"]), "--folds: at least 2 folds are needed");
}
