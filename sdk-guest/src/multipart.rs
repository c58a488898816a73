//! `multipart/form-data` bodies: form builders wrap their JSON in one.
//!
//! The delimiter is searched only at the beginning of a line, so the parser is
//! linear in the body. A missing last delimiter is tolerated; parts and headers are
//! bounded.

use serde_json::Value;

use crate::{Content, Problem, body_bytes, content_json, content_text, delivery::media_type, form};

/// One part of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// The field's name; may be empty.
    pub name: String,
    /// The file's name, if the part is a file.
    pub file_name: Option<String>,
    /// The media type, lower case, without parameters; empty if there is none.
    pub content_type: String,
    pub body: &'a [u8],
}

impl Part<'_> {
    /// Returns the part as text, as [`content_text`] does.
    pub fn text(&self) -> String {
        content_text(&Content::Bytes(self.body.into()))
    }

    /// Returns the part as JSON.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the part is not JSON.
    pub fn json(&self) -> Result<Value, Problem> {
        content_json(&Content::Bytes(self.body.into()))
    }
}

/// Returns the parts of a body with this `content-type` header.
///
/// # Errors
///
/// [`Problem`] if the content type is not `multipart/form-data` with a boundary, or the body has no
/// delimiter, too many parts, or a part with too long headers.
pub fn parts<'a>(content_type: &str, body: &'a Content) -> Result<Vec<Part<'a>>, Problem> {
    if media_type(content_type) != "multipart/form-data" {
        return Err(Problem::new(format!(
            "the content type is `{content_type}`, multipart/form-data was expected"
        )));
    }
    let boundary = parameter(content_type, "boundary")
        .filter(|boundary| (1..=MAX_BOUNDARY).contains(&boundary.len()))
        .ok_or_else(|| Problem::new("the multipart body's boundary is missing or too long"))?;
    split(body_bytes(body), format!("--{boundary}").as_bytes())
}

/// Returns the parts of a body whose own lines say that it is `multipart/form-data`, whatever its content
/// type: it begins with a delimiter, and the headers below that have `Content-Disposition: form-data`.
pub fn detect(body: &Content) -> Option<Vec<Part<'_>>> {
    let body = body_bytes(body);
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let body = body.trim_ascii_start();
    let mut lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let delimiter = lines.next()?;
    let boundary = delimiter.strip_prefix(b"--")?.len();
    let is_form = |line: &[u8]| {
        let line = String::from_utf8_lossy(line).to_ascii_lowercase();
        let (name, value) = line.split_once(':').unwrap_or_default();
        name.trim() == "content-disposition" && media_type(value) == "form-data"
    };
    let mut headers = lines.take_while(|line| !line.is_empty());
    if !(1..=MAX_BOUNDARY).contains(&boundary) || !headers.any(is_form) {
        return None;
    }
    split(body, delimiter).ok()
}

/// Returns the text fields among the parts as pairs, for [`crate::form::tree_of`].
pub fn text_fields(parts: &[Part<'_>]) -> Vec<(String, String)> {
    parts
        .iter()
        .filter(|part| part.file_name.is_none())
        .map(|part| (part.name.clone(), part.text()))
        .collect()
}

/// Returns the parts as a tree, see [`crate::form::tree_of`]: of a file, its name.
pub fn tree(parts: &[Part<'_>]) -> Value {
    let fields = parts.iter().map(|part| {
        let text = part.file_name.clone().unwrap_or_else(|| part.text());
        (part.name.clone(), text)
    });
    form::tree_of(&fields.collect::<Vec<_>>())
}

/// RFC 2046 allows 70 characters; some senders use a few more.
const MAX_BOUNDARY: usize = 200;
/// A form has some dozen fields.
const MAX_PARTS: usize = 1000;
/// Bytes of the headers of one part.
const MAX_HEADER_BYTES: usize = 8 * 1024;

fn split<'a>(body: &'a [u8], delimiter: &[u8]) -> Result<Vec<Part<'a>>, Problem> {
    let mut out = Vec::new();
    let mut begin: Option<usize> = None;
    let mut line = 0;
    loop {
        if let Some(after) = body[line..].strip_prefix(delimiter) {
            let last = after.starts_with(b"--");
            let rest = after.strip_prefix(b"--").unwrap_or(after);
            let end_of_line = rest
                .iter()
                .position(|byte| !matches!(byte, b' ' | b'\t' | b'\r'))
                .unwrap_or(rest.len());
            if rest.get(end_of_line).is_none_or(|byte| *byte == b'\n') {
                if let Some(begin) = begin {
                    push(&mut out, trim_line_end(&body[begin..line.max(begin)]))?;
                }
                if last {
                    return Ok(out);
                }
                let next = body.len() - rest.len() + end_of_line + 1;
                begin = Some(next.min(body.len()));
            }
        }
        match body[line..].iter().position(|byte| *byte == b'\n') {
            Some(length) => line += length + 1,
            None => break,
        }
    }
    match begin {
        Some(begin) if begin < body.len() => {
            push(&mut out, trim_line_end(&body[begin..]))?;
            Ok(out)
        }
        Some(_) => Ok(out),
        None => Err(Problem::new("the multipart body has no delimiter in it")),
    }
}

fn push<'a>(out: &mut Vec<Part<'a>>, part: &'a [u8]) -> Result<(), Problem> {
    if out.len() == MAX_PARTS {
        return Err(Problem::new(format!(
            "the multipart body has more than {MAX_PARTS} parts"
        )));
    }
    // A part without headers begins with an empty line.
    let (headers, body) = match part {
        [b'\n', body @ ..] | [b'\r', b'\n', body @ ..] => (&part[..0], body),
        _ => blank_line(part).unwrap_or((part, &part[part.len()..])),
    };
    if headers.len() > MAX_HEADER_BYTES {
        return Err(Problem::new(
            "a part of the multipart body has too long headers",
        ));
    }
    let headers = content_text(&Content::Bytes(headers.into()));
    let mut part = Part {
        name: String::new(),
        file_name: None,
        content_type: String::new(),
        body,
    };
    for line in headers.lines() {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name.trim().eq_ignore_ascii_case("content-disposition") {
            part.name = parameter(value, "name").unwrap_or_default();
            part.file_name = parameter(value, "filename");
        } else if name.trim().eq_ignore_ascii_case("content-type") {
            part.content_type = media_type(value);
        }
    }
    out.push(part);
    Ok(())
}

/// Returns the bytes before and after the first empty line.
fn blank_line(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut line = 0;
    loop {
        let end = line + part[line..].iter().position(|byte| *byte == b'\n')?;
        let after = &part[end + 1..];
        match after {
            [b'\n', body @ ..] | [b'\r', b'\n', body @ ..] => return Some((&part[..end], body)),
            _ => line = end + 1,
        }
    }
}

fn trim_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// Returns a parameter of a header: `name=value` or `name="value"`.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let mut characters = header.chars().peekable();
    // Skip the header's own value.
    characters.by_ref().find(|character| *character == ';')?;
    loop {
        while characters
            .next_if(|character| *character == ';' || character.is_whitespace())
            .is_some()
        {}
        characters.peek()?;
        let mut name = String::new();
        while let Some(character) = characters.next_if(|c| *c != '=' && *c != ';') {
            name.push(character);
        }
        if characters.next_if_eq(&'=').is_none() {
            continue;
        }
        let mut value = String::new();
        if characters.next_if_eq(&'"').is_some() {
            while let Some(character) = characters.next() {
                match character {
                    '"' => break,
                    '\\' => match characters.next_if(|c| *c == '"' || *c == '\\') {
                        Some(escaped) => value.push(escaped),
                        // A Windows path, as old browsers sent it.
                        None => value.push('\\'),
                    },
                    other => value.push(other),
                }
            }
        } else {
            while let Some(character) = characters.next_if(|c| *c != ';') {
                value.push(character);
            }
            value.truncate(value.trim_end().len());
        }
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; charset=utf-8; boundary=\"xYz\"";

    fn body(text: &str) -> Content {
        Content::Text(text.into())
    }

    fn sample() -> String {
        "preamble\r\n--xYz\r\nContent-Disposition: form-data; name=\"rawRequest\"\r\n\
         Content-Type: application/json; charset=utf-8\r\n\r\n{\"a\":\r\n\"--x\"}\r\n\
         --xYz \r\ncontent-disposition: form-data; filename=\"a\\\"b;c.txt\"; name=file\r\n\r\n\
         line\r\n--xYzz\r\n\r\n--xYz--\r\nepilogue"
            .replace("         ", "")
    }

    #[test]
    fn parts_come_with_names_types_and_bodies() {
        let body = body(&sample());
        let parts = parts(TYPE, &body).unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].name, "rawRequest");
        assert_eq!(parts[0].content_type, "application/json");
        assert_eq!(parts[0].json().unwrap()["a"], "--x");
        assert_eq!(parts[1].name, "file");
        assert_eq!(parts[1].file_name.as_deref(), Some("a\"b;c.txt"));
        assert_eq!(parts[1].body, b"line\r\n--xYzz\r\n");
        let fields = text_fields(&parts);
        assert_eq!(fields.len(), 1);
    }

    #[test]
    fn a_missing_last_delimiter_and_bare_newlines_are_tolerated() {
        let body = body("--xYz\nContent-Disposition: form-data; name=a\n\nv");
        let parts = parts(TYPE, &body).unwrap();
        assert_eq!((parts[0].name.as_str(), parts[0].body), ("a", &b"v"[..]));
    }

    #[test]
    fn names_and_texts_that_are_not_utf_8_are_read_by_themselves() {
        let mut bytes =
            b"--xYz\r\nContent-Disposition: form-data; name=\"observa\xe7\xe3o\"\r\n\r\n".to_vec();
        bytes.extend("olá\r\n--xYz--".as_bytes());
        let body = Content::Bytes(bytes);
        let fields = text_fields(&parts(TYPE, &body).unwrap());
        assert_eq!(fields, [("observação".to_owned(), "olá".to_owned())]);
    }

    #[test]
    fn a_body_is_known_by_its_own_lines() {
        let check = |text: &str, expect: Option<&[&str]>| {
            let body = body(text);
            let found = detect(&body).map(|parts| {
                let parts = parts.iter();
                parts.map(|part| part.name.clone()).collect::<Vec<_>>()
            });
            let expect = expect.map(|names| names.iter().map(ToString::to_string).collect());
            assert_eq!(found, expect, "{text}");
        };
        let part = |name: &str| {
            format!("--x \r\nX: y\r\ncontent-disposition : Form-Data; name={name}\r\n\r\nv\r\n")
        };
        let two = format!("{}{}--x--\r\n", part("a"), part("b"));
        check(&two, Some(&["a", "b"]));
        check(
            &format!("\u{feff}\r\n{}", two.replace('\r', "")),
            Some(&["a", "b"]),
        );
        check(&part("a"), Some(&["a"]));
        check(&two.replace("--x", "--"), None);
        check(
            &two.replace("--x", &format!("--{}", "x".repeat(MAX_BOUNDARY + 1))),
            None,
        );
        check(&two.replace("Form-Data", "attachment"), None);
        check(
            "--x\r\n\r\ncontent-disposition: form-data; name=a\r\n\r\nv",
            None,
        );
        check("--x", None);
        check("", None);
    }

    #[test]
    fn a_body_that_is_not_multipart_is_refused() {
        assert!(parts("application/json", &body("{}")).is_err());
        assert!(parts("multipart/form-data", &body("--x--")).is_err());
        assert!(parts(TYPE, &body("no delimiter")).is_err());
        assert!(parts("multipart/form-data; boundary=", &body("--\r\n")).is_err());
        let many = "--xYz\r\n\r\nx\r\n".repeat(MAX_PARTS + 2);
        assert!(parts(TYPE, &body(&many)).is_err());
    }

    #[test]
    fn hostile_bodies_and_headers_never_panic() {
        let good = sample().into_bytes();
        for end in 0..good.len() {
            let _ = parts(TYPE, &Content::Bytes(good[..end].into()));
            let _ = detect(&Content::Bytes(
                good[10..].iter().take(end).copied().collect(),
            ));
            for value in [b'\r', b'\n', b'-', b'"', b';', b':', 0xff] {
                let mut mutated = good.clone();
                mutated[end] = value;
                let _ = parts(TYPE, &Content::Bytes(mutated));
            }
        }
        for end in 0..TYPE.len() {
            let _ = parts(&TYPE[..end], &Content::Bytes(good.clone()));
        }
    }
}
