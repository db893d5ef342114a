//! `deciban evaluate`: the figures, in text and in JSON.

use crate::common::{Folder, close, numbers, records, texts, wine};
use serde_json::Value;

fn confusion(figures: &Value) -> Vec<Vec<f64>> {
    figures["confusion"].as_array().unwrap().iter().map(numbers).collect()
}

#[test]
fn text_for_people() {
    let folder = Folder::new();
    folder.ok(&["fit", "--model", "gaussian", &wine(), "--target", "Type", "-o", "wine.deciban"]);
    let (code, stdout, stderr) = folder.run(&["evaluate", "wine.deciban", &wine()]);
    assert!(code == 0 && stderr.starts_with("warning: the model was fitted on these rows"), "{code} {stderr}");
    let words = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = stdout.lines().map(words).collect();
    let line = |text: &str| assert!(lines.contains(&words(text)), "no `{text}` in\n{stdout}");
    line("rows 178");
    line("errors 1");
    line("error rate 0.56 %");
    line("true \\ decided Barbera Barolo Grignolino prior");
    line("Barbera 48 · · 0.270");
    line("Barolo · 59 · 0.331");
    line("Grignolino · 1 70 0.399");
    assert!(!stdout.contains("expected cost"));
}

/// Half of the rows of a table, from row 1 or 2 on.
fn every_second(text: &str, first: usize) -> String {
    let (header, rows) = text.split_once('\n').unwrap();
    rows.lines().skip(first - 1).step_by(2).fold(format!("{header}\n"), |all, row| format!("{all}{row}\n"))
}

#[test]
fn rows_that_the_model_was_fitted_on_are_told() {
    let folder = Folder::new();
    let all = std::fs::read_to_string(wine()).unwrap();
    let (known, new) = (every_second(&all, 1), every_second(&all, 2));
    folder.write("known.csv", &known);
    folder.write("new.csv", &new);
    // The rows in another order, with the columns in another order.
    let turned = |line: &str| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n";
    let (header, rows) = known.split_once('\n').unwrap();
    folder.write("turned.csv", turned(header) + &rows.lines().rev().map(turned).collect::<String>());
    let half = known.lines().skip(1).take(40).chain(new.lines().skip(1).take(40)).map(|row| format!("{row}\n"));
    folder.write("part.csv", known.lines().step_by(8).map(|row| format!("{row}\n")).collect::<String>());
    folder.write("half.csv", format!("{header}\n{}", half.collect::<String>()));
    let warned = |data: &str| folder.run(&["evaluate", "m.deciban", data, "--json", "--report", "page.html"]).2;
    let models: [&[&str]; 5] = [
        &["--model", "gaussian", "--keep-statistics"],
        &["--model", "logistic"],
        &["--model", "additive"],
        &["--effort", "quick"],
        &["--model", "gaussian", "--columns", "Alcohol,Ash,Hue", "--calibrate", "logistic"],
    ];
    for model in models {
        folder.ok(&[&["fit", "known.csv", "-t", "Type", "-o", "m.deciban"], model].concat());
        let page = || std::fs::read_to_string(folder.path().join("page.html")).unwrap();
        for data in ["known.csv", "turned.csv"] {
            let told = warned(data);
            assert!(
                told.contains("warning: the model was fitted on these rows: its figures are too good"),
                "{model:?} {told}"
            );
            assert!(page().contains("the model was fitted on these rows"), "{model:?}");
        }
        let told = warned("half.csv");
        assert!(told.contains("the model was fitted on about 50 % of these rows"), "{model:?} {told}");
        assert!(!warned("new.csv").contains("fitted on") && !page().contains("fitted on"), "{model:?}");
    }
    // What was forgotten leaves nothing behind, and what was learned later is not known.
    folder.ok(&["fit", "known.csv", "-t", "Type", "--model", "gaussian", "--keep-statistics", "-o", "m.deciban"]);
    folder.ok(&["forget", "m.deciban", "part.csv", "-o", "less.deciban"]);
    folder.ok(&["update", "m.deciban", "new.csv", "-o", "more.deciban"]);
    for model in ["less.deciban", "more.deciban"] {
        let told = folder.run(&["evaluate", model, "known.csv", "--json"]).2;
        assert!(!told.contains("fitted on"), "{model} {told}");
    }
}

/// Where rows are few and often equal, that a row was there before says nothing.
#[test]
fn rows_that_are_equal_by_chance_are_not_told() {
    let folder = Folder::new();
    let rows = |first: usize| {
        let row = |i: usize| {
            let mixed = i * 2_654_435_761 % 1_000_003;
            format!(
                "{},{},{}\n",
                ["man", "woman", "child"][mixed % 3],
                ["crew", "first", "third"][mixed / 3 % 3],
                ["yes", "no"][mixed / 9 % 2]
            )
        };
        "who,cabin,survived\n".to_string() + &(first..first + 1500).map(row).collect::<String>()
    };
    folder.write("known.csv", rows(0));
    folder.write("new.csv", rows(5000));
    folder.ok(&["fit", "known.csv", "-t", "survived", "--model", "naive-bayes", "-o", "m.deciban"]);
    for data in ["known.csv", "new.csv"] {
        let told = folder.run(&["evaluate", "m.deciban", data, "--json"]).2;
        assert!(!told.contains("fitted on"), "{data} {told}");
    }
}

#[test]
fn figures_follow_from_the_predictions() {
    let folder = Folder::with_model(&[]);
    let options = ["--prior", "Barolo=0.5", "--costs", "Barolo>Grignolino=7", "--reject", "0.3"];
    let figures = folder.json(&[&["evaluate", "wine.deciban", &wine(), "--json"], &options[..]].concat());
    let table = folder.table(&[&["predict", "wine.deciban", &wine()], &options[..]].concat());
    let truth: Vec<String> = records(&wine()).iter().map(|row| row["Type"].clone()).collect();
    let classes = texts(&figures["classes"]);
    let actions = texts(&figures["actions"]);
    assert_eq!((classes.len(), actions.clone()), (3, vec!["Barbera", "Barolo", "Grignolino", "reject"]));
    let mut counts = vec![vec![0.0; 4]; 3];
    let (mut log_loss, mut brier, mut cost) = (0.0, 0.0, 0.0);
    for (i, (truth, decision)) in truth.iter().zip(table.texts("decision")).enumerate() {
        let class = classes.iter().position(|c| c == truth).unwrap();
        let action = actions.iter().position(|a| *a == decision).unwrap();
        counts[class][action] += 1.0;
        for (k, name) in classes.iter().enumerate() {
            let p = table.numbers(&format!("p({name})"))[i];
            log_loss -= if k == class { p.ln() / 178.0 } else { 0.0 };
            brier += (p - f64::from(u8::from(k == class))).powi(2) / 178.0;
        }
        cost += match (truth.as_str(), decision.as_str()) {
            (_, "reject") => 0.3,
            ("Barolo", "Grignolino") => 7.0,
            (a, b) => f64::from(u8::from(a != b)),
        } / 178.0;
    }
    assert_eq!(confusion(&figures), counts);
    let errors: f64 =
        (0..3).flat_map(|i| (0..3).filter(move |j| *j != i).map(move |j| (i, j))).map(|(i, j)| counts[i][j]).sum();
    let rejected: f64 = counts.iter().map(|row| row[3]).sum();
    assert!(errors > 0.0 && rejected > 0.0);
    let figure = |name: &str| figures[name].as_f64().unwrap_or_else(|| panic!("no `{name}` in {figures}"));
    assert_eq!((figure("rows"), figure("errors"), figure("rejected")), (178.0, errors, rejected));
    close(figure("error_rate"), errors / 178.0, 1e-15);
    close(figure("log_loss"), log_loss, 1e-12);
    close(figure("brier"), brier, 1e-12);
    close(figure("expected_cost"), cost, 1e-12);
    assert_eq!(numbers(&figures["prior"])[1], 0.5);
}

#[test]
fn counts_are_never_minus_zero() {
    let folder = Folder::with_model(&[]);
    let text = folder.ok(&["evaluate", "wine.deciban", &wine(), "--json"]);
    assert!(!text.contains("-0.0"), "{text}");
}

#[test]
fn without_costs_the_expected_cost_is_the_error_rate() {
    let folder = Folder::with_model(&[]);
    let figures = folder.json(&["evaluate", "wine.deciban", &wine(), "--json"]);
    assert_eq!(figures["expected_cost"], figures["error_rate"]);
    assert_eq!(figures["undefined"], 0);
}

#[test]
fn many_files_and_standard_input() {
    let folder = Folder::with_model(&[]);
    let one = folder.json(&["evaluate", "wine.deciban", &wine(), "--json"]);
    let two = folder.json(&["evaluate", "wine.deciban", &wine(), &wine(), "--json"]);
    assert_eq!(two["rows"].as_f64(), Some(356.0));
    assert_eq!(two["errors"].as_f64(), one["errors"].as_f64().map(|e| 2.0 * e));
    close(two["log_loss"].as_f64().unwrap(), one["log_loss"].as_f64().unwrap(), 1e-12);
    let text = std::fs::read_to_string(wine()).unwrap();
    let (code, piped, _) = folder.run_with(&["evaluate", "wine.deciban", "-", "--json"], &text);
    assert_eq!((code, serde_json::from_str::<Value>(&piped).unwrap()), (0, one));
}

#[test]
fn rows_must_have_a_class_that_the_model_knows() {
    let folder = Folder::with_model(&[]);
    folder.write("merlot.csv", "Alcohol,Hue,Type\n13.2,1.05,Barolo\n13.2,1.05,Merlot\n");
    let (code, stdout, stderr) = folder.run(&["evaluate", "wine.deciban", "merlot.csv"]);
    assert!(code == 0 && stdout.starts_with("rows ") && stdout.contains(" 1\nerrors"), "{stdout}");
    assert_eq!(stderr, "warning: 1 row is of the class `Merlot`, which the model does not know: left out\n");
    folder.write("bare.csv", "Alcohol,Hue\n13.2,1.05\n");
    let message = folder.fails(&["evaluate", "wine.deciban", "bare.csv"]);
    assert_eq!(message, "bare.csv: there is no column `Type` for the target: the columns are `Alcohol`, `Hue`");
    folder.write("cut.deciban", "not a model");
    let message = folder.fails(&["evaluate", "cut.deciban", &wine()]);
    assert!(message.starts_with("cut.deciban: this is not a deciban file"), "{message}");
    folder.misused(&["evaluate", "wine.deciban"]);
}

#[test]
fn a_row_that_no_class_explains_counts_as_an_error_and_in_no_average() {
    let folder = Folder::with_model(&[]);
    // (1e200)² is beyond doubles: every class's density is 0.
    folder.write("far.csv", "Alcohol,Hue,Type\n1e200,1,Barolo\n13.7,1,Barolo\n");
    folder.write("near.csv", "Alcohol,Hue,Type\n13.7,1,Barolo\n");
    let evaluate = |data: &str| folder.json(&["evaluate", "wine.deciban", data, "--json"]);
    let (far, near) = (evaluate("far.csv"), evaluate("near.csv"));
    assert_eq!(
        (far["rows"].as_f64(), far["undefined"].as_f64(), far["errors"].as_f64()),
        (Some(2.0), Some(1.0), Some(1.0))
    );
    assert_eq!(far["error_rate"].as_f64(), Some(0.5));
    for name in ["log_loss", "brier"] {
        close(far[name].as_f64().unwrap(), near[name].as_f64().unwrap(), 1e-15);
    }
    let (code, stdout, stderr) = folder.run(&["predict", "wine.deciban", "far.csv"]);
    assert_eq!((code, stdout.lines().nth(1)), (0, Some(",,,")));
    assert!(stderr.starts_with("warning: rows impossible under every class with a prior above 0: 1;"), "{stderr}");
}

fn figure(figures: &Value, name: &str) -> f64 {
    figures[name].as_f64().unwrap_or_else(|| panic!("no `{name}` in {figures}"))
}

/// Everything there is for two classes, from the posteriors and LLRs that `predict` prints.
#[test]
fn two_classes_by_hand() {
    let folder = Folder::with_tumours();
    let options = ["--prior", "malignant=0.2", "--costs", "malignant>benign=10"];
    let figures = folder.json(&[&["evaluate", "naive.deciban", "test.csv", "--json"], &options[..]].concat());
    let table = folder.table(&[&["predict", "naive.deciban", "test.csv", "--evidence"], &options[..]].concat());
    let llr: Vec<f64> = table.numbers("evidence(malignant)").iter().map(|db| db * 10f64.ln() / 10.0).collect();
    let path = folder.command(&[]).get_current_dir().unwrap().join("test.csv").display().to_string();
    let y: Vec<bool> = records(&path).iter().map(|row| row["diagnosis"] == "malignant").collect();
    let (t, n) = (y.iter().filter(|y| **y).count() as f64, y.iter().filter(|y| !**y).count() as f64);
    let pairs = || (0..y.len()).flat_map(|i| (0..y.len()).map(move |j| (i, j)));
    let wins = pairs().filter(|&(i, j)| y[i] && !y[j]).map(|(i, j)| match llr[i].total_cmp(&llr[j]) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    });
    close(figure(&figures, "auc"), wins.sum::<f64>() / t / n, 1e-12);
    let loss = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let cllr: f64 = llr.iter().zip(&y).map(|(x, &y)| if y { loss(-x) / t } else { loss(*x) / n }).sum::<f64>();
    close(figure(&figures, "cllr"), cllr / 2.0 / 2f64.ln(), 1e-9);
    let cost = |threshold: f64| {
        let misses = llr.iter().zip(&y).filter(|(x, y)| **y && **x <= threshold).count() as f64;
        let alarms = llr.iter().zip(&y).filter(|(x, y)| !**y && **x > threshold).count() as f64;
        0.2 * 10.0 * misses / t + 0.8 * alarms / n
    };
    close(figure(&figures, "llr_threshold"), (0.8f64 / 2.0).ln(), 1e-12);
    close(figure(&figures, "effective_prior"), 2.0 / 2.8, 1e-12);
    close(figure(&figures, "dcf"), cost((0.8f64 / 2.0).ln()), 1e-12);
    let least = llr.iter().map(|x| cost(*x)).fold(cost(f64::NEG_INFINITY), f64::min);
    close(figure(&figures, "min_dcf"), least, 1e-12);
    close(figure(&figures, "default_dcf"), 0.8, 1e-12);
    assert!(figure(&figures, "min_cllr") < figure(&figures, "cllr") && figure(&figures, "eer") > 0.0);
    assert_eq!(figures["target_class"], "malignant");
    // The other class as target: what is symmetric stays, the threshold changes its sign.
    let other = ["evaluate", "naive.deciban", "test.csv", "--json", "--positive", "benign"];
    let other = folder.json(&[&other, &options[..]].concat());
    for name in ["auc", "cllr", "min_cllr", "eer", "hull_eer", "dcf", "min_dcf"] {
        close(figure(&other, name), figure(&figures, name), 1e-12);
    }
    close(figure(&other, "llr_threshold"), -figure(&figures, "llr_threshold"), 1e-12);
    let message = folder.fails(&["evaluate", "naive.deciban", "test.csv", "--positive", "ill"]);
    assert_eq!(message, "--positive: there is no class `ill`: the classes are `benign`, `malignant`");
}

#[test]
fn intervals_repeat_and_narrow() {
    let folder = Folder::with_tumours();
    let run = |options: &[&str]| folder.json(&[&["evaluate", "naive.deciban", "test.csv", "--json"], options].concat());
    let plain = run(&[]);
    assert!(plain.get("intervals").is_none());
    let (a, b) = (run(&["--intervals"]), run(&["--bootstrap", "1000"]));
    assert_eq!(a, b);
    let ends = |figures: &Value, name: &str| numbers(&figures["intervals"][name]);
    for name in ["error_rate", "log_loss", "auc", "cllr", "recall(malignant)"] {
        let ends = ends(&a, name);
        let value = plain[name].as_f64().unwrap_or_else(|| figure(&plain["per_class"][1], "recall"));
        assert!(ends[0] < value && value < ends[1], "{name}: {value} {ends:?}");
    }
    // Errors are binomial: ±1.96 √(p(1 − p)/n), roughly.
    let (p, half) = (figure(&a, "error_rate"), 1.96 * (figure(&a, "error_rate") * 0.94 / 189.0).sqrt());
    assert!(
        (ends(&a, "error_rate")[1] - p - half).abs() < 0.012 && (p - half - ends(&a, "error_rate")[0]).abs() < 0.012
    );
    let narrow = run(&["--intervals", "--confidence", "0.5"]);
    let width = |figures: &Value| ends(figures, "auc")[1] - ends(figures, "auc")[0];
    assert!(width(&narrow) < 0.6 * width(&a));
    assert_ne!(run(&["--intervals", "--seed", "1"])["intervals"], a["intervals"]);
    let text = folder.ok(&["evaluate", "naive.deciban", "test.csv", "--intervals"]);
    assert!(text.lines().next().unwrap().ends_with("95 % from          to"), "{text}");
    let message = folder.fails(&["evaluate", "naive.deciban", "test.csv", "--intervals", "--confidence", "95"]);
    assert_eq!(message, "--confidence: give a probability above 0 and below 1");
}

#[test]
fn llrs_from_elsewhere() {
    let folder = Folder::new();
    // Likelihood ratios of 3 and 1/3, as log10.
    let x = 3f64.log10();
    folder.write("scores.csv", format!("score,same,n\n{x},yes,1\n{x},yes,1\n-{x},no,1\n-{x},no,1\n5,no,0\n"));
    let llr = ["evaluate", "--llr", "score", "--target", "same", "--unit", "log10", "scores.csv", "--json"];
    let figures = folder.json(&[&llr[..], &["--weight", "n"]].concat());
    close(figure(&figures, "cllr"), 0.4150374992788437, 1e-14);
    assert_eq!((figure(&figures, "min_cllr"), figure(&figures, "auc"), figure(&figures, "eer")), (0.0, 1.0, 0.0));
    assert_eq!(
        (&figures["target_class"], &figures["classes"]),
        (&Value::from("yes"), &serde_json::json!(["no", "yes"]))
    );
    assert_eq!(numbers(&figures["prior"]), [0.5, 0.5]);
    let turned = folder.json(&[&llr[..], &["--weight", "n", "--positive", "no"]].concat());
    close(figure(&turned, "cllr"), 2.0, 1e-14);
    assert_eq!(figure(&turned, "auc"), 0.0);
    // From standard input, which is read twice.
    let text = String::from_utf8(folder.read("scores.csv")).unwrap();
    let piped = ["evaluate", "--llr", "score", "--target", "same", "--unit", "log10", "-", "--json", "--weight", "n"];
    let (code, stdout, _) = folder.run_with(&piped, &text);
    assert_eq!((code, serde_json::from_str::<Value>(&stdout).unwrap()), (0, figures));
    folder.write("gap.csv", "score,same\n1,yes\n,no\n");
    let message = folder.fails(&["evaluate", "--llr", "score", "--target", "same", "gap.csv"]);
    assert_eq!(message, "gap.csv:3: column `score`: the cell is missing; give every row its LLR, or leave the row out");
    folder.write("one.csv", "score,same\n1,yes\n2,yes\n");
    let message = folder.fails(&["evaluate", "--llr", "score", "--target", "same", "one.csv"]);
    assert_eq!(message, "--target: LLRs are of two classes, and `same` has 1");
    folder.misused(&["evaluate", "--llr", "score", "gap.csv"]);
}

#[test]
fn more_rows_than_memory_leave_the_streaming_figures() {
    let folder = Folder::with_tumours();
    let all = folder.json(&["evaluate", "naive.deciban", "test.csv", "--json"]);
    let (code, stdout, stderr) =
        folder.run(&["evaluate", "naive.deciban", "test.csv", "--json", "--memory", "0", "--intervals"]);
    assert!(
        code == 0 && stderr.starts_with("note: the evidence of 189 rows and its figures take more than 0 MiB"),
        "{stderr}"
    );
    let few: Value = serde_json::from_str(&stdout).unwrap();
    for name in ["error_rate", "log_loss", "brier", "calibration_error", "cllr", "macro_f1"] {
        close(figure(&few, name), figure(&all, name), 1e-12);
    }
    assert!(few.get("auc").is_none() && few.get("min_cllr").is_none() && few.get("intervals").is_none());
}
