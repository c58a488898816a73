//! Messages of conversations.

use super::record::{Fed, written};
use crate::StoreError;
use crate::change::RowChange;
use crate::row::RowColumns;
use crate::schema::table::{
    Ends, OnConflict, TableSchema, column, leaves, leaves_as, nullable, nullable_jsonb,
};
use crate::sql::SqlType::{Json, Number, Text, Time, Uuid};
use crate::sql::{Arg, Sql, args, json, made};
use leadhost_domain::id::{AgentId, ContactId, ConversationId, MessageId, WorkspaceId};
use leadhost_domain::message::{Actor, Metadata};
use leadhost_domain::plugin::RanWith;
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;

#[derive(Clone, Debug)]
pub struct MessageRecord {
    pub workspace: WorkspaceId,
    pub conversation: ConversationId,
    pub contact: ContactId,
    /// The instance that it went through.
    pub agent: Option<AgentId>,
    pub created_at: Micros,
    pub actor: Actor,
    /// One of `domain::message::KINDS`.
    pub kind: String,
    pub content: Option<String>,
    pub metadata: Metadata,
    pub delivered_at: Option<Micros>,
    pub read_at: Option<Micros>,
    /// The version that sent it last, or that read it. `None` if none was called.
    pub ran: Option<RanWith>,
    pub change: RowChange,
}

pub static MESSAGES: TableSchema = TableSchema {
    name: "messages",
    key: &["id"],
    leads_with_workspace: false,
    feed: Some(Entity::Messages),
    ends: &[Ends::With("conversation_id")],
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        column("conversation_id", Uuid),
        column("contact_id", Uuid),
        nullable("agent_id", Number),
        column("created_at", Time),
        column("actor", Text),
        column("kind", Text),
        nullable("content", Text),
        column("metadata", Json),
        column("state", Text),
        nullable("delivered_at", Time),
        nullable("read_at", Time),
        nullable_jsonb("ran"),
    ],
    exported: &[
        leaves("id"),
        leaves("workspace_id"),
        leaves_as("cursor_us", "cursor_at"),
        leaves("conversation_id"),
        leaves("created_at"),
        leaves("actor"),
        leaves_as("kind", "type"),
        leaves("content"),
        leaves("metadata"),
        leaves("delivered_at"),
        leaves("read_at"),
    ],
};

impl MessageRecord {
    /// Reads a message with its progress.
    pub fn read(row: &impl RowColumns) -> Result<Self, StoreError> {
        Ok(Self {
            workspace: row.id("workspace_id")?,
            conversation: row.id("conversation_id")?,
            contact: row.id("contact_id")?,
            agent: row.number_if("agent_id")?.map(AgentId),
            created_at: row.time("created_at")?,
            actor: row.word("messages", "actor", Actor::from_text)?,
            kind: row.text("kind")?,
            content: row.text_if("content")?,
            metadata: row.json("metadata")?,
            delivered_at: row.time_if("delivered_at")?,
            read_at: row.time_if("read_at")?,
            ran: row.json_if("ran")?,
            change: RowChange::None,
        })
    }
}

// The content of a message never changes; its progress does.
impl Fed<15> for MessageRecord {
    type Id = MessageId;
    const FEED: Entity = Entity::Messages;
    const MAY_MEET: bool = false;

    written!(MESSAGES, OnConflict::Fail, fixed: ["conversation_id", "contact_id", "agent_id", "created_at", "actor", "kind", "content"]);

    fn args(&self, id: Self::Id, cursor_us: i64, _: Micros) -> Result<[Arg<'_>; 15], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            conversation_id: self.conversation,
            contact_id: self.contact,
            agent_id: self.agent,
            created_at: self.created_at,
            actor: self.actor.as_str(),
            kind: &self.kind,
            content: self.content.as_deref(),
            metadata: json(&self.metadata)?,
            state: &self.metadata.status,
            delivered_at: self.delivered_at,
            read_at: self.read_at,
            ran: self.ran.as_ref().map(json).transpose()?,
        })
    }
}
