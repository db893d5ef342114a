//! `deciban merge`: the sum of statistics files.

use std::path::PathBuf;

use clap::Args;
use deciban::Result;

use crate::cmd::fit::load_statistics;
use deciban_tasks::describe;

use crate::output::{Destination, note};

/// Add statistics files: the result is that of all their rows together
#[derive(Args)]
#[command(after_help = "Example:
  deciban merge a.stats b.stats -o both.stats")]
pub struct Merge {
    /// Statistics files
    #[arg(required = true, value_name = "STATS")]
    files: Vec<PathBuf>,
    /// Write the sum to this file
    #[arg(long, short, value_name = "FILE")]
    output: Destination,
}

impl Merge {
    pub fn run(self) -> Result<()> {
        self.output.check(&self.files)?;
        let statistics = load_statistics(&self.files)?;
        self.output.write(&statistics.to_bytes()?)?;
        note!("{}", describe::statistics(&self.output.to_string(), &statistics).trim_end());
        Ok(())
    }
}
