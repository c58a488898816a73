//! Erasures and what they look for.

use super::Columns;
use crate::domain::delivery::DeliveryStatus;
use crate::store::{Erasure, FoundBy, StandingDelivery, StoreError, UnlinkedDelivery};

pub fn erasure(row: &impl Columns) -> Result<Erasure, StoreError> {
    Ok(Erasure {
        id: row.id("id")?,
        workspace_id: row.id("workspace_id")?,
        contact_id: row.id("contact_id")?,
        found_by: row.word("erasures", "found_by", FoundBy::of)?,
        key_id: row.id("key_id")?,
        began_at: row.time("began_at")?,
        done_at: row.time_if("done_at")?,
        erased: row.json("erased")?,
        remaining: row.json("remaining")?,
    })
}

pub fn standing(row: &impl Columns) -> Result<StandingDelivery, StoreError> {
    Ok(StandingDelivery {
        id: row.id("id")?,
        status: row.word("deliveries", "status", DeliveryStatus::of)?,
        is_shared: row.flag("shared")?,
    })
}

pub fn unlinked(row: &impl Columns) -> Result<UnlinkedDelivery, StoreError> {
    Ok(UnlinkedDelivery {
        id: row.id("id")?,
        status: row.word("deliveries", "status", DeliveryStatus::of)?,
        is_shared: row.flag("shared")?,
        query: row.text("query")?,
        headers: row.text("headers")?,
        body: row.bytes("body")?,
    })
}
