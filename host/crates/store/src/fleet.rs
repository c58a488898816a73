//! The state that the hosts of one store share: heartbeats, the plugin versions that they serve and
//! have prepared, job leases, and announcements of changes.
//!
//! All times are the store's, never a host's, so the clocks of two machines may differ. A
//! store of a single process answers the same operations for its one host.

use crate::prelude::*;
pub use leadhost_domain::backlog::PoolUsage;
use leadhost_domain::word::words;

words! {
    /// An announcement that an operator changed something that hosts cache. It may get lost,
    /// so listeners also poll.
    Announcement: "the announcement" {
        /// Connections, or rows that belong to them.
        Connections = "connections",
        Keys = "keys",
        /// A version was proposed or activated.
        Plugins = "plugins",
        /// A host reported the versions that it serves or has prepared.
        Hosts = "hosts",
        /// There are changes to count.
        Analytics = "analytics",
        /// Announcements may have been missed: anything may have changed.
        Everything = "everything",
    }
}

#[derive(Clone, Debug)]
pub struct Beat {
    pub host: HostId,
    /// For display only: hosts may share a name.
    pub name: String,
    pub version: String,
    pub report: HostReport,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostReport {
    /// By the plugin's name.
    pub serves: BTreeMap<String, Serves>,
    /// Proposals that the host has tried, by their number.
    pub prepared: BTreeMap<i64, Preparation>,
    /// How far the clock of its machine is ahead of the database's, in whole minutes; negative if it is behind,
    /// and 0 if the difference is below the warning.
    pub clock_ahead_minutes: i64,
}

/// The version that a host serves under a plugin's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Serves {
    /// `None`: no version, because it does not load on this host.
    pub digest: Option<Digest>,
    /// The activation that it follows.
    pub generation: i64,
    /// Why the host does not serve the version that it should.
    pub error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preparation {
    pub digest: Digest,
    /// `None`: it is ready to serve.
    pub failure: Option<String>,
}

#[derive(Clone, Debug)]
pub struct SeenHost {
    pub id: HostId,
    pub name: String,
    pub version: String,
    pub started_at: Micros,
    pub seen_at: Micros,
    /// Whether a recent heartbeat exists. Without one the host counts as dead.
    pub alive: bool,
    pub report: HostReport,
}

/// A version that every host is to prepare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub name: String,
    pub digest: Digest,
    pub number: i64,
}

/// The fencing token of a job: a number that grows whenever the job changes hands. The
/// writes of a job may be guarded by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub i64);

/// The cost of a request and the greatest debt, in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    pub each: Duration,
    pub full: Duration,
}

/// The debt after a request: the time until it is paid off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debt {
    pub owed: Duration,
    /// The request was refused and cost nothing.
    pub refused: bool,
}

impl Price {
    /// Applies the generic cell rate algorithm: the request is accepted if the debt
    /// including it does not exceed `full`.
    pub fn pay(self, owed: Duration) -> Debt {
        // If the clock went backwards, the debt still does not exceed the maximum.
        let owed = owed.min(self.full);
        let after = owed + self.each;
        let refused = after > self.full;
        Debt {
            owed: if refused { owed } else { after },
            refused,
        }
    }
}

/// The store is known not to answer. Requests are refused instead of waiting.
#[derive(Clone, Debug)]
pub struct Outage {
    /// The reason, in words for the operator.
    pub reason: String,
}
