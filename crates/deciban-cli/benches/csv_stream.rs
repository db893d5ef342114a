//! A CSV of 10 million rows × 20 numbers, fitted and scored by the program: rows per second and the
//! peak of resident memory, which must stay within 300 MB.
//!
//! `cargo bench -p deciban-cli --bench csv_stream [-- ROWS]`. The file (2 GB for 10 million rows) is
//! made in the system's temporary folder and removed at the end.

mod watch;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use deciban::numerics::Random;
use watch::Peak;

const COLUMNS: usize = 20;
const CLASSES: u64 = 5;

fn main() {
    let rows: u64 = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(10_000_000);
    let folder = std::env::temp_dir().join(format!("deciban-csv-stream-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (csv, model) = (folder.join("rows.csv"), folder.join("model.deciban"));
    write_csv(&csv, rows);
    let megabytes = std::fs::metadata(&csv).unwrap().len() as f64 / 1e6;
    println!("{rows} rows × {COLUMNS} numbers, {megabytes:.0} MB of CSV");
    let (csv, model) = (csv.to_str().unwrap(), model.to_str().unwrap());
    report("fit", rows, megabytes, &["fit", csv, "--target", "class", "--model", "gaussian", "-o", model]);
    report("evaluate", rows, megabytes, &["evaluate", model, csv]);
    report("predict", rows, megabytes, &["predict", model, csv]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Normal numbers about a mean of their class, four decimals, class last.
fn write_csv(path: &Path, rows: u64) {
    let mut random = Random::new(1);
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path).unwrap());
    let names: Vec<String> = (0..COLUMNS).map(|j| format!("x{j}")).collect();
    writeln!(out, "{},class", names.join(",")).unwrap();
    for _ in 0..rows {
        let class = random.below(CLASSES);
        for j in 0..COLUMNS {
            // A cheap bell curve: the sum of four uniforms.
            let bell: f64 = (0..4).map(|_| random.uniform()).sum::<f64>() - 2.0;
            write!(out, "{:.4},", 10.0 * bell + (class * j as u64) as f64).unwrap();
        }
        writeln!(out, "{class}").unwrap();
    }
    out.flush().unwrap();
}

fn report(name: &str, rows: u64, megabytes: f64, args: &[&str]) {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_deciban"))
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let peak = Peak::of(child.id());
    assert!(child.wait().unwrap().success(), "deciban {args:?} failed");
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{name:<9} {seconds:7.1} s  {:6.2} million rows/s  {:6.0} MB/s  peak memory {:4.0} MB (at most 300)",
        rows as f64 / seconds / 1e6,
        megabytes / seconds,
        peak.megabytes(),
    );
}
