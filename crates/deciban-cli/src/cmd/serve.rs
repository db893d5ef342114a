//! `deciban serve`: models over HTTP.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use deciban::{Error, Result};
use deciban_serve::{Limits, Options, Server};

use crate::output::note;

/// Answer over HTTP, for programs and on a page
#[derive(Args)]
#[command(after_help = "Examples:
  deciban serve wine.deciban
  deciban serve wine.deciban spam=mail/spam-2.deciban --port 9000 --watch
  deciban serve models --host 0.0.0.0 --token-file token.txt
  deciban serve --container

  curl http://127.0.0.1:8080/v1/models/wine/predict -d '{\"alcohol\": 13.2, \"colour\": null}'
  curl http://127.0.0.1:8080/v1/models/wine/predict -H 'Content-Type: text/csv' --data-binary @new.csv

The routes are described at /openapi.json; a page for people is at /.")]
pub struct Serve {
    /// Model files, or folders of them; each is served under the name of its file, or under NAME where it is given as
    /// NAME=FILE
    #[arg(value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// The address to listen at
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen at; 0 for one that is free
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// A file with the token that clients must send as `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Let anybody ask who reaches the address
    #[arg(long, conflicts_with = "token_file")]
    no_auth: bool,
    /// Listen as platforms expect it: at all addresses without a token, models from /opt/ml/model or /mnt/models, and
    /// what the variables AIP_HTTP_PORT, AIP_HEALTH_ROUTE, AIP_PREDICT_ROUTE and SAGEMAKER_BIND_TO_PORT say. The
    /// variable DECIBAN_CONTAINER=1 means the same
    #[arg(long)]
    container: bool,
    /// Look for changed model files every few seconds; a hangup signal looks at once
    #[arg(long)]
    watch: bool,
    /// Let pages of this origin read answers: * or https://example.com
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Option<String>,
    /// Log every request, without its cells
    #[arg(long)]
    log_requests: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// What requests may take.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// MiB of a body that is held in memory, and four times as much behind its compression
    #[arg(long, value_name = "MIB", default_value_t = 32)]
    max_body: usize,
    /// MiB of a table that is read as a stream
    #[arg(long, value_name = "MIB", default_value_t = 16384)]
    max_stream: u64,
    /// Rows of a body that is held in memory; a table that is read as a stream may have any number
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_rows: u64,
    /// Columns of a table
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_columns: usize,
    /// Requests at the same time
    #[arg(long, value_name = "N", default_value_t = 512)]
    max_requests: usize,
    /// Connections at the same time
    #[arg(long, value_name = "N", default_value_t = 4096)]
    max_connections: usize,
    /// Seconds that a body may take to come, and one more for each 64 KiB of it
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    body_timeout: u64,
    /// Seconds that a request may be worked on
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// Seconds without a byte after which a client is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    idle_timeout: u64,
    /// Seconds that requests which have arrived may take when the server stops
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    grace: u64,
}

/// Where platforms put models.
const FOLDERS: [&str; 2] = ["/opt/ml/model", "/mnt/models"];

/// How often changed files are looked for.
const WATCH: Duration = Duration::from_secs(2);

impl Serve {
    pub fn run(self) -> Result<()> {
        let server = Server::bind(self.options()?)?;
        note!("deciban: listening at http://{}", server.address());
        server.run()
    }

    fn options(self) -> Result<Options> {
        let container = self.container || std::env::var_os("DECIBAN_CONTAINER").is_some_and(|value| value == "1");
        let variable = |name: &str| std::env::var(name).ok().filter(|_| container).filter(|value| !value.is_empty());
        let port = match variable("AIP_HTTP_PORT").or_else(|| variable("SAGEMAKER_BIND_TO_PORT")) {
            Some(port) => port.parse().map_err(|_| Error::Usage(format!("`{port}` is not a port")))?,
            None => self.port,
        };
        let mut models = self.models;
        if models.is_empty() && !container {
            return Err(Error::Usage("give at least one model file, or §container".into()));
        }
        if models.is_empty() {
            let found = FOLDERS.iter().map(PathBuf::from).find(|folder| folder.is_dir());
            let lacking = || Error::Usage(format!("there is no model in {}: name one", FOLDERS.join(" or ")));
            models.push(found.ok_or_else(lacking)?);
        }
        let token = |path: PathBuf| std::fs::read_to_string(&path).map_err(|e| Error::io(&path, e));
        let token = self.token_file.map(token).transpose()?;
        let mib = |n: usize| n.saturating_mul(1 << 20);
        let limits = Limits {
            body: mib(self.limits.max_body),
            unpacked: mib(self.limits.max_body).saturating_mul(4),
            stream: self.limits.max_stream.saturating_mul(1 << 20),
            rows: self.limits.max_rows,
            columns: self.limits.max_columns,
            requests: self.limits.max_requests.max(1),
            connections: self.limits.max_connections.max(1),
            pace: Duration::from_secs(self.limits.idle_timeout.max(1)),
            coming: Duration::from_secs(self.limits.body_timeout.max(1)),
            time: Duration::from_secs(self.limits.timeout.max(1)),
            grace: Duration::from_secs(self.limits.grace),
        };
        Ok(Options {
            models,
            host: if container { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { self.host },
            port,
            no_auth: self.no_auth || container && token.is_none(),
            token,
            allow_origin: self.allow_origin,
            watch: self.watch.then_some(WATCH),
            log_requests: self.log_requests,
            health_path: variable("AIP_HEALTH_ROUTE"),
            predict_path: variable("AIP_PREDICT_ROUTE"),
            limits,
        })
    }
}
