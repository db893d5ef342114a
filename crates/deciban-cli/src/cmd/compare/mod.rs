//! `deciban compare`: cross-validates many models from one pass and ranks them; or judges model files by
//! rows that they have not seen (`models.rs`).

mod models;

use std::path::Path;

use clap::Args;
use deciban::learn::Effort;
use deciban::{Error, Result};

use crate::args::{ColumnArgs, DecisionArgs, FoldArgs, LlrArgs, ReadArgs, one_of};
use crate::cmd::is_statistics;
use crate::output::{Destination, say, tell};
use crate::progress::Progress;
use deciban_tasks::Input;
use deciban_tasks::comparison::{Comparing, MEASURES, Measure, compare};

pub use models::{check as check_options, split};

/// Compare models, by cross-validation or on rows that none of them has seen
#[derive(Args)]
#[command(after_help = "Examples:
  deciban compare wine.csv --target Type
  deciban compare wine.csv --target Type --models gaussian,logistic --folds 5 --json
  deciban compare visits.csv --target outcome --group patient -o best.deciban
  deciban compare iris.csv --target species --models gaussian --folds leave-one-out
  deciban compare tied.deciban full.deciban test.csv
  deciban compare --llr old --llr new --target same_speaker scores.csv

Every row is scored by models that were fitted without its fold. Models are ranked by log loss, which
is told with its standard error; the last column says how much worse than the best a model is, and how
sure that is. A name holds the options with which `fit` makes the model.

Where model files stand before the tables, nothing is learned: all of them are judged by the same rows,
and each is tested against the best. With --llr, columns of log-likelihood ratios are compared in the
same way.")]
pub struct Compare {
    /// Tables: files, globs, or - for standard input; before them model files, to compare these
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// Only these kinds of models: gaussian, naive-bayes, bernoulli, multinomial, table, tree, a1de,
    /// parzen, logistic, probit, cloglog, additive, k-dependence, least-squares,
    /// noisy-or
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    models: Vec<String>,
    /// What to rank by: log-loss, or the likelihood of held-out rows from statistics alone (no scoring)
    #[arg(long, value_parser = one_of(&MEASURES), default_value = "log-loss")]
    by: Measure,
    /// How much work the search may take: quick, normal or thorough
    #[arg(long, value_parser = one_of(&Effort::ALL), default_value = "normal")]
    effort: Effort,
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
    llr: LlrArgs,
    /// The class that the log-likelihood ratios are for; by default the second
    #[arg(long, value_name = "CLASS", requires = "llr", help_heading = "Without a model")]
    positive: Option<String>,
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
        let inputs = || self.data.iter().map(Path::new).chain(self.read.labels());
        self.output.iter().try_for_each(|output| output.check(inputs()))?;
        if let Some(path) = self.data.iter().find(|path| is_statistics(path)) {
            return Err(Error::Usage(format!(
                "`{path}` is a statistics file, and models are compared by rows: fit one model of each kind with \
                 `deciban fit {path} --model KIND`, and compare these on rows"
            )));
        }
        if self.llr.is_given() {
            return self.llrs();
        }
        if let (models @ [_, ..], data) = models::split(&self.data) {
            return self.models(models, data);
        }
        let request = Comparing {
            models: self.models.clone(),
            by: self.by,
            effort: self.effort,
            folds: self.folds.count(),
            rule: self.folds.rule(),
            seed: self.folds.seed(),
            application: self.decision.application()?,
        };
        let mut files = self.columns.open_folded(&self.data, &self.read, self.folds.column())?;
        let progress = Progress::watch(&mut files, "comparing");
        if self.output.is_some() {
            (&files as &dyn Input).check_fits_a_file()?;
        }
        let mut compared = compare(&request, &mut files)?;
        drop(progress);
        tell(&compared.remarks);
        match self.json {
            true => say!("{:#}", compared.json()?),
            false => say!("{}", crate::output::flags(compared.text(self.top)?.trim_end())),
        }
        if let Some(path) = &self.output {
            path.write(&compared.learn(None, &files)?.to_bytes()?)?;
            crate::output::note!("{}: {}", path, compared.best());
        }
        Ok(())
    }
}
