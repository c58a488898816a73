//! Repairs and their receipts.

use serde_json::Value;
use uuid::Uuid;

use super::RowColumns;
use crate::{CorrectedContact, GoneValues, PartedLead, RepairMove, StoreError};
use leadhost_domain::id::DeliveryId;
use leadhost_domain::repair::{Repair, RepairChange, RepairSum};

/// Reads a repair.
pub fn repair(row: &impl RowColumns) -> Result<Repair, StoreError> {
    Ok(Repair {
        id: row.id("id")?,
        plan: row.json("plan")?,
        state: row.word("repairs", "state", |word| word.parse().ok())?,
        generation: row.number("generation")?,
        cursor: row.id_if("cursor_id")?,
        counts: row.json("counts")?,
        started_by: row.text("started_by")?,
        started_at: row.time("started_at")?,
        ended_at: row.time_if("ended_at")?,
        why: row.text_if("why")?,
    })
}

/// Reads a row of a receipt.
pub fn change(row: &impl RowColumns) -> Result<RepairChange, StoreError> {
    let before = row.json_if("value_before")?;
    let after = row.json_if("value_after")?;
    Ok(RepairChange {
        number: row.number("number")?,
        repair: row.id("repair_id")?,
        workspace: row.id("workspace_id")?,
        delivery: row.id("delivery_id")?,
        item: row.small("item")?,
        kind: row.word("repair_changes", "kind", |word| word.parse().ok())?,
        row: row.id("row_id")?,
        contact: row.id("contact_id")?,
        field: row.text("field")?,
        values: before.zip(after),
        undone: row.word_if("repair_changes", "undone", |word| word.parse().ok())?,
    })
}

/// Reads a deal that moved to another contact.
pub fn moved(row: &impl RowColumns) -> Result<RepairMove, StoreError> {
    Ok(RepairMove {
        number: row.number("number")?,
        workspace: row.id("workspace_id")?,
        delivery: row.id("delivery_id")?,
        item: row.small("item")?,
        contact: row.id("contact_id")?,
        from: row.json("value_before")?,
        into: row.json("value_after")?,
    })
}

/// Reads the first change of what a lead of a contact says of the person.
pub fn first_change(row: &impl RowColumns) -> Result<CorrectedContact, StoreError> {
    Ok(CorrectedContact {
        number: row.number("number")?,
        workspace: row.id("workspace_id")?,
        contact: row.id("contact_id")?,
        place: changed_lead(row)?,
        leads: Vec::new(),
        gone: GoneValues::default(),
    })
}

/// Reads what a lead said of the person before a repair, and says after it.
pub fn corrected_lead(row: &impl RowColumns) -> Result<(PartedLead, Value, Value), StoreError> {
    let lead = changed_lead(row)?;
    Ok((lead, row.json("value_before")?, row.json("value_after")?))
}

fn changed_lead(row: &impl RowColumns) -> Result<PartedLead, StoreError> {
    Ok(PartedLead {
        deal: row.id("row_id")?,
        delivery: row.id("delivery_id")?,
        item: row.small("item")?,
    })
}

/// Reads what the lead of a deal says of the person. A deal without an item has no delivery.
pub fn said_by_lead(row: &impl RowColumns) -> Result<(PartedLead, Value), StoreError> {
    let item = row.small_if("item".into())?;
    let item = item.and_then(|item| u32::try_from(item).ok());
    let delivery: Option<DeliveryId> = row.id_if("delivery_id")?;
    let place = delivery.zip(item);
    let (delivery, item) = place.unwrap_or((DeliveryId(Uuid::nil()), 0));
    let lead = PartedLead {
        deal: row.id("id")?,
        delivery,
        item,
    };
    Ok((lead, row.json("said")?))
}

/// Reads the number of changes of a field.
pub fn sum(row: &impl RowColumns) -> Result<RepairSum, StoreError> {
    Ok(RepairSum {
        field: row.text("field")?,
        undone: row.word_if("repair_changes", "undone", |word| word.parse().ok())?,
        changes: row.number("changes")?,
    })
}
