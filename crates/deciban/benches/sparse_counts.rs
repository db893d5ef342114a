//! Multinomial and Bernoulli naive Bayes of 100,000 rows × 50,000 words, 80 of them in a row, from the
//! arrays of a SciPy matrix, against scikit-learn's MultinomialNB and BernoulliNB.
//!
//! `cargo bench -p deciban --bench sparse_counts [-- CLASSES]` (the peer needs scikit-learn: name a Python
//! that has it in `DECIBAN_PYTHON`, `python3` unless told). Runs of the two sides alternate and the best
//! of each counts; read the ratios, not the seconds.

mod peer;

use std::time::Instant;

use deciban::data::{Batch, Column, Kind, Schema, Sparse};
use deciban::engine::Memory;
use deciban::family::AnyFamily;
use deciban::family::bernoulli::Bernoulli;
use deciban::family::multinomial::Multinomial;
use deciban::learn::{Block, Classifier, Generative, Learner};
use deciban::numerics::Random;
use peer::{Peer, folder, write};

const ROWS: usize = 100_000;
const WORDS: usize = 50_000;
const IN_A_ROW: usize = 80;
const ROUNDS: usize = 7;

fn main() {
    let classes: usize = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(2);
    let mut random = Random::new(1);
    // One word from each of 80 equal parts of the vocabulary: distinct and in order.
    let part = (WORDS / IN_A_ROW) as u64;
    let indices: Vec<i32> =
        (0..ROWS * IN_A_ROW).map(|k| (k % IN_A_ROW) as i32 * part as i32 + random.below(part) as i32).collect();
    let indptr: Vec<i32> = (0..=ROWS).map(|i| (i * IN_A_ROW) as i32).collect();
    let counts: Vec<f64> = (0..indices.len()).map(|_| 1.0 + random.below(3) as f64).collect();
    let labels: Vec<u32> = (0..ROWS).map(|_| random.below(classes as u64) as u32).collect();
    let folder = folder("sparse-counts");
    write(&folder, "indices", indices.iter().flat_map(|x| x.to_le_bytes()));
    write(&folder, "indptr", indptr.iter().flat_map(|x| x.to_le_bytes()));
    write(&folder, "counts", counts.iter().flat_map(|x| x.to_le_bytes()));
    write(&folder, "classes", labels.iter().flat_map(|x| x.to_le_bytes()));

    let levels = (0..WORDS).map(|j| format!("w{j}")).collect();
    let columns = vec![Column { name: "text".into(), kind: Kind::Text, levels }];
    let schema = Schema::new(columns, "class", (0..classes).map(|k| k.to_string()).collect()).unwrap();
    let sparse = Sparse::new(&indptr[..], &indices[..], &counts[..]).unwrap();
    let batch = Batch::new(ROWS).sparse(sparse).unwrap().classes(&labels).unwrap();
    let engine = Memory::new(schema.clone(), batch.clone()).unwrap();

    let mut peer = Peer::start("discrete", &[folder.display().to_string(), ROWS.to_string(), WORDS.to_string()]);
    println!("{ROWS} × {WORDS}, {IN_A_ROW} words in a row, {classes} classes, best of {ROUNDS}");
    let families = [
        ("multinomial", AnyFamily::Multinomial(Multinomial::default())),
        ("bernoulli", AnyFamily::Bernoulli(Bernoulli::default())),
    ];
    for (name, family) in families {
        let blocks = vec![Block::new(vec![0], schema.columns(), family)];
        let learner = Generative::of_blocks(blocks);
        let [mut fit, mut score, mut their_fit, mut their_score] = [f64::INFINITY; 4];
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let model = learner.learn(&engine).unwrap();
            fit = fit.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            let p = model.evidence(&batch).unwrap().posterior(model.prior()).probabilities();
            score = score.min(start.elapsed().as_secs_f64());
            their_fit = their_fit.min(peer.run(&format!("{name} fit")).0);
            let (seconds, told) = peer.run(&format!("{name} score"));
            their_score = their_score.min(seconds);
            let sum: f64 = p.chunks_exact(classes).map(|row| row[classes - 1]).sum();
            assert!((sum - told[0]).abs() < 1e-6 * sum, "the same posteriors: {sum}, {}", told[0]);
        }
        for (step, ours, theirs) in [("fit", fit, their_fit), ("posteriors", score, their_score)] {
            println!(
                "{name:<11} {step:<10} {ours:7.4} s   theirs {theirs:7.4} s   theirs / ours = {:4.1}  (at least 2)",
                theirs / ours
            );
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
