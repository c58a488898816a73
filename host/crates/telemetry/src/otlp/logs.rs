//! The export of the log: each event that the log's filter lets through, with the fields of the spans
//! around it, and its trace.
//!
//! A full queue drops records, and a receiver that is down costs a batch after a few attempts; both are
//! counted.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use prost::Message as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::encode;
use super::messages::{
    AnyValue, ExportLogsServiceRequest, KeyValue, OtlpLogRecord, Resource, ResourceLogs, ScopeLogs,
    any_value,
};
use super::sender::OtlpSender;
use crate::Metrics;
use leadhost_config::TelemetrySection;
use leadhost_domain::id::HostId;
use leadhost_domain::limits;
use leadhost_egress::Egress;

/// The path of the log at the endpoint, by the specification of OTLP.
const PATH: &str = "/v1/logs";

/// The records that wait for their export, in the order of the log.
#[derive(Debug)]
pub struct LogQueue {
    records: mpsc::Receiver<OtlpLogRecord>,
    /// Records that found no place.
    overflowed: Arc<AtomicU64>,
}

/// Takes the events of the log.
#[derive(Debug)]
pub struct LogLayer {
    queue: mpsc::Sender<OtlpLogRecord>,
    overflowed: Arc<AtomicU64>,
}

/// Returns a layer for the subscriber, and the queue that it fills.
pub fn log_layer() -> (LogLayer, LogQueue) {
    let (queue, records) = mpsc::channel(limits::LOG_RECORDS_QUEUED);
    let overflowed = Arc::new(AtomicU64::new(0));
    let layer = LogLayer {
        queue,
        overflowed: Arc::clone(&overflowed),
    };
    let queue = LogQueue {
        records,
        overflowed,
    };
    (layer, queue)
}

impl<S> Layer<S> for LogLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        if !is_exported(metadata) {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut attributes = vec![encode::text("log.target", metadata.target())];
        let mut trace_id = Vec::new();
        for span in context.event_scope(event).into_iter().flatten() {
            let extensions = span.extensions();
            let Some(of_span) = extensions.get::<Fields>() else {
                continue;
            };
            for KeyValue { key, value } in &of_span.attributes {
                if key == "trace" {
                    trace_id = bytes_of(value.as_ref());
                } else {
                    attributes.push(KeyValue {
                        key: format!("{}.{key}", span.name()),
                        value: value.clone(),
                    });
                }
            }
        }
        attributes.append(&mut fields.attributes);
        let now = now();
        let record = OtlpLogRecord {
            time_unix_nano: now,
            severity_number: severity(*metadata.level()),
            severity_text: metadata.level().to_string(),
            body: Some(text_value(fields.message)),
            attributes,
            trace_id,
            observed_time_unix_nano: now,
        };
        if self.queue.try_send(record).is_err() {
            self.overflowed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns nanoseconds of the Unix time.
#[expect(
    clippy::disallowed_methods,
    reason = "the log begins before there is a clock, and its lines have the system's time"
)]
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(0))
}

/// Returns whether an event is exported. Details of libraries and of outgoing calls stay in the log
/// here: an export would cause further ones.
fn is_exported(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    *metadata.level() <= Level::INFO
        || target.starts_with("leadhost") && !target.starts_with("leadhost_egress")
}

/// The number of a level, by the data model of OpenTelemetry's logs.
fn severity(level: Level) -> i32 {
    match level {
        Level::ERROR => 17,
        Level::WARN => 13,
        Level::INFO => 9,
        Level::DEBUG => 5,
        Level::TRACE => 1,
    }
}

/// The fields of an event or a span.
#[derive(Default)]
struct Fields {
    message: String,
    attributes: Vec<KeyValue>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: AnyValue) {
        let known = self.attributes.iter_mut();
        match known.into_iter().find(|one| one.key == field.name()) {
            Some(known) => known.value = Some(value),
            None => self.attributes.push(KeyValue {
                key: field.name().to_owned(),
                value: Some(value),
            }),
        }
    }

    fn put_text(&mut self, field: &Field, mut text: String) {
        text.truncate(text.floor_char_boundary(limits::LOG_VALUE_BYTES));
        if field.name() == "message" {
            self.message = text;
        } else {
            self.put(field, text_value(text));
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put_text(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put_text(field, value.to_owned());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, any(any_value::PlainValue::Integer(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.put(field, any(any_value::PlainValue::Integer(value)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, any(any_value::PlainValue::Number(value)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, any(any_value::PlainValue::Flag(value)));
    }
}

fn any(value: any_value::PlainValue) -> AnyValue {
    AnyValue { value: Some(value) }
}

fn text_value(text: String) -> AnyValue {
    any(any_value::PlainValue::Text(text))
}

/// Returns the bytes of a trace's id. Empty if it is not one.
fn bytes_of(value: Option<&AnyValue>) -> Vec<u8> {
    let Some(any_value::PlainValue::Text(text)) = value.and_then(|any| any.value.as_ref()) else {
        return Vec::new();
    };
    let id = u128::from_str_radix(text, 16);
    id.map_or_else(|_| Vec::new(), |id| id.to_be_bytes().to_vec())
}

/// The running export of the log.
#[derive(Debug)]
pub struct LogExport {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl LogExport {
    /// Starts the export of what the queue has and gets. `None` if no endpoint is configured.
    pub fn start(
        queue: LogQueue,
        config: &TelemetrySection,
        host: HostId,
        metrics: Arc<Metrics>,
    ) -> Option<Self> {
        let egress = Egress::new(limits::EXPORT_DEADLINE);
        let sender = OtlpSender::new(config, egress, "logs", PATH)?;
        let (stop, stopped) = oneshot::channel();
        let exporter = LogExporter {
            queue,
            metrics,
            sender,
            resource: encode::resource(config, host),
        };
        Some(Self {
            stop: Some(stop),
            task: tokio::spawn(exporter.run(stopped)),
        })
    }

    /// Exports what waits, within a bound, and stops.
    pub async fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if tokio::time::timeout(limits::EXPORT_AT_STOP, &mut self.task)
            .await
            .is_err()
        {
            self.task.abort();
        }
    }
}

struct LogExporter {
    queue: LogQueue,
    metrics: Arc<Metrics>,
    sender: OtlpSender,
    resource: Resource,
}

impl LogExporter {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        loop {
            let mut batch = Vec::new();
            tokio::select! {
                taken = self.queue.records.recv_many(&mut batch, limits::EXPORT_LOG_RECORDS) => {
                    if taken == 0 {
                        return;
                    }
                }
                _ = &mut stopped => return self.export_the_rest().await,
            }
            // Others may share the request.
            let has_stopped = tokio::select! {
                () = tokio::time::sleep(limits::EXPORT_EVERY) => false,
                _ = &mut stopped => true,
            };
            self.fill(&mut batch);
            self.export(batch).await;
            if has_stopped {
                return self.export_the_rest().await;
            }
        }
    }

    async fn export_the_rest(&mut self) {
        loop {
            let mut batch = Vec::new();
            self.fill(&mut batch);
            if batch.is_empty() {
                return;
            }
            self.export(batch).await;
        }
    }

    /// Takes what waits, up to the size of a request.
    fn fill(&mut self, batch: &mut Vec<OtlpLogRecord>) {
        while batch.len() < limits::EXPORT_LOG_RECORDS {
            match self.queue.records.try_recv() {
                Ok(record) => batch.push(record),
                Err(_) => return,
            }
        }
    }

    async fn export(&mut self, batch: Vec<OtlpLogRecord>) {
        let records = batch.len() as u64;
        let request = ExportLogsServiceRequest {
            resource_logs: vec![ResourceLogs {
                resource: Some(self.resource.clone()),
                scope_logs: vec![ScopeLogs {
                    scope: Some(encode::scope()),
                    log_records: batch,
                }],
                schema_url: encode::SCHEMA.to_owned(),
            }],
        };
        let body = Bytes::from(request.encode_to_vec());
        drop(request);
        let is_taken = self.sender.deliver(body).await.is_some();
        let metrics = &self.metrics.log_records;
        match is_taken {
            true => metrics.exported(records),
            false => metrics.not_sent(records),
        }
        metrics.overflowed(self.queue.overflowed.load(Ordering::Relaxed));
    }
}
