//! What platforms expect: KServe's first protocol, MLflow, SageMaker and Vertex AI. All of them post rows and read
//! `{"predictions": [...]}`.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use deciban::learn::Classifier;
use deciban_data::Rows as Read;
use serde_json::Value;

use crate::answer;
use crate::ask::{Ask, Explain};
use crate::body;
use crate::envelope;
use crate::media::Media;
use crate::models::Served;
use crate::predict::{check_lines, reply, rows, too_many_columns, utf8};
use crate::problem::{Problem, Rows};
use crate::router::Shared;
use crate::work::Work;
use crate::write::Text;

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
    let length = bytes.len();
    let (counted, columns) = (shared.clone(), shared.limits.columns);
    let heavy = length > 16 << 10 || explains;
    let answered = move |work: &Work| {
        let (rows, ask, place) = match media {
            Media::Json => instances(&served, utf8(&bytes)?, ask, columns, work)?,
            Media::Csv if !has_header(&served, &bytes) => {
                check_lines(&bytes, &served, work)?;
                let read = served.predictor.reader().csv_without_header(&bytes);
                let read = read.map_err(|e| Problem::of(&e, Rows::Elsewhere))?;
                work.check_rows(read.len() as u64)?;
                (read, ask, Rows::Elsewhere)
            }
            media => rows(&served, media, &bytes, ask, columns, work)?,
        };
        counted.metrics.count_rows(rows.len());
        if (wanted, explains) == (Media::Csv, false) {
            return answer::lines(&served, &rows, &ask, answer::Lines::Csv, place, work);
        }
        let mut out = Text::new(if explains { "{\"explanations\":[" } else { "{\"predictions\":[" });
        if explains {
            answer::answer(&served, &rows, &ask, place, work, |part| {
                for ledger in part.ledgers.unwrap_or_default() {
                    answer::comma(&mut out.last);
                    // Writing to a vector does not fail.
                    drop(serde_json::to_writer(&mut out.last, ledger));
                    out.turn();
                }
                out.len()
            })?;
            out.last.push(b']');
        } else {
            answer::list(&served, &rows, &ask, place, work, &mut out)?;
        }
        out.last.push(b'}');
        Ok(out)
    };
    Ok(reply(wanted, shared.run(heavy, length, answered).await?))
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

/// The rows of a request, what it asks besides, and where they stood.
fn instances(served: &Served, text: &str, ask: Ask, columns: usize, work: &Work) -> Result<(Read, Ask, Rows), Problem> {
    envelope::check(text)?;
    if !text.trim_start().starts_with('{') {
        return Err(Problem::malformed("give an object with instances, inputs, dataframe_split or dataframe_records"));
    }
    const KEYS: [&str; 4] = ["instances", "inputs", "dataframe_records", "dataframe_split"];
    let [rows @ .., parameters, params] =
        envelope::values_of(text, [KEYS[0], KEYS[1], KEYS[2], KEYS[3], "parameters", "params"])?;
    let mut asked = ask;
    for range in [parameters, params].into_iter().flatten() {
        let given = envelope::beside(&text[range], Vec::new())?;
        if given.is_object() {
            asked = asked.with(&given)?;
            break;
        }
    }
    let Some((key, range)) = KEYS.into_iter().zip(rows).find_map(|(key, range)| Some((key, range?))) else {
        return Err(Problem::malformed("give rows as instances, inputs, dataframe_split or dataframe_records"));
    };
    let (value, place) = (&text[range], Rows::ListIn(key));
    let read = match (key, value.as_bytes()[0]) {
        ("dataframe_split", b'{') => of_split(served, value, work)?,
        ("inputs", b'{') => of_columns(served, value, columns, work)?,
        (_, b'[') => match envelope::elements(value).next().map(|row| row.as_bytes()[0]) {
            None | Some(b'{') => {
                work.check_json(value, served.columns())?;
                served.predictor.reader().json(value)
            }
            Some(_) => of_lists(served, value, &served.predictor.model().schema().names(), work)?,
        },
        _ => return Err(Problem::malformed(format!("`{key}` does not hold rows"))),
    };
    Ok((read.map_err(|e| Problem::of(&e, place))?, asked, place))
}

/// The rows that were read, or the error of a row.
type ReadRows = deciban::Result<Read>;

/// Lists of cells in the order of some columns; a row of one column may be its cell.
fn of_lists(served: &Served, list: &str, names: &[String], work: &Work) -> Result<ReadRows, Problem> {
    let mut count = 0;
    for row in envelope::elements(list) {
        let cells = match row.as_bytes()[0] {
            b'[' => envelope::elements(row).count(),
            b'{' => return Err(Problem::malformed("rows are objects, or lists of cells, and not some of both")),
            _ => 1,
        };
        if cells != names.len() {
            return Err(Problem::malformed(format!("a row has {cells} cells, not {}", names.len())));
        }
        count += 1;
    }
    work.check_rows(count)?;
    work.check_cells(count, served.columns())?;
    let is_list = |row: &str| row.starts_with('[');
    let mut cells = envelope::elements(list).flat_map(|row| {
        // A cell that is alone stands for the list of it.
        let alone = (!is_list(row)).then_some(row);
        alone.into_iter().chain(envelope::elements(row))
    });
    let next = |_| cells.next().map_or(Value::Null, envelope::cell);
    Ok(served.predictor.reader().cells(names, count as usize, next))
}

/// `{"columns": [...], "data": [[...], ...]}`, as pandas splits a table.
fn of_split(served: &Served, split: &str, work: &Work) -> Result<ReadRows, Problem> {
    let [columns, data] = envelope::values_of(split, ["columns", "data"])?;
    let names = match columns.map(|range| envelope::beside(&split[range], Vec::new())).transpose()? {
        Some(Value::Array(columns)) => {
            let text = |column: Value| match column {
                Value::String(name) => name,
                column => column.to_string(),
            };
            columns.into_iter().map(text).collect()
        }
        _ => served.predictor.model().schema().names(),
    };
    match data.map(|range| &split[range]).filter(|data| data.starts_with('[')) {
        Some(data) if envelope::elements(data).any(|row| !row.starts_with('[')) => {
            Err(Problem::malformed("`data` is a list of rows, each a list of cells"))
        }
        Some(data) => of_lists(served, data, &names, work),
        None => Err(Problem::malformed("`dataframe_split` needs `data`, a list of rows")),
    }
}

/// `{"a": [1, 2], "b": [3, 4]}`: a list for each column.
fn of_columns(served: &Served, text: &str, most: usize, work: &Work) -> Result<ReadRows, Problem> {
    let (mut names, mut columns, mut count) = (Vec::new(), Vec::new(), None);
    for (name, range) in envelope::members(text) {
        let name: String = serde_json::from_str(&format!("\"{name}\"")).unwrap_or_default();
        let cells = &text[range];
        let found = if cells.starts_with('[') { envelope::elements(cells).count() } else { 1 };
        let expected = *count.get_or_insert(found);
        if found != expected {
            return Err(Problem::malformed(format!("`{name}` has {found} cells, the first column has {expected}")));
        }
        if names.len() == most {
            return Err(too_many_columns(most));
        }
        names.push(name);
        let alone = (!cells.starts_with('[')).then_some(cells);
        columns.push(alone.into_iter().chain(envelope::elements(cells)));
    }
    let count = count.unwrap_or(0);
    work.check_rows(count as u64)?;
    work.check_cells(count as u64, served.columns())?;
    let next = |place: usize| columns[place].next().map_or(Value::Null, envelope::cell);
    Ok(served.predictor.reader().cells(&names, count, next))
}
