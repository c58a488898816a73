//! The count of rows that another host may create too.

use crate::StoreError;

/// Checks the count of rows that another host may create too. A missing row was created by another
/// host after this transaction looked for it, so the transaction runs again.
pub fn all_made(sent: usize, made: u64) -> Result<(), StoreError> {
    if u64::try_from(sent).is_ok_and(|sent| made < sent) {
        return Err(StoreError::Contended);
    }
    Ok(())
}
