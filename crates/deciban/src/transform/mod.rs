//! Maps of numbers to numbers and to codes. Linear ones act on moments, so they cost no pass over the rows.

mod bins;
mod deskew;
mod discretise;
mod gaussianise;
mod linear;
mod mdl;
mod sketch;

pub use bins::{Binning, Bins};
pub use deskew::Deskew;
pub use discretise::Discretise;
pub use gaussianise::Gaussianise;
pub use linear::{Linear, Step};
pub use mdl::mdl_cuts;
pub use sketch::Sketch;
