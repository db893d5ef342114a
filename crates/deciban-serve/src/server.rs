//! [`Server`]: connections, and how they end.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use deciban::{Error, Result};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tower_service::Service;

use crate::models::Models;
use crate::options::{Limits, Options};
use crate::paced::{Paced, Talk};
use crate::page;
use crate::problem::{Kind, Problem};
use crate::router::{RUNNING, Shared, router};
use crate::work::{give_back, keep_little};

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
    /// Ends the server when all requests that have arrived are answered.
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
                closing: AtomicBool::new(false),
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
        keep_little();
        runtime.block_on(async {
            let mut signals = Signals::new();
            let mut watch = options.watch.map(tokio::time::interval);
            let mut second = Some(tokio::time::interval(Duration::from_secs(1)));
            let serving = Serving {
                gate,
                router,
                limits: options.limits.clone(),
                connections: Arc::new(Semaphore::new(options.limits.connections)),
                stopping: tokio::sync::watch::Sender::new(false),
            };
            loop {
                tokio::select! {
                    accepted = accept(&listener, &serving.connections) => match accepted {
                        Ok((stream, room)) => serving.serve(stream, room),
                        Err(e) => {
                            // As where no more files can be opened: others may close meanwhile.
                            shared.log(&format!("a connection was not accepted: {}", e.kind()));
                            tokio::time::sleep(Duration::from_millis(50)).await;
                        }
                    },
                    () = handle.stop.notified() => break,
                    () = ended(&mut signals.ends) => break,
                    () = handle.reload.notified() => reload(&shared),
                    () = hung_up(&mut signals.hangup) => reload(&shared),
                    () = tick(&mut watch) => reload(&shared),
                    () = tick(&mut second) => give_back(),
                }
            }
            shared.log("stopping: what has arrived is answered first");
            if !serving.stop(listener).await {
                shared.log("some requests took too long and were given up");
            }
        });
        TAKES_SIGNALS.store(false, Ordering::SeqCst);
        runtime.shutdown_background();
        Ok(())
    }
}

/// The parts of a server that all connections share.
struct Serving {
    gate: Arc<Gate>,
    router: Router,
    limits: Limits,
    /// Room for connections; each holds its own until it ends.
    connections: Arc<Semaphore>,
    /// Whether connections end that no request has arrived on.
    stopping: tokio::sync::watch::Sender<bool>,
}

/// For so long without a new connection, and once more, a server that stops takes what has arrived.
const ARRIVING: Duration = Duration::from_millis(50);

impl Serving {
    /// Serves a connection until it ends.
    fn serve(&self, stream: TcpStream, room: Option<OwnedSemaphorePermit>) {
        // Answers are small: they should not wait for more bytes.
        let _ = stream.set_nodelay(true);
        let talk = Arc::new(Talk::default());
        let stream = TokioIo::new(Paced::new(stream, self.limits.pace, talk.clone()));
        let (gate, router, asked) = (self.gate.clone(), self.router.clone(), talk.clone());
        let service = service_fn(move |request| {
            let (gate, router, asked) = (gate.clone(), router.clone(), asked.clone());
            async move {
                asked.begin();
                let response = gate.answer(router, request).await;
                asked.end();
                Ok::<_, Infallible>(response)
            }
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.limits.pace);
        let connection = http.serve_connection(stream, service);
        let mut stopping = self.stopping.subscribe();
        tokio::spawn(async move {
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                biased;
                // A client that leaves is no failure.
                _ = connection.as_mut() => {}
                () = told(&mut stopping) => {
                    // A request that is on its way is answered, and the answer ends the connection.
                    if !talk.is_arriving() {
                        connection.as_mut().graceful_shutdown();
                    }
                    let _ = connection.await;
                }
            }
            drop(room);
        });
    }

    /// Answers what has arrived, and ends all connections; `false` where that takes too long.
    async fn stop(self, listener: TcpListener) -> bool {
        let begun = Instant::now();
        // From now on an answer ends its connection.
        self.gate.closing.store(true, Ordering::SeqCst);
        // Connections that the system has taken already may hold requests.
        while begun.elapsed() < 10 * ARRIVING
            && let Ok(accepted) = tokio::time::timeout(ARRIVING, accept(&listener, &self.connections)).await
        {
            let Ok((stream, room)) = accepted else { break };
            self.serve(stream, room);
        }
        drop(listener);
        // Bytes in sockets reach their connections meanwhile.
        tokio::time::sleep(ARRIVING).await;
        self.stopping.send_replace(true);
        let all = u32::try_from(self.limits.connections).unwrap_or(u32::MAX);
        tokio::time::timeout(self.limits.grace, self.connections.acquire_many(all)).await.is_ok()
    }
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, Option<OwnedSemaphorePermit>)> {
    // The semaphore is never closed.
    let room = connections.clone().acquire_owned().await.ok();
    let (stream, _) = listener.accept().await?;
    Ok((stream, room))
}

/// Waits until something is true.
async fn told(it: &mut tokio::sync::watch::Receiver<bool>) {
    let _ = it.wait_for(|it| *it).await.map(drop);
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
    /// Whether every answer ends its connection.
    closing: AtomicBool,
}

impl Gate {
    async fn answer(&self, router: Router, request: Request<Incoming>) -> Response {
        let begun = Instant::now();
        self.shared.metrics.begin();
        let asked = self.log_requests.then(|| (request.method().clone(), request.uri().path().to_string()));
        let mut response = match self.admit(&request) {
            Ok(Some(response)) => response,
            Ok(None) => match self.shared.requests.clone().try_acquire_owned() {
                Ok(permit) => {
                    let answered = RUNNING.scope(Arc::new(permit), routed(router, request.map(Body::new))).await;
                    answered.unwrap_or_else(|| {
                        self.shared.log("a request panicked; it was answered with 500");
                        Problem::internal().into_response()
                    })
                }
                Err(_) => Problem::busy("the server has too many requests").into_response(),
            },
            Err(problem) => problem.into_response(),
        };
        if let Some(origin) = &self.origin {
            response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
        }
        if self.closing.load(Ordering::SeqCst) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
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
        let hosts = request.headers().get_all(header::HOST).iter().count();
        if hosts > 1 || hosts == 0 && request.version() == Version::HTTP_11 {
            return Err(Problem::malformed("a request has one `Host` header (RFC 9112)"));
        }
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
