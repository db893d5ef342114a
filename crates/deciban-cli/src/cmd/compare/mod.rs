//! `deciban compare`: cross-validates many models from one pass and ranks them; or judges model files by
//! rows that they have not seen (`models.rs`).

mod models;

use clap::Args;
use deciban::Result;
use deciban::engine::Engine;
use deciban::learn::Summarise;
use deciban::posterior::Prior;
use deciban::select::{CrossValidation, Likelihoods, grid};
use serde_json::json;

use crate::args::{ColumnArgs, DecisionArgs, FoldArgs, ReadArgs};
use crate::output::{Destination, say, tell};
use deciban_tasks::PriorChoice;
use deciban_tasks::comparison::{self, more};
use deciban_tasks::table::Table;

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
    output: Option<Destination>,
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
        self.output.iter().try_for_each(|output| output.check(&self.data))?;
        if let (models @ [_, ..], data) = models::split(&self.data) {
            return self.models(models, data);
        }
        let (files, counted, mut remarks) = self.columns.open_settled(&self.data, &self.read, self.folds.column())?;
        let schema = files.schema()?;
        let mut candidates = grid::candidates(&files, &self.models)?;
        // Models that are named are tried, however long they take.
        if self.models.is_empty() {
            let not_tried = grid::keep_quick(&mut candidates, counted.rows, schema.classes().len());
            remarks.extend(comparison::not_tried(&not_tried));
        }
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
        let mut comparison = validation.run(&files, &candidates)?;
        tell(&remarks);
        tell(&comparison::remarks(&comparison));
        match self.json {
            true => say!("{:#}", comparison::to_json(&comparison)?),
            false => {
                let table = comparison::to_text(&comparison, Some(self.top), self.decision.has_costs());
                say!("{}", crate::output::flags(table.trim_end()));
                if let Some(text) = comparison::runner_up(&comparison)? {
                    say!("\n{text}");
                }
            }
        }
        if let Some(path) = &self.output {
            path.write(&comparison.refit_best(&candidates, &files)?.with_profiles(&files)?.to_bytes()?)?;
            crate::output::note!("{}: {}", path, comparison.ranked()[0].name);
        }
        Ok(())
    }
}

impl Compare {
    fn by_likelihood(&self, told: &Likelihoods) -> Result<()> {
        tell(&comparison::left_out(&told.failed));
        if self.json {
            let row = |(_, name, mean): &(usize, String, f64)| json!({ "model": name, "log_likelihood": mean });
            say!("{:#}", told.ranked.iter().map(row).collect::<serde_json::Value>());
            return Ok(());
        }
        let mut table = Table::new(["model", "log p(row, class)"]);
        for (_, name, mean) in told.ranked.iter().take(self.top) {
            table.row([name.clone(), format!("{mean:.4}")]);
        }
        say!("{}", format!("{table}{}", crate::output::flags(&more(told.ranked.len(), self.top))).trim_end());
        Ok(())
    }
}
