//! `deciban inspect`: the parameters of a model, written out.

use std::path::PathBuf;

use clap::Args;
use deciban::data::Schema;
use deciban::family::gaussian::{GaussianDensity, LinearForm, QuadraticForm};
use deciban::file::Archive;
use deciban::learn::{Classifier, GenerativeModel, Model, Statistics};
use deciban::numerics::Matrix;
use deciban::posterior::Prior;
use deciban::{Error, Result};
use serde_json::{Value, json};

use crate::output::say;
use deciban_tasks::describe;
use deciban_tasks::describe::scores as describe_scores;
use deciban_tasks::table::{Table, number};

/// Show what a model or statistics file holds: means, covariances, and the classifier written out
#[derive(Args)]
#[command(after_help = "Examples:
  deciban inspect wine.deciban
  deciban inspect wine.deciban --forms
  deciban inspect wine.deciban --versus Barolo,Barbera
  deciban inspect wine.deciban --as logistic
  deciban inspect wine.deciban --json

--forms writes the classifier out in the units of the data: for a tied covariance the linear
w·x + w0 and the softmax weights of each class, otherwise the quadratic x'Ax + b'x + c of each
pair of classes, log-likelihood ratios in nats.")]
pub struct Inspect {
    /// A model or statistics file
    file: PathBuf,
    /// Write the classifier out as linear or quadratic forms
    #[arg(long)]
    forms: bool,
    /// Write out the log-likelihood ratio of two classes
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1)]
    versus: Option<Vec<String>>,
    /// Write a generative model out as the logistic or softmax model that has the same posteriors
    #[arg(long = "as", value_name = "MODEL", value_parser = ["logistic"], conflicts_with_all = ["forms", "versus"])]
    other: Option<String>,
    /// The confidence of the intervals of a linear model's weights
    #[arg(long, value_name = "P", default_value_t = describe::CONFIDENCE)]
    confidence: f64,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub fn run(self) -> Result<()> {
        if Archive::kind_of(&self.file).as_deref() == Some("statistics") {
            let statistics = Statistics::load(&self.file)?;
            match self.json {
                true => say!("{:#}", statistics_json(&statistics)),
                false => say!("{}", describe::statistics(&self.file, &statistics).trim_end()),
            }
            return Ok(());
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::parameter("confidence", "give a probability between 0 and 1, as 0.95"));
        }
        let model = Model::load(&self.file)?;
        let (model, calibration) = match &model {
            Model::Calibrated(calibrated) => (calibrated.model(), Some(calibrated.calibration())),
            model => (model, None),
        };
        if self.other.is_some() {
            return self.as_logistic(model);
        }
        if self.json {
            let mut all = match model {
                Model::Generative(model) => model_json(model)?,
                Model::Logistic(model) => describe::logistic_json(model, self.confidence),
                Model::NoisyOr(model) => describe_scores::noisy_or_json(model),
                Model::LeastSquares(model) => describe_scores::least_squares_json(model),
                Model::Calibrated(_) => Value::Null, // A calibrated model holds none of its kind.
            };
            if let Some(map) = calibration {
                all["calibration"] = describe::calibration_json(map);
            }
            say!("{all:#}");
            return Ok(());
        }
        if let Some(map) = calibration {
            say!("{}\n", describe::calibration(map, model.schema().classes()));
        }
        let text = match model {
            Model::Generative(model) => self.generative(model)?,
            Model::Logistic(model) => describe::logistic(model, self.confidence),
            model => describe::any(model),
        };
        say!("{}", text.trim_end());
        Ok(())
    }

    fn as_logistic(&self, model: &Model) -> Result<()> {
        let Model::Generative(model) = model else {
            return Err(Error::parameter("as", "only a generative model has another form; this one is what it is"));
        };
        let equivalent = model.log_linear()?;
        match self.json {
            true => say!("{:#}", describe_scores::equivalent_json(model, &equivalent)),
            false => say!("{}", describe_scores::equivalent(model, &equivalent).trim_end()),
        }
        Ok(())
    }

    fn generative(&self, model: &GenerativeModel) -> Result<String> {
        let schema = model.schema();
        if let Some(pair) = &self.versus {
            let class = |name: &str| {
                let message = || format!("there is no class `{name}`: there are {}", schema.classes().join(", "));
                schema.class(name.trim()).ok_or_else(|| Error::parameter("versus", message()))
            };
            let [a, b] = pair.as_slice() else { return Err(Error::parameter("versus", "give two classes: A,B")) };
            return versus(plain_density(model)?, schema, class(a)?, class(b)?);
        }
        match self.forms {
            true => Ok(format!("{}\n{}", describe::model(model), forms(model)?)),
            false => Ok(describe::model(model)),
        }
    }
}

/// The density of a model that is one Gaussian block of its columns as they are.
fn plain_density(model: &GenerativeModel) -> Result<&GaussianDensity> {
    match describe::gaussian(model) {
        Some((_, density)) if model.blocks()[0].block.gaussianise.is_none() => Ok(density),
        _ => Err(Error::parameter("forms", "only a Gaussian model without §gaussianise is a form of its columns")),
    }
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

fn versus(density: &GaussianDensity, schema: &Schema, a: usize, b: usize) -> Result<String> {
    let QuadraticForm { a: matrix, b: weights, c } = density.quadratic(a, b)?;
    let classes = schema.classes();
    let names = schema.names();
    let title = format!("LLR {} over {}, in nats: x'Ax + b'x + c", classes[a], classes[b]);
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

fn model_json(model: &GenerativeModel) -> Result<Value> {
    let schema = model.schema();
    let names = schema.classes();
    let class =
        |c: usize| json!({ "class": names[c], "rows": model.rows()[c], "prior": model.prior().probabilities()[c] });
    let mut all = json!({
        "model": "generative",
        "blocks": describe::options_json(model),
        "target": schema.target(),
        "columns": schema.names(),
        "classes": (0..names.len()).map(class).collect::<Vec<_>>(),
        "parameters": describe::parameters(model),
    });
    if let Some((_, density)) = describe::gaussian(model) {
        for c in 0..names.len() {
            all["classes"][c]["mean"] = json!(density.mean(c));
            all["classes"][c]["covariance"] = json!(rows_of(&density.covariance(c)));
        }
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

fn quadratic_json(schema: &Schema, a: usize, b: usize, form: &QuadraticForm) -> Value {
    let classes = schema.classes();
    json!({ "of": classes[a], "over": classes[b], "A": rows_of(&form.a), "b": form.b, "c": form.c })
}

fn statistics_json(statistics: &Statistics) -> Value {
    json!({
        "target": statistics.schema().target(),
        "columns": statistics.schema().names(),
        "classes": statistics.schema().classes(),
        "rows": statistics.summary().rows(),
        "weights": statistics.summary().weights(),
        "folds": statistics.summary().folds(),
    })
}
