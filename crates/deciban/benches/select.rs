//! Ten-fold cross-validation of 60 Gaussian candidates (30 strengths of shrinkage with a covariance
//! of each class, 30 with one for all) on 50,000 × 30 numbers in five classes, with error and log
//! loss of each, against one pass of statistics and 60 scorings, and against scikit-learn's
//! GridSearchCV over the same grid (QDA's reg_param, LDA's shrinkage).
//!
//! `cargo bench -p deciban --bench select` (the peer needs scikit-learn: name a Python that has it in
//! `DECIBAN_PYTHON`, `python3` unless told). Runs of the two sides alternate and the best of each
//! counts; read the ratios, not the seconds.

mod peer;

use std::time::Instant;

use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::family::gaussian::{Gaussian, Strength, Structure};
use deciban::folds::{Folded, Folds, View};
use deciban::learn::{Classifier, Generative, Statistics, Summarise};
use deciban::model::Candidate;
use deciban::numerics::Random;
use deciban::select::CrossValidation;
use peer::Peer;

const ROWS: usize = 50_000;
const COLUMNS: usize = 30;
const CLASSES: usize = 5;
/// Strengths of shrinkage per structure.
const GRID: usize = 30;
const ROUNDS: usize = 5;
/// Repetitions of what is short, in each round.
const SHORT: usize = 8;

/// Rows of correlated columns, a covariance and a mean for each class.
fn rows() -> (Vec<f64>, Vec<u32>) {
    let mut random = Random::new(1);
    let scale = (COLUMNS as f64).sqrt().recip();
    let mix: Vec<f64> = (0..CLASSES * COLUMNS * COLUMNS).map(|_| random.normal() * scale).collect();
    let means: Vec<f64> = (0..CLASSES * COLUMNS).map(|_| 0.3 * random.normal()).collect();
    let classes: Vec<u32> = (0..ROWS).map(|_| random.below(CLASSES as u64) as u32).collect();
    let mut values = Vec::with_capacity(ROWS * COLUMNS);
    for &class in &classes {
        let z: Vec<f64> = (0..COLUMNS).map(|_| random.normal()).collect();
        let own = &mix[class as usize * COLUMNS * COLUMNS..][..COLUMNS * COLUMNS];
        for j in 0..COLUMNS {
            let mixed: f64 = own[j * COLUMNS..][..COLUMNS].iter().zip(&z).map(|(a, z)| a * z).sum();
            values.push(z[j] + mixed + means[class as usize * COLUMNS + j]);
        }
    }
    (values, classes)
}

fn main() {
    let (values, classes) = rows();
    let names: Vec<String> = (0..COLUMNS).map(|j| format!("c{j}")).collect();
    let class_names: Vec<String> = (0..CLASSES).map(|k| k.to_string()).collect();
    let schema = Schema::numbers(&names, "class", &class_names).unwrap();
    let batch = Batch::new(ROWS).row_major(&values[..], COLUMNS).unwrap().classes(&classes).unwrap();
    let engine = Memory::new(schema.clone(), batch.clone()).unwrap();
    let mut candidates = Vec::new();
    for covariance in [Structure::Full, Structure::Tied] {
        for i in 0..GRID {
            let gamma = 0.01 + 0.89 * i as f64 / (GRID - 1) as f64;
            let family = Gaussian { covariance, shrinkage: Strength::Fixed(gamma), ..Gaussian::default() };
            let learner = Generative::gaussian(schema.columns(), family).unwrap();
            candidates.push(Candidate::generative(format!("{covariance:?} {gamma:.3}"), learner));
        }
    }
    let folds = Folds::stratified(&engine, 10, 0).unwrap();
    let validation = CrossValidation::new(folds.clone());
    let plain = Generative::gaussian(schema.columns(), Gaussian::default()).unwrap();
    let pass = Summarise { blocks: plain.blocks().to_vec(), folds: 10, seed: 0 };
    let models: Vec<_> = candidates.iter().map(|c| c.learn(&engine).unwrap()).collect();

    let sizes = [ROWS, COLUMNS, CLASSES, GRID].map(|n| n.to_string());
    let mut peer = Peer::start("selection", &sizes);
    let best = |seconds: &mut f64, new: f64| *seconds = seconds.min(new);
    let [mut statistics, mut scorings, mut compared, mut likelihood, mut qda, mut lda] = [f64::INFINITY; 6];
    for round in 0..ROUNDS {
        // These two take milliseconds: the more often, the surer their ratio.
        for _ in 0..SHORT {
            let start = Instant::now();
            Statistics::collect(pass.clone(), &Folded::new(&engine, View::all(&folds))).unwrap();
            best(&mut statistics, start.elapsed().as_secs_f64());
            let start = Instant::now();
            assert_eq!(validation.by_likelihood(&engine, &candidates).unwrap().ranked.len(), 2 * GRID);
            best(&mut likelihood, start.elapsed().as_secs_f64());
        }
        let start = Instant::now();
        for model in &models {
            assert_eq!(model.evidence(&batch).unwrap().posterior(model.prior()).rows(), ROWS);
        }
        best(&mut scorings, start.elapsed().as_secs_f64());
        let start = Instant::now();
        let comparison = validation.run(&engine, &candidates).unwrap();
        best(&mut compared, start.elapsed().as_secs_f64());
        assert_eq!((comparison.ranked().len(), comparison.ranked()[0].sums.rows), (2 * GRID, ROWS as f64));
        if round < 2 {
            best(&mut qda, peer.run("qda").0);
            best(&mut lda, peer.run("lda").0);
        }
    }
    let grid_search = qda + lda;
    println!("{ROWS} × {COLUMNS}, {CLASSES} classes, 60 Gaussian candidates, ten folds, best of {ROUNDS}");
    println!("one pass of statistics per fold and class   {statistics:8.3} s");
    println!("60 scorings                                 {scorings:8.3} s");
    println!(
        "cross-validation                            {compared:8.3} s   / (pass + scorings) = {:6.2}  (at most 1.5)",
        compared / (statistics + scorings)
    );
    println!(
        "ranking by held-out likelihood              {likelihood:8.3} s   / pass               = {:6.2}  (at most 2)",
        likelihood / statistics
    );
    println!(
        "GridSearchCV, n_jobs=2                      {grid_search:8.1} s   theirs / ours        = {:6.1}  (at least 50)",
        grid_search / compared
    );
}
