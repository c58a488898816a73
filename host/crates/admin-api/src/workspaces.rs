use super::apply::ChangeView;
use crate::prelude::*;
use leadhost_domain::id::OwnerId;
use leadhost_domain::workspace::{AgentKind, Workspace};

/// The workspaces, by slug.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Workspaces {
    pub workspaces: Vec<Workspace>,
}

/// The owners of a workspace.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Owners {
    /// The workspace's slug.
    pub workspace: String,
    pub owners: Vec<OwnerView>,
}

/// A person who owns deals and answers tickets.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OwnerView {
    pub id: OwnerId,
    pub name: String,
    /// In lower case, unique within the workspace.
    pub email: String,
}

/// An owner to create or to rename. The e-mail address identifies the owner.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OwnerRequest {
    pub email: String,
    pub name: String,
}

/// The agents of a workspace.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Agents {
    /// The workspace's slug.
    pub workspace: String,
    pub agents: Vec<AgentView>,
}

/// An agent, which is also called an instance: a messaging bot or a person.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    pub id: AgentId,
    /// Unique within the workspace.
    pub name: String,
    pub number: Option<String>,
    pub kind: AgentKind,
    /// The channel's name in exports, such as `whatsapp`.
    pub channel: Option<String>,
    /// The name of its adapter. Null if it sends nothing.
    pub adapter: Option<String>,
    /// Whether analytics leave it out unless it is requested.
    pub internal: bool,
}

/// An agent to create or to change. The name identifies the agent. The adapter is declared in the
/// workspace file alone.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentRequest {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// Without it, `ai`. If the agent has an adapter, only the workspace file changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<AgentKind>,
    /// The channel's name in exports: lower-case letters, digits and hyphens, and neither `phone` nor
    /// `email`. If the agent has an adapter, only the workspace file changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Whether analytics leave it out unless it is requested.
    #[serde(default)]
    pub internal: bool,
}

/// The changes that a list of owners or agents made, or would make in a dry run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartApplied {
    /// The workspace's slug.
    pub workspace: String,
    /// Whether nothing was changed, because the request asked only for a report.
    pub dry_run: bool,
    /// The differences from the state before. Entries without a change are not listed.
    pub changes: Vec<ChangeView>,
}

/// The outcome of an import of products.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ImportReport {
    pub created: u64,
    pub changed: u64,
    /// Products that had these values already.
    pub kept: u64,
    pub removed: u64,
    /// All lines that were refused.
    pub refused: u64,
    /// The first of them, by line, at most 1000.
    pub problems: Vec<RefusedLine>,
    /// Columns that no product has, at most 20.
    pub ignored: Vec<String>,
    /// Whether the products that the catalogue does not name were removed.
    pub replaced: bool,
    /// Why they were not removed although the request asked for it.
    pub note: Option<String>,
}

/// A line of a catalogue that was refused.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RefusedLine {
    /// Counted from 1.
    pub line: u64,
    pub message: String,
}

/// A product that was removed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductRemoved {
    /// The workspace's slug.
    pub workspace: String,
    /// The product's id in the workspace's own catalogue.
    pub external_id: String,
    /// Always true.
    pub removed: bool,
}

columns! {
    Workspace as workspace {
        "Slug" => &workspace.slug,
        "Name" => &workspace.name,
        "Region" => &workspace.region,
        "Time zone" => &workspace.time_zone,
        "Requests a minute" => workspace.rate_limit,
        "Id" => Cell::id(workspace.id),
    }

    OwnerView as owner {
        "E-mail" => &owner.email,
        "Name" => &owner.name,
        "Id" => Cell::id(owner.id),
    }
}
