//! Saves what a batch made and changed. What is new comes first, since it may meet what
//! another host has just made; then what was locked by `load` is changed; the clocks of the
//! feeds, and the rows that they stamp, come last.

mod dialogue;
mod feeds;
mod leads;
mod queue;

use crate::store::decide::Known;
use crate::store::operations::batch::load::Locked;
use crate::store::operations::sweep;
use crate::store::sql::{Sql, Tx};
use crate::store::{StoreError, Write};

pub async fn all(
    tx: &mut Tx,
    known: &Known,
    locked: &Locked,
    writes: &[Write],
) -> Result<(), StoreError> {
    leads::new(tx, known, locked, writes).await?;
    dialogue::new(tx, known, locked).await?;

    leads::changed_deliveries(tx, known).await?;
    leads::changed_items(tx, known).await?;
    leads::fetches(tx, known).await?;
    queue::save(tx, known, locked, writes).await?;
    leads::answers(tx, known).await?;
    leads::changed_claims(tx, known, locked).await?;
    dialogue::changes(tx, known, locked).await?;
    leads::pauses(tx, known).await?;
    // Comes last before the clocks: the rows are not locked in the order of the others, and
    // so nothing but the clocks may be waited for while they are. What another host evicts
    // too, or has taken up since it was loaded, is left to it: the quarantine is past its
    // bound by that much until the next delivery comes.
    sweep::remove(tx, &known.evicted, known.now).await?;
    feeds::changed(tx, known).await
}

/// Of rows that another host may make too: one that is missing in the count was made by it
/// since this transaction looked, which runs again then.
fn all_made(sent: usize, made: u64) -> Result<(), StoreError> {
    if u64::try_from(sent).is_ok_and(|sent| made < sent) {
        return Err(StoreError::Contended);
    }
    Ok(())
}

/// Every statement, those that are made from the descriptions included.
pub fn statements() -> Vec<&'static Sql> {
    [
        dialogue::statements(),
        feeds::statements(),
        leads::statements(),
        queue::statements(),
    ]
    .concat()
}
