//! What a server is told when it starts.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// How models are served.
#[derive(Clone, Debug)]
pub struct Options {
    /// Model files. Each is served under the name of its file without the extension, or under `NAME` where it is
    /// given as `NAME=FILE`.
    pub models: Vec<PathBuf>,
    /// The address to listen at.
    pub host: IpAddr,
    /// The port to listen at; 0 for one that is free.
    pub port: u16,
}

impl Default for Options {
    fn default() -> Self {
        Options { models: Vec::new(), host: IpAddr::V4(Ipv4Addr::LOCALHOST), port: 8080 }
    }
}
