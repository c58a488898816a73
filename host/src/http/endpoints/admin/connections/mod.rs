//! Connections: where sources post to. Channels are shown with their instances.

pub mod list;
pub mod pause;
pub mod resume;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::only;
use crate::domain::connection::{Connection, ConnectionKind, Pause};
use crate::domain::exchange::SenderCheck;
use crate::domain::id::ConnectionId;
use crate::domain::text::kept;
use crate::domain::time::Micros;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::state::Http;
use crate::pipeline::{fleet, proof};
use crate::plugin::Budget;
use crate::store::{Announcement, Store};

/// The source that an operator means: by id, by name, or by `workspace/name`
/// where a name is in several workspaces.
pub async fn find(store: &dyn Store, text: &str) -> Result<Connection, ApiError> {
    let is_source = |one: &Connection| one.kind == ConnectionKind::Source;
    if let Ok(id) = text.parse::<ConnectionId>()
        && let Some(connection) = store.connection(&id).await?.filter(is_source)
    {
        return Ok(connection);
    }
    let workspaces = store.workspaces().await?;
    let slug = |connection: &Connection| {
        workspaces
            .iter()
            .find(|workspace| workspace.id == connection.workspace)
            .map_or("", |workspace| workspace.slug.as_str())
    };
    let all = store.connections(None).await?;
    let named = all
        .into_iter()
        .filter(is_source)
        .map(|one| (slug(&one).to_owned(), one.name.clone(), one));
    only("connection", text, named)
}

/// Stops what a source or a channel does by itself, or lets it go on.
pub async fn set_pause(
    call: &Call<'_>,
    connection: &Connection,
    pause: Option<&Pause>,
) -> Result<(), ApiError> {
    let http = call.http;
    http.core
        .store
        .pause_connection(&connection.id, pause)
        .await?;
    fleet::tell(&http.pipeline, Announcement::Connections).await;
    if pause.is_none() {
        http.pipeline.wake();
    }
    Ok(())
}

/// Why something is paused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseRequest {
    #[serde(default = "by_an_operator")]
    reason: String,
}

fn by_an_operator() -> String {
    "by an operator".to_owned()
}

impl PauseRequest {
    pub fn pause(self, now: Micros) -> Pause {
        Pause {
            since: now,
            reason: kept(self.reason),
        }
    }
}

fn shown(connection: &Connection, workspace: &str, partner: &str) -> Value {
    let mut shown = bound(connection);
    shown["id"] = json!(connection.id);
    shown["workspace"] = json!(workspace);
    shown["partner"] = json!(partner);
    shown["instanceId"] = json!(connection.agent);
    shown["origins"] = json!(connection.settings.origins);
    shown["dedupeByContent"] = json!(connection.dedupe_by_content);
    shown["greeting"] = json!(connection.settings.greeting);
    shown
}

/// Whether senders must prove themselves: `checked`, `anybody`, or `unknown` where
/// the plugin does not say it in time.
pub async fn senders(http: &Http, connection: &Connection, until: Instant) -> &'static str {
    let asked = async {
        let plugin = http.core.plugins.active(&connection.plugin)?;
        let live = http.pipeline.connections.get(&connection.id).await.ok()??;
        let checks = proof::checks(&http.pipeline, &live, &plugin, Budget::Operator)
            .await
            .ok()?;
        let has = |check: &SenderCheck| live.secrets.get(&check.secret).is_some();
        Some(checks.checks.iter().any(has))
    };
    match timeout_at(until, asked).await {
        Ok(Some(true)) => "checked",
        Ok(Some(false)) => "anybody",
        Ok(None) | Err(_) => "unknown",
    }
}

/// What sources and channels have in common, as operators see it; of its secrets
/// the names.
pub fn bound(connection: &Connection) -> Value {
    let paused = connection
        .paused
        .as_ref()
        .map(|pause| json!({ "since": pause.since, "reason": pause.reason }));
    json!({
        "name": connection.name,
        "plugin": connection.plugin,
        "config": serde_json::from_str::<Value>(&connection.config).unwrap_or(Value::Null),
        "configVersion": connection.config_version,
        "allow": connection.allow,
        "checks": connection.checks,
        "routes": connection.routes,
        "secrets": connection.secrets,
        "replySecrets": connection.settings.reply_secrets,
        "region": connection.region,
        "timeZone": connection.time_zone,
        "paused": paused,
    })
}
