//! The export of traces over OTLP, as HTTP with protobuf. Nothing waits for it, and what it keeps is
//! bounded.

mod encode;
mod sender;
mod traces;

pub use traces::TraceExport;
