//! The export of traces.
//!
//! One task takes finished traces from a bounded queue and sends them in batches. Nothing waits for it: a
//! full queue drops traces, a receiver that is down or slow, or refuses, costs the batch after a few
//! attempts, and both are counted.

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::encode;
use super::sender::OtlpSender;
use leadhost_config::TelemetrySection;
use leadhost_domain::id::HostId;
use leadhost_domain::limits;
use leadhost_trace::{FinishedTrace, TraceQueue, TraceQueueItem, Tracer};

/// The export of traces: the tracer that feeds it, and its task.
#[derive(Debug)]
pub struct TraceExport {
    pub tracer: Tracer,
    task: Option<JoinHandle<()>>,
}

impl TraceExport {
    /// Starts the export, if an endpoint is configured.
    pub fn start(config: &TelemetrySection, host: HostId) -> Self {
        let Some(sender) = OtlpSender::new(config) else {
            return Self {
                tracer: Tracer::off(),
                task: None,
            };
        };
        let (tracer, queue) = Tracer::new(config.traces_per_mille);
        let exporter = TraceExporter {
            tracer: tracer.clone(),
            sender,
            resource: encode::resource(config, host),
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

struct TraceExporter {
    tracer: Tracer,
    sender: OtlpSender,
    resource: Resource,
}

impl TraceExporter {
    async fn run(mut self, mut queue: TraceQueue) {
        let mut batch: Vec<FinishedTrace> = Vec::new();
        let mut spans = 0;
        let mut due = Instant::now();
        loop {
            let item = if batch.is_empty() {
                queue.recv().await.map(Some)
            } else {
                match tokio::time::timeout_at(due, queue.recv()).await {
                    Ok(item) => item.map(Some),
                    Err(_) => Some(None),
                }
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
                // The receiver may be gone.
                let _ = done.send(());
            }
        }
    }

    /// Exports a batch, and counts the outcome.
    async fn export(&mut self, batch: Vec<FinishedTrace>) {
        let traces = batch.len();
        let body = Bytes::from(encode::spans(&self.resource, &batch).encode_to_vec());
        drop(batch);
        match self.sender.deliver(body).await {
            Some(answer) => {
                let answer = ExportTraceServiceResponse::decode(answer).unwrap_or_default();
                let rejected = answer.partial_success.map_or(0, |part| part.rejected_spans);
                let rejected = u64::try_from(rejected).unwrap_or(0);
                self.tracer.count_exported(traces, rejected);
            }
            None => self.tracer.count_not_sent(traces),
        }
    }
}
