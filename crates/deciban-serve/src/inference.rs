//! The Open Inference Protocol, version 2: one tensor per column by its name, or one tensor of all columns in the
//! order of the model. `null` and NaN are missing cells. Tensors may come and go in binary form, as the clients of
//! Triton send them.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use deciban::data::{Kind, ShownKind};
use deciban::learn::Classifier;
use deciban_tasks::Prediction;
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

use crate::answer::answer;
use crate::ask::Ask;
use crate::body;
use crate::envelope;
use crate::media::Media;
use crate::models::Served;
use crate::predict::{json as reply_json, reply};
use crate::problem::{Problem, Rows};
use crate::router::Shared;
use crate::work::Work;
use crate::write::{Text, number};

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

/// A request for inference, without its tensors.
#[derive(Deserialize)]
struct Asked {
    id: Option<String>,
    #[serde(default)]
    outputs: Vec<Output>,
    #[serde(default)]
    parameters: Map<String, Value>,
}

/// The description of a tensor.
#[derive(Deserialize)]
struct Input {
    name: String,
    shape: Vec<u64>,
    datatype: String,
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
        .run(heavy, bytes.len(), move |work| {
            let json = bytes.slice(..end);
            let text = crate::predict::utf8(&json)?;
            envelope::check(text)?;
            let [inputs] = envelope::values_of(text, ["inputs"])?;
            let others = envelope::beside(text, inputs.iter().cloned().collect())?;
            let mut asked: Asked = understood(others)?;
            let inputs = inputs.map(|range| &text[range]).filter(|inputs| inputs.starts_with('['));
            let inputs = inputs.ok_or_else(|| Problem::malformed("`inputs` is a list of tensors: give one"))?;
            let rows = rows(&served, inputs, &bytes[end..], work)?;
            // A row is a place in every tensor, and has no pointer of its own.
            let rows = rows.map_err(|e| Problem { pointer: None, ..Problem::of(&e, Rows::ListIn("inputs")) })?;
            counted.metrics.count_rows(rows.len());
            let mut options = std::mem::take(&mut asked.parameters);
            let binary = options.remove("binary_data_output").is_some_and(|value| value == json!(true));
            options.retain(|key, _| ["prior", "costs", "reject", "none_of_these"].contains(&key.as_str()));
            let ask = Ask::default().with(&Value::Object(options))?;
            written(&served, &asked, &rows, &ask, binary, work)
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

/// A part of a request that has the form of the protocol.
fn understood<T: for<'a> Deserialize<'a>>(value: Value) -> Result<T, Problem> {
    T::deserialize(value).map_err(|e| Problem::malformed(format!("this is not a request for inference: {e}")))
}

/// The rows of tensors. Their cells are read from the body row by row.
fn rows(
    served: &Served,
    inputs: &str,
    mut tensors: &[u8],
    work: &Work,
) -> Result<deciban::Result<deciban_data::Rows>, Problem> {
    let names = served.predictor.model().schema().names();
    let (mut columns, mut sources, mut all): (Vec<String>, Vec<usize>, Vec<Tensor>) = Default::default();
    let (mut count, mut beside) = (None, 0);
    for text in envelope::elements(inputs) {
        let [data] = envelope::values_of(text, ["data"])?;
        beside += text.len() - data.as_ref().map_or(0, |data| data.len());
        if beside > MOST_BESIDE {
            return Err(Problem::too_large(format!(
                "the tensors have more than {MOST_BESIDE} bytes beside their data"
            )));
        }
        let input: Input = understood(envelope::beside(text, data.iter().cloned().collect())?)?;
        let refuse = |message: String| Problem::malformed(format!("tensor `{}`: {message}", input.name));
        let elements = input.shape.iter().try_fold(1u64, |all, n| all.checked_mul(*n));
        let elements = elements.ok_or_else(|| refuse("its shape is too large".into()))?;
        // A tensor of all columns, unless the column itself has two dimensions.
        let (height, width) = match input.shape[..] {
            [rows] => (rows, 1),
            [_, 0] => return Err(refuse("its shape has no columns".into())),
            [rows, columns] => (rows, columns),
            _ => return Err(refuse("its shape is not [rows] or [rows, columns]".into())),
        };
        if *count.get_or_insert(height) != height {
            return Err(refuse("it has another number of rows than the first tensor".into()));
        }
        work.check_rows(height)?;
        work.check_cells(height, names.len())?;
        let is_column = names.contains(&input.name);
        let of: &[String] = match (is_column && width == 1, width == names.len() as u64) {
            (true, _) => std::slice::from_ref(&input.name),
            (false, true) => &names,
            (false, false) if width == 1 => std::slice::from_ref(&input.name), // No column of the model: the reader says so.
            _ => return Err(refuse(format!("it has {width} columns, the model has {}", names.len()))),
        };
        if of.iter().any(|column| columns.contains(column)) {
            return Err(refuse("the column is there twice".into()));
        }
        let (tensor, found) = match input.parameters.get("binary_data_size").and_then(Value::as_u64) {
            Some(size) if size <= tensors.len() as u64 => {
                let (bytes, rest) = tensors.split_at(size as usize);
                tensors = rest;
                binary(bytes, &input.datatype).map_err(refuse)?
            }
            Some(_) => return Err(refuse("the body ends before its data".into())),
            None => {
                let data = data.map_or("", |data| &text[data]);
                (Box::new(envelope::flat(data).map(envelope::cell)) as Tensor, envelope::flat(data).count())
            }
        };
        if found as u64 != elements {
            return Err(refuse(format!("its shape has {elements} elements, its data {found}")));
        }
        sources.extend(of.iter().map(|_| all.len()));
        columns.extend_from_slice(of);
        all.push(tensor);
    }
    let next = |place: usize| all[sources[place]].next().unwrap_or(Value::Null);
    Ok(served.predictor.reader().cells(&columns, count.unwrap_or(0) as usize, next))
}

/// The limit of the bytes of all tensors beside their data.
const MOST_BESIDE: usize = 1 << 20;

/// The elements of a tensor, in order.
type Tensor<'a> = Box<dyn Iterator<Item = Value> + 'a>;

/// The elements of a tensor in binary form, and how many they are: little-endian numbers, or texts behind their lengths.
fn binary<'a>(bytes: &'a [u8], datatype: &str) -> Result<(Tensor<'a>, usize), String> {
    fn numbers<const N: usize>(bytes: &[u8], read: fn([u8; N]) -> Value) -> Result<(Tensor<'_>, usize), String> {
        let (chunks, rest) = bytes.as_chunks::<N>();
        match rest.is_empty() {
            true => Ok((Box::new(chunks.iter().map(move |chunk| read(*chunk))), chunks.len())),
            false => Err("its data ends in the middle of a number".into()),
        }
    }
    // NaN is not a number in JSON, and becomes `null`: a missing cell.
    fn float(x: f64) -> Value {
        Number::from_f64(x).map_or(Value::Null, Value::Number)
    }
    match datatype {
        "BOOL" => numbers::<1>(bytes, |b| json!(b[0] != 0)),
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
            let mut count = 0;
            for text in texts(bytes) {
                std::str::from_utf8(text?).map_err(|_| "a text is not UTF-8")?;
                count += 1;
            }
            let text = |text: Result<&[u8], String>| json!(text.map(String::from_utf8_lossy).unwrap_or_default());
            Ok((Box::new(texts(bytes).map(text)), count))
        }
        _ => Err(format!("the type {datatype} cannot be read in binary form")),
    }
}

/// Texts, each behind its length.
fn texts(mut rest: &[u8]) -> impl Iterator<Item = Result<&[u8], String>> {
    std::iter::from_fn(move || {
        let (length, after) = match rest.split_at_checked(4) {
            Some((length, after)) => (u32::from_le_bytes([length[0], length[1], length[2], length[3]]), after),
            None if rest.is_empty() => return None,
            None => return Some(Err("its data ends in the middle of a text".into())),
        };
        match after.split_at_checked(length as usize) {
            Some((text, after)) => {
                rest = after;
                Some(Ok(text))
            }
            None => Some(Err("a text is longer than the data".into())),
        }
    })
}

/// A tensor of the answer, which grows with the rows.
struct Growing<'a> {
    name: &'a str,
    binary: bool,
    data: Text,
}

impl Growing<'_> {
    fn datatype(&self) -> &'static str {
        if self.name == "decision" { "BYTES" } else { "FP64" }
    }

    fn add(&mut self, prediction: &Prediction) {
        let numbers = match self.name {
            "posterior" => &prediction.posterior,
            "evidence" => &prediction.evidence,
            _ => {
                let text = prediction.decision.as_deref();
                match self.binary {
                    true => {
                        let text = text.unwrap_or_default();
                        self.data.last.extend((text.len() as u32).to_le_bytes());
                        self.data.last.extend_from_slice(text.as_bytes());
                    }
                    false => {
                        self.comma();
                        self.data.last.extend(text.map_or(b"null".to_vec(), crate::write::string));
                    }
                }
                self.data.turn();
                return;
            }
        };
        for x in numbers {
            match self.binary {
                true => self.data.last.extend(x.to_le_bytes()),
                false => {
                    self.comma();
                    number(&mut self.data.last, *x);
                }
            }
        }
        self.data.turn();
    }

    fn comma(&mut self) {
        if self.data.len() > 0 {
            self.data.last.push(b',');
        }
    }
}

/// The answer, and how long its JSON part is where tensors follow in binary form.
fn written(
    served: &Served,
    asked: &Asked,
    rows: &deciban_data::Rows,
    ask: &Ask,
    binary: bool,
    work: &Work,
) -> Result<(Text, Option<usize>), Problem> {
    let is_binary = |output: &Output| output.parameters.get("binary_data") == Some(&json!(true));
    let mut wanted: Vec<Growing> = match asked.outputs.is_empty() {
        true => ["decision", "posterior"].map(|name| Growing { name, binary, data: Text::default() }).into(),
        false => {
            let form = |output| (is_binary(output) || binary, Text::default());
            let named = asked.outputs.iter().map(|output| (output.name.as_str(), form(output)));
            named.map(|(name, (binary, data))| Growing { name, binary, data }).collect()
        }
    };
    for (place, output) in wanted.iter().enumerate() {
        if !["decision", "posterior", "evidence"].contains(&output.name) {
            let message = format!("there is no output `{}`: give decision, posterior or evidence", output.name);
            return Err(Problem::malformed(message));
        }
        if wanted[..place].iter().any(|other| other.name == output.name) {
            return Err(Problem::malformed(format!("the output `{}` is wanted twice", output.name)));
        }
    }
    let place = Rows::ListIn("inputs");
    let answered = answer(served, rows, ask, place, work, |part| {
        for output in &mut wanted {
            part.predictions.iter().for_each(|prediction| output.add(prediction));
        }
        wanted.iter().map(|output| output.data.len()).sum()
    });
    answered.map_err(|problem| Problem { pointer: None, ..problem })?;
    let (rows, classes) = (rows.len(), served.terms.costs.classes());
    let mut out = Text::new(b"{\"model_name\":");
    out.last.extend(crate::write::string(&served.name));
    out.last.extend_from_slice(b",\"model_version\":\"1\"");
    if let Some(id) = &asked.id {
        out.last.extend_from_slice(b",\"id\":");
        out.last.extend(crate::write::string(id));
    }
    out.last.extend_from_slice(b",\"outputs\":[");
    for (place, output) in wanted.iter_mut().enumerate() {
        if place > 0 {
            out.last.push(b',');
        }
        let shape = if output.name == "decision" { vec![rows] } else { vec![rows, classes] };
        let head = json!({ "name": output.name, "datatype": output.datatype(), "shape": shape }).to_string();
        out.last.extend_from_slice(&head.as_bytes()[..head.len() - 1]);
        match output.binary {
            true => {
                let parameters = json!({ "binary_data_size": output.data.len() });
                out.last.extend_from_slice(format!(",\"parameters\":{parameters}}}").as_bytes());
            }
            false => {
                out.last.extend_from_slice(b",\"data\":[");
                out.append(std::mem::take(&mut output.data));
                out.last.extend_from_slice(b"]}");
            }
        }
    }
    out.last.extend_from_slice(b"]}");
    let length = wanted.iter().any(|output| output.binary && output.data.len() > 0).then_some(out.len());
    wanted.into_iter().filter(|output| output.binary).for_each(|output| out.append(output.data));
    Ok((out, length))
}
