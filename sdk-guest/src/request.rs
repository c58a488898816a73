//! Requests that the host makes for a plugin.
//!
//! A text is a list of segments: literals pass unchanged, and the host fills slots
//! at the last moment. No text of a lead can become a slot, because only the
//! functions here create slots.

use std::fmt::Write;

use crate::{HttpRequest, Problem, Segment, Slot, SlotArgument};

impl HttpRequest {
    /// A GET of an absolute URL; its path and query are taken as literals.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the URL is not absolute, or its scheme is neither `http` nor `https`.
    pub fn get(url: &str) -> Result<Self, Problem> {
        Self::new("GET", url)
    }

    /// A POST to an absolute URL; its path and query are taken as literals.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the URL is not absolute, or its scheme is neither `http` nor `https`.
    pub fn post(url: &str) -> Result<Self, Problem> {
        Self::new("POST", url)
    }

    /// A request to an absolute URL: `http` or `https`, no user, no fragment.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the URL has another scheme, no host, a user, a fragment, a space, a backslash or
    /// a control character.
    pub fn new(method: &str, url: &str) -> Result<Self, Problem> {
        let wrong = |what: &str| Problem::new(format!("the address `{url}` of a request {what}"));
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| wrong("has no scheme"))?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "https" && scheme != "http" {
            return Err(wrong("is neither http nor https"));
        }
        if url.contains(|c: char| c.is_ascii_control() || c == ' ' || c == '\\' || c == '#') {
            return Err(wrong(
                "has a space, a backslash, a fragment or a control character",
            ));
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if authority.is_empty() || authority.contains('@') {
            return Err(wrong("has no host, or names a user"));
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        Ok(Self {
            method: method.into(),
            scheme,
            authority: authority.to_ascii_lowercase(),
            path: vec![lit(if path.is_empty() { "/" } else { path })],
            query: form_urlencoded::parse(query.as_bytes())
                .map(|(name, value)| (name.into_owned(), vec![lit(value)]))
                .collect(),
            headers: Vec::new(),
            body: Vec::new(),
        })
    }

    /// Adds a segment to the path. The text is always one segment: it is
    /// percent-encoded, including slashes and dots.
    pub fn step(mut self, text: &str) -> Self {
        let encoded = encode_step(text);
        match self.path.last_mut() {
            Some(Segment::Literal(path)) => {
                if !path.ends_with('/') {
                    path.push('/');
                }
                path.push_str(&encoded);
            }
            _ => self.path.push(Segment::Literal(format!("/{encoded}"))),
        }
        self
    }

    /// Adds a query field; the host percent-encodes names and values.
    pub fn query(mut self, name: &str, value: impl IntoSegments) -> Self {
        self.query.push((name.into(), value.into_segments()));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl IntoSegments) -> Self {
        self.headers.push((name.into(), value.into_segments()));
        self
    }

    /// Sets the body and its type.
    pub fn body(self, content_type: &str, body: impl IntoSegments) -> Self {
        let mut request = self.header("content-type", content_type);
        request.body = body.into_segments();
        request
    }
}

/// Types that a text of a request or reply may have.
pub trait IntoSegments {
    /// Returns the segments, in order.
    fn into_segments(self) -> Vec<Segment>;
}

impl IntoSegments for Segment {
    fn into_segments(self) -> Vec<Segment> {
        vec![self]
    }
}

impl IntoSegments for &str {
    fn into_segments(self) -> Vec<Segment> {
        vec![lit(self)]
    }
}

impl IntoSegments for String {
    fn into_segments(self) -> Vec<Segment> {
        vec![lit(self)]
    }
}

impl IntoSegments for Vec<Segment> {
    fn into_segments(self) -> Vec<Segment> {
        self
    }
}

impl<const N: usize> IntoSegments for [Segment; N] {
    fn into_segments(self) -> Vec<Segment> {
        self.into()
    }
}

/// A literal text.
pub fn lit(text: impl Into<String>) -> Segment {
    Segment::Literal(text.into())
}

/// The value of a secret of the connection. A name may be qualified:
/// `page-token/1234`.
pub fn secret(name: impl Into<String>) -> Segment {
    slot("secret", vec![secret_argument(name)])
}

/// `Basic` and the base64 of a user and a password, both secrets.
pub fn basic(user: impl Into<String>, password: impl Into<String>) -> Segment {
    slot(
        "basic",
        vec![secret_argument(user), secret_argument(password)],
    )
}

/// A hex HMAC-SHA256: the key is a secret, the message the arguments in order.
pub fn hmac_hex(
    key: impl Into<String>,
    message: impl IntoIterator<Item = SlotArgument>,
) -> Segment {
    hmac("hmac-sha256-hex", key, message)
}

/// A base64 HMAC-SHA256: the key is a secret, the message the arguments in order.
pub fn hmac_base64(
    key: impl Into<String>,
    message: impl IntoIterator<Item = SlotArgument>,
) -> Segment {
    hmac("hmac-sha256-base64", key, message)
}

/// A secret as an argument of a slot's function.
pub fn secret_argument(name: impl Into<String>) -> SlotArgument {
    SlotArgument::Secret(name.into())
}

/// A literal text as an argument of a slot's function.
pub fn literal_argument(text: impl Into<String>) -> SlotArgument {
    SlotArgument::Literal(text.into())
}

fn hmac(
    function: &str,
    key: impl Into<String>,
    message: impl IntoIterator<Item = SlotArgument>,
) -> Segment {
    let args = std::iter::once(secret_argument(key)).chain(message);
    slot(function, args.collect())
}

fn slot(function: &str, args: Vec<SlotArgument>) -> Segment {
    Segment::Slot(Slot {
        function: function.into(),
        args,
    })
}

/// Percent-encodes all but letters, digits, `-`, `_` and `~`. A lone `.` or
/// `..` would climb the path, so dots are encoded where they are all of it.
fn encode_step(text: &str) -> String {
    let climbs = !text.is_empty() && text.bytes().all(|byte| byte == b'.');
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'~')
            || (byte == b'.' && !climbs);
        if plain {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let request = HttpRequest::get("https://API.example.com:8443/v1/?a=b%20c")
            .unwrap()
            .step("x/../y")
            .query("token", secret("token"));
        assert_eq!(request.scheme, "https");
        assert_eq!(request.authority, "api.example.com:8443");
        assert_eq!(request.path, [lit("/v1/x%2F..%2Fy")]);
        assert_eq!(request.query[0], ("a".into(), vec![lit("b c")]));
        assert_eq!(request.query[1].1, [secret("token")]);
    }

    #[test]
    fn a_bare_host_has_the_root_path() {
        assert_eq!(
            HttpRequest::get("https://a.example").unwrap().path,
            [lit("/")]
        );
        let request = HttpRequest::get("https://a.example?x=1")
            .unwrap()
            .step("..");
        assert_eq!(request.path, [lit("/%2E%2E")]);
    }

    #[test]
    fn addresses_that_could_mislead_are_refused() {
        for url in [
            "",
            "a.example/x",
            "ftp://a.example",
            "https://",
            "https:///x",
            "https://user@a.example/",
            "https://a.example/x y",
            "https://a.example\\@b.example/",
            "https://a.example/#x",
            "https://a.example/\r\nx: y",
        ] {
            assert!(HttpRequest::get(url).is_err(), "{url} should be refused");
        }
    }
}
