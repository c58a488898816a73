//! Connections: where sources post to.

pub mod list;
pub mod pause;
pub mod resume;

use serde_json::{Value, json};

use crate::domain::connection::Connection;
use crate::domain::id::ConnectionId;
use crate::http::error::ApiError;
use crate::store::Store;

/// The connection that an operator means: by id, by name, or by
/// `workspace/name` where a name is in several workspaces.
pub async fn find(store: &dyn Store, text: &str) -> Result<Connection, ApiError> {
    if let Ok(id) = text.parse::<ConnectionId>()
        && let Some(connection) = store.connection(&id).await?
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
    let mut found: Vec<Connection> = store
        .connections(None)
        .await?
        .into_iter()
        .filter(|one| one.name == text || format!("{}/{}", slug(one), one.name) == text)
        .collect();
    match found.len() {
        0 => Err(ApiError::NotFound(format!(
            "There is no connection `{text}`; `leadhost connection list` shows those that there are."
        ))),
        1 => Ok(found.remove(0)),
        _ => {
            let names: Vec<String> = found
                .iter()
                .map(|one| format!("{}/{}", slug(one), one.name))
                .collect();
            Err(ApiError::Conflict {
                message: format!("`{text}` is in several workspaces: {}.", names.join(", ")),
                details: json!({ "connections": names }),
            })
        }
    }
}

/// A connection as operators see it; of its secrets the names.
fn shown(connection: &Connection, workspace: &str, partner: &str) -> Value {
    let paused = connection
        .paused
        .as_ref()
        .map(|pause| json!({ "since": pause.since, "reason": pause.reason }));
    json!({
        "id": connection.id,
        "name": connection.name,
        "workspace": workspace,
        "partner": partner,
        "plugin": connection.plugin,
        "instanceId": connection.agent,
        "config": serde_json::from_str::<Value>(&connection.config).unwrap_or(Value::Null),
        "configVersion": connection.config_version,
        "allow": connection.allow,
        "checks": connection.checks,
        "routes": connection.routes,
        "secrets": connection.secrets,
        "region": connection.region,
        "timeZone": connection.time_zone,
        "dedupeByContent": connection.dedupe_by_content,
        "paused": paused,
    })
}
