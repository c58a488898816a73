//! The types that pass between the host and a channel's adapter: a template send and its
//! answer, the events of a webhook, the list of templates. The types of the contract do not
//! leave `plugin/abi`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exchange::{HttpRequest, InputProblem, Pairs, PluginReply};
use super::word::words;

/// A template message as an adapter gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateSend {
    /// The host's own id of the message.
    pub message_id: String,
    /// E.164, or the provider's own name of the recipient if it is known.
    pub recipient: String,
    /// JSON text in the shape of the interface: name, language, components.
    pub template: String,
    pub config: String,
    pub context: Pairs,
}

/// The next step of a send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendStep {
    Call(Box<HttpRequest>),
    Answer(SendAnswer),
}

/// The answer of a provider to a send, as the adapter reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendAnswer {
    Accepted(AcceptedSend),
    Refused(RefusedSend),
    /// The provider may or may not have accepted the message. The text says why that is not
    /// known.
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedSend {
    pub external_ids: Vec<String>,
    /// The provider's name of the recipient.
    pub recipient_id: Option<String>,
    /// The provider's further ids of the recipient.
    pub further_ids: Vec<String>,
    /// `accepted`, `held`, `sent`, `delivered`, or the provider's own word; empty for `accepted`.
    pub status: String,
}

impl AcceptedSend {
    pub fn stage(&self) -> AcceptedStage<'_> {
        match self.status.as_str() {
            "" | "accepted" => AcceptedStage::Accepted,
            "sent" => AcceptedStage::Sent,
            "delivered" => AcceptedStage::Delivered,
            other => AcceptedStage::Other(other),
        }
    }
}

/// How far an accepted message is at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptedStage<'a> {
    Accepted,
    Sent,
    Delivered,
    /// `held`, or the provider's own word: the message is accepted.
    Other(&'a str),
}

/// A send that the provider refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedSend {
    pub category: Category,
    pub code: String,
    pub title: String,
    pub text: String,
    pub details: String,
    pub retry_after: Option<Duration>,
}

words! {
    /// The class of a refusal, which decides what happens next.
    Category: "the category" {
        /// A parameter is wrong; final.
        Request = "request",
        /// The template is paused, rejected, or differs from what its text requires; final.
        Template = "template",
        /// The provider has no such template; final.
        UnknownTemplate = "unknown-template",
        /// The recipient cannot be reached; final.
        Recipient = "recipient",
        /// Only a reply is allowed now; final.
        Window = "window",
        /// The contact opted out; final, and the contact is banned.
        OptOut = "opt-out",
        ThrottledRecipient = "throttled-recipient",
        ThrottledNumber = "throttled-number",
        ThrottledAccount = "throttled-account",
        Transient = "transient",
        /// The account is blocked or unpaid: the instance is paused, the message is kept.
        Account = "account",
        /// The token or a permission is wrong: the instance is paused, the message is kept.
        Connection = "connection",
        /// The message waited longer than messages are kept; set by the host, final.
        Expired = "expired",
        /// An operator gave the message up; set by the host, final.
        GivenUp = "given-up",
    }
}

impl Category {
    /// Returns the code of an error of this class: its own, or the name of the class if it
    /// has none, so that every failure has a code.
    pub fn code(self, own: String) -> String {
        if own.is_empty() {
            self.as_str().to_owned()
        } else {
            own
        }
    }

    /// Returns whether the message may still go out later.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::ThrottledRecipient
                | Self::ThrottledNumber
                | Self::ThrottledAccount
                | Self::Transient
                | Self::Account
                | Self::Connection
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptOutcome {
    Accepted,
    /// The call was begun, and its result is not known.
    Unknown,
    Refused(Category),
}

impl AttemptOutcome {
    /// Returns the word of the metrics: `accepted`, `unknown`, or the category of the
    /// refusal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Unknown => "unknown",
            Self::Refused(category) => category.as_str(),
        }
    }
}

/// An error that a provider reports for a message, in a status or as a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelError {
    pub code: String,
    // Empty texts are left out of the JSON.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    pub category: Category,
}

impl ChannelError {
    /// Returns code, title and description in one line. Many providers give the same
    /// sentence as title and description; it is repeated only once.
    pub fn in_words(&self) -> String {
        let title = Some(self.title.as_str());
        let title = title.filter(|title| !self.description.contains(title));
        [
            Some(self.code.as_str()),
            title,
            Some(self.description.as_str()),
        ]
        .into_iter()
        .flatten()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(": ")
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    pub events: Vec<ChannelEvent>,
    pub reply: Option<PluginReply>,
    pub notes: Vec<String>,
    /// The memory that the call needed, in bytes.
    pub memory: u64,
    /// The processor time of the call.
    pub processor: Duration,
}

/// An event of a webhook, and the route to its instance.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelEvent {
    pub route: Pairs,
    pub body: EventBody,
    /// The provider's further ids of the person that the event is about.
    pub further_ids: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EventBody {
    Status(Box<StatusUpdate>),
    Inbound(Box<InboundMessage>),
    Template(TemplateChange),
    Contact(Box<ContactChange>),
    Other(String),
    Invalid(InputProblem),
}

/// A status of a message. Times are texts as the adapter gave them; the host parses them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusUpdate {
    pub external_id: String,
    pub message_id: Option<String>,
    pub status: String,
    pub occurred_at: Option<String>,
    pub recipient_id: Option<String>,
    pub errors: Vec<ChannelError>,
}

/// A message from a contact.
#[derive(Clone, Debug, PartialEq)]
pub struct InboundMessage {
    pub external_id: String,
    pub sender_id: String,
    pub sender_phone: Option<String>,
    pub sender_name: Option<String>,
    pub kind: String,
    pub content: Option<String>,
    pub occurred_at: Option<String>,
    pub reply_to: Option<String>,
    pub attributes: serde_json::Map<String, Value>,
}

/// A change of a template at the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateChange {
    pub name: String,
    pub language: String,
    /// Empty: the list must be requested again.
    pub status: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactChange {
    pub sender_id: String,
    pub sender_phone: Option<String>,
    pub kind: ContactChangeKind,
    /// The new number.
    pub value: String,
    pub occurred_at: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContactChangeKind {
    Number,
    OptOut,
    OptIn,
    /// A word that this host does not know: the change is ignored.
    Unknown(String),
}

impl ContactChangeKind {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Number => "number",
            Self::OptOut => "opt-out",
            Self::OptIn => "opt-in",
            Self::Unknown(word) => word,
        }
    }
}

impl From<String> for ContactChangeKind {
    fn from(word: String) -> Self {
        match word.as_str() {
            "number" => Self::Number,
            "opt-out" => Self::OptOut,
            "opt-in" => Self::OptIn,
            _ => Self::Unknown(word),
        }
    }
}

/// A placeholder that a send must fill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Placeholder {
    /// `header`, `body`, `button`.
    pub component: String,
    /// The index of a button, from 0.
    pub index: u32,
    /// `text`, `document`, `image`, `video`.
    pub kind: String,
    /// Empty if the provider's placeholders are numbered.
    pub name: String,
}

/// A template as an instance's provider lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Template {
    pub name: String,
    pub language: String,
    /// `approved`, `pending`, `paused`, `rejected`, `disabled`.
    pub status: String,
    pub category: String,
    pub reason: String,
    pub text: String,
    pub placeholders: Vec<Placeholder>,
    /// The components as the provider writes them: JSON text.
    pub components: String,
}

impl Template {
    pub const APPROVED: &str = "approved";

    pub fn is_approved(&self) -> bool {
        self.status == Self::APPROVED
    }
}

/// A page of a provider's list of templates, and the request for the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplatePage {
    pub templates: Vec<Template>,
    pub next: Option<Box<HttpRequest>>,
}

/// The next step of reading the list of templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateStep {
    Call(Box<HttpRequest>),
    Page(TemplatePage),
    /// The provider has no list: templates are not checked before they are sent.
    Unlisted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_that_equals_the_description_is_not_repeated() {
        let check = |code: &str, title: &str, description: &str, expect: &str| {
            let error = ChannelError {
                code: code.to_owned(),
                title: title.to_owned(),
                description: description.to_owned(),
                details: String::new(),
                category: Category::Transient,
            };
            assert_eq!(error.in_words(), expect);
        };
        check("7", "Busy", "Busy", "7: Busy");
        check("7", "Busy", "(#7) Busy", "7: (#7) Busy");
        check("7", "Busy", "Come later", "7: Busy: Come later");
        check("", "Busy", "", "Busy");
    }
}
