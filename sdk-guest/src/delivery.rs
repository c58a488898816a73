//! Access to the parts of a delivery.

use serde_json::Value;

use crate::{Completion, Content, Delivery, HttpResponse, Problem, parse_json, reading};

impl Delivery {
    /// Returns the first header of that name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        first_header(&self.headers, name)
    }

    /// Returns the media type of the body: lower case, without parameters; empty if
    /// there is none.
    pub fn content_type(&self) -> String {
        media_type(self.header("content-type").unwrap_or_default())
    }

    /// Returns the first query field of that name.
    pub fn query_field(&self, name: &str) -> Option<&str> {
        first_pair(&self.query, name)
    }

    /// Returns a value of the connection's context: `time-zone`, `region`.
    pub fn context_value(&self, name: &str) -> Option<&str> {
        first_pair(&self.context, name)
    }

    /// Returns the body as JSON; see [`content_json`].
    ///
    /// # Errors
    ///
    /// [`Problem`] if the body is not JSON.
    pub fn json(&self) -> Result<Value, Problem> {
        content_json(&self.body)
    }
}

impl Completion {
    /// Returns a value of the connection's context: `time-zone`, `region`.
    pub fn context_value(&self, name: &str) -> Option<&str> {
        first_pair(&self.context, name)
    }

    /// Returns the state as JSON; null if it is not JSON.
    pub fn state_json(&self) -> Value {
        serde_json::from_slice(&self.state).unwrap_or(Value::Null)
    }
}

impl HttpResponse {
    /// Returns the first header of that name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        first_header(&self.headers, name)
    }

    /// Returns the body as JSON; see [`content_json`].
    ///
    /// # Errors
    ///
    /// [`Problem`] if the body is not JSON.
    pub fn json(&self) -> Result<Value, Problem> {
        content_json(&self.body)
    }

    /// Returns `Retry-After` in seconds. The host turns a date, or a fraction, into
    /// whole seconds, since a guest's clock shows the time of the delivery.
    pub fn retry_after(&self) -> Option<u32> {
        self.header("retry-after")?.trim().parse().ok()
    }
}

/// Returns the bytes of a body, whether it is text or not.
pub fn body_bytes(content: &Content) -> &[u8] {
    match content {
        Content::Text(text) => text.as_bytes(),
        Content::Bytes(bytes) => bytes,
    }
}

/// Returns a body as text: of UTF-8, whose bad sequences are U+FFFD each, or else of windows-1252,
/// which old senders still use.
pub fn content_text(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Bytes(bytes) => reading::decode(bytes).into_owned(),
    }
}

/// Returns a body as JSON. Accepts a byte order mark, and what [`content_text`] and [`parse_json`]
/// accept.
///
/// # Errors
///
/// [`Problem`] if the body is empty or not valid JSON.
pub fn content_json(content: &Content) -> Result<Value, Problem> {
    match content {
        Content::Text(text) => parse_json(text),
        Content::Bytes(_) => parse_json(&content_text(content)),
    }
}

/// Returns the first header of that name, ignoring case.
pub fn first_header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// Returns the first value of that name.
pub(crate) fn first_pair<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

/// Returns the media type of a `Content-Type` header in lower case, without parameters.
pub(crate) fn media_type(header: &str) -> String {
    let (kind, _) = header.split_once(';').unwrap_or((header, ""));
    kind.trim().to_ascii_lowercase()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn header_names_ignore_case_and_the_first_header_counts() {
        let headers = [
            ("x-a".to_owned(), "1".to_owned()),
            ("X-A".to_owned(), "2".to_owned()),
        ];
        assert_eq!(first_header(&headers, "X-a"), Some("1"));
        assert_eq!(first_header(&headers, "x-b"), None);
    }

    #[test]
    fn the_media_type_has_no_parameters() {
        assert_eq!(
            media_type("Application/JSON; charset=utf-8"),
            "application/json"
        );
        assert_eq!(media_type(""), "");
    }

    #[test]
    fn bodies_of_windows_1252_and_of_utf_8_with_a_fault_are_read() {
        for (name, expect) in [
            (&b"Jo\xe3o D\x92\xc1vila"[..], "João D’Ávila"),
            (b"Jo\xc3\xa3o \xf0\x9f\x98", "João \u{fffd}"),
            (b"Jo\xe3o \\ud83d", "João \u{fffd}"),
        ] {
            let body = Content::Bytes([b"{\"nome\":\"", name, b"\"}"].concat());
            assert_eq!(content_json(&body).unwrap()["nome"], expect);
        }
    }
}
