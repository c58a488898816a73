//! The hosts that share a store.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::id::HostId;
use crate::domain::time::Micros;

/// A host as the store knows it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostView {
    /// New at every start of the host.
    pub id: HostId,
    /// For display: hosts may share a name.
    pub name: String,
    /// The version of its program.
    pub version: String,
    pub started_at: Micros,
    /// The time of its last heartbeat.
    pub seen_at: Micros,
    /// Whether the last heartbeat is recent. Without one the host counts as dead.
    pub alive: bool,
}

/// A live host that does not serve the version that it should.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct BehindView {
    /// The host's name.
    pub host: String,
    pub reason: String,
}
