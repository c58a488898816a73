//! Erasures, and the rows that they look for.

use super::RowColumns;
use crate::{Erased, Erasure, StandingDelivery, StoreError, UnlinkedDelivery};
use leadhost_domain::delivery::DeliveryStatus;

/// Reads the record of an erasure.
pub fn erasure(row: &impl RowColumns) -> Result<Erasure, StoreError> {
    Ok(Erasure {
        id: row.id("id")?,
        workspace_id: row.id("workspace_id")?,
        contact_id: row.id("contact_id")?,
        found_by: row.word("erasures", "found_by", |word| word.parse().ok())?,
        key_id: row.id("key_id")?,
        began_at: row.time("began_at")?,
        done_at: row.time_if("done_at")?,
        erased: row.json("erased")?,
        remaining: row.json("remaining")?,
    })
}

/// Reads how many rows of a person an erasure would remove, without the deliveries and answers that
/// led to the person.
pub fn erased(row: &impl RowColumns) -> Result<Erased, StoreError> {
    Ok(Erased {
        contacts: row.number("contacts")?,
        contact_keys: row.number("contact_keys")?,
        deals: row.number("deals")?,
        deal_changes: row.number("deal_changes")?,
        deal_logs: row.number("deal_logs")?,
        conversations: row.number("conversations")?,
        messages: row.number("messages")?,
        message_errors: row.number("message_errors")?,
        sends: row.number("sends")?,
        idempotency_answers: row.number("idempotency_answers")?,
        channel_refs: row.number("channel_refs")?,
        holds: row.number("holds")?,
        repair_changes: row.number("repair_changes")?,
        tickets: row.number("tickets")?,
        ..Erased::default()
    })
}

/// Reads how many deliveries and answers led to the person: `linked`, of which `shared`, and
/// `answers`.
pub fn erased_raw(row: &impl RowColumns) -> Result<Erased, StoreError> {
    let shared: u64 = row.number("shared")?;
    Ok(Erased {
        deliveries: row.number::<u64>("linked")?.saturating_sub(shared),
        shared_deliveries: shared,
        fetch_answers: row.number("answers")?,
        ..Erased::default()
    })
}

/// Reads a delivery that stands: its status, whether an item of it led to another contact, and
/// whether a lead of it is still to be converted.
pub fn standing(row: &impl RowColumns) -> Result<StandingDelivery, StoreError> {
    Ok(StandingDelivery {
        id: row.id("id")?,
        status: row.word("deliveries", "status", DeliveryStatus::from_text)?,
        is_shared: row.flag("shared")?,
        is_pending: row.flag("pending")?,
    })
}

/// Reads a delivery with its raw request, and whether one of its items led to the contact.
pub fn unlinked(row: &impl RowColumns) -> Result<UnlinkedDelivery, StoreError> {
    Ok(UnlinkedDelivery {
        standing: standing(row)?,
        is_own: row.flag("own")?,
        query: row.text("query")?,
        headers: row.text("headers")?,
        body: row.bytes("body")?,
    })
}
