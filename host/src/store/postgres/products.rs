//! Products: imported, followed, and what is left of them when they are gone.
//!
//! Who writes products of a workspace does so alone, over all hosts, behind a lock
//! that nothing else takes. So what is found is so until the end, and the feed's
//! clock comes last as everywhere: what is stamped after it are rows that nobody
//! else can hold. What an import finds as it should be only gets its mark.

use std::collections::{BTreeMap, HashMap};

use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::columns::{self, text};
use super::db::{Db, Rows};
use super::stamp;
use super::tombstones;
use crate::clock::Clock;
use crate::domain::id::WorkspaceId;
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
    let now = clock.now();
    let mut transaction = db.begin(Rows::Of(&[workspace])).await?;
    let sorted = write(
        &mut transaction,
        workspace,
        By::Import(import),
        products,
        now,
    )
    .await?;
    transaction.commit().await?;
    Ok(sorted.counted())
}

// Who waits for another one's part of an import may wait longer than for a row.
const LOCK: &str = "
select set_config('lock_timeout', '4s', true), pg_advisory_xact_lock($1)";

// One by one: a table that is young would be read by its workspace instead.
const FOUND: &str = "
select p.external_id, p.id,
  (p.name, p.description) is not distinct from (wanted.name, wanted.description) as same,
  coalesce(p.import_at = $5, false) as named
from unnest($2::text[], $3::text[], $4::text[]) as wanted (external_id, name, description)
cross join lateral (
  select external_id, id, name, description, import_at
  from products
  where workspace_id = $1
  and external_id = wanted.external_id
  offset 0
) as p";

const WRITE: &str = "
insert into products (workspace_id, id, external_id, name, description, cursor_us, created_at,
  updated_at, import_at)
select $1, planned.id, planned.external_id, planned.name, planned.description,
  $6 + planned.place - 1, $7, $7, $8
from unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) with ordinality
  as planned (id, external_id, name, description, place)
on conflict (workspace_id, external_id) do update
set name = excluded.name, description = excluded.description, cursor_us = excluded.cursor_us,
  updated_at = excluded.updated_at, import_at = greatest(products.import_at, excluded.import_at)";

const MARK: &str = "
update products
set import_at = $3
where id = any ($2)
and (workspace_id = $1) is true
and (import_at is null or import_at < $3)";

/// Within a transaction that names the workspace. All at once: a second time would
/// hold the feed's clock while it waits for products.
pub async fn write<'a>(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    by: By,
    planned: &'a [PlannedProduct],
    now: Micros,
) -> Result<Sorted<'a>, StoreError> {
    if planned.is_empty() {
        return Ok(Sorted::default());
    }
    lock(connection, workspace).await?;
    let (external_ids, names, descriptions) = texts(planned.iter());
    let found = sqlx::query(FOUND)
        .bind(workspace.0)
        .bind(external_ids)
        .bind(names)
        .bind(descriptions)
        .bind(by.import().map(|import| columns::at(import.0)))
        .fetch_all(&mut *connection)
        .await?
        .iter()
        .map(|row| {
            let found = Found {
                id: row.id("id")?,
                same: row.flag("same")?,
                named: row.flag("named")?,
            };
            Ok((row.text("external_id")?, found))
        })
        .collect::<Result<HashMap<_, _>, StoreError>>()?;
    let sorted = Sorted::of(planned, &found, now);
    if !sorted.kept.is_empty() {
        sqlx::query(MARK)
            .bind(workspace.0)
            .bind(sorted.kept.iter().map(|id| id.0).collect::<Vec<_>>())
            .bind(columns::at(by.mark()))
            .execute(&mut *connection)
            .await?;
    }
    if !sorted.written.is_empty() {
        let first = stamps(connection, workspace, sorted.written.len()).await?;
        let ids: Vec<_> = sorted.written.iter().map(|(id, _)| id.0).collect();
        let products = sorted.written.iter().map(|(_, product)| *product);
        let (external_ids, names, descriptions) = texts(products);
        sqlx::query(WRITE)
            .bind(workspace.0)
            .bind(ids)
            .bind(external_ids)
            .bind(names)
            .bind(descriptions)
            .bind(first)
            .bind(columns::at(now))
            .bind(columns::at(by.mark()))
            .execute(&mut *connection)
            .await?;
    }
    Ok(sorted)
}

const PAGE: &str = "
select id, cursor_us, (import_at is null or import_at < $4) as unseen
from products
where workspace_id = $1
and cursor_us > $2
order by cursor_us
limit $3";

// Whoever has named it in between keeps it.
const UNSEEN: &str = "
select id
from products
where id = any ($2)
and (workspace_id = $1) is true
and (import_at is null or import_at < $3)";

const REMOVE: &str = "
delete from products
where id = any ($2)
and (workspace_id = $1) is true";

pub async fn remove_unseen(
    db: &Db,
    workspace: WorkspaceId,
    import: ImportId,
    after: i64,
    limit: u32,
) -> Result<Removed, StoreError> {
    let mut transaction = db.begin(Rows::Of(&[workspace])).await?;
    let page = sqlx::query(PAGE)
        .bind(workspace.0)
        .bind(after)
        .bind(i64::from(limit))
        .bind(columns::at(import.0))
        .fetch_all(&mut *transaction)
        .await?;
    let mut unseen: Vec<Uuid> = Vec::new();
    for row in &page {
        if row.flag("unseen")? {
            unseen.push(row.try_get("id")?);
        }
    }
    let full = page.len() == usize::try_from(limit).unwrap_or(usize::MAX);
    let next = page.last().filter(|_| full);
    let next = next.map(|row| row.number("cursor_us")).transpose()?;
    if unseen.is_empty() {
        transaction.rollback().await?;
        return Ok(Removed { removed: 0, next });
    }
    lock(&mut transaction, workspace).await?;
    let gone = sqlx::query(UNSEEN)
        .bind(workspace.0)
        .bind(unseen)
        .bind(columns::at(import.0))
        .fetch_all(&mut *transaction)
        .await?
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<Vec<Uuid>, _>>()?;
    remove(&mut transaction, workspace, &gone).await?;
    transaction.commit().await?;
    Ok(Removed {
        removed: u64::try_from(gone.len()).unwrap_or(u64::MAX),
        next,
    })
}

const NAMED: &str = "
select p.id
from unnest($2::text[]) as wanted (external_id)
cross join lateral (
  select id
  from products
  where workspace_id = $1
  and external_id = wanted.external_id
  offset 0
) as p";

/// Those that are there of what is named; how many are gone.
pub async fn remove_named(
    db: &Db,
    workspace: WorkspaceId,
    external_ids: &[String],
) -> Result<u64, StoreError> {
    let mut transaction = db.begin(Rows::Of(&[workspace])).await?;
    lock(&mut transaction, workspace).await?;
    let named: Vec<_> = external_ids.iter().map(|id| text(id)).collect();
    let mut gone = sqlx::query(NAMED)
        .bind(workspace.0)
        .bind(named)
        .fetch_all(&mut *transaction)
        .await?
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<Vec<Uuid>, _>>()?;
    gone.sort_unstable();
    gone.dedup();
    remove(&mut transaction, workspace, &gone).await?;
    transaction.commit().await?;
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}

/// Of a workspace whose products are locked.
async fn remove(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    gone: &[Uuid],
) -> Result<(), StoreError> {
    let mut products = Gone::default();
    products.remove(Entity::Products, gone);
    tombstones::bury(connection, workspace, &products).await?;
    if !gone.is_empty() {
        sqlx::query(REMOVE)
            .bind(workspace.0)
            .bind(gone)
            .execute(connection)
            .await?;
    }
    Ok(())
}

/// Whoever else writes products of this workspace waits from here to the end.
async fn lock(connection: &mut PgConnection, workspace: WorkspaceId) -> Result<(), StoreError> {
    // Half of the id is enough: two that share it only wait for each other.
    let (_, half) = workspace.0.as_u64_pair();
    sqlx::query(LOCK)
        .bind(half.cast_signed())
        .execute(connection)
        .await?;
    Ok(())
}

/// The first of so many.
async fn stamps(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    rows: usize,
) -> Result<i64, StoreError> {
    let feed = (workspace, Entity::Products);
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    let stamps = stamp::allocate(connection, &BTreeMap::from([(feed, rows)])).await?;
    Ok(stamps[&feed])
}

type Texts<'a> = Vec<std::borrow::Cow<'a, str>>;

/// External ids, names and descriptions, side by side.
fn texts<'a>(
    products: impl Iterator<Item = &'a PlannedProduct> + Clone,
) -> (Texts<'a>, Texts<'a>, Vec<Option<std::borrow::Cow<'a, str>>>) {
    (
        products.clone().map(|p| text(&p.external_id)).collect(),
        products.clone().map(|p| text(&p.name)).collect(),
        products
            .map(|p| p.description.as_deref().map(text))
            .collect(),
    )
}

pub(super) const SQL: &[&str] = &[LOCK, FOUND, WRITE, MARK, PAGE, UNSEEN, REMOVE, NAMED];
