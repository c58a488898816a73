//! Messages: sent, waiting, with an unknown outcome, and received.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::deliveries::ItemView;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::id::{AgentId, ContactId, ConversationId, DeliveryId, MessageId, WorkspaceId};
use crate::domain::message::{Actor, MessageState, Metadata};
use crate::domain::time::Micros;

/// A page of messages, newest first.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Messages {
    pub messages: Vec<MessageView>,
    /// The `before` of the next page. Null on the last page.
    pub next: Option<MessageId>,
}

/// A message as its operator sees it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    pub id: MessageId,
    pub workspace_id: WorkspaceId,
    pub conversation_id: ConversationId,
    pub contact_id: ContactId,
    pub contact_name: Option<String>,
    /// The contact's number in E.164, with its plus sign.
    pub phone_number: Option<String>,
    pub instance_id: Option<AgentId>,
    pub created_at: Micros,
    pub actor: Actor,
    /// Its type, as exported: `text`, `template`, `image`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its text. Null if it has none, or if the text of its template is not known.
    pub content: Option<String>,
    /// As exported. Keys without a value are absent.
    #[schema(inline)]
    pub metadata: Metadata,
    pub delivered_at: Option<Micros>,
    pub read_at: Option<Micros>,
    /// When a waiting message is sent next. Null if it does not wait.
    pub next_attempt_at: Option<Micros>,
}

/// A message that a contact of the sandbox writes.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplyRequest {
    /// A message of the conversation, by its id, or the contact's phone number.
    pub to: String,
    pub text: String,
    /// The instance that a phone writes to: its number, its name, or `workspace/name`. Without
    /// it, the only sandbox, or the one that wrote to the phone last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
}

/// A status that the sandbox reports for one of its messages.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusRequest {
    #[schema(schema_with = reported)]
    pub status: String,
}

impl StatusRequest {
    /// The statuses that can be reported.
    pub const WORDS: [&str; 4] = ["sent", "delivered", "read", "failed"];
}

fn reported() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(StatusRequest::WORDS))
}

/// The delivery as which a simulated event was taken in.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Played {
    pub delivery: DeliveryId,
    pub status: DeliveryStatus,
    pub items: Vec<ItemView>,
}

/// The decision about a message that waits or whose outcome is unknown.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    pub verdict: Verdict,
}

/// `send-again`: the message was not sent, so it is sent once more. `give-up`: it counts as
/// failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    SendAgain,
    GiveUp,
}

/// A message after its outcome was decided.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Resolved {
    pub id: MessageId,
    pub state: MessageState,
}
