//! Standard input: this test runs itself again as a child with a pipe.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{Folder, dump, read, target};
use deciban_data::{Files, Format, Options, peek_columns};

/// What the child does with its standard input.
const TASK: &str = "DECIBAN_DATA_TEST_TASK";

/// The child's side: does nothing when the test runs by itself.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let paths = ["-".to_string()];
    let options = match task.as_str() {
        "jsonl" => Options { format: Some(Format::Json), ..target("t") },
        "parquet" => Options { format: Some(Format::Parquet), ..target("t") },
        _ => target("t"),
    };
    println!("columns {:?}", peek_columns(&paths, &options).unwrap());
    println!("columns {:?}", peek_columns(&paths, &options).unwrap());
    let mut files = Files::open(&paths, options).unwrap();
    if task == "twice" {
        files.make_rereadable().unwrap();
        println!("again {:?}", dump(&files).map_err(|e| e.to_string()));
    }
    println!("rows {:?}", dump(&files).map_err(|e| e.to_string()));
    println!("more {:?}", dump(&files).map(|rows| rows.len()).map_err(|e| e.to_string()));
}

fn run(task: &str, input: &[u8]) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["standard_input::child", "--exact", "--nocapture"])
        .env(TASK, task)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    for part in input.chunks(10) {
        pipe.write_all(part).unwrap(); // In small parts: blocks must not depend on them.
    }
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let told = ["columns", "again", "rows", "more"];
    text.lines().filter(|line| told.iter().any(|word| line.starts_with(word))).map(String::from).collect()
}

const COLUMNS: &str = r#"columns ["x", "t"]"#;
const ROWS: &str = r#"rows Ok(["1 =a", "2 =b"])"#;
const ONCE: &str = r#"more Err("standard input: it can be read only once, and has been: write it to a file first")"#;

#[test]
fn peeking_loses_nothing_and_reading_once_is_all() {
    assert_eq!(run("once", b"x,t\n1,a\n2,b\n"), [COLUMNS, COLUMNS, ROWS, ONCE]);
    assert_eq!(run("once", &zstd::encode_all(&b"x\tt\n1\ta\n2\tb\n"[..], 3).unwrap()), [COLUMNS, COLUMNS, ROWS, ONCE]);
    assert_eq!(run("jsonl", b"{\"x\":1,\"t\":\"a\"}\n{\"t\":\"b\",\"x\":2}\n"), [COLUMNS, COLUMNS, ROWS, ONCE]);
}

#[test]
fn spooled_it_is_read_often() {
    let again = ROWS.replace("rows", "again");
    assert_eq!(run("twice", b"x,t\n1,a\n2,b\n"), [COLUMNS, COLUMNS, &again, ROWS, "more Ok(2)"]);
}

#[test]
fn a_pipe_and_a_file_give_the_same() {
    let text: String = (0..300_000).map(|i| format!("{i},{}\n", i % 7)).collect();
    let text = format!("x,t\n{text}");
    let folder = Folder::new();
    let expected = read(&folder.write("a.csv", &text), target("t")).unwrap();
    assert_eq!(run("once", text.as_bytes())[2], format!("rows Ok({expected:?})"));
}
