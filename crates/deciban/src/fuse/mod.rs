//! Fusion: one model of several, by a weight for each.
//!
//! ```text
//! eₖ(x) = Σₘ αₘ eₘₖ(x),   αₘ ≥ 0
//! ```
//!
//! with eₘₖ the evidence of member m for class k, as its calibration leaves it. An offset for each class belongs to
//! the calibration of the fused model ([`CalibratedModel`](crate::model::CalibratedModel)), with which it is
//! learned together (`weights.rs`). So a row's ledger is the sum of the members' ledgers, each times its weight.
//!
//! This is how scores of several systems are fused in speaker recognition (Brümmer et al. 2007, FoCal): members that
//! say the same share a weight of about 1, and members that err in different rows may have more together.

mod weights;

pub use weights::{FOREIGN_ROWS, Fusion, LEAST_WEIGHT, MOST_OFFSETS, RIDGE};
