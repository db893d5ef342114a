//! What can be worked out by hand: thresholds, densities, explicit forms, the ends of the scales
//! of regularisation, integrals.

use crate::common::{Table, density, evidence_of};
use deciban::data::Batch;
use deciban::decision::Costs;
use deciban::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use deciban::learn::{Classifier, GenerativeModel, Learner};
use deciban::numerics::{Matrix, log_sum_exp};
use deciban::posterior::Prior;
use deciban::transform::Step;

fn gaussian(covariance: Structure) -> Gaussian {
    Gaussian { covariance, ..Gaussian::default() }
}

/// Two rows a class, so that means and ML variances are what is asked for: μ ± σ.
fn two_normals(first: (f64, f64), second: (f64, f64)) -> Table {
    let rows = |(mean, variance): (f64, f64), class: u32| {
        [([mean - variance.sqrt()], class), ([mean + variance.sqrt()], class)]
    };
    Table::of(&[rows(first, 0), rows(second, 1)].concat())
}

#[test]
fn equal_variances_cross_at_the_midpoint_and_the_prior_moves_the_threshold() {
    let (m0, m1, variance) = (10.0, 16.0, 9.0);
    for covariance in Structure::FREE.map(|s| s.1) {
        let model = two_normals((m0, variance), (m1, variance)).fit(gaussian(covariance));
        for log_odds in [0.0, 1.3, -2.5, 7.0] {
            let threshold = (m0 + m1) / 2.0 - log_odds * variance / (m1 - m0);
            let posterior = |x: f64| evidence_of(&model, &[x]).posterior(&Prior::from_log_odds(log_odds)).row(0);
            assert!((posterior(threshold)[1] - 0.5).abs() < 1e-13, "{covariance:?} {:?}", posterior(threshold));
            // One unit above it the log-odds have grown by (μ₁−μ₀)/σ².
            let p = posterior(threshold + 1.0);
            assert!(((p[1] / p[0]).ln() - (m1 - m0) / variance).abs() < 1e-12, "{p:?}");
        }
    }
}

#[test]
fn the_height_example() {
    // F first, then M; someone is 174 cm tall.
    let model = two_normals((161.82, 46.89), (175.33, 52.89)).fit(gaussian(Structure::Full));
    let evidence = evidence_of(&model, &[174.0]);
    let (women, men) = (evidence.row(0)[0].exp(), evidence.row(0)[1].exp());
    assert!((men - 0.05395).abs() < 5e-6 && (women - 0.01198).abs() < 5e-6, "{men} {women}");
    assert!((men / women - 4.5).abs() < 0.05, "{}", men / women);
    let costs = Costs::zero_one(&["F".to_string(), "M".to_string()]);
    let decide = |prior: Prior| evidence.posterior(&prior).decide(&costs)[0].action;
    assert_eq!(decide(Prior::uniform(2)), Some(1));
    assert_eq!(decide(Prior::new(&[0.9, 0.1]).unwrap()), Some(0));
    // 9 · 0.01198 against 0.05395: two to one for F.
    let p = evidence.posterior(&Prior::new(&[0.9, 0.1]).unwrap()).row(0);
    assert!((p[0] / p[1] - 9.0 * women / men).abs() < 1e-12, "{p:?}");
}

/// ln p(k | x) from scores that differ from log p(x | k) by what all classes share.
fn log_softmax(scores: &[f64], prior: &Prior) -> Vec<f64> {
    let joint: Vec<f64> = scores.iter().zip(prior.probabilities()).map(|(s, p)| s + p.ln()).collect();
    let total = log_sum_exp(&joint);
    joint.iter().map(|j| j - total).collect()
}

/// The largest difference of posteriors, and of the log-posteriors relative to their size.
fn difference(model: &GenerativeModel, table: &Table, scores: impl Fn(&[f64]) -> Vec<f64>) -> (f64, f64) {
    let posterior = model.evidence(&table.batch()).unwrap().posterior(model.prior());
    let (mut plain, mut log) = (0f64, 0f64);
    for i in 0..table.rows() {
        let expected = log_softmax(&scores(table.row(i)), model.prior());
        for (a, b) in posterior.log_row(i).iter().zip(&expected) {
            plain = plain.max((a.exp() - b.exp()).abs());
            log = log.max((a - b).abs() / b.abs().max(1.0));
        }
    }
    (plain, log)
}

#[test]
fn written_out_forms_give_the_posteriors_of_the_densities() {
    let wine = crate::common::wine();
    let chains: [&[Step]; 5] = [
        &[],
        &[Step::Standardise],
        &[Step::Pca(6)],
        &[Step::Pca(9), Step::Lda(2)],
        &[Step::Standardise, Step::Pca(13), Step::Lda(1)],
    ];
    for steps in chains {
        for covariance in Structure::FREE.map(|s| s.1) {
            let model = wine.fit(Gaussian { steps: steps.to_vec(), ..gaussian(covariance) });
            let density = density(&model);
            let forms: Vec<_> = (0..3).map(|k| density.quadratic(k, 1).unwrap()).collect();
            let errors = difference(&model, &wine, |x| forms.iter().map(|form| form.at(x)).collect());
            assert!(errors.0 <= 1e-10 && errors.1 <= 1e-9, "{steps:?} {covariance:?}: {errors:?}");
            match density.linear() {
                Ok(forms) => {
                    assert!(covariance.is_tied());
                    let errors = difference(&model, &wine, |x| forms.iter().map(|form| form.at(x)).collect());
                    assert!(errors.0 <= 1e-10 && errors.1 <= 1e-9, "{steps:?} {covariance:?}: {errors:?}");
                }
                Err(error) => {
                    assert!(!covariance.is_tied() && error.to_string().contains("tied"), "{error}");
                }
            }
        }
    }
}

#[test]
fn linear_weights_by_hand() {
    // Σ = 9, μ = 10 and 16: w = μ/9, w₀ = −μ²/18.
    let model = two_normals((10.0, 9.0), (16.0, 9.0)).fit(gaussian(Structure::Tied));
    let forms = density(&model).linear().unwrap();
    for (form, mean) in forms.iter().zip([10.0, 16.0]) {
        assert!((form.w[0] - mean / 9.0).abs() < 1e-14 && (form.w0 + mean * mean / 18.0).abs() < 1e-12, "{form:?}");
    }
    // Variances 4 and 1 about 0 and 3: −x²/8 − ln 2 + (x−3)²/2 = ⅜x² − 3x + 4.5 − ln 2.
    let model = two_normals((0.0, 4.0), (3.0, 1.0)).fit(gaussian(Structure::Full));
    let form = density(&model).quadratic(0, 1).unwrap();
    assert!((form.a[(0, 0)] - 0.375).abs() < 1e-14 && (form.b[0] + 3.0).abs() < 1e-13, "{form:?}");
    assert!((form.c - 4.5 + 2f64.ln()).abs() < 1e-13, "{form:?}");
}

#[test]
fn a_student_density_has_no_quadratic_form() {
    let family = Gaussian { estimator: Estimator::Bayes, ..gaussian(Structure::Tied) };
    let model = two_normals((10.0, 9.0), (16.0, 9.0)).fit(family);
    for error in [density(&model).quadratic(0, 1).unwrap_err(), density(&model).linear().unwrap_err()] {
        assert!(error.to_string().contains("Student"), "{error}");
    }
}

/// The ML covariance of a class, by two sums.
fn covariance(table: &Table, class: u32) -> Matrix {
    let d = table.width();
    let rows: Vec<&[f64]> = (0..table.rows()).filter(|&i| table.labels[i] == class).map(|i| table.row(i)).collect();
    let n = rows.len() as f64;
    let mean: Vec<f64> = (0..d).map(|j| rows.iter().map(|row| row[j]).sum::<f64>() / n).collect();
    let cell = |i: usize, j: usize| rows.iter().map(|row| (row[i] - mean[i]) * (row[j] - mean[j])).sum::<f64>() / n;
    Matrix::from_fn(d, d, cell)
}

fn assert_close(found: &Matrix, expected: &Matrix, what: &str) {
    let d = expected.rows();
    for (i, j) in (0..d).flat_map(|i| (0..d).map(move |j| (i, j))) {
        let scale = (expected[(i, i)] * expected[(j, j)]).sqrt();
        let error = (found[(i, j)] - expected[(i, j)]).abs() / scale;
        assert!(error < 1e-12, "{what}, cell ({i}, {j}): {} is not {}", found[(i, j)], expected[(i, j)]);
    }
}

#[test]
fn structures_and_shrinkage_are_averages_of_the_covariance() {
    let wine = crate::common::wine();
    let d = wine.width();
    let own: Vec<Matrix> = (0..3).map(|class| covariance(&wine, class)).collect();
    let shares: Vec<f64> = (0..3).map(|c| wine.labels.iter().filter(|&&l| l == c).count() as f64 / 178.0).collect();
    let tied = Matrix::from_fn(d, d, |i, j| (0..3).map(|c| shares[c] * own[c][(i, j)]).sum());
    for (class, own) in own.iter().enumerate() {
        for structure in Structure::FREE.map(|s| s.1) {
            let full = if structure.is_tied() { &tied } else { own };
            let scale = (0..d).map(|j| full[(j, j)]).sum::<f64>() / d as f64;
            let sphere = Matrix::from_fn(d, d, |i, j| if i == j { scale } else { 0.0 });
            let diagonal = Matrix::from_fn(d, d, |i, j| if i == j { full[(i, j)] } else { 0.0 });
            let unshrunk = match structure {
                Structure::Full | Structure::Tied => full.clone(),
                Structure::Diagonal | Structure::TiedDiagonal => diagonal,
                Structure::Spherical | Structure::TiedSpherical => sphere.clone(),
                Structure::LowRank | Structure::TiedLowRank => unreachable!("they leave a number of axes open"),
            };
            for gamma in [0.0, 0.25, 1.0] {
                let family = Gaussian { shrinkage: Strength::Fixed(gamma), ..gaussian(structure) };
                let mixed = Matrix::from_fn(d, d, |i, j| (1.0 - gamma) * unshrunk[(i, j)] + gamma * sphere[(i, j)]);
                let found = density(&wine.fit(family)).covariance(class);
                assert_close(&found, &mixed, &format!("{structure:?} with γ = {gamma}"));
            }
        }
    }
}

#[test]
fn pooling_all_the_way_is_tying() {
    let wine = crate::common::wine();
    let pairs = [
        (Structure::Full, Structure::Tied),
        (Structure::Diagonal, Structure::TiedDiagonal),
        (Structure::Spherical, Structure::TiedSpherical),
    ];
    for estimator in [Estimator::Ml, Estimator::Unbiased] {
        for (own, tied) in pairs {
            let pooled = Gaussian { estimator, pooling: Strength::Fixed(1.0), ..gaussian(own) };
            let a = wine.fit(pooled).evidence(&wine.batch()).unwrap();
            let b = wine.fit(Gaussian { estimator, ..gaussian(tied) }).evidence(&wine.batch()).unwrap();
            let far = a.values().iter().zip(b.values()).find(|(a, b)| (*a - *b).abs() > 1e-11 * b.abs());
            assert_eq!(far, None, "{own:?} {estimator:?}");
        }
    }
}

#[test]
fn spherical_by_hand() {
    // Class x: column a varies by 1, column b by 9, so the shared variance is 5 about (0, 0).
    // Class y: 4 and 16, so 10 about (10, 0). Tied: (4·5 + 2·10)/6, for four rows and two.
    let x = [[-1.0, -3.0], [1.0, 3.0], [-1.0, 3.0], [1.0, -3.0]].map(|row| (row, 0));
    let y = [[8.0, -4.0], [12.0, 4.0]].map(|row| (row, 1));
    let table = Table::of(&[&x[..], &y[..]].concat());
    let log_density = |q: f64, variance: f64| -(std::f64::consts::TAU * variance).ln() - 0.5 * q / variance;
    for (structure, variances) in [(Structure::Spherical, [5.0, 10.0]), (Structure::TiedSpherical, [40.0 / 6.0; 2])] {
        let evidence = evidence_of(&table.fit(gaussian(structure)), &[3.0, 2.0]);
        // Squared distances 9 + 4 and 49 + 4.
        for (class, q) in [(0, 13.0), (1, 53.0)] {
            let expected = log_density(q, variances[class]);
            assert!((evidence.row(0)[class] - expected).abs() < 1e-13, "{structure:?}: {evidence:?}");
        }
    }
}

/// ∫ p(x | class) dx by the trapezoidal rule in t, x = c + s·sinh t, |t| ≤ `end`: so it
/// reaches e³⁰ spreads far.
fn integrals(model: &GenerativeModel, centre: f64, spread: f64, end: f64, steps: i32) -> Vec<f64> {
    let h = 2.0 * end / f64::from(steps);
    let t: Vec<f64> = (0..=steps).map(|i| -end + f64::from(i) * h).collect();
    let x: Vec<f64> = t.iter().map(|t| centre + spread * t.sinh()).collect();
    let evidence = model.evidence(&Batch::new(x.len()).column(&x[..]).unwrap()).unwrap();
    let term = |i: usize, class: usize| (evidence.row(i)[class] + (spread * t[i].cosh()).ln()).exp() * h;
    (0..evidence.classes()).map(|class| (0..x.len()).map(|i| term(i, class)).sum()).collect()
}

#[test]
fn densities_of_one_column_integrate_to_one() {
    let heights = [155.0, 160.0, 162.0, 165.0, 168.0, 158.5].map(|x| ([x], 0));
    let others = [168.0, 173.0, 175.0, 178.0, 183.0].map(|x| ([x], 1));
    let table = Table::of(&[&heights[..], &others[..]].concat());
    let chains: [&[Step]; 3] = [&[], &[Step::Standardise], &[Step::Standardise, Step::Pca(1)]];
    for steps in chains {
        for estimator in [Estimator::Ml, Estimator::Unbiased, Estimator::Bayes] {
            for covariance in Structure::FREE.map(|s| s.1) {
                let model = table.fit(Gaussian { estimator, steps: steps.to_vec(), ..gaussian(covariance) });
                for integral in integrals(&model, 168.0, 5.0, 30.0, 40_000) {
                    assert!((integral - 1.0).abs() < 1e-9, "{steps:?} {estimator:?} {covariance:?}: {integral}");
                }
            }
        }
    }
}

#[test]
fn gaussianised_densities_integrate_to_one() {
    let wine = crate::common::wine();
    let table = wine.select(&[9]);
    for estimator in [Estimator::Ml, Estimator::Bayes] {
        let learner = table.learner(Gaussian { estimator, ..Gaussian::default() }).gaussianise(true);
        // The density jumps at each of its 130 knots, which the rule places to within a step.
        for integral in integrals(&learner.learn(&table.memory()).unwrap(), 5.0, 2.0, 12.0, 1_000_000) {
            assert!((integral - 1.0).abs() < 1e-4, "{estimator:?}: {integral}");
        }
    }
}
