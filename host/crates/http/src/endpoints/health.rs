//! `GET /health/live`, `GET /health/ready` and `GET /metrics`. Live: the process answers.
//! Ready: it can do its work and is not about to stop; otherwise the answer names the reasons.

use hyper::header::{ACCEPT, RETRY_AFTER, VARY};
use tokio::time::timeout;

use crate::accept::weight;
use crate::endpoints::prelude::*;
use crate::gauges;
use crate::terms::one_of;
use leadhost_config::disk;

/// The media type by which a client asks for OpenMetrics.
const OPENMETRICS: &str = "application/openmetrics-text";

describe!(live, |operation| operation
    .id("isLive")
    .summary("Reports that the process is alive")
    .answers_schema(200, "The process is alive.", &status("live")));
pub async fn live(_: &Call<'_>) -> ApiResult {
    Ok(alive())
}

pub fn alive() -> ApiResponse {
    reply::bytes_of(StatusCode::OK, reply::JSON, r#"{"status":"live"}"#)
}

fn status(word: &str) -> Value {
    json!({
        "type": "object",
        "required": ["status"],
        "properties": {"status": one_of(&[word], "")},
    })
}

describe!(ready, |operation| {
    let mut unavailable = status("unavailable");
    unavailable["required"] = json!(["status", "reasons"]);
    unavailable["properties"]["reasons"] = json!({"type": "array", "items": {"type": "string"}});
    operation
        .id("isReady")
        .summary("Reports whether the host is ready")
        .answers_schema(200, "The host is ready.", &status("ready"))
        .answers_schema(
            503,
            "The host is not ready, with the reasons.",
            &unavailable,
        )
        .header(503, "Retry-After", "RetryAfter")
});
pub async fn ready(call: &Call<'_>) -> ApiResult {
    let reasons = reasons(call).await;
    if reasons.is_empty() {
        return reply::ok(&json!({"status": "ready"}));
    }
    let mut reply = reply::json(
        StatusCode::SERVICE_UNAVAILABLE,
        &json!({"status": "unavailable", "reasons": reasons}),
    )?;
    let again = HeaderValue::from(limits::READY_AGAIN_AFTER.as_secs());
    reply.headers_mut().insert(RETRY_AFTER, again);
    Ok(reply)
}

pub async fn reasons(call: &Call<'_>) -> Vec<String> {
    let http = call.http;
    let mut reasons: Vec<String> = Vec::new();
    if http.core.shutdown.has_begun() {
        reasons.push("draining".into());
    }
    if http.core.store.outage().is_some() {
        reasons.push("the database is lost".into());
    } else {
        let patience = limits::READY_PATIENCE;
        match timeout(patience, http.core.store.ping()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                if !error.is_logged() {
                    tracing::warn!(%error, "not ready");
                }
                reasons.push("store".into());
            }
            Err(_) => reasons.push("store too slow".into()),
        }
    }
    if let Some(reason) = cannot_write(http).await {
        reasons.push(format!("nothing can be written: {reason}"));
    }
    if !http.pipeline.fleet.is_current() && !http.core.shutdown.has_begun() {
        reasons.push("catching up with the other hosts".into());
    }
    if !has_room(&http.core.config.store.data_dir) {
        reasons.push("no room left on the disk of the data folder".into());
    }
    reasons
}

/// Returns why the last commit failed, unless the store can be written to again. It tries a
/// write, since a host without requests would never notice the recovery.
async fn cannot_write(http: &Http) -> Option<String> {
    let reason = http.core.writer.trouble()?;
    if http.core.store.outage().is_some() {
        return Some(reason);
    }
    let patience = limits::READY_PATIENCE;
    match timeout(patience, http.core.store.try_write()).await {
        Ok(Ok(())) => {
            http.core.writer.is_well();
            None
        }
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(reason),
    }
}

/// Returns whether the disk has room for what the next minutes bring. If the disk cannot be
/// queried, it counts as having room.
fn has_room(folder: &std::path::Path) -> bool {
    disk::free_bytes(folder).is_none_or(|free| free >= limits::DISK_RESERVE_BYTES)
}

describe!(metrics, |operation| {
    operation
        .id("readMetrics")
        .summary("Returns the metrics")
        .answers_content(
            200,
            "The metrics: as OpenMetrics text if `Accept` names it, as Prometheus does, else in its older text format, \
             without exemplars.",
            json!({
                "application/openmetrics-text": {"schema": {"type": "string"}},
                "text/plain": {"schema": {"type": "string"}},
            }),
        )
});
/// If the store does not answer in time, its metrics keep their last values.
pub async fn metrics(call: &Call<'_>) -> ApiResult {
    let http = call.http;
    gauges::refresh(http).await;
    let wants_open =
        weight(&call.head.headers, &ACCEPT, OPENMETRICS).is_some_and(|weight| weight > 0);
    let (content_type, text) = if wants_open {
        (
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            http.core.metrics.text(),
        )
    } else {
        (
            "text/plain; version=0.0.4; charset=utf-8",
            http.core.metrics.classic_text(),
        )
    };
    let mut reply = reply::bytes_of(StatusCode::OK, content_type, text);
    reply
        .headers_mut()
        .append(VARY, HeaderValue::from_static("accept"));
    Ok(reply)
}
