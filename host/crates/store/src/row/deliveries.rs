//! Deliveries and their items: as received, as processed, and as shown.

use super::RowColumns;
use crate::{DeliverySummary, HeldDelivery, ItemOutcome, Lease, NewDelivery, StoreError};
use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::plugin::RanWith;

/// Reads the raw request.
pub fn request(row: &impl RowColumns) -> Result<NewDelivery, StoreError> {
    Ok(NewDelivery {
        id: row.id("id")?,
        workspace: row.id("workspace_id")?,
        connection: row.text_id("connection_id")?,
        received_at: row.time("received_at")?,
        method: row.text("method")?,
        path: row.text("path")?,
        query: row.json("query")?,
        headers: row.json("headers")?,
        body: row.bytes("body")?.into(),
    })
}

/// Reads a delivery for the lease holder that converts it.
pub fn held(row: &impl RowColumns, lease: Lease) -> Result<HeldDelivery, StoreError> {
    Ok(HeldDelivery {
        lease,
        status: status(row)?,
        delivery: request(row)?,
        ran: row.json_if("ran")?,
        attempts: row.number("attempts")?,
        presented: row.bytes_if("presented")?,
    })
}

/// Reads a delivery as lists show it: without its body, with the number of its items.
pub fn summary(row: &impl RowColumns) -> Result<DeliverySummary, StoreError> {
    Ok(DeliverySummary {
        id: row.id("id")?,
        connection_id: row.text_id("connection_id")?,
        connection: row.text("connection")?,
        received_at: row.time("received_at")?,
        status: status(row)?,
        bytes: row.number("body_bytes")?,
        items: row.number("items")?,
        attempts: row.number("attempts")?,
        ran: row.json_if("ran")?.map(|ran| RanWith {
            replayed: false,
            ..ran
        }),
        error: row.text_if("error")?,
    })
}

/// Reads an item with its result. The diff stays empty, because it is not stored.
pub fn item(row: &impl RowColumns) -> Result<ItemOutcome, StoreError> {
    Ok(ItemOutcome {
        index: row.small("item")?,
        status: item_status(row)?,
        external_id: row.text_if("external_id")?,
        deal_id: row.id_if("deal_id")?,
        contact_id: row.id_if("contact_id")?,
        message: row.text_if("message")?,
        diff: Vec::new(),
    })
}

/// Reads `status`, the status of a delivery.
///
/// # Errors
///
/// [`StoreError::Inconsistent`] if the word is not a status, and [`StoreError`] if the column
/// does not hold a text.
pub fn status(row: &impl RowColumns) -> Result<DeliveryStatus, StoreError> {
    row.word("deliveries", "status", DeliveryStatus::from_text)
}

/// Reads `status`, the status of an item.
///
/// # Errors
///
/// [`StoreError::Inconsistent`] if the word is not a status, and [`StoreError`] if the column
/// does not hold a text.
pub fn item_status(row: &impl RowColumns) -> Result<ItemStatus, StoreError> {
    row.word("items", "status", ItemStatus::from_text)
}
