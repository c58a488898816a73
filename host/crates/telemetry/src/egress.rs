//! Outgoing requests.

use std::sync::atomic::Ordering;
use std::time::Instant;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::register::{OutcomeLabel, Register, StateLabel, class, count, set};
use leadhost_domain::exchange::HttpResponse;
use leadhost_egress::{ConnectionCounts, EgressError};

#[derive(Debug)]
pub struct EgressMetrics {
    calls: Family<OutcomeLabel, Counter>,
    seconds: Histogram,
    connections: Family<StateLabel, Counter>,
    idle: Gauge,
}

impl EgressMetrics {
    /// Registers the metrics.
    pub fn new(register: &mut Register<'_>) -> Self {
        Self {
            calls: register.add("egress", "Outgoing requests, by outcome"),
            seconds: register.seconds("egress_duration", "Time of one outgoing request"),
            connections: register.add(
                "egress_connections",
                "Outgoing requests, by whether their connection was opened for them or reused",
            ),
            idle: register.add(
                "egress_connections_kept",
                "Outgoing connections that wait for their next request",
            ),
        }
    }

    /// Runs an outgoing request and counts it.
    pub async fn sending(
        &self,
        call: impl Future<Output = Result<HttpResponse, EgressError>>,
    ) -> Result<HttpResponse, EgressError> {
        let started = Instant::now();
        let result = call.await;
        let outcome = match &result {
            Ok(response) => class(response.status),
            Err(EgressError::NoAnswer { .. }) => "no_answer",
            Err(error) if error.is_transient() => "unreachable",
            Err(_) => "refused",
        };
        count(&self.calls, outcome);
        self.seconds.observe(started.elapsed().as_secs_f64());
        result
    }

    /// Sets the use of outgoing connections.
    pub fn connections(&self, connections: ConnectionCounts) {
        for (state, count) in [
            ("opened", connections.opened),
            ("reused", connections.reused),
        ] {
            self.connections
                .get_or_create(&StateLabel { state })
                .inner()
                .store(count, Ordering::Relaxed);
        }
        set(&self.idle, connections.idle);
    }
}
