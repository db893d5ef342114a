//! Which path is answered by what.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use deciban_tasks::Card;
use serde_json::json;

use crate::models::Models;
use crate::page;

/// What all requests share.
pub struct Shared {
    pub models: Models,
}

/// All routes.
pub fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/v1/models", get(models))
        .route("/v1/models/{name}", get(model))
        .fallback(file)
        .with_state(shared)
}

async fn models(State(shared): State<Arc<Shared>>) -> Response {
    let names: Vec<&str> = shared.models.names().collect();
    ([(header::CONTENT_TYPE, "application/json")], json!({ "models": names }).to_string()).into_response()
}

/// What a model takes and answers.
async fn model(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    match shared.models.get(&name) {
        Some(served) => {
            let card = json!(Card::new(served.predictor.model())).to_string();
            ([(header::CONTENT_TYPE, "application/json")], card).into_response()
        }
        None => (StatusCode::NOT_FOUND, "there is no such model\n").into_response(),
    }
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
        None => (StatusCode::NOT_FOUND, "there is nothing at this path\n").into_response(),
    }
}
