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
//!
//! # The way of a request
//! `server` takes connections and stands before all routes (limits, token, panics, log); `router` lists the routes.
//! `body` and `media` read what comes, `ask` and `envelope` what it asks, `work` says what that may take, `answer` asks
//! the model, and `write` writes what it says. `predict` and `case` are our own routes, `stream` those of bodies that do not fit into memory;
//! `inference` is the Open Inference Protocol, `platforms` what KServe, MLflow, SageMaker and Vertex AI expect.

mod answer;
mod ask;
mod body;
mod case;
mod envelope;
mod inference;
mod media;
mod metrics;
mod models;
mod openapi;
mod options;
mod paced;
mod page;
mod platforms;
mod predict;
mod problem;
mod router;
mod server;
mod sha256;
mod stream;
mod work;
mod write;

pub use options::{Limits, Options};
pub use page::self_contained;
pub use server::{Handle, Server, takes_signals};
