//! The request as it is sent: slots are filled, and the host sets the headers that a plugin
//! may not set.

use http_body_util::Full;
use hyper::body::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::error::EgressError;
use super::slots::{compose, verbatim};
use super::target::AllowedTarget;
use crate::seal::Secrets;
use leadhost_domain::exchange::{HttpRequest, TextSegment};
use leadhost_trace as trace;

/// A request as it is sent, with its secrets.
pub type OutgoingRequest = http::Request<Full<Bytes>>;

/// The program, in the headers of each request.
pub const PROGRAM: &str = concat!("leadhost/", env!("CARGO_PKG_VERSION"));

/// Composes the request that is sent to the target.
pub fn compose_request(
    request: &HttpRequest,
    target: &AllowedTarget,
    secrets: &Secrets,
) -> Result<OutgoingRequest, EgressError> {
    let malformed = |what: &str| EgressError::Malformed(what.to_owned());
    let no_bytes = |segments: &[TextSegment]| {
        !segments
            .iter()
            .any(|segment| matches!(segment, TextSegment::Bytes(_)))
    };
    let text =
        |segments: &[TextSegment], encode: fn(&str) -> String| -> Result<String, EgressError> {
            if !no_bytes(segments) {
                return Err(malformed("a `bytes` segment is allowed only in the body"));
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
            "the path does not begin with a slash, or it contains characters that must be percent-encoded",
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
        .header(http::header::USER_AGENT, PROGRAM);
    // One of the plugin's own is kept: it may be a part of what the provider expects.
    let is_own = |(name, _): &(String, _)| name.eq_ignore_ascii_case(trace::TRACEPARENT);
    if let Some(parent) = trace::traceparent()
        && !request.headers.iter().any(is_own)
    {
        builder = builder.header(trace::TRACEPARENT, parent);
    }
    for (name, value) in &request.headers {
        // Only the host sets framing and routing.
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
                "the header `{name}` is set by the host; remove it from the request"
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

/// Characters that are percent-encoded in paths and queries: all except RFC 3986's
/// unreserved ones.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}
