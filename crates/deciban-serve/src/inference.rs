//! The Open Inference Protocol, version 2: one tensor per column by its name, or one tensor of all columns in the
//! order of the model. `null` and NaN are missing cells. Tensors may come and go in binary form, as the clients of
//! Triton send them.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use deciban::data::{Kind, ShownKind};
use deciban::learn::Classifier;
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

use crate::answer::{Answer, answer};
use crate::ask::Ask;
use crate::body;
use crate::media::Media;
use crate::models::Served;
use crate::predict::{check_rows, json as reply_json, not_json, reply};
use crate::problem::{Problem, Rows};
use crate::router::Shared;
use crate::write::number;

type Answered = Result<Response, Problem>;
type Sharing = State<Arc<Shared>>;

/// The header that says where JSON ends and tensors begin.
const LENGTH: &str = "inference-header-content-length";

/// `GET /v2`.
pub async fn server() -> Response {
    let extensions = ["binary_tensor_data", "parameters"];
    reply_json(&json!({ "name": "deciban", "version": env!("CARGO_PKG_VERSION"), "extensions": extensions }))
}

/// `GET /v2/health/live` and `/v2/health/ready`.
pub async fn live() -> Response {
    StatusCode::OK.into_response()
}

/// `GET /v2/models/NAME`.
pub async fn metadata(State(shared): Sharing, Path(name): Path<String>) -> Answered {
    let served = shared.model(&name)?;
    let schema = served.predictor.model().schema();
    let input = |column: &deciban::data::Column| {
        let datatype = match schema.spelling().shown_kind(column) {
            ShownKind::Number | ShownKind::Count => "FP64",
            ShownKind::Flag if column.kind == Kind::Flag => "BOOL",
            _ => "BYTES",
        };
        json!({ "name": column.name, "datatype": datatype, "shape": [-1] })
    };
    let classes = schema.classes().len();
    Ok(reply_json(&json!({
        "name": served.name,
        "versions": ["1"],
        "platform": "deciban",
        "inputs": schema.columns().iter().map(input).collect::<Vec<_>>(),
        "outputs": [
            { "name": "decision", "datatype": "BYTES", "shape": [-1] },
            { "name": "posterior", "datatype": "FP64", "shape": [-1, classes] },
            { "name": "evidence", "datatype": "FP64", "shape": [-1, classes] },
        ],
        "parameters": { "classes": schema.classes() },
    })))
}

/// `GET /v2/models/NAME/versions/1`.
pub async fn metadata_of_version(shared: Sharing, Path((name, version)): Path<(String, String)>) -> Answered {
    check_version(&version)?;
    metadata(shared, Path(name)).await
}

/// `GET /v2/models/NAME/ready`.
pub async fn ready(State(shared): Sharing, Path(name): Path<String>) -> Answered {
    shared.model(&name).map(|_| StatusCode::OK.into_response())
}

/// `GET /v2/models/NAME/versions/1/ready`.
pub async fn ready_of_version(shared: Sharing, Path((name, version)): Path<(String, String)>) -> Answered {
    check_version(&version)?;
    ready(shared, Path(name)).await
}

/// `POST /v2/models/NAME/versions/1/infer`.
pub async fn infer_of_version(
    shared: Sharing,
    Path((name, version)): Path<(String, String)>,
    request: Request,
) -> Answered {
    check_version(&version)?;
    infer(shared, Path(name), request).await
}

fn check_version(version: &str) -> Result<(), Problem> {
    match version {
        "1" => Ok(()),
        _ => Err(Problem::not_found(format!("there is no version `{version}`: the only one is 1"))),
    }
}

#[derive(Deserialize)]
struct Asked {
    id: Option<String>,
    inputs: Vec<Input>,
    #[serde(default)]
    outputs: Vec<Output>,
    #[serde(default)]
    parameters: Map<String, Value>,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    shape: Vec<u64>,
    datatype: String,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    parameters: Map<String, Value>,
}

#[derive(Deserialize)]
struct Output {
    name: String,
    #[serde(default)]
    parameters: Map<String, Value>,
}

/// `POST /v2/models/NAME/infer`.
pub async fn infer(State(shared): Sharing, Path(name): Path<String>, request: Request) -> Answered {
    let served = shared.model(&name)?;
    let (parts, body) = request.into_parts();
    let bytes = body::whole(&parts.headers, body, &shared.limits).await?;
    let end = match parts.headers.get(LENGTH) {
        None => bytes.len(),
        Some(length) => {
            let length = length.to_str().ok().and_then(|text| text.parse().ok()).filter(|n| *n <= bytes.len());
            length.ok_or_else(|| Problem::malformed("the length of the JSON part does not fit the body"))?
        }
    };
    let heavy = bytes.len() > 16 << 10;
    let counted = shared.clone();
    let (text, length) = shared
        .run(heavy, move || {
            let (json, tensors) = (bytes.slice(..end), bytes.slice(end..));
            let text = crate::predict::utf8(&json)?;
            let asked: Asked = serde_json::from_str(text).map_err(|e| match e.is_data() {
                true => Problem::malformed(format!("this is not a request for inference: {e}")),
                false => not_json(text, &e),
            })?;
            let rows = rows(&served, &asked.inputs, tensors)?;
            let place = Rows::ListIn("inputs");
            let problem = |e: deciban::Error| {
                // A row is a place in every tensor, and has no pointer of its own.
                Problem { pointer: None, ..Problem::of(&e, place) }
            };
            let read = served.predictor.reader().json_value(&rows).map_err(problem)?;
            check_rows(read.len() as u64, &counted.limits)?;
            counted.metrics.count_rows(read.len());
            let mut options = asked.parameters.clone();
            let binary = options.remove("binary_data_output").is_some_and(|value| value == json!(true));
            options.retain(|key, _| ["prior", "costs", "reject", "none_of_these"].contains(&key.as_str()));
            let ask = Ask::default().with(&Value::Object(options))?;
            let answer = answer(&served, &read, &ask).map_err(problem)?;
            written(&served, &asked, &answer, binary)
        })
        .await?;
    let mut response = reply(Media::Json, text);
    if let Some(length) = length {
        let headers = response.headers_mut();
        headers.insert(LENGTH, HeaderValue::from(length));
        headers.insert("content-type", HeaderValue::from_static("application/octet-stream"));
    }
    Ok(response)
}

/// The rows of tensors, as objects.
fn rows(served: &Served, inputs: &[Input], mut tensors: Bytes) -> Result<Value, Problem> {
    let names = served.predictor.model().schema().names();
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    let mut count: Option<u64> = None;
    for input in inputs {
        let refuse = |message: String| Problem::malformed(format!("tensor `{}`: {message}", input.name));
        let elements = input.shape.iter().try_fold(1u64, |all, n| all.checked_mul(*n));
        let elements = elements.ok_or_else(|| refuse("its shape is too large".into()))?;
        // A tensor of all columns, unless the column itself has two dimensions.
        let (height, width) = match input.shape[..] {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => return Err(refuse("its shape is not [rows] or [rows, columns]".into())),
        };
        let cells = match input.parameters.get("binary_data_size").and_then(Value::as_u64) {
            Some(size) if size <= tensors.len() as u64 => {
                binary(&tensors.split_to(size as usize), &input.datatype, elements).map_err(refuse)?
            }
            Some(_) => return Err(refuse("the body ends before its data".into())),
            None => {
                let mut cells = Vec::new();
                flatten(&input.data, &mut cells);
                cells
            }
        };
        if cells.len() as u64 != elements {
            return Err(refuse(format!("its shape has {elements} elements, its data {}", cells.len())));
        }
        if *count.get_or_insert(height) != height {
            return Err(refuse("it has another number of rows than the first tensor".into()));
        }
        rows.resize_with(height as usize, Map::new);
        let is_column = names.contains(&input.name);
        let columns: Vec<&String> = match (is_column && width == 1, width == names.len() as u64) {
            (true, _) => vec![&input.name],
            (false, true) => names.iter().collect(),
            (false, false) if width == 1 => vec![&input.name], // No column of the model: the reader says so.
            _ => return Err(refuse(format!("it has {width} columns, the model has {}", names.len()))),
        };
        for (place, cell) in cells.into_iter().enumerate() {
            let (row, column) = (place / columns.len(), columns[place % columns.len()]);
            if rows[row].insert(column.clone(), cell).is_some() {
                return Err(refuse("the column is there twice".into()));
            }
        }
    }
    Ok(Value::Array(rows.into_iter().map(Value::Object).collect()))
}

/// The elements of nested lists.
fn flatten(value: &Value, cells: &mut Vec<Value>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| flatten(value, cells)),
        cell => cells.push(cell.clone()),
    }
}

/// The elements of a tensor in binary form: little-endian numbers, or texts behind their lengths.
fn binary(bytes: &[u8], datatype: &str, elements: u64) -> Result<Vec<Value>, String> {
    fn numbers<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> Value) -> Result<Vec<Value>, String> {
        let (chunks, rest) = bytes.as_chunks::<N>();
        match rest.is_empty() {
            true => Ok(chunks.iter().map(|chunk| read(*chunk)).collect()),
            false => Err("its data ends in the middle of a number".into()),
        }
    }
    // NaN is not a number in JSON, and becomes `null`: a missing cell.
    let float = |x: f64| Number::from_f64(x).map_or(Value::Null, Value::Number);
    match datatype {
        "BOOL" => Ok(bytes.iter().map(|byte| json!(*byte != 0)).collect()),
        "UINT8" => numbers::<1>(bytes, |b| json!(b[0])),
        "INT8" => numbers::<1>(bytes, |b| json!(b[0] as i8)),
        "UINT16" => numbers(bytes, |b| json!(u16::from_le_bytes(b))),
        "INT16" => numbers(bytes, |b| json!(i16::from_le_bytes(b))),
        "UINT32" => numbers(bytes, |b| json!(u32::from_le_bytes(b))),
        "INT32" => numbers(bytes, |b| json!(i32::from_le_bytes(b))),
        "UINT64" => numbers(bytes, |b| json!(u64::from_le_bytes(b))),
        "INT64" => numbers(bytes, |b| json!(i64::from_le_bytes(b))),
        "FP32" => numbers(bytes, |b| float(f32::from_le_bytes(b).into())),
        "FP64" => numbers(bytes, |b| float(f64::from_le_bytes(b))),
        "BYTES" => {
            let (mut rest, mut texts) = (bytes, Vec::new());
            while let Some((length, after)) = rest.split_at_checked(4) {
                let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
                let (text, after) = after.split_at_checked(length).ok_or("a text is longer than the data")?;
                texts.push(json!(std::str::from_utf8(text).map_err(|_| "a text is not UTF-8")?));
                rest = after;
                if texts.len() as u64 > elements {
                    break;
                }
            }
            match rest.is_empty() {
                true => Ok(texts),
                false => Err("its data ends in the middle of a text, or has too many".into()),
            }
        }
        _ => Err(format!("the type {datatype} cannot be read in binary form")),
    }
}

/// The answer, and how long its JSON part is where tensors follow in binary form.
fn written(served: &Served, asked: &Asked, answer: &Answer, binary: bool) -> Result<(Vec<u8>, Option<usize>), Problem> {
    let all = [("decision", binary), ("posterior", binary)];
    let is_binary = |output: &Output| output.parameters.get("binary_data") == Some(&json!(true));
    let wanted: Vec<(&str, bool)> = match asked.outputs.is_empty() {
        true => all.to_vec(),
        false => asked.outputs.iter().map(|output| (output.name.as_str(), is_binary(output) || binary)).collect(),
    };
    let (rows, classes) = (answer.predictions.len(), served.terms.costs.classes());
    let mut out = b"{\"model_name\":".to_vec();
    out.extend(crate::write::string(&served.name));
    out.extend_from_slice(b",\"model_version\":\"1\"");
    if let Some(id) = &asked.id {
        out.extend_from_slice(b",\"id\":");
        out.extend(crate::write::string(id));
    }
    out.extend_from_slice(b",\"outputs\":[");
    let mut tail: Vec<u8> = Vec::new();
    for (place, (name, binary)) in wanted.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        let numbers = |of: fn(&deciban_tasks::Prediction) -> &[f64]| -> Vec<f64> {
            answer.predictions.iter().flat_map(|prediction| of(prediction).iter().copied()).collect()
        };
        let start = tail.len();
        let (datatype, shape, data) = match name {
            "decision" => {
                let mut data = Vec::new();
                for (row, prediction) in answer.predictions.iter().enumerate() {
                    let text = prediction.decision.as_deref();
                    if binary {
                        let text = text.unwrap_or_default();
                        tail.extend((text.len() as u32).to_le_bytes());
                        tail.extend_from_slice(text.as_bytes());
                    } else {
                        data.push(if row == 0 { b'[' } else { b',' });
                        data.extend(text.map_or(b"null".to_vec(), crate::write::string));
                    }
                }
                ("BYTES", vec![rows], data)
            }
            "posterior" | "evidence" => {
                let values = match name {
                    "posterior" => numbers(|prediction| &prediction.posterior),
                    _ => numbers(|prediction| &prediction.evidence),
                };
                let mut data = Vec::new();
                for (place, x) in values.into_iter().enumerate() {
                    if binary {
                        tail.extend(x.to_le_bytes());
                    } else {
                        data.push(if place == 0 { b'[' } else { b',' });
                        number(&mut data, x);
                    }
                }
                ("FP64", vec![rows, classes], data)
            }
            name => {
                return Err(Problem::malformed(format!(
                    "there is no output `{name}`: give decision, posterior or evidence"
                )));
            }
        };
        let head = json!({ "name": name, "datatype": datatype, "shape": shape }).to_string();
        out.extend_from_slice(&head.as_bytes()[..head.len() - 1]);
        match binary {
            true => {
                let parameters = json!({ "binary_data_size": tail.len() - start });
                out.extend_from_slice(format!(",\"parameters\":{parameters}}}").as_bytes());
            }
            false => {
                out.extend_from_slice(b",\"data\":");
                out.extend_from_slice(if data.is_empty() { b"[" } else { &data });
                out.extend_from_slice(b"]}");
            }
        }
    }
    out.extend_from_slice(b"]}");
    let length = (!tail.is_empty()).then_some(out.len());
    out.extend(tail);
    Ok((out, length))
}
