//! One request over plain HTTP/1.1, on a connection of its own. It needs only the standard
//! library's sockets; the answers of the service have a length.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::failure::{Context, Failure};

/// Longer than the service takes for any answer.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct ClientRequest<'a> {
    /// Host and port.
    pub address: &'a str,
    pub method: &'static str,
    pub path: &'a str,
    pub headers: &'a [(&'static str, String)],
    pub body: &'a [u8],
}

pub struct ClientAnswer {
    pub status: u16,
    pub body: String,
}

/// Asks for a page without a key.
pub fn get(address: &str, path: &str) -> Result<ClientAnswer, Failure> {
    let request = ClientRequest {
        address,
        method: "GET",
        path,
        headers: &[],
        body: b"",
    };
    request.send()
}

impl ClientAnswer {
    /// Returns the body as JSON.
    pub fn json(&self) -> Result<Value, Failure> {
        serde_json::from_str(&self.body).context(format!("reading the answer {}", self.body))
    }
}

impl ClientRequest<'_> {
    /// Sends the request and returns its answer, with any status.
    pub fn send(&self) -> Result<ClientAnswer, Failure> {
        let Self {
            address,
            method,
            path,
            ..
        } = self;
        self.exchange()
            .context(format!("{method} http://{address}{path}"))
    }

    fn exchange(&self) -> io::Result<ClientAnswer> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
            self.method,
            self.path,
            self.address,
            self.body.len()
        );
        for (name, value) in self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(self.body)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        read(&String::from_utf8_lossy(&answer))
            .ok_or_else(|| io::Error::other("the connection ended without an answer"))
    }
}

fn read(answer: &str) -> Option<ClientAnswer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some(ClientAnswer {
        status: head.get(9..12)?.parse().ok()?,
        body: body.to_owned(),
    })
}
