//! `deciban merge` and `deciban forget`: the algebra of statistics, a + b − c.

use crate::common::{Folder, Table, numbers, same_predictions, texts, wine};

/// A folder with the wines in three files, `a` to `c`, and the statistics of each.
fn parts() -> Folder {
    let folder = Folder::new();
    let text = std::fs::read_to_string(wine()).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
        let part: Vec<&str> = rows.lines().skip(i).step_by(3).collect();
        folder.write(&format!("{name}.csv"), format!("{header}\n{}\n", part.join("\n")));
        folder.ok(&["stats", &format!("{name}.csv"), "-t", "Type", "-o", &format!("{name}.stats")]);
    }
    folder
}

/// The predictions for all wines of a model fitted from `data`.
fn predictions(folder: &Folder, data: &[&str]) -> Table {
    folder.ok(&[&["fit", "--model", "gaussian"], data, &["-o", "m.deciban"]].concat());
    folder.table(&["predict", "m.deciban", &wine(), "--evidence", "--density"])
}

#[test]
fn parts_merge_into_the_whole() {
    let folder = parts();
    let whole = predictions(&folder, &[&wine(), "-t", "Type"]);
    let (code, stdout, stderr) = folder.run(&["merge", "a.stats", "b.stats", "c.stats", "-o", "all.stats"]);
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert!(stderr.starts_with("all.stats: 178 rows, 13 columns\n"), "{stderr}");
    same_predictions(&whole, &predictions(&folder, &["all.stats"]), 1e-9);
    folder.ok(&["merge", "c.stats", "a.stats", "b.stats", "-o", "other.stats"]);
    same_predictions(&whole, &predictions(&folder, &["other.stats"]), 1e-9);
    // `fit` adds them itself.
    same_predictions(&whole, &predictions(&folder, &["b.stats", "c.stats", "a.stats"]), 1e-9);
}

#[test]
fn forget_undoes_merge() {
    let folder = parts();
    folder.ok(&["merge", "a.stats", "b.stats", "c.stats", "-o", "all.stats"]);
    let (code, stdout, stderr) = folder.run(&["forget", "all.stats", "c.stats", "-o", "two.stats"]);
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert!(stderr.starts_with("two.stats: 119 rows, 13 columns\n"), "{stderr}");
    let rest = predictions(&folder, &["a.csv", "b.csv", "-t", "Type"]);
    same_predictions(&rest, &predictions(&folder, &["two.stats"]), 1e-9);
    folder.ok(&["forget", "all.stats", "c.stats", "b.stats", "-o", "one.stats"]);
    let rest = predictions(&folder, &["a.csv", "-t", "Type"]);
    same_predictions(&rest, &predictions(&folder, &["one.stats"]), 1e-9);
    folder.ok(&["forget", "a.stats", "a.stats", "-o", "none.stats"]);
    assert!(numbers(&folder.json(&["inspect", "none.stats", "--json"])["rows"]).is_empty());
    assert_eq!(
        folder.fails(&["fit", "--model", "gaussian", "none.stats", "-o", "x.deciban"]),
        "there are no labelled rows to learn from"
    );
    folder.ok(&["merge", "none.stats", "b.stats", "-o", "again.stats"]);
    let rest = predictions(&folder, &["b.csv", "-t", "Type"]);
    same_predictions(&rest, &predictions(&folder, &["again.stats"]), 1e-9);
}

/// Each model in turn: `b` brings a class, a level and words that `a` does not have.
#[test]
fn what_nobody_has_any_more_goes_by_name_too() {
    let folder = Folder::new();
    let a = "fur,kg,text,cat\nshort,4.1,purrs a lot,siamese\nlong,3.6,sleeps a lot,siamese\nlong,4.0,eats,persian\n\
             short,5.2,sleeps and eats,persian\n";
    let b =
        "fur,kg,text,cat\nhairless,3.1,zzyzx purrs,sphynx\nshort,3.3,zzyzx eats,sphynx\nhairless,4.4,sleeps,persian\n";
    folder.write("a.csv", a);
    folder.write("b.csv", b);
    let models: [&[&str]; 7] = [
        &["--model", "naive-bayes", "--text", "text"],
        &["--model", "bernoulli", "--text", "text", "--columns", "text"],
        &["--model", "multinomial", "--text", "text", "--columns", "text"],
        &["--model", "table", "--columns", "fur"],
        &["--model", "tree", "--columns", "fur"],
        &["--model", "a1de", "--columns", "fur"],
        &["--model", "naive-bayes", "--columns", "fur,kg", "--folds", "3"],
    ];
    for model in models {
        for name in ["a", "b"] {
            folder
                .ok(&[&["stats", &format!("{name}.csv"), "-t", "cat", "-o", &format!("{name}.stats")], model].concat());
        }
        folder.ok(&["merge", "a.stats", "b.stats", "-o", "both.stats"]);
        let has = |file: &str, name: &str| folder.read(file).windows(name.len()).any(|bytes| bytes == name.as_bytes());
        assert!(has("both.stats", "sphynx") && (has("both.stats", "hairless") || has("both.stats", "zzyzx")));
        folder.ok(&["forget", "both.stats", "b.stats", "-o", "rest.stats"]);
        for name in ["sphynx", "hairless", "zzyzx"] {
            assert!(!has("rest.stats", name), "{model:?}: `{name}`");
        }
        let inspect = |file: &str| folder.json(&["inspect", file, "--json"]);
        assert_eq!(inspect("rest.stats"), inspect("a.stats"), "{model:?}");
        let predict = |file: &str| {
            folder.ok(&["fit", file, "--model", model[1], "-o", "m.deciban"]);
            folder.table(&["predict", "m.deciban", "a.csv", "--evidence"])
        };
        same_predictions(&predict("a.stats"), &predict("rest.stats"), 1e-9);
    }
}

#[test]
fn classes_are_matched_by_name() {
    let folder = Folder::new();
    folder.write("a.csv", "x,t\n1,yes\n2,yes\n4,no\n7,no\n");
    folder.write("b.csv", "x,t\n5,maybe\n6,maybe\n9,no\n");
    folder.write("all.csv", "x,t\n1,yes\n2,yes\n4,no\n7,no\n5,maybe\n6,maybe\n9,no\n");
    for name in ["a", "b", "all"] {
        folder.ok(&["stats", &format!("{name}.csv"), "-t", "t", "-o", &format!("{name}.stats")]);
    }
    folder.ok(&["merge", "a.stats", "b.stats", "-o", "sum.stats"]);
    let sum = folder.json(&["inspect", "sum.stats", "--json"]);
    assert_eq!(texts(&sum["classes"]), ["maybe", "no", "yes"]);
    assert_eq!(sum, folder.json(&["inspect", "all.stats", "--json"]));
    let message = folder.fails(&["forget", "a.stats", "b.stats", "-o", "x.stats"]);
    assert_eq!(message, "there is no class `maybe` to remove rows from");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = parts();
    let merge = |other: &str| folder.fails(&["merge", "a.stats", other, "-o", "x.stats"]);
    folder.ok(&["stats", "b.csv", "-t", "Type", "--ignore", "Hue", "-o", "narrow.stats"]);
    assert_eq!(merge("narrow.stats"), "the statistics have different columns: only one has `Hue`");
    folder.ok(&["stats", "b.csv", "-t", "Type", "--folds", "5", "-o", "folds.stats"]);
    assert_eq!(merge("folds.stats"), "the statistics have 1 and 5 folds: make them with the same --folds");
    folder.ok(&["stats", "b.csv", "-t", "Type", "--gaussianise", "-o", "normal.stats"]);
    assert!(merge("normal.stats").contains("another --deskew, --gaussianise"));
    folder.ok(&["fit", "--model", "gaussian", "b.csv", "-t", "Type", "-o", "m.deciban"]);
    assert_eq!(merge("m.deciban"), "m.deciban: this is a model file, not a statistics file");
    assert!(merge("b.csv").starts_with("b.csv: this is not a deciban file"));
    assert!(merge("none.stats").starts_with("none.stats: "));
    let message = folder.fails(&["fit", "--model", "gaussian", "a.stats", "b.csv", "-o", "x.deciban"]);
    assert_eq!(message, "`b.csv` is no statistics file, others are: make one of it with `deciban stats`");
    folder.misused(&["merge", "a.stats", "b.stats"]);
    folder.misused(&["forget", "a.stats", "-o", "x.stats"]);
}

#[test]
fn more_rows_than_there_are_cannot_be_forgotten() {
    let folder = parts();
    folder.ok(&["merge", "a.stats", "b.stats", "-o", "two.stats"]);
    let message = folder.fails(&["forget", "a.stats", "two.stats", "-o", "x.stats"]);
    assert!(!message.is_empty());
}

#[test]
fn where_digits_are_lost_forget_says_so() {
    let folder = Folder::new();
    // A few rows that barely vary beside many that vary by 1e12.
    folder.write("small.csv", "x,t\n1,a\n1.001,a\n1.002,b\n1.004,b\n1.003,a\n1.001,b\n");
    let large: String =
        (0..50).map(|i| format!("{},{}\n", (i - 25) as f64 * 1e12, if i % 2 == 0 { "a" } else { "b" })).collect();
    folder.write("large.csv", format!("x,t\n{large}"));
    for name in ["small", "large"] {
        folder.ok(&["stats", &format!("{name}.csv"), "-t", "t", "-o", &format!("{name}.stats")]);
    }
    folder.ok(&["merge", "small.stats", "large.stats", "-o", "both.stats"]);
    let message = folder.fails(&["forget", "both.stats", "large.stats", "-o", "x.stats"]);
    assert!(message.contains("good digits") && message.contains("anew"), "{message}");
}
