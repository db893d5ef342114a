//! Laws that every statistic and every engine keeps.

use deciban::data::{Batch, Schema, Tile};
use deciban::engine::{Engine, Memory};
use deciban::evidence::Evidence;
use deciban::family::AnyStatistic;
use deciban::family::gaussian::{Gaussian, GaussianStatistic, Structure};
use deciban::file::from_bytes;
use deciban::learn::{Classifier, Generative, GenerativeModel, Learner, Summarise};
use deciban::numerics::{Normalise, Random, normalise};
use deciban::pass::{ErasedPass, ErasedStatistic, Pass, pass_to_bytes};
use deciban::posterior::Prior;
use deciban::registry::accumulator;
use deciban::statistic::{ColumnMoments, Moments, Retract, Statistic};
use proptest::prelude::*;

const D: usize = 3;

fn tile(rows: &[[f64; D]]) -> Tile {
    let mut tile = Tile::default();
    tile.resize(rows.len(), D);
    for (i, row) in rows.iter().enumerate() {
        row.iter().enumerate().for_each(|(j, &x)| tile.column_mut(j)[i] = x);
    }
    tile
}

fn moments(rows: &[[f64; D]], weights: Option<&[f64]>) -> Moments {
    let mut moments = Moments::empty(D);
    moments.observe(&mut tile(rows), weights).unwrap();
    moments
}

fn columns(rows: &[[f64; D]], weights: Option<&[f64]>) -> ColumnMoments {
    let mut moments = ColumnMoments::empty(D);
    moments.observe(&mut tile(rows), weights).unwrap();
    moments
}

/// Means to 1e-12 of the spread and offset, scatters to `tolerance` of their scale.
fn close(a: &Moments, b: &Moments, tolerance: f64) -> Result<(), TestCaseError> {
    prop_assert!((a.weight() - b.weight()).abs() <= 1e-12 * a.weight().abs());
    for j in 0..D {
        let scale = a.mean()[j].abs() + (a.scatter()[(j, j)] / a.weight().max(1.0)).sqrt();
        prop_assert!((a.mean()[j] - b.mean()[j]).abs() <= 1e-12 * scale, "{:?} {:?}", a.mean(), b.mean());
        for i in j..D {
            let scale = (a.scatter()[(i, i)] * a.scatter()[(j, j)]).sqrt();
            let offset = a.weight() * (1e-15 * a.mean()[j].abs()) * (1e-15 * a.mean()[i].abs());
            let difference = (a.scatter()[(i, j)] - b.scatter()[(i, j)]).abs();
            prop_assert!(difference <= tolerance * scale + offset, "{difference} of {scale}");
        }
    }
    Ok(())
}

/// Rows about an offset up to 1e9, spread up to 1e6.
fn rows(most: usize) -> impl Strategy<Value = Vec<[f64; D]>> {
    let scale = prop::array::uniform3((-9i32..=9, -2i32..=6));
    (scale, prop::collection::vec(prop::array::uniform3(-1.0..1.0f64), 4..most)).prop_map(|(scale, rows)| {
        let cell = |j: usize, x: f64| {
            let (offset, spread) = scale[j];
            // The spread stays within 1e-9 of the offset: doubles can hold no more digits than they have.
            let (offset, spread) = (f64::from(offset.signum()) * 10f64.powi(offset.abs()), 10f64.powi(spread));
            offset + x * spread.max(1e-6 * offset.abs())
        };
        rows.into_iter().map(|row| std::array::from_fn(|j| cell(j, row[j]))).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_partition_and_order_equals_one_batch(rows in rows(60), cuts in prop::collection::vec(0usize..60, 0..6), order in any::<u64>()) {
        let whole = moments(&rows, None);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(rows.len())).chain([0, rows.len()]).collect();
        cuts.sort();
        let mut parts: Vec<Moments> = cuts.windows(2).map(|w| moments(&rows[w[0]..w[1]], None)).collect();
        // Merge neighbours in an arbitrary order until one is left.
        let mut state = order;
        while parts.len() > 1 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let i = (state >> 33) as usize % parts.len();
            let part = parts.swap_remove(i);
            let j = (state >> 13) as usize % parts.len();
            parts[j].merge(&part).unwrap();
        }
        close(&whole, &parts[0], 1e-13)?;
    }

    #[test]
    fn empty_is_the_zero_exactly(rows in rows(30)) {
        let whole = moments(&rows, None);
        let mut left = whole.clone();
        left.merge(&Moments::empty(D)).unwrap();
        prop_assert_eq!(&left, &whole);
        let mut right = Moments::empty(D);
        right.merge(&whole).unwrap();
        prop_assert_eq!(&right, &whole);
    }

    #[test]
    fn remove_undoes_merge_or_says_so(rows in rows(60), cut in 2usize..58) {
        let cut = cut.min(rows.len() - 2);
        let (a, b) = (moments(&rows[..cut], None), moments(&rows[cut..], None));
        let mut sum = a.clone();
        sum.merge(&b).unwrap();
        let before = sum.clone();
        match sum.remove(&b) {
            Ok(()) => close(&a, &sum, 1e-9)?,
            Err(error) => {
                prop_assert!(error.to_string().contains("good digits"), "{}", error);
                prop_assert_eq!(sum, before);
            }
        }
    }

    #[test]
    fn posteriors_add_up_to_one(classes in 2usize..=50, size in -3i32..=307, shared in -9.0..9.0f64, spread in -9i32..=5, seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let evidence: Vec<f64> =
            (0..classes).map(|_| shared * 10f64.powi(size) + random.normal() * 10f64.powi(spread)).collect();
        let prior = Prior::from_weights(&(0..classes).map(|_| random.uniform()).collect::<Vec<_>>()).unwrap();
        let posterior = Evidence::new(classes, evidence.clone()).unwrap().posterior(&prior);
        let mut rows = vec![(4.0, posterior.row(0))];
        for to in [Normalise::Posterior, Normalise::LogPosterior] {
            let mut scores = Tile::default();
            scores.resize(1, classes);
            scores.data_mut().copy_from_slice(&evidence);
            normalise(&mut scores, to);
            // Logarithms of up to ln 50 are rounded, each by itself.
            let (ulps, p): (f64, fn(&f64) -> f64) = match to {
                Normalise::Posterior => (4.0, |p| *p),
                Normalise::LogPosterior => (16.0, |log_p| log_p.exp()),
            };
            rows.push((ulps, scores.data().iter().map(p).collect()));
        }
        for (ulps, p) in rows {
            let sum: f64 = p.iter().sum();
            prop_assert!((sum - 1.0).abs() <= ulps * f64::EPSILON, "{:e}: {:?}", sum - 1.0, p);
        }
    }

    #[test]
    fn weight_two_is_the_row_twice(rows in rows(30), doubled in 0usize..4) {
        let weights: Vec<f64> = (0..rows.len()).map(|i| if i % 4 == doubled { 2.0 } else { 1.0 }).collect();
        let repeated: Vec<[f64; D]> = rows.iter().zip(&weights).flat_map(|(row, w)| vec![*row; *w as usize]).collect();
        close(&moments(&repeated, None), &moments(&rows, Some(&weights)), 1e-13)?;
        let (a, b) = (columns(&repeated, None), columns(&rows, Some(&weights)));
        for j in 0..D {
            prop_assert!((a.mean()[j] - b.mean()[j]).abs() <= 1e-12 * (a.mean()[j].abs() + 1.0));
            prop_assert!((a.scatter()[j] - b.scatter()[j]).abs() <= 1e-9 * a.scatter()[j] + 1e-12);
        }
    }

    #[test]
    fn columns_are_the_diagonal_and_skip_missing_cells(rows in rows(40), gap in 0usize..40) {
        let gap = gap % rows.len();
        let mut with_gap = rows.clone();
        with_gap[gap][1] = f64::NAN;
        let mut without = rows.clone();
        without.remove(gap);
        let (all, less) = (columns(&with_gap, None), columns(&without, None));
        let full = columns(&rows, None);
        prop_assert_eq!((all.mean()[0], all.scatter()[2]), (full.mean()[0], full.scatter()[2]));
        prop_assert!((all.mean()[1] - less.mean()[1]).abs() <= 1e-12 * (1.0 + less.mean()[1].abs()));
        prop_assert!((all.scatter()[1] - less.scatter()[1]).abs() <= 1e-11 * less.scatter()[1] + 1e-12);
        prop_assert_eq!(all.weight()[1], rows.len() as f64 - 1.0);
        let diagonal = moments(&rows, None);
        for j in 0..D {
            prop_assert!((diagonal.scatter()[(j, j)] - full.scatter()[j]).abs() <= 1e-12 * full.scatter()[j]);
        }
    }
}

/// 20,000 rows of three classes, by a fixed rule.
fn table() -> (Vec<f64>, Vec<u32>) {
    let mut random = deciban::numerics::Random::new(7);
    let classes: Vec<u32> = (0..20_000).map(|_| random.below(3) as u32).collect();
    let mut values = Vec::new();
    for &c in &classes {
        let z = [random.normal(), random.normal(), random.normal()];
        values.extend([z[0] + f64::from(c), 1e6 + 3.0 * z[1] + z[0], 0.01 * z[2] * (1.0 + f64::from(c))]);
    }
    (values, classes)
}

fn schema() -> Schema {
    Schema::numbers(&["a", "b", "c"], "class", &["x", "y", "z"]).unwrap()
}

fn batch<'a>(values: &'a [f64], classes: &'a [u32]) -> Batch<'a> {
    Batch::new(classes.len()).row_major(values, D).unwrap().classes(classes).unwrap()
}

fn learner(covariance: Structure) -> Generative {
    Generative::gaussian(schema().columns(), Gaussian { covariance, ..Gaussian::default() }).unwrap()
}

fn fit(covariance: Structure, batch: Batch<'_>) -> GenerativeModel {
    learner(covariance).learn(&Memory::new(schema(), batch).unwrap()).unwrap()
}

#[test]
fn results_are_the_same_bits_for_any_number_of_threads() {
    let (values, classes) = table();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let model = fit(Structure::Full, batch(&values, &classes));
            model.evidence(&batch(&values, &classes)).unwrap()
        })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        let many = run(threads);
        assert!(one.values().iter().zip(many.values()).all(|(a, b)| a.to_bits() == b.to_bits()), "{threads} threads");
    }
}

#[test]
fn every_layout_and_width_of_number_gives_the_same_model() {
    let (mut values, classes) = table();
    // Small integers, which every width of number holds exactly.
    for row in values.chunks_exact_mut(D) {
        row[1] -= 1e6;
        row[2] *= 100.0;
        row.iter_mut().for_each(|x| *x = (*x * 100.0).round());
    }
    let n = classes.len();
    let by_column: Vec<f64> =
        (0..D).flat_map(|j| (0..n).map(move |i| (i, j))).map(|(i, j)| values[i * D + j]).collect();
    let single: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let short: Vec<i16> = values.iter().map(|&x| x as i16).collect();
    let reversed: Vec<f64> = values.iter().rev().copied().collect();
    let labelled = |batch: Batch<'_>| fit(Structure::Diagonal, batch);
    let start = Batch::new(n).classes(&classes).unwrap();
    let mut backwards = start.clone();
    for j in 0..D {
        backwards = backwards.strided(&reversed[..], reversed.len() - 1 - j, -(D as isize)).unwrap();
    }
    let models = [
        labelled(start.clone().row_major(&values[..], D).unwrap()),
        labelled(start.clone().column_major(&by_column[..], D).unwrap()),
        labelled(start.clone().row_major(&single[..], D).unwrap()),
        labelled(start.row_major(&short[..], D).unwrap()),
        labelled(backwards),
    ];
    let x = batch(&values, &classes);
    let first = models[0].evidence(&x).unwrap();
    for model in &models[1..] {
        let other = model.evidence(&x).unwrap();
        let furthest = first.values().iter().zip(other.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(furthest < 1e-11, "{furthest}");
    }
}

#[test]
fn rows_dealt_out_to_classes_have_the_moments_of_each_class() {
    let (mut values, classes) = table();
    let weights: Vec<f64> = (0..classes.len()).map(|i| (i % 4) as f64).collect();
    // Statistics of all classes, from rows as they lie and from columns.
    let both = |covariance: Structure, values: &[f64], weighted: bool| {
        let by_column: Vec<f64> = (0..D).flat_map(|j| values.iter().skip(j).step_by(D).copied()).collect();
        let start = Batch::new(classes.len()).classes(&classes).unwrap();
        let start = if weighted { start.weights(&weights).unwrap() } else { start };
        let rows = start.clone().row_major(values, D).unwrap();
        [rows, start.column_major(&by_column[..], D).unwrap()].map(|batch| {
            let statistics = learner(covariance).statistics(&Memory::new(schema(), batch).unwrap()).unwrap();
            let of_class = |statistic: AnyStatistic| match statistic {
                AnyStatistic::Gaussian(moments) => moments,
                _ => panic!("a Gaussian has moments"),
            };
            statistics.summary().block(0).unwrap().into_iter().map(of_class).collect::<Vec<_>>()
        })
    };
    for weighted in [false, true] {
        let [rows, columns] = both(Structure::Full, &values, weighted);
        for (a, b) in rows.iter().zip(&columns) {
            let (GaussianStatistic::Full(a), GaussianStatistic::Full(b)) = (a, b) else { panic!("full moments") };
            assert_eq!((a.rows(), a.weight()), (b.rows(), b.weight()));
            close(a, b, 1e-14).unwrap();
        }
    }
    // Missing cells, more of them in some columns, and a class that has none of the first column.
    for (i, row) in values.chunks_exact_mut(D).enumerate() {
        row[i % 5 % D] = if i % 7 < 3 { f64::NAN } else { row[i % 5 % D] };
        row[0] = if classes[i] == 2 { f64::NAN } else { row[0] };
    }
    for weighted in [false, true] {
        let [rows, columns] = both(Structure::Diagonal, &values, weighted);
        for (a, b) in rows.iter().zip(&columns) {
            let (GaussianStatistic::Columns(a), GaussianStatistic::Columns(b)) = (a, b) else { panic!("columns") };
            assert_eq!((a.rows(), a.weight()), (b.rows(), b.weight()));
            for j in 0..D {
                let sd = (b.scatter()[j] / b.weight()[j].max(1.0)).sqrt();
                assert!((a.mean()[j] - b.mean()[j]).abs() <= 1e-13 * (sd + b.mean()[j].abs()));
                assert!((a.scatter()[j] - b.scatter()[j]).abs() <= 1e-13 * b.scatter()[j]);
            }
        }
    }
}

#[test]
fn accumulators_that_carry_only_bytes_agree_with_memory() {
    let (values, classes) = table();
    let whole = batch(&values, &classes);
    let memory = Memory::new(schema(), whole.clone()).unwrap();
    let learner = learner(Structure::Full);
    let statistics = learner.statistics(&memory).unwrap();
    let pass = Summarise { blocks: statistics.blocks().to_vec(), folds: 1, seed: 0 };
    let bytes = pass_to_bytes(&pass).unwrap();
    // Two executors that share nothing, and a driver that merges their states.
    let states: Vec<Vec<u8>> = [0..9_000, 9_000..20_000]
        .map(|range| {
            let mut executor = accumulator(&bytes).unwrap();
            executor.observe(&whole.slice(range)).unwrap();
            executor.state().unwrap()
        })
        .to_vec();
    let mut driver = accumulator(&bytes).unwrap();
    states.iter().for_each(|state| driver.merge(state).unwrap());
    let carried: <Summarise as Pass>::Statistic = from_bytes(&driver.state().unwrap()).unwrap();

    struct Carried(<Summarise as Pass>::Statistic);
    impl Engine for Carried {
        fn collect(&self, _: &dyn ErasedPass) -> deciban::Result<ErasedStatistic> {
            Ok(Box::new(self.0.clone()))
        }
        fn schema(&self) -> deciban::Result<Schema> {
            Ok(schema())
        }
    }
    let model = learner.learn(&Carried(carried)).unwrap();
    let direct = learner.fit(&statistics).unwrap();
    let (a, b) = (model.evidence(&whole).unwrap(), direct.evidence(&whole).unwrap());
    assert!(a.values().iter().zip(b.values()).all(|(x, y)| (x - y).abs() < 1e-9 * y.abs().max(1.0)));
}

#[test]
fn equal_rows_share_a_fold_wherever_they_stand() {
    let (values, classes) = table();
    let learner = learner(Structure::Full).folds(5, 3);
    let statistics = |range: std::ops::Range<usize>| {
        let rows = batch(&values[range.start * D..range.end * D], &classes[range]);
        learner.statistics(&Memory::new(schema(), rows).unwrap()).unwrap()
    };
    // The last 12,000 rows have other numbers in a file of their own, and leave the folds they are in.
    let mut rest = statistics(0..20_000);
    rest.remove(&statistics(8_000..20_000)).unwrap();
    let expected = statistics(0..8_000);
    let (rest, expected) = (rest.summary().block_by_fold(0), expected.summary().block_by_fold(0));
    for (fold, other) in rest.iter().flatten().zip(expected.iter().flatten()) {
        let (AnyStatistic::Gaussian(GaussianStatistic::Full(a)), AnyStatistic::Gaussian(GaussianStatistic::Full(b))) =
            (fold, other)
        else {
            panic!("full moments")
        };
        assert_eq!(a.rows(), b.rows());
        assert!(b.rows() > 300.0, "folds are even: {}", b.rows());
        for j in 0..D {
            assert!((a.scatter()[(j, j)] / b.scatter()[(j, j)] - 1.0).abs() < 1e-9);
        }
    }
}
