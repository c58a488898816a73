//! What waits, and for when: the queue that all hosts take work from.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::rows::{Places, place, remove};
use crate::domain::delivery::DeliveryStatus;
use crate::domain::id::DeliveryId;
use crate::store::decide::{Change, Delivery, Known};
use crate::store::postgres::columns::at;
use crate::store::postgres::load::{Locked, SEND, WHOLE};
use crate::store::{StoreError, Write};

/// Whether a delivery in this state has a place in the queue though nobody holds it.
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

#[derive(Default)]
struct Queue<'a> {
    workspaces: Vec<Uuid>,
    deliveries: Vec<Uuid>,
    places: Vec<i32>,
    connections: Vec<&'a str>,
    statuses: Vec<&'static str>,
    digests: Vec<Option<&'a str>>,
    bytes: Vec<i64>,
    dues: Vec<Option<DateTime<Utc>>>,
    leases: Vec<i64>,
    untils: Vec<Option<DateTime<Utc>>>,
    /// Of sends, when they are given up.
    ends: Vec<Option<DateTime<Utc>>>,
}

// The size of a delivery stays as it came.
const QUEUE: &str = "
insert into queue (workspace_id, delivery_id, item, connection_id, status, digest, body_bytes,
  due_at, lease, lease_until, until_at)
select * from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[],
  $7::bigint[], $8::timestamptz[], $9::bigint[], $10::timestamptz[],
  $11::timestamptz[])
on conflict (delivery_id, item) do update
set connection_id = excluded.connection_id, status = excluded.status, digest = excluded.digest,
  due_at = excluded.due_at, lease = excluded.lease, lease_until = excluded.lease_until,
  until_at = excluded.until_at";

const OUT_OF_QUEUE: &str = "
delete from queue as q
using unnest($1::uuid[], $2::uuid[], $3::int[]) as n (workspace_id, delivery_id, item)
where q.delivery_id = n.delivery_id
and q.item = n.item";

pub async fn queue(
    connection: &mut PgConnection,
    known: &Known,
    locked: &Locked,
    writes: &[Write],
) -> Result<(), StoreError> {
    let mut rows = Queue::default();
    let mut removed = Places::default();
    let until = |(delivery, place): (DeliveryId, i32), held: bool| {
        let work = locked.work.get(&(delivery.0, place))?;
        work.until.filter(|_| held)
    };
    // Sorted, though only this transaction can have them: the same order everywhere.
    let deliveries: BTreeMap<_, _> = known.deliveries.iter().collect();
    for (id, delivery) in deliveries {
        if delivery.change == Change::None {
            continue;
        }
        if !waits(delivery.status) && !delivery.held {
            if locked.work.contains_key(&(id.0, WHOLE)) {
                removed.workspaces.push(delivery.workspace.0);
                removed.deliveries.push(id.0);
                removed.places.push(WHOLE);
            }
            continue;
        }
        let due = match delivery.status {
            DeliveryStatus::Queued | DeliveryStatus::Failed => delivery.next_attempt_at,
            _ => None,
        };
        rows.workspaces.push(delivery.workspace.0);
        rows.deliveries.push(id.0);
        rows.places.push(WHOLE);
        rows.connections.push(delivery.connection.as_str());
        rows.statuses.push(delivery.status.as_str());
        rows.digests
            .push(delivery.ran.as_ref().map(|ran| ran.digest.0.as_str()));
        rows.bytes.push(size(delivery, writes));
        rows.dues.push(due.map(at));
        rows.leases.push(delivery.lease);
        let held_until = delivery.held_until.map(at);
        rows.untils
            .push(held_until.or_else(|| until((*id, WHOLE), delivery.held)));
        rows.ends.push(None);
    }
    let fetches: BTreeMap<_, _> = known.fetches.iter().collect();
    for ((id, index), fetch) in fetches {
        match fetch.change {
            Change::None => {}
            Change::Removed => removed.push(fetch.workspace.0, *id, *index),
            Change::New | Change::Changed => {
                rows.workspaces.push(fetch.workspace.0);
                rows.deliveries.push(id.0);
                rows.places.push(place(*index));
                rows.connections.push(fetch.connection.as_str());
                rows.statuses.push("fetch");
                rows.digests
                    .push(fetch.ran.as_ref().map(|ran| ran.digest.0.as_str()));
                rows.bytes.push(0);
                rows.dues.push(Some(at(fetch.due_at)));
                rows.leases.push(fetch.lease);
                rows.untils.push(until((*id, place(*index)), fetch.held));
                rows.ends.push(None);
            }
        }
    }
    let sends: BTreeMap<_, _> = known.dialogue.sends.iter().collect();
    for (id, send) in sends {
        match send.change {
            Change::None => {}
            Change::Removed => {
                removed.workspaces.push(send.workspace.0);
                removed.deliveries.push(id.0);
                removed.places.push(SEND);
            }
            Change::New | Change::Changed => {
                rows.workspaces.push(send.workspace.0);
                rows.deliveries.push(id.0);
                rows.places.push(SEND);
                rows.connections.push(send.connection.as_str());
                rows.statuses.push(send.state.as_str());
                rows.digests.push(None);
                rows.bytes.push(0);
                rows.dues.push(send.due_at.map(at));
                rows.leases.push(send.lease);
                rows.untils.push(send.lease_until.map(at));
                rows.ends.push(Some(at(send.until)));
            }
        }
    }
    remove(connection, OUT_OF_QUEUE, removed).await?;
    if rows.places.is_empty() {
        return Ok(());
    }
    sqlx::query(QUEUE)
        .bind(rows.workspaces)
        .bind(rows.deliveries)
        .bind(rows.places)
        .bind(rows.connections)
        .bind(rows.statuses)
        .bind(rows.digests)
        .bind(rows.bytes)
        .bind(rows.dues)
        .bind(rows.leases)
        .bind(rows.untils)
        .bind(rows.ends)
        .execute(connection)
        .await?;
    Ok(())
}

/// The bytes of a delivery that this batch brings.
fn size(delivery: &Delivery, writes: &[Write]) -> i64 {
    match delivery.brought_by.and_then(|place| writes.get(place)) {
        Some(Write::Accept(acceptance)) => {
            i64::try_from(acceptance.delivery.body.len()).unwrap_or(i64::MAX)
        }
        _ => 0,
    }
}

pub const SQL: &[&str] = &[QUEUE, OUT_OF_QUEUE];
