//! Connections: by id for the intake, by name for operators. They hold nothing
//! of a person and are read before a workspace is known.

use std::collections::HashSet;

use super::columns;
use super::db::Db;
use crate::domain::connection::{Connection, Pause};
use crate::domain::id::{ConnectionId, WorkspaceId};
use crate::store::StoreError;
use crate::store::row::connections::{connection, id};

macro_rules! connections_where {
    ($rest:literal) => {
        concat!(
            "
select id, workspace_id, kind, partner_id, name, plugin, config::text as config, config_version, agent_id,
  allow, checks, routes, secrets, sealed, region, time_zone, dedupe_by_content, settings, paused_at,
  paused_reason
from connections
",
            $rest
        )
    };
}

const ONE: &str = connections_where!("where id = $1");
const LIST: &str = connections_where!(
    "where $1::uuid is null or workspace_id = $1
order by name collate \"C\", id collate \"C\""
);

pub async fn one(db: &Db, id: &ConnectionId) -> Result<Option<Connection>, StoreError> {
    sqlx::query(ONE)
        .bind(id.as_str())
        .fetch_optional(db.pool())
        .await?
        .as_ref()
        .map(connection)
        .transpose()
}

const IDS: &str = "select id from connections";

pub async fn ids(db: &Db) -> Result<HashSet<ConnectionId>, StoreError> {
    sqlx::query(IDS)
        .fetch_all(db.pool())
        .await?
        .iter()
        .map(id)
        .collect()
}

pub async fn list(db: &Db, workspace: Option<WorkspaceId>) -> Result<Vec<Connection>, StoreError> {
    sqlx::query(LIST)
        .bind(workspace.map(|id| id.0))
        .fetch_all(db.pool())
        .await?
        .iter()
        .map(connection)
        .collect()
}

const PAUSE: &str = "
update connections
set paused_at = $2, paused_reason = $3
where id = $1";

pub async fn pause(db: &Db, id: &ConnectionId, pause: Option<&Pause>) -> Result<(), StoreError> {
    sqlx::query(PAUSE)
        .bind(id.as_str())
        .bind(pause.map(|pause| columns::at(pause.since)))
        .bind(pause.map(|pause| columns::text(&pause.reason)))
        .execute(db.pool())
        .await?;
    Ok(())
}

pub(super) const SQL: &[&str] = &[ONE, IDS, LIST, PAUSE];
