//! Workspaces, their partners, their agents and the owners of their deals.

use sqlx::Row as _;

use super::db::{Db, Rows};
use crate::domain::id::WorkspaceId;
use crate::domain::workspace::{Agent, Owner, Partner, Workspace};
use crate::store::StoreError;
use crate::store::row::agents::{agent, owner, partner, workspace};

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
        .map(partner)
        .collect()
}

const AGENTS: &str = "
select id, workspace_id, name, number, kind, channel, adapter, internal
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

const OWNERS: &str = "
select id, workspace_id, name, email
from owners
where workspace_id = $1
order by name collate \"C\", email collate \"C\"";

pub async fn owners(db: &Db, workspace: WorkspaceId) -> Result<Vec<Owner>, StoreError> {
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let rows = sqlx::query(OWNERS)
        .bind(workspace.0)
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    rows.iter().map(owner).collect()
}

pub(super) const SQL: &[&str] = &[WORKSPACES, WORKSPACE_IDS, PARTNERS, AGENTS, OWNERS];
