//! A message: its author, its type and its state. The statuses of a provider are merged so
//! that order and repeats make no difference.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::channel::ChannelError;
use super::time::Micros;
use super::word::words;

words! {
    /// The author of a message.
    Actor: "the author of a message" {
        Contact = "contact",
        /// The instance.
        Agent = "agent",
        Human = "human",
        System = "system",
    }
}

/// The types of a message, as exported.
pub const KINDS: [&str; 14] = [
    "text",
    "template",
    "image",
    "video",
    "audio",
    "document",
    "location",
    "contacts",
    "button",
    "interactive",
    "reaction",
    "sticker",
    "unsupported",
    "system",
];

/// One of [`KINDS`], for schemas.
pub struct MessageKind;

impl PartialSchema for MessageKind {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(KINDS))
            .into()
    }
}

impl ToSchema for MessageKind {}

/// Bound of the error codes of one message over all its statuses, so that its row stays
/// small.
pub const ERRORS_PER_MESSAGE: usize = 64;

/// The type of a template message.
pub const TEMPLATE: &str = "template";

/// Reads an adapter's word for a type; an unknown word is `unsupported`.
pub fn kind_of(text: &str) -> &'static str {
    KINDS
        .into_iter()
        .find(|kind| *kind == text)
        .unwrap_or("unsupported")
}

/// Returns who an incoming message with this word for its type is from: a `system` message is
/// the channel's own.
pub fn author_of(word: &str) -> Actor {
    match word {
        "system" => Actor::System,
        _ => Actor::Contact,
    }
}

/// Returns whether the contact wrote an incoming message with this word for its type. The
/// others are notes about the conversation or about another message: none of them begins,
/// answers or prolongs a conversation. A message of an unknown type counts as written.
pub fn is_written(word: &str) -> bool {
    !matches!(
        word,
        "system" | "reaction" | "edit" | "revoke" | "request_welcome"
    )
}

words! {
    /// The state of a message. The states of a sent one are in the order of progress; `Failed`
    /// is beside them, and gives way to delivered and read.
    MessageState: "the state of a message" {
        /// To be sent later.
        Waiting = "waiting",
        /// The call is in progress.
        Sending = "sending",
        /// It is not known whether the provider accepted it.
        Unknown = "unknown",
        Accepted = "accepted",
        Sent = "sent",
        Delivered = "delivered",
        Read = "read",
        Failed = "failed",
        /// Received from the contact.
        Received = "received",
    }
}

/// A message's metadata, as stored and exported: JSON with these keys. An inbound message
/// also has the provider's other fields under `attributes`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The message's state.
    #[schema(value_type = MessageState)]
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Micros>,
    /// The provider's own status when it accepted the message, if it has one: `held`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_status: Option<String>,
    /// The provider's ids of the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub external_ids: Vec<String>,
    /// The provider's name of the other side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(inline)]
    pub template: Option<TemplateName>,
    /// The provider's name of the type if the exported one is `unsupported`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_type: Option<String>,
    /// The provider's id of the message that this one answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// For people: why the message waits, or why its outcome is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// One error for each code, in the order of the codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(inline)]
    pub errors: Vec<ChannelError>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub attributes: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TemplateName {
    pub name: String,
    pub language: String,
    /// The values that its text does not show, in the interface's shape: media and buttons,
    /// or all values if the text is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Value>,
}

/// The merged statuses of a message. The result is the same for every order and any
/// repeats.
///
/// The earliest time of each state is kept; a message that was read counts as delivered by
/// then. If several errors have one code, the most detailed is kept. If there are more codes
/// than the bound allows, the first ones by their order are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MessageProgress {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_at: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Micros>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ChannelError>,
}

impl MessageProgress {
    /// A failure at this time with this error.
    pub fn failed(at: Micros, error: ChannelError) -> Self {
        Self {
            failed_at: Some(at),
            errors: vec![error],
            ..Self::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Merges another status. Returns whether it changed anything.
    pub fn merge(&mut self, other: &Self) -> bool {
        let mut news = false;
        let delivered_at = [other.delivered_at, other.read_at].into_iter().flatten();
        let delivered_at = delivered_at.min();
        for (mine, theirs) in [
            (&mut self.accepted_at, other.accepted_at),
            (&mut self.sent_at, other.sent_at),
            (&mut self.delivered_at, delivered_at),
            (&mut self.read_at, other.read_at),
            (&mut self.failed_at, other.failed_at),
        ] {
            news |= earliest(mine, theirs);
        }
        for error in &other.errors {
            news |= add_error(&mut self.errors, error);
        }
        news
    }

    /// Returns the resulting state; `None` if no status was merged yet.
    pub fn state(&self) -> Option<MessageState> {
        [
            (self.read_at, MessageState::Read),
            (self.delivered_at, MessageState::Delivered),
            (self.failed_at, MessageState::Failed),
            (self.sent_at, MessageState::Sent),
            (self.accepted_at, MessageState::Accepted),
        ]
        .into_iter()
        .find_map(|(at, state)| at.and(Some(state)))
    }

    /// Returns a time by which the channel had accepted it; `None` if only a failure is known.
    pub fn taken_at(&self) -> Option<Micros> {
        [self.accepted_at, self.sent_at, self.delivered_at]
            .into_iter()
            .flatten()
            .min()
    }
}

/// Keeps the earlier time. Returns whether that changed it.
pub fn earliest(kept: &mut Option<Micros>, new: Option<Micros>) -> bool {
    let is_news = new.is_some_and(|new| kept.is_none_or(|kept| new < kept));
    if is_news {
        *kept = new;
    }
    is_news
}

/// Returns whether the new error replaces a kept one of the same code: the one with more
/// detail wins, and of two with the same detail always the same one.
pub fn says_more(new: &ChannelError, kept: &ChannelError) -> bool {
    fn rank(error: &ChannelError) -> (usize, [&str; 4]) {
        let texts = [
            error.title.as_str(),
            error.description.as_str(),
            error.details.as_str(),
            error.category.as_str(),
        ];
        let said = texts[..3].iter().map(|text| text.len()).sum();
        (said, texts)
    }
    rank(new) > rank(kept)
}

fn add_error(errors: &mut Vec<ChannelError>, new: &ChannelError) -> bool {
    match errors.binary_search_by(|error| error.code.cmp(&new.code)) {
        Ok(at) => {
            let is_news = says_more(new, &errors[at]);
            if is_news {
                errors[at] = new.clone();
            }
            is_news
        }
        // Independent of the order in which they arrive, the same ones stay.
        Err(at) if at >= ERRORS_PER_MESSAGE => false,
        Err(at) => {
            errors.insert(at, new.clone());
            errors.truncate(ERRORS_PER_MESSAGE);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Category;

    fn at(state: MessageState, seconds: i64) -> MessageProgress {
        let mut progress = MessageProgress::default();
        let field = match state {
            MessageState::Accepted => &mut progress.accepted_at,
            MessageState::Sent => &mut progress.sent_at,
            MessageState::Delivered => &mut progress.delivered_at,
            MessageState::Read => &mut progress.read_at,
            _ => &mut progress.failed_at,
        };
        *field = Some(Micros(0).plus_seconds(seconds));
        progress
    }

    fn error(code: &str, details: &str) -> ChannelError {
        ChannelError {
            code: code.to_owned(),
            title: "Undeliverable".to_owned(),
            description: String::new(),
            details: details.to_owned(),
            category: Category::Recipient,
        }
    }

    fn merged<'a>(parts: impl IntoIterator<Item = &'a MessageProgress>) -> MessageProgress {
        let mut whole = MessageProgress::default();
        for part in parts {
            whole.merge(part);
        }
        whole
    }

    #[test]
    fn beyond_the_bound_the_same_error_codes_stay_in_any_order() {
        let failed =
            |code: usize| MessageProgress::failed(Micros(0), error(&format!("{code:03}"), ""));
        let codes = 0..3 * ERRORS_PER_MESSAGE;
        let up: Vec<_> = codes.clone().map(failed).collect();
        let down: Vec<_> = codes.rev().map(failed).collect();
        let mut whole = merged(&up);
        assert_eq!(whole.errors.len(), ERRORS_PER_MESSAGE);
        assert_eq!(whole, merged(&down));
        assert!(!whole.merge(&failed(100)), "it changes nothing");
    }

    #[test]
    fn the_furthest_state_counts_and_failed_gives_way_to_delivered() {
        let check = |states: &[MessageState], expect| {
            let parts: Vec<_> = states.iter().map(|state| at(*state, 1)).collect();
            assert_eq!(merged(&parts).state(), expect, "{states:?}");
        };
        check(&[], None);
        check(
            &[MessageState::Sent, MessageState::Accepted],
            Some(MessageState::Sent),
        );
        check(
            &[MessageState::Failed, MessageState::Sent],
            Some(MessageState::Failed),
        );
        check(
            &[MessageState::Failed, MessageState::Delivered],
            Some(MessageState::Delivered),
        );
        check(&[MessageState::Read], Some(MessageState::Read));
    }

    #[test]
    fn a_message_that_was_read_counts_as_delivered_by_then() {
        let read = merged(&[at(MessageState::Read, 5)]);
        assert_eq!(read.delivered_at, read.read_at);
        let both = merged(&[at(MessageState::Read, 5), at(MessageState::Delivered, 9)]);
        assert_eq!(both, read);
        let earlier = merged(&[at(MessageState::Delivered, 3), at(MessageState::Read, 5)]);
        assert_eq!(earlier.delivered_at, Some(Micros(3_000_000)));
    }

    /// Every order of some statuses, each merged twice, gives the same result, and the
    /// second time changes nothing.
    #[test]
    fn order_and_repeats_make_no_difference() {
        let failed = |seconds, code, details| {
            MessageProgress::failed(Micros(0).plus_seconds(seconds), error(code, details))
        };
        let parts = [
            at(MessageState::Sent, 2),
            at(MessageState::Delivered, 4),
            at(MessageState::Read, 3),
            failed(6, "131026", "no such person"),
            failed(5, "131026", ""),
            failed(7, "131000", "try again"),
        ];
        let expect = merged(&parts);
        let codes: Vec<_> = expect.errors.iter().map(|e| e.code.as_str()).collect();
        assert_eq!(codes, ["131000", "131026"]);
        assert_eq!(expect.errors[1].details, "no such person");
        let mut orders = 0;
        permute(&mut parts.to_vec(), 0, &mut |parts| {
            let mut whole = merged(parts);
            assert_eq!(whole, expect);
            assert!(parts.iter().all(|part| !whole.merge(part)));
            orders += 1;
        });
        assert_eq!(orders, 720);
    }

    fn permute(
        parts: &mut [MessageProgress],
        from: usize,
        check: &mut impl FnMut(&[MessageProgress]),
    ) {
        if from == parts.len() {
            return check(parts);
        }
        for next in from..parts.len() {
            parts.swap(from, next);
            permute(parts, from + 1, check);
            parts.swap(from, next);
        }
    }
}
