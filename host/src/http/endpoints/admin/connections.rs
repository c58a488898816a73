//! Connections: where sources post to. Channels are shown with their instances.

use std::time::Duration;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::{only, read_json};
use crate::domain::connection::{Connection, ConnectionKind, Pause};
use crate::domain::exchange::SenderCheck;
use crate::domain::id::ConnectionId;
use crate::domain::text::kept;
use crate::domain::time::Micros;
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::state::Http;
use crate::pipeline::{fleet, proof};
use crate::plugin::Budget;
use crate::store::{Announcement, Store};

/// Finds the source that an operator names: by id, by name, or by `workspace/name` if several
/// workspaces use the name.
///
/// # Errors
///
/// [`ApiError::NotFound`] if there is none, [`ApiError::Conflict`] if there are several, and
/// [`ApiError::Store`] if the store fails.
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

/// Pauses or resumes what a source or a channel does on its own.
///
/// # Errors
///
/// [`ApiError::Store`] if the pause cannot be stored.
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

/// The reason for a pause.
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

/// Returns whether senders have to authenticate: `checked`, `anybody`, or `unknown` if the
/// plugin does not answer in time.
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

/// Returns what sources and channels have in common, as operators see it. Of the secrets only
/// the names are shown.
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

/// How long plugins may take to answer, all of them together.
const ASKING: Duration = Duration::from_secs(5);

/// `GET /admin/v1/connections`.
///
/// # Errors
///
/// [`ApiError::Store`] if the store cannot be read.
pub async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let store = &call.http.core.store;
    let mut connections = Vec::new();
    let until = Instant::now() + ASKING;
    for workspace in store.workspaces().await? {
        let partners = store.partners(workspace.id).await?;
        for connection in store.connections(Some(workspace.id)).await? {
            // Channels are listed with their instances.
            if connection.kind == ConnectionKind::Channel {
                continue;
            }
            let partner = partners
                .iter()
                .find(|partner| Some(partner.id) == connection.partner)
                .map_or("", |partner| partner.name.as_str());
            let mut shown = shown(&connection, &workspace.slug, partner);
            shown["senders"] = json!(senders(call.http, &connection, until).await);
            connections.push(shown);
        }
    }
    reply::json(StatusCode::OK, &json!({ "connections": connections }))
}

/// `POST /admin/v1/connections/{id or name}/pause`: stops its fetches. Incoming deliveries are
/// still accepted, and wait.
///
/// # Errors
///
/// The body is invalid, the name matches no connection or several, or the store fails.
pub async fn pause(call: &Call<'_>, which: &str, body: Unread) -> Result<Reply, ApiError> {
    let request: PauseRequest = read_json(call, body).await?;
    let connection = find(&*call.http.core.store, which).await?;
    let pause = request.pause(call.http.core.clock.now());
    set_pause(call, &connection, Some(&pause)).await?;
    reply::json(
        StatusCode::OK,
        &json!({ "id": connection.id, "paused": true }),
    )
}

/// `POST /admin/v1/connections/{id or name}/resume`: continues its fetches, the waiting ones
/// first.
///
/// # Errors
///
/// The name matches no connection or several, or the store fails.
pub async fn resume(call: &Call<'_>, which: &str) -> Result<Reply, ApiError> {
    let connection = find(&*call.http.core.store, which).await?;
    set_pause(call, &connection, None).await?;
    reply::json(
        StatusCode::OK,
        &json!({ "id": connection.id, "paused": false }),
    )
}
