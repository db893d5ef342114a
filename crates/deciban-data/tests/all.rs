//! The integration tests of the readers. Each file beside this one is a module here, so that they link one program.

mod cells;
mod common;
mod counts;
mod damage;
mod errors;
mod formats;
mod inputs;
mod logistic;
mod real;
mod rows;
mod standard_input;
mod text;
