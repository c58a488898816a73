//! What a failure of SQLite means to the caller: no room, not now, or a defect.

use crate::store::StoreError;

/// Primary result codes of SQLite, and the extended ones that mean "no room".
const FULL: i32 = 13;
const IOERR_WRITE: i32 = 778;
const IOERR_SHMSIZE: i32 = 4874;
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const INTERRUPT: i32 = 9;
const IOERR: i32 = 10;
const CORRUPT: i32 = 11;
const CANTOPEN: i32 = 14;
const NOTADB: i32 = 26;

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let code = match &error {
            sqlx::Error::Database(database) => database
                .code()
                .and_then(|code| code.parse::<i32>().ok())
                .unwrap_or_default(),
            sqlx::Error::Io(io) if io.kind() == std::io::ErrorKind::StorageFull => {
                return Self::Full;
            }
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => return Self::Unavailable(error),
            _ => return Self::Query(error),
        };
        match (code, code & 0xff) {
            (FULL | IOERR_WRITE | IOERR_SHMSIZE, _) => Self::Full,
            (_, BUSY | LOCKED | READONLY | INTERRUPT | IOERR | CANTOPEN) => {
                Self::Unavailable(error)
            }
            (_, CORRUPT | NOTADB) => Self::Inconsistent {
                what: format!("the database file is damaged: {error}"),
            },
            _ => Self::Query(error),
        }
    }
}

/// For a column that holds what it cannot.
pub(super) fn odd(table: &str, column: &str, found: impl std::fmt::Display) -> StoreError {
    StoreError::Inconsistent {
        what: format!("{table}.{column} holds `{found}`"),
    }
}
