//! Rows in memory for a model: the same however they come.

use std::sync::Arc;

use crate::common::Folder;
use arrow_array::*;
use deciban::Error;
use deciban::data::{Cells, Column, Kind, MISSING, Rows as Chosen, Schema, Tile, UNSEEN, View};
use deciban::text::Reading;
use deciban_data::{Options, RowReader, Rows, Target};

fn column(name: &str, kind: Kind, levels: &[&str]) -> Column {
    Column { name: name.into(), kind, levels: levels.iter().map(|level| level.to_string()).collect() }
}

/// A number, a category, a flag, a number that is a code, and a text.
fn schema() -> Schema {
    let columns = vec![
        column("x", Kind::Number, &[]),
        column("colour", Kind::Category, &["red", "blue"]),
        column("ok", Kind::Category, &["false", "true"]),
        column("code", Kind::Category, &["1", "2", "3"]),
        column("note", Kind::Text, &["free", "entry", "now"]),
    ];
    let reading = Reading { tokeniser: Default::default(), hashed_bits: None };
    Schema::new(columns, "class", vec!["yes".into(), "no".into()]).unwrap().with_reading(Some(reading))
}

/// A row's cells, as texts; the first number is missing in every fifth row, and so on.
#[derive(Clone)]
struct Row {
    x: Option<f64>,
    colour: Option<&'static str>,
    ok: bool,
    code: Option<i64>,
    note: String,
    class: &'static str,
}

fn fifty() -> Vec<Row> {
    let row = |i: usize| Row {
        x: (!i.is_multiple_of(5)).then(|| i as f64 / 8.0 - 2.0),
        colour: [Some("red"), Some("blue"), Some("green"), None][i % 4],
        ok: i.is_multiple_of(3),
        code: (!i.is_multiple_of(7)).then_some((i % 4) as i64 + 1),
        note: ["free entry", "now, \"now\" free", "", "somebody else's"][i % 4].to_string(),
        class: ["yes", "no"][i % 2],
    };
    (0..50).map(row).collect()
}

fn json(rows: &[Row]) -> String {
    let object = |row: &Row| {
        serde_json::json!({
            "note": row.note, "code": row.code, "class": row.class, "ok": row.ok, "colour": row.colour, "x": row.x,
        })
    };
    serde_json::Value::Array(rows.iter().map(object).collect()).to_string()
}

fn csv(rows: &[Row]) -> String {
    let mut text = "id,class,x,colour,ok,code,note\n".to_string();
    for (i, row) in rows.iter().enumerate() {
        let x = row.x.map_or("NA".to_string(), |x| x.to_string());
        let code = row.code.map(|code| code.to_string()).unwrap_or_default();
        let note = row.note.replace('"', "\"\"");
        let colour = row.colour.unwrap_or("?");
        text += &format!("{i},{},{x},{colour},{},{code},\"{note}\"\n", row.class, row.ok);
    }
    text
}

fn record_batch(rows: &[Row]) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("note", Arc::new(rows.iter().map(|row| Some(row.note.as_str())).collect::<StringArray>())),
        ("class", Arc::new(rows.iter().map(|row| Some(row.class)).collect::<LargeStringArray>())),
        ("code", Arc::new(rows.iter().map(|row| row.code).collect::<Int64Array>())),
        ("ok", Arc::new(rows.iter().map(|row| Some(row.ok)).collect::<BooleanArray>())),
        ("x", Arc::new(rows.iter().map(|row| row.x).collect::<Float64Array>())),
        ("colour", Arc::new(rows.iter().map(|row| row.colour).collect::<StringViewArray>())),
        ("extra", Arc::new(rows.iter().map(|_| Some(1u8)).collect::<UInt8Array>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// All that a batch holds.
fn dump(rows: &Rows) -> Vec<String> {
    let batch = rows.batch().unwrap();
    let mut lines = vec![String::new(); batch.rows()];
    let mut tile = Tile::default();
    for column in 0..batch.width() {
        match batch.view(column) {
            View::Numbers(_) => {
                Cells::new(&batch, &[column], Chosen::Range(0..batch.rows())).read_numbers(&mut tile).unwrap();
                lines.iter_mut().zip(tile.column(0)).for_each(|(line, x)| *line += &format!("{x} "));
            }
            View::Codes(codes) => lines.iter_mut().zip(*codes).for_each(|(line, code)| *line += &format!("{code} ")),
            View::Sparse(words) => words.for_each(&Chosen::Range(0..batch.rows()), |row, word, count| {
                lines[row] += &format!("{word}×{count} ");
            }),
        }
    }
    if let Some(labels) = batch.labels() {
        lines.iter_mut().zip(labels).for_each(|(line, class)| *line += &format!("={class}"));
    }
    lines
}

#[test]
fn the_same_cells_by_json_csv_arrow_and_file_are_equal_batches() {
    let rows = fifty();
    let folder = Folder::new();
    let paths = [
        folder.write("a.csv", csv(&rows)),
        folder.write("a.arrow", stream(&record_batch(&rows))),
        folder.write(
            "a.jsonl",
            rows.iter().map(|row| json(std::slice::from_ref(row))[1..].replace("}]", "}\n")).collect::<String>(),
        ),
    ];
    for options in [Options::default(), Options { target: Target::Column("class".into()), ..Options::default() }] {
        let labelled = options.target != Target::None;
        let reader = RowReader::new(&schema(), options).unwrap();
        let from_json = reader.json(&json(&rows)).unwrap();
        let expected = dump(&from_json);
        assert_eq!(expected.len(), 50);
        // 1/8 − 2, blue, false, the second code, `now` twice, the comma and quotes unseen, `free`.
        let first = format!("-1.875 1 0 1 0×1 2×2 {UNSEEN}×3 {}", if labelled { "=1" } else { "" });
        assert_eq!(expected[1], first);
        assert_eq!(expected[4], format!("-1.5 0 0 0 0×1 1×1 {}", if labelled { "=0" } else { "" }));
        assert!(expected[35].starts_with(&format!("NaN {MISSING} 0 {MISSING} ")), "{}", expected[35]);
        let mut others = vec![
            ("parsed JSON", reader.json_value(&serde_json::from_str(&json(&rows)).unwrap()).unwrap()),
            ("CSV", reader.csv(csv(&rows).as_bytes()).unwrap()),
            ("Arrow", reader.arrow(&stream(&record_batch(&rows))).unwrap()),
            ("batches", reader.arrow_batches(&[record_batch(&rows[..20]), record_batch(&rows[20..])]).unwrap()),
        ];
        for path in &paths {
            others.push(("file", reader.files(std::slice::from_ref(path)).unwrap()));
        }
        let unseen: Vec<(String, u64)> = from_json
            .unseen()
            .iter()
            .map(|unseen| (format!("{} {}", unseen.column, unseen.example), unseen.cells))
            .collect();
        // Green is every fourth colour; 4 is every fourth code but two of the sevenths.
        assert_eq!(unseen, [("colour green".to_string(), 12), ("code 4".to_string(), 10)]);
        for (way, other) in others {
            assert_eq!(dump(&other), expected, "{way}");
            assert_eq!(other.unseen(), from_json.unseen(), "{way}");
        }
    }
}

#[test]
fn one_object_is_one_row_and_a_reader_serves_all_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let reader = RowReader::new(&schema(), Options::default()).unwrap();
    shared(&reader);
    let rows = reader.json(r#"{"code": 2.0, "ok": "True", "x": "1.5"}"#).unwrap();
    assert_eq!(dump(&rows), [format!("1.5 {MISSING} 1 1 ")]);
    assert_eq!(dump(&reader.csv(b"x,colour,ok,code,note\n").unwrap()), [""; 0]);
    assert!(reader.json("[]").unwrap().is_empty() && reader.arrow_batches(&[]).unwrap().is_empty());
    // A flag is 1 or 0 where the model has numbers.
    let numbers = Schema::numbers(&["x"], "t", &["a", "b"]).unwrap();
    assert_eq!(dump(&Rows::from_json(&numbers, r#"[{"x": true}, {"x": false}]"#).unwrap()), ["1 ", "0 "]);
}

#[test]
fn errors_name_the_row_and_the_column() {
    let reader = RowReader::new(&schema(), Options::default()).unwrap();
    let place = |error: Error| match error {
        Error::Cell { column, row, message } => (row, column, message),
        Error::Row { row, message } => (row, String::new(), message),
        Error::Input { line, message, .. } => (line.unwrap_or(0), "a line".into(), message),
        other => (0, String::new(), other.to_string()),
    };
    let of_json = |text: &str| place(reader.json(text).unwrap_err());
    let (row, column, message) = of_json(r#"[{"x": 1}, {"x": 2, "color": "red"}]"#);
    assert_eq!((row, column.as_str()), (2, "color"));
    assert_eq!(message, "the model has no such column: did you mean `colour`?");
    let (row, column, message) = of_json(r#"[{"x": 1}, {"x": "much"}]"#);
    assert_eq!((row, column.as_str()), (2, "x"));
    assert!(message.starts_with("`much` is not a number"), "{message}");
    let (row, column, message) = of_json(r#"{"x": 1, "x": 2}"#);
    assert_eq!((row, column.as_str(), message.as_str()), (1, "x", "the row has this key twice"));
    assert_eq!(of_json(r#"[{"x": 1}, {"x": [2]}]"#).0, 2);
    let (row, _, message) = of_json(r#"[{"x": 1}, 3]"#);
    assert_eq!(
        (row, message.as_str()),
        (2, "invalid type: integer `3`, expected an object whose keys are the columns")
    );
    let (line, _, message) = of_json("[{\"x\": 1},\n{\"x\" 2}]");
    assert!(line == 2 && message.starts_with("this is not JSON: expected `:` at character"), "{line}: {message}");
    assert!(of_json("3").2.contains("expected an object whose keys are the columns, or a list"));

    let of_csv = |text: &str| place(reader.csv(text.as_bytes()).unwrap_err());
    let header = "x,colour,ok,code,note\n";
    assert_eq!(of_csv(&format!("{header}1,red,true,1,\"a\nb\"\n2,red,true\n")).0, 2);
    let (row, column, _) = of_csv(&format!("{header}1,red,true,1,\"a\nb\"\nmuch,red,true,1,a\n"));
    assert_eq!((row, column.as_str()), (2, "x"));
    assert!(of_csv("x,colour\n1,red\n").2.contains("the model needs columns `ok`, `code`, `note`"));
    let batch = RecordBatch::try_from_iter([("x", Arc::new(Float64Array::from(vec![1.0])) as ArrayRef)]).unwrap();
    assert!(place(reader.arrow_batches(&[batch]).unwrap_err()).2.contains("the model needs columns"));
    assert!(reader.arrow(b"no arrow").is_err());

    let lenient = RowReader::new(&schema(), Options { allow_unknown: true, ..Options::default() }).unwrap();
    assert_eq!(lenient.json(r#"{"x": 1, "color": "red"}"#).unwrap().len(), 1);
    let ignoring = RowReader::new(&schema(), Options { ignore: vec!["id".into()], ..Options::default() }).unwrap();
    assert_eq!(ignoring.json(r#"{"x": 1, "id": "A7", "class": "yes"}"#).unwrap().len(), 1);
    assert!(ignoring.json(r#"{"x": 1, "color": "red"}"#).is_err());
}

#[test]
fn labels_that_the_model_does_not_know_are_refused() {
    let options = Options { target: Target::Column("class".into()), ..Options::default() };
    let reader = RowReader::new(&schema(), options).unwrap();
    let error = reader.json(r#"[{"class": "yes"}, {"class": "maybe"}]"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `class`, row 2: the model does not know the class `maybe`: its classes are `yes`, `no`"
    );
    let error = reader.json(r#"[{"class": "yes"}, {"x": 1}]"#).unwrap_err();
    assert_eq!(error.to_string(), "column `class`, row 2: the class is missing: fill it in or remove the row");
}
