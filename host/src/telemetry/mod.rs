//! Metrics and the log of the running service, for operators.
//!
//! Each area has a struct whose methods count its events, so that a name or a label is written
//! in one place. Label sets are bounded: routes, statuses, outcomes, plugins, and a limited
//! number of plugin versions and of connections. No label holds a person or the secret part of an
//! address. To add a metric: a field, its line in `new` and a method in the file of its area.

mod analytics;
mod classic;
mod egress;
mod fleet;
mod http;
mod intake;
mod log;
mod log_records;
mod messaging;
mod otlp;
mod plugins;
mod register;
mod rollouts;
mod search;
mod store;
mod traces;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

pub use analytics::RunEnd;
pub use http::{HttpMetrics, Shed};
pub use log::{BadFilter, init_logging, init_with};
pub use messaging::{NotificationOutcome, TemplateListOutcome};
pub use otlp::{LogExport, LogQueue, MetricExport, TraceExport};
pub use plugins::{CallSubject, ConversionCounters, PluginMetrics, describe_version};
pub use rollouts::{ComparisonResult, DIFFERENCES};
pub use search::Searched;

use analytics::AnalyticsMetrics;
use egress::EgressMetrics;
use fleet::FleetMetrics;
use intake::IntakeMetrics;
use log_records::LogRecordMetrics;
use messaging::MessagingMetrics;
use register::Register;
use rollouts::RolloutMetrics;
use search::SearchMetrics;
use store::StoreMetrics;
use traces::TraceMetrics;

/// All metrics of a host.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    pub http: HttpMetrics,
    pub intake: IntakeMetrics,
    pub plugins: PluginMetrics,
    pub rollouts: RolloutMetrics,
    pub store: StoreMetrics,
    pub egress: EgressMetrics,
    pub messaging: MessagingMetrics,
    pub search: SearchMetrics,
    pub fleet: FleetMetrics,
    pub analytics: AnalyticsMetrics,
    pub traces: TraceMetrics,
    pub log_records: LogRecordMetrics,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers the metrics of all areas, each with the prefix `leadhost`.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("leadhost");
        let register = &mut Register::new(&mut registry);
        Self {
            http: HttpMetrics::new(register),
            intake: IntakeMetrics::new(register),
            plugins: PluginMetrics::new(register),
            rollouts: RolloutMetrics::new(register),
            store: StoreMetrics::new(register),
            egress: EgressMetrics::new(register),
            messaging: MessagingMetrics::new(register),
            search: SearchMetrics::new(register),
            fleet: FleetMetrics::new(register),
            analytics: AnalyticsMetrics::new(register),
            traces: TraceMetrics::new(register),
            log_records: LogRecordMetrics::new(register),
            registry,
        }
    }

    /// Returns all metrics in the OpenMetrics text format.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(8 << 10);
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }

    /// Returns all metrics in the text format of Prometheus 0.0.4, which has no exemplars.
    pub fn classic_text(&self) -> String {
        classic::text(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::domain::connection::ChangeCause;
    use crate::domain::id::WorkspaceId;
    use crate::domain::time::Micros;
    use crate::plugin::{CallBudget, CallOutcome};
    use crate::store::Backlog;

    #[test]
    fn counted_values_appear_in_the_metrics_text() {
        let metrics = Metrics::new();
        let subject = CallSubject::Message("m-1");
        let took = Duration::from_millis(100);
        metrics
            .http
            .request("whoami", 200, Duration::from_millis(2));
        for budget in [CallBudget::Worker, CallBudget::Trial] {
            let (version, outcome) = (("forms", "abc"), CallOutcome::Trapped);
            let plugins = &metrics.plugins;
            plugins.called(version, budget, outcome, took, subject);
        }
        metrics.intake.backlog(&Backlog::default(), Micros(0));
        let workspace = WorkspaceId(uuid::Uuid::nil());
        metrics
            .plugins
            .source_changed(workspace, "portal", ChangeCause::Version);
        let text = metrics.text();
        for line in [
            "leadhost_requests_total{route=\"whoami\",status=\"2xx\"} 1",
            "leadhost_plugin_calls_total{plugin=\"forms\",digest=\"abc\",purpose=\"live\",outcome=\"trapped\"} 1",
            "leadhost_plugin_calls_total{plugin=\"forms\",digest=\"abc\",purpose=\"comparison\",outcome=\"trapped\"} 1",
            "leadhost_source_changes_total{workspace=\"00000000-0000-0000-0000-000000000000\",connection=\"portal\",cause=\"version\"} 1",
            "leadhost_backlog{status=\"queued\"} 0",
            "leadhost_shed_total{reason=\"fleet\"} 0",
            "leadhost_request_duration_seconds_count{route=\"whoami\"} 1",
            "leadhost_plugin_call_duration_seconds_bucket{le=\"0.1\",plugin=\"forms\",digest=\"abc\",purpose=\"live\",outcome=\"trapped\"} 1 # {message_id=\"m-1\"} 0.1 ",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!metrics.classic_text().contains("m-1"));
    }

    const GUIDE: &str = include_str!("../../../docs/operators.md");
    const ALERTS: &str = include_str!("../../../examples/monitoring/alerts.yml");
    const DASHBOARD: &str = include_str!("../../../examples/monitoring/dashboard.json");

    #[test]
    fn the_guide_lists_every_metric_and_no_other() {
        let table = GUIDE
            .split_once("\n### Metrics\n")
            .expect("it has the table");
        let rows = table
            .1
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with('#'));
        let cells = rows.filter_map(|row| row.strip_prefix("| `")?.split_once(" | "));
        let listed: BTreeSet<String> = cells
            .flat_map(|(names, _)| {
                names
                    .split("`, `")
                    .map(|name| base(name.trim_end_matches('`')))
            })
            .filter(|name| name != "leadhost_…")
            .collect();
        let registered = registered();
        let missing: Vec<_> = registered.difference(&listed).collect();
        let wrong: Vec<_> = listed.difference(&registered).collect();
        assert!(
            missing.is_empty() && wrong.is_empty(),
            "missing: {missing:?}, not registered: {wrong:?}"
        );
    }

    #[test]
    fn alerts_and_dashboard_name_only_metrics_that_exist() {
        let registered = registered();
        for text in [ALERTS, DASHBOARD] {
            let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let named: BTreeSet<String> = names
                .filter_map(|name| name.strip_prefix("leadhost_"))
                .map(base)
                .collect();
            let wrong: Vec<_> = named.difference(&registered).collect();
            assert!(named.len() > 10 && wrong.is_empty(), "{wrong:?}");
        }
    }

    /// Returns a name without what its lines add to it.
    fn base(name: &str) -> String {
        let endings = ["_total", "_bucket", "_sum", "_count"];
        let ending = endings.iter().find_map(|ending| name.strip_suffix(ending));
        ending.unwrap_or(name).to_owned()
    }

    /// Returns the names of all metrics, without the prefix. The text leaves those without a value out.
    fn registered() -> BTreeSet<String> {
        let registry = format!("{:?}", Metrics::new().registry);
        let descriptors = registry.split("Descriptor { name: \"").skip(1);
        let name = |descriptor: &str| {
            let (name, rest) = descriptor.split_once('"').expect("it is quoted");
            let head = rest.split_once('}').map_or(rest, |(head, _)| head);
            let unit = if head.contains("Some(Seconds)") {
                "_seconds"
            } else {
                ""
            };
            base(&format!("{name}{unit}"))
        };
        descriptors.map(name).collect()
    }
}
