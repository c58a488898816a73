//! Saves what a batch made and changed, all but what carries a stamp (`stamp`).
//! Rows travel as one array a column. What is new comes first, since it may meet
//! what another host has just made; then what was locked by `load` is changed.

pub mod changes;
pub mod deals;
pub mod dialogue;
pub mod new;
pub mod queue;
mod rows;

pub use changes::changes;
pub use new::{Trace, new};
pub use rows::{each, place};

use crate::store::StoreError;

/// Of rows that another host may make too: one that is missing in the count was
/// made by it since this transaction looked, which runs again then.
pub fn all_made(sent: usize, made: u64) -> Result<(), StoreError> {
    if u64::try_from(sent).is_ok_and(|sent| made < sent) {
        return Err(StoreError::Contended);
    }
    Ok(())
}
