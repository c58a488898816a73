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
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
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
use super::tls::{self, Tls, TlsError};
use crate::app::App;
use crate::limits;
use crate::telemetry::Metrics;

/// Why a host cannot begin to serve.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on `{address}`: {source}")]
    Bind { address: String, source: io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Listens on `host:port`; port 0 takes a free one, which the answer names.
pub async fn bind(address: &str) -> Result<(TcpListener, SocketAddr), StartError> {
    let bound = async {
        let mut refused = None;
        for found in lookup_host(address).await? {
            match listen(found) {
                Ok(listener) => {
                    let local = listener.local_addr()?;
                    return Ok((listener, local));
                }
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| io::Error::other("the name has no address")))
    };
    bound.await.map_err(|source| StartError::Bind {
        address: address.to_owned(),
        source,
    })
}

/// With room in the kernel's queue for a burst of connections: the usual 128
/// resets the rest.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(limits::ACCEPT_QUEUE)
}

/// Where the surfaces of a running host are.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub gateway: SocketAddr,
    /// The gateway's, unless the data API has its own.
    pub data: SocketAddr,
    pub admin: SocketAddr,
}

/// Binds every surface of the configuration and serves it, each in a task.
pub async fn start(app: &Arc<App>) -> Result<Addresses, StartError> {
    let server = &app.config.server;
    let tls = Tls::of(server)?;
    let alone = server.data_listen.is_empty();
    let (gateway_listener, gateway) = bind(&server.listen).await?;
    let (admin_listener, admin) = bind(&server.admin_listen).await?;
    let mut data = gateway;
    let surface = if alone {
        Surface::Both
    } else {
        let (listener, local) = bind(&server.data_listen).await?;
        data = local;
        tokio::spawn(serve(
            app.clone(),
            listener,
            Surface::Data,
            tls.clone(),
            Handle::current(),
        ));
        Surface::Gateway
    };
    tokio::spawn(serve(
        app.clone(),
        gateway_listener,
        surface,
        tls.clone(),
        Handle::current(),
    ));
    if let Some(tls) = tls {
        tokio::spawn(tls.keep_current(app.clone()));
    }
    operators::start(app.clone(), admin_listener).map_err(|source| StartError::Bind {
        address: server.admin_listen.clone(),
        source,
    })?;
    tokio::spawn(super::auth::keep_key_uses(app.clone()));
    Ok(Addresses {
        gateway,
        data,
        admin,
    })
}

/// Serves a listener until a moment after the drain began; the admin surface until
/// the drain has ended. What waits for others is done by the threads of `serving`.
pub async fn serve(
    app: Arc<App>,
    listener: TcpListener,
    surface: Surface,
    tls: Option<Arc<Tls>>,
    serving: Handle,
) {
    let crowd = match surface {
        Surface::Admin => app.http.operators.clone(),
        Surface::Gateway | Surface::Data | Surface::Both => app.http.crowd.clone(),
    };
    // Only what outsiders asked for holds up a drain.
    let _hold = (surface != Surface::Admin).then(|| app.shutdown.hold());
    let door = Door {
        app: &app,
        crowd: &crowd,
        surface,
        tls: tls.as_ref(),
        serving: &serving,
    };
    door.admit_until(&listener, stop(&app, surface)).await;
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
    app: &'a Arc<App>,
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
            () = self.app.shutdown.ended() => {}
            () = self.enter(stream, peer) => {}
        }
    }

    /// Gives a new connection a place, and serves it in a task.
    async fn enter(&self, stream: TcpStream, peer: SocketAddr) {
        if self.app.shutdown.has_begun()
            && let Err(error) = closing::hear(&stream)
        {
            tracing::warn!(%error, "a client that connects while the listener closes may be cut off");
        }
        let progress = Progress::new();
        let refusing = Refusing {
            family: self.surface.family("/"),
            clock: Arc::clone(&self.app.clock),
        };
        let place = match self.crowd.admit(peer.ip(), &progress).await {
            Ok((place, gone)) => {
                self.app.metrics.connections_sent_away(gone);
                place
            }
            Err(TooManyOfOne) => {
                self.app.metrics.shed("connections of one address");
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
        let hold = (self.surface != Surface::Admin).then(|| self.app.shutdown.hold());
        let connection = Connection {
            app: Arc::clone(self.app),
            surface: self.surface,
            serving: self.serving.clone(),
            tls: self.tls.cloned(),
            peer,
            progress,
            accepted: Instant::now(),
        };
        tokio::spawn(async move {
            let _hold = hold;
            let _counted = Counted::new(&connection.app.metrics);
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
async fn stop(app: &App, surface: Surface) {
    if surface == Surface::Admin {
        return app.shutdown.ended().await;
    }
    app.shutdown.begun().await;
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(app.config.server.linger_ms)) => {}
        () = app.shutdown.ended() => {}
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
    app: Arc<App>,
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
                    () = self.app.shutdown.ended() => return,
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
        Duration::from_secs(self.app.config.server.header_seconds)
    }

    fn head_deadline(&self) -> Instant {
        self.accepted + self.head_time()
    }

    fn stop(&self) -> impl Future<Output = ()> + Send {
        stop_of(&self.app, self.surface, self.accepted)
    }

    /// Answers many requests at once.
    async fn many_requests<S>(&self, stream: S) -> Result<(), hyper::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self {
            app,
            surface,
            peer,
            progress,
            accepted,
            ..
        } = self;
        http2::requests(
            app,
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
            app,
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
                        operators::answered(app, serving, *peer, progress, request).await
                    }
                    Surface::Gateway | Surface::Data | Surface::Both => {
                        answer(app, *surface, *peer, progress, Client::default(), request).await
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
            () = app.shutdown.ended() => Ok(()),
        }
    }
}

/// Returns when a connection that idles is closed: who came at the last moment gets
/// to ask all the same.
async fn stop_of(app: &App, surface: Surface, accepted: Instant) {
    stop(app, surface).await;
    let linger = Duration::from_millis(app.config.server.linger_ms);
    tokio::select! {
        () = tokio::time::sleep_until(accepted + linger) => {}
        () = app.shutdown.ended() => {}
    }
}
