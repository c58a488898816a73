//! Runs one batch in one transaction: locks and loads what the writes touch, decides in memory,
//! saves the result, and stamps it. The caller commits.

pub mod load;
pub mod save;

use crate::clock::Clock;
use crate::domain::id::WorkspaceId;
use crate::store::decide::{self, Needs};
use crate::store::sql::Tx;
use crate::store::{StoreError, Write, Written};

/// Returns the result of each write. The transaction has already named the workspaces of `needs`.
pub async fn run(
    tx: &mut Tx,
    clock: &dyn Clock,
    writes: &[Write],
    needs: Needs,
) -> Result<Vec<Written>, StoreError> {
    let locked = load::work(tx, &needs.deliveries).await?;
    let of_work = locked.workspaces();
    if !of_work.is_subset(&needs.workspaces) {
        let named: Vec<WorkspaceId> = needs.workspaces.union(&of_work).copied().collect();
        tx.name(&named).await?;
    }
    let (mut known, locked) = load::all(tx, writes, needs, locked).await?;
    // Read after the locks are held, so that a time is not before the changes that it follows.
    known.now = clock.now();
    let written = decide::all(&mut known, writes)?;
    save::all(tx, &known, &locked, writes).await?;
    Ok(written)
}
