//! How good decisions, probabilities and evidence are, on rows whose class is known.
//!
//! [`Evaluation`] and [`Cllr`] are additive, for streams of any length and any number of classes.
//! [`Trials`] has what there is for two classes, from LLRs of the *target* class, wherever they come
//! from. [`Scored`] keeps rows. [`Bootstrap`] puts intervals around
//! anything that is a function of weighted rows, [`expected`] has the error and cost that a generative model expects
//! without any rows, [`Usual`] says how usual a row is for such a model, and [`mcnemar`], [`paired_difference`] and
//! [`Scored::versus`] compare two models.

mod trials;
mod roc;
mod risk;
mod pav;
mod cllr;
mod reliability;
mod errors;
mod resample;
mod paired;
mod scored;
mod stored;
mod versus;

pub(crate) use cllr::flat_loss;
pub use cllr::{Cllr, cllr};
pub use errors::{ClassFigures, Evaluation, parts};
pub(crate) use errors::{Judged, judge_evidence};
pub use paired::{Difference, McNemar, mcnemar, paired_difference};
pub use pav::{Pool, isotonic};
pub use reliability::{Reliability, ReliabilityBin};
pub use resample::{Bootstrap, Interval};
pub use risk::{Application, BayesError, DetectionCost};
pub use roc::{DetPoint, RocPoint};
pub use scored::Scored;
pub(crate) use trials::check_weights;
pub use trials::{Ranked, Trials};
pub use versus::Versus;
