//! What the tests of the program share: a folder to work in, the program run in it, its output read.
#![allow(dead_code)] // Each test file uses its own part.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_deciban");

/// The wines of the examples: 178 rows, 13 columns, the class in `Type`.
pub fn wine() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wine.csv").display().to_string()
}

/// A file or folder of `shared` beside the project. A test that needs it has the attribute
/// `cfg_attr(not(shared_data), ignore = "...")`, which `build.rs` settles; without the folder it is reported
/// as ignored, and fails if it is run.
pub fn shared(path: &str) -> String {
    let Some(folder) = option_env!("DECIBAN_SHARED") else { panic!("this test needs the data sets in ../shared") };
    let found = Path::new(folder).join(path);
    assert!(found.exists(), "the folder `shared` is here, but {} is not", found.display());
    found.display().to_string()
}

/// A folder of its own, gone after the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// A folder with `wine.deciban`, a Gaussian model of Alcohol and Hue: two columns in which the wines overlap, so
    /// that no probability is 0 or 1.
    pub fn with_model(options: &[&str]) -> Self {
        let folder = Folder::new();
        let wine = wine();
        let fit = ["fit", &wine, "-t", "Type", "--model", "gaussian", "--columns", "Alcohol,Hue", "-o", "wine.deciban"];
        folder.ok(&[&fit, options].concat());
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A folder with tumours in three parts, `train.csv`, `held-out.csv` and `test.csv`, and
    /// `naive.deciban`, fitted on the first: its columns are correlated, and it is far too sure.
    pub fn with_tumours() -> Self {
        let folder = Folder::new();
        let text = std::fs::read_to_string(wine().replace("wine.csv", "cancer.csv")).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        for (k, name) in ["train.csv", "held-out.csv", "test.csv"].iter().enumerate() {
            let part: Vec<&str> = rows.lines().skip(k).step_by(3).collect();
            folder.write(name, format!("{header}\n{}\n", part.join("\n")));
        }
        let fit = ["fit", "train.csv", "-t", "diagnosis", "--covariance", "tied-diagonal", "-o", "naive.deciban"];
        folder.ok(&fit);
        folder
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.path().join(name)).unwrap()
    }

    /// The names of all files, hidden ones too.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(self.0.path());
        command
    }

    /// Exit code, standard output, standard error.
    pub fn run(&self, args: &[&str]) -> (i32, String, String) {
        self.run_with(args, "")
    }

    /// The same with something on standard input.
    pub fn run_with(&self, args: &[&str], input: &str) -> (i32, String, String) {
        let mut command = self.command(args);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_string();
        // Whoever does not read its input closes the pipe: that is no failure here.
        let feed = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let output = child.wait_with_output().unwrap();
        feed.join().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    /// The output of a run that must succeed.
    pub fn ok(&self, args: &[&str]) -> String {
        let (code, stdout, stderr) = self.run(args);
        assert_eq!(code, 0, "deciban {}\n{stderr}", args.join(" "));
        stdout
    }

    /// The JSON of a run that must succeed.
    pub fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    /// The table of a run that must succeed.
    pub fn table(&self, args: &[&str]) -> Table {
        Table::parse(&self.ok(args))
    }

    /// The message of a run that must fail: code 1 for data and files at fault, 2 for options, one line on
    /// standard error, nothing on standard output, and no file more than before.
    pub fn fails(&self, args: &[&str]) -> String {
        let before = self.files();
        let (code, stdout, stderr) = self.run(args);
        let command = format!("deciban {}\n{stderr}", args.join(" "));
        assert!((code == 1 || code == 2) && stdout.is_empty(), "{command}");
        assert_eq!(self.files(), before, "{command}");
        let message = stderr.strip_prefix("deciban: ").unwrap_or_else(|| panic!("{command}"));
        assert_eq!(message.trim_end().lines().count(), 1, "{command}");
        message.trim_end().to_string()
    }

    /// The message of a run that is used wrongly: code 2, nothing on standard output.
    pub fn misused(&self, args: &[&str]) -> String {
        let before = self.files();
        let (code, stdout, stderr) = self.run(args);
        assert_eq!((code, stdout.as_str()), (2, ""), "deciban {}\n{stderr}", args.join(" "));
        assert_eq!(self.files(), before);
        stderr
    }
}

/// Plain CSV without quotes.
#[derive(Debug, PartialEq)]
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn parse(text: &str) -> Table {
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_string).collect::<Vec<_>>());
        let header = lines.next().expect("a header");
        let rows: Vec<_> = lines.collect();
        assert!(rows.iter().all(|row| row.len() == header.len()), "{text}");
        Table { header, rows }
    }

    pub fn texts(&self, column: &str) -> Vec<String> {
        let at = self.header.iter().position(|name| name == column);
        let at = at.unwrap_or_else(|| panic!("no `{column}` in {:?}", self.header));
        self.rows.iter().map(|row| row[at].clone()).collect()
    }

    pub fn numbers(&self, column: &str) -> Vec<f64> {
        self.texts(column).iter().map(|cell| cell.parse().unwrap()).collect()
    }
}

/// The rows of a CSV file as maps from columns to cells.
pub fn records(path: &str) -> Vec<HashMap<String, String>> {
    let table = Table::parse(&std::fs::read_to_string(path).unwrap());
    table.rows.iter().map(|row| table.header.iter().cloned().zip(row.iter().cloned()).collect()).collect()
}

/// Fails unless the numbers agree to `tolerance`, relative where they are larger than 1.
#[track_caller]
pub fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * a.abs().max(1.0), "{a} and {b} differ by {:e}", (a - b).abs());
}

/// `close` for all cells of two outputs of `predict`; decisions must be the same.
#[track_caller]
pub fn same_predictions(a: &Table, b: &Table, tolerance: f64) {
    assert_eq!(a.header, b.header);
    assert_eq!(a.texts("decision"), b.texts("decision"));
    for name in &a.header[1..] {
        // Ranks come from rows that are drawn.
        let tolerance = if name == "rank" { 0.02 } else { tolerance };
        a.numbers(name).into_iter().zip(b.numbers(name)).for_each(|(x, y)| close(x, y, tolerance));
    }
}

/// A list of numbers in JSON.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// A list of texts in JSON.
pub fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|x| x.as_str().unwrap()).collect()
}
