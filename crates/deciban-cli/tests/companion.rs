//! The companion of a model that a search has found: it describes rows where the model itself does not.

use crate::common::{Folder, close, wine};
use serde_json::Value;

/// Tumours with cells missing here and there, in two halves, and a model that a search has found among linear ones.
fn tumours(more: &[&str]) -> Folder {
    let folder = Folder::new();
    let text = std::fs::read_to_string(wine().replace("wine.csv", "cancer.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let names: Vec<&str> = header.split(',').collect();
    let place = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let columns = ["diagnosis", names[1], names[2], names[5]].map(place);
    let mut halves = [String::new(), String::new()];
    for (i, line) in rows.lines().enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let mut chosen = columns.map(|c| cells[c]);
        if i % 7 == 3 {
            chosen[1 + i % 3] = "";
        }
        halves[i % 2] += &(chosen.join(",") + "\n");
    }
    let header = "diagnosis,a,b,c\n";
    folder.write("all.csv", format!("{header}{}{}", halves[0], halves[1]));
    folder.write("first.csv", format!("{header}{}", halves[0]));
    folder.write("second.csv", format!("{header}{}", halves[1]));
    let fit = ["fit", "first.csv", "-t", "diagnosis", "--models", "logistic", "-o", "m.deciban"];
    folder.ok(&[&fit[..], more].concat());
    folder
}

fn naive_bayes(folder: &Folder, rows: &str) {
    folder.ok(&["fit", rows, "-t", "diagnosis", "--model", "naive-bayes", "-o", "naive.deciban"]);
}

/// ln p(x) by two models.
fn same_densities(folder: &Folder, model: &str) {
    let densities = |model: &str| folder.table(&["predict", model, "second.csv", "--density"]).numbers("log p(x)");
    let (found, expected) = (densities(model), densities("naive.deciban"));
    assert!(found.len() > 200);
    found.iter().zip(&expected).for_each(|(a, b)| close(*a, *b, 1e-9));
}

#[test]
fn a_linear_model_answers_by_its_companion_and_says_so() {
    let folder = tumours(&[]);
    naive_bayes(&folder, "first.csv");
    same_densities(&folder, "m.deciban");
    for args in [
        &["predict", "m.deciban", "second.csv", "--density"][..],
        &["predict", "m.deciban", "second.csv", "--none-of-these", "0.05"],
        &["sample", "m.deciban", "-n", "3"],
        &["impute", "m.deciban", "second.csv"],
    ] {
        let (code, _, stderr) = folder.run(args);
        assert!(code == 0 && stderr.contains("rows are described by the companion of the model"), "{args:?}: {stderr}");
    }
    let told = folder.ok(&["explain", "m.deciban", "second.csv", "--next"]);
    assert!(told.contains("by the companion of the model"), "{told}");
    // Rows of the same class are filled alike.
    let filled = |model: &str| folder.ok(&["impute", model, "second.csv"]);
    assert_eq!(filled("m.deciban"), filled("naive.deciban"));
    assert_eq!(
        folder.ok(&["sample", "m.deciban", "-n", "5", "--seed", "3"]),
        folder.ok(&["sample", "naive.deciban", "-n", "5", "--seed", "3"])
    );
    // Classes are still those of the linear model.
    let plain = folder.table(&["predict", "m.deciban", "second.csv"]);
    let dense = folder.table(&["predict", "m.deciban", "second.csv", "--density"]);
    assert_eq!(plain.numbers("p(malignant)"), dense.numbers("p(malignant)"));
}

#[test]
fn a_companion_is_small_and_may_be_left_out() {
    let folder = tumours(&[]);
    let bytes = folder.json(&["inspect", "m.deciban", "--json"])["companion"]["bytes"].as_u64().unwrap();
    let whole = folder.read("m.deciban").len();
    folder.ok(&["fit", "first.csv", "-t", "diagnosis", "--models", "logistic", "--no-companion", "-o", "n.deciban"]);
    let without = folder.read("n.deciban").len();
    assert!(bytes < 2000 && whole > without && (whole - without) as u64 <= bytes, "{bytes} {whole} {without}");
    assert_eq!(folder.ok(&["predict", "m.deciban", "second.csv"]), folder.ok(&["predict", "n.deciban", "second.csv"]));
    for args in [
        &["predict", "n.deciban", "second.csv", "--density"][..],
        &["sample", "n.deciban"],
        &["impute", "n.deciban", "second.csv"],
        &["explain", "n.deciban", "second.csv", "--next"],
    ] {
        let message = folder.fails(args);
        assert!(message.contains("this model knows classes given rows, not "), "{args:?}: {message}");
    }
    // A model that describes its rows has none, and one that is named neither.
    for model in [&["--models", "naive-bayes"][..], &["--model", "logistic"]] {
        folder.ok(&[&["fit", "first.csv", "-t", "diagnosis", "-o", "o.deciban"], model].concat());
        assert_eq!(folder.json(&["inspect", "o.deciban", "--json"])["companion"], Value::Null, "{model:?}");
    }
    let named = ["fit", "first.csv", "-t", "diagnosis", "--model", "logistic", "--no-companion", "-o", "o.deciban"];
    let message = folder.misused(&named);
    assert!(message.contains("--no-companion is not an option of --model logistic"), "{message}");
}

#[test]
fn a_companion_is_kept_in_step() {
    let folder = tumours(&["--keep-statistics"]);
    folder.ok(&["update", "m.deciban", "second.csv", "--rows", "first.csv", "-o", "both.deciban"]);
    naive_bayes(&folder, "all.csv");
    same_densities(&folder, "both.deciban");
    folder.ok(&["forget", "both.deciban", "second.csv", "--rows", "first.csv", "-o", "again.deciban"]);
    naive_bayes(&folder, "first.csv");
    same_densities(&folder, "again.deciban");
}

#[test]
fn the_standard_error_of_what_is_worth_measuring_is_that_of_other_seeds() {
    let folder = tumours(&[]);
    folder.write("row.csv", "a,b,c\n15,,\n");
    let mut found: Vec<f64> = Vec::new();
    let mut error = 0.0;
    for seed in 0..24 {
        let row = folder.json(&["explain", "m.deciban", "row.csv", "--next", "--json", "--seed", &seed.to_string()]);
        let worth = row["measurements"].as_array().unwrap().iter().find(|worth| worth["column"] == "c").unwrap();
        assert_eq!(worth["exact"], false);
        found.push(worth["reduction"].as_f64().unwrap());
        error = worth["standard_error"].as_f64().unwrap();
    }
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    let sd = (found.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (found.len() - 1) as f64).sqrt();
    // Draws are spread evenly over the classes, so that seeds differ a little less.
    assert!(error > 0.0 && sd < 1.5 * error && sd > 0.2 * error, "{sd} {error} {mean}");
    let told = folder.ok(&["explain", "m.deciban", "row.csv", "--next"]);
    assert!(told.contains("±"), "{told}");
}
