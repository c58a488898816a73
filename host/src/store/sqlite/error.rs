//! What a failure of SQLite means to the caller: no room, not now, or a defect.

use rusqlite::ffi;

use crate::store::{Cause, StoreError};

/// What SQLite's extended code says. A write that fails for want of room is FULL, or
/// means that what SQLite maps cannot be made larger; any other that fails is a device's
/// fault.
pub fn of(code: i32, cause: Cause) -> StoreError {
    match (code, code & 0xff) {
        (ffi::SQLITE_FULL | ffi::SQLITE_IOERR_SHMSIZE, _) => StoreError::Full,
        (
            _,
            ffi::SQLITE_BUSY
            | ffi::SQLITE_LOCKED
            | ffi::SQLITE_READONLY
            | ffi::SQLITE_INTERRUPT
            | ffi::SQLITE_IOERR
            | ffi::SQLITE_CANTOPEN,
        ) => StoreError::Unavailable(cause),
        (_, ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB) => StoreError::Inconsistent {
            what: format!("the database file is damaged: {cause}"),
        },
        _ => StoreError::Query(cause),
    }
}
