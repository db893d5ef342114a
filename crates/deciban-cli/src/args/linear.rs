//! The hyper-parameters of linear models.

use clap::Args;
use deciban::learn::{Descent, Link, Logistic, Solver};

use super::one_of;

/// The models that are linear in their features, and their links.
pub const LINEAR: [(&str, Link); 3] = [("logistic", Link::Logit), ("probit", Link::Probit), ("cloglog", Link::Cloglog)];

/// The hyper-parameters of a linear model.
#[derive(Args)]
#[command(next_help_heading = "Logistic")]
pub struct LinearArgs {
    /// What a squared weight costs, in rows (half of it; the intercept is free); 1 unless given
    #[arg(long, value_name = "E")]
    weight_decay: Option<f64>,
    /// How the optimum is found
    #[arg(long, value_parser = one_of(&Solver::ALL), default_value = "auto")]
    solver: Solver,
    /// sgd: the first step for a row; found from the lengths of the rows unless told
    #[arg(long, value_name = "R")]
    rate: Option<f64>,
    /// Penalise weights per unit of a column, not per standard deviation
    #[arg(long)]
    no_standardise: bool,
}

impl LinearArgs {
    /// Whether any option that only linear models have is given.
    pub fn is_given(&self) -> bool {
        let solver = self.solver != Logistic::default().solver;
        self.weight_decay.is_some() || solver || self.rate.is_some() || self.no_standardise
    }

    /// The learner for a link.
    pub fn learner(&self, link: Link, seed: u64) -> Logistic {
        let (weight_decay, solver, standardise) = (self.weight_decay.unwrap_or(1.0), self.solver, !self.no_standardise);
        let descent = Descent { rate: self.rate, seed, ..Descent::default() };
        Logistic { link, weight_decay, solver, standardise, descent, ..Logistic::default() }
    }
}
