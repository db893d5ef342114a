//! Naive Bayes of 500,000 rows × 20 categories against scikit-learn's CategoricalNB.
//!
//! `cargo bench -p deciban --bench categorical [-- CLASSES]` (the peer needs scikit-learn: name a Python
//! that has it in `DECIBAN_PYTHON`, `python3` unless told). Runs of the two sides alternate and the best
//! of each counts; read the ratios, not the seconds.

mod peer;

use std::time::Instant;

use deciban::data::{Batch, Column, Kind, Schema};
use deciban::engine::Memory;
use deciban::family::AnyFamily;
use deciban::family::categorical::Categorical;
use deciban::learn::{Block, Classifier, Generative, Learner};
use deciban::numerics::Random;
use peer::{Peer, folder, write};

const ROWS: usize = 500_000;
const COLUMNS: usize = 20;
const LEVELS: usize = 10;
const ROUNDS: usize = 5;

fn main() {
    let classes: usize = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(2);
    let mut random = Random::new(1);
    let codes: Vec<u32> = (0..ROWS * COLUMNS).map(|_| random.below(LEVELS as u64) as u32).collect();
    let labels: Vec<u32> = (0..ROWS).map(|_| random.below(classes as u64) as u32).collect();
    let folder = folder("categorical");
    write(&folder, "codes", codes.iter().flat_map(|x| x.to_le_bytes()));
    write(&folder, "classes", labels.iter().flat_map(|x| x.to_le_bytes()));

    let levels: Vec<String> = (0..LEVELS).map(|l| l.to_string()).collect();
    let column = |j| Column { name: format!("c{j}"), kind: Kind::Category, levels: levels.clone() };
    let names = (0..classes).map(|k| k.to_string()).collect();
    let schema = Schema::new((0..COLUMNS).map(column).collect(), "class", names).unwrap();
    let mut batch = Batch::new(ROWS).classes(&labels).unwrap();
    for column in codes.chunks_exact(ROWS) {
        batch = batch.codes(column).unwrap();
    }
    let engine = Memory::new(schema.clone(), batch.clone()).unwrap();
    let family = AnyFamily::Categorical(Categorical::default());
    let blocks = vec![Block::new((0..COLUMNS).collect(), schema.columns(), family)];
    let learner = Generative::of_blocks(blocks);

    let mut peer = Peer::start("discrete", &[folder.display().to_string(), ROWS.to_string(), COLUMNS.to_string()]);
    let [mut fit, mut score, mut their_fit, mut their_score] = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let model = learner.learn(&engine).unwrap();
        fit = fit.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let p = model.evidence(&batch).unwrap().posterior(model.prior()).probabilities();
        score = score.min(start.elapsed().as_secs_f64());
        their_fit = their_fit.min(peer.run("categorical fit").0);
        let (seconds, told) = peer.run("categorical score");
        their_score = their_score.min(seconds);
        let sum: f64 = p.chunks_exact(classes).map(|row| row[classes - 1]).sum();
        assert!((sum - told[0]).abs() < 1e-6 * sum, "the same posteriors: {sum}, {}", told[0]);
    }
    println!("{ROWS} × {COLUMNS} categories of {LEVELS} levels, {classes} classes, best of {ROUNDS}");
    for (step, ours, theirs, least) in [("fit", fit, their_fit, 10), ("posteriors", score, their_score, 5)] {
        println!(
            "{step:<10} {ours:7.4} s   theirs {theirs:7.4} s   theirs / ours = {:4.1}  (at least {least})",
            theirs / ours
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
