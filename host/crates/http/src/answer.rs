//! Handles one request from its head to its answer: which route, how long it may take, and what
//! every answer carries. The log line names the route and not the address, which may contain
//! the id of a connection or a person's phone number.

use std::sync::Mutex;
use std::time::Instant;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Method, Request, Version};
use tracing::Instrument as _;
use tracing::field::Empty;

use super::budget::Short;
use super::encoding;
use crate::prelude::*;

use super::endpoints::health;
use super::error::UNAUTHORIZED;
use super::head;
use super::io::ConnectionProgress;
use super::peer;
use super::request_id::{self, RequestId};
use super::response::CARRIED_BY_ALL;
use super::route::{Found, Handler, Mark};
use super::router;
use super::routes::{self, NoRoute};
use super::surface;
use leadhost_trace::{self as trace, Span, SpanKind, TraceParent};

/// Answers a request. It always returns an answer: a failure becomes one too. `peer_address` is the
/// other end of the connection, a trusted proxy perhaps.
pub async fn answer(
    http: &Arc<Http>,
    surface: Surface,
    peer_address: SocketAddr,
    progress: &ConnectionProgress,
    client: ClientPresence,
    request: Request<Incoming>,
) -> ApiResponse {
    let started = Instant::now();
    let (head, incoming) = request.into_parts();
    let peer = peer::address(
        &http.core.config.server.trusted_proxies,
        peer_address.ip(),
        &head.headers,
    );
    let budget = match surface {
        Surface::Admin => &http.admin_bodies,
        Surface::Gateway | Surface::Data | Surface::Both => &http.bodies,
    };
    // A body that is still arriving after the answer keeps its connection busy.
    let busy = (!incoming.is_end_stream()).then(|| progress.busy_guard());
    let body = UnreadBody::new(&head, incoming, budget.share(peer), busy);
    let id = RequestId::from_headers(&head.headers, http.core.clock.now());
    let path = surface::plain(head.uri.path());
    let found = route_of(surface, &head, &path);
    let matched = found.as_ref().ok().copied();
    let is = |mark| matched.is_some_and(|found| found.route.is(mark));
    let name = matched.map_or("none", |found| found.route.name);
    let sender = matched.filter(|_| is(Mark::Delivery));
    let sender = sender.map(|found| found.parameters.raw(0));
    let is_probe = is(Mark::Probe);
    // Constant answers exist once for all clients.
    let is_made = !matched.is_some_and(|found| matches!(found.route.handler, Handler::Open(_)));
    let call = Call {
        http,
        head: &head,
        id: &id,
        surface,
        family: surface.family(&path),
        name,
        peer,
        client,
        audited: Mutex::default(),
    };
    let span = tracing::info_span!("request", %id, route = name, workspace = Empty, key = Empty, trace = Empty, delivery = Empty);
    let parent = request_id::trace_parent(&head.headers);
    let traced = if is_probe {
        Span::default()
    } else {
        let template = matched.map(|found| found.route.template);
        traced(http, &head, template, parent)
    };
    match parent {
        Some(_) if traced.is_on() => span.in_scope(|| trace::settle_id(&traced)),
        Some(parent) => trace::name_in(&span, parent.trace),
        // A trace that is exported may still get the id of the delivery that the request takes in.
        None if traced.is_on() || is_probe => {}
        None => trace::name_in(&span, id.trace()),
    }
    let answering = async {
        let result = match found {
            Ok(route) => in_time(&call, route, body).await,
            Err(error) => {
                drop(body);
                Err(error)
            }
        };
        let reply = result.unwrap_or_else(|error| call.refuse(&error));
        let reply = encoding::compress(&head.headers, reply).await;
        let reply = reply.unwrap_or_else(|error| call.refuse(&error));
        let mut reply = if is_made {
            count_unread(&call, reply)
        } else {
            reply
        };
        carried_by_all(&head, &id, &mut reply);
        if let Some(found) = matched {
            router::name_ignored(&call, found.route, &mut reply);
        }
        // HTTP/2 announces the end of a connection by itself.
        if http.core.shutdown.has_begun() && head.version < Version::HTTP_2 {
            let close = HeaderValue::from_static("close");
            reply.headers_mut().insert(CONNECTION, close);
        }
        let took = started.elapsed();
        let status = reply.status().as_u16();
        end(&traced, status);
        http.core.metrics.http.request(name, status, took);
        let is_page =
            matched.is_some_and(|found| matches!(found.route.handler, Handler::Console(_)));
        if let Some(shed) = refused(&mut reply, is_page) {
            let sender: Option<ConnectionId> = sender.and_then(|id| id.parse().ok());
            http.count_refused(shed, sender.as_ref());
            // Under load, processor time is spent on accepted requests rather than on lines about others.
            return reply;
        }

        let mut more = None;
        if status == 401 {
            UNAUTHORIZED.log(|omitted| more = Some(omitted));
            if more.is_none() {
                return reply;
            }
        }

        macro_rules! log {
            ($level:ident) => {
                tracing::$level!(
                    target: "leadhost::access",
                    method = %head.method,
                    status,
                    bytes = reply.body().bytes(),
                    micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
                    refused_since_last_line = more,
                    "answered",
                )
            };
        }
        // Load balancers and metrics collectors probe all the time, and for no client.
        if is_probe {
            log!(debug);
        } else {
            log!(info);
        }
        reply
    };
    traced.run(answering).instrument(span).await
}

/// Returns the reason for which the request was refused to protect the service. Pages of the console carry none.
fn refused(reply: &mut ApiResponse, is_page: bool) -> Option<Shed> {
    let carried = reply.extensions_mut().remove::<Shed>();
    let of_page = match reply.status() {
        _ if !is_page => None,
        StatusCode::INSUFFICIENT_STORAGE => Some(Shed::Full),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Some(Shed::Console),
        _ => None,
    };
    carried.or(of_page)
}

/// Begins the trace of a request. Its address, its query and its sender are left out: they may name
/// persons and hold secrets. `route` is the template of the path, if there is a route.
fn traced(
    http: &Http,
    head: &Parts,
    route: Option<&'static str>,
    parent: Option<TraceParent>,
) -> Span {
    let tracer = http.core.tracer();
    if !tracer.is_on() {
        return Span::default();
    }
    let now = http.core.clock.now();
    // By the conventions, a name without a route is the method alone.
    let name = match route {
        Some(route) => Cow::Owned(format!("{} {route}", method(head))),
        None => Cow::Borrowed(method(head)),
    };
    let span = Span::root(tracer, now, name, SpanKind::Server, parent);
    span.set("http.request.method", method(head));
    if let Some(route) = route {
        span.set("http.route", route);
    }
    let is_tls = http.core.config.server.has_tls();
    span.set("url.scheme", if is_tls { "https" } else { "http" });
    let version = match head.version {
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        _ => "1.1",
    };
    span.set("network.protocol.version", version);
    span
}

fn method(head: &Parts) -> &'static str {
    match head.method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "_OTHER",
    }
}

fn end(traced: &Span, status: u16) {
    if traced.is_on() {
        traced.set("http.response.status_code", status);
        // By the conventions, a refusal is the client's error and not the server's.
        if status >= 500 {
            traced.fail(status.to_string());
        }
        trace::settle_id(traced);
    }
}

/// Answers a liveness probe without anything that could wait for other work: no task, no log
/// line.
pub fn live(http: &Http, head: &Parts, name: &'static str) -> ApiResponse {
    let id = RequestId::from_headers(&head.headers, http.core.clock.now());
    let mut reply = health::alive();
    carried_by_all(head, &id, &mut reply);
    http.core.metrics.http.request(name, 200, Duration::ZERO);
    reply
}

fn route_of<'p>(surface: Surface, head: &Parts, path: &'p str) -> Result<Found<'p>, ApiError> {
    let target = head
        .uri
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    if target > limits::URI_BYTES {
        return Err(ApiError::UriTooLong);
    }
    let headers = &head.headers;
    let size: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if size > limits::HEADER_BYTES {
        return Err(ApiError::HeadersTooLarge);
    }
    is_well_formed(&head.headers, head.version)?;
    routes::of_request(surface, &head.method, path).map_err(|error| match error {
        NoRoute::Nothing => ApiError::NotFound("There is nothing at this address.".to_owned()),
        NoRoute::NoMetricSet => ApiError::no_metric_set(),
        NoRoute::OtherMethods(allow) => ApiError::MethodNotAllowed { allow },
    })
}

/// Checks the rules of HTTP for a head that hyper does not check.
pub fn is_well_formed(headers: &HeaderMap, version: Version) -> Result<(), ApiError> {
    let hosts = headers.get_all(HOST).iter().count();
    if hosts > 1 || (hosts == 0 && version >= Version::HTTP_11) {
        return Err(ApiError::BadRequest(format!(
            "The request has {hosts} Host headers; send exactly one."
        )));
    }
    if let Some(host) = headers.get(HOST)
        && !is_host(host.as_bytes())
    {
        return Err(ApiError::BadRequest(
            "The Host header is not a host name or an address, with or without a port.".to_owned(),
        ));
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let first = codings.next();
    if first.is_some_and(|value| head::is_odd_coding(value.as_bytes())) || codings.next().is_some()
    {
        return Err(ApiError::OddCoding);
    }
    Ok(())
}

/// Returns whether the value is a valid Host header. It may be empty, for a target without an
/// authority.
fn is_host(value: &[u8]) -> bool {
    value.is_empty() || (!value.contains(&b'@') && Authority::try_from(value).is_ok())
}

/// Runs a route within the deadline of its answer. The deadline counts from the moment when the
/// body has arrived; the body has its own deadline.
async fn in_time(
    call: &Call<'_>,
    found: Found<'_>,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let server = &call.http.core.config.server;
    if found.route.is(Mark::Unbounded) {
        // Each piece of its body has a time of its own.
        return router::run(call, found, body).await;
    }
    let mut longest = server.answer_time();
    if matches!(
        found.route.handler,
        Handler::Admin(..) | Handler::Console(_)
    ) {
        // Operators wait while a component is compiled, tried and verified.
        let plugins = &call.http.core.config.plugins;
        longest += plugins.compile_time() + plugins.trial_time() + limits::VERIFY_LONGEST;
    }
    let body_in_time = tokio::time::timeout(server.body_time(), body.is_done());
    let time_is_up = async {
        // A late body is refused where it is read.
        let _ = body_in_time.await;
        tokio::time::sleep(longest).await;
    };
    let work = router::run(call, found, body);
    tokio::select! {
        result = work => result,
        () = time_is_up => {
            Err(ApiError::Overloaded {
                shed: Shed::Deadline,
                what: "The answer took too long; try again.",
                retry_after: Duration::from_secs(5),
            })
        }
    }
}

/// Counts a large answer until its client has read it, and refuses it if there is no room.
/// Operators are trusted: their answers are not counted.
fn count_unread(call: &Call<'_>, reply: ApiResponse) -> ApiResponse {
    let bytes = reply.body().bytes();
    if call.surface == Surface::Admin || bytes <= limits::ANSWER_COUNTED_BYTES {
        return reply;
    }
    let (head, body) = reply.into_parts();
    let share = call.http.answers.share(call.peer);
    match body.keep(share) {
        Ok(body) => ApiResponse::from_parts(head, body),
        Err(short) => {
            call.refuse(&ApiError::Overloaded {
                shed: Shed::Answers,
                what: match short {
                    Short::Peer => {
                        "Your address has too many large answers that it has not read yet; read them, and try again."
                    }
                    Short::All | Short::Connection => {
                        "Too many large answers are under way; try again."
                    }
                },
                retry_after: Duration::from_secs(1),
            })
        }
    }
}

fn carried_by_all(head: &Parts, id: &RequestId, reply: &mut ApiResponse) {
    let headers = reply.headers_mut();
    headers.insert(HeaderName::from_static(request_id::HEADER), id.header());
    for (name, value) in CARRIED_BY_ALL {
        headers
            .entry(HeaderName::from_static(name))
            .or_insert(HeaderValue::from_static(value));
    }
    if head.method == Method::HEAD {
        let length = reply.body().bytes();
        // The length of a 304 would be the length of the whole answer, which was not made.
        if reply.status() != StatusCode::NOT_MODIFIED {
            reply
                .headers_mut()
                .insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        *reply.body_mut() = Payload::default();
    }
}
