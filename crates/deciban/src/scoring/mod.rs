//! Loops that score rows where they lie: Wx + b and W(x − c) of numbers, sums over the words of texts.

mod affine;
mod products;
mod projection;
mod word_table;

pub use affine::Affine;
pub use projection::Projection;
pub use word_table::{Texts, WordTable};
