//! Maps of numbers to numbers. Linear ones act on moments, so they cost no pass over the rows.

mod gaussianise;
mod linear;

pub use gaussianise::Gaussianise;
pub use linear::{Linear, Step};
