//! Products as they are followed and looked up.

use crate::domain::id::{ProductId, WorkspaceId};
use crate::domain::row::Entity;
use crate::store::database::Database;
use crate::store::postgres::Rows;
use crate::store::row::Columns as _;
use crate::store::row::products::{change, product};
use crate::store::sql::{Sql, args, sql, steps};
use crate::store::{Product, ProductChanges, Scope, StoreError};

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

/// Clock and changes from one snapshot.
pub async fn changes(
    database: &Database,
    workspace: WorkspaceId,
    after: i64,
    limit: u32,
) -> Result<ProductChanges, StoreError> {
    database
        .read_many(
            Rows::Of(&[workspace]),
            steps!(|tx| {
                let entity = Entity::Products.code();
                let args = args! { workspace, entity };
                let (clock, forgotten) = tx
                    .only(&CLOCK, &args, |row| {
                        Ok((row.number("last_us")?, row.number("forgotten_us")?))
                    })
                    .await?;
                let args = args! { workspace, entity, after, limit };
                Ok(ProductChanges {
                    changes: tx.rows(&CHANGES, &args, |row| change(row)).await?,
                    clock,
                    forgotten,
                })
            }),
        )
        .await
}

static BY_IDS: Sql = sql("
each (workspace_id uuid, id uuid)
select p.id, p.external_id, p.name, p.description
from each
cross join products as p -- sqlite
join products as p -- postgres
  on p.id = each.id
  and (p.workspace_id = each.workspace_id) is true");

pub async fn by_ids(
    database: &Database,
    scope: &Scope,
    ids: &[ProductId],
) -> Result<Vec<Product>, StoreError> {
    let workspace_id = scope.workspace();
    let wanted: Vec<_> = ids.iter().map(|&id| args! { workspace_id, id }).collect();
    database
        .read_many(
            Rows::Of(&[workspace_id]),
            steps!(|tx| tx.rows_each(&BY_IDS, &wanted, |row| product(row)).await),
        )
        .await
}

pub const SQL: &[&Sql] = &[&CLOCK, &CHANGES, &BY_IDS];
