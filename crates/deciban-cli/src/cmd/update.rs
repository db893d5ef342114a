//! `deciban update`: a model that has learned more rows.

use clap::Args;
use deciban::Result;
use deciban_tasks::Change;

use super::change::ChangeArgs;

/// Teach a model more rows, without those it has learned from before
#[derive(Args)]
#[command(after_help = "Examples:
  deciban fit january.csv -t diagnosis --keep-statistics -o m.deciban
  deciban update m.deciban february.csv
  deciban update m.deciban february.csv --rows january.csv
  deciban update m.deciban hospital-b.stats hospital-c.deciban -o all.deciban

The result is the model of all rows together, to rounding. Classes, levels and words may be new. Bins
and Gaussianising maps stay those of the first fit. Members of a fused model that learn from rows are
refitted if --rows gives the rows from before, and stay as they were without.")]
pub struct Update {
    #[command(flatten)]
    change: ChangeArgs,
}

impl Update {
    pub fn run(self) -> Result<()> {
        self.change.run(Change::Update)
    }
}
