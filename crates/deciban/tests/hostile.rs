//! Hostile input: each works, or gives an error that names class, column, row and remedy.

use crate::common::{Table, evidence_of};
use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::family::AnyDensity;
use deciban::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use deciban::learn::{Classifier, GenerativeModel, Learner};
use deciban::numerics::Random;
use deciban::posterior::Prior;
use deciban::transform::Step;

fn gaussian(covariance: Structure) -> Gaussian {
    Gaussian { covariance, ..Gaussian::default() }
}

fn auto(covariance: Structure) -> Gaussian {
    Gaussian { shrinkage: Strength::Auto, ..gaussian(covariance) }
}

/// `n` rows of three correlated columns, in two classes that overlap. Cells are multiples of 2⁻¹⁰,
/// so that offsets and scales can be exact.
fn rows(n: usize) -> Vec<([f64; 3], u32)> {
    let mut random = Random::new(11);
    let row = |i: usize| {
        let z: [f64; 3] = std::array::from_fn(|_| random.normal());
        let class = (i % 2) as u32;
        let shift = f64::from(class);
        let x = [z[0] + shift, 2.0 * z[1] - z[0], 0.5 * z[2] + 0.3 * z[1] - 0.7 * shift];
        (x.map(|x| (x * 1024.0).round() / 1024.0), class)
    };
    (0..n).map(row).collect()
}

/// `n` rows, all of class x.
fn rows_of_one_class(n: usize) -> Vec<([f64; 3], u32)> {
    rows(n).into_iter().map(|row| (row.0, 0)).collect()
}

/// The rows with cell `j` of each replaced.
fn with(rows: &[([f64; 3], u32)], j: usize, cell: impl Fn(&[f64; 3], u32) -> f64) -> Table {
    let mut rows = rows.to_vec();
    rows.iter_mut().for_each(|(row, class)| row[j] = cell(row, *class));
    Table::of(&rows)
}

fn error(table: &Table, family: Gaussian) -> String {
    match table.try_fit(family.clone()) {
        Ok(_) => panic!("{family:?} fits"),
        Err(error) => error.to_string(),
    }
}

fn assert_contains(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "`{part}` is not in: {text}"));
}

/// A model scores its own rows into a posterior that is defined everywhere.
fn assert_scores(model: &GenerativeModel, table: &Table, what: &str) {
    let evidence = model.evidence(&table.batch()).unwrap();
    assert_eq!(evidence.posterior(model.prior()).undefined(), 0, "{what}");
    assert!(evidence.values().iter().all(|x| x.is_finite()), "{what}");
}

#[test]
fn too_few_rows_or_classes() {
    let learn = |rows: &[([f64; 3], u32)], classes: &[&str]| {
        let table = Table { classes: classes.iter().map(|c| c.to_string()).collect(), ..Table::of(rows) };
        error(&table, Gaussian::default())
    };
    assert_contains(&learn(&[], &[]), &["no labelled rows"]);
    assert_contains(&learn(&[], &["x", "y"]), &["class `x` of `class` has no rows"]);
    assert_contains(&learn(&rows(1), &["x", "y"]), &["class `y` of `class` has no rows"]);
    assert_contains(&learn(&rows_of_one_class(9), &["x"]), &["`class`", "a single class, `x`", "at least two"]);
}

#[test]
fn rows_without_columns_or_labels() {
    let error = deciban::learn::Generative::gaussian(&[], Gaussian::default()).unwrap_err().to_string();
    assert_contains(&error, &["no column"]);
    let schema = Schema::numbers(&["a"], "class", &["x", "y"]).unwrap();
    let learner = deciban::learn::Generative::gaussian(schema.columns(), Gaussian::default()).unwrap();
    let memory = Memory::new(schema, Batch::new(2).column(&[1.0, 2.0][..]).unwrap()).unwrap();
    assert_contains(&learner.learn(&memory).unwrap_err().to_string(), &["no labels"]);
}

/// 40 rows of class x and a single one of class y.
fn one_member() -> Table {
    let mut all = rows_of_one_class(40);
    all.push(([1.0, 0.5, -0.5], 1));
    Table::of(&all)
}

#[test]
fn a_class_with_one_row() {
    let table = one_member();
    for (_, covariance) in Structure::FREE {
        if covariance.is_tied() {
            assert_scores(&table.fit(gaussian(covariance)), &table, "tied");
        } else {
            let error = error(&table, gaussian(covariance));
            assert_contains(&error, &["class `y`", "only one row", "`a`, `b`, `c`", "shrinkage=auto"]);
        }
        assert_scores(&table.fit(Gaussian { estimator: Estimator::Bayes, ..gaussian(covariance) }), &table, "bayes");
        let pooled = Gaussian { pooling: Strength::Fixed(0.5), ..gaussian(covariance) };
        if !covariance.is_tied() {
            assert_scores(&table.fit(pooled), &table, "pooled");
        }
    }
}

/// What a column may be stuck at: numbers whose sums round, too.
const CONSTANTS: [f64; 7] = [0.0, 1.0, 0.1, -1.0 / 3.0, 1e9 + 0.1, 1e-7, 123456.789];

#[test]
fn a_column_constant_within_a_class() {
    let chains: [&[Step]; 2] = [&[], &[Step::Standardise]];
    for (steps, n) in chains.into_iter().flat_map(|steps| [(steps, 31), (steps, 20_001)]) {
        for constant in CONSTANTS {
            let table = with(&rows(n), 1, |row, class| if class == 1 { constant } else { constant + row[1] });
            let error = error(&table, Gaussian { steps: steps.to_vec(), ..gaussian(Structure::Full) });
            assert_contains(&error, &["class `y`", "do not vary: `b`;", "ignore", "shrinkage"]);
            // With variances alone there is a least one.
            let model = table.fit(Gaussian { steps: steps.to_vec(), ..gaussian(Structure::Diagonal) });
            let AnyDensity::Gaussian(density) = &model.blocks()[0].density else { panic!() };
            assert_eq!(density.floored(), [(1, 1)], "{constant}");
            for covariance in [Structure::Diagonal, Structure::Tied, Structure::TiedDiagonal, Structure::Spherical] {
                let model = table.fit(Gaussian { steps: steps.to_vec(), ..gaussian(covariance) });
                assert_scores(&model, &table, &format!("{covariance:?} {constant}"));
            }
        }
    }
}

#[test]
fn a_column_constant_everywhere() {
    let chains: [&[Step]; 2] = [&[], &[Step::Standardise]];
    for (steps, n) in chains.into_iter().flat_map(|steps| [(steps, 31), (steps, 20_001)]) {
        for constant in CONSTANTS {
            let table = with(&rows(n), 1, |_, _| constant);
            for covariance in [Structure::Full, Structure::Diagonal, Structure::Tied, Structure::TiedDiagonal] {
                for estimator in [Estimator::Ml, Estimator::Unbiased, Estimator::Bayes] {
                    let error = error(&table, Gaussian { estimator, steps: steps.to_vec(), ..gaussian(covariance) });
                    let shared = covariance.is_tied() || estimator == Estimator::Bayes;
                    let owner = if shared { "shared by the classes" } else { "class `x`" };
                    assert_contains(&error, &[owner, "do not vary: `b`;"]);
                }
            }
        }
    }
}

#[test]
fn columns_that_depend_on_each_other() {
    let twice = with(&rows(50), 2, |row, _| row[0]);
    let error_of = |table: &Table, covariance| error(table, gaussian(covariance));
    assert_contains(&error_of(&twice, Structure::Full), &["class `x`", "depend on each other: `a`, `c`;"]);
    assert_contains(&error_of(&twice, Structure::Tied), &["shared by the classes", "depend on each other: `a`, `c`;"]);
    assert_scores(&twice.fit(gaussian(Structure::Diagonal)), &twice, "diagonal");
    let sum = with(&rows(50), 2, |row, _| row[0] - 3.0 * row[1]);
    assert_contains(&error_of(&sum, Structure::Full), &["depend on each other: `a`, `b`, `c`;"]);
    // In other units, and far from 0, it is the same column.
    let rescaled = with(&rows(50), 2, |row, _| 1e6 + 1e-3 * row[0]);
    let text = error_of(&rescaled, Structure::Full);
    assert_contains(&text, &["depend on each other", "`a`", "`c`"]);
}

#[test]
fn fewer_rows_than_columns() {
    let table = Table::of(&rows(6));
    let text = error(&table, gaussian(Structure::Full));
    assert_contains(&text, &["class `x`", "3 rows are too few for 3 columns", "`a`, `b`, `c`"]);
    assert_scores(&table.fit(gaussian(Structure::Tied)), &table, "tied");
    // Four rows a class span three dimensions.
    let table = Table::of(&rows(8));
    assert_scores(&table.fit(gaussian(Structure::Full)), &table, "just enough");
}

#[test]
fn automatic_shrinkage_is_never_singular() {
    let mut random = Random::new(5);
    let wide: Vec<(Vec<f64>, String)> =
        (0..12).map(|i| ((0..20).map(|_| random.normal()).collect(), format!("class {}", i % 2))).collect();
    let tables = [
        ("a constant column", with(&rows(60), 1, |_, _| 0.1)),
        ("a column constant in a class", with(&rows(60), 1, |row, class| if class == 1 { 0.1 } else { row[1] })),
        ("a column twice", with(&rows(60), 2, |row, _| row[0])),
        ("more columns than rows", Table::new((0..20).map(|j| format!("c{j}")).collect(), &wide)),
        ("a class with one row", one_member()),
        ("a class with two rows", {
            let mut all = rows_of_one_class(40);
            all.extend([([1.0, 0.5, -0.5], 1), ([2.0, 0.25, 0.5], 1)]);
            Table::of(&all)
        }),
    ];
    for (what, table) in &tables {
        for (_, covariance) in Structure::FREE {
            for seed in 0..4 {
                let what = format!("{what}, {covariance:?}, seed {seed}");
                let learner = table.learner(auto(covariance)).folds(5, seed);
                let model = learner.learn(&table.memory()).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_scores(&model, table, &what);
            }
        }
    }
}

#[test]
fn an_offset_of_a_billion_changes_nothing() {
    let near = Table::of(&rows(200));
    let far = Table { values: near.values.iter().map(|x| x + 1e9).collect(), ..near.clone() };
    assert!(far.values.iter().zip(&near.values).all(|(f, n)| f - 1e9 == *n));
    for (_, covariance) in Structure::FREE {
        for estimator in [Estimator::Ml, Estimator::Unbiased, Estimator::Bayes] {
            let family = Gaussian { estimator, ..gaussian(covariance) };
            let a = near.fit(family.clone()).evidence(&near.batch()).unwrap();
            let b = far.fit(family).evidence(&far.batch()).unwrap();
            // A mean near 1e9 is a double, known to 6e-8: that much of the distances, too.
            let error = a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 2e-6, "{covariance:?} {estimator:?}: {error:e}");
        }
    }
}

#[test]
fn extreme_scales_side_by_side() {
    let plain = Table::of(&rows(200));
    // 2⁻⁴⁹⁸ ≈ 1e-150 and 2⁴⁹⁸ ≈ 1e150, exact.
    let scales = [2f64.powi(-498), 1.0, 2f64.powi(498)];
    let scaled =
        Table { values: plain.values.iter().enumerate().map(|(i, x)| x * scales[i % 3]).collect(), ..plain.clone() };
    let chains: [&[Step]; 4] =
        [&[], &[Step::Standardise], &[Step::Lda(1)], &[Step::Standardise, Step::Pca(2), Step::Lda(1)]];
    for steps in chains {
        for covariance in [Structure::Full, Structure::Tied, Structure::Diagonal, Structure::TiedDiagonal] {
            for estimator in [Estimator::Ml, Estimator::Bayes] {
                let family = Gaussian { estimator, steps: steps.to_vec(), ..gaussian(covariance) };
                let prior = Prior::uniform(2);
                let a = plain.fit(family.clone()).evidence(&plain.batch()).unwrap().posterior(&prior);
                let b = scaled.fit(family.clone()).evidence(&scaled.batch()).unwrap().posterior(&prior);
                for i in 0..200 {
                    let error = (a.row(i)[0] - b.row(i)[0]).abs();
                    assert!(error < 1e-9, "{family:?}, row {i}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn subnormal_numbers() {
    // Variances underflow: the columns do not vary as far as doubles can tell.
    let tiny = with(&rows(50), 2, |row, _| (row[2] * 1024.0).round() * 5e-324);
    for covariance in [Structure::Full, Structure::Diagonal] {
        assert_contains(&error(&tiny, gaussian(covariance)), &["class `x`", "do not vary: `c`;"]);
    }
    // Subnormal deviations of ordinary numbers, and a few subnormal cells among ordinary ones, are 0.
    let mixed = with(&rows(50), 2, |row, _| if row[0] > 1.0 { 5e-324 } else { row[2] });
    let zeros = with(&rows(50), 2, |row, _| if row[0] > 1.0 { 0.0 } else { row[2] });
    for (_, covariance) in Structure::FREE {
        let a = mixed.fit(gaussian(covariance)).evidence(&mixed.batch()).unwrap();
        assert_eq!(a, zeros.fit(gaussian(covariance)).evidence(&zeros.batch()).unwrap());
    }
}

#[test]
fn infinite_numbers_are_named() {
    for infinity in [f64::INFINITY, f64::NEG_INFINITY] {
        let mut table = Table::of(&rows(50));
        let good = table.clone();
        table.values[3 * 17 + 1] = infinity;
        for (_, covariance) in Structure::FREE {
            let text = error(&table, gaussian(covariance));
            assert_contains(&text, &["column `b`, row 18", "infinite", "mark it as missing or remove the row"]);
            let model = good.fit(gaussian(covariance));
            let text = model.evidence(&table.batch().first_row(1000)).unwrap_err().to_string();
            assert_contains(&text, &["column `b`, row 1018", "infinite"]);
        }
        for steps in [vec![Step::Standardise], vec![Step::Pca(2)]] {
            let model = good.fit(Gaussian { steps, ..Gaussian::default() });
            assert_contains(&model.evidence(&table.batch()).unwrap_err().to_string(), &["column `b`, row 18"]);
        }
    }
}

#[test]
fn numbers_whose_sums_or_squares_overflow() {
    for huge in [1e300, f64::MAX] {
        let table = with(&rows(50), 1, |row, _| row[1] / 8.0 * huge);
        for (_, covariance) in Structure::FREE {
            let text = error(&table, gaussian(covariance));
            assert_contains(&text, &["column `b`", "too large", "rescale"]);
        }
    }
}

#[test]
fn missing_cells_at_the_fit() {
    let mut table = Table::of(&rows(50));
    table.values[3 * 30 + 2] = f64::NAN;
    // Jointly it is filled by what the others say: the covariances hardly change.
    for covariance in [Structure::Full, Structure::Tied] {
        let (gap, whole) = (table.fit(gaussian(covariance)), Table::of(&rows(50)).fit(gaussian(covariance)));
        assert!(gap.convergence().is_some_and(|found| found.converged) && whole.convergence().is_none());
        let (gap, whole) = (crate::common::density(&gap), crate::common::density(&whole));
        let [a, b] = [gap, whole].map(|density| density.covariance(0)[(2, 2)]);
        assert!(a != b && (a - b).abs() < 0.2 * b, "{a} {b}");
    }
    let stepped = Gaussian { steps: vec![Step::Pca(2)], ..gaussian(Structure::Diagonal) };
    assert_eq!(crate::common::density(&table.fit(stepped)).mean(0).len(), 2);
    // Column by column a gap costs one cell: the other columns' parameters are those of all rows.
    let whole = Table::of(&rows(50)).fit(gaussian(Structure::Diagonal));
    let gap = table.fit(gaussian(Structure::Diagonal));
    let rest = Table::of(&rows(50)).filter(|i| i != 30).fit(gaussian(Structure::Diagonal));
    let class = 0;
    let (gap, whole, rest) =
        (crate::common::density(&gap), crate::common::density(&whole), crate::common::density(&rest));
    (0..2).for_each(|j| assert!((gap.mean(class)[j] - whole.mean(class)[j]).abs() < 1e-15));
    assert!((gap.mean(class)[2] - rest.mean(class)[2]).abs() < 1e-14);
    assert!((gap.covariance(class)[(2, 2)] - rest.covariance(class)[(2, 2)]).abs() < 1e-14);
    // A column that a class has never shown cannot be modelled.
    let mut blank = Table::of(&rows(50));
    (0..50).filter(|i| i % 2 == 1).for_each(|i| blank.values[3 * i] = f64::NAN);
    assert_contains(&error(&blank, gaussian(Structure::Diagonal)), &["class `y`", "`a`"]);
}

#[test]
fn row_weights() {
    let table = Table::of(&rows(60));
    let batch = table.batch();
    for bad in [-1.0, f64::NAN, f64::INFINITY, -1e-300] {
        let mut weights = vec![1.0; 60];
        weights[6] = bad;
        let text = batch.clone().weights(&weights).unwrap_err().to_string();
        assert_contains(&text, &["row 7", &format!("the weight {bad}"), "at least 0"]);
    }
    let learn = |weights: &[f64], family: Gaussian| {
        let memory = Memory::new(table.schema(), batch.clone().weights(weights).unwrap()).unwrap();
        table.learner(family).learn(&memory)
    };
    // A row of weight 0 is as good as absent.
    let weights: Vec<f64> = (0..60).map(|i| if i % 5 == 0 { 0.0 } else { 1.0 }).collect();
    let present = table.filter(|i| i % 5 != 0);
    for (_, covariance) in Structure::FREE {
        for estimator in [Estimator::Ml, Estimator::Unbiased, Estimator::Bayes] {
            let family = Gaussian { estimator, ..gaussian(covariance) };
            let (a, b) = (learn(&weights, family.clone()).unwrap(), present.fit(family));
            assert_eq!(a.prior(), b.prior());
            let (a, b) = (a.evidence(&batch).unwrap(), b.evidence(&batch).unwrap());
            let far = a.values().iter().zip(b.values()).find(|(a, b)| (*a - *b).abs() > 1e-12 * b.abs().max(1.0));
            assert_eq!(far, None, "{covariance:?} {estimator:?}");
        }
    }
    let weights: Vec<f64> = (0..60).map(|i| f64::from(u8::from(i % 2 == 0))).collect();
    let text = learn(&weights, Gaussian::default()).unwrap_err().to_string();
    assert_contains(&text, &["class `y` of `class` have no weight"]);
}

#[test]
fn rows_extremely_far_away() {
    let table = Table::of(&rows(200));
    let scaled = Table { values: table.values.iter().map(|x| x * 1e-5).collect(), ..table.clone() };
    let chains: [&[Step]; 4] =
        [&[], &[Step::Standardise], &[Step::Pca(3)], &[Step::Standardise, Step::Pca(2), Step::Lda(1)]];
    let far = [1e10, 1e100, 1e155, 1e200, 1e300, 1e308, f64::MAX];
    let mut finite = 0;
    for table in [&table, &scaled] {
        for (steps, covariance) in chains.into_iter().flat_map(|s| Structure::FREE.map(|(_, c)| (s, c))) {
            for estimator in [Estimator::Ml, Estimator::Bayes] {
                let model = table.fit(Gaussian { estimator, steps: steps.to_vec(), ..gaussian(covariance) });
                for x in far {
                    for row in [[x, 0.0, 0.0], [x, x, x], [0.0, -x, x], [-x, 0.5 * x, 0.0], [f64::NAN, -x, x]] {
                        let projected = steps.iter().any(|step| *step != Step::Standardise);
                        if projected && row[0].is_nan() {
                            continue;
                        }
                        let what = format!("{steps:?} {covariance:?} {estimator:?} {row:?}");
                        let batch = Batch::new(1).row_major(&row[..], 3).unwrap();
                        let evidence = model.evidence(&batch).unwrap_or_else(|error| panic!("{what}: {error}"));
                        let any = evidence.row(0).iter().any(|e| e.is_finite());
                        let posterior = evidence.posterior(model.prior());
                        assert_eq!(posterior.undefined(), usize::from(!any), "{what}: {evidence:?}");
                        finite += usize::from(any);
                        // Up to 1e100 squares are doubles, and nothing is impossible.
                        assert!(any || x > 1e100, "{what}: {evidence:?}");
                    }
                }
            }
        }
    }
    assert!(finite > 500, "{finite}");
    // A far row does not touch its neighbours.
    for (_, covariance) in Structure::FREE {
        let model = table.fit(gaussian(covariance));
        let values: Vec<f64> = [table.row(0), &[f64::MAX, -f64::MAX, f64::MAX], table.row(1)].concat();
        let evidence = model.evidence(&Batch::new(3).row_major(&values[..], 3).unwrap()).unwrap();
        let near = model.evidence(&table.batch()).unwrap();
        for (found, expected) in [(evidence.row(0), near.row(0)), (evidence.row(2), near.row(1))] {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{covariance:?}");
        }
    }
}

#[test]
fn batches_of_no_rows_score_to_nothing() {
    let model = Table::of(&rows(50)).fit(Gaussian::default());
    let empty: [f64; 0] = [];
    let evidence = model.evidence(&Batch::new(0).row_major(&empty[..], 3).unwrap()).unwrap();
    assert_eq!(evidence.rows(), 0);
    let narrow = model.evidence(&Batch::new(1).row_major(&[1.0, 2.0][..], 2).unwrap()).unwrap_err().to_string();
    assert_contains(&narrow, &["expected 3, found 2"]);
    assert!(evidence_of(&model, &[0.0, 0.0, 0.0]).row(0).iter().all(|e| e.is_finite()));
}
