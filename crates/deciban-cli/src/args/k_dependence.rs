//! The hyper-parameters of k-dependence models.

use clap::Args;
use deciban::learn::Options;

/// The hyper-parameters of a k-dependence model.
#[derive(Args)]
#[command(next_help_heading = "k-dependence")]
pub struct KDependenceArgs {
    /// k-dependence: how many other columns the tables of a column take into account at most; 7 by default
    #[arg(long, value_name = "K")]
    parents: Option<usize>,
}

impl KDependenceArgs {
    /// The options, others as in `options`.
    pub fn put(&self, options: Options) -> Options {
        Options { parents: self.parents, ..options }
    }
}
