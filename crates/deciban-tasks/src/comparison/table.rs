//! Tables of models that were cross-validated on the same rows.

use deciban::evaluate::{Bootstrap, Trials, mcnemar, paired_difference};
use deciban::select::{Comparison, Outcome};
use deciban::{Error, Result};
use serde_json::{Value, json};

use crate::remarks::Remark;
use crate::table::{Table, count, number, percent};

/// A remark for each candidate that could not be compared.
pub fn left_out(failed: &[(String, Error)]) -> Vec<Remark> {
    failed.iter().map(|(name, error)| Remark::note(format!("left out: {name}: {}", error.marked()))).collect()
}

/// A remark for each kind of model that was not tried.
pub fn not_tried(kinds: &[(String, String)]) -> Vec<Remark> {
    kinds.iter().map(|(kind, why)| Remark::note(format!("not tried: {kind}: {why}"))).collect()
}

/// Which candidates could not be compared, and what the figures leave out.
pub fn remarks(comparison: &Comparison) -> Vec<Remark> {
    let mut remarks = left_out(comparison.failed());
    let best = &comparison.ranked()[0];
    if best.sums.unseen > 0.0 {
        remarks.push(Remark::warning(format!(
            "{} rows are of a class that the other folds do not have: they count as errors, and not in the log loss",
            best.sums.unseen
        )));
    }
    if !comparison.beats_prior(best) {
        remarks.push(Remark::warning(format!(
            "the best model, {}, is no better than the class shares alone: the columns say nothing about `{}` that \
             these models can learn",
            best.name,
            comparison.schema().target()
        )));
    }
    remarks
}

/// What the best model is, and why it won, on one line.
pub fn why(comparison: &Comparison) -> String {
    let best = &comparison.ranked()[0];
    let loss = format!("log loss {:.4} in {} folds", best.sums.log_loss(), best.folds.len().max(1));
    let against = |outcome: &Outcome, what: &str| match comparison.difference(outcome, best) {
        Some((mean, error)) => format!("{mean:.4} ± {error:.4} below {what}, {}", outcome.name),
        None => format!("below {what}, {}", outcome.name),
    };
    let rest =
        match comparison.ranked().iter().find(|outcome| outcome.members().is_empty() && outcome.name != best.name) {
            Some(single) if !best.members().is_empty() => against(single, "the best single model"),
            Some(single) => against(single, "the next"),
            None => "the only candidate".into(),
        };
    format!("{}: {loss}, {rest}; prior only {:.4}", best.name, comparison.prior_only().sums.log_loss())
}

/// Says how many rows of a table are not shown, and which option shows them.
pub fn more(all: usize, top: usize, option: &str) -> String {
    match all.saturating_sub(top) {
        0 => String::new(),
        rest => format!("... and {rest} more: {option}\n"),
    }
}

/// What is fused in the fused model, if there is one.
pub fn members(comparison: &Comparison) -> Option<String> {
    let fused = comparison.fused()?;
    let lines = fused.members().into_iter().map(|(name, weight)| format!("\n  {weight:.2} × {name}"));
    Some(format!("The fused model adds up the evidence of{}", lines.collect::<String>()))
}

/// Whether the second is worse than the best, or might as well be as good.
pub fn runner_up(comparison: &Comparison) -> Result<Option<String>> {
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

/// The table for people: the best `top` lines of it, and the option that shows the others.
pub fn to_text(comparison: &Comparison, top: usize, option: &str, costs: bool) -> String {
    let best = &comparison.ranked()[0];
    let head = ["model", "errors", "error rate", "log loss", "Brier"];
    let mut table = Table::new(head.into_iter().chain(costs.then_some("cost")).chain(["worse than best", "time"]));
    for outcome in comparison.lines().into_iter().take(top) {
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
    format!("{table}{}", more(comparison.lines().len(), top, option))
}

/// The table for programs: an object per candidate, the best first.
pub fn to_json(comparison: &Comparison) -> Result<Value> {
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
    comparison.lines().into_iter().map(row).collect()
}
