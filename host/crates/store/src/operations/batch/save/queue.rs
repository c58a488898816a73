//! The queue from which all hosts take work: the work that waits, and when it is due. Rows are
//! sorted even though only this transaction can have them, so that the order is the same
//! everywhere.

use crate::Write;
use crate::decide::DeliveryRecord;
use crate::operations::batch::load::locked::{LockedRows, SEND, WHOLE, place};
use crate::operations::prelude::*;

statements! {
    // The size of a delivery is kept as it was on arrival.
    static WAITS: Sql = made(|| schema::QUEUE.insert(&[], OnConflict::Update));
    static IS_DONE: Sql = made(|| schema::QUEUE.remove());
}

/// Returns whether a delivery in this state has a place in the queue even if it is not leased.
fn waits(status: DeliveryStatus) -> bool {
    match status {
        DeliveryStatus::Queued
        | DeliveryStatus::Failed
        | DeliveryStatus::Parked
        | DeliveryStatus::Unrouted
        | DeliveryStatus::Quarantined => true,
        DeliveryStatus::Converted
        | DeliveryStatus::Duplicate
        | DeliveryStatus::Rejected
        | DeliveryStatus::Ignored => false,
    }
}

/// Saves the places in the queue of changed deliveries, fetches and sends, and removes the
/// places of finished work.
pub async fn save(
    tx: &mut Tx,
    set: &WorkingSet,
    locked: &LockedRows,
    writes: &[Write],
) -> Result<(), StoreError> {
    let (mut waiting, mut done) = (Vec::new(), Vec::new());
    let held_until = |(id, place): (uuid::Uuid, i32), held: bool| -> Option<Micros> {
        let work = locked.work.get(&(id, place))?;
        work.until.filter(|_| held)
    };
    let deliveries: BTreeMap<_, _> = set.deliveries.iter().collect();
    for (id, delivery) in deliveries {
        if delivery.change == RowChange::None {
            continue;
        }
        if !waits(delivery.status) && !delivery.held {
            if locked.work.contains_key(&(id.0, WHOLE)) {
                done.push(place_of(delivery.workspace, *id, WHOLE));
            }
            continue;
        }
        let due_at = match delivery.status {
            DeliveryStatus::Queued | DeliveryStatus::Failed => delivery.next_attempt_at,
            _ => None,
        };
        let lease_until_at = delivery.held_until;
        waiting.push(args! {
            workspace_id: delivery.workspace,
            delivery_id: *id,
            item: WHOLE,
            connection_id: &delivery.connection,
            status: delivery.status.as_str(),
            digest: delivery.ran.as_ref().map(|ran| &ran.digest),
            body_bytes: size(delivery, writes),
            due_at,
            lease: delivery.lease,
            lease_until_at: lease_until_at.or_else(|| held_until((id.0, WHOLE), delivery.held)),
            until_at: None::<Micros>,
        });
    }
    let fetches: BTreeMap<_, _> = set.fetches.iter().collect();
    for ((id, index), fetch) in fetches {
        match fetch.change {
            RowChange::None => {}
            RowChange::Removed => done.push(place_of(fetch.workspace, *id, place(*index))),
            RowChange::New | RowChange::Changed => waiting.push(args! {
                workspace_id: fetch.workspace,
                delivery_id: *id,
                item: place(*index),
                connection_id: &fetch.connection,
                status: "fetch",
                digest: Some(&fetch.ran.digest),
                body_bytes: 0,
                due_at: Some(fetch.due_at),
                lease: fetch.lease,
                lease_until_at: held_until((id.0, place(*index)), fetch.held),
                until_at: None::<Micros>,
            }),
        }
    }
    let sends: BTreeMap<_, _> = set.dialogue.sends.iter().collect();
    for (id, send) in sends {
        match send.change {
            RowChange::None => {}
            RowChange::Removed => done.push(place_of(send.workspace, *id, SEND)),
            RowChange::New | RowChange::Changed => waiting.push(args! {
                workspace_id: send.workspace,
                delivery_id: *id,
                item: SEND,
                connection_id: &send.connection,
                status: send.state.as_str(),
                digest: None::<&str>,
                body_bytes: 0,
                due_at: send.due_at,
                lease: send.lease,
                lease_until_at: send.lease_until,
                until_at: Some(send.until),
            }),
        }
    }
    tx.run_each(&IS_DONE, &done).await?;
    tx.run_each(&WAITS, &waiting).await?;
    Ok(())
}

fn place_of<'a>(
    workspace_id: leadhost_domain::id::WorkspaceId,
    delivery_id: impl Into<SqlValue<'a>>,
    item: i32,
) -> [Arg<'a>; 3] {
    args! { workspace_id, delivery_id: delivery_id.into(), item }
}

/// Returns the size in bytes of a delivery that this batch adds, and 0 for others.
fn size(delivery: &DeliveryRecord, writes: &[Write]) -> i64 {
    match delivery.brought_by.and_then(|place| writes.get(place)) {
        Some(Write::Accept(acceptance)) => {
            i64::try_from(acceptance.delivery.body.len()).unwrap_or(i64::MAX)
        }
        _ => 0,
    }
}
