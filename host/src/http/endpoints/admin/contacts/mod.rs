//! Persons: their erasure on request, and the record of it.

pub mod erase;
pub mod erasures;

use crate::admin_api::contacts::{ErasedCounts, Remaining, RemainingDelivery};
use crate::store;

fn counts(erased: store::Erased) -> ErasedCounts {
    let store::Erased {
        contacts,
        contact_keys,
        deals,
        deal_changes,
        deal_logs,
        conversations,
        messages,
        message_errors,
        tickets,
        sends,
        holds,
        channel_refs,
        idempotency_answers,
        deliveries,
        shared_deliveries,
        fetch_answers,
        repair_changes,
    } = erased;
    ErasedCounts {
        contacts,
        contact_keys,
        deals,
        deal_changes,
        deal_logs,
        conversations,
        messages,
        message_errors,
        tickets,
        sends,
        holds,
        channel_refs,
        idempotency_answers,
        deliveries,
        shared_deliveries,
        fetch_answers,
        repair_changes,
    }
}

fn remaining(kept: store::RemainingData) -> Remaining {
    let deliveries = kept.deliveries.into_iter().map(|left| RemainingDelivery {
        id: left.id,
        status: left.status,
    });
    Remaining {
        deliveries: deliveries.collect(),
        more_deliveries: kept.more_deliveries,
    }
}
