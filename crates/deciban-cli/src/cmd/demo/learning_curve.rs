//! Both schools on the same rows: a tied Gaussian (LDA) and logistic regression, over the number of rows.
//!
//! Where classes are Gaussian LDA uses what it knows and needs fewer rows; where a few rows lie far out
//! on the right side of the boundary they pull its means and covariance, and logistic does not care.

use std::path::PathBuf;

use deciban::Result;
use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::family::gaussian::{Gaussian, Structure};
use deciban::learn::{Classifier, Generative, Learner, Logistic};
use deciban::numerics::{Random, normal_cdf};

use crate::output::say;
use deciban_tasks::table::{Table, percent};

/// The share of the rows of class b that lie far out.
const FAR: f64 = 0.1;
const COLUMNS: usize = 5;
const SIZES: [usize; 6] = [20, 40, 80, 160, 640, 2560];
/// How often each size is drawn, so that all sizes cost about the same.
const REPEATS: [usize; 6] = [400, 300, 200, 100, 40, 10];
const TEST: usize = 5000;

/// Rows of two classes that are equally frequent; `outliers` is the share of far ones in the second.
fn draw(rows: usize, outliers: f64, random: &mut Random) -> (Vec<f64>, Vec<u32>) {
    let (mut values, mut classes) = (Vec::with_capacity(rows * COLUMNS), Vec::with_capacity(rows));
    for i in 0..rows {
        let class = (i % 2) as u32;
        let far = class == 1 && random.uniform() < outliers;
        let (shift, shared) = (if class == 1 { 0.9 } else { -0.9 }, random.normal());
        let away = if far { 10.0 } else { 0.0 };
        // Columns have variance 1 and correlations ¼.
        for _ in 0..COLUMNS {
            values.push(shift + away + 0.5 * shared + 0.75f64.sqrt() * random.normal());
        }
        classes.push(class);
    }
    (values, classes)
}

/// The share of wrong decisions on `test`.
fn errors(model: &impl Classifier, test: &(Vec<f64>, Vec<u32>)) -> Result<f64> {
    let batch = Batch::new(test.1.len()).row_major(&test.0[..], COLUMNS)?;
    let evidence = model.evidence(&batch)?;
    let wrong = (0..test.1.len()).filter(|&i| {
        let row = evidence.row(i);
        (row[1] > row[0]) != (test.1[i] == 1)
    });
    Ok(wrong.count() as f64 / test.1.len() as f64)
}

/// Mean error rates of LDA and of logistic regression on `test`.
fn compare(
    rows: usize,
    repeats: usize,
    outliers: f64,
    test: &(Vec<f64>, Vec<u32>),
    random: &mut Random,
) -> Result<[f64; 2]> {
    let names: Vec<String> = (1..=COLUMNS).map(|j| format!("x{j}")).collect();
    let schema = Schema::numbers(&names, "class", &["a".to_string(), "b".to_string()])?;
    let tied = Gaussian { covariance: Structure::Tied, ..Gaussian::default() };
    let mut sums = [0.0; 2];
    for _ in 0..repeats {
        let (values, classes) = draw(rows, outliers, random);
        let engine = Memory::new(schema.clone(), Batch::new(rows).row_major(&values[..], COLUMNS)?.classes(&classes)?)?;
        sums[0] += errors(&Generative::gaussian(schema.columns(), tied.clone())?.learn(&engine)?, test)?;
        // Next to no penalty: it only keeps small samples, which a plane may part, from running away.
        sums[1] += errors(&Logistic { weight_decay: 0.01, ..Logistic::default() }.learn(&engine)?, test)?;
    }
    Ok(sums.map(|sum| sum / repeats as f64))
}

pub fn run(_: Option<PathBuf>) -> Result<()> {
    say!("Two classes in five correlated columns, once Gaussian, once with every tenth row of class b far out");
    say!("on its own side. Mean error rates on new rows, over repeated samples:\n");
    let mut random = Random::new(4);
    let tests = [0.0, FAR].map(|outliers| draw(TEST, outliers, &mut random));
    let mut table = Table::new(["rows", "Gaussian: LDA", "logistic", "far rows: LDA", "logistic"]);
    for (rows, repeats) in SIZES.into_iter().zip(REPEATS) {
        let plain = compare(rows, repeats, 0.0, &tests[0], &mut random)?;
        let far = compare(rows, repeats, FAR, &tests[1], &mut random)?;
        table.row([rows.to_string()].into_iter().chain([plain, far].concat().into_iter().map(percent)));
    }
    say!("{table}");
    // δᵀΣ⁻¹δ for δ = 1.8·1 and Σ = ¾I + ¼11ᵀ is 3.24·d/(¾ + d/4).
    let d = COLUMNS as f64;
    let distance = (3.24 * d / (0.75 + 0.25 * d)).sqrt();
    say!("No classifier does better on the Gaussian rows than {}.", percent(normal_cdf(-distance / 2.0)));
    Ok(())
}
