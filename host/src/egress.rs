//! Calls to the outside on behalf of plugins: where they may go, with what
//! secrets, for how long. The allow-list is checked before a slot is filled;
//! the addresses that a name resolves to are checked, and the connection goes
//! to the very address that passed. Redirects are not followed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::domain::connection::AllowedHost;
use crate::domain::exchange::{HttpRequest, HttpResponse, Segment};
use crate::limits;
use crate::pipeline::slots::{SlotError, compose, verbatim};
use crate::seal::Secrets;

/// Why there is no answer, split by what the caller does about it.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// An operator must allow it first.
    #[error(
        "{scheme}://{authority} is not on the connection's allow-list; add it there if the plugin may call it"
    )]
    NotAllowed { scheme: String, authority: String },
    /// An operator must allow private addresses first.
    #[error(
        "{authority} resolves to {address}, which is not a public address; allow it with `private = true` if that is meant"
    )]
    NotPublic { authority: String, address: IpAddr },
    #[error(transparent)]
    Slot(#[from] SlotError),
    /// The plugin asked for what cannot be sent.
    #[error("the request that the plugin composed cannot be sent: {0}")]
    Malformed(String),
    /// It may go better later.
    #[error("no answer from {authority}: {reason}")]
    Unreachable { authority: String, reason: String },
    /// Nothing was sent: by then it was somebody else's to send.
    #[error("the request was not sent: its time was up before it could be")]
    TooLate,
}

impl EgressError {
    /// Whether trying again without anybody doing anything can help.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TooLate)
    }
}

/// What is percent-encoded in paths and queries: all but RFC 3986's unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Makes calls. Cheap to clone.
#[derive(Clone)]
pub struct Egress {
    tls: TlsConnector,
    timeout: Duration,
}

impl Egress {
    pub fn new(timeout: Duration) -> Self {
        let roots = RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default protocol versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            tls: TlsConnector::from(Arc::new(config)),
            timeout,
        }
    }

    /// Makes the request, all within the deadline, unless it is not `wanted` any
    /// more when its first byte is to go out. Any status is an answer.
    pub async fn call(
        &self,
        request: &HttpRequest,
        secrets: &Secrets,
        allow: &[AllowedHost],
        wanted: impl Fn() -> bool,
    ) -> Result<HttpResponse, EgressError> {
        let unreachable = |reason: String| EgressError::Unreachable {
            authority: request.authority.clone(),
            reason,
        };
        let seconds = self.timeout.as_secs();
        tokio::time::timeout(self.timeout, self.exchange(request, secrets, allow, wanted))
            .await
            .unwrap_or_else(|_| Err(unreachable(format!("nothing within {seconds} s"))))
    }

    async fn exchange(
        &self,
        request: &HttpRequest,
        secrets: &Secrets,
        allow: &[AllowedHost],
        wanted: impl Fn() -> bool,
    ) -> Result<HttpResponse, EgressError> {
        let target = Target::allowed(request, allow)?;
        let unreachable = |reason: String| EgressError::Unreachable {
            authority: request.authority.clone(),
            reason,
        };
        let address = target.resolve().await?;
        let message = compose_message(request, &target, secrets)?;
        let stream = TcpStream::connect(address)
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        let still = || wanted().then_some(()).ok_or(EgressError::TooLate);
        if target.tls {
            let name = ServerName::try_from(target.host.clone()).map_err(|_| {
                EgressError::Malformed(format!("`{}` is no host name", target.host))
            })?;
            let stream = self
                .tls
                .connect(name, stream)
                .await
                .map_err(|error| unreachable(error.to_string()))?;
            still()?;
            send(stream, message).await.map_err(unreachable)
        } else {
            still()?;
            send(stream, message).await.map_err(unreachable)
        }
    }
}

/// Where a request goes, after the allow-list.
struct Target {
    tls: bool,
    host: String,
    port: u16,
    authority: String,
    private: bool,
}

impl Target {
    fn allowed(request: &HttpRequest, allow: &[AllowedHost]) -> Result<Self, EgressError> {
        let scheme = request.scheme.to_ascii_lowercase();
        let not_allowed = || EgressError::NotAllowed {
            scheme: scheme.clone(),
            authority: request.authority.clone(),
        };
        let default_port = match scheme.as_str() {
            "https" => 443,
            "http" => 80,
            other => {
                return Err(EgressError::Malformed(format!(
                    "the scheme `{other}` is neither https nor http"
                )));
            }
        };
        let (host, port) = split_authority(&request.authority, default_port).ok_or_else(|| {
            EgressError::Malformed(format!(
                "`{}` is no host with an optional port",
                request.authority
            ))
        })?;
        let entry = allow
            .iter()
            .filter(|entry| entry.scheme.eq_ignore_ascii_case(&scheme))
            .find(|entry| {
                split_authority(&entry.authority, default_port).as_ref()
                    == Some(&(host.clone(), port))
            })
            .ok_or_else(not_allowed)?;
        Ok(Self {
            tls: scheme == "https",
            host,
            port,
            authority: request.authority.clone(),
            private: entry.private,
        })
    }

    /// The first address of the name, all of them having passed.
    async fn resolve(&self) -> Result<SocketAddr, EgressError> {
        let unreachable = |reason: String| EgressError::Unreachable {
            authority: self.authority.clone(),
            reason,
        };
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = tokio::net::lookup_host((bare, self.port))
            .await
            .map_err(|error| unreachable(error.to_string()))?
            .collect();
        if !self.private
            && let Some(address) = addresses.iter().find(|address| !is_public(address.ip()))
        {
            return Err(EgressError::NotPublic {
                authority: self.authority.clone(),
                address: address.ip(),
            });
        }
        addresses
            .into_iter()
            .next()
            .ok_or_else(|| unreachable("the name has no address".to_owned()))
    }
}

/// Host in lower case and port; nothing else may stand in an authority.
pub fn split_authority(authority: &str, default_port: u16) -> Option<(String, u16)> {
    if authority.is_empty()
        || authority.contains(|c: char| c.is_whitespace() || "@/?#\\".contains(c) || c.is_control())
    {
        return None;
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, default_port),
    };
    let host_is_plain = host.starts_with('[') && host.ends_with(']') || !host.contains(':');
    (!host.is_empty() && host_is_plain).then(|| (host.to_ascii_lowercase(), port))
}

/// Whether an address is one of the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19)))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // Addresses that carry an IPv4 address are as public as that one.
    let embedded = address.to_ipv4_mapped().or_else(|| {
        let v4 = |high: u16, low: u16| {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            Ipv4Addr::new(a, b, c, d)
        };
        match segments {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0, 0, 0, 0, 0, 0, high, low] => {
                Some(v4(high, low))
            }
            [0x2002, high, low, ..] => Some(v4(high, low)),
            _ => None,
        }
    });
    if let Some(v4) = embedded {
        return is_public_v4(v4);
    }
    // Of the unicast space only 2000::/3 is given out; 2001:db8::/32 is for documentation.
    (segments[0] & 0xe000) == 0x2000 && !(segments[0] == 0x2001 && segments[1] == 0xdb8)
}

fn compose_message(
    request: &HttpRequest,
    target: &Target,
    secrets: &Secrets,
) -> Result<http::Request<Full<Bytes>>, EgressError> {
    let malformed = |what: &str| EgressError::Malformed(what.to_owned());
    let no_bytes = |segments: &[Segment]| {
        !segments
            .iter()
            .any(|segment| matches!(segment, Segment::Bytes(_)))
    };
    let text = |segments: &[Segment], encode: fn(&str) -> String| -> Result<String, EgressError> {
        if !no_bytes(segments) {
            return Err(malformed("bytes stand outside the body"));
        }
        String::from_utf8(compose(segments, secrets, encode)?)
            .map_err(|_| malformed("a text is not UTF-8"))
    };

    let mut uri = text(&request.path, encode)?;
    if !uri.starts_with('/')
        || uri.contains(['?', '#'])
        || uri
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || !c.is_ascii())
    {
        return Err(malformed(
            "the path does not begin with a slash, or holds what must be percent-encoded",
        ));
    }
    for (index, (name, value)) in request.query.iter().enumerate() {
        uri.push(if index == 0 { '?' } else { '&' });
        uri.push_str(&encode(name));
        uri.push('=');
        uri.push_str(&encode(&text(value, verbatim)?));
    }
    let mut builder = http::Request::builder()
        .method(request.method.as_str())
        .uri(uri)
        .header(http::header::HOST, &target.authority)
        .header(
            http::header::USER_AGENT,
            concat!("leadhost/", env!("CARGO_PKG_VERSION")),
        );
    for (name, value) in &request.headers {
        // Framing and routing are the host's.
        if [
            "host",
            "content-length",
            "transfer-encoding",
            "connection",
            "upgrade",
            "te",
            "trailer",
            "expect",
        ]
        .contains(&name.to_ascii_lowercase().as_str())
        {
            return Err(EgressError::Malformed(format!(
                "the header `{name}` is the host's to set"
            )));
        }
        builder = builder.header(name.as_str(), text(value, verbatim)?);
    }
    let body = compose(&request.body, secrets, verbatim)?;
    // The builder's error may quote a header's value, which may be a secret.
    builder
        .body(Full::new(Bytes::from(body)))
        .map_err(|_| malformed("a method, header name or header value is not allowed in HTTP"))
}

async fn send<S>(stream: S, message: http::Request<Full<Bytes>>) -> Result<HttpResponse, String>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    let driver = tokio::spawn(connection);
    let answer = async {
        let response = sender
            .send_request(message)
            .await
            .map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| {
                (
                    name.as_str().to_owned(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect();
        let body = Limited::new(response.into_body(), limits::FETCH_ANSWER_BYTES)
            .collect()
            .await
            .map_err(|error| error.to_string())?
            .to_bytes()
            .to_vec();
        Ok(HttpResponse {
            status,
            headers,
            body,
        })
    }
    .await;
    driver.abort();
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_not_wanted_any_more_is_not_sent() {
        use tokio::io::AsyncReadExt as _;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a free port");
        let authority = listener.local_addr().expect("an address").to_string();
        let request = HttpRequest {
            method: "GET".to_owned(),
            scheme: "http".to_owned(),
            authority: authority.clone(),
            path: vec![Segment::Literal("/".to_owned())],
            query: vec![],
            headers: vec![],
            body: vec![],
        };
        let allow = [AllowedHost {
            scheme: "http".to_owned(),
            authority,
            private: true,
        }];
        let egress = Egress::new(Duration::from_secs(60));
        let secrets = Secrets::default();
        let call = egress.call(&request, &secrets, &allow, || false);
        let (result, accepted) = tokio::join!(call, listener.accept());
        let error = result.expect_err("it is not wanted");
        assert!(matches!(error, EgressError::TooLate), "{error}");
        let (mut stream, _) = accepted.expect("a connection");
        let mut sent = Vec::new();
        stream.read_to_end(&mut sent).await.expect("its end");
        assert!(sent.is_empty());
    }

    #[test]
    fn only_public_addresses_are_public() {
        for public in [
            "8.8.8.8",
            "157.240.1.1",
            "2606:4700::1111",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(public.parse().expect("address")), "{public}");
        }
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "::7f00:1",
        ] {
            assert!(!is_public(private.parse().expect("address")), "{private}");
        }
    }

    #[test]
    fn an_authority_is_a_host_and_maybe_a_port() {
        assert_eq!(
            split_authority("Graph.Example.com", 443),
            Some(("graph.example.com".into(), 443))
        );
        assert_eq!(
            split_authority("[::1]:8080", 80),
            Some(("[::1]".into(), 8080))
        );
        for wrong in [
            "",
            "user@host",
            "host/path",
            "host:port",
            "a b",
            "host:99999",
            "::1",
            "host#x",
            "h\\x",
        ] {
            assert_eq!(split_authority(wrong, 80), None, "{wrong}");
        }
    }

    #[test]
    fn the_allow_list_decides_before_a_slot_is_filled() {
        let request = HttpRequest {
            method: "GET".into(),
            scheme: "https".into(),
            authority: "evil.example".into(),
            path: vec![Segment::Literal("/".into())],
            query: vec![],
            headers: vec![],
            body: vec![],
        };
        let allow = [AllowedHost {
            scheme: "https".into(),
            authority: "graph.example.com".into(),
            private: false,
        }];
        assert!(matches!(
            Target::allowed(&request, &allow),
            Err(EgressError::NotAllowed { .. })
        ));
        let good = HttpRequest {
            authority: "GRAPH.example.com:443".into(),
            ..request.clone()
        };
        assert!(Target::allowed(&good, &allow).is_ok());
        let plain = HttpRequest {
            scheme: "http".into(),
            ..good
        };
        assert!(Target::allowed(&plain, &allow).is_err());
    }
}
