//! Finished traces as the messages of OTLP.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind as OtlpSpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};

use leadhost_config::TelemetrySection;
use leadhost_domain::id::HostId;
use leadhost_domain::time::Micros;
use leadhost_trace::{FinishedTrace, SpanKind, SpanRecord, SpanValue, TraceId, TraceParent};

/// The version of the semantic conventions that the names of attributes are from.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.37.0";

/// Returns the attributes of the resource: what exports.
pub fn resource(config: &TelemetrySection, host: HostId) -> Resource {
    Resource {
        attributes: vec![
            text("service.name", &config.service_name),
            text("service.version", env!("CARGO_PKG_VERSION")),
            text("service.instance.id", &host.to_string()),
        ],
        ..Resource::default()
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, SpanValue::from(value.to_owned()))
}

/// Returns the request that exports these traces.
pub fn spans(resource: &Resource, traces: &[FinishedTrace]) -> ExportTraceServiceRequest {
    let spans = traces
        .iter()
        .flat_map(|trace| trace.spans.iter().map(|one| span(trace, one)))
        .collect();
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource.clone()),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "leadhost".to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    ..InstrumentationScope::default()
                }),
                spans,
                ..ScopeSpans::default()
            }],
            schema_url: SCHEMA.to_owned(),
        }],
    }
}

fn span(trace: &FinishedTrace, span: &SpanRecord) -> Span {
    let mut attributes: Vec<KeyValue> = span
        .attributes
        .iter()
        .map(|(key, value)| attribute(key, value.clone()))
        .collect();
    if let Some(class) = &span.error {
        let class = SpanValue::Text(class.clone());
        attributes.push(attribute("error.type", class));
    }
    let links = span
        .continued_as
        .map(TraceParent::for_work)
        .map(|later| Link {
            trace_id: later.trace.0.to_vec(),
            span_id: later.span.0.to_vec(),
            ..Link::default()
        });
    let TraceId(id) = trace.id;
    Span {
        trace_id: id.to_vec(),
        span_id: span.id.0.to_vec(),
        parent_span_id: span.parent.map(|id| id.0.to_vec()).unwrap_or_default(),
        name: span.name.clone().into_owned(),
        kind: kind(span.kind).into(),
        start_time_unix_nano: nanos_after(trace.began, span.began),
        end_time_unix_nano: nanos_after(trace.began, span.ended),
        attributes,
        links: links.into_iter().collect(),
        // A step without an error is left unset, as the specification asks of instrumentation.
        status: span.error.as_ref().map(|_| Status {
            code: StatusCode::Error.into(),
            ..Status::default()
        }),
        ..Span::default()
    }
}

fn kind(kind: SpanKind) -> OtlpSpanKind {
    match kind {
        SpanKind::Internal => OtlpSpanKind::Internal,
        SpanKind::Server => OtlpSpanKind::Server,
        SpanKind::Client => OtlpSpanKind::Client,
        SpanKind::Producer => OtlpSpanKind::Producer,
        SpanKind::Consumer => OtlpSpanKind::Consumer,
    }
}

/// Returns nanoseconds of the Unix time.
fn nanos_after(began: Micros, after: Duration) -> u64 {
    let began = u64::try_from(began.0).unwrap_or(0).saturating_mul(1_000);
    began.saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX))
}

fn attribute(key: &str, value: SpanValue) -> KeyValue {
    let value = match value {
        SpanValue::Text(text) => Value::StringValue(text.into_owned()),
        SpanValue::Shared(text) => Value::StringValue(text.to_string()),
        SpanValue::Id(id) => Value::StringValue(id.to_string()),
        SpanValue::Number(number) => Value::IntValue(number),
    };
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}
