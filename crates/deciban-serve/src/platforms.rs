//! What platforms expect: KServe's first protocol, MLflow, SageMaker and Vertex AI. All of them post rows and read
//! `{"predictions": [...]}`.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use deciban::learn::Classifier;
use serde_json::{Map, Value, json};

use crate::answer::answer;
use crate::ask::{Ask, Explain};
use crate::body;
use crate::media::Media;
use crate::models::Served;
use crate::predict::{check_rows, not_json, reply, rows, utf8};
use crate::problem::{Problem, Rows};
use crate::router::Shared;

type Answered = Result<Response, Problem>;

/// `POST /v1/models/NAME:predict` and `POST /v1/models/NAME:explain`.
pub async fn kserve(State(shared): State<Arc<Shared>>, Path(target): Path<String>, request: Request) -> Answered {
    let (name, explains) = match target.rsplit_once(':') {
        Some((name, "predict")) => (name, false),
        Some((name, "explain")) => (name, true),
        _ => return Err(Problem::not_found("post to NAME/predict, or to NAME:predict or NAME:explain")),
    };
    let served = shared.model(name)?;
    answered(shared, served, request, explains).await
}

/// `POST /invocations`: the first model, or the one that the header of SageMaker names.
pub async fn invocations(State(shared): State<Arc<Shared>>, request: Request) -> Answered {
    let named = request.headers().get("x-amzn-sagemaker-target-model").and_then(|value| value.to_str().ok());
    let served = match named {
        Some(name) => shared.model(name.trim_end_matches(".deciban"))?,
        None => shared.models.first().ok_or_else(|| Problem::not_found("there is no model"))?,
    };
    answered(shared, served, request, false).await
}

async fn answered(shared: Arc<Shared>, served: Arc<Served>, request: Request, explains: bool) -> Answered {
    let (parts, body) = request.into_parts();
    let mut ask = Ask::of_query(&parts.uri)?;
    if explains && ask.explain == Explain::No {
        ask.explain = Explain::Best;
    }
    let media = Media::of_body(&parts.headers)?;
    let wanted = wanted(&parts.headers)?;
    let bytes = body::whole(&parts.headers, body, &shared.limits).await?;
    let counted = shared.clone();
    let heavy = bytes.len() > 16 << 10 || explains;
    let work = move || {
        let limits = &counted.limits;
        let (rows, ask, place) = match media {
            Media::Json => {
                let text = utf8(&bytes)?;
                let request: Value = serde_json::from_str(text).map_err(|e| not_json(text, &e))?;
                let (list, ask, key) = instances(&served, request, ask)?;
                let place = Rows::ListIn(key);
                let read = served.predictor.reader().json_value(&list).map_err(|e| Problem::of(&e, place))?;
                check_rows(read.len() as u64, limits)?;
                (read, ask, place)
            }
            Media::Csv if !has_header(&served, &bytes) => {
                let read = served.predictor.reader().csv_without_header(&bytes);
                (read.map_err(|e| Problem::of(&e, Rows::Elsewhere))?, ask, Rows::Elsewhere)
            }
            media => rows(&served, media, &bytes, ask, limits)?,
        };
        counted.metrics.count_rows(rows.len());
        let problem = |e: deciban::Error| Problem::of(&e, place);
        let answer = answer(&served, &rows, &ask).map_err(problem)?;
        Ok(match (wanted, explains) {
            (_, true) => json!({ "explanations": answer.ledgers.unwrap_or_default() }).to_string().into_bytes(),
            (Media::Csv, false) => {
                let form = served.predictor.form(&ask.application(), &ask.shown()).map_err(problem)?;
                let batch = rows.batch().map_err(problem)?;
                form.csv(served.predictor.model(), &batch, |_| Vec::new()).map_err(problem)?.0.into_bytes()
            }
            (_, false) => answer.predictions(&served),
        })
    };
    Ok(reply(wanted, shared.run(heavy, work).await?))
}

/// JSON, unless the client wants CSV alone.
fn wanted(headers: &HeaderMap) -> Result<Media, Problem> {
    Ok(match Media::wanted(headers, Media::Json)? {
        Media::Csv => Media::Csv,
        _ => Media::Json,
    })
}

/// Whether the first line names columns of the model; what SageMaker sends does not.
fn has_header(served: &Served, bytes: &[u8]) -> bool {
    let line = bytes.split(|c| *c == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut fields =
        line.trim_start_matches('\u{feff}').split([',', ';', '\t']).map(|field| field.trim().trim_matches('"'));
    fields.any(|field| served.predictor.model().schema().columns().iter().any(|column| column.name == field))
}

/// The rows of a request as objects, what it asks besides, and where they stood.
fn instances(served: &Served, request: Value, ask: Ask) -> Result<(Value, Ask, &'static str), Problem> {
    let Value::Object(mut request) = request else {
        return Err(Problem::malformed("give an object with instances, inputs, dataframe_split or dataframe_records"));
    };
    let names: Vec<String> = served.predictor.model().schema().names();
    let ask = match (request.remove("parameters"), request.remove("params")) {
        (Some(asked @ Value::Object(_)), _) | (_, Some(asked @ Value::Object(_))) => ask.with(&asked)?,
        _ => ask,
    };
    for key in ["instances", "inputs", "dataframe_records", "dataframe_split"] {
        let Some(value) = request.remove(key) else { continue };
        let list = match (key, value) {
            ("dataframe_split", Value::Object(split)) => of_split(split, &names)?,
            (_, Value::Object(columns)) if key == "inputs" => of_columns(columns)?,
            (_, Value::Array(rows)) => rows.into_iter().map(|row| of_row(row, &names)).collect::<Result<_, _>>()?,
            _ => return Err(Problem::malformed(format!("`{key}` does not hold rows"))),
        };
        return Ok((Value::Array(list), ask, key));
    }
    Err(Problem::malformed("give rows as instances, inputs, dataframe_split or dataframe_records"))
}

/// A row by name, or with its cells in the order of the model.
fn of_row(row: Value, names: &[String]) -> Result<Value, Problem> {
    match row {
        Value::Object(row) => Ok(Value::Object(row)),
        Value::Array(cells) => named(cells, names),
        cell if names.len() == 1 => named(vec![cell], names),
        _ => Err(Problem::malformed("a row is an object, or a list of its cells in the order of the model's columns")),
    }
}

fn named(cells: Vec<Value>, names: &[String]) -> Result<Value, Problem> {
    match cells.len() == names.len() {
        true => Ok(Value::Object(names.iter().cloned().zip(cells).collect())),
        false => Err(Problem::malformed(format!("a row has {} cells, not {}", cells.len(), names.len()))),
    }
}

/// `{"columns": [...], "data": [[...], ...]}`, as pandas splits a table.
fn of_split(mut split: Map<String, Value>, names: &[String]) -> Result<Vec<Value>, Problem> {
    let columns = match split.remove("columns") {
        Some(Value::Array(columns)) => {
            let text = |column: &Value| column.as_str().map_or_else(|| column.to_string(), String::from);
            columns.iter().map(text).collect()
        }
        _ => names.to_vec(),
    };
    match split.remove("data") {
        Some(Value::Array(rows)) => rows
            .into_iter()
            .map(|row| match row {
                Value::Array(cells) => named(cells, &columns),
                _ => Err(Problem::malformed("`data` is a list of rows, each a list of cells")),
            })
            .collect(),
        _ => Err(Problem::malformed("`dataframe_split` needs `data`, a list of rows")),
    }
}

/// `{"a": [1, 2], "b": [3, 4]}`: a list for each column.
fn of_columns(columns: Map<String, Value>) -> Result<Vec<Value>, Problem> {
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    let mut count = None;
    for (name, cells) in columns {
        let cells = match cells {
            Value::Array(cells) => cells,
            cell => vec![cell],
        };
        let expected = *count.get_or_insert(cells.len());
        if cells.len() != expected {
            let found = cells.len();
            return Err(Problem::malformed(format!("`{name}` has {found} cells, the first column has {expected}")));
        }
        rows.resize_with(expected, Map::new);
        rows.iter_mut().zip(cells).for_each(|(row, cell)| drop(row.insert(name.clone(), cell)));
    }
    Ok(rows.into_iter().map(Value::Object).collect())
}
