//! A client's socket with the deadlines that hyper does not have: the first
//! byte and the headers of a request come in time, and an answer that nobody
//! takes off our hands is given up. Between requests a connection may idle
//! longer; that is hyper's own header timer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Waiting for the next request.
const IDLE: u8 = 0;
/// A request's head is under way; a new connection owes one.
const HEAD: u8 = 1;
/// A request is being served.
const BUSY: u8 = 2;

/// Where a connection stands, as its service tells it.
#[derive(Clone, Debug)]
pub struct Progress(Arc<AtomicU8>);

impl Progress {
    pub fn new() -> Self {
        Self(Arc::new(AtomicU8::new(HEAD)))
    }

    pub fn request_begins(&self) {
        self.0.store(BUSY, Ordering::Relaxed);
    }

    pub fn request_ends(&self) {
        self.0.store(IDLE, Ordering::Relaxed);
    }
}

pub struct Watched<S> {
    stream: S,
    progress: Progress,
    head: Duration,
    head_deadline: Pin<Box<Sleep>>,
    stall: Duration,
    /// Set while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Watched<S> {
    pub fn new(stream: S, progress: Progress, head: Duration, stall: Duration) -> Self {
        Self {
            stream,
            progress,
            head,
            head_deadline: Box::pin(sleep(head)),
            stall,
            stalled: None,
        }
    }

    /// Passes a write's result on, unless the client has taken nothing for too long.
    fn watch_write<T>(
        &mut self,
        cx: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.stalled = None;
            return result;
        }
        let stall = self.stall;
        let deadline = self.stalled.get_or_insert_with(|| Box::pin(sleep(stall)));
        match deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(too_slow("the client takes no answer"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

fn too_slow(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let result = Pin::new(&mut this.stream).poll_read(cx, buffer);
        let phase = this.progress.0.load(Ordering::Relaxed);
        match result {
            Poll::Ready(Ok(())) => {
                if phase == IDLE && buffer.filled().len() > before {
                    this.progress.0.store(HEAD, Ordering::Relaxed);
                    this.head_deadline
                        .as_mut()
                        .reset(Instant::now() + this.head);
                }
                Poll::Ready(Ok(()))
            }
            Poll::Pending if phase == HEAD && this.head_deadline.as_mut().poll(cx).is_ready() => {
                Poll::Ready(Err(too_slow("the client sends no request")))
            }
            other => other,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch_write(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch_write(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch_write(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_given_up() {
        let (_client, server) = tokio::io::duplex(16);
        let mut watched = Watched::new(server, Progress::new(), LONG, SHORT);
        let error = watched.write_all(&[0; 17]).await.expect_err("stalled");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn the_first_request_and_every_later_one_have_to_come_in_time() {
        let (mut client, server) = tokio::io::duplex(16);
        let progress = Progress::new();
        let mut watched = Watched::new(server, progress.clone(), SHORT, LONG);
        let mut byte = [0; 1];
        let error = watched.read(&mut byte).await.expect_err("no first byte");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // While a request is served and between two of them nothing is owed.
        progress.request_begins();
        assert!(
            tokio::time::timeout(SHORT * 2, watched.read(&mut byte))
                .await
                .is_err()
        );
        progress.request_ends();
        assert!(
            tokio::time::timeout(SHORT * 2, watched.read(&mut byte))
                .await
                .is_err()
        );
        // The next one's first byte starts the clock again.
        client.write_all(b"G").await.expect("open");
        assert_eq!(watched.read(&mut byte).await.expect("a byte"), 1);
        let error = watched.read(&mut byte).await.expect_err("no second byte");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
