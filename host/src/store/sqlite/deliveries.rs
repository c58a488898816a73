//! Deliveries as operators see them, and what of them waits.

use std::collections::HashMap;

use sqlx::Connection as _;

use super::db::Db;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::id::{ConnectionId, DeliveryId};
use crate::store::row::Columns as _;
use crate::store::row::deliveries::{item, request, summary};
use crate::store::{Backlog, DeliveryDetail, DeliveryFilter, DeliverySummary, StoreError};

const ONE: &str = "
select d.workspace_id, d.id, d.connection_id, d.received_at, d.method, d.path,
  d.query, d.headers, d.body_bytes, d.status, d.error, d.notes, d.ran, d.attempts,
  d.next_attempt_at, d.body, coalesce(c.name, '') as connection,
  (select count(*) from items as i where i.delivery_id = d.id) as items
from deliveries as d
left join connections as c on c.id = d.connection_id
where d.id = ?1";

const ITEMS: &str = "
select item, status, external_id, deal_id, contact_id, message
from items
where delivery_id = ?1
order by item";

pub async fn one(db: &Db, id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError> {
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let id = id.to_string();
    let row = sqlx::query(ONE)
        .bind(&id)
        .fetch_optional(&mut *snapshot)
        .await?;
    let items = sqlx::query(ITEMS)
        .bind(&id)
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(DeliveryDetail {
        summary: summary(&row)?,
        workspace: row.id("workspace_id")?,
        request: request(&row)?,
        notes: row.json("notes")?,
        next_attempt_at: row.time_if("next_attempt_at")?,
        items: items.iter().map(item).collect::<Result<_, _>>()?,
    }))
}

macro_rules! deliveries_where {
    ($lead:literal) => {
        concat!(
            "
select d.id, d.connection_id, d.received_at, d.body_bytes, d.status, d.error, d.ran,
  d.attempts, coalesce(c.name, '') as connection,
  (select count(*) from items as i where i.delivery_id = d.id) as items
from deliveries as d
left join connections as c on c.id = d.connection_id
where (?1 is null or d.workspace_id = ?1)
and (?2 is null or d.connection_id = ?2)
and (?3 is null or d.status = ?3)
and (?4 is null or d.received_at >= ?4)
and (?7 is null or d.received_at < ?7)
and (?8 is null or d.ran ->> 'version' = ?8
  or (length(?8) >= 8 and substr(d.ran ->> 'digest', 1, length(?8)) = ?8))
-- Past every id when none is given: a range that the index walks.
and d.id < coalesce(?5, 'g')
",
            $lead,
            "
order by d.id desc
limit ?6"
        )
    };
}

const LIST: &str = deliveries_where!("");
const LIST_OF_CONNECTION: &str = deliveries_where!("and d.connection_id = ?2");
const LIST_QUEUED: &str = deliveries_where!("and d.status = 'queued'");
const LIST_FAILED: &str = deliveries_where!("and d.status = 'failed'");
const LIST_PARKED: &str = deliveries_where!("and d.status = 'parked'");
const LIST_QUARANTINED: &str = deliveries_where!("and d.status = 'quarantined'");
const LIST_UNROUTED: &str = deliveries_where!("and d.status = 'unrouted'");

/// Newest first.
pub async fn list(db: &Db, filter: &DeliveryFilter) -> Result<Vec<DeliverySummary>, StoreError> {
    // What waits is rare among what was finished: its states have an index.
    let sql = match (filter.status, &filter.connection) {
        (Some(DeliveryStatus::Queued), _) => LIST_QUEUED,
        (Some(DeliveryStatus::Failed), _) => LIST_FAILED,
        (Some(DeliveryStatus::Parked), _) => LIST_PARKED,
        (Some(DeliveryStatus::Quarantined), _) => LIST_QUARANTINED,
        (Some(DeliveryStatus::Unrouted), _) => LIST_UNROUTED,
        (_, Some(_)) => LIST_OF_CONNECTION,
        (_, None) => LIST,
    };
    sqlx::query(sql)
        .bind(filter.workspace.map(|id| id.to_string()))
        .bind(filter.connection.as_ref().map(|id| id.as_str()))
        .bind(filter.status.map(|status| status.as_str()))
        .bind(filter.since.map(|since| since.0))
        .bind(filter.before.map(|id| id.to_string()))
        .bind(i64::from(filter.limit))
        .bind(filter.until.map(|until| until.0))
        .bind(filter.version.as_deref())
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(summary)
        .collect()
}

// A queued delivery without a time to try it again waits for its fetches only.
const BACKLOG: &str = "
select
  (select count(*) from deliveries
   where status = 'queued' and next_attempt_at is not null) as queued,
  (select count(*) from fetches) as fetches,
  (select count(*) from deliveries where status = 'failed') as failed,
  (select count(*) from deliveries where status = 'parked') as parked,
  (select count(*) from deliveries where status = 'quarantined') as quarantined,
  (select count(*) from sends where state <> 'unknown') as sends,
  (select count(*) from sends where state = 'unknown') as unknown,
  (select received_at from deliveries
   where status = 'queued' order by id limit 1) as oldest_queued,
  (select received_at from deliveries
   where status = 'failed' order by id limit 1) as oldest_failed";

pub async fn backlog(db: &Db) -> Result<Backlog, StoreError> {
    let row = sqlx::query(BACKLOG).fetch_one(db.readers()).await?;
    let queued = row.time_if("oldest_queued")?;
    let failed = row.time_if("oldest_failed")?;
    Ok(Backlog {
        queued: row.number("queued")?,
        fetches: row.number("fetches")?,
        failed: row.number("failed")?,
        parked: row.number("parked")?,
        quarantined: row.number("quarantined")?,
        sends: row.number("sends")?,
        unknown: row.number("unknown")?,
        oldest_waiting: queued.into_iter().chain(failed).min(),
    })
}

// Only what is to be converted has a time for it.
const WAITING: &str = "
select connection_id, count(*) as count
from deliveries indexed by deliveries_turns
where next_attempt_at is not null
group by connection_id";

pub async fn waiting(db: &Db) -> Result<HashMap<ConnectionId, u64>, StoreError> {
    sqlx::query(WAITING)
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(|row| Ok((row.text_id("connection_id")?, row.number("count")?)))
        .collect()
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    ONE,
    ITEMS,
    LIST,
    LIST_OF_CONNECTION,
    LIST_QUEUED,
    LIST_FAILED,
    LIST_PARKED,
    LIST_QUARANTINED,
    LIST_UNROUTED,
    BACKLOG,
    WAITING,
];
