//! Full-covariance Gaussian fit of 1,000,000 × 50 numbers in memory, five classes, against one
//! symmetric rank-k product of that size with OpenBLAS and against scikit-learn's QDA.
//!
//! `cargo bench -p deciban --bench gaussian_fit` (the peers need numpy, scipy and scikit-learn:
//! name a Python that has them in `DECIBAN_PYTHON`, `python3` unless told). Runs of the two sides
//! alternate and the best of each counts; read the ratios, not the seconds.

mod peer;

use std::time::Instant;

use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::family::gaussian::Gaussian;
use deciban::learn::{Classifier, Generative, Learner};
use deciban::numerics::Random;
use peer::Peer;

const ROWS: usize = 1_000_000;
const COLUMNS: usize = 50;
const CLASSES: usize = 5;
const ROUNDS: usize = 7;

fn main() {
    let mut random = Random::new(1);
    let values: Vec<f64> = (0..ROWS * COLUMNS).map(|_| random.normal()).collect();
    let classes: Vec<u32> = (0..ROWS).map(|_| random.below(CLASSES as u64) as u32).collect();
    let names: Vec<String> = (0..COLUMNS).map(|j| format!("c{j}")).collect();
    let class_names: Vec<String> = (0..CLASSES).map(|k| k.to_string()).collect();
    let schema = Schema::numbers(&names, "class", &class_names).unwrap();
    let batch = Batch::new(ROWS).row_major(&values[..], COLUMNS).unwrap().classes(&classes).unwrap();
    let engine = Memory::new(schema.clone(), batch.clone()).unwrap();
    let learner = Generative::gaussian(schema.columns(), Gaussian::default()).unwrap();

    let sizes = [ROWS, COLUMNS, CLASSES].map(|n| n.to_string());
    let mut peer = Peer::start("gaussian_fit", &sizes);
    let best = |seconds: &mut f64, new: f64| *seconds = seconds.min(new);
    let [mut fit, mut score, mut syrk, mut qda_fit, mut qda_score] = [f64::INFINITY; 5];
    for round in 0..ROUNDS {
        let start = Instant::now();
        let model = learner.learn(&engine).unwrap();
        best(&mut fit, start.elapsed().as_secs_f64());
        let start = Instant::now();
        let posterior = model.evidence(&batch).unwrap().posterior(model.prior());
        best(&mut score, start.elapsed().as_secs_f64());
        assert_eq!(posterior.rows(), ROWS);
        best(&mut syrk, peer.run("syrk").0);
        if round < 3 {
            best(&mut qda_fit, peer.run("qda-fit").0);
            best(&mut qda_score, peer.run("qda-score").0);
        }
    }
    println!("{ROWS} × {COLUMNS}, {CLASSES} classes, full covariance, best of {ROUNDS}");
    println!("fit                {fit:8.3} s   {:6.1} million rows/s", ROWS as f64 / fit / 1e6);
    println!("posteriors         {score:8.3} s   {:6.1} million rows/s", ROWS as f64 / score / 1e6);
    println!("OpenBLAS dsyrk     {syrk:8.3} s   our fit / dsyrk         = {:5.2}  (at most 1.5)", fit / syrk);
    println!("sklearn QDA fit    {qda_fit:8.3} s   theirs / our fit        = {:5.1}  (at least 10)", qda_fit / fit);
    println!("sklearn QDA proba  {qda_score:8.3} s   theirs / our posteriors = {:5.1}", qda_score / score);
}
