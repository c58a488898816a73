//! The state of the service.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::etl::MetricSetFreshness;
use super::hosts::{BehindView, HostView};
use super::open_rollouts::OpenRollout;
use crate::domain::id::HostId;
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;

/// The state of the service: its hosts, its plugins and its backlog.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    /// The version of this host's program.
    pub version: String,
    /// The beginning of the fingerprint of this host's engine. Engines with the same one run the same
    /// machine code: `leadhost plugin check --offline --engine` prints that of another machine.
    pub engine: String,
    /// The time of this host's clock when it answered.
    pub now: Micros,
    /// Assigned when the store was created, and kept when it moves.
    #[schema(value_type = String, format = "uuid")]
    pub store_id: Uuid,
    /// Whether this host is stopping.
    pub draining: bool,
    /// The name of the key that seals new secrets.
    pub sealing_key: String,
    pub backlog: BacklogView,
    /// The freshness of each metric set. Empty if it cannot be read.
    pub analytics: Vec<MetricSetFreshness>,
    /// The version of the time zone rules, as IANA names it.
    pub tzdata: String,
    /// The activated plugins.
    pub plugins: Vec<ActivePlugin>,
    /// The host that answers.
    pub host: ThisHost,
    /// All hosts of the store, also those without a recent heartbeat.
    pub hosts: Vec<HostView>,
    /// Null if the store has no connections.
    pub connections: Option<PoolView>,
    pub plugin_calls: PluginCalls,
}

impl ServiceStatus {
    /// Returns whether a rollout is open.
    pub fn has_rollout(&self) -> bool {
        self.plugins.iter().any(|plugin| plugin.rollout.is_some())
    }

    /// Returns the hosts without a recent heartbeat, but for those that were started again under their
    /// name.
    pub fn silent_hosts(&self) -> impl Iterator<Item = &HostView> {
        let is_back = |host: &HostView| {
            let mut others = self.hosts.iter();
            others.any(|other| other.alive && other.name == host.name)
        };
        let silent = self.hosts.iter().filter(|host| !host.alive);
        silent.filter(move |host| !is_back(host))
    }
}

/// The work that waits, in the whole store.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BacklogView {
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

/// An activated plugin.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivePlugin {
    pub name: String,
    /// The version that this host serves. Null if it serves none.
    pub version: Option<String>,
    /// The active version.
    pub digest: Digest,
    /// Grows with every activation.
    pub generation: i64,
    pub activated_at: Micros,
    /// How many live hosts serve the active version. Null if no hosts share the store.
    pub hosts: Option<usize>,
    /// The live hosts that do not serve it.
    pub behind: Vec<BehindView>,
    /// Null if none is open.
    pub rollout: Option<OpenRollout>,
    /// False: no key of `plugins.trusted_keys` has signed the version that this host serves. It served
    /// before they were set, and goes on serving.
    pub trusted: bool,
}

/// The host that answers.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ThisHost {
    pub id: HostId,
    pub name: String,
}

/// The connections of this host to the database.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PoolView {
    pub open: u32,
    pub idle: u32,
    /// The greatest number of connections.
    pub most: u32,
    /// Operations in progress, including those that wait for a connection.
    pub asked: u32,
}

/// The calls of plugins on this host.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PluginCalls {
    pub waiting: usize,
    pub running: usize,
}
