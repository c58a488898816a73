//! The ways in which a store fails, split by what the caller does about them. The drivers'
//! errors are converted in `sqlite/error.rs` and `postgres/error.rs`.

/// Why an operation failed, split by what the caller does about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no space to write. Reads still work. Answer the client with 507.
    #[error("the store has no space left: free disk space where the data folder is")]
    Full,
    /// The store cannot be reached, or was busy past the deadline. Answer the client with
    /// 503.
    #[error("the store is not available: {0}")]
    Unavailable(#[source] StoreErrorCause),
    /// The store is known to be lost, and was not asked. The watch of the store has
    /// logged it. Answer the client with 503.
    #[error("the store is not available: {0}")]
    Lost(String),
    /// The queue for reads or for writes is full. Answer the client with 503.
    #[error("too many operations are waiting for the store: try again shortly")]
    Busy,
    /// Other transactions changed the same rows on every attempt. The write may succeed
    /// alone. Answer the client with 503.
    #[error("other writers keep changing the same rows: try again shortly")]
    Contended,
    /// The store found something that should be impossible: a defect or a damaged file.
    #[error("internal inconsistency in the store: {what}")]
    Inconsistent { what: String },
    /// The store refused a statement that no caller should send: a defect.
    #[error("a query failed: {0}")]
    Query(#[source] StoreErrorCause),
    /// The request contradicts the stored data. The text is for the operator.
    #[error("{0}")]
    Refused(String),
    /// The change is based on a version that is no longer the stored one.
    #[error("it was changed since you read it: read it again, then repeat your change")]
    Outdated,
    /// The store's file or schema cannot be used. The text says why.
    #[error("the store cannot be opened: {0}")]
    Open(String),
}

#[derive(Debug, thiserror::Error)]
pub enum StoreErrorCause {
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    #[error(transparent)]
    Sqlx(sqlx::Error),
    /// The store was closed and will not reopen.
    #[error("the store is closed")]
    Closed,
    /// The text of an error that another waiter for the same result received.
    #[error("{0}")]
    Said(String),
}

impl StoreError {
    /// Returns whether the watch of the store has logged this failure already.
    pub fn is_logged(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// Returns whether the same operation may succeed later without a repair.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unavailable(cause) => !matches!(cause, StoreErrorCause::Closed),
            Self::Full | Self::Lost(_) | Self::Busy | Self::Contended => true,
            Self::Inconsistent { .. }
            | Self::Query(_)
            | Self::Refused(_)
            | Self::Outdated
            | Self::Open(_) => false,
        }
    }

    /// Names the table, or the record, of a value that its column cannot hold: reading a column does not know
    /// it.
    pub(super) fn in_table(mut self, table: &str) -> Self {
        if let Self::Inconsistent { what } = &mut self
            && let Some(rest) = what.strip_prefix(UNKNOWN_TABLE)
            && rest.starts_with('.')
        {
            what.replace_range(..UNKNOWN_TABLE.len(), table);
        }
        self
    }

    /// Returns the same failure for another waiter. Only the first waiter gets the source
    /// error.
    pub fn again(&self) -> Self {
        match self {
            Self::Full => Self::Full,
            Self::Busy => Self::Busy,
            Self::Lost(reason) => Self::Lost(reason.clone()),
            Self::Contended => Self::Contended,
            Self::Unavailable(StoreErrorCause::Closed) => {
                Self::Unavailable(StoreErrorCause::Closed)
            }
            Self::Unavailable(cause) => Self::Unavailable(StoreErrorCause::Said(cause.to_string())),
            other => Self::Unavailable(StoreErrorCause::Said(other.to_string())),
        }
    }
}

/// In the place of a table's name, before the column, while it is not known.
pub(super) const UNKNOWN_TABLE: &str = "row";

/// An error for a column with an impossible value.
pub(super) fn odd(
    table: &str,
    column: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> StoreError {
    StoreError::Inconsistent {
        what: format!("{table}.{column} holds `{found}`"),
    }
}
