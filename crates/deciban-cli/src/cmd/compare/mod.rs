//! `deciban compare`: cross-validates many models from one pass and ranks them; or judges model files by
//! rows that they have not seen (`models.rs`).

mod models;

use std::path::PathBuf;

use clap::Args;
use deciban::engine::Engine;
use deciban::evaluate::{Bootstrap, Trials, mcnemar, paired_difference};
use deciban::learn::Summarise;
use deciban::posterior::Prior;
use deciban::select::{Comparison, CrossValidation, Likelihoods, Outcome, grid};
use deciban::{Error, Result};
use serde_json::json;

use crate::args::{ColumnArgs, DecisionArgs, FoldArgs, Known, ReadArgs};
use crate::output::say;
use deciban_tasks::PriorChoice;
use deciban_tasks::table::{Table, count, number, percent};

pub use models::{check as check_options, split};

/// Compare models, by cross-validation or on rows that none of them has seen
#[derive(Args)]
#[command(after_help = "Examples:
  deciban compare wine.csv --target Type
  deciban compare wine.csv --target Type --models gaussian,logistic --folds 5 --json
  deciban compare visits.csv --target outcome --group patient -o best.deciban
  deciban compare iris.csv --target species --models gaussian --folds leave-one-out
  deciban compare tied.deciban full.deciban test.csv

Every row is scored by models that were fitted without its fold. Models are ranked by log loss, which
is told with its standard error; the last column says how much worse than the best a model is, and how
sure that is. A name holds the options with which `fit` makes the model.

Where model files stand before the tables, nothing is learned: all of them are judged by the same rows,
and each is tested against the best.")]
pub struct Compare {
    /// Tables: files, globs, or - for standard input; before them model files, to compare these
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// Only these kinds of models: gaussian, naive-bayes, bernoulli, multinomial, table, tree, logistic,
    /// probit, cloglog, least-squares, noisy-or
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    models: Vec<String>,
    /// What to rank by: log-loss, or the likelihood of held-out rows from statistics alone (no scoring)
    #[arg(long, value_parser = ["log-loss", "likelihood"], default_value = "log-loss")]
    by: String,
    /// Show the best N
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Write the best model, fitted to all rows, to this file
    #[arg(long, short, value_name = "MODEL")]
    output: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    folds: FoldArgs,
    #[command(flatten)]
    decision: DecisionArgs,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl Compare {
    pub fn run(self) -> Result<()> {
        if let (models @ [_, ..], data) = models::split(&self.data) {
            return self.models(models, data);
        }
        let Known { files, remarks, .. } = self.columns.open_known(&self.data, &self.read, self.folds.column())?;
        let schema = files.schema()?;
        let candidates = grid::candidates(&files, &self.models)?;
        let validation = match self.folds.is_leave_one_out()? {
            true => CrossValidation::leave_one_out(),
            false => CrossValidation::new(self.folds.folds(&files)?).calibrated(3),
        };
        if self.by == "likelihood" {
            return self.by_likelihood(&validation.by_likelihood(&files, &candidates)?);
        }
        let application = self.decision.application()?;
        let mut validation = validation.costs(application.costs(&schema)?);
        let empirical = || {
            let labels = files.run(&Summarise { blocks: Vec::new(), folds: 1, seed: 0 })?;
            Prior::from_weights(&labels.weights())
        };
        // Each fold has the prior of the others, if no prior is asked for.
        if !matches!(application.prior, PriorChoice::Own | PriorChoice::Empirical) {
            let empirical = empirical()?;
            validation = validation.prior(application.prior.resolve(&schema, &empirical, &empirical)?);
        }
        let comparison = validation.run(&files, &candidates)?;
        remarks.iter().for_each(|remark| eprintln!("{remark}"));
        warn(&comparison);
        match self.json {
            true => say!("{:#}", to_json(&comparison)?),
            false => {
                say!("{}", to_text(&comparison, Some(self.top), self.decision.has_costs()).trim_end());
                if let Some(text) = runner_up(&comparison)? {
                    say!("\n{text}");
                }
            }
        }
        if let Some(path) = &self.output {
            let best = &comparison.ranked()[0];
            comparison.refit(best, &candidates, &files)?.save(path)?;
            eprintln!("{}: {}", path.display(), best.name);
        }
        Ok(())
    }
}

impl Compare {
    fn by_likelihood(&self, told: &Likelihoods) -> Result<()> {
        left_out(&told.failed);
        if self.json {
            let row = |(_, name, mean): &(usize, String, f64)| json!({ "model": name, "log_likelihood": mean });
            say!("{:#}", told.ranked.iter().map(row).collect::<serde_json::Value>());
            return Ok(());
        }
        let mut table = Table::new(["model", "log p(row, class)"]);
        for (_, name, mean) in told.ranked.iter().take(self.top) {
            table.row([name.clone(), format!("{mean:.4}")]);
        }
        say!("{}", format!("{table}{}", more(told.ranked.len(), self.top)).trim_end());
        Ok(())
    }
}

fn left_out(failed: &[(String, Error)]) {
    failed.iter().for_each(|(name, error)| eprintln!("left out: {name}: {error}"));
}

/// Says how many rows of a table are not shown.
fn more(all: usize, top: usize) -> String {
    match all.saturating_sub(top) {
        0 => String::new(),
        rest => format!("... and {rest} more: --top {all}\n"),
    }
}

/// Whether the second is worse than the best, or might as well be as good.
fn runner_up(comparison: &Comparison) -> Result<Option<String>> {
    let [best, second, ..] = comparison.ranked() else { return Ok(None) };
    let ((a, wrong_a, _), (b, wrong_b, _)) = (comparison.rows_of(second), comparison.rows_of(best));
    if a.is_empty() || !a.iter().chain(b).all(|x| x.is_finite()) {
        return Ok(None);
    }
    let weights = &comparison.rows().weights;
    let difference = paired_difference(a, b, Some(weights), &Bootstrap::default())?;
    let right = |wrong: &[u8]| wrong.iter().map(|w| *w == 0).collect::<Vec<bool>>();
    let test = mcnemar(&right(wrong_a), &right(wrong_b))?;
    Ok(Some(format!(
        "The second is worse than the best by {:.4} nats (95 % interval {:.4} to {:.4}, p = {}); errors: McNemar p = {}.",
        difference.difference,
        difference.interval.low,
        difference.interval.high,
        number(difference.p_value, 2),
        number(test.exact, 2)
    )))
}

/// Tells which candidates could not be compared, and what the figures leave out.
pub fn warn(comparison: &Comparison) {
    left_out(comparison.failed());
    let best = &comparison.ranked()[0].sums;
    if best.unseen > 0.0 {
        eprintln!(
            "warning: {} rows are of a class that the other folds do not have: they count as errors, and not in the log loss",
            best.unseen
        );
    }
}

/// The table for people, the best `top` of it.
pub fn to_text(comparison: &Comparison, top: Option<usize>, costs: bool) -> String {
    let best = &comparison.ranked()[0];
    let head = ["model", "errors", "error rate", "log loss", "Brier"];
    let mut table = Table::new(head.into_iter().chain(costs.then_some("cost")).chain(["worse than best", "time"]));
    for outcome in comparison.ranked().iter().take(top.unwrap_or(usize::MAX)) {
        let sums = &outcome.sums;
        let log_loss = format!("{:.4} ± {:.4}", sums.log_loss(), sums.log_loss_error());
        let worse = match comparison.difference(outcome, best) {
            Some(_) if outcome.name == best.name => "·".to_string(),
            Some((mean, error)) => format!("{mean:+.4} ± {error:.4}"),
            None => "·".to_string(),
        };
        let cost = costs.then(|| number(sums.expected_cost(), 4));
        let figures = [outcome.name.clone(), count(sums.errors), percent(sums.error_rate()), log_loss];
        let figures = figures.into_iter().chain([number(sums.brier(), 4)]).chain(cost);
        table.row(figures.chain([worse, format!("{:.2} s", outcome.seconds)]));
    }
    format!("{table}{}", more(comparison.ranked().len(), top.unwrap_or(usize::MAX)))
}

/// The table for programs: an object per candidate, the best first.
pub fn to_json(comparison: &Comparison) -> Result<serde_json::Value> {
    let best = &comparison.ranked()[0];
    let actions = comparison.costs().actions();
    let row = |outcome: &Outcome| {
        let sums = &outcome.sums;
        let difference = comparison.difference(outcome, best);
        let mut row = json!({
            "model": outcome.name,
            "rows": sums.rows,
            "errors": sums.errors,
            "error_rate": sums.error_rate(),
            "log_loss": sums.log_loss(),
            "log_loss_error": sums.log_loss_error(),
            "brier": sums.brier(),
            "expected_cost": sums.expected_cost(),
            "unseen": sums.unseen,
            "undefined": sums.undefined,
            "classes": comparison.schema().classes(),
            "actions": actions,
            "confusion": sums.confusion(actions.len()),
            "worse_than_best": difference.map(|(mean, _)| mean),
            "worse_than_best_error": difference.map(|(_, error)| error),
            "seconds": outcome.seconds,
        });
        let llrs = comparison.rows_of(outcome).2;
        let rows = comparison.rows();
        if comparison.schema().classes().len() == 2 && !llrs.is_empty() && llrs.len() == rows.classes.len() {
            let second: Vec<bool> = rows.classes.iter().map(|&class| class == 1).collect();
            let trials = Trials::new(llrs, &second, Some(&rows.weights))?;
            row["cllr"] = json!(trials.cllr());
            row["min_cllr"] = json!(trials.min_cllr());
            row["auc"] = json!(trials.auc());
            row["eer"] = json!(trials.eer());
        }
        Ok(row)
    };
    comparison.ranked().iter().map(row).collect()
}
