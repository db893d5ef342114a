//! Learning curves of models: each is learned again from parts of the rows.

use std::path::Path;

use deciban::engine::Run;
use deciban::folds::Folds;
use deciban::learn::Classifier;
use deciban::model::{Candidate, Model};
use deciban::select::{CrossValidation, HeldOutSums, LearningCurve};
use deciban::{Error, Result};
use deciban_data::Files;
use deciban_plot::chart;
use deciban_plot::{Figure, Scene};

/// Halves of halves of the rows, down to about so many.
const FEWEST: f64 = 20.0;

/// At most so many points.
const MOST_POINTS: usize = 10;

/// Log loss and error rate of models by cross-validation, over the rows that they learn from.
pub fn learning_curve(models: &[(String, Model)], files: &Files, folds: usize, title: Option<&str>) -> Result<Scene> {
    let (first, schema) = (&models[0].0, models[0].1.schema());
    for (name, model) in &models[1..] {
        if model.schema().classes() != schema.classes() || model.schema().names() != schema.names() {
            let message = format!("{name} has other classes or columns than {first}: curves are of the same rows");
            return Err(Error::Schema(message));
        }
    }
    let short = |name: &String| Path::new(name).file_stem().map_or(name.clone(), |stem| stem.display().to_string());
    let candidates: Vec<Candidate> =
        models.iter().map(|(name, model)| Candidate::of_model(short(name), model)).collect();
    let labels = deciban::learn::Summarise { blocks: Vec::new(), folds: 1, seed: 0 };
    let rows: f64 = files.run(&labels)?.rows().iter().sum();
    let halves = ((rows / FEWEST).log2().floor().max(0.0) as usize).min(MOST_POINTS - 1);
    let shares: Vec<f64> = (0..=halves).rev().map(|k| 0.5f64.powi(k as i32)).collect();
    let validation = CrossValidation::new(Folds::stratified(files, folds, 0)?);
    let curves = validation.learning_curves(files, &candidates, &shares)?;
    let panel = |label: &str, figure: fn(&HeldOutSums) -> [f64; 3]| {
        let values: Vec<[Vec<f64>; 4]> = curves.iter().map(|curve| columns(curve, figure)).collect();
        let drawn: Vec<chart::LearningCurve<'_>> = curves
            .iter()
            .zip(&values)
            .map(|(curve, [size, loss, low, high])| chart::LearningCurve {
                name: &curve.name,
                size,
                loss,
                interval: Some((low, high)),
            })
            .collect();
        chart::learning("rows to learn from", label, &drawn).title("").size(460.0, 340.0)
    };
    let log_loss = panel("log loss on new rows, nats", |sums| {
        let (loss, error) = (sums.log_loss(), sums.log_loss_error());
        [loss, (loss - error).max(0.0), loss + error]
    });
    let errors = panel("error rate on new rows, %", |sums| {
        let share = sums.error_rate();
        let (low, high) = chart::wilson(share, sums.rows, 1.0);
        [share, low, high].map(|x| 100.0 * x)
    });
    Ok(Figure::grid(title.unwrap_or("Learning curves, with one standard error"), &[log_loss, errors], 2))
}

/// Rows, the figure, and the ends of its interval.
fn columns(curve: &LearningCurve, figure: fn(&HeldOutSums) -> [f64; 3]) -> [Vec<f64>; 4] {
    let column = |j: usize| curve.points.iter().map(|(_, sums)| figure(sums)[j]).collect();
    [curve.points.iter().map(|p| p.0).collect(), column(0), column(1), column(2)]
}
