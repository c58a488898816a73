//! Removes what is past its retention, oldest first and a bounded number at a
//! time, so that it never holds up the writer for long. What still waits for
//! work or for a person stays.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::db::Db;
use super::tombstones;
use crate::domain::id::DeliveryId;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::row::Columns as _;
use crate::store::{Retention, StoreError};

// An id sorts by the time it was made at, so it bounds what the index walks.
const DELIVERIES: &str = "
delete from deliveries
where id in (
  select id from deliveries
  where id < ?1
  and received_at < ?2
  and status in ('converted', 'duplicate', 'rejected', 'ignored', 'unrouted', 'parked')
  and (lease_until_at is null or lease_until_at <= ?3)
  order by id
  limit ?4)
returning id";

const QUARANTINE: &str = "
delete from deliveries
where id in (
  select id from deliveries
  where status = 'quarantined'
  and received_at < ?2
  and id < ?1
  and (lease_until_at is null or lease_until_at <= ?3)
  limit ?4)
returning id";

const BY_ID: &str = "
delete from deliveries
where id in (select value from json_each(?1))";

const ITEMS: &str = "
delete from items
where delivery_id in (select value from json_each(?1))";

const ANSWERS: &str = "
delete from answers
where delivery_id in (select value from json_each(?1))";

const CLAIMS: &str = "
delete from dedupe
where (connection_id, key) in (
  select connection_id, key from dedupe
  where until_at < ?1
  limit ?2)";

const REFERENCES: &str = "
delete from channel_refs
where (connection_id, external_id) in (
  select connection_id, external_id from channel_refs
  where until_at < ?1
  order by until_at
  limit ?2)";

// Only counted where there are many; the index is all that is read.
const UNKNOWN: &str = "
select count(*)
from channel_refs
where until_at is not null";

const REQUESTS: &str = "
delete from idempotency
where (partner_id, route, key) in (
  select partner_id, route, key from idempotency
  where until_at < ?1
  limit ?2)";

const HOLDS: &str = "
delete from holds
where (connection_id, contact_id) in (
  select connection_id, contact_id from holds
  where until_at < ?1
  limit ?2)";

pub async fn sweep(
    db: &Db,
    retention: &Retention,
    now: Micros,
    limit: u32,
) -> Result<u64, StoreError> {
    let unknown: i64 = sqlx::query(UNKNOWN)
        .fetch_one(db.readers())
        .await?
        .try_get(0)?;
    let too_many = unknown - i64::from(limits::REFERENCES_UNKNOWN);
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let finished = now.plus(-retention.deliveries);
    let quarantined = now.plus(-retention.quarantine);
    let mut removed = deliveries(connection, DELIVERIES, finished, now, limit).await?;
    removed += deliveries(connection, QUARANTINE, quarantined, now, limit).await?;
    for sql in [CLAIMS, REFERENCES, REQUESTS, HOLDS] {
        removed += ended(connection, sql, now, i64::from(limit)).await?;
    }
    let forgotten = now.plus(-limits::TOMBSTONES_KEPT_MICROS);
    removed += tombstones::forget(connection, forgotten, limit).await?;
    if too_many > 0 {
        // The oldest go though their time is not over.
        let some = too_many.min(i64::from(limit));
        removed += ended(connection, REFERENCES, Micros(i64::MAX), some).await?;
    }
    transaction.commit().await?;
    Ok(removed)
}

/// What ended before this time.
async fn ended(
    connection: &mut SqliteConnection,
    sql: &'static str,
    before: Micros,
    limit: i64,
) -> Result<u64, StoreError> {
    let done = sqlx::query(sql)
        .bind(before.0)
        .bind(limit)
        .execute(connection)
        .await?;
    Ok(done.rows_affected())
}

async fn deliveries(
    connection: &mut SqliteConnection,
    sql: &'static str,
    before: Micros,
    now: Micros,
    limit: u32,
) -> Result<u64, StoreError> {
    let removed = sqlx::query(sql)
        .bind(first_id_after(before))
        .bind(before.0)
        .bind(now.0)
        .bind(i64::from(limit))
        .fetch_all(&mut *connection)
        .await?
        .iter()
        .map(|row| row.id("id"))
        .collect::<Result<Vec<DeliveryId>, _>>()?;
    each(connection, &[ITEMS, ANSWERS], &removed).await?;
    Ok(u64::try_from(removed.len()).unwrap_or(u64::MAX))
}

/// Removes deliveries with what belongs to them.
pub(super) async fn remove(
    connection: &mut SqliteConnection,
    ids: &[DeliveryId],
) -> Result<(), StoreError> {
    each(connection, &[ITEMS, ANSWERS, BY_ID], ids).await
}

/// Statements over a list of deliveries.
async fn each(
    connection: &mut SqliteConnection,
    statements: &[&'static str],
    ids: &[DeliveryId],
) -> Result<(), StoreError> {
    if ids.is_empty() {
        return Ok(());
    }
    let ids = super::json(ids)?;
    for sql in statements {
        sqlx::query(*sql)
            .bind(&ids)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Greater than every id made before this time: the next millisecond's first.
fn first_id_after(time: Micros) -> String {
    let millis = u64::try_from(time.0).unwrap_or(0) / 1_000 + 1;
    uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10])
        .into_uuid()
        .to_string()
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    DELIVERIES, QUARANTINE, BY_ID, ITEMS, ANSWERS, CLAIMS, REFERENCES, UNKNOWN, REQUESTS, HOLDS,
];
