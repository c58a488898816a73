//! Takes work under a lease: deliveries to convert, fetches and sends to make. A
//! lease is a number that grows with every claim in the store; work is free again
//! when its time is over, and who held it is then stale once another has taken it.
//!
//! Hosts take from the same queue and never wait for each other: what one is
//! about to take, the others skip.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::columns::at;
use super::db::{Db, Rows, Transaction};
use super::load::{SEND, WHOLE};
use crate::domain::id::{DeliveryId, MessageId, WorkspaceId};
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;
use crate::store::row::{Columns as _, deliveries, fetches, messages};
use crate::store::turns::{Candidate, Turns};
use crate::store::{HeldDelivery, HeldFetch, HeldSend, Job, Lease, StoreError};

// Of each kind the oldest of each connection that no other host is about to take.
// Connections that have some are found one after the other in an index, whatever
// each of them has. Only what may be taken by itself has a time: deliveries that are
// queued or failed, fetches, and sends that wait or whose holder may be gone in the
// middle of the call.
const CONVERSIONS: &str = "
with recursive waiting (connection_id) as (
  (select connection_id
   from queue
   where item = -1
   and due_at is not null
   and connection_id > ''
   order by connection_id
   limit 1)
  union all
  select (
    select q.connection_id
    from queue as q
    where q.item = -1
    and q.due_at is not null
    and q.connection_id > waiting.connection_id
    order by q.connection_id
    limit 1)
  from waiting
  where waiting.connection_id is not null
)
select waiting.connection_id, due.delivery_id, due.item, due.due_at
from waiting
cross join lateral (
  select delivery_id, item, due_at
  from queue
  where connection_id = waiting.connection_id
  and item = -1
  and due_at <= $1
  and (lease_until is null or lease_until <= $1)
  order by due_at
  limit $2
  for update skip locked
) as due";

// What was being sent is no call any more, so nothing holds it back, nor what has
// waited too long and is given up.
const CALLS: &str = "
with recursive waiting (connection_id) as (
  (select connection_id
   from queue
   where item <> -1
   and due_at is not null
   and connection_id > ''
   order by connection_id
   limit 1)
  union all
  select (
    select q.connection_id
    from queue as q
    where q.item <> -1
    and q.due_at is not null
    and q.connection_id > waiting.connection_id
    order by q.connection_id
    limit 1)
  from waiting
  where waiting.connection_id is not null
)
select waiting.connection_id, due.delivery_id, due.item, due.due_at
from waiting
cross join lateral (
  select delivery_id, item, due_at
  from queue
  where connection_id = waiting.connection_id
  and item <> -1
  and due_at <= $1
  and (lease_until is null or lease_until <= $1)
  and (status = 'sending' or until_at <= $1 or connection_id not in (
    select id from connections where paused_at is not null))
  and (item <> -2 or status = 'sending' or until_at <= $1 or connection_id not in (
    select connection_id from holds
    where contact_id = '00000000-0000-0000-0000-000000000000'
    and until_at > $1))
  order by due_at
  limit $2
  for update skip locked
) as due";

const TAKE: &str = "
with lease as materialized (
  select nextval('leases') as number
)
update queue as q
set lease = lease.number, lease_until = $3,
  due_at = case q.status when 'sending' then $3 else q.due_at end
from unnest($1::uuid[], $2::int[]) as due (delivery_id, item), lease
where q.delivery_id = due.delivery_id
and q.item = due.item
returning q.workspace_id, q.delivery_id, q.item, q.lease";

const ANY_DUE: &str = "
select 1
from queue
where due_at <= $1
and (lease_until is null or lease_until <= $1)
limit 1";

/// Deliveries, fetches and sends that are due, by turns of their connections.
pub async fn due(
    db: &Db,
    turns: &Turns,
    now: Micros,
    until: Micros,
) -> Result<Vec<Job>, StoreError> {
    // Asked without a lock first: nothing to do is the usual answer of a poll.
    let any = sqlx::query(ANY_DUE)
        .bind(at(now))
        .fetch_optional(db.pool())
        .await?;
    if any.is_none() {
        return Ok(Vec::new());
    }
    let mut transaction = db.begin(Rows::Exempt).await?;
    let mut found = candidates(&mut transaction, turns, now, true).await?;
    found.extend(candidates(&mut transaction, turns, now, false).await?);
    let order = turns.pick(found);
    if order.is_empty() {
        transaction.rollback().await?;
        return Ok(Vec::new());
    }
    let (ids, places): (Vec<Uuid>, Vec<i32>) = order.iter().copied().unzip();
    let mut taken = sqlx::query(TAKE)
        .bind(ids)
        .bind(places)
        .bind(at(until))
        .fetch_all(&mut *transaction)
        .await?
        .iter()
        .map(Taken::of)
        .collect::<Result<Vec<_>, StoreError>>()?;
    taken.sort_by_key(|taken| {
        let piece = (taken.delivery.0, taken.place);
        order.iter().position(|of| *of == piece)
    });
    name(&mut transaction, &taken).await?;
    let mut deliveries = held_deliveries(&mut transaction, &taken).await?;
    let mut fetches = held_fetches(&mut transaction, &taken).await?;
    let mut sends = held_sends(&mut transaction, &taken, now).await?;
    transaction.commit().await?;
    Ok(taken
        .into_iter()
        .filter_map(|taken| match (taken.place, u32::try_from(taken.place)) {
            (_, Ok(index)) => {
                let fetch = fetches.remove(&(taken.delivery, index))?;
                Some(Job::Fetch(Box::new(fetch)))
            }
            (SEND, Err(_)) => {
                let send = sends.remove(&MessageId(taken.delivery.0))?;
                Some(Job::Send(Box::new(send)))
            }
            _ => Some(Job::Convert(Box::new(deliveries.remove(&taken.delivery)?))),
        })
        .collect())
}

async fn candidates(
    connection: &mut PgConnection,
    turns: &Turns,
    now: Micros,
    conversions: bool,
) -> Result<Vec<Candidate<(Uuid, i32)>>, StoreError> {
    sqlx::query(if conversions { CONVERSIONS } else { CALLS })
        .bind(at(now))
        .bind(i64::from(turns.looked_at(conversions)))
        .fetch_all(connection)
        .await?
        .iter()
        .map(|row| {
            Ok(Candidate {
                connection: row.text_id("connection_id")?,
                is_conversion: conversions,
                due: row.time("due_at")?,
                piece: (row.try_get("delivery_id")?, row.try_get("item")?),
            })
        })
        .collect()
}

/// A row of the queue that is this claim's now.
struct Taken {
    workspace: WorkspaceId,
    /// Of a send, its message.
    delivery: DeliveryId,
    place: i32,
    lease: Lease,
}

impl Taken {
    fn of(row: &PgRow) -> Result<Self, StoreError> {
        Ok(Self {
            workspace: WorkspaceId(row.try_get("workspace_id")?),
            delivery: DeliveryId(row.try_get("delivery_id")?),
            place: row.try_get("item")?,
            lease: Lease(row.try_get("lease")?),
        })
    }
}

async fn name(transaction: &mut Transaction, taken: &[Taken]) -> Result<(), StoreError> {
    let workspaces: BTreeSet<WorkspaceId> = taken.iter().map(|taken| taken.workspace).collect();
    if workspaces.is_empty() {
        return Ok(());
    }
    let workspaces: Vec<WorkspaceId> = workspaces.into_iter().collect();
    transaction.name(&workspaces).await
}

const TAKE_WAITING: &str = "
update queue
set lease = nextval('leases'), lease_until = $3
where delivery_id = $1
and item = -1
and (lease_until is null or lease_until <= $2)
returning workspace_id, delivery_id, item, lease";

// What is finished has no place in the queue until it is held. A delivery that
// has just been finished by another host is that host's for this moment. The lock
// keeps it from being removed for its age meanwhile.
const TAKE_FINISHED: &str = "
insert into queue (workspace_id, delivery_id, item, connection_id, status, digest, body_bytes,
  lease, lease_until)
select workspace_id, id, -1, connection_id, status, ran ->> 'digest', body_bytes,
  nextval('leases'), $2
from deliveries
where id = $1
and status in ('converted', 'duplicate', 'rejected', 'ignored')
for share
on conflict do nothing
returning workspace_id, delivery_id, item, lease";

/// One delivery, in whatever state.
pub async fn one(
    db: &Db,
    id: DeliveryId,
    now: Micros,
    until: Micros,
) -> Result<Option<HeldDelivery>, StoreError> {
    let mut transaction = db.begin(Rows::All).await?;
    let mut taken = sqlx::query(TAKE_WAITING)
        .bind(id.0)
        .bind(at(now))
        .bind(at(until))
        .fetch_optional(&mut *transaction)
        .await?;
    if taken.is_none() {
        taken = sqlx::query(TAKE_FINISHED)
            .bind(id.0)
            .bind(at(until))
            .fetch_optional(&mut *transaction)
            .await?;
    }
    let Some(taken) = taken else {
        transaction.rollback().await?;
        return Ok(None);
    };
    let taken = [Taken::of(&taken)?];
    let mut held = held_deliveries(&mut transaction, &taken).await?;
    transaction.commit().await?;
    Ok(held.remove(&id))
}

const TAKE_FAILED: &str = "
with free as materialized (
  select delivery_id, item
  from queue
  where connection_id = any (array(select id from connections where plugin = $1))
  and status in ('failed', 'parked')
  and item = -1
  and (digest is null or digest <> $2)
  and (lease_until is null or lease_until <= $3)
  order by delivery_id
  limit $5
  for update skip locked
), lease as materialized (
  select nextval('leases') as number
)
update queue as q
set lease = lease.number, lease_until = $4
from free, lease
where q.delivery_id = free.delivery_id
and q.item = free.item
returning q.workspace_id, q.delivery_id, q.item, q.lease";

pub async fn failed(
    db: &Db,
    plugin: &str,
    not_with: &Digest,
    limit: u32,
    now: Micros,
    until: Micros,
) -> Result<Vec<HeldDelivery>, StoreError> {
    let mut transaction = db.begin(Rows::Exempt).await?;
    let taken = sqlx::query(TAKE_FAILED)
        .bind(plugin)
        .bind(&not_with.0)
        .bind(at(now))
        .bind(at(until))
        .bind(i64::from(limit))
        .fetch_all(&mut *transaction)
        .await?
        .iter()
        .map(Taken::of)
        .collect::<Result<Vec<_>, _>>()?;
    name(&mut transaction, &taken).await?;
    let held = held_deliveries(&mut transaction, &taken).await?;
    transaction.commit().await?;
    // By id, which is by age.
    Ok(held.into_values().collect())
}

const HELD_DELIVERIES: &str = "
select d.workspace_id, d.id, d.connection_id, d.received_at, d.method, d.path, d.query, d.headers,
  d.status, d.ran, d.attempts, d.presented, d.body
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join deliveries as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id";

async fn held_deliveries(
    connection: &mut PgConnection,
    taken: &[Taken],
) -> Result<BTreeMap<DeliveryId, HeldDelivery>, StoreError> {
    let leases: BTreeMap<DeliveryId, Lease> = taken
        .iter()
        .filter(|taken| taken.place == WHOLE)
        .map(|taken| (taken.delivery, taken.lease))
        .collect();
    if leases.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) = taken
        .iter()
        .filter(|taken| taken.place == WHOLE)
        .map(|taken| (taken.workspace.0, taken.delivery.0))
        .unzip();
    let mut held = BTreeMap::new();
    let rows = sqlx::query(HELD_DELIVERIES)
        .bind(workspaces)
        .bind(ids)
        .fetch_all(connection)
        .await?;
    for row in &rows {
        if let Some(lease) = leases.get(&row.id("id")?) {
            let one = deliveries::held(row, *lease)?;
            held.insert(one.delivery.id, one);
        }
    }
    Ok(held)
}

const HELD_FETCHES: &str = "
select f.workspace_id, f.delivery_id, f.item, f.connection_id, f.external_id, f.hop, f.until_at,
  f.attempts, f.ran, f.request, f.state, f.response_head, f.response_body, wanted.lease,
  d.received_at, d.connection_id as received_by
from unnest($1::uuid[], $2::uuid[], $3::int[], $4::bigint[])
  as wanted (workspace_id, delivery_id, item, lease)
cross join lateral (
  select *
  from fetches
  where workspace_id = wanted.workspace_id
  and delivery_id = wanted.delivery_id
  and item = wanted.item
  offset 0
) as f
join deliveries as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.delivery_id";

async fn held_fetches(
    connection: &mut PgConnection,
    taken: &[Taken],
) -> Result<BTreeMap<(DeliveryId, u32), HeldFetch>, StoreError> {
    let fetches: Vec<&Taken> = taken.iter().filter(|taken| taken.place >= 0).collect();
    if fetches.is_empty() {
        return Ok(BTreeMap::new());
    }
    let column = |of: fn(&Taken) -> Uuid| fetches.iter().map(|taken| of(taken)).collect::<Vec<_>>();
    let places: Vec<i32> = fetches.iter().map(|taken| taken.place).collect();
    let leases: Vec<i64> = fetches.iter().map(|taken| taken.lease.0).collect();
    sqlx::query(HELD_FETCHES)
        .bind(column(|taken| taken.workspace.0))
        .bind(column(|taken| taken.delivery.0))
        .bind(places)
        .bind(leases)
        .fetch_all(connection)
        .await?
        .iter()
        .map(|row| {
            let held = fetches::held(row, Lease(row.number("lease")?))?;
            Ok(((held.delivery, held.index), held))
        })
        .collect()
}

const HELD_SENDS: &str = "
select s.workspace_id, s.message_id, s.conversation_id, s.contact_id, s.connection_id, s.recipient,
  s.payload::text as payload, s.attempts, s.until_at, q.status as state, q.lease,
  h.until_at as held_until_at,
  exists (
    select 1 from contacts as c
    where c.workspace_id = s.workspace_id
    and c.id = s.contact_id
    and c.banned_at is not null) as banned
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, message_id)
cross join lateral (
  select *
  from sends
  where workspace_id = wanted.workspace_id
  and message_id = wanted.message_id
  offset 0
) as s
join queue as q
  on q.delivery_id = s.message_id
  and q.item = -2
left join holds as h
  on h.connection_id = s.connection_id
  and h.contact_id = s.contact_id
  and h.until_at > $3";

/// A hold on its contact comes along; one on its whole number kept it from being taken.
async fn held_sends(
    connection: &mut PgConnection,
    taken: &[Taken],
    now: Micros,
) -> Result<BTreeMap<MessageId, HeldSend>, StoreError> {
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) = taken
        .iter()
        .filter(|taken| taken.place == SEND)
        .map(|taken| (taken.workspace.0, taken.delivery.0))
        .unzip();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    sqlx::query(HELD_SENDS)
        .bind(workspaces)
        .bind(ids)
        .bind(at(now))
        .fetch_all(connection)
        .await?
        .iter()
        .map(|row| {
            let held = messages::held_send(row, Lease(row.number("lease")?))?;
            Ok((held.message, held))
        })
        .collect()
}

pub(super) const SQL: &[&str] = &[
    ANY_DUE,
    CONVERSIONS,
    CALLS,
    TAKE,
    TAKE_WAITING,
    TAKE_FINISHED,
    TAKE_FAILED,
    HELD_DELIVERIES,
    HELD_FETCHES,
    HELD_SENDS,
];
