//! A small HTTP client: one connection for each request, and the whole answer
//! is read.

use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use leadhost_domain::key::PlainKey;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::described;

#[derive(Clone)]
pub struct Ask {
    to: SocketAddr,
    method: Method,
    target: String,
    headers: HeaderMap,
    body: Bytes,
    /// Whether the answer has to be as the document of the admin API says.
    described: bool,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Ask {
    pub fn new(to: SocketAddr, method: Method, target: &str) -> Self {
        Self {
            to,
            method,
            target: target.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            described: false,
        }
    }

    /// A request to the admin API: its answer is compared with the OpenAPI document.
    pub fn admin(to: SocketAddr, method: Method, target: &str) -> Self {
        Self {
            described: true,
            ..Self::new(to, method, target)
        }
        .header("host", &to.to_string())
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().expect("a header's name");
        let value = HeaderValue::from_str(value).expect("a header's value");
        self.headers.append(name, value);
        self
    }

    pub fn bearer(self, key: &PlainKey) -> Self {
        self.header("authorization", &format!("Bearer {}", key.reveal()))
    }

    /// Adds a partner key in the gateway's own header.
    pub fn partner(self, key: &PlainKey) -> Self {
        self.header("x-service-api-key", key.reveal())
    }

    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json")
            .body(body.to_string())
    }

    pub async fn send(self) -> Answer {
        let to = self.to;
        self.try_send()
            .await
            .unwrap_or_else(|| panic!("an answer from {to}"))
    }

    /// Sends the request. Returns `None` if the host is not there or closes the
    /// connection.
    pub async fn try_send(self) -> Option<Answer> {
        let stream = TcpStream::connect(self.to).await.ok()?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .ok()?;
        let connection = tokio::spawn(connection);
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(&self.target)
            .body(Full::new(self.body))
            .expect("a request");
        *request.headers_mut() = self.headers;
        request
            .headers_mut()
            .entry("host")
            .or_insert(HeaderValue::from_static("leadhost.test"));
        let response = sender.send_request(request).await.ok()?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        drop(sender);
        connection.abort();
        let answer = Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
        };
        if self.described {
            described::check(self.method.as_str(), &self.target, &answer);
        }
        Some(answer)
    }
}

impl Answer {
    /// The header's text, empty when there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("visible ASCII"))
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in an answer {}: {:?}", self.status, self.body))
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{:?}", self.body);
        self
    }
}
