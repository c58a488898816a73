//! Workspaces, their partners and their agents.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::columns::Columns as _;
use super::db::{Db, Rows};
use crate::domain::id::{AgentId, PartnerId, WorkspaceId};
use crate::domain::workspace::{Agent, AgentKind, Partner, Workspace};
use crate::store::StoreError;
use crate::store::error::odd;

const WORKSPACES: &str = "
select id, slug, name, region, time_zone, rate_limit
from workspaces
order by slug collate \"C\"";

pub async fn workspaces(db: &Db) -> Result<Vec<Workspace>, StoreError> {
    sqlx::query(WORKSPACES)
        .fetch_all(db.pool())
        .await?
        .iter()
        .map(workspace)
        .collect()
}

pub fn workspace(row: &PgRow) -> Result<Workspace, StoreError> {
    Ok(Workspace {
        id: WorkspaceId(row.try_get("id")?),
        slug: row.try_get("slug")?,
        name: row.try_get("name")?,
        region: row.try_get("region")?,
        time_zone: row.try_get("time_zone")?,
        rate_limit: row.number("rate_limit")?,
    })
}

const WORKSPACE_IDS: &str = "
select id
from workspaces
order by id";

/// Of every workspace that there is.
pub async fn workspace_ids(db: &Db) -> Result<Vec<WorkspaceId>, StoreError> {
    let rows = sqlx::query(WORKSPACE_IDS).fetch_all(db.pool()).await?;
    rows.iter()
        .map(|row| Ok(WorkspaceId(row.try_get(0)?)))
        .collect()
}

const PARTNERS: &str = "
select id, workspace_id, name
from partners
where workspace_id = $1
order by name collate \"C\"";

pub async fn partners(db: &Db, workspace: WorkspaceId) -> Result<Vec<Partner>, StoreError> {
    sqlx::query(PARTNERS)
        .bind(workspace.0)
        .fetch_all(db.pool())
        .await?
        .iter()
        .map(|row| {
            Ok(Partner {
                id: PartnerId(row.try_get("id")?),
                workspace: WorkspaceId(row.try_get("workspace_id")?),
                name: row.try_get("name")?,
            })
        })
        .collect()
}

const AGENTS: &str = "
select id, workspace_id, name, number, kind, channel, adapter, config::text as config, internal
from agents
where workspace_id = $1
order by id";

pub async fn agents(db: &Db, workspace: WorkspaceId) -> Result<Vec<Agent>, StoreError> {
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let rows = sqlx::query(AGENTS)
        .bind(workspace.0)
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    rows.iter().map(agent).collect()
}

fn agent(row: &PgRow) -> Result<Agent, StoreError> {
    let kind: &str = row.try_get("kind")?;
    Ok(Agent {
        id: AgentId(row.try_get("id")?),
        workspace: WorkspaceId(row.try_get("workspace_id")?),
        name: row.try_get("name")?,
        number: row.try_get("number")?,
        kind: kind_of(kind).ok_or_else(|| odd("agents", "kind", kind))?,
        channel: row.try_get("channel")?,
        adapter: row.try_get("adapter")?,
        config: row.try_get("config")?,
        internal: row.try_get("internal")?,
    })
}

/// The word for a kind in the store.
pub fn kind_text(kind: AgentKind) -> &'static str {
    match kind {
        AgentKind::Ai => "ai",
        AgentKind::Human => "human",
    }
}

fn kind_of(text: &str) -> Option<AgentKind> {
    [AgentKind::Ai, AgentKind::Human]
        .into_iter()
        .find(|kind| kind_text(*kind) == text)
}

pub(super) const SQL: &[&str] = &[WORKSPACES, WORKSPACE_IDS, PARTNERS, AGENTS];
