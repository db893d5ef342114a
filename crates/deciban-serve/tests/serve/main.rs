//! A server in this process, asked over real connections.

mod client;
mod contracts;
mod faults;
mod limits;
mod routes;
