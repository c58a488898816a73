//! A Twilio webhook: one form, with a status of a sent message or an inbound
//! message.

use leadhost_sdk::{ContactChange, Delivery, Event, Problem, Webhook};

use crate::{Config, address, form::Form, inbound, status};

/// Returns the events of a webhook, usually one.
///
/// # Errors
///
/// [`Problem`] if the body is no form, or names no message.
pub fn read(config: &Config, delivery: &Delivery) -> Result<Webhook, Problem> {
    let form = Form::parse(delivery)?;
    let id = form
        .get(&["MessageSid", "SmsSid", "SmsMessageSid"])
        .ok_or_else(|| {
            Problem::new("the form has no `MessageSid`: it is no webhook of Twilio's messages")
                .at("MessageSid")
        })?;
    // Some versions send `SmsStatus` for both kinds; only sent messages have a
    // `MessageStatus`.
    let word = form.get(&["MessageStatus", "SmsStatus"]);
    let events = match word.map(str::to_ascii_lowercase).as_deref() {
        Some("received" | "receiving") => inbound_events(config, &form, id),
        Some(word) => vec![status::event(&form, id, word, delivery)],
        None if form.has("Body") || form.has("NumMedia") => inbound_events(config, &form, id),
        None => vec![Event::other(
            "a form without a status and without a message",
        )],
    };
    Ok(events.into())
}

fn inbound_events(config: &Config, form: &Form, id: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let Some(sender) = form.get(&["From", "ExternalUserId"]) else {
        events.push(Event::invalid("the message has no sender", "From"));
        return events;
    };
    let sender = address::bare(sender);
    // The phone names the person to everyone, the id of a user only to this business.
    let phone = inbound::phone(form, sender);
    let sender = phone.as_deref().unwrap_or(sender);
    events.push(inbound::event(form, id, sender));
    // Twilio itself processes stop and start words, and reports them.
    let change = match form
        .get(&["OptOutType"])
        .map(str::to_ascii_uppercase)
        .as_deref()
    {
        Some("STOP") => Some(ContactChange::opt_out(sender)),
        Some("START") => Some(ContactChange::opt_in(sender)),
        _ => None,
    };
    if let Some(change) = change {
        let change = change.sender_phone(phone.clone()).into();
        events.push(inbound::with_user_id(change, form, sender));
    }
    events
        .into_iter()
        .map(|event| routed(config, form, event))
        .collect()
}

/// Returns the route of a message. A message to this instance's own sender or service
/// needs none; another sender's message is routed to its instance.
fn routed(config: &Config, form: &Form, event: Event) -> Event {
    let to = form.get(&["To"]);
    let service = form.get(&["MessagingServiceSid"]);
    let own_sender = match (&config.from, to) {
        (Some(from), Some(to)) => address::bare(from) == address::bare(to),
        _ => false,
    };
    let own_service = service.is_some() && service == config.messaging_service_sid.as_deref();
    // A service sends from any of its numbers, which are not known here.
    let any_sender = config.from.is_none() && service.is_none();
    if own_sender || own_service || any_sender {
        return event;
    }
    let event = match to {
        Some(to) => event.route("sender", to),
        None => event,
    };
    match service {
        Some(service) => event.route("messaging-service", service),
        None => event,
    }
}
