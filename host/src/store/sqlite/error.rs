//! Classifies SQLite's errors for the caller: no space, not now, or a defect.

use rusqlite::ffi;

use crate::store::{Cause, StoreError};

/// How the error of a damaged file begins.
pub const DAMAGED: &str = "the database file is damaged";

/// Classifies an extended error code. A write that fails for lack of space gives FULL, or
/// an error that the shared-memory file cannot grow. Any other failed write is a fault of
/// the device.
pub fn from_code(code: i32, cause: Cause) -> StoreError {
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
            what: format!("{DAMAGED}: {cause}"),
        },
        _ => StoreError::Query(cause),
    }
}
