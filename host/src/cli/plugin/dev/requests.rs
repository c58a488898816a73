//! The requests that the private service answered, read from its log: the line of each request and
//! the span around it.

use std::fmt::Debug;

use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::cli::prelude::*;

/// The target of the line that each request has.
const ACCESS: &str = "leadhost::access";
/// The name of the span around a request.
const REQUEST: &str = "request";

/// A request that was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnsweredRequest {
    pub method: String,
    /// The name of the route, such as `ingest-lead`.
    pub route: String,
    pub status: u64,
    pub took: Duration,
    /// The delivery as which the request was stored.
    pub delivery: Option<String>,
}

/// A layer of the log that passes on the answered requests, and the receiver of these. Requests that
/// are not taken in time are left out.
pub fn layer() -> (
    impl Layer<Registry> + Send + Sync,
    mpsc::Receiver<AnsweredRequest>,
) {
    let (sender, receiver) = mpsc::channel(limits::WATCHED_REQUESTS);
    let filter = filter_fn(|metadata| {
        if metadata.is_span() {
            metadata.name() == REQUEST
        } else {
            metadata.target() == ACCESS
        }
    });
    let layer = Layer::<Registry>::with_filter(RequestLayer(sender), filter);
    (layer, receiver)
}

/// Passes on the answered requests.
struct RequestLayer(mpsc::Sender<AnsweredRequest>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for RequestLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name() != REQUEST {
            return;
        }
        let mut request = AnsweredRequest::default();
        attributes.record(&mut request);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(request);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(request) = span.extensions_mut().get_mut::<AnsweredRequest>()
        {
            values.record(request);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if event.metadata().target() != ACCESS {
            return;
        }
        let mut spans = context.event_scope(event).into_iter().flatten();
        let around = spans.find_map(|span| span.extensions().get::<AnsweredRequest>().cloned());
        if let Some(mut request) = around {
            event.record(&mut request);
            let _ = self.0.try_send(request);
        }
    }
}

impl Visit for AnsweredRequest {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "status" => self.status = value,
            "micros" => self.took = Duration::from_micros(value),
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "route" => self.route = value.to_owned(),
            "method" => self.method = value.to_owned(),
            "delivery" => self.delivery = Some(value.to_owned()),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt as _;

    #[test]
    fn a_request_is_read_from_its_span_and_its_line() {
        let (layer, mut requests) = layer();
        let log = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(log, || {
            let none = tracing::field::Empty;
            let span =
                tracing::info_span!("request", id = "r", route = "ingest-lead", delivery = none);
            let _inside = span.enter();
            span.record("delivery", tracing::field::display("d-1"));
            let (method, status) = ("POST", 200_u16);
            tracing::info!(target: ACCESS, method = %method, status, micros = 7_u64, "answered");
            tracing::info!(status = 1_u16, "another line");
        });
        let expected = AnsweredRequest {
            method: "POST".to_owned(),
            route: "ingest-lead".to_owned(),
            status: 200,
            took: Duration::from_micros(7),
            delivery: Some("d-1".to_owned()),
        };
        assert_eq!(requests.try_recv(), Ok(expected));
        assert!(requests.try_recv().is_err());
    }
}
