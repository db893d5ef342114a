//! Generative models in words and tables.

use std::collections::BTreeMap;

use deciban::Result;
use deciban::evidence::decibans;
use deciban::family::gaussian::{FLOOR, Gaussian, GaussianDensity};
use deciban::family::{AnyDensity, AnyFamily, Density, Parameters};
use deciban::learn::{Classifier, GenerativeModel};
use serde_json::{Value, json};

use super::{Describe, forms};
use crate::page;
use crate::table::{Table, number, percent};

impl Describe for GenerativeModel {
    const PLURAL: &'static str = "generative models";

    fn in_short(&self) -> String {
        options(self)
    }

    fn text(&self, _: f64) -> String {
        model(self)
    }

    fn json(&self, _: f64) -> Result<Value> {
        forms::model_json(self)
    }

    fn report(&self) -> Vec<(&'static str, Value)> {
        vec![("options", options_json(self)), ("class_rows", json!(self.rows()))]
    }

    fn warning(&self) -> Option<String> {
        em_warning(self).or_else(|| floor_warning(self))
    }

    fn scorer(&self) -> Result<Value> {
        page::generative(self)
    }
}

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
pub(super) fn options(model: &GenerativeModel) -> String {
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
pub(super) fn options_json(model: &GenerativeModel) -> Value {
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
pub(super) fn em(model: &GenerativeModel) -> Option<String> {
    let convergence = model.convergence()?;
    let steps = match convergence.path.len().saturating_sub(1) {
        1 => "1 step".to_string(),
        steps => format!("{steps} steps"),
    };
    Some(format!("expectation–maximisation: {steps}, log-likelihood {} per row", number(convergence.log_likelihood, 6)))
}

/// What a person must know of a model that was not found to the end.
fn em_warning(model: &GenerativeModel) -> Option<String> {
    let convergence = model.convergence().filter(|convergence| !convergence.converged)?;
    let steps = convergence.path.len().saturating_sub(1);
    Some(format!("expectation–maximisation ended after {steps} steps, before the log-likelihood stood still"))
}

/// The columns that do not vary in a class, where their variance is the least that it may be.
fn floor_warning(model: &GenerativeModel) -> Option<String> {
    /// More columns than these are not named.
    const NAMED: usize = 3;
    let schema = model.schema();
    let mut found: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for block in model.blocks() {
        let density = if let AnyDensity::Auto(chosen) = &block.density { chosen.chosen() } else { &block.density };
        let AnyDensity::Gaussian(density) = density else { continue };
        for &(class, column) in density.floored() {
            found.entry(block.block.columns[column]).or_default().push(&schema.classes()[class]);
        }
    }
    let column = |(&c, classes): (&usize, &Vec<&str>)| {
        let classes: Vec<String> = classes.iter().map(|class| format!("`{class}`")).collect();
        format!("`{}` in {}", schema.columns()[c].name, classes.join(", "))
    };
    let named: Vec<String> = found.iter().take(NAMED).map(column).collect();
    let rest = found.len() - named.len();
    let more = if rest > 0 { format!(" and {rest} more columns") } else { String::new() };
    let name = &schema.columns()[*found.keys().next()?].name;
    Some(format!(
        "always the same in a class: {}{more}; there a variance of {FLOOR:e} of the column's is taken, so that any other \
         value nearly rules the class out: give §ignore='{name}', or §model=naive-bayes with §family='{name}=histogram'",
        named.join(", ")
    ))
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
