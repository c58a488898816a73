//! Converts the errors of the driver and of PostgreSQL for the caller: no space, not now, or a
//! defect.

use sqlx::postgres::PgDatabaseError;

use crate::{StoreError, StoreErrorCause};

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default().into_owned();
                from_server(error, &code)
            }
            sqlx::Error::Io(io) if io.kind() == std::io::ErrorKind::StorageFull => Self::Full,
            sqlx::Error::PoolClosed => Self::Unavailable(StoreErrorCause::Closed),
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::WorkerCrashed => Self::Unavailable(StoreErrorCause::Sqlx(error)),
            _ => Self::Query(StoreErrorCause::Sqlx(error)),
        }
    }
}

/// Classifies the server's code. Its first two characters are its class.
fn from_server(error: sqlx::Error, code: &str) -> StoreError {
    match code {
        // disk_full
        "53100" => StoreError::Full,
        // lock_not_available, and the errors of the connection's timeouts.
        "55P03" | "57014" | "25P03" | "25P04" => {
            StoreError::Unavailable(StoreErrorCause::Sqlx(error))
        }
        // read_only_sql_transaction: a standby, or a server that was just demoted.
        "25006" => StoreError::Unavailable(StoreErrorCause::Sqlx(error)),
        _ => match code.get(..2) {
            // Connection lost, rolled back in favour of others, out of resources, shut
            // down by an operator, or a failure of the system around it.
            Some("08" | "40" | "53" | "57" | "58") => {
                StoreError::Unavailable(StoreErrorCause::Sqlx(error))
            }
            Some("XX") => StoreError::Inconsistent {
                what: format!("the database is damaged: {error}"),
            },
            _ => StoreError::Query(StoreErrorCause::Sqlx(error)),
        },
    }
}

pub fn code(error: &sqlx::Error) -> Option<&str> {
    let sqlx::Error::Database(database) = error else {
        return None;
    };
    let error = database.try_downcast_ref::<PgDatabaseError>()?;
    Some(error.code())
}

/// Returns whether the transaction lost against another one; another attempt may succeed.
/// deadlock_detected, serialization_failure, lock_not_available.
pub fn is_lost_race(error: &sqlx::Error) -> bool {
    matches!(code(error), Some("40P01" | "40001" | "55P03"))
}

/// Returns whether the connection is lost or about to be. The last statement may have been
/// executed.
pub fn is_connection_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => true,
        _ => code(error).is_some_and(|code| {
            // admin_shutdown, crash_shutdown, idle_in_transaction_session_timeout, and 08.
            matches!(code, "57P01" | "57P02" | "25P03") || code.starts_with("08")
        }),
    }
}

pub fn driver_of(cause: &StoreErrorCause) -> Option<&sqlx::Error> {
    match cause {
        StoreErrorCause::Sqlx(error) => Some(error),
        _ => None,
    }
}
