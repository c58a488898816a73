//! Products: imports, changes and removals.
//!
//! Products that are created, changed or removed are stamped. A product that an import finds
//! unchanged only gets its mark.

use crate::operations::prelude::*;
use crate::operations::product_plan::{ExistingProduct, ProductWriter, Sorted};
use crate::operations::{stamp, tombstones};
use crate::tombstones::Removal;
use crate::{
    ImportId, Imported, PlannedProduct, Product, ProductChange, ProductChanges, Removed, Scope,
};

statements! {
    static CLOCK: Sql = sql("
select coalesce(max(last_us), 0) as last_us, coalesce(max(forgotten_us), 0) as forgotten_us
from feed_clock
where workspace_id = :workspace
and entity = :entity");

    static CHANGES: Sql = sql("
select stamp, id, name
from (
  select cursor_us as stamp, id, name
  from products
  where workspace_id = :workspace
  and cursor_us > :after
  order by cursor_us
  limit :limit
) as made
union all
select stamp, id, null as name
from (
  select cursor_us as stamp, id
  from tombstones
  where workspace_id = :workspace
  and entity = :entity
  and cursor_us > :after
  order by cursor_us
  limit :limit
) as gone
order by stamp
limit :limit");

    static BY_IDS: Sql = sql("
each (workspace_id uuid, id uuid)
select p.id, p.external_id, p.name, p.description
from each
ordered join products as p
  on p.id = each.id
  and (p.workspace_id = each.workspace_id) is true");

    // Looks rows up one by one, as below.
    static BY_EXTERNAL_ID: Sql = sql("
each (workspace_id uuid, external_id text)
select p.external_id, p.id
from each
fenced join products as p
  on p.workspace_id = each.workspace_id
  and p.external_id = each.external_id
");

    // Waiting for another part of an import may take longer than waiting for a row.
    static LOCK: Sql = sql("
select set_config('lock_timeout', '4s', true), pg_advisory_xact_lock(:number) -- postgres
");

    // Looks rows up one by one. Otherwise PostgreSQL would read a young table by its workspace.
    static FOUND: Sql = sql("
each (workspace_id uuid, external_id text, name text, description text, import_at time)
select p.external_id, p.id,
  p.name = each.name and p.description is not distinct from each.description as same,
  coalesce(p.import_at = each.import_at, false) as named
from each
fenced join products as p
  on p.workspace_id = each.workspace_id
  and p.external_id = each.external_id
");

    static WRITE: Sql = sql("
each (workspace_id uuid, id uuid, external_id text, name text, description text, cursor_us number,
  written_at time, import_at time)
insert into products (workspace_id, id, external_id, name, description, cursor_us, created_at,
  updated_at, import_at)
select workspace_id, id, external_id, name, description, cursor_us, written_at, written_at,
  import_at
from each
where true
on conflict (workspace_id, external_id) do update
set name = excluded.name, description = excluded.description, cursor_us = excluded.cursor_us,
  updated_at = excluded.updated_at, import_at = greatest(products.import_at, excluded.import_at)");

    static MARK: Sql = sql("
each (workspace_id uuid, id uuid, import_at time)
update products
set import_at = each.import_at
from each
where products.id = each.id
and (products.workspace_id = each.workspace_id) is true
and (products.import_at is null or products.import_at < each.import_at)");

    static PAGE: Sql = sql("
select id, cursor_us, (import_at is null or import_at < :import) as unseen
from products
where workspace_id = :workspace
and cursor_us > :after
order by cursor_us
limit :limit");

    // A product that was named in the meantime is kept.
    static UNSEEN: Sql = sql("
each (workspace_id uuid, id uuid, import_at time)
select p.id
from each
join products as p
  on p.id = each.id
  and (p.workspace_id = each.workspace_id) is true
where p.import_at is null
or p.import_at < each.import_at");

    static REMOVE: Sql = sql("
each (workspace_id uuid, id uuid)
delete from products
where id in (select id from each)
and (workspace_id in (select workspace_id from each)) is true");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns changes of products with a stamp greater than `after`, at most `limit`, in stamp
    /// order.
    pub async fn product_changes(
        &self,
        workspace: WorkspaceId,
        after: i64,
        limit: u32,
    ) -> Result<ProductChanges, StoreError> {
        steps!(self.database.read_many(Of(&[workspace])), |tx| {
            let entity = Entity::Products.code();
            let args = args! { workspace, entity };
            let (clock, forgotten) = tx
                .only(&CLOCK, &args, cells!("last_us", "forgotten_us"))
                .await?;
            let args = args! { workspace, entity, after, limit };
            Ok(ProductChanges {
                changes: tx
                    .rows(&CHANGES, &args, |row| {
                        Ok(read!(row => ProductChange { stamp, id, name }))
                    })
                    .await?,
                clock,
                forgotten,
            })
        })
        .await
    }

    pub async fn products(
        &self,
        scope: &Scope,
        ids: &[ProductId],
    ) -> Result<Vec<Product>, StoreError> {
        self.products_of(scope.workspace(), ids).await
    }

    pub async fn products_of(
        &self,
        workspace: WorkspaceId,
        ids: &[ProductId],
    ) -> Result<Vec<Product>, StoreError> {
        let workspace_id = workspace;
        let wanted: Vec<_> = ids.iter().map(|&id| args! { workspace_id, id }).collect();
        steps!(self.database.read_many(Of(&[workspace_id])), |tx| {
            tx.rows_each(&BY_IDS, &wanted, Product::from_row).await
        })
        .await
    }

    /// Returns the product with the first of these external ids that a product has.
    pub async fn product_by_external_id(
        &self,
        scope: &Scope,
        external_ids: Vec<String>,
    ) -> Result<Option<ProductId>, StoreError> {
        let workspace_id = scope.workspace();
        steps!(self.database.read(Of(&[workspace_id])), |tx| {
            let wanted: Vec<_> = external_ids
                .iter()
                .map(|external_id| args! { workspace_id, external_id })
                .collect();
            let found: HashMap<String, ProductId> = tx
                .rows_each(&BY_EXTERNAL_ID, &wanted, cells!("external_id", "id"))
                .await?
                .into_iter()
                .collect();
            Ok(external_ids.iter().find_map(|id| found.get(id).copied()))
        })
        .await
    }

    /// Creates and changes products by their external ids, and marks them as seen by this import.
    /// Created and changed products are stamped. Products that this import has already named are
    /// left alone. Takes at most `limits::IMPORT_ROWS` at once. If an external id is repeated among
    /// them, the last entry counts.
    pub async fn import_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        products: &[PlannedProduct],
    ) -> Result<Imported, StoreError> {
        let (products, now) = (products.to_vec(), self.clock.now());
        steps!(self.database.write(Of(&[workspace])), |tx| {
            let sorted =
                write(tx, workspace, ProductWriter::Import(import), &products, now).await?;
            Ok(sorted.counted())
        })
        .await
    }

    /// Removes the products that this import has not seen among the next `limit`, in stamp order.
    /// The first step begins after 0. Each removal leaves a tombstone.
    pub async fn remove_unseen_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        after: i64,
        limit: u32,
    ) -> Result<Removed, StoreError> {
        steps!(self.database.write(Of(&[workspace])), |tx| {
            let args = args! { workspace, import: import.0, after, limit };
            let page: Vec<(Uuid, i64, bool)> = tx
                .rows(&PAGE, &args, cells!("id", "cursor_us", "unseen"))
                .await?;
            let full = page.len() == usize::try_from(limit).unwrap_or(usize::MAX);
            let next = page.last().filter(|_| full).map(|(_, stamp, _)| *stamp);
            let unseen: Vec<_> = page
                .into_iter()
                .filter(|(_, _, unseen)| *unseen)
                .map(|(id, ..)| args! { workspace_id: workspace, id, import_at: import.0 })
                .collect();
            if unseen.is_empty() {
                return Ok(Removed { removed: 0, next });
            }
            lock(tx, workspace).await?;
            let gone = tx.rows_each(&UNSEEN, &unseen, |row| row.get("id")).await?;
            remove(tx, workspace, &gone).await?;
            Ok(Removed {
                removed: u64::try_from(gone.len()).unwrap_or(u64::MAX),
                next,
            })
        })
        .await
    }

    /// Removes the named products and returns how many it removed.
    pub async fn remove_products(
        &self,
        workspace: WorkspaceId,
        external_ids: &[String],
    ) -> Result<u64, StoreError> {
        let external_ids = external_ids.to_vec();
        steps!(self.database.write(Of(&[workspace])), |tx| {
            lock(tx, workspace).await?;
            let named: Vec<_> = external_ids
                .iter()
                .map(|external_id| args! { workspace_id: workspace, external_id })
                .collect();
            let mut gone: Vec<Uuid> = tx
                .rows_each(&BY_EXTERNAL_ID, &named, |row| row.get("id"))
                .await?;
            gone.sort_unstable();
            gone.dedup();
            remove(tx, workspace, &gone).await?;
            Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
        })
        .await
    }
}

/// Writes products in a transaction that names the workspace. Call it once per transaction: a
/// second call would hold the clock of the feed while it waits for products.
pub async fn write<'a>(
    tx: &mut Tx,
    workspace_id: WorkspaceId,
    by: ProductWriter,
    planned: &'a [PlannedProduct],
    now: Micros,
) -> Result<Sorted<'a>, StoreError> {
    if planned.is_empty() {
        return Ok(Sorted::default());
    }
    lock(tx, workspace_id).await?;
    let wanted: Vec<_> = planned
        .iter()
        .map(|product| {
            args! {
                workspace_id,
                external_id: &product.external_id,
                name: &product.name,
                description: product.description.as_deref(),
                import_at: by.import().map(|import| import.0),
            }
        })
        .collect();
    let found: HashMap<String, ExistingProduct> = tx
        .rows_each(&FOUND, &wanted, |row| {
            let found = ExistingProduct {
                id: row.get("id")?,
                same: row.get("same")?,
                named: row.get("named")?,
            };
            Ok((row.get("external_id")?, found))
        })
        .await?
        .into_iter()
        .collect();
    let sorted = Sorted::new(planned, &found, now);
    let kept: Vec<_> = sorted
        .kept
        .iter()
        .map(|&id| args! { workspace_id, id, import_at: by.mark() })
        .collect();
    tx.run_each(&MARK, &kept).await?;
    if sorted.written.is_empty() {
        return Ok(sorted);
    }
    let feed = (workspace_id, Entity::Products);
    let rows = i64::try_from(sorted.written.len()).unwrap_or(i64::MAX);
    let first = stamp::allocate(tx, &BTreeMap::from([(feed, rows)])).await?[&feed];
    let written: Vec<_> = sorted
        .written
        .iter()
        .zip(first..)
        .map(|((id, product), cursor_us)| {
            args! {
                workspace_id,
                id,
                external_id: &product.external_id,
                name: &product.name,
                description: product.description.as_deref(),
                cursor_us,
                written_at: now,
                import_at: by.mark(),
            }
        })
        .collect();
    tx.run_each(&WRITE, &written).await?;
    Ok(sorted)
}

async fn remove(tx: &mut Tx, workspace_id: WorkspaceId, gone: &[Uuid]) -> Result<(), StoreError> {
    let mut products = Removal::default();
    products.remove(Entity::Products, gone);
    tombstones::bury(tx, workspace_id, &products).await?;
    let rows: Vec<_> = gone.iter().map(|&id| args! { workspace_id, id }).collect();
    tx.run_each(&REMOVE, &rows).await?;
    Ok(())
}

/// Makes other writers of this workspace's products wait until the transaction ends.
async fn lock(tx: &mut Tx, workspace: WorkspaceId) -> Result<(), StoreError> {
    // Half of the id is enough: two workspaces that share it only wait for each other.
    let (_, half) = workspace.0.as_u64_pair();
    tx.run(&LOCK, &args! { number: half.cast_signed() }).await?;
    Ok(())
}
