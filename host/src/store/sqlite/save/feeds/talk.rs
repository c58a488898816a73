//! What is said, what became of it, and what is in people's hands.

use serde::Serialize;

use super::super::super::json;
use super::{Next, parameter};
use crate::domain::row::Entity;
use crate::store::StoreError;
use crate::store::decide::Dialogue;

#[derive(Serialize)]
struct ConversationRow<'a> {
    workspace: String,
    cursor: i64,
    id: String,
    contact: String,
    deal: Option<String>,
    agent: Option<i64>,
    agent_type: Option<&'a str>,
    source: Option<&'a str>,
    channel: Option<&'a str>,
    status: &'static str,
    first_message: Option<i64>,
    answered: Option<i64>,
    last_message: Option<i64>,
    no_response: Option<i64>,
    transferred: Option<i64>,
    appointment: Option<i64>,
    closed: Option<i64>,
    props: String,
    messaged: Option<i64>,
    transfer: bool,
    respond_by: Option<i64>,
    close_by: Option<i64>,
    due: Option<i64>,
}

// What a conversation is between does not change, and where it came from neither.
pub(super) const CONVERSATIONS: &str = "
insert into conversations (workspace_id, cursor_us, id, contact_id, deal_id, agent_id, agent_type,
  source, channel, status, created_at, updated_at, first_message_at, answered_at, last_message_at,
  no_response_at, transferred_at, appointment_at, closed_at, props, messaged_at, transfer,
  respond_by, close_by, due_at)
select value ->> 'workspace', value ->> 'cursor', value ->> 'id', value ->> 'contact',
  value ->> 'deal', value ->> 'agent', value ->> 'agent_type', value ->> 'source',
  value ->> 'channel', value ->> 'status', min(?2, value ->> 'cursor'), min(?2, value ->> 'cursor'), value ->> 'first_message', value ->> 'answered',
  value ->> 'last_message', value ->> 'no_response', value ->> 'transferred',
  value ->> 'appointment', value ->> 'closed', value ->> 'props', value ->> 'messaged',
  value ->> 'transfer', value ->> 'respond_by', value ->> 'close_by', value ->> 'due'
from jsonb_each(?1)
where true
on conflict (id) do update
set cursor_us = excluded.cursor_us, deal_id = excluded.deal_id, status = excluded.status,
  updated_at = excluded.updated_at, first_message_at = excluded.first_message_at,
  answered_at = excluded.answered_at, last_message_at = excluded.last_message_at,
  no_response_at = excluded.no_response_at, transferred_at = excluded.transferred_at,
  appointment_at = excluded.appointment_at, closed_at = excluded.closed_at,
  props = excluded.props, messaged_at = excluded.messaged_at, transfer = excluded.transfer,
  respond_by = excluded.respond_by, close_by = excluded.close_by,
  due_at = excluded.due_at";

pub(super) fn conversations(
    dialogue: &Dialogue,
    next: &mut Next,
) -> Result<Option<String>, StoreError> {
    let mut rows = Vec::new();
    for id in &dialogue.changed_conversations {
        if let Some(conversation) = dialogue.conversations.get(id) {
            rows.push(ConversationRow {
                workspace: conversation.workspace.to_string(),
                cursor: next.take(conversation.workspace, Entity::Conversations)?,
                id: id.to_string(),
                contact: conversation.contact.to_string(),
                deal: conversation.deal.map(|id| id.to_string()),
                agent: conversation.agent.map(|agent| agent.0),
                agent_type: conversation.agent_type.as_deref(),
                source: conversation.source.as_deref(),
                channel: conversation.channel.as_deref(),
                status: conversation.status().as_str(),
                first_message: conversation.first_message_at.map(|at| at.0),
                answered: conversation.answered_at.map(|at| at.0),
                last_message: conversation.last_message_at.map(|at| at.0),
                no_response: conversation.no_response_at.map(|at| at.0),
                transferred: conversation.transferred_at.map(|at| at.0),
                appointment: conversation.appointment_at.map(|at| at.0),
                closed: conversation.closed_at.map(|at| at.0),
                props: json(&conversation.props)?,
                messaged: conversation.messaged_at.map(|at| at.0),
                transfer: conversation.transfer,
                respond_by: conversation.respond_by.map(|at| at.0),
                close_by: conversation.close_by.map(|at| at.0),
                due: conversation.due_at().map(|at| at.0),
            });
        }
    }
    parameter(&rows)
}

#[derive(Serialize)]
struct MessageRow<'a> {
    workspace: String,
    cursor: i64,
    id: String,
    conversation: String,
    contact: String,
    agent: Option<i64>,
    created: i64,
    actor: &'static str,
    kind: &'a str,
    content: Option<&'a str>,
    metadata: String,
    state: &'a str,
    delivered: Option<i64>,
    read: Option<i64>,
}

// What was written stays; how far it is changes.
pub(super) const MESSAGES: &str = "
insert into messages (workspace_id, cursor_us, id, conversation_id, contact_id, agent_id, created_at,
  actor, kind, content, metadata, state, delivered_at, read_at)
select value ->> 'workspace', value ->> 'cursor', value ->> 'id', value ->> 'conversation',
  value ->> 'contact', value ->> 'agent', value ->> 'created', value ->> 'actor', value ->> 'kind',
  value ->> 'content', value ->> 'metadata', value ->> 'state', value ->> 'delivered',
  value ->> 'read'
from jsonb_each(?1)
where true
on conflict (id) do update
set cursor_us = excluded.cursor_us, metadata = excluded.metadata, state = excluded.state,
  delivered_at = excluded.delivered_at, read_at = excluded.read_at";

pub(super) fn messages(dialogue: &Dialogue, next: &mut Next) -> Result<Option<String>, StoreError> {
    let mut rows = Vec::new();
    for id in &dialogue.changed_messages {
        if let Some(message) = dialogue.messages.get(id) {
            rows.push(MessageRow {
                workspace: message.workspace.to_string(),
                cursor: next.take(message.workspace, Entity::Messages)?,
                id: id.to_string(),
                conversation: message.conversation.to_string(),
                contact: message.contact.to_string(),
                agent: message.agent.map(|agent| agent.0),
                created: message.created_at.0,
                actor: message.actor.as_str(),
                kind: &message.kind,
                content: message.content.as_deref(),
                metadata: json(&message.metadata)?,
                state: &message.metadata.status,
                delivered: message.delivered_at.map(|at| at.0),
                read: message.read_at.map(|at| at.0),
            });
        }
    }
    parameter(&rows)
}

#[derive(Serialize)]
struct TicketRow<'a> {
    workspace: String,
    cursor: i64,
    id: String,
    conversation: Option<String>,
    deal: Option<String>,
    contact: String,
    agent: Option<i64>,
    agent_type: Option<&'a str>,
    source: Option<&'a str>,
    owner: Option<String>,
    status: &'static str,
    instructions: Option<&'a str>,
    opened: i64,
    answered: Option<i64>,
    resolved: Option<i64>,
}

// What is in people's hands does not change; how far they are does.
pub(super) const TICKETS: &str = "
insert into tickets (workspace_id, cursor_us, id, conversation_id, deal_id, contact_id, agent_id,
  agent_type, source, owner_id, status, special_instructions, opened_at, answered_at, resolved_at,
  updated_at)
select value ->> 'workspace', value ->> 'cursor', value ->> 'id', value ->> 'conversation',
  value ->> 'deal', value ->> 'contact', value ->> 'agent', value ->> 'agent_type',
  value ->> 'source', value ->> 'owner', value ->> 'status', value ->> 'instructions',
  value ->> 'opened', value ->> 'answered', value ->> 'resolved', min(?2, value ->> 'cursor')
from jsonb_each(?1)
where true
on conflict (id) do update
set cursor_us = excluded.cursor_us, owner_id = excluded.owner_id, status = excluded.status,
  answered_at = excluded.answered_at, resolved_at = excluded.resolved_at,
  updated_at = excluded.updated_at";

pub(super) fn tickets(dialogue: &Dialogue, next: &mut Next) -> Result<Option<String>, StoreError> {
    let mut rows = Vec::new();
    for id in &dialogue.changed_tickets {
        if let Some(ticket) = dialogue.tickets.get(id) {
            rows.push(TicketRow {
                workspace: ticket.workspace.to_string(),
                cursor: next.take(ticket.workspace, Entity::Tickets)?,
                id: id.to_string(),
                conversation: ticket.conversation.map(|id| id.to_string()),
                deal: ticket.deal.map(|id| id.to_string()),
                contact: ticket.contact.to_string(),
                agent: ticket.agent.map(|agent| agent.0),
                agent_type: ticket.agent_type.as_deref(),
                source: ticket.source.as_deref(),
                owner: ticket.owner.map(|id| id.to_string()),
                status: ticket.status.as_str(),
                instructions: ticket.special_instructions.as_deref(),
                opened: ticket.opened_at.0,
                answered: ticket.answered_at.map(|at| at.0),
                resolved: ticket.resolved_at.map(|at| at.0),
            });
        }
    }
    // One is live at a time: what is resolved makes room first.
    rows.sort_by_key(|row| row.resolved.is_none());
    parameter(&rows)
}

#[derive(Serialize)]
struct MessageErrorRow<'a> {
    workspace: String,
    cursor: i64,
    id: String,
    conversation: Option<String>,
    deal: Option<String>,
    agent: Option<i64>,
    message: Option<String>,
    external: Option<&'a str>,
    recipient: Option<&'a str>,
    code: &'a str,
    title: Option<&'a str>,
    description: Option<&'a str>,
    details: Option<&'a str>,
    template: Option<&'a str>,
    channel: Option<&'a str>,
    occurred: i64,
}

pub(super) const MESSAGE_ERRORS: &str = "
insert into message_errors (workspace_id, cursor_us, id, conversation_id, deal_id, agent_id,
  message_id, external_id, recipient_id, code, title, description, details, template_name, channel,
  occurred_at)
select value ->> 'workspace', value ->> 'cursor', value ->> 'id', value ->> 'conversation',
  value ->> 'deal', value ->> 'agent', value ->> 'message', value ->> 'external',
  value ->> 'recipient', value ->> 'code', value ->> 'title', value ->> 'description',
  value ->> 'details', value ->> 'template', value ->> 'channel', value ->> 'occurred'
from jsonb_each(?1)
where true
on conflict (id) do update
set cursor_us = excluded.cursor_us, conversation_id = excluded.conversation_id,
  deal_id = excluded.deal_id, agent_id = excluded.agent_id, message_id = excluded.message_id,
  recipient_id = excluded.recipient_id, title = excluded.title,
  description = excluded.description, details = excluded.details,
  template_name = excluded.template_name, occurred_at = excluded.occurred_at";

pub(super) fn message_errors(
    dialogue: &Dialogue,
    next: &mut Next,
) -> Result<Option<String>, StoreError> {
    let mut rows = Vec::new();
    for id in &dialogue.changed_errors {
        if let Some(error) = dialogue.errors.get(id) {
            rows.push(MessageErrorRow {
                workspace: error.workspace.to_string(),
                cursor: next.take(error.workspace, Entity::MessageErrors)?,
                id: id.to_string(),
                conversation: error.conversation.map(|id| id.to_string()),
                deal: error.deal.map(|id| id.to_string()),
                agent: error.agent.map(|agent| agent.0),
                message: error.message.map(|id| id.to_string()),
                external: error.external_id.as_deref(),
                recipient: error.recipient_id.as_deref(),
                code: &error.code,
                title: error.title.as_deref(),
                description: error.description.as_deref(),
                details: error.details.as_deref(),
                template: error.template_name.as_deref(),
                channel: error.channel.as_deref(),
                occurred: error.occurred_at.0,
            });
        }
    }
    parameter(&rows)
}
