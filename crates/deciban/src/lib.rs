//! deciban: probabilistic classification that one can base decisions on.
//!
//! Rows leave statistics, statistics become a model, a model scores new rows into evidence. Whoever
//! decides plugs in a prior and costs:
//!
//! ```text
//! rows ──pass──▶ statistics ──fit──▶ model ──score──▶ evidence ──prior──▶ posterior ──costs──▶ decision
//! ```
//!
//! Each module uses only those that are named before it. The whole way, on people's heights (class 0 is F, class 1 is M):
//!
//! ```
//! use deciban::data::{Batch, Schema};
//! use deciban::decision::Costs;
//! use deciban::engine::Memory;
//! use deciban::evidence::decibans;
//! use deciban::family::gaussian::Gaussian;
//! use deciban::learn::{Classifier, Generative, Learner};
//! use deciban::posterior::Prior;
//!
//! let schema = Schema::numbers(&["height"], "sex", &["F", "M"])?;
//! // Ten made-up heights in cm.
//! let heights = [155.0, 160.0, 162.0, 165.0, 168.0, 168.0, 173.0, 175.0, 178.0, 183.0];
//! let classes = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1];
//! let rows = Batch::new(10).column(&heights[..])?.classes(&classes)?;
//!
//! // One pass over the rows, one Gaussian per class.
//! let learner = Generative::gaussian(schema.columns(), Gaussian::default())?;
//! let model = learner.learn(&Memory::new(schema.clone(), rows)?)?;
//!
//! // How much evidence does a height of 170 carry? About 4 decibans: odds of 5 to 2 for M.
//! let evidence = model.evidence(&Batch::new(1).column(&[170.0][..])?)?;
//! let llr = decibans(evidence.llr(0, 1));
//! assert!((llr - 4.030).abs() < 1e-3, "{llr}");
//!
//! // What to decide depends on who asks: where nine of ten are women, the same height says F.
//! let decide = |prior: Prior| {
//!     let costs = Costs::zero_one(schema.classes());
//!     evidence.posterior(&prior).decide(&costs)[0].action.map(|a| costs.actions()[a].clone())
//! };
//! assert_eq!(decide(Prior::uniform(2)).as_deref(), Some("M"));
//! assert_eq!(decide(Prior::new(&[0.9, 0.1])?).as_deref(), Some("F"));
//! # Ok::<(), deciban::Error>(())
//! ```

mod wording;
mod error;
pub mod output;
mod checksum;
pub mod file;
pub mod numerics;
pub mod text;
pub mod data;
pub mod scoring;
pub mod statistic;
pub mod pass;
pub mod engine;
pub mod transform;
pub mod posterior;
pub mod evidence;
pub mod decision;
pub mod family;
pub mod fingerprint;
pub mod folds;
pub mod explain;
pub mod learn;
pub mod evaluate;
pub mod calibrate;
pub mod fuse;
pub mod figures;
pub mod proportions;
pub mod model;
mod drawn;
pub mod unusual;
pub mod expected;
pub mod impute;
pub mod measure;
pub mod select;
pub mod registry;

pub use error::{Error, Result};
pub use wording::{Wording, shown, shown_lines};

/// The Rust example of README.md runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
