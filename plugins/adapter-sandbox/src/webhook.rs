//! Simulated events of a contact or a provider:
//! `{"events": [{"inbound": {..}}, {"status": {..}}, ..]}`. Each event is an
//! object with one key, its kind. An event that cannot be read does not affect the
//! others.

use leadhost_sdk::serde_json::{Map, Value};
use leadhost_sdk::{
    ChannelError, ContactChange, Delivery, Event, InboundMessage, MAX_ITEMS, Problem, StatusUpdate,
    Webhook, digits, is_absent, text_of, time_text,
};

use crate::sending::external_id;

/// Returns the events of a webhook.
///
/// # Errors
///
/// [`Problem`] if the body is no object with a list of events, or has more events than a host
/// accepts.
pub fn read(delivery: &Delivery) -> Result<Webhook, Problem> {
    let body = delivery
        .json()
        .map_err(|_| Problem::new("the body is not valid JSON"))?;
    let Value::Array(events) = &body["events"] else {
        return Err(Problem::new("the body must be an object with the list `events`").at("events"));
    };
    if events.len() > MAX_ITEMS {
        return Err(Problem::new(format!(
            "the body has {} events, at most {MAX_ITEMS} are taken at once",
            events.len()
        )));
    }
    let events: Vec<Event> = events
        .iter()
        .enumerate()
        .map(|(index, value)| {
            event(&delivery.id, index, value)
                .unwrap_or_else(|problem| Event::invalid(problem.message, problem.path))
        })
        .collect();
    Ok(events.into())
}

/// The keys of an inbound message that have their own field; others become
/// attributes.
const KNOWN: [&str; 7] = ["from", "name", "text", "kind", "id", "replyTo", "at"];

fn event(delivery: &str, index: usize, value: &Value) -> Result<Event, Problem> {
    let path = format!("events.{index}");
    let (kind, fields) = match value {
        Value::Object(event) if event.len() == 1 => event.iter().next(),
        _ => None,
    }
    .ok_or_else(|| Problem::new("an event is an object with one key, its kind").at(&path))?;
    let path = format!("{path}.{kind}");
    let Value::Object(fields) = fields else {
        return Err(Problem::new(format!("`{kind}` must be an object")).at(path));
    };
    let text = |name: &str| fields.get(name).and_then(text_of);
    let required = |name: &str| {
        text(name).ok_or_else(|| {
            Problem::new(format!("`{kind}` needs `{name}`")).at(format!("{path}.{name}"))
        })
    };
    let at = fields.get("at").and_then(time_text);
    Ok(match kind.as_str() {
        "inbound" => {
            let id = text("id").unwrap_or_else(|| external_id(&format!("{delivery}:{index}")));
            inbound(id, required("from")?, fields)
                .occurred_at(at)
                .into()
        }
        "status" => status(required("status")?, &path, fields)?
            .occurred_at(at)
            .into(),
        "optOut" => contact(ContactChange::opt_out(required("from")?), at),
        "optIn" => contact(ContactChange::opt_in(required("from")?), at),
        "number" => contact(
            ContactChange::number(required("from")?, required("to")?),
            at,
        ),
        _ => {
            return Err(Problem::new(format!(
                "`{kind}` is none of inbound, status, optOut, optIn, number"
            ))
            .at(path));
        }
    })
}

fn inbound(id: String, from: String, fields: &Map<String, Value>) -> InboundMessage {
    let text = |name: &str| fields.get(name).and_then(text_of);
    let kind = text("kind").unwrap_or_else(|| "text".into());
    let message = InboundMessage::new(id, &from, kind)
        .sender_phone(phone_of(&from))
        .sender_name(text("name"))
        .content(text("text"))
        .reply_to(text("replyTo"));
    let mut others: Vec<_> = fields
        .iter()
        .filter(|(name, value)| !KNOWN.contains(&name.as_str()) && !is_absent(value))
        .collect();
    others.sort_by_key(|(name, _)| *name);
    others.into_iter().fold(message, |message, (name, value)| {
        message.attribute(name, value)
    })
}

fn status(word: String, path: &str, fields: &Map<String, Value>) -> Result<StatusUpdate, Problem> {
    let text = |name: &str| fields.get(name).and_then(text_of);
    let message_id = text("messageId");
    let id = text("id")
        .or_else(|| message_id.as_deref().map(external_id))
        .ok_or_else(|| Problem::new("`status` needs `id` or `messageId`").at(path))?;
    let status = StatusUpdate::new(id, &word).message_id(message_id);
    let (code, description) = (text("code"), text("text"));
    if code.is_none() && description.is_none() {
        return Ok(status);
    }
    let category = text("category").unwrap_or_else(|| "recipient".into());
    let code = code.unwrap_or_else(|| "sandbox".into());
    Ok(status
        .error(ChannelError::new(code, &category).description(description.unwrap_or_default())))
}

fn contact(change: ContactChange, at: Option<String>) -> Event {
    let phone = phone_of(&change.sender_id);
    change.sender_phone(phone).occurred_at(at).into()
}

/// Returns the sender's name if it is a phone: only digits and phone punctuation,
/// and at least as many digits as a phone has.
fn phone_of(from: &str) -> Option<String> {
    let spelled = |c: char| c.is_ascii_digit() || "+-() .".contains(c);
    (from.chars().all(spelled) && digits(from).len() >= 8).then(|| from.to_owned())
}
