//! Loops that score rows where they lie: Wx + b of numbers, sums over the words of texts.

mod affine;
mod word_table;

pub use affine::Affine;
pub use word_table::{Texts, WordTable};
