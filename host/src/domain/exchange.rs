//! What passes between the host, a plugin and the outside: bodies, requests that
//! a plugin asks for, replies, and how a sender proves itself. The shapes follow
//! the contract; the contract's own types stop at `plugin/abi`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Ordered names and values, repeats kept.
pub type Pairs = Vec<(String, String)>;

/// The first value under `name`, compared without regard to ASCII case.
pub fn first<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// A piece of a text that a plugin composed. Only slots are ever filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Segment {
    Literal(String),
    Bytes(Vec<u8>),
    Slot(Slot),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    pub function: String,
    pub args: Vec<SlotArgument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SlotArgument {
    Secret(String),
    Literal(String),
}

/// An HTTP request with its slots still empty: safe to store and to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    pub method: String,
    pub scheme: String,
    pub authority: String,
    pub path: Vec<Segment>,
    pub query: Vec<(String, Vec<Segment>)>,
    pub headers: Vec<(String, Vec<Segment>)>,
    pub body: Vec<Segment>,
}

/// What a far end answered, bounded.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: Pairs,
    pub body: Vec<u8>,
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "HttpResponse {{ status: {}, body: {} bytes }}",
            self.status,
            self.body.len()
        )
    }
}

/// What the sender hears back, after the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub content_type: String,
    pub body: Vec<Segment>,
}

/// The named secret must equal the query field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub secret: String,
    pub query_field: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeAnswer {
    pub require: Vec<Requirement>,
    pub reply: Reply,
}

/// Where something is in a delivery: `header`, `query`, `form`, `json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub place: String,
    pub name: String,
}

/// A part of what the sender signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedPart {
    pub kind: String,
    #[serde(default)]
    pub value: String,
}

/// How a sender proves who it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SenderCheck {
    pub secret: String,
    pub scheme: String,
    pub proof: Location,
    #[serde(default)]
    pub encoding: String,
    #[serde(default)]
    pub prefix: String,
    #[serde(default)]
    pub timestamp_header: String,
    #[serde(default)]
    pub tolerance_seconds: u32,
    #[serde(default)]
    pub signed: Vec<SignedPart>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SenderChecks {
    #[serde(default)]
    pub checks: Vec<SenderCheck>,
    #[serde(default)]
    pub carried_secrets: Vec<Location>,
}

/// Something unreadable, in words for whoever sent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}
