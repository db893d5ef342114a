//! The hyper-parameters of noisy-OR.

use clap::Args;
use deciban::learn::NoisyOr;

/// The hyper-parameters of noisy-OR.
#[derive(Args)]
#[command(next_help_heading = "Noisy-or")]
pub struct NoisyOrArgs {
    /// noisy-or: the class that the columns may cause; the second unless given
    #[arg(long, value_name = "CLASS")]
    effect: Option<String>,
}

impl NoisyOrArgs {
    /// Whether any option that only noisy-OR has is given.
    pub fn is_given(&self) -> bool {
        self.effect.is_some()
    }

    /// The learner; `pseudo_count` rows of each cause alone, without effect, hold its strength back.
    pub fn learner(&self, pseudo_count: f64) -> NoisyOr {
        NoisyOr { effect: self.effect.clone(), pseudo_count, ..NoisyOr::default() }
    }
}
