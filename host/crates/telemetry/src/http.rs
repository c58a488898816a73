//! Requests, client connections, and requests refused to protect the service.

use std::time::Duration;

use super::register::{Counter, Family, Gauge, Histograms, class, labels, metrics};
use leadhost_domain::shed::Shed;
use leadhost_domain::time::Micros;

labels! {
    RequestLabels { route: &'static str, status: &'static str }
    RouteLabel { route: &'static str }
    ReasonLabel { reason: &'static str }
}

fn reason(shed: Shed) -> ReasonLabel {
    ReasonLabel {
        reason: shed.as_str(),
    }
}

metrics! {
    HttpMetrics {
        requests: Family<RequestLabels, Counter> =
            add("requests", "Requests answered, by route and class of status");
        request_seconds: Histograms<RouteLabel> =
            seconds_by("request_duration", "Time from a request's headers to its answer");
        connections: Gauge = add("connections", "Open client connections");
        shed: Family<ReasonLabel, Counter> =
            begun_at_zero("shed", "Requests refused with 429, 503 or 507, by reason", Shed::ALL.map(reason));
        certificate_ends: Gauge =
            with_seconds(Gauge::default(), "certificate_ends", "When the TLS certificate ends, in seconds since 1970; 0 without one");
        connections_sent_away: Counter =
            add("connections_sent_away", "Idle connections closed to make room for others");
        keys_failed: Counter =
            add("keys_failed", "Requests refused because their key is not valid");
        addresses_unknown: Counter =
            add("addresses_unknown", "Deliveries to an address that no connection has");
    }
}

impl HttpMetrics {
    /// Counts an answered request and its time. The label has the class of the status only.
    pub fn request(&self, route: &'static str, status: u16, took: Duration) {
        let status = class(status);
        self.requests
            .get_or_create(&RequestLabels { route, status })
            .inc();
        self.request_seconds
            .get_or_create(&RouteLabel { route })
            .observe(took.as_secs_f64());
    }

    /// Sets when the TLS certificate ends.
    pub fn certificate(&self, ends: Micros) {
        self.certificate_ends.set(ends.0 / 1_000_000);
    }

    pub fn connection_opened(&self) {
        self.connections.inc();
    }

    pub fn connection_closed(&self) {
        self.connections.dec();
    }

    /// Counts a request that was refused to protect the service.
    pub fn shed(&self, shed: Shed) {
        self.shed.get_or_create(&reason(shed)).inc();
    }

    /// Counts idle connections that were closed to make room.
    pub fn connections_sent_away(&self, many: usize) {
        self.connections_sent_away.inc_by(many as u64);
    }

    /// Counts a request that was refused because its key is not valid.
    pub fn key_failed(&self) {
        self.keys_failed.inc();
    }

    /// Counts a delivery to an address that no connection has.
    pub fn address_unknown(&self) {
        self.addresses_unknown.inc();
    }
}
