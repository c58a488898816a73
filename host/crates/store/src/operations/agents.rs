//! Workspaces, their partners, their agents and the owners of their deals.

use crate::operations::prelude::*;
use leadhost_domain::workspace::{Agent, Owner, Partner, Workspace};

statements! {
    static WORKSPACES: Sql = sql("
select id, slug, name, region, time_zone, rate_limit
from workspaces
order by slug collate \"C\"");

    static WORKSPACE_IDS: Sql = sql("
select id
from workspaces
order by id");

    static PARTNERS: Sql = sql("
select id, workspace_id, name
from partners
where workspace_id = :workspace
order by name collate \"C\"");

    static AGENTS: Sql = sql("
select id, workspace_id, name, number, kind, channel, adapter, internal
from agents
where workspace_id = :workspace
order by id");

    static OWNERS: Sql = sql("
select id, workspace_id, name, email
from owners
where workspace_id = :workspace
order by name collate \"C\", email collate \"C\"");
}

#[leadhost_boxed::boxed]
impl Store {
    pub async fn workspaces(&self) -> Result<Vec<Workspace>, StoreError> {
        self.database
            .rows(VisibleRows::Exempt, &WORKSPACES, [], Workspace::from_row)
            .await
    }

    pub async fn partners(&self, workspace: WorkspaceId) -> Result<Vec<Partner>, StoreError> {
        let args = args! { workspace };
        self.database
            .rows(VisibleRows::Exempt, &PARTNERS, args, Partner::from_row)
            .await
    }

    pub async fn agents(&self, workspace: WorkspaceId) -> Result<Vec<Agent>, StoreError> {
        let args = args! { workspace };
        self.database
            .rows(
                VisibleRows::Of(&[workspace]),
                &AGENTS,
                args,
                Agent::from_row,
            )
            .await
    }

    pub async fn owners(&self, workspace: WorkspaceId) -> Result<Vec<Owner>, StoreError> {
        let args = args! { workspace };
        self.database
            .rows(
                VisibleRows::Of(&[workspace]),
                &OWNERS,
                args,
                Owner::from_row,
            )
            .await
    }
}

/// Returns sorted workspaces in parts, each with all workspaces between its first and its last.
pub fn parts(
    workspaces: &[WorkspaceId],
) -> impl Iterator<Item = (&[WorkspaceId], WorkspaceId, WorkspaceId)> {
    let parts = workspaces.chunks(limits::WORKSPACES_AT_ONCE);
    parts.filter_map(|some| Some((some, *some.first()?, *some.last()?)))
}

/// Returns the ids of all workspaces, for callers that name them in parts.
pub async fn workspace_ids(tx: &mut Tx) -> Result<Vec<WorkspaceId>, StoreError> {
    tx.rows(&WORKSPACE_IDS, &[], |row| row.get("id")).await
}
