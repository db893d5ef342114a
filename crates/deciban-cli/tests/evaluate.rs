//! `deciban evaluate`: the figures, in text and in JSON.

mod common;

use common::{Folder, close, numbers, records, texts, wine};
use serde_json::Value;

fn confusion(figures: &Value) -> Vec<Vec<f64>> {
    figures["confusion"].as_array().unwrap().iter().map(numbers).collect()
}

#[test]
fn text_for_people() {
    let folder = Folder::new();
    folder.ok(&["fit", &wine(), "--target", "Type", "-o", "wine.deciban"]);
    let (code, stdout, stderr) = folder.run(&["evaluate", "wine.deciban", &wine()]);
    assert_eq!((code, stderr.as_str()), (0, ""));
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
    let message = folder.fails(&["evaluate", "wine.deciban", "merlot.csv"]);
    let known = "its classes are `Barbera`, `Barolo`, `Grignolino`";
    assert_eq!(message, format!("merlot.csv:3: column `Type`: the model does not know the class `Merlot`: {known}"));
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
