//! Generative models written out as linear and quadratic forms of their columns.

use deciban::data::Schema;
use deciban::family::AnyDensity;
use deciban::family::gaussian::{GaussianDensity, LinearForm, QuadraticForm};
use deciban::learn::{Block, Classifier, FittedBlock, GenerativeModel};
use deciban::numerics::Matrix;
use deciban::posterior::Prior;
use deciban::{Error, Result, shown};
use serde_json::{Value, json};

use crate::table::{Table, number};

/// The density of a model that is one Gaussian block of its columns as they are.
pub fn plain_density(model: &GenerativeModel) -> Result<&GaussianDensity> {
    match super::gaussian(model) {
        Some((_, density)) if is_plain(&model.blocks()[0].block) => Ok(density),
        _ => Err(Error::parameter(
            "forms",
            "only a Gaussian model without §deskew and §gaussianise is a form of its columns",
        )),
    }
}

fn is_plain(block: &Block) -> bool {
    block.deskew.is_none() && block.gaussianise.is_none()
}

/// Linear and softmax weights for a tied covariance, else every pair's quadratic form.
pub fn forms(model: &GenerativeModel) -> Result<String> {
    let (density, schema, prior) = (plain_density(model)?, model.schema(), model.prior());
    let classes = schema.classes();
    if density.is_tied() {
        return Ok(linear_table(&density.linear()?, schema, prior));
    }
    let mut text = String::new();
    for a in 0..classes.len() {
        for b in a + 1..classes.len() {
            text += &versus(density, schema, a, b)?;
            text.push('\n');
        }
    }
    Ok(text)
}

fn linear_table(forms: &[LinearForm], schema: &Schema, prior: &Prior) -> String {
    let header = |first: &str| Table::new([first.to_string()].into_iter().chain(schema.classes().iter().cloned()));
    let mut table = header("linear: w·x + w0");
    for (j, column) in schema.columns().iter().enumerate() {
        table.row([format!("w {}", column.name)].into_iter().chain(forms.iter().map(|f| number(f.w[j], 6))));
    }
    table.row(["w0".to_string()].into_iter().chain(forms.iter().map(|f| number(f.w0, 6))));
    let with_prior = forms.iter().zip(prior.probabilities()).map(|(f, p)| number(f.w0 + p.ln(), 6));
    table.row(["w0 + ln prior (softmax)".to_string()].into_iter().chain(with_prior));
    let two = match forms {
        [a, b] => {
            let mut table =
                Table::new([format!("LLR {} over {}", schema.classes()[1], schema.classes()[0]), "nats".into()]);
            for (j, column) in schema.columns().iter().enumerate() {
                table.row([format!("w {}", column.name), number(b.w[j] - a.w[j], 6)]);
            }
            table.row(["w0".to_string(), number(b.w0 - a.w0, 6)]);
            format!("\n{table}")
        }
        _ => String::new(),
    };
    format!("{table}{two}")
}

/// The log-likelihood ratio of two classes as a quadratic form.
pub fn versus(density: &GaussianDensity, schema: &Schema, a: usize, b: usize) -> Result<String> {
    let QuadraticForm { a: matrix, b: weights, c } = density.quadratic(a, b)?;
    let classes = schema.classes();
    let names = schema.names();
    let title = format!("LLR {} over {}, in nats: x'Ax + b'x + c", shown(&classes[a]), shown(&classes[b]));
    let mut table =
        Table::new([String::new(), "b".to_string(), "A".to_string()].into_iter().chain(names.iter().cloned()));
    for (i, name) in names.iter().enumerate() {
        let row = (0..names.len()).map(|j| number(matrix[(i, j)], 5));
        table.row([name.clone(), number(weights[i], 6), String::new()].into_iter().chain(row));
    }
    Ok(format!("{title}\nc = {}\n{table}", number(c, 6)))
}

fn rows_of(matrix: &Matrix) -> Vec<Vec<f64>> {
    (0..matrix.rows()).map(|i| (0..matrix.columns()).map(|j| matrix[(i, j)]).collect()).collect()
}

/// A generative model for programs.
pub fn model_json(model: &GenerativeModel) -> Result<Value> {
    let schema = model.schema();
    let names = schema.classes();
    let class =
        |c: usize| json!({ "class": names[c], "rows": model.rows()[c], "prior": model.prior().probabilities()[c] });
    let mut all = json!({
        "model": "generative",
        "blocks": super::generative::options_json(model),
        "target": schema.target(),
        "columns": schema.names(),
        "classes": (0..names.len()).map(class).collect::<Vec<_>>(),
        "parameters": super::parameters(model),
    });
    if let Some((_, density)) = super::gaussian(model) {
        for c in 0..names.len() {
            all["classes"][c]["mean"] = json!(density.mean(c));
            all["classes"][c]["covariance"] = json!(rows_of(&density.covariance(c)));
        }
    }
    if !model.components().is_single() {
        for c in 0..names.len() {
            all["classes"][c]["components"] = components_json(model, c);
        }
    }
    if let Some(convergence) = model.convergence() {
        all["convergence"] = json!({
            "objective": convergence.path,
            "log_likelihood": convergence.log_likelihood,
            "converged": convergence.converged,
        });
    }
    // Student densities and gaussianised columns have no such forms.
    let Ok(density) = plain_density(model) else { return Ok(all) };
    if let Ok(forms) = density.linear() {
        let entry = |(class, form): (&String, &LinearForm)| json!({ "class": class, "w": form.w, "w0": form.w0 });
        all["linear"] = names.iter().zip(&forms).map(entry).collect();
    }
    let pairs = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| (a, b)));
    let forms: Result<Vec<Value>> =
        pairs.map(|(a, b)| Ok(quadratic_json(schema, a, b, &density.quadratic(a, b)?))).collect();
    if let Ok(forms) = forms {
        all["quadratic"] = Value::Array(forms);
    }
    Ok(all)
}

/// The components of a class: their weights, and the means and covariances of a Gaussian model.
fn components_json(model: &GenerativeModel, class: usize) -> Value {
    let groups = model.components().of_class(class);
    let weights = model.components().log_weights(class).iter().map(|w| w.exp());
    let component = |(group, weight): (usize, f64)| match model.blocks() {
        [FittedBlock { density: AnyDensity::Gaussian(density), .. }] => json!({
            "weight": weight,
            "mean": density.mean(group),
            "covariance": rows_of(&density.covariance(group)),
        }),
        _ => json!({ "weight": weight }),
    };
    groups.zip(weights).map(component).collect()
}

fn quadratic_json(schema: &Schema, a: usize, b: usize, form: &QuadraticForm) -> Value {
    let classes = schema.classes();
    json!({ "of": classes[a], "over": classes[b], "A": rows_of(&form.a), "b": form.b, "c": form.c })
}
