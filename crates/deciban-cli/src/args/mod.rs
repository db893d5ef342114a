//! Options that several subcommands share, a file per group of the help.

mod additive;
mod application;
mod columns;
mod folds;
mod gaussian;
mod generative;
mod k_dependence;
mod linear;
mod llr;
mod models;
mod noisy_or;
mod read;
mod texts;

pub use additive::AdditiveArgs;
pub use application::{DecisionArgs, UnusualArgs};
pub use columns::{ColumnArgs, are_folders};
pub use folds::FoldArgs;
pub use generative::GenerativeArgs;
pub use k_dependence::KDependenceArgs;
pub use linear::LinearArgs;
pub use llr::{LlrArgs, LlrClassArgs};
pub use models::check as check_models;
pub use noisy_or::NoisyOrArgs;
pub use read::{ReadArgs, open_for_model, open_to_judge};

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Takes one of the names of a list.
pub fn one_of<T: Copy + Send + Sync + 'static>(list: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(list.iter().map(|(name, _)| *name));
    // The parser lets only names of the list through.
    names.map(move |name| list.iter().find(|(known, _)| *known == name).expect("a known name").1)
}
