//! A connection whose client must read what it is sent: where it has not for a while, the connection ends, so that
//! clients that never read cannot hold answers, memory and connections for ever.

use std::future::Future;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Sleep, sleep};

/// A connection, and how long its client may take to make room for more bytes.
pub struct Paced<S> {
    stream: S,
    pace: Duration,
    /// Runs while the client makes no room.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Paced<S> {
    pub fn new(stream: S, pace: Duration) -> Self {
        Paced { stream, pace, waiting: None }
    }

    /// What came of an attempt to write, or an error where there was no room for too long.
    fn within<T>(&mut self, context: &mut Context<'_>, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let pace = self.pace;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(pace)));
        waiting.as_mut().poll(context).map(|()| Err(Error::new(ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<S: Read + Unpin> Read for Paced<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: ReadBufCursor<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: Write + Unpin> Write for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.within(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.within(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.within(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
