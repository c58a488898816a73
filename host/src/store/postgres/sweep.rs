//! Removes what is past its retention, oldest first and a bounded number at a
//! time. What still waits for work or for a person stays, and so does what
//! somebody holds.
//!
//! It never waits for a row: what another transaction has locked is left for the
//! next time, so that it cannot be part of a deadlock. A delivery and its place
//! in the queue are locked first and looked at afterwards, so that whoever took
//! it in between is seen.

use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::columns;
use super::db::{Db, Rows};
use crate::domain::time::Micros;
use crate::store::{Retention, StoreError};

// An id sorts by the time it was made at, so it bounds what the index walks.
const FINISHED: &str = "
select old.id
from (
  select of_one.id
  from workspaces as w
  cross join lateral (
    select id
    from deliveries
    where workspace_id = w.id
    and id < $1
    and received_at < $2
    and status in ('converted', 'duplicate', 'rejected', 'ignored', 'unrouted', 'parked')
    order by id
    limit $3
  ) as of_one
  order by of_one.id
  limit $3
) as old";

const QUARANTINED: &str = "
select q.delivery_id as id
from queue as q
where q.item = -1
and q.status = 'quarantined'
and q.delivery_id < $1
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
select d.id
from workspaces as w
join deliveries as d on d.workspace_id = w.id
where d.id = any ($1)
for update of d skip locked";

// A queue's row that is not locked by now is another's.
const FREE: &str = "
select locked.id
from unnest($1::uuid[]) as locked (id)
left join queue as q on q.delivery_id = locked.id and q.item = -1
where q.delivery_id is null
or (q.delivery_id = any ($2) and (q.lease_until is null or q.lease_until <= $3))";

const DELIVERIES: &str = "
delete from deliveries as d
using workspaces as w
where d.workspace_id = w.id
and d.id = any ($1)";

const ITEMS: &str = "
delete from items as i
using workspaces as w
where i.workspace_id = w.id
and i.delivery_id = any ($1)";

const ANSWERS: &str = "
delete from answers as a
using workspaces as w
where a.workspace_id = w.id
and a.delivery_id = any ($1)";

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

// Whoever asks for a batch's mark has long given up; by the database's clock, as
// it was left.
const MARKERS: &str = "
delete from commit_markers
where batch_id in (
  select batch_id from commit_markers
  where at < clock_timestamp() - interval '1 hour'
  order by at
  limit $1
  for update skip locked)";

pub async fn sweep(
    db: &Db,
    retention: &Retention,
    now: Micros,
    limit: u32,
) -> Result<u64, StoreError> {
    let mut transaction = db.begin(Rows::All).await?;
    let finished = now.plus(-retention.deliveries);
    let quarantined = now.plus(-retention.quarantine);
    let mut removed = deliveries(&mut transaction, FINISHED, finished, now, limit).await?;
    removed += deliveries(&mut transaction, QUARANTINED, quarantined, now, limit).await?;
    removed += sqlx::query(CLAIMS)
        .bind(columns::at(now))
        .bind(i64::from(limit))
        .execute(&mut *transaction)
        .await?
        .rows_affected();
    removed += sqlx::query(MARKERS)
        .bind(i64::from(limit))
        .execute(&mut *transaction)
        .await?
        .rows_affected();
    transaction.commit().await?;
    Ok(removed)
}

async fn deliveries(
    connection: &mut PgConnection,
    sql: &'static str,
    before: Micros,
    now: Micros,
    limit: u32,
) -> Result<u64, StoreError> {
    let old = sqlx::query(sql)
        .bind(first_id_after(before))
        .bind(columns::at(before))
        .bind(i64::from(limit));
    let old = ids(old, connection).await?;
    if old.is_empty() {
        return Ok(0);
    }
    let queued = ids(sqlx::query(LOCK_QUEUE).bind(&old), connection).await?;
    let locked = ids(sqlx::query(LOCK).bind(&old), connection).await?;
    let free = sqlx::query(FREE)
        .bind(locked)
        .bind(queued)
        .bind(columns::at(now));
    let free = ids(free, connection).await?;
    if free.is_empty() {
        return Ok(0);
    }
    for of_them in [ITEMS, ANSWERS, QUEUE, DELIVERIES] {
        sqlx::query(of_them)
            .bind(&free)
            .execute(&mut *connection)
            .await?;
    }
    Ok(u64::try_from(free.len()).unwrap_or(u64::MAX))
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

async fn ids(query: Query<'_>, connection: &mut PgConnection) -> Result<Vec<Uuid>, StoreError> {
    query
        .fetch_all(connection)
        .await?
        .iter()
        .map(|row| Ok(row.try_get(0)?))
        .collect()
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
    MARKERS,
];
