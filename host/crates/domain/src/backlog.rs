//! How much work waits, and how much of the database is in use.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::limits;
use super::time::Micros;

/// The work that waits, in the whole store.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BacklogView)]
pub struct Backlog {
    /// Deliveries that wait for their conversion.
    pub queued: u64,
    /// Items that wait for a fetch.
    pub fetches: u64,
    /// Deliveries whose plugin failed, and that are retried.
    pub failed: u64,
    /// Deliveries that failed three times on one version, and wait for another or an operator.
    pub parked: u64,
    /// Deliveries whose sender check failed. They are kept for a limited time.
    pub quarantined: u64,
    /// Messages that wait to be sent.
    pub sends: u64,
    /// Messages whose outcome is unknown.
    pub unknown: u64,
    /// Since when the oldest waits. Null if nothing waits.
    pub oldest_waiting: Option<Micros>,
}

/// The write-ahead log of a database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LogView)]
pub struct LogUsage {
    pub bytes: u64,
    /// For how long a reader has needed parts of it, so that it cannot be emptied. Null: it is emptied.
    pub held_seconds: Option<u64>,
}

impl LogUsage {
    /// Returns for how long a reader has held a large log, if operators should end it.
    pub fn held_too_long(&self) -> Option<u64> {
        let is_large = self.bytes > 2 * limits::LOG_BYTES;
        self.held_seconds
            .filter(|held| is_large && *held >= limits::LOG_HELD.as_secs())
    }
}

/// The connections of this host to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolView)]
pub struct PoolUsage {
    pub open: u32,
    pub idle: u32,
    /// The greatest number of connections.
    pub most: u32,
    /// Operations in progress, including those that wait for a connection.
    pub asked: u32,
}
