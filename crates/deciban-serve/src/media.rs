//! Content types: what a body is, and what a client wants to read.

use axum::http::{HeaderMap, HeaderName, StatusCode, header};

use crate::problem::Problem;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// JSON objects: one, a list of them, or a request that holds them.
    Json,
    /// A JSON object in each line.
    JsonLines,
    /// CSV with a header.
    Csv,
    /// The same with tabs.
    Tsv,
    /// An Arrow IPC stream.
    Arrow,
}

impl Media {
    /// The content type.
    pub fn name(self) -> &'static str {
        match self {
            Media::Json => "application/json",
            Media::JsonLines => "application/x-ndjson",
            Media::Csv => "text/csv; charset=utf-8",
            Media::Tsv => "text/tab-separated-values; charset=utf-8",
            Media::Arrow => "application/vnd.apache.arrow.stream",
        }
    }

    fn of(name: &str) -> Option<Media> {
        let essence = name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Some(match essence.as_str() {
            "application/json" | "text/json" => Media::Json,
            "application/x-ndjson" | "application/jsonl" | "application/x-jsonlines" | "application/jsonlines" => {
                Media::JsonLines
            }
            "text/csv" | "application/csv" => Media::Csv,
            "text/tab-separated-values" => Media::Tsv,
            "application/vnd.apache.arrow.stream" => Media::Arrow,
            // What `curl -d` says of anything.
            "application/x-www-form-urlencoded" => Media::Json,
            _ => return None,
        })
    }

    /// What a body is; JSON where nothing is said.
    pub fn of_body(headers: &HeaderMap) -> Result<Media, Problem> {
        let Some(name) = text(headers, header::CONTENT_TYPE) else { return Ok(Media::Json) };
        Media::of(name).ok_or_else(|| {
            let detail = "send application/json, application/x-ndjson, text/csv, text/tab-separated-values or \
                          application/vnd.apache.arrow.stream";
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail)
        })
    }

    /// What the client wants to read: the first that it names and we can write, or `otherwise`.
    pub fn wanted(headers: &HeaderMap, otherwise: Media) -> Result<Media, Problem> {
        let Some(accept) = text(headers, header::ACCEPT) else { return Ok(otherwise) };
        for name in accept.split(',') {
            let essence = name.split(';').next().unwrap_or_default().trim();
            match Media::of(essence) {
                Some(media @ (Media::Json | Media::JsonLines | Media::Csv)) => return Ok(media),
                _ if essence == "*/*" => return Ok(otherwise),
                _ if essence == "application/*" => return Ok(Media::Json),
                _ if essence == "text/*" => return Ok(Media::Csv),
                _ => {}
            }
        }
        let detail = "accept application/json, application/x-ndjson or text/csv";
        Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "media-type", detail))
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_says_what_it_reads() {
        let wanted = |accept: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            Media::wanted(&headers, Media::Csv).map_err(|problem| problem.status.as_u16())
        };
        assert_eq!(wanted("application/json"), Ok(Media::Json));
        assert_eq!(wanted("text/html, */*;q=0.1"), Ok(Media::Csv));
        assert_eq!(wanted("image/png"), Err(406));
        assert_eq!(Media::of_body(&HeaderMap::new()).unwrap(), Media::Json);
    }
}
