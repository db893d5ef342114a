//! `POST /v1/models/NAME/predict`: rows in, decisions and posteriors out.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use deciban_data::{ArrowSize, Rows as Read};
use serde_json::Value;

use crate::answer;
use crate::ask::Ask;
use crate::body;
use crate::envelope;
use crate::media::Media;
use crate::models::Served;
use crate::problem::{Problem, Rows};
use crate::router::Shared;
use crate::stream;
use crate::work::Work;

/// Bodies of tables above this are read as a stream. No smaller one has more rows than fit into memory.
const STREAM: u64 = 128 << 10;
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
        && (body::is_packed(&parts.headers) || body::length(&parts.headers).is_none_or(|n| n > STREAM))
    {
        return stream::route(shared, served, ask, media, wanted, &parts.headers, body).await;
    }
    let bytes = body::whole(&parts.headers, body, &shared.limits).await?;
    let heavy = bytes.len() > POOL || ask.explain != Default::default() || ask.density || ask.none_of_these.is_some();
    let (counted, columns) = (shared.clone(), shared.limits.columns);
    let text = shared
        .run(heavy, bytes.len(), move |work| {
            let (rows, ask, place) = rows(&served, media, &bytes, ask, columns, work)?;
            counted.metrics.count_rows(rows.len());
            match wanted {
                Media::Csv => answer::lines(&served, &rows, &ask, answer::Lines::Table, place, work),
                Media::JsonLines => answer::lines(&served, &rows, &ask, answer::Lines::Json, place, work),
                _ => answer::json(&served, &rows, &ask, place, work),
            }
        })
        .await?;
    Ok(reply(wanted, text))
}

/// An answer with its content type.
pub fn reply(media: Media, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media.name()));
    response
}

/// JSON as an answer.
pub fn json(value: &Value) -> Response {
    reply(Media::Json, value.to_string().into_bytes())
}

/// The rows of a body, with what a JSON request asks besides, and where the rows are in it. A table may have up to
/// `columns` columns.
pub fn rows(
    served: &Served,
    media: Media,
    bytes: &Bytes,
    ask: Ask,
    columns: usize,
    work: &Work,
) -> Result<(Read, Ask, Rows), Problem> {
    let reader = served.predictor.reader();
    let json = |text: &str| {
        work.check_json(text, served.columns())?;
        Ok::<_, Problem>(reader.json(text))
    };
    let (read, ask, place) = match media {
        Media::Json => {
            let text = utf8(bytes)?;
            match envelope::values_of(text, ["rows"])? {
                [Some(range)] => {
                    let mut others = envelope::beside(text, vec![range.clone()])?;
                    others.as_object_mut().map(|object| object.remove("rows"));
                    let place = match text.as_bytes()[range.start] {
                        b'[' => Rows::ListIn("rows"),
                        _ => Rows::OneIn("rows"),
                    };
                    (json(&text[range])?, ask.with(&others)?, place)
                }
                [None] => (json(text)?, ask, envelope::shape(text)),
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
            (json(utf8(&list.into())?)?, ask, Rows::Elsewhere)
        }
        Media::Csv | Media::Tsv => {
            check_columns(bytes, columns)?;
            check_lines(bytes, served, work)?;
            (reader.csv(bytes), ask, Rows::Elsewhere)
        }
        Media::Arrow => {
            let size = ArrowSize::of_stream(bytes).map_err(|e| Problem::malformed(format!("Arrow: {e}")))?;
            if size.compressed {
                let detail = "send Arrow batches without compression; the whole body may be compressed";
                return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail));
            }
            work.check_rows(size.rows)?;
            work.check_cells(size.rows, served.columns())?;
            if size.columns > columns {
                return Err(too_many_columns(columns));
            }
            (reader.arrow(bytes), ask, Rows::Elsewhere)
        }
    };
    let read = read.map_err(|e| Problem::of(&e, place))?;
    work.check_rows(read.len() as u64)?;
    Ok((read, ask, place))
}

/// An error if the cells of a table would take too much memory. Lines are counted, and a row may have several of them in
/// a quoted field, so the number of rows is checked again when they have been read.
pub fn check_lines(bytes: &[u8], served: &Served, work: &Work) -> Result<(), Problem> {
    work.check_cells(bytes.iter().filter(|c| matches!(c, b'\n' | b'\r')).count() as u64, served.columns())
}

/// An error if the first line has too many fields.
fn check_columns(bytes: &[u8], most: usize) -> Result<(), Problem> {
    let line = bytes.split(|c| *c == b'\n').next().unwrap_or_default();
    match separators(line) >= most {
        true => Err(too_many_columns(most)),
        false => Ok(()),
    }
}

/// How many characters of a header separate columns, at most.
pub fn separators(line: &[u8]) -> usize {
    line.iter().filter(|c| matches!(c, b',' | b';' | b'\t')).count()
}

/// The problem of a table with too many columns.
pub fn too_many_columns(most: usize) -> Problem {
    Problem::too_large(format!("there are more than {most} columns"))
}

/// A body as text.
pub fn utf8(bytes: &Bytes) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|_| Problem::malformed("the body is not UTF-8"))
}
