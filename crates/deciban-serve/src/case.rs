//! Routes about a case, for the page and for people who build their own: explain, rank, sample, map, evaluate.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use deciban::Error;
use deciban::learn::Classifier;
use deciban_data::{Format, Options, RowReader, Target};
use deciban_tasks::figures::{REPORT_POLICY, Use, report};
use deciban_tasks::{Evaluating, Mapping, PriorChoice, Sampling, cell, evaluate, sample};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answer;
use crate::ask::{Ask, Explain, pairs};
use crate::body;
use crate::envelope;
use crate::media::Media;
use crate::predict::{json as reply_json, reply, rows, utf8};
use crate::problem::{Problem, Rows};
use crate::router::Shared;

type Answered = Result<Response, Problem>;

/// `POST /v1/models/NAME/explain`: a ledger of each row.
pub async fn explain(State(shared): State<Arc<Shared>>, Path(name): Path<String>, request: Request) -> Answered {
    about(shared, &name, request, |ask| {
        if ask.explain == Explain::No {
            ask.explain = Explain::Best;
        }
    })
    .await
}

/// `POST /v1/models/NAME/rank`: log p(x) of each row, and its rank among rows of the model.
pub async fn rank(State(shared): State<Arc<Shared>>, Path(name): Path<String>, request: Request) -> Answered {
    about(shared, &name, request, |ask| ask.density = true).await
}

/// Predictions that tell more.
async fn about(shared: Arc<Shared>, name: &str, request: Request, more: fn(&mut Ask)) -> Answered {
    let served = shared.model(name)?;
    let (parts, body) = request.into_parts();
    let ask = Ask::of_query(&parts.uri)?;
    let media = Media::of_body(&parts.headers)?;
    let bytes = body::whole(&parts.headers, body, &shared.limits).await?;
    let (counted, columns) = (shared.clone(), shared.limits.columns);
    let text = shared
        .run(true, bytes.len(), move |work| {
            let (rows, mut ask, place) = rows(&served, media, &bytes, ask, columns, work)?;
            counted.metrics.count_rows(rows.len());
            more(&mut ask);
            answer::json(&served, &rows, &ask, place, work)
        })
        .await?;
    Ok(reply(Media::Json, text))
}

/// `GET /v1/models/NAME/sample?number=5&class=A&seed=7`: rows of the model.
pub async fn draw(State(shared): State<Arc<Shared>>, Path(name): Path<String>, uri: Uri) -> Answered {
    const MOST: u64 = 10_000;
    let served = shared.model(&name)?;
    let mut request = Sampling { number: 1, ..Sampling::default() };
    for (name, value) in pairs(uri.query().unwrap_or_default())? {
        let problem = |e: Error| Problem::of(&e, Rows::Elsewhere);
        let whole = |option: &'static str| {
            value.parse::<u64>().map_err(|_| problem(Error::parameter(option, "give a whole number")))
        };
        match name.as_str() {
            "number" => request.number = whole("number")?,
            "seed" => request.seed = whole("seed")?,
            "class" => request.class = Some(value),
            "prior" => request.prior = value.parse::<PriorChoice>().map_err(problem)?,
            _ => {
                return Err(problem(Error::Usage(format!(
                    "there is no option `{name}`: give number, class, prior or seed"
                ))));
            }
        }
    }
    if request.number > MOST {
        return Err(Problem::too_large(format!("at most {MOST} rows are drawn at once")));
    }
    let value = shared
        .run(true, 0, move |work| {
            let model = served.predictor.model();
            let schema = model.schema();
            let (mut rows, mut classes) = (Vec::new(), Vec::new());
            sample(model, &request, |class, cells| {
                work.goes_on()?;
                let named = |(place, value): (usize, &deciban::data::Value)| {
                    (schema.columns()[place].name.clone(), cell(value, schema, place))
                };
                rows.push(Value::Object(cells.iter().enumerate().map(named).collect::<Map<_, _>>()));
                classes.push(schema.classes()[class].clone());
                Ok(())
            })
            .map_err(|e| Problem::of(&e, Rows::Elsewhere))?;
            Ok(json!({ "model": served.name, "rows": rows, "classes": classes }))
        })
        .await?;
    Ok(reply_json(&value))
}

/// `POST /v1/models/NAME/map`: `{"row": {...}, "columns": ["a", "b"], ...}`.
pub async fn map(State(shared): State<Arc<Shared>>, Path(name): Path<String>, request: Request) -> Answered {
    let served = shared.model(&name)?;
    let (parts, body) = request.into_parts();
    let bytes = body::whole(&parts.headers, body, &shared.limits).await?;
    let value = shared
        .run(true, bytes.len(), move |work| {
            let text = utf8(&bytes)?;
            let [range] = envelope::values_of(text, ["row"])?;
            let mut all = envelope::beside(text, range.iter().cloned().collect())?;
            let Some(object) = all.as_object_mut() else {
                return Err(Problem::malformed("give an object with `columns`, and `row` for the other cells"));
            };
            object.remove("row");
            let row = range.map_or("{}", |range| &text[range]);
            work.check_json(row, served.columns())?;
            let mapping: Map<String, Value> = ["columns", "x", "y", "steps"]
                .into_iter()
                .filter_map(|key| Some((key.to_string(), object.remove(key)?)))
                .collect();
            let mapping = Mapping::deserialize(Value::Object(mapping))
                .map_err(|e| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "option", e.to_string()))?;
            let ask = Ask::default().with(&all)?;
            let problem = |e: Error| Problem::of(&e, Rows::OneIn("row"));
            let case = served.predictor.reader().json(row).map_err(problem)?;
            let map = served.predictor.map(&case, &mapping, &ask.application()).map_err(problem)?;
            Ok(json!(map))
        })
        .await?;
    Ok(reply_json(&value))
}

/// `POST /v1/models/NAME/evaluate`: rows with their classes, as CSV, TSV or JSON lines. The figures come as JSON, or
/// as a page with charts where the client accepts `text/html`.
pub async fn judge(State(shared): State<Arc<Shared>>, Path(name): Path<String>, request: Request) -> Answered {
    let served = shared.model(&name)?;
    let (parts, body) = request.into_parts();
    let ask = Ask::of_query(&parts.uri)?;
    let format = match Media::of_body(&parts.headers)? {
        Media::Csv => Format::Csv,
        Media::Tsv => Format::Tsv,
        Media::Json | Media::JsonLines => Format::Json,
        Media::Arrow => {
            let detail = "send rows with their classes as CSV or JSON lines";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail));
        }
    };
    let accept = parts.headers.get(axum::http::header::ACCEPT).and_then(|value| value.to_str().ok());
    let html = accept.is_some_and(|accept| accept.contains("text/html"));
    let bytes = body::whole(&parts.headers, body, &shared.limits).await?;
    let text = shared
        .run(true, bytes.len(), move |work| {
            let model = served.predictor.model();
            // A line is a row, but in a quoted field; objects of a list stand each in its braces.
            let marks = |mark: u8| bytes.iter().filter(|c| **c == mark).count() as u64;
            let rows = match format {
                Format::Json => marks(b'{'),
                _ => marks(b'\n').max(marks(b'\r')).saturating_sub(1),
            };
            work.check_rows(rows)?;
            work.check_cells(rows, served.columns() + 4 * model.schema().classes().len())?;
            let target = model.schema().target().to_string();
            let options = Options { target: Target::Column(target), unlabelled: true, ..Options::default() };
            let problem = |e: Error| Problem::of(&e, Rows::Elsewhere);
            let reader = RowReader::new(model.schema(), options).map_err(problem)?;
            let mut files = reader.stream(format, Box::new(std::io::Cursor::new(bytes))).map_err(problem)?;
            files.make_rereadable().map_err(problem)?;
            files.watched_by(work.watch());
            let request = Evaluating { application: ask.application(), ..Evaluating::default() };
            let terms = request.application.to_model(model).map_err(problem)?;
            if html {
                let used = Use { model, prior: &terms.prior, costs: &terms.costs };
                return Ok(report(&format!("{} on new rows", served.name), &files, &used)
                    .map_err(problem)?
                    .into_bytes());
            }
            Ok(evaluate(model, &files, &request).map_err(problem)?.json().to_string().into_bytes())
        })
        .await?;
    let mut response = reply(Media::Json, text);
    if html {
        let headers = response.headers_mut();
        headers.insert("content-type", axum::http::HeaderValue::from_static("text/html; charset=utf-8"));
        // Only a header says who may show it in a frame.
        let policy = axum::http::HeaderValue::from_str(&format!("{REPORT_POLICY}; frame-ancestors 'none'"));
        headers.insert("content-security-policy", policy.map_err(|_| Problem::internal())?);
        headers.insert("x-content-type-options", axum::http::HeaderValue::from_static("nosniff"));
    }
    Ok(response)
}
