//! Conversations between a contact and an instance.

use serde_json::{Map, Value};

use super::record::{Fed, written};
use crate::StoreError;
use crate::change::RowChange;
use crate::row::RowColumns;
use crate::schema::table::{OnConflict, TableSchema, column, leaves, leaves_as, nullable};
use crate::sql::SqlType::{Json, Number, Text, Time, Truth, Uuid};
use crate::sql::{Arg, Sql, args, json, made};
use leadhost_domain::id::{AgentId, ContactId, ConversationId, DealId, WorkspaceId};
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;

#[derive(Clone, Debug)]
pub struct ConversationRecord {
    pub workspace: WorkspaceId,
    pub contact: ContactId,
    pub deal: Option<DealId>,
    pub agent: Option<AgentId>,
    pub agent_type: Option<String>,
    pub source: Option<String>,
    pub channel: Option<String>,
    pub first_message_at: Option<Micros>,
    pub answered_at: Option<Micros>,
    pub last_message_at: Option<Micros>,
    pub no_response_at: Option<Micros>,
    pub transferred_at: Option<Micros>,
    pub appointment_at: Option<Micros>,
    pub closed_at: Option<Micros>,
    pub props: Map<String, Value>,
    /// When the first message of the instance was stored, if there is one. A later incoming message
    /// answers it.
    pub messaged_at: Option<Micros>,
    /// Whether it is transferred to people if it is not answered in time.
    pub transfer: bool,
    /// If it is unanswered at this time, it becomes `no_response`. `None` once that is settled.
    pub respond_by: Option<Micros>,
    /// If it is idle until this time, it closes. `None` if it is closed.
    pub close_by: Option<Micros>,
    /// What the notifications of each partner said of the person, by the partner's id.
    pub said: Map<String, Value>,
    pub change: RowChange,
}

pub static CONVERSATIONS: TableSchema = TableSchema {
    name: "conversations",
    key: &["id"],
    leads_with_workspace: false,
    feed: Some(Entity::Conversations),
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        column("contact_id", Uuid),
        nullable("deal_id", Uuid),
        nullable("agent_id", Number),
        nullable("agent_type", Text),
        nullable("source", Text),
        nullable("channel", Text),
        column("status", Text),
        column("created_at", Time),
        column("updated_at", Time),
        nullable("first_message_at", Time),
        nullable("answered_at", Time),
        nullable("last_message_at", Time),
        nullable("no_response_at", Time),
        nullable("transferred_at", Time),
        nullable("appointment_at", Time),
        nullable("closed_at", Time),
        column("props", Json),
        nullable("messaged_at", Time),
        column("transfer", Truth),
        nullable("respond_by", Time),
        nullable("close_by", Time),
        column("said", Json),
    ],
    exported: &[
        leaves("id"),
        leaves("workspace_id"),
        leaves_as("cursor_us", "cursor_at"),
        leaves("contact_id"),
        leaves("deal_id"),
        leaves("agent_id"),
        leaves("agent_type"),
        leaves("source"),
        leaves("channel"),
        leaves("status"),
        leaves("created_at"),
        leaves("updated_at"),
        leaves("first_message_at"),
        leaves("answered_at"),
        leaves("last_message_at"),
        leaves("no_response_at"),
        leaves("transferred_at"),
        leaves("appointment_at"),
        leaves("closed_at"),
        leaves("props"),
    ],
};

impl ConversationRecord {
    /// Reads a conversation. Its status is derived from its times.
    pub fn read(row: &impl RowColumns) -> Result<Self, StoreError> {
        Ok(Self {
            workspace: row.id("workspace_id")?,
            contact: row.id("contact_id")?,
            deal: row.id_if("deal_id")?,
            agent: row.number_if("agent_id")?.map(AgentId),
            agent_type: row.text_if("agent_type")?,
            source: row.text_if("source")?,
            channel: row.text_if("channel")?,
            first_message_at: row.time_if("first_message_at")?,
            answered_at: row.time_if("answered_at")?,
            last_message_at: row.time_if("last_message_at")?,
            no_response_at: row.time_if("no_response_at")?,
            transferred_at: row.time_if("transferred_at")?,
            appointment_at: row.time_if("appointment_at")?,
            closed_at: row.time_if("closed_at")?,
            props: row.json("props")?,
            messaged_at: row.time_if("messaged_at")?,
            transfer: row.flag("transfer")?,
            respond_by: row.time_if("respond_by")?,
            close_by: row.time_if("close_by")?,
            said: row.json("said")?,
            change: RowChange::None,
        })
    }
}

// The instance and the source of a conversation never change. A repair may give it another contact.
impl Fed<25> for ConversationRecord {
    type Id = ConversationId;
    const FEED: Entity = Entity::Conversations;
    const MAY_MEET: bool = true;

    written!(CONVERSATIONS, OnConflict::Skip, fixed: ["agent_id", "agent_type", "source", "channel", "created_at"]);

    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; 25], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            contact_id: self.contact,
            deal_id: self.deal,
            agent_id: self.agent,
            agent_type: self.agent_type.as_deref(),
            source: self.source.as_deref(),
            channel: self.channel.as_deref(),
            status: self.status().as_str(),
            created_at: at,
            updated_at: at,
            first_message_at: self.first_message_at,
            answered_at: self.answered_at,
            last_message_at: self.last_message_at,
            no_response_at: self.no_response_at,
            transferred_at: self.transferred_at,
            appointment_at: self.appointment_at,
            closed_at: self.closed_at,
            props: json(&self.props)?,
            messaged_at: self.messaged_at,
            transfer: self.transfer,
            respond_by: self.respond_by,
            close_by: self.close_by,
            said: json(&self.said)?,
        })
    }
}
