//! Claims work under a lease: deliveries to convert, fetches and sends to make. A lease is a number
//! that grows with every claim in the store. When its time is over, the work is free again, and
//! once another worker has taken it, the previous holder is stale.
//!
//! Hosts take work from the same queue and never wait for each other: a host skips the rows that
//! another one is about to take.

use crate::claim_turns::{ClaimCandidate, ClaimTurns};
use crate::decide::SendState;
use crate::operations::batch::load::locked::{SEND, WHOLE};
use crate::operations::deliveries::one_delivery;
use crate::operations::prelude::*;
use crate::schema::response;
use crate::sql::Json;
use crate::sqlite::threads::End;
use crate::{HeldDelivery, HeldFetch, HeldSend, Job, Lease, NewDelivery};

// Finds, for each kind, the oldest work of each connection that no other host is about to take.
// Connections with work are found one after the other in an index, regardless of how much work each
// has. SQLite is given the name of the index, because it would read another index by connection
// from end to end. Only work that may be claimed automatically has a time: deliveries that are
// queued or failed, fetches, and sends that wait or whose holder may have died in the middle of the
// call.
macro_rules! due {
    ($index:literal, $kind:literal, $also:literal) => {
        sql(concat!(
            "
with recursive waiting (connection_id) as (
  select (
    select q.connection_id
    from queue as q
    indexed by ",
            $index,
            " -- sqlite
    where q.item ",
            $kind,
            "
    and q.due_at is not null
    and q.connection_id > ''
    order by q.connection_id
    limit 1)
  union all
  select (
    select q.connection_id
    from queue as q
    indexed by ",
            $index,
            " -- sqlite
    where q.item ",
            $kind,
            "
    and q.due_at is not null
    and q.connection_id > waiting.connection_id
    order by q.connection_id
    limit 1)
  from waiting
  where waiting.connection_id is not null
)
select waiting.connection_id, due.delivery_id, due.item, due.due_at
from waiting
cross join lateral (                                     -- postgres
  select q.delivery_id, q.item, q.due_at                 -- postgres
cross join queue as due                                  -- sqlite
  on (due.delivery_id, due.item) in (                    -- sqlite
  select q.delivery_id, q.item                           -- sqlite
  from queue as q
  indexed by ",
            $index,
            " -- sqlite
  where q.connection_id = waiting.connection_id
  and q.item ",
            $kind,
            "
  and q.due_at <= :now
  and (q.lease_until_at is null or q.lease_until_at <= :now)
",
            $also,
            "
  order by q.due_at
  limit :most
  for update skip locked                                 -- postgres
) as due                                                 -- postgres
)                                                        -- sqlite
"
        ))
    };
}

statements! {
    static CONVERSIONS: Sql = due!("queue_conversions", "= -1", "");

    // Pauses and holds do not apply to a send that was being sent, because it makes no further call,
    // nor to work that has waited too long and is given up.
    static CALLS: Sql = due!("queue_calls", "<> -1", "\
  and (q.status = 'sending' or q.until_at <= :now or q.connection_id not in (
    select id from connections where paused_at is not null))
  and (q.item <> -2 or q.status = 'sending' or q.until_at <= :now
    or q.connection_id not in (                                       -- postgres
      select connection_id from holds                                 -- postgres
      where contact_id = '00000000-0000-0000-0000-000000000000'       -- postgres
      and until_at > :now))                                           -- postgres
    or not exists (                                                   -- sqlite
      select 1 from holds as h                                        -- sqlite
      where h.connection_id = q.connection_id                         -- sqlite
      and h.contact_id = x'00000000000000000000000000000000'          -- sqlite
      and h.until_at > :now))                                         -- sqlite");

    static ANY_DUE: Sql = sql("
select 1                                                 -- postgres
from queue                                               -- postgres
where due_at <= :now                                     -- postgres
and (lease_until_at is null or lease_until_at <= :now)   -- postgres
limit 1                                                  -- postgres
");

    // Work that was found without a lock may have been taken by another host.
    static TAKE: Sql = sql("
each (id uuid, place number, lease number, now time, held_until_at time)
update queue
set lease = each.lease, lease_until_at = each.held_until_at,
  due_at = case queue.status when 'sending' then each.held_until_at else queue.due_at end
from each
where queue.delivery_id = each.id
and queue.item = each.place
and queue.due_at <= each.now
and (queue.lease_until_at is null or queue.lease_until_at <= each.now)
returning workspace_id, delivery_id, item");

    static NEXT_LEASE: Sql = sql("
select nextval('leases') as lease     -- postgres
update store                          -- sqlite
set last_lease = last_lease + 1       -- sqlite
returning last_lease as lease         -- sqlite
");

    static TAKE_WAITING: Sql = sql("
update queue
set lease = :lease, lease_until_at = :until
where delivery_id = :id
and item = -1
and (lease_until_at is null or lease_until_at <= :now)
returning workspace_id, delivery_id, item");

    // A finished delivery has no place in the queue until it is claimed. If another host has just
    // finished it, that host still has it at this moment. The lock keeps the delivery from being
    // removed for its age in the meantime.
    static TAKE_FINISHED: Sql = sql(concat!("
insert into queue (workspace_id, delivery_id, item, connection_id, status, digest, body_bytes,
  lease, lease_until_at)
select d.workspace_id, d.id, -1, d.connection_id, d.status, d.ran ->> 'digest', d.body_bytes,
  :lease::bigint, :until::timestamptz
from ", one_delivery!(), "
where d.id = :id
and d.status in ('converted', 'duplicate', 'rejected', 'ignored')
for share of d -- postgres
on conflict do nothing
returning workspace_id, delivery_id, item"));

    static TAKE_FAILED: Sql = sql("
with found (id, place) as materialized (
  select delivery_id, item
  from queue
  where connection_id = any (array(select id from connections where plugin = :plugin)) -- postgres
  where connection_id in (select id from connections where plugin = :plugin)           -- sqlite
  and status in ('failed', 'parked')
  and (item = -1) is true
  and (:after::uuid is null or delivery_id > :after::uuid)
  and (digest is null or digest <> :not_with)
  and (lease_until_at is null or lease_until_at <= :now)
  order by delivery_id
  limit :limit
  for update skip locked -- postgres
)
update queue
set lease = :lease, lease_until_at = :until
from found
where queue.delivery_id = found.id
and queue.item = found.place
returning workspace_id, delivery_id, item");

    static HELD_DELIVERIES: Sql = sql("
each (workspace_id uuid, id uuid)
select d.workspace_id, d.id, d.connection_id, d.received_at, d.method, d.path, d.query, d.headers,
  d.status, d.ran, d.attempts, d.presented, d.body
from each
ordered join deliveries as d
  on d.workspace_id = each.workspace_id
  and d.id = each.id");

    static HELD_FETCHES: Sql = sql("
each (workspace_id uuid, delivery_id uuid, item number)
select f.workspace_id, f.delivery_id, f.item, f.connection_id, f.external_id, f.hop, f.until_at,
  f.attempts, f.ran, f.request, f.state, f.response_head, f.response_body,
  d.received_at, d.connection_id as received_by
from each
fenced join fetches as f
  on f.workspace_id = each.workspace_id
  and f.delivery_id = each.delivery_id
  and f.item = each.item
ordered join deliveries as d
  on d.workspace_id = each.workspace_id
  and d.id = each.delivery_id");

    static HELD_SENDS: Sql = sql("
each (workspace_id uuid, message_id uuid, now time)
select s.workspace_id, s.message_id, s.conversation_id, s.contact_id, s.connection_id, s.recipient,
  s.payload::text as payload, s.attempts, s.until_at, q.status as state,
  h.until_at as held_until_at,
  exists (
    select 1 from contacts as c
    where c.workspace_id = s.workspace_id
    and c.id = s.contact_id
    and c.banned_at is not null) as banned
from each
fenced join sends as s
  on s.workspace_id = each.workspace_id
  and s.message_id = each.message_id
fenced join queue as q
  on q.delivery_id = s.message_id
  and q.item = -2
left join holds as h
  on h.connection_id = s.connection_id
  and h.contact_id = s.contact_id
  and h.until_at > each.now");
}

/// A piece of work in the queue: the id of a delivery or of a message, and its place.
type Piece = (Uuid, i32);

#[leadhost_boxed::boxed]
impl Store {
    /// Claims due work: deliveries to convert, fetches and sends to make. Connections take turns,
    /// and the oldest work of a connection comes first. No other worker holds the claimed work
    /// until `until`.
    pub async fn claim(
        &self,
        turns: &ClaimTurns,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<Job>, StoreError> {
        let turns = turns.clone();
        match &self.database {
            // The search runs on a reader. The writer is held only to take what was found, and takes
            // what is still due and free.
            Database::Sqlite(_) => {
                let found =
                    steps!(self.database.read(Exempt), |tx| find(tx, &turns, now).await).await?;
                if found.is_empty() {
                    return Ok(Vec::new());
                }
                steps!(self.database.write_or_undo(Exempt), |tx| {
                    take(tx, &found, now, until).await
                })
                .await
            }
            // If hosts searched at once without a lock, they would find the same work, and all but one
            // of them would get nothing although there is work. So rows are locked as they are found.
            // Only whether anything is due at all is checked without a lock, because most polls find
            // nothing.
            Database::Postgres(_) => {
                let args = args! { now };
                let any = self
                    .database
                    .row(VisibleRows::Exempt, &ANY_DUE, args, |_| Ok(()))
                    .await?;
                if any.is_none() {
                    return Ok(Vec::new());
                }
                steps!(self.database.write_or_undo(Exempt), |tx| {
                    let found = find(tx, &turns, now).await?;
                    take(tx, &found, now, until).await
                })
                .await
            }
        }
    }

    /// Claims one delivery for a replay, in any state. Returns `None` if it does not exist or is
    /// leased.
    pub async fn claim_delivery(
        &self,
        id: DeliveryId,
        now: Micros,
        until: Micros,
    ) -> Result<Option<HeldDelivery>, StoreError> {
        let mut held = self.claim_deliveries(vec![id], now, until).await?;
        Ok(held.remove(&id))
    }

    /// Claims deliveries for a replay, in any state, if they exist and are not leased.
    pub async fn claim_deliveries(
        &self,
        ids: Vec<DeliveryId>,
        now: Micros,
        until: Micros,
    ) -> Result<BTreeMap<DeliveryId, HeldDelivery>, StoreError> {
        steps!(self.database.write_or_undo(All), |tx| {
            let lease = next_lease(tx).await?;
            let mut all = Vec::new();
            for id in &ids {
                let args = args! { id, lease: lease.0, now, until };
                let mut taken = tx.row(&TAKE_WAITING, &args, ClaimedRow::from_row).await?;
                if taken.is_none() {
                    taken = tx.row(&TAKE_FINISHED, &args, ClaimedRow::from_row).await?;
                }
                all.extend(taken);
            }
            if all.is_empty() {
                return Ok((BTreeMap::new(), End::Undo));
            }
            Ok((held_deliveries(tx, &all, lease).await?, End::Commit))
        })
        .await
    }

    /// Claims the oldest failed and parked deliveries of a plugin's connections whose last attempt
    /// ran another version than `not_with`, or was left out: those after this one.
    pub async fn claim_failed(
        &self,
        plugin: &str,
        not_with: &Digest,
        after: Option<DeliveryId>,
        limit: u32,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<HeldDelivery>, StoreError> {
        let (plugin, not_with) = (plugin.to_owned(), not_with.clone());
        steps!(self.database.write_or_undo(Exempt), |tx| {
            let lease = next_lease(tx).await?;
            let args = args! {
                plugin: &plugin,
                not_with: &not_with,
                after: after,
                limit,
                now,
                until,
                lease: lease.0,
            };
            let taken = tx.rows(&TAKE_FAILED, &args, ClaimedRow::from_row).await?;
            if taken.is_empty() {
                return Ok((Vec::new(), End::Undo));
            }
            name(tx, &taken).await?;
            let held = held_deliveries(tx, &taken, lease).await?;
            // Sorted by id, which is by age.
            Ok((held.into_values().collect(), End::Commit))
        })
        .await
    }
}

/// Returns the due work of the connections whose turn it is, in order.
async fn find(tx: &mut Tx, turns: &ClaimTurns, now: Micros) -> Result<Vec<Piece>, StoreError> {
    let mut found = candidates(tx, turns, now, true).await?;
    found.extend(candidates(tx, turns, now, false).await?);
    Ok(turns.pick(found))
}

async fn candidates(
    tx: &mut Tx,
    turns: &ClaimTurns,
    now: Micros,
    conversions: bool,
) -> Result<Vec<ClaimCandidate<Piece>>, StoreError> {
    let sql = if conversions { &CONVERSIONS } else { &CALLS };
    let args = args! { now, most: turns.looked_at(conversions) };
    tx.rows(sql, &args, |row| {
        Ok(read!(row => ClaimCandidate {
            connection: "connection_id", is_conversion = conversions, due: "due_at",
            piece = (row.get("delivery_id")?, row.get("item")?),
        }))
    })
    .await
}

async fn take(
    tx: &mut Tx,
    found: &[Piece],
    now: Micros,
    until: Micros,
) -> Result<(Vec<Job>, End), StoreError> {
    if found.is_empty() {
        return Ok((Vec::new(), End::Undo));
    }
    let lease = next_lease(tx).await?;
    let pieces: Vec<_> = found
        .iter()
        .map(|&(id, place)| args! { id, place, lease: lease.0, now, held_until_at: until })
        .collect();
    let mut taken = tx.rows_each(&TAKE, &pieces, ClaimedRow::from_row).await?;
    if taken.is_empty() {
        return Ok((Vec::new(), End::Undo));
    }
    taken.sort_by_key(|taken| {
        let piece = (taken.id, taken.place);
        found.iter().position(|of| *of == piece)
    });
    name(tx, &taken).await?;
    let mut deliveries = held_deliveries(tx, &taken, lease).await?;
    let mut fetches = held_fetches(tx, &taken, lease).await?;
    let mut sends = held_sends(tx, &taken, lease, now).await?;
    let jobs = taken
        .into_iter()
        .filter_map(|taken| match (taken.place, u32::try_from(taken.place)) {
            (_, Ok(index)) => {
                let fetch = fetches.remove(&(DeliveryId(taken.id), index))?;
                Some(Job::Fetch(Box::new(fetch)))
            }
            (SEND, Err(_)) => {
                let send = sends.remove(&MessageId(taken.id))?;
                Some(Job::Send(Box::new(send)))
            }
            _ => {
                let delivery = deliveries.remove(&DeliveryId(taken.id))?;
                Some(Job::Convert(Box::new(delivery)))
            }
        })
        .collect();
    Ok((jobs, End::Commit))
}

async fn next_lease(tx: &mut Tx) -> Result<Lease, StoreError> {
    tx.only(&NEXT_LEASE, &[], |row| Ok(Lease(row.get("lease")?)))
        .await
}

/// A row of the queue that this claim has taken.
struct ClaimedRow {
    workspace: WorkspaceId,
    /// The id of the message, if it is a send.
    id: Uuid,
    place: i32,
}

from_row! {
    ClaimedRow |row| { workspace: "workspace_id", id: "delivery_id", place: "item" }
}

async fn name(tx: &mut Tx, taken: &[ClaimedRow]) -> Result<(), StoreError> {
    let workspaces: BTreeSet<WorkspaceId> = taken.iter().map(|taken| taken.workspace).collect();
    if workspaces.is_empty() {
        return Ok(());
    }
    let workspaces: Vec<WorkspaceId> = workspaces.into_iter().collect();
    tx.name(&workspaces).await
}

async fn held_deliveries(
    tx: &mut Tx,
    taken: &[ClaimedRow],
    lease: Lease,
) -> Result<BTreeMap<DeliveryId, HeldDelivery>, StoreError> {
    let wanted: Vec<_> = taken
        .iter()
        .filter(|taken| taken.place == WHOLE)
        .map(|taken| args! { workspace_id: taken.workspace, id: taken.id })
        .collect();
    let held = tx
        .rows_each(&HELD_DELIVERIES, &wanted, |row| {
            let held = read!(row => HeldDelivery {
                lease = lease, status, delivery = NewDelivery::from_row(row)?, ran, attempts, presented,
            });
            Ok((held.delivery.id, held))
        })
        .await?;
    Ok(held.into_iter().collect())
}

async fn held_fetches(
    tx: &mut Tx,
    taken: &[ClaimedRow],
    lease: Lease,
) -> Result<BTreeMap<(DeliveryId, u32), HeldFetch>, StoreError> {
    let wanted: Vec<_> = taken
        .iter()
        .filter(|taken| taken.place >= 0)
        .map(|taken| {
            args! { workspace_id: taken.workspace, delivery_id: taken.id, item: taken.place }
        })
        .collect();
    let held = tx
        .rows_each(&HELD_FETCHES, &wanted, |row| {
            let held = read!(row => HeldFetch {
                lease = lease, delivery: "delivery_id", workspace: "workspace_id", received_at,
                index: "item", connection: "connection_id", received_by, external_id, request, state,
                hop, attempts, ran, response = response(row)?, until: "until_at",
            });
            Ok(((held.delivery, held.index), held))
        })
        .await?;
    Ok(held.into_iter().collect())
}

/// Reads the taken sends, with a hold on the contact if there is one. A hold on the whole number
/// would have prevented the claim.
async fn held_sends(
    tx: &mut Tx,
    taken: &[ClaimedRow],
    lease: Lease,
    now: Micros,
) -> Result<BTreeMap<MessageId, HeldSend>, StoreError> {
    let wanted: Vec<_> = taken
        .iter()
        .filter(|taken| taken.place == SEND)
        .map(|taken| args! { workspace_id: taken.workspace, message_id: taken.id, now })
        .collect();
    let held = tx
        .rows_each(&HELD_SENDS, &wanted, |row| {
            let held = read!(row => HeldSend {
                lease = lease, workspace: "workspace_id", message: "message_id",
                conversation: "conversation_id", contact: "contact_id", connection: "connection_id",
                recipient, payload = row.get::<Json>("payload")?.0, attempts, until: "until_at",
                // The state is the one before the claim.
                was_sending = row.get::<SendState>("state")? == SendState::Sending,
                held_until: "held_until_at", is_banned: "banned",
            });
            Ok((held.message, held))
        })
        .await?;
    Ok(held.into_iter().collect())
}
