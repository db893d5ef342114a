//! How good decisions and probabilities are, on rows whose class is known.

mod errors;

pub use errors::Evaluation;
