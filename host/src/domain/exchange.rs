//! What passes between the host, a plugin and the outside: bodies, requests that
//! a plugin asks for, replies, and how a sender proves itself. The shapes follow
//! the contract; the contract's own types stop at `plugin/abi`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::word::words;

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

words! {
    /// What the host puts into a slot.
    SlotFunction: "the slot function" {
        /// The secret itself.
        Secret = "secret",
        /// Credentials of the Basic scheme, from a user and a password.
        Basic = "basic",
        /// A signature, in hexadecimal digits.
        HmacSha256Hex = "hmac-sha256-hex",
        /// A signature, in base64.
        HmacSha256Base64 = "hmac-sha256-base64",
    }
}

impl SlotFunction {
    /// Whether a reader of what the slot becomes knows the secret.
    pub fn reveals(self) -> bool {
        match self {
            Self::Secret | Self::Basic => true,
            Self::HmacSha256Hex | Self::HmacSha256Base64 => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    pub function: SlotFunction,
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

words! {
    /// The part of a delivery that a [`Location`] points into.
    Place: "the place" {
        Header = "header",
        Query = "query",
        Form = "form",
        Json = "json",
    }
}

/// Where something is in a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub place: Place,
    pub name: String,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.place, self.name)
    }
}

words! {
    /// The scheme of a sender check.
    Scheme: "the scheme" {
        HmacSha256 = "hmac-sha256",
        HmacSha1 = "hmac-sha1",
        Basic = "basic",
        Bearer = "bearer",
        Equals = "equals",
    }
}

impl Scheme {
    /// Whether the sender signs with the secret; otherwise it presents the secret itself.
    pub fn signs(self) -> bool {
        match self {
            Self::HmacSha256 | Self::HmacSha1 => true,
            Self::Basic | Self::Bearer | Self::Equals => false,
        }
    }
}

words! {
    /// How a signature is written. A check that does not say so means hexadecimal digits.
    Encoding: "the encoding" {
        Hex = "hex" | "",
        Base64 = "base64",
        Base64Url = "base64url",
        Plain = "plain",
    }
}

impl Default for Encoding {
    fn default() -> Self {
        Self::Hex
    }
}

words! {
    /// What a part of the signed message is.
    SignedKind: "the signed part" {
        /// The value of the part itself.
        Literal = "literal",
        Method = "method",
        PublicUrl = "public-url",
        /// The header that the value names.
        Header = "header",
        Timestamp = "timestamp",
        /// Names and values of the form's fields, sorted.
        SortedForm = "sorted-form",
        Body = "body",
    }
}

/// A part of what the sender signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedPart {
    pub kind: SignedKind,
    #[serde(default)]
    pub value: String,
}

/// How a sender proves who it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SenderCheck {
    /// The name of the secret.
    pub secret: String,
    pub scheme: Scheme,
    /// Where the sender puts its proof.
    pub proof: Location,
    #[serde(default)]
    pub encoding: Encoding,
    /// What precedes the proof in its place.
    #[serde(default)]
    pub prefix: String,
    /// The header with the time of signing; empty: there is none.
    #[serde(default)]
    pub timestamp_header: String,
    /// How far the time of signing may be away; 0: any time will do.
    #[serde(default)]
    pub tolerance_seconds: u32,
    /// The signed message; empty: the body.
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
