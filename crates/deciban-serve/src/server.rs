//! [`Server`]: connections, and how they end.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use deciban::{Error, Result};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, Semaphore};
use tower_service::Service;

use crate::models::Models;
use crate::options::Options;
use crate::paced::Paced;
use crate::page;
use crate::problem::{Kind, Problem};
use crate::router::{Shared, router};

/// Models at an address.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    shared: Arc<Shared>,
    gate: Arc<Gate>,
    handle: Handle,
    address: SocketAddr,
    options: Options,
}

/// Stops a server, or lets it load changed models again.
#[derive(Clone, Default)]
pub struct Handle {
    stop: Arc<Notify>,
    reload: Arc<Notify>,
}

impl Handle {
    /// Ends the server when all requests that were accepted have been answered.
    pub fn stop(&self) {
        self.stop.notify_one();
    }

    /// Loads models again whose files have changed.
    pub fn reload(&self) {
        self.reload.notify_one();
    }
}

/// Whether a server of this process takes the signals that end or reload it.
static TAKES_SIGNALS: AtomicBool = AtomicBool::new(false);

/// Whether a server of this process takes the signals that end or reload it, so that nobody else should.
pub fn takes_signals() -> bool {
    TAKES_SIGNALS.load(Ordering::SeqCst)
}

impl Server {
    /// Reads the models and takes the address.
    pub fn bind(options: Options) -> Result<Self> {
        if !options.host.is_loopback() && options.token.is_none() && !options.no_auth {
            let message = format!(
                "anybody who reaches {} could ask the models: give §token_file, or §no_auth if that is meant",
                options.host
            );
            return Err(Error::Usage(message));
        }
        if options.token.as_ref().is_some_and(|token| token.trim().len() < 16) {
            return Err(Error::parameter("token_file", "the token has fewer than 16 characters"));
        }
        let models = Models::load(&options.models)?;
        let failed = |what: &str, e| Error::io(what, e);
        let runtime = tokio::runtime::Builder::new_multi_thread().thread_name("deciban-http").enable_all().build();
        let runtime = runtime.map_err(|e| failed("threads for connections", e))?;
        let address = SocketAddr::new(options.host, options.port);
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(|e| failed(&address.to_string(), e))?;
        let address = listener.local_addr().map_err(|e| failed(&address.to_string(), e))?;
        let shared = Arc::new(Shared::new(models, options.limits.clone()));
        let gate =
            Arc::new(Gate {
                shared: shared.clone(),
                token: options.token.as_ref().map(|token| token.trim().as_bytes().to_vec()),
                health_path: options.health_path.clone(),
                origin: options.allow_origin.as_ref().map(|origin| origin.parse()).transpose().map_err(|_| {
                    Error::parameter("allow_origin", "give * or an origin, such as https://example.com")
                })?,
                log_requests: options.log_requests,
                is_local: options.host.is_loopback() && options.token.is_none() && !options.no_auth,
            });
        Ok(Server { runtime, listener, shared, gate, handle: Handle::default(), address, options })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What stops it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Answers until it is told to stop, by its [handle](Server::handle) or by a signal: termination and interrupt
    /// end it, a hangup loads changed models again.
    pub fn run(self) -> Result<()> {
        let Server { runtime, listener, shared, gate, handle, options, .. } = self;
        let router = router(shared.clone(), &options);
        TAKES_SIGNALS.store(true, Ordering::SeqCst);
        runtime.block_on(async {
            let mut signals = Signals::new();
            let mut watch = options.watch.map(tokio::time::interval);
            let graceful = GracefulShutdown::new();
            let connections = Arc::new(Semaphore::new(options.limits.connections));
            loop {
                let accepted = tokio::select! {
                    accepted = accept(&listener, &connections) => accepted,
                    () = handle.stop.notified() => break,
                    () = ended(&mut signals.ends) => break,
                    () = handle.reload.notified() => { reload(&shared); continue }
                    () = hung_up(&mut signals.hangup) => { reload(&shared); continue }
                    () = tick(&mut watch) => { reload(&shared); continue }
                };
                let (stream, room) = match accepted {
                    Ok(accepted) => accepted,
                    Err(e) => {
                        // As where no more files can be opened: others may close meanwhile.
                        shared.log(&format!("a connection was not accepted: {}", e.kind()));
                        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                        continue;
                    }
                };
                // Answers are small: they should not wait for more bytes.
                let _ = stream.set_nodelay(true);
                let stream = Paced::new(TokioIo::new(stream), options.limits.pace);
                let (gate, router) = (gate.clone(), router.clone());
                let service = service_fn(move |request| {
                    let (gate, router) = (gate.clone(), router.clone());
                    async move { Ok::<_, Infallible>(gate.answer(router, request).await) }
                });
                let mut http = hyper::server::conn::http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(options.limits.pace);
                let connection = graceful.watch(http.serve_connection(stream, service));
                tokio::spawn(async move {
                    // A client that leaves is no failure.
                    let _ = connection.await;
                    drop(room);
                });
            }
            drop(listener);
            shared.log("stopping: what was accepted is answered first");
            if tokio::time::timeout(options.limits.grace, graceful.shutdown()).await.is_err() {
                shared.log("some requests took too long and were given up");
            }
        });
        TAKES_SIGNALS.store(false, Ordering::SeqCst);
        runtime.shutdown_background();
        Ok(())
    }
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> std::io::Result<(tokio::net::TcpStream, Option<tokio::sync::OwnedSemaphorePermit>)> {
    // The semaphore is never closed.
    let room = connections.clone().acquire_owned().await.ok();
    let (stream, _) = listener.accept().await?;
    Ok((stream, room))
}

async fn tick(watch: &mut Option<tokio::time::Interval>) {
    match watch {
        Some(interval) => drop(interval.tick().await),
        None => std::future::pending().await,
    }
}

/// Loads changed models again, beside the answers.
fn reload(shared: &Arc<Shared>) {
    let shared = shared.clone();
    tokio::task::spawn_blocking(move || {
        for line in shared.models.reload() {
            shared.metrics.count_reload(line.contains("stays as it was"));
            shared.log(&line);
        }
    });
}

/// The signals that end or reload a server.
#[cfg(unix)]
struct Signals {
    ends: Vec<tokio::signal::unix::Signal>,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let ends = [SignalKind::terminate(), SignalKind::interrupt()];
        Signals {
            ends: ends.into_iter().filter_map(|kind| signal(kind).ok()).collect(),
            hangup: signal(SignalKind::hangup()).ok(),
        }
    }
}

/// Waits for one of several signals.
#[cfg(unix)]
async fn ended(ends: &mut [tokio::signal::unix::Signal]) {
    std::future::poll_fn(|context| {
        let come = ends.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
        if come { Poll::Ready(()) } else { Poll::Pending }
    })
    .await
}

/// Waits for a hangup.
#[cfg(unix)]
async fn hung_up(hangup: &mut Option<tokio::signal::unix::Signal>) {
    match hangup {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Elsewhere there is the interrupt alone.
#[cfg(not(unix))]
struct Signals {
    ends: (),
    hangup: (),
}

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Signals { ends: (), hangup: () }
    }
}

#[cfg(not(unix))]
async fn ended(_: &mut ()) {
    let _ = tokio::signal::ctrl_c().await;
}

#[cfg(not(unix))]
async fn hung_up(_: &mut ()) {
    std::future::pending().await
}

/// What stands before all routes: limits, the token, the log, and what a panic becomes.
struct Gate {
    shared: Arc<Shared>,
    token: Option<Vec<u8>>,
    health_path: Option<String>,
    origin: Option<HeaderValue>,
    log_requests: bool,
    /// Whether nothing but its address keeps others from asking.
    is_local: bool,
}

impl Gate {
    async fn answer(&self, router: Router, request: Request<Incoming>) -> Response {
        let begun = Instant::now();
        self.shared.metrics.begin();
        let asked = self.log_requests.then(|| (request.method().clone(), request.uri().path().to_string()));
        let mut response = match self.admit(&request) {
            Ok(Some(response)) => response,
            Ok(None) => match self.shared.requests.clone().try_acquire_owned() {
                Ok(_permit) => routed(router, request.map(Body::new)).await.unwrap_or_else(|| {
                    self.shared.log("a request panicked; it was answered with 500");
                    Problem::internal().into_response()
                }),
                Err(_) => Problem::busy("the server has too many requests").into_response(),
            },
            Err(problem) => problem.into_response(),
        };
        if let Some(origin) = &self.origin {
            response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
        }
        let (status, took) = (response.status(), begun.elapsed());
        self.shared.metrics.end(status.as_u16(), took);
        if let Some((method, path)) = asked {
            let kind = response.extensions().get::<Kind>().map_or("", |kind| kind.0);
            // The path without its query, which may hold what a case is about.
            let line = format!("{method} {path} {} {:.3} ms {kind}", status.as_u16(), took.as_secs_f64() * 1e3);
            self.shared.log(line.trim_end());
        }
        response
    }

    /// Whether a request may come in; some are answered at once.
    fn admit(&self, request: &Request<Incoming>) -> std::result::Result<Option<Response>, Problem> {
        if self.origin.is_some() && request.method() == Method::OPTIONS {
            let allowed = [
                (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
                (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type, authorization, accept"),
                (header::ACCESS_CONTROL_MAX_AGE, "600"),
            ];
            return Ok(Some((StatusCode::NO_CONTENT, allowed).into_response()));
        }
        if self.is_local && !names_this_machine(request) {
            let detail = "this server answers those who ask for this machine by an address or as localhost: a page of \
                          another host could ask in its name otherwise. Give --token-file, or --no-auth if that is meant";
            return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", detail));
        }
        let Some(token) = &self.token else { return Ok(None) };
        let path = request.uri().path();
        let open = ["/healthz", "/readyz", "/ping", "/health", "/v2/health/live", "/v2/health/ready"];
        let is_open = open.contains(&path)
            || self.health_path.as_deref() == Some(path)
            || request.method() == Method::GET && page::find(path).is_some();
        match is_open || has(request.headers(), token) {
            true => Ok(None),
            false => {
                let detail = "send the token of this server as `Authorization: Bearer TOKEN`";
                Err(Problem::new(StatusCode::UNAUTHORIZED, "token", detail))
            }
        }
    }
}

/// Whether a request asks for this machine by an address or as localhost. A page of another host can make a browser
/// believe that its own name is that of this machine, but it can own no address and no `localhost`.
fn names_this_machine<B>(request: &Request<B>) -> bool {
    let given = request.headers().get(header::HOST).map(|host| host.to_str().unwrap_or("?").to_string());
    let Some(given) = request.uri().authority().map(ToString::to_string).or(given) else { return true };
    // A port may follow; an address with colons stands in brackets.
    let host = match given.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => given.split(':').next().unwrap_or_default(),
    };
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || host.parse::<IpAddr>().is_ok()
}

/// Whether the headers have the token. The time that this takes tells nothing of it but its length.
fn has(headers: &HeaderMap, token: &[u8]) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().split_at_checked(7));
    let Some((_, given)) = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer ")) else { return false };
    given.len() == token.len()
        && given.iter().zip(token).fold(0, |all, (a, b)| std::hint::black_box(all | (a ^ b))) == 0
}

/// The answer of the routes; `None` where they panicked.
async fn routed(mut router: Router, request: Request<Body>) -> Option<Response> {
    let future = catch_unwind(AssertUnwindSafe(|| router.call(request))).ok()?;
    Caught(Box::pin(future)).await.map(|answer| answer.unwrap_or_else(|never| match never {}))
}

/// A future whose panic is `None`.
struct Caught<F>(Pin<Box<F>>);

impl<F: Future> Future for Caught<F> {
    type Output = Option<F::Output>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Some(output)),
            Err(_) => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_one_request() {
        let router = Router::new()
            .route(
                "/panics",
                axum::routing::get(|| async {
                    if true {
                        panic!("as it should")
                    }
                }),
            )
            .route("/fine", axum::routing::get(|| async { "fine" }));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ask = |path: &str| Request::builder().uri(path).body(Body::empty()).unwrap();
        assert!(runtime.block_on(routed(router.clone(), ask("/panics"))).is_none());
        assert_eq!(runtime.block_on(routed(router, ask("/fine"))).unwrap().status(), StatusCode::OK);
    }

    #[test]
    fn only_this_machine_is_named() {
        let asked = |host: &str| names_this_machine(&Request::builder().header(header::HOST, host).body(()).unwrap());
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:8080", "[::1]:80", "[::1]", "my.localhost"]
        {
            assert!(asked(host), "{host}");
        }
        for host in ["example.com", "localhost.example.com:8080", "127.0.0.1.example.com", "", "[::1", "xlocalhost"] {
            assert!(!asked(host), "{host}");
        }
        assert!(names_this_machine(&Request::builder().body(()).unwrap()));
        let whole = Request::builder().uri("http://example.com/v1/models").header(header::HOST, "localhost");
        assert!(!names_this_machine(&whole.body(()).unwrap()));
    }

    #[test]
    fn a_token_is_compared_whole() {
        let mut headers = HeaderMap::new();
        assert!(!has(&headers, b"abc"));
        let cases =
            [("Bearer abc", true), ("Bearer abd", false), ("Bearer abcd", false), ("bearer abc", true), ("abc", false)];
        for (given, fits) in cases {
            headers.insert(header::AUTHORIZATION, given.parse().unwrap());
            assert_eq!(has(&headers, b"abc"), fits, "{given}");
        }
    }
}
