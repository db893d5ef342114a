//! Noisy-OR models in words and tables.

use deciban::learn::{Cause, Classifier, NoisyOrFit, NoisyOrModel};
use deciban::{Result, shown};
use serde_json::{Value, json};

use super::Describe;
use crate::table::{Table, number};

impl Describe for NoisyOrModel {
    const PLURAL: &'static str = "noisy-OR models";

    fn in_short(&self) -> String {
        noisy_or_options(self)
    }

    fn text(&self, _: f64) -> String {
        noisy_or(self)
    }

    fn json(&self, _: f64) -> Result<Value> {
        Ok(noisy_or_json(self))
    }

    fn report(&self) -> Vec<(&'static str, Value)> {
        vec![("fit", json!(self.fit()))]
    }

    fn warning(&self) -> Option<String> {
        noisy_or_warning(self.fit())
    }
}

/// The causes by their strength, and how the fit went.
fn noisy_or(model: &NoisyOrModel) -> String {
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
fn noisy_or_options(model: &NoisyOrModel) -> String {
    let fit = model.fit();
    format!(
        "noisy-or, effect `{}`, pseudo-count {}, {} iterations, largest violation {}",
        shown(model.effect()),
        fit.pseudo_count,
        fit.iterations,
        number(fit.violation, 3)
    )
}

/// What a person must know about a fit that did not end well.
fn noisy_or_warning(fit: &NoisyOrFit) -> Option<String> {
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
fn noisy_or_json(model: &NoisyOrModel) -> Value {
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
