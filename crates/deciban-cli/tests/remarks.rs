//! What `fit` and `stats` say about columns that are likely to mislead, and that they are silent otherwise.

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
        "warning: t.csv: column `id`: nearly all values differ, as in an identifier, which says nothing of new rows: \
         give --ignore id",
        "warning: t.csv: column `user`: nearly all values differ, as in an identifier, which says nothing of new rows: \
         give --ignore user",
        "note: t.csv: column `day`: dates, taken as days since 1970-01-01; --category day for levels, --ignore day for none",
        "note: t.csv: column `grade`: only 3 different whole numbers: if they are codes without an order, \
         give --category grade",
    ];
    for command in
        [&["fit", "--model", "naive-bayes"][..], &["stats", "--model", "naive-bayes"], &["fit", "--model", "logistic"]]
    {
        let more = ["t.csv", "-t", "t", "-o", "m.deciban"];
        assert_eq!(remarks(&folder, &[command, &more].concat()), expected, "{command:?}");
    }
    // Who follows the advice hears no more.
    let mended = ["--ignore", "k,local,id,user,day", "--category", "grade"];
    let fit = ["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "-o", "m.deciban"];
    assert_eq!(remarks(&folder, &[&fit[..], &mended].concat()), [""; 0]);
    assert_eq!(remarks(&folder, &[&fit[..], &mended, &["--category", "grade,day", "--ignore", "x"]].concat()), [""; 0]);
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
    ] {
        let path = shared(&format!("data/{data}"));
        assert_eq!(remarks(&folder, &[&["fit", &path, "-o", "m.deciban"], options].concat()), [""; 0], "{data}");
    }
}
