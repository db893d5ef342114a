//! What people ask of deciban, as typed requests and results: learn, predict, evaluate, explain, compare,
//! describe, draw.
//!
//! The program, the Python package and the service are renderings of this crate: a decision about meaning
//! (what a prior, a cost, a ledger or a remark is) is made here, once.

mod application;
pub mod numbers;
pub mod crossed;
pub mod describe;
pub mod evaluation;
pub mod figures;
pub mod ledger;
pub mod remarks;
pub mod scored;
pub mod table;

pub use application::{Application, CostChoice, PriorChoice, Terms, find_class};
