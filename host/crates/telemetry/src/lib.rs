//! Metrics and the log of the running service, for operators.
//!
//! Each area has a struct whose methods count its events, so that a name or a label is written
//! in one place. Label sets are bounded: routes, statuses, outcomes, plugins, and a limited
//! number of plugin versions and of connections. No label holds a person or the secret part of an
//! address. To add a metric: its row in `metrics!` and a method in the file of its area.

mod analytics;
mod classic;
mod egress;
mod fleet;
mod http;
mod intake;
mod log;
mod messaging;
mod metrics;
mod otlp;
mod plugins;
mod register;
mod rollouts;
mod search;
mod store;
mod traces;

pub use analytics::RunEnd;
pub use http::HttpMetrics;
pub use log::{BadFilter, Log, flush_log, init_logging, init_with, lost_log_lines};
pub use messaging::{NotificationOutcome, TemplateListOutcome};
pub use metrics::Metrics;
pub use otlp::TraceExport;
pub use plugins::{CallSubject, ConversionCounters, PluginMetrics, describe_version};
pub use rollouts::{ComparisonResult, DIFFERENCES};
pub use search::Searched;
