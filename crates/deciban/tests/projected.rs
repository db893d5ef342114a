//! Rows with missing cells after PCA and LDA: what their cells say about the class, exactly.

use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::family::AnyDensity;
use deciban::family::gaussian::{Gaussian, GaussianDensity, Structure};
use deciban::learn::{Classifier, Count, Generative, GenerativeModel, Learner};
use deciban::model::Model;
use deciban::numerics::{Matrix, Random, cholesky, solve_lower};
use deciban::statistic::{Moments, Statistic};
use deciban::transform::Step;

const NAN: f64 = f64::NAN;

/// Rows of three correlated columns in three classes.
fn rows() -> (Vec<[f64; 3]>, Vec<u32>) {
    let mut random = Random::new(17);
    let means = [[0.0, 0.0, 0.0], [1.5, -1.0, 0.5], [-1.0, 0.5, 2.0]];
    let classes: Vec<u32> = (0..600).map(|i| i % 3).collect();
    let row = |&class: &u32| {
        let z: [f64; 3] = std::array::from_fn(|_| random.normal());
        let x = [z[0], 0.8 * z[0] + 0.6 * z[1], -0.5 * z[0] + 0.3 * z[1] + 0.9 * z[2]];
        std::array::from_fn(|j| means[class as usize][j] + x[j] * (1.0 + 0.3 * f64::from(class)))
    };
    (classes.iter().map(row).collect(), classes)
}

fn fit(family: Gaussian, components: usize) -> GenerativeModel {
    let (rows, classes) = rows();
    let columns: Vec<Vec<f64>> = (0..3).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
    let batch = columns.iter().fold(Batch::new(rows.len()), |batch, column| batch.column(&column[..]).unwrap());
    let schema = Schema::numbers(&["x", "y", "z"], "class", &["a", "b", "c"]).unwrap();
    let learner = Generative::gaussian(schema.columns(), family).unwrap().components(Count::Fixed(components)).unwrap();
    learner.learn(&Memory::new(schema, batch.classes(&classes).unwrap()).unwrap()).unwrap()
}

fn scores(model: &impl Classifier, rows: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let columns: Vec<Vec<f64>> = (0..3).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
    let batch = columns.iter().fold(Batch::new(rows.len()), |batch, column| batch.column(&column[..]).unwrap());
    let evidence = model.evidence(&batch).unwrap();
    (0..rows.len()).map(|i| std::array::from_fn(|k| evidence.row(i)[k])).collect()
}

fn density(model: &GenerativeModel) -> &GaussianDensity {
    match &model.blocks()[0].density {
        AnyDensity::Gaussian(density) => density,
        _ => panic!("a Gaussian"),
    }
}

/// Mean and covariance of all rows.
fn of_all() -> (Vec<f64>, Matrix) {
    let mut total = Moments::empty(3);
    rows().0.iter().for_each(|row| total.merge(&Moments::of_rows(&[*row])).unwrap());
    let mut covariance = total.scatter().clone();
    covariance.mirror_lower();
    covariance.data_mut().iter_mut().for_each(|x| *x /= total.weight());
    (total.mean().to_vec(), covariance)
}

/// log N(x | m, S)
fn log_normal(x: &[f64], mean: &[f64], covariance: &Matrix) -> f64 {
    let l = cholesky(covariance).unwrap();
    let mut z = Matrix::from_columns(x.len(), 1, x.iter().zip(mean).map(|(x, m)| x - m).collect());
    solve_lower(&l, false, &mut z);
    let log_root: f64 = (0..x.len()).map(|j| l[(j, j)].ln()).sum();
    -0.5 * (x.len() as f64 * std::f64::consts::TAU.ln() + z.data().iter().map(|z| z * z).sum::<f64>()) - log_root
}

/// With every cell the classes differ in z alone: p(x | class) = p(z | class) N(x | m, T) / N(z | z̄, WᵀTW). Integrated
/// over the missing cells by the trapezoidal rule, this gives the same log-likelihood ratios.
#[test]
fn ratios_are_those_of_direct_integration() {
    let (mean, covariance) = of_all();
    let two = || vec![Step::Pca(2)];
    let standardised = vec![Step::Standardise, Step::Pca(2)];
    let families = [
        (Gaussian { steps: two(), ..Gaussian::default() }, 1),
        (Gaussian { steps: two(), covariance: Structure::Diagonal, ..Gaussian::default() }, 1),
        (Gaussian { steps: standardised, covariance: Structure::Tied, ..Gaussian::default() }, 1),
        (Gaussian { steps: vec![Step::Lda(1)], ..Gaussian::default() }, 1),
        (Gaussian { steps: two(), ..Gaussian::default() }, 2),
    ];
    for (family, components) in families {
        let model = fit(family, components);
        let map = |x: &[f64]| density(&model).chain().iter().fold(x.to_vec(), |x, linear| linear.row(&x));
        // WᵀTW, by what the maps make of the moments.
        let moments = Moments::from_parts(600.0, 600.0, mean.clone(), {
            let mut scatter = covariance.clone();
            scatter.data_mut().iter_mut().for_each(|x| *x *= 600.0);
            scatter
        });
        let mapped = density(&model).chain().iter().fold(moments.unwrap(), |moments, linear| linear.moments(&moments));
        let mut of_z = mapped.scatter().clone();
        of_z.data_mut().iter_mut().for_each(|x| *x /= 600.0);
        let joint = |filled: &[[f64; 3]]| -> [f64; 3] {
            let evidence = scores(&model, filled);
            let rest = |x: &[f64; 3]| log_normal(x, &mean, &covariance) - log_normal(&map(x), mapped.mean(), &of_z);
            let rests: Vec<f64> = filled.iter().map(rest).collect();
            std::array::from_fn(|k| evidence.iter().zip(&rests).map(|(e, r)| (e[k] + r).exp()).sum::<f64>().ln())
        };
        for row in [[0.7, -0.4, NAN], [0.3, NAN, 1.1], [NAN, 1.0, -0.2], [NAN, 0.4, NAN], [1.2, NAN, NAN]] {
            let missing: Vec<usize> = (0..3).filter(|&j| row[j].is_nan()).collect();
            let (half, step) = if missing.len() == 1 { (120, 0.2) } else { (60, 0.3) };
            let grid: Vec<f64> = (-half..=half).map(|i| f64::from(i) * step).collect();
            let mut filled = vec![row];
            for &j in &missing {
                let with = |row: &[f64; 3]| {
                    let row = *row;
                    grid.iter().map(move |&x| std::array::from_fn(|i| if i == j { x } else { row[i] }))
                };
                filled = filled.iter().flat_map(with).collect();
            }
            let (whole, found) = (joint(&filled), scores(&model, &[row])[0]);
            for k in 1..3 {
                let (truth, ratio) = (whole[k] - whole[0], found[k] - found[0]);
                assert!((truth - ratio).abs() < 1e-10, "{row:?}: {truth} and {ratio}");
            }
        }
    }
}

/// A tied model loses nothing in K − 1 discriminant directions, so that it marginalises as the one without them.
#[test]
fn all_discriminant_directions_marginalise_as_the_columns_do() {
    let tied = Gaussian { covariance: Structure::Tied, ..Gaussian::default() };
    let (plain, lda) = (fit(tied.clone(), 1), fit(Gaussian { steps: vec![Step::Lda(2)], ..tied }, 1));
    let gapped = [[0.7, -0.4, NAN], [NAN, 1.3, NAN], [NAN, 0.2, 0.1], [0.7, 0.1, 2.0], [NAN; 3]];
    for (a, b) in scores(&plain, &gapped).iter().zip(scores(&lda, &gapped)) {
        (1..3).for_each(|k| assert!((a[k] - a[0] - (b[k] - b[0])).abs() < 1e-10, "{a:?} {b:?}"));
    }
}

#[test]
fn the_last_cell_brings_the_density_of_a_whole_row() {
    // The third column is the sum of the others, so that it says nothing new.
    let rows: Vec<[f64; 3]> = rows().0.iter().map(|row| [row[0], row[1], row[0] + row[1]]).collect();
    let columns: Vec<Vec<f64>> = (0..3).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
    let batch = columns.iter().fold(Batch::new(600), |batch, column| batch.column(&column[..]).unwrap());
    let schema = Schema::numbers(&["x", "y", "z"], "class", &["a", "b", "c"]).unwrap();
    let classes: Vec<u32> = (0..600).map(|i| i % 3).collect();
    let family = Gaussian { steps: vec![Step::Pca(2)], ..Gaussian::default() };
    let learner = Generative::gaussian(schema.columns(), family).unwrap();
    let model = learner.learn(&Memory::new(schema, batch.classes(&classes).unwrap()).unwrap()).unwrap();
    let whole = scores(&model, &[[0.3, -0.2, 0.1]])[0];
    for gapped in [[0.3, -0.2, NAN], [NAN, -0.2, 0.1]] {
        let found = scores(&model, &[gapped])[0];
        (0..3).for_each(|k| assert!((whole[k] - found[k]).abs() < 1e-9, "{whole:?} {found:?}"));
    }
    assert_eq!(scores(&model, &[[NAN; 3]])[0], [0.0; 3]);
    let stored = Model::from_bytes(&Model::Generative(model.clone()).to_bytes().unwrap()).unwrap();
    let gapped = [[0.3, NAN, 0.1], [0.1, NAN, NAN]];
    assert_eq!(scores(&stored, &gapped), scores(&model, &gapped));
}
