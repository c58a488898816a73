//! The configuration of an instance of the sandbox.

use serde::Deserialize;

pub const SCHEMA: &str = include_str!("config.schema.json");

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The state of an accepted message.
    pub status: Status,
    /// The templates. `None`: there is no list, and every template is accepted.
    pub templates: Option<Vec<Template>>,
    /// The first that matches a message decides its outcome.
    pub outcomes: Vec<Outcome>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Accepted,
    Held,
    Sent,
    #[default]
    Delivered,
}

impl Status {
    /// Returns the word of the contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Held => "held",
            Self::Sent => "sent",
            Self::Delivered => "delivered",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    pub name: String,
    pub language: String,
    pub text: String,
    /// `document`, `image` or `video`, else the text of the header.
    #[serde(default)]
    pub header: Option<String>,
    /// The texts of the buttons.
    #[serde(default)]
    pub buttons: Vec<String>,
    #[serde(default)]
    pub status: TemplateStatus,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TemplateStatus {
    #[default]
    Approved,
    Pending,
    Paused,
    Rejected,
    Disabled,
}

impl TemplateStatus {
    /// Returns the word of the contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Pending => "pending",
            Self::Paused => "paused",
            Self::Rejected => "rejected",
            Self::Disabled => "disabled",
        }
    }
}

/// The outcome of messages to a recipient, of a template, or of all messages.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Outcome {
    #[serde(default)]
    pub recipient: Option<String>,
    #[serde(default)]
    pub template: Option<String>,
    pub category: Category,
    #[serde(default)]
    pub code: Option<String>,
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub retry_after_seconds: Option<u32>,
}

/// The classes of a refusal, and the unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    Request,
    UnknownTemplate,
    Template,
    Recipient,
    OptOut,
    Window,
    ThrottledRecipient,
    ThrottledNumber,
    ThrottledAccount,
    Transient,
    Account,
    Connection,
    Unknown,
}

impl Category {
    /// Returns the word of the contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::UnknownTemplate => "unknown-template",
            Self::Template => "template",
            Self::Recipient => "recipient",
            Self::OptOut => "opt-out",
            Self::Window => "window",
            Self::ThrottledRecipient => "throttled-recipient",
            Self::ThrottledNumber => "throttled-number",
            Self::ThrottledAccount => "throttled-account",
            Self::Transient => "transient",
            Self::Account => "account",
            Self::Connection => "connection",
            Self::Unknown => "unknown",
        }
    }
}
