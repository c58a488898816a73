//! A ticket: work for the desk. A ticket opens when a conversation, or a deal without a
//! conversation, is handed to people; resolving it ends the conversation.

use serde::Serialize;
use utoipa::ToSchema;

use super::deal::PersonPart;
use super::id::{AgentId, ConversationId, DealId, OwnerId, TicketId};
use super::time::Micros;
use super::word::words;

words! {
    TicketStatus: "the status of a ticket" {
        Open = "open",
        /// A person has answered; the ticket is not resolved.
        Answered = "answered",
        Resolved = "resolved",
    }
}

/// A ticket as the desk shows it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TicketView {
    pub id: TicketId,
    pub status: TicketStatus,
    /// Null if the deal was handed over without a conversation.
    pub conversation_id: Option<ConversationId>,
    pub deal_id: Option<DealId>,
    /// The person to answer.
    pub person: PersonPart,
    /// The instance of the conversation before the handover.
    pub agent_id: Option<AgentId>,
    /// The owner who took the ticket.
    pub owner: Option<OwnerPart>,
    /// The notification's instructions for the assistant.
    pub special_instructions: Option<String>,
    pub opened_at: Micros,
    pub answered_at: Option<Micros>,
    pub resolved_at: Option<Micros>,
    pub updated_at: Micros,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct OwnerPart {
    pub id: OwnerId,
    pub name: String,
    pub email: String,
}
