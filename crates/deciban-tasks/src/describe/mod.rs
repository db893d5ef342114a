//! Models and statistics in words and tables, whatever their families.

pub mod additive;
pub mod forms;
pub mod fused;
pub mod scores;

use deciban::calibrate::{Calibration, LlrMap};
use deciban::data::{Column, Kind};
use deciban::evaluate::{By, Expected};
use deciban::evidence::decibans;
use deciban::family::gaussian::{Gaussian, GaussianDensity};
use deciban::family::{AnyDensity, AnyFamily, Density, Parameters};
use deciban::learn::{Classifier, Coefficient, Fit, GenerativeModel, Link, LogisticModel, Model, Solver, Statistics};
use deciban::{Error, Result};
use serde_json::{Value, json};

use self::additive::{additive, additive_json, additive_options};
use self::fused::{fused, fused_json, fused_options, map_in_words};
use self::scores::{least_squares, noisy_or, noisy_or_options};
use crate::application::find_class;
use crate::table::{Table, number, percent};

/// The only block of a model, if it is Gaussian and classes have one component.
pub fn gaussian(model: &GenerativeModel) -> Option<(&Gaussian, &GaussianDensity)> {
    let [block] = model.blocks() else { return None };
    if !model.components().is_single() {
        return None;
    }
    match (&block.block.family, &block.density) {
        (AnyFamily::Gaussian(family), AnyDensity::Gaussian(density)) => Some((family, density)),
        _ => None,
    }
}

/// The families with their hyper-parameters on one line each, those that are off left out.
pub fn options(model: &GenerativeModel) -> String {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for block in model.blocks() {
        let mut line = in_words(&json!(block.block.family));
        if block.block.deskew.is_some() {
            line += ", deskewed";
        }
        if block.block.gaussianise.is_some() {
            line += ", gaussianised";
        }
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => lines.push((line, 1)),
        }
    }
    let line = |(text, count): &(String, usize)| if *count > 1 { format!("{count} × {text}") } else { text.clone() };
    let mut lines: Vec<String> = lines.iter().map(line).collect();
    lines.extend(components(model));
    lines.extend(em(model));
    lines.join("\n")
}

/// How many components the classes have, where they have several.
fn components(model: &GenerativeModel) -> Option<String> {
    let components = model.components();
    let counts = || (0..components.classes()).map(|class| components.of_class(class).len());
    match (counts().min()?, counts().max()?) {
        _ if components.is_single() => None,
        (least, most) if least == most => Some(format!("{most} components in each class")),
        (least, most) => Some(format!("{least} to {most} components in a class")),
    }
}

/// `{"family": "gaussian", "covariance": "full", "shrinkage": "0"}` as `gaussian, covariance full`.
fn in_words(family: &Value) -> String {
    let is_off = |v: &Value| {
        matches!(v, Value::Null | Value::Bool(false)) || *v == json!(0.0) || *v == json!("0") || *v == json!([])
    };
    let plain = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_string);
    let mut parts = Vec::new();
    for (key, value) in family.as_object().into_iter().flatten().filter(|(_, v)| !is_off(v)) {
        match (key.as_str(), value) {
            ("family", name) => parts.push(plain(name)),
            ("steps", Value::Array(steps)) => parts.extend(steps.iter().map(|step| match step.as_object() {
                Some(step) => step.iter().map(|(name, n)| format!("{} {n}", name.to_uppercase())).collect(),
                None => plain(step),
            })),
            ("bins", bins) => parts.push(bins_in_words(bins)),
            (key, Value::Bool(true)) => parts.push(key.replace('_', " ")),
            (key, value) => parts.push(format!("{} {}", key.replace('_', " "), plain(value))),
        }
    }
    parts.join(", ")
}

/// `{"cuts": [[3.0, 6.0]]}` as `bins at 3, 6`.
fn bins_in_words(bins: &Value) -> String {
    let numbers = |cuts: &Value| {
        let cuts = cuts.as_array().into_iter().flatten().flat_map(|column| column.as_array().into_iter().flatten());
        cuts.filter_map(Value::as_f64).map(|x| x.to_string()).collect::<Vec<_>>().join(", ")
    };
    match (bins.get("cuts"), bins.get("quantiles")) {
        (Some(cuts), _) => format!("bins at {}", numbers(cuts)),
        (None, Some(n)) => format!("{n} bins of equal mass"),
        (None, None) => "bins by description length".into(),
    }
}

/// The hyper-parameters for programs: one object per block.
pub fn options_json(model: &GenerativeModel) -> Value {
    let block = |block: &deciban::learn::FittedBlock| {
        let mut options = json!(block.block.family);
        options["columns"] = json!(block.block.names);
        options["deskew"] = json!(block.block.deskew.is_some());
        options["gaussianise"] = json!(block.block.gaussianise.is_some());
        if !model.components().is_single() {
            let counts = (0..model.components().classes()).map(|class| model.components().of_class(class).len());
            options["components"] = counts.collect();
        }
        options
    };
    model.blocks().iter().map(block).collect()
}

/// The parameters of all blocks, those of one sort in one table.
pub fn parameters(model: &GenerativeModel) -> Vec<Parameters> {
    let mut tables: Vec<Parameters> = Vec::new();
    for block in model.blocks() {
        for table in block.density.parameters(&block.block.seen_columns(model.schema().columns())) {
            match tables.iter_mut().find(|known| known.what == table.what) {
                Some(known) => known.rows.extend(table.rows),
                None => tables.push(table),
            }
        }
    }
    tables
}

/// How a model was found, where that took several passes.
pub fn em(model: &GenerativeModel) -> Option<String> {
    let convergence = model.convergence()?;
    let steps = match convergence.path.len().saturating_sub(1) {
        1 => "1 step".to_string(),
        steps => format!("{steps} steps"),
    };
    Some(format!("expectation–maximisation: {steps}, log-likelihood {} per row", number(convergence.log_likelihood, 6)))
}

/// What a person must know of a model that was not found to the end.
pub fn em_warning(model: &GenerativeModel) -> Option<String> {
    let convergence = model.convergence().filter(|convergence| !convergence.converged)?;
    let steps = convergence.path.len().saturating_sub(1);
    Some(format!("expectation–maximisation ended after {steps} steps, before the log-likelihood stood still"))
}

/// A model's hyper-parameters, and its calibration, in a few lines.
pub fn in_short(model: &Model) -> String {
    match model {
        Model::Generative(model) => options(model),
        Model::Logistic(model) => logistic_options(model),
        Model::Additive(model) => additive_options(model),
        Model::NoisyOr(model) => noisy_or_options(model),
        Model::LeastSquares(_) => "least squares on the classes' indicators".into(),
        Model::Fused(model) => fused_options(model),
        Model::Calibrated(model) => format!("{}\n{}", in_short(model.model()), map_in_words(model)),
    }
}

/// How many rows a model has learned from.
pub fn rows(model: &Model) -> f64 {
    match model {
        Model::Generative(model) => model.rows().iter().sum(),
        Model::Logistic(model) => model.fit().weight,
        Model::Additive(model) => model.fit().weight,
        Model::NoisyOr(model) => model.fit().weight,
        Model::LeastSquares(model) => model.weight(),
        Model::Calibrated(model) => rows(model.model()),
        // It has at least one member.
        Model::Fused(model) => model.members().first().map_or(0.0, |member| rows(&member.model)),
    }
}

/// A calibration, in a line or a table. LLRs are in nats.
pub fn calibration(map: &Calibration, classes: &[String]) -> String {
    match map {
        Calibration::Affine(line) if classes.len() == 2 => {
            let offset = match line.bias[1] - line.bias[0] {
                0.0 => String::new(),
                offset => format!(" {}", signed(&number(offset, 4))),
            };
            let bound = bound_in_words(line.bound);
            format!("calibrated: LLR({}) = {} × model's{offset}{bound}", classes[1], number(line.scale, 4))
        }
        Calibration::Affine(line) => {
            let biases: Vec<String> =
                classes.iter().zip(&line.bias).map(|(c, b)| format!("{c} {}", signed(&number(*b, 3)))).collect();
            let biases =
                if line.bias.iter().all(|b| *b == 0.0) { String::new() } else { format!("; {}", biases.join(", ")) };
            format!("calibrated: evidence = {} × model's{biases}{}", number(line.scale, 4), bound_in_words(line.bound))
        }
        Calibration::Beta(beta) => {
            let [a, b, c] = [beta.a, beta.b, beta.c].map(|x| number(x, 4));
            format!("calibrated: logit p = {a} ln q − {b} ln(1 − q) {} of the model's q", signed(&c))
        }
        Calibration::Steps(steps) => {
            let ends = |f: fn(f64, f64) -> f64| steps.pieces.iter().map(|p| p[2]).reduce(f).unwrap_or(f64::NAN);
            let [low, high] = [ends(f64::min), ends(f64::max)].map(|x| format!("{:+.1}", decibans(x)));
            format!("calibrated: {} steps from {low} to {high} decibans", steps.pieces.len())
        }
        Calibration::OneVersusRest(rest) => {
            let map = |(class, map): (&String, &LlrMap)| {
                let text = calibration(&of_two(map), &[String::new(), class.clone()]);
                format!("{class} against the rest {text}")
            };
            classes.iter().zip(&rest.maps).map(map).collect::<Vec<_>>().join("\n")
        }
    }
}

/// The bound before a map, if there is one.
fn bound_in_words(bound: f64) -> String {
    if bound > 0.0 { format!(" (bound {bound})") } else { String::new() }
}

/// The map of a class as a calibration of two.
fn of_two(map: &LlrMap) -> Calibration {
    match map {
        LlrMap::Steps(steps) => Calibration::Steps(steps.clone()),
        LlrMap::Beta(beta) => Calibration::Beta(*beta),
    }
}

fn signed(number: &str) -> String {
    match number.strip_prefix('-') {
        Some(rest) => format!("− {rest}"),
        None => format!("+ {number}"),
    }
}

/// A calibration for programs.
pub fn calibration_json(map: &Calibration) -> Value {
    let name = map.method().name();
    match map {
        Calibration::Affine(line) => {
            json!({ "method": name, "bound": line.bound, "scale": line.scale, "bias": line.bias })
        }
        Calibration::Beta(beta) => {
            json!({ "method": name, "a": beta.a, "b": beta.b, "c": beta.c, "log_odds": beta.log_odds })
        }
        Calibration::Steps(steps) => {
            let piece = |p: &[f64; 3]| json!({ "from": p[0], "to": p[1], "llr": p[2] });
            json!({ "method": name, "steps": steps.pieces.iter().map(piece).collect::<Vec<_>>() })
        }
        Calibration::OneVersusRest(rest) => {
            json!({ "method": name, "classes": rest.maps.iter().map(|map| calibration_json(&of_two(map))).collect::<Vec<_>>() })
        }
    }
}

/// What the model is, its classes, and its parameters.
pub fn model(model: &GenerativeModel) -> String {
    let schema = model.schema();
    let mut classes = Table::new([schema.target(), "rows", "prior"]);
    for (c, class) in schema.classes().iter().enumerate() {
        classes.row([class.clone(), number(model.rows()[c], 9), number(model.prior().probabilities()[c], 4)]);
    }
    let mut text = format!("{}\n\n{classes}", options(model));
    let groups = model.components().names(schema.classes());
    if !model.components().is_single() {
        let mut table = Table::new(["component", "share of its class"]);
        let shares = (0..schema.classes().len()).flat_map(|class| model.components().log_weights(class));
        groups.iter().zip(shares).for_each(|(name, w)| table.row([name.clone(), percent(w.exp())]));
        text += &format!("\n{table}");
    }
    if groups.len() > MOST_GROUPS && !model.components().is_single() {
        return text;
    }
    let tables = parameters(model);
    let sd = tables.iter().find(|t| t.what == "sd");
    for table in tables.iter().filter(|t| t.what != "sd") {
        let spread = sd.filter(|sd| table.what == "mean" && sd.rows.len() == table.rows.len());
        text += &format!("\n{}", parameter_table(table, spread, &groups));
    }
    text
}

/// The parameters of more components than this are not shown in tables for people.
const MOST_GROUPS: usize = 12;

/// A table of parameters, means with their standard deviations; of many probabilities those that
/// tell the classes apart best.
fn parameter_table(parameters: &Parameters, spread: Option<&Parameters>, classes: &[String]) -> String {
    const SHOWN: usize = 40;
    if parameters.what == "probability" && parameters.rows.len() > SHOWN {
        return telling(parameters, classes);
    }
    let what = if spread.is_some() { "mean ± sd" } else { parameters.what };
    let mut table = Table::new([what].into_iter().chain(classes.iter().map(String::as_str)));
    for (j, (name, values)) in parameters.rows.iter().enumerate().take(SHOWN) {
        let cell = |(k, &x): (usize, &f64)| match spread {
            Some(sd) => format!("{} ± {}", number(x, 4), number(sd.rows[j].1[k], 3)),
            None => number(x, 4),
        };
        table.row([name.clone()].into_iter().chain(values.iter().enumerate().map(cell)));
    }
    let rest = parameters.rows.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!("... and {rest} more\n") } else { String::new() };
    format!("{table}{more}")
}

/// For each class the rows with the most evidence for it, in decibans against the other classes.
fn telling(parameters: &Parameters, classes: &[String]) -> String {
    const SHOWN: usize = 15;
    let evidence = |values: &[f64], k: usize| {
        let others = values.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, p)| p);
        decibans((values[k] * (values.len() - 1) as f64 / others.sum::<f64>()).ln())
    };
    let mut text = String::new();
    for (k, class) in classes.iter().enumerate() {
        let mut ranked: Vec<(f64, &str)> = parameters.rows.iter().map(|(n, v)| (evidence(v, k), n.as_str())).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let mut table = Table::new([format!("most telling for {class}"), "decibans".into()]);
        for (decibans, name) in ranked.iter().take(SHOWN) {
            table.row([name.to_string(), format!("{decibans:+.1}")]);
        }
        text += &format!("{table}{}", if k + 1 < classes.len() { "\n" } else { "" });
    }
    text
}

/// The confidence of intervals by default.
pub const CONFIDENCE: f64 = 0.95;

/// A regression table: weights, standard errors and what they say, and how the fit went.
pub fn logistic(model: &LogisticModel, confidence: f64) -> String {
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
pub fn logistic_options(model: &LogisticModel) -> String {
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
pub fn logistic_warning(fit: &Fit) -> Option<String> {
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
pub fn logistic_json(model: &LogisticModel, confidence: f64) -> Value {
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

/// What a statistics file holds.
pub fn statistics(name: &str, statistics: &Statistics) -> String {
    let summary = statistics.summary();
    let rows = summary.rows();
    let mut table = Table::new([statistics.schema().target(), "rows"]);
    for (class, rows) in statistics.schema().classes().iter().zip(&rows) {
        table.row([class.clone(), number(*rows, 12)]);
    }
    let folds = if summary.folds() > 1 { format!(", {} folds", summary.folds()) } else { String::new() };
    let columns = statistics.schema().columns().len();
    format!("{}: {} rows, {columns} columns{folds}\n{table}", name, rows.iter().sum::<f64>())
}

/// All that `inspect` shows of a model, as data and as text.
pub struct Description<'a> {
    /// The model.
    pub model: &'a Model,
    /// The confidence of the intervals of a linear model's weights.
    pub confidence: f64,
}

impl<'a> Description<'a> {
    /// A model with intervals of the usual confidence.
    pub fn new(model: &'a Model) -> Self {
        Description { model, confidence: CONFIDENCE }
    }

    /// For programs.
    pub fn json(&self) -> Result<Value> {
        let mut all = match self.model.plain() {
            Model::Generative(model) => forms::model_json(model)?,
            Model::Logistic(model) => logistic_json(model, self.confidence),
            Model::Additive(model) => additive_json(model),
            Model::NoisyOr(model) => scores::noisy_or_json(model),
            Model::LeastSquares(model) => scores::least_squares_json(model),
            Model::Fused(model) => fused_json(model, self.confidence)?,
            Model::Calibrated(_) => Value::Null, // What is plain has no calibration.
        };
        if let Model::Calibrated(model) = self.model {
            all["calibration"] = calibration_json(model.calibration());
        }
        Ok(all)
    }

    /// For people: the calibration, if there is one, and the model.
    pub fn text(&self) -> String {
        self.calibrated(match self.model.plain() {
            Model::Generative(generative) => model(generative),
            Model::Logistic(linear) => logistic(linear, self.confidence),
            Model::Additive(tables) => additive(tables),
            Model::NoisyOr(causes) => noisy_or(causes),
            Model::LeastSquares(scores) => least_squares(scores),
            Model::Fused(members) => fused(members, self.confidence),
            Model::Calibrated(_) => String::new(), // What is plain has no calibration.
        })
    }

    /// For people: the same, and the model as linear or quadratic forms.
    pub fn forms(&self) -> Result<String> {
        Ok(format!("{}\n{}", self.text(), forms::forms(self.generative("forms")?)?))
    }

    /// For people: the log-likelihood ratio of two classes, written out.
    pub fn versus(&self, a: &str, b: &str) -> Result<String> {
        let model = self.generative("versus")?;
        let class = |name: &str| find_class(model.schema(), name.trim(), "versus");
        Ok(self.calibrated(forms::versus(forms::plain_density(model)?, model.schema(), class(a)?, class(b)?)?))
    }

    fn generative(&self, option: &'static str) -> Result<&GenerativeModel> {
        match self.model.plain() {
            Model::Generative(model) => Ok(model),
            _ => Err(Error::parameter(option, "only a generative model has other forms; this one is what it is")),
        }
    }

    /// A text behind the calibration of the model.
    fn calibrated(&self, text: String) -> String {
        match self.model {
            Model::Calibrated(model) => format!("{}\n\n{text}", map_in_words(model)),
            _ => text,
        }
    }
}

/// What a model expects of its own decisions.
pub fn expectation(found: &Expected) -> String {
    let mut table = Table::new(["error rate".to_string(), percent(found.error_rate)]);
    table.row(["expected cost".to_string(), number(found.expected_cost, 4)]);
    if found.rejected > 0.0 {
        table.row(["rejected".to_string(), percent(found.rejected)]);
    }
    let how = match found.by {
        By::Sum => "exact: the sum over all combinations of levels".to_string(),
        By::Quadrature => "exact: an integral over the column".to_string(),
        By::Sampling { rows, error_rate_error, expected_cost_error } => format!(
            "from {rows} rows drawn from the model; standard errors {} and {}",
            percent(error_rate_error),
            number(expected_cost_error, 2)
        ),
    };
    format!("{table}{how}\n")
}
