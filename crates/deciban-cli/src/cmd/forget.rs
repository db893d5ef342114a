//! `deciban forget`: statistics without the rows of others.

use std::path::PathBuf;

use clap::Args;
use deciban::Result;
use deciban::learn::Statistics;

use deciban_tasks::describe;

use crate::output::{Destination, note};

/// Take the rows behind some statistics files away from another one
#[derive(Args)]
#[command(after_help = "Example:
  deciban forget both.stats b.stats -o a.stats

Where rounding would leave fewer than nine good digits, this fails and says so.")]
pub struct Forget {
    /// The statistics to take from
    from: PathBuf,
    /// The statistics of the rows to forget
    #[arg(required = true, value_name = "STATS")]
    files: Vec<PathBuf>,
    /// Write the rest to this file
    #[arg(long, short, value_name = "FILE")]
    output: Destination,
}

impl Forget {
    pub fn run(self) -> Result<()> {
        self.output.check(self.files.iter().chain([&self.from]))?;
        let mut statistics = Statistics::load(&self.from)?;
        for path in &self.files {
            statistics.remove(&Statistics::load(path)?)?;
        }
        self.output.write(&statistics.to_bytes()?)?;
        note!("{}", describe::statistics(&self.output.to_string(), &statistics).trim_end());
        Ok(())
    }
}
