//! Saves what a batch created and changed. New rows come first, since they may conflict with rows
//! that another host has just created. Then the rows that `load` locked are changed. The clocks of
//! the feeds, and the rows that they stamp, come last.

mod dialogue;
mod feeds;
mod leads;
pub mod made;
mod queue;
mod repairs;

use crate::Write;
use crate::operations::batch::load::locked::LockedRows;
use crate::operations::prelude::*;
use crate::operations::{erase, sweep};

/// Saves everything that the batch created and changed, and stamps the rows of feeds.
/// Fails with [`StoreError::Contended`] if another host created one of the rows in the meantime.
pub async fn all(
    tx: &mut Tx,
    set: &WorkingSet,
    locked: &LockedRows,
    writes: &[Write],
) -> Result<(), StoreError> {
    repairs::remove_undone_keys(tx, set).await?;
    leads::new(tx, set, locked, writes).await?;
    repairs::inherit_keys(tx, set).await?;
    dialogue::new(tx, set, locked).await?;

    leads::changed_deliveries(tx, set).await?;
    leads::changed_items(tx, set).await?;
    repairs::save(tx, set).await?;
    leads::fetches(tx, set).await?;
    queue::save(tx, set, locked, writes).await?;
    leads::answers(tx, set).await?;
    erase::raw::empty_bodies(tx, &set.emptied).await?;
    leads::changed_claims(tx, set, locked).await?;
    dialogue::changes(tx, set, locked).await?;
    leads::pauses(tx, set).await?;
    leads::unstamped(tx, set).await?;
    // Last before the clocks: these rows are not locked in the order of the others, so nothing but
    // the clocks may be waited for while they are locked. Deliveries that another host evicts too,
    // or has claimed since they were loaded, are left to it. The quarantine then exceeds its bound
    // by that much until the next delivery arrives.
    sweep::remove(tx, &set.evicted, set.now).await?;
    feeds::changed(tx, set).await
}

pub fn statements() -> Vec<&'static Sql> {
    let feeds = feeds::statements();
    [dialogue::SQL, &feeds, leads::SQL, queue::SQL, repairs::SQL].concat()
}
