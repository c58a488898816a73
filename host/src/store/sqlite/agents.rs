//! Workspaces, their partners, their agents and the owners of their deals.

use super::db::Db;
use crate::domain::id::WorkspaceId;
use crate::domain::workspace::{Agent, Owner, Partner, Workspace};
use crate::store::StoreError;
use crate::store::row::agents::{agent, owner, partner, workspace};

const WORKSPACES: &str = "
select id, slug, name, region, time_zone, rate_limit
from workspaces
order by slug";

pub async fn workspaces(db: &Db) -> Result<Vec<Workspace>, StoreError> {
    sqlx::query(WORKSPACES)
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(workspace)
        .collect()
}

const PARTNERS: &str = "
select id, workspace_id, name
from partners
where workspace_id = ?1
order by name";

pub async fn partners(db: &Db, workspace: WorkspaceId) -> Result<Vec<Partner>, StoreError> {
    sqlx::query(PARTNERS)
        .bind(workspace.to_string())
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(partner)
        .collect()
}

const AGENTS: &str = "
select id, workspace_id, name, number, kind, channel, adapter, internal
from agents
where workspace_id = ?1
order by id";

pub async fn agents(db: &Db, workspace: WorkspaceId) -> Result<Vec<Agent>, StoreError> {
    sqlx::query(AGENTS)
        .bind(workspace.to_string())
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(agent)
        .collect()
}

const OWNERS: &str = "
select id, workspace_id, name, email
from owners
where workspace_id = ?1
order by name, email";

pub async fn owners(db: &Db, workspace: WorkspaceId) -> Result<Vec<Owner>, StoreError> {
    sqlx::query(OWNERS)
        .bind(workspace.to_string())
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(owner)
        .collect()
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[WORKSPACES, PARTNERS, AGENTS, OWNERS];
