//! The integration tests of the program. Each file beside this one is a module here, so that they link one program.

mod adapt_prior;
mod calibrate;
mod common;
mod companion;
mod compare;
mod demo;
mod densities;
mod docs;
mod evaluate;
mod explain;
mod fit;
mod fuse;
mod impute;
mod inspect;
mod llr;
mod merge;
mod models;
mod plot;
mod predict;
mod program;
mod reliability;
mod remarks;
mod sample;
mod serve;
mod stats;
mod update;
