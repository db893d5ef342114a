//! `POST /v1/models/NAME/predict`: rows in, decisions and posteriors out.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use deciban_data::{ArrowSize, Rows as Read};
use serde_json::Value;

use crate::answer::answer;
use crate::ask::Ask;
use crate::body;
use crate::envelope;
use crate::media::Media;
use crate::models::Served;
use crate::options::Limits;
use crate::problem::{Problem, Rows};
use crate::router::Shared;
use crate::stream;

/// Bodies of tables above this are read as a stream.
const STREAM: u64 = 1 << 20;
/// Bodies above this are worked on by the pool, not by the thread of the connection.
const POOL: usize = 64 << 10;

/// The route.
pub async fn route(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let served = shared.model(&name)?;
    let (parts, body) = request.into_parts();
    let ask = Ask::of_query(&parts.uri)?;
    let media = Media::of_body(&parts.headers)?;
    let wanted = match media {
        Media::Json | Media::Arrow => Media::Json,
        Media::Tsv => Media::Csv,
        lines => lines,
    };
    let wanted = Media::wanted(&parts.headers, wanted)?;
    let is_table = matches!(media, Media::Csv | Media::Tsv | Media::JsonLines);
    let is_lines = matches!(wanted, Media::Csv | Media::JsonLines);
    if is_table
        && is_lines
        && ask.explain == Default::default()
        && body::length(&parts.headers).is_none_or(|n| n > STREAM)
    {
        return stream::route(shared, served, ask, media, wanted, &parts.headers, body).await;
    }
    let bytes = body::whole(&parts.headers, body, &shared.limits).await?;
    let heavy = bytes.len() > POOL || ask.explain != Default::default() || ask.density || ask.none_of_these.is_some();
    let limits = shared.limits.clone();
    let counted = shared.clone();
    let work = move || {
        let (rows, ask, place) = rows(&served, media, &bytes, ask, &limits)?;
        counted.metrics.count_rows(rows.len());
        let problem = |e: deciban::Error| Problem::of(&e, place);
        match wanted {
            Media::Csv | Media::JsonLines => {
                let form = served.predictor.form(&ask.application(), &ask.shown()).map_err(problem)?;
                let model = served.predictor.model();
                let batch = rows.batch().map_err(problem)?;
                let text = match wanted {
                    Media::Csv => form.header() + &form.csv(model, &batch, |_| Vec::new()).map_err(problem)?.0,
                    _ => form.json(model, &batch, |_| Vec::new()).map_err(problem)?.0,
                };
                Ok(text.into_bytes())
            }
            _ => Ok(answer(&served, &rows, &ask).map_err(problem)?.json(&served)),
        }
    };
    let text = shared.run(heavy, work).await?;
    Ok(reply(wanted, text))
}

/// An answer with its content type.
pub fn reply(media: Media, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media.name()));
    response
}

/// JSON as an answer.
pub fn json(value: &Value) -> Response {
    reply(Media::Json, value.to_string().into_bytes())
}

/// The rows of a body, with what a JSON request asks besides, and where the rows stand in it.
pub fn rows(
    served: &Served,
    media: Media,
    bytes: &Bytes,
    ask: Ask,
    limits: &Limits,
) -> Result<(Read, Ask, Rows), Problem> {
    let reader = served.predictor.reader();
    let (read, ask, place) = match media {
        Media::Json => {
            let text = utf8(bytes)?;
            match envelope::value_of(text, "rows") {
                Some(range) => {
                    let others = [&text[..range.start], "null", &text[range.end..]].concat();
                    let mut others: Value = serde_json::from_str(&others).map_err(|e| not_json(text, &e))?;
                    others.as_object_mut().map(|object| object.remove("rows"));
                    let place = match text.as_bytes()[range.start] {
                        b'[' => Rows::ListIn("rows"),
                        _ => Rows::OneIn("rows"),
                    };
                    (reader.json(&text[range]), ask.with(&others)?, place)
                }
                None => (reader.json(text), ask, envelope::shape(text)),
            }
        }
        Media::JsonLines => {
            let mut list = Vec::with_capacity(bytes.len() + 2);
            list.push(b'[');
            for line in utf8(bytes)?.lines().map(str::trim).filter(|line| !line.is_empty()) {
                if list.len() > 1 {
                    list.push(b',');
                }
                list.extend_from_slice(line.as_bytes());
            }
            list.push(b']');
            (reader.json(utf8(&list.into())?), ask, Rows::Elsewhere)
        }
        Media::Csv | Media::Tsv => {
            check_columns(bytes, limits)?;
            (reader.csv(bytes), ask, Rows::Elsewhere)
        }
        Media::Arrow => {
            let size = ArrowSize::of_stream(bytes).map_err(|e| Problem::malformed(format!("Arrow: {e}")))?;
            if size.compressed {
                let detail = "send Arrow batches without compression; the whole body may be compressed";
                return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail));
            }
            check_rows(size.rows, limits)?;
            if size.columns > limits.columns {
                return Err(too_many_columns(limits));
            }
            (reader.arrow(bytes), ask, Rows::Elsewhere)
        }
    };
    let read = read.map_err(|e| Problem::of(&e, place))?;
    check_rows(read.len() as u64, limits)?;
    Ok((read, ask, place))
}

/// An error if there are too many rows.
pub fn check_rows(rows: u64, limits: &Limits) -> Result<(), Problem> {
    match rows > limits.rows {
        true => Err(Problem::too_large(format!("there are more than {} rows", limits.rows))),
        false => Ok(()),
    }
}

/// An error if the first line has too many fields.
fn check_columns(bytes: &[u8], limits: &Limits) -> Result<(), Problem> {
    let line = bytes.split(|c| *c == b'\n').next().unwrap_or_default();
    match separators(line) >= limits.columns {
        true => Err(too_many_columns(limits)),
        false => Ok(()),
    }
}

/// How many characters of a header separate columns, at most.
pub fn separators(line: &[u8]) -> usize {
    line.iter().filter(|c| matches!(c, b',' | b';' | b'\t')).count()
}

/// The problem of a table with too many columns.
pub fn too_many_columns(limits: &Limits) -> Problem {
    Problem::too_large(format!("there are more than {} columns", limits.columns))
}

/// A body as text.
pub fn utf8(bytes: &Bytes) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|_| Problem::malformed("the body is not UTF-8"))
}

/// The problem of text that is not JSON.
pub fn not_json(text: &str, error: &serde_json::Error) -> Problem {
    // The place in the whole body, where that is at fault and not a part of it.
    let whole = serde_json::from_str::<serde::de::IgnoredAny>(text).err();
    let error = whole.as_ref().unwrap_or(error);
    Problem::malformed(format!("this is not JSON: {error}"))
}
