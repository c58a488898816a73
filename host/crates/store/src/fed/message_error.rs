//! Failures that channels report.

use super::record::{Fed, written};
use crate::StoreError;
use crate::change::RowChange;
use crate::row::RowColumns;
use crate::schema::table::{OnConflict, TableSchema, column, leaves, leaves_as, nullable};
use crate::sql::SqlType::{Number, Text, Time, Uuid};
use crate::sql::{Arg, Sql, args, made};
use leadhost_domain::id::{
    AgentId, ConversationId, DealId, MessageErrorId, MessageId, WorkspaceId,
};
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;

/// A failure that a channel reported.
#[derive(Clone, Debug)]
pub struct MessageErrorRecord {
    pub workspace: WorkspaceId,
    pub conversation: Option<ConversationId>,
    pub deal: Option<DealId>,
    pub agent: Option<AgentId>,
    pub message: Option<MessageId>,
    pub external_id: Option<String>,
    pub recipient_id: Option<String>,
    pub code: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub details: Option<String>,
    pub template_name: Option<String>,
    pub channel: Option<String>,
    pub occurred_at: Micros,
    pub change: RowChange,
}

pub static MESSAGE_ERRORS: TableSchema = TableSchema {
    name: "message_errors",
    key: &["id"],
    leads_with_workspace: false,
    feed: Some(Entity::MessageErrors),
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        nullable("conversation_id", Uuid),
        nullable("deal_id", Uuid),
        nullable("agent_id", Number),
        nullable("message_id", Uuid),
        nullable("external_id", Text),
        nullable("recipient_id", Text),
        column("code", Text),
        nullable("title", Text),
        nullable("description", Text),
        nullable("details", Text),
        nullable("template_name", Text),
        nullable("channel", Text),
        column("occurred_at", Time),
    ],
    exported: &[
        leaves("id"),
        leaves("workspace_id"),
        leaves_as("cursor_us", "cursor_at"),
        leaves("recipient_id"),
        leaves("deal_id"),
        leaves("conversation_id"),
        leaves("agent_id"),
        leaves("message_id"),
        leaves("external_id"),
        leaves_as("code", "error_code"),
        leaves_as("title", "error_title"),
        leaves_as("description", "error_description"),
        leaves_as("details", "error_details"),
        leaves("template_name"),
        leaves("channel"),
        leaves("occurred_at"),
    ],
};

impl MessageErrorRecord {
    /// Reads a failure that a channel reported.
    pub fn read(row: &impl RowColumns) -> Result<Self, StoreError> {
        Ok(Self {
            workspace: row.id("workspace_id")?,
            conversation: row.id_if("conversation_id")?,
            deal: row.id_if("deal_id")?,
            agent: row.number_if("agent_id")?.map(AgentId),
            message: row.id_if("message_id")?,
            external_id: row.text_if("external_id")?,
            recipient_id: row.text_if("recipient_id")?,
            code: row.text("code")?,
            title: row.text_if("title")?,
            description: row.text_if("description")?,
            details: row.text_if("details")?,
            template_name: row.text_if("template_name")?,
            channel: row.text_if("channel")?,
            occurred_at: row.time("occurred_at")?,
            change: RowChange::None,
        })
    }
}

impl Fed<16> for MessageErrorRecord {
    type Id = MessageErrorId;
    const FEED: Entity = Entity::MessageErrors;
    const MAY_MEET: bool = true;

    written!(MESSAGE_ERRORS, OnConflict::Skip, fixed: []);

    fn args(&self, id: Self::Id, cursor_us: i64, _: Micros) -> Result<[Arg<'_>; 16], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            conversation_id: self.conversation,
            deal_id: self.deal,
            agent_id: self.agent,
            message_id: self.message,
            external_id: self.external_id.as_deref(),
            recipient_id: self.recipient_id.as_deref(),
            code: &self.code,
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            details: self.details.as_deref(),
            template_name: self.template_name.as_deref(),
            channel: self.channel.as_deref(),
            occurred_at: self.occurred_at,
        })
    }
}
