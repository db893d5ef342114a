//! How rows are dealt into folds.

use clap::Args;
use deciban_tasks::comparison::{FoldCount, FoldRule};

/// How rows are dealt into folds.
#[derive(Args)]
#[command(next_help_heading = "Folds")]
pub struct FoldArgs {
    /// Folds, each with its share of every class: a number, leave-one-out, or auto, which is 20 up to 300 rows,
    /// 10 up to 2000, 5 up to 10000 and 3 beyond that
    #[arg(long, value_name = "K", default_value = "auto")]
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
    /// Equal rows stay in one fold. Folds then do not depend on the order of the rows, and are those of the same
    /// rows on Spark
    #[arg(long, conflicts_with_all = ["group", "fold"])]
    equal_together: bool,
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

    /// How many folds there are.
    pub fn count(&self) -> FoldCount {
        self.folds
    }

    /// Which rows are held out together.
    pub fn rule(&self) -> FoldRule {
        match (&self.group, &self.fold) {
            (Some(_), _) => FoldRule::Grouped,
            (None, Some(_)) => FoldRule::Given,
            (None, None) if self.equal_together => FoldRule::EqualTogether,
            (None, None) => FoldRule::Stratified,
        }
    }
}
