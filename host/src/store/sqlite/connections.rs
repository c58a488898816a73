//! Connections: by id for the intake, by name for operators.

use std::collections::HashSet;

use super::db::Db;
use crate::domain::connection::{Connection, Pause};
use crate::domain::id::{ConnectionId, WorkspaceId};
use crate::store::StoreError;
use crate::store::row::connections::{connection, id};

macro_rules! connections_where {
    ($rest:literal) => {
        concat!(
            "
select id, workspace_id, kind, partner_id, name, plugin, config, config_version, agent_id, allow, checks,
  routes, secrets, sealed, region, time_zone, dedupe_by_content, settings, paused_us as paused_at,
  paused_reason
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

const IDS: &str = "select id from connections";

pub async fn ids(db: &Db) -> Result<HashSet<ConnectionId>, StoreError> {
    sqlx::query(IDS)
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(id)
        .collect()
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

#[cfg(test)]
pub(super) const SQL: &[&str] = &[ONE, IDS, LIST, PAUSE];
