//! Deliveries and their items: as received, and as shown.

use super::from_row;
use crate::{DeliverySummary, ItemOutcome, NewDelivery};
use leadhost_domain::plugin::RanWith;

from_row! {
    NewDelivery |row| {
        id, workspace: "workspace_id", connection: "connection_id", received_at, method, path, query,
        headers, body,
    }

    DeliverySummary |row| {
        id, connection_id, connection, received_at, status, bytes: "body_bytes", items, attempts,
        ran = row.get::<Option<_>>("ran")?.map(|ran| RanWith { replayed: false, ..ran }), error,
    }

    // The diff is not stored.
    ItemOutcome |row| {
        index: "item", status, external_id, deal_id, contact_id, message, diff = Vec::new(),
    }
}
