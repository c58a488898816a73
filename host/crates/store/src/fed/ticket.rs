//! Tickets: conversations and deals that people handle.

use super::record::fed;
use crate::prelude::*;
use crate::schema::described::table;
use leadhost_domain::ticket::TicketStatus;

// A ticket keeps what was known of its conversation when it opened. It may get a conversation or a
// deal that it had not, and a repair may give it another contact.
table! {
    pub static TICKETS: "tickets" {
        key: &["id"],
        feed: Some(Entity::Tickets),
    }

    /// A conversation or a deal that people handle.
    #[derive(Clone, Debug)]
    pub struct TicketRecord |self, row, id: TicketId, cursor_us: i64, at: Micros| {
        workspace_id => workspace: WorkspaceId,
        cursor_us: i64 = cursor_us,
        id: TicketId = id,
        conversation_id => conversation: Option<ConversationId>,
        deal_id => deal: Option<DealId>,
        contact_id => contact: ContactId,
        agent_id => agent: Option<AgentId> [fixed],
        /// The agent type of its conversation when the ticket opened. `None` without a conversation.
        agent_type: Option<String> [fixed],
        /// The source of its conversation at that time.
        source: Option<String> [fixed],
        owner_id => owner: Option<OwnerId>,
        status: TicketStatus,
        special_instructions: Option<String> [fixed],
        opened_at: Micros [fixed],
        answered_at: Option<Micros>,
        resolved_at: Option<Micros>,
        updated_at: Micros = at,
        ;
        change: RowChange = RowChange::None,
    }
}

fed!(TicketRecord: TicketId in TICKETS of Tickets, may_meet: true, is_over: |row| row.resolved_at.is_some());
