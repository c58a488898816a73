//! Takes work under a lease: deliveries to convert, fetches and sends to make. A
//! lease is a number that grows with every claim in the store; work is free again when
//! its time is over, and who held it is then stale once another has taken it.

use std::collections::BTreeMap;

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::db::Db;
use crate::domain::id::{DeliveryId, MessageId};
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;
use crate::store::row::{Columns as _, deliveries, fetches, messages};
use crate::store::turns::{Candidate, Turns};
use crate::store::{HeldDelivery, HeldFetch, HeldSend, Job, Lease, StoreError};

// Of each kind the oldest of each connection. Connections that have some are found
// one after the other in an index, whatever each of them has; it is named, since
// another of the same connection would be read from end to end.
const CONVERSIONS: &str = "
with recursive waiting (connection) as (
  select min(connection_id)
  from deliveries indexed by deliveries_turns
  where next_attempt_at is not null
  union all
  select (
    select min(d.connection_id)
    from deliveries as d indexed by deliveries_turns
    where d.next_attempt_at is not null
    and d.connection_id > waiting.connection)
  from waiting
  where waiting.connection is not null
)
select d.connection_id, d.id, 0 as item, d.next_attempt_at as due_at
from waiting
cross join deliveries as d
where d.rowid in (
  select n.rowid
  from deliveries as n indexed by deliveries_turns
  where n.connection_id = waiting.connection
  and n.next_attempt_at <= ?1
  and n.status in ('queued', 'failed')
  and (n.lease_until_at is null or n.lease_until_at <= ?1)
  order by n.next_attempt_at
  limit ?2)";

const FETCHES: &str = "
with recursive waiting (connection) as (
  select min(connection_id)
  from fetches indexed by fetches_turns
  union all
  select (
    select min(f.connection_id)
    from fetches as f indexed by fetches_turns
    where f.connection_id > waiting.connection)
  from waiting
  where waiting.connection is not null
)
select f.connection_id, f.delivery_id as id, f.item, f.due_at
from waiting
cross join fetches as f
where f.rowid in (
  select n.rowid
  from fetches as n indexed by fetches_turns
  where n.connection_id = waiting.connection
  and n.due_at <= ?1
  and (n.lease_until_at is null or n.lease_until_at <= ?1)
  order by n.due_at
  limit ?2)
and f.connection_id not in (
  select id from connections where paused_at is not null)";

// What was being sent when its holder was gone is settled whatever else is held or
// paused, and so is what has waited too long and is given up.
const SENDS: &str = "
with recursive waiting (connection) as (
  select min(connection_id)
  from sends indexed by sends_turns
  where due_at is not null
  union all
  select (
    select min(s.connection_id)
    from sends as s indexed by sends_turns
    where s.due_at is not null
    and s.connection_id > waiting.connection)
  from waiting
  where waiting.connection is not null
)
select s.connection_id, s.message_id as id, 0 as item, s.due_at
from waiting
cross join sends as s
where s.message_id in (
  select n.message_id
  from sends as n indexed by sends_turns
  where n.connection_id = waiting.connection
  and n.due_at <= ?1
  and (n.lease_until_at is null or n.lease_until_at <= ?1)
  and (n.state = 'sending'
    or n.until_at <= ?1
    or (n.connection_id not in (
        select id from connections where paused_at is not null)
      and not exists (
        select 1 from holds as h
        where h.connection_id = n.connection_id
        and h.contact_id = ''
        and h.until_at > ?1)))
  order by n.due_at
  limit ?2)";

enum Found {
    Delivery(DeliveryId),
    Fetch(DeliveryId, u32),
    Send(MessageId),
}

/// Deliveries, fetches and sends that are due, by turns of their connections.
pub async fn due(
    db: &Db,
    turns: &Turns,
    now: Micros,
    until: Micros,
) -> Result<Vec<Job>, StoreError> {
    // Looked for beside the writer, which is held only to take what was found.
    let found = turns.pick(candidates(db, turns, now).await?);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let mut deliveries = Vec::new();
    let mut fetches = Vec::new();
    let mut sends = Vec::new();
    for found in &found {
        match found {
            Found::Delivery(id) => deliveries.push(*id),
            Found::Fetch(id, item) => fetches.push((*id, *item)),
            Found::Send(id) => sends.push(*id),
        }
    }
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let lease = next_lease(connection).await?;
    let due = Some(now);
    let mut held_deliveries = hold_deliveries(connection, &deliveries, lease, due, until).await?;
    let mut held_fetches = hold_fetches(connection, &fetches, lease, now, until).await?;
    let mut held_sends = hold_sends(connection, &sends, lease, now, until).await?;
    transaction.commit().await?;
    Ok(found
        .into_iter()
        .filter_map(|found| match found {
            Found::Delivery(id) => {
                let held = held_deliveries.remove(&id)?;
                Some(Job::Convert(Box::new(held)))
            }
            Found::Fetch(id, item) => {
                let held = held_fetches.remove(&(id, item))?;
                Some(Job::Fetch(Box::new(held)))
            }
            Found::Send(id) => Some(Job::Send(Box::new(held_sends.remove(&id)?))),
        })
        .collect())
}

async fn candidates(
    db: &Db,
    turns: &Turns,
    now: Micros,
) -> Result<Vec<Candidate<Found>>, StoreError> {
    let mut candidates = Vec::new();
    let calls = turns.looked_at(false);
    for (sql, most) in [
        (CONVERSIONS, turns.looked_at(true)),
        (FETCHES, calls),
        (SENDS, calls),
    ] {
        let rows = sqlx::query(sql)
            .bind(now.0)
            .bind(i64::from(most))
            .fetch_all(db.readers())
            .await?;
        for row in &rows {
            let piece = match sql {
                CONVERSIONS => Found::Delivery(row.id("id")?),
                FETCHES => Found::Fetch(row.id("id")?, row.small("item")?),
                _ => Found::Send(row.id("id")?),
            };
            candidates.push(Candidate {
                connection: row.text_id("connection_id")?,
                is_conversion: sql == CONVERSIONS,
                due: row.time("due_at")?,
                piece,
            });
        }
    }
    Ok(candidates)
}

const FREE: &str = "
select id
from deliveries
where id = ?1
and (lease_until_at is null or lease_until_at <= ?2)";

pub async fn one(
    db: &Db,
    id: DeliveryId,
    now: Micros,
    until: Micros,
) -> Result<Option<HeldDelivery>, StoreError> {
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let free = sqlx::query(FREE)
        .bind(id.to_string())
        .bind(now.0)
        .fetch_optional(&mut *connection)
        .await?;
    if free.is_none() {
        transaction.commit().await?;
        return Ok(None);
    }
    let lease = next_lease(connection).await?;
    let mut held = hold_deliveries(connection, &[id], lease, None, until).await?;
    transaction.commit().await?;
    Ok(held.remove(&id))
}

// Two lists rather than one `in`: each names its state, which is what leads to
// the index of unfinished deliveries.
const FAILED: &str = "
select d.id as id
from deliveries as d
join connections as c on c.id = d.connection_id
where d.status = 'failed'
and c.plugin = ?1
and (d.ran is null or d.ran ->> 'digest' <> ?2)
and (d.lease_until_at is null or d.lease_until_at <= ?3)
union all
select d.id as id
from deliveries as d
join connections as c on c.id = d.connection_id
where d.status = 'parked'
and c.plugin = ?1
and (d.ran is null or d.ran ->> 'digest' <> ?2)
and (d.lease_until_at is null or d.lease_until_at <= ?3)
order by id
limit ?4";

pub async fn failed(
    db: &Db,
    plugin: &str,
    not_with: &Digest,
    limit: u32,
    now: Micros,
    until: Micros,
) -> Result<Vec<HeldDelivery>, StoreError> {
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let ids = sqlx::query(FAILED)
        .bind(plugin)
        .bind(&not_with.0)
        .bind(now.0)
        .bind(i64::from(limit))
        .fetch_all(&mut *connection)
        .await?
        .iter()
        .map(|row| row.id("id"))
        .collect::<Result<Vec<DeliveryId>, _>>()?;
    if ids.is_empty() {
        transaction.commit().await?;
        return Ok(Vec::new());
    }
    let lease = next_lease(connection).await?;
    let held = hold_deliveries(connection, &ids, lease, None, until).await?;
    transaction.commit().await?;
    // By id, which is by age.
    Ok(held.into_values().collect())
}

const NEXT_LEASE: &str = "
update store
set last_lease = last_lease + 1
returning last_lease";

async fn next_lease(connection: &mut SqliteConnection) -> Result<Lease, StoreError> {
    let row = sqlx::query(NEXT_LEASE).fetch_one(connection).await?;
    Ok(Lease(row.try_get(0)?))
}

const HOLD_DELIVERIES: &str = "
update deliveries
set lease = ?2, lease_until_at = ?3
where id in (select value from json_each(?1))
and (?4 is null or next_attempt_at <= ?4)
and (?4 is null or lease_until_at is null or lease_until_at <= ?4)
returning workspace_id, id, connection_id, received_at, method, path, query, headers,
  status, ran, attempts, presented, body";

/// With a time only those that are still due then and free.
async fn hold_deliveries(
    connection: &mut SqliteConnection,
    ids: &[DeliveryId],
    lease: Lease,
    due: Option<Micros>,
    until: Micros,
) -> Result<BTreeMap<DeliveryId, HeldDelivery>, StoreError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    sqlx::query(HOLD_DELIVERIES)
        .bind(super::json(ids)?)
        .bind(lease.0)
        .bind(until.0)
        .bind(due.map(|due| due.0))
        .fetch_all(connection)
        .await?
        .iter()
        .map(|row| {
            let held = deliveries::held(row, lease)?;
            Ok((held.delivery.id, held))
        })
        .collect()
}

const HOLD_FETCHES: &str = "
update fetches
set lease = ?2, lease_until_at = ?3
where (delivery_id, item) in (select value ->> 0, value ->> 1 from json_each(?1))
and due_at <= ?4
and (lease_until_at is null or lease_until_at <= ?4)
returning workspace_id, delivery_id, item, connection_id, external_id, hop, until_at,
  attempts, ran, request, state, response_head, response_body,
  (select received_at from deliveries where id = delivery_id) as received_at,
  (select d.connection_id from deliveries as d where d.id = delivery_id) as received_by";

async fn hold_fetches(
    connection: &mut SqliteConnection,
    ids: &[(DeliveryId, u32)],
    lease: Lease,
    now: Micros,
    until: Micros,
) -> Result<BTreeMap<(DeliveryId, u32), HeldFetch>, StoreError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    sqlx::query(HOLD_FETCHES)
        .bind(super::json(ids)?)
        .bind(lease.0)
        .bind(until.0)
        .bind(now.0)
        .fetch_all(connection)
        .await?
        .iter()
        .map(|row| {
            let held = fetches::held(row, lease)?;
            Ok(((held.delivery, held.index), held))
        })
        .collect()
}

const HOLD_SENDS: &str = "
update sends
set lease = ?2, lease_until_at = ?4, due_at = iif(state = 'sending', ?4, due_at)
where message_id in (select value from json_each(?1))
and due_at <= ?3
and (lease_until_at is null or lease_until_at <= ?3)
returning message_id, workspace_id, conversation_id, contact_id, connection_id, recipient, payload,
  state, attempts, until_at,
  (select h.until_at from holds as h
   where h.connection_id = sends.connection_id
   and h.contact_id = sends.contact_id
   and h.until_at > ?3) as held_until_at,
  exists (
    select 1 from contacts as c
    where c.id = sends.contact_id
    and c.banned_at is not null) as banned";

async fn hold_sends(
    connection: &mut SqliteConnection,
    ids: &[MessageId],
    lease: Lease,
    now: Micros,
    until: Micros,
) -> Result<BTreeMap<MessageId, HeldSend>, StoreError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    sqlx::query(HOLD_SENDS)
        .bind(super::json(ids)?)
        .bind(lease.0)
        .bind(now.0)
        .bind(until.0)
        .fetch_all(connection)
        .await?
        .iter()
        .map(|row| {
            let held = messages::held_send(row, lease)?;
            Ok((held.message, held))
        })
        .collect()
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    CONVERSIONS,
    FETCHES,
    SENDS,
    FREE,
    FAILED,
    NEXT_LEASE,
    HOLD_DELIVERIES,
    HOLD_FETCHES,
    HOLD_SENDS,
];
