//! k-dependence models in words and tables: the chains of each column.

use std::collections::BTreeSet;

use deciban::Result;
use deciban::learn::{ChainTable, Classifier, KDependenceFit, KDependenceModel};
use serde_json::{Value, json};

use super::Describe;
use crate::page;
use crate::table::{Table, number};

/// Chains that are listed.
const LISTED: usize = 60;

impl Describe for KDependenceModel {
    const PLURAL: &'static str = "k-dependence models";

    fn in_short(&self) -> String {
        let KDependenceFit { parents, weight_decay, iterations, .. } = self.fit();
        let count = columns(&self.chains());
        let columns = if count == 1 { "column" } else { "columns" };
        let parents = if *parents == 1 { "1 parent".into() } else { format!("{parents} parents") };
        format!(
            "k-dependence, {count} {columns} with up to {parents}, weight decay {weight_decay}, {iterations} iterations"
        )
    }

    fn text(&self, _: f64) -> String {
        let fit = self.fit();
        let chains = self.chains();
        let cells: usize = chains.iter().flat_map(|chain| &chain.cells).sum();
        let mut figures = Table::new(["weight decay", &number(fit.weight_decay, 6)]);
        figures.row(["parents", &fit.parents.to_string()]);
        figures.row(["columns", &columns(&chains).to_string()]);
        figures.row(["chains", &chains.len().to_string()]);
        figures.row(["cells", &cells.to_string()]);
        figures.row(["leave-one-out log loss", &number(fit.log_loss, 6)]);
        figures.row(["null log loss", &number(fit.null_log_loss, 6)]);
        figures.row(["iterations", &fit.iterations.to_string()]);
        let mut text = format!("{figures}\n{}", list(&chains));
        if chains.len() > LISTED {
            text += &format!("... and {} more chains\n", chains.len() - LISTED);
        }
        text
    }

    fn json(&self, _: f64) -> Result<Value> {
        Ok(json!({
            "model": "k-dependence",
            "target": self.schema().target(),
            "columns": self.schema().names(),
            "classes": self.schema().classes(),
            "prior": self.prior().probabilities(),
            "fit": self.fit(),
            "offsets": self.offsets(),
            "chains": self.chains(),
        }))
    }

    fn report(&self) -> Vec<(&'static str, Value)> {
        vec![("fit", json!(self.fit()))]
    }

    fn scorer(&self) -> Result<Value> {
        Ok(json!({ "kind": "k-dependence", "numbers": page::stored(self)? }))
    }

    fn warning(&self) -> Option<String> {
        let KDependenceFit { converged, gradient, iterations, .. } = self.fit();
        (!converged && *gradient > 1.0).then(|| {
            let gradient = number(*gradient, 3);
            format!(
                "no convergence: the largest slope is {gradient} after {iterations} iterations; \
                 give a larger §weight_decay"
            )
        })
    }
}

/// How many columns have chains.
fn columns(chains: &[ChainTable]) -> usize {
    chains.iter().map(|chain| &chain.name).collect::<BTreeSet<_>>().len()
}

/// A line for each chain: its column with its parents, and the weights of its tables.
fn list(chains: &[ChainTable]) -> Table {
    let mut table = Table::new(["column", "cells", "weights of its tables", "parents"]);
    for chain in chains.iter().take(LISTED) {
        let weights: Vec<String> = chain.weights.iter().map(|w| format!("{w:+.2}")).collect();
        let cells: usize = chain.cells.iter().sum();
        let parents = if chain.parents.is_empty() { "-".into() } else { chain.parents.join(", ") };
        table.row([chain.name.clone(), cells.to_string(), weights.join(" "), parents]);
    }
    table
}
