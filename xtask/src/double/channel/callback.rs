//! Webhook delivery of a double: plain HTTP, one connection for each request.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Longer than any callback may take. After that the delivery has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// The address for webhooks.
#[derive(Clone, Debug)]
pub struct Callback {
    /// The address that the provider knows, and that signatures cover.
    url: String,
    /// The address to connect to, for example behind a proxy that ends TLS. Without
    /// it, the address of the URL, which is then plain HTTP.
    via: Option<String>,
}

/// A webhook request before it is signed.
#[derive(Clone, Debug)]
pub struct Letter {
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

/// The answer of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackAnswer {
    pub status: u16,
    pub body: String,
}

impl CallbackAnswer {
    /// Returns whether the status is 2xx.
    pub fn is_taken(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Callback {
    /// Returns a callback at this URL, which is called directly.
    pub fn to(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            via: None,
        }
    }

    /// Sets another address that the provider knows and that signatures cover.
    pub fn signed_as(self, url: &str) -> Self {
        Self {
            url: url.to_owned(),
            via: Some(authority_of(&self.url).to_owned()),
        }
    }

    /// Returns the URL that the provider knows.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Another URL at the same place.
    pub(super) fn with_url(mut self, url: &str) -> Self {
        url.clone_into(&mut self.url);
        self
    }

    /// Posts a letter with these headers.
    pub fn post(
        &self,
        letter: &Letter,
        seals: &[(&'static str, String)],
    ) -> io::Result<CallbackAnswer> {
        let mut headers = vec![("Content-Type", letter.content_type.to_owned())];
        headers.extend_from_slice(seals);
        self.exchange("POST", "", &headers, &letter.body)
    }

    /// Sends a GET with this query.
    pub fn get(&self, query: &str) -> io::Result<CallbackAnswer> {
        self.exchange("GET", query, &[], &[])
    }

    fn exchange(
        &self,
        method: &str,
        query: &str,
        headers: &[(&'static str, String)],
        body: &[u8],
    ) -> io::Result<CallbackAnswer> {
        let (scheme, rest) = self
            .url
            .split_once("://")
            .ok_or_else(|| io::Error::other(format!("{} is no URL", self.url)))?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let mut stream = match &self.via {
            Some(address) => connect(address)?,
            None if scheme == "http" => connect(authority)?,
            None => {
                return Err(io::Error::other(format!(
                    "{}: only http:// can be called back directly",
                    self.url
                )));
            }
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        let target = match (path, query) {
            ("", "") => "/".to_owned(),
            (path, "") => path.to_owned(),
            (path, query) if path.contains('?') => format!("{path}&{query}"),
            (path, query) => format!("{path}?{query}"),
        };
        let mut head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        // A refusal that arrives before the whole request is written counts.
        let written = stream.write_all(&bytes);
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        parse(&String::from_utf8_lossy(&answer)).ok_or_else(|| {
            let error = written.and(read.map(drop)).err();
            error.unwrap_or_else(|| io::Error::other("the callback ended without an answer"))
        })
    }
}

fn authority_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

fn connect(authority: &str) -> io::Result<TcpStream> {
    let with_port = if authority.contains(':') {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    };
    let address = with_port
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| io::Error::other(format!("{authority} has no address")))?;
    TcpStream::connect_timeout(&address, PATIENCE)
}

fn parse(answer: &str) -> Option<CallbackAnswer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some(CallbackAnswer {
        status: head.get(9..12)?.parse().ok()?,
        body: body.to_owned(),
    })
}
