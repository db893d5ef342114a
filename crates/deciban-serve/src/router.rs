//! Which path is answered by what, and what all requests share.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::body::LARGE;
use crate::metrics::Metrics;
use crate::models::{Models, Served};
use crate::options::{Limits, Options};
use crate::predict::json as reply_json;
use crate::problem::Problem;
use crate::work::{Work, trim, will_give_back};
use crate::{case, inference, openapi, page, platforms, predict};

tokio::task_local! {
    /// The place that a request has among those that are answered at the same time.
    pub static RUNNING: Arc<OwnedSemaphorePermit>;
}

/// The place of the request that is being answered. Work that goes on without its request keeps it.
pub fn running() -> Option<Arc<OwnedSemaphorePermit>> {
    RUNNING.try_with(Arc::clone).ok()
}

/// What all requests share.
pub struct Shared {
    pub models: Models,
    pub limits: Limits,
    pub metrics: Metrics,
    /// Requests at the same time.
    pub requests: Arc<Semaphore>,
    /// Large pieces of work at the same time.
    work: Arc<Semaphore>,
}

impl Shared {
    /// For these models.
    pub fn new(models: Models, limits: Limits) -> Self {
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
        let (requests, work) = (Arc::new(Semaphore::new(limits.requests)), Arc::new(Semaphore::new(2 * threads)));
        Shared { models, limits, metrics: Metrics::default(), requests, work }
    }

    /// The model of a name.
    pub fn model(&self, name: &str) -> Result<Arc<Served>, Problem> {
        self.models.get(name).ok_or_else(|| {
            Problem::not_found(format!("there is no model `{name}`: the models are {}", self.models.names().join(", ")))
        })
    }

    /// Leave to do a large piece of work; it comes when others are done.
    pub async fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let waiting = tokio::time::timeout(self.limits.time, self.work.clone().acquire_owned()).await;
        waiting.ok().and_then(Result::ok).ok_or_else(|| Problem::busy("the server has too much to do"))
    }

    /// Does some work on a body of `bytes` bytes: a little at once, on the thread of the connection; a lot in the pool,
    /// within a time. Where that is over, or the client has left, the work ends at its next part; until then the
    /// request counts among those that are answered at the same time.
    pub async fn run<T: Send + 'static>(
        &self,
        heavy: bool,
        bytes: usize,
        work: impl FnOnce(&Work) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let on = Work::new(bytes, self.limits.rows);
        if !heavy {
            return work(&on);
        }
        let permit = self.permit().await?;
        let (running, _waiting) = (running(), on.waiting());
        will_give_back();
        let job = tokio::task::spawn_blocking(move || {
            let _held = (permit, running);
            let done = work(&on);
            will_give_back();
            if bytes > LARGE {
                trim();
            }
            done
        });
        match tokio::time::timeout(self.limits.time, job).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(Problem::internal()), // It panicked.
            Err(_) => {
                let seconds = self.limits.time.as_secs_f64();
                Err(Problem::busy(format!("this takes longer than {seconds} seconds: send fewer rows")))
            }
        }
    }

    /// Writes a line to the log. It must not hold cells.
    pub fn log(&self, line: &str) {
        use std::io::Write;
        // Who cannot read it misses a line, not an answer.
        let _ = writeln!(std::io::stderr().lock(), "deciban: {line}");
    }
}

/// All routes.
pub fn router(shared: Arc<Shared>, options: &Options) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi::route))
        .route("/v1/models", get(models))
        .route("/v1/models/{name}", get(model).post(platforms::kserve))
        .route("/v1/models/{name}/page", get(of_page))
        .route("/v1/models/{name}/predict", post(predict::route))
        .route("/v1/models/{name}/explain", post(case::explain))
        .route("/v1/models/{name}/rank", post(case::rank))
        .route("/v1/models/{name}/sample", get(case::draw))
        .route("/v1/models/{name}/map", post(case::map))
        .route("/v1/models/{name}/evaluate", post(case::judge))
        .route("/v2", get(inference::server))
        .route("/v2/health/live", get(inference::live))
        .route("/v2/health/ready", get(inference::live))
        .route("/v2/models/{name}", get(inference::metadata))
        .route("/v2/models/{name}/ready", get(inference::ready))
        .route("/v2/models/{name}/infer", post(inference::infer))
        .route("/v2/models/{name}/versions/{version}", get(inference::metadata_of_version))
        .route("/v2/models/{name}/versions/{version}/ready", get(inference::ready_of_version))
        .route("/v2/models/{name}/versions/{version}/infer", post(inference::infer_of_version))
        .route("/ping", get(alive))
        .route("/health", get(alive))
        .route("/version", get(|| async { concat!(env!("CARGO_PKG_VERSION"), "\n") }))
        .route("/invocations", post(platforms::invocations));
    // Platforms may choose paths that are there already.
    let is_new = |path: &&String| path.starts_with('/') && !KNOWN.contains(&path.as_str());
    if let Some(path) = options.health_path.as_ref().filter(is_new) {
        router = router.route(path, get(alive));
    }
    if let Some(path) = options.predict_path.as_ref().filter(is_new) {
        router = router.route(path, post(platforms::invocations));
    }
    router
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this path is not asked this way")
        })
        .fallback(file)
        .with_state(shared)
}

/// Paths of which there is one already.
const KNOWN: [&str; 6] = ["/healthz", "/readyz", "/ping", "/health", "/metrics", "/invocations"];

async fn alive() -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], "ok\n").into_response()
}

/// Whether requests can be answered, and by which models.
async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    let state = |(name, problem): (String, Option<String>)| match problem {
        None => json!({ "name": name, "state": "current" }),
        Some(problem) => json!({ "name": name, "state": "stale", "problem": problem }),
    };
    let models: Vec<Value> = shared.models.states().into_iter().map(state).collect();
    reply_json(&json!({ "ready": true, "models": models }))
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let text = shared.metrics.text(&shared.models.states());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

async fn models(State(shared): State<Arc<Shared>>) -> Response {
    reply_json(&json!({ "models": shared.models.names() }))
}

/// What a model takes and answers.
async fn model(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Result<Response, Problem> {
    Ok(reply_json(&shared.model(&name)?.card))
}

/// What the page shows of a model: its columns, and rows that it would make.
async fn of_page(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Result<Response, Problem> {
    let served = shared.model(&name)?;
    let data = page::data(served.predictor.model(), &name).map_err(|_| Problem::internal())?;
    Ok(reply_json(&data))
}

/// Only what the page brings itself may run, and it may ask no other server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
async fn file(uri: Uri) -> Response {
    match page::find(uri.path()) {
        Some(file) => (
            [
                (header::CONTENT_TYPE, file.content_type),
                (header::CONTENT_SECURITY_POLICY, POLICY),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
                (header::REFERRER_POLICY, "no-referrer"),
            ],
            Body::from(file.bytes),
        )
            .into_response(),
        None => Problem::not_found("there is nothing at this path").into_response(),
    }
}
