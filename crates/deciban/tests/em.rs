//! Expectation–maximisation: missing cells, components, and rows without a label.

use deciban::data::{Batch, Column, Kind, MISSING, Schema};
use deciban::engine::{Engine, Memory};
use deciban::explain::Order;
use deciban::family::AnyDensity;
use deciban::family::AnyFamily;
use deciban::family::categorical::Categorical;
use deciban::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use deciban::learn::{Block, Classifier, Count, Generative, GenerativeModel, Learner};
use deciban::model::Model;
use deciban::numerics::{Matrix, Random};
use deciban::transform::Step;

/// Rows of numbers, column by column, with their classes.
struct Table {
    columns: Vec<Vec<f64>>,
    classes: Vec<u32>,
}

impl Table {
    fn schema(&self) -> Schema {
        let names: Vec<String> = (0..self.columns.len()).map(|j| format!("x{j}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Schema::numbers(&names, "class", &["a", "b"]).unwrap()
    }

    fn batch(&self) -> Batch<'_> {
        let rows = Batch::new(self.classes.len());
        let rows = self.columns.iter().fold(rows, |rows, column| rows.column(&column[..]).unwrap());
        rows.classes(&self.classes).unwrap()
    }

    fn memory(&self) -> Memory<'_> {
        Memory::new(self.schema(), self.batch()).unwrap()
    }

    /// Removes each cell with probability `share`, but never all cells of a row.
    fn with_gaps(mut self, share: f64, random: &mut Random) -> Self {
        let width = self.columns.len();
        for i in 0..self.classes.len() {
            let kept = random.below(width as u64) as usize;
            for j in (0..width).filter(|&j| j != kept) {
                if random.uniform() < share {
                    self.columns[j][i] = f64::NAN;
                }
            }
        }
        self
    }
}

/// Rows of two Gaussian classes in three dimensions, all correlated.
fn gaussians(rows: usize, random: &mut Random) -> Table {
    let means = [[0.0, 0.0, 0.0], [1.5, -1.0, 0.5]];
    let roots =
        [[[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [-0.5, 0.3, 0.9]], [[2.0, 0.0, 0.0], [-1.0, 0.7, 0.0], [0.6, 0.2, 0.5]]];
    let classes: Vec<u32> = (0..rows as u32).map(|i| i % 2).collect();
    let mut columns = vec![Vec::new(); 3];
    for &class in &classes {
        let z: [f64; 3] = std::array::from_fn(|_| random.normal());
        for (j, column) in columns.iter_mut().enumerate() {
            let root: [f64; 3] = roots[class as usize][j];
            column.push(means[class as usize][j] + root.iter().zip(&z).map(|(r, z)| r * z).sum::<f64>());
        }
    }
    Table { columns, classes }
}

fn learner(table: &Table, family: Gaussian) -> Generative {
    Generative::gaussian(table.schema().columns(), family).unwrap()
}

fn density(model: &GenerativeModel) -> &deciban::family::gaussian::GaussianDensity {
    match &model.blocks()[0].density {
        AnyDensity::Gaussian(density) => density,
        _ => panic!("a Gaussian"),
    }
}

fn never_falls(model: &GenerativeModel) {
    let path = &model.convergence().expect("found in several passes").path;
    assert!(path.windows(2).all(|w| w[1] >= w[0] - 1e-12 * w[0].abs()), "{path:?}");
    assert!(path.len() > 1);
}

#[test]
fn with_nothing_missing_the_first_model_is_the_closed_form() {
    let table = gaussians(200, &mut Random::new(1));
    let plain = learner(&table, Gaussian::default()).learn(&table.memory()).unwrap();
    let looped = learner(&table, Gaussian::default()).unlabelled(1.0).unwrap().learn(&table.memory()).unwrap();
    let (a, b) = (plain.evidence(&table.batch()).unwrap(), looped.evidence(&table.batch()).unwrap());
    assert!(plain.convergence().is_none());
    assert_eq!(looped.convergence().unwrap().path.len(), 2);
    for (x, y) in a.values().iter().zip(b.values()) {
        assert!((x - y).abs() < 1e-10, "{x} {y}");
    }
}

#[test]
fn a_gaussian_is_recovered_from_rows_with_gaps() {
    let mut random = Random::new(7);
    let whole = gaussians(40_000, &mut random);
    let full = learner(&whole, Gaussian::default()).learn(&whole.memory()).unwrap();
    let gapped = whole.with_gaps(0.3, &mut random);
    for covariance in [Structure::Full, Structure::Tied] {
        let family = Gaussian { covariance, ..Gaussian::default() };
        let model = learner(&gapped, family).learn(&gapped.memory()).unwrap();
        never_falls(&model);
        assert!(model.convergence().unwrap().converged);
        if covariance == Structure::Full {
            for class in 0..2 {
                let (found, truth) = (density(&model), density(&full));
                for i in 0..3 {
                    assert!((found.mean(class)[i] - truth.mean(class)[i]).abs() < 0.05);
                    for j in 0..3 {
                        let [a, b] = [found, truth].map(|d| d.covariance(class)[(i, j)]);
                        assert!((a - b).abs() < 0.12, "{class} {i} {j}: {a} {b}");
                    }
                }
            }
        }
    }
}

/// The gradient of the observed log-likelihood is 0 at the end, by differences: no other point is likelier.
#[test]
fn the_end_is_a_maximum_of_the_likelihood_of_the_cells_that_are_there() {
    let mut random = Random::new(3);
    let table = gaussians(300, &mut random).with_gaps(0.3, &mut random);
    let model = learner(&table, Gaussian::default()).until(2000, 1e-14).learn(&table.memory()).unwrap();
    let likelihood = |means: &[Vec<f64>], covariances: &[Matrix]| {
        let density = deciban::family::gaussian::GaussianDensity::from_parameters(means.to_vec(), covariances.to_vec());
        let density = density.unwrap();
        let mut out = deciban::data::Tile::default();
        out.resize(table.classes.len(), 2);
        out.data_mut().fill(0.0);
        let batch = table.batch();
        let rows = deciban::data::Rows::Range(0..table.classes.len());
        let names: Vec<String> = (0..3).map(|j| format!("x{j}")).collect();
        let cells = deciban::data::Cells::new(&batch, &[0, 1, 2], rows);
        deciban::family::Density::add_log_density(&density, &cells, &names, &mut out).unwrap();
        table.classes.iter().enumerate().map(|(i, &c)| out.column(c as usize)[i]).sum::<f64>()
    };
    let means: Vec<Vec<f64>> = (0..2).map(|c| density(&model).mean(c).to_vec()).collect();
    let covariances: Vec<Matrix> = (0..2).map(|c| density(&model).covariance(c)).collect();
    let at = likelihood(&means, &covariances);
    for class in 0..2 {
        for i in 0..3 {
            for step in [-1e-3, 1e-3] {
                let mut moved = means.clone();
                moved[class][i] += step;
                assert!(likelihood(&moved, &covariances) < at);
                for j in 0..=i {
                    let mut moved = covariances.clone();
                    moved[class][(i, j)] += step;
                    if i != j {
                        moved[class][(j, i)] += step;
                    }
                    assert!(likelihood(&means, &moved) < at, "{class} {i} {j}");
                }
            }
        }
    }
}

/// What the passes report is what the model says of the rows, which it scores in another way.
#[test]
fn the_log_likelihood_is_that_of_the_rows() {
    let mut random = Random::new(13);
    let table = gaussians(2500, &mut random).with_gaps(0.3, &mut random);
    for steps in [vec![], vec![Step::Standardise]] {
        let model = learner(&table, Gaussian { steps, ..Gaussian::default() }).learn(&table.memory()).unwrap();
        let evidence = model.evidence(&table.batch()).unwrap();
        let log_p = |(i, &class): (usize, &u32)| evidence.row(i)[class as usize] + 0.5f64.ln();
        let sum: f64 = table.classes.iter().enumerate().map(log_p).sum();
        let reported = model.convergence().unwrap().log_likelihood;
        assert!((sum / 2500.0 - reported).abs() < 1e-11, "{} {reported}", sum / 2500.0);
    }
}

/// The density of the cells that are there is the integral of the joint density over the others.
#[test]
fn missing_cells_are_integrated_out() {
    let table = gaussians(500, &mut Random::new(5));
    let model = learner(&table, Gaussian::default()).learn(&table.memory()).unwrap();
    let score = |rows: &[[f64; 3]]| {
        let columns: Vec<Vec<f64>> = (0..3).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
        let batch = columns.iter().fold(Batch::new(rows.len()), |batch, column| batch.column(&column[..]).unwrap());
        let evidence = model.evidence(&batch).unwrap();
        (0..rows.len()).map(|i| [evidence.row(i)[0], evidence.row(i)[1]]).collect::<Vec<_>>()
    };
    // The trapezoidal rule converges faster than any power for a smooth function that vanishes at both ends.
    let grid: Vec<f64> = (-400..=400).map(|i| f64::from(i) * 0.05).collect();
    for missing in 0..3 {
        let row = [0.7, -0.4, 0.9];
        let mut gapped = row;
        gapped[missing] = f64::NAN;
        let filled: Vec<[f64; 3]> = grid
            .iter()
            .map(|&x| {
                let mut row = row;
                row[missing] = x;
                row
            })
            .collect();
        let (all, marginal) = (score(&filled), score(&[gapped])[0]);
        for class in 0..2 {
            let integral: f64 = all.iter().map(|s| s[class].exp()).sum::<f64>() * 0.05;
            assert!((integral.ln() - marginal[class]).abs() < 1e-10, "{missing} {class}");
        }
    }
    // Two cells missing: the marginal of one column.
    let marginal = score(&[[f64::NAN, 0.3, f64::NAN]])[0];
    for class in 0..2 {
        let (mean, variance) = (density(&model).mean(class)[1], density(&model).covariance(class)[(1, 1)]);
        let log_p = -0.5 * ((0.3 - mean).powi(2) / variance + (std::f64::consts::TAU * variance).ln());
        assert!((marginal[class] - log_p).abs() < 1e-10);
    }
}

#[test]
fn a_column_without_cells_in_a_class_is_an_error_with_a_remedy() {
    let mut table = gaussians(60, &mut Random::new(2));
    (0..60).step_by(2).for_each(|i| table.columns[1][i] = f64::NAN);
    let error = learner(&table, Gaussian::default()).learn(&table.memory()).unwrap_err().to_string();
    assert!(error.contains("`x1` has no cell in class `a`") && error.contains("ignore"), "{error}");
}

#[test]
fn components_after_a_projection_keep_its_maps() {
    let mut random = Random::new(13);
    let train = crossed(1000, &mut random);
    let family = Gaussian { steps: vec![Step::Pca(2)], ..Gaussian::default() };
    let model = learner(&train, family.clone()).components(Count::Fixed(2)).unwrap().learn(&train.memory()).unwrap();
    // Two principal components of two columns are a rotation: the same densities as without.
    let plain = learner(&train, Gaussian::default()).components(Count::Fixed(2)).unwrap();
    let plain = plain.learn(&train.memory()).unwrap();
    let (a, b) = (model.evidence(&train.batch()).unwrap(), plain.evidence(&train.batch()).unwrap());
    assert!(a.values().iter().zip(b.values()).all(|(x, y)| (x - y).abs() < 1e-2));
    assert_eq!(density(&model).chain().len(), 1);
    let stored = Model::from_bytes(&Model::Generative(model).to_bytes().unwrap()).unwrap();
    assert_eq!(stored.evidence(&train.batch()).unwrap().values(), a.values());
    let gapped = train.with_gaps(0.1, &mut random);
    let error = learner(&gapped, family).components(Count::Fixed(2)).unwrap().learn(&gapped.memory()).unwrap_err();
    assert!(error.to_string().contains("the cell is missing"), "{error}");
}

#[test]
fn statistics_with_gaps_merge_and_are_taken_back() {
    let mut random = Random::new(11);
    let table = gaussians(400, &mut random).with_gaps(0.2, &mut random);
    let learner = learner(&table, Gaussian::default());
    let part = |range: std::ops::Range<usize>| {
        let memory = Memory::new(table.schema(), table.batch().slice(range)).unwrap();
        learner.statistics(&memory).unwrap()
    };
    let mut sum = part(0..250);
    sum.merge(&part(250..400)).unwrap();
    sum.remove(&part(250..400)).unwrap();
    let diagonal = Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() };
    let fit = |statistics| Generative::gaussian(table.schema().columns(), diagonal.clone()).unwrap().fit(statistics);
    let (a, b) = (fit(&sum).unwrap(), fit(&part(0..250)).unwrap());
    let (a, b) = (a.evidence(&table.batch()).unwrap(), b.evidence(&table.batch()).unwrap());
    assert!(a.values().iter().zip(b.values()).all(|(x, y)| (x - y).abs() < 1e-9));
    // A full covariance needs the rows.
    let error = learner.fit(&sum).unwrap_err().to_string();
    assert!(error.contains("missing cells"), "{error}");
    let whole = learner.learn(&table.memory()).unwrap();
    let bytes = Model::Generative(whole.clone()).to_bytes().unwrap();
    let Model::Generative(loaded) = Model::from_bytes(&bytes).unwrap() else { panic!() };
    assert_eq!(loaded.convergence(), whole.convergence());
}

/// Each class has two clusters, so that class means and covariances are equal: only components tell them apart.
fn crossed(rows: usize, random: &mut Random) -> Table {
    let classes: Vec<u32> = (0..rows as u32).map(|i| i % 2).collect();
    let mut columns = vec![Vec::new(); 2];
    for &class in &classes {
        let side = if random.uniform() < 0.5 { -3.0 } else { 3.0 };
        let centre = if class == 0 { [side, side] } else { [side, -side] };
        columns.iter_mut().zip(centre).for_each(|(column, c)| column.push(c + random.normal()));
    }
    Table { columns, classes }
}

fn error_rate(model: &GenerativeModel, table: &Table) -> f64 {
    let evidence = model.evidence(&table.batch()).unwrap();
    let wrong = |(i, &class): (usize, &u32)| (evidence.row(i)[1] > evidence.row(i)[0]) != (class == 1);
    table.classes.iter().enumerate().filter(|row| wrong(*row)).count() as f64 / table.classes.len() as f64
}

#[test]
fn components_tell_apart_what_one_gaussian_cannot() {
    let mut random = Random::new(4);
    let (train, test) = (crossed(2000, &mut random), crossed(2000, &mut random));
    let tied = Gaussian { covariance: Structure::Tied, ..Gaussian::default() };
    let plain = learner(&train, tied.clone()).learn(&train.memory()).unwrap();
    assert!(error_rate(&plain, &test) > 0.4);
    for family in [Gaussian::default(), tied, Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() }] {
        let model = learner(&train, family).components(Count::Fixed(2)).unwrap().learn(&train.memory()).unwrap();
        never_falls(&model);
        // Clusters of standard deviation 1 that lie 6 apart along each axis.
        assert!(error_rate(&model, &test) < 0.005);
        assert!((model.components().log_weights(0)[0].exp() - 0.5).abs() < 0.05);
    }
    let auto = learner(&train, Gaussian::default()).components(Count::Auto).unwrap().learn(&train.memory()).unwrap();
    assert!((2..=4).contains(&auto.components().of_class(0).len()));
}

#[test]
fn a_mixture_is_stored_explained_and_sampled() {
    let mut random = Random::new(8);
    let train = crossed(1000, &mut random);
    let learner = learner(&train, Gaussian::default()).components(Count::Fixed(3)).unwrap();
    let model = learner.learn(&train.memory()).unwrap();
    let evidence = model.evidence(&train.batch()).unwrap();
    let stored = Model::from_bytes(&Model::Generative(model.clone()).to_bytes().unwrap()).unwrap();
    assert_eq!(stored.evidence(&train.batch()).unwrap().values(), evidence.values());
    // The ledger adds up to the evidence, for each class.
    let few = train.batch().slice(0..20);
    for (i, explanation) in stored.explain(&few, Order::Average).unwrap().iter().enumerate() {
        for class in 0..2 {
            let sum: f64 = explanation.entries.iter().map(|entry| entry.evidence[class]).sum();
            assert!((sum - evidence.row(i)[class]).abs() < 1e-9);
        }
        assert_eq!(explanation.entries.last().unwrap().name, "(components of the mixture)");
    }
    // Draws of class a lie on both sides.
    let draws: Vec<f64> = (0..400)
        .map(|_| match model.sample(0, &mut random).unwrap()[0] {
            deciban::data::Value::Number(x) => x,
            _ => panic!("a number"),
        })
        .collect();
    let left = draws.iter().filter(|x| **x < 0.0).count();
    assert!((140..260).contains(&left), "{left}");
}

/// Latent classes (Lazarsfeld): categories that depend on each other within a class, through a component.
#[test]
fn components_of_categories_are_latent_classes() {
    let mut random = Random::new(6);
    let rows = 4000;
    let classes: Vec<u32> = (0..rows as u32).map(|i| i % 2).collect();
    let mut codes = vec![Vec::new(); 4];
    for &class in &classes {
        // In class a all columns agree, in class b neighbours differ.
        let hidden = random.below(2) as u32;
        for (j, column) in codes.iter_mut().enumerate() {
            let usual = if class == 0 { hidden } else { (hidden + j as u32) % 2 };
            column.push(if random.uniform() < 0.9 { usual } else { 1 - usual });
        }
    }
    let column =
        |j: usize| Column { name: format!("c{j}"), kind: Kind::Category, levels: vec!["no".into(), "yes".into()] };
    let columns: Vec<Column> = (0..4).map(column).collect();
    let schema = Schema::new(columns.clone(), "class", vec!["a".into(), "b".into()]).unwrap();
    let batch = codes.iter().fold(Batch::new(rows), |batch, codes| batch.codes(codes).unwrap());
    let memory = Memory::new(schema, batch.clone().classes(&classes).unwrap()).unwrap();
    let block = || Block::new(vec![0, 1, 2, 3], &columns, AnyFamily::Categorical(Categorical::default()));
    let errors = |components: usize| {
        let learner = Generative::of_blocks(vec![block()]).components(Count::Fixed(components)).unwrap();
        let model = learner.learn(&memory).unwrap();
        if components > 1 {
            never_falls(&model);
        }
        let evidence = model.evidence(&batch).unwrap();
        let wrong = |&(i, &class): &(usize, &u32)| (evidence.row(i)[1] > evidence.row(i)[0]) != (class == 1);
        classes.iter().enumerate().filter(wrong).count() as f64 / rows as f64
    };
    assert!(errors(1) > 0.4);
    // The error of the true model, over all 16 patterns.
    let likelihood = |pattern: u32, class: u32| {
        let bit = |j: u32| pattern >> j & 1;
        let given = |hidden: u32| -> f64 {
            let usual = |j: u32| if class == 0 { hidden } else { (hidden + j) % 2 };
            (0..4).map(|j| if bit(j) == usual(j) { 0.9 } else { 0.1 }).product()
        };
        0.5 * (given(0) + given(1))
    };
    let best: f64 = (0..16).map(|x| 0.5 * likelihood(x, 0).min(likelihood(x, 1))).sum();
    assert!((errors(2) - best).abs() < 0.02, "{} {best}", errors(2));
}

#[test]
fn unlabelled_rows_help_where_labelled_ones_are_few() {
    let mut random = Random::new(12);
    let (train, test) = (gaussians(3000, &mut random), gaussians(3000, &mut random));
    let few: Vec<u32> = train.classes.iter().enumerate().map(|(i, &c)| if i < 16 { c } else { MISSING }).collect();
    let few = Table { columns: train.columns, classes: few };
    let family = Gaussian::default();
    let labelled = learner(&few, family.clone()).learn(&few.memory()).unwrap();
    let both = learner(&few, family).unlabelled(1.0).unwrap().learn(&few.memory()).unwrap();
    never_falls(&both);
    assert!(error_rate(&both, &test) < error_rate(&labelled, &test));
    // The share of the classes is that of all rows.
    assert!((both.empirical().probabilities()[0] - 0.5).abs() < 0.1);
}

#[test]
fn threads_change_no_bit() {
    let mut random = Random::new(9);
    let table = gaussians(30_000, &mut random).with_gaps(0.1, &mut random);
    for components in [1, 2] {
        let count = Count::Fixed(components);
        let learner = learner(&table, Gaussian::default()).components(count).unwrap().until(5, 0.0);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| learner.learn(&table.memory()).unwrap().evidence(&table.batch()).unwrap())
        };
        assert_eq!(run(1).values(), run(3).values());
    }
}

/// The pass as executors see it: bytes in, bytes out.
#[test]
fn passes_travel_as_bytes() {
    use deciban::pass::{ErasedPass, ErasedStatistic};
    let mut random = Random::new(10);
    let table = gaussians(500, &mut random).with_gaps(0.2, &mut random);
    struct Remote<'a>(Memory<'a>, Batch<'a>);
    impl Engine for Remote<'_> {
        fn collect(&self, pass: &dyn ErasedPass) -> deciban::Result<ErasedStatistic> {
            let bytes = deciban::pass::pass_to_bytes(pass)?;
            let mut sum = pass.accumulator();
            for range in [0..200, 200..500] {
                let mut executor = deciban::registry::accumulator(&bytes)?;
                executor.observe(&self.1.slice(range))?;
                sum.merge(&executor.state()?)?;
            }
            Ok(sum.finish())
        }
        fn schema(&self) -> deciban::Result<Schema> {
            self.0.schema()
        }
    }
    let learner = learner(&table, Gaussian::default()).components(Count::Fixed(2)).unwrap();
    let near = learner.learn(&table.memory()).unwrap().evidence(&table.batch()).unwrap();
    let far = learner.learn(&Remote(table.memory(), table.batch())).unwrap().evidence(&table.batch()).unwrap();
    assert!(near.values().iter().zip(far.values()).all(|(a, b)| (a - b).abs() < 1e-6));
}

/// Columns are scaled before they are shrunk, also where cells are missing: units change nothing.
#[test]
fn missing_cells_of_standardised_columns_know_no_units() {
    let table = |scale: f64| {
        let mut table = gaussians(300, &mut Random::new(31)).with_gaps(0.2, &mut Random::new(32));
        table.columns[1].iter_mut().for_each(|x| *x *= scale);
        table
    };
    let family = Gaussian {
        shrinkage: deciban::family::gaussian::Strength::Fixed(0.3),
        steps: vec![Step::Standardise],
        ..Gaussian::default()
    };
    let fit = |table: &Table| learner(table, family.clone()).learn(&table.memory()).unwrap();
    let (plain, scaled) = (table(1.0), table(1e4));
    let (a, b) = (fit(&plain).evidence(&plain.batch()).unwrap(), fit(&scaled).evidence(&scaled.batch()).unwrap());
    for i in 0..300 {
        let llr = |row: &[f64]| row[1] - row[0];
        assert!((llr(a.row(i)) - llr(b.row(i))).abs() < 1e-6, "{} {}", llr(a.row(i)), llr(b.row(i)));
    }
}

/// A shrunk covariance is not the likeliest: steps go on until they lead nowhere, whatever becomes of the likelihood.
#[test]
fn shrunk_covariances_end_where_a_step_changes_nothing() {
    let table = gaussians(300, &mut Random::new(31)).with_gaps(0.3, &mut Random::new(32));
    for (gamma, lambda) in [(0.02, 0.0), (0.3, 0.0), (0.9, 0.0), (0.0, 0.5), (0.2, 0.4)] {
        let family = Gaussian {
            shrinkage: Strength::Fixed(gamma),
            pooling: Strength::Fixed(lambda),
            steps: vec![Step::Standardise],
            ..Gaussian::default()
        };
        let fit = |tolerance: f64| {
            let learner = learner(&table, family.clone()).until(1000, tolerance);
            learner.learn(&table.memory()).unwrap()
        };
        let (usual, exact) = (fit(1e-7), fit(1e-16));
        for model in [&usual, &exact] {
            let convergence = model.convergence().unwrap();
            assert!(convergence.converged, "γ = {gamma}, λ = {lambda}");
            assert_eq!(convergence.path.last(), Some(&convergence.log_likelihood));
        }
        let steps = |model: &GenerativeModel| model.convergence().unwrap().path.len() - 1;
        assert!(steps(&usual) > 2 && steps(&exact) > steps(&usual), "γ = {gamma}: {} {}", steps(&usual), steps(&exact));
        let (a, b) = (usual.evidence(&table.batch()).unwrap(), exact.evidence(&table.batch()).unwrap());
        let apart = a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Without shrinkage, the climb ends 2e-5 from its end here.
        let largest = b.values().iter().fold(0.0f64, |most, x| most.max(x.abs()));
        assert!(apart < 2e-4 * largest, "γ = {gamma}, λ = {lambda}: {apart} of {largest}");
    }
}

/// The same for components, with covariances and with variances.
#[test]
fn shrunk_components_end_where_a_step_changes_nothing() {
    let table = gaussians(600, &mut Random::new(33));
    let mut falls = false;
    for (covariance, gamma) in [(Structure::Full, 0.3), (Structure::Full, 0.8), (Structure::Diagonal, 0.5)] {
        let family = Gaussian { covariance, shrinkage: Strength::Fixed(gamma), ..Gaussian::default() };
        let fit = |tolerance: f64| {
            let learner = learner(&table, family.clone()).components(Count::Fixed(2)).unwrap();
            learner.until(20_000, tolerance).learn(&table.memory()).unwrap()
        };
        let (rough, exact) = (fit(1e-9), fit(1e-20));
        for model in [&rough, &exact] {
            let convergence = model.convergence().unwrap();
            assert!(convergence.converged, "γ = {gamma}");
            assert_eq!(convergence.path.last(), Some(&convergence.log_likelihood));
            falls |= convergence.path.windows(2).any(|step| step[1] < step[0]);
        }
        let (a, b) = (rough.evidence(&table.batch()).unwrap(), exact.evidence(&table.batch()).unwrap());
        let apart = a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-2, "{covariance:?}, γ = {gamma}: {apart}");
    }
    // There a climb would have ended.
    assert!(falls);
}

#[test]
fn a_column_without_a_cell_in_a_class_is_named_by_every_structure() {
    let mut random = Random::new(8);
    let mut table = gaussians(60, &mut random);
    (0..60).filter(|i| table.classes[*i] == 1).for_each(|i| table.columns[2][i] = f64::NAN);
    for (name, covariance) in Structure::ALL {
        for shrinkage in [Strength::Fixed(0.0), Strength::Fixed(0.5)] {
            let family = Gaussian { covariance, shrinkage, ..Gaussian::default() };
            if family.check().is_err() {
                continue;
            }
            let error = learner(&table, family).learn(&table.memory()).unwrap_err().to_string();
            assert!(error.contains("`x2` has no cell in class `b`") && error.contains("ignore"), "{name}: {error}");
            // What it advises works.
            assert!(!error.contains("covariance"), "{name}: {error}");
        }
    }
    // Parameters that are integrated out have their prior: such a column says next to nothing there.
    let family = Gaussian { covariance: Structure::Diagonal, estimator: Estimator::Bayes, ..Gaussian::default() };
    assert!(learner(&table, family).learn(&table.memory()).is_ok());
}
