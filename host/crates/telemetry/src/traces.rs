//! The export of traces.

use std::sync::atomic::Ordering;

use super::register::{Counter, Family, OutcomeLabel, metrics};
use leadhost_trace::TraceCounts;

metrics! {
    TraceMetrics {
        traces: Family<OutcomeLabel, Counter> =
            add("traces", "Traces that ended, by whether they were exported, not sampled, or dropped and why");
        spans_lost: Family<OutcomeLabel, Counter> =
            add("trace_spans_lost", "Spans of exported traces that are missing: past the bound of a trace, or refused by the receiver");
    }
}

impl TraceMetrics {
    /// Sets what became of traces. `None`: tracing is off, and there are no metrics of it.
    pub fn counts(&self, counts: Option<TraceCounts>) {
        let Some(counts) = counts else {
            return;
        };
        let set = |family: &Family<OutcomeLabel, Counter>, outcome, count| {
            let label = OutcomeLabel { outcome };
            let counter = family.get_or_create(&label);
            counter.inner().store(count, Ordering::Relaxed);
        };
        for (outcome, count) in [
            ("exported", counts.exported),
            ("unsampled", counts.unsampled),
            ("not_begun", counts.not_begun),
            ("queue_full", counts.queue_full),
            ("not_sent", counts.not_sent),
        ] {
            set(&self.traces, outcome, count);
        }
        set(&self.spans_lost, "bound", counts.spans_dropped);
        set(&self.spans_lost, "rejected", counts.spans_rejected);
    }
}
