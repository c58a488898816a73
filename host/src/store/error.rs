//! From the driver's errors to the store's, by the database that gave them.

use sqlx::postgres::PgDatabaseError;

use super::{StoreError, postgres, sqlite};

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default().into_owned();
                if database.try_downcast_ref::<PgDatabaseError>().is_some() {
                    postgres::error::of(error, &code)
                } else {
                    sqlite::error::of(error, &code)
                }
            }
            sqlx::Error::Io(io) if io.kind() == std::io::ErrorKind::StorageFull => Self::Full,
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => Self::Unavailable(error),
            _ => Self::Query(error),
        }
    }
}

impl StoreError {
    /// The same failure for another one who waited; its source goes to the first only.
    pub fn again(&self) -> Self {
        match self {
            Self::Full => Self::Full,
            Self::Busy => Self::Busy,
            Self::Lost(reason) => Self::Lost(reason.clone()),
            Self::Contended => Self::Contended,
            Self::Unavailable(sqlx::Error::PoolTimedOut) => {
                Self::Unavailable(sqlx::Error::PoolTimedOut)
            }
            Self::Unavailable(sqlx::Error::Io(cause)) => {
                let cause = std::io::Error::new(cause.kind(), cause.to_string());
                Self::Unavailable(sqlx::Error::Io(cause))
            }
            Self::Unavailable(sqlx::Error::Protocol(cause)) => {
                Self::Unavailable(sqlx::Error::Protocol(cause.clone()))
            }
            other => Self::Unavailable(sqlx::Error::Protocol(other.to_string())),
        }
    }
}

/// For a column that holds what it cannot.
pub(super) fn odd(
    table: &str,
    column: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> StoreError {
    StoreError::Inconsistent {
        what: format!("{table}.{column} holds `{found}`"),
    }
}
