//! A connection whose client must read what it is sent: where it has not for a while, the connection ends, so that
//! clients that never read cannot hold answers, memory and connections for ever. It also knows whether a request is on
//! its way, so that a server that stops answers it.

use std::future::Future;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Where a connection is between requests.
#[derive(Debug, Default)]
pub struct Talk {
    answering: AtomicBool,
    arriving: AtomicBool,
}

impl Talk {
    /// A request has been read up to its body.
    pub fn begin(&self) {
        self.answering.store(true, Ordering::SeqCst);
        self.arriving.store(false, Ordering::SeqCst);
    }

    /// It has an answer.
    pub fn end(&self) {
        self.answering.store(false, Ordering::SeqCst);
    }

    /// Whether bytes of a request have come that is not being answered yet.
    pub fn is_arriving(&self) -> bool {
        self.arriving.load(Ordering::SeqCst)
    }

    fn read(&self, bytes: usize) {
        if bytes > 0 && !self.answering.load(Ordering::SeqCst) {
            self.arriving.store(true, Ordering::SeqCst);
        }
    }
}

/// A connection, and how long its client may take to make room for more bytes.
pub struct Paced<S> {
    stream: S,
    pace: Duration,
    /// Runs while the client makes no room.
    waiting: Option<Pin<Box<Sleep>>>,
    talk: Arc<Talk>,
}

impl<S> Paced<S> {
    pub fn new(stream: S, pace: Duration, talk: Arc<Talk>) -> Self {
        Paced { stream, pace, waiting: None, talk }
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

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        self.talk.read(into.filled().len() - before);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
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
