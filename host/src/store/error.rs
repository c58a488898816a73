//! How a store fails, by what the caller does about it; and from the driver's
//! errors to these, by the database that gave them.

use super::{postgres, sqlite};

/// Why a verb gave nothing, split by what the caller does about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no room to write. Reads go on; tell the client 507.
    #[error("the store has no room left: free disk space where the data folder is")]
    Full,
    /// The store cannot be reached or is busy past its deadline. Tell the client 503.
    #[error("the store is not available: {0}")]
    Unavailable(#[source] Cause),
    /// The store is known to be lost, and is not even asked: who watches it has
    /// said so in the log. Tell the client 503.
    #[error("the store is not available: {0}")]
    Lost(String),
    /// As many reads, or writes, wait as may. Tell the client 503.
    #[error("too much is waiting for the store: try again shortly")]
    Busy,
    /// Others changed the same rows each time it was tried; alone it may get
    /// through. Tell the client 503.
    #[error("others write the same rows all the time: try again shortly")]
    Contended,
    /// What was found cannot be: a defect, or a damaged file.
    #[error("the store holds something that cannot be: {what}")]
    Inconsistent { what: String },
    /// The store refused what no caller should send: a defect.
    #[error("a query failed: {0}")]
    Query(#[source] Cause),
    /// What was asked for contradicts what is stored, in words for the operator.
    #[error("{0}")]
    Refused(String),
    /// The store's file or schema cannot be used, and why.
    #[error("the store cannot be opened: {0}")]
    Open(String),
}

/// What a driver said.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    #[error(transparent)]
    Sqlx(sqlx::Error),
    /// The store was closed: it does not come back.
    #[error("the store is closed")]
    Closed,
    /// What it said to another one who waited for the same.
    #[error("{0}")]
    Said(String),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default().into_owned();
                postgres::error::of(error, &code)
            }
            sqlx::Error::Io(io) if io.kind() == std::io::ErrorKind::StorageFull => Self::Full,
            sqlx::Error::PoolClosed => Self::Unavailable(Cause::Closed),
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::WorkerCrashed => Self::Unavailable(Cause::Sqlx(error)),
            _ => Self::Query(Cause::Sqlx(error)),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error() {
            Some(found) => sqlite::error::of(found.extended_code, Cause::Sqlite(error)),
            None => Self::Query(Cause::Sqlite(error)),
        }
    }
}

impl StoreError {
    /// Whether the store's own watch tells of it, so that nobody else need.
    pub fn is_told(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// Whether the same may go well later, without anybody mending anything.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unavailable(cause) => !matches!(cause, Cause::Closed),
            Self::Full | Self::Lost(_) | Self::Busy | Self::Contended => true,
            Self::Inconsistent { .. } | Self::Query(_) | Self::Refused(_) | Self::Open(_) => false,
        }
    }

    /// The same failure for another one who waited; its source goes to the first only.
    pub fn again(&self) -> Self {
        match self {
            Self::Full => Self::Full,
            Self::Busy => Self::Busy,
            Self::Lost(reason) => Self::Lost(reason.clone()),
            Self::Contended => Self::Contended,
            Self::Unavailable(Cause::Closed) => Self::Unavailable(Cause::Closed),
            Self::Unavailable(cause) => Self::Unavailable(Cause::Said(cause.to_string())),
            other => Self::Unavailable(Cause::Said(other.to_string())),
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
