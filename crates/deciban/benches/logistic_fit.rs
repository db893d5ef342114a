//! Logistic regression and softmax of 200,000 × 50 numbers, and logistic regression of 100,000 texts of
//! 50,000 words, against scikit-learn's fastest solver, at a gradient no larger than its own.
//!
//! `cargo bench -p deciban --bench logistic_fit [logistic|softmax|text]` (the peer needs numpy, scipy and
//! scikit-learn: name a Python that has them in `DECIBAN_PYTHON`, `python3` unless told). The peer reads
//! the same numbers from a temporary folder, runs each of its solvers once, and then its fastest. Runs of
//! the two sides alternate and the best of each counts; read the ratios, not the seconds.

mod peer;

use std::path::Path;
use std::time::{Duration, Instant};

use deciban::data::{Batch, Column, Kind, Schema, Sparse};
use deciban::engine::Memory;
use deciban::learn::{Learner, Logistic, LogisticModel};
use deciban::numerics::Random;
use peer::{Peer, folder, write};

const ROUNDS: usize = 5;

/// The peer's seconds, gradient and solver.
fn fit(peer: &mut Peer) -> (f64, f64, String) {
    let line = peer.ask("fit");
    let mut words = line.split_whitespace();
    let mut number = || words.next().and_then(|w| w.parse().ok()).expect("numbers from the peer");
    let (seconds, gradient) = (number(), number());
    (seconds, gradient, words.next().unwrap_or_default().to_string())
}

/// Alternates the two sides: the peer first, whose gradient is our end.
fn race(job: &str, folder: &Path, rows: usize, most: f64, learn: impl Fn(f64) -> LogisticModel) {
    let mut peer = Peer::start("logistic_fit", &[folder.display().to_string(), job.to_string()]);
    let (mut ours, mut theirs, mut solver) = (f64::INFINITY, f64::INFINITY, String::new());
    let (mut our_gradient, mut their_gradient, mut iterations) = (0.0, f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let (seconds, gradient, name) = fit(&mut peer);
        theirs = theirs.min(seconds);
        their_gradient = gradient.min(their_gradient);
        solver = name;
        // The peer's threads wait busily for a while before they sleep.
        std::thread::sleep(Duration::from_millis(500));
        let start = Instant::now();
        let model = learn(their_gradient / rows as f64);
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
    write(folder, "x", x.iter().flat_map(|x| x.to_le_bytes()));
    write(folder, "y", y.iter().flat_map(|&y| u64::from(y).to_le_bytes()));
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
    write(folder, "offsets", offsets.iter().flat_map(|&o| (o as u64).to_le_bytes()));
    write(folder, "indices", indices.iter().flat_map(|&i| u64::from(i).to_le_bytes()));
    write(folder, "counts", counts.iter().flat_map(|x| x.to_le_bytes()));
    write(folder, "y", y.iter().flat_map(|&y| u64::from(y).to_le_bytes()));
    let levels = (0..WORDS).map(|w| w.to_string()).collect();
    let column = Column { name: "text".into(), kind: Kind::Text, levels };
    let schema = Schema::new(vec![column], "class", vec!["0".into(), "1".into()]).unwrap();
    let sparse = Sparse::new(&offsets, &indices, &counts[..]).unwrap();
    let batch = Batch::new(ROWS).sparse(sparse).unwrap().classes(&y).unwrap();
    let engine = Memory::new(schema, batch).unwrap();
    race("text", folder, ROWS, 2.0, |tolerance| Logistic { tolerance, ..Logistic::default() }.learn(&engine).unwrap());
}

fn main() {
    let folder = folder("logistic-fit");
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
