//! A workspace as an operator declares it, and the changes that a declaration makes.

use crate::prelude::*;
use leadhost_domain::connection::{AllowedHost, ConnectionKind, ConnectionSettings};
use leadhost_domain::exchange::SenderCheck;
use leadhost_domain::workspace::{AgentKind, ChangeKind, PartKind};

/// A declared workspace. Its secrets are already sealed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The id of the workspace, which it gets if it is new. Its secrets are sealed for it.
    pub workspace: WorkspaceId,
    pub slug: String,
    /// The plan declares parts of an existing workspace: its name and settings stay unchanged.
    pub is_part: bool,
    pub name: String,
    pub region: String,
    pub time_zone: String,
    pub rate_limit: u32,
    pub partners: Vec<String>,
    pub agents: Vec<PlannedAgent>,
    pub owners: Vec<PlannedOwner>,
    pub connections: Vec<PlannedConnection>,
    pub products: Vec<PlannedProduct>,
}

#[derive(Clone, Debug)]
pub struct PlannedAgent {
    pub name: String,
    pub number: Option<String>,
    pub kind: AgentKind,
    pub channel: Option<String>,
    pub adapter: Option<String>,
    pub internal: bool,
}

#[derive(Clone, Debug)]
pub struct PlannedOwner {
    pub name: String,
    pub email: String,
}

#[derive(Clone, Debug)]
pub struct PlannedConnection {
    pub kind: ConnectionKind,
    pub name: String,
    pub partner: Option<String>,
    pub plugin: String,
    pub config: String,
    /// The name of the agent. For a channel, its instance, which has the same name.
    pub agent: Option<String>,
    pub allow: Vec<AllowedHost>,
    pub checks: Vec<SenderCheck>,
    pub routes: BTreeMap<String, Vec<String>>,
    pub secrets: Vec<String>,
    /// When each secret got its value, as far as it is known.
    pub secrets_at: BTreeMap<String, Micros>,
    pub sealed: Vec<u8>,
    /// If it equals the last one, the configuration, the secrets and the version stay unchanged.
    pub fingerprint: String,
    /// The version of the configuration that has to be stored for the plan to be applied. `None` takes
    /// every one.
    pub based_on: Option<i64>,
    pub region: Option<String>,
    pub time_zone: Option<String>,
    pub dedupe_by_content: bool,
    pub settings: ConnectionSettings,
}

#[derive(Clone, Debug)]
pub struct PlannedProduct {
    pub external_id: String,
    pub name: String,
    pub description: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Applied {
    pub workspace_id: WorkspaceId,
    pub changes: Vec<AppliedChange>,
    pub connections: BTreeMap<String, ConnectionId>,
    pub channels: BTreeMap<String, ConnectionId>,
    pub instances: BTreeMap<String, AgentId>,
    pub partners: BTreeMap<String, PartnerId>,
}

/// A part that was not as declared.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedChange {
    pub kind: PartKind,
    pub name: String,
    pub what: ChangeKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowEffect {
    Created,
    Changed,
    /// It already equalled the plan.
    Kept,
}

impl RowEffect {
    /// Returns the effect of a statement that writes only differences.
    pub fn changed(rows: u64) -> Self {
        if rows > 0 { Self::Changed } else { Self::Kept }
    }
}
