//! How rows are dealt into folds.

use clap::Args;
use deciban::engine::Engine;
use deciban::select::Folds;
use deciban::{Error, Result};

/// How many folds there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FoldCount {
    /// This many.
    Count(usize),
    /// As many as rows.
    LeaveOneOut,
}

impl std::str::FromStr for FoldCount {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("leave-one-out", _) => Ok(FoldCount::LeaveOneOut),
            (_, Ok(count @ 2..=1000)) => Ok(FoldCount::Count(count)),
            _ => Err("give a number from 2 to 1000, or leave-one-out".into()),
        }
    }
}

/// How rows are dealt into folds.
#[derive(Args)]
#[command(next_help_heading = "Folds")]
pub struct FoldArgs {
    /// Folds, each with its share of every class; or leave-one-out
    #[arg(long, value_name = "K", default_value = "10")]
    folds: FoldCount,
    /// The seed by which rows are dealt out, or drawn for intervals
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Rows with the same value of this column stay in one fold
    #[arg(long, value_name = "COLUMN", conflicts_with = "fold")]
    group: Option<String>,
    /// The values of this column are the folds
    #[arg(long, value_name = "COLUMN")]
    fold: Option<String>,
}

impl FoldArgs {
    /// The column of groups or folds, which is no feature.
    pub fn column(&self) -> Option<&str> {
        self.group.as_deref().or(self.fold.as_deref())
    }

    /// The seed of the folds.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether every row is a fold of its own.
    pub fn is_leave_one_out(&self) -> Result<bool> {
        match (self.folds, self.column()) {
            (FoldCount::LeaveOneOut, Some(_)) => {
                Err(Error::parameter("folds=leave-one-out", "rows are left out one by one: drop §group and §fold"))
            }
            (folds, _) => Ok(folds == FoldCount::LeaveOneOut),
        }
    }

    /// The folds of an input.
    pub fn folds(&self, engine: &impl Engine) -> Result<Folds> {
        let FoldCount::Count(count) = self.folds else {
            return Err(Error::parameter("folds", "give a number of folds"));
        };
        match (&self.group, &self.fold) {
            (Some(_), _) => Folds::grouped(engine, count, self.seed),
            (None, Some(_)) => Folds::given(engine),
            (None, None) => Folds::stratified(engine, count, self.seed),
        }
    }
}
