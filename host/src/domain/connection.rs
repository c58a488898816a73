//! A connection: a source bound to a workspace, a converter and an agent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::exchange::SenderCheck;
use super::id::{AgentId, ConnectionId, PartnerId, WorkspaceId};
use super::time::Micros;

/// A connection as stored. Its secrets are sealed: this type can be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    pub id: ConnectionId,
    pub workspace: WorkspaceId,
    pub partner: PartnerId,
    /// Unique within the workspace.
    pub name: String,
    /// Name of the converter whose active version serves it.
    pub plugin: String,
    /// Valid under the plugin's schema when it was applied.
    pub config: String,
    /// Grows with every change of configuration or secrets.
    pub config_version: i64,
    /// Whose deals its leads become; none: the workspace's first agent.
    pub agent: Option<AgentId>,
    /// Where its fetches may go.
    pub allow: Vec<AllowedHost>,
    /// Checks beside those that the converter declares.
    pub checks: Vec<SenderCheck>,
    /// Route values that lead here from other connections of the workspace.
    pub routes: BTreeMap<String, Vec<String>>,
    /// Names of the secrets that it has, sealed in the store.
    pub secrets: Vec<String>,
    /// The sealed secrets: JSON object of name and value under the sealing key.
    pub sealed: Vec<u8>,
    /// ISO 3166 alpha-2, how to read its phones.
    pub region: String,
    /// IANA name.
    pub time_zone: String,
    /// Recognise repeats without an external id by contact, listing and message for 10 minutes.
    pub dedupe_by_content: bool,
    /// Fetching is paused since then, and why.
    pub paused: Option<Pause>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    #[serde(skip)]
    pub since: Micros,
    pub reason: String,
}

/// A host that fetches may go to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedHost {
    /// `https` or `http`.
    pub scheme: String,
    /// Host, with the port if it is not the scheme's own; lower case.
    pub authority: String,
    /// The operator allows private and loopback addresses behind this name.
    #[serde(default)]
    pub private: bool,
}
