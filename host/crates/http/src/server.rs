//! The accept loop: a place for each connection, deadlines for slow clients, and a shutdown
//! that cuts no client off.
//!
//! Each connection has a place, and idle ones make room (`connection_limit`). While all are
//! being served, the next one waits in the kernel's queue, where it costs nothing. A drain lets
//! connections in for a moment more, makes all of them close after their next answer, closes the idle ones,
//! then the listener (`closing`), and drops what is left when its time is up.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::answer::answer;
use super::closing;
use super::connection_limit::{ConnectionLimit, TooManyOfOne};
use super::http2;
use super::io::{ConnectionProgress, Refusing, WatchedStream};
use super::operators;
use super::tls::{self, Tls};
use crate::prelude::*;
use leadhost_telemetry::HttpMetrics;

/// Serves a listener until a moment after the drain began; the admin surface until the drain
/// has ended. Work that waits for anything else runs on the threads of `serving`.
pub async fn serve(
    http: Arc<Http>,
    listener: TcpListener,
    surface: Surface,
    tls: Option<Arc<Tls>>,
    serving: Handle,
) {
    let connection_limit = match surface {
        Surface::Admin => http.admin_connections.clone(),
        Surface::Gateway | Surface::Data | Surface::Both => http.connection_limit.clone(),
    };
    // Only the requests of outsiders hold up a drain.
    let _hold = (surface != Surface::Admin).then(|| http.core.shutdown.hold());
    let door = Acceptor {
        http: &http,
        connection_limit: &connection_limit,
        surface,
        tls: tls.as_ref(),
        serving: &serving,
    };
    door.admit_until(&listener, stop(&http, surface)).await;
    if surface == Surface::Admin {
        return;
    }
    // Closing a listener resets connections that were not accepted yet. So the kernel begins no
    // more of them, and those that have begun are let in.
    if let Err(error) = closing::begin_no_more(&listener) {
        tracing::warn!(%error, "listener still takes new connections while it closes, late clients may be cut off");
    }
    let last = tokio::time::sleep(limits::LISTENER_CLOSES);
    door.admit_until(&listener, last).await;
    match listener.into_std() {
        Ok(listener) => door.admit_the_rest(&listener).await,
        Err(error) => {
            tracing::warn!(%error, "last connections not accepted, their clients are cut off");
        }
    }
}

/// Accepts the connections of a surface.
struct Acceptor<'a> {
    http: &'a Arc<Http>,
    connection_limit: &'a Arc<ConnectionLimit>,
    surface: Surface,
    tls: Option<&'a Arc<Tls>>,
    serving: &'a Handle,
}

impl Acceptor<'_> {
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
                    // Mostly, file descriptors have run out: a tight loop would not bring one
                    // back.
                    let say = async move { tracing::warn!(%error, "accept failed") };
                    self.serving.spawn(say);
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
            }
        }
    }

    /// Accepts the connections that the kernel has established. It asks the kernel itself,
    /// since what the runtime knows may be a moment old.
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

    /// Lets a connection in. It waits for a place until the drain has ended.
    async fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        tokio::select! {
            () = self.http.core.shutdown.ended() => {}
            () = self.enter(stream, peer) => {}
        }
    }

    async fn enter(&self, stream: TcpStream, peer: SocketAddr) {
        if self.http.core.shutdown.has_begun()
            && let Err(error) = closing::receive_packets(&stream)
        {
            tracing::warn!(%error, "late connection closed without an answer");
        }
        let progress = ConnectionProgress::new();
        let refusing = Refusing {
            family: self.surface.family("/"),
            clock: Arc::clone(&self.http.core.clock),
        };
        let place = match self.connection_limit.admit(peer.ip(), &progress).await {
            Ok((place, gone)) => {
                self.http.core.metrics.http.connections_sent_away(gone);
                place
            }
            Err(TooManyOfOne) => {
                let shed = Shed::ConnectionsOfOneAddress;
                self.http.count_refused(shed, None);
                let answer = refusing.answer(&ApiError::Overloaded {
                    shed,
                    what: "Your address has too many connections open; close some, and try again.",
                    retry_after: Duration::from_secs(1),
                });
                // Over TLS no answer can be sent yet.
                if self.tls.is_none() {
                    let _ = stream.try_write(&answer);
                }
                return;
            }
        };
        // From here on, and not from when the task first runs: a drain may end in between.
        let hold = (self.surface != Surface::Admin).then(|| self.http.core.shutdown.hold());
        let connection = ServedConnection {
            http: Arc::clone(self.http),
            surface: self.surface,
            serving: self.serving.clone(),
            tls: self.tls.cloned(),
            local: stream.local_addr().ok(),
            peer,
            progress,
            accepted: Instant::now(),
        };
        tokio::spawn(async move {
            let _hold = hold;
            let _counted = CountedConnection::new(&connection.http.core.metrics.http);
            let end = connection.serve(stream, refusing);
            tokio::pin!(end);
            if once_more(end.as_mut()).await.is_some() {
                return;
            }
            connection.progress.mark_received();
            loop {
                tokio::select! {
                    () = &mut end => return,
                    () = place.asked_to_close() => {
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

/// Continues to serve a connection with anything that has arrived unnoticed by the runtime,
/// which notices it meanwhile. Returns the result of the connection, if it ended.
async fn once_more<F: Future>(mut served: Pin<&mut F>) -> Option<F::Output> {
    // The runtime watches a new socket only after a first attempt to read.
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

/// Counts an open connection in the metrics, even if its task panics.
struct CountedConnection<'a>(&'a HttpMetrics);

impl<'a> CountedConnection<'a> {
    fn new(metrics: &'a HttpMetrics) -> Self {
        metrics.connection_opened();
        Self(metrics)
    }
}

impl Drop for CountedConnection<'_> {
    fn drop(&mut self) {
        self.0.connection_closed();
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Returns when a surface accepts no more connections. The gateway and the data API continue
/// for a moment after the drain began, and announce with every answer that the connection ends.
/// So a request that is on its way by then is not cut off.
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

struct ServedConnection {
    http: Arc<Http>,
    surface: Surface,
    serving: Handle,
    tls: Option<Arc<Tls>>,
    local: Option<SocketAddr>,
    peer: SocketAddr,
    progress: ConnectionProgress,
    accepted: Instant,
}

impl ServedConnection {
    /// A silent connection costs next to nothing: what a request needs is made when one
    /// arrives.
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
            // Clients send the preface of HTTP/2 in one piece. A preface in several pieces is
            // parsed as HTTP/1.1 and refused there.
            None if first == *http2::PREFACE && self.surface != Surface::Admin => {
                Box::pin(self.many_requests(stream)).await
            }
            None => Box::pin(self.requests(stream, refusing)).await,
            Some(_) if came > 0 && first[0] != tls::HANDSHAKE => {
                let answer = refusing.answer(&ApiError::BadRequest(
                    "This address speaks TLS: use https:// instead of http://.".to_owned(),
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
                        return tracing::debug!(peer = %self.peer, %error, "TLS handshake failed");
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(peer = %self.peer, %error, "connection failed");
        }
    }

    fn head_time(&self) -> Duration {
        self.http.core.config.server.header_time()
    }

    fn head_deadline(&self) -> Instant {
        self.accepted + self.head_time()
    }

    fn stop(&self) -> impl Future<Output = ()> + Send {
        stop_of(&self.http, self.surface, self.accepted)
    }

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

    async fn requests<S>(&self, stream: S, refusing: Refusing) -> Result<(), hyper::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let Self {
            http,
            surface,
            serving,
            local,
            peer,
            progress,
            ..
        } = self;
        let watched = WatchedStream::new(
            stream,
            progress.clone(),
            self.head_deadline(),
            self.head_time(),
            limits::STALL_LONGEST,
            refusing,
        );
        let service = service_fn(|request| {
            progress.request_begins();
            // Boxed, so that an idle connection does not hold its memory.
            Box::pin(async move {
                let reply = match surface {
                    Surface::Admin => {
                        operators::answered(http, serving, (*local, *peer), progress, request).await
                    }
                    Surface::Gateway | Surface::Data | Surface::Both => {
                        answer(
                            http,
                            *surface,
                            *peer,
                            progress,
                            ClientPresence::default(),
                            request,
                        )
                        .await
                    }
                };
                progress.request_ends();
                Ok::<_, Infallible>(reply)
            })
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            // hyper's timer also runs between requests. With the head's own deadline, it bounds
            // idling.
            .header_read_timeout(http.core.config.server.idle_time())
            .max_buf_size(limits::CONNECTION_BUFFER_BYTES)
            // A client that has sent a whole request and disconnects has it executed: otherwise
            // hyper would drop it wherever it waits. The answer's time bounds answers that no
            // client reads. On the admin surface, a client that disconnects has left: work for it
            // alone ends.
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
        // Otherwise its answer announces that it is the last one.
        tokio::select! {
            result = served => result,
            () = http.core.shutdown.ended() => Ok(()),
        }
    }
}

/// Returns when an idle connection is to be closed. A client that connected at the last moment
/// still gets to send its request.
async fn stop_of(http: &Http, surface: Surface, accepted: Instant) {
    stop(http, surface).await;
    let linger = Duration::from_millis(http.core.config.server.linger_ms);
    tokio::select! {
        () = tokio::time::sleep_until(accepted + linger) => {}
        () = http.core.shutdown.ended() => {}
    }
}
