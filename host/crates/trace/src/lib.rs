//! The traces of requests and of the worker's jobs: which steps they consist of, how long each
//! took, and which failed.
//!
//! An [`OpenTrace`](tracer) holds the spans of one request or job until its last span has ended. Only
//! then is it decided whether the trace is exported: if it is one of the sampled share, or if a span
//! failed. Everything here is in memory and bounded; `telemetry/otlp` exports.
//!
//! The current span is known to the thread that polls a future (`current`), so code that makes a
//! span needs no argument for it. If tracing is off there is no current span, and nothing is allocated.
//! Attributes never hold personal data: no bodies, phones, names of persons, addresses of senders, and no
//! paths or queries of requests.

mod context;
mod current;
mod outcome;
mod record;
mod span;
mod tracer;

pub use self::context::{SpanId, TRACEPARENT, TraceId, TraceParent};
pub use self::current::{
    Traced, carried, current, name_in, settle_id, span, span_of, step, traceparent,
};
pub use self::outcome::{StepFailure, StepOutcome};
pub use self::record::{FinishedTrace, SpanKind, SpanRecord, SpanValue};
pub use self::span::Span;
pub use self::tracer::{TraceCounts, TraceQueue, TraceQueueItem, Tracer};
