//! Covariances of a few principal axes and one variance in all other directions.

use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::family::AnyDensity;
use deciban::family::gaussian::{Gaussian, GaussianDensity, Rank, Structure};
use deciban::family::{AnyFamily, Density};
use deciban::learn::{Classifier, Count, FittedBlock, Generative, GenerativeModel, Learner};
use deciban::model::Model;
use deciban::numerics::{Random, eigen};
use deciban::transform::Step;

const WIDTH: usize = 6;

/// Rows of two classes with two axes each, and noise of standard deviation ½.
fn rows(count: usize, share_missing: f64) -> (Vec<Vec<f64>>, Vec<u32>) {
    let mut random = Random::new(23);
    let classes: Vec<u32> = (0..count as u32).map(|i| i % 2).collect();
    let mut columns = vec![Vec::new(); WIDTH];
    for &class in &classes {
        let (s, t) = (2.0 * random.normal(), random.normal());
        let kept = random.below(WIDTH as u64) as usize;
        for (j, column) in columns.iter_mut().enumerate() {
            let (a, b) = match class {
                0 => (1.0, if j % 2 == 0 { 1.0 } else { -1.0 }),
                _ => (if j < 3 { 1.0 } else { -1.0 }, 1.0),
            };
            let x = f64::from(class) * j as f64 * 0.3 + (s * a + t * b) / 6f64.sqrt() + 0.5 * random.normal();
            column.push(if j != kept && random.uniform() < share_missing { f64::NAN } else { x });
        }
    }
    (columns, classes)
}

fn batch<'a>(columns: &'a [Vec<f64>]) -> Batch<'a> {
    let empty = Batch::new(columns[0].len());
    columns.iter().fold(empty, |batch, column| batch.column(&column[..]).unwrap())
}

fn learn(family: Gaussian, count: usize, share_missing: f64, components: usize) -> GenerativeModel {
    let (columns, classes) = rows(count, share_missing);
    let schema = Schema::numbers(&["a", "b", "c", "d", "e", "f"], "class", &["p", "q"]).unwrap();
    let learner = Generative::gaussian(schema.columns(), family).unwrap().components(Count::Fixed(components)).unwrap();
    let engine = Memory::new(schema, batch(&columns).classes(&classes).unwrap()).unwrap();
    learner.folds(5, 0).learn(&engine).unwrap()
}

fn low_rank(rank: Rank) -> Gaussian {
    Gaussian { covariance: Structure::LowRank, rank, ..Gaussian::default() }
}

fn density(model: &GenerativeModel) -> &GaussianDensity {
    match &model.blocks()[0].density {
        AnyDensity::Gaussian(density) => density,
        _ => panic!("a Gaussian"),
    }
}

#[test]
fn axes_are_those_of_the_full_covariance() {
    let (full, low) = (learn(Gaussian::default(), 800, 0.0, 1), learn(low_rank(Rank::Fixed(2)), 800, 0.0, 1));
    for class in 0..2 {
        let (values, _) = eigen(&density(&full).covariance(class)).unwrap();
        let (kept, _) = eigen(&density(&low).covariance(class)).unwrap();
        let rest = values[2..].iter().sum::<f64>() / 4.0;
        let wanted = [values[0], values[1], rest, rest, rest, rest];
        assert!(kept.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-10 * values[0]), "{kept:?}");
    }
    // All but one axis is the full covariance.
    let most = learn(low_rank(Rank::Fixed(5)), 800, 0.0, 1);
    let (columns, _) = rows(50, 0.3);
    let (a, b) = (full.evidence(&batch(&columns)).unwrap(), most.evidence(&batch(&columns)).unwrap());
    assert!(a.values().iter().zip(b.values()).all(|(a, b)| (a - b).abs() < 1e-9));
}

#[test]
fn missing_cells_are_integrated_out() {
    for covariance in [Structure::LowRank, Structure::TiedLowRank] {
        for steps in [vec![], vec![Step::Standardise]] {
            let family = Gaussian { covariance, rank: Rank::Fixed(2), steps, ..Gaussian::default() };
            let model = learn(family, 400, 0.0, 1);
            let own = density(&model);
            let (means, covariances) = (own.means().to_vec(), (0..2).map(|k| own.covariance(k)).collect());
            let other = GaussianDensity::from_parameters(means, covariances).unwrap();
            // The same maps, by hand.
            let (mut columns, _) = rows(60, 0.4);
            let found = model.evidence(&batch(&columns)).unwrap();
            let mut log_scale = [0.0; WIDTH];
            for linear in own.chain() {
                let (w, centre) = linear.parts();
                for (j, column) in columns.iter_mut().enumerate() {
                    column.iter_mut().for_each(|x| *x = (*x - centre[j]) * w[(j, j)]);
                    log_scale[j] = w[(j, j)].ln();
                }
            }
            let block = FittedBlock { block: model.blocks()[0].block.clone(), density: AnyDensity::Gaussian(other) };
            let whole = batch(&columns);
            let mut tile = deciban::data::Tile::default();
            tile.resize(60, 2);
            tile.data_mut().fill(0.0);
            let places: Vec<usize> = (0..WIDTH).collect();
            let cells = deciban::data::Cells::new(&whole, &places, deciban::data::Rows::Range(0..60));
            block.density.add_log_density(&cells, &block.block.names, &mut tile).unwrap();
            for i in 0..60 {
                let units: f64 = (0..WIDTH).filter(|&j| !columns[j][i].is_nan()).map(|j| log_scale[j]).sum();
                for k in 0..2 {
                    let (a, b) = (found.row(i)[k], tile.column(k)[i] + units);
                    assert!((a - b).abs() < 1e-10, "{covariance:?} {i} {k}: {a} {b}");
                }
            }
        }
    }
}

#[test]
fn a_low_rank_gaussian_is_recovered_from_rows_with_gaps() {
    for covariance in [Structure::LowRank, Structure::TiedLowRank] {
        let family = Gaussian { covariance, ..low_rank(Rank::Fixed(2)) };
        let model = learn(family.clone(), 4000, 0.3, 1);
        let path = &model.convergence().expect("several passes").path;
        assert!(path.len() > 2 && path.windows(2).all(|w| w[1] >= w[0] - 1e-12 * w[0].abs()), "{path:?}");
        if covariance == Structure::TiedLowRank {
            continue;
        }
        for class in 0..2 {
            let (values, _) = eigen(&density(&model).covariance(class)).unwrap();
            // 4 + ¼ and 1 + ¼ along the axes, where these are orthogonal, as they are in the first class.
            assert!((values[5] - 0.25).abs() < 0.02, "{values:?}");
            if class == 0 {
                assert!((values[0] - 4.25).abs() < 0.3 && (values[1] - 1.25).abs() < 0.12, "{values:?}");
            }
            let mean = density(&model).mean(class);
            assert!((0..WIDTH).all(|j| (mean[j] - class as f64 * j as f64 * 0.3).abs() < 0.1), "{mean:?}");
        }
    }
}

#[test]
fn the_rank_is_found_and_components_take_one() {
    let model = learn(low_rank(Rank::Auto), 1000, 0.0, 1);
    assert!(matches!(&model.blocks()[0].block.family, AnyFamily::Gaussian(f) if f.rank == Rank::Fixed(2)));
    // Where cells are missing, too.
    let model = learn(low_rank(Rank::Auto), 1000, 0.1, 1);
    assert!(matches!(&model.blocks()[0].block.family, AnyFamily::Gaussian(f) if f.rank != Rank::Auto));
    let mixture = learn(low_rank(Rank::Fixed(1)), 1000, 0.1, 3);
    let path = &mixture.convergence().expect("several passes").path;
    assert!(path.windows(2).all(|w| w[1] >= w[0] - 1e-12 * w[0].abs()), "{path:?}");
    let (columns, _) = rows(40, 0.2);
    let evidence = mixture.evidence(&batch(&columns)).unwrap();
    let stored = Model::from_bytes(&Model::Generative(mixture).to_bytes().unwrap()).unwrap();
    assert_eq!(stored.evidence(&batch(&columns)).unwrap().values(), evidence.values());
}

#[test]
fn what_contradicts_a_rank_is_refused() {
    let refused = |family: Gaussian| family.check().unwrap_err().to_string();
    let full = Gaussian { rank: Rank::Fixed(2), ..Gaussian::default() };
    assert_eq!(refused(full), "rank: give covariance=low-rank or tied-low-rank with it");
    let shrunk = Gaussian { shrinkage: deciban::family::gaussian::Strength::Fixed(0.1), ..low_rank(Rank::Fixed(2)) };
    assert!(refused(shrunk).contains("drop shrinkage"));
    let (columns, classes) = rows(50, 0.0);
    let schema = Schema::numbers(&["a", "b", "c", "d", "e", "f"], "class", &["p", "q"]).unwrap();
    let engine = Memory::new(schema.clone(), batch(&columns).classes(&classes).unwrap()).unwrap();
    let learner = Generative::gaussian(schema.columns(), low_rank(Rank::Fixed(6))).unwrap();
    assert_eq!(learner.learn(&engine).unwrap_err().to_string(), "rank: 6 axes of 6 columns: give 0 to 5");
}
