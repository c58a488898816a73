//! `GET /admin/v1/status`: what is running and what is waiting.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::etl;
use crate::domain::zone;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::state::Http;
use crate::pipeline::fleet;

/// # Errors
///
/// [`ApiError::Store`] if the store cannot be read.
pub async fn show(call: &Call<'_>) -> Result<Reply, ApiError> {
    let http = call.http;
    let backlog = http.core.store.backlog().await?;
    let hosts = http.core.store.hosts().await?;
    let plugins: Vec<Value> = http
        .core
        .store
        .activations()
        .await?
        .into_iter()
        .map(|activation| {
            let loaded = http.core.plugins.active(&activation.name);
            let (serving, behind) = fleet::where_it_serves(&hosts, &activation);
            json!({
                "name": activation.name,
                "version": loaded.map(|loaded| loaded.description.version.clone()),
                "digest": activation.digest,
                "generation": activation.generation,
                "activatedAt": activation.activated_at,
                "hosts": http.core.store.is_shared().then_some(serving.len()),
                "behind": behind,
            })
        })
        .collect();
    let (waiting, running) = http.core.plugins.load();
    reply::json(
        StatusCode::OK,
        &json!({
            "version": env!("CARGO_PKG_VERSION"),
            "storeId": http.core.store.id(),
            "draining": http.core.shutdown.has_begun(),
            "sealingKey": http.core.sealer.key_id(),
            "backlog": backlog,
            "analytics": analytics(http).await,
            "tzdata": zone::tzdata(),
            "plugins": plugins,
            "host": { "id": http.pipeline.fleet.host(), "name": http.pipeline.fleet.name() },
            "hosts": hosts,
            "connections": http.core.store.pool(),
            "pluginCalls": { "waiting": waiting, "running": running },
        }),
    )
}

/// Returns the freshness of each metric set. If it cannot be read, the rest of the status is
/// still shown.
async fn analytics(http: &Http) -> Vec<Value> {
    let rollups = match http.core.store.rollup_status().await {
        Ok(rollups) => rollups,
        Err(error) => {
            tracing::warn!(%error, "freshness of analytics not read");
            Vec::new()
        }
    };
    let rollups = rollups.iter();
    rollups.map(|status| etl::freshness(http, status)).collect()
}
