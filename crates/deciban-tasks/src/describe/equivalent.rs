//! Generative models as linear ones.

use deciban::evidence::decibans;
use deciban::learn::{Classifier, GenerativeModel, LogLinear};
use serde_json::{Value, json};

use crate::table::{Table, number};

/// The rows of a table of equivalent weights, the intercept with the model's prior last: for two classes
/// what speaks for the second, else the weights of each class.
fn weights(model: &GenerativeModel, equivalent: &LogLinear) -> Vec<(String, Vec<f64>)> {
    let with_prior = equivalent.constants.iter().zip(model.prior().probabilities()).map(|(c, p)| c + p.ln());
    let intercept = ("(intercept)".to_string(), with_prior.collect::<Vec<f64>>());
    let mut rows: Vec<(String, Vec<f64>)> = equivalent.weights.iter().cloned().chain([intercept]).collect();
    for (_, row) in &mut rows {
        if let [first, second] = row[..] {
            *row = vec![second - first];
        }
    }
    rows
}

/// The logistic or softmax model with the same posteriors.
pub fn equivalent(model: &GenerativeModel, equivalent: &LogLinear) -> String {
    const SHOWN: usize = 60;
    let classes = model.schema().classes();
    let mut rows = weights(model, equivalent);
    let intercept = rows.pop();
    let rest = rows.len().saturating_sub(SHOWN);
    if rest > 0 {
        let spread = |row: &[f64]| match row {
            [only] => only.abs(),
            row => row.iter().fold(f64::MIN, |m, x| m.max(*x)) - row.iter().fold(f64::MAX, |m, x| m.min(*x)),
        };
        rows.sort_by(|a, b| spread(&b.1).total_cmp(&spread(&a.1)).then_with(|| a.0.cmp(&b.0)));
        rows.truncate(SHOWN);
    }
    let more = if rest > 0 { format!("... and {rest} features that tell less\n") } else { String::new() };
    let rows = rows.iter().chain(&intercept);
    let table = match classes {
        [_, second] => {
            let mut table = Table::new(["feature", "class", "weight", "odds ratio", "decibans per unit"]);
            for (name, row) in rows {
                let w = row[0];
                table.row([name.clone(), second.clone(), number(w, 6), number(w.exp(), 4), number(decibans(w), 4)]);
            }
            table
        }
        _ => {
            let mut table = Table::new(["softmax weight"].into_iter().chain(classes.iter().map(String::as_str)));
            for (name, row) in rows {
                table.row([name.clone()].into_iter().chain(row.iter().map(|w| number(*w, 6))));
            }
            table
        }
    };
    format!("{table}{more}")
}

/// The same for programs, with the names that a logistic model has.
pub fn equivalent_json(model: &GenerativeModel, equivalent: &LogLinear) -> Value {
    let classes = model.schema().classes();
    let outputs = if classes.len() == 2 { &classes[1..] } else { classes };
    let rows = weights(model, equivalent);
    let row = |(name, row): &(String, Vec<f64>)| {
        let each = |(class, w): (&String, &f64)| json!({ "name": name, "class": class, "weight": w });
        outputs.iter().zip(row).map(each).collect::<Vec<_>>()
    };
    json!({
        "model": "logistic",
        "equivalent": true,
        "target": model.schema().target(),
        "columns": model.schema().names(),
        "classes": classes,
        "prior": model.prior().probabilities(),
        "coefficients": rows.iter().flat_map(row).collect::<Vec<_>>(),
    })
}
