//! Linear models as regression tables.

use deciban::Result;
use deciban::data::{Column, Kind};
use deciban::evidence::decibans;
use deciban::learn::{Classifier, Coefficient, Fit, Link, LogisticModel, Solver};
use serde_json::{Value, json};

use super::Describe;
use crate::page;
use crate::table::{Table, number};

impl Describe for LogisticModel {
    const PLURAL: &'static str = "linear models";

    fn in_short(&self) -> String {
        logistic_options(self)
    }

    fn text(&self, confidence: f64) -> String {
        logistic(self, confidence)
    }

    fn json(&self, confidence: f64) -> Result<Value> {
        Ok(logistic_json(self, confidence))
    }

    fn report(&self) -> Vec<(&'static str, Value)> {
        vec![("fit", json!(self.fit()))]
    }

    fn warning(&self) -> Option<String> {
        logistic_warning(self.fit())
    }

    fn scorer(&self) -> Result<Value> {
        let mut told = json!({ "kind": "linear" });
        told["numbers"] = page::stored(self)?;
        Ok(told)
    }
}

/// A regression table: weights, standard errors and what they say, and how the fit went.
fn logistic(model: &LogisticModel, confidence: f64) -> String {
    const SHOWN: usize = 60;
    let (schema, fit) = (model.schema(), model.fit());
    let coefficients = model.coefficients();
    let one = schema.classes().len() == 2;
    let from = format!("{} % from", number(100.0 * confidence, 6));
    let header = ["feature", "class", "weight", "std. error", "z", "p", &from, "to", "odds ratio", "decibans per unit"];
    let mut table = Table::new(header);
    // Of the other links a weight is no log-odds.
    let odds = |x: f64| (model.link() == Link::Logit).then_some(x);
    let mut shown: Vec<&Coefficient> = coefficients.iter().collect();
    if shown.len() > SHOWN {
        shown.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
        shown.truncate(SHOWN);
    }
    let optional = |x: Option<f64>, digits: usize| x.map_or("·".to_string(), |x| number(x, digits));
    for c in &shown {
        let interval = c.interval(confidence);
        table.row([
            c.label(),
            c.class.clone(),
            number(c.weight, 6),
            optional(c.standard_error, 4),
            optional(c.z(), 3),
            optional(c.p_value(), 3),
            optional(interval.map(|i| i[0]), 5),
            optional(interval.map(|i| i[1]), 5),
            optional(odds(c.weight.exp()), 4),
            optional(odds(decibans(c.weight)), 4),
        ]);
    }
    let rest = coefficients.len() - shown.len();
    let more = if rest > 0 { format!("... and {rest} weights that are smaller\n") } else { String::new() };
    let link = json!(model.link());
    let name = if one { link.as_str().unwrap_or_default() } else { "softmax" };
    let mut figures = Table::new(["link", name]);
    figures.row(["weight decay", &number(fit.weight_decay, 6)]);
    figures.row(["log-likelihood", &number(fit.log_likelihood, 8)]);
    figures.row(["null log-likelihood", &number(fit.null_log_likelihood, 8)]);
    if let (Some((statistic, p)), Some(degrees)) = (fit.likelihood_ratio(), fit.degrees) {
        figures.row([&format!("likelihood ratio, χ²({degrees})"), &number(statistic, 6)]);
        figures.row(["p of the likelihood ratio", &number(p, 3)]);
    }
    figures.row(["pseudo-R² (McFadden)", &number(fit.pseudo_r2(), 4)]);
    figures.row(["objective", &number(fit.objective, 8)]);
    figures.row(["largest gradient", &number(fit.gradient_norm, 3)]);
    figures.row(["iterations", &fit.iterations.to_string()]);
    let solver = Solver::ALL.iter().find(|(_, solver)| *solver == fit.solver).map_or("", |(name, _)| name);
    figures.row(["solver", solver]);
    figures.row(["tolerance per row", &number(fit.tolerance, 3)]);
    let fills: String = fills(model).iter().map(|(what, how)| format!("a missing {what} is {how}\n")).collect();
    format!("{figures}{fills}\n{table}{more}")
}

/// What stands for missing cells of each kind that the model has.
fn fills(model: &LogisticModel) -> Vec<(&'static str, &'static str)> {
    let columns = model.schema().columns();
    let mut told = Vec::new();
    if columns.iter().any(Column::is_numeric) {
        let how = match model.fills_numbers() {
            true => "its mean given the others, by a Gaussian of all rows",
            false => "the mean of its column",
        };
        told.push(("number", how));
    }
    let categories = columns.iter().filter(|column| !column.is_numeric() && column.kind != Kind::Text).count();
    match model.fills_categories() {
        _ if categories == 0 => {}
        0 => told.push(("category", "none of its levels")),
        filled if filled == categories => told.push(("category", "a share of each level, as frequent as it is")),
        _ => {
            told.push(("category", "a share of each level if none was missing at the fit, or else none of its levels"))
        }
    }
    told
}

/// The link and how the fit went, on one line.
fn logistic_options(model: &LogisticModel) -> String {
    let fit = model.fit();
    let link = if model.schema().classes().len() > 2 { json!("softmax") } else { json!(model.link()) };
    format!(
        "{}, weight decay {}, {} iterations, objective {}, largest gradient {}",
        link.as_str().unwrap_or_default(),
        fit.weight_decay,
        fit.iterations,
        number(fit.objective, 8),
        number(fit.gradient_norm, 3)
    )
}

/// What a person must know about a fit that did not end well.
fn logistic_warning(fit: &Fit) -> Option<String> {
    if fit.separated {
        return Some("the classes are perfectly separable: weights grow without end; give §weight_decay".into());
    }
    (!fit.converged).then(|| {
        let (norm, iterations) = (number(fit.gradient_norm, 3), fit.iterations);
        let change = fit.path.windows(2).last().map_or(0.0, |w| (w[1] - w[0]).abs() / fit.weight);
        match fit.solver {
            Solver::Sgd => format!(
                "no convergence: the objective still changes by {} a row after {iterations} passes, the largest gradient is {norm}",
                number(change, 3)
            ),
            _ => format!("no convergence: the largest gradient is {norm} after {iterations} iterations"),
        }
    })
}

/// The regression table for programs.
fn logistic_json(model: &LogisticModel, confidence: f64) -> Value {
    let coefficient = |c: &Coefficient| {
        let mut row = json!(c);
        row["z"] = json!(c.z());
        row["p_value"] = json!(c.p_value());
        row["interval"] = json!(c.interval(confidence));
        if model.link() == Link::Logit {
            row["odds_ratio"] = json!(c.weight.exp());
        }
        row
    };
    let fit = model.fit();
    let ratio = |(statistic, p): (f64, f64)| json!({ "statistic": statistic, "degrees": fit.degrees, "p_value": p });
    json!({
        "model": "logistic",
        "link": model.link(),
        "target": model.schema().target(),
        "columns": model.schema().names(),
        "classes": model.schema().classes(),
        "prior": model.prior().probabilities(),
        "fit": fit,
        "pseudo_r2": fit.pseudo_r2(),
        "likelihood_ratio": fit.likelihood_ratio().map(ratio),
        "missing": fills(model).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "confidence": confidence,
        "coefficients": model.coefficients().iter().map(coefficient).collect::<Vec<_>>(),
    })
}
