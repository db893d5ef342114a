//! `deciban serve`: models over HTTP.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use deciban::Result;
use deciban_serve::{Options, Server};

use crate::output::note;

/// Answer over HTTP, and on a page
#[derive(Args)]
#[command(after_help = "Examples:
  deciban serve wine.deciban
  deciban serve wine.deciban spam=mail/spam-2.deciban --port 9000")]
pub struct Serve {
    /// Model files; each is served under the name of its file, or under NAME where it is given as NAME=FILE
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// The address to listen at
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen at; 0 for one that is free
    #[arg(long, default_value_t = 8080)]
    port: u16,
}

impl Serve {
    pub fn run(self) -> Result<()> {
        let server = Server::bind(Options { models: self.models, host: self.host, port: self.port })?;
        note!("listening at http://{}", server.address());
        server.run()
    }
}
