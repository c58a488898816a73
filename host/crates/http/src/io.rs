//! A client's socket with the deadlines that hyper lacks: the first byte and the headers of a
//! request have to arrive in time, and an answer that the client does not read is given up.
//! Between requests a connection may idle longer; hyper's own header timer bounds that.

use std::io;
use std::pin::Pin;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::error::Family;
use super::head::Head;
use super::request_id::{self, RequestId};
use super::response::CARRIED_BY_ALL;
use crate::prelude::*;
use leadhost_domain::clock::SharedClock;

/// Waiting for the next request.
const IDLE: u8 = 0;
/// A request's head is arriving, or due on a new connection.
const HEAD: u8 = 1;
/// A request is being served.
const BUSY: u8 = 2;

/// The interval of the checks whether a request is still being served.
const AGAIN: Duration = Duration::from_millis(10);

/// The state of a connection, as its service reports it.
#[derive(Clone, Debug)]
pub struct ConnectionProgress(Arc<ConnectionState>);

#[derive(Debug)]
struct ConnectionState {
    /// Everything that had arrived when the connection was accepted has been read.
    received: AtomicBool,
    /// The phase while the connection is not busy.
    phase: AtomicU8,
    /// The parts of requests in progress that make it busy: an answer being made, a body
    /// arriving.
    parts: AtomicU32,
    /// When a request last began or ended, or an answer last moved, in microseconds since
    /// the process began to serve.
    moved: AtomicU64,
}

/// Keeps a connection busy until it is dropped.
#[derive(Debug)]
pub struct BusyGuard(ConnectionProgress);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.request_ends();
    }
}

impl ConnectionProgress {
    pub fn new() -> Self {
        Self(Arc::new(ConnectionState {
            received: AtomicBool::new(false),
            phase: AtomicU8::new(HEAD),
            parts: AtomicU32::new(0),
            moved: AtomicU64::new(now()),
        }))
    }

    /// Marks the beginning of a request, or of a part of it. Each needs its own `request_ends`.
    pub fn request_begins(&self) {
        self.0.phase.store(IDLE, Ordering::Relaxed);
        self.moves();
        self.0.parts.fetch_add(1, Ordering::Relaxed);
    }

    pub fn request_ends(&self) {
        self.moves();
        self.0.parts.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn busy_guard(&self) -> BusyGuard {
        self.request_begins();
        BusyGuard(self.clone())
    }

    /// Marks everything that the client had sent when it was accepted as read. From now on, a
    /// connection without a request idles.
    pub fn mark_received(&self) {
        self.0.received.store(true, Ordering::Relaxed);
    }

    /// Returns since when no request is being served, or `None` if one is. An unfinished head
    /// does not count as a request.
    pub fn idle_since(&self) -> Option<u64> {
        let idles = self.0.received.load(Ordering::Relaxed) && self.phase() != BUSY;
        idles.then(|| self.0.moved.load(Ordering::Relaxed))
    }

    /// Returns whether a request is being served, or its head has begun to arrive.
    pub fn is_under_way(&self) -> bool {
        self.phase() != IDLE
    }

    pub fn is_new(&self) -> bool {
        self.phase() == HEAD
    }

    pub fn is_busy(&self) -> bool {
        self.phase() == BUSY
    }

    pub fn moves(&self) {
        self.0.moved.store(now(), Ordering::Relaxed);
    }

    pub fn rests_for(&self) -> Duration {
        let moved = self.0.moved.load(Ordering::Relaxed);
        Duration::from_micros(now().saturating_sub(moved))
    }

    fn phase(&self) -> u8 {
        if self.0.parts.load(Ordering::Relaxed) > 0 {
            return BUSY;
        }
        self.0.phase.load(Ordering::Relaxed)
    }

    fn head_begins(&self) {
        self.0.phase.store(HEAD, Ordering::Relaxed);
    }
}

fn now() -> u64 {
    static START: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    u64::try_from(START.elapsed().as_micros()).unwrap_or(u64::MAX)
}

pub struct WatchedStream<S> {
    stream: S,
    progress: ConnectionProgress,
    head: Head,
    /// Why reading has ended.
    ended: Option<Ended>,
    head_time: Duration,
    head_deadline: Pin<Box<Sleep>>,
    stall: Duration,
    /// Set while the client reads nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    refusing: Refusing,
}

#[derive(Clone, Copy)]
enum Ended {
    /// The next request's head is refused, once the requests before it are answered.
    ByHead,
    /// The reader of the body gets the error, and answers.
    ByBody,
}

/// The settings for the refusal of a head.
#[derive(Clone)]
pub struct Refusing {
    pub family: Family,
    pub clock: SharedClock,
}

impl Refusing {
    pub fn answer(&self, error: &ApiError) -> Vec<u8> {
        let (status, _) = error.outside();
        let body = error.body(self.family).to_string();
        let id = RequestId::new(self.clock.now());
        let carried: String = CARRIED_BY_ALL
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {}\r\n{carried}\
             {}: {id}\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n{body}",
            reply::JSON,
            request_id::HEADER,
            body.len(),
        )
        .into_bytes()
    }
}

impl<S> WatchedStream<S> {
    /// The first request's head has to arrive by `first_head`, a later one's within `head_time`
    /// of its first byte.
    pub fn new(
        stream: S,
        progress: ConnectionProgress,
        first_head: Instant,
        head_time: Duration,
        stall: Duration,
        refusing: Refusing,
    ) -> Self {
        Self {
            stream,
            progress,
            head: Head::default(),
            ended: None,
            head_time,
            head_deadline: Box::pin(sleep_until(first_head)),
            stall,
            stalled: None,
            refusing,
        }
    }

    /// Returns an answer with a message in place of hyper's own answer to a head that it cannot
    /// read, which has none.
    fn in_words(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.progress.phase() != HEAD {
            return None;
        }
        let status = refused_head(bytes)?;
        let error = match status {
            _ if self.head.has_odd_coding() => ApiError::OddCoding,
            StatusCode::URI_TOO_LONG => ApiError::UriTooLong,
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ApiError::HeadersTooLarge,
            _ => ApiError::BadRequest(
                "This is not a valid HTTP/1.1 request: its first line, a header or its length cannot be read."
                    .to_owned(),
            ),
        };
        Some(self.refusing.answer(&error))
    }

    /// Passes a write's result on, unless the client has read nothing for too long.
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
            Poll::Ready(()) => Poll::Ready(Err(too_slow("the client does not read its answer"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

fn too_slow(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

/// Returns the status of an answer that hyper gave on its own. The service's answers have a
/// body.
fn refused_head(bytes: &[u8]) -> Option<StatusCode> {
    let rest = bytes.strip_prefix(b"HTTP/1.1 ")?;
    let status = StatusCode::from_bytes(rest.get(..3)?).ok()?;
    const EMPTY: &[u8] = b"\r\ncontent-length: 0\r\n";
    let is_empty = bytes.windows(EMPTY.len()).any(|part| part == EMPTY);
    (status.is_client_error() && is_empty).then_some(status)
}

fn bad_line() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "a line of the request ends with a bare line feed",
    )
}

fn bare_line_feed() -> ApiError {
    ApiError::BadRequest(
        "A line of the request's head ends with a bare line feed; end each line with a carriage return and a line feed."
            .to_owned(),
    )
}

impl<S: AsyncWrite + Unpin> WatchedStream<S> {
    /// Answers what is wrong with the head, and ends reading. A request that is being served is
    /// answered first.
    fn refuse(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.progress.phase() == BUSY {
            // The end of an answer does not wake this task.
            self.head_deadline.as_mut().reset(Instant::now() + AGAIN);
            if self.head_deadline.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        // If no write is stalled, none is in progress: the refusal does not cut into another
        // answer.
        if self.stalled.is_none() {
            let answer = self.refusing.answer(&bare_line_feed());
            let _ = Pin::new(&mut self.stream).poll_write(cx, &answer);
        }
        Poll::Ready(Err(bad_line()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match this.ended {
            Some(Ended::ByHead) => return this.refuse(cx),
            Some(Ended::ByBody) => return Poll::Ready(Err(bad_line())),
            None => {}
        }
        let before = buffer.filled().len();
        let result = Pin::new(&mut this.stream).poll_read(cx, buffer);
        let phase = this.progress.phase();
        match result {
            Poll::Ready(Ok(())) => {
                let came = &buffer.filled()[before..];
                if came.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                if phase == IDLE {
                    this.progress.head_begins();
                    this.head.may_begin();
                    let deadline = Instant::now() + this.head_time;
                    this.head_deadline.as_mut().reset(deadline);
                }
                let Err(found) = this.head.look(came) else {
                    return Poll::Ready(Ok(()));
                };
                let ended = if found.in_body {
                    Ended::ByBody
                } else {
                    Ended::ByHead
                };
                this.ended = Some(ended);
                match (found.before, ended) {
                    (0, Ended::ByHead) => this.refuse(cx),
                    (0, Ended::ByBody) => Poll::Ready(Err(bad_line())),
                    (sound, _) => {
                        buffer.set_filled(before + sound);
                        Poll::Ready(Ok(()))
                    }
                }
            }
            Poll::Pending if phase == HEAD && this.head_deadline.as_mut().poll(cx).is_ready() => {
                Poll::Ready(Err(too_slow("the client sends no request in time")))
            }
            other => other,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(words) = self.in_words(bytes) {
            let result = Pin::new(&mut self.stream).poll_write(cx, &words);
            return self.watch_write(cx, result.map_ok(|_| bytes.len()));
        }
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch_write(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(first) = slices.first()
            && let Some(words) = self.in_words(first)
        {
            let length = slices.iter().map(|slice| slice.len()).sum();
            let result = Pin::new(&mut self.stream).poll_write(cx, &words);
            return self.watch_write(cx, result.map_ok(|_| length));
        }
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

    fn refusing() -> Refusing {
        Refusing {
            family: Family::Gateway,
            clock: leadhost_domain::clock::ManualClock::at(leadhost_domain::time::Micros(0)),
        }
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_given_up() {
        let (_client, server) = tokio::io::duplex(16);
        let mut watched = WatchedStream::new(
            server,
            ConnectionProgress::new(),
            Instant::now() + LONG,
            LONG,
            SHORT,
            refusing(),
        );
        let error = watched.write_all(&[0; 17]).await.expect_err("stalled");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn every_request_has_to_arrive_in_time() {
        let (mut client, server) = tokio::io::duplex(16);
        let progress = ConnectionProgress::new();
        let mut watched = WatchedStream::new(
            server,
            progress.clone(),
            Instant::now() + SHORT,
            SHORT,
            LONG,
            refusing(),
        );
        let mut byte = [0; 1];
        let error = watched.read(&mut byte).await.expect_err("no first byte");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // While a request is served, and between two of them, no head is due.
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
        // The next request's first byte starts the clock again.
        client.write_all(b"G").await.expect("open");
        assert_eq!(watched.read(&mut byte).await.expect("a byte"), 1);
        let error = watched.read(&mut byte).await.expect_err("no second byte");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
