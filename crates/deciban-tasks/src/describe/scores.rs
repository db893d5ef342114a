//! Noisy-OR and least-squares models in words and tables, and generative models as linear ones.

use deciban::evidence::decibans;
use deciban::learn::{Cause, Classifier, GenerativeModel, LeastSquaresModel, LogLinear, NoisyOrFit, NoisyOrModel};
use serde_json::{Value, json};

use crate::table::{Table, number};

/// The causes by their strength, and how the fit went.
pub fn noisy_or(model: &NoisyOrModel) -> String {
    const SHOWN: usize = 60;
    let fit = model.fit();
    let mut causes = model.causes();
    // The model has a leak, which stays last.
    let leak = causes.pop();
    let most = causes.len().min(SHOWN);
    if causes.len() > SHOWN {
        causes.sort_by(|a, b| b.theta.total_cmp(&a.theta).then(a.name.cmp(&b.name)));
    }
    let mut table = Table::new(["cause", "strength 1 − α", "fails α", "θ = −ln α"]);
    let row = |c: &Cause| [c.name.clone(), number(c.strength, 4), number(c.alpha, 4), number(c.theta, 6)];
    causes[..most].iter().chain(&leak).for_each(|c| table.row(row(c)));
    let rest = causes.len() - most;
    let more = if rest > 0 { format!("... and {rest} weaker causes\n") } else { String::new() };
    let mut figures = Table::new(["effect", model.effect()]);
    figures.row(["pseudo-count", &number(fit.pseudo_count, 6)]);
    figures.row(["log-likelihood", &number(fit.log_likelihood, 8)]);
    figures.row(["null log-likelihood", &number(fit.null_log_likelihood, 8)]);
    figures.row(["iterations", &fit.iterations.to_string()]);
    figures.row(["largest violation", &number(fit.violation, 3)]);
    format!("{figures}\n{table}{more}")
}

/// The effect and how the fit went, on one line.
pub fn noisy_or_options(model: &NoisyOrModel) -> String {
    let fit = model.fit();
    format!(
        "noisy-or, effect `{}`, pseudo-count {}, {} iterations, largest violation {}",
        model.effect(),
        fit.pseudo_count,
        fit.iterations,
        number(fit.violation, 3)
    )
}

/// What a person must know about a fit that did not end well.
pub fn noisy_or_warning(fit: &NoisyOrFit) -> Option<String> {
    if let [first, rest @ ..] = &fit.never_fail[..] {
        let others = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        return Some(format!(
            "`{first}`{others} was never there without the effect: its strength runs to 1; give §pseudo_count"
        ));
    }
    (!fit.converged).then(|| {
        let (violation, iterations) = (number(fit.violation, 3), fit.iterations);
        format!("no convergence: the largest violation is {violation} after {iterations} iterations")
    })
}

/// The causes for programs.
pub fn noisy_or_json(model: &NoisyOrModel) -> Value {
    json!({
        "model": "noisy-or",
        "effect": model.effect(),
        "target": model.schema().target(),
        "columns": model.schema().names(),
        "classes": model.schema().classes(),
        "prior": model.prior().probabilities(),
        "fit": model.fit(),
        "causes": model.causes(),
    })
}

/// The scores of all classes, in the units of the data.
pub fn least_squares(model: &LeastSquaresModel) -> String {
    let (schema, forms) = (model.schema(), model.scores());
    let mut table = Table::new(["score: w·x + w0"].into_iter().chain(schema.classes().iter().map(String::as_str)));
    for (j, column) in schema.columns().iter().enumerate() {
        table.row([format!("w {}", column.name)].into_iter().chain(forms.iter().map(|f| number(f.w[j], 5))));
    }
    table.row(["w0".to_string()].into_iter().chain(forms.iter().map(|f| number(f.w0, 5))));
    table.row(["R²".to_string()].into_iter().chain(model.explained().iter().map(|r| number(*r, 4))));
    table.row(["prior".to_string()].into_iter().chain(model.prior().probabilities().iter().map(|p| number(*p, 4))));
    format!("least squares on the classes' indicators, {} rows\n\n{table}", number(model.weight(), 9))
}

/// The scores for programs.
pub fn least_squares_json(model: &LeastSquaresModel) -> Value {
    let schema = model.schema();
    let forms = model.scores();
    let class = |(k, form): (usize, &deciban::family::gaussian::LinearForm)| {
        json!({ "class": schema.classes()[k], "w": form.w, "w0": form.w0, "r2": model.explained()[k],
                "prior": model.prior().probabilities()[k] })
    };
    json!({
        "model": "least-squares",
        "target": schema.target(),
        "columns": schema.names(),
        "rows": model.weight(),
        "scores": forms.iter().enumerate().map(class).collect::<Vec<_>>(),
    })
}

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
