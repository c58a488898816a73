//! The client that makes outgoing calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::connection::{ExchangeError, HttpConnection};
use super::error::EgressError;
use super::pool::ConnectionCounts;
use super::pool::{CallPermit, ConnectionPool};
use super::request::{OutgoingRequest, compose_request};
use super::target::AllowedTarget;
use crate::seal::Secrets;
use leadhost_domain::connection::AllowedHost;
use leadhost_domain::exchange::{HttpRequest, HttpResponse};
use leadhost_domain::limits;
use leadhost_trace::{self as trace, Span, SpanKind};

pub struct EgressSettings {
    /// The deadline of a whole call, unless the call sets another one.
    pub within: Duration,
    /// How long an idle connection is kept for its next request.
    pub idle_timeout: Duration,
    /// Certificates in DER that are trusted in addition to the public roots.
    pub trusted: Vec<Vec<u8>>,
}

impl EgressSettings {
    /// Returns settings with the deadline `within`, the default time to keep idle connections,
    /// and the public roots alone.
    pub fn new(within: Duration) -> Self {
        Self {
            within,
            idle_timeout: limits::EGRESS_IDLE_TIMEOUT,
            trusted: Vec::new(),
        }
    }
}

/// Makes outgoing calls. Clones share their connections.
#[derive(Clone)]
pub struct Egress {
    pub tls: TlsConnector,
    pub pool: Arc<ConnectionPool>,
    pub within: Duration,
}

impl Egress {
    /// Returns an egress with the default settings; `within` is the deadline of a whole call.
    pub fn new(within: Duration) -> Self {
        Self::with(EgressSettings::new(within))
    }

    /// Returns an egress with these settings and no open connections. Trusted certificates that
    /// cannot be parsed are ignored.
    pub fn with(settings: EgressSettings) -> Self {
        let mut roots = RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        roots.add_parsable_certificates(settings.trusted.into_iter().map(CertificateDer::from));
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default protocol versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::in_memory_sessions(limits::EGRESS_TLS_SESSIONS);
        Self {
            tls: TlsConnector::from(Arc::new(config)),
            pool: Arc::new(ConnectionPool::new(settings.idle_timeout)),
            within: settings.within,
        }
    }

    /// Makes the request within the deadline, unless `wanted` returns false when its first
    /// byte is about to be sent. A response of any status is an answer.
    pub async fn call(
        &self,
        request: &HttpRequest,
        secrets: &Secrets,
        allow: &[AllowedHost],
        wanted: impl Fn() -> bool,
    ) -> Result<HttpResponse, EgressError> {
        self.call_within(self.within, request, secrets, allow, wanted)
            .await
    }

    /// Like [`Egress::call`], for requests that must not happen twice: if the remote server may
    /// have received the request, it is not sent again, whatever its method. Some gateways
    /// send a message on a GET.
    pub async fn call_once(
        &self,
        request: &HttpRequest,
        secrets: &Secrets,
        allow: &[AllowedHost],
        wanted: impl Fn() -> bool,
    ) -> Result<HttpResponse, EgressError> {
        let repeat = |_: &OutgoingRequest| false;
        self.make(self.within, request, secrets, allow, wanted, repeat)
            .await
    }

    /// Like [`Egress::call`], with a deadline for this call.
    pub async fn call_within(
        &self,
        within: Duration,
        request: &HttpRequest,
        secrets: &Secrets,
        allow: &[AllowedHost],
        wanted: impl Fn() -> bool,
    ) -> Result<HttpResponse, EgressError> {
        self.make(within, request, secrets, allow, wanted, may_be_repeated)
            .await
    }

    /// Checks a request as before a call, without the addresses of its host: its target is on the
    /// allow-list, and it can be composed with these secrets. Nothing is sent.
    pub fn check(
        request: &HttpRequest,
        secrets: &Secrets,
        allow: &[AllowedHost],
    ) -> Result<(), EgressError> {
        let target = AllowedTarget::check(request, allow)?;
        compose_request(request, &target, secrets).map(drop)
    }

    async fn make(
        &self,
        within: Duration,
        request: &HttpRequest,
        secrets: &Secrets,
        allow: &[AllowedHost],
        wanted: impl Fn() -> bool,
        repeat: fn(&OutgoingRequest) -> bool,
    ) -> Result<HttpResponse, EgressError> {
        let target = AllowedTarget::check(request, allow)?;
        let span = client_span(request, &target);
        let sent = AtomicBool::new(false);
        let compose = || compose_request(request, &target, secrets);
        // Boxed: each future that makes a call would hold it several times.
        let exchange = Box::pin(self.exchange(&target, compose, wanted, repeat, &sent));
        let result = span
            .run(self.in_time(within, &target, exchange, &sent))
            .await;
        match &result {
            Ok(response) => {
                span.set("http.response.status_code", response.status);
                if response.status >= 400 && span.is_on() {
                    span.fail(response.status.to_string());
                }
            }
            Err(error) => span.fail(error.kind()),
        }
        result
    }

    /// Waits for an exchange until the deadline.
    pub async fn in_time(
        &self,
        within: Duration,
        target: &AllowedTarget,
        exchange: impl Future<Output = Result<HttpResponse, EgressError>>,
        sent: &AtomicBool,
    ) -> Result<HttpResponse, EgressError> {
        match tokio::time::timeout(within, exchange).await {
            Ok(result) => result,
            Err(_) if sent.load(Ordering::Relaxed) => {
                Err(target.no_answer(format!("timed out after {within:?}")))
            }
            Err(_) => Err(target.unreachable(format!("no connection within {within:?}"))),
        }
    }

    /// Opens a connection to an allowed host, as a call would, and sends no request.
    pub async fn reach(&self, host: &AllowedHost) -> Result<(), EgressError> {
        let target = AllowedTarget::from_entry(host)?;
        let reached = async {
            let addresses = target.resolve().await?;
            HttpConnection::open(&target, &addresses, &self.tls).await
        };
        match tokio::time::timeout(self.within, reached).await {
            Ok(reached) => reached.map(drop),
            Err(_) => Err(target.unreachable(format!("no connection within {:?}", self.within))),
        }
    }

    /// Returns the counts of connections since the start, and of those that are kept now.
    pub fn connections(&self) -> ConnectionCounts {
        self.pool.connections()
    }

    /// Sends the request and reads the answer. `sent` is true while the remote server may have
    /// received the request.
    pub async fn exchange(
        &self,
        target: &AllowedTarget,
        compose: impl FnOnce() -> Result<OutgoingRequest, EgressError>,
        wanted: impl Fn() -> bool,
        repeat: fn(&OutgoingRequest) -> bool,
        sent: &AtomicBool,
    ) -> Result<HttpResponse, EgressError> {
        let permit = self.pool.permit(&target.place).await;
        let mut way = Way::first(&permit, target).await?;
        let mut message = compose()?;
        loop {
            let is_kept = matches!(way, Way::Kept(_));
            let mut connection = match way {
                Way::Kept(connection) => {
                    self.pool.count_reused();
                    connection
                }
                Way::New(addresses) => {
                    let opened = HttpConnection::open(target, &addresses, &self.tls).await?;
                    self.pool.count_opened();
                    opened
                }
            };
            // The request is repeated if it may be: the remote server closes connections that it
            // does not want to keep, and a close can cross with a request.
            let again = (is_kept && repeat(&message)).then(|| message.clone());
            if !wanted() {
                permit.keep(connection, self.pool.idle_timeout());
                return Err(EgressError::TooLate);
            }
            sent.store(true, Ordering::Relaxed);
            let error = match connection.exchange(message).await {
                Ok(response) => {
                    if connection.is_ready().await {
                        permit.keep(connection, self.pool.idle_timeout_after(&response));
                    }
                    return Ok(response);
                }
                Err(error) => error,
            };
            drop(connection);
            message = match (error, again) {
                (ExchangeError::Unsent { message, .. }, _) if is_kept => *message,
                (ExchangeError::Unsent { reason, .. }, _) => return Err(target.unreachable(reason)),
                (ExchangeError::MaybeSent { .. }, Some(again)) => again,
                (ExchangeError::MaybeSent { reason }, None) => return Err(target.no_answer(reason)),
            };
            sent.store(false, Ordering::Relaxed);
            way = Way::New(target.resolve().await?);
        }
    }
}

/// The connection on which a request is sent.
enum Way {
    Kept(HttpConnection),
    /// The addresses that a connection may be opened to.
    New(Vec<std::net::SocketAddr>),
}

impl Way {
    async fn first(permit: &CallPermit, target: &AllowedTarget) -> Result<Self, EgressError> {
        Ok(match permit.take_idle() {
            Some(connection) => Self::Kept(connection),
            None => Self::New(target.resolve().await?),
        })
    }
}

/// Begins the span of a call. Its URL is left out: it may name a person or hold a secret.
fn client_span(request: &HttpRequest, target: &AllowedTarget) -> Span {
    let span = trace::span("HTTP", SpanKind::Client);
    if span.is_on() {
        span.rename(request.method.clone());
        span.set("http.request.method", request.method.clone());
        span.set("url.scheme", target.place.scheme.as_str());
        span.set("server.address", target.place.host.clone());
        span.set("server.port", target.place.port);
    }
    span
}

fn may_be_repeated(message: &OutgoingRequest) -> bool {
    matches!(*message.method(), Method::GET | Method::HEAD)
}
