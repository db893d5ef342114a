//! Rows per second of a numeric CSV file, on one thread and on two, against the standard library's
//! `split` and `parse` on one thread over text that is already in memory.
//!
//! `cargo bench -p deciban-data`; the size in MB may be given as an argument.

use std::io::Write;
use std::time::Instant;

use deciban::data::{Batch, Cells, Rows, Tile};
use deciban_data::{Files, Options, Target};

const COLUMNS: usize = 20;

fn main() {
    let megabytes = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(200);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.csv");
    let rows = write(&path, megabytes << 20);
    let size = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
    println!("{rows} rows, {COLUMNS} columns, {size:.0} MB");
    let tell = |name: &str, seconds: f64, sum: f64| {
        println!("{name:<24} {:>6.0} MB/s {:>9.0} rows/s  (sum {sum:.3})", size / seconds, rows as f64 / seconds);
    };
    let options = Options { target: Target::Column("class".into()), ..Options::default() };
    let paths = [path.display().to_string()];
    for threads in [1, 2, 2, 1] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let start = Instant::now();
        let mut total = 0.0;
        pool.install(|| {
            let files = Files::open(&paths, options.clone()).unwrap();
            files
                .map_in_order(sum, |part| {
                    let _: () = total += part;
                    Ok(())
                })
                .unwrap();
        });
        tell(&format!("Files, {threads} thread(s)"), start.elapsed().as_secs_f64(), total);
    }
    println!("peak memory: {} (before the peer reads the whole file)", peak());
    let text = std::fs::read_to_string(&path).unwrap();
    let start = Instant::now();
    let cells = text.lines().skip(1).flat_map(|line| line.split(',').take(COLUMNS));
    let total: f64 = cells.map(|cell| cell.trim().parse::<f64>().unwrap()).sum();
    tell("std split and parse", start.elapsed().as_secs_f64(), total);
}

/// Something small to do with every number, so that parsing is what is measured.
fn sum(batch: &Batch<'_>) -> deciban::Result<f64> {
    let columns: Vec<usize> = (0..batch.width()).collect();
    let mut tile = Tile::default();
    let mut total = 0.0;
    for start in (0..batch.rows()).step_by(512) {
        let range = start..batch.rows().min(start + 512);
        Cells::new(batch, &columns, Rows::Range(range)).read_numbers(&mut tile)?;
        total += tile.data().iter().sum::<f64>();
    }
    Ok(total)
}

/// Numbers as measurements are written: some short, some with six decimals, some signs and exponents.
fn write(path: &std::path::Path, bytes: usize) -> u64 {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let header: Vec<String> = (0..COLUMNS).map(|i| format!("x{i}")).collect();
    writeln!(file, "{},class", header.join(",")).unwrap();
    let (mut state, mut written, mut rows) = (1u64, 0, 0);
    let mut line = String::new();
    while written < bytes {
        line.clear();
        for column in 0..COLUMNS {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let x = (state >> 33) as f64 / (1u64 << 31) as f64;
            match column % 4 {
                0 => line += &format!("{:.6},", x * 2.0 - 1.0),
                1 => line += &format!("{:.2},", x * 1000.0),
                2 => line += &format!("{},", (x * 256.0) as u32),
                _ => line += &format!("{:.4}e-2,", x * 10.0),
            }
        }
        line += if state >> 63 == 0 { "yes\n" } else { "no\n" };
        file.write_all(line.as_bytes()).unwrap();
        written += line.len();
        rows += 1;
    }
    file.flush().unwrap();
    rows
}

/// The most memory the process has had, where the system tells.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".into(), |line| line.trim().to_string())
}
