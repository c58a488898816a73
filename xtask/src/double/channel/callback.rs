//! Webhook delivery of a double: plain HTTP, one connection for each request.

use std::io;
use std::time::Duration;

use crate::double::http::{Received, Sent};

/// Longer than any callback may take. After that the delivery has failed.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct Callback {
    /// The address that the provider knows, and that signatures cover.
    url: String,
    /// The address to connect to, for example behind a proxy that ends TLS. Without
    /// it, the address of the URL, which is then plain HTTP.
    via: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Letter {
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

pub type CallbackAnswer = Received;

impl Callback {
    /// At this URL, which is called directly.
    pub fn to(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            via: None,
        }
    }

    /// Sets another address that the provider knows and that signatures cover.
    pub fn signed_as(self, url: &str) -> Self {
        let rest = self.url.split_once("://").map_or(&*self.url, |two| two.1);
        Self {
            url: url.to_owned(),
            via: rest.split('/').next().map(str::to_owned),
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn with_url(mut self, url: &str) -> Self {
        url.clone_into(&mut self.url);
        self
    }

    pub fn post(
        &self,
        letter: &Letter,
        seals: &[(&'static str, String)],
    ) -> io::Result<CallbackAnswer> {
        let mut headers = vec![("Content-Type", letter.content_type.to_owned())];
        headers.extend_from_slice(seals);
        let url = &self.url;
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(io::Error::other(format!("{url} is no URL")));
        };
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if self.via.is_none() && scheme != "http" {
            let why = format!("{url}: only http:// can be called back directly");
            return Err(io::Error::other(why));
        }
        let sent = Sent {
            method: "POST",
            host,
            target: if path.is_empty() { "/" } else { path },
            headers: &headers,
            body: &letter.body,
        };
        sent.to(self.via.as_deref().unwrap_or(host), PATIENCE)
    }
}
