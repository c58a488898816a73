//! Removes what is past its retention, oldest first and a bounded number at a
//! time. What still waits for work or for a person stays, and so does what
//! somebody holds.
//!
//! It never waits for a row: what another transaction has locked is left for the
//! next time, so that it cannot be part of a deadlock. A delivery and its place
//! in the queue are locked first and looked at afterwards, so that whoever took
//! it in between is seen.

use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::query::Query;
use uuid::Uuid;

use super::columns;
use super::db::{Db, Rows, Transaction};
use super::tombstones;
use super::workspaces;
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::{Retention, StoreError};

// An id sorts by the time it was made at, so it bounds what the index walks.
const FINISHED: &str = "
select old.workspace_id, old.id
from unnest($4::uuid[]) as w (id)
cross join lateral (
  select workspace_id, id
  from deliveries
  where workspace_id = w.id
  and id < $1
  and received_at < $2
  and status in ('converted', 'duplicate', 'rejected', 'ignored', 'unrouted', 'parked')
  order by id
  limit $3
) as old
order by old.id
limit $3";

const QUARANTINED: &str = "
select q.workspace_id, q.delivery_id as id
from queue as q
where q.item = -1
and q.status = 'quarantined'
and q.delivery_id < $1
and q.workspace_id = any ($4)
and exists (
  select 1 from deliveries as d
  where d.workspace_id = q.workspace_id
  and d.id = q.delivery_id
  and d.received_at < $2)
order by q.delivery_id
limit $3";

const LOCK_QUEUE: &str = "
select q.delivery_id
from queue as q
where q.delivery_id = any ($1)
and q.item = -1
for update skip locked";

const LOCK: &str = "
select d.workspace_id, d.id
from unnest($1::uuid[], $2::uuid[]) as old (workspace_id, id)
join deliveries as d
  on d.workspace_id = old.workspace_id
  and d.id = old.id
for update of d skip locked";

// A queue's row that is not locked by now is another's.
const FREE: &str = "
select locked.workspace_id, locked.id
from unnest($1::uuid[], $2::uuid[]) as locked (workspace_id, id)
left join queue as q on q.delivery_id = locked.id and q.item = -1
where q.delivery_id is null
or (q.delivery_id = any ($3) and (q.lease_until is null or q.lease_until <= $4))";

const DELIVERIES: &str = "
delete from deliveries as d
using unnest($1::uuid[], $2::uuid[]) as old (workspace_id, id)
where d.workspace_id = old.workspace_id
and d.id = old.id";

const ITEMS: &str = "
delete from items as i
using unnest($1::uuid[], $2::uuid[]) as old (workspace_id, id)
where i.workspace_id = old.workspace_id
and i.delivery_id = old.id";

const ANSWERS: &str = "
delete from answers as a
using unnest($1::uuid[], $2::uuid[]) as old (workspace_id, id)
where a.workspace_id = old.workspace_id
and a.delivery_id = old.id";

const QUEUE: &str = "
delete from queue
where delivery_id = any ($1)";

const CLAIMS: &str = "
delete from dedupe
where (connection_id, key) in (
  select connection_id, key from dedupe
  where until_at < $1
  limit $2
  for update skip locked)";

const REFERENCES: &str = "
delete from channel_refs
where (connection_id, external_id) in (
  select connection_id, external_id from channel_refs
  where until_at < $1
  order by until_at
  limit $2
  for update skip locked)";

// Only counted where there are many; the index is all that is read.
const UNKNOWN: &str = "
select count(*)
from channel_refs
where until_at is not null";

const REQUESTS: &str = "
delete from idempotency
where (partner_id, route, key) in (
  select partner_id, route, key from idempotency
  where until_at < $1
  limit $2
  for update skip locked)";

const HOLDS: &str = "
delete from holds
where (connection_id, contact_id) in (
  select connection_id, contact_id from holds
  where until_at < $1
  limit $2
  for update skip locked)";

// Whoever asks for a batch's mark has long given up; by the database's clock, as
// it was left.
const MARKERS: &str = "
delete from commit_markers
where batch_id in (
  select batch_id from commit_markers
  where at < now() - interval '1 hour'
  order by at
  limit $1
  for update skip locked)";

pub async fn sweep(
    db: &Db,
    retention: &Retention,
    now: Micros,
    limit: u32,
) -> Result<u64, StoreError> {
    let workspaces = workspaces::workspace_ids(db).await?;
    let mut removed = 0;
    for some in workspaces.chunks(limits::WORKSPACES_AT_ONCE) {
        let finished = now.plus(-retention.deliveries);
        let quarantined = now.plus(-retention.quarantine);
        for (sql, before) in [(FINISHED, finished), (QUARANTINED, quarantined)] {
            removed += deliveries(db, some, sql, before, now, limit).await?;
        }
        // A step is bounded over all workspaces.
        if removed >= u64::from(limit) {
            break;
        }
    }
    let mut transaction = db.begin(Rows::All).await?;
    for sql in [CLAIMS, REFERENCES, REQUESTS, HOLDS] {
        removed += ended(&mut transaction, sql, now, i64::from(limit)).await?;
    }
    let unknown: i64 = sqlx::query(UNKNOWN)
        .fetch_one(&mut *transaction)
        .await?
        .try_get(0)?;
    let too_many = unknown - i64::from(limits::REFERENCES_UNKNOWN);
    if too_many > 0 {
        // The oldest go though their time is not over.
        let some = too_many.min(i64::from(limit));
        removed += ended(&mut transaction, REFERENCES, Micros(i64::MAX), some).await?;
    }
    removed += sqlx::query(MARKERS)
        .bind(i64::from(limit))
        .execute(&mut *transaction)
        .await?
        .rows_affected();
    transaction.commit().await?;
    let forgotten = now.plus(-limits::TOMBSTONES_KEPT_MICROS);
    removed += tombstones::forget(db, forgotten, limit).await?;
    Ok(removed)
}

/// What ended before this time.
async fn ended(
    transaction: &mut Transaction,
    sql: &'static str,
    before: Micros,
    limit: i64,
) -> Result<u64, StoreError> {
    let done = sqlx::query(sql)
        .bind(columns::at(before))
        .bind(limit)
        .execute(&mut **transaction)
        .await?;
    Ok(done.rows_affected())
}

/// Of some workspaces, in a transaction of their own.
async fn deliveries(
    db: &Db,
    workspaces: &[WorkspaceId],
    sql: &'static str,
    before: Micros,
    now: Micros,
    limit: u32,
) -> Result<u64, StoreError> {
    let ids: Vec<Uuid> = workspaces.iter().map(|id| id.0).collect();
    let mut transaction = db.begin(Rows::Of(workspaces)).await?;
    let old = sqlx::query(sql)
        .bind(first_id_after(before))
        .bind(columns::at(before))
        .bind(i64::from(limit))
        .bind(ids);
    let old = Old::of(old, &mut transaction).await?;
    let removed = remove(&mut transaction, &old, now).await?;
    transaction.commit().await?;
    Ok(removed)
}

/// Removes deliveries with what belongs to them, and says how many: those that
/// someone has locked or holds stay.
pub(super) async fn remove(
    connection: &mut PgConnection,
    old: &Old,
    now: Micros,
) -> Result<u64, StoreError> {
    if old.ids.is_empty() {
        return Ok(0);
    }
    let queued = sqlx::query(LOCK_QUEUE)
        .bind(&old.ids)
        .fetch_all(&mut *connection)
        .await?
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<Vec<Uuid>, _>>()?;
    let locked = sqlx::query(LOCK).bind(&old.workspaces).bind(&old.ids);
    let locked = Old::of(locked, connection).await?;
    let free = sqlx::query(FREE)
        .bind(&locked.workspaces)
        .bind(&locked.ids)
        .bind(queued)
        .bind(columns::at(now));
    let free = Old::of(free, connection).await?;
    if free.ids.is_empty() {
        return Ok(0);
    }
    for of_them in [ITEMS, ANSWERS, DELIVERIES] {
        sqlx::query(of_them)
            .bind(&free.workspaces)
            .bind(&free.ids)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query(QUEUE)
        .bind(&free.ids)
        .execute(connection)
        .await?;
    Ok(u64::try_from(free.ids.len()).unwrap_or(u64::MAX))
}

/// Deliveries and their workspaces, side by side.
#[derive(Default)]
pub(super) struct Old {
    pub workspaces: Vec<Uuid>,
    pub ids: Vec<Uuid>,
}

impl Old {
    async fn of(
        query: Query<'_, sqlx::Postgres, PgArguments>,
        connection: &mut PgConnection,
    ) -> Result<Self, StoreError> {
        let rows = query.fetch_all(connection).await?;
        let column = |at: usize| -> Result<Vec<Uuid>, sqlx::Error> {
            rows.iter().map(|row| row.try_get(at)).collect()
        };
        Ok(Self {
            workspaces: column(0)?,
            ids: column(1)?,
        })
    }
}

/// Greater than every id made before this time: the next millisecond's first.
fn first_id_after(time: Micros) -> Uuid {
    let millis = u64::try_from(time.0).unwrap_or(0) / 1_000 + 1;
    uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid()
}

pub(super) const SQL: &[&str] = &[
    FINISHED,
    QUARANTINED,
    LOCK_QUEUE,
    LOCK,
    FREE,
    DELIVERIES,
    ITEMS,
    ANSWERS,
    QUEUE,
    CLAIMS,
    REFERENCES,
    UNKNOWN,
    REQUESTS,
    HOLDS,
    MARKERS,
];
