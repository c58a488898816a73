//! Instances: messaging bots, and the channels of those that have an adapter.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::connections::Bound;
use crate::domain::channel::Template;
use crate::domain::connection::Pause;
use crate::domain::id::AgentId;
use crate::domain::time::Micros;
use crate::domain::workspace::AgentKind;

/// The instances of all workspaces, by workspace and number.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Instances {
    pub instances: Vec<InstanceView>,
}

/// An instance as its operator sees it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceView {
    pub id: AgentId,
    pub name: String,
    /// The workspace's slug.
    pub workspace: String,
    pub number: Option<String>,
    pub kind: AgentKind,
    /// The channel's name in exports, such as `whatsapp`.
    pub channel: Option<String>,
    /// The name of its adapter. Null if it sends nothing.
    pub adapter: Option<String>,
    /// The same as `adapter`.
    pub plugin: Option<String>,
    /// Whether analytics leave it out unless it is requested.
    pub internal: bool,
    /// Since when, and why, its sending is paused.
    pub paused: Option<Pause>,
    /// The path that its provider posts to.
    pub webhook: Option<String>,
    /// Present if it has an adapter.
    #[serde(flatten)]
    pub settings: Option<ChannelSettings>,
}

/// The settings of an instance with an adapter.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelSettings {
    #[serde(flatten)]
    pub bound: Bound,
    /// Seconds after which a conversation without an answer becomes `no_response`.
    pub unanswered_after_seconds: i64,
    /// Seconds without a message after which a conversation closes.
    pub idle_after_seconds: i64,
    /// Seconds after which a message that could not be sent is given up.
    pub keep_for_seconds: i64,
    /// The language of a template that exists in several, if the request names none.
    pub language: String,
    /// The state of its list of templates. Null if it was never read.
    pub templates: Option<Templates>,
}

/// The templates that a provider lists for an instance.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Templates {
    pub count: usize,
    pub approved: usize,
    /// When the list was last read.
    pub synced_at: Option<Micros>,
    /// Why the last attempt to read the list failed.
    pub error: Option<String>,
    /// Whether the provider does not list its templates.
    pub unlisted: bool,
    /// The templates themselves, if one instance is shown. Null in a list of instances.
    #[serde(default)]
    pub list: Option<Vec<Template>>,
}

/// Whether an instance's sending is paused now.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct InstancePaused {
    pub id: AgentId,
    pub paused: bool,
}
