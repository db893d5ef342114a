//! `deciban stats`: rows to a statistics file.

use std::path::PathBuf;

use clap::Args;
use deciban::Result;
use deciban::learn::options::GENERATIVE;

use crate::args::{ColumnArgs, GenerativeArgs, ReadArgs};
use crate::cmd::fit::collect;
use deciban_tasks::describe;

/// Summarise labelled rows into a statistics file, to merge, forget and fit from
#[derive(Args)]
#[command(after_help = "Examples:
  deciban stats hospital-a.csv --target diagnosis -o a.stats
  deciban stats big.csv --target class --covariance diagonal --folds 5 -o big.stats

Statistics hold means and covariances (with --covariance diagonal only variances), never rows.
Any model of the same columns can be fitted from them. --folds keeps them apart by fold, which
--shrinkage auto and --pooling auto need.")]
pub struct Stats {
    /// Tables: files, globs, or - for standard input
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// Write the statistics to this file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The kind of model that the statistics are for
    #[arg(long, value_parser = GENERATIVE, default_value = "gaussian")]
    model: String,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    generative: GenerativeArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl Stats {
    pub fn run(self) -> Result<()> {
        let options = self.generative.options()?;
        let (_, statistics, remarks) = collect(&self.data, &self.model, &self.columns, &options, &self.read)?;
        statistics.save(&self.output)?;
        remarks.iter().for_each(|remark| eprintln!("{remark}"));
        eprint!("{}", describe::statistics(&self.output, &statistics));
        Ok(())
    }
}
