//! Deliveries, their quarantine, fetches, and waiting work.

use super::register::{Counter, Family, Gauge, OutcomeLabel, StatusLabel, count, labels, metrics};
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::time::Micros;
use leadhost_domain::trouble::{Trouble, TroubleKind};
use leadhost_store::{Backlog, FetchOutcome};

labels! {
    TroubleLabel { kind: &'static str }
}

metrics! {
    IntakeMetrics {
        deliveries: Family<StatusLabel, Counter> =
            add("deliveries", "Deliveries received, by resulting status");
        quarantine_refused: Counter =
            add("quarantine_refused", "Deliveries not kept because their connection's quarantine is full");
        quarantine_evicted: Counter =
            add("quarantine_evicted", "Deliveries removed from a full quarantine to make room for newer ones");
        fetches: Family<OutcomeLabel, Counter> =
            add("fetches", "Attempts to fetch a lead that a delivery points at, by outcome");
        backlog: Family<StatusLabel, Gauge> =
            add("backlog", "Work that waits and work that failed, by state");
        troubles: Family<TroubleLabel, Gauge> =
            add("connections_in_trouble", "Connections whose fetches fail, whose leads get no greeting, or whose version gives one phone to several people, on this host");
        oldest_waiting: Gauge =
            with_seconds(Gauge::default(), "oldest_waiting", "Age of the oldest work that waits");
    }
}

impl IntakeMetrics {
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

    /// Sets how many connections have something that does not work.
    pub fn troubles(&self, troubles: &[Trouble]) {
        for kind in TroubleKind::ALL {
            let label = TroubleLabel {
                kind: kind.as_str(),
            };
            let number = troubles.iter().filter(|one| one.kind == kind).count();
            let gauge = self.troubles.get_or_create(&label);
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        }
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
