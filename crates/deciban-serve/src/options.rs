//! What a server is told when it starts.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// How models are served.
#[derive(Clone, Debug)]
pub struct Options {
    /// Model files, or folders of them. Each is served under the name of its file without the extension, or under
    /// `NAME` where it is given as `NAME=FILE`.
    pub models: Vec<PathBuf>,
    /// The address to listen at.
    pub host: IpAddr,
    /// The port to listen at; 0 for one that is free.
    pub port: u16,
    /// The token that clients must send as `Authorization: Bearer TOKEN`; health, readiness and the files of the page
    /// need none.
    pub token: Option<String>,
    /// Whether anybody may ask where the address is not a local one and there is no token.
    pub no_auth: bool,
    /// The origin whose pages may read answers: `*`, or `https://example.com`.
    pub allow_origin: Option<String>,
    /// How often changed model files are looked for; never by default. A hangup signal looks, too.
    pub watch: Option<Duration>,
    /// Whether every request is logged, not only what went wrong.
    pub log_requests: bool,
    /// More paths that are answered as `/healthz` and `/invocations`, for platforms that choose them.
    pub health_path: Option<String>,
    /// The path for predictions that a platform chooses.
    pub predict_path: Option<String>,
    /// What requests may take.
    pub limits: Limits,
}

/// What requests may take. Whatever takes more is refused with a status code of its own.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a body that is held in memory: 413.
    pub body: usize,
    /// Bytes of such a body behind its compression: 413.
    pub unpacked: usize,
    /// Bytes of a CSV or JSON-lines body that is read as a stream, behind its compression: 413.
    pub stream: u64,
    /// Rows of a body that is held in memory: 413. A stream may have any number.
    pub rows: u64,
    /// Columns of a table: 413.
    pub columns: usize,
    /// Requests at the same time: 503.
    pub requests: usize,
    /// Connections at the same time; others wait.
    pub connections: usize,
    /// How long a body may pause (408), an answer may not be read (the connection ends), and headers may take.
    pub pace: Duration,
    /// How long a body may take to come (408), and one second more for each 64 KiB of it.
    pub coming: Duration,
    /// How long a request may be worked on: 503.
    pub time: Duration,
    /// How long requests that were accepted may take to end when the server stops.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            models: Vec::new(),
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 8080,
            token: None,
            no_auth: false,
            allow_origin: None,
            watch: None,
            log_requests: false,
            health_path: None,
            predict_path: None,
            limits: Limits::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 32 << 20,
            unpacked: 128 << 20,
            stream: 16 << 30,
            rows: 100_000,
            columns: 100_000,
            requests: 512,
            connections: 4096,
            pace: Duration::from_secs(30),
            coming: Duration::from_secs(120),
            time: Duration::from_secs(60),
            grace: Duration::from_secs(30),
        }
    }
}
