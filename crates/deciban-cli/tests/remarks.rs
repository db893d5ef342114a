//! What `fit` and `stats` say about columns that are likely to mislead, and that they are silent otherwise.

use deciban::learn::Classifier;
use deciban::model::Model;

use crate::common::{Folder, shared, wine};

/// What is said before the line about the model.
fn remarks(folder: &Folder, args: &[&str]) -> Vec<String> {
    let (code, _, stderr) = folder.run(args);
    assert_eq!(code, 0, "{stderr}");
    let is_remark = |line: &&str| line.starts_with("note:") || line.starts_with("warning:");
    stderr.lines().filter(is_remark).map(String::from).collect()
}

/// 120 rows with one column of each sort, and two that are as they should be.
fn table() -> String {
    let row = |i: i32| {
        let (code, day) = (1 + i * i % 5, format!("2024-{:02}-{:02}", 1 + i % 12, 1 + i % 28));
        let local = format!("{:02}/{:02}/2024", 1 + i % 28, 1 + i % 12);
        let (class, x) = (if i % 2 == 0 { "a" } else { "b" }, f64::from(i * 37 % 101) + 0.5 * f64::from(i % 2));
        format!("{i},u{i},7,{code},{day},{local},{x},{},{class}\n", if i % 3 == 0 { "red" } else { "blue" })
    };
    format!("id,user,k,grade,day,local,x,colour,t\n{}", (0..120).map(row).collect::<String>())
}

#[test]
fn each_column_is_told_once() {
    let folder = Folder::new();
    folder.write("t.csv", table());
    let expected = [
        "warning: t.csv: column `k`: always 7, which says nothing: give --ignore k",
        "warning: t.csv: column `local`: dates with the year last, of which each is a level of its own: \
         write the year first, as in 2024-05-01, or give --ignore local",
        "note: t.csv: column `day`: dates, taken as days since 1970-01-01; --category day for levels, --ignore day for none",
        "note: t.csv: column `grade`: only 3 different whole numbers: if they are codes without an order, \
         give --category grade",
    ];
    let identifier = |column: &str, what: &str| {
        let like = "nearly all values differ, as in an identifier, which says nothing of new rows";
        format!("warning: t.csv: column `{column}`: {like}: {what}")
    };
    let more = ["t.csv", "-t", "t", "-o", "m.deciban"];
    let left_out = [
        identifier("id", "it is left out; --number id keeps it"),
        identifier("user", "it is left out; --category user keeps it"),
    ];
    for command in [["fit", "--model", "naive-bayes"], ["fit", "--model", "logistic"]] {
        let said = remarks(&folder, &[&command[..], &more].concat());
        assert_eq!(said[..2], left_out, "{command:?}");
        assert_eq!(said[2..], expected, "{command:?}");
    }
    // Statistics are to be added to others, so they keep their columns.
    let said = remarks(&folder, &[&["stats", "--model", "naive-bayes"][..], &more].concat());
    assert_eq!([&said[..2], &said[4..]].concat(), expected);
    assert_eq!(said[2..4], [identifier("id", "give --ignore id"), identifier("user", "give --ignore user")]);
    // Who follows the advice hears no more.
    let mended = ["--ignore", "k,local,id,user,day", "--category", "grade"];
    let fit = ["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "-o", "m.deciban"];
    assert_eq!(remarks(&folder, &[&fit[..], &mended].concat()), [""; 0]);
    assert_eq!(remarks(&folder, &[&fit[..], &mended, &["--category", "grade,day", "--ignore", "x"]].concat()), [""; 0]);
}

/// The columns of a model.
fn columns(folder: &Folder, model: &str) -> Vec<String> {
    Model::load(folder.path().join(model)).unwrap().schema().names()
}

/// 200 rows with an identifier in front and two noisy columns.
fn with_identifier(first: impl Fn(usize) -> String) -> String {
    let row = |i: usize| {
        let (x, y) = ((i * 37 % 101) as f64 / 10.0, (i * 53 % 97) as f64 / 10.0 + 3.0 * (i % 2) as f64);
        format!("{},{x},{y},{}\n", first(i), ["a", "b"][i % 2])
    };
    format!("id,x,y,t\n{}", (0..200).map(row).collect::<String>())
}

#[test]
fn identifiers_are_left_out_unless_somebody_asks_for_them() {
    let folder = Folder::new();
    folder.write("t.csv", with_identifier(|i| format!("P{i:04}")));
    let fit = ["fit", "t.csv", "-t", "t", "-o", "m.deciban", "--model", "naive-bayes"];
    let like = "nearly all values differ, as in an identifier, which says nothing of new rows";
    let left_out = format!("warning: t.csv: column `id`: {like}: it is left out; --category id keeps it");
    assert_eq!(remarks(&folder, &fit), [&left_out[..]]);
    assert_eq!(columns(&folder, "m.deciban"), ["x", "y"]);
    folder.ok(&["predict", "m.deciban", "t.csv"]);
    folder.ok(&["evaluate", "m.deciban", "t.csv"]);
    for options in [&["--category", "id"][..], &["--columns", "id,x,y"]] {
        let said = remarks(&folder, &[&fit[..], options].concat());
        assert_eq!(said, [format!("warning: t.csv: column `id`: {like}: give --ignore id")], "{options:?}");
        assert_eq!(columns(&folder, "m.deciban"), ["id", "x", "y"]);
    }
    // A search, of rows that come once, and a comparison whose best model is written.
    let search = ["fit", "-", "-t", "t", "-o", "m.deciban", "--models", "naive-bayes", "--effort", "quick"];
    let (code, _, stderr) = folder.run_with(&search, &with_identifier(|i| format!("P{i:04}")));
    assert!(code == 0 && stderr.contains("column `id`: nearly all values differ"), "{stderr}");
    assert_eq!(columns(&folder, "m.deciban"), ["x", "y"]);
    let compare = ["compare", "t.csv", "-t", "t", "--models", "naive-bayes", "--effort", "quick", "-o", "c.deciban"];
    assert_eq!(remarks(&folder, &compare), [&left_out[..]]);
    assert_eq!(columns(&folder, "c.deciban"), ["x", "y"]);
    // Rows that are counted, in columns without names; where no other column is left, it stays.
    let counted = with_identifier(|i| i.to_string());
    folder.write("n.csv", counted.split_once('\n').unwrap().1);
    folder.ok(&["fit", "n.csv", "--no-header", "-t", "c3", "-o", "n.deciban", "--model", "naive-bayes"]);
    assert_eq!(columns(&folder, "n.deciban"), ["c1", "c2"]);
    folder.ok(&["predict", "n.deciban", "n.csv", "--no-header"]);
    folder.write("one.csv", (0..60).map(|i| format!("{i},{}\n", ["a", "b"][i / 30])).collect::<String>());
    let one = ["fit", "one.csv", "--no-header", "-t", "c1", "-o", "one.deciban", "--model", "gaussian"];
    assert_eq!(remarks(&folder, &one), [format!("warning: one.csv: column `c0`: {like}: give --ignore c0")]);
    // A file of several, and labels, weights and folds in columns behind it.
    folder.write("w.csv", with_identifier(|i| i.to_string()).replace("id,x,y,t", "id,x,w,t"));
    let weighed =
        ["compare", "w.csv", "w.csv", "-t", "t", "--weight", "w", "--models", "naive-bayes", "-o", "w.deciban"];
    folder.ok(&weighed);
    assert_eq!(columns(&folder, "w.deciban"), ["x"]);
}

#[test]
fn a_column_that_decides_the_class_alone_is_named() {
    let folder = Folder::new();
    let row = |i: usize| {
        let (class, noise) = (i * i % 7 % 3, (i * 37 % 101) as f64 / 200.0);
        let boat = if class == 1 { String::new() } else { format!("k{}", i % 5) };
        format!("{noise},{},{},{boat},{}\n", class as f64 + noise, ["k", "l", "m"][class], ["a", "b", "c"][class])
    };
    folder.write("t.csv", format!("x,score,code,boat,t\n{}", (0..300).map(row).collect::<String>()));
    let decides = |column: &str| {
        let what = "decides the class alone, so it may be something that is known only after the class";
        format!("warning: t.csv: column `{column}`: {what}: if new rows will lack it, give --ignore {column}")
    };
    for more in [&["--model", "naive-bayes"][..], &["--models", "naive-bayes", "--effort", "quick"]] {
        let said = remarks(&folder, &[&["fit", "t.csv", "-t", "t", "-o", "m.deciban"], more].concat());
        assert_eq!(said[..2], [decides("score"), decides("code")], "{said:?}");
        assert!(!said.iter().any(|line| line.contains("column `boat`: decides")), "{said:?}");
    }
    // One class against the rest is decided by whether there is a boat.
    let said = remarks(
        &folder,
        &["fit", "t.csv", "-t", "t", "--versus-rest", "b", "-o", "m.deciban", "--model", "naive-bayes"],
    );
    assert!(said.contains(&decides("boat")), "{said:?}");
}

/// A table that is repeated promises nothing of new rows, if copies are not dealt together.
#[test]
fn copies_are_dealt_together() {
    let folder = Folder::new();
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / 1e4
    };
    let rows: String = (0..80)
        .map(|i| format!("{},{},{},{}\n", noise() + 600.0 * (i % 2) as f64, noise(), noise(), ["a", "b"][i % 2]))
        .collect();
    folder.write("t.csv", format!("x,y,z,t\n{}", rows.repeat(5)));
    folder.write("once.csv", format!("x,y,z,t\n{rows}"));
    let log_loss = |table: &str| {
        let args = ["compare", table, "-t", "t", "--models", "parzen", "--folds", "5", "--json"];
        folder.json(&args)[0]["log_loss"].as_f64().unwrap()
    };
    // The classes overlap.
    assert!(log_loss("t.csv") > 0.3 && log_loss("once.csv") > 0.3, "{} {}", log_loss("t.csv"), log_loss("once.csv"));
    let copies = "warning: at least 80 % of the rows are copies of others: equal rows are kept in one fold, as with \
                  --equal-together, since a model that has learned from a row knows its copies";
    for args in [
        &["fit", "t.csv", "-t", "t", "-o", "m.deciban", "--models", "gaussian", "--effort", "quick"][..],
        &["fit", "t.csv", "-t", "t", "-o", "m.deciban", "--model", "naive-bayes", "--calibrate", "logistic"],
        &["compare", "t.csv", "-t", "t", "--models", "gaussian"],
    ] {
        assert_eq!(remarks(&folder, args).iter().filter(|line| *line == copies).count(), 1, "{args:?}");
    }
    let is_silent = |args: &[&str]| remarks(&folder, args).iter().all(|line| !line.contains("copies"));
    assert!(is_silent(&["compare", "t.csv", "-t", "t", "--models", "gaussian", "--equal-together"]));
    assert!(is_silent(&["compare", "once.csv", "-t", "t", "--models", "gaussian"]));
}

#[test]
fn classes_and_levels_that_mislead_are_named() {
    let folder = Folder::new();
    let fit = |more: &[&str]| {
        let said = remarks(&folder, &[&["fit", "t.csv", "-t", "t", "-o", "m.deciban"], more].concat());
        said.into_iter().map(|line| line.replace("warning: ", "")).collect::<Vec<_>>()
    };
    let noise = |i: usize| (i * 37 % 101) as f64 / 10.0;
    let table = |header: &str, rows: usize, row: &dyn Fn(usize) -> String| {
        folder.write("t.csv", format!("{header}\n{}", (0..rows).map(|i| row(i) + "\n").collect::<String>()));
    };
    table("x,t", 60, &|i| format!("{},{}", noise(i), ["yes", "no", "Yes"][i % 3]));
    let alike =
        "the classes `Yes` and `yes` differ only in upper and lower case: if they are one class, write them alike";
    assert_eq!(fit(&["--model", "gaussian"]), [alike]);
    table("x,t", 400, &|i| format!("{},{}", noise(i), i % 197 * 2));
    let quantity = "the target `t` has 197 different numbers, and each is a class of its own: if it is a quantity, make a \
                    column of a few classes of it, such as low and high";
    assert_eq!(fit(&["--model", "gaussian", "--covariance", "tied"]), [quantity]);
    table("x,y,t", 60, &|i| format!("{},,{}", noise(i), ["a", "b"][i % 2]));
    let empty = "t.csv: column `y`: all cells are missing, so it is left out";
    assert_eq!(fit(&["--model", "naive-bayes"]), [empty]);
    table("x,place,t", 6000, &|i| format!("{},p{},{}", noise(i), i * 7 % 2500, ["a", "b"][i * i % 7 % 2]));
    let levels = "column `place`: 2500 levels, most of few rows each, which say little of new rows: join them to fewer, or \
                  give --ignore place";
    assert_eq!(fit(&["--model", "naive-bayes"]), [levels]);
    table("x,lab,price,t", 200, &|i| {
        format!("{},{} mg/dl,\"$1,{:03}\",{}", noise(i), 100 + i % 40, i % 60, ["a", "b"][i * i % 7 % 2])
    });
    let unit = |column: &str, example: &str| {
        format!(
            "t.csv: column `{column}`: numbers with a unit or a sign, as `{example}`, are read as levels: write the number \
             alone, or give --category {column}"
        )
    };
    assert_eq!(fit(&["--model", "naive-bayes"]), [unit("lab", "100 mg/dl"), unit("price", "$1,000")]);
    // Prices are not identifiers, even if all of them differ.
    table("x,price,t", 200, &|i| format!("{},\"$1,{i:03}\",{}", noise(i), ["a", "b"][i * i % 7 % 2]));
    let said = fit(&["--model", "naive-bayes"]);
    assert!(matches!(&said[..], [one] if one.contains("column `price`: numbers with a unit or a sign")), "{said:?}");
    table("x,t", 1000, &|i| format!("{},{}", noise(i), if i % 200 == 0 { "yes" } else { "no" }));
    let rare = "note: class `yes` has 0.50 % of the rows: where every mistake costs the same, hardly a row is decided for it. \
                With --costs, `predict` and `evaluate` decide by what a mistake costs";
    assert_eq!(fit(&["--model", "gaussian"]), [rare]);
}

/// A model of numbers alone says which cell kept a column from being one.
#[test]
fn an_error_about_nearly_numbers_names_the_cell() {
    let folder = Folder::new();
    let row =
        |i: i32| format!("{},{}\n", if i == 30 { "12%".into() } else { i.to_string() }, ["a", "b"][i as usize % 2]);
    folder.write("t.csv", format!("x,t\n{}", (0..60).map(row).collect::<String>()));
    for model in ["gaussian", "parzen"] {
        assert_eq!(
            folder.fails(&["fit", "t.csv", "-t", "t", "--model", model]),
            "t.csv: column `x`: 59 of 60 cells are numbers, `12%` is not: give --missing 12% or --category x"
        );
    }
}

#[test]
fn many_columns_are_told_in_one_line() {
    let folder = Folder::new();
    let row = |i: i32| format!("0,0,0,0,0,{},{}\n", i * 7 % 13, if i % 2 == 0 { "a" } else { "b" });
    folder.write("t.csv", format!("a,b,c,d,e,x,t\n{}", (0..40).map(row).collect::<String>()));
    let said = remarks(&folder, &["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "-o", "m.deciban"]);
    let expected =
        "warning: t.csv: columns `a`, `b`, `c` and 2 more: always the same, which says nothing: give --ignore COLUMN";
    assert_eq!(said, [expected]);
}

#[test]
fn days_are_numbers_to_the_model() {
    let folder = Folder::new();
    folder.write("t.csv", "day,t\n2024-05-01,a\n2024-05-03,a\n2024-05-11,b\n2024-05-15,b\n");
    folder.write("n.csv", "day,t\n19844,a\n19846,a\n19854,b\n19858,b\n");
    folder.ok(&["fit", "--model", "gaussian", "t.csv", "-t", "t", "-o", "m.deciban"]);
    assert_eq!(folder.ok(&["predict", "m.deciban", "t.csv"]), folder.ok(&["predict", "m.deciban", "n.csv"]));
    folder.write("bad.csv", "day,t\n2024-05-01,a\n1 May,b\n");
    let message = folder.fails(&["predict", "m.deciban", "bad.csv"]);
    assert_eq!(message, "bad.csv:3: column `day`: `1 May` is not a number: the model knows this column as numbers");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn data_that_are_as_they_should_be_are_passed_in_silence() {
    let folder = Folder::new();
    assert_eq!(remarks(&folder, &["fit", "--model", "gaussian", &wine(), "-t", "Type", "-o", "m.deciban"]), [""; 0]);
    for (data, options) in [
        ("iris/iris.csv", &["-t", "species"][..]),
        ("adult/adult.data.gz", &["--no-header", "-t", "c14", "--model", "tree"]),
        (
            "sms-spam/SMSSpamCollection",
            &["--format", "tsv", "--no-header", "--no-quotes", "-t", "c0", "--model", "multinomial"],
        ),
        ("pendigits/pendigits.tra", &["--no-header", "-t", "c16", "--shrinkage", "0.1"]),
        (
            "optdigits/optdigits.tra",
            &["--no-header", "-t", "c64", "--model", "gaussian", "--shrinkage", "0.1", "--ignore", "c0,c39"],
        ),
        (
            "breast-cancer/breast-cancer-wisconsin.data",
            &["--no-header", "-t", "c10", "--models", "naive-bayes", "--effort", "quick"],
        ),
        ("car/car.data", &["--no-header", "-t", "c6", "--model", "naive-bayes"]),
        ("vehicle/vehicle.csv", &["-t", "Class", "--model", "gaussian"]),
        ("breast-cancer/wdbc.csv", &["-t", "diagnosis", "--model", "gaussian"]),
    ] {
        let path = shared(&format!("data/{data}"));
        assert_eq!(remarks(&folder, &[&["fit", &path, "-o", "m.deciban"], options].concat()), [""; 0], "{data}");
    }
}
