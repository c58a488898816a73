//! Removes rows that are past their retention, oldest first and a bounded number at a time.
//! Deliveries that still wait for work stay, and so do those that are leased. Those that wait for a
//! person (`parked`, `unrouted`) are kept as long as finished ones.
//!
//! The sweep never waits for a row: rows that another transaction has locked are left for the next
//! time, so it cannot be part of a deadlock. A delivery and its place in the queue are locked first
//! and checked afterwards, so that a claim in between is noticed.

use std::sync::LazyLock;

use crate::RetentionPeriods;
use crate::operations::prelude::*;
use crate::operations::{agents, repairs, rollouts, tombstones};

statements! {
    // An id sorts by its creation time, so it bounds the range of the index.
    static FINISHED: Sql = sql("
select old.workspace_id, old.id                               -- postgres
from workspaces as w                                          -- postgres
cross join lateral (                                          -- postgres
select workspace_id, id
from deliveries
where workspace_id = w.id                                     -- postgres
where (workspace_id between :first and :last) is true         -- sqlite
and id < :past
and received_at < :before
and status in ('converted', 'duplicate', 'rejected', 'ignored', 'unrouted', 'parked')
order by id
limit :limit
) as old                                                      -- postgres
where w.id between :first and :last                           -- postgres
order by old.id                                               -- postgres
limit :limit                                                  -- postgres
");

    static QUARANTINED: Sql = sql("
select q.workspace_id, q.delivery_id as id
from queue as q
where q.item = -1
and q.status = 'quarantined'
and q.delivery_id < :past
and q.workspace_id between :first and :last
and exists (
  select 1 from deliveries as d
  where d.workspace_id = q.workspace_id
  and d.id = q.delivery_id
  and d.received_at < :before)
order by q.delivery_id
limit :limit");

    static LOCK_QUEUE: Sql = sql("
each (id uuid)
select q.delivery_id
from queue as q
where q.delivery_id = any (array(select id from each))        -- postgres
where q.delivery_id in (select id from each)                  -- sqlite
and q.item = -1
for update skip locked                                        -- postgres
");

    static LOCK: Sql = sql("
each (workspace_id uuid, id uuid)
select d.workspace_id, d.id
from each
ordered join deliveries as d
  on d.workspace_id = each.workspace_id
  and d.id = each.id
for update of d skip locked -- postgres
");

    // A row in the queue that is not locked at this point belongs to another transaction.
    static FREE: Sql = sql("
each (workspace_id uuid, id uuid, queued truth, now time)
select each.workspace_id, each.id
from each
fenced left join queue as q
  on q.delivery_id = each.id
  and q.item = -1
where q.delivery_id is null
or (each.queued and (q.lease_until_at is null or q.lease_until_at <= each.now))");

    static DELIVERIES: Sql = made(|| schema::DELIVERIES.remove_with("id"));
    static REFERENCES: Sql = made(|| schema::CHANNEL_REFS.remove_past("until_at"));

    // There may be many. They are only counted, which reads nothing but the index.
    static UNKNOWN: Sql = sql("
select count(*) as count
from channel_refs
where until_at is not null");

    // Hosts that ask for the marker of a batch have long given up by then. The age is measured with the
    // database's clock, which also set the marker's time.
    static MARKERS: Sql = sql("
delete from commit_markers                                    -- postgres
where batch_id in (                                           -- postgres
  select batch_id from commit_markers                         -- postgres
  where at < now() - interval '1 hour'                        -- postgres
  order by at                                                 -- postgres
  limit :limit                                                -- postgres
  for update skip locked                                      -- postgres
)                                                             -- postgres
");
}

static OF_DELIVERIES: LazyLock<Vec<Sql>> = LazyLock::new(|| schema::removed_with("delivery_id"));

static PAST: LazyLock<Vec<Sql>> = LazyLock::new(schema::removed_past);

#[leadhost_boxed::boxed]
impl Store {
    /// Removes rows past their retention, at most `limit` of each kind. Returns the number removed.
    pub async fn sweep(
        &self,
        retention: &RetentionPeriods,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let finished = now.minus(retention.deliveries);
        let quarantined = now.minus(retention.quarantine);
        let workspaces = steps!(self.database.read(Exempt), |tx| {
            agents::workspace_ids(tx).await
        })
        .await?;
        let mut removed = 0;
        for part in agents::parts(&workspaces) {
            for (sql, before) in [(&FINISHED, finished), (&QUARANTINED, quarantined)] {
                removed += deliveries(&self.database, part, sql, before, now, limit).await?;
            }
            // The bound of a step applies to all workspaces together.
            if removed >= u64::from(limit) {
                break;
            }
        }
        removed += steps!(self.database.write(All), |tx| {
            let args = args! { before: now, limit };
            let mut ended = 0;
            for sql in PAST.iter().chain([&MARKERS]) {
                ended += tx.run(sql, &args).await?;
            }
            Ok(ended)
        })
        .await?;
        removed += too_many_references(&self.database, limit).await?;
        let forgotten = now.minus(limits::TOMBSTONE_RETENTION);
        removed += tombstones::forget(&self.database, forgotten, limit).await?;
        // Receipts are kept as long as deliveries, from the end of their repair; so are the comparisons of
        // rollouts.
        removed += repairs::forget(&self.database, finished, limit).await?;
        removed += rollouts::forget(&self.database, finished, limit).await?;
        Ok(removed)
    }
}

/// Removes the oldest references to unknown messages before their time is over, if there are more
/// than are kept. They are counted on a reader, because they may be many.
async fn too_many_references(database: &Database, limit: u32) -> Result<u64, StoreError> {
    let unknown = steps!(database.read_many(All), |tx| {
        tx.only(&UNKNOWN, &[], |row| row.get::<i64>("count")).await
    })
    .await?;
    let too_many = unknown - i64::from(limits::REFERENCES_UNKNOWN);
    if too_many <= 0 {
        return Ok(0);
    }
    let some = too_many.min(i64::from(limit));
    steps!(database.write(All), |tx| {
        let args = args! { before: Micros(i64::MAX), limit: some };
        tx.run(&REFERENCES, &args).await
    })
    .await
}

/// Sweeps the deliveries of a [part](agents::parts) of the workspaces in a transaction of its own.
async fn deliveries(
    database: &Database,
    (some, first, last): (&[WorkspaceId], WorkspaceId, WorkspaceId),
    sql: &'static Sql,
    before: Micros,
    now: Micros,
    limit: u32,
) -> Result<u64, StoreError> {
    steps!(database.write(Of(some)), |tx| {
        let args = args! { first, last, past: first_id_after(before), before, limit };
        let old = tx.rows(sql, &args, delivery).await?;
        remove(tx, &old, now).await
    })
    .await
}

/// Removes deliveries with the rows that belong to them, and returns how many. Deliveries that are
/// locked or leased stay. The transaction names their workspaces.
pub async fn remove(
    tx: &mut Tx,
    old: &[(WorkspaceId, DeliveryId)],
    now: Micros,
) -> Result<u64, StoreError> {
    let old: Vec<_> = old
        .iter()
        .map(|&(workspace_id, id)| args! { workspace_id, id })
        .collect();
    let queued: HashSet<DeliveryId> = tx
        .rows_each(&LOCK_QUEUE, &old, |row| row.get("delivery_id"))
        .await?
        .into_iter()
        .collect();
    let locked: Vec<_> = tx
        .rows_each(&LOCK, &old, delivery)
        .await?
        .into_iter()
        .map(|(workspace_id, id)| args! { workspace_id, id, queued: queued.contains(&id), now })
        .collect();
    let free: Vec<_> = tx
        .rows_each(&FREE, &locked, delivery)
        .await?
        .into_iter()
        .map(|(workspace_id, id)| args! { workspace_id, id })
        .collect();
    for of_them in OF_DELIVERIES.iter() {
        tx.run_each(of_them, &free).await?;
    }
    tx.run_each(&DELIVERIES, &free).await?;
    Ok(u64::try_from(free.len()).unwrap_or(u64::MAX))
}

fn delivery(row: &SqlRow<'_>) -> Result<(WorkspaceId, DeliveryId), StoreError> {
    Ok((row.get("workspace_id")?, row.get("id")?))
}

/// Returns an id greater than every id made before this time: the first of the next millisecond.
fn first_id_after(time: Micros) -> Uuid {
    let millis = u64::try_from(time.0).unwrap_or(0) / 1_000 + 1;
    uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid()
}

/// Returns the statements of this file, including those generated from the descriptions.
pub fn statements() -> Vec<&'static Sql> {
    let made = OF_DELIVERIES.iter().chain(PAST.iter());
    SQL.iter().copied().chain(made).collect()
}
