//! A connection: a source bound to a workspace, a converter and an agent; or an instance bound
//! to a channel's adapter, which receives the channel's webhooks. Sealed secrets, sender
//! checks, the allow-list, routes and pauses work the same for both.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::exchange::{SenderCheck, UrlScheme};
use super::id::{AgentId, ConnectionId, PartnerId, WorkspaceId};
use super::plugin::Digest;
use super::time::{self, Micros};
use super::word::words;
use super::workspace::AgentKind;

/// The route name that stands for a whole account: all channels that name the same account
/// share its limits, payments and templates.
pub const ACCOUNT_ROUTE: &str = "account";

/// A connection as stored. Its secrets are sealed, so this type can be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// For a channel, the token in the address of its webhooks.
    pub id: ConnectionId,
    pub kind: ConnectionKind,
    pub workspace: WorkspaceId,
    /// The partner of a source. `None` for a channel, which belongs to the workspace.
    pub partner: Option<PartnerId>,
    /// Unique within the workspace and kind; for a channel, the instance's name.
    pub name: String,
    /// The name of the converter or adapter whose active version is called.
    pub plugin: String,
    /// Valid under the plugin's schema when it was applied.
    pub config: String,
    /// Grows with every change of configuration or secrets.
    pub config_version: i64,
    /// For a source, the agent that gets its deals; `None` means the workspace's first agent.
    /// For a channel, the instance.
    pub agent: Option<AgentId>,
    /// The hosts that its calls may reach.
    pub allow: Vec<AllowedHost>,
    /// Sender checks in addition to those that its plugin declares.
    pub checks: Vec<SenderCheck>,
    /// Route values for which other connections of the workspace route to this one.
    pub routes: BTreeMap<String, Vec<String>>,
    /// The names of its secrets, which are sealed in the store.
    pub secrets: Vec<String>,
    /// When each secret got its value. A name is missing if the time is not known.
    pub secrets_at: BTreeMap<String, Micros>,
    /// The sealed secrets: a JSON object of names and values, encrypted with the sealing key.
    pub sealed: Vec<u8>,
    /// ISO 3166 alpha-2: the region for phones without a country code.
    pub region: String,
    /// Name in the IANA database.
    pub time_zone: String,
    /// If true, leads without an external id are duplicates within 10 minutes if contact,
    /// listing and message are the same.
    pub dedupe_by_content: bool,
    pub settings: ConnectionSettings,
    /// Since when, and why, fetching and sending are paused.
    pub paused: Option<ConnectionPause>,
}

words! {
    /// The kind of system at the other end.
    ConnectionKind: "the kind of a connection" {
        /// Sends leads, through a converter.
        Source = "source",
        /// Sends and receives messages, through an adapter.
        Channel = "channel",
    }
}

/// Allows every origin.
pub const ANY_ORIGIN: &str = "*";

/// Settings that an operator makes in addition to the plugin's configuration. Stored as JSON, with
/// times in whole seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConnectionSettings {
    /// Sources: the greeting of a new lead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greeting: Option<Greeting>,
    /// Secrets that the plugin's replies and handshakes may reveal to every caller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reply_secrets: Vec<String>,
    /// Sources: the origins whose pages may post to it from a browser.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// Sources: whether it is retired. It accepts nothing, as if its address were unknown.
    #[serde(skip_serializing_if = "is_false")]
    pub retired: bool,
    /// Channels: the time after which a conversation without an answer becomes `no_response`.
    #[serde(rename = "unansweredSeconds", with = "time::seconds")]
    pub unanswered_after: Duration,
    /// Channels: the time without a message after which a conversation closes.
    #[serde(rename = "idleSeconds", with = "time::seconds")]
    pub idle_after: Duration,
    /// Channels: the time after which a message that could not be sent is given up.
    #[serde(rename = "keptSeconds", with = "time::seconds")]
    pub kept_for: Duration,
    /// Channels: the language of a template that exists in several, if the request names none.
    pub language: String,
    /// Channels: the channel's name in exports and in the keys of contacts, such as `whatsapp`.
    pub channel: String,
    /// Channels: the kind of agent behind the instance.
    pub agent_kind: AgentKind,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self {
            greeting: None,
            reply_secrets: Vec::new(),
            origins: Vec::new(),
            retired: false,
            unanswered_after: Duration::from_hours(24),
            idle_after: Duration::from_hours(30 * 24),
            kept_for: Duration::from_hours(24),
            language: "pt_BR".to_owned(),
            channel: String::new(),
            agent_kind: AgentKind::Ai,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The template message that a new lead of a source gets, in the commit that creates its deal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Greeting {
    /// The instance's name.
    pub instance: String,
    pub template: String,
    /// `None`: the only approved language, or the channel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The parameters of the body, in order. `{name}`, `{firstName}`, `{listing}`, `{message}`
    /// and `{source}` are replaced by the lead's values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// Hand the conversation to people if it is not answered in time.
    pub transfer: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Pause)]
pub struct ConnectionPause {
    pub since: Micros,
    pub reason: String,
}

words! {
    /// The cause of a change of the leads or failures of a connection.
    ChangeCause: "the cause of a change" {
        /// The version that serves: the one before it does better on the same deliveries.
        Version = "version",
        /// The connection's configuration or secrets: the version and the bodies are as before.
        Configuration = "configuration",
        /// The source, or whatever else both versions share.
        Source = "source",
        /// There is no previous version, or the versions could not be compared.
        Unknown = "unknown",
    }
}

/// A change of what a source sends, or of what a new version of its converter reads; or that its
/// deliveries keep failing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceChange {
    /// The fields of leads and the paths of bodies that changed, or `failing deliveries`; then
    /// `the source changed`, `new in` and the version, or `since configuration` and its number.
    pub what: String,
    /// The usual state of each of these: the share that has it, or its type.
    pub before: String,
    /// The state since then.
    pub after: String,
    /// About when it began: a delivery that came a little earlier than the first one that differs.
    pub since: Micros,
    /// Whether deliveries keep failing.
    pub failing: bool,
    pub cause: ChangeCause,
    /// The version that was tried on the deliveries: with the cause `version`, the one that is new. Null if
    /// none was tried.
    pub digest: Option<Digest>,
    /// Each change with its own time, the oldest first. Empty if deliveries keep failing.
    pub parts: Vec<SourceChangePart>,
}

impl SourceChange {
    /// Returns the changes, each with when it began and what it is, for people.
    pub fn changes(&self) -> Vec<(Micros, String)> {
        if self.parts.is_empty() {
            let what = format!("{}: {} -> {}", self.what, self.before, self.after);
            return vec![(self.since, what)];
        }
        let parts = self.parts.iter();
        parts
            .map(|part| (part.since, part.differences.join("; ")))
            .collect()
    }
}

/// Differences that began together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceChangePart {
    /// About when they began.
    pub since: Micros,
    /// Each difference, for people: `leads with a phone: 100 % -> 0 %`.
    pub differences: Vec<String>,
}

/// The shares of leads that are watched.
pub const LEAD_PARTS: usize = 7;

/// A change of leads that is over. Its deliveries are as they were converted then, until they are replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedChange {
    /// About when it began and ended: no delivery that differs is outside.
    pub since: Micros,
    pub until: Micros,
    /// The version that is blamed: only what it converted is left. `None`: whatever was received then.
    pub digest: Option<Digest>,
    /// What the leads lost: whether that is the lead itself, the name, the phone, the e-mail address, the
    /// external id, the listing, and the phone or the e-mail address.
    pub fields: [bool; LEAD_PARTS],
    /// Each difference, for people.
    pub differences: Vec<String>,
}

impl EndedChange {
    /// Adds another one, which may overlap.
    pub fn add(&mut self, other: Self) {
        self.since = self.since.min(other.since);
        self.until = self.until.max(other.until);
        self.digest = self
            .digest
            .take()
            .filter(|own| other.digest.as_ref() == Some(own));
        for (own, other) in self.fields.iter_mut().zip(other.fields) {
            *own |= other;
        }
        for difference in other.differences {
            if !self.differences.contains(&difference) {
                self.differences.push(difference);
            }
        }
    }
}

/// How many of the last leads of a source have each contact field, in percent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeadFields {
    /// The number of leads that were looked at: from the latest deliveries, or a sample of them if the source
    /// is busy. While a change is reported, the leads since the change.
    pub leads: u32,
    pub name: u8,
    pub phone: u8,
    pub email: u8,
    pub external_id: u8,
    pub listing: u8,
}

/// The shape of the deliveries of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceShape {
    /// `None` while they are as usual.
    pub change: Option<SourceChange>,
    /// `None` until leads were looked at.
    pub fields: Option<LeadFields>,
    /// The changes of leads that are over, the oldest first.
    pub ended: Vec<EndedChange>,
}

/// The stored summary of a connection's deliveries: names and types, no values.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionSketch {
    pub connection: ConnectionId,
    /// Grows with each write; 0 before the first one.
    pub generation: i64,
    /// As the pipeline writes it.
    pub sketch: serde_json::Value,
    pub change: Option<SourceChange>,
    pub fields: Option<LeadFields>,
    pub at: Micros,
}

/// A host that the calls of a connection may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AllowedHost {
    pub scheme: UrlScheme,
    /// The host in lower case, with the port if it is not the scheme's default.
    pub authority: String,
    /// The operator allows private and loopback addresses for this name.
    #[serde(default)]
    pub private: bool,
}

impl AllowedHost {
    /// Returns the entry of a workspace file for it: `http://10.0.0.7:9000!private`.
    pub fn declared(&self) -> String {
        let mark = if self.private { "!private" } else { "" };
        format!("{}://{}{mark}", self.scheme, self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_stored_in_whole_seconds() {
        let settings = ConnectionSettings {
            unanswered_after: Duration::from_hours(2),
            ..ConnectionSettings::default()
        };
        let stored = serde_json::to_value(&settings).expect("it is JSON");
        assert_eq!(stored["unansweredSeconds"], 7_200);
        assert_eq!(stored["idleSeconds"], 2_592_000);
        assert_eq!(stored["keptSeconds"], 86_400);
        let read: ConnectionSettings = serde_json::from_value(stored).expect("it was written");
        assert_eq!(read, settings);
        // Settings of a source have none of them.
        let read: ConnectionSettings =
            serde_json::from_str("{}").expect("every field has a default");
        assert_eq!(read, ConnectionSettings::default());
        let negative = serde_json::from_str::<ConnectionSettings>(r#"{"idleSeconds": -1}"#);
        assert!(negative.is_err());
    }
}
