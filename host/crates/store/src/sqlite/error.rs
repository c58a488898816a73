//! Converts SQLite's errors for the caller: no space, not now, or a defect.

use rusqlite::ffi;

use crate::{StoreError, StoreErrorCause};

/// How the error of a damaged file begins.
pub const DAMAGED: &str = "the database file is damaged";

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error() {
            Some(found) => from_code(found.extended_code, StoreErrorCause::Sqlite(error)),
            None => Self::Query(StoreErrorCause::Sqlite(error)),
        }
    }
}

/// Classifies an extended error code. A write that fails for lack of space gives FULL, or
/// an error that the shared-memory file cannot grow. Any other failed write is a fault of
/// the device.
fn from_code(code: i32, cause: StoreErrorCause) -> StoreError {
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
