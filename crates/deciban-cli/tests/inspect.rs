//! `deciban inspect`: the classifier written out must be the classifier that predicts.

use crate::common::{Folder, close, numbers, records, texts, wine};
use serde_json::Value;

/// The cells of the model's columns, row by row.
fn rows(model: &Value) -> Vec<Vec<f64>> {
    let columns = texts(&model["columns"]);
    records(&wine()).iter().map(|row| columns.iter().map(|c| row[*c].parse().unwrap()).collect()).collect()
}

/// log p(x|of) − log p(x|over) from A, b and c.
fn quadratic(form: &Value, x: &[f64]) -> f64 {
    let (a, b) = (form["A"].as_array().unwrap(), numbers(&form["b"]));
    let ax: Vec<f64> = a.iter().map(|row| numbers(row).iter().zip(x).map(|(a, x)| a * x).sum()).collect();
    x.iter().zip(&ax).map(|(x, y)| x * y).sum::<f64>()
        + b.iter().zip(x).map(|(b, x)| b * x).sum::<f64>()
        + form["c"].as_f64().unwrap()
}

/// Log-likelihood ratio of each class against the mean of the others, in decibans, from the pairwise
/// forms.
fn evidence(model: &Value, x: &[f64]) -> Vec<f64> {
    let classes: Vec<&str> =
        model["classes"].as_array().unwrap().iter().map(|c| c["class"].as_str().unwrap()).collect();
    // log p(x|k) − log p(x|first)
    let relative = |k: usize| {
        let form =
            model["quadratic"].as_array().unwrap().iter().find(|f| f["of"] == classes[0] && f["over"] == classes[k]);
        form.map_or(0.0, |form| -quadratic(form, x))
    };
    let scores: Vec<f64> = (0..classes.len()).map(relative).collect();
    let llr = |k: usize| {
        let others: Vec<f64> = (0..classes.len()).filter(|j| *j != k).map(|j| scores[j]).collect();
        let most = others.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = others.iter().map(|s| (s - most).exp()).sum::<f64>() / others.len() as f64;
        10.0 / std::f64::consts::LN_10 * (scores[k] - most - mean.ln())
    };
    (0..classes.len()).map(llr).collect()
}

fn check_forms(fit: &[&str], tolerance: f64) {
    let folder = Folder::new();
    folder.ok(&[&["fit", &wine(), "-t", "Type", "-o", "wine.deciban"], fit].concat());
    let model = folder.json(&["inspect", "wine.deciban", "--json"]);
    let table = folder.table(&["predict", "wine.deciban", &wine(), "--evidence"]);
    let columns = ["Barbera", "Barolo", "Grignolino"].map(|class| table.numbers(&format!("evidence({class})")));
    for (i, x) in rows(&model).iter().enumerate() {
        evidence(&model, x).iter().zip(&columns).for_each(|(e, column)| close(column[i], *e, tolerance));
    }
}

#[test]
fn quadratic_forms_give_the_evidence_of_predict() {
    for covariance in ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"] {
        check_forms(&["--columns", "Alcohol,Hue", "--covariance", covariance], 1e-9);
    }
    check_forms(&["--model", "gaussian"], 1e-9);
}

#[test]
fn linear_maps_are_multiplied_in() {
    for steps in [&["--standardise"][..], &["--pca", "4"], &["--standardise", "--pca", "6", "--lda", "2"]] {
        check_forms(steps, 1e-9);
        check_forms(&[steps, &["--covariance", "tied"]].concat(), 1e-9);
    }
}

#[test]
fn softmax_of_the_linear_forms_is_the_posterior() {
    let folder = Folder::with_model(&["--covariance", "tied"]);
    let model = folder.json(&["inspect", "wine.deciban", "--json"]);
    let table = folder.table(&["predict", "wine.deciban", &wine()]);
    let classes = model["classes"].as_array().unwrap();
    for (i, x) in rows(&model).iter().enumerate() {
        let score = |(form, class): (&Value, &Value)| {
            let w = numbers(&form["w"]);
            let dot: f64 = w.iter().zip(x).map(|(w, x)| w * x).sum();
            (dot + form["w0"].as_f64().unwrap() + class["prior"].as_f64().unwrap().ln()).exp()
        };
        let scores: Vec<f64> = model["linear"].as_array().unwrap().iter().zip(classes).map(score).collect();
        for (class, s) in classes.iter().zip(&scores) {
            let p = table.numbers(&format!("p({})", class["class"].as_str().unwrap()))[i];
            close(p, s / scores.iter().sum::<f64>(), 1e-9);
        }
    }
    // w = Σ⁻¹μ and w0 = −½ μᵀΣ⁻¹μ = −½ w·μ.
    for (form, class) in model["linear"].as_array().unwrap().iter().zip(classes) {
        let (w, mean) = (numbers(&form["w"]), numbers(&class["mean"]));
        close(form["w0"].as_f64().unwrap(), -0.5 * w.iter().zip(&mean).map(|(w, m)| w * m).sum::<f64>(), 1e-12);
        let covariance = class["covariance"].as_array().unwrap();
        for (row, m) in covariance.iter().zip(&mean) {
            close(numbers(row).iter().zip(&w).map(|(s, w)| s * w).sum(), *m, 1e-11);
        }
    }
}

#[test]
fn text_shows_means_and_forms() {
    let folder = Folder::with_model(&["--covariance", "tied"]);
    let text = folder.ok(&["inspect", "wine.deciban", "--forms"]);
    let model = folder.json(&["inspect", "wine.deciban", "--json"]);
    let line =
        |start: &str| text.lines().find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("no `{start}` in\n{text}"));
    let cells = |start: &str| {
        line(start)[start.len()..].split_whitespace().map(|x| x.parse::<f64>().unwrap()).collect::<Vec<_>>()
    };
    for (k, form) in model["linear"].as_array().unwrap().iter().enumerate() {
        close(cells("w Alcohol")[k], numbers(&form["w"])[0], 1e-5);
        close(cells("w Hue")[k], numbers(&form["w"])[1], 1e-5);
        let bias = form["w0"].as_f64().unwrap();
        close(cells("w0 + ln prior (softmax)")[k], bias + model["classes"][k]["prior"].as_f64().unwrap().ln(), 1e-5);
    }
    assert!(folder.ok(&["inspect", "wine.deciban"]).lines().all(|l| !l.starts_with("w0")));
}

#[test]
fn one_pair_of_classes() {
    let folder = Folder::with_model(&[]);
    let text = folder.ok(&["inspect", "wine.deciban", "--versus", "Barolo,Barbera"]);
    assert!(text.starts_with("LLR Barolo over Barbera, in nats: x'Ax + b'x + c\nc = "), "{text}");
    let model = folder.json(&["inspect", "wine.deciban", "--json"]);
    let form = &model["quadratic"][0];
    assert_eq!((&form["of"], &form["over"]), (&Value::from("Barbera"), &Value::from("Barolo")));
    let c: f64 = text.lines().nth(1).unwrap()[4..].parse().unwrap();
    close(c, -form["c"].as_f64().unwrap(), 1e-5);
    let hue: Vec<f64> = text
        .lines()
        .find(|l| l.starts_with("Hue"))
        .unwrap()
        .split_whitespace()
        .skip(1)
        .map(|x| x.parse().unwrap())
        .collect();
    close(hue[0], -numbers(&form["b"])[1], 1e-5);
    close(hue[2], -numbers(&form["A"][1])[1], 1e-4);
    let message = folder.fails(&["inspect", "wine.deciban", "--versus", "Barolo,Merlot"]);
    assert_eq!(message, "--versus: there is no class `Merlot`: the classes are `Barbera`, `Barolo`, `Grignolino`");
    assert_eq!(folder.fails(&["inspect", "wine.deciban", "--versus", "Barolo"]), "--versus: give two classes: A,B");
}

#[test]
fn what_has_no_form_is_refused_before_anything_is_printed() {
    let folder = Folder::with_model(&["--estimator", "bayes"]);
    let message = folder.fails(&["inspect", "wine.deciban", "--forms"]);
    assert_eq!(message, "--estimator bayes: a Student density has no quadratic form");
    let model = folder.json(&["inspect", "wine.deciban", "--json"]);
    assert!(model.get("quadratic").is_none());
    let folder = Folder::with_model(&["--gaussianise"]);
    let message = folder.fails(&["inspect", "wine.deciban", "--forms"]);
    assert_eq!(message, "--forms: only a Gaussian model without --deskew and --gaussianise is a form of its columns");
    assert!(folder.json(&["inspect", "wine.deciban", "--json"]).get("quadratic").is_none());
}

#[test]
fn standard_deviations_of_a_bayes_model_are_those_of_the_rows() {
    // With 48 rows and more the predictive density is hardly wider than the rows.
    let (ml, bayes) = (Folder::with_model(&[]), Folder::with_model(&["--estimator", "bayes"]));
    let inspect = |folder: &Folder| folder.json(&["inspect", "wine.deciban", "--json"])["classes"].clone();
    for (a, b) in inspect(&ml).as_array().unwrap().iter().zip(inspect(&bayes).as_array().unwrap()) {
        for j in 0..2 {
            let variance = |class: &Value| numbers(&class["covariance"][j])[j];
            let ratio = variance(b) / variance(a);
            assert!((0.8..1.25).contains(&ratio), "variance {} against {}", variance(b), variance(a));
        }
    }
}

#[test]
fn statistics_files_are_told_apart() {
    let folder = Folder::new();
    folder.ok(&["stats", &wine(), "-t", "Type", "-o", "wine.stats"]);
    let text = folder.ok(&["inspect", "wine.stats"]);
    assert!(text.starts_with("wine.stats: 178 rows, 13 columns\n"), "{text}");
    let json = folder.json(&["inspect", "wine.stats", "--json"]);
    assert_eq!(texts(&json["classes"]), ["Barbera", "Barolo", "Grignolino"]);
    assert_eq!(numbers(&json["rows"]), [48.0, 59.0, 71.0]);
    let message = folder.fails(&["inspect", &wine()]);
    assert!(message.contains("this is not a deciban file"), "{message}");
}
