//! `deciban stats`: rows to a statistics file.

use clap::Args;
use deciban::Result;
use deciban::learn::options::GENERATIVE;
use deciban_tasks::{Learning, collect, describe};

use crate::args::{ColumnArgs, GenerativeArgs, ReadArgs};
use crate::output::{Destination, note, tell};
use crate::progress::Progress;

/// Summarise labelled rows into a statistics file, to merge, forget and fit from
#[derive(Args)]
#[command(after_help = "Examples:
  deciban stats hospital-a.csv --target diagnosis -o a.stats
  deciban stats big.csv --target class --covariance diagonal --folds 5 -o big.stats

Statistics hold means and covariances (with --covariance diagonal only variances), never rows.
Any model of the same columns can be fitted from them. --folds keeps them apart by fold, which
--shrinkage auto and --pooling auto need. Options that do not shape statistics are for `fit`.")]
pub struct Stats {
    /// Tables: files, globs, or - for standard input
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// Write the statistics to this file
    #[arg(long, short, value_name = "FILE")]
    output: Destination,
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
        self.output.check(&self.data)?;
        let request = Learning {
            model: self.model.clone(),
            options: self.generative.options()?,
            sort_classes: self.columns.sorts_classes(&self.read),
            ..Learning::default()
        };
        let mut files = self.columns.open(&self.data, &self.read)?;
        let progress = Progress::watch(&mut files, "reading");
        let (statistics, remarks) = collect(&request, &mut files)?;
        drop(progress);
        self.output.write(&statistics.to_bytes()?)?;
        tell(&remarks);
        note!("{}", describe::statistics(&self.output.to_string(), &statistics).trim_end());
        Ok(())
    }
}
