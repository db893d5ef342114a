//! The hyper-parameters of linear models.

use clap::Args;
use deciban::learn::{Options, Solver};

use super::one_of;

/// The hyper-parameters of a linear model.
#[derive(Args)]
#[command(next_help_heading = "Logistic")]
pub struct LinearArgs {
    /// L2 penalty: adds ½·E·‖w‖² to the loss; the intercept is not penalised; 1 by default, 10 for
    /// k-dependence, and chosen by cross-validation for additive models
    #[arg(long, value_name = "E")]
    weight_decay: Option<f64>,
    /// How the optimum is found
    #[arg(long, value_parser = one_of(&Solver::ALL), default_value = "auto")]
    solver: Solver,
    /// sgd: the first step for a row; by default found from the lengths of the rows
    #[arg(long, value_name = "R")]
    rate: Option<f64>,
    /// Penalise weights per unit of a column, not per standard deviation
    #[arg(long)]
    no_standardise: bool,
}

impl LinearArgs {
    /// The options, others as in `options`.
    pub fn put(&self, options: Options) -> Options {
        let LinearArgs { weight_decay, solver, rate, no_standardise } = *self;
        Options { weight_decay, solver, rate, no_standardise, ..options }
    }
}
