//! Tickets: conversations and deals that people handle.

use super::record::{Fed, written};
use crate::StoreError;
use crate::change::RowChange;
use crate::row::RowColumns;
use crate::schema::table::{OnConflict, TableSchema, column, nullable};
use crate::sql::SqlType::{Number, Text, Time, Uuid};
use crate::sql::{Arg, Sql, args, made};
use leadhost_domain::id::{
    AgentId, ContactId, ConversationId, DealId, OwnerId, TicketId, WorkspaceId,
};
use leadhost_domain::row::Entity;
use leadhost_domain::ticket;
use leadhost_domain::time::Micros;

/// A conversation or a deal that people handle.
#[derive(Clone, Debug)]
pub struct TicketRecord {
    pub workspace: WorkspaceId,
    pub conversation: Option<ConversationId>,
    pub deal: Option<DealId>,
    pub contact: ContactId,
    pub agent: Option<AgentId>,
    /// The agent type of its conversation when the ticket opened. `None` without a conversation.
    pub agent_type: Option<String>,
    /// The source of its conversation at that time.
    pub source: Option<String>,
    pub owner: Option<OwnerId>,
    pub status: ticket::TicketStatus,
    pub special_instructions: Option<String>,
    pub opened_at: Micros,
    pub answered_at: Option<Micros>,
    pub resolved_at: Option<Micros>,
    pub change: RowChange,
}

pub static TICKETS: TableSchema = TableSchema {
    name: "tickets",
    key: &["id"],
    leads_with_workspace: false,
    feed: Some(Entity::Tickets),
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        nullable("conversation_id", Uuid),
        nullable("deal_id", Uuid),
        column("contact_id", Uuid),
        nullable("agent_id", Number),
        nullable("agent_type", Text),
        nullable("source", Text),
        nullable("owner_id", Uuid),
        column("status", Text),
        nullable("special_instructions", Text),
        column("opened_at", Time),
        nullable("answered_at", Time),
        nullable("resolved_at", Time),
        column("updated_at", Time),
    ],
    exported: &[],
};

impl TicketRecord {
    /// Reads a ticket with its subject and its progress.
    pub fn read(row: &impl RowColumns) -> Result<Self, StoreError> {
        Ok(Self {
            workspace: row.id("workspace_id")?,
            conversation: row.id_if("conversation_id")?,
            deal: row.id_if("deal_id")?,
            contact: row.id("contact_id")?,
            agent: row.number_if("agent_id")?.map(AgentId),
            agent_type: row.text_if("agent_type")?,
            source: row.text_if("source")?,
            owner: row.id_if("owner_id")?,
            status: row.word("tickets", "status", ticket::TicketStatus::from_text)?,
            special_instructions: row.text_if("special_instructions")?,
            opened_at: row.time("opened_at")?,
            answered_at: row.time_if("answered_at")?,
            resolved_at: row.time_if("resolved_at")?,
            change: RowChange::None,
        })
    }
}

// A ticket keeps what was known of its conversation when it opened. It may get a conversation or a
// deal that it had not, and a repair may give it another contact.
impl Fed<16> for TicketRecord {
    type Id = TicketId;
    const FEED: Entity = Entity::Tickets;
    const MAY_MEET: bool = true;

    fn is_over(&self) -> bool {
        self.resolved_at.is_some()
    }

    written!(TICKETS, OnConflict::Skip, fixed: ["agent_id", "agent_type", "source", "special_instructions", "opened_at"]);

    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; 16], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            conversation_id: self.conversation,
            deal_id: self.deal,
            contact_id: self.contact,
            agent_id: self.agent,
            agent_type: self.agent_type.as_deref(),
            source: self.source.as_deref(),
            owner_id: self.owner,
            status: self.status.as_str(),
            special_instructions: self.special_instructions.as_deref(),
            opened_at: self.opened_at,
            answered_at: self.answered_at,
            resolved_at: self.resolved_at,
            updated_at: at,
        })
    }
}
