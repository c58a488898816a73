//! Products: imported, followed, and what is left of them when they are gone.
//!
//! What is made, changed or removed is stamped under the write lock, like every
//! other row of a feed; what an import finds as it should be only gets its mark.

use std::collections::HashMap;

use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::db::Db;
use super::{json, stamp, tombstones};
use crate::clock::Clock;
use crate::domain::id::{ProductId, WorkspaceId};
use crate::domain::row::Entity;
use crate::domain::time::Micros;
use crate::store::gone::Gone;
use crate::store::row::Columns as _;
use crate::store::row::products::{By, Found, Sorted};
use crate::store::{ImportId, Imported, PlannedProduct, Removed, StoreError};

pub async fn import(
    db: &Db,
    clock: &dyn Clock,
    workspace: WorkspaceId,
    import: ImportId,
    products: &[PlannedProduct],
) -> Result<Imported, StoreError> {
    let mut transaction = db.begin().await?;
    // Read after the lock is held: see `stamp`.
    let now = clock.now();
    let connection = &mut transaction.connection;
    let sorted = write(connection, workspace, By::Import(import), products, now).await?;
    transaction.commit().await?;
    Ok(sorted.counted())
}

// The arrays hold external id, name and description.
const FOUND: &str = "
select p.external_id, p.id,
  (p.name, p.description) is (wanted.value ->> 1, wanted.value ->> 2) as same,
  p.import_at is ?3 as named
from json_each(?2) as wanted
cross join products as p
  on p.workspace_id = ?1
  and p.external_id = wanted.value ->> 0";

const WRITE: &str = "
insert into products (workspace_id, id, external_id, name, description, cursor_us, created_at,
  updated_at, import_at)
select ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, ?3 + key, ?4, ?4, ?5
from json_each(?2)
where true
on conflict (workspace_id, external_id) do update
set name = excluded.name, description = excluded.description, cursor_us = excluded.cursor_us,
  updated_at = excluded.updated_at, import_at = max(products.import_at, excluded.import_at)";

const MARK: &str = "
update products
set import_at = ?2
where id in (select value from json_each(?1))
and import_at < ?2";

/// Within a transaction that holds the write lock.
pub async fn write<'a>(
    connection: &mut SqliteConnection,
    workspace: WorkspaceId,
    by: By,
    planned: &'a [PlannedProduct],
    now: Micros,
) -> Result<Sorted<'a>, StoreError> {
    if planned.is_empty() {
        return Ok(Sorted::default());
    }
    let wanted: Vec<_> = planned
        .iter()
        .map(|p| (&p.external_id, &p.name, &p.description))
        .collect();
    let found = sqlx::query(FOUND)
        .bind(workspace.to_string())
        .bind(json(&wanted)?)
        .bind(by.import().map(|import| import.0.0))
        .fetch_all(&mut *connection)
        .await?
        .iter()
        .map(|row| {
            let found = Found {
                id: row.id("id")?,
                same: row.number::<i64>("same")? != 0,
                named: row.number::<i64>("named")? != 0,
            };
            Ok((row.text("external_id")?, found))
        })
        .collect::<Result<HashMap<_, _>, StoreError>>()?;
    let sorted = Sorted::of(planned, &found, now);
    if !sorted.written.is_empty() {
        let first = stamps(connection, workspace, sorted.written.len(), now).await?;
        let rows: Vec<_> = sorted
            .written
            .iter()
            .map(|(id, p)| (id, &p.external_id, &p.name, &p.description))
            .collect();
        sqlx::query(WRITE)
            .bind(workspace.to_string())
            .bind(json(&rows)?)
            .bind(first)
            .bind(now.0)
            .bind(by.mark().0)
            .execute(&mut *connection)
            .await?;
    }
    if !sorted.kept.is_empty() {
        sqlx::query(MARK)
            .bind(json(&sorted.kept)?)
            .bind(by.mark().0)
            .execute(&mut *connection)
            .await?;
    }
    Ok(sorted)
}

const PAGE: &str = "
select id, cursor_us, import_at < ?4 as unseen
from products
where workspace_id = ?1
and cursor_us > ?2
order by cursor_us
limit ?3";

// Whoever has named it in between keeps it. The plus keeps the workspace's index,
// which would lead through all its products, out of it.
const REMOVE: &str = "
delete from products
where id in (select value from json_each(?2))
and +workspace_id = ?1
and import_at < ?3
returning id";

/// What may go is looked for beside the writer, which is held only to remove it.
pub async fn remove_unseen(
    db: &Db,
    clock: &dyn Clock,
    workspace: WorkspaceId,
    import: ImportId,
    after: i64,
    limit: u32,
) -> Result<Removed, StoreError> {
    let page = sqlx::query(PAGE)
        .bind(workspace.to_string())
        .bind(after)
        .bind(i64::from(limit))
        .bind(import.0.0)
        .fetch_all(db.readers())
        .await?;
    let mut unseen: Vec<ProductId> = Vec::new();
    for row in &page {
        if row.number::<i64>("unseen")? != 0 {
            unseen.push(row.id("id")?);
        }
    }
    let full = page.len() == usize::try_from(limit).unwrap_or(usize::MAX);
    let next = page.last().filter(|_| full);
    let next = next.map(|row| row.number("cursor_us")).transpose()?;
    if unseen.is_empty() {
        return Ok(Removed { removed: 0, next });
    }
    let mut transaction = db.begin().await?;
    let now = clock.now();
    let connection = &mut transaction.connection;
    let gone = sqlx::query(REMOVE)
        .bind(workspace.to_string())
        .bind(json(&unseen)?)
        .bind(import.0.0)
        .fetch_all(&mut *connection)
        .await?;
    bury(connection, workspace, &gone, now).await?;
    transaction.commit().await?;
    Ok(Removed {
        removed: u64::try_from(gone.len()).unwrap_or(u64::MAX),
        next,
    })
}

const REMOVE_NAMED: &str = "
delete from products
where workspace_id = ?1
and external_id in (select value from json_each(?2))
returning id";

/// Those that are there of what is named; how many are gone.
pub async fn remove_named(
    db: &Db,
    clock: &dyn Clock,
    workspace: WorkspaceId,
    external_ids: &[String],
) -> Result<u64, StoreError> {
    let mut transaction = db.begin().await?;
    let now = clock.now();
    let connection = &mut transaction.connection;
    let gone = sqlx::query(REMOVE_NAMED)
        .bind(workspace.to_string())
        .bind(json(external_ids)?)
        .fetch_all(&mut *connection)
        .await?;
    bury(connection, workspace, &gone, now).await?;
    transaction.commit().await?;
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}

async fn bury(
    connection: &mut SqliteConnection,
    workspace: WorkspaceId,
    removed: &[SqliteRow],
    now: Micros,
) -> Result<(), StoreError> {
    let ids = removed.iter().map(|row| row.id("id"));
    let mut gone = Gone::default();
    gone.remove(Entity::Products, &ids.collect::<Result<Vec<_>, _>>()?);
    tombstones::bury(connection, workspace, &gone, now).await?;
    Ok(())
}

/// The first of so many.
async fn stamps(
    connection: &mut SqliteConnection,
    workspace: WorkspaceId,
    rows: usize,
    now: Micros,
) -> Result<i64, StoreError> {
    let feed = (workspace, Entity::Products);
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    let stamps = stamp::of(connection, &HashMap::from([(feed, rows)]), now).await?;
    Ok(stamps[&feed])
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[FOUND, WRITE, MARK, PAGE, REMOVE, REMOVE_NAMED];
