//! What a batch decides on, as it is before the batch.

use std::collections::BTreeMap;

use super::Columns;
use super::deliveries::{item_status, status};
use super::fetches::response;
use crate::domain::deal;
use crate::domain::id::AgentId;
use crate::domain::message::Actor;
use crate::domain::ticket;
use crate::store::StoreError;
use crate::store::decide::{
    Change, Claim, Contact, Conversation, Deal, Delivery, Fetch, Item, Message, MessageError,
    Quarantined, Reference, Remembered, Send, SendState, Ticket,
};

/// With its lease and whether somebody holds it.
pub fn delivery(row: &impl Columns, (lease, held): (i64, bool)) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        workspace: row.id("workspace_id")?,
        connection: row.text_id("connection_id")?,
        received_at: row.time("received_at")?,
        bytes: row.number("body_bytes")?,
        peer: row.text_id_if("peer")?,
        status: status(row)?,
        error: row.text_if("error")?,
        notes: row.json("notes")?,
        ran: row.json_if("ran")?,
        attempts: row.number("attempts")?,
        next_attempt_at: row.time_if("next_attempt_at")?,
        presented: row.bytes_if("presented")?,
        lease,
        held,
        held_until: None,
        items: BTreeMap::new(),
        others: Default::default(),
        brought_by: None,
        change: Change::None,
    })
}

pub fn item(row: &impl Columns) -> Result<Item, StoreError> {
    Ok(Item {
        status: item_status(row)?,
        external_id: row.text_if("external_id")?,
        deal: row.id_if("deal_id")?,
        contact: row.id_if("contact_id")?,
        message: row.text_if("message")?,
        diff: Vec::new(),
        change: Change::None,
    })
}

/// With its lease and whether somebody holds it.
pub fn fetch(row: &impl Columns, (lease, held): (i64, bool)) -> Result<Fetch, StoreError> {
    Ok(Fetch {
        workspace: row.id("workspace_id")?,
        connection: row.text_id("connection_id")?,
        dedupe_key: row.text_if("dedupe_key")?,
        external_id: row.text_if("external_id")?,
        request: row.text("request")?,
        state: row.bytes("state")?,
        hop: row.small("hop")?,
        due_at: row.time("due_at")?,
        until: row.time("until_at")?,
        attempts: row.number("attempts")?,
        ran: Some(row.json("ran")?),
        response: response(row)?,
        lease,
        held,
        change: Change::None,
    })
}

pub fn claim(row: &impl Columns) -> Result<Claim, StoreError> {
    Ok(Claim {
        workspace: row.id("workspace_id")?,
        delivery: row.id("delivery_id")?,
        item: row.small("item")?,
        until: row.time_if("until_at")?,
        deal: row.id_if("deal_id")?,
        contact: row.id_if("contact_id")?,
        change: Change::None,
    })
}

/// Its partner is who made it, or whose connection it came through.
pub fn deal(row: &impl Columns) -> Result<Deal, StoreError> {
    Ok(Deal {
        workspace: row.id("workspace_id")?,
        person: row.id("person_id")?,
        agent: row.number_if("agent_id")?.map(AgentId),
        owner: row.id_if("owner_id")?,
        status: row.word("deals", "status", deal::Status::of)?,
        stage: row.word("deals", "stage_code", deal::Stage::of)?,
        title: row.text_if("title")?,
        props: row.json("props")?,
        edited: row.json("edited")?,
        product: row.id_if("product_id")?,
        external_id: row.text_if("external_id")?,
        partner: row.id_if("partner_id")?,
        connection: row.text_id_if("connection_id")?,
        delivery: row.id_if("delivery_id")?,
        change: Change::None,
    })
}

/// Its properties and what a person edited of it are told by name: a row may hold
/// a deal's as well.
pub fn contact(
    row: &impl Columns,
    props: &'static str,
    edited: &'static str,
) -> Result<Contact, StoreError> {
    Ok(Contact {
        workspace: row.id("workspace_id")?,
        name: row.text_if("name")?,
        email: row.text_if("email")?,
        phone_number: row.text_if("phone_number")?,
        banned_at: row.time_if("banned_at")?,
        props: row.json(props)?,
        edited: row.json(edited)?,
        change: Change::None,
    })
}

pub fn quarantined(row: &impl Columns) -> Result<Quarantined, StoreError> {
    Ok(Quarantined {
        id: row.id("id")?,
        bytes: row.number("body_bytes")?,
        peer: row.text_id_if("peer")?,
        leased: row.time_if("lease_until_at")?.is_some(),
    })
}

pub fn conversation(row: &impl Columns) -> Result<Conversation, StoreError> {
    Ok(Conversation {
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
        change: Change::None,
    })
}

pub fn message(row: &impl Columns) -> Result<Message, StoreError> {
    Ok(Message {
        workspace: row.id("workspace_id")?,
        conversation: row.id("conversation_id")?,
        contact: row.id("contact_id")?,
        agent: row.number_if("agent_id")?.map(AgentId),
        created_at: row.time("created_at")?,
        actor: row.word("messages", "actor", Actor::of)?,
        kind: row.text("kind")?,
        content: row.text_if("content")?,
        metadata: row.json("metadata")?,
        delivered_at: row.time_if("delivered_at")?,
        read_at: row.time_if("read_at")?,
        change: Change::None,
    })
}

/// With its state, when it is due and who holds it, wherever a store keeps that.
pub fn send(row: &impl Columns) -> Result<Send, StoreError> {
    Ok(Send {
        workspace: row.id("workspace_id")?,
        conversation: row.id("conversation_id")?,
        contact: row.id("contact_id")?,
        connection: row.text_id("connection_id")?,
        recipient: row.text("recipient")?,
        payload: row.text("payload")?,
        state: row.word("sends", "state", SendState::of)?,
        attempts: row.number("attempts")?,
        due_at: row.time_if("due_at")?,
        until: row.time("until_at")?,
        lease: row.number("lease")?,
        lease_until: row.time_if("lease_until_at")?,
        change: Change::None,
    })
}

pub fn reference(row: &impl Columns) -> Result<Reference, StoreError> {
    Ok(Reference {
        workspace: row.id("workspace_id")?,
        message: row.id_if("message_id")?,
        progress: row.json_if("progress")?.unwrap_or_default(),
        recipient_id: row.text_if("recipient_id")?,
        until: row.time_if("until_at")?,
        change: Change::None,
    })
}

pub fn message_error(row: &impl Columns) -> Result<MessageError, StoreError> {
    Ok(MessageError {
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
        change: Change::None,
    })
}

pub fn remembered(row: &impl Columns) -> Result<Remembered, StoreError> {
    Ok(Remembered {
        fingerprint: row.text("fingerprint")?,
        message: row.id_if("message_id")?,
        answer: row.json_if("answer")?,
        until: row.time("until_at")?,
        change: Change::None,
    })
}

pub fn ticket(row: &impl Columns) -> Result<Ticket, StoreError> {
    Ok(Ticket {
        workspace: row.id("workspace_id")?,
        conversation: row.id_if("conversation_id")?,
        deal: row.id_if("deal_id")?,
        contact: row.id("contact_id")?,
        agent: row.number_if("agent_id")?.map(AgentId),
        agent_type: row.text_if("agent_type")?,
        source: row.text_if("source")?,
        owner: row.id_if("owner_id")?,
        status: row.word("tickets", "status", ticket::Status::of)?,
        special_instructions: row.text_if("special_instructions")?,
        opened_at: row.time("opened_at")?,
        answered_at: row.time_if("answered_at")?,
        resolved_at: row.time_if("resolved_at")?,
        change: Change::None,
    })
}
