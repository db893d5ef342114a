//! The hyper-parameters of noisy-OR.

use clap::Args;
use deciban::learn::Options;

/// The hyper-parameters of noisy-OR.
#[derive(Args)]
#[command(next_help_heading = "Noisy-or")]
pub struct NoisyOrArgs {
    /// noisy-or: the class that the columns may cause; by default the second
    #[arg(long, value_name = "CLASS")]
    effect: Option<String>,
}

impl NoisyOrArgs {
    /// The options, others as in `options`.
    pub fn put(&self, options: Options) -> Options {
        Options { effect: self.effect.clone(), ..options }
    }
}
