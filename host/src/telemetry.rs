//! Metrics and the log of the running service, for operators.
//!
//! Metrics are typed methods, so that a name or a label is written in one place. Label sets
//! are bounded: routes, statuses, outcomes, plugins, and a limited number of plugin
//! versions and of connections. No label holds a person or the secret part of an address.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tracing_subscriber::EnvFilter;

use crate::config;
use crate::domain::analytics::MetricSet;
use crate::domain::connection::Connection;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::exchange::HttpResponse;
use crate::domain::text::written_out;
use crate::domain::time::Micros;
use crate::egress::{Connections, EgressError};
use crate::limits;
use crate::plugin::{CallError, Loaded};
use crate::store::writer::Commit;
use crate::store::{Backlog, FetchOutcome, ItemResult, NewItem, Pool, RollupStatus, Serves};

#[derive(Debug, thiserror::Error)]
#[error("`log.filter` is not a filter: {0}; write it like `info,leadhost=debug`")]
pub struct BadFilter(#[from] tracing_subscriber::filter::ParseError);

/// Sends the log to standard error, as text or as one JSON object per line. A second call
/// in one process has no effect.
///
/// # Errors
/// Returns [`BadFilter`] if `log.filter` cannot be parsed.
pub fn init_logging(config: &config::Log) -> Result<(), BadFilter> {
    // The task that watches the database reports connection failures, once.
    let filter = EnvFilter::try_new(format!("sqlx_core::pool=error,{}", config.filter))?;
    // Without colours: a line must not contain anything that a terminal interprets.
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        // If the log cannot be written, this would report the failure to the same log, and
        // panic. Requests continue without a log.
        .log_internal_errors(false)
        .with_writer(|| Line(std::io::stderr()));
    // This fails only if a subscriber is already set, as in tests.
    let _ = if config.format == "json" {
        log.json().flatten_event(true).try_init()
    } else {
        log.try_init()
    };
    Ok(())
}

/// A line of the log as it is written. Names and errors in it quote plugins, senders and
/// remote servers: characters that would begin another line or move a terminal's cursor are
/// escaped, in the plain format as in JSON.
struct Line<W>(W);

impl<W: io::Write> io::Write for Line<W> {
    /// The formatter passes one whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let (text, end) = match text.strip_suffix('\n') {
            Some(text) => (text, "\n"),
            None => (&*text, ""),
        };
        let safe = written_out(text, &[]);
        self.0.write_all(format!("{safe}{end}").as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    /// `2xx` to `5xx`.
    status: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabel {
    route: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StatusLabel {
    status: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SetLabel {
    set: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SetLabels {
    set: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PluginLabels {
    plugin: String,
    digest: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct VersionLabel {
    plugin: String,
    digest: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PluginLabel {
    plugin: String,
}

/// A connection, by its name within its workspace.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ConnectionLabel {
    workspace: String,
    connection: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FieldLabels {
    workspace: String,
    connection: String,
    field: &'static str,
}

/// Values of a label with lines of their own; those past the bound share one line.
#[derive(Debug)]
struct Few<K> {
    known: Mutex<HashSet<K>>,
    most: usize,
}

impl<K: Hash + Eq + Clone> Few<K> {
    fn new(most: usize) -> Self {
        Self {
            known: Mutex::default(),
            most,
        }
    }

    fn has(&self, key: &K) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(key) || (known.len() < self.most && known.insert(key.clone()))
    }
}

/// The counters of one connection, resolved once, since every delivery updates them.
#[derive(Debug)]
pub struct Content {
    items: Histogram,
    leads: Counter,
    /// Leads with a phone, an e-mail address, a name, a listing.
    with: [Counter; 4],
}

impl Content {
    /// Counts the items of one conversion.
    pub fn conversion(&self, items: &[NewItem]) {
        let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
        self.items.observe(f64::from(count));
        self.leads(items.iter().map(|item| &item.result));
    }

    /// Counts the leads among these results.
    pub fn leads<'a>(&self, results: impl IntoIterator<Item = &'a ItemResult>) {
        for result in results {
            let ItemResult::Lead(lead) = result else {
                continue;
            };
            self.leads.inc();
            let has = [
                lead.phones.iter().any(|phone| phone.e164.is_some()),
                !lead.emails.is_empty(),
                lead.name.is_some(),
                !lead.products.is_empty(),
            ];
            for (counter, has) in self.with.iter().zip(has) {
                counter.inc_by(u64::from(has));
            }
        }
    }
}

/// The value that stands for all values of a label without a line of their own.
const OTHER: &str = "other";

type Histograms<L> = Family<L, Histogram>;

/// All metrics of the service.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Histograms<RouteLabel>,
    connections: Gauge,
    shed: Family<ReasonLabel, Counter>,
    rate_limited: Counter,
    connections_sent_away: Counter,
    keys_failed: Counter,
    connections_unknown: Counter,
    deliveries: Family<StatusLabel, Counter>,
    quarantine_refused: Counter,
    quarantine_evicted: Counter,
    plugin_calls: Family<PluginLabels, Counter>,
    plugin_seconds: Histograms<VersionLabel>,
    versions: Few<VersionLabel>,
    leads: Family<ConnectionLabel, Counter>,
    leads_with: Family<FieldLabels, Counter>,
    conversion_items: Histograms<ConnectionLabel>,
    connections_counted: Few<ConnectionLabel>,
    plugin_refusals: Counter,
    circuits_open: Gauge,
    commits: Counter,
    commit_writes: Histogram,
    commit_seconds: Histogram,
    commit_failures: Counter,
    fetches: Family<OutcomeLabel, Counter>,
    egress: Family<OutcomeLabel, Counter>,
    egress_seconds: Histogram,
    notifications: Family<OutcomeLabel, Counter>,
    notification_host_seconds: Histogram,
    sends: Family<OutcomeLabel, Counter>,
    provider_seconds: Histogram,
    searches: Family<OutcomeLabel, Counter>,
    search_seconds: Histogram,
    search_load_seconds: Histogram,
    search_indexes: Gauge,
    search_index_bytes: Gauge,
    templates_asked: Family<OutcomeLabel, Counter>,
    egress_connections: Family<StateLabel, Counter>,
    egress_kept: Gauge,
    backlog: Family<StatusLabel, Gauge>,
    oldest_waiting: Gauge,
    store_up: Gauge,
    store_connections: Family<StateLabel, Gauge>,
    generations: Family<PluginLabel, Gauge>,
    hosts: Gauge,
    hosts_behind: Gauge,
    rollup_runs: Family<SetLabels, Counter>,
    rollup_seconds: Histograms<SetLabel>,
    rollup_changes: Family<SetLabel, Counter>,
    rollup_age: Family<SetLabel, Gauge>,
    rollup_behind: Family<SetLabel, Gauge>,
    rollup_making: Family<SetLabel, Gauge>,
    rollup_cubes: Family<SetLabel, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// From half a millisecond to half a minute.
const SECONDS: [f64; 15] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
const WRITES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

fn class(status: u16) -> &'static str {
    match status {
        0..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500.. => "5xx",
    }
}

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

fn items() -> Histogram {
    Histogram::new([1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 1_000.0])
}

/// The reasons for which requests are refused to protect the service.
const SHED: [&str; 10] = [
    "bodies",
    "bodies of one address",
    "bodies to one connection",
    "answers",
    "connections of one address",
    "rate of one connection",
    "rate of one partner",
    "deadline",
    "store",
    "fleet",
];

/// Registers every reason from the start, so that a rate over the metric includes the first
/// event.
fn from_zero(reasons: [&'static str; 10]) -> Family<ReasonLabel, Counter> {
    let family = Family::<ReasonLabel, Counter>::default();
    for reason in reasons {
        drop(family.get_or_create(&ReasonLabel { reason }));
    }
    family
}

impl Metrics {
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("leadhost");
        let r = &mut registry;
        macro_rules! register {
            ($metric:expr, $name:literal, $help:literal) => {{
                let metric = $metric;
                r.register($name, $help, metric.clone());
                metric
            }};
            ($metric:expr, $name:literal, $help:literal, seconds) => {{
                let metric = $metric;
                r.register_with_unit($name, $help, Unit::Seconds, metric.clone());
                metric
            }};
        }
        Self {
            requests: register!(
                Family::default(),
                "requests",
                "Requests answered, by route and class of status"
            ),
            request_seconds: register!(
                Histograms::new_with_constructor(seconds),
                "request_duration",
                "Time from a request's headers to its answer",
                seconds
            ),
            connections: register!(Gauge::default(), "connections", "Open client connections"),
            shed: register!(
                from_zero(SHED),
                "shed",
                "Requests refused to protect the service, by reason"
            ),
            rate_limited: register!(
                Counter::default(),
                "rate_limited",
                "Requests refused because their workspace is past its rate"
            ),
            connections_sent_away: register!(
                Counter::default(),
                "connections_sent_away",
                "Idle connections closed to make room for others"
            ),
            keys_failed: register!(
                Counter::default(),
                "keys_failed",
                "Requests refused because their key is not valid"
            ),
            connections_unknown: register!(
                Counter::default(),
                "addresses_unknown",
                "Deliveries to an address that no connection has"
            ),
            deliveries: register!(
                Family::default(),
                "deliveries",
                "Deliveries received, by resulting status"
            ),
            quarantine_refused: register!(
                Counter::default(),
                "quarantine_refused",
                "Deliveries not kept because their connection's quarantine is full"
            ),
            quarantine_evicted: register!(
                Counter::default(),
                "quarantine_evicted",
                "Deliveries removed from a full quarantine to make room for newer ones"
            ),
            plugin_calls: register!(
                Family::default(),
                "plugin_calls",
                "Calls into plugins, by plugin, version and outcome"
            ),
            versions: Few::new(limits::VERSIONS_COUNTED),
            leads: register!(
                Family::default(),
                "leads",
                "Leads that conversions produced, by connection"
            ),
            leads_with: register!(
                Family::default(),
                "leads_with",
                "Leads that conversions produced with a phone, an e-mail address, a name or a listing"
            ),
            conversion_items: register!(
                Histograms::new_with_constructor(items),
                "conversion_items",
                "Items that one conversion produced, by connection"
            ),
            connections_counted: Few::new(limits::CONNECTIONS_COUNTED),
            plugin_seconds: register!(
                Histograms::new_with_constructor(seconds),
                "plugin_call_duration",
                "Time of a call into a plugin, waiting for a thread included",
                seconds
            ),
            circuits_open: register!(
                Gauge::default(),
                "plugin_circuits_open",
                "Open circuit breakers: versions that are called less often for a connection, because they keep failing"
            ),
            plugin_refusals: register!(
                Counter::default(),
                "plugin_refusals",
                "Components that were refused"
            ),
            commits: register!(Counter::default(), "commits", "Transactions of the writer"),
            commit_writes: register!(
                Histogram::new(WRITES),
                "commit_writes",
                "Writes that shared one transaction"
            ),
            commit_seconds: register!(
                seconds(),
                "commit_duration",
                "Time of one transaction of the writer",
                seconds
            ),
            commit_failures: register!(
                Counter::default(),
                "commit_failures",
                "Transactions of the writer that failed"
            ),
            fetches: register!(
                Family::default(),
                "fetches",
                "Attempts to fetch a lead that a delivery points at, by outcome"
            ),
            egress: register!(Family::default(), "egress", "Outgoing requests, by outcome"),
            egress_seconds: register!(
                seconds(),
                "egress_duration",
                "Time of one outgoing request",
                seconds
            ),
            notifications: register!(
                Family::default(),
                "notifications",
                "Requests to send a message, by the answer that the partner got"
            ),
            notification_host_seconds: register!(
                seconds(),
                "notification_host_duration",
                "Time of a request to send a message, without the provider's share",
                seconds
            ),
            sends: register!(
                Family::default(),
                "sends",
                "Attempts to send a message: accepted, unknown, or the class of the refusal"
            ),
            provider_seconds: register!(
                seconds(),
                "provider_duration",
                "Time of one call that sends a message",
                seconds
            ),
            searches: register!(
                Family::default(),
                "searches",
                "Searches for products: found, nothing, loading, too_large, failed"
            ),
            search_seconds: register!(
                seconds(),
                "search_duration",
                "Time of a search for products, waiting for its index included",
                seconds
            ),
            search_load_seconds: register!(
                seconds(),
                "search_load_duration",
                "Time of loading a workspace's index of products",
                seconds
            ),
            search_indexes: register!(
                Gauge::default(),
                "search_indexes",
                "Indexes of products in memory"
            ),
            search_index_bytes: register!(
                Gauge::default(),
                "search_index_bytes",
                "Bytes of the indexes of products in memory"
            ),
            templates_asked: register!(
                Family::default(),
                "template_lists",
                "Requests for an instance's list of templates, by outcome"
            ),
            egress_connections: register!(
                Family::default(),
                "egress_connections",
                "Outgoing requests, by whether their connection was opened for them or reused"
            ),
            egress_kept: register!(
                Gauge::default(),
                "egress_connections_kept",
                "Outgoing connections that wait for their next request"
            ),
            backlog: register!(
                Family::default(),
                "backlog",
                "Work that waits and work that failed, by state"
            ),
            oldest_waiting: register!(
                Gauge::default(),
                "oldest_waiting",
                "Age of the oldest work that waits",
                seconds
            ),
            store_up: register!(
                Gauge::default(),
                "store_up",
                "1 while the store answers, 0 while it is unreachable"
            ),
            store_connections: register!(
                Family::default(),
                "store_connections",
                "Connections to the database: open, idle and the maximum; and store operations in progress"
            ),
            generations: register!(
                Family::default(),
                "plugin_generation",
                "Generation of the activation that this host serves, by plugin; 0 for none"
            ),
            hosts: register!(Gauge::default(), "hosts", "Live hosts on this database"),
            hosts_behind: register!(
                Gauge::default(),
                "hosts_behind",
                "Plugins that a live host does not serve in the activated version, over all hosts"
            ),
            rollup_runs: register!(
                Family::default(),
                "rollup_runs",
                "Analytics runs on this host, by metric set: ended or cut short"
            ),
            rollup_seconds: register!(
                Histograms::new_with_constructor(seconds),
                "rollup_run_duration",
                "Time of an analytics run",
                seconds
            ),
            rollup_changes: register!(
                Family::default(),
                "rollup_changes",
                "Changes that analytics runs on this host have read"
            ),
            rollup_age: register!(
                Family::default(),
                "rollup_age",
                "Age of the counts that analytics shows; -1 before the first run has ended",
                seconds
            ),
            rollup_behind: register!(
                Family::default(),
                "rollup_behind",
                "Workspaces that the last run could not count, or could not finish"
            ),
            rollup_making: register!(
                Family::default(),
                "rollup_making",
                "Analytics builds in progress"
            ),
            rollup_cubes: register!(
                Family::default(),
                "rollup_cubes",
                "Time zones with counts by local day, over all workspaces"
            ),
            registry,
        }
    }

    /// Returns all metrics in the Prometheus text format.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(8 << 10);
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }

    pub fn request(&self, route: &'static str, status: u16, seconds: f64) {
        let status = class(status);
        self.requests
            .get_or_create(&RequestLabels { route, status })
            .inc();
        self.request_seconds
            .get_or_create(&RouteLabel { route })
            .observe(seconds);
    }

    pub fn connection_opened(&self) {
        self.connections.inc();
    }

    pub fn connection_closed(&self) {
        self.connections.dec();
    }

    /// Counts a refused request. `reason` is one of [`SHED`].
    pub fn shed(&self, reason: &'static str) {
        self.shed.get_or_create(&ReasonLabel { reason }).inc();
    }

    pub fn rate_limited(&self) {
        self.rate_limited.inc();
    }

    pub fn connections_sent_away(&self, many: usize) {
        self.connections_sent_away.inc_by(many as u64);
    }

    pub fn key_failed(&self) {
        self.keys_failed.inc();
    }

    pub fn address_unknown(&self) {
        self.connections_unknown.inc();
    }

    pub fn delivery(&self, status: DeliveryStatus) {
        let status = status.as_str();
        self.deliveries.get_or_create(&StatusLabel { status }).inc();
    }

    pub fn quarantine_refused(&self) {
        self.quarantine_refused.inc();
    }

    /// Counts evicted deliveries. If two hosts evict the same delivery at the same moment,
    /// both count it.
    pub fn quarantine_evicted(&self, deliveries: u32) {
        self.quarantine_evicted.inc_by(deliveries.into());
    }

    /// Returns the counters for conversions of the connection's deliveries.
    pub fn content_of(&self, connection: &Connection) -> Content {
        let mut of = ConnectionLabel {
            workspace: connection.workspace.to_string(),
            connection: connection.name.clone(),
        };
        if !self.connections_counted.has(&of) {
            of = ConnectionLabel {
                workspace: OTHER.to_owned(),
                connection: OTHER.to_owned(),
            };
        }
        let with = ["phone", "email", "name", "listing"].map(|field| {
            let labels = FieldLabels {
                workspace: of.workspace.clone(),
                connection: of.connection.clone(),
                field,
            };
            self.leads_with.get_or_create(&labels).clone()
        });
        Content {
            items: self.conversion_items.get_or_create(&of).clone(),
            leads: self.leads.get_or_create(&of).clone(),
            with,
        }
    }

    fn plugin_call(&self, plugin: &str, digest: &str, outcome: &'static str, seconds: f64) {
        let mut version = VersionLabel {
            plugin: plugin.to_owned(),
            digest: digest.to_owned(),
        };
        if !self.versions.has(&version) {
            OTHER.clone_into(&mut version.digest);
        }
        self.plugin_seconds.get_or_create(&version).observe(seconds);
        let VersionLabel { plugin, digest } = version;
        let labels = PluginLabels {
            plugin,
            digest,
            outcome,
        };
        self.plugin_calls.get_or_create(&labels).inc();
    }

    /// Runs a call into a plugin and counts it. A refusal by the plugin itself counts as
    /// success.
    ///
    /// # Errors
    /// Returns the error of the call.
    pub async fn calling<T>(
        &self,
        plugin: &Loaded,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let started = Instant::now();
        let result = call.await;
        let outcome = result.as_ref().map_or_else(CallError::kind, |_| "ok");
        let took = started.elapsed().as_secs_f64();
        self.plugin_call(
            &plugin.description.name,
            plugin.digest.short(),
            outcome,
            took,
        );
        result
    }

    pub fn circuits(&self, open: usize) {
        self.circuits_open
            .set(i64::try_from(open).unwrap_or(i64::MAX));
    }

    pub fn plugin_refused(&self) {
        self.plugin_refusals.inc();
    }

    /// Counts a transaction of the writer, successful or not.
    pub fn commit(&self, commit: &Commit) {
        let seconds = commit.took.as_secs_f64();
        let writes = commit.writes;
        self.commits.inc();
        if !commit.done {
            self.commit_failures.inc();
        }
        self.commit_writes
            .observe(u32::try_from(writes).map_or(f64::MAX, f64::from));
        self.commit_seconds.observe(seconds);
    }

    pub fn fetch(&self, outcome: &FetchOutcome) {
        let outcome = match outcome {
            FetchOutcome::Items(_) => "items",
            FetchOutcome::Retry { .. } => "retry",
            FetchOutcome::Failed { .. } => "failed",
            FetchOutcome::Stop { .. } => "stop",
        };
        self.fetches.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// Runs an outgoing request and counts it.
    ///
    /// # Errors
    /// Returns the error of the request.
    pub async fn sending(
        &self,
        call: impl Future<Output = Result<HttpResponse, EgressError>>,
    ) -> Result<HttpResponse, EgressError> {
        let started = Instant::now();
        let result = call.await;
        let outcome = match &result {
            Ok(response) => class(response.status),
            Err(EgressError::NoAnswer { .. }) => "no_answer",
            Err(error) if error.is_transient() => "unreachable",
            Err(_) => "refused",
        };
        self.egress.get_or_create(&OutcomeLabel { outcome }).inc();
        self.egress_seconds.observe(started.elapsed().as_secs_f64());
        result
    }

    /// Counts a notification by the answer that the partner got.
    pub fn notification(&self, outcome: &'static str) {
        self.notifications
            .get_or_create(&OutcomeLabel { outcome })
            .inc();
    }

    /// Records the host's share of a notification's time.
    pub fn notified(&self, seconds: f64) {
        self.notification_host_seconds.observe(seconds);
    }

    /// Counts an attempt to send: `accepted`, `unknown`, or the class of the refusal.
    pub fn send(&self, outcome: &'static str) {
        self.sends.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// Records the provider's share of a send's time.
    pub fn provider(&self, seconds: f64) {
        self.provider_seconds.observe(seconds);
    }

    /// Counts a search for products: `found`, `nothing`, or the reason why it failed.
    pub fn searched(&self, outcome: &'static str, seconds: f64) {
        self.searches.get_or_create(&OutcomeLabel { outcome }).inc();
        self.search_seconds.observe(seconds);
    }

    /// Records the time of loading a workspace's product index.
    pub fn search_loaded(&self, seconds: f64) {
        self.search_load_seconds.observe(seconds);
    }

    /// Sets the number of product indexes and the memory that they use.
    pub fn search_indexes(&self, count: usize, bytes: usize) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.search_indexes.set(number(count));
        self.search_index_bytes.set(number(bytes));
    }

    /// Counts a request to an instance's provider for its templates.
    pub fn templates_asked(&self, outcome: &'static str) {
        self.templates_asked
            .get_or_create(&OutcomeLabel { outcome })
            .inc();
    }

    /// Sets the use of outgoing connections.
    pub fn egress(&self, connections: Connections) {
        for (state, count) in [
            ("opened", connections.opened),
            ("reused", connections.reused),
        ] {
            self.egress_connections
                .get_or_create(&StateLabel { state })
                .inner()
                .store(count, Ordering::Relaxed);
        }
        self.egress_kept
            .set(i64::try_from(connections.kept).unwrap_or(i64::MAX));
    }

    pub fn backlog(&self, backlog: &Backlog, now: Micros) {
        let states = [
            ("queued", backlog.queued),
            ("fetches", backlog.fetches),
            ("failed", backlog.failed),
            ("parked", backlog.parked),
            ("quarantined", backlog.quarantined),
            ("sends", backlog.sends),
            ("unknown", backlog.unknown),
        ];
        for (status, count) in states {
            self.backlog
                .get_or_create(&StatusLabel { status })
                .set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let age = backlog
            .oldest_waiting
            .map_or(0, |since| (now.0 - since.0).max(0) / Micros::SECOND);
        self.oldest_waiting.set(age);
    }
}

impl Metrics {
    /// Sets whether the store answers, and the use of its connections.
    pub fn store(&self, up: bool, pool: Option<Pool>) {
        self.store_up.set(i64::from(up));
        let Some(pool) = pool else {
            return;
        };
        for (state, count) in [
            ("open", pool.open),
            ("idle", pool.idle),
            ("most", pool.most),
            ("asked", pool.asked),
        ] {
            self.store_connections
                .get_or_create(&StateLabel { state })
                .set(i64::from(count));
        }
    }

    /// Sets which activation of each plugin this host serves.
    pub fn serves(&self, serves: &BTreeMap<String, Serves>) {
        for (plugin, serves) in serves {
            let plugin = plugin.clone();
            let serving = serves.digest.as_ref().map_or(0, |_| serves.generation);
            self.generations
                .get_or_create(&PluginLabel { plugin })
                .set(serving);
        }
    }

    /// Counts an analytics run of a metric set that ended or was cut short.
    pub fn rollup_run(&self, set: MetricSet, ended: bool, changes: u64, seconds: f64) {
        let outcome = if ended { "ended" } else { "cut" };
        let set = set.as_str();
        self.rollup_runs
            .get_or_create(&SetLabels { set, outcome })
            .inc();
        if ended {
            self.rollup_seconds
                .get_or_create(&SetLabel { set })
                .observe(seconds);
        }
        self.rollup_changes
            .get_or_create(&SetLabel { set })
            .inc_by(changes);
    }

    /// Sets the state of the rollups, whichever host computes them.
    pub fn rollups(&self, rollups: &[RollupStatus], now: Micros) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        for rollup in rollups {
            let label = SetLabel {
                set: rollup.set.as_str(),
            };
            let age = rollup
                .as_of
                .map_or(-1, |as_of| (now.0 - as_of.0).max(0) / Micros::SECOND);
            self.rollup_age.get_or_create(&label).set(age);
            let behind = number(rollup.behind.len());
            self.rollup_behind.get_or_create(&label).set(behind);
            let making = number(rollup.making.len());
            self.rollup_making.get_or_create(&label).set(making);
            let cubes = i64::try_from(rollup.cubes).unwrap_or(i64::MAX);
            self.rollup_cubes.get_or_create(&label).set(cubes);
        }
    }

    /// Sets the number of live hosts, and the number of plugins that a live host does not
    /// serve in the activated version.
    pub fn fleet(&self, alive: usize, behind: usize) {
        self.hosts.set(i64::try_from(alive).unwrap_or(i64::MAX));
        self.hosts_behind
            .set(i64::try_from(behind).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Kept(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut kept = self.0.lock().expect("one thread");
            kept.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_text_can_begin_a_log_line_or_move_the_cursor() {
        let hostile = "x\n2026-01-01T00:00:00Z ERROR forged\u{1b}[2J\u{9b}2J\u{202e}\u{85}\r";
        for json in [false, true] {
            let kept = Kept::default();
            let out = kept.clone();
            let log = tracing_subscriber::fmt()
                .with_ansi(false)
                .with_writer(move || Line(out.clone()));
            let tell = || {
                let span = tracing::info_span!("call", lead = hostile);
                let _inside = span.enter();
                tracing::warn!(plugin = hostile, error = %hostile, note = ?hostile, "{hostile}");
            };
            if json {
                let log = log.json().flatten_event(true).finish();
                tracing::subscriber::with_default(log, tell);
            } else {
                tracing::subscriber::with_default(log.finish(), tell);
            }
            let text =
                String::from_utf8(kept.0.lock().expect("one thread").clone()).expect("UTF-8");
            assert_eq!(text.matches('\n').count(), 1, "{text:?}");
            let line = text.trim_end_matches('\n');
            assert!(!line.contains(crate::domain::text::is_active), "{text:?}");
            assert!(line.contains("forged") && line.contains("[2J"), "{text:?}");
            if json {
                let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
                assert_eq!(line["error"], hostile);
            }
        }
    }

    #[test]
    fn counted_values_appear_in_the_metrics_text() {
        let metrics = Metrics::new();
        metrics.request("whoami", 200, 0.002);
        metrics.plugin_call("forms", "abc", "trap", 0.1);
        metrics.backlog(&Backlog::default(), Micros(0));
        let text = metrics.text();
        for line in [
            "leadhost_requests_total{route=\"whoami\",status=\"2xx\"} 1",
            "leadhost_plugin_calls_total{plugin=\"forms\",digest=\"abc\",outcome=\"trap\"} 1",
            "leadhost_backlog{status=\"queued\"} 0",
            "leadhost_request_duration_seconds_count{route=\"whoami\"} 1",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
