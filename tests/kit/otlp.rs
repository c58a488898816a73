//! A receiver of traces by OTLP over HTTP. It misbehaves on request.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::{Host, until};

/// The time for all that has ended to be exported.
const EXPORTED: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    Accept,
    Refuse(u16),
    /// Reads the request and never answers.
    Hang,
}

#[derive(Clone, Debug)]
pub struct ReceivedSpan {
    pub trace: String,
    pub id: String,
    /// Empty for a root.
    pub parent: String,
    pub name: String,
    /// The number of the kind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer.
    pub kind: i32,
    /// Nanoseconds of the Unix time.
    pub began: u64,
    pub ended: u64,
    pub attributes: BTreeMap<String, String>,
    pub is_error: bool,
    /// The traces that it links to.
    pub links: Vec<String>,
}

impl ReceivedSpan {
    /// Returns an attribute, or an empty text.
    pub fn attribute(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }
}

/// A running receiver. It stops when it is dropped.
pub struct OtlpReceiver {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

struct State {
    behaviour: Behaviour,
    requests: Vec<ReceivedRequest>,
}

#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    pub resource: BTreeMap<String, String>,
    pub spans: Vec<ReceivedSpan>,
}

impl OtlpReceiver {
    /// Starts one on a free port of loopback.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(State {
            behaviour: Behaviour::Accept,
            requests: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                let serve = service_fn(move |request| answer(Arc::clone(&state), request));
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), serve);
                tokio::spawn(connection);
            }
        });
        Self {
            address,
            state,
            task,
        }
    }

    /// The URL for the configuration.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn behave(&self, behaviour: Behaviour) {
        lock(&self.state).behaviour = behaviour;
    }

    /// Returns all requests so far, refused ones too.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        lock(&self.state).requests.clone()
    }

    /// Returns the spans of all requests, in the order in which they began.
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        let requests = self.requests();
        let mut spans: Vec<_> = requests.into_iter().flat_map(|one| one.spans).collect();
        spans.sort_by_key(|span| (span.began, u64::MAX - span.ended));
        spans
    }

    /// Waits until the span with this name of the trace is received, and returns all of the trace.
    pub async fn trace(&self, host: &Host, trace: &str, name: &str) -> Vec<ReceivedSpan> {
        until("the trace is exported", async || {
            host.app.core.tracer().flush(EXPORTED).await;
            let mut spans = self.spans();
            spans.retain(|span| span.trace == trace);
            let is_there = spans.iter().any(|span| span.name == name);
            is_there.then_some(spans)
        })
        .await
    }

    pub fn holds(&self, needle: &str) -> bool {
        let holds = |bytes: &[u8]| {
            bytes
                .windows(needle.len())
                .any(|window| window == needle.as_bytes())
        };
        self.requests().iter().any(|one| holds(&one.body))
    }
}

/// The nanoseconds that may be between two steps of a trace.
const GAP: u64 = 1_000_000;

/// The places between the steps of many traces of one kind. A gap is work without a step, and that
/// would be there in each trace. A pause of a busy machine is there in some. So each place between two
/// steps has to be narrow in one trace, not in the same one.
#[derive(Debug, Default)]
pub struct TraceGaps {
    traces: usize,
    /// By the steps before and after it, how often a place was met, and its narrowest gap.
    places: BTreeMap<(String, String), (usize, u64)>,
}

impl TraceGaps {
    /// The traces within which each place between two steps is narrow once. They take longer than the
    /// seconds in which the tests beside them use every processor.
    pub const TRACES: usize = 1_000;

    /// Adds a trace, and returns whether every place has been narrow once. Only the spans below the
    /// one with this name count.
    pub fn add(&mut self, spans: &[ReceivedSpan], root: &str) -> bool {
        self.traces += 1;
        for (place, gap) in gaps(spans, root) {
            let (met, narrowest) = self.places.entry(place).or_insert((0, u64::MAX));
            *met += 1;
            *narrowest = gap.min(*narrowest);
        }
        self.wide().next().is_none()
    }

    /// Checks that no place was wide in all traces.
    #[track_caller]
    pub fn assert_narrow(&self) {
        let wide: Vec<_> = self.wide().collect();
        assert!(
            wide.is_empty(),
            "there are gaps in each of {} traces, of nanoseconds: {wide:?}",
            self.traces
        );
    }

    /// Returns the places that were never narrow. On a busy machine a step may begin late, and steps
    /// may then stand in another order: places that only a minority of traces has do not count.
    fn wide(&self) -> impl Iterator<Item = (&(String, String), &(usize, u64))> {
        let often = self.traces.div_ceil(3);
        self.places
            .iter()
            .filter(move |(_, (met, narrowest))| *met >= often && *narrowest >= GAP)
    }
}

/// Returns how many nanoseconds of a span are in no step, by the steps before and after.
fn gaps(spans: &[ReceivedSpan], root: &str) -> Vec<((String, String), u64)> {
    let root = spans.iter().find(|span| span.name == root);
    let root = root.expect("the span of the request or job");
    let mut below = vec![root];
    let mut next = 0;
    while let Some(parent) = below.get(next).map(|span| &span.id) {
        below.extend(spans.iter().filter(|span| &span.parent == parent));
        next += 1;
    }
    // Only steps without steps of their own explain time.
    let is_leaf = |span: &&&ReceivedSpan| !spans.iter().any(|one| one.parent == span.id);
    let mut steps: Vec<_> = below.iter().skip(1).filter(is_leaf).collect();
    steps.sort_by_key(|span| (span.began, u64::MAX - span.ended));
    let (mut before, mut covered) = ("", root.began);
    let mut gaps = Vec::new();
    for step in steps {
        let place = (before.to_owned(), step.name.clone());
        gaps.push((place, step.began.saturating_sub(covered)));
        (before, covered) = (&step.name, covered.max(step.ended));
    }
    let place = (before.to_owned(), String::new());
    gaps.push((place, root.ended.saturating_sub(covered)));
    gaps
}

impl Drop for OtlpReceiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(
    state: Arc<Mutex<State>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return Ok(status(400));
    };
    let body = body.to_bytes().to_vec();
    let Ok(export) = ExportTraceServiceRequest::decode(&*body) else {
        return Ok(status(400));
    };
    let (mut resource, mut spans) = (BTreeMap::new(), Vec::new());
    for part in export.resource_spans {
        resource.extend(texts(&part.resource.unwrap_or_default().attributes));
        let of_part = part.scope_spans.iter().flat_map(|one| &one.spans);
        spans.extend(of_part.map(received));
    }
    let headers = head.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    let behaviour = {
        let mut state = lock(&state);
        state.requests.push(ReceivedRequest {
            path: head.uri.path().to_owned(),
            headers: headers.collect(),
            body,
            resource,
            spans,
        });
        state.behaviour
    };
    match behaviour {
        Behaviour::Accept => Ok(status(200)),
        Behaviour::Refuse(code) => Ok(status(code)),
        Behaviour::Hang => pending().await,
    }
}

fn status(code: u16) -> Response<Full<Bytes>> {
    let answer = Response::builder().status(code);
    answer.body(Full::default()).expect("a status of HTTP")
}

fn received(span: &Span) -> ReceivedSpan {
    let error = StatusCode::Error as i32;
    ReceivedSpan {
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        name: span.name.clone(),
        kind: span.kind,
        began: span.start_time_unix_nano,
        ended: span.end_time_unix_nano,
        attributes: texts(&span.attributes).collect(),
        is_error: span.status.as_ref().is_some_and(|one| one.code == error),
        links: span.links.iter().map(|link| hex(&link.trace_id)).collect(),
    }
}

#[track_caller]
fn texts(attributes: &[KeyValue]) -> impl Iterator<Item = (String, String)> {
    attributes.iter().map(|one| {
        let value = one.value.as_ref().and_then(|any| any.value.as_ref());
        let text = match value {
            Some(Value::StringValue(text)) => text.clone(),
            Some(Value::IntValue(number)) => number.to_string(),
            other => panic!("{}: {other:?}", one.key),
        };
        (one.key.clone(), text)
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
