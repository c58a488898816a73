//! Captured deliveries: with everything that their conversion depends on, for golden cases and for
//! replays on an integrator's machine; and the golden cases themselves.

use super::deliveries::{DeliveryFacts, RequestView};
use crate::prelude::*;
use leadhost_domain::difference::ItemKind;
use leadhost_domain::exchange::HttpRequest;

/// The deliveries to capture.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureRequest {
    /// From 1 to 50 ids.
    #[schema(min_items = 1, max_items = 50)]
    pub deliveries: Vec<DeliveryId>,
    /// Only deliveries of connections with this plugin.
    #[serde(default)]
    pub plugin: Option<String>,
}

/// Captured deliveries, and those that were asked for and are not among them.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapturedDeliveries {
    pub deliveries: Vec<CaptureView>,
    /// The connections that received them, and connections of the same workspaces that a route may lead to.
    pub connections: Vec<CapturedConnection>,
    /// Deliveries whose body has been erased or has expired.
    pub emptied: Vec<DeliveryId>,
    /// There are no such deliveries, or their connection no longer exists.
    pub unknown: Vec<DeliveryId>,
    /// Deliveries of another plugin than the request names.
    pub of_another_plugin: Vec<DeliveryId>,
    /// Deliveries for which there was no room or no time: ask for them again.
    pub not_reached: Vec<DeliveryId>,
}

/// A captured delivery.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaptureView {
    #[serde(flatten)]
    pub facts: DeliveryFacts,
    /// The name of its connection's plugin.
    pub plugin: String,
    /// The active version of the plugin. Null if none is active.
    pub served_by: Option<ServingVersion>,
    pub request: RequestView,
    /// The answers to its fetches, in the order in which they were settled.
    pub answers: Vec<CapturedAnswerView>,
    /// Whether it has more answers than there was room for.
    pub answers_left_out: bool,
    /// The result of the active version now. Null if none is active, or the host could not call it
    /// just now.
    pub outcome: Option<OutcomeView>,
}

/// The version that serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServingVersion {
    pub version: String,
    /// The SHA-256 of the component.
    pub digest: Digest,
}

/// The answer to a fetch, with its secrets masked.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapturedAnswerView {
    /// The item that the fetch was for.
    pub item: u32,
    /// 1 for the fetch of a pointer, 2 for a fetch that its answer asked for, and so on.
    pub hop: u32,
    /// The source's id of the lead.
    pub external_id: Option<String>,
    /// The request as its plugin described it, with its slots empty.
    #[schema(value_type = Object)]
    pub request: HttpRequest,
    /// The state that the active version gives the fetch, in base64. Null if it would not make this
    /// fetch.
    pub state_base64: Option<String>,
    pub status: u16,
    /// Names and values, in their order.
    pub headers: Vec<(String, String)>,
    /// The body if it is UTF-8. Null otherwise.
    pub body: Option<String>,
    /// The body in base64 if it is not UTF-8. Null otherwise.
    pub body_base64: Option<String>,
}

/// A version's result for a delivery. One of the three is not null.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OutcomeView {
    pub items: Option<Vec<OutcomeItemView>>,
    /// Why the plugin refuses the body as a whole.
    pub refused: Option<String>,
    /// Why the call fails.
    pub failed: Option<String>,
}

/// One item, in the form in which items are compared.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OutcomeItemView {
    pub kind: ItemKind,
    /// Identifies it within the delivery, besides its place.
    pub key: Option<String>,
    /// The values of each field. A missing value is a missing field.
    pub fields: BTreeMap<String, Vec<String>>,
}

/// A connection, as far as conversions depend on it. Its secrets are not part of it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapturedConnection {
    pub id: ConnectionId,
    pub name: String,
    pub workspace_id: WorkspaceId,
    /// The name of its plugin.
    pub plugin: String,
    /// The instance, if it is a channel's connection. Null for a source.
    pub instance_id: Option<AgentId>,
    /// The channel's name, such as `whatsapp`. Empty for a source.
    pub channel: String,
    /// The plugin's configuration.
    pub config: Value,
    /// Grows with every change of configuration or secrets.
    pub config_version: i64,
    /// Route values for which other connections of the workspace route to this one.
    pub routes: BTreeMap<String, Vec<String>>,
    /// ISO 3166 alpha-2: the region of phone numbers without a country code.
    pub region: String,
    /// A name of the IANA database.
    pub time_zone: String,
    /// Whether it has a sender check that runs.
    pub is_checked: bool,
}

/// A delivery as golden cases, with masked persons.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct GoldenExport {
    /// The plugin whose cases they are.
    pub plugin: String,
    /// The case of the delivery, and one for each answer to its fetches.
    pub cases: Vec<ExportedCase>,
    /// Remarks about the cases for the person who exports them.
    pub notes: Vec<String>,
}

/// A golden case: a folder of this name with these files.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ExportedCase {
    pub name: String,
    pub files: Vec<ExportedFile>,
}

/// A file of a golden case.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ExportedFile {
    pub name: String,
    pub text: String,
}
