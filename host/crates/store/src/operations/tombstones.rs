//! Tombstones of removed rows. Each has a stamp of its feed, is returned to internal readers of the
//! feed, is never exported, and is forgotten after a while. A feed records how far it has
//! forgotten, so that a reader that is further behind begins again.
//!
//! Stamps come last, as everywhere: the removed and changed rows are locked before.

use crate::operations::prelude::*;
use crate::operations::stamp;
use crate::sqlite::threads::End;
use crate::tombstones::{Removal, StampedRow};

statements! {
    static BURY: Sql = made(|| schema::TOMBSTONES.insert(&[], OnConflict::Fail));

    static OLD: Sql = sql("
delete from tombstones
where (workspace_id, entity, cursor_us) in (
  select workspace_id, entity, cursor_us from tombstones
  where cursor_us < :before
  order by cursor_us
  limit :limit
  for update skip locked -- postgres
)
returning workspace_id, entity, cursor_us");

    // One row after the other, in the order in which every batch locks them.
    static CLOCKS: Sql = sql("
each (workspace_id uuid, entity number)           -- postgres
select clock.workspace_id                         -- postgres
from feed_clock as clock                          -- postgres
join each                                         -- postgres
  on each.workspace_id = clock.workspace_id       -- postgres
  and each.entity = clock.entity                  -- postgres
order by clock.workspace_id, clock.entity         -- postgres
for update of clock                               -- postgres
");

    static FORGOTTEN: Sql = sql("
each (workspace_id uuid, entity number, last_us number)
update feed_clock as clock
set forgotten_us = greatest(clock.forgotten_us, each.last_us)
from each
where each.workspace_id = clock.workspace_id
and each.entity = clock.entity");
}

/// Stamps the removed rows and the rows that change with them, and writes the tombstones. Returns
/// the stamps of the changed rows. All clocks are locked at once, so that none is locked after the
/// rows of another feed.
pub async fn bury(
    tx: &mut Tx,
    workspace_id: WorkspaceId,
    gone: &Removal,
) -> Result<Vec<StampedRow>, StoreError> {
    let first = stamp::allocate(tx, &gone.counts(workspace_id)).await?;
    let first = first.into_iter().map(|((_, of), first)| (of, first));
    let (removed, changed) = gone.stamped(first.collect())?;
    let rows: Vec<_> = removed
        .iter()
        .map(|row| {
            args! { workspace_id, entity: row.entity.code(), cursor_us: row.stamp, id: row.id }
        })
        .collect();
    tx.run_each(&BURY, &rows).await?;
    Ok(changed)
}

/// Forgets tombstones from before this time, the oldest first, and records that in the feed.
/// Returns how many it forgot.
pub async fn forget(database: &Database, before: Micros, limit: u32) -> Result<u64, StoreError> {
    steps!(database.write_or_undo(All), |tx| {
        // Stamps are microseconds, as a number.
        let args = args! { before: before.0, limit };
        let gone = tx
            .rows(&OLD, &args, |row| {
                let workspace: WorkspaceId = row.get("workspace_id")?;
                let entity: u8 = row.get("entity")?;
                let stamp: i64 = row.get("cursor_us")?;
                Ok(((workspace, entity), stamp))
            })
            .await?;
        if gone.is_empty() {
            return Ok((0, End::Undo));
        }
        let mut last: BTreeMap<(WorkspaceId, u8), i64> = BTreeMap::new();
        for (feed, stamp) in &gone {
            let of = last.entry(*feed).or_default();
            *of = (*stamp).max(*of);
        }
        let rows: Vec<_> = last
            .into_iter()
            .map(|((workspace_id, entity), last_us)| args! { workspace_id, entity, last_us })
            .collect();
        tx.run_each(&CLOCKS, &rows).await?;
        tx.run_each(&FORGOTTEN, &rows).await?;
        let forgotten = u64::try_from(gone.len()).unwrap_or(u64::MAX);
        Ok((forgotten, End::Commit))
    })
    .await
}
