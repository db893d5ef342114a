//! The integration tests of figures and charts. Each file beside this one is a module here, so that they link one program.

mod charts;
mod common;
mod figures;
