//! A client for single requests: declarations, activations, pages. The load
//! has its own, see `load`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Failure;

pub struct Client {
    stream: TcpStream,
    address: SocketAddr,
    bearer: Option<String>,
    received: Vec<u8>,
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// Its status line and headers.
    pub head: String,
    pub body: Vec<u8>,
    /// When its first byte arrived.
    pub first_byte: Instant,
}

impl Response {
    /// Returns the body of a 2xx as JSON; another status is an error that contains the body.
    pub fn json(&self) -> Result<Value, Failure> {
        let text = String::from_utf8_lossy(&self.body);
        if (200..300).contains(&self.status) {
            Ok(serde_json::from_slice(&self.body)?)
        } else {
            Err(format!("status {}: {text}", self.status).into())
        }
    }
}

impl Client {
    /// Connects to an address. Requests carry `bearer`, if there is one; an answer may take two
    /// minutes.
    pub fn connect(address: SocketAddr, bearer: Option<&str>) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        Ok(Self {
            stream,
            address,
            bearer: bearer.map(str::to_owned),
            received: Vec::new(),
        })
    }

    /// Reconnects, and sets the timeout for later answers.
    pub fn reconnect(&mut self, patience: Duration) -> Result<(), Failure> {
        self.stream = TcpStream::connect(self.address)?;
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(Some(patience))?;
        Ok(())
    }

    /// Sends a GET and returns its answer; `headers` contains complete lines.
    pub fn get(&mut self, path: &str, headers: &str) -> Result<Response, Failure> {
        self.send("GET", path, headers, &[])
    }

    /// Sends a POST with a body of this type and returns its answer.
    pub fn post(
        &mut self,
        path: &str,
        content_type: &str,
        body: &[u8],
    ) -> Result<Response, Failure> {
        let headers = format!("content-type: {content_type}\r\n");
        self.send("POST", path, &headers, body)
    }

    /// `headers` contains complete lines.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> Result<Response, Failure> {
        let key = match &self.bearer {
            Some(bearer) => format!("authorization: Bearer {bearer}\r\n"),
            None => String::new(),
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\n{key}{headers}content-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let mut request = head.into_bytes();
        request.extend_from_slice(body);
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
                return Err("the connection was closed before its answer".into());
            }
            let first_byte = *first_byte.get_or_insert_with(Instant::now);
            self.received.extend_from_slice(&buffer[..read]);
            let Some(end) = self
                .received
                .windows(4)
                .position(|window| window == b"\r\n\r\n")
            else {
                continue;
            };
            let written = String::from_utf8_lossy(&self.received[..end]).into_owned();
            let head = written.to_ascii_lowercase();
            let status = head.get(9..12).and_then(|status| status.parse().ok());
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .and_then(|length| length.trim().parse::<usize>().ok());
            let (Some(status), Some(length)) = (status, length) else {
                return Err(format!("an answer without status or length: {head}").into());
            };
            while self.received.len() < end + 4 + length {
                let read = self.stream.read(&mut buffer)?;
                if read == 0 {
                    return Err("the connection was closed within its answer".into());
                }
                self.received.extend_from_slice(&buffer[..read]);
            }
            let body = self.received[end + 4..end + 4 + length].to_vec();
            return Ok(Response {
                status,
                head: written,
                body,
                first_byte,
            });
        }
    }
}
