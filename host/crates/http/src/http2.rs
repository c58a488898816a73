//! HTTP/2: many requests at once over one connection. hyper bounds what arrives; the times for
//! which a client may idle, or read nothing, are enforced here.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::answer::answer;
use super::io::ConnectionProgress;
use crate::prelude::*;

/// The first bytes of a connection whose client knows in advance that the server supports HTTP/2
/// (RFC 9113, 3.4). No HTTP/1.1 request begins with them.
pub const PREFACE: &[u8; 3] = b"PRI";

/// The interval of the checks whether anything has moved.
const LOOK: Duration = Duration::from_secs(5);

/// A write that concerns only the connection itself is shorter.
const MOVES: usize = 256;

/// Answers requests until the client leaves, idles for too long, or `stop` returns.
pub async fn requests<S>(
    http: &Arc<Http>,
    surface: Surface,
    stream: S,
    peer: SocketAddr,
    progress: &ConnectionProgress,
    accepted: Instant,
    stop: impl Future<Output = ()>,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| {
        // Each request is a task of its own.
        let (http, progress) = (Arc::clone(http), progress.clone());
        let part = progress.busy_guard();
        async move {
            let request = named(request);
            let reply = answer(
                &http,
                surface,
                peer,
                &progress,
                ClientPresence::default(),
                request,
            )
            .await;
            drop(part);
            Ok::<_, Infallible>(reply)
        }
    });
    let header_bytes = u32::try_from(limits::HEADER_BYTES).unwrap_or(u32::MAX);
    let stream = Moving {
        stream,
        progress: progress.clone(),
    };
    let served = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits::STREAMS_PER_CONNECTION)
        .max_header_list_size(header_bytes)
        .initial_stream_window_size(limits::WINDOW_BYTES)
        .initial_connection_window_size(limits::WINDOW_BYTES)
        .max_send_buf_size(limits::CONNECTION_BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = pin!(served);
    let mut stop = pin!(stop);
    let head_time = http.core.config.server.header_time();
    loop {
        tokio::select! {
            result = served.as_mut() => return result,
            () = stop.as_mut() => break,
            () = tokio::time::sleep(LOOK.min(head_time)) => {}
        }
        match progress.rests_for() {
            _ if progress.is_new() && accepted.elapsed() >= head_time => return Ok(()),
            rest if progress.is_busy() && rest >= longest(http) => return Ok(()),
            rest if rest >= http.core.config.server.idle_time() && !progress.is_busy() => {
                break;
            }
            _ => {}
        }
    }
    // The client learns which of its requests are still answered.
    served.as_mut().graceful_shutdown();
    loop {
        tokio::select! {
            result = served.as_mut() => return result,
            () = http.core.shutdown.ended() => return Ok(()),
            () = tokio::time::sleep(head_time) => {}
        }
        if !progress.is_busy() || progress.rests_for() >= longest(http) {
            return Ok(());
        }
    }
}

/// Returns how long a request may take until a part of its answer is sent.
fn longest(http: &Http) -> Duration {
    let server = &http.core.config.server;
    server.body_time() + server.answer_time() + limits::STALL_LONGEST
}

/// Copies the authority of a request to where HTTP/1.1 has it, so that it is checked in one
/// place. If both are there and differ, both stay.
fn named(mut request: Request<Incoming>) -> Request<Incoming> {
    let authority = request.uri().authority();
    let host = authority.and_then(|name| HeaderValue::from_str(name.as_str()).ok());
    if let Some(host) = host {
        let headers = request.headers_mut();
        if headers.get(HOST) != Some(&host) {
            headers.append(HOST, host);
        }
    }
    request
}

/// A stream that records when a part of an answer was sent.
struct Moving<S> {
    stream: S,
    progress: ConnectionProgress,
}

impl<S> Moving<S> {
    fn wrote(&self, result: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = result
            && *bytes >= MOVES
        {
            self.progress.moves();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Moving<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Moving<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(&result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.wrote(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
