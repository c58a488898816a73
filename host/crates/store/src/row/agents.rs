//! Workspaces, their partners, their agents and the owners of their deals.

use super::RowColumns;
use crate::StoreError;
use leadhost_domain::id::AgentId;
use leadhost_domain::workspace::{Agent, AgentKind, Owner, Partner, Workspace};

/// Reads a workspace with its region, time zone and rate limit.
pub fn workspace(row: &impl RowColumns) -> Result<Workspace, StoreError> {
    Ok(Workspace {
        id: row.id("id")?,
        slug: row.text("slug")?,
        name: row.text("name")?,
        region: row.text("region")?,
        time_zone: row.text("time_zone")?,
        rate_limit: row.number("rate_limit")?,
    })
}

/// Reads a partner with its workspace.
pub fn partner(row: &impl RowColumns) -> Result<Partner, StoreError> {
    Ok(Partner {
        id: row.id("id")?,
        workspace: row.id("workspace_id")?,
        name: row.text("name")?,
    })
}

/// Reads an agent with its workspace.
pub fn agent(row: &impl RowColumns) -> Result<Agent, StoreError> {
    Ok(Agent {
        id: AgentId(row.number("id")?),
        workspace: row.id("workspace_id")?,
        name: row.text("name")?,
        number: row.text_if("number")?,
        kind: row.word("agents", "kind", kind_of)?,
        channel: row.text_if("channel")?,
        adapter: row.text_if("adapter")?,
        internal: row.flag("internal")?,
    })
}

/// Reads an owner of deals with its workspace.
pub fn owner(row: &impl RowColumns) -> Result<Owner, StoreError> {
    Ok(Owner {
        id: row.id("id")?,
        workspace: row.id("workspace_id")?,
        name: row.text("name")?,
        email: row.text("email")?,
    })
}

/// Returns the word that the store uses for this kind.
pub fn kind_text(kind: AgentKind) -> &'static str {
    kind.as_str()
}

fn kind_of(text: &str) -> Option<AgentKind> {
    AgentKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == text)
}
