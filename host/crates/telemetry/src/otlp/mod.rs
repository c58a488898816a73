//! The exports over OTLP, as HTTP with protobuf: traces, and on request metrics and the log. Nothing
//! waits for them, and what they keep is bounded.

mod encode;
mod logs;
mod messages;
mod metrics;
mod sender;
mod traces;

pub use logs::{LogExport, LogQueue, log_layer};
pub use metrics::MetricExport;
pub use traces::TraceExport;
