//! Charts of plain arrays, a file each. Every one takes what a caller has computed and gives a
//! [`Figure`](crate::Figure) that can still be changed.

mod bayes_error;
mod bins;
mod confusion;
mod contour;
mod curves;
mod densities;
mod learning;
mod ledger;
mod regions;
mod reliability;
mod surface;
mod view;

pub use bayes_error::{BayesError, bayes_error};
pub use confusion::confusion;
pub use contour::contour;
pub use curves::{COLOURED, ErrorCurve, det, roc};
pub use densities::{FAR, Sample, densities, levels};
pub use learning::{LearningCurve, learning};
pub use ledger::ledger;
pub use regions::{Cloud, Ellipse, Regions, regions};
pub use reliability::{Reliability, reliability, wilson};
pub use surface::{Grid, surface};
pub use view::{View, view};

/// A share in per cent for alt texts.
fn percent(x: f64) -> String {
    format!("{}%", crate::scale::plain(100.0 * x))
}
