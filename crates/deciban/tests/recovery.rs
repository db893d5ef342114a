//! Recovery: rows sampled from a model give that model back, to within the error of sampling, and
//! are as probable as its entropy says. Bounds are five standard errors, seeds are fixed.

use std::f64::consts::{PI, TAU};

use crate::common::{Table, density};
use deciban::data::Batch;
use deciban::data::Value;
use deciban::family::gaussian::{Estimator, Gaussian, Structure};
use deciban::learn::{Classifier, GenerativeModel, Learner};
use deciban::numerics::{Matrix, Random, cholesky, ln_gamma};
use deciban::transform::Step;

const ROWS: usize = 20_000;
const SIGMAS: f64 = 5.0;

fn gaussian(covariance: Structure) -> Gaussian {
    Gaussian { covariance, ..Gaussian::default() }
}

/// Rows drawn from a model, each of a class drawn from its prior.
fn sample(model: &GenerativeModel, seed: u64) -> Table {
    let mut random = Random::new(seed);
    let labels: Vec<u32> = (0..ROWS).map(|_| random.pick(model.prior().probabilities()) as u32).collect();
    let number = |value: Value| if let Value::Number(x) = value { x } else { panic!("a number, not {value:?}") };
    let rows = labels.iter().flat_map(|&c| model.sample(c as usize, &mut random).unwrap());
    let values = rows.map(number).collect();
    Table { columns: model.schema().names(), classes: model.schema().classes().to_vec(), values, labels }
}

/// How many rows a class has.
fn count(table: &Table, class: usize) -> f64 {
    table.labels.iter().filter(|&&label| label as usize == class).count() as f64
}

/// log p(x | own class) of each row of a class.
fn own_evidence(model: &GenerativeModel, table: &Table, class: usize) -> Vec<f64> {
    let evidence = model.evidence(&table.batch()).unwrap();
    let rows = (0..table.rows()).filter(|&i| table.labels[i] as usize == class);
    rows.map(|i| evidence.row(i)[class]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn log_determinant(matrix: &Matrix) -> f64 {
    let d = matrix.rows();
    let sd: Vec<f64> = (0..d).map(|j| matrix[(j, j)].sqrt()).collect();
    let l = cholesky(&Matrix::from_fn(d, d, |i, j| matrix[(i, j)] / sd[i] / sd[j])).unwrap();
    (0..d).map(|j| 2.0 * (sd[j] * l[(j, j)]).ln()).sum()
}

/// Means and covariances of the sample, each to `SIGMAS` standard errors. Of a covariance of normal
/// rows that is √((ΣᵢᵢΣⱼⱼ + Σᵢⱼ²)/n); the Student's is larger by its excess kurtosis 3·`kurtosis`.
fn assert_recovered(found: &Table, class: usize, mean: &[f64], sigma: &Matrix, kurtosis: f64, what: &str) {
    // The plain full fit of the sample: its covariance is that of the rows, whatever the model was.
    let fitted = found.fit(gaussian(Structure::Full));
    let (n, d) = (count(found, class), mean.len());
    let (m, s) = (density(&fitted).mean(class), density(&fitted).covariance(class));
    for i in 0..d {
        let error = (m[i] - mean[i]).abs() / (sigma[(i, i)] / n).sqrt();
        assert!(error < SIGMAS, "{what}: the mean of column {i} is {error} standard errors off");
        for j in 0..=i {
            let square = sigma[(i, j)] * sigma[(i, j)];
            let variance = (1.0 + kurtosis) * (sigma[(i, i)] * sigma[(j, j)] + square) + kurtosis * square;
            let error = (s[(i, j)] - sigma[(i, j)]).abs() / (variance / n).sqrt();
            assert!(error < SIGMAS, "{what}: covariance ({i}, {j}) is {error} standard errors off");
        }
    }
}

/// The free parameters of the densities of K classes.
fn parameters(covariance: Structure, classes: f64, d: f64) -> f64 {
    let per_matrix = match covariance {
        Structure::Full | Structure::Tied => d * (d + 1.0) / 2.0,
        Structure::Diagonal | Structure::TiedDiagonal => d,
        Structure::Spherical | Structure::TiedSpherical => 1.0,
        Structure::LowRank | Structure::TiedLowRank => unreachable!("they leave a number of axes open"),
    };
    classes * d + per_matrix * if covariance.is_tied() { 1.0 } else { classes }
}

#[test]
fn every_structure_comes_back() {
    let wine = crate::common::wine();
    for (name, covariance) in Structure::FREE {
        let model = wine.fit(gaussian(covariance));
        let rows = sample(&model, 1);
        let fitted = rows.fit(gaussian(covariance));
        let (truth, found) = (density(&model), density(&fitted));
        let mut gain = 0.0;
        for class in 0..3 {
            let (n, sigma) = (count(&rows, class), truth.covariance(class));
            assert_recovered(&rows, class, truth.mean(class), &sigma, 0.0, name);
            // What the structure pools is known the better: variances to √(2/m) for m squares.
            let squares = match (covariance.is_tied(), covariance.is_spherical()) {
                (false, false) => n,
                (true, false) => ROWS as f64,
                (false, true) => n * 13.0,
                (true, true) => ROWS as f64 * 13.0,
            };
            for j in 0..13 {
                let error = (found.covariance(class)[(j, j)] / sigma[(j, j)] - 1.0).abs() * (squares / 2.0).sqrt();
                assert!(error < SIGMAS, "{name}: variance {j} is {error} standard errors off");
            }
            // Mean log p is −H = −½(d + d ln 2π + ln|Σ|); −log p has variance d/2.
            let own = own_evidence(&model, &rows, class);
            let entropy = 0.5 * (13.0 * (1.0 + TAU.ln()) + log_determinant(&sigma));
            let error = (mean(&own) + entropy) / (6.5 / n).sqrt();
            assert!(error.abs() < SIGMAS, "{name}: mean log p is {error} standard errors off −entropy");
            gain += own_evidence(&fitted, &rows, class).iter().sum::<f64>() - own.iter().sum::<f64>();
        }
        // Wilks: what the fit gains over the truth is ½χ² with as many degrees of freedom as there
        // are parameters. One parameter wrong by three standard errors would show.
        let p = parameters(covariance, 3.0, 13.0);
        let error = (2.0 * gain - p) / (2.0 * p).sqrt();
        println!("{name}: 2·gain = {:.1} for {p} parameters", 2.0 * gain);
        assert!(error.abs() < 4.0, "{name}: the gain in likelihood is {gain} for {p} parameters");
        assert_posteriors_agree(&model, &fitted, &wine, p, name);
    }
}

/// Posteriors p and p' of two fits differ by p(1−p)·Δlog-odds. In the mean over rows of the model
/// the squared error of log p is about (number of parameters)/n.
fn assert_posteriors_agree(a: &GenerativeModel, b: &GenerativeModel, rows: &Table, parameters: f64, what: &str) {
    let of = |model: &GenerativeModel| model.evidence(&rows.batch()).unwrap().posterior(model.prior());
    let (p, q) = (of(a), of(b));
    let squares = (0..rows.rows()).flat_map(|i| {
        let (p, q) = (p.row(i), q.row(i));
        (0..p.len()).map(move |k| (p[k] - q[k]).powi(2)).collect::<Vec<_>>()
    });
    let rms = (squares.sum::<f64>() / (rows.rows() * p.classes()) as f64).sqrt();
    let bound = 0.25 * (2.0 * parameters / ROWS as f64).sqrt();
    assert!(rms > 0.0 && rms < bound, "{what}: posteriors differ by {rms}, sampling allows {bound}");
}

#[test]
fn standardised_models_sample_in_the_units_of_the_file() {
    let wine = crate::common::wine();
    for (name, covariance) in Structure::FREE.into_iter().filter(|(_, s)| !s.is_spherical()) {
        // Standardising changes neither density: the plain model says what must come out.
        let plain = wine.fit(gaussian(covariance));
        let family = Gaussian { steps: vec![Step::Standardise], ..gaussian(covariance) };
        let model = wine.fit(family.clone());
        let rows = sample(&model, 2);
        for class in 0..3 {
            let (mu, sigma) = (density(&plain).mean(class), density(&plain).covariance(class));
            assert_recovered(&rows, class, mu, &sigma, 0.0, name);
            let entropy = 0.5 * (13.0 * (1.0 + TAU.ln()) + log_determinant(&sigma));
            let error = (mean(&own_evidence(&model, &rows, class)) + entropy) / (6.5 / count(&rows, class)).sqrt();
            assert!(error.abs() < SIGMAS, "{name}: mean log p is {error} standard errors off −entropy");
        }
        assert_posteriors_agree(&model, &rows.fit(family), &wine, parameters(covariance, 3.0, 13.0), name);
    }
}

#[test]
fn projected_models_sample_in_their_subspace() {
    let wine = crate::common::wine();
    for steps in [vec![Step::Standardise, Step::Pca(4)], vec![Step::Standardise, Step::Lda(2)]] {
        let model = wine.fit(Gaussian { steps: steps.clone(), ..Gaussian::default() });
        let rows = sample(&model, 3);
        // Mapped again, a sampled row is where the density drew it.
        let chain = density(&model).chain();
        let map = |row: &[f64]| chain.iter().fold(row.to_vec(), |row, linear| linear.row(&row));
        let mapped: Vec<f64> = (0..ROWS).flat_map(|i| map(rows.row(i))).collect();
        let width = density(&model).mean(0).len();
        let columns = (0..width).map(|j| format!("z{j}")).collect();
        let mapped = Table { columns, values: mapped, ..rows.clone() };
        for class in 0..3 {
            let sigma = density(&model).covariance(class);
            assert_recovered(&mapped, class, density(&model).mean(class), &sigma, 0.0, &format!("{steps:?}"));
        }
    }
}

/// The derivative of ln Γ.
fn digamma(x: f64) -> f64 {
    (ln_gamma(x + 1e-4) - ln_gamma(x - 1e-4)) / 2e-4
}

/// The entropy of a Student density of d columns with scale matrix S, without ½ ln|S|, and the
/// variance of its log p, which is ((ν+d)/2)² (ψ'(ν/2) − ψ'((ν+d)/2)).
fn student_entropy(nu: f64, d: f64) -> (f64, f64) {
    let half = (nu + d) / 2.0;
    let entropy =
        ln_gamma(nu / 2.0) - ln_gamma(half) + 0.5 * d * (PI * nu).ln() + half * (digamma(half) - digamma(nu / 2.0));
    let trigamma = |x: f64| (digamma(x + 0.01) - digamma(x - 0.01)) / 0.02;
    (entropy, half * half * (trigamma(nu / 2.0) - trigamma(half)))
}

/// Few rows, so that the tails are heavy: eight of each class, three columns.
fn few() -> Table {
    let wine = crate::common::wine().select(&[0, 6, 9]);
    let mut left = [8; 3];
    let mut chosen = Vec::new();
    for &label in &wine.labels {
        chosen.push(left[label as usize] > 0);
        left[label as usize] -= 1;
    }
    wine.filter(|i| chosen[i])
}

#[test]
fn student_densities_come_back() {
    let table = few();
    let (classes, n, d) = (3.0, 8.0, 3);
    for (name, covariance) in Structure::FREE {
        let model = table.fit(Gaussian { estimator: Estimator::Bayes, ..gaussian(covariance) });
        let rows = sample(&model, 4);
        // ν = ν₀ + w − d + 1 with ν₀ = d + 2: 3 + w, with d = 1 for each column of its own; one
        // variance for all columns is informed by all of their cells.
        let nu = 3.0
            + n * if covariance.is_tied() { classes } else { 1.0 }
                * if covariance.is_spherical() { d as f64 } else { 1.0 };
        for class in 0..3 {
            let scale = density(&model).covariance(class);
            let sigma = Matrix::from_fn(d, d, |i, j| scale[(i, j)] * nu / (nu - 2.0));
            assert_recovered(&rows, class, density(&model).mean(class), &sigma, 2.0 / (nu - 4.0), name);
            let (entropy, variance) = match covariance {
                Structure::Diagonal | Structure::TiedDiagonal => {
                    let (entropy, variance) = student_entropy(nu, 1.0);
                    (d as f64 * entropy, d as f64 * variance)
                }
                _ => student_entropy(nu, d as f64),
            };
            let entropy = entropy + 0.5 * log_determinant(&scale);
            let own = own_evidence(&model, &rows, class);
            let error = (mean(&own) + entropy) / (variance / own.len() as f64).sqrt();
            assert!(error.abs() < SIGMAS, "{name}: mean log p is {error} standard errors off −entropy");
            // The variance, too: that is where the tails show. Its own error, from fourth moments.
            let centred: Vec<f64> = own.iter().map(|x| (x - mean(&own)).powi(2)).collect();
            let fourth = mean(&centred.iter().map(|x| x * x).collect::<Vec<_>>());
            let error = (mean(&centred) - variance) / ((fourth - variance * variance) / own.len() as f64).sqrt();
            assert!(error.abs() < SIGMAS, "{name}: the variance of log p is {error} standard errors off");
        }
    }
}

#[test]
fn gaussianised_models_sample_what_they_say() {
    let wine = crate::common::wine();
    let colour = wine.select(&[9]);
    for estimator in [Estimator::Ml, Estimator::Bayes] {
        let family = Gaussian { estimator, ..Gaussian::default() };
        let model = colour.learner(family).gaussianise(true).learn(&colour.memory()).unwrap();
        let rows = sample(&model, 5);
        // The density on a grid, for distribution and entropy. It jumps at knots: a fine grid.
        let (low, high, steps) = (-30.0, 60.0, 2_000_000);
        let h = (high - low) / f64::from(steps);
        let grid: Vec<f64> = (0..steps).map(|i| low + (f64::from(i) + 0.5) * h).collect();
        let on_grid = model.evidence(&Batch::new(grid.len()).column(&grid[..]).unwrap()).unwrap();
        for class in 0..3 {
            let mut drawn: Vec<f64> =
                (0..ROWS).filter(|&i| rows.labels[i] as usize == class).map(|i| rows.values[i]).collect();
            drawn.sort_by(f64::total_cmp);
            let n = drawn.len() as f64;
            let (mut below, mut distribution, mut entropy, mut furthest) = (0, 0.0, 0.0, 0f64);
            for (i, &x) in grid.iter().enumerate() {
                let log_p = on_grid.row(i)[class];
                distribution += log_p.exp() * h;
                entropy -= log_p.exp() * log_p * h;
                while below < drawn.len() && drawn[below] <= x + 0.5 * h {
                    below += 1;
                }
                furthest = furthest.max((below as f64 / n - distribution).abs());
            }
            assert!((distribution - 1.0).abs() < 1e-3, "class {class}: {distribution}");
            // Kolmogorov & Smirnov: beyond 2.2/√n in one of 10,000 samples.
            assert!(furthest < 2.2 / n.sqrt() + 1e-3, "class {class}: {furthest}");
            let own = own_evidence(&model, &rows, class);
            let spread = mean(&own.iter().map(|x| (x - mean(&own)).powi(2)).collect::<Vec<_>>()).sqrt();
            let error = (mean(&own) + entropy).abs();
            assert!(error < SIGMAS * spread / n.sqrt() + 2e-3, "class {class}: {error} off −entropy {entropy}");
        }
    }
}

#[test]
fn gaussianised_models_come_back() {
    let wine = crate::common::wine();
    let fit =
        |table: &Table| table.learner(gaussian(Structure::Full)).gaussianise(true).learn(&table.memory()).unwrap();
    let model = fit(&wine);
    let rows = sample(&model, 6);
    let fitted = fit(&rows);
    let of = |model: &GenerativeModel| model.evidence(&rows.batch()).unwrap().posterior(model.prior());
    let (p, q) = (of(&model), of(&fitted));
    let difference = (0..ROWS).map(|i| (p.row(i)[0] - q.row(i)[0]).abs()).sum::<f64>() / ROWS as f64;
    // 312 parameters from 20,000 rows move a posterior that is not yet decided by √(312/20000)/4 = 0.03.
    assert!(difference < 0.01, "{difference}");
    // Columns keep their medians and quartiles: to 5·√(p(1−p)/n) = 0.018 of the rows, and as much
    // more as the classes are not quite normal after the map.
    for j in 0..13 {
        let mut sorted: Vec<f64> = (0..178).map(|i| wine.row(i)[j]).collect();
        sorted.sort_by(f64::total_cmp);
        for x in [44, 89, 133].map(|k| sorted[k]) {
            // Where rows coincide, half of them count as below.
            let ties = sorted.iter().filter(|y| **y == x).count() as f64;
            let expected = (sorted.partition_point(|y| *y < x) as f64 + 0.5 * ties) / 178.0;
            let found = (0..ROWS).filter(|&i| rows.row(i)[j] < x).count() as f64 / ROWS as f64;
            assert!(
                (found - expected).abs() < 0.018 + 0.04,
                "column {j}: {expected} of the rows, {found} of the sample"
            );
        }
    }
}
