//! `GET /admin/v1/status`: what runs and what waits.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::etl;
use crate::app::App;
use crate::domain::zone;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::pipeline::fleet;

pub async fn show(call: &Call<'_>) -> Result<Reply, ApiError> {
    let app = call.app;
    let backlog = app.store.backlog().await?;
    let hosts = app.store.hosts().await?;
    let plugins: Vec<Value> = app
        .store
        .activations()
        .await?
        .into_iter()
        .map(|activation| {
            let loaded = app.plugins.active(&activation.name);
            let (serving, behind) = fleet::where_it_serves(&hosts, &activation);
            json!({
                "name": activation.name,
                "version": loaded.map(|loaded| loaded.description.version.clone()),
                "digest": activation.digest,
                "generation": activation.generation,
                "activatedAt": activation.activated_at,
                "hosts": app.store.is_shared().then_some(serving.len()),
                "behind": behind,
            })
        })
        .collect();
    let (waiting, running) = app.plugins.load();
    reply::json(
        StatusCode::OK,
        &json!({
            "version": env!("CARGO_PKG_VERSION"),
            "storeId": app.store.id(),
            "draining": app.shutdown.has_begun(),
            "sealingKey": app.sealer.key_id(),
            "backlog": backlog,
            "analytics": analytics(app).await,
            "tzdata": zone::tzdata(),
            "plugins": plugins,
            "host": { "id": app.fleet.host(), "name": app.fleet.name() },
            "hosts": hosts,
            "connections": app.store.pool(),
            "pluginCalls": { "waiting": waiting, "running": running },
        }),
    )
}

/// How old what each metric set shows is. What cannot be told hides nothing else.
async fn analytics(app: &App) -> Vec<Value> {
    let rollups = match app.store.rollup_status().await {
        Ok(rollups) => rollups,
        Err(error) => {
            tracing::warn!(%error, "how old analytics is cannot be told");
            Vec::new()
        }
    };
    let rollups = rollups.iter();
    rollups.map(|status| etl::freshness(app, status)).collect()
}
