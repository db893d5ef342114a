//! The body of a request: read with limits on its size, the size behind its compression, and its pace.

use std::io::Read;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;

use crate::options::Limits;
use crate::problem::Problem;
use crate::work::will_give_back;

/// How the bytes of a body are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As they are.
    Plain,
    /// By gzip.
    Gzip,
    /// By zstd.
    Zstd,
}

/// A body on its way, with limits on its pauses and on the time that the client takes for all of it.
pub struct Coming {
    body: Body,
    pause: Duration,
    /// How long the client may still take.
    left: Duration,
}

/// A client has one second more for this many bytes.
const SECOND: u32 = 64 << 10;

impl Coming {
    /// A body, of which nothing has been read.
    pub fn new(body: Body, limits: &Limits) -> Self {
        Coming { body, pause: limits.pace, left: limits.coming }
    }

    /// Reads the next bytes; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let begun = Instant::now();
            let frame = tokio::time::timeout(self.pause.min(self.left), self.body.frame()).await;
            // Only the time counts in which the client is waited for.
            self.left = self.left.saturating_sub(begun.elapsed());
            match frame.map_err(|_| Problem::too_slow())? {
                None => return Ok(None),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) if !bytes.is_empty() => {
                        self.left += Duration::from_secs(1) * bytes.len() as u32 / SECOND;
                        return Ok(Some(bytes));
                    }
                    _ => continue, // Trailers, or nothing.
                },
                Some(Err(_)) => return Err(Problem::malformed("the connection ended before the body did")),
            }
        }
    }

    /// Reads on for a while: a client that still sends may not see the answer if the connection is closed before.
    pub async fn drain(mut self) {
        const MOST: usize = 64 << 20;
        self.pause = Duration::from_secs(1);
        let read = async {
            let mut length = 0;
            while let Ok(Some(bytes)) = self.next().await {
                length += bytes.len();
                if length > MOST {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(5), read).await;
    }
}

/// The length that the headers promise.
pub fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Whether the headers say that the body is packed.
pub fn is_packed(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_ENCODING).is_some_and(|value| !matches!(value.as_bytes(), b"" | b"identity"))
}

/// After a body above this, memory is given back.
pub const LARGE: usize = 64 << 10;

/// A body that is held in memory, unpacked.
pub async fn whole(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Bytes, Problem> {
    let mut body = Coming::new(body, limits);
    let too_large = || Problem::too_large(format!("the body has more than {} bytes", limits.body));
    if length(headers).is_some_and(|length| length > limits.body as u64) {
        // Who waits to be told to go on is told not to; others send all the same.
        if !headers.contains_key(header::EXPECT) {
            tokio::spawn(body.drain());
        }
        return Err(too_large());
    }
    let Some(first) = body.next().await? else { return Ok(Bytes::new()) };
    let mut rest: Option<Vec<u8>> = None;
    while let Some(bytes) = body.next().await? {
        let all = rest.get_or_insert_with(|| first.to_vec());
        if all.len() + bytes.len() > limits.body {
            tokio::spawn(body.drain());
            return Err(too_large());
        }
        all.extend_from_slice(&bytes);
    }
    let bytes = rest.map_or(first, Bytes::from);
    if bytes.len() > limits.body {
        return Err(too_large());
    }
    if bytes.len() > LARGE {
        will_give_back();
    }
    match packing(headers, &bytes)? {
        Packing::Plain => Ok(bytes),
        packed => {
            will_give_back();
            let mut all = Vec::new();
            let mut unpacked = unpack(packed, std::io::Cursor::new(bytes)).map_err(|_| damaged())?;
            unpacked.by_ref().take(limits.unpacked as u64 + 1).read_to_end(&mut all).map_err(|_| damaged())?;
            match all.len() > limits.unpacked {
                true => Err(Problem::too_large(format!("the body unpacks to more than {} bytes", limits.unpacked))),
                false if magic(&all) != Packing::Plain => Err(twice()),
                false => Ok(all.into()),
            }
        }
    }
}

fn damaged() -> Problem {
    Problem::malformed("the compressed body is damaged or ends too early")
}

/// A body that was packed twice.
pub fn twice() -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", "the body is compressed twice: compress it once")
}

/// What the header, or the first bytes, say of the packing.
pub fn packing(headers: &HeaderMap, start: &[u8]) -> Result<Packing, Problem> {
    match headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes()) {
        None | Some(b"" | b"identity") => Ok(magic(start)),
        Some(b"gzip" | b"x-gzip") => Ok(Packing::Gzip),
        Some(b"zstd") => Ok(Packing::Zstd),
        Some(_) => {
            let detail = "the content encoding is not known: send gzip, zstd or identity";
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail))
        }
    }
}

/// What the first bytes say of the packing.
pub fn magic(start: &[u8]) -> Packing {
    match start {
        [0x1f, 0x8b, ..] => Packing::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
        _ => Packing::Plain,
    }
}

/// The bytes behind a packing.
pub fn unpack<'a>(packing: Packing, bytes: impl Read + Send + 'a) -> std::io::Result<Box<dyn Read + Send + 'a>> {
    Ok(match packing {
        Packing::Plain => Box::new(bytes),
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        Packing::Zstd => Box::new(zstd::stream::read::Decoder::new(bytes)?),
    })
}
