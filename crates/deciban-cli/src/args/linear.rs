//! The hyper-parameters of linear models.

use clap::Args;
use deciban::learn::{Link, Logistic, Solver};

use super::one_of;

/// The models that are linear in their features, and their links.
pub const LINEAR: [(&str, Link); 3] = [("logistic", Link::Logit), ("probit", Link::Probit), ("cloglog", Link::Cloglog)];

/// The hyper-parameters of a linear model.
#[derive(Args)]
#[command(next_help_heading = "Logistic")]
pub struct LinearArgs {
    /// What a squared weight costs, in rows (half of it; the intercept is free)
    #[arg(long, value_name = "E", default_value_t = 1.0)]
    weight_decay: f64,
    /// How the optimum is found
    #[arg(long, value_parser = one_of(&Solver::ALL), default_value = "auto")]
    solver: Solver,
    /// Penalise weights per unit of a column, not per standard deviation
    #[arg(long)]
    no_standardise: bool,
}

impl LinearArgs {
    /// The learner for a link.
    pub fn learner(&self, link: Link) -> Logistic {
        let (weight_decay, solver, standardise) = (self.weight_decay, self.solver, !self.no_standardise);
        Logistic { link, weight_decay, solver, standardise, ..Logistic::default() }
    }
}
