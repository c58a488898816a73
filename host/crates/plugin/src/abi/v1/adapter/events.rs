//! Converts the events of a webhook to the domain's types. An event that breaks a rule of
//! the host becomes invalid by itself; the others are kept.

use serde_json::Map;

use super::bindings::exports::leadhost::adapter::adapter as wit;
use super::words::{category, further_ids, text, word};
use crate::abi::texts::{attributes, cut, cut_note, storable_pairs};
use crate::prelude::*;
use crate::rules::{
    self,
    size::{self, Room},
};
use leadhost_domain::channel::{
    ChannelError, ChannelEvent, ContactChange, EventBody, InboundMessage, StatusUpdate,
    TemplateChange,
};
use leadhost_domain::json;
use leadhost_domain::text::storable;

pub(super) fn read(events: Vec<wit::Event>) -> Result<Vec<ChannelEvent>, Fault> {
    if events.len() > limits::ITEMS_PER_DELIVERY {
        return Err(Fault::Rule(format!(
            "{} events; at most {} are taken from one delivery",
            events.len(),
            limits::ITEMS_PER_DELIVERY
        )));
    }
    let mut room = Room::for_delivery();
    Ok(events
        .into_iter()
        .enumerate()
        .map(|(index, event)| self::event(index, event, &mut room))
        .collect())
}

/// Converts an event. An event that exceeds the room left in the delivery does not use up
/// any of it.
fn event(index: usize, event: wit::Event, room: &mut Room) -> ChannelEvent {
    let invalid = |(what, field): (String, &str)| {
        EventBody::Invalid(InputProblem {
            message: cut_note(format!("the adapter gave {what}")),
            path: format!("events.{index}.{field}"),
        })
    };
    let route = storable_pairs(event.route);
    // An event without a valid route belongs to the connection that received it, where it
    // is shown.
    if let Err(what) = rules::channel::route(&route) {
        return ChannelEvent {
            route: Vec::new(),
            body: invalid((what, "route")),
            further_ids: Vec::new(),
        };
    }
    let of_message: &[_] = match &event.body {
        wit::EventBody::Inbound(message) => &message.attributes,
        _ => &[],
    };
    let attributes = event.attributes.iter().chain(of_message);
    let further_ids = further_ids(attributes);
    let body = event_body(event.body).and_then(|body| {
        room.take(bytes_of(&body)).map_err(|what| (what, "body"))?;
        Ok(body)
    });
    let body = body.unwrap_or_else(invalid);
    ChannelEvent {
        route,
        body,
        further_ids,
    }
}

/// Counts the bytes of fields that may be long. Short fields and ids have bounds of their
/// own.
fn bytes_of(body: &EventBody) -> usize {
    match body {
        EventBody::Status(status) => {
            let of = |error: &ChannelError| {
                error.title.len() + error.description.len() + error.details.len()
            };
            status.errors.iter().map(of).sum()
        }
        EventBody::Inbound(message) => {
            let own = message.content.as_ref().map_or(0, String::len);
            own + json::length(&message.attributes)
        }
        EventBody::Template(_)
        | EventBody::Contact(_)
        | EventBody::Other(_)
        | EventBody::Invalid(_) => 0,
    }
}

/// Converts the body of an event. The error is the rule that it breaks, and the field.
fn event_body(body: wit::EventBody) -> Result<EventBody, (String, &'static str)> {
    let body = match body {
        wit::EventBody::Status(status) => EventBody::Status(Box::new(status.into())),
        wit::EventBody::Inbound(message) => EventBody::Inbound(Box::new(inbound(message)?)),
        wit::EventBody::Template(change) => EventBody::Template(change.into()),
        wit::EventBody::Contact(change) => EventBody::Contact(Box::new(change.into())),
        wit::EventBody::Other(why) => EventBody::Other(cut_note(why)),
        wit::EventBody::Invalid(problem) => EventBody::Invalid(problem.into()),
    };
    rules::channel::event(&body)?;
    Ok(body)
}

impl From<wit::StatusUpdate> for StatusUpdate {
    fn from(status: wit::StatusUpdate) -> Self {
        Self {
            external_id: storable(status.external_id),
            message_id: status
                .message_id
                .map(storable)
                // A longer id is not one of this host: other systems send from that number
                // too.
                .filter(|id| id.len() <= limits::MESSAGE_ID_BYTES),
            status: word(status.status),
            occurred_at: status.occurred_at.map(word),
            recipient_id: status.recipient_id.map(storable),
            errors: status
                .errors
                .into_iter()
                .take(limits::ERRORS_PER_STATUS)
                .map(ChannelError::from)
                .collect(),
        }
    }
}

impl From<wit::ChannelError> for ChannelError {
    fn from(error: wit::ChannelError) -> Self {
        let category = category(&error.category);
        Self {
            code: category.code(word(error.code)),
            title: text(error.title),
            description: text(error.description),
            details: text(error.details),
            category,
        }
    }
}

fn inbound(message: wit::InboundMessage) -> Result<InboundMessage, (String, &'static str)> {
    Ok(InboundMessage {
        external_id: storable(message.external_id),
        sender_id: storable(message.sender_id),
        sender_phone: message.sender_phone.map(word),
        sender_name: message.sender_name.map(text),
        kind: word(message.kind),
        content: message
            .content
            .map(|content| cut(content, limits::MESSAGE_CONTENT_BYTES)),
        occurred_at: message.occurred_at.map(word),
        reply_to: message.reply_to.map(storable),
        attributes: own(message.attributes).map_err(|what| (what, "inbound.attributes"))?,
    })
}

/// Parses attributes after checking their size.
fn own(pairs: Pairs) -> Result<Map<String, Value>, String> {
    size::count_at_most("attributes", pairs.len(), limits::ATTRIBUTES)?;
    let bytes = pairs.iter().map(|(name, value)| name.len() + value.len());
    size::at_most("attributes", bytes.sum(), limits::MESSAGE_ATTRIBUTES_BYTES)?;
    let mut as_text = Vec::new();
    let read = attributes(pairs, &mut as_text);
    match as_text.first() {
        None => Ok(read),
        Some(name) => Err(format!("the attribute `{name}`, which is not JSON")),
    }
}

impl From<wit::TemplateChange> for TemplateChange {
    fn from(change: wit::TemplateChange) -> Self {
        Self {
            name: storable(change.name),
            language: word(change.language),
            status: word(change.status),
            reason: text(change.reason),
        }
    }
}

impl From<wit::ContactChange> for ContactChange {
    fn from(change: wit::ContactChange) -> Self {
        Self {
            sender_id: storable(change.sender_id),
            sender_phone: change.sender_phone.map(word),
            kind: word(change.kind).into(),
            value: storable(change.value),
            occurred_at: change.occurred_at.map(word),
        }
    }
}
