//! The hyper-parameters of additive models.

use clap::Args;
use deciban::learn::Options;

/// The hyper-parameters of an additive model.
#[derive(Args)]
#[command(next_help_heading = "Additive")]
pub struct AdditiveArgs {
    /// additive: the most pairs of columns with a table; 0 for none; by default up to 60 (100 where all columns are
    /// categories), if cross-validation finds them better than none
    #[arg(long, value_name = "N")]
    pairs: Option<usize>,
    /// additive: L2 penalty of the tables of pairs, as --weight-decay; by default chosen by cross-validation
    #[arg(long, value_name = "F")]
    pair_decay: Option<f64>,
}

impl AdditiveArgs {
    /// The options, others as in `options`.
    pub fn put(&self, options: Options) -> Options {
        Options { pairs: self.pairs, pair_decay: self.pair_decay, ..options }
    }
}
