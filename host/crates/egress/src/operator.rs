//! Calls to addresses that the operator configured. No allow-list applies to them, and they may be
//! private: the operator chose them. TLS, deadlines and kept connections are the same as for every call.

use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use http::Method;
use http::header::{HOST, USER_AGENT};
use http_body_util::Full;
use url::Url;

use super::client::Egress;
use super::error::EgressError;
use super::target::{AllowedTarget, RemoteServer};
use leadhost_domain::exchange::HttpResponse;

/// An address that the operator configured.
#[derive(Clone)]
pub struct OperatorEndpoint {
    target: AllowedTarget,
    path: String,
}

impl OperatorEndpoint {
    /// Returns the address of a path below a base URL, or `None` if that is not a URL of HTTP.
    pub fn parse(base: &str, path: &str) -> Option<Self> {
        let url = Url::parse(base).ok()?;
        let scheme = url.scheme().parse().ok()?;
        let host = url.host_str()?;
        let port = url.port_or_known_default()?;
        Some(Self {
            target: AllowedTarget {
                place: RemoteServer {
                    scheme,
                    host: host.to_owned(),
                    port,
                    private: true,
                },
                authority: match url.port() {
                    Some(port) => format!("{host}:{port}"),
                    None => host.to_owned(),
                },
            },
            path: format!("{}{path}", url.path().trim_end_matches('/')),
        })
    }
}

impl Egress {
    /// Posts a body to an address of the operator, within the deadline of a call. The call may be
    /// repeated on another connection.
    pub async fn post(
        &self,
        endpoint: &OperatorEndpoint,
        headers: &[(String, String)],
        body: Bytes,
    ) -> Result<HttpResponse, EgressError> {
        let target = &endpoint.target;
        let compose = || {
            let mut builder = http::Request::builder()
                .method(Method::POST)
                .uri(endpoint.path.as_str())
                .header(HOST, &target.authority)
                .header(USER_AGENT, super::request::PROGRAM);
            for (name, value) in headers {
                builder = builder.header(name, value);
            }
            // The builder's error may quote a header, which may be a secret.
            builder
                .body(Full::new(body))
                .map_err(|_| EgressError::Malformed("a header is not allowed in HTTP".to_owned()))
        };
        let sent = AtomicBool::new(false);
        let exchange = Box::pin(self.exchange(target, compose, || true, |_| true, &sent));
        self.in_time(self.within, target, exchange, &sent).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_added_to_the_base_url() {
        let check = |base: &str, expect: Option<(&str, u16, &str)>| {
            let found = OperatorEndpoint::parse(base, "/v1/traces");
            let found = found.as_ref().map(|one| {
                let place = &one.target.place;
                (&*one.target.authority, place.port, &*one.path)
            });
            assert_eq!(found, expect, "{base}");
        };
        check(
            "http://127.0.0.1:4318",
            Some(("127.0.0.1:4318", 4318, "/v1/traces")),
        );
        check(
            "https://otlp.example.com/tenant/",
            Some(("otlp.example.com", 443, "/tenant/v1/traces")),
        );
        check("", None);
        check("grpc://otlp.example.com", None);
    }
}
