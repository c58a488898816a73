use hyper::header::{CONTENT_TYPE, HOST, ORIGIN};
use sha2::{Digest as _, Sha256};

use super::api::ApiRefusal;
use super::multipart;
use crate::prelude::*;

/// The field that each form of a session carries, so that no other site can send it.
pub const TOKEN: &str = "form-token";

/// The fields of a sent form, and its file.
#[derive(Debug, Default)]
pub struct Form {
    fields: Vec<(String, String)>,
    file: Option<Bytes>,
}

impl Form {
    /// Reads a form of at most `limit` bytes, URL-encoded or in parts as browsers send it.
    pub async fn read(call: &Call<'_>, body: UnreadBody, limit: usize) -> Result<Self, ApiRefusal> {
        check_origin(call)?;
        let body = body.read(call.http, limit).await?;
        let kind = call.head.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let Some(boundary) = multipart::boundary(kind) else {
            return Ok(Self::parse(&body.bytes));
        };
        let parts = multipart::parts(&body.bytes, boundary)
            .ok_or_else(|| ApiRefusal::new(StatusCode::BAD_REQUEST, "The form cannot be read."))?;
        let (mut fields, mut file) = (Vec::new(), None);
        for part in parts {
            if part.is_file {
                file = Some(part.content)
            } else {
                fields.push((
                    part.name,
                    String::from_utf8_lossy(&part.content).into_owned(),
                ))
            }
        }
        Ok(Self { fields, file })
    }

    fn parse(bytes: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(bytes);
        Self {
            fields: pairs
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
            file: None,
        }
    }

    pub fn file(&self) -> Option<&Bytes> {
        self.file.as_ref().filter(|file| !file.is_empty())
    }

    /// Returns the value of a field as it was typed, or an empty text.
    pub fn text(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns the value of a field, or an empty text.
    pub fn get(&self, name: &str) -> &str {
        self.text(name).trim()
    }

    /// Returns the value of a field that is not blank.
    pub fn filled(&self, name: &str) -> Option<String> {
        Some(self.get(name))
            .filter(|value| !value.is_empty())
            .map(str::to_owned)
    }

    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(key, _)| key == name)
    }

    /// Returns the values of a field that may be repeated.
    pub fn all(&self, name: &str) -> Vec<String> {
        let named = self.fields.iter().filter(|(key, _)| key == name);
        named.map(|(_, value)| value.trim().to_owned()).collect()
    }

    pub fn check(&self, token: &str) -> Result<(), ApiRefusal> {
        // Digests are compared, so timing reveals nothing about the tokens.
        if Sha256::digest(self.get(TOKEN)) == Sha256::digest(token) {
            return Ok(());
        }
        Err(ApiRefusal::new(
            StatusCode::FORBIDDEN,
            "Nothing was saved: you have signed in again since this page was loaded, and its form belongs to the session before. Your browser's Back shows what you typed: copy it, load that page again, and send it from there.",
        ))
    }
}

/// Checks that the form comes from a page at this address. Every browser says where a form comes from.
pub fn check_origin(call: &Call<'_>) -> Result<(), ApiRefusal> {
    let text = |name| {
        call.head
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let host = text(HOST).unwrap_or_default();
    let is_own = text(ORIGIN).is_some_and(|origin| is_origin_of(origin, host));
    if is_own {
        return Ok(());
    }
    Err(ApiRefusal::new(
        StatusCode::FORBIDDEN,
        "The form does not come from a page of this service.",
    ))
}

pub fn is_origin_of(origin: &str, host: &str) -> bool {
    let authority = origin
        .strip_prefix("https://")
        .or_else(|| origin.strip_prefix("http://"));
    authority.is_some_and(|authority| !host.is_empty() && authority.eq_ignore_ascii_case(host))
}

pub fn encoded(text: &str) -> Cow<'_, str> {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_another_origin_is_not_taken() {
        let check = |origin: &str, expect: bool| {
            assert_eq!(is_origin_of(origin, "127.0.0.1:8081"), expect, "{origin}");
        };
        check("http://127.0.0.1:8081", true);
        check("https://127.0.0.1:8081", true);
        check("http://127.0.0.1:8082", false);
        check("http://evil.example", false);
        check("http://127.0.0.1:8081.evil.example", false);
        check("null", false);
        check("", false);
        assert!(!is_origin_of("http://", ""));
    }

    #[test]
    fn fields_are_decoded_and_an_absent_one_is_empty() {
        let form = Form::parse(b"name=Rita+Moura&accept=drift&accept=older&empty=+&form-token=abc");
        assert_eq!(form.get("name"), "Rita Moura");
        assert_eq!(form.all("accept"), ["drift", "older"]);
        assert_eq!(form.filled("empty"), None);
        assert!(form.has("empty") && !form.has("absent"));
        assert!(form.check("abc").is_ok());
        assert!(form.check("abd").is_err());
        assert!(Form::parse(b"").check("abc").is_err());
    }
}
