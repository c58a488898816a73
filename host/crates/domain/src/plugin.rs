//! Plugins, and the input and output of a converter, as types of the domain.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::exchange::{HttpRequest, HttpResponse, InputProblem, Pairs, PluginReply, SlotFunction};
use super::hex;
use super::lead::Lead;
use super::word::{UnknownWord, words};

/// The SHA-256 of a component's bytes, in lower-case hex: the identity of a version.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct Digest(pub String);

impl Digest {
    /// The least number of characters of a beginning that may stand for the digest. Two versions
    /// may well share fewer.
    pub const SHORTEST: usize = 8;

    pub fn compute(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(hex::encode(&sha2::Sha256::digest(bytes)))
    }

    /// Returns the first twelve characters, for people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

words! {
    /// The kind of a plugin, which the package of its contract determines.
    PluginKind: "the kind of a plugin" {
        /// Turns deliveries of a source into leads.
        Converter = "converter",
        /// Sends and receives messages of a channel.
        Adapter = "adapter",
    }
}

impl PluginKind {
    /// Returns the kind with its article, for sentences: `an adapter`.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Converter => "a converter",
            Self::Adapter => "an adapter",
        }
    }

    /// Reads the kind from package and version: `leadhost:adapter@1.0.0`.
    pub fn from_contract(contract: &str) -> Option<Self> {
        let package = contract.split('@').next()?;
        match package.strip_prefix("leadhost:")? {
            "converter" => Some(Self::Converter),
            "adapter" => Some(Self::Adapter),
            _ => None,
        }
    }
}

words! {
    /// The functions of a plugin whose failures are counted together. Reading the answer to a
    /// call that was made, and templates, are not among them, because skipping those calls gains
    /// nothing.
    CircuitFunction: "the function" {
        Checks = "sender-checks",
        Handshake = "handshake",
        /// Converting a delivery, reading a webhook.
        Delivery = "deliveries",
        /// Completing a fetch.
        Fetch = "fetches",
        /// Making the request that sends a message.
        Send = "sends",
    }
}

/// The plugin's description of itself and of its needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    pub name: String,
    pub version: String,
    pub summary: String,
    /// JSON Schema text; empty if the plugin takes no configuration.
    pub config_schema: String,
    pub secrets: Vec<SecretDeclaration>,
    pub hosts: Vec<String>,
}

words! {
    /// How the host keeps a secret fresh.
    SecretKind: "the secret's kind" {
        Static = "static",
        Oauth2Refresh = "oauth2-refresh",
        ClientCredentials = "client-credentials",
    }
}

/// A secret that a plugin uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretDeclaration {
    pub name: String,
    pub kind: String,
    pub summary: String,
    pub required: bool,
}

impl SecretDeclaration {
    pub fn kind(&self) -> Result<SecretKind, UnknownWord> {
        self.kind.parse()
    }
}

/// The version that ran, recorded with every delivery and lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RanWith {
    pub plugin: String,
    pub version: String,
    pub digest: Digest,
    /// Package and version of the contract: `leadhost:converter@1.0.0`.
    pub contract: String,
    pub config_version: i64,
    /// Of a delivery in the store: whether an operator had it converted again after it was finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(ignore)]
    pub replayed: bool,
}

/// A secret in the reply of a golden case, and the function that the slot applies to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReplySlot {
    pub function: SlotFunction,
    pub secret: String,
}

impl ReplySlot {
    /// Returns whether the reply reveals the secret to its reader.
    pub fn reveals(&self) -> bool {
        self.function.reveals()
    }
}

impl fmt::Display for ReplySlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of the secret `{}`", self.function, self.secret)
    }
}

/// A delivery as a plugin gets it: secrets masked, text decoded.
#[derive(Clone, PartialEq, Eq)]
pub struct PluginDelivery {
    pub id: String,
    pub received_at: String,
    pub method: String,
    pub path: String,
    pub query: Pairs,
    pub headers: Pairs,
    pub body: Bytes,
    pub config: String,
    pub context: Pairs,
}

/// The answer to a fetch as a plugin gets it.
#[derive(Clone, PartialEq, Eq)]
pub struct PluginCompletion {
    pub delivery_id: String,
    pub received_at: String,
    pub config: String,
    pub context: Pairs,
    pub external_id: Option<String>,
    pub state: Vec<u8>,
    /// 1 for the first fetch of an item.
    pub hop: u32,
    pub response: HttpResponse,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    pub external_id: Option<String>,
    pub request: HttpRequest,
    pub state: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConversionOutcome {
    Lead(Box<Lead>),
    Fetch(Box<FetchRequest>),
    Ignored(String),
    Invalid(InputProblem),
}

/// One item of a delivery, and the route values that lead to its connection.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertedItem {
    pub route: Pairs,
    pub outcome: ConversionOutcome,
}

/// The output of a converter for one delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct ConverterOutput {
    pub items: Vec<ConvertedItem>,
    pub reply: Option<PluginReply>,
    pub notes: Vec<String>,
    /// The memory that the call needed, in bytes.
    pub memory: u64,
    /// The processor time of the call.
    pub processor: Duration,
}

/// Why the answer to a fetch gave no items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchFailure {
    pub category: FailureCategory,
    pub message: String,
    pub retry_after: Option<Duration>,
}

words! {
    FailureCategory: "the category of a failure" {
        /// Try again later.
        Retry = "retry",
        /// The connection's credential or permission is wrong: pause its fetches.
        Stop = "stop",
        /// This item is lost.
        GiveUp = "give-up",
    }
}
