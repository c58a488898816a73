//! How an endpoint builds its answer. Bodies are whole: every answer of the
//! service is bounded.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::error::ApiError;

pub type Reply = Response<Full<Bytes>>;

pub const JSON: &str = "application/json; charset=utf-8";

pub fn json(status: StatusCode, body: &impl Serialize) -> Result<Reply, ApiError> {
    let bytes = serde_json::to_vec(body).map_err(ApiError::internal)?;
    Ok(bytes_of(status, JSON, bytes))
}

pub fn text(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    bytes_of(status, "text/plain; charset=utf-8", body)
}

pub fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = status;
    reply
}

pub fn bytes_of(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}
