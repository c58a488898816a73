//! The format of a body, found in its content: integrators name a file, and a source would send the
//! content type with it.

use leadhost_sdk::{Content, multipart, xml};
use serde::de::IgnoredAny;

/// The format of a body that the SDKs read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    Json,
    Xml,
    /// Fields as `name=value&…`, percent-encoded.
    Form,
    /// The parts of a form, with the line between them.
    Multipart(String),
}

impl BodyFormat {
    pub fn detect(body: &[u8]) -> Result<Self, String> {
        let body = without_mark(body);
        let error = match serde_json::from_slice::<IgnoredAny>(body) {
            Ok(_) => return Ok(Self::Json),
            Err(error) => error,
        };
        if let Some(boundary) = boundary(body) {
            return Ok(Self::Multipart(boundary));
        }
        if body.trim_ascii_start().starts_with(b"<") {
            let read = xml::parse(&String::from_utf8_lossy(body));
            return read.map(|_| Self::Xml).map_err(|problem| problem.message);
        }
        if is_form(body) {
            return Ok(Self::Form);
        }
        Err(format!(
            "it is neither JSON ({error}) nor XML nor a form such as name=Ana&phone=11987654321"
        ))
    }

    pub fn content_type(&self) -> String {
        match self {
            Self::Json => "application/json".to_owned(),
            Self::Xml => "application/xml".to_owned(),
            Self::Form => "application/x-www-form-urlencoded".to_owned(),
            Self::Multipart(boundary) => format!("multipart/form-data; boundary=\"{boundary}\""),
        }
    }

    /// The name of a file with such a body.
    pub fn file_name(&self) -> &'static str {
        match self {
            Self::Json => "body.json",
            Self::Xml => "body.xml",
            Self::Form | Self::Multipart(_) => "body.txt",
        }
    }
}

/// Returns a body without the byte order mark that some editors put in front of a text.
pub fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// Returns the line between the parts of a body, if it is a form in parts.
fn boundary(body: &[u8]) -> Option<String> {
    multipart::detect(&Content::Bytes(body.to_vec()))?;
    let text = std::str::from_utf8(body.trim_ascii_start()).ok()?;
    let line = text.lines().next()?.trim_end();
    line.strip_prefix("--").map(str::to_owned)
}

/// In a form everything but letters, digits and few signs is percent-encoded; people write other
/// letters as they are, in UTF-8.
fn is_form(body: &[u8]) -> bool {
    let is_plain =
        |byte: &u8| !byte.is_ascii() || byte.is_ascii_graphic() && !b"<>{}\"'\\^`|".contains(byte);
    if std::str::from_utf8(body).is_err() {
        return false;
    }
    let body = body.trim_ascii_end();
    let mut fields = body.split(|byte| *byte == b'&');
    let is_named = |field: &[u8]| field.first().is_some_and(|first| *first != b'=');
    body.contains(&b'=') && body.iter().all(is_plain) && fields.any(is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_found_in_the_content() {
        let check = |body: &str, expect: BodyFormat| {
            assert_eq!(BodyFormat::detect(body.as_bytes()), Ok(expect), "{body}");
        };
        check("{\"id\": 9007199254740993}\n", BodyFormat::Json);
        check("[]", BodyFormat::Json);
        check("name=Ana+Prado&phone=%2B5511987654321", BodyFormat::Form);
        check("name=Ana&phone=\n", BodyFormat::Form);
        check("name=Zélia+Prado&phone=11987654321", BodyFormat::Form);
        check("\u{feff}{\"id\": 1}", BodyFormat::Json);
        check("\u{feff}name=Ana&phone=1", BodyFormat::Form);
        check("<lead name=\"Ana\"/>", BodyFormat::Xml);
        check(
            "--x-1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x-1--\r\n",
            BodyFormat::Multipart("x-1".to_owned()),
        );
    }

    #[test]
    fn a_body_of_another_format_is_refused_with_the_reason() {
        for body in [&b""[..], b"hello", b"a = b", b"{\"a\":1", b"=x", b"a=\xff"] {
            let said = BodyFormat::detect(body).expect_err("it has neither format");
            assert!(
                said.contains("neither JSON (") && said.contains("nor a form"),
                "{said}"
            );
        }
    }
}
