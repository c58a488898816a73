//! Messages as the worker sends them and as operators see them, and templates.

use super::RowColumns;
use crate::decide::SendState;
use crate::{HeldSend, Lease, OutboxMessage, StoreError, TemplateList};
use leadhost_domain::id::AgentId;
use leadhost_domain::message::Actor;

/// Reads a send for its new lease holder. The state is the one before the claim.
pub fn held_send(row: &impl RowColumns, lease: Lease) -> Result<HeldSend, StoreError> {
    Ok(HeldSend {
        lease,
        workspace: row.id("workspace_id")?,
        message: row.id("message_id")?,
        conversation: row.id("conversation_id")?,
        contact: row.id("contact_id")?,
        connection: row.text_id("connection_id")?,
        recipient: row.text("recipient")?,
        payload: row.text("payload")?,
        attempts: row.number("attempts")?,
        until: row.time("until_at")?,
        was_sending: row.word("sends", "state", SendState::from_text)? == SendState::Sending,
        held_until: row.time_if("held_until_at")?,
        is_banned: row.flag("banned")?,
    })
}

/// Reads the list of templates of a connection, with the time and the error of its
/// synchronization.
pub fn template_list(row: &impl RowColumns) -> Result<TemplateList, StoreError> {
    Ok(TemplateList {
        synced_at: row.time_if("synced_at")?,
        error: row.text_if("error")?,
        is_unlisted: row.flag("unlisted")?,
        templates: row.json("templates")?,
    })
}

/// Reads a message with its contact's name and number, and the time when it is due if it waits.
pub fn outbox_message(row: &impl RowColumns) -> Result<OutboxMessage, StoreError> {
    Ok(OutboxMessage {
        id: row.id("id")?,
        workspace_id: row.id("workspace_id")?,
        conversation_id: row.id("conversation_id")?,
        contact_id: row.id("contact_id")?,
        contact_name: row.text_if("contact_name")?,
        phone_number: row.text_if("phone_number")?,
        instance_id: row.number_if("agent_id")?.map(AgentId),
        created_at: row.time("created_at")?,
        actor: row.word("messages", "actor", Actor::from_text)?,
        kind: row.text("kind")?,
        content: row.text_if("content")?,
        metadata: row.json("metadata")?,
        delivered_at: row.time_if("delivered_at")?,
        read_at: row.time_if("read_at")?,
        ran: row.json_if("ran")?,
        next_attempt_at: row.time_if("due_at")?,
    })
}
