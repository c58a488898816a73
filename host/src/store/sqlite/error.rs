//! What a failure of SQLite means to the caller: no room, not now, or a defect.

use crate::store::{Cause, StoreError};

/// Primary result codes of SQLite, and the extended one that means "no room": what
/// it maps cannot be made larger. A write that fails for want of room is FULL; any
/// other that fails is a device's fault.
const FULL: i32 = 13;
const IOERR_SHMSIZE: i32 = 4874;
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const INTERRUPT: i32 = 9;
const IOERR: i32 = 10;
const CORRUPT: i32 = 11;
const CANTOPEN: i32 = 14;
const NOTADB: i32 = 26;

/// What SQLite's extended code says.
pub fn of(code: i32, cause: Cause) -> StoreError {
    match (code, code & 0xff) {
        (FULL | IOERR_SHMSIZE, _) => StoreError::Full,
        (_, BUSY | LOCKED | READONLY | INTERRUPT | IOERR | CANTOPEN) => {
            StoreError::Unavailable(cause)
        }
        (_, CORRUPT | NOTADB) => StoreError::Inconsistent {
            what: format!("the database file is damaged: {cause}"),
        },
        _ => StoreError::Query(cause),
    }
}
