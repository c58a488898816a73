//! As much of HTTP/1.1 as a double needs: requests without a body, kept-alive
//! connections, answers with a length.

use std::io::{self, BufRead};

use serde_json::Value;

/// A request's line and header fields are at most this long, in bytes.
const MAX_HEAD: usize = 64 * 1024;

pub struct Request {
    pub method: String,
    /// Path and query as they came.
    pub target: String,
    pub path: String,
    /// The fields of the query, decoded, in order.
    fields: Vec<(String, String)>,
    pub authorization: Option<String>,
    /// The caller wants no further answers on this connection.
    pub close: bool,
}

impl Request {
    pub fn query(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// The next request, or none at the connection's end.
pub fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut length = 0;
    let mut line = |reader: &mut dyn BufRead| -> io::Result<String> {
        let mut text = String::new();
        length += reader.read_line(&mut text)?;
        if length > MAX_HEAD {
            return Err(io::Error::other("the request's head is too long"));
        }
        Ok(text)
    };
    let first = line(reader)?;
    let mut words = first.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        target: target.to_owned(),
        path: path.to_owned(),
        fields: query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect(),
        authorization: None,
        close: false,
    };
    loop {
        let header = line(reader)?;
        let header = header.trim_end();
        if header.is_empty() {
            return Ok(Some(request));
        }
        let Some((name, value)) = header.split_once(':') else {
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => request.authorization = Some(value.trim().to_owned()),
            "connection" => request.close = value.trim().eq_ignore_ascii_case("close"),
            // A body would be taken for the next request.
            "content-length" | "transfer-encoding" => request.close = true,
            _ => {}
        }
    }
}

pub struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Answer {
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("Content-Type", "application/json; charset=UTF-8".to_owned())],
            body: body.to_string(),
        }
    }

    pub fn html(status: u16, body: &str) -> Self {
        Self {
            status,
            headers: vec![("Content-Type", "text/html; charset=utf-8".to_owned())],
            body: body.to_owned(),
        }
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        // Nobody reads the reason; it has to be there.
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

/// Percent-decodes; what is no valid escape stays as it came.
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
