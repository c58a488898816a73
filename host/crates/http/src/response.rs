//! An answer and its plain builders. Every answer is bounded.

use hyper::Response;
use hyper::header::CONTENT_TYPE;

use crate::prelude::*;
use leadhost_domain::json;

pub type ApiResponse = Response<Payload>;

pub const JSON: &str = "application/json; charset=utf-8";

/// The headers that every answer has unless it sets them itself. A handshake repeats what any caller
/// sends: browsers must not take it for more than text.
pub const CARRIED_BY_ALL: [(&str, &str); 2] = [
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
];

pub fn text(status: StatusCode, body: impl Into<Bytes>) -> ApiResponse {
    bytes_of(status, "text/plain; charset=utf-8", body)
}

pub fn empty(status: StatusCode) -> ApiResponse {
    let mut reply = Response::new(Payload::default());
    *reply.status_mut() = status;
    reply
}

/// Returns an answer with these bytes and this content type. In JSON, characters at which readers end
/// a line are escaped.
pub fn bytes_of(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> ApiResponse {
    let mut body: Bytes = body.into();
    if content_type.contains("json") {
        body = json::without_line_ends(body.into()).into();
    }
    with_payload(status, content_type, Payload::whole(body))
}

pub fn with_payload(
    status: StatusCode,
    content_type: &'static str,
    payload: Payload,
) -> ApiResponse {
    let mut reply = Response::new(payload);
    *reply.status_mut() = status;
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}
