//! Workspaces, their partners and their agents.

use super::db::Db;
use crate::domain::id::WorkspaceId;
use crate::domain::workspace::{Agent, Partner, Workspace};
use crate::store::StoreError;
use crate::store::row::agents::{agent, partner, workspace};

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
select id, workspace_id, name, number, kind, channel, adapter, config, internal
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

#[cfg(test)]
pub(super) const SQL: &[&str] = &[WORKSPACES, PARTNERS, AGENTS];
