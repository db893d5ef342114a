//! Bodies of any size: rows are read, scored and written as they come, in bounded memory.
//!
//! ```text
//! body ──task──▶ channel ──thread──▶ unpack ▶ parse ▶ score ▶ lines ──channel──▶ answer
//! ```
//! The status is settled by the first rows. What goes wrong later ends the answer before its last chunk, so that a
//! client sees that it is not whole.

use std::io::{self, Read};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use deciban::Error;
use deciban_data::Format;
use hyper::body::Frame;
use tokio::sync::{mpsc, oneshot};

use crate::ask::Ask;
use crate::body::{self, Coming, Packing};
use crate::media::Media;
use crate::models::Served;
use crate::options::Limits;
use crate::predict::{separators, too_many_columns};
use crate::problem::Problem;
use crate::router::{Shared, running};
use crate::work::{Waiting, Work, will_give_back};

/// Parts of a body, or of an answer, that may wait.
const WAITING: usize = 8;

/// Why reading ended, where the library sees only a failed read.
type Cause = Arc<Mutex<Option<Problem>>>;

fn put(cause: &Cause, problem: Problem) {
    // A panic elsewhere leaves a cause that is whole.
    cause.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(problem);
}

fn taken(cause: &Cause) -> Option<Problem> {
    cause.lock().unwrap_or_else(|e| e.into_inner()).take()
}

fn too_long(limits: &Limits) -> Problem {
    Problem::too_large(format!("the body has more than {} bytes", limits.stream))
}

/// Answers a large table with lines.
pub async fn route(
    shared: Arc<Shared>,
    served: Arc<Served>,
    ask: Ask,
    media: Media,
    wanted: Media,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let limits = shared.limits.clone();
    let mut body = Coming::new(body, &limits);
    if body::length(headers).is_some_and(|length| length > limits.stream) {
        tokio::spawn(body.drain());
        return Err(too_long(&limits));
    }
    let permit = shared.permit().await?;
    let first = body.next().await?.unwrap_or_default();
    let packing = body::packing(headers, &first)?;
    let cause = Cause::default();
    let (parts, received) = mpsc::channel::<Bytes>(WAITING);
    tokio::spawn({
        let cause = cause.clone();
        async move {
            let mut next = Ok(Some(first));
            loop {
                match next {
                    Ok(None) => return,
                    Ok(Some(bytes)) => {
                        if parts.send(bytes).await.is_err() {
                            return body.drain().await; // Nobody reads any more.
                        }
                    }
                    Err(problem) => return put(&cause, problem),
                }
                next = body.next().await;
            }
        }
    });
    let (lines, answer) = mpsc::channel::<Result<Bytes, io::Error>>(WAITING);
    let (settle, settled) = oneshot::channel::<Result<(), Problem>>();
    let handle = tokio::runtime::Handle::current();
    let work = Work::new(0, u64::MAX);
    let waiting = work.waiting();
    let running = running();
    will_give_back();
    tokio::task::spawn_blocking(move || {
        let _held = (permit, running);
        let mut settle = Some(settle);
        let reader = Received { parts: received, rest: Bytes::new(), cause: cause.clone() };
        let mut send = |text: String| {
            if let Some(settle) = settle.take() {
                let _ = settle.send(Ok(()));
            }
            let sent = handle.block_on(tokio::time::timeout(limits.pace, lines.send(Ok(text.into()))));
            // The client has gone, or does not read.
            sent.ok().and_then(Result::ok).ok_or(Error::Interrupted)
        };
        let done = predict(&shared, &served, &ask, media, wanted, packing, reader, &cause, &work, &mut send);
        if let Err(error) = done {
            let problem = taken(&cause).unwrap_or_else(|| Problem::of(&error, Default::default()));
            match settle.take() {
                Some(settle) => drop(settle.send(Err(problem))),
                None => {
                    shared.log(&format!("an answer ended early: {} {}", problem.status.as_u16(), problem.kind));
                    let _ = lines.blocking_send(Err(io::Error::other("the rows could not be read")));
                }
            }
        }
    });
    // A thread that panics drops its sender.
    settled.await.map_err(|_| Problem::internal())??;
    let mut response = Response::new(Body::new(Answer(answer, waiting)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(wanted.name()));
    Ok(response)
}

#[allow(clippy::too_many_arguments)]
fn predict(
    shared: &Shared,
    served: &Served,
    ask: &Ask,
    media: Media,
    wanted: Media,
    packing: Packing,
    reader: Received,
    cause: &Cause,
    work: &Work,
    send: &mut impl FnMut(String) -> deciban::Result<()>,
) -> deciban::Result<()> {
    let form = served.predictor.form(&ask.application(), &ask.shown())?;
    let unpacked = body::unpack(packing, reader).map_err(|e| Error::io("the body", e))?;
    let guarded = Guarded {
        bytes: unpacked,
        left: shared.limits.stream,
        columns: (media != Media::JsonLines).then_some(shared.limits.columns),
        started: packing == Packing::Plain,
        shared_limits: shared.limits.clone(),
        cause: cause.clone(),
    };
    let format = match media {
        Media::JsonLines => Format::Json,
        Media::Tsv => Format::Tsv,
        _ => Format::Csv,
    };
    let mut rows = served.predictor.reader().stream(format, Box::new(guarded))?;
    rows.watched_by(work.watch());
    let mut header = if wanted == Media::Csv { form.header() } else { String::new() };
    let (mut count, model) = (0u64, served.predictor.model());
    rows.map_in_order(
        |batch| {
            let text = match wanted {
                Media::Csv => form.csv(model, batch, |_| Vec::new())?.0,
                _ => form.json(model, batch, |_| Vec::new())?.0,
            };
            Ok((text, batch.rows()))
        },
        |(text, rows)| {
            count += rows as u64;
            shared.metrics.count_rows(rows);
            send(std::mem::take(&mut header) + &text)
        },
    )?;
    // A table without rows has its header.
    if count == 0 { send(header) } else { Ok(()) }
}

/// The bytes of a body, as a thread reads them.
struct Received {
    parts: mpsc::Receiver<Bytes>,
    rest: Bytes,
    cause: Cause,
}

impl Read for Received {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.parts.blocking_recv() {
                Some(bytes) => self.rest = bytes,
                None if self.cause.lock().unwrap_or_else(|e| e.into_inner()).is_some() => {
                    return Err(io::Error::other("the body ended early"));
                }
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.rest.len());
        buffer[..length].copy_from_slice(&self.rest.split_to(length));
        Ok(length)
    }
}

/// Unpacked bytes, of which there may be so many, with a header of so many columns.
struct Guarded {
    bytes: Box<dyn Read + Send>,
    left: u64,
    /// How many columns the rest of the header may have, until it has ended.
    columns: Option<usize>,
    /// Whether the first bytes have been looked at.
    started: bool,
    shared_limits: Limits,
    cause: Cause,
}

impl Read for Guarded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.bytes.read(buffer)?;
        let read = &buffer[..length];
        let fail = |problem: Problem| {
            put(&self.cause, problem);
            Err(io::Error::other("more than a limit"))
        };
        if !std::mem::replace(&mut self.started, true) && body::magic(read) != Packing::Plain {
            return fail(body::twice());
        }
        if length as u64 > self.left {
            return fail(too_long(&self.shared_limits));
        }
        self.left -= length as u64;
        if let Some(columns) = self.columns {
            let end = read.iter().position(|c| *c == b'\n');
            let found = separators(&read[..end.unwrap_or(length)]);
            if found >= columns {
                return fail(too_many_columns(self.shared_limits.columns));
            }
            self.columns = if end.is_some() { None } else { Some(columns - found) };
        }
        Ok(length)
    }
}

/// Lines as the body of an answer. The work ends when nobody reads them any more.
struct Answer(mpsc::Receiver<Result<Bytes, io::Error>>, #[allow(dead_code)] Waiting);

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|part| part.map(|part| part.map(Frame::data)))
    }
}
