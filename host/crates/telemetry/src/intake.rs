//! Deliveries, their quarantine, fetches, and waiting work.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::register::{OutcomeLabel, Register, StatusLabel, count};
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::time::Micros;
use leadhost_store::{Backlog, FetchOutcome};

#[derive(Debug)]
pub struct IntakeMetrics {
    deliveries: Family<StatusLabel, Counter>,
    quarantine_refused: Counter,
    quarantine_evicted: Counter,
    fetches: Family<OutcomeLabel, Counter>,
    backlog: Family<StatusLabel, Gauge>,
    oldest_waiting: Gauge,
}

impl IntakeMetrics {
    /// Registers the metrics.
    pub fn new(register: &mut Register<'_>) -> Self {
        Self {
            deliveries: register.add("deliveries", "Deliveries received, by resulting status"),
            quarantine_refused: register.add(
                "quarantine_refused",
                "Deliveries not kept because their connection's quarantine is full",
            ),
            quarantine_evicted: register.add(
                "quarantine_evicted",
                "Deliveries removed from a full quarantine to make room for newer ones",
            ),
            fetches: register.add(
                "fetches",
                "Attempts to fetch a lead that a delivery points at, by outcome",
            ),
            backlog: register.add("backlog", "Work that waits and work that failed, by state"),
            oldest_waiting: register.with_seconds(
                Gauge::default(),
                "oldest_waiting",
                "Age of the oldest work that waits",
            ),
        }
    }

    /// Counts a delivery with its resulting status.
    pub fn delivery(&self, status: DeliveryStatus) {
        let status = status.as_str();
        self.deliveries.get_or_create(&StatusLabel { status }).inc();
    }

    /// Counts a delivery that was not kept because the quarantine is full.
    pub fn quarantine_refused(&self) {
        self.quarantine_refused.inc();
    }

    /// Counts evicted deliveries. If two hosts evict the same delivery at the same moment,
    /// both count it.
    pub fn quarantine_evicted(&self, deliveries: u32) {
        self.quarantine_evicted.inc_by(deliveries.into());
    }

    /// Counts an attempt to fetch a lead, by its outcome.
    pub fn fetch(&self, outcome: &FetchOutcome) {
        let outcome = match outcome {
            FetchOutcome::Items(_) => "items",
            FetchOutcome::Retry { .. } => "retry",
            FetchOutcome::Failed { .. } => "failed",
            FetchOutcome::Stop { .. } => "stop",
        };
        count(&self.fetches, outcome);
    }

    /// Sets the waiting and failed work by state, and the age in seconds of the oldest work
    /// that waits.
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
            .map_or(0, |since| now.since(since).as_secs());
        self.oldest_waiting
            .set(i64::try_from(age).unwrap_or(i64::MAX));
    }
}
