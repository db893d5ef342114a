//! What may be given as data: pipes by path, JSON of any shape, files of other sorts; and what is handed through.

use std::io::Write;

use crate::common::{Folder, dump, read, target};
use deciban::Wording;
use deciban::data::{MISSING, Schema};
use deciban_data::{Files, Format, Options, RowReader, peek_columns};

/// A FIFO, into which a thread writes the text once.
#[cfg(unix)]
fn fifo(folder: &Folder, name: &str, text: impl Into<Vec<u8>>) -> (String, std::thread::JoinHandle<()>) {
    let path = folder.path(name);
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let (to, text) = (path.clone(), text.into());
    let writer = std::thread::spawn(move || {
        let mut pipe = std::fs::OpenOptions::new().write(true).open(to).unwrap();
        text.chunks(1000).for_each(|part| pipe.write_all(part).unwrap());
    });
    (path, writer)
}

#[cfg(unix)]
#[test]
fn pipes_by_path_are_read_like_standard_input() {
    let folder = Folder::new();
    let text: String = (0..30_000).map(|i| format!("{i},{}\n", i % 7)).collect();
    let text = format!("x,t\n{text}");
    let expected = read(&folder.write("a.csv", &text), target("t")).unwrap();
    // Names of columns are asked for first, and take nothing away.
    let (path, writer) = fifo(&folder, "once", text.clone());
    assert_eq!(peek_columns(std::slice::from_ref(&path), &target("t")).unwrap(), ["x", "t"]);
    assert_eq!(read(&path, target("t")).unwrap(), expected);
    writer.join().unwrap();
    // Several passes, and the same FIFO for the next writer.
    for _ in 0..2 {
        std::fs::remove_file(folder.path("twice")).unwrap_or_default();
        let (path, writer) = fifo(&folder, "twice", text.clone());
        let mut files = Files::open(&[path], target("t")).unwrap();
        files.make_rereadable().unwrap();
        assert_eq!(dump(&files).unwrap(), expected);
        assert_eq!(dump(&files).unwrap(), expected);
        writer.join().unwrap();
    }
    // Two pipes at once, one of them compressed; the name may say the format.
    let (one, first) = fifo(&folder, "one", "x,t\n1,a\n");
    let (two, second) = fifo(&folder, "two.tsv", zstd::encode_all(&b"x\tt\n2\tb\n"[..], 3).unwrap());
    assert_eq!(dump(&Files::open(&[one.clone(), two], target("t")).unwrap()).unwrap(), ["1 =a", "2 =b"]);
    first.join().unwrap();
    second.join().unwrap();
    let error = Files::open(&[one.clone(), one], target("t")).err().unwrap().worded(Wording::Flags);
    assert_eq!(error, "standard input (-) or another pipe can be given only once");
}

#[cfg(unix)]
#[test]
fn a_pipe_by_its_descriptor_is_read() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "x,t\n1,a\n2,b\n");
    // As a shell gives it for <(command).
    let mut child = std::process::Command::new("cat").arg(&path).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let descriptor = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&out));
    if std::path::Path::new(&descriptor).exists() {
        assert_eq!(read(&descriptor, target("t")).unwrap(), ["1 =a", "2 =b"]);
    }
    child.wait().unwrap();
}

#[test]
fn a_json_list_and_objects_over_several_lines_are_read() {
    let folder = Folder::new();
    let expected = ["1.5 a,{[\\ =1", "- b =2"];
    let texts = [
        r#"[{"x": 1.5, "s": "a,{[\\", "t": 1}, {"s": "b", "t": 2}]"#,
        "[\n  {\n    \"x\": 1.5,\n    \"s\": \"a,{[\\\\\",\n    \"t\": 1\n  },\n  {\"s\": \"b\", \"t\": 2}\n]\n",
        "{\n  \"x\": 1.5, \"s\": \"a,{[\\\\\", \"t\": 1\n}\n{\"s\": \"b\", \"t\": 2}\n",
        "{\"x\": 1.5, \"s\": \"a,{[\\\\\", \"t\": 1}\n{\"s\": \"b\", \"t\": 2}\n",
    ];
    for text in texts {
        for name in ["a.json", "a.jsonl", "a.txt", "noext"] {
            assert_eq!(read(&folder.write(name, text), target("t")).unwrap(), expected, "{name}: {text}");
        }
    }
    let one = folder.write("one.json", "{\n\"x\": 3, \"t\": 1}");
    assert_eq!(read(&one, target("t")).unwrap(), ["3 =1"]);
    // Longer than a block.
    let rows: String = (0..100_000).map(|i| format!("{{\"x\": {i},\n\"s\": \"}}]{i}\", \"t\": {}}},", i % 2)).collect();
    let long = folder.write("long.json", format!("[{}]", rows.trim_end_matches(',')));
    let options = Options { ignore: vec!["s".into()], ..target("t") };
    let read_long = read(&long, options.clone()).unwrap();
    assert_eq!((read_long.len(), read_long[99_999].as_str()), (100_000, "99999 =1"));

    let error = |text: &str| {
        folder.clean(&read(&folder.write("b.json", text), target("t")).unwrap_err().worded(Wording::Flags))
    };
    let message = error("[{\"x\": 1, \"t\": 1},\n{\"x\": 2, \"t\" 2}]");
    assert!(message.starts_with("b.json:2: this is not a JSON object: expected `:`"), "{message}");
    let message = error("[{\"x\": 1, \"t\": 1},\n7]");
    assert!(message.starts_with("b.json:2: this is not a JSON object: invalid type: integer `7`"), "{message}");
    assert_eq!(error("[{\"x\": 1, \"t\": 1},"), "b.json: the list is not closed: the file is truncated, get it again");
    let truncated = rows[..rows.len() - 30].to_string();
    let path = folder.write("cut.json", format!("[{truncated}"));
    assert!(read(&path, options).is_err());
}

#[test]
fn the_extension_decides_before_the_content() {
    let folder = Folder::new();
    for (header, name) in [("{}", "a.csv"), ("[]", "b.csv"), ("{\"a\"}", "c.tsv"), ("[{", "d.CSV")] {
        let text = format!("{header}\tt\n1\tu\n2\tv\n");
        let text = if name.ends_with("tsv") { text } else { text.replace('\t', ",") };
        assert_eq!(read(&folder.write(name, text), target("t")).unwrap(), ["1 =u", "2 =v"], "{header}");
    }
    // Without a known extension the content decides, unless the format is given.
    let path = folder.write("noext", "{},t\n1,u\n2,v\n");
    assert!(read(&path, target("t")).unwrap_err().to_string().contains("this is not a JSON object"));
    let csv = Options { format: Some(Format::Csv), ..target("t") };
    assert_eq!(read(&path, csv).unwrap(), ["1 =u", "2 =v"]);
}

#[test]
fn carriage_returns_alone_end_lines() {
    let folder = Folder::new();
    let path = folder.write("mac.csv", "x,colour,t\r1.5,red,a\r2,blue,b\r");
    assert_eq!(read(&path, target("t")).unwrap(), ["1.5 red =a", "2 blue =b"]);
    let long: String = (0..50_000).map(|i| format!("{i},{}\r", i % 3)).collect();
    let rows = read(&folder.write("long.csv", format!("x,t\r{long}")), target("t")).unwrap();
    assert_eq!((rows.len(), rows[49_999].as_str()), (50_000, "49999 =1"));
}

#[test]
fn files_of_other_sorts_are_named() {
    let folder = Folder::new();
    let schema = Schema::numbers(&["x"], "t", &["a", "b"]).unwrap();
    let mut model = deciban::file::Archive::new("model");
    model.put_json("schema", &schema).unwrap();
    let mut statistics = deciban::file::Archive::new("statistics");
    statistics.put_json("schema", &schema).unwrap();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("m.deciban", model.to_bytes().unwrap(), "this is a model, not data"),
        ("m.csv", model.to_bytes().unwrap(), "this is a model, not data"),
        ("a.stats", statistics.to_bytes().unwrap(), "this is a statistics file, not data"),
        ("a.csv", b"PK\x03\x04\x14\0\x06\0\x08\0[Content_Types].xml".to_vec(), "this is an Excel workbook"),
        ("a.xlsx", b"PK\x03\x04\x14\0\x06\0\x08\0xl/workbook.xml".to_vec(), "this is an Excel workbook"),
        ("a.csv", b"PK\x03\x04\x14\0\x06\0data.csv".to_vec(), "this is a zip archive"),
        ("a.csv", b"\n <!DOCTYPE html><html><body>1,2</body></html>".to_vec(), "this is a web page"),
        ("a.csv", b"PAR1......PAR1".to_vec(), "this is a Parquet file: give --format parquet"),
        ("a.csv", b"SQLite format 3\0...".to_vec(), "this is an SQLite database"),
        ("a.csv", b"%PDF-1.7\n".to_vec(), "this is a PDF document"),
    ];
    for (name, bytes, message) in cases {
        let error =
            folder.clean(&read(&folder.write(name, bytes), Options::default()).unwrap_err().worded(Wording::Flags));
        assert!(error.starts_with(&format!("{name}: {message}")), "{error}");
    }
}

/// The kept cells of each row, then its file.
fn kept(files: &Files, columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    files
        .map_parts_in_order(
            |part| {
                let cells =
                    |row: usize| (0..columns).map(|k| part.kept(k, row).into_owned()).collect::<Vec<_>>().join("|");
                let file = |row: usize| part.file(row).rsplit('/').next().unwrap_or_default().to_string();
                Ok((0..part.batch().rows()).map(|row| format!("{} {}", cells(row), file(row))).collect::<Vec<_>>())
            },
            |part| {
                rows.extend(part);
                Ok(())
            },
        )
        .unwrap();
    rows
}

#[test]
fn chosen_columns_are_handed_through_in_every_format() {
    let folder = Folder::new();
    let schema = Schema::numbers(&["x", "y"], "t", &["a", "b"]).unwrap();
    let options = Options { keep: vec!["id".into(), "x".into()], ..Options::default() };
    let expected = ["007|1.50 a", "B, 2|NA a"];
    let paths = [
        folder.write("a", "id,x,y\n007,1.50,3\n\"B, 2\",NA,4\n"),
        folder.write("a.json", r#"[{"id": "007", "x": "1.50", "y": 3}, {"y": 4, "x": "NA", "id": "B, 2"}]"#),
    ];
    for path in &paths {
        let files = Files::open_as(std::slice::from_ref(path), options.clone(), &schema).unwrap();
        let rows: Vec<String> = kept(&files, 2).iter().map(|row| row.replace("a.json", "a")).collect();
        assert_eq!(rows, expected, "{path}");
        assert_eq!(dump(&files).unwrap(), ["1.5 3", "- 4"], "{path}");
    }
    let blanks = folder.write("c.txt", "id x y\n007 1.50 3 # note\nB NA 4\n");
    let files = Files::open_as(&[blanks], options.clone(), &schema).unwrap();
    assert_eq!(kept(&files, 2), ["007|1.50 c.txt", "B|NA c.txt"]);
    let reader = RowReader::new(&schema, options).unwrap();
    let rows = reader.json(r#"[{"id": 7, "x": 1.5}, {"y": 4, "id": null}]"#).unwrap();
    assert_eq!((rows.kept(0, 0), rows.kept(1, 0), rows.kept(0, 1)), ("7".into(), "1.5".into(), "".into()));
    let many: String = (0..60_000).map(|i| format!("k{i},{i},{i}\n")).collect();
    let options = Options { keep: vec!["id".into()], ..Options::default() };
    let files = Files::open_as(&[folder.write("d.csv", format!("id,x,y\n{many}"))], options, &schema).unwrap();
    let rows = kept(&files, 1);
    assert!((0..60_000).all(|i| rows[i] == format!("k{i} d.csv")));
    let options = Options { keep: vec!["idd".into()], ..Options::default() };
    let error = Files::open_as(&paths[..1], options, &schema).err().unwrap().worded(Wording::Flags);
    assert!(error.ends_with("keep: there is no column `idd`: did you mean `id`?"), "{error}");
}

#[test]
fn the_file_of_each_row_in_folders_and_several_files() {
    let folder = Folder::new();
    for (file, text) in [("mails/spam/1.txt", "win"), ("mails/ham/a.txt", "see you"), ("mails/ham/b.txt", "you")] {
        let path = std::path::PathBuf::from(folder.path(file));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let options = Options { keep_file: true, keep: vec!["class".into()], ..Options::default() };
    let files = Files::open(&[folder.path("mails")], options).unwrap();
    assert_eq!(kept(&files, 1), ["ham a.txt", "ham b.txt", "spam 1.txt"]);
    let paths = [folder.write("one.csv", "x,t\n1,a\n"), folder.write("two.csv", "x,t\n2,b\n3,a\n")];
    let files = Files::open(&paths, target("t")).unwrap();
    assert_eq!(kept(&files, 0), [" one.csv", " two.csv", " two.csv"]);
}

#[test]
fn a_header_without_rows_is_no_rows_at_prediction() {
    let folder = Folder::new();
    let schema = Schema::numbers(&["x", "y"], "t", &["a", "b"]).unwrap();
    for (name, text) in [("a.csv", "x,y\n"), ("b.csv", "id,y,x"), ("a.json", "[]"), ("c.txt", "x y\n# nothing\n")] {
        let files = Files::open_as(&[folder.write(name, text)], Options::default(), &schema).unwrap();
        assert!(dump(&files).unwrap().is_empty(), "{name}");
    }
    let lacks = Files::open_as(&[folder.write("d.csv", "x\n")], Options::default(), &schema).err().unwrap();
    assert!(lacks.to_string().ends_with("the model needs a column `y` that the input does not have"));
}

#[test]
fn rows_of_unknown_classes_are_counted_apart() {
    let folder = Folder::new();
    let schema = Schema::numbers(&["x"], "t", &["a", "b"]).unwrap();
    let path = folder.write("a.csv", "x,t\n1,a\n2,c\n3,b\n4,d\n5,c\n");
    let options = Options { unknown_classes: true, ..target("t") };
    let files = Files::open_as(&[path], options.clone(), &schema).unwrap();
    assert_eq!(dump(&files).unwrap(), ["1 =a", "2 -", "3 =b", "4 -", "5 -"]);
    assert_eq!(files.unknown_classes(), [("c".to_string(), 2), ("d".to_string(), 1)]);
    // A row without a label is still an error, unless it may lack one.
    let lacking = folder.write("b.csv", "x,t\n1,c\n2,\n");
    let files = Files::open_as(&[lacking], options.clone(), &schema).unwrap();
    assert!(dump(&files).unwrap_err().worded(Wording::Flags).contains(":3: column `t`: the class is missing"));
    let rows = RowReader::new(&schema, options).unwrap().json(r#"[{"x": 1, "t": "a"}, {"x": 1, "t": "z"}]"#).unwrap();
    assert_eq!((rows.labels(), rows.unknown_classes()), (Some(&[0, MISSING][..]), &[("z".to_string(), 1)][..]));
}

#[test]
fn two_columns_of_one_name_are_an_error() {
    let folder = Folder::new();
    let message = |e: deciban::Error| folder.clean(&e.worded(Wording::Flags));
    let path = folder.write("a.csv", "x,x,t\n1,2,a\n");
    let expected = "a.csv: two columns are named `x`: give each its own name, or --no-header";
    assert_eq!(message(read(&path, target("t")).unwrap_err()), expected);
    let schema = Schema::numbers(&["x"], "t", &["a", "b"]).unwrap();
    assert_eq!(message(Files::open_as(&[path], Options::default(), &schema).err().unwrap()), expected);
    // Also in a later file, and of the columns that are handed through; others do no harm.
    let one = folder.write("one.csv", "id,x,t\n1,2,a\n");
    let two = folder.write("two.csv", "id,id,x,t\n1,2,3,a\n");
    let paths = [one, two.clone()];
    assert_eq!(dump(&Files::open_as(&paths, Options::default(), &schema).unwrap()).unwrap(), ["2", "3"]);
    let options = Options { keep: vec!["id".into()], ..Options::default() };
    let error = Files::open_as(&paths, options.clone(), &schema).and_then(|files| dump(&files)).err().unwrap();
    assert_eq!(message(error), expected.replace("`x`", "`id`").replace("a.csv", "two.csv"));
    assert!(Files::open_as(&[two], options, &schema).is_err());
}
