//! The id of a request: the caller's own if it may be repeated, otherwise a new one. It is on
//! every answer and on every log line.

use std::fmt;

use crate::prelude::*;
use leadhost_domain::id::uuid_at;
use leadhost_trace::{TRACEPARENT, TraceId, TraceParent};

pub const HEADER: &str = "x-request-id";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// Takes the caller's id if it is 1 to [`limits::REQUEST_ID_BYTES`] visible ASCII
    /// characters, otherwise a new one.
    pub fn from_headers(headers: &HeaderMap, now: Micros) -> Self {
        match headers.get(HEADER) {
            Some(value)
                if (1..=limits::REQUEST_ID_BYTES).contains(&value.len())
                    && value.as_bytes().iter().all(u8::is_ascii_graphic) =>
            {
                Self(value.clone())
            }
            _ => Self::new(now),
        }
    }

    /// Returns a new id of 32 hexadecimal digits, which begins with the time.
    pub fn new(now: Micros) -> Self {
        let mut text = [0u8; uuid::fmt::Simple::LENGTH];
        let text = uuid_at(now).as_simple().encode_lower(&mut text);
        Self(HeaderValue::from_str(text).expect("hexadecimal digits fit a header"))
    }

    pub fn as_str(&self) -> &str {
        self.0.to_str().expect("visible ASCII by construction")
    }

    pub fn trace(&self) -> TraceId {
        TraceId::parse(self.as_str()).unwrap_or_else(TraceId::random)
    }

    pub fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the caller's trace and span from a valid W3C `traceparent`. An invalid one counts as none,
/// as several do.
pub fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    let mut found = headers.get_all(TRACEPARENT).iter();
    let (first, second) = (found.next()?, found.next());
    TraceParent::parse(first.to_str().ok()?).filter(|_| second.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &[u8]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_bytes(value).expect("a header"));
        headers
    }

    #[test]
    fn a_valid_id_of_the_caller_is_kept() {
        let kept = RequestId::from_headers(&with(HEADER, b"order-17/a"), Micros(0));
        assert_eq!(kept.as_str(), "order-17/a");
        for unfit in [&b""[..], b"two words", "é".as_bytes(), &[b'x'; 129]] {
            let made = RequestId::from_headers(&with(HEADER, unfit), Micros(0));
            assert_eq!(made.as_str().len(), 32);
        }
    }

    #[test]
    fn one_traceparent_is_read_and_several_are_ignored() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let mut headers = with(TRACEPARENT, text.as_bytes());
        assert!(trace_parent(&headers).is_some());
        headers.append(TRACEPARENT, HeaderValue::from_static(text));
        assert!(trace_parent(&headers).is_none());
    }
}
