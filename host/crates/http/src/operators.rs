//! The admin surface's connections, on a thread of their own. Operators' requests are answered by
//! the serving threads, but sockets are accepted, read and written here, and liveness probes are
//! answered here. Even if the serving threads are busy, a liveness probe gets a true answer and
//! operators are let in. Nothing on this thread waits, writes to the log or asks the store.

use hyper::body::Incoming;
use hyper::{Method, Request};
use tokio::runtime::Handle;

use super::answer::{self, answer, is_well_formed};
use super::endpoints::SERVICE;
use super::io::ConnectionProgress;
use super::route::{self, Found, Mark};
use super::surface;
use crate::prelude::*;
use leadhost_admin_api::identity::{CHALLENGE, PROOF};

/// Answers a liveness probe here, and any other request through `serving`. A client that leaves
/// does not end its request, unless the request's own code watches for that. The connection goes from `peer` to
/// `local`.
pub async fn answered(
    http: &Arc<Http>,
    serving: &Handle,
    (local, peer): (Option<SocketAddr>, SocketAddr),
    progress: &ConnectionProgress,
    request: Request<Incoming>,
) -> ApiResponse {
    let path = surface::plain(request.uri().path());
    let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
    let found = is_get.then(|| route::find(SERVICE, "GET", &path)).flatten();
    let live = found.filter(|found| found.route.is(Mark::Liveness));
    if let Some(Found { route, .. }) = live
        && is_well_formed(request.headers(), request.version()).is_ok()
    {
        let (head, _) = request.into_parts();
        let mut reply = answer::live(http, &head, route.name);
        if let (Some(challenge), Some(local)) = (head.headers.get(CHALLENGE), local) {
            let proof = http.secret.proof(challenge.as_bytes(), local);
            let proof = HeaderValue::from_str(&proof).expect("hex is visible ASCII");
            reply.headers_mut().insert(PROOF, proof);
        }
        return reply;
    }
    let (guard, client) = ClientPresence::new();
    let (http, progress) = (Arc::clone(http), progress.clone());
    let work = serving
        .spawn(async move { answer(&http, Surface::Admin, peer, &progress, client, request).await })
        .await;
    drop(guard);
    // If it panicked, its own thread has logged that.
    work.unwrap_or_else(|_| {
        reply::bytes_of(
            StatusCode::INTERNAL_SERVER_ERROR,
            reply::JSON,
            r#"{"error":"The service failed on this request; its log has more."}"#,
        )
    })
}
