//! A client for single requests: declarations, activations, pages; and the kept
//! connections of a load.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use crate::Failure;

pub struct Client {
    stream: TcpStream,
    address: SocketAddr,
    key: String,
    received: Vec<u8>,
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    pub first_byte: Instant,
}

impl Response {
    pub fn json(&self) -> Result<Value, Failure> {
        match self.status {
            200..300 => Ok(serde_json::from_slice(&self.body)?),
            _ => Err(self.refusal("an answer")),
        }
    }

    /// Checks the status of the answer about `what`.
    pub fn must_be(&self, status: u16, what: &str) -> Result<(), Failure> {
        if self.status == status {
            Ok(())
        } else {
            Err(self.refusal(what))
        }
    }

    fn refusal(&self, what: &str) -> Failure {
        let text = String::from_utf8_lossy(&self.body);
        format!("{what}: status {}: {text:.300}", self.status).into()
    }
}

impl Client {
    /// Connects to an address. Requests carry `bearer`, if there is one; an answer may take two
    /// minutes.
    pub fn connect(address: SocketAddr, bearer: Option<&str>) -> Result<Self, Failure> {
        let key = bearer.map(|bearer| format!("authorization: Bearer {bearer}\r\n"));
        Ok(Self {
            stream: open(address, Duration::from_secs(120))?,
            address,
            key: key.unwrap_or_default(),
            received: Vec::new(),
        })
    }

    /// Reconnects, and sets the timeout for later answers.
    pub fn reconnect(&mut self, patience: Duration) -> Result<(), Failure> {
        self.stream = open(self.address, patience)?;
        Ok(())
    }

    /// Sends a GET and returns its answer; `headers` contains complete lines.
    pub fn get(&mut self, path: &str, headers: &str) -> Result<Response, Failure> {
        self.send("GET", path, headers, &[])
    }

    pub fn get_json(&mut self, path: &str) -> Result<Value, Failure> {
        self.get(path, "")?.json()
    }

    pub fn post(&mut self, path: &str, kind: &str, body: &[u8]) -> Result<Response, Failure> {
        let headers = format!("content-type: {kind}\r\n");
        self.send("POST", path, &headers, body)
    }

    /// Sends JSON, and returns the body of a 2xx as JSON.
    pub fn send_json(&mut self, method: &str, path: &str, body: &Value) -> Result<Value, Failure> {
        let headers = "content-type: application/json\r\n";
        self.send(method, path, headers, body.to_string().as_bytes())?
            .json()
    }

    pub fn post_json(&mut self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.send_json("POST", path, body)
    }

    /// `headers` contains complete lines.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> Result<Response, Failure> {
        let (headers, mut request) = (format!("{}{headers}", self.key), Vec::new());
        write_request(&mut request, self.address, [method, path], &headers, body);
        self.stream.write_all(&request)?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Response, Failure> {
        self.received.clear();
        let mut buffer = vec![0; 256 << 10];
        let mut first_byte = None;
        loop {
            let read = self.stream.read(&mut buffer)?;
            if read == 0 {
                return Err("the connection was closed before the end of its answer".into());
            }
            let first_byte = *first_byte.get_or_insert_with(Instant::now);
            self.received.extend_from_slice(&buffer[..read]);
            let Some(head) = read_head(&self.received) else {
                continue;
            };
            let Head { status, body, .. } = head;
            let written = String::from_utf8_lossy(&self.received[..body - 4]).into_owned();
            let Some(length) = head.length.filter(|_| status > 0) else {
                return Err(format!("an answer without status or length: {written}").into());
            };
            if let Some(body) = self.received.get(body..body + length) {
                return Ok(Response {
                    status,
                    head: written,
                    body: body.to_vec(),
                    first_byte,
                });
            }
        }
    }
}

fn open(address: SocketAddr, patience: Duration) -> Result<TcpStream, Failure> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(patience))?;
    Ok(stream)
}

/// Replaces `request`; `headers` contains complete lines.
pub fn write_request(
    request: &mut Vec<u8>,
    to: SocketAddr,
    [method, path]: [&str; 2],
    headers: &str,
    body: &[u8],
) {
    request.clear();
    write!(
        request,
        "{method} {path} HTTP/1.1\r\nhost: {to}\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    )
    .expect("writing to a Vec does not fail");
    request.extend_from_slice(body);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Zero for a request.
    pub status: u16,
    pub body: usize,
    pub length: Option<usize>,
    pub kept: bool,
}

/// The head, once it is complete.
pub fn read_head(received: &[u8]) -> Option<Head> {
    let end = received.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&received[..end]).to_ascii_lowercase();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let status = head
        .strip_prefix("http/1.1 ")
        .and_then(|rest| rest.get(..3));
    Some(Head {
        status: status.and_then(|status| status.parse().ok()).unwrap_or(0),
        body: end + 4,
        length: field("content-length:").and_then(|length| length.trim().parse().ok()),
        kept: field("connection:").is_none_or(|word| word.trim() != "close"),
    })
}

/// A connection of a load.
pub struct KeptConnection {
    stream: tokio::net::TcpStream,
    received: Vec<u8>,
}

impl KeptConnection {
    pub async fn connect(from: IpAddr, to: SocketAddr) -> Result<Self, String> {
        let stream = connect(from, to).await;
        Ok(Self {
            stream: stream.map_err(|error| format!("connecting: {}", error.kind()))?,
            received: Vec::with_capacity(4 << 10),
        })
    }

    /// Sends a request and reads its whole answer. Returns its head and its body.
    pub async fn ask(&mut self, request: &[u8]) -> Result<(Head, &[u8]), String> {
        let sent = self.stream.write_all(request).await;
        sent.map_err(|error| format!("sending: {}", error.kind()))?;
        self.received.clear();
        let mut head = None;
        loop {
            let read = self.stream.read_buf(&mut self.received).await;
            let read = read.map_err(|error| format!("receiving: {}", error.kind()))?;
            if read == 0 {
                return Err("the connection was closed before its answer".to_owned());
            }
            if head.is_none() {
                head = read_head(&self.received);
            }
            let Some(head) = head else {
                continue;
            };
            let end = head.body + head.length.ok_or("an answer without a length")?;
            if self.received.len() >= end {
                return Ok((head, &self.received[head.body..end]));
            }
        }
    }
}

async fn connect(from: IpAddr, to: SocketAddr) -> std::io::Result<tokio::net::TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from, 0))?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Returns a text of an answer without parsing all of it. `begin` is what stands before it,
/// such as `"status":"`.
pub fn text_after<'a>(body: &'a [u8], begin: &str) -> Option<&'a str> {
    let mut windows = body.windows(begin.len());
    let at = windows.position(|window| window == begin.as_bytes())? + begin.len();
    let length = body[at..].iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&body[at..at + length]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_complete() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        let head = read_head(answer).expect("a whole head");
        assert_eq!((head.status, head.body, head.length), (200, 38, Some(3)));
        assert!(head.kept && read_head(&answer[..20]).is_none());
        let closing = read_head(b"HTTP/1.1 503 Busy\r\nconnection: close\r\n\r\n");
        let closing = closing.expect("a whole head");
        assert_eq!(
            (closing.status, closing.length, closing.kept),
            (503, None, false)
        );
        let request = read_head(b"POST / HTTP/1.1\r\n\r\n").expect("a whole head");
        assert_eq!(request.status, 0);
    }

    #[test]
    fn an_answer_says_how_it_ended() {
        let answer = b"{\"success\":true,\"status\":\"queued\",\"a\":1}";
        assert_eq!(text_after(answer, "\"status\":\""), Some("queued"));
    }
}
