//! The rows that a batch decides on, in their state before the batch.

use std::collections::BTreeMap;

use super::RowColumns;
use super::deliveries::{item_status, status};
use super::fetches::response;
use crate::StoreError;
use crate::change::RowChange;
use crate::decide::{
    Claim, DeliveryRecord, FetchRecord, IdempotencyRecord, ItemRecord, Quarantined, Reference,
    SendRecord, SendState,
};

/// Reads a delivery, with its lease and whether the lease is held.
pub fn delivery(
    row: &impl RowColumns,
    (lease, held): (i64, bool),
) -> Result<DeliveryRecord, StoreError> {
    Ok(DeliveryRecord {
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
        greeted: Vec::new(),
        brought_by: None,
        change: RowChange::None,
    })
}

/// Reads an item with its result.
pub fn item(row: &impl RowColumns) -> Result<ItemRecord, StoreError> {
    Ok(ItemRecord {
        status: item_status(row)?,
        external_id: row.text_if("external_id")?,
        deal: row.id_if("deal_id")?,
        contact: row.id_if("contact_id")?,
        message: row.text_if("message")?,
        diff: Vec::new(),
        change: RowChange::None,
    })
}

/// Reads a fetch, with its lease and whether the lease is held.
pub fn fetch(row: &impl RowColumns, (lease, held): (i64, bool)) -> Result<FetchRecord, StoreError> {
    Ok(FetchRecord {
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
        change: RowChange::None,
    })
}

/// Reads the owner of a dedupe key, and the deal and the contact of its item. They are `None`
/// while the owner's fetch waits.
pub fn claim(row: &impl RowColumns) -> Result<Claim, StoreError> {
    Ok(Claim {
        workspace: row.id("workspace_id")?,
        delivery: row.id("delivery_id")?,
        item: row.small("item")?,
        until: row.time_if("until_at")?,
        deal: row.id_if("deal_id")?,
        contact: row.id_if("contact_id")?,
        change: RowChange::None,
    })
}

/// Reads a quarantined delivery: its size in bytes, the network of its sender, and whether it
/// has or had a lease.
pub fn quarantined(row: &impl RowColumns) -> Result<Quarantined, StoreError> {
    Ok(Quarantined {
        id: row.id("id")?,
        bytes: row.number("body_bytes")?,
        peer: row.text_id_if("peer")?,
        leased: row.time_if("lease_until_at")?.is_some(),
    })
}

/// Reads a send. A store may keep its state, due time and lease elsewhere, but selects them with
/// it.
pub fn send(row: &impl RowColumns) -> Result<SendRecord, StoreError> {
    Ok(SendRecord {
        workspace: row.id("workspace_id")?,
        conversation: row.id("conversation_id")?,
        contact: row.id("contact_id")?,
        connection: row.text_id("connection_id")?,
        recipient: row.text("recipient")?,
        payload: row.text("payload")?,
        state: row.word("sends", "state", SendState::from_text)?,
        attempts: row.number("attempts")?,
        due_at: row.time_if("due_at")?,
        until: row.time("until_at")?,
        lease: row.number("lease")?,
        lease_until: row.time_if("lease_until_at")?,
        change: RowChange::None,
    })
}

/// Reads the message of a channel's id, or the progress reported so far if the message is
/// unknown.
pub fn reference(row: &impl RowColumns) -> Result<Reference, StoreError> {
    Ok(Reference {
        workspace: row.id("workspace_id")?,
        message: row.id_if("message_id")?,
        progress: row.json_if("progress")?.unwrap_or_default(),
        recipient_id: row.text_if("recipient_id")?,
        until: row.time_if("until_at")?,
        change: RowChange::None,
    })
}

/// Reads a request with an idempotency key. The answer is `None` while the request is running.
pub fn remembered(row: &impl RowColumns) -> Result<IdempotencyRecord, StoreError> {
    Ok(IdempotencyRecord {
        fingerprint: row.text("fingerprint")?,
        message: row.id_if("message_id")?,
        answer: row.json_if("answer")?,
        until: row.time("until_at")?,
        change: RowChange::None,
    })
}
