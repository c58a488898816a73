use super::apply::FileProblem;
use crate::prelude::*;
use leadhost_domain::connection::{
    AllowedHost, ConnectionPause, Greeting, LeadFields, SourceChange,
};
use leadhost_domain::delivery::ItemOutcome;
use leadhost_domain::exchange::SenderCheck;

/// The sources of all workspaces.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Connections {
    pub connections: Vec<ConnectionView>,
}

impl Connections {
    pub fn in_use(&self) -> impl Iterator<Item = &ConnectionView> {
        self.connections.iter().filter(|one| !one.retired)
    }
}

/// A connection as its operator sees it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionView {
    /// The last part of the address that the source posts to, `/ingest-lead/{id}`.
    pub id: ConnectionId,
    pub name: String,
    /// The workspace's slug.
    pub workspace: String,
    /// The partner's name.
    pub partner: String,
    /// The name of its converter.
    pub plugin: String,
    #[serde(flatten)]
    pub bound: Bound,
    /// The instance that gets its deals. Null for the workspace's first.
    pub instance_id: Option<AgentId>,
    /// The origins whose pages may post from a browser; `*` allows every one.
    pub origins: Vec<String>,
    /// Whether it is retired: it accepts nothing, as if its address were unknown.
    #[serde(default)]
    pub retired: bool,
    /// Whether a lead without an external id is a duplicate of an equal one within 10 minutes.
    pub dedupe_by_content: bool,
    /// The template message that a new lead gets.
    pub greeting: Option<GreetingView>,
    /// Since when, and why, its fetches are paused.
    pub paused: Option<ConnectionPause>,
    /// Whether senders have to authenticate.
    pub senders: Senders,
    /// How its deliveries differ from what was usual. Null while they are as usual.
    pub source_change: Option<SourceChange>,
    /// The deliveries of ended changes of its leads that nobody has replayed, the oldest change first.
    #[serde(default)]
    pub left_deliveries: Vec<LeftDeliveriesView>,
    /// How many of its last leads have each contact field. Null until leads were looked at.
    pub lead_fields: Option<LeadFields>,
    /// When its last delivery came in. Null if there is none.
    pub last_delivery_at: Option<Micros>,
}

/// Deliveries of an ended change that are still as they were converted then.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct LeftDeliveriesView {
    /// When the first of them was received.
    pub since: Micros,
    /// A time right after the last one: together with `since` and the connection, a replay finds them.
    pub until: Micros,
    /// What the leads lost, for people: `leads with a phone: 98 % -> 0 %`.
    pub differences: Vec<String>,
    /// Deliveries that were rejected, or brought no lead. Of a change with many deliveries, the newest are
    /// counted.
    pub refused: u64,
    /// Deliveries whose leads still lack what was lost.
    pub lacking: u64,
}

/// The template message that a new lead gets.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct GreetingView {
    /// The instance's name.
    pub instance: String,
    pub template: String,
    /// Null for the only approved language, or the channel's.
    pub language: Option<String>,
    /// The parameters of the body, in order, with places for the lead's values.
    pub parameters: Vec<String>,
    /// Whether the conversation is handed to people if it is not answered in time.
    pub transfer: bool,
}

impl From<Greeting> for GreetingView {
    fn from(greeting: Greeting) -> Self {
        let Greeting {
            instance,
            template,
            language,
            parameters,
            transfer,
        } = greeting;
        Self {
            instance,
            template,
            language,
            parameters,
            transfer,
        }
    }
}

/// The settings that a connection and the channel of an instance have in common.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bound {
    /// The plugin's configuration.
    pub config: Value,
    /// Grows with every change of configuration or secrets.
    pub config_version: i64,
    /// The hosts that its calls may reach.
    pub allow: Vec<AllowedHost>,
    /// Sender checks in addition to those that the plugin declares.
    pub checks: Vec<SenderCheck>,
    /// Route values for which other connections of the workspace route to this one.
    pub routes: BTreeMap<String, Vec<String>>,
    /// The names of its secrets; their values are never shown.
    pub secrets: Vec<String>,
    /// When each of these secrets got its value. A name is missing if the time is not known, as of those
    /// that were set before times were kept.
    #[serde(default)]
    pub secrets_set_at: BTreeMap<String, Micros>,
    /// The secrets that the plugin's replies may reveal.
    pub reply_secrets: Vec<String>,
    /// ISO 3166 alpha-2: the region of phone numbers without a country code.
    pub region: String,
    /// A name of the IANA database.
    pub time_zone: String,
}

impl Bound {
    pub fn config_text(&self) -> String {
        format!("{:#}", self.config)
    }

    /// Returns when a secret got its value. `None` if the time is not known.
    pub fn secret_set_at(&self, name: &str) -> Option<Micros> {
        self.secrets_set_at.get(name).copied()
    }
}

words! {
    /// Whether senders have to authenticate.
    Senders: "whether senders authenticate" {
        Checked = "checked",
        Anybody = "anybody",
        /// The plugin did not answer in time.
        Unknown = "unknown",
    }
}

/// A change of the configuration or the secrets of a connection, or of an instance with an adapter. The
/// service keeps everything that it leaves out.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeRequest {
    /// The `configVersion` on which the change is based. If it is not the newest, the change is refused.
    /// Null for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The whole configuration of the plugin, which replaces the former one. Null to keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub config: Option<Value>,
    /// New values of secrets, by name.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
    /// Secrets that the service makes, by name, each with the beginning of its text.
    #[serde(default)]
    pub generate: BTreeMap<String, String>,
}

/// The outcome of a change of a connection, or of an instance with an adapter.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    pub name: String,
    /// The workspace's slug.
    pub workspace: String,
    /// The version of the configuration now.
    pub config_version: i64,
    /// The keys of the declaration whose values differ from before: `config`, `secrets`, `routes`.
    pub fields: Vec<String>,
    /// The names of the secrets that have another value than before.
    pub secrets: Vec<String>,
    /// The secrets that this change generated, by name. Only this answer shows them.
    pub generated: BTreeMap<String, String>,
    /// Entries that are valid but may not be intended.
    pub warnings: Vec<FileProblem>,
}

/// The reason of a pause for which the request names none.
pub const BY_AN_OPERATOR: &str = "by an operator";

/// The reason for a pause.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRequest {
    /// Shown in lists.
    #[serde(default = "by_an_operator")]
    pub reason: String,
}

fn by_an_operator() -> String {
    BY_AN_OPERATOR.to_owned()
}

/// Whether a connection's fetches are paused now.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ConnectionPaused {
    pub id: ConnectionId,
    pub paused: bool,
}

/// A delivery that an operator sends in place of a source.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestDeliveryRequest {
    pub body: String,
    /// The content type of the delivery. Left out: JSON or a form, if the body looks like one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The fields of the query.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
}

/// The outcome of a test delivery.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TestedDelivery {
    /// It is stored, as one of the source would be.
    pub delivery: DeliveryId,
    pub status: DeliveryStatus,
    pub items: Vec<ItemOutcome>,
    /// Why the body is refused as a whole, so that a source gets 400.
    pub problem: Option<String>,
    /// The converter's own answer to the source. Null if the service answers.
    pub reply: Option<TestReply>,
}

/// The answer that a converter composes for its source.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestReply {
    pub status: u16,
    pub content_type: String,
    /// Null if it is not text, or may have a secret in it.
    pub body: Option<String>,
}

columns! {
    ConnectionView as connection {
        "Name" => &connection.name,
        "Workspace" => &connection.workspace,
        "Plugin" => &connection.plugin,
        "Sources post to" => format!("/ingest-lead/{}", connection.id),
        "Secrets" => connection.bound.secrets_in_words(),
        "Senders" => connection.senders_in_words(),
        "Fetches" => match &connection.paused {
            _ if connection.retired => "retired".to_owned(),
            None => "running".to_owned(),
            Some(pause) => format!("paused: {}", pause.reason),
        },
        "Last delivery" => connection.last_delivery_at,
        "Leads with" => connection.lead_fields.as_ref().map(shares),
        "Changed" => connection.source_change.as_ref().map(change_in_words),
    }
}

impl Bound {
    pub fn routes_in_words(&self) -> Option<String> {
        let routes = self.routes.iter();
        let routes = routes.map(|(name, values)| format!("{name} {}", values.join(", ")));
        let routes: Vec<String> = routes.collect();
        (!routes.is_empty()).then(|| routes.join("; "))
    }

    pub fn secrets_in_words(&self) -> Option<String> {
        let names = self.secrets.iter();
        let named = names.map(|name| match self.secret_set_at(name) {
            Some(at) => format!("{name} ({})", &at.to_the_second()[..10]),
            None => format!("{name} (age unknown)"),
        });
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| named.join(", "))
    }
}

impl ConnectionView {
    /// Returns who may send, and the secrets that the plugin's replies may contain.
    fn senders_in_words(&self) -> String {
        let senders = self.senders.as_str();
        match self.bound.reply_secrets.as_slice() {
            [] => senders.to_owned(),
            revealed => format!("{senders}; replies may contain {}", revealed.join(", ")),
        }
    }
}

/// Returns how many of the last leads have each contact field.
fn shares(fields: &LeadFields) -> String {
    let LeadFields {
        leads,
        name,
        phone,
        email,
        external_id,
        listing,
    } = fields;
    format!(
        "name {name} %, phone {phone} %, email {email} %, external id {external_id} %, listing {listing} % (of {leads})"
    )
}

pub fn change_in_words(change: &SourceChange) -> String {
    let SourceChange {
        what,
        before,
        after,
        ..
    } = change;
    format!("{what} ({before} -> {after})")
}
