//! How a body has to be read, by what its sender says in `Content-Encoding`, and by the body itself.
//! Many senders put a charset there, and some proxies leave the coding of a body that they have decompressed.

use super::exchange::Pairs;

/// The codings that are decompressed, as `Accept-Encoding` lists them.
pub const DECODED: &str = "gzip, deflate, zstd";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentCoding {
    Gzip,
    Deflate,
    Zstd,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyCoding {
    /// It is not compressed.
    Plain,
    Coded(ContentCoding),
    /// Nobody here can decompress it: the coding that its sender names.
    Unknown(String),
}

impl BodyCoding {
    /// Returns the coding of a body. A body that is a text is not compressed, whatever its sender says.
    pub fn of(headers: &Pairs, body: &[u8]) -> Self {
        Self::of_values(values(headers), body)
    }

    /// The same by the values of its `Content-Encoding`.
    pub fn of_values<'v>(values: impl Iterator<Item = &'v str>, body: &[u8]) -> Self {
        let named = codings(values);
        if named.is_empty() || is_text(body) {
            return Self::Plain;
        }
        match named.as_str() {
            "gzip" | "x-gzip" => Self::Coded(ContentCoding::Gzip),
            "deflate" => Self::Coded(ContentCoding::Deflate),
            "zstd" => Self::Coded(ContentCoding::Zstd),
            other => Self::Unknown(other[..other.floor_char_boundary(SHOWN)].to_owned()),
        }
    }
}

/// Returns whether the body is a text although its sender says that it is compressed.
pub fn is_mislabelled(headers: &Pairs, body: &[u8]) -> bool {
    !codings(values(headers)).is_empty() && is_text(body)
}

fn values(headers: &Pairs) -> impl Iterator<Item = &str> {
    let named = headers.iter();
    let named = named.filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
    named.map(|(_, value)| value.as_str())
}

fn codings<'v>(values: impl Iterator<Item = &'v str>) -> String {
    let words = values.flat_map(|value| value.split(','));
    let named = words.filter(|word| !is_no_coding(word));
    let named: Vec<String> = named.map(|word| word.trim().to_ascii_lowercase()).collect();
    named.join(", ")
}

/// Bytes that are shown of a coding.
const SHOWN: usize = 64;

/// Whether the word is a charset, a media type, or another word that does not say that the body is compressed.
pub fn is_no_coding(word: &str) -> bool {
    let word = word.trim().to_ascii_lowercase();
    const CHARSETS: [&str; 9] = [
        "utf", "iso", "latin", "windows-", "cp", "ascii", "us-ascii", "unicode", "charset",
    ];
    const OTHERS: [&str; 10] = [
        "", "identity", "none", "binary", "7bit", "8bit", "text", "plain", "raw", "json",
    ];
    OTHERS.contains(&word.as_str())
        || CHARSETS.iter().any(|begin| word.starts_with(begin))
        || word.contains('/')
}

/// Whether nothing in the body is binary: a text in UTF-8, or JSON in another charset.
fn is_text(body: &[u8]) -> bool {
    let is_binary = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let is_json = || matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
    !body.iter().any(is_binary) && (is_json() || std::str::from_utf8(body).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_coding_is_passed_over() {
        let packed = b"\x1f\x8b\x08\x00 packed";
        let check = |values: &[&str], expect: BodyCoding| {
            let headers: Pairs = values
                .iter()
                .map(|value| ("Content-Encoding".to_owned(), (*value).to_owned()))
                .collect();
            assert_eq!(BodyCoding::of(&headers, packed), expect, "{values:?}");
        };
        let unknown = |words: &str| BodyCoding::Unknown(words.to_owned());
        for none in [
            &[][..],
            &["identity", ""],
            &["UTF-8"],
            &["utf8"],
            &["iso-8859-1"],
            &["Latin1, windows-1252"],
            &["charset=utf-8"],
            &["application/json"],
            &["none"],
            &["binary"],
            &["8bit"],
        ] {
            check(none, BodyCoding::Plain);
        }
        check(&["GZip"], BodyCoding::Coded(ContentCoding::Gzip));
        check(&["utf-8, gzip"], BodyCoding::Coded(ContentCoding::Gzip));
        check(&["utf-8", "x-gzip"], BodyCoding::Coded(ContentCoding::Gzip));
        check(&["deflate"], BodyCoding::Coded(ContentCoding::Deflate));
        check(&["zstd"], BodyCoding::Coded(ContentCoding::Zstd));
        check(&["br"], unknown("br"));
        check(&["gzip", "zstd"], unknown("gzip, zstd"));
        check(&["gzip, gzip"], unknown("gzip, gzip"));
        check(&["é".repeat(90).as_str()], unknown(&"é".repeat(32)));
    }

    #[test]
    fn a_body_that_is_a_text_is_not_compressed() {
        let coded = |body: &[u8]| {
            let headers = vec![("content-encoding".to_owned(), "br".to_owned())];
            BodyCoding::of(&headers, body) != BodyCoding::Plain
        };
        for text in [
            &br#"{"name":"Ana"}"#[..],
            b" \r\n\t[{}]",
            b"name=Ana&phone=11",
            b"{\"name\":\"Jo\xe3o\"}",
            "olá".as_bytes(),
            b"",
        ] {
            assert!(!coded(text), "{text:?}");
        }
        // The last ones are brotli and deflate without a frame.
        for packed in [
            &b"\x1f\x8b\x08\x00"[..],
            b"\x28\xb5\x2f\xfd\x04",
            b"\x78\x9c\xab\xae\x05\x00",
            b"\x0b\x02\x80{\"a\":1}\x03",
            b"\x5b\xff\xaf\x02\xc0\x22\x79",
            b"\xab\x56\xca\x4b\xcc\x4d\x55\xb2",
        ] {
            assert!(coded(packed), "{packed:?}");
        }
    }
}
