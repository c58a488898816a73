//! Builders of an endpoint's answer. An answer is bounded, whatever it contains.

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::payload::Payload;

pub type Reply = Response<Payload>;

pub const JSON: &str = "application/json; charset=utf-8";

/// The body of an answer that cannot be written as JSON.
#[derive(Debug, thiserror::Error)]
#[error("the answer cannot be serialised: {0}")]
pub struct Unserialisable(#[from] serde_json::Error);

/// Returns an answer with a JSON body.
///
/// # Errors
///
/// [`Unserialisable`] if the body's own serialisation fails.
pub fn json(status: StatusCode, body: &impl Serialize) -> Result<Reply, Unserialisable> {
    let bytes = serde_json::to_vec(body)?;
    Ok(bytes_of(status, JSON, bytes))
}

pub fn text(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    bytes_of(status, "text/plain; charset=utf-8", body)
}

pub fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Payload::default());
    *reply.status_mut() = status;
    reply
}

pub fn bytes_of(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    with_payload(status, content_type, Payload::whole(body))
}

pub fn with_payload(status: StatusCode, content_type: &'static str, payload: Payload) -> Reply {
    let mut reply = Response::new(payload);
    *reply.status_mut() = status;
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}
