//! A missing cell is integrated out: a row is scored by the density of the cells it has. For
//! structures whose marginals are fits of the marginal data, that is the model of those columns.

use crate::common::Table;
use deciban::data::Batch;
use deciban::evidence::Evidence;
use deciban::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use deciban::learn::{Classifier, GenerativeModel, Learner};
use deciban::posterior::Prior;
use deciban::transform::Step;

const PATTERNS: [&[usize]; 4] = [&[0], &[12], &[3, 7, 8], &[0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]];

/// The evidence of all rows after `columns` are made missing.
fn without(model: &GenerativeModel, table: &Table, columns: &[usize]) -> Evidence {
    let mut values = table.values.clone();
    values.chunks_exact_mut(table.width()).for_each(|row| columns.iter().for_each(|&j| row[j] = f64::NAN));
    model.evidence(&Batch::new(table.rows()).row_major(&values[..], table.width()).unwrap()).unwrap()
}

fn assert_same(a: &Evidence, b: &Evidence, tolerance: f64, what: &str) {
    assert_eq!(a.values().len(), b.values().len());
    for (x, y) in a.values().iter().zip(b.values()) {
        assert!((x - y).abs() <= tolerance * y.abs().max(1.0), "{what}: {x} is not {y}");
    }
}

#[test]
fn the_marginal_of_the_fit_is_the_fit_of_the_marginal() {
    let wine = crate::common::wine();
    // With ν₀ = d + 2 the Student's degrees of freedom, ν − d + 1, do not depend on d: its
    // marginals are fits of the marginal too.
    let estimators = [Estimator::Ml, Estimator::Unbiased, Estimator::Bayes];
    let structures = [Structure::Full, Structure::Tied, Structure::Diagonal, Structure::TiedDiagonal];
    let chains: [&[Step]; 2] = [&[], &[Step::Standardise]];
    for (covariance, estimator) in structures.into_iter().flat_map(|s| estimators.map(|e| (s, e))) {
        for steps in chains {
            let pooling = match covariance.is_tied() || estimator == Estimator::Bayes {
                true => Strength::Fixed(0.0),
                false => Strength::Fixed(0.2),
            };
            let family = Gaussian { covariance, estimator, pooling, steps: steps.to_vec(), ..Gaussian::default() };
            let model = wine.fit(family.clone());
            for missing in PATTERNS {
                let rest: Vec<usize> = (0..wine.width()).filter(|j| !missing.contains(j)).collect();
                let narrow = wine.select(&rest);
                let expected = narrow.fit(family.clone()).evidence(&narrow.batch()).unwrap();
                let what = format!("{covariance:?} {estimator:?} {steps:?} without {missing:?}");
                assert_same(&without(&model, &wine, missing), &expected, 1e-10, &what);
            }
        }
    }
}

#[test]
fn a_gaussianised_row_is_marginalised_alike() {
    let wine = crate::common::wine();
    for covariance in [Structure::Full, Structure::Diagonal] {
        let fit = |table: &Table| {
            let family = Gaussian { covariance, ..Gaussian::default() };
            table.learner(family).gaussianise(true).learn(&table.memory()).unwrap()
        };
        let model = fit(&wine);
        for missing in PATTERNS {
            let rest: Vec<usize> = (0..wine.width()).filter(|j| !missing.contains(j)).collect();
            let narrow = wine.select(&rest);
            let expected = fit(&narrow).evidence(&narrow.batch()).unwrap();
            assert_same(&without(&model, &wine, missing), &expected, 1e-10, &format!("{covariance:?} {missing:?}"));
        }
    }
}

#[test]
fn spherical_marginals_keep_the_variance_of_all_columns() {
    let wine = crate::common::wine();
    let model = wine.fit(Gaussian { covariance: Structure::Spherical, ..Gaussian::default() });
    let evidence = without(&model, &wine, &[12]);
    let variance = crate::common::density(&model).covariance(0)[(0, 0)];
    for i in [0, 60, 177] {
        let mean = crate::common::density(&model).mean(0);
        let q: f64 = (0..12).map(|j| (wine.row(i)[j] - mean[j]).powi(2)).sum();
        let expected = -6.0 * (std::f64::consts::TAU * variance).ln() - 0.5 * q / variance;
        assert!((evidence.row(i)[0] - expected).abs() < 1e-10, "{} is not {expected}", evidence.row(i)[0]);
    }
}

#[test]
fn a_row_scores_alike_alone_and_among_others_with_and_without_gaps() {
    let wine = crate::common::wine();
    let chains: [&[Step]; 3] = [&[], &[Step::Standardise], &[Step::Standardise, Step::Pca(5)]];
    for (covariance, steps) in Structure::FREE.iter().flat_map(|s| chains.map(|steps| (s.1, steps.to_vec()))) {
        let what = format!("{covariance:?} {steps:?}");
        let is_projected = steps.len() > 1;
        let model = wine.fit(Gaussian { covariance, steps, ..Gaussian::default() });
        let mut values = wine.values.clone();
        values.chunks_exact_mut(13).step_by(3).for_each(|row| row[5] = f64::NAN);
        values.chunks_exact_mut(13).step_by(7).for_each(|row| row[2..12].fill(f64::NAN));
        let score =
            |values: &[f64]| model.evidence(&Batch::new(values.len() / 13).row_major(values, 13).unwrap()).unwrap();
        let (mixed, whole) = (score(&values), score(&wine.values));
        for i in 0..178 {
            let alone = score(&values[13 * i..13 * (i + 1)]);
            for (x, y) in mixed.row(i).iter().zip(alone.row(0)) {
                // The product of a projection with one row is another than that with many.
                let apart = if is_projected { 1e-11 * y.abs() } else { 0.0 };
                assert!((x - y).abs() <= apart, "{what}, row {i} alone: {x} is not {y}");
            }
            if i % 3 != 0 && i % 7 != 0 {
                assert_eq!(mixed.row(i), whole.row(i), "{what}, row {i} among whole rows");
            }
        }
    }
}

#[test]
fn a_row_without_cells_leaves_the_prior() {
    let wine = crate::common::wine();
    let prior = Prior::new(&[0.2, 0.3, 0.5]).unwrap();
    for covariance in Structure::FREE.map(|s| s.1) {
        for estimator in [Estimator::Ml, Estimator::Bayes] {
            let family = Gaussian { covariance, estimator, steps: vec![Step::Standardise], ..Gaussian::default() };
            let evidence = without(&wine.fit(family), &wine, &(0..13).collect::<Vec<_>>());
            let posterior = evidence.posterior(&prior).row(0);
            let close = posterior.iter().zip(prior.probabilities()).all(|(p, q)| (p - q).abs() < 1e-15);
            assert!(close, "{covariance:?} {estimator:?}: {posterior:?}");
        }
    }
}

#[test]
fn a_student_density_after_a_projection_needs_every_cell() {
    let wine = crate::common::wine();
    for step in [Step::Pca(3), Step::Lda(2)] {
        let (estimator, steps) = (Estimator::Bayes, vec![Step::Standardise, step]);
        let model = wine.fit(Gaussian { estimator, steps, ..Gaussian::default() });
        let mut values = wine.row(0).to_vec();
        values.extend(wine.row(1));
        values[13 + 4] = f64::NAN;
        let batch = Batch::new(2).row_major(&values[..], 13).unwrap().first_row(100);
        let error = model.evidence(&batch).unwrap_err().to_string();
        assert!(error.contains("column `Magnesium`, row 102") && error.contains("pca or lda"), "{error}");
    }
}
