//! One request to the service over plain HTTP/1.1, on a connection of its own.

use std::time::Duration;

use serde_json::Value;
use xtask::double::http::{Received, Sent};

use crate::failure::{Context, Failure};

/// Longer than the service takes for any answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends a request, and returns its answer with any status.
pub fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: &str,
) -> Result<Received, Failure> {
    let sent = Sent {
        method,
        host: address,
        target: path,
        headers,
        body: body.as_bytes(),
    };
    sent.to(address, PATIENCE)
        .context(format!("{method} http://{address}{path}"))
}

pub fn get(address: &str, path: &str) -> Result<Received, Failure> {
    send(address, "GET", path, &[], "")
}

pub fn json(answer: &Received) -> Result<Value, Failure> {
    serde_json::from_str(&answer.body).context(format!("reading the answer {}", answer.body))
}
