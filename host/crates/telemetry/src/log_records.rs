//! The export of the log.

use std::sync::atomic::Ordering;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use super::register::{OutcomeLabel, Register};

#[derive(Debug)]
pub struct LogRecordMetrics(Family<OutcomeLabel, Counter>);

impl LogRecordMetrics {
    /// Registers the metric.
    pub fn new(register: &mut Register<'_>) -> Self {
        Self(register.add(
            "log_records",
            "Log lines to export, by whether they were exported, or dropped and why",
        ))
    }

    /// Counts lines that the receiver took.
    pub fn exported(&self, records: u64) {
        self.counter("exported").inc_by(records);
    }

    /// Counts lines that the receiver did not take in time.
    pub fn not_sent(&self, records: u64) {
        self.counter("not_sent").inc_by(records);
    }

    /// Sets how many lines found no place in the queue since the start.
    pub fn overflowed(&self, records: u64) {
        let counter = self.counter("queue_full");
        counter.inner().store(records, Ordering::Relaxed);
    }

    fn counter(&self, outcome: &'static str) -> Counter {
        self.0.get_or_create_owned(&OutcomeLabel { outcome })
    }
}
