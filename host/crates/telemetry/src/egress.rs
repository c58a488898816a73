//! Outgoing requests.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::register::{
    Counter, Family, Gauge, Histogram, OutcomeLabel, StateLabel, class, count, metrics, set,
};
use leadhost_domain::exchange::HttpResponse;
use leadhost_egress::{ConnectionCounts, EgressError};

metrics! {
    EgressMetrics {
        calls: Family<OutcomeLabel, Counter> = add("egress", "Outgoing requests, by outcome");
        seconds: Histogram = seconds("egress_duration", "Time of one outgoing request");
        connections: Family<StateLabel, Counter> =
            add("egress_connections", "Outgoing requests, by whether their connection was opened for them or reused");
        idle: Gauge =
            add("egress_connections_kept", "Outgoing connections that wait for their next request");
    }
}

impl EgressMetrics {
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
