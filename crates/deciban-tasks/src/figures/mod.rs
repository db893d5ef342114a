//! Figures of a model on rows: what is gathered from the rows, and the charts drawn from it. `plot`
//! writes one of them, `evaluate --report` a page of them.

mod errors;
mod features;
mod gather;
mod learning;
mod probe;
mod report;
mod thin;

pub use errors::{bayes_error, confusion, det, reliability, roc};
pub(crate) use features::ellipses;
pub use features::{Plane, densities, densities_of, posterior, regions, telling, telling_words};
pub use gather::{Gathered, gather};
pub use learning::learning_curve;
pub use report::{POLICY as REPORT_POLICY, report};

use deciban::decision::Costs;
use deciban::model::Model;
use deciban::posterior::Prior;

/// A model with the prior and costs it is used with.
pub struct Use<'a> {
    /// The model.
    pub model: &'a Model,
    /// The prior.
    pub prior: &'a Prior,
    /// The costs.
    pub costs: &'a Costs,
}
