//! `GET /health/live`, `GET /health/ready` and `GET /metrics`. Live: the process
//! answers. Ready: it can do its work and is not about to stop; what is missing
//! is named.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::json;
use tokio::time::timeout;

use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::limits;

pub fn live() -> Reply {
    reply::bytes_of(StatusCode::OK, reply::JSON, r#"{"status":"live"}"#)
}

pub async fn ready(call: &Call<'_>) -> Result<Reply, ApiError> {
    let app = call.app;
    let mut reasons = Vec::new();
    if app.shutdown.has_begun() {
        reasons.push("draining");
    }
    match timeout(Duration::from_secs(limits::READY_SECONDS), app.store.ping()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready");
            reasons.push("store");
        }
        Err(_) => reasons.push("store too slow"),
    }
    if !has_room(&app.config.store.data_dir) {
        reasons.push("no room left on the disk of the data folder");
    }
    if reasons.is_empty() {
        return reply::json(StatusCode::OK, &json!({"status": "ready"}));
    }
    reply::json(
        StatusCode::SERVICE_UNAVAILABLE,
        &json!({"status": "unavailable", "reasons": reasons}),
    )
}

/// Whether the disk has room for what the next minutes bring. A disk that
/// cannot be asked is taken for one that has.
fn has_room(folder: &std::path::Path) -> bool {
    rustix::fs::statvfs(folder).map_or(true, |disk| {
        disk.f_bavail.saturating_mul(disk.f_frsize) >= limits::DISK_RESERVE_BYTES
    })
}

pub async fn metrics(call: &Call<'_>) -> Result<Reply, ApiError> {
    let app = call.app;
    // Without the store the other numbers still tell what is wrong.
    let backlog = timeout(
        Duration::from_secs(limits::READY_SECONDS),
        app.store.backlog(),
    );
    match backlog.await {
        Ok(Ok(backlog)) => app.metrics.backlog(&backlog, app.clock.now()),
        Ok(Err(error)) => tracing::warn!(%error, "the backlog could not be read"),
        Err(_) => tracing::warn!("the backlog could not be read in time"),
    }
    Ok(reply::bytes_of(
        StatusCode::OK,
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        app.metrics.text(),
    ))
}
