//! [`Server`]: connections, and how they end.

use std::net::SocketAddr;
use std::sync::Arc;

use deciban::{Error, Result};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::models::Models;
use crate::options::Options;
use crate::router::{Shared, router};

/// Models at an address.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    shared: Arc<Shared>,
    address: SocketAddr,
}

impl Server {
    /// Reads the models and takes the address.
    pub fn bind(options: Options) -> Result<Self> {
        let models = Models::load(&options.models)?;
        let failed = |what: &str, e| Error::io(what, e);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|e| failed("threads for connections", e))?;
        let address = SocketAddr::new(options.host, options.port);
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(|e| failed(&address.to_string(), e))?;
        let address = listener.local_addr().map_err(|e| failed(&address.to_string(), e))?;
        Ok(Server { runtime, listener, shared: Arc::new(Shared { models }), address })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is told to stop.
    pub fn run(self) -> Result<()> {
        let Server { runtime, listener, shared, .. } = self;
        let service = TowerToHyperService::new(router(shared));
        runtime.block_on(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let connection =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
                tokio::spawn(connection);
            }
        })
    }
}
