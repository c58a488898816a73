//! The accept loop: a permit for each connection, deadlines for what a client
//! may leave undone, and an end without cutting anybody off.
//!
//! There is a place for each connection, and idle ones make room (`crowd`); while
//! all are being served, the next waits in the kernel's queue, where it costs
//! nothing. A drain lets connections in for a moment more, tells all of them to
//! close after their next answer, closes those that idle, then the listener
//! (`closing`), and drops what is left when its time is up.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::answer::answer;
use super::closing;
use super::crowd::{Crowd, TooManyOfOne};
use super::error::ApiError;
use super::http2;
use super::io::{Progress, Refusing, Watched};
use super::operators;
use super::presence::Client;
use super::route::Surface;
use super::tls::{self, Tls};
use crate::http::state::Http;
use crate::limits;
use crate::telemetry::Metrics;

/// Serves a listener until a moment after the drain began; the admin surface until
/// the drain has ended. What waits for others is done by the threads of `serving`.
pub async fn serve(
    http: Arc<Http>,
    listener: TcpListener,
    surface: Surface,
    tls: Option<Arc<Tls>>,
    serving: Handle,
) {
    let crowd = match surface {
        Surface::Admin => http.operators.clone(),
        Surface::Gateway | Surface::Data | Surface::Both => http.crowd.clone(),
    };
    // Only what outsiders asked for holds up a drain.
    let _hold = (surface != Surface::Admin).then(|| http.core.shutdown.hold());
    let door = Door {
        http: &http,
        crowd: &crowd,
        surface,
        tls: tls.as_ref(),
        serving: &serving,
    };
    door.admit_until(&listener, stop(&http, surface)).await;
    if surface == Surface::Admin {
        return;
    }
    // Closing a listener resets connections that nobody has accepted yet. So the
    // kernel begins no more of them, and those that it has begun are let in.
    if let Err(error) = closing::begin_no_more(&listener) {
        tracing::warn!(%error, "clients that connect while the listener closes may be cut off");
    }
    let last = tokio::time::sleep(Duration::from_millis(limits::LISTENER_CLOSES_MS));
    door.admit_until(&listener, last).await;
    match listener.into_std() {
        Ok(listener) => door.admit_the_rest(&listener).await,
        Err(error) => {
            tracing::warn!(%error, "connections that nobody has accepted yet are cut off");
        }
    }
}

/// Where connections come in.
struct Door<'a> {
    http: &'a Arc<Http>,
    crowd: &'a Arc<Crowd>,
    surface: Surface,
    tls: Option<&'a Arc<Tls>>,
    serving: &'a Handle,
}

impl Door<'_> {
    async fn admit_until(&self, listener: &TcpListener, until: impl Future<Output = ()>) {
        tokio::pin!(until);
        let mut pause = FIRST_PAUSE;
        loop {
            let accepted = tokio::select! {
                () = &mut until => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    pause = FIRST_PAUSE;
                    self.admit(stream, peer).await;
                }
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => {
                    // Out of file descriptors, mostly: a tight loop would not bring one back.
                    let say = async move { tracing::warn!(%error, "cannot accept connections") };
                    self.serving.spawn(say);
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
            }
        }
    }

    /// Those that the kernel has let in, which it is asked itself: what the runtime
    /// knows of it may be a moment old.
    async fn admit_the_rest(&self, listener: &std::net::TcpListener) {
        while let Ok((stream, peer)) = listener.accept() {
            let stream = stream
                .set_nonblocking(true)
                .and_then(|()| TcpStream::from_std(stream));
            if let Ok(stream) = stream {
                self.admit(stream, peer).await;
            }
        }
    }

    /// A connection waits for a place until the drain has ended.
    async fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        tokio::select! {
            () = self.http.core.shutdown.ended() => {}
            () = self.enter(stream, peer) => {}
        }
    }

    /// Gives a new connection a place, and serves it in a task.
    async fn enter(&self, stream: TcpStream, peer: SocketAddr) {
        if self.http.core.shutdown.has_begun()
            && let Err(error) = closing::hear(&stream)
        {
            tracing::warn!(%error, "a client that connects while the listener closes may be cut off");
        }
        let progress = Progress::new();
        let refusing = Refusing {
            family: self.surface.family("/"),
            clock: Arc::clone(&self.http.core.clock),
        };
        let place = match self.crowd.admit(peer.ip(), &progress).await {
            Ok((place, gone)) => {
                self.http.core.metrics.connections_sent_away(gone);
                place
            }
            Err(TooManyOfOne) => {
                self.http.core.metrics.shed("connections of one address");
                let answer = refusing.answer(&ApiError::Overloaded {
                    what: "Your address has too many connections open; close some, and come again.",
                    retry_after: 1,
                });
                // Over TLS nothing can be said yet.
                if self.tls.is_none() {
                    let _ = stream.try_write(&answer);
                }
                return;
            }
        };
        // From here on, and not from when the task first runs: a drain may end between.
        let hold = (self.surface != Surface::Admin).then(|| self.http.core.shutdown.hold());
        let connection = Connection {
            http: Arc::clone(self.http),
            surface: self.surface,
            serving: self.serving.clone(),
            tls: self.tls.cloned(),
            peer,
            progress,
            accepted: Instant::now(),
        };
        tokio::spawn(async move {
            let _hold = hold;
            let _counted = Counted::new(&connection.http.core.metrics);
            let end = connection.serve(stream, refusing);
            tokio::pin!(end);
            if once_more(end.as_mut()).await.is_some() {
                return;
            }
            connection.progress.is_heard();
            loop {
                tokio::select! {
                    () = &mut end => return,
                    () = place.told_to_go() => {
                        if once_more(end.as_mut()).await.is_some() || connection.progress.idle_since().is_some() {
                            return;
                        }
                        place.stay();
                    }
                }
            }
        });
    }
}

/// Serves a connection on with what may have come that the runtime has not heard of: it
/// hears of it meanwhile. What came of the connection, if it ended.
async fn once_more<F: Future>(mut served: Pin<&mut F>) -> Option<F::Output> {
    // Of a new socket it hears only after somebody has tried to read.
    for last in [false, true] {
        let now = poll_fn(|context| Poll::Ready(served.as_mut().poll(context))).await;
        match now {
            Poll::Ready(end) => return Some(end),
            Poll::Pending if last => {}
            Poll::Pending => tokio::task::yield_now().await,
        }
    }
    None
}

/// An open connection in the metrics, also when its task panics.
struct Counted<'a>(&'a Metrics);

impl<'a> Counted<'a> {
    fn new(metrics: &'a Metrics) -> Self {
        metrics.connection_opened();
        Self(metrics)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.connection_closed();
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Returns when a surface takes no more. The gateway and the data API go on for a
/// moment after the drain began, and say with every answer that the connection
/// ends: a request that is on its way by then is not cut off.
async fn stop(http: &Http, surface: Surface) {
    if surface == Surface::Admin {
        return http.core.shutdown.ended().await;
    }
    http.core.shutdown.begun().await;
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(http.core.config.server.linger_ms)) => {}
        () = http.core.shutdown.ended() => {}
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

/// A connection from its first byte to its end.
struct Connection {
    http: Arc<Http>,
    surface: Surface,
    serving: Handle,
    tls: Option<Arc<Tls>>,
    peer: SocketAddr,
    progress: Progress,
    accepted: Instant,
}

impl Connection {
    /// Who says nothing costs next to nothing: what a request needs is made for who asks.
    async fn serve(&self, stream: TcpStream, refusing: Refusing) {
        let mut first = [0; http2::PREFACE.len()];
        let came = tokio::select! {
            came = stream.peek(&mut first) => came.unwrap_or(0),
            () = tokio::time::sleep_until(self.head_deadline()) => return,
            () = self.stop() => return,
        };
        // Answers are written whole: waiting for more to send only delays them.
        let _ = stream.set_nodelay(true);
        let ended = match &self.tls {
            // The beginning comes at once; in pieces it is taken for HTTP/1.1, where it is no request.
            None if first == *http2::PREFACE && self.surface != Surface::Admin => {
                Box::pin(self.many_requests(stream)).await
            }
            None => Box::pin(self.requests(stream, refusing)).await,
            Some(_) if came > 0 && first[0] != tls::HANDSHAKE => {
                let answer = refusing.answer(&ApiError::BadRequest(
                    "This address speaks TLS: ask for https:// instead of http://.".to_owned(),
                ));
                let _ = stream.try_write(&answer);
                return;
            }
            Some(tls) => {
                let greeted = tokio::select! {
                    greeted = Box::pin(tls.accept(stream, self.head_deadline())) => greeted,
                    () = self.http.core.shutdown.ended() => return,
                };
                match greeted {
                    Ok((stream, true)) => Box::pin(self.many_requests(stream)).await,
                    Ok((stream, false)) => Box::pin(self.requests(stream, refusing)).await,
                    Err(error) => {
                        return tracing::debug!(peer = %self.peer, %error, "a TLS handshake failed");
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(peer = %self.peer, %error, "a connection ended badly");
        }
    }

    fn head_time(&self) -> Duration {
        Duration::from_secs(self.http.core.config.server.header_seconds)
    }

    fn head_deadline(&self) -> Instant {
        self.accepted + self.head_time()
    }

    fn stop(&self) -> impl Future<Output = ()> + Send {
        stop_of(&self.http, self.surface, self.accepted)
    }

    /// Answers many requests at once.
    async fn many_requests<S>(&self, stream: S) -> Result<(), hyper::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self {
            http,
            surface,
            peer,
            progress,
            accepted,
            ..
        } = self;
        http2::requests(
            http,
            *surface,
            stream,
            *peer,
            progress,
            *accepted,
            self.stop(),
        )
        .await
    }

    /// Answers what comes, one request after the other.
    async fn requests<S>(&self, stream: S, refusing: Refusing) -> Result<(), hyper::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let Self {
            http,
            surface,
            serving,
            peer,
            progress,
            ..
        } = self;
        let watched = Watched::new(
            stream,
            progress.clone(),
            self.head_deadline(),
            self.head_time(),
            Duration::from_secs(limits::STALL_SECONDS),
            refusing,
        );
        let service = service_fn(|request| {
            progress.request_begins();
            // In a place of its own, so that a connection that idles does not have it.
            Box::pin(async move {
                let reply = match surface {
                    Surface::Admin => {
                        operators::answered(http, serving, *peer, progress, request).await
                    }
                    Surface::Gateway | Surface::Data | Surface::Both => {
                        answer(http, *surface, *peer, progress, Client::default(), request).await
                    }
                };
                progress.request_ends();
                Ok::<_, Infallible>(reply)
            })
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            // hyper's timer runs between requests too: with ours for the head, it bounds idling.
            .header_read_timeout(Duration::from_secs(limits::IDLE_SECONDS))
            .max_buf_size(limits::CONNECTION_BUFFER_BYTES)
            // Who has sent a whole request and hangs up has it done: hyper would drop it
            // wherever it waits just then. The answer's time bounds what nobody reads.
            // An operator who hangs up has left: what is done for them alone ends.
            .half_close(*surface != Surface::Admin)
            .serve_connection(TokioIo::new(watched), service);
        let mut served = std::pin::pin!(served);
        tokio::select! {
            result = served.as_mut() => return result,
            () = self.stop() => {}
        }
        if let Some(result) = once_more(served.as_mut()).await {
            return result;
        }
        if !progress.is_under_way() {
            served.as_mut().graceful_shutdown();
        }
        // Otherwise its answer says that it is the last one.
        tokio::select! {
            result = served => result,
            () = http.core.shutdown.ended() => Ok(()),
        }
    }
}

/// Returns when a connection that idles is closed: who came at the last moment gets
/// to ask all the same.
async fn stop_of(http: &Http, surface: Surface, accepted: Instant) {
    stop(http, surface).await;
    let linger = Duration::from_millis(http.core.config.server.linger_ms);
    tokio::select! {
        () = tokio::time::sleep_until(accepted + linger) => {}
        () = http.core.shutdown.ended() => {}
    }
}
