//! A connection: a source bound to a workspace, a converter and an agent; or an
//! instance bound to a channel's adapter, whose webhooks come to it. What holds
//! for the one (sealed secrets, checks of the sender, the allow-list, routes, a
//! pause) holds for the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::exchange::SenderCheck;
use super::id::{AgentId, ConnectionId, PartnerId, WorkspaceId};
use super::time::Micros;
use super::workspace::AgentKind;

/// The name in a route under which a whole account is meant: limits, payments and
/// templates are shared by all channels that name the same one.
pub const ACCOUNT_ROUTE: &str = "account";

/// A connection as stored. Its secrets are sealed: this type can be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Of a channel: the token in the address of its webhooks.
    pub id: ConnectionId,
    pub kind: ConnectionKind,
    pub workspace: WorkspaceId,
    /// Of a source, whose partner it is; a channel is the workspace's own.
    pub partner: Option<PartnerId>,
    /// Unique within the workspace and kind; of a channel the instance's name.
    pub name: String,
    /// Name of the converter or adapter whose active version serves it.
    pub plugin: String,
    /// Valid under the plugin's schema when it was applied.
    pub config: String,
    /// Grows with every change of configuration or secrets.
    pub config_version: i64,
    /// Of a source, whose deals its leads become; none: the workspace's first
    /// agent. Of a channel, the instance.
    pub agent: Option<AgentId>,
    /// Where its calls may go.
    pub allow: Vec<AllowedHost>,
    /// Checks beside those that its plugin declares.
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
    pub settings: Settings,
    /// Fetching and sending are paused since then, and why.
    pub paused: Option<Pause>,
}

/// What is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConnectionKind {
    /// Leads come in, through a converter.
    Source,
    /// Messages go out and come back, through an adapter.
    Channel,
}

impl ConnectionKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Channel => "channel",
        }
    }

    pub fn of(text: &str) -> Option<Self> {
        [Self::Source, Self::Channel]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// Stands for every origin.
pub const ANY_ORIGIN: &str = "*";

/// What an operator sets beside the plugin's own configuration. Kept as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Of a source: what a new lead is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greeting: Option<Greeting>,
    /// Secrets that the plugin's replies and handshakes may tell to whoever asks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reply_secrets: Vec<String>,
    /// Of a source: the origins whose pages may post to it from a browser.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// Of a channel: seconds after which a conversation without an answer is `no_response`.
    pub unanswered_seconds: i64,
    /// Of a channel: seconds without a message after which a conversation closes.
    pub idle_seconds: i64,
    /// Of a channel: seconds after which a message that could not be sent is given up.
    pub kept_seconds: i64,
    /// Of a channel: the language of a template that has several and none is named.
    pub language: String,
    /// Of a channel: its name, as exported and in contacts' keys: `whatsapp`.
    pub channel: String,
    /// Of a channel: who answers for the instance.
    pub agent_kind: AgentKind,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            greeting: None,
            reply_secrets: Vec::new(),
            origins: Vec::new(),
            unanswered_seconds: 24 * 3_600,
            idle_seconds: 30 * 24 * 3_600,
            kept_seconds: 24 * 3_600,
            language: "pt_BR".to_owned(),
            channel: String::new(),
            agent_kind: AgentKind::Ai,
        }
    }
}

/// What a new lead of a source is sent, in the commit that makes its deal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Greeting {
    /// The instance's name.
    pub instance: String,
    pub template: String,
    /// None: the only one that is approved, or the channel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The body's parameters, in order, in which `{name}`, `{firstName}`,
    /// `{listing}`, `{message}` and `{source}` stand for what the lead says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// Transferred to people when it is not answered in time.
    pub transfer: bool,
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
