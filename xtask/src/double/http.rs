//! The part of HTTP/1.1 that a double and a task need: requests with a length, keep-alive connections,
//! answers with a length; and a client with one connection for each request. A larger request
//! than any of our callers sends ends the connection.

use std::io::{self, BufRead, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use serde_json::Value;

const MAX_HEAD: u64 = 64 * 1024;

const MAX_BODY: u64 = 8 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path and query as received.
    pub target: String,
    pub path: String,
    /// The fields of the query, decoded, in order.
    fields: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub close: bool,
}

impl Request {
    pub fn query(&self, name: &str) -> Option<&str> {
        value(&self.fields, name)
    }

    /// The name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        value(&self.headers, name)
    }

    pub fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }

    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The fields of a form body, decoded, in order.
    pub fn form(&self) -> Vec<(String, String)> {
        pairs(&self.body)
    }

    /// The parts of the path between its slashes.
    pub fn segments(&self) -> Vec<&str> {
        self.path.trim_start_matches('/').split('/').collect()
    }
}

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
        fields: pairs(query.as_bytes()),
        headers: Vec::new(),
        body: Vec::new(),
        close: false,
    };
    loop {
        let field = line(&mut head)?;
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
    let close = request.header("connection");
    request.close = close.is_some_and(|word| word.eq_ignore_ascii_case("close"));
    let length = request.header("content-length").unwrap_or("0");
    request.body = exactly(reader, length.parse().map_err(io::Error::other)?)?;
    Ok(Some(request))
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut text = String::new();
    reader.read_line(&mut text)?;
    text.truncate(text.trim_end().len());
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

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Answer {
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::with_body(status, "application/json; charset=UTF-8", &body.to_string())
    }

    pub fn html(status: u16, body: &str) -> Self {
        Self::with_body(status, "text/html; charset=utf-8", body)
    }

    pub fn text(status: u16, body: &str) -> Self {
        Self::with_body(status, "text/plain; charset=utf-8", body)
    }

    fn with_body(status: u16, kind: &str, body: &str) -> Self {
        let mut answer = Self::empty(status).header("Content-Type", kind);
        body.clone_into(&mut answer.body);
        answer
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        // The reason phrase is ignored, but required.
        let first = format!("HTTP/1.1 {} Double", self.status);
        message(&first, &self.headers, self.body.as_bytes())
    }
}

fn message(first: &str, headers: &[(&str, String)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{first}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    [head.as_bytes(), body].concat()
}

/// A request of ours, sent on a connection of its own.
pub struct Sent<'a> {
    pub method: &'a str,
    pub host: &'a str,
    pub target: &'a str,
    pub headers: &'a [(&'a str, String)],
    pub body: &'a [u8],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Received {
    pub fn is_taken(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Sent<'_> {
    /// Sends it to an address, a host with a port or with the usual one, and waits so long for each part of
    /// the answer.
    pub fn to(&self, address: &str, patience: Duration) -> io::Result<Received> {
        let address = if address.contains(':') {
            address.to_owned()
        } else {
            format!("{address}:80")
        };
        let found = address.to_socket_addrs()?.next();
        let found = found.ok_or_else(|| io::Error::other(format!("{address} has no address")))?;
        let mut stream = TcpStream::connect_timeout(&found, patience)?;
        stream.set_read_timeout(Some(patience))?;
        let first = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close",
            self.method, self.target, self.host
        );
        // A refusal that arrives before the whole request is written counts.
        let written = stream.write_all(&message(&first, self.headers, self.body));
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        parse(&answer).ok_or_else(|| {
            let error = written.and(read.map(drop)).err();
            error.unwrap_or_else(|| io::Error::other("the connection ended without an answer"))
        })
    }
}

fn parse(answer: &[u8]) -> Option<Received> {
    const END: &[u8] = b"\r\n\r\n";
    let end = answer.windows(END.len()).position(|four| four == END)?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let body = &answer[end + END.len()..];
    let is_chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    let body = if is_chunked {
        unchunked(body)?
    } else {
        body.to_vec()
    };
    Some(Received {
        status: head.get(9..12)?.parse().ok()?,
        head,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// Joins the chunks in which a program sends what it makes while it sends. `None`: the last one is missing.
fn unchunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut joined = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&body[..end]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(joined);
        }
        joined.extend_from_slice(body.get(end + 2..end + 2 + size)?);
        body = body.get(end + 2 + size + 2..)?;
    }
}

/// Names and values of a query or a form, decoded, in order.
pub fn pairs(text: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(text).into_owned().collect()
}

/// Encodes a form; the inverse of [`pairs`].
pub fn form(fields: &[(impl AsRef<str>, impl AsRef<str>)]) -> String {
    let fields = fields.iter().map(|(name, value)| (name, value));
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}

pub fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_up_to_the_end_of_its_body() {
        let text = "POST /a?b=c%20d HTTP/1.1\r\nContent-Length: 5\r\n\r\nx=1+2more";
        let read = read(&mut text.as_bytes()).expect("a request");
        let one = read.expect("one is there");
        assert_eq!(one.body, b"x=1+2");
        assert_eq!(one.query("b"), Some("c d"));
        assert_eq!(one.form(), [("x".to_owned(), "1 2".to_owned())]);
    }

    #[test]
    fn a_form_is_read_as_it_was_written() {
        let fields = [("To".to_owned(), "whatsapp:+55 ção&=%".to_owned())];
        assert_eq!(pairs(form(&fields).as_bytes()), fields);
    }

    #[test]
    fn an_answer_in_chunks_is_joined_and_needs_its_last_one() {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"\u{e9}\r\n2;x=y\r\n\"}\r\n";
        assert!(parse(answer.as_bytes()).is_none());
        let whole = format!("{answer}0\r\n\r\n");
        let read = parse(whole.as_bytes()).expect("an answer");
        assert_eq!((read.status, read.body.as_str()), (200, "{\"\u{e9}\"}"));
    }

    #[test]
    fn a_truncated_body_is_no_request() {
        let text = "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nx=";
        assert!(read(&mut text.as_bytes()).is_err());
    }
}
