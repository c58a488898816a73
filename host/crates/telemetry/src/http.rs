//! Requests, client connections, and requests refused to protect the service.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::register::{Histograms, Register, class};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    /// `2xx` to `5xx`.
    status: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabel {
    route: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

/// Why a request is refused to protect the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shed {
    /// Bodies in flight fill their room.
    Bodies,
    BodiesOfOneAddress,
    BodiesToOneConnection,
    /// Answers that clients have not read yet fill their room.
    Answers,
    ConnectionsOfOneAddress,
    RateOfOneConnection,
    RateOfOnePartner,
    RateOfOneAdminKey,
    Deadline,
    /// The store cannot be reached.
    Store,
    /// This host was cut off from the fleet.
    Fleet,
}

impl Shed {
    const ALL: [Self; 11] = [
        Self::Bodies,
        Self::BodiesOfOneAddress,
        Self::BodiesToOneConnection,
        Self::Answers,
        Self::ConnectionsOfOneAddress,
        Self::RateOfOneConnection,
        Self::RateOfOnePartner,
        Self::RateOfOneAdminKey,
        Self::Deadline,
        Self::Store,
        Self::Fleet,
    ];

    fn label(self) -> ReasonLabel {
        ReasonLabel {
            reason: match self {
                Self::Bodies => "bodies",
                Self::BodiesOfOneAddress => "bodies of one address",
                Self::BodiesToOneConnection => "bodies to one connection",
                Self::Answers => "answers",
                Self::ConnectionsOfOneAddress => "connections of one address",
                Self::RateOfOneConnection => "rate of one connection",
                Self::RateOfOnePartner => "rate of one partner",
                Self::RateOfOneAdminKey => "rate of one admin key",
                Self::Deadline => "deadline",
                Self::Store => "store",
                Self::Fleet => "fleet",
            },
        }
    }
}

#[derive(Debug)]
pub struct HttpMetrics {
    requests: Family<RequestLabels, Counter>,
    request_seconds: Histograms<RouteLabel>,
    connections: Gauge,
    shed: Family<ReasonLabel, Counter>,
    rate_limited: Counter,
    connections_sent_away: Counter,
    keys_failed: Counter,
    addresses_unknown: Counter,
}

impl HttpMetrics {
    /// Registers the metrics. Reasons to shed a request begin at zero.
    pub fn new(register: &mut Register<'_>) -> Self {
        let shed: Family<ReasonLabel, Counter> =
            register.add("shed", "Requests refused to protect the service, by reason");
        // From zero, so that a rate over the metric includes the first event.
        for reason in Shed::ALL {
            drop(shed.get_or_create(&reason.label()));
        }
        Self {
            requests: register.add(
                "requests",
                "Requests answered, by route and class of status",
            ),
            request_seconds: register.seconds_by(
                "request_duration",
                "Time from a request's headers to its answer",
            ),
            connections: register.add("connections", "Open client connections"),
            shed,
            rate_limited: register.add(
                "rate_limited",
                "Requests refused because their workspace exceeded its rate limit",
            ),
            connections_sent_away: register.add(
                "connections_sent_away",
                "Idle connections closed to make room for others",
            ),
            keys_failed: register.add(
                "keys_failed",
                "Requests refused because their key is not valid",
            ),
            addresses_unknown: register.add(
                "addresses_unknown",
                "Deliveries to an address that no connection has",
            ),
        }
    }

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

    /// Counts a client connection as open.
    pub fn connection_opened(&self) {
        self.connections.inc();
    }

    /// Counts a client connection as closed.
    pub fn connection_closed(&self) {
        self.connections.dec();
    }

    /// Counts a request that was refused to protect the service.
    pub fn shed(&self, reason: Shed) {
        self.shed.get_or_create(&reason.label()).inc();
    }

    /// Counts a request that was refused because its workspace is past its rate.
    pub fn rate_limited(&self) {
        self.rate_limited.inc();
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
