//! The admin surface's connections, on a thread of their own. What an operator asks
//! for is answered by the threads that serve, but sockets are accepted, read and
//! written here, and "is the process alive" is answered here: whatever occupies
//! the serving threads, a live probe hears the truth, and operators are let in.
//! Nothing on this thread waits, writes to the log or asks the store.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use tokio::runtime::Handle;

use super::answer::{answer, is_well_formed, live};
use super::io::Progress;
use super::presence::Client;
use super::reply::{self, Reply};
use super::route::{self, OpenRoute, Route, Surface};
use crate::http::state::Http;

/// Answers here if it is a live probe, else has it answered by `serving`. A client
/// that leaves does not end what it asked for, unless that looks for it.
pub async fn answered(
    http: &Arc<Http>,
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
        return live(http, &head);
    }
    let (here, client) = Client::new();
    let (http, progress) = (Arc::clone(http), progress.clone());
    let work = serving
        .spawn(async move { answer(&http, Surface::Admin, peer, &progress, client, request).await })
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
