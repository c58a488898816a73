//! The feed clock: stamps become visible in their own order.
//!
//! The clock's row of each feed is locked last, after every other lock of the transaction, and
//! released only when the transaction's effects are visible. So a reader that has seen a stamp has
//! seen every smaller one that will ever exist, whichever host assigned it.

use crate::operations::prelude::*;

statements! {
    // Rows are updated one after the other, in the same order on every host, and the new value is
    // computed when the row is locked. The count is added to the last stamp, not to the wall clock: a
    // clock that took the time first and added n would run ahead of real time by the size of each
    // batch.
    static ALLOCATE: Sql = sql("
each (workspace_id uuid, entity number, changes number)
insert into feed_clock as clock (workspace_id, entity, last_us)
select workspace_id, entity, greatest(changes, feed_now())
from each
where true
on conflict (workspace_id, entity) do update
set last_us = greatest(
  clock.last_us + (
    select each.changes
    from each
    where each.workspace_id = clock.workspace_id
    and each.entity = clock.entity
  ),
  feed_now()
)
returning workspace_id, entity, last_us");
}

/// The next stamp of each changed feed.
pub type Stamps = BTreeMap<(WorkspaceId, Entity), i64>;

/// Returns the first stamp of each feed; the others follow one by one.
pub async fn allocate(
    tx: &mut Tx,
    changes: &BTreeMap<(WorkspaceId, Entity), i64>,
) -> Result<Stamps, StoreError> {
    let rows: Vec<_> = changes
        .iter()
        .map(|((workspace_id, entity), changes)| {
            args! { workspace_id, entity: entity.code(), changes }
        })
        .collect();
    let last: BTreeMap<(Uuid, u8), i64> = tx
        .rows_each(&ALLOCATE, &rows, |row| {
            let feed = (row.get("workspace_id")?, row.get("entity")?);
            Ok((feed, row.get("last_us")?))
        })
        .await?
        .into_iter()
        .collect();
    changes
        .iter()
        .map(|((workspace, entity), changes)| {
            let last = last.get(&(workspace.0, entity.code()));
            let last = last.ok_or_else(|| StoreError::Inconsistent {
                what: format!(
                    "workspace {workspace} has no feed clock for {}",
                    entity.as_str()
                ),
            })?;
            Ok(((*workspace, *entity), last - changes + 1))
        })
        .collect()
}
