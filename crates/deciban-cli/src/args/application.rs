//! Priors and costs: what an application plugs in after scoring.

use clap::Args;
use deciban::Result;
use deciban_tasks::{Application, CostChoice, PriorChoice};

/// Prior and costs, plugged in after scoring.
#[derive(Args)]
#[command(next_help_heading = "Application")]
pub struct DecisionArgs {
    /// uniform, empirical (of the training data), or CLASS=P,...; classes not named share the rest in the
    /// proportion of the training rows
    #[arg(long)]
    prior: Option<PriorChoice>,
    /// Costs: `A>B=10,...` (a true A taken for B costs 10; 1 by default), or a CSV file with a header `true,ACTION,...`
    /// and a row per true class
    #[arg(long, value_name = "COSTS|FILE")]
    costs: Option<String>,
    /// Allow to decide for no class, at this cost
    #[arg(long, value_name = "COST")]
    reject: Option<f64>,
}

impl DecisionArgs {
    /// Whether anything is given.
    pub fn is_given(&self) -> bool {
        self.prior.is_some() || self.has_costs()
    }

    /// Whether a prior is given.
    pub fn has_prior(&self) -> bool {
        self.prior.is_some()
    }

    /// Whether costs or a reject are given.
    pub fn has_costs(&self) -> bool {
        self.costs.is_some() || self.reject.is_some()
    }

    /// Whether a reject is given.
    pub fn has_reject(&self) -> bool {
        self.reject.is_some()
    }

    /// What is plugged in.
    pub fn application(&self) -> Result<Application> {
        Ok(Application {
            prior: self.prior.clone().unwrap_or_default(),
            costs: self.costs.as_deref().map_or(Ok(CostChoice::default()), CostChoice::from_file_or_text)?,
            reject: self.reject,
            none_of_these: None,
        })
    }
}

/// What is none of the classes.
#[derive(Args)]
#[command(next_help_heading = "Application")]
pub struct UnusualArgs {
    /// Answer `none of these` for rows less usual than all but this share of the rows that the model would make itself,
    /// such as 0.01; for generative models
    #[arg(long, value_name = "SHARE")]
    none_of_these: Option<f64>,
}

impl UnusualArgs {
    /// Whether it is given.
    pub fn is_given(&self) -> bool {
        self.none_of_these.is_some()
    }

    /// The application with it.
    pub fn put(&self, application: Application) -> Application {
        Application { none_of_these: self.none_of_these, ..application }
    }
}
