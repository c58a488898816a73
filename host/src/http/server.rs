//! The accept loop: a permit for each connection, deadlines for what a client
//! may leave undone, and an end without cutting anybody off.
//!
//! A connection that is refused a permit waits in the kernel's queue, where it
//! costs nothing. A drain stops the loop, tells open connections to close after
//! the request that they serve, and drops them when its time is up.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};

use super::answer::answer;
use super::io::{Progress, Watched};
use super::route::Surface;
use crate::app::App;
use crate::limits;
use crate::telemetry::Metrics;

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on `{address}`: {source}")]
pub struct BindError {
    pub address: String,
    #[source]
    pub source: io::Error,
}

/// Listens on `host:port`; port 0 takes a free one, which the answer names.
pub async fn bind(address: &str) -> Result<(TcpListener, SocketAddr), BindError> {
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
    bound.await.map_err(|source| BindError {
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
pub async fn start(app: &Arc<App>) -> Result<Addresses, BindError> {
    let server = &app.config.server;
    let alone = server.data_listen.is_empty();
    let (gateway_listener, gateway) = bind(&server.listen).await?;
    let (admin_listener, admin) = bind(&server.admin_listen).await?;
    let mut data = gateway;
    let surface = if alone {
        Surface::Both
    } else {
        let (listener, local) = bind(&server.data_listen).await?;
        data = local;
        tokio::spawn(serve(app.clone(), listener, Surface::Data));
        Surface::Gateway
    };
    tokio::spawn(serve(app.clone(), gateway_listener, surface));
    tokio::spawn(serve(app.clone(), admin_listener, Surface::Admin));
    tokio::spawn(super::auth::keep_key_uses(app.clone()));
    Ok(Addresses {
        gateway,
        data,
        admin,
    })
}

/// Serves a listener until the drain begins; the admin surface until it has ended.
pub async fn serve(app: Arc<App>, listener: TcpListener, surface: Surface) {
    let permits = match surface {
        Surface::Admin => app.http.admin_connections.clone(),
        Surface::Gateway | Surface::Data | Surface::Both => app.http.connections.clone(),
    };
    let stop = stop(&app, surface);
    tokio::pin!(stop);
    let mut pause = FIRST_PAUSE;
    loop {
        let permit = tokio::select! {
            () = &mut stop => return,
            permit = permits.clone().acquire_owned() => {
                permit.expect("the semaphore is never closed")
            }
        };
        let accepted = tokio::select! {
            () = &mut stop => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                pause = FIRST_PAUSE;
                let app = app.clone();
                tokio::spawn(async move {
                    // Only what outsiders asked for holds up a drain.
                    let _hold = (surface != Surface::Admin).then(|| app.shutdown.hold());
                    let _counted = Counted::new(&app.metrics);
                    let _permit = permit;
                    connection(&app, surface, stream, peer).await;
                });
            }
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                // Out of file descriptors, mostly: a tight loop would not bring one back.
                tracing::warn!(%error, "cannot accept connections");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(1));
            }
        }
    }
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

async fn stop(app: &App, surface: Surface) {
    match surface {
        Surface::Admin => app.shutdown.ended().await,
        Surface::Gateway | Surface::Data | Surface::Both => app.shutdown.begun().await,
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

async fn connection(app: &Arc<App>, surface: Surface, stream: TcpStream, peer: SocketAddr) {
    // Answers are written whole: waiting for more to send only delays them.
    let _ = stream.set_nodelay(true);
    let progress = Progress::new();
    let watched = Watched::new(
        stream,
        progress.clone(),
        Duration::from_secs(app.config.server.header_seconds),
        Duration::from_secs(limits::STALL_SECONDS),
    );
    let service = service_fn(|request| {
        progress.request_begins();
        let progress = progress.clone();
        async move {
            let reply = answer(app, surface, peer, request).await;
            progress.request_ends();
            Ok::<_, Infallible>(reply)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        // hyper's timer runs between requests too: with ours for the head, it bounds idling.
        .header_read_timeout(Duration::from_secs(limits::IDLE_SECONDS))
        .max_buf_size(limits::CONNECTION_BUFFER_BYTES)
        // Who has sent a whole request and hangs up has it done: hyper would drop it
        // wherever it waits just then. The answer's time bounds what nobody reads.
        .half_close(true)
        .serve_connection(TokioIo::new(watched), service);
    let mut served = std::pin::pin!(served);
    let result = tokio::select! {
        result = served.as_mut() => result,
        () = stop(app, surface) => {
            served.as_mut().graceful_shutdown();
            tokio::select! {
                result = served => result,
                () = app.shutdown.ended() => return,
            }
        }
    };
    if let Err(error) = result {
        tracing::debug!(%peer, %error, "a connection ended badly");
    }
}
