//! `deciban compare`, and `fit --model auto`.

use crate::common::{Folder, close, numbers, shared, texts, wine};
use deciban::data::Kind;
use deciban::folds::Folds;
use deciban::model::Model;
use deciban::select::{CrossValidation, grid};
use deciban_data::{Files, Options, Target};
use deciban_tasks::{Evaluating, Input, evaluate};
use serde_json::Value;

fn rows(told: &Value) -> Vec<Value> {
    told.as_array().unwrap().clone()
}

#[test]
fn ranked_by_log_loss_with_all_figures() {
    let folder = Folder::new();
    let wine = wine();
    let told = folder.json(&["compare", &wine, "--target", "Type", "--json", "--folds", "5"]);
    let losses: Vec<f64> = rows(&told).iter().map(|row| row["log_loss"].as_f64().unwrap()).collect();
    assert!(losses.len() > 30 && losses.is_sorted());
    for row in rows(&told) {
        let confusion: Vec<Vec<f64>> = row["confusion"].as_array().unwrap().iter().map(numbers).collect();
        let right: f64 = (0..3).map(|k| confusion[k][k]).sum();
        let errors = row["errors"].as_f64().unwrap();
        assert_eq!((row["rows"].as_f64(), right + errors), (Some(178.0), 178.0), "{row}");
        close(row["error_rate"].as_f64().unwrap(), errors / 178.0, 1e-15);
        close(row["expected_cost"].as_f64().unwrap(), errors / 178.0, 1e-15);
        assert_eq!(texts(&row["classes"]), ["Barbera", "Barolo", "Grignolino"]);
        assert!(row["brier"].as_f64().unwrap() < 1.0 && row["log_loss_error"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(rows(&told)[0]["worse_than_best"].as_f64(), Some(0.0));
    // The same seed draws the same folds, another one others.
    let without_time = |seed: &str| {
        let options = ["compare", &wine, "--target", "Type", "--json", "--models", "gaussian", "--seed", seed];
        let mut told = rows(&folder.json(&options));
        told.iter_mut().for_each(|row| row["seconds"] = Value::Null);
        told
    };
    assert_eq!(without_time("3"), without_time("3"));
    assert_ne!(without_time("3"), without_time("4"));
}

#[test]
fn equal_rows_together_whatever_their_order() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(wine()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut turned = vec![lines[0]];
    turned.extend(lines[1..].iter().rev());
    folder.write("turned.csv", turned.join("\n") + "\n");
    let compared = |file: &str, model: &str| {
        let options = ["compare", file, "--target", "Type", "--models", "gaussian,logistic", "--folds", "3", "--json"];
        let told = folder.json(&[&options[..], &["--equal-together", "-o", model]].concat());
        rows(&told)
            .into_iter()
            .map(|row| (row["model"].as_str().unwrap().to_string(), row["log_loss"].as_f64().unwrap()))
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let (first, second) = (compared(&wine(), "first.deciban"), compared("turned.csv", "second.deciban"));
    assert!(first.len() > 10 && first.keys().eq(second.keys()));
    first.iter().for_each(|(name, loss)| close(second[name], *loss, 1e-7));
    // The best of them is what `fit` makes by its name, which says how rows are dealt.
    let best = first.iter().min_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
    assert!(best.contains("--equal-together"), "{best}");
    let named: Vec<&str> = best.split(' ').collect();
    let fit = [&["fit", "turned.csv", "--target", "Type", "-o", "again.deciban", "--model"], &named[..]].concat();
    assert_eq!(folder.run(&fit).0, 0, "{best}");
    let losses = ["first.deciban", "second.deciban", "again.deciban"]
        .map(|model| folder.json(&["evaluate", model, &wine(), "--json"])["log_loss"].as_f64().unwrap());
    close(losses[1], losses[0], 1e-7);
    close(losses[2], losses[0], 1e-7);
}

#[test]
fn the_table_and_the_best_model() {
    let folder = Folder::new();
    let wine = wine();
    // The best is a model with options, several fused, and fused by a search of other folds.
    let searches: [&[&str]; 3] = [
        &["--models", "gaussian"],
        &["--effort", "normal"],
        &["--models", "gaussian,logistic,naive-bayes", "--folds", "3", "--seed", "3"],
    ];
    for (search, fused) in searches.into_iter().zip([false, true, true]) {
        let options = [&["compare", &wine, "--target", "Type", "--top", "2", "-o", "best.deciban"], search].concat();
        let (code, stdout, stderr) = folder.run(&options);
        assert_eq!(code, 0, "{stderr}");
        let lines: Vec<&str> = stdout.lines().collect();
        assert!(lines[0].starts_with("model") && lines[0].ends_with("time"), "{stdout}");
        assert!(lines[3].starts_with("... and "), "{stdout}");
        assert!(lines.last().unwrap().starts_with("The second is worse than the best by 0.0"), "{stdout}");
        let name = lines[1].split("  ").next().unwrap();
        assert!(stderr.trim_end().ends_with(&format!("best.deciban: {name}")), "{stderr}");
        assert_eq!(name.split(' ').next() == Some("fused"), fused, "{stdout}");
        assert_eq!(stdout.contains("The fused model adds up the evidence of\n  0."), fused, "{stdout}");
        // The name is what `fit` takes.
        let fit: Vec<&str> = name.split(' ').collect();
        folder.ok(&[&["fit", &wine, "--target", "Type", "-o", "again.deciban", "--model"], &fit[..]].concat());
        let figures = |model: &str| folder.json(&["evaluate", model, &wine, "--json"])["log_loss"].as_f64().unwrap();
        close(figures("best.deciban"), figures("again.deciban"), 1e-9);
    }
    let fused = ["fit", &wine, "--target", "Type", "--model", "fused"];
    let message = folder.fails(&[&fused[..], &["--models", "gaussian"]].concat());
    assert!(message.starts_with("--model: there are no two models to fuse"), "{message}");
    let message = folder.fails(&[&fused[..], &["--calibrate", "logistic"]].concat());
    assert_eq!(message, "--calibrate: a fused model has calibrated members: drop the option");
    let (code, _, message) = folder.run(&[&fused[..], &["--shrinkage", "0.1"]].concat());
    assert!(code == 2 && message.contains("--shrinkage is not an option of --model fused"), "{message}");
}

#[test]
fn two_classes_have_figures_of_their_evidence() {
    let folder = Folder::new();
    let options = ["compare", &wine(), "--target", "Type", "--versus-rest", "Barolo", "--columns", "Alcohol,Hue"];
    let told = folder.json(&[&options[..], &["--json", "--models", "gaussian,naive-bayes"]].concat());
    for row in rows(&told).iter().filter(|row| row["model"] != "prior only") {
        let figure = |name: &str| row[name].as_f64().unwrap();
        assert!(figure("min_cllr") <= figure("cllr") && figure("auc") > 0.8 && figure("eer") < 0.3, "{row}");
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn leave_one_out_of_iris() {
    let iris = shared("data/iris/iris.csv");
    let folder = Folder::new();
    let options = ["compare", &iris, "--target", "species", "--models", "gaussian", "--folds", "leave-one-out"];
    let told = rows(&folder.json(&[&options[..], &["--json"]].concat()));
    let errors = |covariance: &str| {
        let name = format!("gaussian --covariance {covariance}");
        told.iter().find(|row| row["model"] == name.as_str()).unwrap()["errors"].as_f64().unwrap()
    };
    assert_eq!([errors("tied"), errors("full"), errors("diagonal")], [3.0, 4.0, 7.0]);
    let message = folder.fails(&[&options[..], &["--group", "sepal_width"]].concat());
    assert!(message.starts_with("--folds leave-one-out: rows are left out one by one"), "{message}");
}

#[test]
fn likelihood_ranks_without_scoring() {
    let folder = Folder::new();
    let told =
        folder.json(&["compare", &wine(), "--target", "Type", "--models", "gaussian", "--by", "likelihood", "--json"]);
    let means: Vec<f64> = rows(&told).iter().map(|row| row["log_likelihood"].as_f64().unwrap()).collect();
    assert!(means.len() > 20 && means.is_sorted_by(|a, b| a >= b), "{means:?}");
}

/// Each patient has one class: who has seen other visits of a patient knows it.
#[test]
fn groups_and_given_folds() {
    let folder = Folder::new();
    let mut text = "x,id,patient,fold,sick\n".to_string();
    for i in 0..120 {
        let (patient, visit) = (i % 12, i / 12);
        let sick = if patient % 2 == 0 { "yes" } else { "no" };
        text += &format!("{},n{patient},p{patient},{},{sick}\n", (i * 37 % 101) as f64 / 10.0, visit % 4);
    }
    folder.write("visits.csv", &text);
    let compare = |more: &[&str]| {
        let options = ["compare", "visits.csv", "--target", "sick", "--models", "naive-bayes", "--json"];
        rows(&folder.json(&[&options[..], more].concat()))[0].clone()
    };
    let errors = |row: &Value| row["errors"].as_f64().unwrap();
    let apart = compare(&["--group", "patient", "--ignore", "fold", "--folds", "4"]);
    let mixed = compare(&["--fold", "fold", "--ignore", "patient"]);
    assert_eq!((apart["rows"].as_f64(), mixed["rows"].as_f64()), (Some(120.0), Some(120.0)));
    assert_eq!(errors(&mixed), 0.0);
    assert!(errors(&apart) > 20.0, "{}", errors(&apart));
    let message = folder.fails(&["compare", "visits.csv", "--target", "sick", "--group", "pateint"]);
    assert!(
        message.contains("there is no column `pateint` for the groups or folds: did you mean `patient`?"),
        "{message}"
    );
    let message = folder.fails(&["compare", "visits.csv", "--target", "sick", "--group", "patient", "--folds", "20"]);
    assert_eq!(message, "--group: 12 groups are too few for 20 folds: give --folds 12");
}

#[test]
fn what_cannot_be_compared_is_told() {
    let folder = Folder::new();
    folder.write("holes.csv", "a,b,t\n1,2,x\n2,?,x\n3,1,x\n1.5,1,x\n4,5,y\n5,6,y\n6,4.5,y\n5.5,4,y\n");
    let (code, stdout, stderr) = folder.run(&["compare", "holes.csv", "--target", "t", "--folds", "2"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("left out: gaussian --covariance full: the covariance of class `x`"), "{stderr}");
    assert!(stdout.contains("gaussian --covariance tied-diagonal"), "{stdout}");
    folder.write("one.csv", "a,t\n1,x\n2,x\n3,x\n4,x\n");
    let message = folder.fails(&["compare", "one.csv", "--target", "t", "--folds", "2"]);
    assert!(message.contains("there is one class only in `t`: `x`"), "{message}");
    let message = folder.fails(&["compare", "holes.csv", "--target", "t", "--models", "gauss"]);
    assert!(message.starts_with("--models: there is no model `gauss`: there are gaussian,"), "{message}");
    folder.write("rare.csv", "a,t\n1,x\n2,x\n3,x\n2.5,x\n4,y\n5,y\n6,y\n5.5,y\n9,z\n");
    let (_, _, stderr) = folder.run(&["compare", "rare.csv", "--target", "t", "--folds", "2", "--models", "logistic"]);
    assert!(stderr.contains("warning: 1 rows are of a class that the other folds do not have"), "{stderr}");
}

#[test]
fn auto_chooses_by_cross_validation() {
    let folder = Folder::new();
    let fit = folder.json(&["fit", &wine(), "--target", "Type", "--model", "auto", "-o", "auto.deciban", "--json"]);
    let compared = rows(&fit["compared"]);
    assert_eq!(fit["chosen"], compared[0]["model"]);
    let kind = fit["chosen"].as_str().unwrap().split(' ').next().unwrap();
    assert_eq!(fit["model"], kind);
    assert!(folder.json(&["evaluate", "auto.deciban", &wine(), "--json"])["errors"].as_f64().unwrap() <= 3.0);
    // Options of a model choose it.
    let fit = folder.json(&["fit", &wine(), "--target", "Type", "--model", "auto", "--weight-decay", "2", "--json"]);
    assert_eq!((&fit["model"], &fit["chosen"]), (&Value::from("logistic"), &Value::Null));
    let message = folder.fails(&["fit", &wine(), "--target", "Type", "--model", "auto", "--pseudo-count", "2"]);
    assert!(message.contains("--pseudo-count: say for which --model: naive-bayes, "), "{message}");
}

/// The choice on the income of 32,561 people does for the 16,281 that nobody chose by.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn auto_on_adult() {
    let train = shared("data/adult/adult.data.gz");
    let folder = Folder::new();
    let test = shared("data/adult/adult.test.gz");
    let unpack = |path: &str| {
        let output = std::process::Command::new("gzip").args(["-dc", path]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let lines: Vec<String> = unpack(&test)
        .lines()
        .filter(|line| line.contains(','))
        .map(|line| line.trim_end_matches('.').to_string())
        .collect();
    folder.write("test.csv", lines.join("\n"));
    folder.ok(&["fit", &train, "--no-header", "--target", "c14", "--model", "auto", "-o", "adult.deciban"]);
    let told = folder.json(&["evaluate", "adult.deciban", "test.csv", "--no-header", "--json"]);
    assert_eq!(told["rows"], 16281);
    assert!(told["error_rate"].as_f64().unwrap() <= 0.15, "{told}");
}

/// The first of the candidates of `auto` for texts, in ten folds.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn texts_in_ten_folds() {
    let spam = shared("data/sms-spam/SMSSpamCollection");
    let folder = Folder::new();
    let read = [spam.as_str(), "--format", "tsv", "--no-header", "--no-quotes", "--target", "c0"];
    let fit = folder.json(&[&["fit"], &read[..], &["--model", "auto", "--folds", "10", "--json"]].concat());
    let best = &rows(&fit["compared"])[0];
    assert_eq!(best["rows"].as_f64(), Some(5574.0));
    assert!(best["error_rate"].as_f64().unwrap() <= 0.011, "{best}");
}

/// Model files are judged by the same rows; figures and tests are those of `evaluate` and of the library.
#[test]
fn model_files_on_rows_they_have_not_seen() {
    let folder = Folder::with_tumours();
    for (name, options) in
        [("full", &["--covariance", "full"][..]), ("few", &["--columns", "mean_radius,mean_texture"])]
    {
        let file = format!("{name}.deciban");
        folder.ok(&[&["fit", "--model", "gaussian", "train.csv", "-t", "diagnosis", "-o", &file], options].concat());
    }
    let files = ["naive.deciban", "full.deciban", "few.deciban"];
    let told = rows(&folder.json(&[&["compare"], &files[..], &["test.csv", "--json"]].concat()));
    let losses: Vec<f64> = told.iter().map(|row| row["log_loss"].as_f64().unwrap()).collect();
    assert!(losses.len() == 3 && losses.is_sorted());
    for row in &told {
        let alone = folder.json(&["evaluate", row["model"].as_str().unwrap(), "test.csv", "--json"]);
        for name in ["rows", "errors", "error_rate", "log_loss", "brier", "cllr", "min_cllr", "auc", "eer", "confusion"]
        {
            assert_eq!(row[name], alone[name], "{name}");
        }
        let worse = &row["worse_than_best"];
        for name in ["log_loss", "brier", "cllr", "expected_cost"] {
            let difference = worse[name]["difference"].as_f64().unwrap();
            close(difference, row[name].as_f64().unwrap() - told[0][name].as_f64().unwrap(), 1e-12);
            let ends = numbers(&worse[name]["interval"]);
            assert!(ends[0] <= difference && difference <= ends[1], "{worse}");
        }
        let only = |name: &str| worse["mcnemar"][name].as_f64().unwrap();
        let errors = row["errors"].as_f64().unwrap() - told[0]["errors"].as_f64().unwrap();
        assert_eq!(only("only_best") - only("only_this"), errors);
    }
    assert_eq!(told[0]["worse_than_best"]["mcnemar"]["p_value"].as_f64(), Some(1.0));
    let text = folder.ok(&[&["compare"], &files[..], &["test.csv", "--costs", "malignant>benign=10"]].concat());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("model") && lines[0].contains("cost") && lines[0].ends_with("McNemar p"), "{text}");
    assert!(lines[1].ends_with('·') && lines[5].starts_with("189 rows."), "{text}");
}

/// The order of a model's classes is its own.
#[test]
fn classes_in_another_order_are_the_same_classes() {
    let folder = Folder::new();
    folder.write("a.csv", "x,a,b\n1,1,0\n2,1,0\n3,0,1\n1.5,0,1\n");
    let fit = |classes: &str, file: &str| {
        folder.ok(&["fit", "--model", "gaussian", "a.csv", "--one-hot-target", classes, "--columns", "x", "-o", file]);
    };
    fit("a,b", "ab.deciban");
    fit("b,a", "ba.deciban");
    folder.write("rows.csv", "x,class\n1,a\n2.2,a\n2,b\n");
    let told = folder.json(&["compare", "ab.deciban", "ba.deciban", "rows.csv", "--prior", "a=0.3", "--json"]);
    let [one, other] = [0, 1].map(|i| rows(&told)[i].clone());
    for name in ["log_loss", "cllr", "brier", "auc"] {
        close(one[name].as_f64().unwrap(), other[name].as_f64().unwrap(), 1e-14);
    }
    assert_eq!((&one["prior"], &one["confusion"]), (&other["prior"], &other["confusion"]));
}

#[test]
fn what_model_files_cannot_be_compared_on() {
    let folder = Folder::with_tumours();
    folder.ok(&["fit", "--model", "gaussian", &wine(), "--target", "Type", "-o", "wine.deciban"]);
    folder.ok(&[
        "fit",
        "--model",
        "gaussian",
        "train.csv",
        "-t",
        "diagnosis",
        "--columns",
        "mean_radius",
        "-o",
        "few.deciban",
    ]);
    folder.write("narrow.csv", "diagnosis,mean_radius\nbenign,11\nmalignant,19\n");
    let fails = |arguments: &[&str]| folder.fails(&[&["compare"], arguments].concat());
    let message = fails(&["naive.deciban", "wine.deciban", "test.csv"]);
    assert_eq!(
        message,
        "wine.deciban has the classes Barbera, Barolo, Grignolino, but naive.deciban has benign, malignant: only the \
         same can be compared"
    );
    let message = fails(&["few.deciban", "naive.deciban", "narrow.csv"]);
    assert!(message.starts_with("naive.deciban: narrow.csv") && message.contains("mean_texture"), "{message}");
    let message = fails(&["few.deciban", "test.csv"]);
    assert_eq!(message, "few.deciban is one model only: give another, or `deciban evaluate` it");
    assert!(fails(&["few.deciban", "naive.deciban"]).starts_with("give a table after the model files"));
    assert!(fails(&["few.deciban", "naive.deciban", "-"]).contains("give a file"));
    assert!(
        fails(&["few.deciban", "test.csv", "naive.deciban"]).starts_with("naive.deciban: model files stand before")
    );
    assert!(fails(&["few.deciban", "absent.deciban", "test.csv"]).starts_with("absent.deciban"));
    let message = folder.misused(&["compare", "few.deciban", "naive.deciban", "test.csv", "--folds", "3"]);
    assert!(message.contains("--folds is for learning"), "{message}");
}

/// Kinds of models that need two classes, and the names of candidates are options of `fit`.
#[test]
fn every_kind_of_model() {
    let folder = Folder::with_tumours();
    let models = "naive-bayes,probit,cloglog,least-squares,logistic";
    let options = ["compare", "train.csv", "-t", "diagnosis", "--folds", "5", "--json", "--columns"];
    let told = rows(&folder.json(&[&options[..], &["mean_radius,mean_texture", "--models", models]].concat()));
    for kind in models.split(',') {
        let row = told.iter().find(|row| row["model"].as_str().unwrap().starts_with(kind)).unwrap();
        assert!(row["log_loss"].as_f64().unwrap() < 0.4, "{row}");
        let name: Vec<&str> = row["model"].as_str().unwrap().split(' ').collect();
        let fit = ["fit", "train.csv", "-t", "diagnosis", "--columns", "mean_radius,mean_texture", "--model"];
        folder.ok(&[&fit[..], &name].concat());
    }
    assert!(told.iter().any(|row| row["model"] == "naive-bayes --pseudo-count 1 --family auto --folds 5"));
    let chosen =
        folder.ok(&["fit", "train.csv", "-t", "diagnosis", "--model", "naive-bayes", "--family", "mean_area=auto"]);
    assert!(chosen.contains("auto, chosen "), "{chosen}");

    // Causes of an effect: the model that made the rows wins.
    let mut text = "wind,rain,age,late\n".to_string();
    for i in 0..400u32 {
        let (wind, rain) = (i % 2, i / 2 % 2);
        let drawn = (i.wrapping_mul(2_654_435_761) >> 8) % 1000;
        let late = f64::from(drawn) > 1000.0 * 0.9 * 0.5f64.powi(wind as i32) * 0.6f64.powi(rain as i32);
        text += &format!("{wind},{rain},{},{}\n", i % 37, if late { "yes" } else { "no" });
    }
    folder.write("late.csv", text);
    let options = ["compare", "late.csv", "-t", "late", "--flag", "wind,rain", "--ignore", "age", "--json"];
    let told = rows(&folder.json(&options));
    assert!(told.iter().any(|row| row["model"] == "noisy-or --pseudo-count 1"), "{told:?}");
    let named = |columns: &[&str]| {
        let command = ["compare", "late.csv", "-t", "late", "--models", "noisy-or", "--json"];
        rows(&folder.json(&[&command, columns].concat()))
    };
    // What `fit --model noisy-or` takes: numbers of at least 0, and levels of any number.
    for columns in [&["--category", "age"][..], &[]] {
        folder.ok(&[&["fit", "late.csv", "-t", "late", "--model", "noisy-or"], columns].concat());
        assert!(named(columns).iter().any(|row| row["model"] == "noisy-or --pseudo-count 1"), "{columns:?}");
    }
    let message = folder.fails(&["compare", &wine(), "-t", "Type", "--models", "noisy-or"]);
    assert_eq!(message, "--models: noisy-or is for two classes");
    let message = folder.fails(&["compare", &wine(), "-t", "Type", "--models", "probit"]);
    assert_eq!(message, "--models: probit is for two classes");
}

/// Every name that `compare` prints is what `fit` takes: it makes the model that `compare` would save.
#[test]
fn every_name_is_what_fit_takes() {
    let folder = Folder::new();
    // Numbers; numbers with categories and flags; counts; texts.
    let text = std::fs::read_to_string(wine()).unwrap();
    let mut lines = text.lines();
    lines.next();
    let (mut mixed, mut counts, mut notes) =
        ("Type,Alcohol,Hue,shade,sweet\n".to_string(), "Type,a,b,c\n".to_string(), "Type,note,Hue\n".to_string());
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let [alcohol, colour, hue] = [1, 10, 11].map(|c| cells[c].parse::<f64>().unwrap());
        let shade = ["pale", "clear", "deep"][(colour / 4.0).min(2.0) as usize];
        let sweet = if alcohol > 13.0 { "yes" } else { "no" };
        mixed += &format!("{},{alcohol},{hue},{shade},{sweet}\n", cells[0]);
        counts += &format!("{},{},{},{}\n", cells[0], colour as u32, (4.0 * hue) as u32, (alcohol - 11.0) as u32);
        notes += &format!("{},a {shade} wine {} {sweet},{hue}\n", cells[0], ["dry", "soft"][(hue > 0.9) as usize]);
    }
    folder.write("mixed.csv", mixed);
    folder.write("counts.csv", counts);
    folder.write("notes.csv", notes);
    let wine = wine();
    let tables: [(&str, &[&str]); 4] = [
        (&wine, &[]),
        ("mixed.csv", &["--flag", "sweet"]),
        ("counts.csv", &["--count", "a,b,c"]),
        ("notes.csv", &["--text", "note"]),
    ];
    for (table, kinds) in tables {
        let common = [&[table, "-t", "Type", "--folds", "4", "--seed", "3"], kinds].concat();
        let told = rows(&folder.json(&[&["compare", "--json"], &common[..]].concat()));
        let names: Vec<String> = told.iter().map(|row| row["model"].as_str().unwrap().to_string()).collect();
        assert!(names.len() > 8, "{names:?}");
        // The same comparison by the library, which can refit all of them.
        let path = folder.path().join(table).display().to_string();
        let options = Options {
            target: Target::Column("Type".into()),
            kinds: match kinds {
                [] => Vec::new(),
                [kind, columns] => {
                    let kind = match *kind {
                        "--flag" => Kind::Flag,
                        "--count" => Kind::Count,
                        _ => Kind::Text,
                    };
                    columns.split(',').map(|name| (name.to_string(), kind)).collect()
                }
                _ => panic!("one option"),
            },
            ..Options::default()
        };
        let mut files = Files::open(&[path], options).unwrap();
        let rows = files.settle().unwrap().rows;
        let mut candidates = grid::candidates(&files, &[], deciban::learn::Effort::Normal, rows).unwrap();
        assert!(grid::settle(&mut candidates, &files, (4, 3)).unwrap().is_empty());
        let folds = Folds::stratified(&files, 4, 3).unwrap();
        let mut comparison = CrossValidation::new(folds).calibrated(2).run(&files, &candidates).unwrap();
        comparison.name_fused(" --folds 4 --seed 3");
        let log_loss = |model: &Model| evaluate(model, &files, &Evaluating::default()).unwrap().evaluation.log_loss();
        let mut seen = 0;
        for outcome in comparison.ranked() {
            assert!(names.contains(&outcome.name), "{} is not among {names:?}", outcome.name);
            let flags: Vec<&str> = outcome.name.split(' ').collect();
            let fit = [&["fit", table, "-t", "Type", "-o", "again.deciban", "--model"], &flags[..], kinds].concat();
            folder.ok(&fit);
            let again = Model::load(folder.path().join("again.deciban")).unwrap();
            let refitted = comparison.refit(outcome, &candidates, &files).unwrap();
            let (a, b) = (log_loss(&refitted), log_loss(&again));
            assert!((a - b).abs() <= 1e-7 * a.abs().max(1.0) || a == b, "{table} {}: {a} {b}", outcome.name);
            seen += 1;
        }
        // All but the prior alone.
        assert_eq!(seen + 1, names.len());
    }
}
