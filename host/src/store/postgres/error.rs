//! What a failure of PostgreSQL means to the caller: no room, not now, or a defect.

use sqlx::postgres::PgDatabaseError;

use crate::store::{Cause, StoreError};

/// What the server's code says. Classes are the first two characters.
pub fn of(error: sqlx::Error, code: &str) -> StoreError {
    match code {
        // disk_full
        "53100" => StoreError::Full,
        // lock_not_available, and what the timeouts of a connection end.
        "55P03" | "57014" | "25P03" | "25P04" => StoreError::Unavailable(Cause::Sqlx(error)),
        // read_only_sql_transaction: a standby, or one that was just demoted.
        "25006" => StoreError::Unavailable(Cause::Sqlx(error)),
        _ => match code.get(..2) {
            // Connection lost, rolled back for others' sake, out of resources,
            // shut down by an operator, failure of the system around it.
            Some("08" | "40" | "53" | "57" | "58") => StoreError::Unavailable(Cause::Sqlx(error)),
            Some("XX") => StoreError::Inconsistent {
                what: format!("the database is damaged: {error}"),
            },
            _ => StoreError::Query(Cause::Sqlx(error)),
        },
    }
}

/// The server's code of an error that the server gave.
pub fn code(error: &sqlx::Error) -> Option<&str> {
    let sqlx::Error::Database(database) = error else {
        return None;
    };
    let error = database.try_downcast_ref::<PgDatabaseError>()?;
    Some(error.code())
}

/// The transaction lost against another one: the same again may win.
/// deadlock_detected, serialization_failure, lock_not_available.
pub fn is_lost_race(error: &sqlx::Error) -> bool {
    matches!(code(error), Some("40P01" | "40001" | "55P03"))
}

/// The connection is gone, or is about to be; what was asked last may have happened.
pub fn is_connection_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => true,
        _ => code(error).is_some_and(|code| {
            // admin_shutdown, crash_shutdown, idle_in_transaction_session_timeout, and 08.
            matches!(code, "57P01" | "57P02" | "25P03") || code.starts_with("08")
        }),
    }
}

/// What the driver said, where it was this one's.
pub fn driver_of(cause: &Cause) -> Option<&sqlx::Error> {
    match cause {
        Cause::Sqlx(error) => Some(error),
        _ => None,
    }
}
