//! The delivery of a request of OTLP over HTTP: in a few attempts, each with a deadline. It uses
//! connections of its own, so that a slow receiver holds no slot of a plugin's call.

use std::time::Duration;

use bytes::Bytes;

use leadhost_config::TelemetrySection;
use leadhost_domain::exchange::{HttpResponse, first};
use leadhost_domain::limits;
use leadhost_egress::{Egress, OperatorEndpoint};

/// The path of traces at the endpoint, by the specification of OTLP.
const PATH: &str = "/v1/traces";

/// Delivers requests to the configured endpoint.
pub struct OtlpSender {
    egress: Egress,
    endpoint: OperatorEndpoint,
    headers: Vec<(String, String)>,
    /// The last request was not delivered: logged once, and once when it works again.
    is_down: bool,
}

/// Why a request was not taken.
struct ExportFailure {
    reason: String,
    /// When another attempt makes sense, at the earliest. `None`: never.
    retry_after: Option<Duration>,
}

impl OtlpSender {
    pub fn new(config: &TelemetrySection) -> Option<Self> {
        Some(Self {
            endpoint: OperatorEndpoint::parse(&config.otlp_endpoint, PATH)?,
            egress: Egress::new(limits::EXPORT_DEADLINE),
            headers: headers(config),
            is_down: false,
        })
    }

    /// Delivers a request. Returns the answer's body. `None` if the receiver did not take it.
    pub async fn deliver(&mut self, body: Bytes) -> Option<Bytes> {
        let mut pause = limits::EXPORT_BACKOFF_FIRST;
        let mut attempt = 1;
        let failure = loop {
            match self.send(body.clone()).await {
                Ok(answer) => {
                    if std::mem::take(&mut self.is_down) {
                        tracing::info!("telemetry is exported again");
                    }
                    return Some(answer);
                }
                Err(failure) => match failure.retry_after {
                    Some(wait) if attempt < limits::EXPORT_ATTEMPTS => {
                        let wait = wait.max(pause).min(limits::EXPORT_BACKOFF_LONGEST);
                        tokio::time::sleep(wait).await;
                    }
                    _ => break failure,
                },
            }
            attempt += 1;
            pause = (pause * 2).min(limits::EXPORT_BACKOFF_LONGEST);
        };
        if !std::mem::replace(&mut self.is_down, true) {
            tracing::warn!(
                reason = %failure.reason,
                "telemetry not exported and dropped; further failures are only counted"
            );
        }
        None
    }

    async fn send(&self, body: Bytes) -> Result<Bytes, ExportFailure> {
        let call = self.egress.post(&self.endpoint, &self.headers, body);
        let response = call.await.map_err(|error| ExportFailure {
            retry_after: error.is_transient().then_some(Duration::ZERO),
            reason: error.to_string(),
        })?;
        if (200..300).contains(&response.status) {
            return Ok(Bytes::from(response.body));
        }
        Err(ExportFailure {
            // The receiver's text may repeat a header.
            reason: format!("the receiver answered with status {}", response.status),
            retry_after: retry_after(&response),
        })
    }
}

/// Returns the pause that a refusal asks for, if the specification lets it be repeated.
fn retry_after(response: &HttpResponse) -> Option<Duration> {
    if ![429, 502, 503, 504].contains(&response.status) {
        return None;
    }
    let asked = first(&response.headers, "retry-after").and_then(|value| value.parse().ok());
    Some(Duration::from_secs(asked.unwrap_or(0)))
}

fn headers(config: &TelemetrySection) -> Vec<(String, String)> {
    let own = [("content-type", "application/x-protobuf")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let configured = config.otlp_headers.pairs().iter().cloned();
    own.into_iter().chain(configured).collect()
}
