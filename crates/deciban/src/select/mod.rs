//! Choosing a model: every candidate is judged by rows that it has not learned from.
//!
//! Rows are dealt into [`Folds`]. One pass leaves statistics per fold and class, from which all
//! closed-form candidates are fitted without each fold; others learn by passes of their own on a
//! [`View`] that lacks the fold. One more pass scores every row by all candidates at once.
//!
//! ```
//! use deciban::data::{Batch, Schema};
//! use deciban::engine::Memory;
//! use deciban::family::gaussian::{Gaussian, Structure};
//! use deciban::learn::Generative;
//! use deciban::model::Candidate;
//! use deciban::select::CrossValidation;
//! use deciban::folds::Folds;
//!
//! let schema = Schema::numbers(&["height"], "sex", &["F", "M"])?;
//! // Ten made-up heights in cm.
//! let heights = [155.0, 160.0, 162.0, 165.0, 168.0, 168.0, 173.0, 175.0, 178.0, 183.0];
//! let rows = Batch::new(10).column(&heights[..])?.classes(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1])?;
//! let engine = Memory::new(schema.clone(), rows)?;
//!
//! let candidate = |name: &str, covariance| {
//!     let family = Gaussian { covariance, ..Gaussian::default() };
//!     Ok::<_, deciban::Error>(Candidate::generative(name, Generative::gaussian(schema.columns(), family)?))
//! };
//! let candidates = [candidate("own variances", Structure::Full)?, candidate("one variance", Structure::Tied)?];
//! let folds = Folds::stratified(&engine, 5, 0)?;
//! let comparison = CrossValidation::new(folds).run(&engine, &candidates)?;
//! let best = &comparison.ranked()[0];
//! assert_eq!((best.name.as_str(), best.sums.rows), ("one variance", 10.0));
//! # Ok::<(), deciban::Error>(())
//! ```

mod calibrate;
mod compare;
mod copies;
mod crossed;
mod fitted;
mod fuse;
pub mod grid;
mod learning;
mod leave_one_out;
mod likelihood;
mod sample;
mod score;
mod shared;
mod stored;
mod held_out_sums;

pub use calibrate::HeldOut;
pub use compare::{Comparison, CrossValidation, Outcome};
pub use copies::Copies;
pub use crossed::CrossedCalibration;
pub use fitted::{FoldModels, Scorer};
pub use grid::Search;
pub use held_out_sums::{HeldOutSums, Judge, Verdict};
pub use learning::LearningCurve;
pub use leave_one_out::LeaveOneOut;
pub use likelihood::Likelihoods;
pub use sample::Sample;
pub use score::{HeldRows, Keep, Score, Scored};
