//! One connection to a server: opened under a deadline, driven by a task beside the calls
//! that use it, and closed when it is dropped. HTTP/1.1 only, one request at a time.

use std::net::SocketAddr;
use std::time::Duration;

use http::header::{DATE, RETRY_AFTER};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::error::EgressError;
use super::request::OutgoingRequest;
use super::target::AllowedTarget;
use leadhost_domain::exchange::{HttpResponse, UrlScheme};
use leadhost_domain::{limits, time};

pub struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    /// When the connection becomes too old to be used again.
    until: Instant,
}

impl Drop for HttpConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Why a request on a connection has no answer.
pub enum ExchangeError {
    /// No byte of the request was sent.
    Unsent {
        message: Box<OutgoingRequest>,
        reason: String,
    },
    MaybeSent {
        reason: String,
    },
}

impl HttpConnection {
    /// Opens a connection to the first of the addresses that answers. All of them have
    /// passed the checks.
    pub async fn open(
        target: &AllowedTarget,
        addresses: &[SocketAddr],
        tls: &TlsConnector,
    ) -> Result<Self, EgressError> {
        const WITHIN: Duration = limits::EGRESS_CONNECT_DEADLINE;
        timeout(WITHIN, Self::open_patiently(target, addresses, tls))
            .await
            .unwrap_or_else(|_| Err(target.unreachable(format!("no connection within {WITHIN:?}"))))
    }

    async fn open_patiently(
        target: &AllowedTarget,
        addresses: &[SocketAddr],
        tls: &TlsConnector,
    ) -> Result<Self, EgressError> {
        let stream = connect(addresses)
            .await
            .map_err(|reason| target.unreachable(reason))?;
        // A request is written as a whole; waiting for more bytes would only delay its end.
        let _ = stream.set_nodelay(true);
        let opened = match target.place.scheme {
            UrlScheme::Http => Self::over(stream).await,
            UrlScheme::Https => {
                let host = target.place.host.trim_matches(['[', ']']).to_owned();
                let name = ServerName::try_from(host).map_err(|_| {
                    EgressError::Malformed(format!("`{}` is not a host name", target.place.host))
                })?;
                match tls.connect(name, stream).await {
                    Ok(stream) => Self::over(stream).await,
                    Err(error) => Err(error_chain(&error)),
                }
            }
        };
        opened.map_err(|reason| target.unreachable(reason))
    }

    async fn over<S>(stream: S) -> Result<Self, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error_chain(&error))?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::trace!(%error, "outgoing connection ended");
            }
        });
        Ok(Self {
            sender,
            driver,
            until: Instant::now() + limits::EGRESS_CONNECTION_LONGEST,
        })
    }

    /// Returns whether the connection is too old, or known to be closed by the remote server.
    pub fn is_over(&self, now: Instant) -> bool {
        self.until <= now || self.sender.is_closed()
    }

    /// Returns whether the connection is ready for another request.
    pub async fn is_ready(&mut self) -> bool {
        const WITHIN: Duration = limits::EGRESS_READY_DEADLINE;
        matches!(timeout(WITHIN, self.sender.ready()).await, Ok(Ok(())))
    }

    /// Sends a request and reads the answer.
    pub async fn exchange(
        &mut self,
        message: OutgoingRequest,
    ) -> Result<HttpResponse, ExchangeError> {
        let response = self
            .sender
            .try_send_request(message)
            .await
            .map_err(|mut error| {
                let reason = error_chain(error.error());
                match error.take_message() {
                    Some(message) => ExchangeError::Unsent {
                        message: Box::new(message),
                        reason,
                    },
                    None => ExchangeError::MaybeSent { reason },
                }
            })?;
        read(response)
            .await
            .map_err(|reason| ExchangeError::MaybeSent { reason })
    }
}

async fn read(response: http::Response<Incoming>) -> Result<HttpResponse, String> {
    let (head, body) = response.into_parts();
    let date = head.headers.get(DATE).and_then(|date| date.to_str().ok());
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| {
            let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            let seconds = (name == RETRY_AFTER).then(|| wait_seconds(&text, date));
            let text = seconds
                .flatten()
                .map_or(text, |seconds| seconds.to_string());
            (name.as_str().to_owned(), text)
        })
        .collect();
    let body = Limited::new(body, limits::FETCH_ANSWER_BYTES)
        .collect()
        .await
        .map_err(|error| error_chain(&*error))?
        .to_bytes()
        .to_vec();
    Ok(HttpResponse {
        status: head.status.as_u16(),
        headers,
        body,
    })
}

/// Returns how long a `Retry-After` asks to wait: seconds, which some servers write with a fraction, or a date, by
/// the server's own clock. Plugins have no clock, so they get seconds in each case.
fn wait_seconds(text: &str, date: Option<&str>) -> Option<u64> {
    let text = text.trim();
    let is_decimal = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_decimal {
        let seconds: f64 = text.parse().ok()?;
        return Some(seconds.ceil() as u64);
    }
    let wait = time::parse_http_date(text)?.since(time::parse_http_date(date?)?);
    Some(time::whole_seconds(wait))
}

async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, String> {
    const WITHIN: Duration = limits::EGRESS_ADDRESS_DEADLINE;
    let mut last = String::new();
    for address in addresses.iter().take(limits::EGRESS_ADDRESSES) {
        last = match timeout(WITHIN, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => format!("{address}: {error}"),
            Err(_) => format!("{address}: no connection within {WITHIN:?}"),
        };
    }
    Err(last)
}

/// Formats an error with its causes.
fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_in_seconds_however_the_server_writes_it() {
        let now = Some("Wed, 21 Oct 2015 07:27:00 GMT");
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(wait_seconds(text, now), expect, "{text}");
        };
        check("30", Some(30));
        check(" 30 ", Some(30));
        check("0.2", Some(1));
        check("1.0", Some(1));
        check("Wed, 21 Oct 2015 07:28:00 GMT", Some(60));
        check("Wed, 21 Oct 2015 07:26:00 GMT", Some(0));
        for text in ["", ".", "1.2.3", "soon", "-1", "1e9", "Wed, 21 Oct 2015"] {
            check(text, None);
        }
        assert_eq!(wait_seconds("Wed, 21 Oct 2015 07:28:00 GMT", None), None);
    }
}
