//! Values that pass between the host, a plugin and remote servers: bodies, requests that a plugin
//! composes, replies, and sender checks. Their shapes follow the plugin contract; the contract's
//! own types are confined to `plugin/abi`.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

use super::word::words;

/// Names and values, in order and with repeated names.
pub type Pairs = Vec<(String, String)>;

/// Returns the first value under `name`, ignoring ASCII case.
pub fn first<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// A piece of a text that a plugin composed. The host fills only slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TextSegment {
    Literal(String),
    Bytes(Vec<u8>),
    Slot(Slot),
}

words! {
    /// The value that the host puts into a slot.
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
    /// Returns whether the filled slot reveals the secret to its reader.
    pub fn reveals(self) -> bool {
        match self {
            Self::Secret | Self::Basic => true,
            Self::HmacSha256Hex | Self::HmacSha256Base64 => false,
        }
    }
}

/// A gap in a text that the host fills, and the function that gives its value.
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

words! {
    /// The scheme of a URL. It decides whether a call goes through TLS.
    UrlScheme: "the scheme of a request" {
        Https = "https",
        Http = "http",
    }
}

impl UrlScheme {
    /// Returns the port of a URL that names none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
        }
    }
}

/// An HTTP request whose slots are still empty, so it is safe to store and to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    pub method: String,
    pub scheme: UrlScheme,
    pub authority: String,
    pub path: Vec<TextSegment>,
    pub query: Vec<(String, Vec<TextSegment>)>,
    pub headers: Vec<(String, Vec<TextSegment>)>,
    pub body: Vec<TextSegment>,
}

impl HttpRequest {
    /// Returns the method and the address as people read them. Slots are stars.
    pub fn line(&self) -> String {
        let path = shown(&self.path);
        let mut line = format!("{} {}://{}{path}", self.method, self.scheme, self.authority);
        for (place, (name, value)) in self.query.iter().enumerate() {
            let mark = if place == 0 { '?' } else { '&' };
            let _ = write!(line, "{mark}{name}={}", shown(value));
        }
        line
    }
}

fn shown(segments: &[TextSegment]) -> String {
    let text = |segment: &TextSegment| match segment {
        TextSegment::Literal(text) => text.clone(),
        TextSegment::Bytes(_) | TextSegment::Slot(_) => "***".to_owned(),
    };
    segments.iter().map(text).collect()
}

/// The response of a remote server, bounded in size.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginReply {
    pub status: u16,
    pub content_type: String,
    pub body: Vec<TextSegment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub secret: String,
    pub query_field: String,
}

/// The answer to a handshake, and the requirements without which it is not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeAnswer {
    pub require: Vec<Requirement>,
    pub reply: PluginReply,
}

words! {
    /// The part of a delivery that a [`ValueLocation`] points into.
    Place: "the place" {
        Header = "header",
        Query = "query",
        Form = "form",
        Json = "json",
    }
}

impl Place {
    pub fn is_header(self) -> bool {
        match self {
            Self::Header => true,
            Self::Query | Self::Form | Self::Json => false,
        }
    }

    pub fn is_in_body(self) -> bool {
        match self {
            Self::Form | Self::Json => true,
            Self::Header | Self::Query => false,
        }
    }
}

/// The location of a value in a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = Location)]
pub struct ValueLocation {
    pub place: Place,
    pub name: String,
}

impl fmt::Display for ValueLocation {
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
    /// Returns whether the sender signs with the secret; otherwise it presents the secret itself.
    pub fn signs(self) -> bool {
        match self {
            Self::HmacSha256 | Self::HmacSha1 => true,
            Self::Basic | Self::Bearer | Self::Equals => false,
        }
    }
}

words! {
    /// The encoding of a signature. The default is hexadecimal digits.
    Encoding: "the encoding" {
        Hex = "hex" | "",
        Base64 = "base64",
        Base64Url = "base64url",
        Plain = "plain",
    }
}

#[expect(clippy::derivable_impls, reason = "`words!` takes no default")]
impl Default for Encoding {
    fn default() -> Self {
        Self::Hex
    }
}

words! {
    /// The kind of a part of the signed message.
    SignedKind: "the signed part" {
        /// The value of the part itself.
        Literal = "literal",
        Method = "method",
        PublicUrl = "public-url",
        /// The header that the value names.
        Header = "header",
        Timestamp = "timestamp",
        /// The names and values of the form's fields, sorted.
        SortedForm = "sorted-form",
        Body = "body",
    }
}

/// A part of the signed message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SignedPart {
    pub kind: SignedKind,
    #[serde(default)]
    pub value: String,
}

/// A rule that authenticates the sender of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SenderCheck {
    /// The name of the secret.
    pub secret: String,
    pub scheme: Scheme,
    /// The location of the sender's proof.
    pub proof: ValueLocation,
    #[serde(default)]
    pub encoding: Encoding,
    /// The text before the proof at its location.
    #[serde(default)]
    pub prefix: String,
    /// The header with the time of signing; empty if there is none.
    #[serde(default)]
    pub timestamp_header: String,
    /// The allowed distance of the time of signing from now, in seconds; 0 allows any time.
    #[serde(default)]
    pub tolerance_seconds: u32,
    /// The parts of the signed message; empty for the body alone.
    #[serde(default)]
    pub signed: Vec<SignedPart>,
}

/// The sender checks of a plugin, and the places of secrets that its sources send.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SenderChecks {
    #[serde(default)]
    pub checks: Vec<SenderCheck>,
    #[serde(default)]
    pub carried_secrets: Vec<ValueLocation>,
}

/// A part of an input that cannot be read or used, described for its sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputProblem {
    pub message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}
