//! Additive models in words and tables: the terms by their importance, and what their cells say.

use deciban::Result;
use deciban::evidence::decibans;
use deciban::learn::{AdditiveFit, AdditiveModel, Classifier, TermTable};
use serde_json::{Value, json};

use super::Describe;
use crate::page;
use crate::table::{Table, number};

impl Describe for AdditiveModel {
    const PLURAL: &'static str = "additive models";

    fn in_short(&self) -> String {
        additive_options(self)
    }

    fn text(&self, _: f64) -> String {
        additive(self)
    }

    fn json(&self, _: f64) -> Result<Value> {
        Ok(additive_json(self))
    }

    fn report(&self) -> Vec<(&'static str, Value)> {
        vec![("fit", json!(self.fit()))]
    }

    fn scorer(&self) -> Result<Value> {
        Ok(json!({ "kind": "additive", "numbers": page::stored(self)? }))
    }

    fn warning(&self) -> Option<String> {
        additive_warning(self.fit())
    }
}

/// Terms that are listed.
const LISTED: usize = 40;
/// Terms whose tables are shown.
const SHOWN: usize = 5;
/// Cells of a table that are shown.
const CELLS: usize = 60;
/// Neighbouring bins that differ by less, in decibans, are shown as one.
const SAME: f64 = 0.05;

/// The terms by their importance, the tables of the first, and how the fit went.
fn additive(model: &AdditiveModel) -> String {
    let fit = model.fit();
    let mut figures = Table::new(["weight decay", &number(fit.weight_decay, 6)]);
    if let Some(decay) = fit.pair_decay {
        figures.row(["pair decay", &number(decay, 6)]);
    }
    figures.row(["columns", &model.schema().columns().len().to_string()]);
    figures.row(["pairs", &model.pairs().to_string()]);
    figures.row(["log-likelihood", &number(fit.log_likelihood, 8)]);
    figures.row(["null log-likelihood", &number(fit.null_log_likelihood, 8)]);
    figures.row(["iterations", &fit.iterations.to_string()]);
    let terms = ranked(model);
    let mut text = format!("{figures}\n{}", list(&terms, model));
    if terms.len() > LISTED {
        text += &format!("... and {} terms that tell less\n", terms.len() - LISTED);
    }
    for term in terms.iter().take(SHOWN) {
        text += &format!("\n{}", table(term, model));
    }
    text
}

/// The terms, those first that say most.
fn ranked(model: &AdditiveModel) -> Vec<TermTable> {
    let mut terms = model.terms();
    terms.sort_by(|a, b| b.importance.total_cmp(&a.importance).then_with(|| a.name.cmp(&b.name)));
    terms
}

fn db(nats: f64) -> String {
    format!("{:+.2}", decibans(nats) + 0.0)
}

/// A line for each term: what it says on average and, of two classes, at most.
fn list(terms: &[TermTable], model: &AdditiveModel) -> Table {
    let classes = model.schema().classes();
    let two = classes.len() == 2;
    let mut header = vec!["term".to_string(), "typical decibans".to_string()];
    if two {
        header.extend([
            format!("most for {}", classes[0]),
            "at".into(),
            format!("most for {}", classes[1]),
            "at".into(),
        ]);
    }
    let mut table = Table::new(header);
    for term in terms.iter().take(LISTED) {
        let mut row = vec![term.name.clone(), format!("{:.2}", decibans(term.importance))];
        let by_value = |a: &usize, b: &usize| term.values[*a][0].total_cmp(&term.values[*b][0]);
        let cells = || 0..term.values.len();
        if let (true, Some(low), Some(high)) = (two, cells().rev().min_by(by_value), cells().rev().max_by(by_value)) {
            for cell in [low, high] {
                row.extend([db(term.values[cell][0]), term.cells[cell].join(" × ")]);
            }
        }
        table.row(row);
    }
    table
}

/// What the cells of a term say: for two classes for the second, else for each class.
fn table(term: &TermTable, model: &AdditiveModel) -> String {
    let classes = model.schema().classes();
    let shown = if classes.len() == 2 { &classes[1..] } else { classes };
    let header = term.columns.iter().cloned().chain(shown.iter().map(|class| format!("for {class}")));
    let mut table = Table::new(header);
    let runs = runs(term);
    for (cells, values) in runs.iter().take(CELLS) {
        table.row(cells.iter().cloned().chain(values.iter().map(|value| db(*value))));
    }
    let rest = runs.len().saturating_sub(CELLS);
    let more = if rest > 0 { format!("... and {rest} more cells\n") } else { String::new() };
    format!("{table}{more}")
}

/// The cells of a term; neighbouring bins of one number that say the same as one.
fn runs(term: &TermTable) -> Vec<(Vec<String>, Vec<f64>)> {
    let mut runs: Vec<(Vec<String>, Vec<f64>)> = Vec::new();
    for (cell, values) in term.cells.iter().zip(&term.values) {
        let same = |last: &Vec<f64>| last.iter().zip(values).all(|(a, b)| decibans(a - b).abs() < SAME);
        if let ([label], Some((last, said))) = (&cell[..], runs.last_mut())
            && let Some(joined) = joined(&last[0], label)
            && same(said)
        {
            last[0] = joined;
            continue;
        }
        runs.push((cell.clone(), values.clone()));
    }
    runs
}

/// `<3` and `3..5` as `<5`; nothing where they are not neighbouring bins.
fn joined(low: &str, high: &str) -> Option<String> {
    let ends = |label: &str| -> Option<(Option<String>, Option<String>)> {
        if let Some(end) = label.strip_prefix('<') {
            return Some((None, Some(end.into())));
        }
        if let Some(start) = label.strip_prefix(">=") {
            return Some((Some(start.into()), None));
        }
        label.split_once("..").map(|(start, end)| (Some(start.into()), Some(end.into())))
    };
    let ((start, middle), (also, end)) = (ends(low)?, ends(high)?);
    if middle.is_none() || middle != also {
        return None;
    }
    Some(match (start, end) {
        (None, None) => "any".into(),
        (None, Some(end)) => format!("<{end}"),
        (Some(start), Some(end)) => format!("{start}..{end}"),
        (Some(start), None) => format!(">={start}"),
    })
}

/// The decay, the pairs and how the fit went, on one line.
fn additive_options(model: &AdditiveModel) -> String {
    let fit = model.fit();
    let chosen = match fit.tried.len() {
        0 => String::new(),
        n => format!(", chosen from {n} by cross-validation"),
    };
    let pairs = match (model.pairs(), fit.pair_decay) {
        (1, Some(decay)) => format!("1 pair (pair decay {decay})"),
        (n, Some(decay)) => format!("{n} pairs (pair decay {decay})"),
        (_, None) => "no pairs".into(),
    };
    let (decay, columns) = (fit.weight_decay, model.schema().columns().len());
    format!("additive, {columns} columns and {pairs}, weight decay {decay}{chosen}, {} iterations", fit.iterations)
}

/// What a person must know about a fit that did not end well.
fn additive_warning(fit: &AdditiveFit) -> Option<String> {
    (!fit.converged && fit.slope > 0.1).then(|| {
        let (slope, iterations) = (number(fit.slope, 3), fit.iterations);
        format!(
            "no convergence: the largest slope is {slope} after {iterations} iterations; give a larger §weight_decay"
        )
    })
}

/// The terms for programs.
fn additive_json(model: &AdditiveModel) -> Value {
    json!({
        "model": "additive",
        "target": model.schema().target(),
        "columns": model.schema().names(),
        "classes": model.schema().classes(),
        "prior": model.prior().probabilities(),
        "fit": model.fit(),
        "intercepts": model.intercepts(),
        "terms": ranked(model),
    })
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn neighbouring_bins_are_joined() {
        assert_eq!(joined("<3", "3..5").as_deref(), Some("<5"));
        assert_eq!(joined("3..5", "5..7").as_deref(), Some("3..7"));
        assert_eq!(joined("-3..-1", ">=-1").as_deref(), Some(">=-3"));
        assert_eq!(joined("<3", ">=3").as_deref(), Some("any"));
        assert_eq!(joined(">=3", "missing"), None);
        assert_eq!(joined("<3", "4..5"), None);
    }
}
