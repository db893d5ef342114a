//! Cross-validation from one pass of statistics gives what refitting and scoring fold by fold gives,
//! and leave-one-out what refitting without each row gives.

use crate::common::Table;
use deciban::calibrate::Calibrator;
use deciban::data::{Batch, Column, Kind, MISSING, Schema};
use deciban::engine::{Engine, Memory};
use deciban::family::AnyFamily;
use deciban::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use deciban::file::from_bytes;
use deciban::folds::Folds;
use deciban::learn::{Classifier, Effort, Generative, Learner, Logistic, NaiveBayes, blocks};
use deciban::model::{Candidate, Model};
use deciban::numerics::Random;
use deciban::pass::{ErasedPass, ErasedStatistic};
use deciban::posterior::Prior;
use deciban::select::{CrossValidation, HeldOutSums, Likelihoods, grid};
use deciban::transform::{Binning, Step};

/// What a naive loop adds up: errors, −ln p(true), squared distance.
#[derive(Debug, Default)]
struct Naive {
    errors: f64,
    loss: f64,
    brier: f64,
}

impl Naive {
    fn add(&mut self, posterior: &[f64], truth: usize) {
        let best = (0..posterior.len()).reduce(|a, b| if posterior[b] > posterior[a] { b } else { a }).unwrap();
        self.errors += f64::from(u8::from(best != truth));
        self.loss -= posterior[truth].ln();
        let square = |(k, p): (usize, &f64)| (p - if k == truth { 1.0 } else { 0.0 }).powi(2);
        self.brier += posterior.iter().enumerate().map(square).sum::<f64>();
    }

    fn check(&self, sums: &HeldOutSums, what: &str) {
        assert_eq!(self.errors, sums.errors, "{what}");
        assert!((self.loss - sums.loss).abs() <= 1e-9 * self.loss.max(1.0), "{what}: {} {}", self.loss, sums.loss);
        assert!((self.brier - sums.brier).abs() <= 1e-9, "{what}: {} {}", self.brier, sums.brier);
    }
}

/// Three overlapping classes in four columns, by default 40, 60 and 80 rows.
fn clouds(seed: u64, sizes: [usize; 3]) -> Table {
    let mut random = Random::new(seed);
    let mut rows = Vec::new();
    for (class, &n) in sizes.iter().enumerate() {
        for _ in 0..n {
            let z: Vec<f64> = (0..4).map(|_| random.normal()).collect();
            let k = class as f64;
            rows.push((
                [z[0] + k, z[1] * (1.0 + k) - k, 10.0 + z[2] + 0.8 * z[0], z[3] * 3.0 + 0.5 * z[1]],
                class as u32,
            ));
        }
    }
    Table::of(&rows)
}

/// The candidate learned on the rows of the other folds, and its rows scored, fold by fold.
fn naive(table: &Table, fold: &[u32], folds: u32, candidate: &Candidate) -> Naive {
    let mut sums = Naive::default();
    for held in 0..folds {
        let model = candidate.learn(&table.filter(|i| fold[i] != held).memory()).unwrap();
        let rows = table.filter(|i| fold[i] == held);
        let posterior = model.evidence(&rows.batch()).unwrap().posterior(model.prior());
        (0..rows.rows()).for_each(|i| sums.add(&posterior.row(i), rows.labels[i] as usize));
    }
    sums
}

fn gaussians(table: &Table) -> Vec<Candidate> {
    let mut all = Vec::new();
    for (name, covariance) in Structure::FREE {
        for gamma in [0.0, 0.05, 0.5] {
            for estimator in [Estimator::Ml, Estimator::Unbiased] {
                let shrinkage = Strength::Fixed(gamma);
                let family = Gaussian { covariance, shrinkage, estimator, ..Gaussian::default() };
                all.push(Candidate::generative(format!("{name} {gamma} {estimator:?}"), table.learner(family)));
            }
        }
    }
    for steps in [vec![Step::Standardise, Step::Pca(2)], vec![Step::Lda(2)]] {
        let family = Gaussian { steps: steps.clone(), ..Gaussian::default() };
        all.push(Candidate::generative(format!("{steps:?}"), table.learner(family)));
    }
    let bayes = Gaussian { estimator: Estimator::Bayes, ..Gaussian::default() };
    all.push(Candidate::generative("bayes", table.learner(bayes)));
    let pooled = Gaussian { pooling: Strength::Fixed(0.4), shrinkage: Strength::Fixed(0.1), ..Gaussian::default() };
    all.push(Candidate::generative("pooled", table.learner(pooled)));
    all
}

#[test]
fn every_candidate_equals_a_loop_of_refits() {
    let table = clouds(1, [40, 60, 80]);
    let engine = table.memory();
    let mut candidates = gaussians(&table);
    let open = Gaussian { pooling: Strength::Auto, shrinkage: Strength::Auto, ..Gaussian::default() };
    let gaussianised = table.learner(Gaussian::default()).gaussianise(true);
    let tree = blocks::together(table.schema().columns(), &AnyFamily::named("tree").unwrap()).unwrap();
    candidates.push(Candidate::generative("gaussianised", gaussianised));
    candidates.push(Candidate::generative("tree", Generative::of_blocks(tree).discretise(Binning::Mdl)));
    for weight_decay in [0.1, 10.0, 1.0] {
        let learner = Logistic { weight_decay, tolerance: 1e-12, ..Logistic::default() };
        candidates.push(Candidate::logistic(format!("logistic {weight_decay}"), learner));
    }
    let folds = Folds::stratified(&engine, 5, 3).unwrap();
    let fold = folds.of(&table.batch()).unwrap();
    let comparison = CrossValidation::new(folds.clone()).run(&engine, &candidates).unwrap();
    assert!(comparison.failed().is_empty(), "{:?}", comparison.failed());
    assert_eq!(comparison.ranked().len(), candidates.len());
    assert!(comparison.ranked().is_sorted_by(|a, b| a.sums.log_loss() <= b.sums.log_loss()));
    for outcome in comparison.ranked() {
        naive(&table, &fold, 5, &candidates[outcome.candidate]).check(&outcome.sums, &outcome.name);
        let counted: f64 = outcome.sums.confusion(3).iter().flat_map(|row| row.iter()).sum();
        assert_eq!((outcome.sums.rows, counted), (180.0, 180.0));
    }
    // What is left open is settled by the other folds among themselves.
    let open = [Candidate::generative("auto", table.learner(open).folds(4, 0))];
    let outcome = &CrossValidation::new(folds).run(&engine, &open).unwrap().ranked()[0].sums.clone();
    let mut sums = Naive::default();
    for held in 0..5 {
        let others: Vec<u32> = fold.iter().copied().filter(|f| *f != held).map(|f| f - u32::from(f > held)).collect();
        let part = table.filter(|i| fold[i] != held);
        let engine = Memory::new(part.schema(), part.batch().folds(&others).unwrap()).unwrap();
        let model = open[0].learn(&engine).unwrap();
        let rows = table.filter(|i| fold[i] == held);
        let posterior = model.evidence(&rows.batch()).unwrap().posterior(model.prior());
        (0..rows.rows()).for_each(|i| sums.add(&posterior.row(i), rows.labels[i] as usize));
    }
    sums.check(outcome, "auto");
}

#[test]
fn the_winner_is_fitted_to_all_rows() {
    let table = clouds(2, [30, 30, 30]);
    let engine = table.memory();
    let candidates = gaussians(&table);
    let comparison = CrossValidation::new(Folds::stratified(&engine, 3, 0).unwrap()).run(&engine, &candidates).unwrap();
    let best = &comparison.ranked()[0];
    let refitted = comparison.refit(best, &candidates, &engine).unwrap();
    let direct = candidates[best.candidate].learn(&engine).unwrap();
    let evidence = |model: &Model| model.evidence(&table.batch()).unwrap();
    let (a, b) = (evidence(&refitted), evidence(&direct));
    assert!(a.values().iter().zip(b.values()).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0)));
}

#[test]
fn threads_and_seeds() {
    let table = clouds(3, [50, 50, 50]);
    let candidates = gaussians(&table);
    let losses = |seed: u64, threads: usize| {
        let pool = rayon_pool(threads);
        pool.install(|| {
            let engine = table.memory();
            let folds = Folds::stratified(&engine, 4, seed).unwrap();
            let comparison = CrossValidation::new(folds).run(&engine, &candidates).unwrap();
            comparison.ranked().iter().map(|o| (o.candidate, o.sums.loss.to_bits())).collect::<Vec<_>>()
        })
    };
    assert_eq!(losses(1, 1), losses(1, 4));
    assert_ne!(losses(1, 1), losses(2, 1));
}

/// The evidence that calibrations learn from is that of models which were fitted without the row's fold;
/// a calibrated candidate is judged by maps that were fitted without it, too.
#[test]
fn calibration_by_rows_that_were_not_seen() {
    let table = clouds(4, [60, 80, 100]);
    let engine = table.memory();
    // Too sure: the third and fourth column repeat the others in part.
    let family = Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() };
    let candidates =
        [Candidate::generative("diagonal", table.learner(family)), Candidate::logistic("linear", Logistic::default())];
    let folds = Folds::stratified(&engine, 4, 1).unwrap();
    let fold = folds.of(&table.batch()).unwrap();
    let comparison = CrossValidation::new(folds.clone()).keep_evidence().run(&engine, &candidates).unwrap();
    let classes = table.schema().classes().to_vec();
    for outcome in comparison.ranked() {
        let held_out = comparison.held_out(outcome).unwrap().unwrap();
        let (mut values, mut truth, mut of) = (Vec::new(), Vec::new(), Vec::new());
        for held in 0..4 {
            let model = candidates[outcome.candidate].learn(&table.filter(|i| fold[i] != held).memory()).unwrap();
            let rows = table.filter(|i| fold[i] == held);
            values.extend_from_slice(model.evidence(&rows.batch()).unwrap().values());
            truth.extend_from_slice(&rows.labels);
            of.resize(truth.len(), held);
        }
        // In memory, rows of a batch are scored fold by fold.
        assert_eq!(held_out.rows.truth(), truth);
        let kept = held_out.rows.evidence().values();
        assert!(kept.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-6 * b.abs().max(1.0)));
        // By hand: for each fold a map of the others.
        let shares = Prior::from_weights(&[60.0, 80.0, 100.0]).unwrap();
        let calibrator = Calibrator { bounded: true, prior: Some(shares), ..Calibrator::default() };
        let crossed = held_out.calibrated(&calibrator, &classes).unwrap();
        for held in 0..4 {
            let weights: Vec<f64> = of.iter().map(|f| f64::from(u8::from(*f != held))).collect();
            let map = calibrator.fit(held_out.rows.evidence(), &truth, Some(&weights), &classes).unwrap();
            let all = map.apply(held_out.rows.evidence()).unwrap();
            for i in (0..of.len()).filter(|&i| of[i] == held) {
                assert!(all.row(i).iter().zip(crossed.evidence().row(i)).all(|(a, b)| (a - b).abs() < 1e-9));
            }
        }
        assert_eq!(held_out.calibration(&calibrator, &classes).unwrap(), {
            calibrator.fit(held_out.rows.evidence(), &truth, None, &classes).unwrap()
        });
        // The calibrated candidate of a comparison has the same figures, under each fold's prior.
        let both = CrossValidation::new(folds.clone()).calibrated(2).run(&engine, &candidates).unwrap();
        let name = format!("{} --calibrate logistic --folds 4 --seed 1", outcome.name);
        let judged = both.ranked().iter().find(|o| o.name == name).unwrap();
        let (mut loss, mut errors) = (0.0, 0.0);
        for held in 0..4 {
            let counts = |k: u32| (0..fold.len()).filter(|&i| fold[i] != held && table.labels[i] == k).count() as f64;
            let prior = Prior::from_weights(&[counts(0), counts(1), counts(2)]).unwrap();
            let posterior = crossed.evidence().posterior(&prior);
            for i in (0..of.len()).filter(|&i| of[i] == held) {
                let p = posterior.row(i);
                loss -= p[truth[i] as usize].ln();
                errors += f64::from(u8::from((0..3).any(|k| p[k] > p[truth[i] as usize])));
            }
        }
        assert!((judged.sums.loss - loss).abs() < 1e-9 * loss && judged.sums.errors == errors, "{name}");
        let Model::Calibrated(model) = both.refit(judged, &candidates, &engine).unwrap() else { panic!("{name}") };
        assert_eq!(Some(model.calibration()), judged.calibration.as_ref());
    }
    // What is kept travels.
    let score = comparison.rows();
    assert_eq!((score.folds.len(), score.evidence[0].len()), (240, 720));
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

#[test]
fn classes_with_fewer_rows_than_folds() {
    // One row of z: no other fold has the class, whichever fold it is in.
    let table = clouds(4, [40, 40, 1]);
    let engine = table.memory();
    let mut candidates = vec![Candidate::generative(
        "tied",
        table.learner(Gaussian { covariance: Structure::Tied, ..Gaussian::default() }),
    )];
    candidates.push(Candidate::logistic("logistic", Logistic::default()));
    candidates.push(Candidate::generative("full", table.learner(Gaussian::default())));
    let folds = Folds::stratified(&engine, 5, 0).unwrap();
    let comparison = CrossValidation::new(folds.clone()).run(&engine, &candidates).unwrap();
    // The row of z has no covariance of its own where it is learned from.
    assert_eq!(comparison.failed().len(), 1);
    assert!(comparison.failed()[0].1.to_string().contains("class `z`"), "{}", comparison.failed()[0].1);
    for outcome in comparison.ranked() {
        assert_eq!((outcome.sums.rows, outcome.sums.unseen, outcome.sums.scored), (81.0, 1.0, 80.0));
        assert!(outcome.sums.log_loss().is_finite() && outcome.sums.errors >= 1.0);
    }
    // Three rows of z are in three folds.
    let table = clouds(4, [40, 40, 3]);
    let folds = Folds::stratified(&table.memory(), 5, 0).unwrap().of(&table.batch()).unwrap();
    let mut of_z: Vec<u32> = folds.iter().zip(&table.labels).filter(|(_, c)| **c == 2).map(|(f, _)| *f).collect();
    of_z.sort_unstable();
    of_z.dedup();
    assert_eq!(of_z.len(), 3);
}

#[test]
fn one_class_is_an_error() {
    let table = clouds(5, [20, 0, 0]).filter(|_| true);
    let schema = Schema::numbers(&table.columns, "class", &["x".to_string()]).unwrap();
    let engine = Memory::new(schema, table.batch()).unwrap();
    let folds = Folds::stratified(&engine, 5, 0).unwrap();
    let candidates = [Candidate::generative("full", table.learner(Gaussian::default()))];
    let error = CrossValidation::new(folds).run(&engine, &candidates).unwrap_err().to_string();
    assert_eq!(error, "there is one class only in `class`: `x`; a model needs at least two");
}

/// Categories with missing cells, numbers with missing cells, and weights.
#[test]
fn mixed_columns_with_missing_cells_and_weights() {
    let mut random = Random::new(6);
    let n = 200;
    let labels: Vec<u32> = (0..n).map(|_| random.below(2) as u32).collect();
    let numbers: Vec<f64> =
        (0..n).map(|i| if random.below(7) == 0 { f64::NAN } else { random.normal() + f64::from(labels[i]) }).collect();
    let codes: Vec<u32> = (0..n)
        .map(|i| match random.below(6) {
            0 => MISSING,
            draw => (draw as u32 + labels[i]) % 3,
        })
        .collect();
    let weights: Vec<f64> = (0..n).map(|_| 0.5 + random.uniform()).collect();
    let levels = ["r", "g", "b"].map(String::from).to_vec();
    let columns = vec![Column::number("x"), Column { name: "c".into(), kind: Kind::Category, levels }];
    let schema = Schema::new(columns, "class", vec!["a".into(), "b".into()]).unwrap();
    let choose = |keep: &[usize]| {
        let pick = |i: &usize| (numbers[*i], codes[*i], labels[*i], weights[*i]);
        let rows: Vec<_> = keep.iter().map(pick).collect();
        let x: Vec<f64> = rows.iter().map(|r| r.0).collect();
        let c: Vec<u32> = rows.iter().map(|r| r.1).collect();
        let y: Vec<u32> = rows.iter().map(|r| r.2).collect();
        let w: Vec<f64> = rows.iter().map(|r| r.3).collect();
        (x, c, y, w)
    };
    let bayes = |pseudo_count: f64| {
        let blocks = NaiveBayes { pseudo_count, ..NaiveBayes::default() }.blocks(schema.columns()).unwrap();
        Candidate::generative(format!("bayes {pseudo_count}"), Generative::of_blocks(blocks))
    };
    let joint = NaiveBayes { joint_numbers: true, pseudo_count: 1.0, ..NaiveBayes::default() };
    let joint = Generative::of_blocks(joint.blocks(schema.columns()).unwrap());
    let candidates = [
        bayes(0.5),
        bayes(5.0),
        Candidate::generative("joint", joint),
        Candidate::logistic("logistic", Logistic { tolerance: 1e-12, ..Logistic::default() }),
    ];
    let all: Vec<usize> = (0..n).collect();
    let (x, c, y, w) = choose(&all);
    let batch = Batch::new(n).column(&x[..]).unwrap().codes(&c).unwrap();
    let batch = batch.classes(&y).unwrap().weights(&w).unwrap();
    let engine = Memory::new(schema.clone(), batch.clone()).unwrap();
    let folds = Folds::stratified(&engine, 4, 9).unwrap();
    let fold = folds.of(&batch).unwrap();
    let comparison = CrossValidation::new(folds).run(&engine, &candidates).unwrap();
    // A joint covariance with missing cells is learned in several passes, without each fold.
    assert!(comparison.failed().is_empty(), "{:?}", comparison.failed());
    for outcome in comparison.ranked() {
        let (mut loss, mut total) = (0.0, 0.0);
        for held in 0..4 {
            let (train, test): (Vec<usize>, Vec<usize>) = all.iter().partition(|&&i| fold[i] != held);
            let (x, c, y, w) = choose(&train);
            let rows = Batch::new(x.len()).column(&x[..]).unwrap().codes(&c).unwrap();
            let rows = rows.classes(&y).unwrap().weights(&w).unwrap();
            let model = candidates[outcome.candidate].learn(&Memory::new(schema.clone(), rows).unwrap()).unwrap();
            let (x, c, y, w) = choose(&test);
            let rows = Batch::new(x.len()).column(&x[..]).unwrap().codes(&c).unwrap();
            let posterior = model.evidence(&rows).unwrap().posterior(model.prior());
            for i in 0..y.len() {
                loss -= w[i] * posterior.log_row(i)[y[i] as usize];
                total += w[i];
            }
        }
        assert!((outcome.sums.log_loss() - loss / total).abs() < 1e-9, "{}", outcome.name);
    }
}

#[test]
fn leave_one_out_equals_refits_without_each_row() {
    let table = clouds(7, [12, 15, 18]);
    let candidates = gaussians(&table);
    let comparison = CrossValidation::leave_one_out().run(&table.memory(), &candidates).unwrap();
    assert!(comparison.failed().is_empty(), "{:?}", comparison.failed());
    let each: Vec<u32> = (0..table.rows() as u32).collect();
    for outcome in comparison.ranked() {
        naive(&table, &each, table.rows() as u32, &candidates[outcome.candidate]).check(&outcome.sums, &outcome.name);
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn leave_one_out_of_iris() {
    let iris = crate::common::iris();
    let candidate = |name: &str, covariance| {
        let family = Gaussian { covariance, estimator: Estimator::Unbiased, ..Gaussian::default() };
        Candidate::generative(name, iris.learner(family))
    };
    let candidates = [
        candidate("lda", Structure::Tied),
        candidate("qda", Structure::Full),
        candidate("diagonal", Structure::Diagonal),
    ];
    let comparison = CrossValidation::leave_one_out().run(&iris.memory(), &candidates).unwrap();
    let errors = |name: &str| comparison.ranked().iter().find(|o| o.name == name).unwrap().sums.errors;
    assert_eq!([errors("lda"), errors("qda"), errors("diagonal")], [3.0, 4.0, 7.0]);
    let each: Vec<u32> = (0..150).collect();
    for outcome in comparison.ranked() {
        naive(&iris, &each, 150, &candidates[outcome.candidate]).check(&outcome.sums, &outcome.name);
    }
    let linear = [Candidate::logistic("logistic", Logistic::default())];
    let error = CrossValidation::leave_one_out().run(&iris.memory(), &linear).unwrap_err().to_string();
    assert!(error.starts_with("folds=leave-one-out: it is not fitted from statistics"), "{error}");
}

/// Many strengths of shrinkage are scored together, and that is the same as one by one.
#[test]
fn banks_of_shrinkage_equal_single_candidates() {
    let table = clouds(10, [50, 60, 70]);
    let engine = table.memory();
    let folds = Folds::stratified(&engine, 3, 0).unwrap();
    for covariance in [Structure::Full, Structure::Tied] {
        for steps in [vec![], vec![Step::Standardise], vec![Step::Pca(3)]] {
            let candidate = |gamma: f64| {
                let shrinkage = Strength::Fixed(gamma);
                let family = Gaussian { covariance, shrinkage, steps: steps.clone(), ..Gaussian::default() };
                Candidate::generative(format!("{gamma}"), table.learner(family))
            };
            let candidates = [0.3, 0.0, 0.01, 1.0].map(candidate);
            let together = CrossValidation::new(folds.clone()).run(&engine, &candidates).unwrap();
            for outcome in together.ranked() {
                let alone = [candidates[outcome.candidate].clone()];
                let alone = CrossValidation::new(folds.clone()).run(&engine, &alone).unwrap();
                let (a, b) = (&alone.ranked()[0].sums, &outcome.sums);
                assert!((a.loss - b.loss).abs() < 1e-9 && (a.brier - b.brier).abs() < 1e-9, "{a:?} {b:?}");
            }
        }
    }
}

/// By hand: the mean log p(row, class) under models that were fitted without the row's fold, of four.
fn check_likelihoods(told: &Likelihoods, table: &Table, candidates: &[Candidate], fold: &[u32]) {
    let n = table.rows() as f64;
    for (c, name, mean) in &told.ranked {
        let mut sum = 0.0;
        for held in 0..4 {
            let model = candidates[*c].learn(&table.filter(|i| fold[i] != held).memory()).unwrap();
            let rows = table.filter(|i| fold[i] == held);
            let evidence = model.evidence(&rows.batch()).unwrap();
            for i in 0..rows.rows() {
                let class = rows.labels[i] as usize;
                sum += evidence.row(i)[class] + model.prior().probabilities()[class].ln();
            }
        }
        assert!((mean - sum / n).abs() < 1e-9 * mean.abs(), "{name}: {mean} {}", sum / n);
    }
}

/// log p(x, class) of held-out rows, from statistics and from the rows.
#[test]
fn likelihoods_from_statistics_are_those_of_the_rows() {
    let table = clouds(11, [30, 40, 50]);
    let engine = table.memory();
    let mut candidates = gaussians(&table);
    let standardised = |gamma: f64| {
        let (shrinkage, steps) = (Strength::Fixed(gamma), vec![Step::Standardise]);
        let family = Gaussian { shrinkage, steps, ..Gaussian::default() };
        Candidate::generative(format!("standardised {gamma}"), table.learner(family))
    };
    candidates.extend([0.0, 0.2].map(standardised));
    let naive_bayes = Generative::of_blocks(NaiveBayes::default().blocks(table.schema().columns()).unwrap());
    candidates.push(Candidate::generative("naive Bayes", naive_bayes));
    candidates.push(Candidate::logistic("logistic", Logistic::default()));
    let folds = Folds::stratified(&engine, 4, 0).unwrap();
    let fold = folds.of(&table.batch()).unwrap();
    let told = CrossValidation::new(folds).by_likelihood(&engine, &candidates).unwrap();
    let failed: Vec<&str> = told.failed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(failed.len(), 4, "two projections, a Student density and a linear model: {failed:?}");
    assert_eq!(told.ranked.len(), candidates.len() - 4);
    assert!(told.ranked.is_sorted_by(|a, b| a.2 >= b.2));
    check_likelihoods(&told, &table, &candidates, &fold);
}

/// The same for counts of levels and of words.
#[test]
fn likelihoods_of_counts_are_those_of_the_rows() {
    let mut random = Random::new(12);
    let n = 90;
    let labels: Vec<u32> = (0..n).map(|_| random.below(2) as u32).collect();
    let codes: Vec<u32> =
        labels.iter().map(|y| if random.below(9) == 0 { MISSING } else { (random.below(3) as u32 + y) % 4 }).collect();
    let (mut offsets, mut words, mut counts) = (vec![0], Vec::new(), Vec::new());
    for y in &labels {
        for word in 0..6u32 {
            if random.below(3) == 0 {
                words.push(word);
                counts.push(1.0 + random.below(3) as f64 + f64::from(*y));
            }
        }
        offsets.push(words.len());
    }
    let sparse = deciban::data::Sparse::new(&offsets[..], &words[..], &counts[..]).unwrap();
    let names = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<String>>();
    let columns = vec![
        Column { name: "c".into(), kind: Kind::Category, levels: names(4) },
        Column { name: "t".into(), kind: Kind::Text, levels: names(6) },
    ];
    let schema = Schema::new(columns, "class", vec!["a".into(), "b".into()]).unwrap();
    let batch = Batch::new(n).codes(&codes).unwrap().sparse(sparse).unwrap().classes(&labels).unwrap();
    let engine = Memory::new(schema.clone(), batch.clone()).unwrap();
    let folds = Folds::stratified(&engine, 3, 0).unwrap();
    let fold = folds.of(&batch).unwrap();
    let bayes = |pseudo_count: f64| {
        let blocks = NaiveBayes { pseudo_count, ..NaiveBayes::default() }.blocks(schema.columns()).unwrap();
        Candidate::generative(format!("{pseudo_count}"), Generative::of_blocks(blocks))
    };
    let candidates = [bayes(0.5), bayes(2.0)];
    let validation = CrossValidation::new(folds.clone());
    let told = validation.by_likelihood(&engine, &candidates).unwrap();
    for (c, name, mean) in &told.ranked {
        let mut sum = 0.0;
        for held in 0..3u32 {
            use deciban::folds::{Folded, View};
            let view = Folded::new(&engine, View::without(&folds, held as usize, &[0, 1]));
            let model = candidates[*c].learn(&view).unwrap();
            let evidence = model.evidence(&batch).unwrap();
            for i in (0..n).filter(|&i| fold[i] == held) {
                let class = labels[i] as usize;
                sum += evidence.row(i)[class] + model.prior().probabilities()[class].ln();
            }
        }
        assert!((mean - sum / n as f64).abs() < 1e-9, "{name}: {mean} {}", sum / n as f64);
    }
    assert_eq!(told.ranked.len(), 2);
}

#[test]
fn costs_and_priors_are_those_asked_for() {
    use deciban::decision::Costs;
    use deciban::posterior::Prior;
    let table = clouds(8, [40, 60, 80]);
    let engine = table.memory();
    let candidates = &gaussians(&table)[..1];
    let folds = Folds::stratified(&engine, 5, 0).unwrap();
    let prior = Prior::new(&[0.6, 0.3, 0.1]).unwrap();
    let mut costs = Costs::zero_one(&table.classes).with_reject(0.25).unwrap();
    costs.set(0, 1, 5.0).unwrap();
    let validation = CrossValidation::new(folds.clone()).prior(prior.clone()).costs(costs.clone());
    let sums = validation.run(&engine, candidates).unwrap().ranked()[0].sums.clone();
    let fold = folds.of(&table.batch()).unwrap();
    let (mut cost, mut rejected) = (0.0, 0.0);
    for held in 0..5 {
        let model = candidates[0].learn(&table.filter(|i| fold[i] != held).memory()).unwrap();
        let rows = table.filter(|i| fold[i] == held);
        let posterior = model.evidence(&rows.batch()).unwrap().posterior(&prior);
        for (i, decided) in posterior.decide(&costs).iter().enumerate() {
            cost += costs.cost(rows.labels[i] as usize, decided.action.unwrap());
            rejected += f64::from(u8::from(decided.action == Some(3)));
        }
    }
    assert!((sums.cost - cost).abs() < 1e-9);
    assert_eq!(sums.confusion(4).iter().map(|row| row[3]).sum::<f64>(), rejected);
    assert!(rejected > 0.0);
}

/// A point of a learning curve is a cross-validation whose models saw a share of the rows only, and the last
/// one is the cross-validation itself.
#[test]
fn learning_curves_are_cross_validations_of_fewer_rows() {
    use deciban::folds::{Folded, View};
    let table = clouds(12, [90, 90, 120]);
    let engine = table.memory();
    let candidates = [
        Candidate::generative("tied", table.learner(Gaussian { covariance: Structure::Tied, ..Gaussian::default() })),
        Candidate::logistic("logistic", Logistic::default()),
    ];
    let folds = Folds::stratified(&engine, 3, 0).unwrap();
    let fold = folds.of(&table.batch()).unwrap();
    let validation = CrossValidation::new(folds.clone());
    let curves = validation.learning_curves(&engine, &candidates, &[0.01, 0.25, 1.0]).unwrap();
    let whole = validation.run(&engine, &candidates).unwrap();
    for (curve, candidate) in curves.iter().zip(&candidates) {
        let outcome = whole.ranked().iter().find(|o| o.name == curve.name).unwrap();
        let (rows, last) = curve.points.last().unwrap();
        assert!((rows - 200.0).abs() < 1e-9 && (last.loss - outcome.sums.loss).abs() < 1e-6 * last.loss);
        // A hundredth of the rows is too few for covariances of four columns.
        assert!(curve.name == "logistic" || curve.points.len() == 2, "{}", curve.points.len());
        let (rows, quarter) = &curve.points[curve.points.len() - 2];
        assert!((30.0..70.0).contains(rows), "{rows}");
        let mut sums = Naive::default();
        for held in 0..3 {
            let view = Folded::new(&engine, View::without(&folds, held, &[0, 1, 2]).share(0.25));
            let model = candidate.learn(&view).unwrap();
            let rows = table.filter(|i| fold[i] == held as u32);
            let posterior = model.evidence(&rows.batch()).unwrap().posterior(model.prior());
            (0..rows.rows()).for_each(|i| sums.add(&posterior.row(i), rows.labels[i] as usize));
        }
        sums.check(quarter, &curve.name);
    }
    assert!(validation.learning_curves(&engine, &candidates, &[0.0]).is_err());
    // Recipes of models are those that made them.
    for candidate in &candidates {
        let model = candidate.learn(&engine).unwrap();
        let again = Candidate::of_model("again", &model).learn(&engine).unwrap();
        let [a, b] = [&model, &again].map(|model| model.evidence(&table.batch()).unwrap());
        assert!(a.values().iter().zip(b.values()).all(|(a, b)| (a - b).abs() < 1e-9));
    }
}

/// A pass over a view and the scoring pass travel as bytes.
#[test]
fn passes_travel() {
    use deciban::folds::{Folded, View, Viewed};
    use deciban::learn::{Summarise, Summary};
    use deciban::pass::pass_to_bytes;
    use deciban::registry::accumulator;
    let table = clouds(9, [20, 20, 20]);
    let engine = table.memory();
    let folds = Folds::stratified(&engine, 3, 0).unwrap();
    let learner = table.learner(Gaussian::default());
    let pass = Summarise { blocks: learner.blocks().to_vec(), folds: 3, seed: 0 };
    let view = View::without(&folds, 1, &[0, 2]);
    let viewed = Viewed::new(&pass, &view);
    let (mut near, mut far) = (viewed.accumulator(), accumulator(&pass_to_bytes(&viewed).unwrap()).unwrap());
    near.observe(&table.batch()).unwrap();
    far.observe(&table.batch()).unwrap();
    let [a, b] = [near.state(), far.state()].map(|state| from_bytes::<Summary>(&state.unwrap()).unwrap());
    assert_eq!(a.weights(), b.weights());
    let fold = folds.of(&table.batch()).unwrap();
    let left = |k: u32| (0..60).filter(|&i| fold[i] != 1 && table.labels[i] == k).count() as f64;
    assert_eq!(a.weights(), [left(0), left(2)]);
    let seen = Folded::new(&engine, View::without(&folds, 1, &[0, 2]));
    assert_eq!(seen.schema().unwrap().classes(), ["x", "z"]);
    assert_eq!(learner.learn(&seen).unwrap().rows().iter().sum::<f64>(), a.rows().iter().sum::<f64>());
}

#[test]
fn candidates_suit_the_columns() {
    /// Columns without rows.
    struct Columns(Vec<Column>);
    impl Engine for Columns {
        fn collect(&self, pass: &dyn ErasedPass) -> deciban::Result<ErasedStatistic> {
            Ok(pass.accumulator().finish())
        }
        fn schema(&self) -> deciban::Result<Schema> {
            Schema::new(self.0.clone(), "class", ["a", "b", "c"].map(String::from).to_vec())
        }
    }
    let column = |name: &str, kind| Column { name: name.into(), kind, levels: vec!["u".into(), "v".into()] };
    let names = |columns: &[Column]| {
        let all = grid::candidates(&Columns(columns.to_vec()), &[], Effort::Normal, 100.0).unwrap();
        let first = |c: &Candidate| c.name.split(' ').next().unwrap().trim_end_matches(',').to_string();
        let mut kinds: Vec<String> = all.iter().map(first).collect();
        kinds.dedup();
        kinds
    };
    let numbers = names(&[Column::number("x"), Column::number("y")]);
    let expected = "gaussian naive-bayes table tree a1de parzen logistic additive k-dependence least-squares";
    assert_eq!(numbers.join(" "), expected);
    let categories = names(&[column("c", Kind::Category)]);
    assert_eq!(categories, ["naive-bayes", "table", "tree", "a1de", "logistic", "additive", "k-dependence"]);
    assert_eq!(names(&[column("t", Kind::Text)]), ["naive-bayes", "bernoulli", "multinomial", "logistic"]);
    let text = Columns(vec![column("t", Kind::Text)]);
    let error = grid::candidates(&text, &["gaussain".into()], Effort::Normal, 100.0).unwrap_err().to_string();
    assert!(error.contains("there is no model `gaussain`: there are gaussian, naive-bayes"), "{error}");
    assert!(grid::candidates(&text, &["gaussian".into()], Effort::Normal, 100.0).is_err());
    // A search tries a linear model of texts while its weights are not too many, and says so where they are.
    let with_words = |words: usize| {
        let levels = (0..words).map(|w| w.to_string()).collect();
        Columns(vec![Column { name: "t".into(), kind: Kind::Text, levels }, Column::number("x")])
    };
    let tries = |engine: &Columns| grid::quick(engine).unwrap().iter().any(|c| c.kind == "logistic");
    assert!(tries(&with_words(1000)) && grid::left_out(&with_words(1000)).unwrap().is_empty());
    let many = with_words(100_000);
    assert!(!tries(&many) && !grid::quick(&many).unwrap().is_empty());
    let [(kind, why)] = &grid::left_out(&many).unwrap()[..] else { panic!("one kind") };
    assert!(*kind == "logistic" && why.contains("100000 words of `t` and 3 classes"), "{why}");
    // Of very many rows and classes, too.
    let numbers = Columns(vec![Column::number("x")]);
    let mut all = grid::candidates(&numbers, &[], Effort::Normal, 1e6).unwrap();
    let table = |classes: usize, effort: Effort| grid::Table {
        named: false,
        columns: &numbers.0,
        profiles: &[],
        classes,
        rows: 1e6,
        fitted: 1e6,
        effort,
    };
    // Parzen windows keep every row that they are fitted to, however few a search sees.
    for (fitted, is_gone) in [(1e5, false), (1e6, true)] {
        let seen = grid::Table { rows: 2e4, fitted, ..table(3, Effort::Normal) };
        let gone = grid::keep_quick(&mut all.clone(), &seen);
        assert_eq!(gone.iter().any(|(kind, _)| kind == "parzen"), is_gone, "{gone:?}");
    }
    let gone = grid::keep_quick(&mut all, &table(3, Effort::Normal));
    assert!(gone.len() == 1 && gone[0].0 == "parzen" && all.iter().all(|c| c.kind != "parzen"), "{gone:?}");
    let kept = grid::keep_quick(&mut all.clone(), &table(100, Effort::Thorough));
    assert!(kept.iter().all(|(kind, _)| kind != "logistic"), "{kept:?}");
    let gone = grid::keep_quick(&mut all, &table(100, Effort::Normal));
    let kinds: Vec<String> = gone.into_iter().map(|(kind, _)| kind).collect();
    assert!(
        kinds == ["logistic", "additive", "k-dependence"]
            && !all.is_empty()
            && all.iter().all(|c| c.kind != "logistic")
    );
}

/// The line that every candidate is measured against: class shares of the other folds, and nothing else.
#[test]
fn the_prior_alone_is_a_line_of_the_comparison() {
    let table = clouds(3, [40, 60, 80]);
    let engine = table.memory();
    let folds = Folds::stratified(&engine, 5, 0).unwrap();
    for validation in [CrossValidation::new(folds).calibrated(1), CrossValidation::leave_one_out()] {
        let comparison = validation.run(&engine, &gaussians(&table)[..2]).unwrap();
        let prior = comparison.prior_only();
        assert_eq!((prior.name.as_str(), prior.sums.rows), ("prior only", 180.0));
        // Shares of 2/9, 3/9 and 4/9, but for the rows that are left out.
        let shares = [40.0, 60.0, 80.0].map(|n| n / 180.0);
        // Of a row that is left out the share is (n − 1)/179; other folds have nearly the shares of all.
        let one = prior.folds.len() == 1;
        let left = |p: f64| if one { (180.0 * p - 1.0) / 179.0 } else { p };
        let loss: f64 = shares.iter().map(|p| -p * left(*p).ln()).sum();
        let off = (prior.sums.log_loss() - loss).abs();
        assert!(off < if one { 1e-12 } else { 1e-3 }, "{} {loss}", prior.sums.log_loss());
        assert!((prior.sums.error_rate() - 5.0 / 9.0).abs() < 1e-12);
        let gini = 1.0 - shares.iter().map(|p| p * p).sum::<f64>();
        assert!((prior.sums.brier() - gini).abs() < 0.01);
        let best = &comparison.ranked()[0];
        assert!(comparison.beats_prior(best) && !comparison.beats_prior(prior));
        let (less, error) = comparison.difference(best, prior).unwrap();
        assert!(less < 0.0 && less.abs() > 3.0 * error);
        let lines = comparison.lines();
        assert_eq!(lines.len(), comparison.ranked().len() + 1);
        assert!(lines.windows(2).all(|w| w[0].sums.log_loss() <= w[1].sums.log_loss()));
        assert!(comparison.ranked().iter().all(|outcome| outcome.name != "prior only"));
    }
    // Columns that say nothing: the winner does not beat the prior, and that is told.
    let mut random = Random::new(4);
    let rows: Vec<([f64; 4], u32)> =
        (0..40).map(|i| ([0; 4].map(|_| random.normal()), u32::from(i % 3 == 0))).collect();
    let noise = Table::of(&rows);
    let engine = noise.memory();
    let folds = Folds::stratified(&engine, 5, 0).unwrap();
    let comparison = CrossValidation::new(folds).run(&engine, &gaussians(&noise)[..1]).unwrap();
    assert!(!comparison.beats_prior(&comparison.ranked()[0]), "{:?}", comparison.ranked()[0].sums);
    assert_eq!(comparison.lines()[0].name, "prior only");
}

/// One row is outside of the family that the other folds suggest: its candidate is left out and told, and the search
/// goes on.
#[test]
fn a_candidate_that_fails_while_scoring_is_left_out() {
    let mut random = Random::new(6);
    let mut rows: Vec<([f64; 1], u32)> =
        (0..80).map(|i| ([(random.normal() + 2.0 * f64::from(i % 2)).exp()], i % 2)).collect();
    rows[17].0[0] = 0.0;
    let table = Table::of(&rows);
    let (schema, engine) = (table.schema(), table.memory());
    let family = |name: &str| {
        let mut bayes = NaiveBayes::default();
        bayes.every_number(schema.columns(), &AnyFamily::named(name).unwrap());
        Candidate::generative(name, Generative::of_blocks(bayes.blocks(schema.columns()).unwrap()))
    };
    let candidates = [family("auto"), family("gamma"), family("histogram")];
    let folds = Folds::stratified(&engine, 5, 0).unwrap();
    let validation = CrossValidation::new(folds);
    let mut comparison = validation.clone().calibrated(2).run(&engine, &candidates).unwrap();
    assert!(comparison.ranked().iter().any(|outcome| outcome.name == "histogram"));
    let failed: Vec<&str> = comparison.failed().iter().map(|(name, _)| name.as_str()).collect();
    assert!(failed.contains(&"gamma"), "{:?}", comparison.failed());
    // Where the row with the 0 is held out, the others may suggest a family of positive numbers, which cannot score it.
    let plain = comparison.ranked().iter().filter(|outcome| outcome.calibration.is_none()).count();
    assert_eq!(failed.len() + plain, 3, "{failed:?}");
    for (name, error) in comparison.failed() {
        assert!(error.to_string().contains("`a`"), "{name}: {error}");
    }
    comparison.refit_best(&candidates, &engine).unwrap();
    let curves = validation.learning_curves(&engine, &candidates, &[1.0]).unwrap();
    assert!(curves[1].points.is_empty() && !curves[2].points.is_empty());
}

/// What is wrong with the rows is said, rather than what is wrong with folds.
#[test]
fn too_few_rows_of_a_class_are_named() {
    let said = |labels: &[u32], classes: &[&str]| {
        let x: Vec<f64> = (0..labels.len()).map(|i| i as f64).collect();
        let schema = Schema::numbers(&["x"], "answer", classes).unwrap();
        let rows = Batch::new(labels.len()).column(&x[..]).unwrap().classes(labels).unwrap();
        let engine = Memory::new(schema, rows).unwrap();
        let candidates = grid::quick(&engine).unwrap();
        let folds = Folds::stratified(&engine, 5, 0).unwrap();
        CrossValidation::new(folds).run(&engine, &candidates).unwrap_err().to_string()
    };
    let one = "there is one class only in `answer`: `yes`; a model needs at least two";
    assert_eq!(said(&[0; 7], &["yes"]), one);
    assert_eq!(said(&[0], &["yes"]), one);
    let few = said(&[0, 0, 0, 0, 0, 0, 1], &["a", "b"]);
    assert!(few.starts_with("class `b` has 1 row, all in fold "), "{few}");
}

/// Many classes: no pairs of classes are kept, and all figures are there.
#[test]
fn comparisons_of_many_classes() {
    let classes = 200;
    let mut random = Random::new(8);
    let labels: Vec<u32> = (0..5 * classes).map(|i| i % classes).collect();
    let x: Vec<f64> =
        labels.iter().flat_map(|k| [f64::from(k % 20), f64::from(k / 20)]).map(|m| m + 0.3 * random.normal()).collect();
    let names: Vec<String> = (0..classes).map(|k| format!("c{k}")).collect();
    let schema = Schema::numbers(&["x", "y"].map(String::from), "class", &names).unwrap();
    let rows = Batch::new(labels.len()).row_major(&x[..], 2).unwrap().classes(&labels).unwrap();
    let engine = Memory::new(schema.clone(), rows).unwrap();
    let tied = Gaussian { covariance: Structure::Tied, ..Gaussian::default() };
    let candidate = Candidate::generative("tied", Generative::gaussian(schema.columns(), tied).unwrap());
    let folds = Folds::stratified(&engine, 5, 0).unwrap();
    let comparison = CrossValidation::new(folds).calibrated(1).run(&engine, &[candidate]).unwrap();
    assert_eq!(comparison.ranked().len(), 2, "the calibrated one is tried, too");
    let best = &comparison.ranked()[0].sums;
    assert!(best.confusion.is_empty() && best.confusion(classes as usize).is_empty());
    assert!(best.error_rate() < 0.3 && best.log_loss() < 1.0, "{} {}", best.error_rate(), best.log_loss());
}

/// After standardising, a column counts in the change of units as often as it has cells.
#[test]
fn likelihoods_with_missing_cells_are_those_of_the_rows() {
    let mut table = clouds(13, [30, 40, 50]);
    for i in 0..table.rows() {
        table.values[4 * i] *= 1000.0;
        if i % 3 == 0 {
            table.values[4 * i + 2 * (i % 2)] = f64::NAN;
        }
    }
    let engine = table.memory();
    let family = |covariance| Gaussian { covariance, steps: vec![Step::Standardise], ..Gaussian::default() };
    let candidates = [Structure::Diagonal, Structure::TiedDiagonal]
        .map(|covariance| Candidate::generative(format!("{covariance:?}"), table.learner(family(covariance))));
    let folds = Folds::stratified(&engine, 4, 0).unwrap();
    let fold = folds.of(&table.batch()).unwrap();
    let told = CrossValidation::new(folds).by_likelihood(&engine, &candidates).unwrap();
    assert_eq!(told.ranked.len(), 2, "{:?}", told.failed);
    check_likelihoods(&told, &table, &candidates, &fold);
}

/// Who learns without a fold settles what is open by folds of its own, as if the fold had never been there.
#[test]
fn outer_folds_are_not_inner_folds() {
    let table = clouds(14, [40, 60, 80]);
    let engine = table.memory();
    let open = Gaussian { pooling: Strength::Auto, shrinkage: Strength::Auto, ..Gaussian::default() };
    let candidate = Candidate::generative("open", table.learner(open).gaussianise(true).folds(5, 0));
    let folds = Folds::stratified(&engine, 5, 0).unwrap();
    let fold = folds.of(&table.batch()).unwrap();
    let comparison = CrossValidation::new(folds).run(&engine, std::slice::from_ref(&candidate)).unwrap();
    naive(&table, &fold, 5, &candidate).check(&comparison.ranked()[0].sums, "open");
}

/// A name says which folds settled what was left open, and `fit` with these options makes the same model.
#[test]
fn names_of_open_and_calibrated_candidates_have_their_folds() {
    let table = clouds(15, [40, 60, 80]);
    let engine = table.memory();
    let open = Gaussian { pooling: Strength::Auto, shrinkage: Strength::Auto, ..Gaussian::default() };
    let candidates = [
        Candidate::generative(
            "gaussian --covariance full --shrinkage auto --pooling auto",
            table.learner(open.clone()),
        ),
        Candidate::generative("gaussian --covariance full", table.learner(Gaussian::default())),
    ];
    for (count, seed, options) in [(5, 0, ""), (7, 0, " --folds 7"), (5, 3, " --seed 3"), (4, 1, " --folds 4 --seed 1")]
    {
        let folds = Folds::stratified(&engine, count, seed).unwrap();
        let comparison = CrossValidation::new(folds).calibrated(2).run(&engine, &candidates).unwrap();
        let names: Vec<&str> = comparison.ranked().iter().map(|outcome| outcome.name.as_str()).collect();
        for candidate in &candidates {
            let (own, calibrated) = (&candidate.name, format!("{} --calibrate logistic{options}", candidate.name));
            let plain = if own.contains("auto") { format!("{own}{options}") } else { own.clone() };
            assert!(names.contains(&plain.as_str()) && names.contains(&calibrated.as_str()), "{names:?}");
        }
        let outcome = comparison.ranked().iter().find(|o| o.candidate == 0 && o.calibration.is_none()).unwrap();
        let model = comparison.refit(outcome, &candidates, &engine).unwrap();
        let fitted = table.learner(open.clone()).folds(count, seed).learn(&engine).unwrap();
        assert_eq!(model.evidence(&table.batch()).unwrap(), fitted.evidence(&table.batch()).unwrap());
    }
}
