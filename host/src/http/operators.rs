//! The admin surface's connections, on a thread of their own. What an operator asks
//! for is answered by the threads that serve, but sockets are accepted, read and
//! written here, and "is the process alive" is answered here: whatever occupies
//! the serving threads, a live probe hears the truth, and operators are let in.
//! Nothing on this thread waits, writes to the log or asks the store.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::answer::{answer, is_well_formed, live};
use super::io::Progress;
use super::presence::Client;
use super::reply::{self, Reply};
use super::route::{self, OpenRoute, Route, Surface};
use super::server;
use crate::app::App;

/// Serves the listener until the drain has ended, or the runtime that serves is gone.
pub fn start(app: Arc<App>, listener: TcpListener) -> io::Result<()> {
    let listener = listener.into_std()?;
    let serving = Handle::current();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // Dropped with the runtime that serves: without it nobody answers, and this
    // thread would hold all that the service holds.
    let (serves, gone) = oneshot::channel::<()>();
    serving.spawn(async move {
        let _serves = serves;
        std::future::pending::<()>().await;
    });
    let run = move || {
        runtime.block_on(async move {
            let listener = match TcpListener::from_std(listener) {
                Ok(listener) => listener,
                Err(error) => {
                    return tracing::error!(%error, "the admin address cannot be served");
                }
            };
            tokio::select! {
                () = server::serve(app, listener, Surface::Admin, None, serving) => {}
                _ = gone => {}
            }
        });
    };
    std::thread::Builder::new()
        .name("admin".to_owned())
        .spawn(run)?;
    Ok(())
}

/// Answers here if it is a live probe, else has it answered by `serving`. A client
/// that leaves does not end what it asked for, unless that looks for it.
pub async fn answered(
    app: &Arc<App>,
    serving: &Handle,
    peer: SocketAddr,
    progress: &Progress,
    request: Request<Incoming>,
) -> Reply {
    let probes = matches!(
        Route::find(
            Surface::Admin,
            request.method(),
            &route::plain(request.uri().path())
        ),
        Ok(Route::Open(OpenRoute::Live))
    ) && is_well_formed(request.headers(), request.version()).is_ok();
    if probes {
        let (head, _) = request.into_parts();
        return live(app, &head);
    }
    let (here, client) = Client::new();
    let (app, progress) = (Arc::clone(app), progress.clone());
    let work = serving
        .spawn(async move { answer(&app, Surface::Admin, peer, &progress, client, request).await })
        .await;
    drop(here);
    // Where it panicked, its own thread has told of it.
    work.unwrap_or_else(|_| {
        reply::bytes_of(
            StatusCode::INTERNAL_SERVER_ERROR,
            reply::JSON,
            r#"{"error":"Something failed inside; the log says what."}"#,
        )
    })
}
