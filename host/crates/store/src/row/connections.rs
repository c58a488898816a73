//! A connection with all of its fields.

use super::RowColumns;
use crate::StoreError;
use leadhost_domain::connection::{Connection, ConnectionKind, ConnectionPause};
use leadhost_domain::id::{AgentId, ConnectionId};

/// Reads `id`, the id of a connection.
pub fn id(row: &impl RowColumns) -> Result<ConnectionId, StoreError> {
    row.text_id("id")
}

/// Reads a connection with its settings, its sealed secrets and its pause. It is paused if
/// `paused_at` is not null.
pub fn connection(row: &impl RowColumns) -> Result<Connection, StoreError> {
    let reason = row.text_if("paused_reason")?;
    let since = row.time_if("paused_at")?;
    Ok(Connection {
        id: row.text_id("id")?,
        workspace: row.id("workspace_id")?,
        kind: row.word("connections", "kind", ConnectionKind::from_text)?,
        partner: row.id_if("partner_id")?,
        name: row.text("name")?,
        plugin: row.text("plugin")?,
        config: row.text("config")?,
        config_version: row.number("config_version")?,
        agent: row.number_if("agent_id")?.map(AgentId),
        allow: row.json("allow")?,
        checks: row.json("checks")?,
        routes: row.json("routes")?,
        secrets: row.json("secrets")?,
        secrets_at: row.json_if("secret_times")?.unwrap_or_default(),
        sealed: row.bytes("sealed")?,
        region: row.text("region")?,
        time_zone: row.text("time_zone")?,
        dedupe_by_content: row.flag("dedupe_by_content")?,
        settings: row.json("settings")?,
        paused: since.map(|since| ConnectionPause {
            since,
            reason: reason.unwrap_or_default(),
        }),
    })
}
