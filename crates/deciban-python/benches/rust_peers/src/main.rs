//! Fits of linfa and smartcore: `rust-peers FOLDER ROWS COLUMNS` reads `FOLDER/x` (doubles, row after row) and
//! `FOLDER/y` (classes 0 and 1, four bytes each), and prints a line for each model: its name, the least seconds of
//! some fits, and how many of the first thousand rows it gives class 1.

use std::time::Instant;

use linfa::prelude::*;
use ndarray::{Array1, Array2, s};
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::linear::logistic_regression::LogisticRegression as SmartLogistic;
use smartcore::naive_bayes::gaussian::GaussianNB as SmartGaussian;

/// Fits are repeated for so many seconds, but for three times at most.
const LONG: f64 = 5.0;

/// Prints the least time of some fits, and how often the model says 1.
fn tell<M>(name: &str, fit: impl Fn() -> M, ones: impl Fn(&M) -> usize) {
    let timed = || {
        let start = Instant::now();
        let model = fit();
        (start.elapsed().as_secs_f64(), model)
    };
    let (mut least, mut model) = timed();
    let mut taken = least;
    for _ in 0..2 {
        if taken < LONG {
            let (seconds, again) = timed();
            (least, model) = (least.min(seconds), again);
            taken += seconds;
        }
    }
    println!("{name}\t{least}\t{}", ones(&model));
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (rows, columns): (usize, usize) = (arguments[2].parse().unwrap(), arguments[3].parse().unwrap());
    let read = |name: &str| std::fs::read(format!("{}/{name}", arguments[1])).unwrap();
    let x: Vec<f64> = read("x").chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let y: Vec<u32> = read("y").chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();

    let x_array = Array2::from_shape_vec((rows, columns), x.clone()).unwrap();
    let first = x_array.slice(s![..1000, ..]).to_owned();
    let data = Dataset::new(x_array, Array1::from_iter(y.iter().map(|y| *y as usize)));
    let ones = |classes: Array1<usize>| classes.iter().filter(|class| **class == 1).count();
    tell(
        "linfa GaussianNb",
        || linfa_bayes::GaussianNb::<f64, usize>::params().var_smoothing(1e-9).fit(&data).unwrap(),
        |model| ones(model.predict(&first)),
    );
    tell(
        "linfa LogisticRegression",
        || linfa_logistic::LogisticRegression::default().alpha(1.0).fit(&data).unwrap(),
        |model| ones(model.predict(&first)),
    );

    let x = DenseMatrix::new(rows, columns, x, false).unwrap();
    let first = DenseMatrix::from_2d_vec(&first.outer_iter().map(|row| row.to_vec()).collect()).unwrap();
    let ones = |classes: Vec<u32>| classes.iter().filter(|class| **class == 1).count();
    tell(
        "smartcore GaussianNB",
        || SmartGaussian::fit(&x, &y, Default::default()).unwrap(),
        |model| ones(model.predict(&first).unwrap()),
    );
    tell(
        "smartcore LogisticRegression",
        || SmartLogistic::fit(&x, &y, Default::default()).unwrap(),
        |model| ones(model.predict(&first).unwrap()),
    );
}
