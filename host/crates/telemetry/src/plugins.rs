//! Calls into plugins, and the items of conversions.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use prometheus_client::metrics::histogram::exponential_buckets;

use super::register::{
    BoundedSet, Counter, Family, Gauge, Histogram, Histograms, HistogramsWithExemplars, OTHER,
    labels, metrics, set,
};
use leadhost_domain::clock;
use leadhost_domain::connection::{ChangeCause, Connection};
use leadhost_domain::id::{DeliveryId, WorkspaceId};
use leadhost_domain::limits;
use leadhost_plugin::{CallBudget, CallError, CallOutcome, Loaded, WarmLoad};
use leadhost_store::{ItemResult, NewItem};
use leadhost_trace::{self as trace, Span, SpanKind};

labels! {
    PluginLabels { plugin: String, digest: String, purpose: &'static str, outcome: &'static str }
    VersionLabel { plugin: String, digest: String }
    ProducedLabels { plugin: String, digest: String, kind: &'static str }
    /// A connection, by its name within its workspace.
    ConnectionLabel { workspace: String, connection: String }
    ChangeLabels { workspace: String, connection: String, cause: &'static str }
    FieldLabels { workspace: String, connection: String, field: &'static str }
}

/// Returns what a call is for: `live` if its result has an effect, `comparison` if it is only compared with
/// another version's.
fn purpose(budget: CallBudget) -> &'static str {
    if budget.has_effects() {
        "live"
    } else {
        "comparison"
    }
}

/// The subject of a call into a plugin. Its id leads from a slow or failed call to the commands that
/// show it.
#[derive(Clone, Copy, Debug)]
pub enum CallSubject<'a> {
    /// `leadhost delivery show ID` shows it.
    Delivery(DeliveryId),
    /// `leadhost outbox` shows it while it waits.
    Message(&'a str),
    /// The configuration of a connection.
    Connection,
}

impl CallSubject<'_> {
    fn exemplar(self) -> Option<[(&'static str, String); 1]> {
        match self {
            Self::Delivery(id) => Some([("delivery_id", id.to_string())]),
            Self::Message(id) => Some([("message_id", id.to_owned())]),
            Self::Connection => None,
        }
    }
}

/// The counters of one connection, resolved once, since every delivery updates them.
#[derive(Debug)]
pub struct ConversionCounters {
    items: Histogram,
    leads: Counter,
    /// Leads with a phone, an e-mail address, either of them, a name, a listing.
    with: [Counter; 5],
}

impl ConversionCounters {
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
            let (phone, email) = (lead.phone_number().is_some(), !lead.emails.is_empty());
            let has = [
                phone,
                email,
                phone || email,
                lead.name.is_some(),
                !lead.products.is_empty(),
            ];
            for (counter, has) in self.with.iter().zip(has) {
                counter.inc_by(u64::from(has));
            }
        }
    }
}

metrics! {
    PluginMetrics {
        calls: Family<PluginLabels, Counter> =
            add("plugin_calls", "Calls into plugins, by plugin, version, purpose and outcome");
        seconds: HistogramsWithExemplars<PluginLabels, [(&'static str, String); 1]> =
            seconds_with_exemplars("plugin_call_duration", "Time of a call into a plugin, waiting for a thread included");
        versions: BoundedSet<VersionLabel> = bounded(limits::VERSIONS_COUNTED);
        leads: Family<ConnectionLabel, Counter> =
            add("leads", "Leads that conversions produced, by connection");
        leads_with: Family<FieldLabels, Counter> =
            add("leads_with", "Leads that conversions produced with a phone, an e-mail address, either of them, a name or a listing");
        items: Histograms<ConnectionLabel> =
            metric(Histograms::new_with_constructor(items), "conversion_items", "Items that one conversion produced, by connection");
        connections: BoundedSet<ConnectionLabel> = bounded(limits::CONNECTIONS_COUNTED);
        source_changes: Family<ChangeLabels, Counter> =
            add("source_changes", "Changes of what a source sends or of what a version reads of it, and deliveries that keep failing, by connection and cause");
        refusals: Counter = add("plugin_refusals", "Components that were refused");
        memory: Histograms<VersionLabel> =
            metric(Histograms::new_with_constructor(memory), "plugin_memory_bytes", "Peak memory of a conversion, by plugin and version");
        produced: Family<ProducedLabels, Counter> =
            add("plugin_items", "Items that conversions produced, by plugin, version and kind");
        circuits_open: Gauge =
            add("plugin_circuits_open", "Open circuit breakers: versions that are called less often for a connection, because they keep failing");
        warm_instances: Gauge =
            add("plugin_warm_instances", "Warm instances of plugins that are slow to start");
        warm_bytes: Gauge =
            add("plugin_warm_bytes", "Bytes of memory of the instances that were made ahead");
    }
}

fn items() -> Histogram {
    Histogram::new([1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 1_000.0])
}

/// From one mebibyte to a quarter of a gibibyte.
fn memory() -> Histogram {
    Histogram::new(exponential_buckets(1_048_576.0, 2.0, 9))
}

/// Returns the kind of an item as a label.
fn kind(item: &ItemResult) -> &'static str {
    match item {
        ItemResult::Lead(_) => "lead",
        ItemResult::Fetch(_) => "fetch",
        ItemResult::Event(_) => "event",
        ItemResult::Ignored(_) => "ignored",
        ItemResult::Invalid(_) => "invalid",
        ItemResult::Unrouted(_) => "unrouted",
    }
}

/// Adds the plugin and its version to a span.
pub fn describe_version(span: &Span, plugin: &Loaded) {
    let names = &plugin.names;
    span.set("leadhost.plugin.name", &names.name);
    span.set("leadhost.plugin.version", &names.version);
    span.set("leadhost.plugin.digest", &names.digest);
}

impl PluginMetrics {
    /// Runs a live call into a plugin and counts it, with what it is about as the exemplar of its time. A
    /// refusal by the plugin itself counts as success.
    pub async fn calling<T>(
        &self,
        plugin: &Loaded,
        subject: CallSubject<'_>,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        self.calling_for(CallBudget::Worker, plugin, subject, call)
            .await
    }

    /// Runs a call that has this budget, which may be one for a comparison, and counts it.
    pub async fn calling_for<T>(
        &self,
        budget: CallBudget,
        plugin: &Loaded,
        subject: CallSubject<'_>,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let started = Instant::now();
        let span = trace::span("call plugin", SpanKind::Internal);
        describe_version(&span, plugin);
        let result = span.run(call).await;
        let outcome = CallOutcome::from_result(&result);
        if result.is_err() {
            span.fail(outcome.as_str());
        }
        drop(span);
        let took = started.elapsed();
        let version = (plugin.description.name.as_str(), plugin.digest.short());
        self.called(version, budget, outcome, took, subject);
        result
    }

    /// Counts a call and its time. Versions past the bound share the digest `other`.
    pub(super) fn called(
        &self,
        (plugin, digest): (&str, &str),
        budget: CallBudget,
        outcome: CallOutcome,
        took: Duration,
        subject: CallSubject<'_>,
    ) {
        let VersionLabel { plugin, digest } = self.version(plugin, digest);
        let labels = PluginLabels {
            plugin,
            digest,
            purpose: purpose(budget),
            outcome: outcome.as_str(),
        };
        self.calls.get_or_create(&labels).inc();
        self.seconds.get_or_create(&labels).observe(
            took.as_secs_f64(),
            subject.exemplar(),
            Some(clock::wall()),
        );
    }

    fn version(&self, plugin: &str, digest: &str) -> VersionLabel {
        let mut version = VersionLabel {
            plugin: plugin.to_owned(),
            digest: digest.to_owned(),
        };
        if !self.versions.has(&version) {
            OTHER.clone_into(&mut version.digest);
        }
        version
    }

    /// Counts what a conversion produced, and the memory in bytes that it needed.
    pub fn produced(&self, plugin: &Loaded, items: &[NewItem], memory: u64) {
        let version = self.version(&plugin.description.name, plugin.digest.short());
        self.memory.get_or_create(&version).observe(memory as f64);
        let mut kinds: BTreeMap<&'static str, u64> = BTreeMap::new();
        for item in items {
            *kinds.entry(kind(&item.result)).or_default() += 1;
        }
        for (kind, count) in kinds {
            let labels = ProducedLabels {
                plugin: version.plugin.clone(),
                digest: version.digest.clone(),
                kind,
            };
            self.produced.get_or_create(&labels).inc_by(count);
        }
    }

    /// Returns the counters for conversions of the connection's deliveries.
    pub fn conversion_counters(&self, connection: &Connection) -> ConversionCounters {
        let label = self.label(connection.workspace, &connection.name);
        let with = ["phone", "email", "reachable", "name", "listing"].map(|field| {
            let labels = FieldLabels {
                workspace: label.workspace.clone(),
                connection: label.connection.clone(),
                field,
            };
            self.leads_with.get_or_create(&labels).clone()
        });
        ConversionCounters {
            items: self.items.get_or_create(&label).clone(),
            leads: self.leads.get_or_create(&label).clone(),
            with,
        }
    }

    /// Returns the label of a connection. Connections past the bound share one.
    fn label(&self, workspace: WorkspaceId, connection: &str) -> ConnectionLabel {
        let label = ConnectionLabel {
            workspace: workspace.to_string(),
            connection: connection.to_owned(),
        };
        if self.connections.has(&label) {
            return label;
        }
        ConnectionLabel {
            workspace: OTHER.to_owned(),
            connection: OTHER.to_owned(),
        }
    }

    /// Counts a change of a source, or that its deliveries keep failing.
    pub fn source_changed(&self, workspace: WorkspaceId, connection: &str, cause: ChangeCause) {
        let ConnectionLabel {
            workspace,
            connection,
        } = self.label(workspace, connection);
        let labels = ChangeLabels {
            workspace,
            connection,
            cause: cause.as_str(),
        };
        self.source_changes.get_or_create(&labels).inc();
    }

    pub fn refused(&self) {
        self.refusals.inc();
    }

    /// Sets the number of warm instances, and their bytes.
    pub fn warm(&self, load: WarmLoad) {
        set(&self.warm_instances, load.instances);
        set(&self.warm_bytes, load.bytes);
    }

    /// Sets the number of open circuits.
    pub fn circuits(&self, open: usize) {
        set(&self.circuits_open, open);
    }
}
