//! Persons of a workspace as the answers of several resources name them, and their conversations and
//! tickets.

use crate::prelude::*;
use leadhost_domain::id::{ConversationId, DealId, OwnerId, TicketId};

/// A contact by its names.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContactName {
    pub id: ContactId,
    pub name: Option<String>,
    /// In E.164, with its plus sign.
    pub phone_number: Option<String>,
    pub email: Option<String>,
}

impl ContactName {
    pub fn shown(&self) -> &str {
        let known = [&self.name, &self.phone_number, &self.email];
        let first = known.into_iter().flatten().find(|text| !text.is_empty());
        first.map_or("a contact without a name", String::as_str)
    }
}

/// A person of the workspace who owns deals and answers tickets.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OwnerName {
    pub id: OwnerId,
    pub name: Option<String>,
    pub email: Option<String>,
}

impl OwnerName {
    pub fn shown(&self) -> &str {
        let known = [&self.name, &self.email];
        known
            .into_iter()
            .flatten()
            .next()
            .map_or("an owner", String::as_str)
    }
}

/// An instance by its name.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentName {
    pub id: AgentId,
    /// Null if it no longer exists.
    pub name: Option<String>,
}

impl AgentName {
    /// Returns the name, or the number of an instance that no longer exists.
    pub fn shown(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.to_string())
    }
}

/// A conversation of a contact with an instance. `GET /admin/v1/outbox?conversation=` has its messages.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    pub id: ConversationId,
    /// As exported: `open`, `answered`, `transferred`.
    pub status: String,
    pub contact_id: ContactId,
    pub deal_id: Option<DealId>,
    pub instance: Option<AgentName>,
    pub source: Option<String>,
    pub created_at: Micros,
    pub last_message_at: Option<Micros>,
}

/// A page of tickets, newest first.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Tickets {
    pub tickets: Vec<TicketSummary>,
    /// The `before` of the next page. Null on the last page.
    pub next: Option<TicketId>,
}

/// A ticket with the names of what it refers to.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TicketSummary {
    pub id: TicketId,
    /// The workspace's slug.
    pub workspace: String,
    /// `open`, `answered` or `resolved`.
    pub status: String,
    /// The person to answer.
    pub contact: ContactName,
    /// The owner who took it. Null if it was not taken.
    pub owner: Option<OwnerName>,
    /// The instance of the conversation before the handover.
    pub instance: Option<AgentName>,
    pub deal_id: Option<DealId>,
    /// Null if the deal was handed over without a conversation.
    pub conversation_id: Option<ConversationId>,
    /// The notification's instructions for the assistant.
    pub special_instructions: Option<String>,
    pub opened_at: Micros,
    pub answered_at: Option<Micros>,
    pub resolved_at: Option<Micros>,
    pub updated_at: Micros,
}

impl ContactName {
    pub fn in_words(&self) -> String {
        let names = [&self.name, &self.phone_number, &self.email];
        let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
        format!("{} {}", self.id, names.join(", "))
    }

    pub fn cell(&self) -> Cell {
        Cell::from(self.shown())
            .link(format!("/contacts/{}", self.id))
            .note(self.phone_number.as_ref().filter(|_| self.name.is_some()))
    }
}

columns! {
    TicketSummary as ticket {
        "Id" facts => Cell::id(ticket.id),
        "Workspace" facts => &ticket.workspace,
        "Opened" lists => Cell::from(ticket.opened_at).reason(Some(&ticket.workspace)),
        "Opened" facts => ticket.opened_at,
        "Person" main => ticket.contact.cell(),
        "Status" => ticket.status_cell(),
        "Owner" named => Cell::from(ticket.owner.as_ref().map(OwnerName::shown)).or("none"),
        "Instance" => ticket.instance.as_ref().map(AgentName::shown),
        "Deal" facts => ticket.deal_id.map(|id| Cell::id(id).link(format!("/deals/{id}"))),
        "Conversation" facts => ticket.conversation_id
            .map(|id| Cell::id(id).link(format!("/conversations/{id}"))),
        "Answered" facts => ticket.answered_at,
        "Resolved" facts => ticket.resolved_at,
        "Instructions" facts => &ticket.special_instructions,
        "Ticket" lists => Cell::id(ticket.id).link(format!("/tickets/{}", ticket.id)),
    }

    ConversationSummary as conversation {
        "Began" => conversation.created_at,
        "Last message" named => conversation.last_message_at,
        "Status" => Cell::word(&conversation.status),
        "Instance" => conversation.instance.as_ref().map(AgentName::shown),
        "Source" => &conversation.source,
        "Conversation" => Cell::id(conversation.id)
            .link(format!("/conversations/{}", conversation.id)),
    }
}

impl TicketSummary {
    pub fn status_cell(&self) -> Cell {
        let is_open = self.status == "open";
        Cell::from(&self.status).tag(if is_open { "warn" } else { "" })
    }
}
