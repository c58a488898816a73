//! The format of a body, found in its content: integrators name a file, and a source would send the
//! content type with it.

use serde::de::IgnoredAny;

/// The format of a body that the templates of plugins read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    Json,
    /// Fields as `name=value&…`, percent-encoded.
    Form,
}

impl BodyFormat {
    pub fn detect(body: &[u8]) -> Result<Self, String> {
        let body = without_mark(body);
        let error = match serde_json::from_slice::<IgnoredAny>(body) {
            Ok(_) => return Ok(Self::Json),
            Err(error) => error,
        };
        if is_form(body) {
            return Ok(Self::Form);
        }
        Err(format!(
            "it is neither JSON ({error}) nor a form such as name=Ana&phone=11987654321"
        ))
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Form => "application/x-www-form-urlencoded",
        }
    }
}

/// Returns a body without the byte order mark that some editors put in front of a text.
pub fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
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
    }

    #[test]
    fn a_body_of_another_format_is_refused_with_the_reason() {
        for body in [
            &b""[..],
            b"hello",
            b"a = b",
            b"<lead name=\"Ana\"/>",
            b"{\"a\":1",
            b"=x",
            b"a=\xff",
        ] {
            let said = BodyFormat::detect(body).expect_err("it has neither format");
            assert!(
                said.contains("neither JSON (") && said.contains("nor a form"),
                "{said}"
            );
        }
    }
}
