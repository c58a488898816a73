//! One batch, one transaction: lock and load what the writes touch, decide in memory, save
//! what came of it, stamp. Who runs it commits.

pub mod load;
pub mod save;

use crate::clock::Clock;
use crate::domain::id::WorkspaceId;
use crate::store::decide::{self, Needs};
use crate::store::sql::Tx;
use crate::store::{StoreError, Write, Written};

/// What came of each write. The transaction has named the workspaces of `needs`.
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
    // Read after the locks are held: a stamp is not before what it follows.
    known.now = clock.now();
    let written = decide::all(&mut known, writes)?;
    save::all(tx, &known, &locked, writes).await?;
    Ok(written)
}
