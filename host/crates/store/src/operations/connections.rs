//! Connections: by id for the intake, by name for operators. They contain nothing about a person,
//! and are read before a workspace is known.

use std::collections::HashSet;

use crate::StoreError;
use crate::database::Database;
use crate::postgres::VisibleRows;
use crate::row::connections::{connection, id as id_of};
use crate::sql::{Sql, args, sql, steps};
use leadhost_domain::connection::{Connection, ConnectionPause};
use leadhost_domain::id::{ConnectionId, WorkspaceId};

macro_rules! connections_where {
    ($rest:literal) => {
        sql(concat!(
            "
select id, workspace_id, kind, partner_id, name, plugin, config, config_version, agent_id, allow,
  checks, routes, secrets, sealed, region, time_zone, dedupe_by_content, settings, paused_at,
  paused_reason, case when secret_times_version = config_version then secret_times end as secret_times
from connections
",
            $rest
        ))
    };
}

static ONE: Sql = connections_where!("where id = :id");
static LIST: Sql = connections_where!(
    "where :workspace::uuid is null or workspace_id = :workspace
order by name collate \"C\", id collate \"C\""
);

/// Returns the connection with this id, of any workspace, or `None` if there is none.
pub async fn one(database: &Database, id: ConnectionId) -> Result<Option<Connection>, StoreError> {
    database
        .read(
            VisibleRows::Exempt,
            steps!(|tx| tx
                .row(&ONE, &args! { id: &id }, |row| connection(row))
                .await),
        )
        .await
}

static IDS: Sql = sql("select id from connections");

/// Returns the ids of the connections of all workspaces.
pub async fn ids(database: &Database) -> Result<HashSet<ConnectionId>, StoreError> {
    let ids = database
        .read(
            VisibleRows::Exempt,
            steps!(|tx| tx.rows(&IDS, &[], |row| id_of(row)).await),
        )
        .await?;
    Ok(ids.into_iter().collect())
}

/// Returns the connections of one workspace, or of all workspaces if it is `None`, ordered by
/// name, then by id.
pub async fn list(
    database: &Database,
    workspace: Option<WorkspaceId>,
) -> Result<Vec<Connection>, StoreError> {
    database
        .read(
            VisibleRows::Exempt,
            steps!(|tx| {
                let args = args! { workspace };
                tx.rows(&LIST, &args, |row| connection(row)).await
            }),
        )
        .await
}

static PAUSE: Sql = sql("
update connections
set paused_at = :since, paused_reason = :reason
where id = :id");

/// Pauses the connection with this reason, or resumes it if `pause` is `None`. A pause replaces
/// an earlier one. An unknown id has no effect.
pub async fn pause(
    database: &Database,
    id: ConnectionId,
    pause: Option<ConnectionPause>,
) -> Result<(), StoreError> {
    database
        .write_alone(steps!(|tx| {
            let args = args! {
                id: &id,
                since: pause.as_ref().map(|pause| pause.since),
                reason: pause.as_ref().map(|pause| pause.reason.as_str()),
            };
            tx.run(&PAUSE, &args).await?;
            Ok(())
        }))
        .await
}

pub const SQL: &[&Sql] = &[&ONE, &IDS, &LIST, &PAUSE];
