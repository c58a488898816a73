//! The rows of the export, exactly as clients get them: every key on every row, null for
//! unknown values, times with six digits. Clients' schemas are generated from these types;
//! the stores write what serde would produce for them (`store/row/export.rs`).

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::conversation::ConversationStatus;
use super::deal::{DealStage, DealStatus};
use super::id::{
    ContactId, ConversationId, DealId, MessageErrorId, MessageId, OwnerId, ProductId, WorkspaceId,
};
use super::message::{Actor, MessageKind};
use super::time::Micros;
use super::word::words;

words! {
    /// An entity that has a feed.
    Entity: "the entity" {
        Conversations = "conversations",
        Messages = "messages",
        Contacts = "contacts",
        Deals = "deals",
        /// Failures of the channel: a report, not an entity of the export.
        MessageErrors = "message_errors",
        /// Tickets of the desk; not exported.
        Tickets = "tickets",
        /// The product index follows this feed; not exported.
        Products = "products",
    }
}

impl Entity {
    /// The entities of `/v1/export`.
    pub const EXPORTED: [Self; 4] = [
        Self::Conversations,
        Self::Messages,
        Self::Contacts,
        Self::Deals,
    ];

    pub fn exported(word: &str) -> Option<Self> {
        Self::from_text(word).filter(|entity| Self::EXPORTED.contains(entity))
    }

    /// The number of the entity in cursors and in the feed clock. Never reused.
    pub const fn code(self) -> u8 {
        match self {
            Self::Conversations => 1,
            Self::Messages => 2,
            Self::Contacts => 3,
            Self::Deals => 4,
            Self::MessageErrors => 5,
            Self::Tickets => 6,
            Self::Products => 7,
        }
    }
}

/// A row of `ids`, which says only that the row exists.
#[derive(Debug, Serialize, ToSchema)]
pub struct IdRow {
    #[schema(value_type = DealId)]
    pub id: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ContactRow {
    #[schema(value_type = ContactId)]
    pub id: String,
    #[schema(value_type = WorkspaceId)]
    pub workspace_id: String,
    pub cursor_at: Micros,
    pub name: Option<String>,
    pub email: Option<String>,
    pub phone_number: Option<String>,
    pub banned_at: Option<Micros>,
    /// A JSON object, as stored.
    #[schema(value_type = Object)]
    pub props: Box<RawValue>,
}

impl ContactRow {
    /// A row as the description of the API shows it.
    pub fn example() -> Value {
        json!({
            "id": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88",
            "workspace_id": "019cae2b-3f60-7c11-b0de-000000000001",
            "cursor_at": "2026-03-02T12:15:30.250000Z",
            "name": "Otávio Prates",
            "email": "otavio.prates@example.com",
            "phone_number": "+5521977770102",
            "banned_at": null,
            "props": {},
        })
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DealRow {
    #[schema(value_type = DealId)]
    pub id: String,
    #[schema(value_type = WorkspaceId)]
    pub workspace_id: String,
    pub cursor_at: Micros,
    #[schema(value_type = ContactId)]
    pub person_id: String,
    pub agent_id: Option<i64>,
    #[schema(value_type = Option<OwnerId>)]
    pub owner_id: Option<String>,
    #[schema(value_type = DealStatus)]
    pub status: String,
    pub title: Option<String>,
    #[schema(value_type = Object)]
    pub props: Box<RawValue>,
    pub created_at: Micros,
    pub updated_at: Micros,
    #[schema(value_type = DealStage)]
    pub stage_code: String,
    #[schema(value_type = Option<ProductId>)]
    pub product_id: Option<String>,
    pub external_id: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MessageRow {
    #[schema(value_type = MessageId)]
    pub id: String,
    #[schema(value_type = WorkspaceId)]
    pub workspace_id: String,
    pub cursor_at: Micros,
    #[schema(value_type = ConversationId)]
    pub conversation_id: String,
    pub created_at: Micros,
    #[schema(value_type = Actor)]
    pub actor: String,
    #[serde(rename = "type")]
    #[schema(value_type = MessageKind)]
    pub kind: String,
    pub content: Option<String>,
    #[schema(value_type = Object)]
    pub metadata: Box<RawValue>,
    pub delivered_at: Option<Micros>,
    pub read_at: Option<Micros>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ConversationRow {
    #[schema(value_type = ConversationId)]
    pub id: String,
    #[schema(value_type = WorkspaceId)]
    pub workspace_id: String,
    pub cursor_at: Micros,
    #[schema(value_type = ContactId)]
    pub contact_id: String,
    #[schema(value_type = Option<DealId>)]
    pub deal_id: Option<String>,
    pub agent_id: Option<i64>,
    pub agent_type: Option<String>,
    pub source: Option<String>,
    pub channel: Option<String>,
    #[schema(value_type = ConversationStatus)]
    pub status: String,
    pub created_at: Micros,
    pub updated_at: Micros,
    pub first_message_at: Option<Micros>,
    pub answered_at: Option<Micros>,
    pub last_message_at: Option<Micros>,
    pub no_response_at: Option<Micros>,
    pub transferred_at: Option<Micros>,
    pub appointment_at: Option<Micros>,
    pub closed_at: Option<Micros>,
    #[schema(value_type = Object)]
    pub props: Box<RawValue>,
}

/// A failure of the channel: one row for each message and code.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessageErrorRow {
    #[schema(value_type = MessageErrorId)]
    pub id: String,
    #[schema(value_type = WorkspaceId)]
    pub workspace_id: String,
    pub cursor_at: Micros,
    pub recipient_id: Option<String>,
    #[schema(value_type = Option<DealId>)]
    pub deal_id: Option<String>,
    #[schema(value_type = Option<ConversationId>)]
    pub conversation_id: Option<String>,
    pub agent_id: Option<i64>,
    #[schema(value_type = Option<MessageId>)]
    pub message_id: Option<String>,
    /// The channel's id of the message.
    pub external_id: Option<String>,
    pub error_code: String,
    pub error_title: Option<String>,
    pub error_description: Option<String>,
    pub error_details: Option<String>,
    pub template_name: Option<String>,
    pub channel: Option<String>,
    pub occurred_at: Micros,
}

/// The position of an exported row in the feed, and its length in bytes of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportRow {
    pub stamp: i64,
    pub bytes: usize,
}
