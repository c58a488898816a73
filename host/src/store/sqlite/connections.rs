//! Connections: by id for the intake, by name for operators.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::columns::Columns as _;
use super::db::Db;
use crate::domain::connection::{Connection, Pause};
use crate::domain::id::{AgentId, ConnectionId, WorkspaceId};
use crate::store::StoreError;

macro_rules! connections_where {
    ($rest:literal) => {
        concat!(
            "
select id, workspace_id, partner_id, name, plugin, config, config_version, agent_id, allow, checks,
  routes, secrets, sealed, region, time_zone, dedupe_by_content, paused_us, paused_reason
from connections
",
            $rest
        )
    };
}

const ONE: &str = connections_where!("where id = ?1");
const LIST: &str = connections_where!(
    "where ?1 is null or workspace_id = ?1
order by name, id"
);

pub async fn one(db: &Db, id: &ConnectionId) -> Result<Option<Connection>, StoreError> {
    sqlx::query(ONE)
        .bind(id.as_str())
        .fetch_optional(db.readers())
        .await?
        .as_ref()
        .map(connection)
        .transpose()
}

pub async fn list(db: &Db, workspace: Option<WorkspaceId>) -> Result<Vec<Connection>, StoreError> {
    sqlx::query(LIST)
        .bind(workspace.map(|id| id.to_string()))
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(connection)
        .collect()
}

const PAUSE: &str = "
update connections
set paused_us = ?2, paused_reason = ?3
where id = ?1";

pub async fn pause(db: &Db, id: &ConnectionId, pause: Option<&Pause>) -> Result<(), StoreError> {
    let mut transaction = db.begin().await?;
    sqlx::query(PAUSE)
        .bind(id.as_str())
        .bind(pause.map(|pause| pause.since.0))
        .bind(pause.map(|pause| pause.reason.as_str()))
        .execute(&mut transaction.connection)
        .await?;
    transaction.commit().await
}

fn connection(row: &SqliteRow) -> Result<Connection, StoreError> {
    let reason: Option<String> = row.try_get("paused_reason")?;
    let since = row.time_if("paused_us")?;
    Ok(Connection {
        id: row.id("id")?,
        workspace: row.id("workspace_id")?,
        partner: row.id("partner_id")?,
        name: row.try_get("name")?,
        plugin: row.try_get("plugin")?,
        config: row.try_get("config")?,
        config_version: row.try_get("config_version")?,
        agent: row.try_get::<Option<i64>, _>("agent_id")?.map(AgentId),
        allow: row.json("allow")?,
        checks: row.json("checks")?,
        routes: row.json("routes")?,
        secrets: row.json("secrets")?,
        sealed: row.try_get("sealed")?,
        region: row.try_get("region")?,
        time_zone: row.try_get("time_zone")?,
        dedupe_by_content: row.try_get("dedupe_by_content")?,
        paused: since.map(|since| Pause {
            since,
            reason: reason.unwrap_or_default(),
        }),
    })
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[ONE, LIST, PAUSE];
