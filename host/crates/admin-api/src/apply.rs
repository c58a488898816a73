use serde_json::json;

use crate::prelude::*;
use leadhost_domain::id::PartnerId;
use leadhost_domain::key::KeyKind;
use leadhost_domain::workspace::{ChangeKind, PartKind};

/// The prefix of the text of a secret that the service shall make. A prefix of the secret may follow.
pub const GENERATED: &str = "generate:";

pub fn to_generate(text: &str) -> Option<Value> {
    let prefix = text.strip_prefix(GENERATED)?;
    Some(json!({ "generate": prefix }))
}

/// The result of an apply or a dry run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplyReport {
    /// Whether nothing was changed, because the request asked only for a report.
    pub dry_run: bool,
    /// The workspace's slug.
    pub workspace: String,
    /// In a dry run for a new workspace, the id is not kept.
    pub workspace_id: WorkspaceId,
    /// The differences from the state before. Empty if the workspace was as declared.
    pub changes: Vec<ChangeView>,
    /// How existing connections and channels differ from the state before, without any value.
    pub changed_connections: Vec<ChangedConnectionView>,
    /// The ids of the declared sources, by name.
    pub connections: BTreeMap<String, ConnectionId>,
    /// The numbers of the declared instances, by name.
    pub instances: BTreeMap<String, AgentId>,
    /// For instances with an adapter, by name: the path that the provider posts to.
    pub channels: BTreeMap<String, String>,
    /// The ids of the declared partners, by name.
    pub partners: BTreeMap<String, PartnerId>,
    /// The keys that this apply created, or that it would create in a dry run.
    pub keys: Vec<NewKey>,
    /// The secrets that this apply generated, by connection and by name. Only this answer
    /// shows them. Empty in a dry run.
    pub generated: BTreeMap<String, BTreeMap<String, String>>,
    /// The same for instances.
    pub generated_of_instances: BTreeMap<String, BTreeMap<String, String>>,
    /// Declarations that are valid but may not be intended.
    pub warnings: Vec<FileProblem>,
}

/// A change that an apply made, or would make in a dry run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ChangeView {
    pub kind: PartKind,
    /// The name of the part. For a workspace its slug, for an owner the e-mail address, and for
    /// a product its external id.
    pub name: String,
    pub what: ChangeKind,
}

/// An existing connection or channel that an apply changed, or would change in a dry run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedConnectionView {
    pub kind: PartKind,
    pub name: String,
    /// The keys of the declaration whose values differ, such as `config` or `secrets`.
    pub fields: Vec<String>,
    /// The names of the secrets that are removed, because the declaration leaves them out.
    pub removed_secrets: Vec<String>,
}

/// A key that an apply created, or would create in a dry run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NewKey {
    pub kind: KeyKind,
    pub label: String,
    /// The partner's name. Null for a key of the whole workspace.
    pub partner: Option<String>,
    /// The key itself. Only this answer shows it. Null in a dry run.
    pub key: Option<String>,
}

/// A problem or a warning about a declaration.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct FileProblem {
    /// The place in the declaration, such as `connections[0].secrets.token`. Null for the whole.
    pub path: Option<String>,
    pub message: String,
}

/// Every problem of a declaration that was not applied. The refusal has them beside `error`.
#[derive(Debug, Serialize, Deserialize)]
pub struct RefusedFile {
    pub problems: Vec<FileProblem>,
}
