//! A double of the Graph API's lead node, on the loopback interface: a lead
//! webhook carries only an id, and the lead itself is fetched here.
//!
//! The lead of an id is always the same. The double requires the access token
//! and its proof, as the real API does when it is configured to, and ids with
//! certain endings misbehave ([`BEHAVIOUR`] lists them). Its counters are in
//! memory only, so a new double starts from zero.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Mutex;

use serde_json::json;

mod lead;

use super::http::{Answer, Request};
use super::proof::hmac_sha256_hex;
use super::server::{DoubleServer, Endpoint, Reaction, locked};

pub const BEHAVIOUR: &str = include_str!("graph/behaviour.txt");

#[derive(Clone, Debug)]
pub struct GraphOptions {
    /// Port 0 selects a free port.
    pub listen: SocketAddr,
    /// The key of the proof: HMAC-SHA256 over the access token, in hex.
    pub app_secret: String,
    pub tokens: Vec<String>,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            app_secret: "double-app-secret".to_owned(),
            tokens: vec!["double-page-token".to_owned()],
        }
    }
}

pub struct GraphDouble {
    server: DoubleServer<Node>,
}

impl GraphDouble {
    pub fn start(options: GraphOptions) -> io::Result<Self> {
        let node = Node {
            requests: Mutex::new(Vec::new()),
            attempts: Mutex::new(HashMap::new()),
            options,
        };
        let server = DoubleServer::start(node.options.listen, node)?;
        Ok(Self { server })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn options(&self) -> &GraphOptions {
        &self.server.endpoint().options
    }

    /// The requested targets (path and query) so far, in order.
    pub fn requests(&self) -> Vec<String> {
        locked(&self.server.endpoint().requests).clone()
    }

    pub fn wait(self) {
        self.server.wait();
    }
}

pub fn proof(app_secret: &str, token: &str) -> String {
    hmac_sha256_hex(app_secret, token.as_bytes())
}

struct Node {
    options: GraphOptions,
    requests: Mutex<Vec<String>>,
    attempts: Mutex<HashMap<String, u32>>,
}

impl Endpoint for Node {
    const NAME: &'static str = "graph";

    fn react(&self, request: Request) -> Reaction {
        locked(&self.requests).push(request.target.clone());
        answer(&request, self).map_or(Reaction::Close, Reaction::Answer)
    }
}

/// Returns the answer; `None`: the connection is closed.
fn answer(request: &Request, state: &Node) -> Option<Answer> {
    if request.method != "GET" {
        return Some(error(400, 100, None, "Unsupported request method", None));
    }
    if let Err(refusal) = proven(request, &state.options) {
        return Some(refusal);
    }
    let id = request.path.rsplit('/').next().unwrap_or_default();
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    if request.path.matches('/').count() != 2 || !is_number {
        let why = "Some of the aliases you requested do not exist";
        return Some(error(404, 803, None, why, None));
    }
    let mut attempts = locked(&state.attempts);
    let attempt = attempts.entry(id.to_owned()).or_default();
    *attempt += 1;
    match &id[id.len().saturating_sub(3)..] {
        "001" if *attempt <= 2 => Some(no_object("get", id)),
        "002" => Some(expired()),
        "003" if *attempt == 1 => {
            let why = "Calls to this api have exceeded the rate limit";
            Some(error(429, 613, None, why, None).header("Retry-After", "1"))
        }
        "004" => None,
        "005" => {
            let page = "<!DOCTYPE html><title>Error</title><p>Sorry, something went wrong.";
            Some(Answer::html(500, page))
        }
        _ => Some(Answer::json(200, &lead::lead(id, request.query("fields")))),
    }
}

fn proven(request: &Request, options: &GraphOptions) -> Result<(), Answer> {
    let token = authorised(request, &options.tokens)?;
    let why = match request.query("appsecret_proof") {
        Some(given) if given == proof(&options.app_secret, token) => return Ok(()),
        Some(_) => "Invalid appsecret_proof provided in the API argument",
        None => "API calls from the server require an appsecret_proof argument",
    };
    Err(error(400, 100, None, why, None))
}

/// Returns the access token of a request, which has to be one of these.
pub(super) fn authorised<'a>(request: &'a Request, tokens: &[String]) -> Result<&'a str, Answer> {
    match request.query("access_token").or_else(|| request.bearer()) {
        Some(token) if tokens.iter().any(|valid| valid == token) => Ok(token),
        Some(_) => Err(expired()),
        None => {
            let why = "An access token is required to request this resource.";
            Err(error(400, 104, None, why, None))
        }
    }
}

fn expired() -> Answer {
    let why = "Error validating access token: Session has expired.";
    error(401, 190, Some(463), why, None)
}

pub(super) fn no_object(method: &str, id: &str) -> Answer {
    let why = format!(
        "Unsupported {method} request. Object with ID '{id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation."
    );
    error(400, 100, Some(33), &why, None)
}

/// An error of the Graph API, which the Cloud API is part of. Only the latter gives details.
pub(super) fn error(
    status: u16,
    code: u32,
    subcode: Option<u32>,
    message: &str,
    details: Option<&str>,
) -> Answer {
    let mut error = json!({
        "message": message,
        "type": "OAuthException",
        "code": code,
        "fbtrace_id": "double",
    });
    if let Some(subcode) = subcode {
        error["error_subcode"] = json!(subcode);
    }
    if let Some(details) = details {
        error["error_data"] = json!({"messaging_product": "whatsapp", "details": details});
    }
    Answer::json(status, &json!({ "error": error }))
}

#[cfg(test)]
mod tests;
