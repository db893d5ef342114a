//! Logistic regression and softmax of 200,000 × 50 numbers, and logistic regression of 100,000 texts of
//! 50,000 words, against scikit-learn's fastest solver, at a gradient no larger than its own.
//!
//! `cargo bench -p deciban --bench logistic_fit [logistic|softmax|text]` (the peer needs numpy, scipy and
//! scikit-learn: name a Python that has them in `DECIBAN_PYTHON`, `python3` unless told). The peer reads
//! the same numbers from a temporary folder, runs each of its solvers once, and then its fastest. Runs of
//! the two sides alternate and the best of each counts; read the ratios, not the seconds.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use deciban::data::{Batch, Column, Kind, Schema, Sparse};
use deciban::engine::Memory;
use deciban::learn::{Learner, Logistic, LogisticModel};
use deciban::numerics::Random;

const ROUNDS: usize = 5;

/// A Python process that fits once per line it is sent, and answers with seconds, gradient and solver.
struct Peer(Child);

impl Peer {
    fn start(folder: &Path, job: &str) -> Peer {
        let python = std::env::var("DECIBAN_PYTHON").unwrap_or("python3".into());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/logistic_fit.py");
        let mut command = Command::new(python);
        command.arg(script).arg(folder).arg(job).stdin(Stdio::piped()).stdout(Stdio::piped());
        Peer(command.spawn().expect("a Python with numpy, scipy and scikit-learn: name it in DECIBAN_PYTHON"))
    }

    fn fit(&mut self) -> (f64, f64, String) {
        writeln!(self.0.stdin.as_mut().unwrap()).unwrap();
        let mut line = String::new();
        BufReader::with_capacity(1, self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let mut words = line.split_whitespace();
        let mut number = || words.next().and_then(|w| w.parse().ok()).expect("numbers from the peer");
        let (seconds, gradient) = (number(), number());
        (seconds, gradient, words.next().unwrap_or_default().to_string())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

fn write<T: Copy>(folder: &Path, name: &str, values: &[T], bytes: impl Fn(T) -> [u8; 8]) {
    let all: Vec<u8> = values.iter().flat_map(|&x| bytes(x)).collect();
    std::fs::write(folder.join(name), all).expect("room in the temporary folder");
}

/// Alternates the two sides: the peer first, whose gradient is our end.
fn race(job: &str, folder: &Path, rows: usize, most: f64, fit: impl Fn(f64) -> LogisticModel) {
    let mut peer = Peer::start(folder, job);
    let (mut ours, mut theirs, mut solver) = (f64::INFINITY, f64::INFINITY, String::new());
    let (mut our_gradient, mut their_gradient, mut iterations) = (0.0, f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let (seconds, gradient, name) = peer.fit();
        theirs = theirs.min(seconds);
        their_gradient = gradient.min(their_gradient);
        solver = name;
        // The peer's threads wait busily for a while before they sleep.
        std::thread::sleep(Duration::from_millis(500));
        let start = Instant::now();
        let model = fit(their_gradient / rows as f64);
        ours = ours.min(start.elapsed().as_secs_f64());
        (our_gradient, iterations) = (model.fit().gradient_norm, model.fit().iterations);
    }
    println!(
        "{job:9} ours {ours:7.3} s, gradient {our_gradient:8.2e}, {iterations} iterations; scikit-learn ({solver}) \
         {theirs:7.3} s, gradient {their_gradient:8.2e}; theirs / ours = {:5.2} (at least {most})",
        theirs / ours
    );
}

fn numbers(job: &str, classes: usize, folder: &Path) {
    const ROWS: usize = 200_000;
    const COLUMNS: usize = 50;
    let mut random = Random::new(1);
    let x: Vec<f64> = (0..ROWS * COLUMNS).map(|_| random.normal()).collect();
    let truth: Vec<f64> = (0..classes * COLUMNS).map(|_| 0.3 * random.normal()).collect();
    let label = |row: &[f64]| {
        let score = |w: &[f64]| row.iter().zip(w).map(|(x, w)| x * w).sum::<f64>().exp();
        random.pick(&truth.chunks(COLUMNS).map(score).collect::<Vec<_>>()) as u32
    };
    let y: Vec<u32> = x.chunks(COLUMNS).map(label).collect();
    write(folder, "x", &x, f64::to_le_bytes);
    write(folder, "y", &y, |y| u64::from(y).to_le_bytes());
    let names: Vec<String> = (0..COLUMNS).map(|j| format!("c{j}")).collect();
    let class_names: Vec<String> = (0..classes).map(|k| k.to_string()).collect();
    let schema = Schema::numbers(&names, "class", &class_names).unwrap();
    let batch = Batch::new(ROWS).row_major(&x[..], COLUMNS).unwrap().classes(&y).unwrap();
    let engine = Memory::new(schema, batch).unwrap();
    race(job, folder, ROWS, 3.0, |tolerance| {
        Logistic { tolerance, standardise: false, ..Logistic::default() }.learn(&engine).unwrap()
    });
}

fn texts(folder: &Path) {
    const ROWS: usize = 100_000;
    const WORDS: usize = 50_000;
    let mut random = Random::new(2);
    let truth: Vec<f64> = (0..WORDS).map(|_| 0.5 * random.normal()).collect();
    let (mut offsets, mut indices, mut counts, mut y) = (vec![0usize], Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROWS {
        let mut words: Vec<u32> =
            (0..40 + random.below(40)).map(|_| (WORDS as f64 * random.uniform().powi(4)) as u32).collect();
        words.sort_unstable();
        let mut z = 0.0;
        for same in words.chunk_by(|a, b| a == b) {
            indices.push(same[0]);
            counts.push(same.len() as f64);
            z += truth[same[0] as usize] * same.len() as f64;
        }
        offsets.push(indices.len());
        y.push(u32::from(random.uniform() < 1.0 / (1.0 + f64::exp(-z))));
    }
    write(folder, "offsets", &offsets, |o| (o as u64).to_le_bytes());
    write(folder, "indices", &indices, |i| u64::from(i).to_le_bytes());
    write(folder, "counts", &counts, f64::to_le_bytes);
    write(folder, "y", &y, |y| u64::from(y).to_le_bytes());
    let levels = (0..WORDS).map(|w| w.to_string()).collect();
    let column = Column { name: "text".into(), kind: Kind::Text, levels };
    let schema = Schema::new(vec![column], "class", vec!["0".into(), "1".into()]).unwrap();
    let sparse = Sparse::new(&offsets, &indices, &counts[..]).unwrap();
    let batch = Batch::new(ROWS).sparse(sparse).unwrap().classes(&y).unwrap();
    let engine = Memory::new(schema, batch).unwrap();
    race("text", folder, ROWS, 2.0, |tolerance| Logistic { tolerance, ..Logistic::default() }.learn(&engine).unwrap());
}

fn main() {
    let folder = std::env::temp_dir().join(format!("deciban-logistic-fit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wanted = |job: &str| named.is_empty() || named.iter().any(|n| n == job);
    if wanted("logistic") {
        numbers("logistic", 2, &folder);
    }
    if wanted("softmax") {
        numbers("softmax", 5, &folder);
    }
    if wanted("text") {
        texts(&folder);
    }
    let _ = std::fs::remove_dir_all(folder);
}
