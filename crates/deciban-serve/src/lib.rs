//! Models of deciban over HTTP, and a page where a person can ask them.
//!
//! Routes hold no mathematics: they read a request, ask a [`Predictor`](deciban_tasks::Predictor) of the use layer,
//! and write its answer. [`Server`] is all of it; the program `deciban serve` is its arguments.
//!
//! ```no_run
//! use deciban_serve::{Options, Server};
//! let server = Server::bind(Options { models: vec!["wine.deciban".into()], ..Options::default() })?;
//! println!("http://{}", server.address());
//! server.run()?;
//! # Ok::<(), deciban::Error>(())
//! ```

mod models;
mod options;
mod page;
mod router;
mod server;

pub use options::Options;
pub use server::Server;
