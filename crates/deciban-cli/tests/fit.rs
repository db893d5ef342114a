//! `deciban fit`: what it learns, from what input, and what it refuses.

use crate::common::{Folder, Table, close, numbers, same_predictions, shared, texts, wine};
use deciban::numerics::{Random, normal_cdf};

/// Errors, log loss and Brier score on the training rows, unbiased covariances and the prior of the
/// training data: `python3 reference/gaussian.py ../../../examples/wine.csv Type`.
const WINE: [(&str, f64, f64, f64); 6] = [
    ("full", 1.0, 0.006556784367304714, 0.005058102912274883),
    ("tied", 0.0, 0.004740173081888593, 0.0009752299605970797),
    ("diagonal", 2.0, 0.05107743734549824, 0.02741212976891336),
    ("tied-diagonal", 6.0, 0.10139176267468153, 0.04921962393496441),
    ("spherical", 49.0, 2.7546149920241976, 0.5186631214648961),
    ("tied-spherical", 49.0, 2.351105844041939, 0.4981579792388714),
];

/// The same for the UCI iris table, `python3 reference/gaussian.py iris.data c4`.
const IRIS: [(&str, f64, f64, f64); 6] = [
    ("full", 3.0, 0.036340659285521305, 0.02304680571784155),
    ("tied", 3.0, 0.04352960423679987, 0.028197627486880924),
    ("diagonal", 6.0, 0.1103403150414907, 0.06601129719455423),
    ("tied-diagonal", 6.0, 0.12861337435669679, 0.06450445316363718),
    ("spherical", 12.0, 0.1685766116297794, 0.10078366964305874),
    ("tied-spherical", 11.0, 0.19750757458648738, 0.10358185820833016),
];

fn check_reference(data: &str, columns: &[&str], read: &[&str], reference: &[(&str, f64, f64, f64)]) {
    let folder = Folder::new();
    for (covariance, errors, log_loss, brier) in reference {
        let fit = ["fit", data, "--covariance", covariance, "--estimator", "unbiased", "-o", "m.deciban"];
        assert_eq!(folder.ok(&[&fit, columns, read].concat()), "");
        let figures = folder.json(&[&["evaluate", "m.deciban", data, "--json"], read].concat());
        assert_eq!(figures["errors"].as_f64(), Some(*errors), "{covariance}");
        close(figures["log_loss"].as_f64().unwrap(), *log_loss, 1e-11);
        close(figures["brier"].as_f64().unwrap(), *brier, 1e-11);
    }
}

#[test]
fn every_covariance_of_the_wines_is_as_the_textbook_has_it() {
    check_reference(&wine(), &["--target", "Type"], &[], &WINE);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn every_covariance_of_the_irises_is_as_the_textbook_has_it() {
    let iris = shared("data/iris/iris.data");
    check_reference(&iris, &["--target", "c4"], &["--no-header"], &IRIS);
}

#[test]
fn the_json_says_what_was_learned() {
    let folder = Folder::new();
    let report = folder.json(&["fit", &wine(), "--target", "Type", "--covariance", "tied", "--json"]);
    assert_eq!(report["model"], "gaussian");
    assert_eq!(report["options"][0]["covariance"], "tied");
    assert_eq!(texts(&report["classes"]), ["Barbera", "Barolo", "Grignolino"]);
    assert_eq!(report["rows"].as_f64(), Some(178.0));
    assert_eq!(numbers(&report["class_rows"]), [48.0, 59.0, 71.0]);
    assert_eq!(numbers(&report["prior"]), [48.0 / 178.0, 59.0 / 178.0, 71.0 / 178.0]);
    assert_eq!(texts(&report["columns"]).len(), 13);
    assert!(report["seconds"].as_f64().unwrap() >= 0.0);
    assert!(folder.files().is_empty());
}

#[test]
fn without_a_file_the_model_is_shown() {
    let folder = Folder::new();
    let (code, stdout, stderr) =
        folder.run(&["fit", "--model", "gaussian", &wine(), "-t", "Type", "--columns", "Alcohol,Hue"]);
    assert_eq!((code, stderr.as_str()), (0, "The model was not saved: give -o FILE.\n"));
    assert!(stdout.starts_with("gaussian, covariance full, estimator ml\n"), "{stdout}");
    // By hand: 13.15375 and √(Σ(x−m)²/48) for the Barberas' alcohol.
    let line = stdout.lines().find(|line| line.starts_with("Alcohol")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>()[1..4], ["13.15", "±", "0.525"]);
}

/// A search names the option of `fit` that shows the lines it leaves out.
#[test]
fn a_long_search_says_how_to_see_all_of_it() {
    let folder = Folder::new();
    let fit = ["fit", &wine(), "-t", "Type", "--models", "gaussian", "-o", "wine.deciban"];
    let (_, _, said) = folder.run(&fit);
    let line = said.lines().find(|line| line.starts_with("... and ")).unwrap();
    assert!(line.ends_with(" more: --json lists all"), "{line}");
    let hidden: usize = line.split(' ').nth(2).unwrap().parse().unwrap();
    let all = folder.json(&[&fit[..], &["--json"]].concat());
    assert_eq!(all["compared"].as_array().unwrap().len(), hidden + 10);
}

#[test]
fn with_a_file_standard_output_stays_empty() {
    let folder = Folder::new();
    let (code, stdout, stderr) =
        folder.run(&["fit", "--model", "gaussian", &wine(), "-t", "Type", "-o", "wine.deciban"]);
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert!(stderr.starts_with("wine.deciban: 178 rows, 13 columns, 3 classes, "), "{stderr}");
    assert_eq!(folder.files(), ["wine.deciban"]);
}

/// The predictions for the wines of a model fitted with these arguments.
fn predictions(folder: &Folder, fit: &[&str]) -> Table {
    folder.ok(&[fit, &["-o", "m.deciban"]].concat());
    folder.table(&["predict", "m.deciban", &wine(), "--evidence", "--density"])
}

#[test]
fn many_files_a_glob_and_standard_input_are_one_table() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(wine()).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let parts: Vec<String> = rows.chunks(50).map(|part| format!("{header}\n{}\n", part.join("\n"))).collect();
    parts.iter().enumerate().for_each(|(i, part)| folder.write(&format!("part{i}.csv"), part));
    let options = ["--target", "Type", "--covariance", "tied"];
    let whole = predictions(&folder, &[&["fit", &wine()], &options[..]].concat());
    let files = ["fit", "part0.csv", "part1.csv", "part2.csv", "part3.csv"];
    same_predictions(&whole, &predictions(&folder, &[&files, &options[..]].concat()), 1e-9);
    same_predictions(&whole, &predictions(&folder, &[&["fit", "part*.csv"], &options[..]].concat()), 1e-9);
    // A pipe is cut where a file is: the same bits.
    let piped = [&["fit", "-", "-o", "piped.deciban"], &options[..]].concat();
    assert_eq!(folder.run_with(&piped, &text).0, 0);
    assert_eq!(folder.table(&["predict", "piped.deciban", &wine(), "--evidence", "--density"]), whole);
    // Two passes over a pipe.
    assert_eq!(folder.run_with(&[&piped, &["--gaussianise"][..]].concat(), &text).0, 0);
}

#[test]
fn a_fit_repeats_to_the_byte() {
    let folder = Folder::new();
    let model = |name: &str| {
        folder.ok(&["fit", "--model", "gaussian", &wine(), "--target", "Type", "-o", name]);
        folder.read(name)
    };
    let first = model("first.deciban");
    for _ in 0..6 {
        assert!(model("again.deciban") == first, "two fits of the same rows wrote different files");
    }
}

#[test]
fn labels_may_stand_elsewhere() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(wine()).unwrap();
    let (mut data, mut labels, mut one_hot) = (String::new(), String::new(), String::new());
    for (i, line) in text.lines().enumerate() {
        let (class, rest) = line.split_once(',').unwrap();
        data += &format!("{rest}\n");
        if i == 0 {
            one_hot += &format!("Barbera,Barolo,Grignolino,{rest}\n");
        } else {
            labels += &format!("{class}\n");
            let flags = ["Barbera", "Barolo", "Grignolino"].map(|name| if name == class { "1" } else { "0" });
            one_hot += &format!("{},{rest}\n", flags.join(","));
        }
    }
    folder.write("data.csv", data);
    folder.write("labels.txt", labels);
    folder.write("one-hot.csv", one_hot);
    let column = predictions(&folder, &["fit", "--model", "gaussian", &wine(), "--target", "Type"]);
    let apart = predictions(&folder, &["fit", "--model", "gaussian", "data.csv", "--labels", "labels.txt"]);
    assert_eq!(column, apart);
    assert_eq!(
        folder.json(&["evaluate", "m.deciban", "data.csv", "--labels", "labels.txt", "--json"])["errors"],
        folder.json(&["evaluate", "m.deciban", &wine(), "--labels", "labels.txt", "--json"])["errors"],
    );
    let names = "Barbera,Barolo,Grignolino";
    assert_eq!(column, predictions(&folder, &["fit", "--model", "gaussian", "one-hot.csv", "--one-hot-target", names]));
    let figures = folder.json(&["evaluate", "m.deciban", "one-hot.csv", "--one-hot-target", names, "--json"]);
    assert_eq!(figures["errors"].as_f64(), Some(1.0));
    folder.write("short.txt", "Barolo\nBarolo\n");
    let message = folder.fails(&["fit", "--model", "gaussian", "data.csv", "--labels", "short.txt", "-o", "x.deciban"]);
    assert_eq!(message, "short.txt: there are 2 labels for the 178 rows of data.csv: each row needs its own");
}

#[test]
fn one_class_versus_the_rest() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(wine()).unwrap();
    let relabelled = text.replace("\nGrignolino,", "\nother,").replace("\nBarbera,", "\nother,");
    folder.write("two.csv", relabelled);
    let report = folder.json(&[
        "fit",
        "--model",
        "gaussian",
        &wine(),
        "-t",
        "Type",
        "--versus-rest",
        "Barolo",
        "-o",
        "v.deciban",
        "--json",
    ]);
    assert_eq!(texts(&report["classes"]), ["not Barolo", "Barolo"]);
    assert_eq!(numbers(&report["class_rows"]), [119.0, 59.0]);
    folder.ok(&["fit", "--model", "gaussian", "two.csv", "-t", "Type", "-o", "two.deciban"]);
    let versus = folder.table(&["predict", "v.deciban", &wine()]);
    let two = folder.table(&["predict", "two.deciban", &wine()]);
    for (a, b) in versus.numbers("p(Barolo)").into_iter().zip(two.numbers("p(Barolo)")) {
        close(a, b, 1e-9);
    }
    // The three classes of the file are evaluated as two.
    let figures = folder.json(&["evaluate", "v.deciban", &wine(), "--json"]);
    assert_eq!((texts(&figures["classes"]), figures["rows"].as_f64()), (vec!["not Barolo", "Barolo"], Some(178.0)));
    let message = folder.fails(&[
        "fit",
        "--model",
        "gaussian",
        &wine(),
        "-t",
        "Type",
        "--versus-rest",
        "Merlot",
        "-o",
        "x.deciban",
    ]);
    assert!(message.starts_with("no row has the class `Merlot`"), "{message}");
}

#[test]
fn columns_are_chosen_and_left_out() {
    let folder = Folder::new();
    let names = |options: &[&str]| {
        let report = folder.json(&[&["fit", "--model", "gaussian", &wine(), "-t", "Type", "--json"], options].concat());
        texts(&report["columns"]).iter().map(|name| name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--columns", "Hue,Alcohol"]), ["Hue", "Alcohol"]);
    assert_eq!(names(&["--ignore", "Proline,Ash"]).len(), 11);
    let message = folder.fails(&["fit", "--model", "gaussian", &wine(), "-t", "Type", "--ignore", "Prolin"]);
    assert_eq!(message, "--ignore: there is no column `Prolin`: did you mean `Proline`?");
}

#[test]
fn weight_two_is_the_row_twice() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(wine()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let weight = |i: usize| 1 + i % 2;
    let mut weighted = format!("{},w\n", lines[0]);
    let mut repeated = format!("{}\n", lines[0]);
    for (i, line) in lines[1..].iter().enumerate() {
        weighted += &format!("{line},{}\n", weight(i));
        repeated += &format!("{line}\n").repeat(weight(i));
    }
    folder.write("weighted.csv", weighted);
    folder.write("repeated.csv", repeated);
    let a = predictions(&folder, &["fit", "--model", "gaussian", "weighted.csv", "-t", "Type", "--weight", "w"]);
    let b = predictions(&folder, &["fit", "--model", "gaussian", "repeated.csv", "-t", "Type"]);
    same_predictions(&a, &b, 1e-9);
}

#[test]
fn the_prior_of_the_model_is_only_its_default() {
    let folder = Folder::new();
    let fit = ["fit", "--model", "gaussian", &wine(), "-t", "Type", "--columns", "Alcohol,Hue", "-o"];
    folder.ok(&[&fit[..], &["empirical.deciban"]].concat());
    folder.ok(&[&fit[..], &["uniform.deciban", "--prior", "uniform"]].concat());
    let predict = |model: &str, prior: &[&str]| folder.ok(&[&["predict", model, &wine()], prior].concat());
    let (own, uniform) = (predict("uniform.deciban", &[]), ["--prior", "uniform"]);
    assert_eq!(own, predict("empirical.deciban", &uniform));
    assert_ne!(own, predict("empirical.deciban", &[]));
    assert_eq!(predict("uniform.deciban", &["--prior", "empirical"]), predict("empirical.deciban", &[]));
}

#[test]
fn regularisation_and_linear_maps() {
    let folder = Folder::new();
    let options = |more: &[&str]| {
        let report = folder.json(&[&["fit", &wine(), "-t", "Type", "-o", "m.deciban", "--json"], more].concat());
        report["options"][0].clone()
    };
    // Fewer than five rows per column: some regularisation is better than none.
    for name in ["shrinkage", "pooling"] {
        let auto = options(&["--standardise", &format!("--{name}"), "auto"]);
        let chosen: f64 = auto[name].as_str().unwrap().parse().unwrap();
        assert!(chosen > 0.0 && chosen < 1.0, "{auto}");
    }
    // Shrunk all the way, every covariance is a multiple of the identity: the spherical model.
    options(&["--shrinkage", "1"]);
    let shrunk = folder.table(&["predict", "m.deciban", &wine(), "--evidence"]);
    options(&["--covariance", "spherical"]);
    same_predictions(&shrunk, &folder.table(&["predict", "m.deciban", &wine(), "--evidence"]), 1e-9);
    // Pooled all the way, it is the tied one.
    options(&["--pooling", "1"]);
    let pooled = folder.table(&["predict", "m.deciban", &wine(), "--evidence"]);
    options(&["--covariance", "tied"]);
    let tied = folder.table(&["predict", "m.deciban", &wine(), "--evidence"]);
    same_predictions(&pooled, &tied, 1e-9);
    // Discriminant directions keep all that a tied model can tell (Fisher): its LLRs stay.
    options(&["--covariance", "tied", "--lda", "2"]);
    same_predictions(&tied, &folder.table(&["predict", "m.deciban", &wine(), "--evidence"]), 1e-8);
    // So does standardising, whose Jacobian cancels between classes.
    options(&["--covariance", "tied", "--standardise"]);
    same_predictions(&tied, &folder.table(&["predict", "m.deciban", &wine(), "--evidence"]), 1e-9);
    let steps = options(&["--standardise", "--pca", "5", "--lda", "2"])["steps"].clone();
    assert_eq!(steps, serde_json::json!(["standardise", {"pca": 5}, {"lda": 2}]));
    // A strong penalty leaves no correlation: the diagonal model.
    options(&["--sparse-precision", "0.99"]);
    let sparse = folder.table(&["predict", "m.deciban", &wine(), "--evidence"]);
    options(&["--covariance", "diagonal"]);
    same_predictions(&sparse, &folder.table(&["predict", "m.deciban", &wine(), "--evidence"]), 1e-9);
    for more in [&["--gaussianise"][..], &["--estimator", "bayes"]] {
        options(more);
        let errors = folder.json(&["evaluate", "m.deciban", &wine(), "--json"])["errors"].as_f64().unwrap();
        assert!(errors <= 4.0, "{more:?}: {errors}");
    }
}

#[test]
fn wrong_input_is_told_with_its_place() {
    let folder = Folder::new();
    let fails = |args: &[&str]| folder.fails(&[&["fit", "--model", "gaussian"], args, &["-o", "m.deciban"]].concat());
    let wine = wine();
    assert_eq!(
        fails(&[&wine, "-t", "Typ"]),
        format!("{wine}: there is no column `Typ` for the target: did you mean `Type`?")
    );
    let message = fails(&[&wine]);
    assert!(
        message.starts_with("--target: name the column of the classes; the columns are `Type`, `Alcohol`"),
        "{message}"
    );
    assert_eq!(fails(&["none.csv", "-t", "t"]), "none.csv: there is no such file");
    folder.write("single.csv", "x,t\n1,a\n2,a\n3,a\n");
    let single = "the target `t` has a single class, `a`: a classifier needs at least two";
    assert_eq!(fails(&["single.csv", "-t", "t"]), single);
    folder.write("ragged.csv", "x,y,t\n1,2,a\n\n2,3\n");
    let ragged = "ragged.csv:4: the row has 2 fields, the header has 3: fix the row, or give --separator";
    assert_eq!(fails(&["ragged.csv", "-t", "t"]), ragged);
    folder.write("word.csv", "x,y,t\n1,2,a\n2,abc,b\n");
    let word = "word.csv:3: column `y`: `abc` is not a number: --number made this column a number column";
    assert_eq!(fails(&["word.csv", "-t", "t", "--number", "y"]), word);
    let message = fails(&["word.csv", "-t", "t"]);
    assert!(message.contains("column `y`"), "{message}");
    folder.write("hole.csv", "x,y,t\n1,2,a\n,4,b\n3,1,a\n2,2,b\n1,5,b\n");
    let message = fails(&["hole.csv", "-t", "t"]);
    assert!(message.starts_with("the covariance of class `a` is singular: 2 rows are too few"), "{message}");
    folder.write("constant.csv", "x,y,t\n1,2,a\n2,2,a\n3,1,b\n4,3,b\n9,2,a\n");
    let message = fails(&["constant.csv", "-t", "t"]);
    assert!(
        message.starts_with("the covariance of class `a` is singular: these columns do not vary: `y`"),
        "{message}"
    );
    let stats = fails(&[&wine, "-t", "Type", "--pooling", "0.1", "--covariance", "tied"]);
    assert_eq!(stats, "--pooling: a tied covariance is pooled already: drop the option");
}

#[test]
fn a_failed_fit_leaves_the_old_model_alone() {
    let folder = Folder::with_model(&[]);
    let before = folder.read("wine.deciban");
    folder.fails(&["fit", "--model", "gaussian", &wine(), "-t", "Typ", "-o", "wine.deciban"]);
    folder.fails(&["fit", &wine(), "-t", "Type", "--pca", "99", "-o", "wine.deciban"]);
    assert!(folder.read("wine.deciban") == before);
}

/// Rows of three classes with a number for each of the columns x and y.
fn rows_of_three(cells: impl Fn(usize, &mut Random) -> [f64; 2]) -> String {
    let mut random = Random::new(5);
    let row = |i: usize| {
        let [x, y] = cells(i % 3, &mut random);
        format!("{x:e},{y:e},{}\n", ["a", "b", "c"][i % 3])
    };
    format!("x,y,t\n{}", (0..60).map(row).collect::<String>())
}

#[test]
fn a_column_that_is_constant_in_a_class_has_the_least_variance_there() {
    let folder = Folder::new();
    let cells =
        |k: usize, random: &mut Random| [if k == 0 { 3.0 } else { random.normal() }, random.normal() + k as f64];
    folder.write("rows.csv", rows_of_three(cells));
    folder.write("varied.csv", rows_of_three(|k, random| [random.normal(), random.normal() + k as f64]));
    let (code, _, told) = folder.run(&["fit", "rows.csv", "-t", "t", "--model", "naive-bayes", "-o", "m.deciban"]);
    assert_eq!(code, 0, "{told}");
    let warning = "warning: always the same in a class: `x` in `a`; there a variance of 1e-9 of the column's is taken";
    assert!(told.contains(warning) && told.contains("give --ignore x"), "{told}");
    // By hand: a billionth of the variance of all rows.
    let x: Vec<f64> = texts_of(&folder, "rows.csv").iter().map(|row| row[0]).collect();
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
    let model = folder.json(&["inspect", "m.deciban", "--json"]);
    let found = model["classes"][0]["covariance"][0][0].as_f64().unwrap();
    close(found / (1e-9 * variance), 1.0, 1e-9);
    // A row with this value is of class a, and any other is not.
    folder.write("new.csv", "x,y\n3,1\n2.9,1\n");
    let p = folder.table(&["predict", "m.deciban", "new.csv"]).numbers("p(a)");
    assert!(p[0] > 0.99 && p[1] < 1e-9, "{p:?}");
    // A fit from statistics warns alike; and where the column varies, there is no warning.
    folder.ok(&["stats", "rows.csv", "-t", "t", "--model", "naive-bayes", "-o", "rows.stats"]);
    let (_, _, told) = folder.run(&["fit", "rows.stats", "--model", "naive-bayes", "-o", "again.deciban"]);
    assert!(told.contains(warning), "{told}");
    let (_, _, told) = folder.run(&["fit", "varied.csv", "-t", "t", "--model", "naive-bayes", "-o", "m.deciban"]);
    assert!(!told.contains("always the same"), "{told}");
}

/// The numbers of a table without its last column.
fn texts_of(folder: &Folder, name: &str) -> Vec<Vec<f64>> {
    let text = String::from_utf8(folder.read(name)).unwrap();
    let row = |line: &str| line.split(',').filter_map(|cell| cell.parse().ok()).collect();
    text.lines().skip(1).map(row).collect()
}

#[test]
fn a_model_that_is_written_can_be_read() {
    let folder = Folder::new();
    folder.write("rows.csv", rows_of_three(|_, random| [random.normal(), random.normal()]));
    folder.ok(&["fit", "rows.csv", "-t", "t", "--model", "gaussian", "-o", "m.deciban"]);
    let before = folder.read("m.deciban");
    let too_large = |name: &str, fit: &[&str]| {
        let error = folder.fails(&[&["fit", name, "-t", "t", "-o", "m.deciban"], fit].concat());
        assert!(error.contains("column `x`: its numbers are too large"), "{error}");
        assert_eq!(folder.read("m.deciban"), before);
    };
    folder.write("large.csv", rows_of_three(|_, random| [1e200 * random.normal(), random.normal()]));
    too_large("large.csv", &["--model", "parzen"]);
    // The variance within the classes is a double, and that over all rows is not.
    let apart = |k: usize, random: &mut Random| [1e154 * (k as f64 + 1e-5 * random.normal()), random.normal()];
    folder.write("apart.csv", rows_of_three(apart));
    too_large("apart.csv", &["--model", "gaussian", "--lda", "1"]);
    // With one row in each class, no fold can be judged by the others.
    folder.write("few.csv", "x,y,t\n1,2,a\n3,5,b\n8,1,c\n");
    folder.ok(&["fit", "few.csv", "-t", "t", "--model", "additive", "-o", "few.deciban"]);
    folder.ok(&["predict", "few.deciban", "few.csv"]);
    // The product of two weights overflows, and their quotient does not.
    let rows: String =
        (0..40).map(|i| format!("{},{},{}\n", i % 7, if i < 20 { "1e300" } else { "1e-300" }, i % 2)).collect();
    folder.write("heavy.csv", format!("x,w,t\n{rows}"));
    let fit = ["fit", "heavy.csv", "-t", "t", "--weight", "w", "--model", "gaussian", "--estimator", "bayes"];
    folder.ok(&[&fit[..], &["-o", "heavy.deciban"]].concat());
    folder.ok(&["predict", "heavy.deciban", "heavy.csv"]);
}

#[test]
fn a_missing_cell_costs_a_diagonal_model_that_cell_only() {
    let folder = Folder::new();
    folder.write("hole.csv", "x,y,t\n1,2,a\n?,4,a\n3,1,a\n2,2,b\n1,NA,b\n6,9,b\n");
    folder.ok(&["fit", "hole.csv", "-t", "t", "--covariance", "diagonal", "-o", "m.deciban"]);
    let classes = folder.json(&["inspect", "m.deciban", "--json"])["classes"].clone();
    assert_eq!(numbers(&classes[0]["mean"]), [2.0, 7.0 / 3.0]);
    assert_eq!(numbers(&classes[1]["mean"]), [3.0, 5.5]);
    close(classes[1]["covariance"][1][1].as_f64().unwrap(), 12.25, 1e-12);
}

#[test]
fn wrong_usage_has_code_two() {
    let folder = Folder::new();
    for (options, word) in [
        (&["--covariance", "round"][..], "tied-diagonal"),
        (&["--shrinkage", "2"], "give a number from 0 to 1, or auto"),
        (&["--model", "magic"], "gaussian"),
        (&["--estimator", "map"], "unbiased"),
        (&["--prior", "half"], "give uniform, empirical, or CLASS=P"),
        (&["--no-such-option"], "--no-such-option"),
    ] {
        let message = folder.misused(&[&["fit", &wine(), "-t", "Type", "-o", "m.deciban"], options].concat());
        assert!(message.contains(word), "{message}");
    }
    folder.misused(&["fit"]);
}

/// Rows of another group of writers, with the number of components that cross-validation of the training rows likes
/// about as well as more.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn digits_of_several_shapes_need_several_components() {
    let folder = Folder::new();
    let [train, test] = ["pendigits.tra", "pendigits.tes"].map(|name| shared(&format!("data/pendigits/{name}")));
    let fit = ["fit", &train, "--no-header", "--target", "c16", "--model", "gaussian"];
    folder.ok(&[&fit[..], &["--components", "8", "-o", "digits.deciban"]].concat());
    let report = folder.json(&["evaluate", "digits.deciban", &test, "--no-header", "--json"]);
    let error = report["error_rate"].as_f64().unwrap();
    assert!(error <= 0.027, "{error}");
}

#[test]
fn what_components_need_is_said() {
    let folder = Folder::new();
    let model = ["fit", &wine(), "--target", "Type", "--model"];
    folder.misused(&[&model[..], &["logistic", "--components", "2"]].concat());
    folder.misused(&[&model[..], &["gaussian", "--components", "0"]].concat());
    folder.ok(&["stats", &wine(), "--target", "Type", "--model", "gaussian", "-o", "wine.stats"]);
    let error = folder.fails(&["fit", "wine.stats", "--components", "2"]);
    assert!(error.contains("--components") && error.contains("from rows, not from statistics"), "{error}");
    let told = folder.ok(&[&model[..], &["naive-bayes", "--components", "2"]].concat());
    assert!(told.contains("2 components in each class") && told.contains("share of its class"), "{told}");
}

/// Two classes of two numbers; `label` is the class of row i, or nothing.
fn two_numbers(
    count: usize,
    seed: u64,
    draw: impl Fn(usize, &mut Random) -> [f64; 2],
    with: impl Fn(usize) -> bool,
) -> String {
    let mut random = Random::new(seed);
    let mut text = String::from("x,y,class\n");
    for i in 0..count {
        let [x, y] = draw(i % 2, &mut random);
        text += &format!("{x},{y},{}\n", if with(i) { ["a", "b"][i % 2] } else { "" });
    }
    text
}

/// Gaussian classes, as the model assumes.
fn gaussian(class: usize, random: &mut Random) -> [f64; 2] {
    let shift = if class == 0 { -1.2 } else { 1.2 };
    [shift + random.normal(), shift + random.normal()]
}

/// The rows lie in two lumps along x, and the classes differ along y: the lumps are not the classes.
fn across(class: usize, random: &mut Random) -> [f64; 2] {
    let lump = if random.uniform() < 0.5 { -6.0 } else { 6.0 };
    [lump + random.normal(), if class == 0 { -0.3 } else { 0.3 } + random.normal()]
}

fn drop_target(csv: &str) -> String {
    csv.lines().map(|line| line.rsplit_once(',').unwrap().0.to_string() + "\n").collect()
}

#[test]
fn a_file_of_its_own_is_the_same_as_rows_with_an_empty_target() {
    let folder = Folder::new();
    let (few, many) = (two_numbers(16, 1, gaussian, |_| true), two_numbers(2000, 2, gaussian, |_| false));
    folder.write("few.csv", &few);
    folder.write("many.csv", drop_target(&many));
    folder.write("both.csv", few.clone() + many.split_once('\n').unwrap().1);
    // Labels of a file that is given as unlabelled are not read.
    folder.write("labelled.csv", two_numbers(2000, 2, gaussian, |_| true));
    folder.write("test.csv", two_numbers(500, 3, gaussian, |_| true));
    let fit = |data: &str, more: &[&str]| {
        let fit = ["fit", data, "-t", "class", "--model", "gaussian", "--covariance", "tied", "-o", "m.deciban"];
        folder.ok(&[&fit, more].concat());
        folder.table(&["predict", "m.deciban", "test.csv"])
    };
    let one = fit("both.csv", &["--unlabelled-weight", "1"]);
    same_predictions(&one, &fit("few.csv", &["--unlabelled", "many.csv"]), 1e-12);
    same_predictions(&one, &fit("few.csv", &["--unlabelled", "labelled.csv"]), 1e-12);
    let light = fit("few.csv", &["--unlabelled", "many.csv", "--unlabelled-weight", "0.1"]);
    assert_ne!(one.numbers("p(a)"), light.numbers("p(a)"));
    assert_eq!(folder.run(&["fit", "few.csv", "--unlabelled", "none.csv", "-t", "class", "--model", "gaussian"]).0, 1);
    folder.write("other.csv", "x,z\n1,2\n");
    let error = folder.run(&["fit", "few.csv", "--unlabelled", "other.csv", "-t", "class", "--model", "gaussian"]).2;
    assert!(error.contains("other.csv") && error.contains('y'), "{error}");
}

#[test]
fn they_help_where_the_model_is_right() {
    let folder = Folder::new();
    folder.write("few.csv", two_numbers(16, 1, gaussian, |_| true));
    folder.write("many.csv", drop_target(&two_numbers(4000, 2, gaussian, |_| false)));
    folder.write("test.csv", two_numbers(4000, 3, gaussian, |_| true));
    let fit = ["fit", "few.csv", "-t", "class", "--model", "gaussian", "-o", "m.deciban"];
    let loss = |more: &[&str]| {
        let (code, _, said) = folder.run(&[&fit[..], more].concat());
        assert_eq!(code, 0, "{said}");
        let told = folder.json(&["evaluate", "m.deciban", "test.csv", "--json"]);
        (told["log_loss"].as_f64().unwrap(), told["error_rate"].as_f64().unwrap(), said)
    };
    let (few, both) = (loss(&[]), loss(&["--unlabelled", "many.csv"]));
    assert!(both.0 < few.0 && both.1 < few.1, "{few:?} {both:?}");
    // Nobody does better than Φ(−1.2 √2) on these rows.
    close(both.1, normal_cdf(-1.2 * 2f64.sqrt()), 0.015);
    assert!(both.2.contains("note: the rows without a label help"), "{}", both.2);
}

#[test]
fn they_are_warned_of_where_the_model_is_wrong() {
    let folder = Folder::new();
    folder.write("few.csv", two_numbers(40, 1, across, |_| true));
    folder.write("many.csv", drop_target(&two_numbers(3000, 2, across, |_| false)));
    folder.write("test.csv", two_numbers(3000, 3, across, |_| true));
    let fit = ["fit", "few.csv", "-t", "class", "--model", "gaussian", "-o", "m.deciban"];
    let run = |more: &[&str]| {
        let said = folder.run(&[&fit[..], more].concat()).2;
        (folder.json(&["evaluate", "m.deciban", "test.csv", "--json"])["log_loss"].as_f64().unwrap(), said)
    };
    let (few, both) = (run(&[]), run(&["--unlabelled", "many.csv"]));
    assert!(both.0 > 2.0 * few.0, "the case is the wrong one: {} {}", both.0, few.0);
    assert!(both.1.contains("warning: the rows without a label make the model worse"), "{}", both.1);
    assert!(both.1.contains("--unlabelled-weight"), "{}", both.1);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn texts_learn_words_that_no_labelled_row_has() {
    let folder = Folder::new();
    let all = std::fs::read_to_string(shared("data/sms-spam/SMSSpamCollection")).unwrap();
    let lines: Vec<&str> = all.lines().collect();
    let of = |class: &str| lines.iter().filter(|l| l.starts_with(class)).take(8).copied().collect::<Vec<_>>();
    let few = [of("ham"), of("spam")].concat();
    folder.write("few.tsv", few.join("\n") + "\n");
    let rest: Vec<&str> = lines.iter().filter(|line| !few.contains(line)).copied().collect();
    folder.write("many.tsv", rest.join("\n") + "\n");
    let read = ["--no-header", "--no-quotes", "-t", "c0", "--text", "c1", "--model", "multinomial"];
    let fit = [&["fit", "few.tsv", "-o", "m.deciban"][..], &read].concat();
    folder.ok(&fit);
    let words = |folder: &Folder| folder.json(&["inspect", "m.deciban", "--json"]).to_string().len();
    let few = words(&folder);
    let told = folder.run(&[&fit[..], &["--unlabelled", "many.tsv"]].concat());
    assert_eq!(told.0, 0, "{}", told.2);
    // It has taken steps: the words of the other rows are known.
    assert!(!told.2.contains(": 0 steps") && words(&folder) > 2 * few, "{}", told.2);
}

/// Vowels of twelve speakers. Each of them says a vowel in a way of their own, always nearly the same.
fn spoken(seed: u64) -> String {
    let (mut shared, mut random) = (Random::new(1), Random::new(seed));
    let centres: [[f64; 3]; 4] = std::array::from_fn(|_| std::array::from_fn(|_| 1.5 * shared.normal()));
    let mut text = "x,y,z,speaker,vowel\n".to_string();
    for speaker in 0..12 {
        for (vowel, centre) in ["a", "e", "i", "o"].iter().zip(&centres) {
            let own = centre.map(|x| x + random.normal());
            for _ in 0..10 {
                let [x, y, z] = own.map(|x| x + 0.05 * random.normal());
                text += &format!("{x},{y},{z},s{speaker},{vowel}\n");
            }
        }
    }
    text
}

#[test]
fn with_groups_a_fit_promises_what_new_groups_show() {
    let folder = Folder::new();
    folder.write("known.csv", spoken(2));
    (3..7).for_each(|seed| folder.write(&format!("new{seed}.csv"), spoken(seed)));
    let fit = |more: &[&str]| {
        let options = ["fit", "known.csv", "-t", "vowel", "-o", "m.deciban", "--json"];
        let told = folder.json(&[&options[..], more].concat());
        let promised = told["compared"][0]["log_loss"].as_f64().unwrap();
        let loss = |seed: i32| {
            let figures = folder.json(&["evaluate", "m.deciban", &format!("new{seed}.csv"), "--json"]);
            figures["log_loss"].as_f64().unwrap()
        };
        (promised, (3..7).map(loss).sum::<f64>() / 4.0, told)
    };
    let (promised, found, _) = fit(&["--ignore", "speaker"]);
    assert!(promised < 0.2 * found, "the case is the wrong one: {promised} {found}");
    let (promised, apart, told) = fit(&["--group", "speaker"]);
    assert!((0.6..1.6).contains(&(promised / apart)), "{promised} {apart}");
    assert!(apart < 0.8 * found, "{apart} {found}");
    assert_eq!(told["columns"], serde_json::json!(["x", "y", "z"]), "a group is no feature");
    // Twelve groups are fewer than the twenty folds of a search of so few rows by default.
    let message = folder.fails(&["fit", "known.csv", "-t", "vowel", "--group", "speaker", "--folds", "20"]);
    assert_eq!(message, "--group: 12 groups are too few for 20 folds: give --folds 12");
    let message = folder.fails(&["fit", "known.csv", "-t", "vowel", "--group", "speakr"]);
    assert!(message.contains("there is no column `speakr` for the groups or folds"), "{message}");
    folder.ok(&["stats", "known.csv", "-t", "vowel", "--ignore", "speaker", "-o", "known.stats"]);
    let message = folder.fails(&["fit", "known.stats", "--group", "speaker"]);
    assert!(message.contains("--group: rows have groups, statistics have none"), "{message}");
}

/// Issue: the tokens of scikit-learn, words of at least two characters, could not be asked for.
#[test]
fn short_words_can_be_left_out() {
    let folder = Folder::new();
    folder.write("mail.tsv", "spam\tWin a £ prize !! 9\nham\tI am @ home :-) see u\n");
    let fit = ["fit", "mail.tsv", "--no-header", "--no-quotes", "-t", "c0", "--text", "c1", "--model", "multinomial"];
    let words = |more: &[&str]| -> Vec<String> {
        folder.ok(&[&fit[..], &["-o", "m.deciban"], more].concat());
        let text = folder.ok(&["inspect", "m.deciban"]);
        let rows = text.lines().skip_while(|line| !line.starts_with("probability")).skip(1);
        rows.filter_map(|line| line.split_whitespace().next()).map(String::from).collect()
    };
    assert_eq!(words(&["--min-length", "2"]), ["win", "prize", "!!", "am", "home", ":-)", "see"]);
    assert_eq!(words(&["--min-length", "2", "--no-symbols"]), ["win", "prize", "am", "home", "see"]);
    assert_eq!(words(&[]).len(), 13);
    let message = folder.fails(&[&fit[..], &["--characters", "--min-length", "2"]].concat());
    assert_eq!(message, "--min-length: it is for words: drop it, or drop --characters");
}
