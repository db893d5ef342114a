//! `deciban stats`: all that a fit needs of the rows, in a file.

use crate::common::{Folder, numbers, same_predictions, wine};

#[test]
fn a_fit_from_statistics_is_the_fit_from_rows() {
    let folder = Folder::new();
    folder.ok(&["stats", &wine(), "-t", "Type", "-o", "wine.stats"]);
    let predict = |model: &str| folder.table(&["predict", model, &wine(), "--evidence", "--density"]);
    for covariance in ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"] {
        for more in [&[][..], &["--estimator", "bayes"], &["--estimator", "unbiased", "--pca", "5"]] {
            let options = [&["--covariance", covariance], more].concat();
            folder.ok(&[&["fit", "wine.stats", "-o", "a.deciban"], &options[..]].concat());
            folder.ok(&[&["fit", &wine(), "-t", "Type", "-o", "b.deciban"], &options[..]].concat());
            same_predictions(&predict("a.deciban"), &predict("b.deciban"), 1e-9);
        }
    }
}

#[test]
fn folds_settle_what_is_left_to_auto() {
    let folder = Folder::new();
    folder.ok(&["stats", &wine(), "-t", "Type", "-o", "plain.stats"]);
    let message = folder.fails(&["fit", "plain.stats", "--shrinkage", "auto", "-o", "m.deciban"]);
    assert_eq!(message, "--shrinkage: auto needs statistics in folds: make them with --folds 5");
    folder.ok(&["stats", &wine(), "-t", "Type", "--folds", "5", "-o", "folds.stats"]);
    assert_eq!(folder.json(&["inspect", "folds.stats", "--json"])["folds"], 5);
    let options = ["--standardise", "--shrinkage", "auto", "--json"];
    let from_stats = folder.json(&[&["fit", "folds.stats"], &options[..]].concat());
    let from_rows = folder.json(&[&["fit", &wine(), "-t", "Type"], &options[..]].concat());
    assert_eq!(from_stats["options"], from_rows["options"]);
    assert_ne!(from_stats["options"]["shrinkage"], "auto");
}

/// The parts meet levels and words in other orders; the whole is one after the other.
#[test]
fn folds_are_those_of_levels_and_words_not_of_their_codes() {
    let folder = Folder::new();
    let row = |i: i32| {
        let (colour, size) = (["red", "green", "blue"][(i * i % 3) as usize], ["s", "m", "?", "l"][(i % 4) as usize]);
        let note = ["to be or not", "not to be", "be quick"][(i % 3) as usize];
        format!("{colour},{size},{note},{}\n", if i % 5 < 2 { "a" } else { "b" })
    };
    let header = "colour,size,note,t\n";
    let (first, second): (String, String) = ((0..60).map(row).collect(), (60..120).rev().map(row).collect());
    folder.write("a.csv", format!("{header}{first}"));
    folder.write("b.csv", format!("{header}{second}"));
    folder.write("ab.csv", format!("{header}{first}{second}"));
    let options = ["-t", "t", "--text", "note", "--model", "naive-bayes", "--folds", "4"];
    for part in ["a", "b", "ab"] {
        let (data, stats) = (format!("{part}.csv"), format!("{part}.stats"));
        folder.ok(&[&["stats", &data, "-o", &stats], &options[..]].concat());
    }
    folder.ok(&["merge", "a.stats", "b.stats", "-o", "merged.stats"]);
    // What is in another fold there could not be taken away: each holds the other, fold by fold.
    folder.ok(&["forget", "ab.stats", "merged.stats", "-o", "none.stats"]);
    folder.ok(&["forget", "merged.stats", "ab.stats", "-o", "none.stats"]);
    folder.ok(&["forget", "ab.stats", "b.stats", "-o", "rest.stats"]);
    let predict = |stats: &str| {
        folder.ok(&["fit", stats, "--model", "naive-bayes", "-o", "m.deciban"]);
        folder.table(&["predict", "m.deciban", "ab.csv", "--evidence"])
    };
    same_predictions(&predict("rest.stats"), &predict("a.stats"), 1e-9);
}

#[test]
fn variances_alone_are_enough_for_diagonal_models() {
    let folder = Folder::new();
    folder.ok(&["stats", &wine(), "-t", "Type", "--covariance", "diagonal", "-o", "small.stats"]);
    folder.ok(&["stats", &wine(), "-t", "Type", "-o", "large.stats"]);
    assert!(folder.read("small.stats").len() < folder.read("large.stats").len());
    folder.ok(&["fit", "small.stats", "--covariance", "tied-diagonal", "-o", "m.deciban"]);
    let message = folder.fails(&["fit", "small.stats", "-o", "x.deciban"]);
    assert!(message.starts_with("--covariance: these statistics hold variances only"), "{message}");
    let message = folder.fails(&["merge", "small.stats", "large.stats", "-o", "x.stats"]);
    assert!(message.starts_with("some statistics hold covariances and some only variances"), "{message}");
}

#[test]
fn the_file_does_not_grow_with_the_rows() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(wine()).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    folder.write("ten.csv", format!("{header}\n{}", rows.repeat(10)));
    folder.ok(&["stats", &wine(), "-t", "Type", "-o", "one.stats"]);
    let (code, stdout, stderr) = folder.run(&["stats", "ten.csv", "-t", "Type", "-o", "ten.stats"]);
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert!(stderr.starts_with("ten.stats: 1780 rows, 13 columns\n"), "{stderr}");
    assert_eq!(folder.read("one.stats").len(), folder.read("ten.stats").len());
    assert_eq!(numbers(&folder.json(&["inspect", "ten.stats", "--json"])["rows"]), [480.0, 590.0, 710.0]);
}

#[test]
fn wrong_input_leaves_no_file() {
    let folder = Folder::new();
    let message = folder.fails(&["stats", &wine(), "-t", "Typ", "-o", "x.stats"]);
    assert!(message.ends_with("there is no column `Typ` for the target: did you mean `Type`?"), "{message}");
    folder.misused(&["stats", &wine(), "-t", "Type"]);
}

/// A statistics file has no rows to compare models by.
#[test]
fn a_fit_from_statistics_says_which_model_it_is() {
    let folder = Folder::new();
    folder.ok(&["stats", &wine(), "-t", "Type", "-o", "wine.stats"]);
    let (_, _, said) = folder.run(&["fit", "wine.stats", "-o", "m.deciban"]);
    assert!(said.contains("note: the model is gaussian, which the statistics were made for: no models were compared"));
    for chosen in [&["--model", "gaussian"][..], &["--covariance", "tied"]] {
        let (_, _, said) = folder.run(&[&["fit", "wine.stats", "-o", "m.deciban"], chosen].concat());
        assert!(!said.contains("no models were compared"), "{said}");
    }
    let message = folder.misused(&["compare", "wine.stats"]);
    assert!(message.contains("`wine.stats` is a statistics file, and models are compared by rows"), "{message}");
}
