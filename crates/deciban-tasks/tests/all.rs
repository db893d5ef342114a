//! The integration tests of the use layer. Each file beside this one is a module here, so that they link one program.

mod damage;
mod ledger;
mod page;
mod passes;
mod requests;
mod search;
mod update;
