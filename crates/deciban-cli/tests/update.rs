//! `deciban update` and `deciban forget` of models: as if all rows had been there, or some never.

use std::process::Stdio;

use crate::common::{Folder, same_predictions, texts, wine};

const HEADER: &str = "fur,kg,visits,note,cat\n";

/// Rows of ten sites. Levels, words and the class `sphynx` turn up late.
fn site(number: usize) -> String {
    let row = |i: usize| {
        let n = number * 24 + i;
        let class = ["siamese", "persian", "persian", "manx"][(n * 7 + n / 5) % 4];
        let class = if number >= 6 && n.is_multiple_of(6) { "sphynx" } else { class };
        let fur = ["short", "long", "curly"][(n * n + n / 3) % (if number > 3 { 3 } else { 2 })];
        let fur = if class == "sphynx" && n.is_multiple_of(4) { "hairless" } else { fur };
        let kg = 3.0 + (n * 37 % 41) as f64 / 13.0 + class.len() as f64 / 5.0;
        let visits = n * 5 % 7 + class.len() % 3;
        let words = ["purrs", "sleeps", "eats", "a", "lot", "hunts"];
        let mut note: Vec<String> = (0..2 + n % 3).map(|w| words[(n * 3 + w * w + class.len()) % 6].into()).collect();
        note.push(format!("site{number}"));
        format!("{fur},{kg},{visits},{},{class}\n", note.join(" "))
    };
    (0..24).map(row).collect()
}

/// A folder with `s0.csv` to `s9.csv`, `nine.csv` of the first nine, and `all.csv`.
fn sites() -> Folder {
    let folder = Folder::new();
    let sites: Vec<String> = (0..10).map(site).collect();
    for (i, rows) in sites.iter().enumerate() {
        folder.write(&format!("s{i}.csv"), format!("{HEADER}{rows}"));
    }
    folder.write("nine.csv", format!("{HEADER}{}", sites[..9].concat()));
    folder.write("all.csv", format!("{HEADER}{}", sites.concat()));
    folder
}

const MODELS: [&[&str]; 14] = [
    &["--model", "gaussian", "--columns", "kg,visits"],
    &["--model", "gaussian", "--columns", "kg,visits", "--covariance", "tied", "--prior", "uniform"],
    &["--model", "gaussian", "--columns", "kg,visits", "--standardise", "--shrinkage", "auto", "--folds", "3"],
    &["--model", "naive-bayes", "--text", "note"],
    &["--model", "naive-bayes", "--columns", "fur,kg", "--family", "kg=gamma", "--prior", "persian=0.5"],
    &["--model", "naive-bayes", "--columns", "fur,kg", "--family", "kg=log-normal", "--prior-pseudo-count", "2"],
    &["--model", "naive-bayes", "--columns", "visits,fur", "--count", "visits", "--pseudo-count", "0.5"],
    &["--model", "bernoulli", "--text", "note", "--columns", "note"],
    &["--model", "multinomial", "--text", "note", "--columns", "note", "--min-count", "2"],
    &["--model", "table", "--columns", "fur"],
    &["--model", "tree", "--columns", "fur"],
    &["--model", "a1de", "--columns", "fur"],
    &["--model", "parzen", "--columns", "kg,visits"],
    &["--model", "least-squares", "--columns", "kg,visits"],
];

#[test]
fn ten_sites_are_as_good_as_one_and_one_can_leave() {
    let folder = sites();
    let fit = |data: &str, model: &[&str], more: &[&str], to: &str| {
        folder.ok(&[&["fit", data, "-t", "cat", "-o", to], model, more].concat());
    };
    for model in MODELS {
        let columns = if model.contains(&"note") { "nine.csv" } else { "all.csv" };
        let predict = |file: &str| folder.table(&["predict", file, columns, "--evidence"]);
        fit("all.csv", model, &[], "pooled.deciban");
        fit("nine.csv", model, &[], "nine.deciban");
        fit("s0.csv", model, &["--keep-statistics"], "m.deciban");
        // Rows, a model of another site, and statistics of a third.
        fit("s1.csv", model, &["--keep-statistics"], "s1.deciban");
        folder.ok(&["update", "m.deciban", "s1.deciban", "s2.csv", "s3.csv"]);
        for rows in ["s4.csv", "s5.csv", "s6.csv", "s7.csv", "s8.csv", "s9.csv"] {
            folder.ok(&["update", "m.deciban", rows]);
        }
        same_predictions(&predict("pooled.deciban"), &predict("m.deciban"), 1e-9);
        folder.ok(&["forget", "m.deciban", "s9.csv", "-o", "rest.deciban"]);
        same_predictions(&predict("nine.deciban"), &predict("rest.deciban"), 1e-9);
        let has = |file: &str| folder.read(file).windows(5).any(|bytes| bytes == b"site9");
        assert_eq!((has("m.deciban"), has("rest.deciban")), (model.contains(&"note"), false), "{model:?}");
        let inspect = |file: &str| folder.json(&["inspect", file, "--json"]);
        assert_eq!(inspect("rest.deciban")["prior"], inspect("nine.deciban")["prior"]);
    }
}

/// Counts are integers: what ten parts together give is what all rows give, to the last digit.
#[test]
fn counts_of_ten_parts_are_those_of_all_rows_exactly() {
    let folder = sites();
    let parts: Vec<String> = (0..10).map(|i| format!("s{i}.stats")).collect();
    let names: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (texts, levels) =
        (["--text", "note", "--columns", "note"], ["--columns", "fur,visits", "--category", "visits"]);
    for (model, columns) in [
        ("naive-bayes", &levels[..]),
        ("bernoulli", &texts),
        ("multinomial", &texts),
        ("table", &levels),
        ("tree", &levels),
        ("a1de", &levels),
    ] {
        let stats = |data: &str, to: &str| {
            folder.ok(&[&["stats", data, "-t", "cat", "--model", model, "-o", to], columns].concat());
        };
        stats("all.csv", "all.stats");
        parts.iter().enumerate().for_each(|(i, to)| stats(&format!("s{i}.csv"), to));
        folder.ok(&[&["merge"], &names[..], &["-o", "merged.stats"]].concat());
        let said = ["all.stats", "merged.stats"].map(|file| {
            folder.ok(&["fit", file, "--model", model, "-o", "m.deciban"]);
            folder.ok(&["predict", "m.deciban", "all.csv", "--evidence"])
        });
        assert_eq!(said[0], said[1], "{model}");
    }
}

/// 178 wines: the search fuses a Gaussian with a logistic model.
#[test]
fn fused_models_learn_and_forget() {
    let folder = Folder::new();
    let wines = std::fs::read_to_string(wine()).unwrap();
    let (header, rows) = wines.split_once('\n').unwrap();
    let part = |name: &str, takes: fn(usize) -> bool| {
        let chosen: Vec<&str> = rows.lines().enumerate().filter(|(i, _)| takes(*i)).map(|(_, row)| row).collect();
        folder.write(name, format!("{header}\n{}\n", chosen.join("\n")));
    };
    part("some.csv", |i| i % 20 == 3);
    part("rest.csv", |i| i % 20 != 3);
    folder.ok(&["fit", &wine(), "-t", "Type", "--keep-statistics", "-o", "m.deciban"]);
    let first = folder.read("m.deciban");
    let predict = || folder.table(&["predict", "m.deciban", &wine(), "--evidence"]);
    let before = predict();
    let refused = folder.misused(&["forget", "m.deciban", "some.csv"]);
    assert!(
        refused.contains("deciban: `logistic --weight-decay 0.1` learns from rows and would still know the forgotten rows: give --rows, all"),
        "{refused}"
    );
    let refused = folder.misused(&["forget", "m.deciban", "some.csv", "--rows", "some.csv"]);
    assert!(refused.contains("--rows: there are") && refused.contains("give all rows that stay"), "{refused}");
    assert!(folder.read("m.deciban") == first);
    let receipt = folder.json(&["forget", "m.deciban", "some.csv", "--rows", "rest.csv", "--json"]);
    assert_eq!(receipt["members"][0]["learned"], "statistics");
    assert_eq!(receipt["members"][1]["learned"]["rows"], 169.0);
    let (_, _, told) = folder.run(&["update", "m.deciban", "some.csv", "-o", "left.deciban"]);
    assert!(told.contains("logistic --weight-decay 0.1: left as it was, since it learns from rows"), "{told}");
    assert!(told.contains("the weights of the members stay as they were"), "{told}");
    let (_, _, told) = folder.run(&["update", "m.deciban", "some.csv", "--rows", "rest.csv"]);
    assert!(
        told.contains("gaussian --covariance full --prior-rows 13: learned from its statistics, exactly"),
        "{told}"
    );
    assert!(told.contains("logistic --weight-decay 0.1: refitted from 178 rows"), "{told}");
    same_predictions(&before, &predict(), 1e-6);
    // What cannot be read twice, and what is not rows.
    let refused = folder.fails(&["update", "m.deciban", "left.deciban", "--rows", "rest.csv"]);
    assert!(refused.contains("give tables of rows"), "{refused}");
}

#[test]
fn statistics_files_take_rows_too() {
    let folder = sites();
    let stats = |data: &str, to: &str| {
        folder.ok(&["stats", data, "-t", "cat", "--model", "naive-bayes", "--text", "note", "-o", to]);
    };
    stats("s0.csv", "a.stats");
    stats("s1.csv", "b.stats");
    folder.ok(&["update", "a.stats", "b.stats", "s2.csv", "-o", "abc.stats"]);
    folder.ok(&["forget", "abc.stats", "s2.csv", "b.stats", "-o", "again.stats"]);
    let inspect = |file: &str| folder.json(&["inspect", file, "--json"]);
    assert_eq!(inspect("again.stats"), inspect("a.stats"));
    // They become a model that keeps them, and go on.
    folder.ok(&["fit", "abc.stats", "--model", "naive-bayes", "--keep-statistics", "-o", "m.deciban"]);
    folder.ok(&["forget", "m.deciban", "s2.csv", "b.stats"]);
    folder.ok(&["fit", "a.stats", "--model", "naive-bayes", "-o", "a.deciban"]);
    let predict = |file: &str| folder.table(&["predict", file, "s0.csv", "--evidence"]);
    same_predictions(&predict("m.deciban"), &predict("a.deciban"), 1e-9);
}

#[test]
fn a_receipt_says_what_has_changed() {
    let folder = Folder::new();
    folder.write("a.csv", "fur,t\nshort,x\nlong,y\nlong,x\nshort,y\n");
    folder.write("b.csv", "fur,t\nnone,z\nnone,z\nlong,x\n");
    folder.ok(&["fit", "a.csv", "-t", "t", "--model", "naive-bayes", "--keep-statistics", "-o", "m.deciban"]);
    let (code, stdout, stderr) = folder.run(&["update", "m.deciban", "b.csv"]);
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert_eq!(
        stderr,
        "m.deciban: 7 rows, 1 columns\nt    rows before  after\nx              2      3\ny              2      2\nz           none      2\n\
         all            4      7\nnew levels of `fur`: `none`\n"
    );
    let receipt = folder.json(&["forget", "m.deciban", "b.csv", "--json"]);
    assert_eq!(receipt["classes"][2], serde_json::json!({ "class": "z", "before": 2.0, "after": null }));
    assert_eq!(texts(&receipt["columns"][0]["gone"]), ["none"]);
    assert!(receipt["columns"][0]["new"].as_array().unwrap().is_empty());
    assert_eq!(folder.json(&["inspect", "m.deciban", "--json"])["classes"].as_array().unwrap().len(), 2);
}

#[test]
fn bins_and_maps_stay_and_the_receipt_says_so() {
    let folder = Folder::new();
    for (model, told) in [
        (["--model", "tree", "--columns", "Alcohol,Hue"], "the bins of `Alcohol`, `Hue` stay as they were"),
        (
            ["--gaussianise", "--covariance=tied", "--columns", "Alcohol,Hue"],
            "the Gaussianising maps of `Alcohol`, `Hue`",
        ),
    ] {
        let fit = ["fit", &wine(), "-t", "Type", "--keep-statistics", "-o", "m.deciban"];
        folder.ok(&[&fit[..], &model[..]].concat());
        let predict = || folder.table(&["predict", "m.deciban", &wine(), "--evidence"]);
        let before = predict();
        let (_, _, stderr) = folder.run(&["update", "m.deciban", &wine()]);
        assert!(stderr.contains(told), "{stderr}");
        let (_, _, stderr) = folder.run(&["forget", "m.deciban", &wine()]);
        assert!(stderr.contains("though rows that are forgotten had a part in them"), "{stderr}");
        same_predictions(&before, &predict(), 1e-9);
    }
}

#[test]
fn rows_that_cannot_have_been_in_are_refused() {
    let folder = Folder::new();
    folder
        .write("a.csv", "fur,kg,t\nshort,4.5,x\nlong,5,y\nlong,6,x\nshort,4,y\nshort,5.5,y\nlong,4.2,x\nlong,5.1,x\n");
    let fit = ["fit", "a.csv", "-t", "t", "--model", "naive-bayes", "--keep-statistics", "-o", "m.deciban"];
    folder.ok(&fit);
    let model = folder.read("m.deciban");
    let refused = |rows: &str| {
        folder.write("b.csv", format!("fur,kg,t\n{rows}"));
        let message = folder.fails(&["forget", "m.deciban", "b.csv"]);
        assert!(folder.read("m.deciban") == model);
        message
    };
    assert_eq!(refused("short,4,z\n"), "there is no class `z` to remove rows from");
    assert_eq!(refused("curly,4,x\n"), "column `fur` has no `curly` to remove rows from");
    assert_eq!(
        refused("long,4,x\nlong,4,x\nlong,5,x\nlong,6,x\nlong,7,x\n"),
        "cannot remove 5 rows of class `x`: there are 4, so they were never added"
    );
    assert_eq!(
        refused("short,4.5,x\nshort,6,x\n"),
        "class `x`, column `fur`: cannot remove a weight of 2 from 1: those rows were never added"
    );
    let message = refused("short,400,x\nlong,-30,x\n");
    assert!(message.starts_with("class `x`, column `kg`: removing these rows leaves 0 good digits"), "{message}");
    // All of a class goes with its name; two classes must be left.
    let message = refused("short,4.5,x\nlong,6,x\nlong,4.2,x\nlong,5.1,x\n");
    assert!(message.starts_with("the target `t` has a single class, `y`"), "{message}");
}

#[test]
fn models_without_statistics_say_how_to_keep_them() {
    let folder = Folder::with_model(&[]);
    let message = folder.fails(&["update", "wine.deciban", &wine()]);
    assert_eq!(message, "the model has not kept statistics to change: fit it with --keep-statistics");
    let fit = |more: &[&str]| {
        let fit = ["fit", &wine(), "-t", "Type", "--keep-statistics", "-o", "x.deciban"];
        folder.fails(&[&fit[..], more].concat())
    };
    assert!(fit(&["--model", "logistic"]).starts_with("--keep-statistics: logistic is learned from rows"));
    // A calibration stays as it was.
    let model = ["--columns", "Alcohol,Ash", "--model", "gaussian", "--calibrate", "logistic", "--keep-statistics"];
    folder.ok(&[&["fit", &wine(), "-t", "Type", "-o", "calibrated.deciban"], &model[..]].concat());
    let predict = |file: &str| folder.table(&["predict", file, &wine(), "--evidence"]);
    let (before, model) = (predict("calibrated.deciban"), folder.read("calibrated.deciban"));
    let (_, _, told) = folder.run(&["update", "calibrated.deciban", &wine(), "-o", "twice.deciban"]);
    assert!(told.contains("the numbers of the calibration stay as they were"), "{told}");
    let (_, _, told) = folder.run(&["forget", "twice.deciban", &wine()]);
    assert!(told.contains("the scores behind conformal p-values were dropped"), "{told}");
    same_predictions(&before, &predict("twice.deciban"), 1e-6);
    assert!(folder.read("calibrated.deciban") == model);
    // Statistics change nothing else about a model.
    folder.ok(&["fit", &wine(), "-t", "Type", "--model", "gaussian", "--keep-statistics", "-o", "kept.deciban"]);
    folder.ok(&["fit", &wine(), "-t", "Type", "--model", "gaussian", "-o", "plain.deciban"]);
    let evaluate = |file: &str| folder.ok(&["evaluate", file, &wine()]);
    assert_eq!(evaluate("kept.deciban"), evaluate("plain.deciban"));
}

/// Issue: where cells were missing, `--keep-statistics` kept nothing and exited 0, and `update` said to give it.
#[test]
fn models_that_pass_over_rows_again_and_again_keep_no_statistics() {
    let folder = Folder::new();
    let wine = std::fs::read_to_string(wine()).unwrap();
    let gapped: Vec<String> = wine
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let mut cells: Vec<&str> = line.split(',').collect();
            if i % 7 == 3 {
                cells[3] = "";
            }
            cells.join(",")
        })
        .collect();
    folder.write("gaps.csv", gapped.join("\n"));
    let fit = ["fit", "gaps.csv", "-t", "Type", "-o", "m.deciban"];
    let refused = |more: &[&str]| folder.fails(&[&fit[..], more, &["--keep-statistics"]].concat());
    for covariance in ["full", "tied"] {
        let message = refused(&["--model", "gaussian", "--covariance", covariance]);
        let begins = "--keep-statistics: cells of column `Ash` are missing, and this model fills them from the rows";
        assert!(message.starts_with(begins), "{message}");
        assert!(message.contains("give --covariance diagonal"), "{message}");
    }
    let message = refused(&["--model", "gaussian", "--components", "2"]);
    assert!(message.starts_with("--keep-statistics: a model with --components is learned from rows"), "{message}");
    let message = refused(&["--covariance", "diagonal", "--unlabelled", "gaps.csv"]);
    assert!(message.starts_with("--keep-statistics: a model with --unlabelled-weight is learned"), "{message}");
    assert!(!folder.files().contains(&"m.deciban".to_string()));
    // The advice of the message works.
    folder.ok(&[&fit[..], &["--covariance", "diagonal", "--keep-statistics"]].concat());
    folder.ok(&["update", "m.deciban", "gaps.csv"]);
    // Without the option there is a model, and `update` does not say to give it.
    folder.ok(&[&fit[..], &["--covariance", "full"]].concat());
    let message = folder.fails(&["update", "m.deciban", "gaps.csv"]);
    assert!(message.ends_with("pass after pass: fit it anew with all rows"), "{message}");
}
#[test]
fn changes_of_one_file_at_once_lose_nothing() {
    let folder = Folder::new();
    let rows = |from: u32| (from..from + 4).map(|i| format!("{i},{}\n", if i % 2 == 0 { "a" } else { "b" }));
    let table = |from: u32| format!("x,y\n{}", rows(from).collect::<String>());
    folder.write("first.csv", table(0));
    folder.write("more.csv", table(4));
    folder.ok(&["fit", "first.csv", "-t", "y", "--model", "gaussian", "--keep-statistics", "-o", "m.deciban"]);
    folder.ok(&["stats", "first.csv", "-t", "y", "-o", "m.stats"]);
    for file in ["m.deciban", "m.stats"] {
        let at_once = |command: &str, times: usize| {
            let start = |_| folder.command(&[command, file, "more.csv"]).stderr(Stdio::null()).spawn().unwrap();
            let children: Vec<_> = (0..times).map(start).collect();
            children.into_iter().for_each(|mut child| assert_eq!(child.wait().unwrap().code(), Some(0)));
        };
        at_once("update", 20);
        let (_, _, said) = folder.run(&["update", file, "more.csv"]);
        assert!(said.starts_with(&format!("{file}: 88 rows")), "{said}");
        at_once("forget", 20);
        let (_, _, said) = folder.run(&["update", file, "more.csv"]);
        assert!(said.starts_with(&format!("{file}: 12 rows")), "{said}");
    }
    assert!(folder.files().iter().all(|name| !name.starts_with('.')), "{:?}", folder.files());
}
