//! All metrics of a host.

use super::analytics::AnalyticsMetrics;
use super::classic;
use super::egress::EgressMetrics;
use super::fleet::FleetMetrics;
use super::http::HttpMetrics;
use super::intake::IntakeMetrics;
use super::log::LogMetrics;
use super::messaging::MessagingMetrics;
use super::plugins::PluginMetrics;
use super::register::Register;
use super::rollouts::RolloutMetrics;
use super::search::SearchMetrics;
use super::store::StoreMetrics;
use super::traces::TraceMetrics;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

#[derive(Debug)]
pub struct Metrics {
    pub registry: Registry,
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
    pub log: LogMetrics,
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
            log: LogMetrics::new(register),
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
    use crate::CallSubject;
    use leadhost_domain::connection::ChangeCause;
    use leadhost_domain::id::WorkspaceId;
    use leadhost_domain::time::Micros;
    use leadhost_plugin::{CallBudget, CallOutcome};
    use leadhost_store::Backlog;

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

    const ALERTS: &str = include_str!("../../../../examples/monitoring/alerts.yml");
    const DASHBOARD: &str = include_str!("../../../../examples/monitoring/dashboard.json");

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
