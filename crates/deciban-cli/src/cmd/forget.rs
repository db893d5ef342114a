//! `deciban forget`: a model or statistics without some of their rows.

use clap::Args;
use deciban::Result;
use deciban_tasks::Change;

use super::change::ChangeArgs;

/// Take rows away from a model or a statistics file, as if it had never had them
#[derive(Args)]
#[command(after_help = "Examples:
  deciban forget m.deciban withdrawn.csv
  deciban forget fused.deciban withdrawn.csv --rows others.csv
  deciban forget both.stats b.stats -o a.stats

Rows that cannot have been in are refused: with a class, a level or more rows than there are. So is
what would leave fewer than nine good digits. A fused model with members that learn from rows needs
--rows, all rows that stay.")]
pub struct Forget {
    #[command(flatten)]
    change: ChangeArgs,
}

impl Forget {
    pub fn run(self) -> Result<()> {
        self.change.run(Change::Forget)
    }
}
