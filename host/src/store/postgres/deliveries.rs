//! Deliveries as operators see them, and what of them waits.
//!
//! A list over all workspaces takes the newest of each and then the newest of
//! these: the key of deliveries leads with the workspace. What is not finished
//! is found by way of the queue, which is short.

use std::collections::HashMap;

use sqlx::Row as _;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use uuid::Uuid;

use super::columns;
use super::db::{Db, Rows};
use super::workspaces;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::id::{ConnectionId, DeliveryId, WorkspaceId};
use crate::domain::time::Micros;
use crate::limits;
use crate::store::row::Columns as _;
use crate::store::row::deliveries::{item, request, summary};
use crate::store::{Backlog, DeliveryDetail, DeliveryFilter, DeliverySummary, StoreError};

const ONE: &str = "
select d.workspace_id, d.id, d.connection_id, d.received_at, d.method, d.path, d.query, d.headers,
  d.body_bytes, d.status, d.error, d.notes, d.ran, d.attempts, d.next_attempt_at, d.body,
  coalesce(c.name, '') as connection,
  (select count(*) from items as i
   where i.workspace_id = d.workspace_id and i.delivery_id = d.id) as items
from deliveries as d
left join connections as c on c.id = d.connection_id
where d.id = $1";

const ITEMS: &str = "
select item, status, external_id, deal_id, contact_id, message
from items
where workspace_id = $1
and delivery_id = $2
order by item";

pub async fn one(db: &Db, id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError> {
    let mut snapshot = db.snapshot(Rows::All).await?;
    let row = sqlx::query(ONE)
        .bind(id.0)
        .fetch_optional(&mut *snapshot)
        .await?;
    let Some(row) = row else {
        snapshot.rollback().await?;
        return Ok(None);
    };
    let workspace = WorkspaceId(row.try_get("workspace_id")?);
    let items = sqlx::query(ITEMS)
        .bind(workspace.0)
        .bind(id.0)
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    Ok(Some(DeliveryDetail {
        summary: summary(&row)?,
        workspace,
        request: request(&row)?,
        notes: row.json("notes")?,
        next_attempt_at: row.time_if("next_attempt_at")?,
        items: items.iter().map(item).collect::<Result<_, _>>()?,
    }))
}

// What is found has all its filters behind it; the rest is looked up for it alone.
macro_rules! deliveries_of {
    ($found:expr) => {
        concat!(
            "
select d.id, d.connection_id, d.received_at, d.body_bytes, d.status, d.error, d.ran, d.attempts,
  coalesce(c.name, '') as connection,
  (select count(*) from items as i
   where i.workspace_id = d.workspace_id and i.delivery_id = d.id) as items
from (",
            $found,
            "
  order by id desc
  limit $6
) as d
left join connections as c on c.id = d.connection_id
order by d.id desc"
        )
    };
}

macro_rules! filters {
    () => {
        "
    and ($2::text is null or connection_id = $2)
    and ($3::text is null or status = $3)
    and ($4::timestamptz is null or received_at >= $4)
    and ($7::timestamptz is null or received_at < $7)
    and ($8::text is null or ran ->> 'version' = $8
      or (length($8) >= 8 and substr(ran ->> 'digest', 1, length($8)) = $8))
    and id < $5"
    };
}

const LIST: &str = deliveries_of!(concat!(
    "
  select of_one.*
  from unnest($1::uuid[]) as w (id)
  cross join lateral (
    select *
    from deliveries
    where workspace_id = w.id",
    filters!(),
    "
    order by id desc
    limit $6
  ) as of_one"
));

const LIST_OF_CONNECTION: &str = deliveries_of!(concat!(
    "
  select *
  from deliveries
  where connection_id = $2
    and workspace_id = any ($1)",
    filters!()
));

const LIST_WAITING: &str = deliveries_of!(concat!(
    "
  select waiting.*
  from queue as q
  cross join lateral (
    select *
    from deliveries
    where workspace_id = q.workspace_id
    and id = q.delivery_id",
    filters!(),
    "
  ) as waiting
  where q.item = -1
  and q.status = $3
  and q.delivery_id < $5
  and q.workspace_id = any ($1)
  and ($2::text is null or q.connection_id = $2)"
));

const WORKSPACE_OF: &str = "
select workspace_id
from connections
where id = $1";

const WORKSPACES_THAT_WAIT: &str = "
select distinct workspace_id
from queue
where item = -1
and status = $1";

/// Newest first.
pub async fn list(db: &Db, filter: &DeliveryFilter) -> Result<Vec<DeliverySummary>, StoreError> {
    let (sql, workspaces) = match (filter.status, &filter.connection) {
        (
            Some(
                status @ (DeliveryStatus::Queued
                | DeliveryStatus::Failed
                | DeliveryStatus::Parked
                | DeliveryStatus::Quarantined
                | DeliveryStatus::Unrouted),
            ),
            _,
        ) => {
            let query = sqlx::query(WORKSPACES_THAT_WAIT).bind(status.as_str());
            (LIST_WAITING, workspaces(db, query).await?)
        }
        (_, Some(connection)) => {
            let query = sqlx::query(WORKSPACE_OF).bind(connection.as_str());
            (LIST_OF_CONNECTION, workspaces(db, query).await?)
        }
        (_, None) => (LIST, workspaces::workspace_ids(db).await?),
    };
    let wanted: Vec<WorkspaceId> = workspaces
        .into_iter()
        .filter(|id| filter.workspace.is_none_or(|wanted| wanted == *id))
        .collect();
    let mut found = Vec::new();
    for some in wanted.chunks(limits::WORKSPACES_AT_ONCE) {
        found.append(&mut list_of(db, filter, sql, some).await?);
    }
    found.sort_by_key(|summary| std::cmp::Reverse(summary.id));
    found.truncate(usize::try_from(filter.limit).unwrap_or(usize::MAX));
    Ok(found)
}

async fn workspaces(
    db: &Db,
    query: Query<'_, sqlx::Postgres, PgArguments>,
) -> Result<Vec<WorkspaceId>, StoreError> {
    let rows = query.fetch_all(db.pool()).await?;
    rows.iter()
        .map(|row| Ok(WorkspaceId(row.try_get(0)?)))
        .collect()
}

async fn list_of(
    db: &Db,
    filter: &DeliveryFilter,
    sql: &'static str,
    workspaces: &[WorkspaceId],
) -> Result<Vec<DeliverySummary>, StoreError> {
    let ids: Vec<Uuid> = workspaces.iter().map(|id| id.0).collect();
    let mut snapshot = db.snapshot(Rows::Of(workspaces)).await?;
    let rows = sqlx::query(sql)
        .bind(ids)
        .bind(filter.connection.as_ref().map(|id| id.as_str()))
        .bind(filter.status.map(|status| status.as_str()))
        .bind(filter.since.map(columns::at))
        // Up to the last id when none is given: a range that the index walks.
        // The policies keep an index from what they cannot see through, such as
        // a `coalesce`.
        .bind(filter.before.map_or(Uuid::max(), |id| id.0))
        .bind(i64::from(filter.limit))
        .bind(filter.until.map(columns::at))
        .bind(filter.version.as_deref().map(columns::text))
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    rows.iter().map(summary).collect()
}

// A queued delivery without a time to try it again waits for its fetches only.
// Ids sort by time, so the first is the oldest.
const BACKLOG: &str = "
select
  count(*) filter (where item = -1 and status = 'queued' and due_at is not null) as queued,
  count(*) filter (where item >= 0) as fetches,
  count(*) filter (where item = -1 and status = 'failed') as failed,
  count(*) filter (where item = -1 and status = 'parked') as parked,
  count(*) filter (where item = -1 and status = 'quarantined') as quarantined,
  count(*) filter (where item = -2 and status <> 'unknown') as sends,
  count(*) filter (where item = -2 and status = 'unknown') as unknown,
  (select workspace_id from queue
   where item = -1 and status in ('queued', 'failed')
   order by delivery_id limit 1) as workspace_id,
  (select delivery_id from queue
   where item = -1 and status in ('queued', 'failed')
   order by delivery_id limit 1) as delivery_id
from queue";

// Only what is to be converted has a time for it.
const WAITING: &str = "
select connection_id, count(*) as count
from queue
where item = -1
and due_at is not null
group by connection_id";

pub async fn waiting(db: &Db) -> Result<HashMap<ConnectionId, u64>, StoreError> {
    sqlx::query(WAITING)
        .fetch_all(db.pool())
        .await?
        .iter()
        .map(|row| Ok((row.text_id("connection_id")?, row.number("count")?)))
        .collect()
}

const RECEIVED: &str = "
select received_at
from deliveries
where workspace_id = $1
and id = $2";

/// Nothing waits is the usual answer, and is one question.
pub async fn backlog(db: &Db) -> Result<Backlog, StoreError> {
    let row = sqlx::query(BACKLOG).fetch_one(db.pool()).await?;
    let workspace: Option<Uuid> = row.try_get("workspace_id")?;
    let delivery: Option<Uuid> = row.try_get("delivery_id")?;
    let oldest_waiting = match workspace.zip(delivery) {
        None => None,
        Some((workspace, delivery)) => {
            received(db, WorkspaceId(workspace), DeliveryId(delivery)).await?
        }
    };
    Ok(Backlog {
        queued: row.number("queued")?,
        fetches: row.number("fetches")?,
        failed: row.number("failed")?,
        parked: row.number("parked")?,
        quarantined: row.number("quarantined")?,
        sends: row.number("sends")?,
        unknown: row.number("unknown")?,
        oldest_waiting,
    })
}

async fn received(
    db: &Db,
    workspace: WorkspaceId,
    delivery: DeliveryId,
) -> Result<Option<Micros>, StoreError> {
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let row = sqlx::query(RECEIVED)
        .bind(workspace.0)
        .bind(delivery.0)
        .fetch_optional(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    row.map(|row| row.time("received_at")).transpose()
}

pub(super) const SQL: &[&str] = &[
    ONE,
    ITEMS,
    LIST,
    LIST_OF_CONNECTION,
    LIST_WAITING,
    WORKSPACE_OF,
    WORKSPACES_THAT_WAIT,
    BACKLOG,
    WAITING,
    RECEIVED,
];
