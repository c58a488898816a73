//! The export of traces over OTLP, as HTTP with protobuf.
//!
//! One task takes finished traces from a bounded queue and sends them in batches. Nothing waits for it: a
//! full queue drops traces, a receiver that is down, slow or refuses costs the batch after a few
//! attempts, and both are counted. The export uses connections of its own, so that a slow receiver holds
//! no slot of a plugin's call.

mod encode;
mod messages;

use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::messages::{ExportTraceServiceResponse, Resource};
use crate::config::TelemetrySection;
use crate::domain::exchange::{HttpResponse, first};
use crate::domain::id::HostId;
use crate::egress::{Egress, EgressError, OperatorEndpoint};
use crate::limits;
use crate::trace::{FinishedTrace, TraceQueue, TraceQueueItem, Tracer};

/// The path of traces at the endpoint, by the specification of OTLP.
const TRACES: &str = "/v1/traces";

/// The export of traces: the tracer that feeds it, and its task.
#[derive(Debug)]
pub struct TraceExport {
    pub tracer: Tracer,
    task: Option<JoinHandle<()>>,
}

impl TraceExport {
    /// Starts the export, if an endpoint is configured.
    pub fn start(config: &TelemetrySection, host: HostId) -> Self {
        Self::start_with(config, host, Egress::new(limits::EXPORT_DEADLINE))
    }

    /// Starts the export over this egress, if an endpoint is configured.
    pub fn start_with(config: &TelemetrySection, host: HostId, egress: Egress) -> Self {
        let Some(endpoint) = OperatorEndpoint::parse(&config.otlp_endpoint, TRACES) else {
            return Self {
                tracer: Tracer::off(),
                task: None,
            };
        };
        let (tracer, queue) = Tracer::new(config.traces_per_mille);
        let exporter = Exporter {
            tracer: tracer.clone(),
            egress,
            endpoint,
            headers: headers(config),
            resource: encode::resource(&config.service_name, &host.to_string()),
            is_down: false,
        };
        Self {
            tracer,
            task: Some(tokio::spawn(exporter.run(queue))),
        }
    }

    /// Exports what has ended, within a bound, and stops.
    pub async fn stop(&self) {
        self.tracer.flush(limits::EXPORT_AT_STOP).await;
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Drop for TraceExport {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

fn headers(config: &TelemetrySection) -> Vec<(String, String)> {
    let own = [("content-type", "application/x-protobuf")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let configured = config.otlp_headers.pairs().iter().cloned();
    own.into_iter().chain(configured).collect()
}

struct Exporter {
    tracer: Tracer,
    egress: Egress,
    endpoint: OperatorEndpoint,
    headers: Vec<(String, String)>,
    resource: Resource,
    /// The last batch was not exported: logged once, and once when it works again.
    is_down: bool,
}

/// Why a batch was not taken.
struct ExportFailure {
    reason: String,
    /// When another attempt makes sense, at the earliest. `None`: never.
    retry_after: Option<Duration>,
}

impl Exporter {
    async fn run(mut self, mut queue: TraceQueue) {
        let mut batch: Vec<FinishedTrace> = Vec::new();
        let mut spans = 0;
        let mut due = Instant::now();
        loop {
            let item = match batch.is_empty() {
                true => queue.recv().await.map(Some),
                false => match tokio::time::timeout_at(due, queue.recv()).await {
                    Ok(item) => item.map(Some),
                    Err(_) => Some(None),
                },
            };
            let flushed = match item {
                None => return,
                Some(Some(TraceQueueItem::Trace(trace))) => {
                    if batch.is_empty() {
                        due = Instant::now() + limits::EXPORT_EVERY;
                    }
                    spans += trace.spans.len();
                    batch.push(trace);
                    if spans < limits::EXPORT_SPANS {
                        continue;
                    }
                    None
                }
                Some(Some(TraceQueueItem::Flush(done))) => Some(done),
                Some(None) => None,
            };
            if !batch.is_empty() {
                self.export(std::mem::take(&mut batch)).await;
                spans = 0;
            }
            if let Some(done) = flushed {
                // Nobody may wait any more.
                let _ = done.send(());
            }
        }
    }

    /// Exports a batch, in a few attempts, and counts the outcome.
    async fn export(&mut self, batch: Vec<FinishedTrace>) {
        let traces = batch.len();
        let body = Bytes::from(encode::request(&self.resource, &batch).encode_to_vec());
        drop(batch);
        let mut pause = limits::EXPORT_BACKOFF_FIRST;
        let mut attempt = 1;
        let failure = loop {
            match self.send(body.clone()).await {
                Ok(rejected) => {
                    self.tracer.count_exported(traces, rejected);
                    if std::mem::take(&mut self.is_down) {
                        tracing::info!("traces are exported again");
                    }
                    return;
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
        self.tracer.count_not_sent(traces);
        if !std::mem::replace(&mut self.is_down, true) {
            tracing::warn!(reason = %failure.reason, traces, "traces not exported and dropped; further failures are only counted");
        }
    }

    /// Makes one attempt. Returns how many spans the receiver refused.
    async fn send(&self, body: Bytes) -> Result<u64, ExportFailure> {
        let call = self.egress.post(&self.endpoint, &self.headers, body);
        let response = call.await.map_err(|error| ExportFailure {
            retry_after: error.is_transient().then_some(Duration::ZERO),
            reason: reason(&error),
        })?;
        if (200..300).contains(&response.status) {
            let answer = ExportTraceServiceResponse::decode(&*response.body).unwrap_or_default();
            let rejected = answer.partial_success.map_or(0, |part| part.rejected_spans);
            return Ok(u64::try_from(rejected).unwrap_or(0));
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

fn reason(error: &EgressError) -> String {
    error.to_string()
}
