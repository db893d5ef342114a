//! Three Italian wines: fit, evaluate, and the classifier written out. With `--data wine27.csv`, the
//! same on (Alcohol, Fixed Acidity) of the 27-column table.

use std::path::PathBuf;

use deciban::data::Batch;
use deciban::decision::Costs;
use deciban::engine::Memory;
use deciban::evaluate::Evaluation;
use deciban::evidence::decibans;
use deciban::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use deciban::learn::{Classifier, Generative, GenerativeModel, Learner};
use deciban::posterior::Prior;
use deciban::transform::Step;
use deciban::{Error, Result};

use super::Table as Data;
use crate::output::say;
use deciban_tasks::describe;
use deciban_tasks::describe::forms::forms;
use deciban_tasks::table::{Table, number, percent};

/// 178 wines × 13 measurements: UCI Wine (Forina et al.), CC BY 4.0.
const WINE: &str = include_str!("../../../../../examples/wine.csv");

pub fn run(data: Option<PathBuf>) -> Result<()> {
    match data {
        None => all_columns(),
        Some(path) => {
            let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, e))?;
            two_columns(&text, ["Alcohol", "Fixed Acidity"], &[13.5, 75.0])
        }
    }
}

fn fit(table: &Data, covariance: Structure, shrinkage: Strength) -> Result<GenerativeModel> {
    // Shrinking towards a multiple of the identity makes sense where columns have one scale.
    let steps = if shrinkage == Strength::Auto { vec![Step::Standardise] } else { Vec::new() };
    let family = Gaussian { covariance, estimator: Estimator::Unbiased, shrinkage, steps, ..Gaussian::default() };
    let learner = Generative::gaussian(table.schema.columns(), family)?.folds(5, 0);
    learner.learn(&Memory::new(table.schema.clone(), table.batch()?)?)
}

fn evaluate(model: &GenerativeModel, test: &Data) -> Result<Evaluation> {
    let costs = Costs::zero_one(test.schema.classes());
    let mut evaluation = Evaluation::new(test.schema.classes(), &costs);
    let posterior = model.evidence(&test.batch()?)?.posterior(model.prior());
    evaluation.observe(&posterior, &test.classes, None, &costs)?;
    Ok(evaluation)
}

fn all_columns() -> Result<()> {
    let wines = Data::parse(WINE, "Type", &[])?;
    let (train, test) = (wines.half(0), wines.half(1));
    say!("178 wines of three kinds, 13 measurements each (UCI Wine). Every other wine is kept for the test.\n");
    let mut table = Table::new(["covariance", "shrinkage", "errors", "error rate", "log loss"]);
    for (name, covariance) in Structure::FREE {
        for shrinkage in [Strength::Fixed(0.0), Strength::Auto] {
            let model = fit(&train, covariance, shrinkage)?;
            let e = evaluate(&model, &test)?;
            let chosen = describe::gaussian(&model).map(|(family, _)| family.shrinkage).unwrap_or_default();
            let shown = if shrinkage == Strength::Auto { format!("standardised, auto: {chosen}") } else { "0".into() };
            table.row([
                name.into(),
                shown,
                number(e.errors(), 3),
                percent(e.error_rate()),
                format!("{:.4}", e.log_loss()),
            ]);
        }
    }
    say!("{table}");

    let model = fit(&train, Structure::Tied, Strength::Fixed(0.0))?;
    say!("\nThe tied model in full:\n\n{}", describe::model(&model));
    bottle(&model, &test, 11)
}

/// One bottle under three priors.
fn bottle(model: &GenerativeModel, test: &Data, row: usize) -> Result<()> {
    let classes = test.schema.classes();
    let evidence = model.evidence(&test.batch()?.slice(row..row + 1))?;
    say!("Test bottle {} (a {}): what it says, and what to believe\n", row + 1, classes[test.classes[row] as usize]);
    let mut table = Table::new([""].into_iter().chain(classes.iter().map(String::as_str)));
    let llr = (0..classes.len()).map(|k| format!("{:+.1}", decibans(evidence.llr(0, k))));
    table.row(["evidence, decibans".to_string()].into_iter().chain(llr));
    let rare = Prior::from_weights(&[1e-6, 1.0, 1.0])?;
    for (name, prior) in
        [("posterior, empirical prior", model.prior().clone()), ("posterior, Barolo one in two million", rare)]
    {
        let p = evidence.posterior(&prior).row(0);
        table.row([name.to_string()].into_iter().chain(p.iter().map(|p| format!("{p:.4}"))));
    }
    say!("{table}");
    Ok(())
}

fn two_columns(csv: &str, columns: [&str; 2], wine: &[f64]) -> Result<()> {
    let three = Data::parse(csv, "Type", &columns)?;
    let barolo = three.schema.class("Barolo").ok_or_else(|| Error::Classes("there is no class `Barolo`".into()))?;
    let two = Data {
        schema: three.schema.with_classes(vec!["not Barolo".into(), "Barolo".into()])?,
        values: three.values.clone(),
        classes: three.classes.iter().map(|&c| u32::from(c as usize == barolo)).collect(),
    };
    for (title, table) in [("Barolo or not", &two), ("Three wines", &three)] {
        let model = fit(table, Structure::Tied, Strength::Fixed(0.0))?;
        let e = evaluate(&model, table)?;
        say!("{title}, from {} and {}: {} of {} wrong\n", columns[0], columns[1], e.errors(), e.rows());
        say!("{}", forms(&model)?);
        let evidence = model.evidence(&Batch::new(1).row_major(wine, 2)?)?;
        let p = evidence.posterior(model.prior()).row(0);
        say!("A bottle with {} {} and {} {}:", columns[0], wine[0], columns[1], wine[1]);
        for (class, p) in table.schema.classes().iter().zip(p) {
            say!("  p({class}) = {p:.4}");
        }
        say!("");
    }
    Ok(())
}
