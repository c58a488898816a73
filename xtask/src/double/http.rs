//! The part of HTTP/1.1 that a double needs: requests with a length or in
//! chunks, keep-alive connections, answers with a length. A larger request than
//! any of our callers sends ends the connection.

use std::io::{self, BufRead, Read};

use serde_json::Value;

/// The limit for a request's line and header fields, in bytes.
const MAX_HEAD: u64 = 64 * 1024;

/// The limit for a request's body, in bytes.
const MAX_BODY: u64 = 8 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path and query as received.
    pub target: String,
    pub path: String,
    /// The fields of the query, decoded, in order.
    fields: Vec<(String, String)>,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The caller wants no further answers on this connection.
    pub close: bool,
}

impl Request {
    /// Returns the first value of this name in the query, decoded.
    pub fn query(&self, name: &str) -> Option<&str> {
        value(&self.fields, name)
    }

    /// The name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        value(&self.headers, name)
    }

    /// Returns the token of `Authorization: Bearer`.
    pub fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }

    /// Returns the body as JSON; `None` if it is not JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Returns the fields of a form body, decoded, in order.
    pub fn form(&self) -> Vec<(String, String)> {
        pairs(&String::from_utf8_lossy(&self.body))
    }

    /// Returns the parts of the path between its slashes.
    pub fn segments(&self) -> Vec<&str> {
        self.path.trim_start_matches('/').split('/').collect()
    }
}

/// Returns the first field of this name.
pub fn value<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(key, _)| key == name)?;
    Some(&found.1)
}

/// Reads the next request; `None` at the end of the connection.
pub fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut head = reader.take(MAX_HEAD);
    let first = line(&mut head)?;
    let mut words = first.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        target: target.to_owned(),
        path: path.to_owned(),
        fields: pairs(query),
        headers: Vec::new(),
        body: Vec::new(),
        close: false,
    };
    loop {
        let field = line(&mut head)?;
        let field = field.trim_end();
        if field.is_empty() {
            break;
        }
        if let Some((name, value)) = field.split_once(':') {
            let name = name.to_ascii_lowercase();
            request.headers.push((name, value.trim().to_owned()));
        }
    }
    if head.limit() == 0 {
        return Err(io::Error::other("the request's head is too long"));
    }
    request.close = says(&request, "connection", "close");
    request.body = if says(&request, "transfer-encoding", "chunked") {
        chunks(reader)?
    } else {
        let length = request.header("content-length").unwrap_or("0");
        let length = length.parse().map_err(io::Error::other)?;
        exactly(reader, length)?
    };
    Ok(Some(request))
}

fn says(request: &Request, name: &str, word: &str) -> bool {
    request
        .header(name)
        .is_some_and(|value| value.eq_ignore_ascii_case(word))
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut text = String::new();
    reader.read_line(&mut text)?;
    Ok(text)
}

fn exactly(reader: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    if length > MAX_BODY {
        return Err(io::Error::other("the request's body is too long"));
    }
    let mut body = Vec::new();
    let read = reader.take(length).read_to_end(&mut body)?;
    if read as u64 == length {
        Ok(body)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(&mut reader.take(MAX_HEAD))?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
        if body.len() as u64 + size > MAX_BODY {
            return Err(io::Error::other("the request's body is too long"));
        }
        body.append(&mut exactly(reader, size)?);
        // An empty line follows each chunk; the last one has no trailers.
        line(&mut reader.take(MAX_HEAD))?;
        if size == 0 {
            return Ok(body);
        }
    }
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Answer {
    /// Returns an answer without a body.
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    /// Returns an answer with a JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::with_body(status, "application/json; charset=UTF-8", &body.to_string())
    }

    /// Returns an answer with an HTML page.
    pub fn html(status: u16, body: &str) -> Self {
        Self::with_body(status, "text/html; charset=utf-8", body)
    }

    /// Returns an answer with a text.
    pub fn text(status: u16, body: &str) -> Self {
        Self::with_body(status, "text/plain; charset=utf-8", body)
    }

    fn with_body(status: u16, kind: &str, body: &str) -> Self {
        let mut answer = Self::empty(status).header("Content-Type", kind);
        body.clone_into(&mut answer.body);
        answer
    }

    /// Adds a header.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Returns the bytes of the whole answer, with `Content-Length`.
    pub fn bytes(&self) -> Vec<u8> {
        // The reason phrase is ignored, but required.
        let mut text = format!("HTTP/1.1 {} Double\r\n", self.status);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!(
            "Content-Length: {}\r\n\r\n{}",
            self.body.len(),
            self.body
        ));
        text.into_bytes()
    }
}

/// Names and values of a query or a form, decoded, in order.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

/// Encodes a form; the inverse of [`pairs`].
pub fn form(fields: &[(String, String)]) -> String {
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    pairs.join("&")
}

/// Percent-encodes everything but unreserved characters.
pub fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Percent-decodes; an invalid escape is kept.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let escape = match (first, after) {
            (b'%', [high, low, ..]) => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match (first, escape) {
            (_, Some((high, low))) => {
                bytes.push(high * 16 + low);
                rest = &after[2..];
            }
            (b'+', None) => bytes.push(b' '),
            (other, None) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(character: u8) -> Option<u8> {
    char::from(character)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        read(&mut text.as_bytes())
            .expect("a request")
            .expect("one is there")
    }

    #[test]
    fn a_body_comes_with_a_length_or_in_chunks() {
        let one = request("POST /a?b=c%20d HTTP/1.1\r\nContent-Length: 5\r\n\r\nx=1+2more");
        assert_eq!(one.body, b"x=1+2");
        assert_eq!(one.query("b"), Some("c d"));
        assert_eq!(one.form(), [("x".to_owned(), "1 2".to_owned())]);
        let other = request(
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n",
        );
        assert_eq!(other.body, b"abc");
    }

    #[test]
    fn a_truncated_body_is_no_request() {
        let text = "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nx=";
        assert!(read(&mut text.as_bytes()).is_err());
    }

    #[test]
    fn a_form_is_read_as_it_was_written() {
        let fields = vec![("To".to_owned(), "whatsapp:+55 ção&=%".to_owned())];
        assert_eq!(pairs(&form(&fields)), fields);
    }
}
