//! What a delivery holds, in the forms that plugins ask for.

use serde_json::Value;

use crate::{Completion, Content, Delivery, HttpResponse, Problem, parse_json};

impl Delivery {
    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        first_header(&self.headers, name)
    }

    /// The media type of the body: lower case, without parameters; empty if unsaid.
    pub fn content_type(&self) -> String {
        media_type(self.header("content-type").unwrap_or_default())
    }

    /// The first query field of that name.
    pub fn query_field(&self, name: &str) -> Option<&str> {
        first_pair(&self.query, name)
    }

    /// An attribute of the place that the delivery came to: `time-zone`, `region`.
    pub fn context_value(&self, name: &str) -> Option<&str> {
        first_pair(&self.context, name)
    }

    /// The body as JSON; see [`content_json`].
    pub fn json(&self) -> Result<Value, Problem> {
        content_json(&self.body)
    }
}

impl Completion {
    /// An attribute of the place that the delivery came to: `time-zone`, `region`.
    pub fn context_value(&self, name: &str) -> Option<&str> {
        first_pair(&self.context, name)
    }

    /// The state as JSON; null where it is none.
    pub fn state_json(&self) -> Value {
        serde_json::from_slice(&self.state).unwrap_or(Value::Null)
    }
}

impl HttpResponse {
    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        first_header(&self.headers, name)
    }

    /// The body as JSON; see [`content_json`].
    pub fn json(&self) -> Result<Value, Problem> {
        content_json(&self.body)
    }

    /// `Retry-After` where it is in seconds. A date is not read: a guest's
    /// clock shows the time of the delivery, not of the answer.
    pub fn retry_after(&self) -> Option<u32> {
        self.header("retry-after")?.trim().parse().ok()
    }
}

/// The bytes of a body, whether it is text or not.
pub fn body_bytes(content: &Content) -> &[u8] {
    match content {
        Content::Text(text) => text.as_bytes(),
        Content::Bytes(bytes) => bytes,
    }
}

/// A body as text: UTF-8, else read as Latin-1, which old senders still use
/// and in which every byte has a meaning.
pub fn content_text(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().copied().map(char::from).collect(),
        },
    }
}

/// A body as JSON; tolerant of a byte order mark and of Latin-1.
pub fn content_json(content: &Content) -> Result<Value, Problem> {
    match content {
        Content::Text(text) => parse_json(text),
        Content::Bytes(_) => parse_json(&content_text(content)),
    }
}

/// The first header of that name, in any case.
pub fn first_header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

pub(crate) fn first_pair<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

pub(crate) fn media_type(header: &str) -> String {
    let (kind, _) = header.split_once(';').unwrap_or((header, ""));
    kind.trim().to_ascii_lowercase()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_in_any_case_and_the_first_counts() {
        let headers = [
            ("x-a".to_owned(), "1".to_owned()),
            ("X-A".to_owned(), "2".to_owned()),
        ];
        assert_eq!(first_header(&headers, "X-a"), Some("1"));
        assert_eq!(first_header(&headers, "x-b"), None);
    }

    #[test]
    fn the_media_type_is_bare() {
        assert_eq!(
            media_type("Application/JSON; charset=utf-8"),
            "application/json"
        );
        assert_eq!(media_type(""), "");
    }

    #[test]
    fn latin_1_bodies_are_read() {
        let body = Content::Bytes(b"{\"nome\":\"Jo\xe3o\"}".to_vec());
        assert_eq!(content_json(&body).unwrap()["nome"], "João");
    }
}
