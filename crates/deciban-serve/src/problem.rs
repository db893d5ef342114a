//! What is wrong with a request, as a problem document (RFC 9457) that points to the row and the column.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use deciban::{Error, Wording};
use serde_json::{Map, Value, json};

/// Why a request has no answer.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The status code.
    pub status: StatusCode,
    /// The last part of the type, by which programs tell problems apart.
    pub kind: &'static str,
    /// What is wrong, and what to do. It may hold cells, so it is never logged.
    pub detail: String,
    /// The row at fault, counted from 1.
    pub row: Option<u64>,
    /// The column at fault.
    pub column: Option<String>,
    /// The place in a JSON body, as a JSON pointer.
    pub pointer: Option<String>,
}

/// Where the rows stand in a JSON body, for pointers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rows {
    /// The body is no JSON.
    #[default]
    Elsewhere,
    /// The body is one row.
    One,
    /// The body is a list of rows.
    List,
    /// The body has one row under a name.
    OneIn(&'static str),
    /// The body has a list of rows under a name.
    ListIn(&'static str),
}

impl Rows {
    fn pointer(self, row: u64, column: Option<&str>) -> Option<String> {
        let column = column.map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).unwrap_or_default();
        let index = row.saturating_sub(1);
        Some(match self {
            Rows::Elsewhere => return None,
            Rows::One => format!("#{column}"),
            Rows::List => format!("#/{index}{column}"),
            Rows::OneIn(name) => format!("#/{name}{column}"),
            Rows::ListIn(name) => format!("#/{name}/{index}{column}"),
        })
    }
}

impl Problem {
    /// A problem of this kind.
    pub fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Problem { status, kind, detail: detail.into(), row: None, column: None, pointer: None }
    }

    /// A request that is not understood.
    pub fn malformed(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, "malformed", detail)
    }

    /// Something that is not there.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    /// More than a limit.
    pub fn too_large(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    }

    /// A client that takes too long.
    pub fn too_slow() -> Self {
        Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "the body did not come in time")
    }

    /// A server that has too much to do.
    pub fn busy(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
    }

    /// A fault of the server.
    pub fn internal() -> Self {
        let detail = "the server failed at this request; the log has the reason";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// What an error of the library means to a client; `rows` says where rows stand in its request.
    pub fn of(error: &Error, rows: Rows) -> Self {
        let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
        let (status, kind) = match error {
            Error::Input { line: Some(_), column: None, .. } => (StatusCode::BAD_REQUEST, "malformed"),
            Error::Input { .. } | Error::Schema(_) => (unprocessable, "columns"),
            Error::Missing { .. } | Error::Infinite { .. } | Error::Cell { .. } => (unprocessable, "cell"),
            Error::Row { .. } | Error::Weight { .. } | Error::Classes(_) => (unprocessable, "row"),
            Error::Parameter { .. } | Error::Usage(_) | Error::Prior(_) | Error::Costs(_) => (unprocessable, "option"),
            Error::Interrupted => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            Error::Io { .. } | Error::File { .. } => return Problem::internal(),
            _ => (unprocessable, "row"),
        };
        let (row, column, option) = match error {
            Error::Missing { column, row, .. } | Error::Infinite { column, row } | Error::Cell { column, row, .. } => {
                (Some(*row), Some(column.clone()), None)
            }
            Error::Row { row, .. } | Error::Weight { row, .. } => (Some(*row), None, None),
            Error::Input { column: Some(column), .. } => (None, Some(column.clone()), None),
            Error::Parameter { option, .. } => (None, None, Some(*option)),
            Error::Prior(_) => (None, None, Some("prior")),
            Error::Costs(_) => (None, None, Some("costs")),
            _ => (None, None, None),
        };
        let pointer = match (row, option) {
            (Some(row), _) => rows.pointer(row, column.as_deref()),
            (None, Some(option)) => Some(format!("#/{option}")),
            (None, None) => None,
        };
        Problem { status, kind, detail: error.worded(Wording::Plain), row, column, pointer }
    }

    /// The document.
    pub fn json(&self) -> Value {
        let mut document = Map::new();
        document.insert("type".into(), json!(format!("urn:deciban:problem:{}", self.kind)));
        document.insert("title".into(), json!(self.status.canonical_reason().unwrap_or_default()));
        document.insert("status".into(), json!(self.status.as_u16()));
        document.insert("detail".into(), json!(self.detail));
        if self.row.is_some() || self.column.is_some() || self.pointer.is_some() {
            let mut place = Map::new();
            place.insert("detail".into(), json!(self.detail));
            for (name, value) in
                [("row", json!(self.row)), ("column", json!(self.column)), ("pointer", json!(self.pointer))]
            {
                if !value.is_null() {
                    place.insert(name.into(), value);
                }
            }
            document.insert("errors".into(), json!([place]));
        }
        Value::Object(document)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.json().to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response.extensions_mut().insert(Kind(self.kind));
        response
    }
}

/// The kind of a problem, which the log may tell.
#[derive(Clone, Copy)]
pub struct Kind(pub &'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_name_the_row_and_the_column() {
        let error = Error::Cell { column: "a/b~c".into(), row: 3, message: "no".into() };
        let pointer = |rows| Problem::of(&error, rows).pointer;
        assert_eq!(pointer(Rows::List).as_deref(), Some("#/2/a~1b~0c"));
        assert_eq!(pointer(Rows::ListIn("rows")).as_deref(), Some("#/rows/2/a~1b~0c"));
        assert_eq!(pointer(Rows::One).as_deref(), Some("#/a~1b~0c"));
        assert_eq!(pointer(Rows::Elsewhere), None);
        let prior = Problem::of(&Error::Prior("no".into()), Rows::List);
        assert_eq!((prior.pointer.as_deref(), prior.status.as_u16()), (Some("#/prior"), 422));
    }
}
