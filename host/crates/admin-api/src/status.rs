use uuid::Uuid;

use super::etl::MetricSetFreshness;
use super::hosts::HostView;
use super::open_rollouts::OpenRollout;
use crate::prelude::*;
use leadhost_domain::backlog::{Backlog, LogUsage, PoolUsage};
use leadhost_domain::host_names::Behind;
use leadhost_domain::id::HostId;
use leadhost_domain::shed::Shed;
use leadhost_domain::trouble::Trouble;

/// The state of the service: its hosts, its plugins and its backlog.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    /// The version of this host's program.
    pub version: String,
    /// The beginning of the fingerprint of this host's engine. Engines with the same one run the same
    /// machine code: `leadhost plugin test FILE --engine` prints another machine's.
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
    pub backlog: Backlog,
    /// The freshness of each metric set. Empty if it cannot be read.
    pub analytics: Vec<MetricSetFreshness>,
    /// The version of the time zone rules, as IANA names it.
    pub tzdata: String,
    /// The activated plugins.
    pub plugins: Vec<ActivePlugin>,
    /// The host that answers.
    pub host: ThisHost,
    /// All hosts of the store, also those without a recent heartbeat. The only host of a file is among them.
    pub hosts: Vec<HostView>,
    /// The write-ahead log of the database file. Null if the store is a server, or from a host of an older
    /// release.
    #[serde(default)]
    pub log: Option<LogUsage>,
    /// The lines of this host's log that were lost since its start, while its reader stands still or has closed it. Null
    /// if none was within the last minutes.
    #[serde(default)]
    pub lost_log_lines: Option<u64>,
    /// When the TLS certificate of this host ends. Null without TLS, or if it cannot be read.
    #[serde(default)]
    pub certificate_ends_at: Option<Micros>,
    /// What does not work for connections on this host. Empty from a host of an older release.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
    /// Null if the store has no connections.
    pub connections: Option<PoolUsage>,
    pub plugin_calls: PluginCalls,
    /// The disk of the data folder of this host. Null from a host of an older release.
    #[serde(default)]
    pub disk: Option<DiskView>,
    /// The requests that this host refused with 429, 503 or 507, by reason: within the last hour, and within the
    /// last day for want of room to write. Empty from a host of an older release.
    #[serde(default)]
    pub refused: Vec<RefusedRequestsView>,
}

impl ServiceStatus {
    /// Returns when the host that answers was started. It counts since then what it counts in memory.
    pub fn host_started_at(&self) -> Option<Micros> {
        let mut hosts = self.hosts.iter();
        hosts
            .find(|host| host.id == self.host.id)
            .map(|host| host.started_at)
    }

    /// Returns the bytes that may still be written to the disk of the data folder of this host, if it says.
    pub fn free_disk_bytes(&self) -> Option<u64> {
        self.disk.as_ref()?.free_bytes
    }

    pub fn live_hosts(&self) -> usize {
        self.hosts.iter().filter(|host| host.alive).count()
    }

    /// Returns the hosts without a recent heartbeat, except those that were started again under their
    /// name. If several have one name, it returns the one that was seen last.
    pub fn silent_hosts(&self) -> impl Iterator<Item = &HostView> {
        silent(&self.hosts)
    }
}

fn silent(hosts: &[HostView]) -> impl Iterator<Item = &HostView> {
    let is_replaced = move |host: &HostView| {
        let mut namesakes = hosts.iter().filter(|other| other.name == host.name);
        namesakes.any(|other| other.alive || (other.seen_at, other.id) > (host.seen_at, host.id))
    };
    hosts
        .iter()
        .filter(move |host| !host.alive && !is_replaced(host))
}

/// The disk of the data folder.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiskView {
    pub folder: String,
    /// Null if the system does not say.
    pub free_bytes: Option<u64>,
    /// With less free bytes than these, the host is not ready.
    pub reserve_bytes: u64,
}

/// Requests that were refused for one reason.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedRequestsView {
    pub reason: Shed,
    pub requests: u64,
    pub first_at: Micros,
    pub last_at: Micros,
    /// The deliveries of senders among the requests, by connection, those with the most first. At most
    /// 100 connections are counted.
    pub deliveries: Vec<RefusedDeliveriesView>,
    /// The deliveries of senders to further connections.
    #[serde(default)]
    pub more_deliveries: u64,
}

/// Deliveries of one connection that were refused.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedDeliveriesView {
    pub connection_id: ConnectionId,
    /// The slug of the connection's workspace.
    pub workspace: String,
    /// The connection's name.
    pub name: String,
    pub deliveries: u64,
}

impl RefusedRequestsView {
    pub fn other_requests(&self) -> u64 {
        let named: u64 = self.deliveries.iter().map(|one| one.deliveries).sum();
        self.requests
            .saturating_sub(named)
            .saturating_sub(self.more_deliveries)
    }

    /// Returns whose requests they were, in words: the connections with the most deliveries by name.
    pub fn senders(&self) -> String {
        let (named, rest) = self
            .deliveries
            .split_at(self.deliveries.len().min(limits::REFUSED_NAMED));
        let deliveries = |number| counted(number, "delivery", "deliveries");
        let mut words: Vec<String> = named
            .iter()
            .map(|one| {
                let name = name_in_workspace(&one.workspace, &one.name);
                format!("{} of {name}", deliveries(one.deliveries))
            })
            .collect();
        let rest = rest.iter().map(|one| one.deliveries).sum::<u64>() + self.more_deliveries;
        if rest > 0 {
            words.push(format!("{} of other connections", deliveries(rest)));
        }
        let others = self.other_requests();
        if others > 0 {
            words.push(counted(others, "other request", "other requests"));
        }
        words.join(", ")
    }
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
    pub behind: Vec<Behind>,
    /// Null if none is open.
    pub rollout: Option<OpenRollout>,
    /// False: no key of `plugins.trusted_keys` has signed the version that this host serves. It served
    /// before they were set, and continues to serve.
    pub trusted: bool,
}

/// The host that answers.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThisHost {
    pub id: HostId,
    pub name: String,
}

/// The calls of plugins on this host.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PluginCalls {
    pub waiting: usize,
    pub running: usize,
}

columns! {
    ActivePlugin as plugin {
        "Plugin" => Cell::from(&plugin.name).link(format!("/plugins/{}", plugin.name)),
        "Version" => &plugin.version,
        "Digest" => Cell::id(plugin.digest.short()),
        "Generation" => plugin.generation,
        "Hosts" => match (plugin.hosts, plugin.behind.len()) {
            (None, _) => "this one".to_owned(),
            (Some(hosts), 0) => hosts.to_string(),
            (Some(hosts), behind) => format!("{hosts} (not on {behind})"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_ended_several_times_is_silent_once_and_not_if_it_is_back() {
        let host = |name: &str, seen: i64, alive| HostView {
            id: HostId::new(Micros(seen)),
            name: name.to_owned(),
            version: String::new(),
            started_at: Micros(0),
            seen_at: Micros(seen),
            alive,
            clock_ahead_minutes: 0,
        };
        let check = |hosts: &[HostView], expect: &[(&str, i64)]| {
            let found = silent(hosts).map(|host| (host.name.as_str(), host.seen_at.0));
            assert!(found.eq(expect.iter().copied()), "{hosts:?}");
        };
        let ended = [
            host("a", 9, true),
            host("b", 1, false),
            host("b", 3, false),
            host("b", 2, false),
            host("c", 1, false),
        ];
        check(&ended, &[("b", 3), ("c", 1)]);
        let back = [host("b", 3, false), host("b", 2, true)];
        check(&back, &[]);
    }
}
