//! What is left of rows that are gone: a stamp of their feed each, told to who follows it
//! within, never exported, and forgotten after a while.
//!
//! Stamps come last, as everywhere: what is gone or changed is locked before.

use crate::domain::id::WorkspaceId;
use crate::store::StoreError;
use crate::store::gone::{Gone, Stamped};
use crate::store::operations::stamp;
use crate::store::sql::{Sql, Tx, args, sql};

static BURY: Sql = sql("
each (workspace_id uuid, entity number, cursor_us number, id uuid)
insert into tombstones (workspace_id, entity, cursor_us, id)
select workspace_id, entity, cursor_us, id
from each");

/// Stamps what goes and what changes with it, and leaves the tombstones; answers the
/// stamps of what changes. All at once, so that no clock is taken after another's rows.
pub async fn bury(
    tx: &mut Tx,
    workspace_id: WorkspaceId,
    gone: &Gone,
) -> Result<Vec<Stamped>, StoreError> {
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

pub const SQL: &[&Sql] = &[&BURY];
