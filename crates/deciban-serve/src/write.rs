//! Predictions as JSON. Numbers are the shortest that give the same double; infinite evidence is `"inf"` or `"-inf"`,
//! and 0/0 is `null`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use deciban_tasks::Prediction;
use deciban_tasks::ledger::Ledger;
use hyper::body::{Frame, SizeHint};

/// The bytes of a piece.
const PIECE: usize = 1 << 20;

/// The text of an answer, in pieces: one that grows would be copied again and again, and take twice its memory.
#[derive(Debug, Default)]
pub struct Text {
    full: VecDeque<Bytes>,
    /// How many bytes there are in full pieces.
    bytes: usize,
    /// The piece that is being written.
    pub last: Vec<u8>,
}

impl Text {
    /// Begins with this.
    pub fn new(start: impl Into<Vec<u8>>) -> Self {
        Text { last: start.into(), ..Text::default() }
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.bytes + self.last.len()
    }

    /// Begins a new piece where the last one is full. To be called between rows.
    pub fn turn(&mut self) {
        if self.last.len() >= PIECE {
            self.bytes += self.last.len();
            self.full.push_back(std::mem::replace(&mut self.last, Vec::with_capacity(PIECE + PIECE / 8)).into());
        }
    }

    /// Adds the pieces of another text.
    pub fn append(&mut self, mut other: Text) {
        self.bytes += self.last.len() + other.bytes;
        if !self.last.is_empty() {
            self.full.push_back(std::mem::take(&mut self.last).into());
        }
        self.full.append(&mut other.full);
        self.last = other.last;
    }
}

impl From<Text> for Body {
    fn from(mut text: Text) -> Body {
        if text.full.is_empty() {
            return Body::from(text.last);
        }
        text.bytes += text.last.len();
        text.full.push_back(text.last.into());
        Body::new(Pieces { rest: text.full, bytes: text.bytes })
    }
}

/// A text as the body of an answer.
struct Pieces {
    rest: VecDeque<Bytes>,
    bytes: usize,
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.rest.pop_front();
        self.bytes -= piece.as_ref().map_or(0, Bytes::len);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes as u64)
    }
}

/// What of a prediction is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// The evidence for each class.
    pub evidence: bool,
    /// log p(x) and its rank.
    pub density: bool,
    /// The expected cost of the decision.
    pub risk: bool,
}

/// The keys of a model's classes, ready to be written: `"Barolo":`.
#[derive(Debug)]
pub struct Keys(Vec<Vec<u8>>);

impl Keys {
    /// Of these classes.
    pub fn new(classes: &[String]) -> Self {
        Keys(classes.iter().map(|class| [&string(class)[..], b":"].concat()).collect())
    }
}

/// A JSON string.
pub fn string(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).unwrap_or_default()
}

/// A JSON number.
pub fn number(out: &mut Vec<u8>, x: f64) {
    match x {
        f64::INFINITY => out.extend_from_slice(b"\"inf\""),
        f64::NEG_INFINITY => out.extend_from_slice(b"\"-inf\""),
        x if x.is_nan() => out.extend_from_slice(b"null"),
        // Writing to a vector does not fail.
        x => drop(serde_json::to_writer(out, &x)),
    }
}

fn numbers(out: &mut Vec<u8>, keys: &Keys, values: &[f64]) {
    out.push(b'{');
    for (place, (key, value)) in keys.0.iter().zip(values).enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(key);
        number(out, *value);
    }
    out.push(b'}');
}

/// One prediction as an object.
pub fn prediction(
    out: &mut Vec<u8>,
    keys: &Keys,
    prediction: &Prediction,
    told: Told,
    densities: Option<&[f64]>,
    ledger: Option<&Ledger>,
) {
    out.extend_from_slice(b"{\"decision\":");
    match &prediction.decision {
        Some(decision) => drop(serde_json::to_writer(&mut *out, decision)),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"posterior\":");
    numbers(out, keys, &prediction.posterior);
    if told.evidence {
        out.extend_from_slice(b",\"evidence\":");
        numbers(out, keys, &prediction.evidence);
    }
    if told.density {
        let pairs = [(&b",\"log_density\":"[..], prediction.log_density), (b",\"rank\":", prediction.rank)];
        for (key, value) in pairs {
            if let Some(value) = value {
                out.extend_from_slice(key);
                number(out, value);
            }
        }
    }
    if let Some(densities) = densities {
        out.extend_from_slice(b",\"log_densities\":");
        numbers(out, keys, densities);
    }
    if told.risk {
        out.extend_from_slice(b",\"risk\":");
        number(out, prediction.risk);
    }
    if let Some(ledger) = ledger {
        out.extend_from_slice(b",\"ledger\":");
        drop(serde_json::to_writer(&mut *out, ledger));
    }
    out.push(b'}');
}
