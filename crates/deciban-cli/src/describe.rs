//! Models and statistics in words and tables.

use std::path::Path;

use deciban::family::gaussian::{Gaussian, GaussianDensity, Strength};
use deciban::family::{AnyDensity, AnyFamily};
use deciban::learn::{Classifier, GenerativeModel, Statistics};
use deciban::transform::Step;
use serde_json::{Value, json};

use crate::table::{Table, number};

/// The Gaussian block of a model.
pub fn gaussian(model: &GenerativeModel) -> (&Gaussian, &GaussianDensity) {
    let block = &model.blocks()[0];
    match (&block.block.family, &block.density) {
        (AnyFamily::Gaussian(family), AnyDensity::Gaussian(density)) => (family, density),
    }
}

/// The hyper-parameters on one line, those at their defaults left out.
pub fn options(model: &GenerativeModel) -> String {
    let (family, _) = gaussian(model);
    let value = |v: Value| v.as_str().unwrap_or_default().to_string();
    let mut parts = vec![format!("gaussian, covariance {}", value(json!(family.covariance)))];
    parts.push(format!("estimator {}", value(json!(family.estimator))));
    for (name, strength) in [("shrinkage", family.shrinkage), ("pooling", family.pooling)] {
        if strength != Strength::Fixed(0.0) {
            parts.push(format!("{name} {strength}"));
        }
    }
    if family.sparse_precision > 0.0 {
        parts.push(format!("sparse precision {}", family.sparse_precision));
    }
    if model.blocks()[0].block.gaussianise.is_some() {
        parts.push("gaussianised".into());
    }
    parts.extend(family.steps.iter().map(|step| match step {
        Step::Standardise => "standardised".to_string(),
        Step::Pca(n) => format!("PCA {n}"),
        Step::Lda(n) => format!("LDA {n}"),
    }));
    parts.join(", ")
}

/// The hyper-parameters for programs.
pub fn options_json(model: &GenerativeModel) -> Value {
    let mut options = json!(gaussian(model).0);
    options["gaussianise"] = json!(model.blocks()[0].block.gaussianise.is_some());
    options
}

/// What the model is, its classes, and the means and standard deviations it holds.
pub fn model(model: &GenerativeModel) -> String {
    let schema = model.schema();
    let mut classes = Table::new([schema.target(), "rows", "prior"]);
    for (c, class) in schema.classes().iter().enumerate() {
        classes.row([class.clone(), number(model.rows()[c], 9), number(model.prior().probabilities()[c], 4)]);
    }
    format!("{}\n\n{classes}\n{}", options(model), means(model))
}

/// Means ± standard deviations of each class, in the space of the density.
fn means(model: &GenerativeModel) -> String {
    const SHOWN: usize = 40;
    let (_, density) = gaussian(model);
    let names = space(model);
    let covariances: Vec<_> = (0..model.schema().classes().len()).map(|c| density.covariance(c)).collect();
    let mut table = Table::new(["mean ± sd"].into_iter().chain(model.schema().classes().iter().map(String::as_str)));
    for (j, name) in names.iter().enumerate().take(SHOWN) {
        let cell =
            |c: usize| format!("{} ± {}", number(density.mean(c)[j], 4), number(covariances[c][(j, j)].sqrt(), 3));
        table.row([name.clone()].into_iter().chain((0..covariances.len()).map(cell)));
    }
    let rest = names.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!("... and {rest} more\n") } else { String::new() };
    format!("{table}{more}")
}

/// The names of the dimensions that the density sees.
pub fn space(model: &GenerativeModel) -> Vec<String> {
    let (family, _) = gaussian(model);
    family.steps.iter().fold(model.blocks()[0].block.names.clone(), |names, step| step.names(&names))
}

/// What a statistics file holds.
pub fn statistics(path: &Path, statistics: &Statistics) -> String {
    let summary = statistics.summary();
    let rows = summary.rows();
    let mut table = Table::new([statistics.schema().target(), "rows"]);
    for (class, rows) in statistics.schema().classes().iter().zip(&rows) {
        table.row([class.clone(), number(*rows, 12)]);
    }
    let folds = if summary.folds() > 1 { format!(", {} folds", summary.folds()) } else { String::new() };
    let columns = statistics.schema().columns().len();
    format!("{}: {} rows, {columns} columns{folds}\n{table}", path.display(), rows.iter().sum::<f64>())
}
