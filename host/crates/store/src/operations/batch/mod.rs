//! Runs one batch in one transaction: locks and loads what the writes touch, decides in memory,
//! saves the result, and stamps it. The caller commits.

pub mod load;
pub mod save;

use crate::decide::{self};
use crate::operations::prelude::*;
use crate::{Write, WriteOutcome};
use leadhost_domain::clock::Clock;

/// Returns the result of each write. The transaction has already named the workspaces of `read_set`.
/// Fails with [`StoreError::Contended`] if another host changed the same rows in the meantime.
pub async fn run(
    tx: &mut Tx,
    clock: &dyn Clock,
    writes: &[Write],
    read_set: ReadSet,
) -> Result<Vec<WriteOutcome>, StoreError> {
    let locked = load::work(tx, &read_set.deliveries).await?;
    let of_work = locked.workspaces();
    if !of_work.is_subset(&read_set.workspaces) {
        let named: Vec<WorkspaceId> = read_set.workspaces.union(&of_work).copied().collect();
        tx.name(&named).await?;
    }
    let (mut set, locked) = load::all(tx, writes, read_set, locked).await?;
    // Read after the locks are held, so that a time is not before the changes that it follows.
    set.now = clock.now();
    let written = decide::all(&mut set, writes)?;
    save::all(tx, &set, &locked, writes).await?;
    Ok(written)
}
