//! What cells mean: levels that are written in several ways, markers of missing cells, and how numbers are written.

use std::sync::Arc;

use crate::common::{Folder, dump, read, target};
use arrow_array::*;
use deciban::Wording;
use deciban::data::{Kind, Schema};
use deciban_data::{Files, OddSort, Options, RowReader};

/// The columns and classes of a table, after a run.
fn learned(folder: &Folder, text: &str, options: Options) -> Schema {
    let files = Files::open(&[folder.write("fit.csv", text)], options).unwrap();
    dump(&files).unwrap();
    files.schema().unwrap()
}

/// What a model of `schema` reads, and the cells that it has not seen.
fn used(folder: &Folder, schema: &Schema, text: &str, options: Options) -> (Vec<String>, Vec<(String, u64, String)>) {
    let files = Files::open_as(&[folder.write("new.csv", text)], options, schema).unwrap();
    let rows = dump(&files).unwrap();
    let unseen = files.unseen().into_iter().map(|unseen| (unseen.column, unseen.cells, unseen.example));
    (rows, unseen.collect())
}

#[test]
fn equal_numbers_are_equal_levels_at_prediction_however_they_are_written() {
    let folder = Folder::new();
    let category = Options { kinds: vec![("doors".into(), Kind::Category)], ..target("t") };
    let schema = learned(&folder, "doors,t\n4,1\n2,0\n5more,1\n04,0\n", category);
    assert_eq!(schema.columns()[0].levels, ["4", "2", "5more", "04"]);
    let text = "doors,t\n4.0,1.0\n+2,0.0\n4e0,1\n5more,0\n04,1\n3,0\n3.0,0\n6,1\n?,1\n";
    let (rows, unseen) = used(&folder, &schema, text, target("t"));
    assert_eq!(rows, ["4 =1", "2 =0", "4 =1", "5more =0", "04 =1", "unseen =0", "unseen =0", "unseen =1", "- =1"]);
    assert_eq!(unseen, [("doors".to_string(), 3, "3".to_string())]);
    assert_eq!(schema.class("1.0"), schema.class("1"));
}

#[test]
fn equal_numbers_are_equal_levels_at_fit_named_by_the_first_spelling() {
    let folder = Folder::new();
    let category = Options { kinds: vec![("x".into(), Kind::Category)], ..target("t") };
    let schema = learned(&folder, "x,t\n4.0,1.0\n4,1\n+4,0\nTRUE,1e0\ntrue,0.0\n", category);
    assert_eq!(schema.columns()[0].levels, ["4.0", "TRUE"]);
    assert_eq!(schema.classes(), ["1.0", "0"]);
}

#[test]
fn flags_are_known_by_other_words() {
    let folder = Folder::new();
    for (levels, cells) in [
        (["true", "false"], ["1", "0"]),
        (["True", "False"], ["yes", "NO"]),
        (["yes", "no"], ["TRUE", "false"]),
        (["Y", "N"], ["1.0", "0.0"]),
        (["t", "f"], ["T", "F"]),
    ] {
        let schema = learned(&folder, &format!("x,t\n{},a\n{},b\n", levels[0], levels[1]), target("t"));
        let (rows, unseen) = used(&folder, &schema, &format!("x\n{}\n{}\n", cells[0], cells[1]), Options::default());
        assert_eq!((rows, unseen), (levels.map(String::from).to_vec(), vec![]), "{levels:?}");
    }
    // Where a model has numbers, flags are 1 and 0.
    let schema = learned(&folder, "x,t\n1,a\n0,b\n", target("t"));
    assert_eq!(used(&folder, &schema, "x\ntrue\nFalse\n", Options::default()).0, ["1", "0"]);
}

#[test]
fn the_usual_markers_of_missing_cells_make_no_category_of_numbers() {
    let folder = Folder::new();
    let markers = [
        "-", "--", ".", "#N/A", "#N/A N/A", "#NA", "<NA>", "n.a.", "n/a", "nan", "-nan", "null", "none", "nil",
        "unknown", "Unknown", "MISSING", "?", "", "NaT", "—",
    ];
    for marker in markers {
        let path = folder.write("a.csv", format!("x,t\n1.5,a\n\"{marker}\",b\n2,a\n"));
        assert_eq!(read(&path, target("t")).unwrap(), ["1.5 =a", "- =b", "2 =a"], "{marker}");
        let path = folder.write("a.csv", format!("x,t\n2024-05-01,a\n\"{marker}\",b\n"));
        assert_eq!(read(&path, target("t")).unwrap(), ["19844 =a", "- =b"], "{marker}");
        let path = folder.write("a.jsonl", format!("{{\"x\": 1.5, \"t\": 1}}\n{{\"x\": \"{marker}\", \"t\": 2}}\n"));
        assert_eq!(read(&path, target("t")).unwrap(), ["1.5 =1", "- =2"], "{marker}");
    }
    // At prediction, too.
    let schema = Schema::numbers(&["x"], "t", &["a", "b"]).unwrap();
    for marker in markers {
        let (rows, _) = used(&folder, &schema, &format!("x\n1\n\"{marker}\"\n"), Options::default());
        assert_eq!(rows, ["1", "-"], "{marker}");
    }
    let files = Files::open(&[folder.write("a.csv", "x,t\n1.5,a\nunknown,b\n-,a\n")], target("t")).unwrap();
    let [oddity] = files.oddities() else { panic!("{:?}", files.oddities()) };
    assert_eq!((oddity.sort, oddity.odd, oddity.example.as_str()), (OddSort::TakenAsMissing, 2, "unknown"));
}

#[test]
fn none_and_unknown_are_levels_among_levels() {
    let folder = Folder::new();
    let schema = learned(&folder, "job,t\ncook,a\nunknown,b\nnone,a\n-,b\nNA,a\n", target("t"));
    assert_eq!(schema.columns()[0].levels, ["cook", "unknown", "none", "-"]);
    let (rows, unseen) = used(&folder, &schema, "job\nnone\nunknown\n-\n?\n", Options::default());
    assert_eq!((rows, unseen), (["none", "unknown", "-", "-"].map(String::from).to_vec(), vec![]));
    let schema = learned(&folder, "x,t\nunknown,a\nunknown,b\n", target("t"));
    assert_eq!(schema.columns()[0].kind, Kind::Category);
}

#[test]
fn columns_that_are_nearly_numbers_are_told() {
    let folder = Folder::new();
    let odd = |cell: fn(usize) -> String| {
        let rows: String = (0..119).map(|i| format!("\"{}\",{}\n", cell(i), i % 2)).collect();
        let files = Files::open(&[folder.write("a.csv", format!("x,t\n{rows}"))], target("t")).unwrap();
        assert_eq!(files.columns()[0].kind, Kind::Category);
        files.oddities().iter().map(|oddity| (oddity.sort, oddity.message())).collect::<Vec<_>>()
    };
    let lots = odd(|i| if i == 7 { "lots".into() } else { i.to_string() });
    let message = "118 of 119 cells are numbers, `lots` is not: give §missing='lots' or §category='x'".to_string();
    assert_eq!(lots, [(OddSort::NotNumbers, message)]);
    let percentages = odd(|i| format!("{i}%"));
    assert_eq!(percentages[0].0, OddSort::Percentages);
    assert!(percentages[0].1.starts_with("119 of 119 cells are percentages, as `0%`"), "{}", percentages[0].1);
    let commas = odd(|i| if i % 4 == 0 { i.to_string() } else { format!("{},5", i) });
    assert_eq!(commas[0].0, OddSort::DecimalCommas);
    assert!(commas[0].1.ends_with("as `1,5`: give §decimal=',' or §category='x'"), "{}", commas[0].1);
    assert!(odd(|i| if i % 5 == 0 { "lots".into() } else { i.to_string() }).is_empty());
}

#[test]
fn a_decimal_comma_and_thousands_are_read_when_told() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "x;y;t\n1,5;1.234,5;a\n-2;-;b\n0,25;12;a\n");
    let options = Options { decimal: Some(','), thousands: Some('.'), ..target("t") };
    let expected = ["1.5 1234.5 =a", "-2 - =b", "0.25 12 =a"];
    assert_eq!(read(&path, options.clone()).unwrap(), expected);
    let quoted = folder.write("b.csv", "x,y,t\n\"1,5\",\"1.234,5\",a\n-2,-,b\n\"0,25\",12,a\n");
    assert_eq!(read(&quoted, options.clone()).unwrap(), expected);
    // The model remembers it.
    let files = Files::open(std::slice::from_ref(&path), options).unwrap();
    dump(&files).unwrap();
    let schema = files.schema().unwrap();
    assert_eq!((schema.spelling().decimal, schema.spelling().thousands), (',', Some('.')));
    assert_eq!(used(&folder, &schema, "x;y\n1,5;1.000\n", Options::default()).0, ["1.5 1000"]);
    let point = Options { decimal: Some('.'), thousands: Some(','), ..Options::default() };
    assert_eq!(used(&folder, &schema, "x;y\n1.5;1,000\n", point).0, ["1.5 1000"]);
    let error = read(&path, Options { decimal: Some('x'), ..target("t") }).unwrap_err().worded(Wording::Flags);
    assert!(error.contains("decimal: `x` cannot stand before a fraction"), "{error}");
    let error = read(&path, Options { thousands: Some('.'), ..target("t") }).unwrap_err().worded(Wording::Flags);
    assert!(error.contains("thousands: `.` cannot group digits"), "{error}");
}

#[test]
fn a_marker_that_is_a_number_is_missing_in_every_kind_of_column() {
    let folder = Folder::new();
    let missing = || Some(vec!["-999".to_string()]);
    let category = Options { kinds: vec![("c".into(), Kind::Category)], missing: missing(), ..target("t") };
    let path = folder.write("a.csv", "x,c,t\n-999,1,a\n-999.0,-999.0,b\n3,-999,a\n");
    assert_eq!(read(&path, category).unwrap(), ["- 1 =a", "- - =b", "3 - =a"]);
    let schema = Schema::numbers(&["x", "n"], "t", &["a", "b"]).unwrap();
    let reader = RowReader::new(&schema, Options { missing: missing(), ..Options::default() }).unwrap();
    let columns: [(&str, ArrayRef); 2] =
        [("x", Arc::new(Float64Array::from(vec![-999.0, 2.0]))), ("n", Arc::new(Int64Array::from(vec![7, -999])))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let rows = [reader.arrow_batches(&[batch]), reader.json(r#"[{"x": -999, "n": 7}, {"x": 2, "n": "-999.0"}]"#)];
    for rows in rows {
        assert_eq!(numbers(&rows.unwrap()), ["NaN 7", "2 NaN"]);
    }
    let bytes = [&[0u8, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2][..], &[1, 0, 0, 4]].concat();
    let zero = Options { missing: Some(vec!["0".into()]), ..Options::default() };
    assert_eq!(read(&folder.write("a.idx", bytes), zero).unwrap(), ["1 -", "- 4"]);
}

fn numbers(rows: &deciban_data::Rows) -> Vec<String> {
    use deciban::data::{Cells, Rows, Tile};
    let batch = rows.batch().unwrap();
    let (columns, mut tile) = ((0..batch.width()).collect::<Vec<_>>(), Tile::default());
    Cells::new(&batch, &columns, Rows::Range(0..batch.rows())).read_numbers(&mut tile).unwrap();
    let row = |i: usize| columns.iter().map(|j| tile.column(*j)[i].to_string()).collect::<Vec<_>>().join(" ");
    (0..batch.rows()).map(row).collect()
}
