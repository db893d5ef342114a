//! What can be asked, as an OpenAPI document for programs that read such.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::predict::json as reply_json;
use crate::router::Shared;

/// `GET /openapi.json`.
pub async fn route(State(shared): State<Arc<Shared>>) -> Response {
    reply_json(&document(&shared.models.names()))
}

fn problem(description: &str) -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    json!({ "description": description, "content": { "application/problem+json": { "schema": schema } } })
}

/// The answers of a route: what it says where all is well, and the problems of all routes.
fn responses(content: &str, schema: Value) -> Value {
    let mut all = Map::new();
    all.insert("200".into(), json!({ "description": "the answer", "content": { content: { "schema": schema } } }));
    for (code, description) in [
        ("400", "the request cannot be read"),
        ("401", "the token is missing or wrong"),
        ("404", "there is nothing of this name"),
        ("405", "the path is not asked this way"),
        ("406", "the answer cannot be written as asked"),
        ("408", "the body does not come in time"),
        ("413", "the request has more than a limit"),
        ("415", "the content type or encoding is not known"),
        ("422", "a row, a column or an option is not as it must be"),
        ("500", "the server failed at this request"),
        ("421", "the host that is asked for is not this machine"),
        ("503", "the server has too much to do"),
    ] {
        all.insert(code.into(), problem(description));
    }
    Value::Object(all)
}

fn get(summary: &str, parameters: Value, content: &str, schema: Value) -> Value {
    json!({ "get": { "summary": summary, "parameters": parameters, "responses": responses(content, schema) } })
}

fn post(summary: &str, parameters: Value, content: Value, schema: Value) -> Value {
    json!({ "post": { "summary": summary, "parameters": parameters,
        "requestBody": { "required": true, "content": content },
        "responses": responses("application/json", schema) } })
}

/// The document of a server with these models.
fn document(models: &[String]) -> Value {
    let object = || json!({ "type": "object" });
    let list_of =
        |name: &str| json!({ "type": "object", "required": [name], "properties": { name: { "type": "array" } } });
    let name = json!({ "name": "name", "in": "path", "required": true, "description": "the name of a model",
        "schema": { "type": "string", "enum": models } });
    let query = |name: &str, kind: &str, description: &str| json!({ "name": name, "in": "query", "required": false, "description": description, "schema": { "type": kind } });
    let version =
        json!({ "name": "version", "in": "path", "required": true, "schema": { "type": "string", "enum": ["1"] } });
    let asks = json!([
        name,
        query(
            "prior",
            "string",
            "uniform, empirical, or CLASS=P,...; classes that are not named share the rest in the proportion of the training rows"
        ),
        query("costs", "string", "TRUE>DECIDED=COST,...; others cost 1, and right decisions nothing"),
        query("reject", "number", "what it costs to decide for no class"),
        query("none_of_these", "number", "the share of rows that are so unusual that they are none of the classes"),
        query("evidence", "boolean", "add the evidence for each class, in decibans"),
        query("density", "boolean", "add log p(x) and its rank"),
        query("explain", "string", "add a ledger: true, a class, or two classes as A,B"),
    ]);
    let costs = json!({ "description": "TRUE>DECIDED=COST,...; {\"TRUE>DECIDED\": COST, ...}; a list of {true, decided, cost}; or \
        {true, decided, costs}: the names and the numbers of a table with a row for each true class and a column for each action" });
    let table = json!({ "type": "string" });
    let rows = json!({
        "application/json": { "schema": { "$ref": "#/components/schemas/Rows" } },
        "application/x-ndjson": { "schema": table },
        "text/csv": { "schema": table },
        "text/tab-separated-values": { "schema": table },
        "application/vnd.apache.arrow.stream": { "schema": { "type": "string", "format": "binary" } },
    });
    let json_body = |schema: Value| json!({ "application/json": { "schema": schema } });
    let predictions = json!({ "$ref": "#/components/schemas/Predictions" });
    let instances = json!({ "type": "object", "properties": {
        "instances": { "type": "array" }, "inputs": {}, "dataframe_split": object(),
        "dataframe_records": { "type": "array" }, "parameters": object() } });
    let named = json!([name]);
    let none = json!([]);
    let sample = json!([
        name,
        query("number", "integer", "how many rows"),
        query("class", "string", "of this class only"),
        query("prior", "string", "how common the classes are"),
        query("seed", "integer", "the seed")
    ]);
    let paths = json!({
        "/healthz": get("Whether the server is alive", none.clone(), "text/plain", json!({ "type": "string" })),
        "/readyz": get("Whether models answer, and whether their files are current", none.clone(), "application/json", object()),
        "/metrics": get("Counts for Prometheus", none.clone(), "text/plain", json!({ "type": "string" })),
        "/openapi.json": get("This document", none.clone(), "application/json", object()),
        "/v1/models": get("The names of the models", none.clone(), "application/json", list_of("models")),
        "/v1/models/{name}": get("What a model takes and answers", named.clone(), "application/json", object()),
        "/v1/models/{name}/predict": post("Decisions and posteriors of rows", asks.clone(), rows.clone(), predictions.clone()),
        "/v1/models/{name}/explain": post("The evidence of rows as ledgers", asks.clone(), rows.clone(), predictions.clone()),
        "/v1/models/{name}/rank": post("How usual rows are", asks.clone(), rows, predictions.clone()),
        "/v1/models/{name}/sample": get("Rows drawn from a model", sample, "application/json", object()),
        "/v1/models/{name}/map": post("The evidence where two columns of a case vary", named.clone(),
            json_body(json!({ "$ref": "#/components/schemas/Mapping" })), object()),
        "/v1/models/{name}/evaluate": post("How good a model is on rows with their classes", asks,
            json!({ "text/csv": { "schema": table }, "application/x-ndjson": { "schema": table } }), object()),
        "/v1/models/{name}:predict": post("KServe, version 1: predictions", named.clone(), json_body(instances.clone()), list_of("predictions")),
        "/v1/models/{name}:explain": post("KServe, version 1: explanations", named.clone(), json_body(instances.clone()), list_of("explanations")),
        "/v2": get("Open Inference Protocol: the server", none.clone(), "application/json", object()),
        "/v2/models/{name}": get("Open Inference Protocol: a model", named.clone(), "application/json", object()),
        "/v2/models/{name}/infer": post("Open Inference Protocol: inference", named, json_body(json!({ "$ref": "#/components/schemas/Inference" })), object()),
        "/v2/models/{name}/versions/{version}/infer": post("Open Inference Protocol: inference", json!([name, version]),
            json_body(json!({ "$ref": "#/components/schemas/Inference" })), object()),
        "/ping": get("Whether the server is alive", none.clone(), "text/plain", json!({ "type": "string" })),
        "/invocations": post("MLflow, SageMaker, Vertex AI: predictions of the first model", none,
            json!({ "application/json": { "schema": instances }, "text/csv": { "schema": table } }), list_of("predictions")),
    });
    let cell = json!({ "type": ["number", "string", "boolean", "null"] });
    let row = json!({ "type": "object", "description": "cells by column; absent and null are missing", "additionalProperties": cell });
    let either = json!({ "oneOf": [{ "$ref": "#/components/schemas/Row" },
        { "type": "array", "items": { "$ref": "#/components/schemas/Row" } }] });
    let number = json!({ "type": ["number", "string", "null"], "description": "\"inf\" and \"-inf\" are infinite, null is 0/0" });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "deciban",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Decisions, posteriors and evidence of models. Prior and costs come with the request.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": {
                "Row": row,
                "Rows": { "oneOf": [either.clone(), { "type": "object", "required": ["rows"], "additionalProperties": false,
                    "properties": { "rows": either, "prior": {}, "costs": costs, "reject": { "type": ["number", "null"] },
                        "none_of_these": { "type": ["number", "null"] }, "evidence": { "type": "boolean" },
                        "density": { "type": "boolean" }, "explain": {} } }] },
                "Prediction": { "type": "object", "required": ["decision", "posterior"], "properties": {
                    "decision": { "type": ["string", "null"] },
                    "posterior": { "type": "object", "additionalProperties": number },
                    "evidence": { "type": "object", "additionalProperties": number },
                    "log_density": number, "rank": number,
                    "log_densities": { "type": "object", "additionalProperties": number },
                    "risk": number, "ledger": { "type": "object" } } },
                "Predictions": { "type": "object", "required": ["model", "predictions"], "properties": {
                    "model": { "type": "string" },
                    "predictions": { "type": "array", "items": { "$ref": "#/components/schemas/Prediction" } },
                    "described_by": { "type": "string" },
                    "warnings": { "type": "array", "items": { "type": "string" } } } },
                "Mapping": { "type": "object", "required": ["columns"], "properties": {
                    "row": { "$ref": "#/components/schemas/Row" },
                    "columns": { "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 },
                    "x": { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 },
                    "y": { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 },
                    "steps": { "type": "array", "items": { "type": "integer" }, "minItems": 2, "maxItems": 2 },
                    "prior": {}, "costs": costs, "reject": { "type": "number" } } },
                "Inference": { "type": "object", "required": ["inputs"], "properties": {
                    "id": { "type": "string" },
                    "inputs": { "type": "array", "items": { "type": "object", "required": ["name", "shape", "datatype", "data"],
                        "properties": { "name": { "type": "string" }, "datatype": { "type": "string" }, "data": { "type": "array" },
                            "shape": { "type": "array", "items": { "type": "integer", "minimum": 0 } } } } },
                    "outputs": { "type": "array", "items": { "type": "object", "required": ["name"] } },
                    "parameters": { "type": "object" } } },
                "Problem": { "type": "object", "required": ["type", "title", "status", "detail"], "properties": {
                    "type": { "type": "string" }, "title": { "type": "string" }, "status": { "type": "integer" },
                    "detail": { "type": "string" },
                    "errors": { "type": "array", "items": { "type": "object", "properties": {
                        "detail": { "type": "string" }, "row": { "type": "integer" }, "column": { "type": "string" },
                        "pointer": { "type": "string" } } } } } },
            },
        },
    })
}
