//! The headers of the export of traces, as an operator writes them.

use std::fmt;

use percent_encoding::percent_decode_str;
use serde::Deserialize;

/// Headers that are sent with each export. They mostly hold a credential, so they are never shown.
#[derive(Clone, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct ExportHeaders(Vec<(String, String)>);

impl ExportHeaders {
    /// Returns names and values.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }
}

/// Headers by their place alone, since even a part of a value may be secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadExportHeader {
    #[error("header {0} is not name=value")]
    NoPair(usize),
    #[error("the name of header {0} is not a valid name of an HTTP header")]
    Name(usize),
    #[error("the value of header {0} has characters that HTTP does not allow")]
    Value(usize),
}

impl TryFrom<String> for ExportHeaders {
    type Error = BadExportHeader;

    fn try_from(text: String) -> Result<Self, BadExportHeader> {
        let mut headers = Vec::new();
        let parts = text.split(',').map(str::trim);
        for (place, part) in (1..).zip(parts.filter(|part| !part.is_empty())) {
            let (name, value) = part.split_once('=').ok_or(BadExportHeader::NoPair(place))?;
            let name = name.trim().to_ascii_lowercase();
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_name) {
                return Err(BadExportHeader::Name(place));
            }
            let value = percent_decode_str(value.trim()).decode_utf8();
            let value = value.map_err(|_| BadExportHeader::Value(place))?;
            if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
                return Err(BadExportHeader::Value(place));
            }
            headers.push((name, value.into_owned()));
        }
        Ok(Self(headers))
    }
}

impl fmt::Debug for ExportHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} header(s)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_or_refused_by_their_place() {
        let read = |text: &str| ExportHeaders::try_from(text.to_owned());
        let headers = read("Api-Key=a=b, authorization=Bearer%20x,").expect("valid");
        let expect = [("api-key", "a=b"), ("authorization", "Bearer x")];
        let expect = expect.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers.pairs(), expect);
        assert!(read("").expect("none").pairs().is_empty());
        let refused = |text: &str| read(text).expect_err("refused");
        assert_eq!(refused("a=b,secret"), BadExportHeader::NoPair(2));
        assert_eq!(refused("a b=c"), BadExportHeader::Name(1));
        assert_eq!(refused("a=b%0d%0ac"), BadExportHeader::Value(1));
    }
}
