//! A tenant and its parts.

use serde::{Deserialize, Serialize};

use super::id::{AgentId, OwnerId, PartnerId, WorkspaceId};
use super::word::words;

/// A workspace as its operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WorkspaceView)]
pub struct Workspace {
    pub id: WorkspaceId,
    /// The unique name, in lower case.
    pub slug: String,
    pub name: String,
    /// ISO 3166 alpha-2: the region of phone numbers without a country code.
    pub region: String,
    /// A name of the IANA database.
    pub time_zone: String,
    /// Requests per minute on the data API.
    pub rate_limit: u32,
}

/// Returns `workspace/name`, which names a connection or an instance across all workspaces.
pub fn name_in_workspace(slug: &str, name: &str) -> String {
    format!("{slug}/{name}")
}

/// A system that calls the gateway for a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Partner {
    pub id: PartnerId,
    pub workspace: WorkspaceId,
    pub name: String,
}

/// An agent, which the interface also calls an instance: a messaging bot with its number,
/// channel, adapter and settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agent {
    pub id: AgentId,
    pub workspace: WorkspaceId,
    /// Unique within the workspace.
    pub name: String,
    pub number: Option<String>,
    /// `ai` or `human`.
    pub kind: AgentKind,
    pub channel: Option<String>,
    pub adapter: Option<String>,
    /// Left out of analytics unless requested.
    pub internal: bool,
}

/// A person who owns deals and answers tickets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    pub id: OwnerId,
    pub workspace: WorkspaceId,
    pub name: String,
    /// Normalised, unique within the workspace.
    pub email: String,
}

words! {
    AgentKind: "the kind of an agent" {
        Ai = "ai",
        Human = "human",
    }
}

words! {
    /// A part of a workspace that a declaration names.
    PartKind: "the part" {
        Workspace = "workspace",
        Partner = "partner",
        Agent = "agent",
        Owner = "owner",
        Connection = "connection",
        Channel = "channel",
        Product = "product",
    }
}

words! {
    /// The change that a declaration makes to a part that is not as declared.
    ChangeKind: "the change" {
        Created = "created",
        Changed = "changed",
    }
}
